/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check: explores all states that a file system can be brought to by the operations of a bounded
 * universe (universe.h), each once, and checks every transition: FiSC (Yang et al., OSDI 2004).
 *
 * A state is what the model says of the tree and of open files, and what a power cut may leave of
 * it (legal/past.h). Two states that are the same but for names are one state. What the file system
 * has in its caches, and where on the disk it has put things, is not part of it.
 *
 * Of each transition, the answer is judged by the model, the whole tree is compared with it, and
 * the power is cut at every point of it. What recovery makes of it then is a state, too (cuts.h).
 *
 * Method. The states are in a store that processes share (store.h). Each of `jobs` lanes has a
 * worker, a process that takes a state from the frontier, brings it back by running its trace on a
 * fresh file system, and tries each operation that may follow (expand.h). A worker that dies or
 * hangs is a finding, and the next one goes on with the operation after it. What a worker finds is
 * run again by the scenarios of runs and crash runs (confirm.c), which tell it as any finding: it
 * can be replayed and reduced.
 */
#ifndef AS_CHECK_CHECK_H
#define AS_CHECK_CHECK_H

#include "base/codeset.h"
#include "base/event.h"
#include "check/search.h"
#include "check/universe.h"
#include "crash/crash.h"
#include "run/run.h"
#include "scenario/scenario.h"
#include "supervise/boxed.h"

#define AS_CHECK_JOBS_MAX 64u
#define AS_CHECK_DEPTH_MAX 1000u
#define AS_CHECK_SHARDS_MAX 100000u

enum as_check_fault {
	AS_CHECK_FAIL_ALLOC = 1,
	AS_CHECK_FAIL_READ = 2,
	AS_CHECK_FAIL_WRITE = 4, /* and flushes */
	AS_CHECK_CHOICE =
		8, /* nothing fails, but a question (as_ask()) is answered in another way */
};

/* What tells states apart, besides the tree, open files and what a power cut may leave. */
enum as_check_hash {
	AS_CHECK_HASH_MODEL, /* nothing */
	AS_CHECK_HASH_LOG, /* what a log may hold (era.h) */
	AS_CHECK_HASH_DISK, /* what is on the disk (diskhash.c) */
};

extern const char *const as_check_hash_names[];

#define AS_CHECK_FAULTS_MAX 3u
/* How many recoveries are spent on the power cuts of one operation of a kernel, unless somebody
 * asks for more. */
#define AS_CHECK_BUDGET_KERNEL 32u

struct as_check_options {
	unsigned nodes; /* see struct as_universe */
	unsigned slots; /* descriptors; 0: the universe's own */
	const char *ops; /* NULL: the usual ones */
	bool wide; /* more values of arguments */
	bool narrow; /* one value of each */
	const char *opts; /* that a remount tries, separated by blanks; NULL: the target's own */
	unsigned depth; /* of the longest traces; 0: any */
	enum as_search search;
	enum as_check_hash hash;
	bool crash; /* cut the power, too */
	unsigned max_cuts; /* after how many power cuts a trace may go on (cuts.h) */
	struct as_crash_options crashes; /* how */
	bool falls; /* its budget is for what is new; less is spent on what is alike (alike.h) */
	/* What is made to fail, a call at a time: a mask of enum as_check_fault. */
	unsigned faults;
	/* This check is number `shard` (from 1) of `shards`, which share nothing (shard.c); 0: it
	 * is alone. */
	unsigned shard, shards;
	const char *start; /* see start.h; NULL: it begins with a fresh file system */
	unsigned max_faults; /* in one operation */
	unsigned jobs;
	uint32_t max_states;
	uint32_t max_frontier; /* 0: any number */
	uint64_t max_findings; /* 0: any number */
	uint64_t max_transitions; /* 0: any number */
	int64_t for_us; /* 0: until all is explored */
	/* How long a sandbox may take to confirm one suspect; 0: two minutes. */
	int64_t confirm_us;
	int fd; /* of the file that keeps the states; -1: none */
};

/* What was done; all of it counts from the beginning of this process. */
struct as_check_counts {
	uint64_t transitions; /* operations that were tried */
	uint64_t changing; /* of these, those that led to another state */
	uint64_t expanded; /* states of which all was tried */
	uint64_t restores, replayed; /* states brought back, and operations that took */
	uint64_t compared; /* trees */
	uint64_t recovered; /* trees that power cuts led to, from which to go on */
	uint64_t discarded; /* states for which there was no room */
	uint64_t forgotten; /* states that the frontier had no room for */
	uint64_t wrong; /* states at which a power cut is a finding: they are not expanded */
	uint64_t deaths; /* workers that died or hung */
	uint64_t lost; /* times that a state could not be brought back */
	uint64_t failures; /* operations that were tried with something that fails */
	uint64_t shorter; /* states that were met again by a shorter trace, and expanded again */
	uint64_t missed; /* times that this was not done, or may have been */
	uint64_t unlooked; /* operations of which --budget left crash states out */
	uint64_t told; /* recoveries that stand power cuts, as another worker has shown */
	uint64_t alike; /* operations that were left out as the same as others (alike.h) */
	uint64_t suspects; /* what workers found */
	uint64_t dropped; /* of these, those for which there was no room */
	uint64_t confirmed, unconfirmed; /* of these */
	uint64_t findings; /* different ones */
	uint64_t skipped; /* operations that the target cannot do */
	/* Of a shard: states of others that were followed in the model alone, transitions of those,
	 * and microseconds of that; and answers that were right, but not those that the other
	 * shards expect. */
	uint64_t foreign, followed, follow_us, strayed;
	struct as_crash_counts crash;
};

struct as_check_status {
	struct as_check_counts counts;
	uint64_t states, frontier, bytes;
	uint64_t gaps; /* how much was left out, also by those who worked on the same file before */
	unsigned depth; /* of the state that was found last */
	unsigned answers; /* different ones, each with its operation; 0: nobody counts them */
	uint64_t places; /* of the kernel's code that were reached, if that is asked */
	/* How many percent of the states to be expanded were, if it is known how many there are: no
	 * more will be found. -1: it is not. */
	int percent;
	int64_t wall_us;
	/* At the end: the states that are its own, and the sum of 32 bits of their digests. */
	uint64_t owned, owned_sum;
	bool unfit; /* there is no fresh file system to begin with (run/run.h) */
	bool all; /* nothing is left to be explored within the bounds */
};

struct as_check_args {
	const struct as_target *target;
	const struct as_run_options *run;
	const struct as_check_options *options;
	const struct as_boxed *box; /* how the target runs in a sandbox; NULL: it runs here */
	/* What the kernel reaches, if the run's options ask for it; in memory that is shared. NULL:
	 * it is told to the sinks (code.c). */
	struct as_codeset *code;
	struct as_sink *sinks;
	void (*progress)(void *ctx,
			 const struct as_check_status *status); /* a few times a second */
	void *ctx;
};

/* The scenario of the engine in a sandbox: what follows a state (inside.c). */
extern const struct as_scenario_ops as_scenario_check;
/* "check:PARAMS" */
bool as_scenario_is_check(const char *text, const char **params);

/* Findings go to the sinks. *status is that at the end. */
AS_MUST_CHECK int as_check(const struct as_check_args *args, struct as_check_status *status,
			   struct as_err *err);

#endif
