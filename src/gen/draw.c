/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draw: values from distributions; see dist.h. */
#include "gen/dist.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK_BITS_MIN 9
#define BLOCK_BITS_MAX 12

uint64_t as_draw_below(struct as_choice *choice, uint64_t n)
{
	uint64_t high, low;

	if (n <= UINT_MAX)
		return as_choose(choice, (unsigned)n);
	/* Two draws make 62 bits; what does not divide evenly is drawn again. */
	do {
		high = as_choose(choice, 1u << 31);
		low = as_choose(choice, 1u << 31);
	} while ((high << 31 | low) >= ((uint64_t)1 << 62) / n * n);
	return (high << 31 | low) % n;
}

static void put_int(const struct as_draw *draw, struct as_op *op, int64_t value)
{
	const struct as_arg_info *info = as_draw_info(draw);

	if (info->type == AS_TYPE_OCT || info->type == AS_TYPE_OCT_OPT)
		*(uint32_t *)as_arg_field(op, info) = (uint32_t)value;
	else
		*(int64_t *)as_arg_field(op, info) = value;
}

static size_t draw_weighted(const uint32_t *weight, size_t n, struct as_choice *choice)
{
	uint64_t total = 0, at;
	size_t i = 0;

	for (size_t k = 0; k < n; k++)
		total += weight[k];
	at = as_draw_below(choice, total);
	while (at >= weight[i])
		at -= weight[i++];
	return i;
}

static int64_t draw_flags(const struct as_draw *draw, const struct as_dist *dist,
			  struct as_choice *choice)
{
	int64_t exclusive, value = dist->base;
	size_t n;
	const struct as_flag_word *words = as_draw_words(draw, &n, &exclusive);

	for (size_t i = 0; i < n; i++) {
		uint32_t percent = dist->shifted ? dist->weight[i] : dist->chance[i];

		if (!percent || (words[i].value & dist->never))
			continue;
		if (!as_draw_chance(choice, percent))
			continue;
		if (!(words[i].value & ~exclusive))
			value &= ~exclusive;
		value |= words[i].value;
	}
	return value;
}

static int64_t draw_mode(const struct as_dist *dist, struct as_choice *choice)
{
	int64_t mode = 0;

	if (!dist->shifted)
		return as_draw_chance(choice, dist->percent) ? dist->base
							     : as_choose(choice, AS_MODE_MAX + 1);
	for (unsigned i = 0; i < AS_MODE_BITS; i++)
		mode |= (int64_t)as_draw_chance(choice, dist->weight[i]) << i;
	return mode;
}

/* Edges: powers of two and multiples of them, one less, one more. Every other time the power is
 * one that blocks have as their size. */
static int64_t move_to_edge(int64_t value, int64_t lo, int64_t hi, struct as_choice *choice)
{
	unsigned bits = hi > 1 ? 64 - (unsigned)__builtin_clzll((uint64_t)hi) : 1;
	unsigned how = as_choose(choice, 16), grain_bits;
	int64_t grain;

	if (how & 8 && bits > BLOCK_BITS_MAX)
		grain_bits =
			BLOCK_BITS_MIN + as_choose(choice, BLOCK_BITS_MAX - BLOCK_BITS_MIN + 1);
	else
		grain_bits = as_choose(choice, bits);
	grain = (int64_t)1 << grain_bits;
	value = how & 4 || value < 0 ? grain : value - value % grain;
	value += (how & 3) == 1 ? -1 : (how & 3) == 2 ? 1 : 0;
	return value < lo ? lo : value > hi ? hi : value;
}

static int64_t draw_range(const struct as_draw *draw, const struct as_dist *dist,
			  struct as_choice *choice)
{
	int64_t lo = dist->lo, hi = dist->hi, value;

	if (dist->shifted) {
		as_bucket_bounds(
			dist, draw_weighted(dist->weight, as_dist_partitions(draw, dist), choice),
			&lo, &hi);
	} else if (dist->n_pieces > 1) {
		const struct as_dist_piece *piece = dist->piece;
		uint32_t total = 0, at;

		for (uint32_t i = 0; i < dist->n_pieces; i++)
			total += piece[i].weight;
		for (at = as_choose(choice, total); at >= piece->weight; piece++)
			at -= piece->weight;
		lo = piece->lo;
		hi = piece->hi;
	}
	value = lo + (int64_t)as_draw_below(choice, (uint64_t)(hi - lo) + 1);
	return as_draw_chance(choice, dist->percent) ? move_to_edge(value, lo, hi, choice) : value;
}

static void draw_some(const struct as_draw *draw, const struct as_dist *dist,
		      struct as_choice *choice, struct as_op *op, struct as_buf *text)
{
	size_t start = text->len;

	for (uint32_t i = 0; i < dist->n; i++) {
		if (!as_draw_chance(choice, dist->shifted ? dist->weight[i] : dist->percent))
			continue;
		if (text->len > start)
			as_buf_addc(text, ',');
		as_buf_adds(text, dist->word[i]);
	}
	*(const char **)as_arg_field(op, as_draw_info(draw)) = as_buf_str(text) + start;
}

static void put_word(const struct as_draw *draw, const struct as_dist *dist, size_t i,
		     struct as_op *op)
{
	if (as_draw_info(draw)->type == AS_TYPE_STR)
		*(const char **)as_arg_field(op, as_draw_info(draw)) = dist->word[i];
	else
		put_int(draw, op, dist->value[i]);
}

/* A second of the range, and every other time a part of one, which a file system may lose. */
static int64_t draw_seconds(const struct as_dist *dist, struct as_choice *choice)
{
	uint64_t seconds = (uint64_t)((dist->hi - dist->lo) / 1000000000);
	int64_t at = dist->lo + (int64_t)as_draw_below(choice, seconds + 1) * 1000000000;

	if (as_choose(choice, 2))
		at += as_choose(choice, 1000000000);
	return at < dist->hi ? at : dist->hi;
}

void as_dist_draw(const struct as_draw *draw, const struct as_dist *dist, struct as_choice *choice,
		  struct as_op *op, struct as_buf *text)
{
	switch (draw->how) {
	case AS_HOW_MODE:
		put_int(draw, op, draw_mode(dist, choice));
		break;
	case AS_HOW_FLAGS:
		put_int(draw, op, draw_flags(draw, dist, choice));
		break;
	case AS_HOW_RANGE:
		put_int(draw, op, draw_range(draw, dist, choice));
		break;
	case AS_HOW_SECONDS:
		put_int(draw, op, draw_seconds(dist, choice));
		break;
	case AS_HOW_ONE:
		put_word(draw, dist,
			 dist->shifted ? draw_weighted(dist->weight, dist->n, choice)
				       : as_choose(choice, dist->n),
			 op);
		break;
	case AS_HOW_SOME:
		draw_some(draw, dist, choice, op, text);
		break;
	case AS_HOW_CHANCE:
		put_int(draw, op,
			as_draw_chance(choice, dist->shifted ? dist->weight[1] : dist->percent));
		break;
	}
}

void as_draw_index_init(struct as_draw_index *index)
{
	_Static_assert(AS_DRAWS <= UINT8_MAX, "an index fits");
	*index = (struct as_draw_index){ 0 };
	for (unsigned d = AS_DRAWS; d-- > 0;) {
		enum as_opcode op = as_draws[d].op;

		as_assert(!index->n[op] || index->first[op] == d + 1);
		index->first[op] = (uint8_t)d;
		index->n[op]++;
	}
}

void as_draw_args(const struct as_draw_index *index, const struct as_dist dist[AS_DRAWS],
		  struct as_choice *choice, struct as_op *op, struct as_buf *text)
{
	for (unsigned d = index->first[op->code], n = index->n[op->code]; n > 0; n--, d++)
		as_dist_draw(&as_draws[d], &dist[d], choice, op, text);
}

void as_dist_plain(const struct as_draw *draw, const struct as_dist *dist, struct as_op *op)
{
	switch (draw->how) {
	case AS_HOW_MODE:
	case AS_HOW_FLAGS:
		put_int(draw, op, dist->base);
		break;
	case AS_HOW_RANGE:
	case AS_HOW_SECONDS:
		put_int(draw, op, dist->piece[0].hi);
		break;
	case AS_HOW_ONE:
		put_word(draw, dist, 0, op);
		break;
	case AS_HOW_SOME:
	case AS_HOW_CHANCE:
		break; /* as_op_make() has left it out */
	}
}

void as_draw_drop_idle(struct as_op *op)
{
	if (op->code == AS_OP_OPEN && !as_op_takes_mode(op))
		op->mode = 0;
	if (op->code == AS_OP_MKNOD && !S_ISCHR(op->flags) && !S_ISBLK(op->flags))
		op->dev = 0;
}
