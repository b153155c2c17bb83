/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live: see live.h.
 *
 * Method. The struct of counters is in shared memory. A process of its own, the ticker, reads it
 * several times a second, draws, and writes the files; so the command need not come back to us
 * while it runs one long workload. The ticker waits on a descriptor of its parent (pidfd): when
 * that dies, however it does, the ticker removes the block and writes down that the run has died.
 *
 * Invariants. (1) The ticker holds no lock of the run folder and none of the command's descriptors.
 * (2) Only the ticker writes the files. (3) Counters are single words that are read without a lock;
 * texts are changed and read with it.
 */
#include "cli/live/live.h"

#include "cli/live/screen.h"
#include "cli/stopping.h"
#include "os/shlock.h"
#include "os/spawn.h"
#include "progress/curves.h"
#include "progress/who.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 100
#define DRAW_US 500000
#define SAVE_US 500000
#define HISTORY_US 5000000
#define RATE_SAMPLES 11 /* half a second apart */
#define TEMP "." AS_RUN_PROGRESS ".tmp"
/* Plain lines and JSON lines come less often the longer it takes. */
#define LINE_SOON_US 10000000
#define LINE_LATE_US 60000000
#define LINE_LATE_AFTER_US 600000000
#define JSON_SOON_US 1000000

/* In shared memory. */
struct as_live {
	struct as_shlock lock;
	struct as_progress p; /* what is not counted by the command is filled by the ticker */
	struct as_sink sink;
	bool json, quiet, keep;
	int64_t start_us, before_us;
	pid_t owner, ticker;
	int wake; /* written to: it is over */
};

static int64_t seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

static int64_t wall_of(const struct as_live *live)
{
	return live->before_us + as_now_us() - live->start_us;
}

/* ==== The ticker ==== */

struct ticker {
	struct as_live *live;
	struct as_progress p; /* a copy */
	struct as_curves history;
	struct as_sample lately[RATE_SAMPLES];
	size_t n_lately;
	int folder, self, over;
	int stops; /* can be read when the terminal has stopped the job */
	bool block, colour;
	int64_t drawn_us, saved_us, history_us, line_us;
};

/* ---- The counters ---------------------------------------------------------------------------- */

static void find_rates(struct ticker *t)
{
	struct as_sample *first = &t->lately[t->n_lately ? t->n_lately - 1 : 0];
	size_t n = t->n_lately < RATE_SAMPLES ? t->n_lately : RATE_SAMPLES - 1;

	memmove(&t->lately[1], &t->lately[0], n * sizeof(t->lately[0]));
	t->lately[0].wall_us = t->p.wall_us;
	memcpy(t->lately[0].n, t->p.n, sizeof(t->p.n));
	t->n_lately = n + 1;
	first = &t->lately[t->n_lately - 1];
	for (unsigned c = 0; c < AS_COUNTERS; c++) {
		int64_t us = t->p.wall_us - first->wall_us;

		t->live->p.rate[c] = us > 0 && as_counter_has_rate(c) && t->p.n[c] > first->n[c]
					     ? (double)(t->p.n[c] - first->n[c]) * 1e6 / (double)us
					     : 0;
	}
}

static void take(struct ticker *t)
{
	as_shlock_take(&t->live->lock);
	t->live->p.wall_us = wall_of(t->live);
	t->live->p.said_s = seconds_now();
	t->p = t->live->p;
	as_shlock_give(&t->live->lock);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* A reader sees the old or the new one. It need not survive a power cut. */
static void replace(int folder, const char *name, const struct as_buf *text)
{
	int fd = openat(folder, TEMP, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool fine;

	if (fd < 0)
		return;
	fine = write(fd, as_buf_str(text), text->len) == (ssize_t)text->len;
	close(fd);
	if (!fine || renameat(folder, TEMP, folder, name))
		unlinkat(folder, TEMP, 0);
}

static void save_progress(struct ticker *t)
{
	struct as_buf text = { 0 };
	struct as_json json = as_json_on(&text);

	t->p.number = ++t->live->p.number;
	as_json_object(&json);
	as_json_kuint(&json, "format", 1);
	as_progress_print(&t->p, true, &json);
	as_json_end(&json);
	as_buf_addc(&text, '\n');
	replace(t->folder, AS_RUN_PROGRESS, &text);
	as_buf_free(&text);
}

static void save_history(struct ticker *t)
{
	struct as_buf text = { 0 };

	as_curves_print(&t->history, &text);
	replace(t->folder, AS_RUN_HISTORY, &text);
	as_buf_free(&text);
}

/* Of a run that is resumed. */
static void load_history(struct ticker *t)
{
	struct as_dir dir = { .fd = t->folder, .path = "" };
	struct as_buf text = { 0 };

	if (t->live->before_us && as_dir_has(&dir, AS_RUN_HISTORY) &&
	    !as_dir_read(&dir, AS_RUN_HISTORY, AS_CURVES_MAX_BYTES, &text, NULL) &&
	    as_curves_parse(as_buf_str(&text), text.len, &t->history, NULL))
		as_curves_free(&t->history);
	as_buf_free(&text);
}

static void save(struct ticker *t, bool last)
{
	if (t->folder < 0)
		return;
	if (last && !t->live->keep && t->p.state != AS_RUN_DIED) {
		unlinkat(t->folder, AS_RUN_PROGRESS, 0);
		unlinkat(t->folder, AS_RUN_HISTORY, 0);
		return;
	}
	if (!last && t->p.wall_us - t->saved_us < SAVE_US)
		return;
	t->saved_us = t->p.wall_us;
	save_progress(t);
	if (as_curves_add(&t->history, &t->p, last) &&
	    (last || t->p.wall_us - t->history_us >= HISTORY_US)) {
		t->history_us = t->p.wall_us;
		save_history(t);
	} else if (last) {
		save_history(t);
	}
}

/* ---- The screen ------------------------------------------------------------------------------ */

/* A job in the background must not draw over what the user does now. */
static bool is_in_front(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static void draw(struct ticker *t)
{
	struct as_buf block = { 0 };
	unsigned columns = as_cli_columns(STDERR_FILENO);

	if (!is_in_front()) {
		as_cli_screen_forget();
		return;
	}
	if (as_cli_screen_has_block() && t->p.wall_us - t->drawn_us < DRAW_US)
		return;
	t->drawn_us = t->p.wall_us;
	/* The last column stays free: some terminals go to the next line after it. */
	as_progress_block(&t->p, columns > 1 ? columns - 1 : 1, t->colour, &block);
	as_cli_screen_block(&block);
	as_buf_free(&block);
}

static void print_json_line(struct ticker *t, struct as_buf *line)
{
	struct as_json json = as_json_on(line);

	as_json_object(&json);
	as_json_kstr(&json, "event", "progress");
	as_progress_print(&t->p, false, &json);
	as_json_end(&json);
}

static void print_line(struct ticker *t)
{
	int64_t run_us = t->p.wall_us - t->live->before_us;
	int64_t every_us = run_us >= LINE_LATE_AFTER_US		    ? LINE_LATE_US
			   : t->live->json && run_us < LINE_SOON_US ? JSON_SOON_US
								    : LINE_SOON_US;
	struct as_buf line = { 0 };

	if (run_us - t->line_us < every_us)
		return;
	if (t->live->json)
		print_json_line(t, &line);
	else
		as_progress_line(&t->p, &line);
	as_buf_addc(&line, '\n');
	if (as_cli_screen_line(STDOUT_FILENO, &line))
		t->line_us = run_us;
	as_buf_free(&line);
}

/* ---- The process ----------------------------------------------------------------------------- */

/* Puts a descriptor where close_others() leaves it. */
static int keep_fd(int fd, int at)
{
	if (fd < 0)
		return -1;
	return dup2(fd, at) < 0 ? -1 : at;
}

static void close_others(struct ticker *t)
{
	int null = open("/dev/null", O_RDWR);
	int high[4] = { fcntl(t->folder, F_DUPFD, 10), fcntl(t->self, F_DUPFD, 10),
			fcntl(t->over, F_DUPFD, 10), fcntl(t->stops, F_DUPFD, 10) };

	t->folder = keep_fd(high[0], 3);
	t->self = keep_fd(high[1], 4);
	t->over = keep_fd(high[2], 5);
	t->stops = keep_fd(high[3], 6);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		if (t->block || t->live->quiet)
			dup2(null, STDOUT_FILENO);
		if (!t->block)
			dup2(null, STDERR_FILENO);
	}
	close_range(7, ~0u, 0);
}

static void set_up(struct ticker *t)
{
	sigset_t all, stop;

	/* Ctrl-Z stops the others of this job; who stays removes the block. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	t->stops = signalfd(-1, &stop, SFD_NONBLOCK | SFD_CLOEXEC);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "assay-live");
	t->block = !t->live->json && !t->live->quiet && as_cli_is_terminal(STDERR_FILENO);
	t->colour = as_cli_has_colour(STDERR_FILENO);
	close_others(t);
	as_progress_say_who(&t->live->p, t->live->owner);
	if (t->folder >= 0)
		load_history(t);
	/* The history of another run is over. */
	if (t->folder >= 0 && !t->live->before_us)
		unlinkat(t->folder, AS_RUN_HISTORY, 0);
}

/* Whether it goes on after a while; *died: because the owner did. */
static bool wait_tick(const struct ticker *t, bool *died)
{
	struct pollfd fds[] = { { .fd = t->over, .events = POLLIN },
				{ .fd = t->self, .events = POLLIN },
				{ .fd = t->stops, .events = POLLIN } };
	struct signalfd_siginfo stopped;

	poll(fds, 3, TICK_MS);
	if (fds[2].revents && read(t->stops, &stopped, sizeof(stopped)) > 0 && t->block) {
		if (is_in_front())
			as_cli_screen_clear();
		/* The shell takes the terminal in a moment. */
		poll(NULL, 0, TICK_MS);
	}
	*died = !fds[0].revents && (fds[1].revents || getppid() != t->live->owner);
	return !fds[0].revents && !*died;
}

/* folder -1: nothing is kept; self: a pidfd of the owner; over: can be read when it is over. */
__attribute__((noreturn)) static void tick(struct as_live *live, int folder, int self, int over)
{
	struct ticker t = { .live = live, .folder = folder, .self = self, .over = over };
	int64_t rated_us = -DRAW_US;
	bool died;

	set_up(&t);
	while (wait_tick(&t, &died)) {
		take(&t);
		if (t.p.wall_us - rated_us >= DRAW_US) {
			rated_us = t.p.wall_us;
			as_live_set(live, AS_COUNT_memory_bytes,
				    as_progress_memory(live->owner, getpid()));
			find_rates(&t);
			take(&t);
		}
		save(&t, false);
		if (t.block)
			draw(&t);
		else if (!live->quiet)
			print_line(&t);
	}
	if (died) {
		live->p.signal = as_progress_died_of(live->owner);
		live->p.state = AS_RUN_DIED;
	}
	take(&t);
	if (t.block && is_in_front())
		as_cli_screen_clear();
	save(&t, true);
	_exit(0);
}

/* ==== The command ==== */

/* ---- What the command says ------------------------------------------------------------------- */

void as_live_target(struct as_live *live, const char *target, const char *where, uint64_t jobs)
{
	if (!live)
		return;
	as_shlock_take(&live->lock);
	as_progress_text(live->p.target, target);
	as_progress_text(live->p.where, where);
	live->p.jobs = jobs;
	as_shlock_give(&live->lock);
}

void as_live_goal(struct as_live *live, int64_t for_us, uint64_t all)
{
	if (!live)
		return;
	live->p.for_us = for_us;
	live->p.all = all;
}

void as_live_done(struct as_live *live, uint64_t done)
{
	if (live)
		live->p.done = done;
}

void as_live_add_done(struct as_live *live, uint64_t more)
{
	if (live)
		__atomic_fetch_add(&live->p.done, more, __ATOMIC_RELAXED);
}

void as_live_phase(struct as_live *live, const char *words)
{
	if (!live)
		return;
	as_shlock_take(&live->lock);
	as_progress_text(live->p.phase, words);
	as_shlock_give(&live->lock);
}

static void mark(struct as_live *live, enum as_counter c)
{
	__atomic_fetch_or(&live->p.has, (uint64_t)1 << c, __ATOMIC_RELAXED);
}

void as_live_set(struct as_live *live, enum as_counter c, uint64_t n)
{
	if (!live)
		return;
	__atomic_store_n(&live->p.n[c], n, __ATOMIC_RELAXED);
	mark(live, c);
}

void as_live_add(struct as_live *live, enum as_counter c, uint64_t n)
{
	if (!live)
		return;
	__atomic_fetch_add(&live->p.n[c], n, __ATOMIC_RELAXED);
	mark(live, c);
}

void as_live_finding(struct as_live *live, const struct as_finding *f)
{
	if (!live)
		return;
	as_shlock_take(&live->lock);
	if (f->kind < AS_FIND_KINDS)
		live->p.kinds[f->kind]++;
	as_progress_text(live->p.newest, f->id);
	as_progress_text(live->p.newest_words, f->summary ? f->summary : "");
	live->p.newest_us = wall_of(live);
	as_shlock_give(&live->lock);
}

void as_live_again(struct as_live *live)
{
	if (live)
		__atomic_fetch_add(&live->p.again, 1, __ATOMIC_RELAXED);
}

static struct as_live *of_sink(struct as_sink *sink)
{
	return (struct as_live *)(void *)((char *)sink - offsetof(struct as_live, sink));
}

static void sink_finding(struct as_sink *sink, const struct as_finding *f)
{
	as_live_finding(of_sink(sink), f);
}

static void sink_again(struct as_sink *sink, const char *signature)
{
	(void)signature;
	as_live_again(of_sink(sink));
}

struct as_sink *as_live_sink(struct as_live *live)
{
	return live ? &live->sink : NULL;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* The lock of the run folder goes with its descriptor: the ticker gets another one. */
static int folder_again(const struct as_dir *folder)
{
	return folder && folder->fd >= 0
		       ? openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		       : -1;
}

struct as_live *as_live_open(const struct as_live_setup *setup)
{
	struct as_live *live = as_shared_alloc(sizeof(*live));
	int folder = folder_again(setup->folder), self, wake[2];
	pid_t ticker;

	live->sink = (struct as_sink){ .finding = sink_finding, .again = sink_again };
	live->json = setup->json;
	live->quiet = setup->quiet;
	live->before_us = setup->before_us;
	live->start_us = as_now_us();
	live->owner = getpid();
	as_shlock_init(&live->lock);
	as_progress_text(live->p.command, setup->command);
	live->p.began_s = seconds_now();
	if (!setup->finds_nothing)
		as_live_set(live, AS_COUNT_findings, 0);
	self = (int)syscall(SYS_pidfd_open, live->owner, 0);
	if (pipe2(wake, O_CLOEXEC) == 0) {
		ticker = fork(); /* the memory is shared: only one side may write there who it is */
		if (!ticker)
			tick(live, folder, self, wake[0]);
		live->ticker = ticker;
		close(wake[0]);
		live->wake = wake[1];
	}
	if (self >= 0)
		close(self);
	if (folder >= 0)
		close(folder);
	return live;
}

void as_live_close(struct as_live *live, bool keep, int rc, const struct as_err *err)
{
	if (!live || live->owner != getpid())
		return;
	as_shlock_take(&live->lock);
	live->keep = keep;
	live->p.state = rc < 0 ? AS_RUN_FAILED : as_cli_stopped() ? AS_RUN_STOPPED : AS_RUN_ENDED;
	live->p.signal = rc < 0 ? 0 : as_cli_stopped();
	if (rc < 0 && err)
		as_progress_text(live->p.why, err->msg);
	as_shlock_give(&live->lock);
	if (live->ticker > 0) {
		/* Children that were left running have this pipe, too: its end would not come. */
		(void)!write(live->wake, "", 1);
		close(live->wake);
		while (waitpid(live->ticker, NULL, 0) < 0 && errno == EINTR)
			;
	}
	as_shared_free(live, sizeof(*live));
}
