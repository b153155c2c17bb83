/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: see boxed.h.
 *
 * Method. The workloads that are left are written to the folder that a box shares with us, and it
 * is started with an engine that runs them in order. Three things are watched: the lines of the
 * engine, the console of its kernel, the counters in the shared memory. When the box ends, or has
 * to be ended, what is left is started again.
 *
 * Invariants
 *   1. A workload is done when its line has arrived, or when a finding about it was made here. What
 *      is not done is run (again): a box that is killed at any moment loses nothing, because the
 *      line is written after all findings of the workload are in the folder.
 *   2. Every start either finishes a workload, makes a finding about one, or was killed from
 *      outside; the last happens KILLS_MAX times in a row at most, and then is an error of ours,
 *      not a finding. So there is an end.
 */
#include "supervise/boxed.h"

#include "os/dir.h"
#include "os/spawn.h"
#include "supervise/boxed_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS_MAX 8
#define LOOK_MS 100 /* how often counters are looked at */
#define BOOT_MS 60000 /* until the first sign of life */
#define SILENCE_MS 20000
#define STUCK_EXTRA_MS 3000 /* beyond the engine's own deadline */
#define STUCK_TWICE_MS 15000 /* beyond what the guest should have noticed by itself */
#define LINGER_MS 2000 /* for a kernel that has crashed to end */
#define STEP_MAX_MS 1000 /* of a clock at a time */
#define STOPPED_MS 60000 /* how long somebody may stop a box */
#define DRAIN_BYTES ((size_t)1 << 20) /* at a time */
#define FLOOD_BYTES ((uint64_t)64 << 20) /* without a workload that is done */
#define COUNTS_US 500000 /* how often counts are taken */
#define CONSOLE_SHOWN_BYTES 400 /* of a boot that failed */

static void free_box(struct as_boxed_session *b)
{
	as_box_free(b->box);
	b->box = NULL;
	if (b->in_fd >= 0)
		close(b->in_fd);
	b->in_fd = -1;
}

/* ---- Starting -------------------------------------------------------------------------------- */

#define ARGS_MAX 128

struct args {
	struct as_buf text; /* each with its NUL */
	const char *words[ARGS_MAX];
};

static void arg(struct args *a, const char *option, const char *value)
{
	as_buf_addf(&a->text, "--%s=%s", option, value);
	as_buf_addc(&a->text, '\0');
}

static void arg_number(struct args *a, const char *option, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	arg(a, option, text);
}

static void arg_path(struct args *a, const char *option, const char *share, const char *path)
{
	struct as_buf text = { 0 };

	as_buf_addf(&text, "%s/%s", share, path);
	arg(a, option, as_buf_str(&text));
	as_buf_free(&text);
}

static int make_args(const struct as_boxed_session *b, struct args *a, struct as_err *err)
{
	const struct as_run_options *o = &b->how->options;
	const char *share = b->how->sandbox->share_path;
	size_t n = 0;

	as_buf_add(&a->text, "run\0--json\0--sandbox=host", 25);
	as_buf_addc(&a->text, '\0');
	arg(a, AS_BOX_STATE_OPTION, b->how->sandbox->state_path);
	arg(a, "target", b->how->target);
	if (b->how->out)
		arg_path(a, "out", share, BOXED_OUT);
	else
		as_buf_add(&a->text, "--no-store", 11);
	arg(a, "check", o->check_every_op ? "op" : "end");
	if (o->size_bytes)
		arg_number(a, "size", o->size_bytes);
	if (o->seed)
		arg_number(a, "seed", o->seed);
	if (o->max_bytes)
		arg_number(a, "max-bytes", o->max_bytes);
	if (o->max_entries)
		arg_number(a, "max-entries", o->max_entries);
	if (o->deadline_ms)
		arg_number(a, "deadline", (o->deadline_ms + 999) / 1000);
	if (o->sweep)
		arg(a, "sweep", as_sweep_name(o->sweep));
	if (o->faults && *o->faults)
		arg(a, "fault", o->faults);
	if (o->scenario[0])
		arg(a, "scenario", o->scenario);
	if (b->how->together)
		as_buf_add(&a->text, "--together", 11);
	if (b->how->out && b->how->known)
		arg_path(a, "known", share, BOXED_IN "/known");
	if (b->how->out && b->how->cov)
		arg_path(a, "cov", share, BOXED_COUNTS "/");
	/* For one that stays up, what to run comes on its standard input. */
	if (b->once)
		arg_path(a, "list", share, BOXED_IN "/list");
	else
		arg(a, "list", "-");
	for (size_t at = 0; at < a->text.len; at += strlen(a->text.data + at) + 1) {
		if (n == ARGS_MAX - 1)
			return as_fail(err, AS_EUSE, "too many options for a sandbox");
		a->words[n++] = a->text.data + at;
	}
	a->words[n] = NULL;
	return 0;
}

static int boot(struct as_boxed_session *b, struct as_err *err)
{
	unsigned deadline_ms = b->how->options.deadline_ms;
	struct as_box_options options = b->how->box;
	struct args args = { 0 };
	int rc = make_args(b, &args, err);

	options.fill = as_boxed_fill;
	options.fill_ctx = b;
	options.engine_bytes = as_run_state_bytes();
	b->stuck_ms = (deadline_ms ? deadline_ms : AS_RUN_DEADLINE_MS) + STUCK_EXTRA_MS;
	options.stuck_ms = b->stuck_ms;
	as_boxed_clear(b);
	b->boots++;
	if (!rc)
		rc = as_box_start(b->how->sandbox, &options, args.words, &b->box, err);
	as_buf_free(&args.text);
	return rc;
}

/* Gives the engine what is left, and starts one if there is none. */
static int start(struct as_boxed_session *b, struct as_err *err)
{
	struct as_buf line = { 0 };
	int rc;

	b->n_list = b->n_finished = 0;
	for (size_t i = 0; i < b->n_jobs; i++)
		if (!b->done[i])
			b->list[b->n_list++] = i;
	if (b->box) {
		b->box->state->job = 0;
		rc = as_boxed_write_work(b, err);
	} else {
		rc = boot(b, err);
	}
	as_buf_addf(&line, "%s/" BOXED_IN "/list\n", b->how->sandbox->share_path);
	/* One that is gone is found to be. */
	if (!rc && !b->once)
		(void)as_box_say(b->box, as_buf_str(&line));
	b->engine_saw = false;
	as_buf_free(&line);
	return rc;
}

/* ---- Watching -------------------------------------------------------------------------------- */

/* What is there now, or a good part of it. */
static void drain(struct as_boxed_session *b)
{
	size_t events = 0, console = 0;
	char block[16384];
	bool quiet = true;
	ssize_t n;

	while (events < DRAIN_BYTES && (n = read(b->box->events_fd, block, sizeof(block))) > 0) {
		as_buf_add(&b->events, block, (size_t)n);
		events += (size_t)n;
	}
	/* Read after the events: what was printed before a line was written is here by now. */
	while (console < DRAIN_BYTES && b->box->console_fd >= 0 &&
	       (n = read(b->box->console_fd, block, sizeof(block))) > 0) {
		as_boxed_take_console(b, block, (size_t)n);
		console += (size_t)n;
		quiet = false;
	}
	b->flood_bytes += events + console;
	if (quiet)
		as_kmsg_scan_end(b->scan);
}

static bool has_ended(const struct as_box *box)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)box->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/*
 * Clocks count the time in which we were there to look and the box was free to run: if we, or the
 * whole machine, were stopped and go on later, nobody was silent for it.
 */
struct clocks {
	int64_t last_us; /* when we looked */
	int64_t silent_us, idle_us, stuck_us, crash_us, stopped_us; /* for how long */
	uint64_t beat, progress;
};

static void wind(struct clocks *c, const struct as_boxed_session *b)
{
	const struct as_box_state *state = b->box->state;
	uint64_t beat = state->beat, progress = as_box_progress(state);
	int64_t now_us = as_now_us(), step_us = now_us - c->last_us;

	c->last_us = now_us;
	if (step_us > STEP_MAX_MS * 1000)
		step_us = STEP_MAX_MS * 1000;
	if (b->box->watch->stopped) {
		c->stopped_us += step_us;
		return;
	}
	c->stopped_us = 0;
	c->silent_us = beat == c->beat ? c->silent_us + step_us : 0;
	c->idle_us = progress == c->progress ? c->idle_us + step_us : 0;
	c->stuck_us = state->stuck ? c->stuck_us + step_us : 0;
	c->crash_us = b->weight == AS_KMSG_CRASH ? c->crash_us + step_us : 0;
	c->beat = beat;
	c->progress = progress;
}

static enum as_boxed_end look(struct as_boxed_session *b, struct clocks *c)
{
	unsigned silence_ms = b->how->silence_ms ? b->how->silence_ms : SILENCE_MS;

	wind(c, b);
	if (has_ended(b->box))
		return BOXED_ENDED;
	if (b->flood_bytes > FLOOD_BYTES)
		return BOXED_FLOODS;
	if (c->crash_us > LINGER_MS * 1000)
		return BOXED_LINGERS;
	if (c->stopped_us > STOPPED_MS * 1000)
		return BOXED_STOPPED;
	if (!(b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL))
		return BOXED_RUNS;
	if (c->silent_us > (int64_t)(c->beat ? silence_ms : BOOT_MS) * 1000)
		return BOXED_SILENT;
	/* The kernel is saying where everybody waits. Or it should be: then we say it. */
	if (c->stuck_us > LINGER_MS * 1000 ||
	    (c->beat && c->idle_us > ((int64_t)b->stuck_ms + STUCK_TWICE_MS) * 1000))
		return BOXED_STUCK;
	return BOXED_RUNS;
}

static int watch(struct as_boxed_session *b, enum as_boxed_end *end, struct as_err *err)
{
	struct clocks clocks = { .last_us = as_now_us() };
	int rc = 0;

	*end = BOXED_RUNS;
	while (!rc && *end == BOXED_RUNS) {
		struct pollfd fds[] = { { .fd = b->box->events_fd, .events = POLLIN },
					{ .fd = b->box->console_fd, .events = POLLIN },
					{ .fd = b->box->pidfd, .events = POLLIN } };
		bool stop = false;

		/* Pipes that have come to their end would be ready for ever. */
		if (poll(fds, 3, LOOK_MS) > 0 && !((fds[0].revents | fds[1].revents) & POLLIN) &&
		    !fds[2].revents)
			poll(NULL, 0, 1);
		*end = look(b, &clocks);
		drain(b);
		rc = as_boxed_take_events(b, &stop, err);
		if (stop && *end == BOXED_RUNS && !b->how->options.faults && !b->how->options.sweep)
			*end = BOXED_COMPLAINED;
		if (!b->once && *end == BOXED_RUNS && b->n_finished == b->n_list)
			*end = BOXED_IDLE;
	}
	return rc;
}

/* ---- Judging --------------------------------------------------------------------------------- */

static int engine_ended(struct as_boxed_session *b, int status, struct as_err *err)
{
	const char *said = as_buf_str(&b->complaint);

	if (!WIFEXITED(status)) {
		as_boxed_found(b, as_boxed_in_flight(b), BOXED_ENDED);
		return 0;
	}
	if (WEXITSTATUS(status) <= 1 && b->n_finished == b->n_list)
		return 0;
	if (!strncmp(said, "assay: ", 7))
		said += 7;
	return as_fail(err, WEXITSTATUS(status) == 3 ? AS_ELACK : AS_EUSE, "%s%s",
		       *said ? said : "the engine in the sandbox ended before its work was done",
		       "");
}

/* Only others send these. */
static bool was_killed(int status)
{
	static const int signals[] = { SIGKILL, SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
				       SIGXCPU, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (WIFSIGNALED(status) && WTERMSIG(status) == signals[i])
			return true;
	return false;
}

/* A kernel that crashes says so and aborts; one that is turned off has the engine's end to tell.
 * One that just ends was told to by a signal that it catches, or lacked something. */
static bool just_ended(const struct as_boxed_session *b)
{
	return WIFEXITED(b->box->status) && !b->box->state->ended;
}

static int boot_failed(const struct as_boxed_session *b, const char *how, struct as_err *err)
{
	const char *text = as_buf_str(&b->console);
	struct as_buf line = { 0 };
	int rc;

	if (b->console.len > CONSOLE_SHOWN_BYTES)
		text += b->console.len - CONSOLE_SHOWN_BYTES;
	as_boxed_add_line(&line, text, strlen(text));
	rc = as_fail(err, AS_EIO, "the sandbox did not start (%s); its console %s%s", how,
		     line.len ? "ends: " : "is empty", as_buf_str(&line));
	as_buf_free(&line);
	return rc;
}

static void say_end(const struct as_boxed_session *b, enum as_boxed_end end, char *text, size_t cap)
{
	int status = b->box->status;

	if (end == BOXED_STOPPED)
		snprintf(text, cap, "it was stopped for %d s", STOPPED_MS / 1000);
	else if (end == BOXED_SILENT)
		snprintf(text, cap, "no sign of life");
	else if (end != BOXED_ENDED)
		snprintf(text, cap, "it does not end");
	else if (WIFSIGNALED(status))
		snprintf(text, cap, "%s", as_signal_name(WTERMSIG(status)));
	else
		snprintf(text, cap, "status %d", WEXITSTATUS(status));
}

/* It is no finding, and it is tried again, but not for ever. */
static int start_again(struct as_boxed_session *b, enum as_boxed_end end, struct as_err *err)
{
	char how[64];

	say_end(b, end, how, sizeof(how));
	if (++b->kills < KILLS_MAX) {
		as_emit_note(b->how->told, "the sandbox was killed (%s): starting again", how);
		return 0;
	}
	return as_fail(err, AS_EIO, "the sandbox was killed %d times in a row, at last: %s",
		       KILLS_MAX, how);
}

static int judge(struct as_boxed_session *b, enum as_boxed_end end, struct as_err *err)
{
	struct as_box_state *state = b->box->state;
	bool own_kernel = b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL;
	char error[sizeof(state->error)], how[64];
	struct as_buf line = { 0 };
	int rc;

	memcpy(error, state->error, sizeof(error));
	error[sizeof(error) - 1] = '\0';
	if (error[0] && end == BOXED_ENDED) {
		as_boxed_add_line(&line, error, strlen(error));
		rc = as_fail(err, AS_EIO, "%.900s", as_buf_str(&line));
		as_buf_free(&line);
		return rc;
	}
	if (end == BOXED_FLOODS)
		return as_fail(err, AS_EIO,
			       "the sandbox said more than %llu MiB and finished no workload",
			       (unsigned long long)FLOOD_BYTES >> 20);
	if (b->box->watch->greedy)
		return as_fail(err, AS_EIO,
			       "the kernel in the sandbox took more memory than it may have and "
			       "was killed; --uml-mem gives it more");
	if (end == BOXED_ENDED && own_kernel && state->ended)
		return engine_ended(b, state->status, err);
	if (end == BOXED_ENDED && !own_kernel && !was_killed(b->box->status))
		return engine_ended(b, b->box->status, err);
	say_end(b, end, how, sizeof(how));
	if (b->weight < AS_KMSG_CRASH &&
	    (end == BOXED_STOPPED || (end == BOXED_ENDED && (was_killed(b->box->status) ||
							     (state->job >= 0 && just_ended(b))))))
		return start_again(b, end, err);
	if (end == BOXED_COMPLAINED) {
		if (!b->engine_saw && b->n_finished)
			as_boxed_found(b, b->list[b->n_finished - 1], end);
		return 0;
	}
	if (state->job < 0)
		return boot_failed(b, how, err);
	as_boxed_found(b, as_boxed_in_flight(b), end);
	return 0;
}

static bool all_done(const struct as_boxed_session *b)
{
	for (size_t i = 0; i < b->n_jobs; i++)
		if (!b->done[i])
			return false;
	return true;
}

static int run_rest(struct as_boxed_session *b, struct as_err *err)
{
	enum as_boxed_end end;
	bool stop;
	int rc = start(b, err);

	if (rc)
		return rc;
	rc = watch(b, &end, err);
	if (!rc && end == BOXED_IDLE)
		return 0;
	as_box_end(b->box);
	drain(b);
	as_kmsg_scan_end(b->scan);
	/* Events that arrived after the one that stopped us are of workloads that run again. */
	if (!rc && end != BOXED_COMPLAINED)
		do
			rc = as_boxed_take_events(b, &stop, err);
		while (!rc && stop);
	as_boxed_flush(b);
	as_boxed_take_counts(b);
	if (!rc)
		rc = judge(b, end, err);
	if (strstr(as_buf_str(&b->console), "Out of memory: Killed process"))
		as_emit_note(b->how->told, "the sandbox ran out of memory: what was found may come "
					   "of that; --uml-mem gives it more");
	free_box(b);
	return rc;
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

int as_boxed_give(struct as_boxed_session *b, const struct as_boxed_job *jobs, size_t n_jobs,
		  struct as_run_stats *stats, struct as_err *err)
{
	int rc = 0;

	b->jobs = jobs;
	b->n_jobs = n_jobs;
	b->stats = stats;
	b->done = as_xcalloc(n_jobs + 1, sizeof(*b->done));
	b->list = as_xcalloc(n_jobs + 1, sizeof(*b->list));
	while (!rc && !all_done(b))
		rc = run_rest(b, err);
	/* Who gives us work may be killed any moment. */
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
	free_box(b);
	as_boxed_free_texts(b);
	free(b);
}

int as_boxed_run(const struct as_boxed *how, const struct as_boxed_job *jobs, size_t n_jobs,
		 struct as_run_stats *stats, struct as_err *err)
{
	struct as_boxed_session *b;
	int rc = as_boxed_open(how, &b, err);

	if (rc)
		return rc;
	b->once = true;
	rc = as_boxed_give(b, jobs, n_jobs, stats, err);
	as_boxed_close(b);
	return rc;
}
