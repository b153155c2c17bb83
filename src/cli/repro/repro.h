/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repro: the finding of a library as a C program that is linked with the library's sources and
 * needs no assay (include/assay/solo.h). The finding is played once more, and the calls that were
 * made are written down (host/trail.h).
 */
#ifndef AS_CLI_REPRO_REPRO_H
#define AS_CLI_REPRO_REPRO_H

#include "host/trail.h"
#include "os/dir.h"
#include "report/sinks.h"
#include "work/seq.h"

/* Replaces repro.c in the folder of a finding. Where the target is no library, the program makes
 * system calls and compares their answers (cli/expect.h). Where the finding of a library does not
 * show again, or its program would be too long, the one stays that makes system calls. `trusted` is
 * a target that the user has run: if the finding names other code, nothing is done. */
AS_MUST_CHECK int as_cli_repro(const struct as_dir *folder, const char *trusted,
			       struct as_err *err);
/* A sink that hands findings to `store` and then has their programs made, in the folder `findings`
 * of it; freed with free(). */
struct as_sink *as_cli_repro_sink(struct as_sink *store, const struct as_dir *run);

struct as_repro {
	const char *id;
	const struct as_finding *finding;
	const char *summary; /* of it, or in its place */
	const struct as_seq *seq;
	uint64_t size_bytes;
	const char *opts; /* of the target, without those of its flash */
	const struct as_flash_setup *flash; /* NULL: it works on a block device */
	const char *choices; /* answers to what it asks; "" for none */
	const char *symbol; /* of the table */
	const char *link; /* what to link with, in the command that compiles it */
	bool again; /* it takes a power cut during recovery, or several rounds */
};

/* Writes the program; false: the trail does not show the finding. */
bool as_repro_write(const struct as_repro *repro, const struct as_trail *trail, struct as_buf *out);

#endif
