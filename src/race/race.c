/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * race: see race.h. How a split workload is carried out.
 *
 * Method. Where each thread can have an executor of its own (as_vfs_ops.another), each part has a
 * thread, and one more thread syncs and remounts until they are done. Moments are numbers that one
 * counter gives right before and right after a call. Two calls that overlapped at all also overlap
 * by these numbers, so no order is demanded that was not there. Between calls a thread continues at
 * once, yields, sleeps, or waits a moment for another thread, so that both continue together.
 * Within calls the disk waits (as_race_delay_pause() before its requests).
 *
 * A library is never called twice at a time. There one thread plays all the others: in each step a
 * call begins, is carried out, or ends. The seed chooses which, so the calls overlap, and the seed
 * alone decides how.
 */
#include "race/race.h"

#include "base/choice.h"
#include "base/hash.h"
#include "vfs/bounds.h"
#include "work/print.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSES 4 /* one of so many draws sleeps, and one yields */
#define MEET_TURNS 4000 /* to wait for another thread: some microseconds */

/* ---- Options ---- */

static const struct param {
	const char *name;
	size_t at, size;
	uint64_t min, max;
} params[] = {
#define PARAM(name, field, min, max)                                           \
	{                                                                      \
		name, offsetof(struct as_race_options, field),                 \
			sizeof(((struct as_race_options *)0)->field), min, max \
	}
	PARAM("threads", threads, 2, AS_RACE_THREADS_MAX),
	PARAM("repeat", repeat, 1, 1000000),
	PARAM("delay", delay_us, 0, 1000000),
	PARAM("seed", seed, 0, UINT64_MAX),
#undef PARAM
};

#define NPARAMS (sizeof(params) / sizeof(params[0]))

static int parse_param(const char *word, size_t len, struct as_race_options *o, struct as_err *err)
{
	for (size_t i = 0; i < NPARAMS; i++) {
		const struct param *p = &params[i];
		size_t name_len = strlen(p->name);
		unsigned long long value;
		char *end;

		if (len <= name_len || strncmp(word, p->name, name_len) || word[name_len] != '=')
			continue;
		errno = 0;
		value = strtoull(word + name_len + 1, &end, 10);
		if (end != word + len || end == word + name_len + 1 || errno ||
		    word[name_len + 1] == '-' || value < p->min || value > p->max)
			return as_fail(err, AS_EUSE,
				       "race: '%.*s': expected a number from %llu to %llu",
				       (int)len, word, (unsigned long long)p->min,
				       (unsigned long long)p->max);
		if (p->size == 4)
			*(unsigned *)((char *)o + p->at) = (unsigned)value;
		else
			*(uint64_t *)((char *)o + p->at) = value;
		return 0;
	}
	return as_fail(err, AS_EUSE,
		       "race: unknown parameter '%.*s': there are threads, repeat, delay and seed",
		       (int)len, word);
}

int as_race_parse(const char *text, struct as_race_options *o, struct as_err *err)
{
	int rc = 0;

	*o = (struct as_race_options){ .threads = AS_RACE_THREADS,
				       .repeat = AS_RACE_REPEAT,
				       .delay_us = AS_RACE_DELAY_US };
	while (*text && !rc) {
		size_t len = strcspn(text, ",");

		rc = parse_param(text, len, o, err);
		text += len + (text[len] == ',');
	}
	return rc;
}

void as_race_print(const struct as_race_options *o, struct as_buf *out)
{
	as_buf_addf(out, "threads=%u,repeat=%u,delay=%u", o->threads, o->repeat, o->delay_us);
	if (o->seed)
		as_buf_addf(out, ",seed=%llu", (unsigned long long)o->seed);
}

/* ---- Delays ---- */

struct as_race_delay {
	struct as_chooser *chooser;
	unsigned max_us;
};

struct as_race_delay *as_race_delay_new(const struct as_race_options *options, uint64_t seed)
{
	struct as_race_delay *d = as_xcalloc(1, sizeof(*d));

	d->chooser = as_chooser_seeded(seed);
	d->max_us = options->delay_us;
	return d;
}

void as_race_delay_free(struct as_race_delay *d)
{
	if (!d)
		return;
	as_chooser_free(d->chooser);
	free(d);
}

void as_race_delay_pause(void *ctx)
{
	struct as_race_delay *d = ctx;
	struct as_choice *choice = as_chooser_choice(d->chooser);
	struct timespec ts = { 0, 0 };

	if (!d->max_us)
		return;
	switch (as_choose(choice, PAUSES)) {
	case 0:
		ts.tv_sec = d->max_us / 1000000;
		ts.tv_nsec = 1000 * (long)as_choose(choice, d->max_us % 1000000 + 1);
		nanosleep(&ts, NULL);
		break;
	case 1:
		sched_yield();
		break;
	default:
		break;
	}
	/* Forgets the recorded choices: they are not needed again. */
	as_chooser_next(d->chooser);
}

/* ---- Calls ---- */

struct racing;

struct party {
	struct racing *race;
	unsigned number;
	struct as_vfs *vfs;
	struct as_bounds bounds;
	struct as_race_delay *delay;
	pthread_t thread;
	bool started;
};

struct racing {
	const struct as_race_run *run;
	struct as_race_history *history;
	uint8_t *thread; /* of each operation */
	size_t before; /* operations that are done before the threads start */
	atomic_uint_fast64_t clock;
	atomic_uint running, arrivals;
	pthread_mutex_t lock, ticking;
	pthread_cond_t changed;
	enum { WAIT, GO, GIVE_UP } signal;
	struct party parties[AS_RACE_THREADS_MAX];
	struct party beside;
};

static uint64_t tick(struct racing *r)
{
	uint64_t now;

	if (!r->run->tick)
		return atomic_fetch_add(&r->clock, 1);
	pthread_mutex_lock(&r->ticking);
	now = atomic_fetch_add(&r->clock, 1);
	r->run->tick(r->run->ctx, now + 1);
	pthread_mutex_unlock(&r->ticking);
	return now;
}

static void begin(struct racing *r, size_t i)
{
	const struct as_race_watch *watch = r->run->watch;
	struct as_linear_call *call = &r->history->calls[i];

	call->op = &r->run->form->ops[i];
	call->thread = r->thread[i];
	if (watch)
		watch->begins(watch->ctx, call->thread, i);
	call->begin = tick(r);
}

static void carry_out(struct racing *r, struct as_vfs *vfs, size_t i)
{
	struct as_linear_call *call = &r->history->calls[i];
	void *data;

	as_vfs_exec(vfs, call->op, &call->got);
	/* What it points to lives until the executor's next operation. */
	data = call->got.len ? as_xmalloc(call->got.len) : NULL;
	if (data)
		memcpy(data, call->got.data, call->got.len);
	call->got.data = data;
}

static void end(struct racing *r, size_t i)
{
	const struct as_race_watch *watch = r->run->watch;
	struct as_linear_call *call = &r->history->calls[i];

	call->end = tick(r);
	if (watch)
		watch->ended(watch->ctx, call->thread, i);
}

/* What the additional thread does: it changes nothing that can be seen. */
static void do_beside(struct racing *r, struct as_vfs *vfs, bool remount)
{
	struct as_op op = as_op_make(remount ? AS_OP_REMOUNT : AS_OP_SYNC);
	struct as_outcome got;

	if (remount && !r->run->remounts)
		return;
	as_vfs_exec(vfs, &op, &got);
	if (got.ret >= 0 || got.err == AS_ERR_UNSUPPORTED || r->history->beside[0])
		return;
	snprintf(r->history->beside, sizeof(r->history->beside), "%s answered %s",
		 as_op_table[op.code].name, as_errno_name(got.err));
}

/* ---- Threads ---- */

/* Waits until all threads are ready, so that they begin together. False: they do not begin. */
static bool await(struct racing *r)
{
	bool go;

	pthread_mutex_lock(&r->lock);
	while (r->signal == WAIT)
		pthread_cond_wait(&r->changed, &r->lock);
	go = r->signal == GO;
	pthread_mutex_unlock(&r->lock);
	return go;
}

static void give_signal(struct racing *r, bool go)
{
	pthread_mutex_lock(&r->lock);
	r->signal = go ? GO : GIVE_UP;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/* Waits a short time for another thread that calls this, too. */
static void meet(struct racing *r)
{
	unsigned mine = atomic_fetch_add(&r->arrivals, 1) + 1;

	for (unsigned i = 0; i < MEET_TURNS && atomic_load(&r->arrivals) == mine; i++)
		__asm__ volatile("" ::: "memory");
}

static void *run_party(void *ctx)
{
	struct party *p = ctx;
	struct racing *r = p->race;

	if (!await(r))
		return NULL;
	for (size_t i = r->before; i < r->history->n; i++) {
		if (r->thread[i] != p->number)
			continue;
		as_race_delay_pause(p->delay);
		meet(r);
		begin(r, i);
		carry_out(r, p->vfs, i);
		end(r, i);
	}
	atomic_fetch_sub(&r->running, 1);
	return NULL;
}

static void *run_beside(void *ctx)
{
	struct party *p = ctx;
	struct racing *r = p->race;

	for (unsigned i = 0; await(r) && atomic_load(&r->running); i++) {
		do_beside(r, p->vfs, i % 2);
		as_race_delay_pause(p->delay);
	}
	return NULL;
}

static void set_up_party(struct racing *r, struct party *p, unsigned number)
{
	const struct as_bounds *bounds = r->run->vfs->bounds;

	p->race = r;
	p->number = number;
	p->vfs = r->run->vfs->ops->another(r->run->vfs);
	p->delay = as_race_delay_new(r->run->options, as_mix64(r->run->delays + number + 1));
	if (!bounds)
		return;
	/* Each thread may use its part of what one workload may use. */
	p->bounds = *bounds;
	p->bounds.bytes /= r->run->options->threads;
	p->bounds.entries /= r->run->options->threads;
	as_vfs_bind(p->vfs, &p->bounds);
}

static int start(struct party *p, void *(*fn)(void *), struct as_err *err)
{
	int rc = pthread_create(&p->thread, NULL, fn, p);

	p->started = !rc;
	return rc ? as_fail_errno(err, rc, "cannot start a thread") : 0;
}

static void join(struct party *p)
{
	if (p->started)
		pthread_join(p->thread, NULL);
	as_race_delay_free(p->delay);
}

static int run_threads(struct racing *r, struct as_err *err)
{
	unsigned n = r->run->options->threads;
	int rc = 0;

	for (unsigned t = 0; t < n; t++)
		set_up_party(r, &r->parties[t], t);
	set_up_party(r, &r->beside, n);
	for (size_t i = 0; i < r->before; i++) {
		begin(r, i);
		carry_out(r, r->parties[r->thread[i]].vfs, i);
		end(r, i);
	}
	atomic_store(&r->running, n);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	for (unsigned t = 0; t < n && !rc; t++)
		rc = start(&r->parties[t], run_party, err);
	if (!rc && !r->run->alone)
		rc = start(&r->beside, run_beside, err);
	give_signal(r, !rc);
	for (unsigned t = 0; t < n; t++)
		join(&r->parties[t]);
	join(&r->beside);
	/* This closes what is open: when all calls have ended. */
	for (unsigned t = 0; t < n; t++)
		as_vfs_free(r->parties[t].vfs);
	as_vfs_free(r->beside.vfs);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	return rc;
}

/* ---- One thread that plays all ---- */

enum progress { IDLE, BEGUN, CARRIED_OUT };

struct actor {
	enum progress progress;
	size_t next; /* operation; n: none is left */
};

static size_t next_of(const struct racing *r, unsigned thread, size_t from)
{
	while (from < r->history->n && r->thread[from] != thread)
		from++;
	return from;
}

static void carry_out_for(struct racing *r, size_t i)
{
	if (r->run->plays)
		r->run->plays(r->run->ctx, r->thread[i]);
	carry_out(r, r->run->vfs, i);
}

static void act(struct racing *r, struct actor *a)
{
	size_t i = a->next;

	switch (a->progress) {
	case IDLE:
		begin(r, i);
		a->progress = BEGUN;
		break;
	case BEGUN:
		carry_out_for(r, i);
		a->progress = CARRIED_OUT;
		break;
	case CARRIED_OUT:
		end(r, i);
		a->progress = IDLE;
		a->next = next_of(r, r->thread[i], i + 1);
		break;
	}
}

static void play(struct racing *r)
{
	struct as_chooser *chooser = as_chooser_seeded(as_mix64(r->run->delays));
	struct as_choice *choice = as_chooser_choice(chooser);
	unsigned n = r->run->options->threads, busy[AS_RACE_THREADS_MAX], n_busy;
	struct actor actors[AS_RACE_THREADS_MAX] = { 0 }, *next;

	for (size_t i = 0; i < r->before; i++) {
		begin(r, i);
		carry_out_for(r, i);
		end(r, i);
	}
	for (unsigned t = 0; t < n; t++)
		actors[t].next = next_of(r, t, r->before);
	for (unsigned round = 0;; round++) {
		n_busy = 0;
		for (unsigned t = 0; t < n; t++)
			if (actors[t].next < r->history->n)
				busy[n_busy++] = t;
		if (!n_busy)
			break;
		if (!r->run->alone && !as_choose(choice, 4 * PAUSES))
			do_beside(r, r->run->vfs, as_choose(choice, 2));
		next = &actors[busy[as_choose(choice, n_busy)]];
		do
			act(r, next);
		while (r->run->in_turn && next->progress != IDLE);
		as_chooser_next(chooser);
	}
	as_chooser_free(chooser);
}

int as_race_run(const struct as_race_run *run, struct as_race_history *history, struct as_err *err)
{
	struct racing *r = as_xcalloc(1, sizeof(*r));
	int rc = 0;

	as_assert(run->options->threads && run->options->threads <= AS_RACE_THREADS_MAX);
	*history = (struct as_race_history){ .n = run->form->n, .atomic = !run->vfs->ops->another };
	history->calls = as_xcalloc(history->n + 1, sizeof(*history->calls));
	r->run = run;
	r->history = history;
	r->thread = as_xcalloc(history->n + 1, sizeof(*r->thread));
	r->before = as_race_split(run->form, run->options->threads, run->seed, r->thread);
	atomic_store(&r->clock, 1);
	pthread_mutex_init(&r->ticking, NULL);
	if (history->atomic)
		play(r);
	else
		rc = run_threads(r, err);
	pthread_mutex_destroy(&r->ticking);
	history->until = atomic_load(&r->clock);
	free(r->thread);
	free(r);
	return rc;
}

void as_race_history_free(struct as_race_history *history)
{
	for (size_t i = 0; i < history->n; i++)
		free((void *)history->calls[i].got.data);
	free(history->calls);
	*history = (struct as_race_history){ 0 };
}

/* ---- In words ---- */

static int by_begin(const void *a, const void *b)
{
	uint64_t x = (*(const struct as_linear_call *const *)a)->begin;
	uint64_t y = (*(const struct as_linear_call *const *)b)->begin;

	return x < y ? -1 : x > y;
}

static void describe_call(const struct as_linear_call *c, bool guilty, struct as_buf *out)
{
	struct as_buf op = { 0 };

	as_print_op(c->op, &op);
	as_buf_addf(out, "%c thread %u  %4llu-%-4llu  %.120s ", guilty ? '*' : ' ', c->thread,
		    (unsigned long long)c->begin, (unsigned long long)c->end, as_buf_str(&op));
	as_outcome_print(&c->got, out);
	as_buf_addc(out, '\n');
	as_buf_free(&op);
}

void as_race_describe(const struct as_race_history *history, size_t guilty, size_t max_lines,
		      struct as_buf *out)
{
	const struct as_linear_call **sorted = as_xcalloc(history->n + 1, sizeof(*sorted));
	size_t from = 0, to = history->n;

	for (size_t i = 0; i < history->n; i++)
		sorted[i] = &history->calls[i];
	qsort(sorted, history->n, sizeof(*sorted), by_begin);
	if (history->n > max_lines) {
		/* Shows more of the calls before the unexplained one than of those after it. */
		for (size_t i = 0; i < history->n; i++)
			if (sorted[i] == &history->calls[guilty])
				to = i + max_lines / 4 < history->n ? i + max_lines / 4 : to;
		from = to > max_lines ? to - max_lines : 0;
	}
	if (from)
		as_buf_addf(out, "  (%zu calls before)\n", from);
	for (size_t i = from; i < to; i++)
		describe_call(sorted[i], sorted[i] == &history->calls[guilty], out);
	if (to < history->n)
		as_buf_addf(out, "  (%zu calls after)\n", history->n - to);
	free(sorted);
}
