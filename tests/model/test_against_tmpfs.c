/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "against.h"

int main(void)
{
	return run_against("/dev/shm", 0x01021994, false);
}
