/* SPDX-License-Identifier: GPL-2.0-or-later */
/* excuse: what excuse.def explains, for who has no trial: of a process that has ended, or of a
 * recovery, is known only what is said here. */
#ifndef AS_TRIAL_EXCUSE_H
#define AS_TRIAL_EXCUSE_H

#include <stdbool.h>

/* The WHAT of the rows. */
enum as_excused {
	AS_EXCUSED_ERROR,
	AS_EXCUSED_MISUSE,
	AS_EXCUSED_LOG,
	AS_EXCUSED_TREE,
	AS_EXCUSED_CHECKER,
	AS_EXCUSED_AGAIN,
	AS_EXCUSED_SPACE,
	AS_EXCUSED_ORDER,
	AS_EXCUSED_RECOVERY,
	AS_EXCUSED_REDONE,
};

enum as_clue {
	AS_CLUE_PLAN = 1, /* something was to fail, */
	AS_CLUE_HIT = 2, /* and has */
	AS_CLUE_DIED = 4, /* the process came to a bad end */
	AS_CLUE_STUCK = 8, /* it waited in the kernel, and was killed */
	AS_CLUE_GAVE_UP = 16, /* a recovery answered an error, or left nothing that can be read */
	AS_CLUE_REPAIRED = 32, /* its checker says that it has repaired something */
};

/* said: a mask of enum as_clue. */
bool as_excuses(enum as_excused what, unsigned said);

#endif
