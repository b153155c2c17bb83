/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal: see terminal.h. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_UNKNOWN 80

bool as_cli_is_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool as_cli_has_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return as_cli_is_terminal(fd) && !(no && *no);
}

unsigned as_cli_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS_UNKNOWN;
}
