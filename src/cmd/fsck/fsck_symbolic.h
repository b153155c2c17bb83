/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_symbolic: the part of `assay fsck` that explores a checker symbolically. */
#ifndef AS_CMD_FSCK_FSCK_SYMBOLIC_H
#define AS_CMD_FSCK_FSCK_SYMBOLIC_H

#include "base/json.h"
#include "cli/cli.h"
#include "sym/search.h"

struct as_symbolic {
	struct as_places places;
	struct as_search_setup setup;
	struct as_fsck_source source;
	struct as_keep *keep; /* of the search, for --resume; NULL: nothing is remembered */
	uint64_t before[AS_FSCK_TALLIES]; /* what earlier sessions counted */
	struct as_buf curve, curve_name; /* NAME.csv */
	double seconds; /* that earlier sessions took */
};

/*
 * What is unknown, by the options. AS_ELACK: Valgrind or Z3 is missing. The search is remembered in
 * the folder `below`, under `name`. `differs`: with disks that a power cut left, how each differs
 * from the sound one; NULL: there are none.
 */
AS_MUST_CHECK int as_symbolic_open(const struct as_args *args,
				   const struct as_fsck_subject *subject,
				   struct as_fsck_base *bases, size_t n,
				   const struct as_damage *differs, const struct as_dir *below,
				   const char *name, struct as_symbolic *out, struct as_err *err);
void as_symbolic_close(struct as_symbolic *symbolic);

/* AS_EUSE: nothing could be explored; the message says why. */
AS_MUST_CHECK int as_symbolic_judge(const struct as_symbolic *symbolic, struct as_err *err);
/* Adds a row to the curves of paths, findings and coverage, and replaces NAME.csv. */
AS_MUST_CHECK int as_symbolic_save(struct as_symbolic *symbolic, const struct as_dir *below,
				   const struct as_fsck_status *status, struct as_err *err);

/* The last lines of a session. */
void as_symbolic_say(const struct as_symbolic *symbolic, const struct as_fsck_status *status,
		     struct as_sink *sinks);
void as_symbolic_json(const struct as_symbolic *symbolic, struct as_json *json);

/* Whether --fields is a number, how many fields the model `fields` damages at once: then it is
 * that number; 0: it is a list of names. AS_EUSE: it is neither, for this session. */
AS_MUST_CHECK int as_symbolic_fields(const struct as_args *args, unsigned *at_once,
				     struct as_err *err);

/* How long a worker waits for a run before it takes it for one that hangs; 0: as always. */
unsigned as_symbolic_hint_ms(const struct as_args *args);

#endif
