/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lead_work: what a worker of a session does: it makes damages, or takes them from its source, has
 * them judged, and tells the leader (lead.h). */
#include "fsck/lead_priv.h"

#include "damage/kernel.h"
#include "fsck/voice.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HANGS_MAX 2 /* in a lot; the rest of it would most likely hang, too */

/* `damage`: it goes with the message. NULL: the leader can make it again. */
static int send_message(struct as_mate *mate, struct lead_message *m,
			const struct as_damage *damage)
{
	size_t head = offsetof(struct lead_message, text) + strlen(m->text) + 1;
	struct as_buf all = { 0 };
	int rc;

	as_buf_add(&all, m, head);
	m->bytes = damage ? as_damage_put(damage, &all) : 0;
	memcpy(all.data + offsetof(struct lead_message, bytes), &m->bytes, sizeof(m->bytes));
	rc = as_mate_say(mate, all.data, all.len);
	as_buf_free(&all);
	return rc;
}

static void count_loss(const struct as_fsck_verdict *v, struct lead_message *m)
{
	enum as_check_answer answer = v->seen.n ? v->seen.run[0]->answer : AS_CHECK_FAILED;

	if (answer != AS_CHECK_CLEAN && answer != AS_CHECK_REPAIRED)
		return;
	m->damaged++;
	m->lossy += v->seen.loss_files > 0;
	m->lost_files += v->seen.loss_files;
}

static bool shares_base(const struct as_corrupt_lot *lot)
{
	for (size_t i = 1; i < lot->n; i++)
		if (lot->damages[i].base != lot->damages[0].base)
			return false;
	return lot->n;
}

struct judging {
	const struct as_fsck_args *a;
	struct as_fsck_subject *subject;
	struct as_judge *judge;
	struct as_mate *mate;
	struct lead_message *m;
	struct as_fsck_verdict v;
	uint64_t lot, number; /* of the damage */
	bool carry; /* the leader cannot make the damage again */
	const struct as_fsck_enough *enough;
	uint64_t *sent; /* problems */
};

/* Judges one damaged disk and tells of each problem. */
static int judge_damage(struct judging *j, const struct as_damage *damage, struct as_err *err)
{
	const struct as_fsck_base *base = &j->a->bases[damage->base];
	struct as_disk *disk = as_damage_apply(damage, base->disk, NULL);
	struct lead_message *m = j->m;
	int rc = as_judge_disk(j->judge, base, damage, disk, &j->v, err);

	if (!rc)
		count_loss(&j->v, m);
	if (!rc && j->a->cover)
		rc = j->a->cover->row->run(j->a->cover, j->subject, disk, err);
	for (unsigned p = 0; !rc && p < AS_FSCK_PROBLEMS; p++) {
		if (!(j->v.problems & 1u << p))
			continue;
		m->kind = LEAD_FOUND;
		m->problem = p;
		m->lot = j->lot;
		m->damage = j->number;
		snprintf(m->text, sizeof(m->text), "%s", as_buf_str(&j->v.found[p].signature));
		if (send_message(j->mate, m, j->carry ? damage : NULL))
			rc = as_fail(err, AS_EIO, "the leader is gone");
		else if (j->sent)
			++*j->sent;
	}
	as_disk_free(disk);
	return rc;
}

static int judge_lot(const struct as_fsck_args *a, struct as_fsck_subject *subject,
		     struct as_judge *judge, uint64_t number, struct as_mate *mate,
		     struct lead_message *m, struct as_err *err)
{
	struct judging j = {
		.a = a, .subject = subject, .judge = judge, .mate = mate, .m = m, .lot = number
	};
	struct as_corrupt_lot lot = { 0 };
	unsigned hangs = 0;
	int rc = 0;

	as_corrupt_lot(a->corrupt, number, &lot);
	if (a->fork && shares_base(&lot))
		as_judge_lot_begin(judge, &a->bases[lot.damages[0].base], lot.damages, lot.n);
	for (size_t i = 0; !rc && i < lot.n && hangs < HANGS_MAX; i++) {
		j.number = i;
		rc = judge_damage(&j, &lot.damages[i], err);
		hangs += !rc && j.v.problems & 1u << AS_FSCK_HANGS ? 1 : 0;
	}
	as_judge_lot_end(judge);
	as_corrupt_lot_free(&lot);
	as_fsck_verdict_free(&j.v);
	return rc;
}

static bool is_enough(void *ctx, const struct as_fsck_run *first)
{
	struct judging *j = ctx;

	return j->enough->is(j->enough->ctx, as_fsck_voice_first(j->subject, first));
}

static int from_source(void *ctx, const struct as_damage *damage,
		       const struct as_fsck_enough *enough, uint32_t *problems, struct as_err *err)
{
	struct judging *j = ctx;
	int rc;

	j->enough = enough;
	as_judge_set_enough(j->judge, enough ? is_enough : NULL, j);
	rc = judge_damage(j, damage, err);
	as_judge_set_enough(j->judge, NULL, NULL);
	*problems = rc ? 0 : j->v.problems;
	return rc;
}

static int look_only(void *ctx, const struct as_damage *damage, uint32_t *problems,
		     struct as_err *err)
{
	struct judging *j = ctx;
	const struct as_fsck_base *base = &j->a->bases[damage->base];
	struct as_disk *disk = as_damage_apply(damage, base->disk, NULL);
	int rc = as_judge_disk(j->judge, base, damage, disk, &j->v, err);

	*problems = rc ? 0 : j->v.problems;
	as_disk_free(disk);
	return rc;
}

static void hear_voice(void *ctx, struct as_buf *out)
{
	struct judging *j = ctx;

	as_fsck_voice(j->subject, &j->v, out);
}

static int take_turn(const struct as_fsck_args *a, struct as_fsck_subject *subject,
		     struct as_judge *judge, void *own, struct as_mate *mate,
		     struct lead_message *m, uint64_t *sent, bool told, struct as_err *err)
{
	struct judging j = { .a = a,
			     .subject = subject,
			     .judge = judge,
			     .mate = mate,
			     .m = m,
			     .carry = true,
			     .sent = sent };
	struct as_fsck_door door = { &j, from_source, look_only, hear_voice, told };
	uint64_t tallies[AS_FSCK_TALLIES] = { 0 };
	bool more = true;
	int rc = a->source->turn(own, &door, &more, tallies, err);

	memcpy(m->tallies, tallies, sizeof(tallies));
	m->over = !more;
	as_fsck_verdict_free(&j.v);
	return rc;
}

static void count_runs(struct lead_message *m, struct as_judge_counts before,
		       struct as_judge_counts after)
{
	m->counts =
		(struct as_judge_counts){ after.disks - before.disks, after.runs - before.runs,
					  after.known - before.known, after.forked - before.forked,
					  after.unasked - before.unasked };
}

/* The next number of a lot. False: there is none any more. */
static bool hear_lot(struct as_mate *mate, uint64_t *lot)
{
	struct as_buf got = { 0 };
	bool more = !as_mate_is_hushed(mate) && as_mate_hear(mate, &got) && got.len == sizeof(*lot);

	if (more)
		memcpy(lot, got.data, sizeof(*lot));
	as_buf_free(&got);
	return more;
}

int as_lead_work(struct as_mate *mate, void *ctx, struct as_err *err)
{
	const struct lead_share *share = ctx;
	const struct as_fsck_args *a = share->args;
	struct lead_message *m = as_xcalloc(1, sizeof(*m));
	struct as_fsck_subject *subject = NULL;
	struct as_fsck_kernel *kernel = NULL;
	struct as_judge *judge = NULL;
	void *own = NULL;
	uint64_t lot, sent = 0;
	int rc = as_subject_open(a->setup, &subject, err);

	if (!rc) {
		judge = as_judge_new(subject);
		if (a->corrupt)
			as_corrupt_use(a->corrupt, subject);
	}
	if (!rc && a->kernel)
		rc = as_fsck_kernel_open(a->kernel, &kernel, err);
	if (!rc)
		as_judge_set_kernel(judge, kernel);
	if (!rc && a->source)
		rc = a->source->open(a->source, subject, as_mate_seat(mate), a->jobs, &own, err);
	while (!rc && hear_lot(mate, &lot)) {
		struct as_judge_counts before = as_judge_counts(judge);

		memset(m, 0, sizeof(*m));
		rc = a->source ? take_turn(a, subject, judge, own, mate, m, &sent,
					   __atomic_load_n(share->told, __ATOMIC_ACQUIRE) == sent,
					   err)
			       : judge_lot(a, subject, judge, lot, mate, m, err);
		count_runs(m, before, as_judge_counts(judge));
		m->kind = LEAD_DONE;
		m->lot = lot;
		m->text[0] = '\0';
		if (!rc && send_message(mate, m, NULL))
			break;
	}
	if (own)
		a->source->close(own);
	if (a->cover && a->cover->row->close)
		a->cover->row->close(a->cover);
	as_judge_free(judge);
	as_fsck_kernel_free(kernel);
	as_subject_free(subject);
	free(m);
	return rc;
}
