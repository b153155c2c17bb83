/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash_words: see crash_words.h. */
#include "cmd/crash_words.h"

#include "base/show.h"

void as_crash_words_json(struct as_json *j, const struct as_crash_counts *c)
{
	as_json_kuint(j, "generated", c->generated);
	as_json_kuint(j, "distinct", c->distinct);
	as_json_kuint(j, "checked", c->checked);
	as_json_kuint(j, "memoised", c->memoised);
	as_json_kuint(j, "again", c->again);
	as_json_kuint(j, "again_checked", c->again_checked);
	as_json_kuint(j, "again_memoised", c->again_memoised);
	as_json_kuint(j, "pruned_unread", c->pruned[0]);
	as_json_kuint(j, "pruned_same", c->pruned[1]);
	as_json_kuint(j, "pruned_own", c->pruned[2]);
	as_json_kuint(j, "twins", c->twins);
	as_json_kuint(j, "faulty", c->faulty);
	as_json_kuint(j, "possible", c->possible);
	as_json_kuint(j, "again_possible", c->again_possible);
	as_json_kuint(j, "rounds", c->rounds);
	as_json_kuint(j, "unjudged", c->unjudged);
}

void as_crash_words(struct as_buf *line, const struct as_crash_counts *c)
{
	as_buf_addf(line, "%llu crash states, %llu distinct, %llu checked, %llu memoised",
		    (unsigned long long)c->generated, (unsigned long long)c->distinct,
		    (unsigned long long)c->checked, (unsigned long long)c->memoised);
	if (c->again)
		as_buf_addf(line, "; during recovery %llu, %llu checked, %llu memoised",
			    (unsigned long long)c->again, (unsigned long long)c->again_checked,
			    (unsigned long long)c->again_memoised);
	if (c->rounds)
		as_buf_addf(line, "; gone on after %llu power cut%s", (unsigned long long)c->rounds,
			    as_plural(c->rounds));
	if (c->unjudged)
		as_buf_addf(line, "; %llu not judged: too many orders of calls",
			    (unsigned long long)c->unjudged);
	if (c->faulty)
		as_buf_addf(line, "; %llu recoveries with a read that fails",
			    (unsigned long long)c->faulty);
}
