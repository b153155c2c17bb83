/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree: a workload with one plan of faults after the other, done by each way that does and judges
 * operations, and what became of every operation there. The code of each way is called, and none
 * of its rules is written down again.
 *
 *   run    as_run_workload(), whose child notes its answers (child/answers.h)
 *   hunt   as_runner_once() with a batch and its plans, as as_runner_drawn() calls it for a job:
 *          all of them in one child, one after the other
 *   crash  as_record(), for all of them in one child
 *   check  as_worker_bring_back() and as_worker_do(), by one worker, as failing.c calls them
 *   start  as_start_make(), of workloads during which nothing fails
 */
#ifndef AS_TESTS_LIB_AGREE_H
#define AS_TESTS_LIB_AGREE_H

#include "check/worker_priv.h"
#include "run/runner_priv.h"
#include "work/seq.h"

#define T_STEPS_MAX 94u
#define T_PLANS_MAX 64u

/* What became of an operation. */
enum t_did {
	T_DID_NOTHING, /* it was not carried out: the way had ended */
	T_DID_AGREE, /* the model allows the answer, and follows it */
	T_DID_FOLLOW, /* a fault explains the answer; it goes on, and is judged */
	T_DID_BLIND, /* it goes on, and nothing is judged */
	T_DID_END, /* the way ends here, and nothing is wrong */
	T_DID_WRONG, /* a finding */
};

const char *t_did_name(enum t_did did);

/* Of one plan; in memory that processes share. */
struct t_steps {
	bool fired; /* the plan has hit something */
	bool refused; /* the way does not take such a plan */
	size_t n; /* operations of the workload */
	size_t answered; /* of them */
	struct as_decided decided; /* by which rows of trial/excuse.def */
	/* The mount, the operations, and the unmount at the end (T_DID_AGREE unless its answer is
	 * wrong). */
	struct t_step {
		enum t_did did;
		bool fell_short; /* it did a part, and says so */
		int64_t ret;
		int err;
	} step[T_STEPS_MAX + 2];
	char why[256]; /* of what is wrong */
	char tree[256]; /* what was wrong with the tree or the disk later: no live answer */
};

/* A target, with what all ways need of it. */
struct t_agree {
	struct as_target *target;
	struct as_run_options options;
	struct as_runner *runner;
	struct as_answers *answers;
	struct as_check_options check_options;
	struct as_check_args check_args;
	struct as_checking checking;
	struct t_steps *shared; /* T_PLANS_MAX of them */
	volatile uint64_t *alive;
	bool strict; /* AS_INSTANCE_STRICT */
	bool certain; /* AS_INSTANCE_CERTAIN: the same plan hits the same call */
	uint64_t quirks; /* of its traits */
	bool is_odd; /* it is to be found */
};

struct t_sweep {
	struct t_agree *on;
	const char *workload; /* its name */
	const struct as_seq *seq;
	size_t n;
	char text[T_PLANS_MAX][64];
	bool patient; /* plans that hit nothing may be followed by others that do */
	struct as_plan *plan[T_PLANS_MAX]; /* NULL: nothing fails */
};

struct t_way {
	const char *name;
	/* Carries out the workload with each plan; steps[i] is what came of plan i. `run` is what
	 * the run came to. 0, or an error of the tool, which is in *err. */
	int (*go)(const struct t_sweep *sweep, const struct t_steps *run, struct t_steps *steps,
		  struct as_err *err);
};

enum { T_WAY_RUN, T_WAY_HUNT, T_WAY_CRASH, T_WAY_CHECK, T_WAY_START, T_WAYS };
/* The run stops after the first plan that hits nothing. */
extern const struct t_way t_ways[T_WAYS];

/* Fails the test where the target cannot be opened. */
struct t_agree *t_agree_open(const char *spec);
void t_agree_close(struct t_agree *on);

/* The folder of the plugins that are built with assay, and whether one is there. */
const char *t_agree_plugins(void);
bool t_agree_has_plugin(const char *name);
/* tests/trial/odd_plugin.c under this name. False: it cannot be built here. */
bool t_agree_odd(const char *name, char *spec, size_t room);

#endif
