/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cuts: power cuts as steps of a trace: crash, recover, go on, crash (FiSC section 2: a recovered
 * file system is a state as any other). Only files of this room include it.
 *
 * A trace is parts of operations with a line between two of them that names a power cut:
 *
 *	crash # from=1:12:1+4
 *
 * The operation is `crash`, and what follows is for us: the view, the cut and the units (spot.h)
 * of the disk that is left. The next part begins with the tree that a mount of that disk finds.
 * Types that need a checker first (AS_GUARANTEE_REPAIR) begin with what the full checker left. All
 * of it is stable. Rounds of the room crash run the same parts: what is found comes back there.
 */
#ifndef AS_CHECK_CUTS_H
#define AS_CHECK_CUTS_H

#include "check/worker_priv.h"

struct as_tree;

/* Where a part of a trace begins. */
struct as_cut_base {
	unsigned n; /* power cuts before it */
	struct as_era era;
	struct as_disk *crashed; /* as the power cut or the checker left it; NULL: the fresh disk */
	struct as_instance_mark *mark; /* the same */
	struct as_tree *tree; /* that a mount finds; NULL: the fresh one */
	struct as_model *model; /* NULL: it cannot be begun with, which was told */
	uint64_t after_ns; /* the clock of the part before */
};

struct as_cuts;

/* max: how many power cuts a trace may have. */
struct as_cuts *as_cuts_new(struct as_expander *w, unsigned max);
void as_cuts_free(struct as_cuts *cuts); /* takes NULL */

/* Where the last part of a trace begins. *part: its text, a part of the trace. Valid until the
 * next call. */
AS_MUST_CHECK int as_cuts_base(struct as_cuts *cuts, const char *trace, const char **part,
			       const struct as_cut_base **base, struct as_err *err);

/* Whether traces go on after one more power cut. */
bool as_cuts_may(const struct as_cuts *cuts);
/* From now on recovered crash states are looked at: they follow the state that is reached next. */
void as_cuts_begin(struct as_cuts *cuts);
/* A crash state was recovered by `way`; the flight says which one. */
void as_cuts_note(struct as_cuts *cuts, const struct as_flight *flight,
		  const struct as_recovered *recovered);
/* All crash states of the recording are right: how those can be named that are to be kept. */
void as_cuts_name(struct as_cuts *cuts, const struct as_recording *recording);
/* Adds what was kept to the store, as successors of state `id`, or of the state that operation
 * `before` leads to from there (NULL: none). */
void as_cuts_reach(struct as_cuts *cuts, uint32_t id, const char *before);
/* Ends what begin() began, whatever was found: what comes next has another recording. */
void as_cuts_end(struct as_cuts *cuts);

/* Whether the line is such a step, and can be read. */
bool as_cuts_is_step(const char *line);
/* Adds the options of a crash run that bring the power cuts of a trace back (",rounds=2,from=...");
 * nothing where there are none. Returns their number. */
unsigned as_cuts_options(const char *trace, struct as_buf *out);

#endif
