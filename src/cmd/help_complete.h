/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help_complete: completion of command lines, made of the tables of options. */
#ifndef AS_CMD_HELP_COMPLETE_H
#define AS_CMD_HELP_COMPLETE_H

#include <stdio.h>

/* shell: "bash" or "zsh". */
void as_help_completion(FILE *out, const char *shell);

#endif
