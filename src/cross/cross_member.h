/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cross_member: one of the checkers that are compared, and what it made of the present damage.
 * Only cross*.c include it. */
#ifndef AS_CROSS_CROSS_MEMBER_H
#define AS_CROSS_CROSS_MEMBER_H

#include "cross/cross.h"
#include "cross/cross_priv.h"
#include "damage/generic.h"
#include "fsck/judge.h"
#include "layout/field.h"

enum as_cross_came {
	AS_CROSS_ABSENT, /* the type has no such field */
	AS_CROSS_UNJUDGED, /* the sandbox that reads its tree failed */
	AS_CROSS_UNREPAIRED, /* the checker says that it left something, or failed */
	AS_CROSS_UNREAD, /* it says that all is well, but the tree cannot be read at all */
	AS_CROSS_REPAIRED, /* it says that all is well */
};

/* Of one role: disks that were damaged, repaired, and of those: that are as they were. */
struct as_cross_sum {
	uint64_t damaged, repaired, whole;
	uint64_t names, others; /* names that are gone; other attributes that changed */
};

struct as_cross_member {
	char *spec; /* as the user said */
	char *checker, *type;
	struct as_fsck_subject *subject;
	struct as_judge *judge;
	struct as_generic generic;
	struct as_fsck_base base;
	struct as_fields *fields;
	struct as_fsck_kernel *kernel;
	bool by_kernel; /* its trees are read by the kernel */
	struct as_cross_view was;
	struct as_cross_sum *sums; /* by role */

	/* Of the present deed: */
	enum as_cross_came came;
	struct as_damage damage;
	struct as_disk *disk;
	struct as_fsck_verdict v;
	struct as_cross_view now;
	struct as_buf why; /* it was not judged */
};

AS_MUST_CHECK int as_cross_member_open(struct as_cross_member *m, const char *spec,
				       const struct as_cross_setup *setup, struct as_chunks *store,
				       struct as_err *err);
void as_cross_member_free(struct as_cross_member *m);
/* Damages its disk, lets the checker repair it, and reads the tree. */
AS_MUST_CHECK int as_cross_member_do(struct as_cross_member *m, const struct as_cross_deed *deed,
				     struct as_err *err);
/* The same for m->disk and m->damage as they are. */
AS_MUST_CHECK int as_cross_member_judge(struct as_cross_member *m, struct as_err *err);
void as_cross_member_clear(struct as_cross_member *m);
/* What its results depend on: program, commands, disk, who reads trees, time limit. */
uint64_t as_cross_member_key(const struct as_cross_member *m, const struct as_cross_setup *setup);

/* Where they do not agree. */
struct as_cross_split {
	const char *path;
	enum as_cross_facet facet;
	uint64_t healthy; /* what was there */
	uint64_t value[AS_CROSS_MAX];
	uint32_t voters, odd; /* masks of members; odd: those that lost what the others kept */
};

struct as_cross {
	struct as_chunks *store;
	struct as_cross_member m[AS_CROSS_MAX];
	unsigned n;
	char *list;
	bool by_kernel; /* all trees are read by it */
	unsigned deadline_ms; /* of a run; 0: the default */
	unsigned roles;
	uint64_t pairs[AS_CROSS_MAX][AS_CROSS_MAX]; /* deeds after which two of them disagree */
	uint64_t both[AS_CROSS_MAX][AS_CROSS_MAX]; /* deeds that both repaired */
	struct as_cross_split *splits; /* of the present deed */
	size_t n_splits, cap_splits;
};

/* cross_vote.c: fills in the splits. */
void as_cross_vote(struct as_cross *c);

/* cross.c: one deed, with all that is counted and told of it. */
struct as_fsck_known;
AS_MUST_CHECK int as_cross_do_deed(struct as_cross *c, const struct as_cross_deed *deed,
				   const struct as_cross_args *args, struct as_fsck_known *known,
				   struct as_cross_counts *counts, struct as_err *err);

/* cross_found.c */
void as_cross_found(const struct as_cross *c, const struct as_cross_deed *deed, unsigned odd,
		    const char *signature, struct as_sink *sinks);
void as_cross_sign(const struct as_cross *c, const struct as_cross_deed *deed, unsigned odd,
		   struct as_buf *out);

#endif
