/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lead: see lead.h.
 *
 * Method. The leader gives numbers of lots to workers (crew/crew.h), one at a time each. A worker
 * makes the lot, judges its disks, and sends a message for each problem, then one that the lot is
 * done. A new signature is judged again by the leader, made smaller and told. So what a worker says
 * is a hint only, and a worker needs no sinks.
 *
 * To tell of one takes some time. A source has no lots that it could share with others: its worker
 * has many numbers in advance, so that it does not wait. Whether a disk of a source hangs is asked
 * by another process (hang.c). Without a source, disks on which the checker takes long are put
 * aside by the worker that meets them. They are judged, to the end, when all lots are done, or in
 * the last part of the time. Those that hang then are judged again by the leader, more patiently
 * (lead_later.c).
 *
 * The session ends at its time, and when it is asked to, whatever it does then: the runs of this
 * process are ended by the halt of their subject (AS_ESTOP), those of workers with the workers.
 * What was found and could not be judged again is told as not confirmed, and a session that goes on
 * begins with the lot in which it was.
 *
 * Invariants
 *   1. All lots before status->next are done; a session that goes on there leaves none out.
 *   2. `told` of a worker is how many of its problems the leader is through with. A source may
 *      remember what it did when that is all that it found.
 *   3. With one job, and without an end by time, findings are told in the order of their lots, and
 *      after them those of disks that were put aside, in that order, too. With several jobs, they
 *      are told in the order in which they come. What is found is the same.
 */
#include "fsck/lead_priv.h"

#include "fsck/alone.h"
#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>

#define NO_LOT UINT64_MAX
#define PROGRESS_US 500000
#define JOBS_MAX 64
#define LOOK_MS 100
#define IDLE_MS 1000 /* for a worker without a lot to end: at once */
#define ENDS_US 1000000 /* for sources to put away what they have */
#define LAST_US (INT64_C(60) * 1000000) /* for what is found last, if there is time */
#define HANGS_SHARE 4 /* of the time */
#define ASIDE_SHARE 4 /* of the time; for what was put aside */
#define AHEAD 64u /* numbers that a source has in advance */

struct worker {
	bool over;
	unsigned out; /* lots that it has and that are not done */
	uint64_t lot; /* that it works on, or that it was given last; NO_LOT: none */
};

struct fsck_lead {
	const struct as_fsck_args *args;
	struct as_fsck_status *status;
	struct as_crew *crew;
	struct worker *workers; /* those in its seats */
	unsigned n;
	uint64_t next; /* lot to give away */
	int64_t start_us, shown_us;
	struct as_alone *alone;
	uint64_t *told; /* of each worker; all processes share it */
	struct as_hangs *hangs; /* NULL: there is no source */
	struct as_asides asides;
	struct as_laters later;
	uint64_t first_left; /* the first lot with something that was not confirmed */
	bool ending; /* workers get nothing more */
	int64_t heard_us; /* when a worker said something */
};

static int start(struct fsck_lead *l, unsigned i, struct as_err *err)
{
	struct lead_share share = { l->args, &l->told[i] };

	l->workers[i] = (struct worker){ .lot = NO_LOT };
	return as_crew_start(l->crew, i, as_lead_work, &share, err);
}

/* A worker that has a lot ends only after it has judged all of it. A source has processes and files
 * of its own, which it puts away. */
static void stop_all(struct fsck_lead *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!l->args->source && l->workers[i].lot != NO_LOT)
			as_crew_cut(l->crew, i);
	as_crew_free(l->crew);
	free(l->workers);
}

/* ---- The leader ------------------------------------------------------------------------------ */

/* To decide whether the disks of a source hang, at the end. */
static int64_t hangs_us(const struct fsck_lead *l)
{
	return l->hangs && as_hangs_wait(l->hangs) ? l->args->for_us / HANGS_SHARE : 0;
}

static int64_t reserved_us(const struct fsck_lead *l)
{
	return l->args->source ? hangs_us(l) : as_laters_us(&l->later, l->args);
}

/* What is left of the time is for new disks, but for what may hang. */
static bool is_over(const struct fsck_lead *l)
{
	const struct as_fsck_args *a = l->args;

	return (a->max_clusters && l->status->clusters + l->later.n >= a->max_clusters) ||
	       (a->enough && a->enough(a->ctx, l->status)) || as_halted(a->halt) ||
	       (a->for_us && as_now_us() - l->start_us >= a->for_us - reserved_us(l));
}

/* The last part of the time is for what was put aside. */
static bool has_more(const struct fsck_lead *l)
{
	const struct as_fsck_args *a = l->args;
	int64_t for_us = a->for_us - reserved_us(l);

	return l->next < l->status->all_lots &&
	       (!a->max_lots || l->next - a->first < a->max_lots) &&
	       (!a->for_us || !as_asides_left(&l->asides) ||
		as_now_us() - l->start_us < for_us - for_us / ASIDE_SHARE);
}

/* False: there is nothing to do at this moment. */
static bool next_task(struct fsck_lead *l, struct lead_task *task)
{
	if (!has_more(l))
		return as_asides_next(&l->asides, task);
	*task = (struct lead_task){ .lot = l->next++ };
	return true;
}

static void give(struct fsck_lead *l, struct worker *w)
{
	unsigned most = l->args->source && !l->args->max_lots ? AHEAD : 1;
	struct lead_task task;

	if (!w->out)
		w->lot = NO_LOT;
	while (w->out < most && !is_over(l) && !w->over && next_task(l, &task)) {
		w->lot = task.lot;
		w->out++;
		as_crew_tell(l->crew, (unsigned)(w - l->workers), &task, sizeof(task));
	}
}

static void give_idle(struct fsck_lead *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->workers[i].lot == NO_LOT)
			give(l, &l->workers[i]);
}

/* The damage of a message again, in *lot; its number there. */
static uint64_t take_damage(const struct as_fsck_args *a, const struct lead_message *m,
			    struct as_corrupt_lot *lot)
{
	if (m->bytes) {
		lot->damages = as_xcalloc(1, sizeof(*lot->damages));
		lot->n = as_damage_get(m->text + strlen(m->text) + 1, m->bytes, a->n_bases,
				       &lot->damages[0]);
		if (!lot->n)
			free(lot->damages);
		return 0;
	}
	if (a->corrupt)
		as_corrupt_lot(a->corrupt, m->lot, lot);
	return m->damage;
}

/* An error of ours; 0 if only the time is over. */
static int unless_halted(const struct fsck_lead *l, int rc)
{
	return rc == AS_ESTOP && as_halted(l->args->halt) ? 0 : rc;
}

/* A signature that is new: if one field of the damage is enough, only that one is left. */
static int take_alone(struct fsck_lead *l, const struct lead_message *m, struct as_corrupt_lot *lot,
		      struct as_err *err)
{
	const struct as_fsck_args *a = l->args;
	const struct as_alone_case one = { .judge = a->judge,
					   .bases = a->bases,
					   .corrupt = a->corrupt,
					   .lot = m->lot,
					   .nth = m->damage,
					   .problem = (enum as_fsck_problem)m->problem,
					   .signature = m->text };

	if (!a->corrupt || m->bytes || m->problem >= AS_FSCK_PROBLEMS ||
	    as_fsck_known_has(a->known, m->text))
		return 0;
	/* Without the time to try it alone, it is told as it is. */
	return unless_halted(l, as_alone_try(l->alone, &one, lot, err));
}

/* What was judged again: a cluster, or a doubt. */
static void count_told(struct fsck_lead *l, const char *signature, bool confirmed)
{
	as_fsck_known_judge(l->args->known, signature, confirmed);
	if (confirmed) {
		l->status->clusters++;
		return;
	}
	l->status->unconfirmed++;
	as_emit_note(l->args->sinks, "it did not come back: %s", signature);
}

/* AS_ESTOP: there is no time to confirm it. */
static int tell(struct fsck_lead *l, struct as_damage *damage, enum as_fsck_problem problem,
		const char *signature, struct as_err *err)
{
	const struct as_fsck_args *a = l->args;
	struct as_fsck_found found = { .subject = a->subject,
				       .judge = a->judge,
				       .base = &a->bases[damage->base],
				       .model = a->model,
				       .problem = problem,
				       .signature = signature,
				       .damage = damage,
				       .export = a->export,
				       .hurry = l->hangs };
	bool confirmed = false;
	int rc = as_fsck_tell(&found, a->sinks, &confirmed, err);

	if (!rc)
		count_told(l, signature, confirmed);
	return rc;
}

static void tell_done(struct fsck_lead *l, unsigned worker)
{
	__atomic_fetch_add(&l->told[worker], 1, __ATOMIC_RELEASE);
}

/* *later: whether it hangs is being asked; it is told then. */
static int on_found(struct fsck_lead *l, const struct lead_message *m, unsigned worker, bool *later,
		    struct as_err *err)
{
	const struct as_fsck_args *a = l->args;
	struct as_corrupt_lot lot = { 0 };
	const char *signature = as_alone_name(l->alone, m->text);
	uint64_t nth = 0;
	int rc = 0;

	l->status->problems++;
	if (signature == m->text) {
		rc = take_alone(l, m, &lot, err);
		signature = as_alone_name(l->alone, m->text);
	}
	if (rc || !as_fsck_known_add(a->known, signature, 1)) {
		if (!rc)
			as_emit_again(a->sinks, signature);
		as_corrupt_lot_free(&lot);
		return rc;
	}
	if (!lot.n)
		nth = take_damage(a, m, &lot);
	if (nth >= lot.n || m->problem >= AS_FSCK_PROBLEMS) {
		count_told(l, signature, false);
	} else if (l->hangs && m->problem == AS_FSCK_HANGS) {
		struct as_hang h = { worker, AS_FSCK_HANGS, lot.damages[nth], as_xstrdup(signature),
				     false };

		lot.damages[nth] = (struct as_damage){ 0 };
		as_hangs_add(l->hangs, &h);
		*later = true;
	} else {
		if (m->problem == AS_FSCK_HANGS)
			rc = AS_ESTOP;
		else
			rc = tell(l, &lot.damages[nth], (enum as_fsck_problem)m->problem, signature,
				  err);
		if (rc == AS_ESTOP) {
			rc = 0;
			as_fsck_known_judge(a->known, signature, false);
			as_laters_add(&l->later, signature, (enum as_fsck_problem)m->problem,
				      m->lot, &lot.damages[nth]);
		}
	}
	as_corrupt_lot_free(&lot);
	return rc;
}

static int confirm_later(struct fsck_lead *l, struct as_err *err)
{
	const struct as_fsck_args *a = l->args;
	struct as_laters *later = &l->later;
	size_t i = 0;
	int rc = 0;

	for (; !rc && i < later->n && !as_halted(a->halt); i++)
		rc = tell(l, &later->items[i].damage, later->items[i].problem,
			  later->items[i].signature, err);
	i -= rc == AS_ESTOP;
	rc = unless_halted(l, rc);
	if (!rc && i < later->n) {
		l->status->unconfirmed += later->n - i;
		l->status->unasked += later->n - i;
		as_emit_note(a->sinks,
			     "time is over: %zu of what was found %s not confirmed, such as %s",
			     later->n - i, later->n - i == 1 ? "was" : "were",
			     later->items[i].signature);
		/* A session that goes on meets them again. */
		l->first_left = as_laters_first(later, i, UINT64_MAX);
	}
	as_laters_clear(later);
	return rc;
}

/* It hangs, as somebody patient saw. What is shown of it, less patience shows as well. */
static int tell_hang(struct fsck_lead *l, struct as_hang *h, struct as_err *err)
{
	const struct as_fsck_args *a = l->args;
	struct as_subject_setup setup = *a->setup;
	struct as_fsck_found found = { .base = &a->bases[h->damage.base],
				       .model = a->model,
				       .problem = h->problem,
				       .signature = h->signature,
				       .damage = &h->damage,
				       .export = a->export };
	bool confirmed = false;
	int rc;

	setup.whole = true;
	setup.halt = a->halt;
	rc = as_subject_open(&setup, &found.subject, err);
	if (rc)
		return rc;
	found.judge = as_judge_new(found.subject);
	rc = as_fsck_tell(&found, a->sinks, &confirmed, err);
	if (!rc)
		count_told(l, h->signature, confirmed);
	as_judge_free(found.judge);
	as_subject_free(found.subject);
	return rc;
}

static int on_hangs(struct fsck_lead *l, struct as_err *err)
{
	struct as_hang h;
	int rc = 0;

	while (!rc && l->hangs && as_hangs_next(l->hangs, &h)) {
		if (h.confirmed)
			rc = unless_halted(l, tell_hang(l, &h, err));
		else
			count_told(l, h.signature, false);
		tell_done(l, h.worker);
		as_hang_free(&h);
	}
	return rc;
}

/* A disk on which nothing is wrong, and of which the checker says otherwise. */
static int tell_healthy(struct fsck_lead *l, const struct as_fsck_base *base, struct as_err *err)
{
	const struct as_fsck_args *a = l->args;
	struct as_fsck_verdict v = { 0 };
	struct as_damage none = { .base = (uint32_t)(base - a->bases) };
	bool confirmed = false;
	int rc;

	as_buf_adds(&none.words, "nothing is damaged");
	rc = as_judge_disk(a->judge, base, &none, base->disk, &v, err);
	for (unsigned p = 0; !rc && p < AS_FSCK_PROBLEMS; p++) {
		struct as_fsck_found found = { .subject = a->subject,
					       .judge = a->judge,
					       .base = base,
					       .model = a->model,
					       .problem = (enum as_fsck_problem)p,
					       .signature = as_buf_str(&v.found[p].signature),
					       .damage = &none,
					       .export = a->export };

		if (!(v.problems & 1u << p) || !as_fsck_known_add(a->known, found.signature, 1))
			continue;
		l->status->problems++;
		rc = as_fsck_tell(&found, a->sinks, &confirmed, err);
		l->status->clusters += confirmed;
	}
	as_damage_free(&none);
	as_fsck_verdict_free(&v);
	return rc;
}

static int on_message(struct fsck_lead *l, struct worker *w, const struct lead_message *m,
		      struct as_err *err)
{
	struct as_fsck_status *s = l->status;
	bool later = false;
	int rc;

	switch (m->kind) {
	case LEAD_FOUND:
		rc = on_found(l, m, (unsigned)(w - l->workers), &later, err);
		if (!later)
			tell_done(l, (unsigned)(w - l->workers));
		return rc;
	case LEAD_DONE:
		if (m->aside.n)
			as_asides_add(&l->asides, &(struct lead_task){ m->lot, m->aside });
		s->lots += !m->aside.n;
		s->search_us = as_now_us() - l->start_us;
		w->out--;
		s->counts.disks += m->counts.disks;
		s->counts.runs += m->counts.runs;
		s->counts.known += m->counts.known;
		s->counts.forked += m->counts.forked;
		s->counts.unasked += m->counts.unasked;
		s->damaged += m->damaged;
		s->lossy += m->lossy;
		s->lost_files += m->lost_files;
		for (unsigned i = 0; i < AS_FSCK_TALLIES; i++)
			s->tallies[i] += m->tallies[i];
		w->over = m->over;
		give(l, w);
		give_idle(l);
		return 0;
	default:
		return as_fail(err, AS_EIO, "a worker sent a wrong message");
	}
}

static void set_next(struct fsck_lead *l)
{
	uint64_t next = l->next;

	for (unsigned i = 0; i < l->n; i++)
		if (l->workers[i].lot < next)
			next = l->workers[i].lot;
	next = as_asides_first(&l->asides, next);
	if (l->args->corrupt && l->first_left < next)
		next = l->first_left;
	l->status->next = l->args->corrupt ? as_laters_first(&l->later, 0, next) : next;
	l->status->wall_us = as_now_us() - l->start_us;
}

static bool is_idle(const struct fsck_lead *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->workers[i].lot != NO_LOT)
			return false;
	return true;
}

/* Whether the damage that it tells of is in it. */
static bool is_whole(const struct lead_message *m, size_t len)
{
	size_t text = len - offsetof(struct lead_message, text);

	return m->bytes < text && strnlen(m->text, text) < text - m->bytes;
}

/* A worker has ended: that is what it was asked for, or an error. */
static int on_end(struct fsck_lead *l, unsigned i, struct as_err *err)
{
	int rc = as_crew_ended(l->crew, i, l->ending ? NULL : err);

	if (l->ending)
		return 0;
	return rc ? rc
		  : as_fail(err, AS_EIO, "a worker of the session ended before its work was done");
}

static int hear(struct fsck_lead *l, unsigned i, struct lead_message *m, struct as_err *err)
{
	size_t len;
	const char *data = as_crew_next(l->crew, i, &len);

	if (!data)
		return as_crew_is_over(l->crew, i) ? on_end(l, i, err) : 0;
	if (len <= offsetof(struct lead_message, text) || len > sizeof(*m) + AS_DAMAGE_SENT_MAX)
		return as_fail(err, AS_EIO, "a worker sent a wrong message");
	memcpy(m, data, len);
	((char *)m)[len - 1] = '\0';
	if (!is_whole(m, len))
		return as_fail(err, AS_EIO, "a worker sent a wrong message");
	l->heard_us = as_now_us();
	return on_message(l, &l->workers[i], m, err);
}

static int listen_once(struct fsck_lead *l, struct lead_message *m, struct as_err *err)
{
	int rc = 0;

	as_crew_wait(l->crew, LOOK_MS);
	for (unsigned i = 0; !rc && i < l->n; i++)
		rc = hear(l, i, m, err);
	if (!rc)
		rc = on_hangs(l, err);
	set_next(l);
	if (!rc && l->args->progress && l->status->wall_us - l->shown_us >= PROGRESS_US) {
		l->shown_us = l->status->wall_us;
		l->args->progress(l->args->ctx, l->status);
	}
	return rc;
}

static bool all_over(const struct fsck_lead *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!l->workers[i].over)
			return false;
	return l->n;
}

/* Whether a worker has something to say, or it is not decided whether a disk hangs. */
static bool has_news(const struct fsck_lead *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (as_crew_sits(l->crew, i) && as_now_us() - l->heard_us < ENDS_US)
			return true;
	return l->hangs && as_hangs_wait(l->hangs);
}

/* Time is over. What sources have found up to here is told all the same, unless that takes too
 * long, or nobody wants to know. */
static int hear_last(struct fsck_lead *l, struct lead_message *m, struct as_err *err)
{
	const struct as_fsck_args *a = l->args;
	int64_t until = as_now_us() + LAST_US;
	int rc = 0;

	/* The time is over, or nearly: of that, what is left; then what was said before. */
	if (a->for_us && until > l->start_us + a->for_us + ENDS_US)
		until = l->start_us + a->for_us + ENDS_US;
	l->ending = true;
	as_hangs_hurry(l->hangs);
	l->heard_us = as_now_us();
	for (unsigned i = 0; i < l->n; i++)
		as_crew_hush(l->crew, i);
	while (!rc && has_news(l) && as_now_us() < until && !(a->halt->stop && *a->halt->stop) &&
	       !(a->max_clusters && l->status->clusters >= a->max_clusters))
		rc = listen_once(l, m, err);
	if (l->hangs && as_hangs_wait(l->hangs))
		as_emit_note(a->sinks, "whether the checker hangs on some disks was not decided "
				       "when the time was over");
	return rc;
}

int as_fsck_lead(const struct as_fsck_args *args, struct as_fsck_status *status, struct as_err *err)
{
	struct lead_message *m = as_xcalloc(1, sizeof(*m) + AS_DAMAGE_SENT_MAX);
	struct fsck_lead l = { .args = args,
			       .status = status,
			       .next = args->first,
			       .start_us = as_now_us(),
			       .first_left = UINT64_MAX,
			       .alone = as_alone_new() };
	struct as_crew_plan plan = { .who = "a worker of the session", .how = AS_BIRTH_DEAF };
	unsigned jobs = args->jobs < 1 ? 1 : args->jobs > JOBS_MAX ? JOBS_MAX : args->jobs;
	int rc = 0;

	*status =
		(struct as_fsck_status){ .all_lots = args->corrupt ? as_corrupt_lots(args->corrupt)
								   : UINT64_MAX,
					 .next = args->first };
	if (args->for_us)
		args->halt->until_us = l.start_us + args->for_us;
	for (size_t i = 0; !rc && i < args->n_bases; i++)
		if (args->bases[i].called_damaged && !args->bases[i].sick)
			rc = unless_halted(&l, tell_healthy(&l, &args->bases[i], err));
	plan.grace_ms = args->source ? ENDS_US / 1000 : IDLE_MS;
	l.crew = as_crew_new(&plan, jobs);
	l.workers = as_xcalloc(jobs, sizeof(*l.workers));
	l.told = as_shared_alloc(jobs * sizeof(*l.told));
	l.hangs = args->source ? as_hangs_new(args->setup, args->bases) : NULL;
	while (!rc && l.n < jobs) {
		rc = start(&l, l.n, err);
		l.n++;
	}
	if (!rc)
		give_idle(&l);
	/* A lot can take long, if the checker hangs; then it is not waited for. */
	do {
		while (!rc && !is_idle(&l) && !is_over(&l))
			rc = listen_once(&l, m, err);
		if (!rc)
			rc = confirm_later(&l, err);
		/* They may have been left idle for that. */
		if (!rc)
			give_idle(&l);
	} while (!rc && !is_idle(&l) && !is_over(&l));
	set_next(&l);
	if (!rc && l.hangs)
		rc = hear_last(&l, m, err);
	status->all = !rc && (status->next >= status->all_lots || all_over(&l));
	stop_all(&l);
	as_hangs_free(l.hangs);
	as_laters_clear(&l.later);
	as_asides_clear(&l.asides);
	as_shared_free(l.told, jobs * sizeof(*l.told));
	as_alone_free(l.alone);
	free(m);
	return rc;
}
