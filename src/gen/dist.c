/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dist: see dist.h. This file reads and writes distributions, draw.c draws, partition.c shifts.
 * Values are read by the workload language's own reader, so that they are spelled alike.
 */
#include "gen/dist.h"

#include "work/print.h"

#include <string.h>

#define WEIGHT_MAX 1000

const struct as_draw as_draws[AS_DRAWS] = {
#define DRAW(op_, arg_, how_, text) \
	{ AS_OP_##op_, AS_ARG_##arg_, AS_HOW_##how_, #op_ "." #arg_, text },
#define OP(id, name, layer, args, calls, needs, persists, paths, changes, reads, moves, cost, \
	   race, syscalls, help, gen, weights, draws, ...)                                    \
	draws
#include "work/op.def"
#undef OP
#undef DRAW
};

static const struct as_arg_info *info(const struct as_draw *draw)
{
	return as_draw_info(draw);
}

/* Percent of a flag that nothing is said about: one of the exclusive field would replace what the
 * base says. */
static uint8_t usual_chance(const struct as_dist *dist, const struct as_flag_word *word,
			    int64_t exclusive)
{
	return word->value & ~exclusive ? (uint8_t)dist->percent : 0;
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

/* The words after the percentage: never=WORD|WORD, or WORD=20%. */
static int read_flag_rule(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	struct as_op op = as_op_make(draw->op);
	static const char never[] = "never=";
	const char *start = lex->p;
	int64_t exclusive;
	uint32_t percent;
	size_t n;
	const struct as_flag_word *words = as_draw_words(draw, &n, &exclusive);
	int rc;

	if ((size_t)(lex->end - lex->p) > strlen(never) && !memcmp(lex->p, never, strlen(never))) {
		lex->p += strlen(never);
		rc = as_lex_value(lex, info(draw), &op);
		dist->never = as_arg_int(&op, info(draw));
		return rc;
	}
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(words[i].word);

		if ((size_t)(lex->end - start) <= len || start[len] != '=' ||
		    memcmp(start, words[i].word, len))
			continue;
		lex->p = start + len + 1;
		rc = read_percent(lex, &percent);
		if (!rc)
			dist->chance[i] = (uint8_t)percent;
		return rc;
	}
	return as_lex_expected(lex, start, "never= or a flag such as %s=20%%", words[n - 1].word);
}

static int read_flags(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	struct as_op op = as_op_make(draw->op);
	int rc = as_lex_value(lex, info(draw), &op);
	int64_t exclusive;
	size_t n;
	const struct as_flag_word *words = as_draw_words(draw, &n, &exclusive);

	as_assert(n <= AS_DIST_WORDS);
	if (rc)
		return rc;
	dist->n = (uint32_t)n;
	dist->base = as_arg_int(&op, info(draw));
	as_lex_at_end(lex);
	rc = read_percent(lex, &dist->percent);
	for (size_t i = 0; i < n; i++)
		dist->chance[i] = usual_chance(dist, &words[i], exclusive);
	while (!rc && !as_lex_at_end(lex))
		rc = read_flag_rule(lex, draw, dist);
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

/* LO..HI or one number, and how often: *WEIGHT. */
static int read_piece(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	const char *start = lex->p, *end = start, *dots = NULL, *star = NULL;
	struct as_dist_piece *piece = &dist->piece[dist->n_pieces];
	int rc;

	if (dist->n_pieces == AS_DIST_PIECES)
		return as_lex_fail(lex, start, "expected at most %d ranges", AS_DIST_PIECES);
	for (; end < lex->end && *end != ' ' && *end != '\t'; end++) {
		if (!dots && end + 1 < lex->end && end[0] == '.' && end[1] == '.')
			dots = end;
		if (*end == '*')
			star = end;
	}
	*piece = (struct as_dist_piece){ .weight = 1 };
	if (star) {
		const char *c = star + 1;

		for (piece->weight = 0; c < end && *c >= '0' && *c <= '9'; c++)
			if (piece->weight <= WEIGHT_MAX)
				piece->weight = piece->weight * 10 + (uint32_t)(*c - '0');
		if (c != end || !piece->weight || piece->weight > WEIGHT_MAX)
			return as_lex_expected(lex, star + 1, "a weight from 1 to %d", WEIGHT_MAX);
	}
	if (!dots && draw->how == AS_HOW_SECONDS)
		return as_lex_expected(lex, start, "a range such as 1..4096");
	rc = read_end(lex, draw, dots ? dots : star ? star : end, &piece->lo);
	piece->hi = piece->lo;
	if (!rc && dots) {
		lex->p = dots + 2;
		rc = read_end(lex, draw, star ? star : end, &piece->hi);
	}
	if (rc)
		return rc;
	lex->p = end;
	/* The width has to fit what is drawn from. */
	if (piece->hi < piece->lo || piece->hi > (int64_t)1 << 61 ||
	    piece->lo < -((int64_t)1 << 61))
		return as_lex_fail(lex, start, "expected a range that goes upwards");
	if (!dist->n_pieces || piece->lo < dist->lo)
		dist->lo = piece->lo;
	if (!dist->n_pieces || piece->hi > dist->hi)
		dist->hi = piece->hi;
	dist->n_pieces++;
	return 0;
}

static bool at_percent(const struct as_lex *lex)
{
	const char *c = lex->p;

	while (c < lex->end && *c >= '0' && *c <= '9')
		c++;
	return c > lex->p && c < lex->end && *c == '%';
}

static int read_range(struct as_lex *lex, const struct as_draw *draw, struct as_dist *dist)
{
	int rc = read_piece(lex, draw, dist);

	while (!rc && !as_lex_at_end(lex))
		rc = at_percent(lex) ? read_percent(lex, &dist->percent)
				     : read_piece(lex, draw, dist);
	return rc;
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

	/* A type may have no options at all. */
	return rc || as_lex_at_end(lex) ? rc : read_words(lex, draw, dist);
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

static void print_flags(const struct as_draw *draw, const struct as_dist *dist, struct as_buf *out)
{
	enum as_flag_table table = (enum as_flag_table)(info(draw)->type - AS_TYPE_FLAGS);
	int64_t exclusive;
	size_t n;
	const struct as_flag_word *words = as_draw_words(draw, &n, &exclusive);

	as_flags_print(table, dist->base, out);
	as_buf_addf(out, " %u%%", dist->percent);
	for (size_t i = 0; i < n; i++)
		if (dist->chance[i] != usual_chance(dist, &words[i], exclusive))
			as_buf_addf(out, " %s=%u%%", words[i].word, dist->chance[i]);
	if (dist->never) {
		as_buf_adds(out, " never=");
		as_flags_print(table, dist->never, out);
	}
}

static void print_end(const struct as_draw *draw, int64_t value, struct as_buf *out)
{
	if (draw->how == AS_HOW_SECONDS)
		value /= 1000000000;
	as_buf_addf(out, "%lld", (long long)value);
}

static void print_range(const struct as_draw *draw, const struct as_dist *dist, struct as_buf *out)
{
	for (uint32_t i = 0; i < dist->n_pieces; i++) {
		const struct as_dist_piece *piece = &dist->piece[i];

		if (i)
			as_buf_addc(out, ' ');
		print_end(draw, piece->lo, out);
		if (piece->hi != piece->lo || draw->how == AS_HOW_SECONDS) {
			as_buf_adds(out, "..");
			print_end(draw, piece->hi, out);
		}
		if (piece->weight != 1)
			as_buf_addf(out, "*%u", piece->weight);
	}
	if (dist->percent)
		as_buf_addf(out, " %u%%", dist->percent);
}

void as_dist_print(const struct as_draw *draw, const struct as_dist *dist, struct as_buf *out)
{
	switch (draw->how) {
	case AS_HOW_MODE:
		as_buf_addf(out, "%04o %u%%", (unsigned)dist->base, dist->percent);
		break;
	case AS_HOW_FLAGS:
		print_flags(draw, dist, out);
		break;
	case AS_HOW_RANGE:
	case AS_HOW_SECONDS:
		print_range(draw, dist, out);
		break;
	case AS_HOW_CHANCE:
		as_buf_addf(out, "%u%%", dist->percent);
		break;
	case AS_HOW_SOME:
		as_buf_addf(out, "%u%%", dist->percent);
		/* fall through */
	case AS_HOW_ONE:
		for (uint32_t i = 0; i < dist->n; i++) {
			if (i || draw->how == AS_HOW_SOME)
				as_buf_addc(out, ' ');
			as_print_str(dist->word[i], out);
		}
		break;
	}
}
