/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "linux.h"

int main(void)
{
	return run_linux_tests("/dev/shm", 0x01021994);
}
