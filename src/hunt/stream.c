/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream: see stream.h. */
#include "hunt/stream.h"

#include "base/choice.h"
#include "base/hash.h"

#include <stdlib.h>

struct as_stream {
	const struct as_profile *profile;
	const struct as_traits *traits;
	uint64_t seed, number;
	unsigned job;
	unsigned again; /* generators of this round that have nothing left */
	struct as_chooser *chooser;
	struct as_gen *gen;
};

static void close_round(struct as_stream *s)
{
	as_gen_free(s->gen);
	as_chooser_free(s->chooser);
	s->gen = NULL;
	s->chooser = NULL;
}

static int open_round(struct as_stream *s, struct as_err *err)
{
	uint64_t round = s->number / AS_STREAM_ROUND;
	uint64_t seed = as_mix64(as_mix64(as_mix64(s->seed + 1) + s->job) + round) + s->again;

	close_round(s);
	/* The first round of the first job is what `assay gen` gives for that seed. */
	if (!s->job && !round && !s->again)
		seed = s->seed;
	s->chooser = as_chooser_seeded(seed);
	return as_gen_new(s->profile, s->traits, as_chooser_choice(s->chooser), &s->gen, err);
}

int as_stream_new(const struct as_profile *profile, const struct as_traits *traits, uint64_t seed,
		  unsigned job, struct as_stream **stream, struct as_err *err)
{
	struct as_stream *s = as_xcalloc(1, sizeof(*s));
	int rc;

	s->profile = profile;
	s->traits = traits;
	s->seed = seed;
	s->job = job;
	rc = open_round(s, err);
	if (rc) {
		as_stream_free(s);
		s = NULL;
	}
	*stream = s;
	return rc;
}

void as_stream_free(struct as_stream *s)
{
	if (!s)
		return;
	close_round(s);
	free(s);
}

/* The first generator could be opened with the same options, so this cannot fail. */
static void reopen(struct as_stream *s)
{
	int rc = open_round(s, NULL);

	as_assert(!rc);
}

static struct as_seq *draw(struct as_stream *s)
{
	struct as_seq *seq = as_gen_next(s->gen, AS_GEN_SYNTAX);

	if (!seq) {
		s->again++;
		reopen(s);
		seq = as_gen_next(s->gen, AS_GEN_SYNTAX);
	}
	/* The record of choices is not needed here. */
	as_chooser_next(s->chooser);
	return seq;
}

void as_stream_seek(struct as_stream *s, uint64_t number)
{
	s->number = number;
	s->again = 0;
	reopen(s);
	for (uint64_t skip = number % AS_STREAM_ROUND; skip; skip--)
		as_seq_free(draw(s));
}

struct as_seq *as_stream_next(struct as_stream *s)
{
	struct as_buf name = { 0 };
	struct as_seq *seq;

	if (s->number && !(s->number % AS_STREAM_ROUND)) {
		s->again = 0;
		reopen(s);
	}
	seq = draw(s);
	if (!seq)
		return NULL;
	as_buf_addf(&name, "%s-%llu-%u-%06llu", s->profile->title, (unsigned long long)s->seed,
		    s->job, (unsigned long long)s->number++);
	as_seq_set_meta(seq, "workload", as_buf_str(&name));
	as_buf_free(&name);
	return seq;
}
