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

/* How long a run may take before its disk is put aside: so much longer than on a healthy disk. */
#define SOON_MS 300
#define SOON_TIMES 16

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

/* The number of the i-th disk that is to be judged. */
static uint64_t disk_of(const struct lead_task *task, size_t i)
{
	const struct lead_aside *aside = &task->aside;

	return !aside->n ? i : i < aside->n ? aside->damages[i] : aside->rest + i - aside->n;
}

static void put_aside(struct lead_aside *aside, uint64_t number)
{
	aside->damages[aside->n++] = number;
	if (aside->n == LEAD_HANGS_MAX)
		aside->rest = number + 1;
}

/* What was put aside before is judged to its end. */
static int judge_lot(struct judging *j, const struct lead_task *task, unsigned soon_ms,
		     struct as_err *err)
{
	struct lead_aside *aside = &j->m->aside;
	struct as_corrupt_lot lot = { 0 };
	unsigned hangs = 0;
	int rc = 0;

	j->lot = task->lot;
	as_corrupt_lot(j->a->corrupt, task->lot, &lot);
	*aside = (struct lead_aside){ .rest = lot.n };
	as_judge_hurry(j->judge, task->aside.n ? 0 : soon_ms);
	if (j->a->fork && shares_base(&lot))
		as_judge_lot_begin(j->judge, &j->a->bases[lot.damages[0].base], lot.damages, lot.n);
	for (size_t i = 0; !rc && hangs < LEAD_HANGS_MAX && aside->n < LEAD_HANGS_MAX; i++) {
		j->number = disk_of(task, i);
		if (j->number >= lot.n)
			break;
		rc = judge_damage(j, &lot.damages[j->number], err);
		hangs += !rc && j->v.problems & 1u << AS_FSCK_HANGS ? 1 : 0;
		if (rc == AS_ESTOP) {
			put_aside(aside, j->number);
			rc = 0;
		}
	}
	as_judge_lot_end(j->judge);
	as_corrupt_lot_free(&lot);
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

static int take_turn(struct judging *j, void *own, uint64_t *sent, bool told, struct as_err *err)
{
	struct as_fsck_door door = { j, from_source, look_only, hear_voice, told };
	uint64_t tallies[AS_FSCK_TALLIES] = { 0 };
	bool more = true;
	int rc;

	j->carry = true;
	j->sent = sent;
	rc = j->a->source->turn(own, &door, &more, tallies, err);
	memcpy(j->m->tallies, tallies, sizeof(tallies));
	j->m->over = !more;
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

/* False: there is nothing more to do. */
static bool hear_task(struct as_mate *mate, struct lead_task *task)
{
	struct as_buf got = { 0 };
	bool more =
		!as_mate_is_hushed(mate) && as_mate_hear(mate, &got) && got.len == sizeof(*task);

	if (more)
		memcpy(task, got.data, sizeof(*task));
	as_buf_free(&got);
	return more;
}

/* How long a run on a healthy disk takes says what takes long. 0: nothing does. */
static int find_soon(const struct as_fsck_args *a, struct as_fsck_subject *subject, unsigned *ms,
		     struct as_err *err)
{
	struct as_subject_run run;
	int rc;

	*ms = 0;
	if (!a->n_bases || as_subject_deadline_ms(subject) <= SOON_MS)
		return 0;
	rc = as_subject_run(subject, AS_SUBJECT_REPAIR, a->bases[0].disk, &run, err);
	if (!rc)
		*ms = SOON_MS + (unsigned)(run.run.ended.wall_us / 1000) * SOON_TIMES;
	as_subject_run_free(&run);
	return rc;
}

/* The judge of a worker, and what it judges with. */
struct working {
	struct as_fsck_subject *subject;
	struct as_fsck_kernel *kernel;
	struct as_judge *judge;
	void *own; /* of the source */
	unsigned soon_ms;
};

static int open_work(struct working *w, const struct as_fsck_args *a, unsigned seat,
		     struct as_err *err)
{
	int rc = as_subject_open(a->setup, &w->subject, err);

	if (rc)
		return rc;
	w->judge = as_judge_new(w->subject);
	if (a->corrupt) {
		as_corrupt_use(a->corrupt, w->subject);
		rc = find_soon(a, w->subject, &w->soon_ms, err);
	}
	if (!rc && a->kernel)
		rc = as_fsck_kernel_open(a->kernel, &w->kernel, err);
	if (!rc)
		as_judge_set_kernel(w->judge, w->kernel);
	if (!rc && a->source)
		rc = a->source->open(a->source, w->subject, seat, a->jobs, &w->own, err);
	return rc;
}

static void close_work(struct working *w, const struct as_fsck_args *a)
{
	if (w->own)
		a->source->close(w->own);
	if (a->cover && a->cover->row->close)
		a->cover->row->close(a->cover);
	as_judge_free(w->judge);
	as_fsck_kernel_free(w->kernel);
	as_subject_free(w->subject);
}

int as_lead_work(struct as_mate *mate, void *ctx, struct as_err *err)
{
	const struct lead_share *share = ctx;
	const struct as_fsck_args *a = share->args;
	struct lead_message *m = as_xcalloc(1, sizeof(*m));
	struct working w = { 0 };
	struct lead_task task;
	uint64_t sent = 0;
	int rc = open_work(&w, a, as_mate_seat(mate), err);

	while (!rc && hear_task(mate, &task)) {
		struct as_judge_counts before = as_judge_counts(w.judge);
		struct judging j = {
			.a = a, .subject = w.subject, .judge = w.judge, .mate = mate, .m = m
		};

		memset(m, 0, sizeof(*m));
		rc = a->source ? take_turn(&j, w.own, &sent,
					   __atomic_load_n(share->told, __ATOMIC_ACQUIRE) == sent,
					   err)
			       : judge_lot(&j, &task, w.soon_ms, err);
		as_fsck_verdict_free(&j.v);
		count_runs(m, before, as_judge_counts(w.judge));
		m->kind = LEAD_DONE;
		m->lot = task.lot;
		m->text[0] = '\0';
		if (!rc && send_message(mate, m, NULL))
			break;
	}
	close_work(&w, a);
	free(m);
	return rc;
}
