/* SPDX-License-Identifier: GPL-2.0-or-later */
/* repro: the dossier of a finding that was just stored (dossier/dossier.h). The finding of a
 * library is played once more for it, so that its program is linked with the library
 * (dossier/solo/solo.h). */
#ifndef AS_CLI_REPRO_H
#define AS_CLI_REPRO_H

#include "base/event.h"
#include "os/dir.h"

/* Where the finding of a library does not show again, the program stays that makes system calls.
 * `trusted` is a target that the user has run: if the finding names other code, that is not run. */
AS_MUST_CHECK int as_cli_repro(const struct as_dir *folder, const char *trusted,
			       struct as_err *err);
/* A sink that hands findings to `store` and then has their dossiers written, in the folder
 * `findings` of the run; freed with free(). */
struct as_sink *as_cli_repro_sink(struct as_sink *store, const struct as_dir *run);

#endif
