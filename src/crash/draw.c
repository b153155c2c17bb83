/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * draw: see draw.h. How many calls a workload will make is not known before it has run. So numbers
 * are drawn with each power of two equally likely: small ones often hit, large ones reach the end
 * of long workloads. A rule that hits nothing costs nothing, because the run is then one without
 * faults.
 */
#include "crash/draw.h"

#include "base/choice.h"

#include <stdio.h>
#include <string.h>

static const struct kind {
	const char *name, *then; /* the rule is NAME:N THEN */
	unsigned weight, bits; /* N is drawn from 1..2^bits */
	bool lasts; /* all further calls may fail, too */
	bool memory;
} kinds[] = {
	{ "write", ":eio", 4, 7, true, false },
	{ "flush", ":eio", 3, 4, true, false },
	{ "read", ":eio", 1, 5, false, false },
	{ "alloc", "", 3, 7, false, true },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define LASTS_ONE_IN 4u
#define PAIR_ONE_IN 4u
#define QUEUE 0x5175657565u
#define HOLD_BITS 5u
#define EARLY_KINDS 1000u

static const struct kind *draw_kind(struct as_choice *choice, bool memory, const struct kind * not )
{
	unsigned sum = 0, at;

	for (size_t i = 0; i < KINDS; i++)
		sum += kinds[i].memory && (!memory || not == &kinds[i]) ? 0 : kinds[i].weight;
	at = as_choose(choice, sum);
	for (size_t i = 0; i < KINDS; i++) {
		unsigned weight =
			kinds[i].memory && (!memory || not == &kinds[i]) ? 0 : kinds[i].weight;

		if (at < weight)
			return &kinds[i];
		at -= weight;
	}
	return &kinds[0];
}

static void draw_rule(struct as_choice *choice, const struct kind *kind, char *rule, size_t room)
{
	unsigned nth = 1 + as_choose(choice, 1u << as_choose(choice, kind->bits + 1));
	bool lasts = kind->lasts && !as_choose(choice, LASTS_ONE_IN);

	snprintf(rule, room, "%s:%u%s%s", kind->name, nth, lasts ? "+" : "", kind->then);
}

struct as_drawn as_draw(const struct as_seq *seq, uint64_t seed, bool memory)
{
	struct as_chooser *chooser = as_chooser_seeded(as_seq_digest(seq).hi ^ seed);
	struct as_choice *choice = as_chooser_choice(chooser);
	const struct kind *kind = NULL;
	struct as_drawn drawn = { 0 };

	if (!as_choose(choice, AS_DRAW_EVERY))
		drawn.n = as_choose(choice, PAIR_ONE_IN) ? 1 : 2;
	for (unsigned i = 0; i < drawn.n; i++) {
		/* A plan fails one allocation at most. */
		kind = draw_kind(choice, memory, kind);
		draw_rule(choice, kind, drawn.rule[i], sizeof(drawn.rule[i]));
	}
	as_chooser_free(chooser);
	return drawn;
}

void as_draw_plan(const struct as_drawn *drawn, unsigned rules, char text[AS_DRAW_TEXT_MAX])
{
	text[0] = '\0';
	for (unsigned i = 0; i < drawn->n; i++)
		if (rules >> i & 1)
			snprintf(text + strlen(text), AS_DRAW_TEXT_MAX - strlen(text), "%s%s",
				 text[0] ? " " : "", drawn->rule[i]);
}

struct as_drawn_queue as_draw_queue(const struct as_seq *seq, uint64_t seed,
				    struct as_share_chances chances)
{
	/* Of its own, so that the faults that are drawn stay what they were. */
	struct as_chooser *chooser = as_chooser_seeded(as_seq_digest(seq).lo ^ seed ^ QUEUE);
	struct as_choice *choice = as_chooser_choice(chooser);
	struct as_drawn_queue drawn = { 0 };

	if (as_choose(choice, AS_SHARE_OF) < chances.hold)
		drawn.hold = 1 + as_choose(choice, 1u << as_choose(choice, HOLD_BITS + 1));
	if (as_choose(choice, AS_SHARE_OF) < chances.early)
		drawn.early = 1 + as_choose(choice, EARLY_KINDS);
	drawn.rounds = as_choose(choice, AS_SHARE_OF) < chances.rounds ? 2 : 1;
	as_chooser_free(chooser);
	return drawn;
}

bool as_draw_sweep(unsigned kind, uint64_t nth, bool memory, char text[AS_DRAW_TEXT_MAX])
{
	if (kind >= KINDS || (kinds[kind].memory && !memory))
		return false;
	snprintf(text, AS_DRAW_TEXT_MAX, "%s:%llu%s", kinds[kind].name, (unsigned long long)nth,
		 kinds[kind].then);
	return true;
}
