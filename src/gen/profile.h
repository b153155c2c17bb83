/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile: everything that steers generation, in one readable text (docs/PROFILE.md): how often
 * each command comes (Dogfood's P^cmd), how each argument is drawn (P^param), k, lengths, bounds,
 * seed, names. A profile is plain data: it is copied by assignment and holds no memory of its own.
 */
#ifndef AS_GEN_PROFILE_H
#define AS_GEN_PROFILE_H

#include "gen/aim.h"
#include "gen/dist.h"
#include "gen/kmeans.h"
#include "gen/search.h"

#define AS_NAMES_MAX 64
#define AS_NAME_BYTES 64
#define AS_WEIGHT_MAX 1000000
#define AS_COMPARE_MAX 16

enum as_prune { AS_PRUNE_EXACT, AS_PRUNE_CANONICAL };

struct as_profile {
	char title[AS_NAME_BYTES];
#define SETTING(field, ...) uint64_t field;
#include "gen/setting.def"
#undef SETTING
	enum as_order order;
	enum as_prune prune; /* which digest tells explored states */
	uint32_t n_names;
	char name[AS_NAMES_MAX][AS_NAME_BYTES];
	uint32_t weight[AS_OP_COUNT]; /* 0: never */
	uint32_t raised[AS_OP_COUNT]; /* how many times feedback multiplied it; 0: not at all */
	struct as_dist dist[AS_DRAWS];
	/* What feedback says was never met and can be gone for. */
	uint32_t n_goals;
	struct as_goal goal[AS_GOALS_MAX];
};

struct as_profile *as_profile_new(void); /* as `paper` has it; free() */
/* Row i of the built-in profiles, NULL after the last. */
const char *as_profile_builtin(unsigned i, const char **summary);
/* AS_EUSE when there is none of that name. */
AS_MUST_CHECK int as_profile_find(const char *name, struct as_profile *profile, struct as_err *err);
/* Errors read "file:line:column: ..."; *profile is untouched then. */
AS_MUST_CHECK int as_profile_parse(const char *file, const char *text, size_t len,
				   struct as_profile *profile, struct as_err *err);
/* The options of `remount` and `mount` are drawn from these, separated by blanks, in place of the
 * profile's; with the same percentage, but no more than two at once on average: most cannot stand
 * together. Words too long or too many for a distribution are left out. */
void as_profile_mount_options(struct as_profile *profile, const char *words);
/* All of it; parse(print(p)) equals p. Feedback is not part of it. */
void as_profile_print(const struct as_profile *profile, struct as_buf *out);

#endif
