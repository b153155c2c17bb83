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
#include "cli/live.h"

#include "cli/live_priv.h"
#include "cli/stopping.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

void as_live_finding(struct as_live *live, const struct as_finding *f, const char *id)
{
	if (!live)
		return;
	as_shlock_take(&live->lock);
	if (f->kind < AS_FIND_KINDS)
		live->p.kinds[f->kind]++;
	as_progress_text(live->p.newest, id);
	as_progress_text(live->p.newest_words, f->summary ? f->summary : "");
	live->p.newest_us = as_live_wall(live);
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

static void sink_finding(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	as_live_finding(of_sink(sink), f, id);
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

static int64_t seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

int64_t as_live_seconds(void)
{
	return seconds_now();
}

int64_t as_live_wall(const struct as_live *live)
{
	return live->before_us + as_now_us() - live->start_us;
}

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

	live->sink = (struct as_sink){ .finding = sink_finding, .again = sink_again };
	live->json = setup->json;
	live->quiet = setup->quiet;
	live->before_us = setup->before_us;
	live->start_us = as_now_us();
	live->owner = getpid();
	as_shlock_init(&live->lock);
	as_progress_text(live->p.command, setup->command);
	live->p.began_s = seconds_now();
	self = (int)syscall(SYS_pidfd_open, live->owner, 0);
	if (pipe2(wake, O_CLOEXEC) == 0) {
		live->ticker = fork();
		if (!live->ticker)
			as_live_tick(live, folder, self, wake[0]);
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
