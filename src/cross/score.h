/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * score: what the repairs of a checker lose, for each kind of damage. Every field of the generic
 * disk is damaged (corrupt.h), in an order that mixes the kinds, and the recovered tree is compared
 * with the healthy one, attribute by attribute.
 */
#ifndef AS_CROSS_SCORE_H
#define AS_CROSS_SCORE_H

#include "base/buf.h"
#include "base/err.h"
#include "cross/cross.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_SCORE_KINDS(X)                              \
	X(SUPER, "superblock")                         \
	X(BITMAP, "bitmaps")                           \
	X(MODE, "types of inodes")                     \
	X(POINTER, "pointers of inodes")               \
	X(COUNT, "sizes and counts of inodes")         \
	X(ATTRIBUTE, "owners, times, flags of inodes") \
	X(ENTRY, "entries of directories")             \
	X(CHECKSUM, "checksums")                       \
	X(REST, "other metadata")

enum as_score_kind {
#define KIND(id, name) AS_SCORE_##id,
	AS_SCORE_KINDS(KIND)
#undef KIND
		AS_SCORE_N
};

const char *as_score_kind_name(enum as_score_kind kind);

struct as_score_loss {
	uint64_t files, bytes; /* whose contents are nowhere or other ones */
	uint64_t names; /* that lead to nothing any more */
	uint64_t metadata; /* attributes that changed, of files that are there */
};

struct as_score_sum {
	uint64_t disks; /* that were damaged in this way */
	uint64_t content; /* of these: the checker says in the end that all is well */
	uint64_t unread; /* of these: the tree cannot be read at all; nothing else is counted */
	uint64_t whole; /* of these: everything is as it was */
	uint64_t unjudged; /* not in `disks`: the sandbox that reads trees failed */
	struct as_score_loss touched, untouched; /* by the damage */
};

struct as_score {
	char *checker;
	struct as_score_sum of[AS_SCORE_N], all;
	bool complete; /* every field was damaged */
	bool by_kernel;
	struct as_buf note; /* about the disk; "": there is nothing to say */
};

#define AS_SCORE_JOBS 64u

struct as_frames;

struct as_score_args {
	const char *checker;
	const struct as_cross_setup *setup;
	unsigned jobs; /* processes; 0 is 1 */
	int64_t for_us; /* with that of earlier sessions; 0: until all is done */
	/* What is done is kept there, and what was there is not done again; may be NULL. */
	const struct as_frames *keep;
	struct as_halt *halt; /* that of the setup */
	void (*opened)(void); /* told when the checker and its disk are ready; may be NULL */
};

/* For as_frames_open(). The number after "rules" is that of what is counted and how (score.c,
 * fsck/judge.h, fsck/loss.h): who changes that counts it up, so that no sum has parts of two
 * kinds. */
#define AS_SCORE_HEAD "assay-score 2, rules 2"

/* AS_ELACK: the checker is not installed. */
AS_MUST_CHECK int as_score_run(const struct as_score_args *args, struct as_score *score,
			       struct as_err *err);
void as_score_free(struct as_score *score);
/* The tables: for each kind, the best first. */
void as_score_tell(const struct as_score *const *scores, size_t n, struct as_buf *out);

#endif
