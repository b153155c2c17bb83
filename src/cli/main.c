/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main: see cli.c. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return as_cli_main(argc, argv);
}
