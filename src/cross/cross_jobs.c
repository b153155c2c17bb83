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
#include "fsck/found.h"
#include "os/frames.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 64u
#define PART_MAX_BYTES ((size_t)256 << 20)
#define POLL_MS 100

/* What a worker sends: this, then `bytes` of data. */
struct cross_part {
	uint32_t deed;
	int32_t rc; /* an error: the data is its message */
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

struct cross_worker {
	pid_t pid;
	int fd;
	struct as_buf in; /* of its next part */
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
static void on_finding(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	struct cross_teller *t = (struct cross_teller *)sink;
	struct as_buf text = { 0 };
	uint32_t member = 0;

	while (t->cross->m[member].disk != f->disk)
		member++;
	as_finding_pack(f, id, &text);
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

static bool write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool send_part(int fd, struct cross_part *part, const struct as_buf *data)
{
	part->bytes = data->len;
	return write_all(fd, part, sizeof(*part)) && write_all(fd, as_buf_str(data), data->len);
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

/* parts: those that were there before. */
_Noreturn static void work(const struct as_cross_setup *setup, struct cross_shared *shared,
			   const struct as_buf *parts, int fd)
{
	struct as_buf data = { 0 };
	struct cross_teller teller = {
		.sink = { .finding = on_finding, .again = on_again, .note = on_note }, .out = &data
	};
	struct as_cross_args args = { .only = -1, .sinks = &teller.sink };
	struct as_fsck_known known = { 0 };
	struct as_cross *c = NULL;
	struct as_err err = { 0 };
	struct as_cross_deed deed;
	struct cross_part part = { .rc = as_cross_open(setup, &c, &err) };
	bool fine = true;

	teller.cross = c;
	while (fine && !part.rc) {
		part.deed = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
		if (!as_cross_deed(part.deed, &deed))
			break;
		if (parts[part.deed].len)
			continue;
		clear_counts(c);
		as_buf_clear(&data);
		part.counts = (struct as_cross_counts){ 0 };
		part.rc = as_cross_do_deed(c, &deed, &args, &known, &part.counts, &err);
		if (part.rc)
			break;
		put_number(&data, END);
		put_counts(&data, c);
		fine = send_part(fd, &part, &data);
	}
	if (part.rc) {
		as_buf_clear(&data);
		as_buf_adds(&data, err.msg);
		(void)send_part(fd, &part, &data);
	}
	as_fsck_known_free(&known);
	as_cross_free(c);
	_exit(part.rc ? 1 : 0);
}

static int start(const struct as_cross_setup *setup, struct cross_shared *shared,
		 const struct as_buf *parts, struct cross_worker *workers, unsigned n,
		 struct as_err *err)
{
	pid_t parent = getpid();
	int pair[2];

	workers[n] = (struct cross_worker){ .fd = -1 };
	if (pipe2(pair, O_CLOEXEC))
		return as_fail_errno(err, errno, "cannot start a worker");
	workers[n].pid = fork();
	if (!workers[n].pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		signal(SIGINT, SIG_IGN);
		close(pair[0]);
		for (unsigned i = 0; i < n; i++)
			close(workers[i].fd);
		work(setup, shared, parts, pair[1]);
	}
	close(pair[1]);
	workers[n].fd = pair[0];
	return workers[n].pid < 0 ? as_fail_errno(err, errno, "cannot start a worker") : 0;
}

/* ---- This process ---------------------------------------------------------------------------- */

struct cross_lead {
	struct as_cross *c;
	const struct as_cross_args *args;
	struct as_cross_counts *counts;
	struct as_fsck_known known;
	struct as_buf *parts; /* by deed; empty: not there yet */
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
		 const struct as_finding_record *record)
{
	struct as_cross_member *m = &l->c->m[member];
	struct as_finding f = record->finding;
	struct as_buf key = { 0 };

	/* The member is in front, so that two of them are never one kind. */
	as_buf_addf(&key, "%u %s", member, f.signature);
	if (!as_fsck_known_add(&l->known, as_buf_str(&key), 1)) {
		as_emit_again(l->args->sinks, f.signature);
	} else if (!l->args->max_findings || l->counts->findings < l->args->max_findings) {
		f.disk = as_cross_damage(deed, m->fields, m->base.disk, &m->damage);
		f.healthy = m->base.disk;
		as_emit_finding(l->args->sinks, &f, record->id);
		as_disk_free(f.disk);
		l->counts->findings++;
	}
	as_buf_free(&key);
}

static bool tell_finding(struct cross_lead *l, const struct as_cross_deed *deed, uint32_t member,
			 const char *text)
{
	struct as_finding_record record;

	if (member >= l->c->n ||
	    as_finding_unpack(text, strlen(text), AS_FINDING_WHOLE, &record, NULL))
		return false;
	tell(l, deed, member, &record);
	as_finding_record_free(&record);
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

static int take_part(struct cross_lead *l, struct as_err *err)
{
	const struct as_buf *buf = &l->parts[l->done];
	const char *at = buf->data;
	size_t left = buf->len;
	struct cross_part part = { 0 };

	if (!get(&at, &left, &part, sizeof(part)) || !tell_part(l, &at, &left) ||
	    !add_counts(l, at, left))
		return as_fail(err, AS_EIO, "a worker sent a wrong message");
	l->counts->deeds += part.counts.deeds;
	l->counts->damaged += part.counts.damaged;
	l->counts->repaired += part.counts.repaired;
	l->counts->unjudged += part.counts.unjudged;
	l->counts->differing += part.counts.differing;
	if (l->args->progress)
		l->args->progress(l->args->ctx, l->counts);
	as_buf_free(&l->parts[l->done]);
	l->done++;
	return 0;
}

/* Reads what a worker has sent; whole parts go to their places. *over: it has ended. */
static int read_worker(struct cross_lead *l, struct cross_worker *w, bool *over, struct as_err *err)
{
	char block[65536];
	ssize_t n = read(w->fd, block, sizeof(block));
	struct cross_part part;

	*over = n == 0;
	if (n < 0 && errno != EINTR)
		return as_fail_errno(err, errno, "a worker is gone");
	as_buf_add(&w->in, block, n > 0 ? (size_t)n : 0);
	while (w->in.len >= sizeof(part)) {
		size_t len;

		memcpy(&part, w->in.data, sizeof(part));
		if (part.bytes > PART_MAX_BYTES || part.deed >= l->deeds)
			return as_fail(err, AS_EIO, "a worker sent a wrong message");
		len = sizeof(part) + (size_t)part.bytes;
		if (w->in.len < len)
			break;
		if (part.rc)
			return as_fail(err, part.rc, "%.*s", (int)part.bytes,
				       w->in.data + sizeof(part));
		as_buf_clear(&l->parts[part.deed]);
		as_buf_add(&l->parts[part.deed], w->in.data, len);
		if (as_frames_add(l->args->keep, w->in.data, len, err))
			return AS_EIO;
		memmove(w->in.data, w->in.data + len, w->in.len - len);
		w->in.len -= len;
	}
	return 0;
}

/* A part of the file. */
static int recall(void *ctx, const void *data, size_t len)
{
	struct cross_lead *l = ctx;
	struct cross_part part;

	if (len < sizeof(part))
		return AS_EUSE;
	memcpy(&part, data, sizeof(part));
	if (part.rc || part.deed >= l->deeds || part.bytes != len - sizeof(part))
		return AS_EUSE;
	as_buf_clear(&l->parts[part.deed]);
	as_buf_add(&l->parts[part.deed], data, len);
	return 0;
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

static bool is_over(const struct cross_lead *l, int64_t start_us)
{
	const struct as_cross_args *a = l->args;

	return (a->stop && *a->stop) || (a->for_us && as_now_us() - start_us >= a->for_us) ||
	       (a->max_findings && l->counts->findings >= a->max_findings);
}

static int listen_all(struct cross_lead *l, struct cross_worker *workers, unsigned n,
		      struct as_err *err)
{
	int64_t start_us = as_now_us();
	unsigned alive = n;
	int rc = 0;

	while (!rc && l->done < l->deeds && !is_over(l, start_us)) {
		struct pollfd fds[JOBS_MAX];

		if (l->parts[l->done].len) {
			rc = take_part(l, err);
			continue;
		}
		if (!alive)
			return as_fail(err, AS_EIO, "a worker died");
		for (unsigned i = 0; i < n; i++)
			fds[i] = (struct pollfd){ .fd = workers[i].fd, .events = POLLIN };
		if (poll(fds, n, POLL_MS) < 0 && errno != EINTR)
			return as_fail_errno(err, errno, "cannot wait for workers");
		for (unsigned i = 0; !rc && i < n; i++) {
			bool over = false;

			if (fds[i].revents)
				rc = read_worker(l, &workers[i], &over, err);
			if (over) {
				close(workers[i].fd);
				workers[i].fd = -1;
				alive--;
			}
		}
	}
	return rc;
}

int as_cross_run_jobs(struct as_cross *c, const struct as_cross_setup *setup,
		      const struct as_cross_args *args, struct as_cross_counts *counts,
		      struct as_err *err)
{
	unsigned jobs = args->jobs < JOBS_MAX ? args->jobs : JOBS_MAX, n = 0, left = 0;
	struct cross_worker *workers = as_xcalloc(jobs + 1, sizeof(*workers));
	struct cross_shared *shared = as_shared_alloc(sizeof(*shared));
	struct cross_lead l = { .c = c, .args = args, .counts = counts };
	struct as_cross_deed deed;
	int rc = 0;

	*counts = (struct as_cross_counts){ 0 };
	while (as_cross_deed(l.deeds, &deed))
		l.deeds++;
	l.parts = as_xcalloc(l.deeds + 1, sizeof(*l.parts));
	if (as_frames_each(args->keep, recall, &l))
		rc = as_fail(err, AS_EUSE, "%s: it is no comparison of this version",
			     as_frames_path(args->keep));
	for (unsigned i = 0; i < l.deeds; i++)
		left += !l.parts[i].len;
	while (!rc && n < jobs && n < left) {
		rc = start(setup, shared, l.parts, workers, n, err);
		n++;
	}
	if (!rc)
		rc = listen_all(&l, workers, n, err);
	for (unsigned i = 0; i < n; i++) {
		if (workers[i].fd >= 0)
			close(workers[i].fd);
		if (workers[i].pid > 0) {
			kill(workers[i].pid, SIGKILL);
			while (waitpid(workers[i].pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
		as_buf_free(&workers[i].in);
	}
	for (unsigned i = 0; i < l.deeds; i++)
		as_buf_free(&l.parts[i]);
	as_fsck_known_free(&l.known);
	free(l.parts);
	free(workers);
	as_shared_free(shared, sizeof(*shared));
	return rc;
}
