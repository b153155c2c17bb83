/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_cov_record: what recording adds to each call, side by side with strace -f, on the same
 * loops:
 *   cov.record        a shell script that starts small programs on files, as test suites do
 *   cov.record.find   find, walking through a part of the system
 *   cov.record.calls  a shell that opens a file for appending, again and again: nothing but calls
 *                     that are in the table (openat, fcntl, dup2, close)
 * Two lengths of a loop are run and their difference taken, so that starting does not count; the
 * ways take turns, and the best of several turns counts. A call is one that record counts or knows
 * of, the same number for all ways. _cpu: processor time of everybody concerned, which other load
 * on the machine disturbs less than time by the clock.
 * stops: a tracer that stops each call twice, as its arguments and its result ask for, and does
 * nothing else: what no tracer can go below.
 */
#include "bench/bench.h"

#include "cover/tally.h"
#include "os/spawn.h"
#include "os/temp.h"
#include "record/record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 5

enum way { BASE, BPF, INSIDE, STOPS, PTRACE, STRACE, WAYS };
static const char *const names[WAYS] = { "base", "bpf", "inprocess", "stops", "ptrace", "strace" };

struct loop {
	const char *name, *body; /* of the loop; in the folder */
	int shorter, longer;
};

static const struct loop loops[] = {
	{ "cov.record",
	  "mkdir d; cp /etc/passwd d/f; mv d/f d/g; ls d >/dev/null; cat d/g >/dev/null; rm -r d",
	  2, 32 },
	{ "cov.record.find", "find /etc >/dev/null 2>&1", 1, 9 },
	{ "cov.record.calls", ": >>f", 200, 4200 },
};

struct cost {
	double wall_us, cpu_us;
};

struct bench {
	const struct as_spec *spec;
	const char *folder;
	bool here[WAYS];
	uint64_t calls; /* of the last recording */
};

static void spawn(char **argv)
{
	struct as_spawn s = { .argv = argv };
	struct as_ended ended;
	struct as_err err;

	as_assert(!as_spawn_run(&s, &ended, &err));
	as_assert(ended.how == AS_END_EXIT && !ended.status);
}

static void become_traced(char **argv)
{
	if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL) && !raise(SIGSTOP))
		execvp(argv[0], argv);
	_exit(127);
}

static void only_stop(char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	pid_t pid = fork();
	int status;

	if (!pid)
		become_traced(argv);
	as_assert(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	as_assert(!ptrace(PTRACE_SETOPTIONS, pid, NULL, options));
	as_assert(!ptrace(PTRACE_SYSCALL, pid, NULL, NULL));
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
		bool ours = signal == (SIGTRAP | 0x80) || signal == SIGTRAP || signal == SIGSTOP;

		if (signal && ptrace(PTRACE_SYSCALL, pid, NULL, ours ? 0L : (long)signal))
			as_assert(errno == ESRCH); /* killed meanwhile */
	}
}

static void record(struct bench *b, const struct as_source_ops *source, char **argv)
{
	struct as_world_options options = { .under = b->folder };
	struct as_tally tally;
	struct as_err err;
	int status = -1;

	as_assert(!as_tally_open(&tally, b->spec, &options, as_counts_new(b->spec), NULL, &err));
	as_assert(!source->run(&(struct as_source_input){ .argv = argv, .exit_status = &status },
			       &tally.to, &err));
	as_assert(!status && !as_counts_noted(tally.counts, AS_NOTE_LOST));
	b->calls = as_counts_noted(tally.counts, AS_NOTE_CALLS);
	as_tally_close(&tally);
	as_counts_free(tally.counts);
}

static struct cost run(struct bench *b, const struct loop *loop, enum way way, int rounds)
{
	char text[512], trace[80];
	/* The same environment for all: what a shell looks for depends on it. */
	char *traced[] = { "strace",   "-f", "-o", trace, "env", "-i", "PATH=/usr/bin:/bin",
			   "LC_ALL=C", "sh", "-c", text,  NULL };
	char **plain = traced + 4;
	double cpu = bench_all_s();
	int64_t start_us = as_now_us();

	snprintf(text, sizeof(text), "cd %s; i=0; while [ $i -lt %d ]; do %s; i=$((i+1)); done",
		 b->folder, rounds, loop->body);
	snprintf(trace, sizeof(trace), "%s/trace", b->folder);
	if (way == BPF)
		record(b, &as_source_ebpf, plain);
	else if (way == INSIDE)
		record(b, &as_source_inprocess, plain);
	else if (way == STOPS)
		only_stop(plain);
	else if (way == PTRACE)
		record(b, &as_source_ptrace, plain);
	else
		spawn(way == STRACE ? traced : plain);
	return (struct cost){ (double)(as_now_us() - start_us), 1e6 * (bench_all_s() - cpu) };
}

static bool is_here(enum way way)
{
	char path[4096];
	struct as_err err;

	switch (way) {
	case BPF:
		return !as_source_ebpf.usable(&err);
	case INSIDE:
		return !as_source_inprocess.usable(&err);
	case STOPS:
	case PTRACE:
		return !as_source_ptrace.usable(&err);
	case STRACE:
		return as_spawn_which("strace", path, sizeof(path));
	default:
		return true;
	}
}

static void less(double *best, double value)
{
	if (value < *best)
		*best = value;
}

/* The cost of one call, without the cost of starting. */
static void measure(struct bench *b, const struct loop *loop, struct cost cost[WAYS])
{
	struct cost best[WAYS][2];
	uint64_t calls[2] = { 0 };
	double n;

	for (int way = 0; way < WAYS; way++)
		best[way][0] = best[way][1] = (struct cost){ 1e18, 1e18 };
	for (int turn = 0; turn < TURNS; turn++)
		for (int way = 0; way < WAYS; way++)
			for (int i = 0; i < 2 && b->here[way]; i++) {
				struct cost c = run(b, loop, (enum way)way,
						    i ? loop->longer : loop->shorter);

				less(&best[way][i].wall_us, c.wall_us);
				less(&best[way][i].cpu_us, c.cpu_us);
				if (way == PTRACE)
					calls[i] = b->calls;
			}
	n = (double)(calls[1] - calls[0]);
	for (int way = 0; way < WAYS; way++)
		cost[way] = (struct cost){ (best[way][1].wall_us - best[way][0].wall_us) / n,
					   (best[way][1].cpu_us - best[way][0].cpu_us) / n };
}

static void tell(const struct bench *b, const struct loop *loop, const struct cost cost[WAYS],
		 as_bench_report report)
{
	char name[80];

	snprintf(name, sizeof(name), "%s.base", loop->name);
	report(name, cost[BASE].wall_us, "us/call");
	for (int way = BPF; way < WAYS; way++) {
		if (!b->here[way])
			continue;
		snprintf(name, sizeof(name), "%s.%s", loop->name, names[way]);
		report(name, cost[way].wall_us - cost[BASE].wall_us, "us/call more");
		snprintf(name, sizeof(name), "%s.%s_cpu", loop->name, names[way]);
		report(name, cost[way].cpu_us - cost[BASE].cpu_us, "us/call more");
	}
	for (int way = BPF; way < STRACE && b->here[STRACE]; way++) {
		const struct cost *base = &cost[BASE], *strace = &cost[STRACE];

		if (!b->here[way])
			continue;
		snprintf(name, sizeof(name), "%s.%s_of_strace", loop->name, names[way]);
		report(name,
		       100 * (cost[way].wall_us - base->wall_us) /
			       (strace->wall_us - base->wall_us),
		       "%");
		snprintf(name, sizeof(name), "%s.%s_of_strace_cpu", loop->name, names[way]);
		report(name,
		       100 * (cost[way].cpu_us - base->cpu_us) / (strace->cpu_us - base->cpu_us),
		       "%");
	}
}

void bench_cov_record(as_bench_report report)
{
	struct bench b = { 0 };
	struct as_spec *spec = as_counts_spec();
	struct as_temp *temp;
	struct as_err err;
	struct cost cost[WAYS];

	b.spec = spec;
	as_assert(!as_temp_new(NULL, &temp, &err));
	b.folder = as_temp_path(temp);
	for (int way = 0; way < WAYS; way++)
		b.here[way] = is_here((enum way)way);
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]) && b.here[PTRACE]; i++) {
		measure(&b, &loops[i], cost);
		tell(&b, &loops[i], cost, report);
	}
	as_temp_free(temp);
	as_spec_free(spec);
}
