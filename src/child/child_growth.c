/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_growth: memory that a library gives back when it is unmounted, but needs more and more of
 * until then.
 *
 * Method. On a mount of its own, after everything else, rounds of operations that leave everything
 * as it was are repeated (growth.def). A cache fills in the first rounds and then stays as it is:
 * the first round that leaves no more allocations than the one before ends the search. If every one
 * of ROUNDS left more, each row is repeated alone, and the row that still grows is the finding. So
 * a sound library pays for two or three rounds, and a cache that has room for fewer than ROUNDS
 * more of its things is not taken for a leak.
 *
 * What it does not do: other arguments than those of the table. Once for each process is enough.
 */
#include "child/child_priv.h"

#include "symptom/symptom.h"
#include "work/parse.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS 24

static const struct round {
	const char *name, *text;
} rounds[] = {
#define ROUND(name, text) { name, text },
#include "child/growth.def"
#undef ROUND
};

#define NROUNDS (sizeof(rounds) / sizeof(rounds[0]))

static void repeat_once(struct child *c, const struct as_seq *seq)
{
	struct as_outcome got;

	for (size_t i = 0; i < seq->n; i++) {
		c->sh->alive++;
		as_instance_do(c->instance, AS_HOST_NO_OP, &seq->ops[i], &got);
	}
}

/* By how many allocations it grew in all, if it grew in every round; 0: it did not. */
static uint64_t grows(struct child *c, struct as_seq *const *seqs, size_t n)
{
	uint64_t first = as_instance_memory(c->instance).count, last = first;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t now;

		for (size_t i = 0; i < n; i++)
			repeat_once(c, seqs[i]);
		now = as_instance_memory(c->instance).count;
		if (now <= last)
			return 0;
		last = now;
	}
	return last - first;
}

/* "create /a 0644; unlink /a; sync" */
static void add_trace(const char *text, struct as_buf *out)
{
	for (const char *s = text; *s; s += strcspn(s, "\n") + 1)
		as_buf_addf(out, "%s%.*s", s == text ? "" : "; ", (int)strcspn(s, "\n"), s);
}

static void blame(struct child *c, struct as_seq *const *seqs)
{
	struct as_buf why = { 0 }, what = { 0 }, signature = { 0 };

	for (size_t i = 0; i < NROUNDS; i++) {
		uint64_t more = grows(c, &seqs[i], 1);

		if (!more)
			continue;
		as_buf_addf(&why, "memory grows with each '%s': %llu allocations in %u rounds of: ",
			    rounds[i].name, (unsigned long long)more, ROUNDS);
		add_trace(rounds[i].text, &why);
		as_buf_addf(&what, "memory grows with each '%s'", rounds[i].name);
		as_symptom_sign_plain(AS_FIND_LEAK, NULL, as_buf_str(&what), &signature);
		as_child_say(c, &(struct as_child_said){
					AS_FIND_LEAK, -1, as_phase_name(c->sh->phase),
					as_buf_str(&why), as_buf_str(&signature), NULL });
		break;
	}
	as_buf_free(&why);
	as_buf_free(&what);
	as_buf_free(&signature);
}

void as_child_growth(struct child *c)
{
	struct as_seq *seqs[NROUNDS] = { NULL };
	struct as_err err;

	if (!as_instance_can(c->instance, AS_INSTANCE_MEMORY) || c->args->plan || c->sh->done ||
	    c->args->passes || as_instance_mount(c->instance))
		return;
	as_child_enter(c, PHASE_GROWTH);
	for (size_t i = 0; i < NROUNDS; i++)
		as_assert(!as_parse_text("growth", rounds[i].text, strlen(rounds[i].text), &seqs[i],
					 &err));
	if (grows(c, seqs, NROUNDS))
		blame(c, seqs);
	for (size_t i = 0; i < NROUNDS; i++)
		as_seq_free(seqs[i]);
	if (!as_instance_give_up(c->instance))
		(void)as_child_troubled(c, -1);
}
