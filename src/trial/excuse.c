/* SPDX-License-Identifier: GPL-2.0-or-later */
/* excuse: the rows of excuse.def, and who walks them. */
#include "trial/excuse.h"

#include "trial/facts.h"

#include <stddef.h>

struct explained {
	enum as_excused what;
	uint64_t all, none;
};

#define F(name) AS_FACT(name)
#define ALL(facts) facts
#define ANY(facts) facts
#define NONE(facts) facts

#define AS_EXCUSE(what, name, all, none, why) { AS_EXCUSED_##what, all, none },
#define AS_DECIDE(...)
static const struct explained excuses[] = {
#include "trial/excuse.def"
};

#define AS_EXCUSE(...)
#define AS_DECIDE(when, name, all, any, none, run, crash, check, start, why) \
	{ AS_WHEN_##when,                                                    \
	  #when "." #name,                                                   \
	  all,                                                               \
	  any,                                                               \
	  none,                                                              \
	  { AS_DO_##run, AS_DO_##crash, AS_DO_##check, AS_DO_##start } },
static const struct as_decision decisions[] = {
#include "trial/excuse.def"
};

#define N_EXCUSES (sizeof(excuses) / sizeof(excuses[0]))
#define N_DECISIONS (sizeof(decisions) / sizeof(decisions[0]))

_Static_assert(N_EXCUSES <= 64 && N_DECISIONS <= 64, "struct as_decided has a bit for each");

const struct as_decision *as_decide(struct as_trial *t, enum as_when when, uint64_t facts,
				    const struct as_decision *after)
{
	const struct as_decision *row = after ? after + 1 : decisions;

	for (;; row++) {
		as_assert(row < decisions + N_DECISIONS);
		if (row->when == when && (facts & row->all) == row->all &&
		    (!row->any || facts & row->any) && !(facts & row->none) &&
		    row->what[t->way] != AS_DO_NEXT)
			break;
	}
	t->row = row->name;
	t->decided.rows |= UINT64_C(1) << (row - decisions);
	return row;
}

bool as_facts_excuse(enum as_excused what, uint64_t facts, uint64_t *rows)
{
	for (size_t i = 0; i < N_EXCUSES; i++)
		if (excuses[i].what == what && (facts & excuses[i].all) == excuses[i].all &&
		    !(facts & excuses[i].none)) {
			*rows |= UINT64_C(1) << i;
			return true;
		}
	return false;
}

bool as_excuses(enum as_excused what, unsigned said)
{
	static const struct {
		unsigned said;
		uint64_t fact;
	} facts[] = {
		{ AS_CLUE_PLAN, AS_FACT(PLAN) },       { AS_CLUE_HIT, AS_FACT(HIT) },
		{ AS_CLUE_DIED, AS_FACT(DIED) },       { AS_CLUE_STUCK, AS_FACT(STUCK) },
		{ AS_CLUE_GAVE_UP, AS_FACT(GAVE_UP) }, { AS_CLUE_REPAIRED, AS_FACT(REPAIRED) },
	};
	uint64_t all = 0, rows = 0;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (said & facts[i].said)
			all |= facts[i].fact;
	return as_facts_excuse(what, all, &rows);
}
