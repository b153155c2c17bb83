/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross_jobs: several processes compare checkers.
 *
 * Method. Each worker opens all checkers for itself, takes the next deed from a counter in shared
 * memory, does it, and sends what it came to through a pipe: counts, and the texts of findings.
 * This process takes the parts in the order of the deeds, whoever did them, adds the counts and
 * tells the findings; their disks it makes itself, by the deed. Each part is kept in a file when it
 * comes. A comparison that goes on takes the parts of the file first, tells and counts them as if
 * they came now, and does the deeds that are missing.
 *
 * Invariants
 *   1. What is told and counted is the same for any number of workers, unless the time is over.
 *   2. Of the deeds with one signature, the first is told: its worker had none before it, since a
 *      worker does its deeds in order. The file has the parts of a worker in this order, too.
 */
#include "cross/cross_member.h"

#include "base/finding_json.h"
#include "base/hash.h"
#include "crew/crew.h"
#include "fsck/found.h"
#include "os/frames.h"
#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 64u
#define LOOK_MS 100

/* What a worker sends: this, then `bytes` of data. */
struct cross_part {
	uint32_t deed;
	int32_t none; /* of files that earlier versions wrote */
	uint64_t bytes;
	struct as_cross_counts counts;
};

/* Before each text: the number of its member, AGAIN, NOTE, or END. */
#define AGAIN (AS_CROSS_MAX + 1)
#define END (AS_CROSS_MAX + 2)
#define NOTE (AS_CROSS_MAX + 3)

struct cross_shared {
	uint32_t next; /* deed */
};

struct cross_share {
	const struct as_cross_setup *setup;
	struct cross_shared *shared;
	const struct as_crew *crew; /* what waited there at the start was done before */
};

/* ---- A worker -------------------------------------------------------------------------------- */

struct cross_teller {
	struct as_sink sink;
	const struct as_cross *cross;
	struct as_buf *out;
};

static void put_text(struct as_buf *out, const char *text)
{
	uint32_t len = (uint32_t)strlen(text);

	as_buf_add(out, &len, sizeof(len));
	as_buf_add(out, text, len);
}

static void put_number(struct as_buf *out, uint32_t number)
{
	as_buf_add(out, &number, sizeof(number));
}

/* As all findings travel (base/finding_json.h); its disks stay here. */
static void on_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct cross_teller *t = (struct cross_teller *)sink;
	struct as_buf text = { 0 };
	uint32_t member = 0;

	while (t->cross->m[member].disk != f->disk)
		member++;
	as_finding_pack(f, &text);
	put_number(t->out, member);
	put_text(t->out, as_buf_str(&text));
	as_buf_free(&text);
}

static void on_again(struct as_sink *sink, const char *signature)
{
	struct cross_teller *t = (struct cross_teller *)sink;

	put_number(t->out, AGAIN);
	put_text(t->out, signature);
}

static void on_note(struct as_sink *sink, const char *text)
{
	struct cross_teller *t = (struct cross_teller *)sink;

	put_number(t->out, NOTE);
	put_text(t->out, text);
}

static int send_part(struct as_mate *mate, struct cross_part *part, const struct as_buf *data)
{
	struct as_buf all = { 0 };
	int rc;

	part->bytes = data->len;
	as_buf_add(&all, part, sizeof(*part));
	as_buf_add(&all, as_buf_str(data), data->len);
	rc = as_mate_say(mate, all.data, all.len);
	as_buf_free(&all);
	return rc;
}

/* Nothing is counted yet: each part has the counts of its deed. */
static void clear_counts(struct as_cross *c)
{
	for (unsigned i = 0; i < c->n; i++)
		memset(c->m[i].sums, 0, c->roles * sizeof(*c->m[i].sums));
	memset(c->pairs, 0, sizeof(c->pairs));
	memset(c->both, 0, sizeof(c->both));
}

static void put_counts(struct as_buf *out, const struct as_cross *c)
{
	for (unsigned i = 0; i < c->n; i++)
		as_buf_add(out, c->m[i].sums, c->roles * sizeof(*c->m[i].sums));
	as_buf_add(out, c->pairs, sizeof(c->pairs));
	as_buf_add(out, c->both, sizeof(c->both));
}

static int work(struct as_mate *mate, void *ctx, struct as_err *err)
{
	const struct cross_share *share = ctx;
	struct as_buf data = { 0 };
	struct cross_teller teller = {
		.sink = { .finding = on_finding, .again = on_again, .note = on_note }, .out = &data
	};
	struct as_cross_args args = { .only = -1, .sinks = &teller.sink };
	struct as_fsck_known known = { 0 };
	struct as_cross *c = NULL;
	struct as_cross_deed deed;
	struct cross_part part = { 0 };
	int rc = as_cross_open(share->setup, &c, err);

	teller.cross = c;
	while (!rc) {
		part.deed = __atomic_fetch_add(&share->shared->next, 1, __ATOMIC_RELAXED);
		if (!as_cross_deed(part.deed, &deed))
			break;
		if (as_crew_waits(share->crew, part.deed))
			continue;
		clear_counts(c);
		as_buf_clear(&data);
		part.counts = (struct as_cross_counts){ 0 };
		rc = as_cross_do_deed(c, &deed, &args, &known, &part.counts, err);
		if (rc)
			break;
		put_number(&data, END);
		put_counts(&data, c);
		rc = send_part(mate, &part, &data);
	}
	as_buf_free(&data);
	as_fsck_known_free(&known);
	as_cross_free(c);
	/* The leader knows that the time is over. */
	return rc == AS_ESTOP ? 0 : rc;
}

/* ---- This process ---------------------------------------------------------------------------- */

struct cross_lead {
	struct as_cross *c;
	const struct as_cross_args *args;
	struct as_cross_counts *counts;
	struct as_fsck_known known;
	struct as_crew *crew; /* a lane for each deed, whoever did it */
	unsigned deeds, done;
};

static bool get(const char **at, size_t *left, void *to, size_t len)
{
	if (len > *left)
		return false;
	memcpy(to, *at, len);
	*at += len;
	*left -= len;
	return true;
}

static char *get_text(const char **at, size_t *left)
{
	uint32_t len;
	char *text;

	if (!get(at, left, &len, sizeof(len)) || len > *left)
		return NULL;
	text = as_xstrndup(*at, len);
	*at += len;
	*left -= len;
	return text;
}

static void tell(struct cross_lead *l, const struct as_cross_deed *deed, uint32_t member,
		 const struct as_finding *found)
{
	struct as_cross_member *m = &l->c->m[member];
	struct as_finding f = *found;
	struct as_buf key = { 0 };

	/* The member is in front, so that two of them are never one kind. */
	as_buf_addf(&key, "%u %s", member, f.signature);
	if (!as_fsck_known_add(&l->known, as_buf_str(&key), 1)) {
		as_emit_again(l->args->sinks, f.signature);
	} else if (!l->args->max_findings || l->counts->findings < l->args->max_findings) {
		f.disk = as_cross_damage(deed, m->fields, m->base.disk, &m->damage);
		f.healthy = m->base.disk;
		as_emit_finding(l->args->sinks, &f);
		as_disk_free(f.disk);
		l->counts->findings++;
	}
	as_buf_free(&key);
}

static bool tell_finding(struct cross_lead *l, const struct as_cross_deed *deed, uint32_t member,
			 const char *text)
{
	struct as_finding f;

	if (member >= l->c->n || as_finding_unpack(text, strlen(text), AS_FINDING_WHOLE, &f, NULL))
		return false;
	tell(l, deed, member, &f);
	as_finding_free(&f);
	return true;
}

/* Reports what one part of the message says. False: it is not valid. */
static bool tell_part(struct cross_lead *l, const char **at, size_t *left)
{
	struct as_cross_deed deed;
	uint32_t member;
	bool fine = true;

	if (!as_cross_deed(l->done, &deed))
		return false;
	while (fine && get(at, left, &member, sizeof(member)) && member != END) {
		char *text = get_text(at, left);

		if (!text)
			return false;
		if (member == AGAIN)
			as_emit_again(l->args->sinks, text);
		else if (member == NOTE)
			as_emit_note(l->args->sinks, "%s", text);
		else
			fine = tell_finding(l, &deed, member, text);
		free(text);
	}
	return fine;
}

static void add_words(uint64_t *to, const uint64_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		to[i] += from[i];
}

static bool add_counts(struct cross_lead *l, const char *at, size_t left)
{
	struct as_cross *c = l->c;
	size_t sums = c->roles * sizeof(*c->m[0].sums), need = c->n * sums + sizeof(c->pairs) * 2;
	uint64_t *words = as_xmalloc(need);
	bool fine = get(&at, &left, words, need);
	const char *from = (const char *)words;

	for (unsigned i = 0; fine && i < c->n; i++, from += sums)
		add_words((uint64_t *)c->m[i].sums, (const uint64_t *)from, sums);
	if (fine) {
		add_words(&c->pairs[0][0], (const uint64_t *)from, sizeof(c->pairs));
		add_words(&c->both[0][0], (const uint64_t *)(from + sizeof(c->pairs)),
			  sizeof(c->both));
	}
	free(words);
	return fine;
}

static int take_part(struct cross_lead *l, const char *at, size_t left, struct as_err *err)
{
	struct cross_part part = { 0 };
	bool fine = get(&at, &left, &part, sizeof(part)) && tell_part(l, &at, &left) &&
		    add_counts(l, at, left);

	if (!fine)
		return as_fail(err, AS_EIO, "a worker sent a wrong message");
	l->counts->deeds += part.counts.deeds;
	l->counts->damaged += part.counts.damaged;
	l->counts->repaired += part.counts.repaired;
	l->counts->unjudged += part.counts.unjudged;
	l->counts->differing += part.counts.differing;
	if (l->args->progress)
		l->args->progress(l->args->ctx, l->counts);
	as_crew_set_turn(l->crew, l->done++, AS_CREW_NO_TURN);
	return 0;
}

/* Whether it is the part of a deed. */
static bool is_part(const struct cross_lead *l, const char *data, size_t len, size_t *deed)
{
	struct cross_part part;

	if (!get(&data, &len, &part, sizeof(part)))
		return false;
	*deed = part.deed;
	return part.deed < l->deeds && part.bytes == len;
}

/* A part of the file. */
static int recall(void *ctx, const void *data, size_t len)
{
	struct cross_lead *l = ctx;
	size_t deed;

	if (!is_part(l, data, len, &deed))
		return AS_EUSE;
	as_crew_recall(l->crew, deed, data, len);
	return 0;
}

/* What a worker has sent. */
static int on_part(void *ctx, const char *data, size_t len, size_t *deed, struct as_err *err)
{
	struct cross_lead *l = ctx;

	return is_part(l, data, len, deed) ? as_frames_add(l->args->keep, data, len, err)
					   : as_fail(err, AS_EIO, "a worker sent a wrong message");
}

void as_cross_keep_head(const struct as_cross *c, const struct as_cross_setup *setup,
			struct as_buf *out)
{
	struct as_buf deeds = { 0 };
	struct as_cross_deed deed;

	for (unsigned i = 0; as_cross_deed(i, &deed); i++)
		as_cross_deed_print(&deed, &deeds);
	as_buf_addf(out, "%s\nassay-compare 3 %016llx", c->list,
		    (unsigned long long)as_hash64(deeds.data, deeds.len));
	for (unsigned i = 0; i < c->n; i++)
		as_buf_addf(out, " %016llx",
			    (unsigned long long)as_cross_member_key(&c->m[i], setup));
	as_buf_free(&deeds);
}

static bool is_over(const struct cross_lead *l)
{
	const struct as_cross_args *a = l->args;

	return as_halted(a->halt) || (a->max_findings && l->counts->findings >= a->max_findings);
}

/* Whether one works still; an error of one that does not. */
static int reap(struct as_crew *crew, unsigned n, bool *works, struct as_err *err)
{
	int rc = 0;

	*works = false;
	for (unsigned i = 0; i < n && !rc; i++) {
		if (as_crew_sits(crew, i) && as_crew_is_over(crew, i))
			rc = as_crew_ended(crew, i, err);
		*works = *works || as_crew_sits(crew, i);
	}
	return rc;
}

static int listen_all(struct cross_lead *l, unsigned n, struct as_err *err)
{
	const char *data;
	size_t deed, len;
	bool works;
	int rc = 0;

	while (!rc && l->done < l->deeds && !is_over(l)) {
		rc = as_crew_take(l->crew, false, &deed, &data, &len, err);
		if (!rc && data) {
			as_assert(deed == l->done);
			rc = take_part(l, data, len, err);
			continue;
		}
		if (!rc)
			rc = reap(l->crew, n, &works, err);
		if (!rc && !works)
			return as_fail(err, AS_EIO, "a worker of the comparison ended early");
		if (!rc)
			as_crew_wait(l->crew, LOOK_MS);
	}
	return rc;
}

int as_cross_run_jobs(struct as_cross *c, const struct as_cross_setup *setup,
		      const struct as_cross_args *args, struct as_cross_counts *counts,
		      struct as_err *err)
{
	static const struct as_crew_plan plan = { .who = "a worker of the comparison",
						  .how = AS_BIRTH_DEAF };
	unsigned jobs = args->jobs < JOBS_MAX ? args->jobs : JOBS_MAX, n = 0, left = 0;
	struct cross_shared *shared = as_shared_alloc(sizeof(*shared));
	struct cross_lead l = {
		.c = c, .args = args, .counts = counts, .crew = as_crew_new(&plan, jobs)
	};
	struct cross_share share = { setup, shared, l.crew };
	struct as_cross_deed deed;
	int rc = 0;

	*counts = (struct as_cross_counts){ 0 };
	if (args->halt && args->for_us)
		args->halt->until_us = as_now_us() + args->for_us;
	while (as_cross_deed(l.deeds, &deed))
		l.deeds++;
	as_crew_in_turns(l.crew, &(struct as_crew_lanes){ l.deeds, on_part, &l });
	for (unsigned i = 0; i < l.deeds; i++)
		as_crew_set_turn(l.crew, i, i);
	if (as_frames_each(args->keep, recall, &l))
		rc = as_fail(err, AS_EUSE, "%s: it is no comparison of this version",
			     as_frames_path(args->keep));
	for (unsigned i = 0; i < l.deeds; i++)
		left += !as_crew_waits(l.crew, i);
	for (; !rc && n < jobs && n < left; n++)
		rc = as_crew_start(l.crew, n, work, &share, err);
	if (!rc)
		rc = listen_all(&l, n, err);
	as_crew_free(l.crew);
	as_fsck_known_free(&l.known);
	as_shared_free(shared, sizeof(*shared));
	return rc;
}
