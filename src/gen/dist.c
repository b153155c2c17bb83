/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dist: see dist.h. How each way of drawing is read, written and drawn are rows of one table;
 * values are read by the workload language's own reader, so that they are spelled alike.
 */
#include "gen/dist.h"

#include "work/print.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define PERCENT_RAISED_MAX 50u

const struct as_draw as_draws[AS_DRAWS] = {
#define DRAW(op_, arg_, how_, text) \
	{ AS_OP_##op_, AS_ARG_##arg_, AS_HOW_##how_, #op_ "." #arg_, text },
#include "gen/draw.def"
#undef DRAW
};

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

static const struct as_arg_info *info(const struct as_draw *draw)
{
	return &as_arg_table[draw->arg];
}

static const struct as_flag_word *words_of(const struct as_draw *draw, size_t *n)
{
	int64_t exclusive;

	return as_flag_words((enum as_flag_table)(info(draw)->type - AS_TYPE_FLAGS), n, &exclusive);
}

static void put_int(const struct as_draw *draw, struct as_op *op, int64_t value)
{
	if (info(draw)->type == AS_TYPE_OCT || info(draw)->type == AS_TYPE_OCT_OPT)
		*(uint32_t *)as_arg_field(op, info(draw)) = (uint32_t)value;
	else
		*(int64_t *)as_arg_field(op, info(draw)) = value;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int read_percent(struct as_lex *lex, uint32_t *percent)
{
	const char *start = lex->p;
	uint32_t value = 0;

	while (lex->p < lex->end && *lex->p >= '0' && *lex->p <= '9' && value <= 100)
		value = value * 10 + (uint32_t)(*lex->p++ - '0');
	if (lex->p == start || value > 100 || lex->p == lex->end || *lex->p++ != '%' ||
	    !as_lex_at_gap(lex))
		return as_lex_expected(lex, start, "a percentage such as 10%%");
	*percent = value;
	return 0;
}

static int read_mode(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	struct as_op op = as_op_make(draw->op);
	int rc = as_lex_value(lex, info(draw), &op);

	if (rc)
		return rc;
	dist->base = as_arg_mode(&op, info(draw));
	as_lex_at_end(lex);
	return read_percent(lex, &dist->percent);
}

static int read_flags(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	struct as_op op = as_op_make(draw->op);
	static const char never[] = "never=";
	int rc = as_lex_value(lex, info(draw), &op);
	size_t n;

	if (rc)
		return rc;
	dist->base = as_arg_int(&op, info(draw));
	as_lex_at_end(lex);
	rc = read_percent(lex, &dist->percent);
	if (rc || as_lex_at_end(lex))
		goto out;
	if ((size_t)(lex->end - lex->p) < strlen(never) || memcmp(lex->p, never, strlen(never)))
		return as_lex_expected(lex, lex->p, "never= or end of line");
	lex->p += strlen(never);
	rc = as_lex_value(lex, info(draw), &op);
	dist->never = as_arg_int(&op, info(draw));
out:
	words_of(draw, &n);
	dist->n = (uint32_t)n;
	return rc;
}

/* One end of a range: a value of the argument, ended by ".." or a blank. */
static int read_end(struct as_lex *lex, const struct as_draw *draw, const char *end, int64_t *value)
{
	struct as_op op = as_op_make(draw->op);
	struct as_lex part = *lex;
	int rc;

	part.end = end;
	rc = as_lex_value(&part, info(draw), &op);
	if (rc)
		return rc;
	*value = as_arg_int(&op, info(draw));
	return 0;
}

static int read_range(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	const char *start = lex->p, *dots = start, *end;
	int rc;

	while (dots < lex->end && *dots != '.' && *dots != ' ' && *dots != '\t')
		dots++;
	if (lex->end - dots < 3 || dots[0] != '.' || dots[1] != '.')
		return as_lex_expected(lex, start, "a range such as 1..4096");
	end = dots + 2;
	while (end < lex->end && *end != ' ' && *end != '\t')
		end++;
	rc = read_end(lex, draw, dots, &dist->lo);
	lex->p = dots + 2;
	if (!rc)
		rc = read_end(lex, draw, end, &dist->hi);
	if (rc)
		return rc;
	lex->p = end;
	/* The width has to fit what is drawn from. */
	if (dist->hi < dist->lo || dist->hi > (int64_t)1 << 61 || dist->lo < -((int64_t)1 << 61))
		return as_lex_fail(lex, start, "expected a range that goes upwards");
	return 0;
}

static int read_word(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	struct as_op op = as_op_make(draw->op);
	const char *start = lex->p, *text;
	size_t len;
	int rc;

	if (dist->n == AS_DIST_WORDS)
		return as_lex_fail(lex, start, "expected at most %d words", AS_DIST_WORDS);
	rc = as_lex_value(lex, info(draw), &op);
	if (rc)
		return rc;
	text = info(draw)->type == AS_TYPE_STR ? as_arg_str(&op, info(draw)) : start;
	len = info(draw)->type == AS_TYPE_STR ? strlen(text) : (size_t)(lex->p - start);
	if (len == 0 || len >= AS_DIST_WORD_BYTES)
		return as_lex_fail(lex, start, "expected a word of 1 to %d bytes",
				   AS_DIST_WORD_BYTES - 1);
	memcpy(dist->word[dist->n], text, len);
	dist->word[dist->n][len] = '\0';
	if (info(draw)->type != AS_TYPE_STR)
		dist->value[dist->n] = as_arg_int(&op, info(draw));
	dist->n++;
	return 0;
}

static int read_words(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	int rc = 0;

	while (!rc && !as_lex_at_end(lex))
		rc = read_word(lex, draw, dist);
	if (!rc && !dist->n)
		rc = as_lex_expected(lex, lex->p, "%s", info(draw)->expected);
	return rc;
}

static int read_some(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	int rc = read_percent(lex, &dist->percent);

	return rc ? rc : read_words(lex, draw, dist);
}

static int read_chance(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	(void)draw;
	return read_percent(lex, &dist->percent);
}

static int (*const readers[])(struct as_lex *, const struct as_draw *, struct as_dist *) = {
	[AS_HOW_MODE] = read_mode,     [AS_HOW_FLAGS] = read_flags,   [AS_HOW_RANGE] = read_range,
	[AS_HOW_ONE] = read_words,     [AS_HOW_SECONDS] = read_range, [AS_HOW_SOME] = read_some,
	[AS_HOW_CHANCE] = read_chance,
};

int as_dist_parse(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	int rc;

	*dist = (struct as_dist){ 0 };
	as_lex_at_end(lex);
	rc = readers[draw->how](lex, draw, dist);
	return rc ? rc : as_lex_finish(lex);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void print_end(const struct as_draw *draw, int64_t value, struct as_buf *out)
{
	if (draw->how == AS_HOW_SECONDS)
		value /= 1000000000;
	as_buf_addf(out, "%lld", (long long)value);
}

void as_dist_print(const struct as_draw *draw, const struct as_dist *dist, struct as_buf *out)
{
	enum as_flag_table table = (enum as_flag_table)(info(draw)->type - AS_TYPE_FLAGS);

	switch (draw->how) {
	case AS_HOW_MODE:
		as_buf_addf(out, "%04o %u%%", (unsigned)dist->base, dist->percent);
		break;
	case AS_HOW_FLAGS:
		as_flags_print(table, dist->base, out);
		as_buf_addf(out, " %u%%", dist->percent);
		if (dist->never) {
			as_buf_adds(out, " never=");
			as_flags_print(table, dist->never, out);
		}
		break;
	case AS_HOW_RANGE:
	case AS_HOW_SECONDS:
		print_end(draw, dist->lo, out);
		as_buf_adds(out, "..");
		print_end(draw, dist->hi, out);
		break;
	case AS_HOW_CHANCE:
		as_buf_addf(out, "%u%%", dist->percent);
		break;
	case AS_HOW_SOME:
		as_buf_addf(out, "%u%% ", dist->percent);
		/* fall through */
	case AS_HOW_ONE:
		for (uint32_t i = 0; i < dist->n; i++) {
			if (i)
				as_buf_addc(out, ' ');
			as_print_str(dist->word[i], out);
		}
		break;
	}
}

/* ---- Partitions ------------------------------------------------------------------------------ */

/* 0 holds 0 and below, b >= 1 holds [2^(b-1), 2^b). */
static unsigned bucket_of(int64_t value)
{
	return value <= 0 ? 0 : 64 - (unsigned)__builtin_clzll((uint64_t)value);
}

static void bucket_bounds(const struct as_dist *dist, size_t b, int64_t *lo, int64_t *hi)
{
	*lo = b == 0 ? dist->lo : (int64_t)1 << (b - 1);
	*hi = b == 0 ? 0 : ((int64_t)1 << (b - 1)) * 2 - 1;
	if (*lo < dist->lo)
		*lo = dist->lo;
	if (*hi > dist->hi)
		*hi = dist->hi;
}

size_t as_dist_partitions(const struct as_draw *draw, const struct as_dist *dist)
{
	switch (draw->how) {
	case AS_HOW_FLAGS:
	case AS_HOW_ONE:
	case AS_HOW_SOME:
		return dist->n;
	case AS_HOW_RANGE:
		return bucket_of(dist->hi) + 1;
	case AS_HOW_CHANCE:
		return 2;
	default:
		return 0;
	}
}

void as_dist_partition_name(const struct as_draw *draw, const struct as_dist *dist, size_t i,
			    struct as_buf *out)
{
	size_t n;

	switch (draw->how) {
	case AS_HOW_FLAGS:
		as_buf_adds(out, words_of(draw, &n)[i].word);
		break;
	case AS_HOW_RANGE:
		if (i)
			as_buf_addf(out, "2^%zu", i - 1);
		else
			as_buf_adds(out, "0");
		break;
	case AS_HOW_CHANCE:
		as_buf_addc(out, i ? '1' : '0');
		break;
	default:
		as_buf_adds(out, dist->word[i]);
		break;
	}
}

/* Weights as they are without feedback. */
static void make_weights(const struct as_draw *draw, struct as_dist *dist)
{
	if (dist->shifted)
		return;
	dist->shifted = true;
	for (size_t i = 0; i < as_dist_partitions(draw, dist); i++) {
		int64_t lo, hi;

		if (draw->how == AS_HOW_ONE) {
			dist->weight[i] = 1;
		} else if (draw->how == AS_HOW_RANGE) {
			bucket_bounds(dist, i, &lo, &hi);
			dist->weight[i] = lo <= hi;
		} else {
			dist->weight[i] = dist->percent;
		}
	}
}

void as_dist_raise(const struct as_draw *draw, struct as_dist *dist, size_t i, uint32_t factor)
{
	uint64_t raised;

	make_weights(draw, dist);
	raised = (uint64_t)dist->weight[i] * factor;
	if (draw->how == AS_HOW_CHANCE) {
		/* Partition 0 is raised by drawing 1 less often. */
		if (i == 0)
			dist->weight[1] /= factor;
		else
			dist->weight[1] =
				raised < PERCENT_RAISED_MAX ? (uint32_t)raised : PERCENT_RAISED_MAX;
	} else if (draw->how == AS_HOW_FLAGS || draw->how == AS_HOW_SOME) {
		if (raised > PERCENT_RAISED_MAX && dist->weight[i] < PERCENT_RAISED_MAX)
			raised = PERCENT_RAISED_MAX;
		dist->weight[i] = raised < 100 ? (uint32_t)raised : 100;
	} else {
		dist->weight[i] = raised < 1000000 ? (uint32_t)raised : 1000000;
	}
}

/* ---- Drawing --------------------------------------------------------------------------------- */

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
	int64_t value = dist->base, exclusive;
	size_t n;
	const struct as_flag_word *words = as_flag_words(
		(enum as_flag_table)(info(draw)->type - AS_TYPE_FLAGS), &n, &exclusive);

	for (size_t i = 0; i < n; i++) {
		uint32_t percent = dist->shifted ? dist->weight[i] : dist->percent;

		/* A word of the exclusive field would replace what the base says. */
		if (!(words[i].value & ~exclusive) || (words[i].value & dist->never))
			continue;
		if (as_draw_chance(choice, percent))
			value |= words[i].value;
	}
	return value;
}

static int64_t draw_range(const struct as_draw *draw, const struct as_dist *dist,
			  struct as_choice *choice)
{
	int64_t lo = dist->lo, hi = dist->hi;

	if (dist->shifted)
		bucket_bounds(dist,
			      draw_weighted(dist->weight, as_dist_partitions(draw, dist), choice),
			      &lo, &hi);
	return lo + (int64_t)as_draw_below(choice, (uint64_t)(hi - lo) + 1);
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
	*(const char **)as_arg_field(op, info(draw)) = as_buf_str(text) + start;
}

static void put_word(const struct as_draw *draw, const struct as_dist *dist, size_t i,
		     struct as_op *op)
{
	if (info(draw)->type == AS_TYPE_STR)
		*(const char **)as_arg_field(op, info(draw)) = dist->word[i];
	else
		put_int(draw, op, dist->value[i]);
}

void as_dist_draw(const struct as_draw *draw, const struct as_dist *dist, struct as_choice *choice,
		  struct as_op *op, struct as_buf *text)
{
	switch (draw->how) {
	case AS_HOW_MODE:
		put_int(draw, op,
			as_draw_chance(choice, dist->percent) ? dist->base
							      : as_choose(choice, AS_MODE_MAX + 1));
		break;
	case AS_HOW_FLAGS:
		put_int(draw, op, draw_flags(draw, dist, choice));
		break;
	case AS_HOW_RANGE:
		put_int(draw, op, draw_range(draw, dist, choice));
		break;
	case AS_HOW_SECONDS:
		put_int(draw, op,
			(int64_t)(dist->lo / 1000000000 +
				  (int64_t)as_draw_below(
					  choice,
					  (uint64_t)((dist->hi - dist->lo) / 1000000000) + 1)) *
				1000000000);
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

void as_dist_plain(const struct as_draw *draw, const struct as_dist *dist, struct as_op *op)
{
	switch (draw->how) {
	case AS_HOW_MODE:
	case AS_HOW_FLAGS:
		put_int(draw, op, dist->base);
		break;
	case AS_HOW_RANGE:
	case AS_HOW_SECONDS:
		put_int(draw, op, dist->hi);
		break;
	case AS_HOW_ONE:
		put_word(draw, dist, 0, op);
		break;
	case AS_HOW_SOME:
	case AS_HOW_CHANCE:
		break; /* as_op_make() has left it out */
	}
}

void as_draw_settle(struct as_op *op)
{
	if (op->code == AS_OP_OPEN && !as_op_takes_mode(op))
		op->mode = 0;
	if (op->code == AS_OP_MKNOD && !S_ISCHR(op->flags) && !S_ISBLK(op->flags))
		op->dev = 0;
}
