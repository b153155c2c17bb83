/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patience: see patience.h.
 *
 * Method: when the time is over by the clock, we look at what the process had of the processors
 * since we looked last. The kernel counts a wait when it ends: of a process that waits at this
 * moment, all that it did not run counts as a wait.
 *
 * A process that is blocked in the kernel may wait for a thread of the kernel that waits for a
 * processor. Of this we know no more than the share of time in which anybody waited.
 *
 * Invariants:
 * 1. What is granted at a time is at most the time that has passed: threads wait side by side, so
 *    that their waits may add up to more.
 * 2. What is granted in all is at most MOST times the deadline: a process that spins without end on
 *    a busy machine is told in the end.
 * 3. A process that sleeps is granted nothing, unless a descendant waits for a processor, or the
 *    sandbox that it is in, or we do, whom it may wait for. One that is blocked is granted at most
 *    BLOCKED_MOST times the deadline.
 */
#include "os/patience.h"

#include "os/spawn.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define MOST 31
#define BLOCKED_MOST 3
#define DEPTH_MAX 8 /* of descendants */
#define STOPPED_US 1000000 /* what is later than meant by so much was stopped */

/*
 * Who may take long, and when that is a hang. HEARD: it may wait until we have read what it says;
 * then it is we who are slow, and what we waited for a processor does not count. ALONE: it waits
 * for nothing of ours. What it waited for a processor itself does not count in any row, nor does
 * time in which the machine was stopped.
 *
 *   kind     sign of life: the deadline begins again     how long
 *   CHILD    a counter in shared memory: an operation    the deadline of an operation, 10 s
 *            has ended                                   (child/run_option.def)
 *   PROGRAM  none: mkfs, mount and the like have to end  its caller says, most a minute
 *   CHECKER  none: the run has to end                    5 s, 30 s to confirm it
 *                                                        (fsck/subject.h)
 *   SERVER   none: it has to mount, and to end           the deadline of an operation
 *   MATE     a message (crew/crew.h)                     its leader says
 *
 * A sandbox is more than a process: it has a beat of its kernel, the progress of its engine, the
 * end of a crash. supervise/hang.c has a clock for each, and asks here for how long the box waited.
 * The first process of a guest, which looks from inside (box/guest.c), is told that.
 */
static const enum patience_heard {
	ALONE,
	HEARD
} rows[] = {
	[AS_PATIENCE_CHILD] = ALONE,  [AS_PATIENCE_PROGRAM] = HEARD, [AS_PATIENCE_CHECKER] = HEARD,
	[AS_PATIENCE_SERVER] = ALONE, [AS_PATIENCE_MATE] = HEARD,
};

/* Set once, at the start of a process that runs in a sandbox. */
static const volatile int64_t *told;

static void add_tree(pid_t pid, int depth, struct as_patience_use *use);

static FILE *open_of(pid_t pid, const char *tid, const char *name)
{
	char path[320];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, tid, name);
	return fopen(path, "re");
}

/* The state comes after the name, which is in parentheses and may hold anything. */
static char state_in(FILE *stat)
{
	char line[256];
	size_t len = fread(line, 1, sizeof(line) - 1, stat);
	const char *end;

	line[len] = '\0';
	end = strrchr(line, ')');
	return end && end[1] == ' ' ? end[2] : '?';
}

static void add_thread(pid_t pid, const char *tid, struct as_patience_use *use)
{
	unsigned long long ran_ns, waited_ns;
	FILE *f = open_of(pid, tid, "schedstat");
	char state;

	if (!f)
		return;
	if (fscanf(f, "%llu %llu", &ran_ns, &waited_ns) == 2) {
		use->ran_us += (int64_t)(ran_ns / 1000);
		use->waited_us += (int64_t)(waited_ns / 1000);
	}
	fclose(f);
	f = open_of(pid, tid, "stat");
	if (!f)
		return;
	state = state_in(f);
	fclose(f);
	use->wants = use->wants || state == 'R';
	use->blocked = use->blocked || state == 'D';
}

static void add_children(pid_t pid, const char *tid, int depth, struct as_patience_use *use)
{
	FILE *f = open_of(pid, tid, "children");
	int child;

	if (!f)
		return;
	while (fscanf(f, "%d", &child) == 1)
		add_tree(child, depth + 1, use);
	fclose(f);
}

static void add_tree(pid_t pid, int depth, struct as_patience_use *use)
{
	struct dirent *de;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = depth < DEPTH_MAX ? opendir(path) : NULL;
	if (!tasks)
		return;
	while ((de = readdir(tasks)))
		if (de->d_name[0] != '.') {
			add_thread(pid, de->d_name, use);
			add_children(pid, de->d_name, depth, use);
		}
	closedir(tasks);
}

static struct as_patience_use use_of(pid_t pid)
{
	struct as_patience_use use = { 0 };

	add_tree(pid, 0, &use);
	return use;
}

void as_patience_told(const volatile int64_t *us)
{
	told = us;
}

static int64_t told_us(void)
{
	return told ? *told : 0;
}

struct as_patience as_patience_of(enum as_patience_kind kind, pid_t pid, unsigned deadline_ms)
{
	int64_t now_us = as_now_us();

	return (struct as_patience){
		.kind = kind,
		.pid = pid,
		.deadline_ms = deadline_ms,
		.since_us = now_us,
		.asked_us = now_us,
		.look.us = now_us,
		.told_us = told_us(),
	};
}

void as_patience_restart(struct as_patience *p)
{
	if (!p->deadline_ms)
		return;
	p->since_us = p->asked_us = p->look.us = as_now_us();
	p->granted_us = 0;
	p->told_us = told_us();
	p->knows_ours = false;
	p->look.use = use_of(p->pid);
}

static int64_t left_us(const struct as_patience *p)
{
	return p->since_us + (int64_t)p->deadline_ms * 1000 - as_now_us();
}

/* The share of the last ten seconds in which somebody waited for a processor. */
static double pressure(void)
{
	FILE *f = fopen("/proc/pressure/cpu", "re");
	double percent = 0;

	if (!f)
		return 0;
	if (fscanf(f, "some avg10=%lf", &percent) != 1)
		percent = 0;
	fclose(f);
	return percent / 100;
}

/* How long this thread waited for a processor, so far. */
static int64_t our_waits_us(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long ran_ns, waited_ns = 0;

	if (f && fscanf(f, "%llu %llu", &ran_ns, &waited_ns) != 2)
		waited_ns = 0;
	if (f)
		fclose(f);
	return (int64_t)(waited_ns / 1000);
}

/* The look that is over is replaced. *passed_us: how long ago it was. */
static int64_t waits_since(struct as_patience_look *look, pid_t pid, int64_t more_us,
			   int64_t *passed_us)
{
	struct as_patience_use use = use_of(pid), was = look->use;
	int64_t now_us = as_now_us(), waited_us = use.waited_us - was.waited_us + more_us;
	int64_t missed_us;

	*passed_us = now_us - look->us;
	missed_us = *passed_us - (use.ran_us - was.ran_us);
	*look = (struct as_patience_look){ now_us, use };
	return use.wants && waited_us < missed_us ? missed_us : waited_us;
}

int64_t as_patience_waited(struct as_patience_look *look, pid_t pid)
{
	bool first = !look->us;
	int64_t passed_us, waited_us = waits_since(look, pid, 0, &passed_us);

	return first || waited_us < 0 ? 0 : waited_us < passed_us ? waited_us : passed_us;
}

/* What does not count of the time since we looked last. */
static int64_t look(struct as_patience *p)
{
	int64_t told_now_us = told_us(), more_us = told_now_us - p->told_us;
	int64_t passed_us, waited_us;

	if (rows[p->kind] == HEARD) {
		int64_t ours_us = our_waits_us();

		more_us += ours_us - p->ours_us;
		p->ours_us = ours_us;
	}
	waited_us = waits_since(&p->look, p->pid, more_us, &passed_us);
	if (p->look.use.blocked && p->granted_us < (int64_t)p->deadline_ms * 1000 * BLOCKED_MOST)
		waited_us += (int64_t)(pressure() * (double)passed_us);
	p->told_us = told_now_us;
	return waited_us < passed_us ? waited_us : passed_us;
}

/* Time in which nobody looked, though somebody should have. */
static void forgive_stop(struct as_patience *p)
{
	int64_t now_us = as_now_us();
	int64_t over_us = now_us - p->asked_us - (int64_t)AS_PATIENCE_STEP_MS * 1000;

	if (over_us > STOPPED_US)
		p->since_us += over_us;
	p->asked_us = now_us;
}

int64_t as_patience_left(struct as_patience *p)
{
	int64_t left;

	if (rows[p->kind] == HEARD && !p->knows_ours) {
		p->knows_ours = true;
		p->ours_us = our_waits_us();
	}
	forgive_stop(p);
	left = left_us(p);
	if (left <= 0) {
		int64_t grant = look(p), most = (int64_t)p->deadline_ms * 1000 * MOST;

		if (grant > most - p->granted_us)
			grant = most - p->granted_us;
		if (grant > 0) {
			p->since_us += grant;
			p->granted_us += grant;
		}
		/* We may have been stopped while we looked. */
		forgive_stop(p);
		left = left_us(p);
	}
	if (left > AS_PATIENCE_STEP_MS * 1000)
		return AS_PATIENCE_STEP_MS;
	return left > 0 ? (left + 999) / 1000 : 0;
}
