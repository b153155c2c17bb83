/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: the part of a long workload that comes after the backbone. The search has led to a rare
 * state; from there on, commands of all layers are drawn one by one, on whatever is there at that
 * moment, or chosen by the state (steer.h). No later command depends on what a walk does, so it may
 * do what a backbone must not: it renames over what exists, uses names of the wrong kind, removes
 * what is open, and unmounts. The tree grows and shrinks in turns, so that after a thousand
 * commands there are still names to work on, and free names to make.
 */
#ifndef AS_GEN_WALK_H
#define AS_GEN_WALK_H

#include "gen/roster.h"
#include "gen/steer.h"
#include "work/seq.h"

struct as_gen_walk {
	const struct as_profile *profile;
	const struct as_traits *traits;
	struct as_choice *choice;
	struct as_gen_view *view; /* for its plain operations and its index of draws */
	struct as_roster roster;
	struct as_aim *aim; /* NULL: nothing to go for */
	struct as_steer *steer; /* NULL: no command is chosen by the state */
	struct as_model *model; /* the state so far, for steering; NULL: it is not followed */
	struct as_seq *out;
	struct as_buf text, opts, link; /* paths being put together, options drawn, a link's text */
	uint64_t mapped; /* slots below 64 that have a mapping */
	bool fill; /* draw arguments, too */
	bool growing;
	bool readonly; /* what is made is refused */
	bool bursting; /* long names are as long as they may be */
	size_t turn; /* names at which growing becomes shrinking, or the other way round */
	size_t last; /* item used last */
	const char *at, *at2; /* absolute paths of the operation being built */
	/* Sums of weights, while growing and while shrinking. */
	uint32_t sum[2][AS_OP_COUNT];
};

/* All that is given must outlive the walk. */
void as_gen_walk_init(struct as_gen_walk *walk, struct as_gen_view *view,
		      const struct as_traits *traits);
void as_gen_walk_free(struct as_gen_walk *walk);
/* Appends n commands or a few more to out, which leads to the state of the model, and as many that
 * go for goals as the profile says. fill: draws their arguments; without it there are no goals. */
void as_gen_walk_append(struct as_gen_walk *walk, const struct as_model *model, size_t n, bool fill,
			struct as_seq *out);

#endif
