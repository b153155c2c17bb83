/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choice: one struct for the three modes. The first `pos` entries of `answers` are what was given
 * since the last next(). In exhaustive mode the entries up to `len` are the combination to give,
 * and `limits` holds the n that each was asked with.
 *
 * Method of the odometer: a run asks for answers left to right; past the known digits each answer
 * is 0. next() drops the trailing digits that are at their end and raises the one before. As digits
 * are only ever raised to the right of an unchanged prefix, every combination is met exactly once,
 * also where later questions depend on earlier answers: they depend on the prefix alone.
 */
#include "base/choice.h"

#include "base/array.h"
#include "base/prng.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define TIMES_MAX 1000000u /* of one answer, in a text */

enum mode { SEEDED, EXHAUSTIVE, REPLAY };

struct as_chooser {
	struct as_choice choice; /* first: as_choice and as_chooser convert into each other */
	enum mode mode;
	bool strayed;
	struct as_prng prng;
	unsigned *answers, *limits;
	size_t pos, len, answers_cap, limits_cap;
};

static void make_room(struct as_chooser *c)
{
	AS_ARRAY_ROOM(c->answers, c->pos, c->answers_cap);
	if (c->mode != SEEDED)
		AS_ARRAY_ROOM(c->limits, c->pos, c->limits_cap);
}

static unsigned pick_seeded(struct as_choice *choice, unsigned n)
{
	struct as_chooser *c = (struct as_chooser *)choice;

	as_assert(n >= 1);
	make_room(c);
	return c->answers[c->pos++] = (unsigned)as_prng_below(&c->prng, n);
}

static unsigned pick_exhaustive(struct as_choice *choice, unsigned n)
{
	struct as_chooser *c = (struct as_chooser *)choice;

	as_assert(n >= 1);
	make_room(c);
	if (c->pos == c->len) {
		c->answers[c->len] = 0;
		c->limits[c->len++] = n;
	} else if (c->limits[c->pos] != n) {
		/* The same answers led to another question: the caller is not deterministic. */
		c->strayed = true;
		c->limits[c->pos] = n;
		if (c->answers[c->pos] >= n)
			c->answers[c->pos] = n - 1;
	}
	return c->answers[c->pos++];
}

/* The list to replay is kept in `limits`, so that `answers` can record what was really given. */
static unsigned pick_replay(struct as_choice *choice, unsigned n)
{
	struct as_chooser *c = (struct as_chooser *)choice;
	unsigned answer = 0;

	as_assert(n >= 1);
	make_room(c);
	if (c->pos < c->len && c->limits[c->pos] < n)
		answer = c->limits[c->pos];
	else
		c->strayed = true;
	return c->answers[c->pos++] = answer;
}

static struct as_chooser *chooser_new(enum mode mode,
				      unsigned (*pick)(struct as_choice *choice, unsigned n))
{
	struct as_chooser *c = as_xcalloc(1, sizeof(*c));

	c->choice.pick = pick;
	c->mode = mode;
	return c;
}

struct as_chooser *as_chooser_seeded(uint64_t seed)
{
	struct as_chooser *c = chooser_new(SEEDED, pick_seeded);

	c->prng = as_prng_seed(seed);
	return c;
}

struct as_chooser *as_chooser_exhaustive(void)
{
	return chooser_new(EXHAUSTIVE, pick_exhaustive);
}

struct as_chooser *as_chooser_replay(const unsigned *answers, size_t n)
{
	struct as_chooser *c = chooser_new(REPLAY, pick_replay);

	c->len = n;
	c->answers_cap = c->limits_cap = n;
	c->answers = as_xcalloc(n, sizeof(*answers));
	c->limits = as_xcalloc(n, sizeof(*answers));
	if (n)
		memcpy(c->limits, answers, n * sizeof(*answers));
	return c;
}

void as_chooser_free(struct as_chooser *chooser)
{
	if (!chooser)
		return;
	free(chooser->answers);
	free(chooser->limits);
	free(chooser);
}

struct as_choice *as_chooser_choice(struct as_chooser *chooser)
{
	return &chooser->choice;
}

static bool odometer_next(struct as_chooser *c)
{
	/* A run that asked less than the last one strayed; answers that it did not ask for are
	 * dropped. */
	if (c->pos < c->len)
		c->strayed = true;
	c->len = c->pos;
	c->pos = 0;
	while (c->len && c->answers[c->len - 1] + 1 >= c->limits[c->len - 1])
		c->len--;
	if (!c->len)
		return false;
	c->answers[c->len - 1]++;
	return true;
}

bool as_chooser_next(struct as_chooser *chooser)
{
	if (chooser->mode == EXHAUSTIVE)
		return odometer_next(chooser);
	chooser->pos = 0;
	return chooser->mode == SEEDED;
}

size_t as_chooser_record(const struct as_chooser *chooser, const unsigned **answers)
{
	*answers = chooser->answers;
	return chooser->pos;
}

bool as_chooser_strayed(const struct as_chooser *chooser)
{
	return chooser->strayed;
}

void as_choice_print(const unsigned *answers, size_t n, struct as_buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			as_buf_addc(out, '.');
		as_buf_addu(out, answers[i]);
	}
}

/* Reads one number at *text and moves to the first character after it. */
static bool parse_number(const char **text, unsigned *value)
{
	const char *s = *text;
	unsigned long long sum = 0;

	if (*s < '0' || *s > '9' || (*s == '0' && s[1] >= '0' && s[1] <= '9'))
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		sum = sum * 10 + (unsigned long long)(*s - '0');
		if (sum > UINT_MAX)
			return false;
	}
	*text = s;
	*value = (unsigned)sum;
	return true;
}

int as_choice_parse(const char *text, unsigned **answers, size_t *n, struct as_err *err)
{
	const char *s = text;
	unsigned *list = NULL;
	size_t len = 0, cap = 0;

	while (*s || len) {
		unsigned answer, times = 1;
		bool right = parse_number(&s, &answer);

		if (right && *s == '*') {
			s++;
			right = parse_number(&s, &times) && times && times <= TIMES_MAX;
		}
		for (; right && times; times--) {
			AS_ARRAY_ROOM(list, len, cap);
			list[len++] = answer;
		}
		if (!right || (*s && *s != '.')) {
			free(list);
			return as_fail(err, AS_EUSE,
				       "choices \"%s\": at character %zu expected decimal numbers "
				       "joined by '.'",
				       text, (size_t)(s - text) + 1);
		}
		if (!*s)
			break;
		s++;
	}
	*answers = list;
	*n = len;
	return 0;
}

int as_chooser_parse(const char *text, struct as_chooser **chooser, struct as_err *err)
{
	unsigned *answers = NULL;
	unsigned long long seed;
	size_t n = 0;
	char *end;
	int rc;

	*chooser = NULL;
	if (!strncmp(text, "seed:", 5)) {
		errno = 0;
		seed = strtoull(text + 5, &end, 10);
		if (text[5] < '0' || text[5] > '9' || *end || errno)
			return as_fail(err, AS_EUSE, "choices \"%s\": expected seed:N", text);
		*chooser = as_chooser_seeded(seed);
		return 0;
	}
	rc = as_choice_parse(text, &answers, &n, err);
	if (!rc)
		*chooser = as_chooser_replay(answers, n);
	free(answers);
	return rc;
}
