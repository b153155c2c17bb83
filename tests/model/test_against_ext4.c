/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/against.h"

/* The disk's own file system, where it is ext4. */
int main(void)
{
	return t_run_against("/var/tmp", 0xef53, true);
}
