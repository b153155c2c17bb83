/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/against.h"

int main(void)
{
	return t_run_against("/dev/shm", 0x01021994, false);
}
