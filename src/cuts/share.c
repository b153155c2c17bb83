/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share: see share.h. */
#include "cuts/share.h"

#include "base/choice.h"

#include <stdlib.h>

#define SHARE 0x5368617265u
#define NUMBER_MAX ((uint64_t)1 << 40)

/* Where nothing is known yet, and what is multiplied by what a kind is worth. */
static const uint8_t usual[AS_SHARE_DIVIDED] = { 10, 3, 5, 2, 4, 8 };
#define USUAL_CHANCE (AS_SHARE_OF / 4)
#define CHANCE_LEAST (AS_SHARE_OF / 16)
#define CHANCE_MOST (AS_SHARE_OF / 2)

/* What counts how much. */
#define GAIN_DISK 1u
#define GAIN_TREE 16u
#define GAIN_FOUND 32u
/* As if so many recoveries had given as many new disks: few counts decide little. */
#define BEFORE 64u
#define UNIT 64u /* of cost, and of what a kind is worth compared with all */
#define WORTH_LEAST (UNIT / 4)
#define WORTH_MOST (UNIT * 4)

static uint64_t gain_of(const uint64_t *n)
{
	return n[AS_SHARE_DISKS] * GAIN_DISK + n[AS_SHARE_TREES] * GAIN_TREE +
	       n[AS_SHARE_FOUND] * GAIN_FOUND;
}

/* What a row is worth compared with all states: UNIT if it is worth as much. */
static uint64_t worth_of(const struct as_shares *s, unsigned row)
{
	uint64_t gain = BEFORE, cost = BEFORE * UNIT, worth;
	double here = (double)(gain_of(s->n[row]) + BEFORE) /
		      (double)(s->n[row][AS_SHARE_COST] + BEFORE * UNIT);

	for (unsigned r = 0; r < AS_SHARE_DIVIDED; r++) {
		gain += gain_of(s->n[r]);
		cost += s->n[r][AS_SHARE_COST];
	}
	worth = (uint64_t)(UNIT * here * (double)cost / (double)gain);
	return worth < WORTH_LEAST ? WORTH_LEAST : worth > WORTH_MOST ? WORTH_MOST : worth;
}

struct as_share as_share_draw(const struct as_seq *seq, uint64_t seed,
			      const struct as_shares *so_far)
{
	struct as_chooser *chooser = as_chooser_seeded(as_seq_digest(seq).hi ^ seed ^ SHARE);
	struct as_choice *choice = as_chooser_choice(chooser);
	unsigned weight[AS_SHARE_DIVIDED], sum = 0;
	struct as_share share;

	for (unsigned r = 0; r < AS_SHARE_DIVIDED; r++) {
		share.part[r] = 1;
		weight[r] = (unsigned)(usual[r] * worth_of(so_far, r));
		sum += weight[r];
	}
	for (unsigned i = AS_SHARE_DIVIDED; i < AS_SHARE_PARTS; i++) {
		unsigned at = as_choose(choice, sum), r = 0;

		while (at >= weight[r])
			at -= weight[r++];
		share.part[r]++;
	}
	as_chooser_free(chooser);
	return share;
}

static unsigned chance_of(const struct as_shares *so_far, unsigned row)
{
	unsigned chance = (unsigned)(USUAL_CHANCE * worth_of(so_far, row) / UNIT);

	return chance < CHANCE_LEAST ? CHANCE_LEAST : chance > CHANCE_MOST ? CHANCE_MOST : chance;
}

struct as_share_chances as_share_chances(const struct as_shares *so_far)
{
	return (struct as_share_chances){ chance_of(so_far, AS_SHARE_ROUNDS),
					  chance_of(so_far, AS_SHARE_HOLD),
					  chance_of(so_far, AS_SHARE_EARLY) };
}

bool as_share_is(const struct as_share *share)
{
	return share->part[AS_SHARE_VIEW_1];
}

/* What of the limit is for a row of as_shares; the whole limit if there is no share. */
static uint64_t share_limit(const struct as_share *share, enum as_share_row row, uint64_t limit)
{
	uint64_t part = limit * share->part[row] / AS_SHARE_PARTS;

	return !as_share_is(share) ? limit : part ? part : 1;
}

uint64_t as_share_part(const struct as_share *share, enum as_share_row row, uint64_t limit,
		       uint64_t planned)
{
	return as_share_is(share) ? share_limit(share, row, limit) : planned;
}

/* ---- Text ------------------------------------------------------------------------------------ */

void as_share_print(const struct as_share *share, struct as_buf *out)
{
	for (unsigned r = 0; r < AS_SHARE_DIVIDED; r++)
		as_buf_addf(out, "%s%u", r ? "." : "", share->part[r]);
}

/* Exactly n numbers. */
static int parse_numbers(const char *word, const char *value, uint64_t max, uint64_t *to,
			 unsigned n, struct as_err *err)
{
	for (unsigned i = 0; i < n; i++) {
		char *end;

		to[i] = strtoull(value, &end, 10);
		if (*value < '0' || *value > '9' || to[i] > max || *end != (i + 1 < n ? '.' : '\0'))
			return as_fail(err, AS_EUSE,
				       "'%s': expected %u numbers up to %llu, with dots between",
				       word, n, (unsigned long long)max);
		value = end + 1;
	}
	return 0;
}

int as_share_parse(const char *word, const char *value, struct as_share *share, struct as_err *err)
{
	uint64_t part[AS_SHARE_DIVIDED];
	unsigned none = 0;
	int rc = parse_numbers(word, value, AS_SHARE_PARTS, part, AS_SHARE_DIVIDED, err);

	for (unsigned r = 0; r < AS_SHARE_DIVIDED && !rc; r++) {
		share->part[r] = (uint8_t)part[r];
		none += !part[r];
	}
	if (!rc && none)
		rc = as_fail(err, AS_EUSE, "'%s': every part is at least 1", word);
	return rc;
}

void as_share_print_tally(const struct as_shares *so_far, struct as_buf *out)
{
	for (unsigned r = 0; r < AS_SHARE_ROWS; r++)
		as_buf_addf(out, "%s%llu.%llu", r ? "." : "",
			    (unsigned long long)gain_of(so_far->n[r]),
			    (unsigned long long)so_far->n[r][AS_SHARE_COST]);
}

int as_share_parse_tally(const char *word, const char *value, struct as_shares *so_far,
			 struct as_err *err)
{
	uint64_t numbers[2 * AS_SHARE_ROWS];
	int rc = parse_numbers(word, value, NUMBER_MAX, numbers, 2 * AS_SHARE_ROWS, err);

	*so_far = (struct as_shares){ 0 };
	for (unsigned r = 0; r < AS_SHARE_ROWS && !rc; r++) {
		so_far->n[r][AS_SHARE_DISKS] = numbers[2 * r];
		so_far->n[r][AS_SHARE_COST] = numbers[2 * r + 1];
	}
	return rc;
}
