/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: see boxed.h. This is the supervisor's loop.
 *
 * Method. The workloads that are left are written to the folder that the box shares with us
 * (give.c), and a box is started whose engine runs them in order. Three things are watched: the
 * events of the engine (events.c), the console of its kernel (console.c), and the counters in the
 * shared memory (hang.c). When the box has ended, or hangs and is killed, its end is judged
 * (verdict.c), and a new box is started for the workloads that are left.
 *
 * Invariants
 *   1. A workload is done when its event has arrived, or when a finding about it was made here.
 *      Every other workload is run (again). A box that is killed at any moment loses nothing,
 *      because the event is written after all findings of the workload, and each finding after
 *      its disk.
 *   2. Every start finishes a workload, makes a finding about one, or was killed from outside.
 *      After KILLS_MAX kills in a row (verdict.c) this is an error of ours. So the loop ends.
 */
#include "supervise/boxed.h"

#include "os/spawn.h"
#include "supervise/boxed_priv.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 100 /* how often counters are looked at */
#define DRAIN_BYTES ((size_t)1 << 20) /* at a time */
#define COUNTS_US 500000 /* how often counts are taken */

void as_boxed_drop(struct as_boxed_session *b)
{
	as_boxed_outside_end(b);
	as_box_free(b->box);
	b->box = NULL;
	if (b->in_fd >= 0)
		close(b->in_fd);
	b->in_fd = -1;
}

/* ---- Starting -------------------------------------------------------------------------------- */

static int boot(struct as_boxed_session *b, struct as_err *err)
{
	struct as_box_options options = b->how->box;
	struct as_buf call = { 0 };
	const char *args[] = { AS_WIRE_ENGINE, b->how->sandbox->state_path, NULL, NULL };
	int rc;

	as_boxed_call_path(b, &call);
	args[2] = as_buf_str(&call);
	options.fill = as_boxed_fill;
	options.fill_ctx = b;
	options.engine_bytes = as_run_state_bytes();
	b->stuck_ms = as_boxed_stuck_ms(b->how);
	options.stuck_ms = b->stuck_ms;
	as_boxed_clear(b);
	b->boots++;
	rc = as_box_start(b->how->sandbox, &options, args, &b->box, err);
	if (rc)
		as_boxed_drop(b);
	as_buf_free(&call);
	return rc;
}

/* Gives the engine the workloads that are left, and starts a box if there is none. */
static int start(struct as_boxed_session *b, struct as_err *err)
{
	int rc;

	b->n_list = b->n_finished = 0;
	for (size_t i = 0; i < b->work->n; i++)
		if (!b->done[i])
			b->list[b->n_list++] = i;
	if (b->box) {
		if (b->death && b->begun)
			as_boxed_forget_console(b);
		b->box->state->job = 0;
		rc = as_boxed_fill(b, b->box, err);
	} else {
		rc = boot(b, err);
	}
	/* If it is gone, watch() notices. */
	if (!rc)
		(void)as_box_say(b->box, AS_WIRE_GO);
	b->engine_saw = false;
	return rc;
}

/* ---- Watching -------------------------------------------------------------------------------- */

/* Reads what has arrived, but only a limited amount at a time. */
static void drain(struct as_boxed_session *b)
{
	uint64_t faults = b->box->state->faults;
	size_t events = 0, console = 0;
	char block[16384];
	bool quiet = true;
	ssize_t n;

	while (events < DRAIN_BYTES && (n = read(b->box->events_fd, block, sizeof(block))) > 0) {
		as_buf_add(&b->events, block, (size_t)n);
		events += (size_t)n;
	}
	/* Read after the events: what the kernel printed before an event is here by now. */
	while (console < DRAIN_BYTES && b->box->console_fd >= 0 &&
	       (n = read(b->box->console_fd, block, sizeof(block))) > 0) {
		as_boxed_take_console(b, block, (size_t)n);
		console += (size_t)n;
		quiet = false;
	}
	b->events_bytes += events;
	b->console_bytes += console;
	if (quiet)
		as_kmsg_scan_end(b->scan);
	if (quiet && !(faults & 1))
		b->faults_over = faults;
}

static void follow_sweep(struct as_boxed_session *b)
{
	struct as_sweep_at at;

	if (!b->how->options.sweep)
		return;
	at = as_boxed_sweep_at(b);
	if (at.points == b->sweep_told)
		return;
	b->sweep_told = at.points;
	/* One workload may be thousands of failures, and a kernel may say something of each. */
	b->console_bytes = 0;
	if (b->how->swept)
		b->how->swept(b->how->ctx, &at);
}

static int watch(struct as_boxed_session *b, enum as_boxed_end *end, struct as_err *err)
{
	struct as_boxed_clocks clocks = { .last_us = as_now_us() };
	int rc = 0;

	*end = BOXED_RUNS;
	while (!rc && *end == BOXED_RUNS) {
		struct pollfd fds[] = { { .fd = b->box->events_fd, .events = POLLIN },
					{ .fd = b->box->console_fd, .events = POLLIN },
					{ .fd = b->box->pidfd, .events = POLLIN },
					{ .fd = b->outside ? b->outside->events_fd : -1,
					  .events = POLLIN } };
		bool reported = false;

		/* A pipe whose writer is gone stays ready: do not spin. */
		if (poll(fds, 4, LOOK_MS) > 0 && !((fds[0].revents | fds[1].revents) & POLLIN) &&
		    !fds[2].revents && !fds[3].revents)
			poll(NULL, 0, 1);
		as_boxed_outside_look(b);
		*end = as_boxed_look(b, &clocks);
		drain(b);
		follow_sweep(b);
		rc = as_boxed_take_events(b, &reported, err);
		if (reported && *end == BOXED_RUNS && !b->death && !b->how->options.faults &&
		    !b->how->options.sweep)
			*end = BOXED_COMPLAINED;
		if (!b->once && *end == BOXED_RUNS && b->n_finished == b->n_list)
			*end = BOXED_IDLE;
		if (!rc && *end == BOXED_RUNS && b->how->must_stop &&
		    b->how->must_stop(b->how->ctx))
			rc = as_fail(err, AS_ESTOP, "a sandbox was given up");
	}
	return rc;
}

/* ---- Running --------------------------------------------------------------------------------- */

static bool all_done(const struct as_boxed_session *b)
{
	for (size_t i = 0; i < b->work->n; i++)
		if (!b->done[i])
			return false;
	return true;
}

static int run_rest(struct as_boxed_session *b, struct as_err *err)
{
	enum as_boxed_end end;
	bool reported;
	int rc = start(b, err);

	if (rc)
		return rc;
	rc = watch(b, &end, err);
	if (!rc && end == BOXED_IDLE)
		return 0;
	as_box_end(b->box);
	drain(b);
	as_kmsg_scan_end(b->scan);
	/* After BOXED_COMPLAINED, further events are of workloads that will run again. */
	if (!rc && end != BOXED_COMPLAINED)
		do
			rc = as_boxed_take_events(b, &reported, err);
		while (!rc && reported);
	as_boxed_take_counts(b);
	if (!rc)
		rc = as_boxed_judge(b, end, err);
	if (as_boxed_lacked_memory(b))
		as_emit_note(b->how->notes,
			     "the sandbox ran out of memory: this may have caused its "
			     "findings; --uml-mem gives it more");
	as_boxed_drop(b);
	return rc;
}

void as_boxed_spread(struct as_boxed *how, unsigned lane, unsigned lanes)
{
	unsigned left;
	cpu_set_t set;

	if (lanes < 2 || how->box.core != AS_CORE_HERE || sched_getaffinity(0, sizeof(set), &set) ||
	    !CPU_COUNT(&set))
		return;
	left = lane % (unsigned)CPU_COUNT(&set);
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET((unsigned)core, &set) && !left--) {
			how->box.core = core;
			return;
		}
}

int as_boxed_open(const struct as_boxed *how, struct as_boxed_session **session, struct as_err *err)
{
	struct as_boxed_session *b = as_xcalloc(1, sizeof(*b));
	int rc = how->sandbox->ready(&how->box, err);

	b->how = how;
	b->in_fd = -1;
	if (rc) {
		as_boxed_close(b);
		b = NULL;
	}
	*session = b;
	return rc;
}

int as_boxed_give(struct as_boxed_session *b, const struct as_work *work, struct as_run_result *sum,
		  struct as_err *err)
{
	int rc = 0;

	b->work = work;
	b->sum = sum;
	b->done = as_xcalloc(work->n + 1, sizeof(*b->done));
	b->list = as_xcalloc(work->n + 1, sizeof(*b->list));
	while (!rc && !all_done(b))
		rc = run_rest(b, err);
	/* Not only at the end: our caller may be killed at any moment. */
	if (b->box && as_now_us() - b->counts_us > COUNTS_US) {
		as_boxed_take_counts(b);
		b->counts_us = as_now_us();
	}
	free(b->done);
	free(b->list);
	b->done = NULL;
	b->list = NULL;
	return rc;
}

void as_boxed_close(struct as_boxed_session *b)
{
	if (!b)
		return;
	if (b->box) {
		as_box_end(b->box);
		as_boxed_take_counts(b);
	}
	as_boxed_drop(b);
	as_boxed_free_texts(b);
	free(b);
}

int as_boxed_run(const struct as_boxed *how, const struct as_work *work, struct as_run_result *sum,
		 struct as_err *err)
{
	struct as_boxed_session *b;
	int rc = as_boxed_open(how, &b, err);

	if (rc)
		return rc;
	b->once = true;
	rc = as_boxed_give(b, work, sum, err);
	as_boxed_close(b);
	return rc;
}
