/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lead: see lead.h.
 *
 * Method. The leader gives numbers of lots to workers, one at a time each, over a socket that keeps
 * messages apart. A worker makes the lot, judges its disks, and sends a message for each problem,
 * then one that the lot is done. A new signature is judged again by the leader, made smaller and
 * told. So what a worker says is a hint only, and a worker needs no sinks.
 *
 * Invariant: all lots before status->next are done; a session that goes on there leaves none out.
 */
#include "fsck/lead.h"

#include "damage/kernel.h"
#include "fsck/alone.h"
#include "fsck/voice.h"
#include "os/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_LOT UINT64_MAX
#define SIGN_BYTES 2048
#define PROGRESS_US 500000
#define JOBS_MAX 64
#define ENDS_US 3000000
#define HANGS_MAX 2 /* in a lot; the rest of it would most likely hang, too */

enum { MSG_FOUND, MSG_DONE, MSG_FAILED };

struct message {
	uint32_t kind, problem;
	uint64_t lot, damage;
	struct as_judge_counts counts; /* of this lot */
	uint64_t damaged, lossy, lost_files;
	uint64_t tallies[AS_FSCK_TALLIES];
	bool over; /* the source of this worker has nothing left */
	uint32_t bytes; /* a damage from a source follows the text (damage_put()) */
	char text[SIGN_BYTES]; /* the signature, or what failed */
};

struct worker {
	pid_t pid;
	int fd;
	bool over;
	uint64_t lot; /* that it works on; NO_LOT: none */
};

struct fsck_lead {
	const struct as_fsck_args *args;
	struct as_fsck_status *status;
	struct worker *workers;
	unsigned n;
	uint64_t next; /* lot to give away */
	int64_t start_us, shown_us;
	struct as_alone *alone;
};

/* ---- The worker ------------------------------------------------------------------------------ */

static int send_message(int fd, const struct message *m)
{
	size_t len = offsetof(struct message, text) + strlen(m->text) + 1;

	return send(fd, m, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

static void count_loss(const struct as_fsck_verdict *v, struct message *m)
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
	int fd;
	struct message *m;
	struct as_fsck_verdict v;
	uint64_t lot, number; /* of the damage */
	bool carry; /* the leader cannot make the damage again */
};

/* Judges one damaged disk and tells of each problem. */
static int judge_damage(struct judging *j, const struct as_damage *damage, struct as_err *err)
{
	const struct as_fsck_base *base = &j->a->bases[damage->base];
	struct as_disk *disk = as_damage_apply(damage, base->disk, NULL);
	struct message *m = j->m;
	int rc = as_judge_disk(j->judge, base, damage, disk, &j->v, err);

	if (!rc)
		count_loss(&j->v, m);
	if (!rc && j->a->cover)
		rc = j->a->cover->row->run(j->a->cover, j->subject, disk, err);
	for (unsigned p = 0; !rc && p < AS_FSCK_PROBLEMS; p++) {
		if (!(j->v.problems & 1u << p))
			continue;
		m->kind = MSG_FOUND;
		m->problem = p;
		m->lot = j->lot;
		m->damage = j->number;
		snprintf(m->text, sizeof(m->text), "%s", as_buf_str(&j->v.found[p].signature));
		if (j->carry ? as_damage_send(j->fd, m,
					      offsetof(struct message, text) + strlen(m->text) + 1,
					      &m->bytes, damage)
			     : send_message(j->fd, m))
			rc = as_fail(err, AS_EIO, "the leader is gone");
	}
	as_disk_free(disk);
	return rc;
}

static int judge_lot(const struct as_fsck_args *a, struct as_fsck_subject *subject,
		     struct as_judge *judge, uint64_t number, int fd, struct message *m,
		     struct as_err *err)
{
	struct judging j = {
		.a = a, .subject = subject, .judge = judge, .fd = fd, .m = m, .lot = number
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

static int from_source(void *ctx, const struct as_damage *damage, uint32_t *problems,
		       struct as_err *err)
{
	struct judging *j = ctx;
	int rc = judge_damage(j, damage, err);

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

static void hear_last(void *ctx, struct as_buf *out)
{
	struct judging *j = ctx;

	as_fsck_voice(j->subject, &j->v, out);
}

static int take_turn(const struct as_fsck_args *a, struct as_fsck_subject *subject,
		     struct as_judge *judge, void *own, int fd, struct message *m,
		     struct as_err *err)
{
	struct judging j = {
		.a = a, .subject = subject, .judge = judge, .fd = fd, .m = m, .carry = true
	};
	struct as_fsck_door door = { &j, from_source, look_only, hear_last };
	uint64_t tallies[AS_FSCK_TALLIES] = { 0 };
	bool more = true;
	int rc = a->source->turn(own, &door, &more, tallies, err);

	memcpy(m->tallies, tallies, sizeof(tallies));
	m->over = !more;
	as_fsck_verdict_free(&j.v);
	return rc;
}

static void count_runs(struct message *m, struct as_judge_counts before,
		       struct as_judge_counts after)
{
	m->counts =
		(struct as_judge_counts){ after.disks - before.disks, after.runs - before.runs,
					  after.known - before.known, after.forked - before.forked,
					  after.unasked - before.unasked };
}

_Noreturn static void work(const struct as_fsck_args *a, int fd, unsigned number)
{
	struct message *m = as_xcalloc(1, sizeof(*m));
	struct as_fsck_subject *subject = NULL;
	struct as_fsck_kernel *kernel = NULL;
	struct as_judge *judge = NULL;
	struct as_err err = { 0 };
	void *own = NULL;
	uint64_t lot;
	int rc = as_subject_open(a->setup, &subject, &err);

	if (!rc) {
		judge = as_judge_new(subject);
		if (a->corrupt)
			as_corrupt_use(a->corrupt, subject);
	}
	if (!rc && a->kernel)
		rc = as_fsck_kernel_open(a->kernel, &kernel, &err);
	if (!rc)
		as_judge_set_kernel(judge, kernel);
	if (!rc && a->source)
		rc = a->source->open(a->source, subject, number, a->jobs, &own, &err);
	while (!rc && recv(fd, &lot, sizeof(lot), 0) == sizeof(lot)) {
		struct as_judge_counts before = as_judge_counts(judge);

		memset(m, 0, sizeof(*m));
		rc = a->source ? take_turn(a, subject, judge, own, fd, m, &err)
			       : judge_lot(a, subject, judge, lot, fd, m, &err);
		count_runs(m, before, as_judge_counts(judge));
		m->bytes = 0;
		m->kind = MSG_DONE;
		m->lot = lot;
		m->text[0] = '\0';
		if (!rc && send_message(fd, m))
			break;
	}
	if (rc) {
		m->kind = MSG_FAILED;
		snprintf(m->text, sizeof(m->text), "%s", err.msg);
		(void)send_message(fd, m);
	}
	if (own)
		a->source->close(own);
	if (a->cover && a->cover->row->close)
		a->cover->row->close(a->cover);
	as_judge_free(judge);
	as_fsck_kernel_free(kernel);
	as_subject_free(subject);
	_exit(rc ? 1 : 0);
}

static int start(struct fsck_lead *l, struct worker *w, struct as_err *err)
{
	pid_t parent = getpid();
	int pair[2];

	*w = (struct worker){ .fd = -1, .lot = NO_LOT };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return as_fail_errno(err, errno, "cannot start a worker");
	w->pid = fork();
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		/* The leader alone decides when a signal ends the session. */
		signal(SIGINT, SIG_IGN);
		close(pair[0]);
		for (struct worker *other = l->workers; other < w; other++)
			close(other->fd);
		work(l->args, pair[1], (unsigned)(w - l->workers));
	}
	close(pair[1]);
	w->fd = pair[0];
	return w->pid < 0 ? as_fail_errno(err, errno, "cannot start a worker") : 0;
}

/* A source has processes and files of its own, which it puts away when its socket is closed. */
static bool ends_soon(pid_t pid)
{
	int64_t until = as_now_us() + ENDS_US;
	pid_t got;

	while ((got = waitpid(pid, NULL, WNOHANG)) == 0 && as_now_us() < until)
		usleep(10000);
	return got == pid;
}

static void stop_all(struct fsck_lead *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->workers[i].fd >= 0)
			close(l->workers[i].fd);
	for (unsigned i = 0; i < l->n; i++) {
		if (l->workers[i].pid <= 0 || (l->args->source && ends_soon(l->workers[i].pid)))
			continue;
		/* A worker that has a lot ends only after it has judged all of it: it is killed. */
		if (l->workers[i].lot != NO_LOT)
			kill(l->workers[i].pid, SIGKILL);
		while (waitpid(l->workers[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(l->workers);
}

/* ---- The leader ------------------------------------------------------------------------------ */

static bool is_over(const struct fsck_lead *l)
{
	const struct as_fsck_args *a = l->args;

	return (a->max_clusters && l->status->clusters >= a->max_clusters) ||
	       (a->enough && a->enough(a->ctx, l->status)) || (a->stop && *a->stop) ||
	       (a->for_us && as_now_us() - l->start_us >= a->for_us);
}

static bool has_more(const struct fsck_lead *l)
{
	return l->next < l->status->all_lots &&
	       (!l->args->max_lots || l->next - l->args->first < l->args->max_lots);
}

/* Of a worker that is gone, what it said last is read next (hear()). */
static void give(struct fsck_lead *l, struct worker *w)
{
	w->lot = is_over(l) || !has_more(l) || w->over ? NO_LOT : l->next++;
	if (w->lot != NO_LOT)
		(void)!send(w->fd, &w->lot, sizeof(w->lot), MSG_NOSIGNAL);
}

/* The damage of a message again, in *lot; its number there. */
static uint64_t take_damage(const struct as_fsck_args *a, const struct message *m,
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

/* A signature that is new: if one field of the damage is enough, only that one is left. */
static int take_alone(struct fsck_lead *l, const struct message *m, struct as_corrupt_lot *lot,
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
	return as_alone_try(l->alone, &one, lot, err);
}

static int on_found(struct fsck_lead *l, const struct message *m, struct as_err *err)
{
	const struct as_fsck_args *a = l->args;
	struct as_corrupt_lot lot = { 0 };
	const char *signature = as_alone_name(l->alone, m->text);
	bool confirmed = false;
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
	if (nth < lot.n && m->problem < AS_FSCK_PROBLEMS) {
		struct as_fsck_found found = { .subject = a->subject,
					       .judge = a->judge,
					       .base = &a->bases[lot.damages[nth].base],
					       .model = a->model,
					       .problem = (enum as_fsck_problem)m->problem,
					       .signature = signature,
					       .damage = &lot.damages[nth],
					       .export = a->export };

		rc = as_fsck_tell(&found, a->sinks, &confirmed, err);
	}
	as_fsck_known_judge(a->known, signature, confirmed);
	if (confirmed) {
		l->status->clusters++;
	} else if (!rc) {
		l->status->unconfirmed++;
		as_emit_note(a->sinks, "it did not come back: %s", signature);
	}
	as_corrupt_lot_free(&lot);
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

static int on_message(struct fsck_lead *l, struct worker *w, const struct message *m,
		      struct as_err *err)
{
	struct as_fsck_status *s = l->status;

	switch (m->kind) {
	case MSG_FOUND:
		return on_found(l, m, err);
	case MSG_DONE:
		s->lots++;
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
		return 0;
	default:
		return as_fail(err, AS_EIO, "%s", m->text);
	}
}

static void set_next(struct fsck_lead *l)
{
	uint64_t next = l->next;

	for (unsigned i = 0; i < l->n; i++)
		if (l->workers[i].lot < next)
			next = l->workers[i].lot;
	l->status->next = next;
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
static bool is_whole(const struct message *m, size_t len)
{
	size_t text = len - offsetof(struct message, text);

	return m->bytes < text && strnlen(m->text, text) < text - m->bytes;
}

/* A worker that failed before it took its lot leaves an error before its last message. */
static ssize_t hear(int fd, struct message *m)
{
	ssize_t len = recv(fd, m, sizeof(*m) + AS_DAMAGE_SENT_MAX, 0);

	return len < 0 && errno == ECONNRESET ? recv(fd, m, sizeof(*m) + AS_DAMAGE_SENT_MAX, 0)
					      : len;
}

static int listen_once(struct fsck_lead *l, struct message *m, struct as_err *err)
{
	struct pollfd fds[JOBS_MAX];
	int rc = 0;

	for (unsigned i = 0; i < l->n; i++)
		fds[i] = (struct pollfd){ .fd = l->workers[i].fd, .events = POLLIN };
	if (poll(fds, l->n, 100) < 0 && errno != EINTR)
		return as_fail_errno(err, errno, "cannot wait for workers");
	for (unsigned i = 0; !rc && i < l->n; i++) {
		ssize_t len;

		if (!fds[i].revents)
			continue;
		len = hear(l->workers[i].fd, m);
		if (len <= (ssize_t)offsetof(struct message, text))
			return as_fail(err, AS_EIO, "a worker died");
		((char *)m)[len - 1] = '\0';
		if (!is_whole(m, (size_t)len))
			return as_fail(err, AS_EIO, "a worker sent a wrong message");
		rc = on_message(l, &l->workers[i], m, err);
	}
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

int as_fsck_lead(const struct as_fsck_args *args, struct as_fsck_status *status, struct as_err *err)
{
	struct message *m = as_xcalloc(1, sizeof(*m) + AS_DAMAGE_SENT_MAX);
	struct fsck_lead l = { .args = args,
			       .status = status,
			       .next = args->first,
			       .start_us = as_now_us(),
			       .alone = as_alone_new() };
	unsigned jobs = args->jobs < 1 ? 1 : args->jobs > JOBS_MAX ? JOBS_MAX : args->jobs;
	int rc = 0;

	*status =
		(struct as_fsck_status){ .all_lots = args->corrupt ? as_corrupt_lots(args->corrupt)
								   : UINT64_MAX,
					 .next = args->first };
	for (size_t i = 0; !rc && i < args->n_bases; i++)
		if (args->bases[i].called_damaged && !args->bases[i].sick)
			rc = tell_healthy(&l, &args->bases[i], err);
	l.workers = as_xcalloc(jobs, sizeof(*l.workers));
	while (!rc && l.n < jobs) {
		rc = start(&l, &l.workers[l.n], err);
		l.n++;
	}
	for (unsigned i = 0; !rc && i < l.n; i++)
		give(&l, &l.workers[i]);
	/* A lot can take long, if the checker hangs; then it is not waited for. */
	while (!rc && !is_idle(&l) && !is_over(&l))
		rc = listen_once(&l, m, err);
	set_next(&l);
	status->all = !rc && (status->next >= status->all_lots || all_over(&l));
	stop_all(&l);
	as_alone_free(l.alone);
	free(m);
	return rc;
}
