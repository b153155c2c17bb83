/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that looks like a User-Mode Linux kernel which does not boot. It says what it was built
 * to say (SAYS), and a long stack after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("6.99.0");
		return 0;
	}
	puts("[    0.000000] Linux version 6.99.0");
	puts(SAYS);
	puts("[    0.020000] CPU: 0 PID: 1 Comm: swapper Not tainted 6.99.0 #1");
	puts("[    0.020000] Call Trace:");
	for (int i = 0; i < 40; i++)
		printf("[    0.020000]  [<6003f%03x>] um_function_%d+0x12/0x34\n", i, i);
	fflush(stdout);
	abort();
}
