/* SPDX-License-Identifier: GPL-2.0-or-later */
const char *fs_two(void);

const char *fs_two(void)
{
	return "two" INSTRUMENTED;
}
