/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says what it was built from. */
#include <stdio.h>
#include <string.h>

const char *fs_one(void);
const char *fs_two(void);

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--version"))
		puts("6.99.0-fake");
	else
		printf("%s %s %s\n", fs_one(), fs_two(), INSTRUMENTED);
	return 0;
}
