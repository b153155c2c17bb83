/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gen: workloads by layers, as Dogfood (ICSE 2020) makes them.
 *
 *   core    ten commands with exact semantics: Algorithm 1 explores the states of the model
 *   ext     more commands in between, such that those of the core still do what they did
 *   syntax  every argument drawn from its distribution
 *
 * A walk may follow (walk.h), of which a share is chosen by the state (steer.h).
 *
 * Pure: no I/O, and all chance comes from the choice, so that a seed gives the same workloads on
 * every machine.
 */
#ifndef AS_GEN_GEN_H
#define AS_GEN_GEN_H

#include "gen/profile.h"
#include "gen/view.h"
#include "model/model.h"
#include "work/seq.h"

enum as_gen_layer { AS_GEN_CORE, AS_GEN_EXT, AS_GEN_SYNTAX };

struct as_gen_stats {
	uint64_t picked; /* workloads taken from the queue */
	uint64_t extended; /* commands appended, applied and looked up */
	uint64_t fresh; /* of these: led to a state not explored before */
	uint64_t evicted; /* states that fell out of a full queue */
	uint64_t given; /* workloads handed out */
	uint64_t inserted; /* commands of the extension layer in them */
	uint64_t refused; /* extensions not inserted, as the backbone would have broken */
	size_t queued; /* states waiting now */
	uint64_t forgotten; /* times the set of explored states was full and emptied */
};

struct as_gen;

/*
 * The traits say what a target can do: commands it cannot do are left out. AS_EUSE when no core
 * command is left that could start a workload. Profile, traits and choice must outlive the
 * generator.
 */
AS_MUST_CHECK int as_gen_new(const struct as_profile *profile, const struct as_traits *traits,
			     struct as_choice *choice, struct as_gen **gen, struct as_err *err);
void as_gen_free(struct as_gen *gen); /* takes NULL */
/* The next workload; NULL when nothing is left to explore. The caller frees it. */
struct as_seq *as_gen_next(struct as_gen *gen, enum as_gen_layer layer);
/* One iteration of Algorithm 1 without handing anything out; false when the queue is empty. */
bool as_gen_step(struct as_gen *gen);
void as_gen_stats(const struct as_gen *gen, struct as_gen_stats *stats);
/* Whether commands of this type are left out because the target cannot do them. */
bool as_gen_left_out(const struct as_gen *gen, enum as_opcode code);
/* For measuring: called for every state that is new. */
void as_gen_on_state(struct as_gen *gen, void (*fn)(void *ctx, const struct as_model *model),
		     void *ctx);
struct as_gen_view *as_gen_view(struct as_gen *gen);

/* Commands that a target with these traits can do keep their weight, others get 0. */
/* Whether the target can do it, and so whether it is drawn. */
bool as_gen_may(const struct as_traits *traits, enum as_opcode op);
void as_gen_weights(const struct as_profile *profile, const struct as_traits *traits,
		    uint32_t weight[AS_OP_COUNT]);

/* ---- The lower layers alone ---- */

/* A copy of the core workload with extensions in between. Every command of the backbone that the
 * model lets through still goes through. counts may be NULL. */
struct as_seq *as_gen_extend(const struct as_seq *core, const struct as_profile *profile,
			     const struct as_traits *traits, struct as_choice *choice,
			     struct as_gen_stats *counts);
/* A copy with every argument drawn; paths and descriptors stay. */
struct as_seq *as_gen_fill(const struct as_seq *seq, const struct as_profile *profile,
			   struct as_choice *choice);

/* ---- Exhaustively ---- */

/*
 * Calls fn for one workload of core commands for each state that at most `length` of them reach,
 * where states that differ only in names count once; the empty workload is not given. Shorter ones
 * come first. Stops on a non-zero return and hands it back. *states: how many were expanded.
 */
int as_gen_exhaustive(const struct as_profile *profile, const struct as_traits *traits,
		      unsigned length, int (*fn)(void *ctx, struct as_seq *seq), void *ctx,
		      uint64_t *states);

/* ---- Feedback ---- */

/*
 * Raises the weight of what is under-tested. The text is JSON lines, {"op": "open", "arg":
 * "open_flags", "partition": "O_SYNC", "count": 12}; without arg and partition it is the whole
 * operation's count. {"call": "open", "output": "ELOOP", "count": 0} is a goal to go for (aim.h).
 * docs/PROFILE.md says what the partitions are. May be called again: it replaces what the last call
 * did to the same things. A generator has to be made anew to follow.
 */
AS_MUST_CHECK int as_gen_feedback(struct as_profile *profile, const char *file, const char *text,
				  size_t len, struct as_err *err);
/* How often the goals of the profile were tried by then, by this generator too. */
void as_gen_tries(const struct as_gen *gen, struct as_profile *profile);
/* The same as JSON lines that as_gen_feedback() takes. */
void as_gen_tries_print(const struct as_profile *profile, struct as_buf *out);

#endif
