/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * draw: see draw.h. How many calls a workload will make is not known before it has run. So numbers
 * are drawn with each power of two equally likely: small ones often hit, large ones reach the end
 * of long workloads. A rule that hits nothing costs nothing, because the run is then one without
 * faults.
 */
#include "run/draw.h"

#include "base/choice.h"
#include "instance/instance.h"
#include "target/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kind {
	const char *name, *then; /* the rule is NAME:N THEN */
	unsigned weight, bits; /* N is drawn from 1..2^bits */
	bool lasts; /* all further calls may fail, too */
	unsigned needs; /* enum as_draw_what */
} kinds[] = {
	{ "write", ":eio", 4, 7, true, AS_DRAW_WRITE },
	{ "flush", ":eio", 3, 4, true, AS_DRAW_FLUSH },
	{ "read", ":eio", 1, 5, false, 0 },
	{ "alloc", "", 3, 7, false, AS_DRAW_MEMORY },
	{ "zero", ":eio", 2, 5, false, AS_DRAW_ERASE },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define LASTS_ONE_IN 4u
#define PAIR_ONE_IN 4u

unsigned as_draw_what(const struct as_target *target)
{
	bool flash = as_target_flash(target);

	/* Where a write has failed, a disk has what it had before. Of one that was used that is old
	 * data, which a file may then show: ext4 says so of data_err=ignore, its default. */
	return (as_target_used(target) ? 0 : AS_DRAW_WRITE) |
	       (as_instance_caps(target) & AS_INSTANCE_MEMORY ? AS_DRAW_MEMORY : 0) |
	       (flash ? AS_DRAW_ERASE : AS_DRAW_FLUSH);
}

static unsigned weight_of(const struct kind *kind, unsigned what, const struct kind *not_again)
{
	/* A plan fails one allocation at most. */
	if (kind->needs & ~what || (kind->needs & AS_DRAW_MEMORY && kind == not_again))
		return 0;
	return kind->weight;
}

static const struct kind *draw_kind(struct as_choice *choice, unsigned what,
				    const struct kind *not_again)
{
	unsigned sum = 0, at;

	for (size_t i = 0; i < KINDS; i++)
		sum += weight_of(&kinds[i], what, not_again);
	at = as_choose(choice, sum);
	for (size_t i = 0; i < KINDS; i++) {
		unsigned weight = weight_of(&kinds[i], what, not_again);

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

struct as_drawn as_draw(const struct as_seq *seq, uint64_t seed, unsigned one_in, unsigned what)
{
	struct as_chooser *chooser = as_chooser_seeded(as_seq_digest(seq).hi ^ seed);
	struct as_choice *choice = as_chooser_choice(chooser);
	const struct kind *kind = NULL;
	struct as_drawn drawn = { 0 };

	if (!as_choose(choice, one_in))
		drawn.n = as_choose(choice, PAIR_ONE_IN) ? 1 : 2;
	for (unsigned i = 0; i < drawn.n; i++) {
		kind = draw_kind(choice, what, kind);
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

bool as_draw_among(const struct as_seq *seq, uint64_t seed, uint64_t writes, uint64_t flushes,
		   char text[AS_DRAW_TEXT_MAX])
{
	struct as_chooser *chooser = as_chooser_seeded(as_seq_digest(seq).lo ^ seed);
	uint64_t n = writes + flushes, nth = 0;

	if (n && n <= UINT32_MAX)
		nth = 1 + as_choose(as_chooser_choice(chooser), (uint32_t)n);
	as_chooser_free(chooser);
	snprintf(text, AS_DRAW_TEXT_MAX, "%s:%llu:eio", nth > writes ? "flush" : "write",
		 (unsigned long long)(nth > writes ? nth - writes : nth));
	return nth;
}

bool as_draw_sweep(unsigned kind, uint64_t nth, unsigned what, char text[AS_DRAW_TEXT_MAX])
{
	for (size_t i = 0; i < KINDS; i++) {
		if (kinds[i].needs & ~what || kind--)
			continue;
		snprintf(text, AS_DRAW_TEXT_MAX, "%s:%llu%s", kinds[i].name,
			 (unsigned long long)nth, kinds[i].then);
		return true;
	}
	return false;
}

/* ---- The same faults at other calls ---------------------------------------------------------- */

#define RULES_MAX 4u

/* The rules of a plan, each cut at its first number. */
struct plan_pieces {
	unsigned n;
	struct {
		const char *head;
		int head_len, tail_len;
		uint64_t nth;
		const char *tail;
	} rule[RULES_MAX];
};

static bool cut(const char *text, struct plan_pieces *p)
{
	p->n = 0;
	for (text += strspn(text, " ;"); *text; text += strspn(text, " ;")) {
		size_t len = strcspn(text, " ;");
		const char *colon = memchr(text, ':', len);
		char *end = NULL;

		if (p->n == RULES_MAX || !colon)
			return false;
		p->rule[p->n].head = text;
		p->rule[p->n].head_len = (int)(colon + 1 - text);
		p->rule[p->n].nth = strtoull(colon + 1, &end, 10);
		/* A range has two numbers. */
		if (end == colon + 1 || *end == '.')
			return false;
		p->rule[p->n].tail = end;
		p->rule[p->n].tail_len = (int)(text + len - end);
		p->n++;
		text += len;
	}
	return p->n;
}

/* Which of the rules move, one step after the other: each alone, then all by as much. */
bool as_draw_near(const char *plan, uint64_t step, struct as_buf *out)
{
	struct plan_pieces p;
	unsigned moving = 0;
	uint64_t most = 0;

	if (!cut(plan, &p))
		return false;
	/* The steps of rule 0 come first, one for each smaller number, then those of the next. */
	for (; moving < p.n && step >= p.rule[moving].nth - 1; moving++)
		step -= p.rule[moving].nth - 1;
	for (unsigned i = 0; i < p.n; i++)
		most = p.rule[i].nth > most ? p.rule[i].nth : most;
	if (moving == p.n && (p.n == 1 || step >= most - 1))
		return false;
	as_buf_clear(out);
	for (unsigned i = 0; i < p.n; i++) {
		uint64_t nth = p.rule[i].nth;

		if (moving == i || moving == p.n)
			nth = nth > step + 1 ? nth - step - 1 : 1;
		as_buf_addf(out, "%s%.*s%llu%.*s", i ? " " : "", p.rule[i].head_len, p.rule[i].head,
			    (unsigned long long)nth, p.rule[i].tail_len, p.rule[i].tail);
	}
	return true;
}
