/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main: see cli.c; and box/guest.c for the first process of a sandbox's guest, which is this
 * program, too. */
#include "box/sandbox.h"
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	/* A container's first process has another name: "/init" is what kernels start. */
	if (getpid() == 1 && argc > 0 && !strcmp(argv[0], "/init"))
		as_guest_main();
	return as_cli_main(argc, argv);
}
