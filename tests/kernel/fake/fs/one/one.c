/* SPDX-License-Identifier: GPL-2.0-or-later */
const char *fs_one(void);

const char *fs_one(void)
{
	return "one" INSTRUMENTED;
}
