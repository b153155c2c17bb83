/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repro: the program of a library's finding that was just stored, or reduced: one that is linked
 * with the library (dossier/solo/solo.h). It is made of the calls that the library gets, which the
 * folder does not know, so the finding is played once more, with a trail. Where it is found there
 * is none, since that costs each of the many operations that find nothing.
 */
#ifndef AS_CLI_REPRO_H
#define AS_CLI_REPRO_H

#include "base/event.h"
#include "os/dir.h"

/* Where it does not show again, the program stays that makes system calls. `trusted` is a target
 * that the user has run: if it is no library, or the finding names other code, nothing is run. */
AS_MUST_CHECK int as_cli_repro(const struct as_dir *folder, const char *trusted,
			       struct as_err *err);
/* A sink that hands findings to `store` and then has their programs written, in the folder
 * `findings` of the run; freed with free(). */
struct as_sink *as_cli_repro_sink(struct as_sink *store, const struct as_dir *run);

#endif
