/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dist: the distribution of one argument (Dogfood's P^param): how it is written, drawn, and shifted
 * towards what was tested too little. work/op.def lists them and explains their spelling.
 */
#ifndef AS_GEN_DIST_H
#define AS_GEN_DIST_H

#include "work/lex.h"

#include <assay/choice.h>

enum as_how {
	AS_HOW_MODE,
	AS_HOW_FLAGS,
	AS_HOW_RANGE,
	AS_HOW_SECONDS,
	AS_HOW_ONE,
	AS_HOW_SOME,
	AS_HOW_CHANCE,
};

struct as_draw {
	enum as_opcode op;
	enum as_arg_kind arg;
	enum as_how how;
	const char *name; /* "open.open_flags" */
	const char *plain; /* the distribution when no profile says otherwise */
};

enum {
#define DRAWS_NONE
#define DRAW(op, arg, how, text) AS_DRAW_##op##_##arg,
#define OP(id, name, layer, args, calls, needs, persists, paths, changes, reads, moves, cost, \
	   race, syscalls, help, gen, weights, draws, ...)                                    \
	draws
#include "work/op.def"
#undef OP
#undef DRAW
	AS_DRAWS
};

extern const struct as_draw as_draws[AS_DRAWS];

#define AS_DIST_WORDS 32
#define AS_DIST_WORD_BYTES 48
#define AS_BUCKETS 65 /* of a range: 0 and below; [1,2), [2,4), ... */
#define AS_DIST_PIECES 8
#define AS_MODE_BITS 12

struct as_dist_piece { /* of a range */
	int64_t lo, hi;
	uint32_t weight;
};

struct as_dist {
	int64_t base, never;
	int64_t lo, hi; /* a range: the least and the greatest of all its pieces */
	uint32_t percent; /* a range: of numbers moved to an edge */
	uint32_t n; /* words of ONE and SOME; of FLAGS: those of the flag table */
	uint32_t n_pieces; /* of a range */
	struct as_dist_piece piece[AS_DIST_PIECES];
	uint8_t chance[AS_DIST_WORDS]; /* FLAGS: percent of each word */
	char word[AS_DIST_WORDS][AS_DIST_WORD_BYTES]; /* ONE and SOME */
	int64_t value[AS_DIST_WORDS]; /* ONE of something that is not a string */
	/* What feedback made of it: weights of words (ONE), percents (FLAGS, SOME), of buckets. */
	bool shifted;
	uint32_t weight[AS_BUCKETS];
};

static inline const struct as_arg_info *as_draw_info(const struct as_draw *draw)
{
	return &as_arg_table[draw->arg];
}

/* FLAGS: the words of its table, and the field of which only one word can stand. */
static inline const struct as_flag_word *as_draw_words(const struct as_draw *draw, size_t *n,
						       int64_t *exclusive)
{
	return as_flag_words((enum as_flag_table)(as_draw_info(draw)->type - AS_TYPE_FLAGS), n,
			     exclusive);
}

/* What comes after the name in a profile, up to the end of the line. */
AS_MUST_CHECK int as_dist_parse(struct as_lex *lex, const struct as_draw *draw,
				struct as_dist *dist);
void as_dist_print(const struct as_draw *draw, const struct as_dist *dist, struct as_buf *out);
/* Draws into the field of op. Text lives in *text, which is added to. */
void as_dist_draw(const struct as_draw *draw, const struct as_dist *dist, struct as_choice *choice,
		  struct as_op *op, struct as_buf *text);
/* Where the draws of each operation are, which stand together. */
struct as_draw_index {
	uint8_t first[AS_OP_COUNT], n[AS_OP_COUNT];
};
void as_draw_index_init(struct as_draw_index *index);
/* Every argument of op that has a row; *text as above. as_draw_drop_idle() comes after it. */
void as_draw_args(const struct as_draw_index *index, const struct as_dist dist[AS_DRAWS],
		  struct as_choice *choice, struct as_op *op, struct as_buf *text);
/* The value that an argument has above the syntax layer. */
void as_dist_plain(const struct as_draw *draw, const struct as_dist *dist, struct as_op *op);

/* Arguments that mean nothing next to the others become "not there": the mode of an open that
 * makes no file, the device number of a node that is no device. */
void as_draw_drop_idle(struct as_op *op);

/* Partitions: the parts of a distribution that coverage counts apart. */
size_t as_dist_partitions(const struct as_draw *draw, const struct as_dist *dist);
void as_dist_partition_name(const struct as_draw *draw, const struct as_dist *dist, size_t i,
			    struct as_buf *out);
/* Which bit of a mode it is, "S_IXOTH" being 0; false: none. */
bool as_mode_bit(const char *name, unsigned *bit);
/* Which numbers partition b of a range holds; *hi < *lo: none. */
void as_bucket_bounds(const struct as_dist *dist, size_t b, int64_t *lo, int64_t *hi);
/* Draws partition i `factor` times as often as before (at most half the time for flags). */
void as_dist_raise(const struct as_draw *draw, struct as_dist *dist, size_t i, uint32_t factor);

/* Number below n, from a choice that takes at most an unsigned. */
uint64_t as_draw_below(struct as_choice *choice, uint64_t n);
static inline bool as_draw_chance(struct as_choice *choice, uint64_t percent)
{
	return percent && (percent >= 100 || as_choose(choice, 100) < percent);
}

#endif
