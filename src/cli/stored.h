/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored: finds findings that were kept, by id or folder, and runs them again in the same way. */
#ifndef AS_CLI_STORED_H
#define AS_CLI_STORED_H

#include "base/event.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/trust.h"
#include "dossier/stored.h"
#include "host/trail.h"
#include "os/dir.h"
#include "reduce/reduce.h"
#include "reduce/seen.h"
#include "run/run.h"
#include "scenario/scenario.h"

/* The first operand: a folder by its path, or an id below the output folder. */
AS_MUST_CHECK int as_cli_stored_find(const struct as_args *args, struct as_dir *folder,
				     struct as_err *err);
/* Parses its workload, `text`, which was read from the file `name`. A workload without operations
 * is refused, unless the finding was made with it. */
AS_MUST_CHECK int as_cli_stored_parse(const struct as_stored *stored, const char *name,
				      const char *text, struct as_seq **seq, struct as_err *err);

/* Puts a reduced workload into the folder of a finding. */
AS_MUST_CHECK int as_cli_stored_keep(const struct as_dir *folder, const struct as_seq *best,
				     const struct as_reduced *result, const struct as_seen *seen,
				     double seconds, struct as_err *err);

/* What runs workloads on the finding's target, with its options and faults. */
struct as_cli_again {
	const struct as_stored *stored;
	const char *spec; /* its target, or the one that was asked for in its place */
	struct as_run_options options;
	char *faults;
	struct as_target *target; /* here, */
	struct as_runner *runner;
	const struct as_scenario_ops *ops; /* in place of the runner, where it had a scenario */
	struct as_scenario *scenario;
	bool boxed; /* or in a box */
	struct as_cli_box box;
};

/* clang-format off */
#define AS_CLI_STORED_OPTS                                                                        \
	{ .name = "out", .letter = 'o', .kind = AS_OPT_TEXT, .arg = "DIR",                        \
	  .help = "look for the finding in this folder; default " AS_OUT_DEFAULT },               \
	{ .name = "json", .help = "print everything as JSON lines" },                             \
	{ .name = "target", .letter = 't', .kind = AS_OPT_TEXT, .arg = "T",                       \
	  .help = "run it on this target; default: the target that the finding names" },          \
	AS_CLI_TRUST_OPT, AS_CLI_BOX_OPTS
/* clang-format on */

/* args, stored and sinks must outlive it. If the target that the finding names, or a mount option
 * in its workload `seq`, reaches outside, the user must trust it. */
AS_MUST_CHECK int as_cli_again_open(const struct as_args *args, const struct as_stored *stored,
				    const struct as_seq *seq, struct as_sink *sinks,
				    struct as_cli_again *again, struct as_err *err);
/* The same for the target of the finding, a library, which has run already; its calls are put on
 * the trail. */
AS_MUST_CHECK int as_cli_again_trail(const struct as_stored *stored, struct as_trail *trail,
				     struct as_sink *sinks, struct as_cli_again *again,
				     struct as_err *err);
AS_MUST_CHECK int as_cli_again_run(struct as_cli_again *again, const struct as_seq *seq,
				   struct as_err *err);
/* Why it may behave otherwise than when it was found; "": there is no reason. */
const char *as_cli_again_differs(const struct as_args *args, const struct as_stored *stored);
void as_cli_again_close(struct as_cli_again *again);

/* A sink that listens for a finding of the same symptom: a run may have several others as well. */
struct as_cli_ear {
	struct as_sink sink;
	const char *wanted; /* the signature */
	bool heard, same; /* any finding; this one */
	struct as_seen *seen; /* gets what this one says; NULL: nobody asks */
};

struct as_cli_ear as_cli_ear_new(void);
/* Runs it, and says whether the finding that the ear waits for was heard: 1, 0, or an error. */
AS_MUST_CHECK int as_cli_again_fails(struct as_cli_again *again, struct as_cli_ear *ear,
				     const struct as_seq *seq, struct as_err *err);
/* Runs the result of a reduction once more, for what it shows; a flaky one has a few tries. An
 * error of ours only means that this is not known. */
void as_cli_again_look(struct as_cli_again *again, struct as_cli_ear *ear,
		       const struct as_seq *best, const struct as_reduced *result,
		       struct as_seen *seen);

/* ---- What a command has found, to be reduced at its end ---- */

#define AS_CLI_FOUND_MAX 64u

struct as_cli_found {
	struct as_sink sink; /* hears what is kept, and passes it on */
	char id[AS_CLI_FOUND_MAX][AS_FINDING_ID_MAX];
	unsigned n;
};

struct as_cli_found as_cli_found_new(struct as_sink *next);
/* Reduces one after the other, until the time is up or the user stops the command. Notes say what
 * became of each. folder: where they are kept. */
void as_cli_found_reduce(const struct as_cli_found *found, const struct as_args *args,
			 const char *folder, int64_t for_us, struct as_sink *notes);

#endif
