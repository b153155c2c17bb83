/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_priv: what the processes of a check share. Only files of this room include it. */
#ifndef AS_CHECK_CHECK_PRIV_H
#define AS_CHECK_CHECK_PRIV_H

#include "check/alike.h"
#include "check/check.h"
#include "check/era.h"
#include "check/start.h"
#include "check/store.h"
#include "check/suspect.h"
#include "crash/judge.h"
#include "legal/past.h"
#include "os/spawn.h"
#include "os/stack.h"

struct as_board;
struct as_kcov;
struct as_kcov_area;
struct as_past;

#define AS_CHECK_ERRORS 256u /* numbers of errors, and 0 */
#define AS_CHECK_IDLE_US 300 /* until a lane without work looks again */
#define AS_SUSPECTS_MAX 64u

enum as_check_phase { AS_CHECK_START, AS_CHECK_BACK, AS_CHECK_MOVE, AS_CHECK_CRASH };

/* What a lane's worker is doing. */
struct as_check_lane {
	volatile uint64_t alive;
	volatile enum as_check_phase phase;
	struct as_try tried;
	volatile uint32_t move; /* the one in flight */
	volatile uint32_t fresh; /* with AS_CHECK_CRASH: the state it led to */
	unsigned excused; /* as_check_excuse() */
	uint64_t suspects; /* that were added */
	struct as_flight flight; /* of the crash state in flight */
	struct as_stack stack;
	struct as_host_log log;
	bool ended; /* the worker came to its own end */
	int tool_rc;
	struct as_err tool_err;
};

struct as_check_shared {
	volatile int stop;
	struct as_check_counts counts;
	struct as_novelty novelty;
	struct as_alike alike;
	/* Which answers were met, of which operations: one place for each. */
	volatile bool answers[AS_OP_COUNT * AS_CHECK_ERRORS];
	uint32_t n_suspects;
	struct as_suspect suspect[AS_SUSPECTS_MAX];
	struct {
		uint64_t key;
		uint32_t n;
	} key[AS_SUSPECT_KEYS]; /* of what was found */
	struct as_check_lane lane[];
};

#define AS_CHECK_SKIPS 64u

/* Moves of a state that are not tried: they have brought the kernel down. */
struct as_check_skip {
	unsigned n;
	uint32_t move[AS_CHECK_SKIPS];
};

#define AS_REACHED_MAX 4096u

/* The new states that follow the one that was given, in memory that processes share. */
struct as_reached {
	uint32_t n;
	struct as_reached_state {
		uint32_t id;
		bool fine;
		bool recovered; /* by a power cut, from the one before it that is not */
		uint64_t wrote;
		uint32_t move; /* that has led to it, or to the one before that is not recovered */
		struct as_novel novel; /* if the search asks for it */
	} state[AS_REACHED_MAX];
};

struct as_checking {
	const struct as_check_args *args;
	const struct as_check_options *options;
	struct as_crash_options crash; /* with what depends on the target */
	struct as_universe universe;
	struct as_start *start; /* NULL: it begins with what the runner made */
	struct as_run_fresh fresh; /* that, or what the start left */
	struct as_runner *runner; /* that made it */
	struct as_store *store;
	struct as_check_shared *shared;
	size_t shared_bytes;
	struct as_dedup **dedup; /* one for each lane */
	struct as_board *board; /* of all lanes; NULL: there is nothing to post */
	struct as_check_lane *lane; /* those of `shared`, or the one that a sandbox has */
	const struct as_check_skip *skip; /* in a sandbox; NULL: nothing */
	struct as_reached *reached; /* in a sandbox; NULL: nobody asks for them */
	struct as_kcov_area **code; /* of each lane that has its kernel here; NULL: nobody asks */
	bool given_foreign; /* in a sandbox: the state that was given is another shard's */
	const struct as_seq *given_start; /* in a sandbox; see struct as_start_args */
	/* A state may be met by a shorter trace later: it is looked at again then. In a sandbox:
	 * states that are known there are told, too. */
	bool unordered;
};

#define AS_CHECK_ADD(checking, field, n) \
	__atomic_fetch_add(&(checking)->shared->counts.field, (n), __ATOMIC_RELAXED)

/* ---- code.c ---- */

void as_check_code_open(struct as_checking *checking);
void as_check_code_close(struct as_checking *checking);
/* In a sandbox: what a move reached first, which was not told yet. AS_KCOV_NOBODY: all of it. */
void as_check_code_tell(const struct as_checking *checking, uint64_t move);

/* ---- expand.c ---- */

struct as_worker_args {
	const struct as_checking *checking;
	struct as_check_lane *lane;
	struct as_dedup *dedup;
	struct as_kcov_area *code; /* NULL: nobody asks what code is reached */
	uint32_t first; /* of the state in flight, the moves before this one were tried */
	const struct as_check_skip *skip; /* NULL: nothing */
};

/* ---- worker.c ---- */

/* For as_spawn_fork(). */
int as_check_worker(void *args);

/* ---- shard.c ---- */

/* Whether this check has to look at a state, or another shard has. */
bool as_shard_owns(const struct as_checking *checking, struct as_digest digest);
/* Whether the states of others are expanded in the model alone. */
bool as_shard_predicts(const struct as_checking *checking);
/* Fills in what status says of a shard at the end. */
void as_shard_sum(const struct as_checking *checking, struct as_check_status *status);

/* ---- asks.c ---- */

/* How the target is answered after the start, of the answers from the beginning on. */
const char *as_asks_own(const char *choices);

/* ---- lead.c ---- */

/* The store, the memory that is shared, and a fresh file system. Close it in any case. */
AS_MUST_CHECK int as_checking_open(struct as_checking *checking, struct as_err *err);
void as_checking_close(struct as_checking *checking);
/* Starts workers until all is explored. */
AS_MUST_CHECK int as_check_lane_run(const struct as_checking *checking, unsigned i,
				    struct as_err *err);
/* What killed a process of the lane is a suspect. */
void as_check_died(const struct as_checking *checking, struct as_check_lane *lane,
		   const struct as_ended *ended);

/* As as_store_add(), with the bounds of the check. It waits while another process judges a state
 * that is met by a shorter trace: so whoever calls it judges none. */
enum as_store_added as_check_add(const struct as_checking *checking, struct as_check_lane *lane,
				 const struct as_store_state *state, const char *line,
				 uint32_t *id);

/* Puts a state into the frontier. */
void as_check_push(const struct as_checking *checking, uint32_t id, uint64_t rank);

/* Meanwhile, a kernel in a sandbox may complain of its disk; they nest. */
void as_check_excuse(const struct as_checking *checking, struct as_check_lane *lane, bool excuse);

/* ---- failing.c ---- */

/* What fails during recovery, too: a mask of enum as_crash_fault, of one of enum as_check_fault. */
unsigned as_failing_of_recovery(unsigned faults);

/* ---- crashes.c ---- */

struct as_crashes;
struct as_cut_base;
struct as_cuts;

AS_MUST_CHECK int as_crashes_new(const struct as_worker_args *args, struct as_crashes **crashes,
				 struct as_err *err);
void as_crashes_free(struct as_crashes *crashes); /* takes NULL */
/* Before each recovery, what the kernel has reached is taken, so that its buffer does not run full.
 * NULL: nobody asks. */
void as_crashes_code(struct as_crashes *crashes, struct as_kcov *kcov);
/* Cuts the power while the last operation of the workload runs. upto[i]: what is legal after i
 * operations, as a digest. plan: what fails meanwhile; NULL: nothing. The target is answered as the
 * lane says. *fine false: something is wrong, and was told. *wrote: sectors that recovery has
 * written. */
AS_MUST_CHECK int as_crashes_try(struct as_crashes *crashes, const struct as_seq *seq,
				 const struct as_digest *upto, const struct as_plan *plan,
				 bool *fine, uint64_t *wrote, struct as_err *err);

/* Of the workload before: how many of its writes a power cut at the end may lose, and in the upper
 * 32 bits how many its last operation made. */
uint64_t as_crashes_pending(const struct as_crashes *crashes);

/* ---- inside.c ---- */

/* The name of a workload, with the moves that are not tried after it. A fresh file system has no
 * trace, but a workload must have an operation: it is not carried out. */
#define AS_INSIDE_STATE "check"
#define AS_INSIDE_FRESH "fresh"
#define AS_INSIDE_START "start" /* the start is to be made and told */
#define AS_INSIDE_FOREIGN '!' /* after the name: another shard owns the state */
#define AS_INSIDE_AFTER '@' /* before a number: of the operations that make the start */
#define AS_INSIDE_STEP '|' /* before what follows "crash #" in each step of the trace (cuts.h) */
#define AS_INSIDE_GIVEN "-" /* the name of a start that is a workload of the user */
/* Has an engine expand states as the check says. */
AS_MUST_CHECK int as_inside_set(const struct as_checking *checking, struct as_run_options *options,
				struct as_err *err);

/* ---- boxed.c ---- */

/* As as_check_lane_run(), but the workers are in a sandbox. */
AS_MUST_CHECK int as_check_lane_boxed(const struct as_checking *checking, unsigned i,
				      struct as_err *err);

struct as_inbox; /* a sandbox for one scenario */

/* must_stop: see struct as_boxed. */
AS_MUST_CHECK int as_inbox_open(const struct as_checking *checking,
				const struct as_run_options *options, struct as_sink *sinks,
				bool (*must_stop)(void *ctx), void *ctx, struct as_inbox **inbox,
				struct as_err *err);
AS_MUST_CHECK int as_inbox_run(struct as_inbox *inbox, const char *name, const struct as_seq *seq,
			       bool *found, struct as_err *err);
void as_inbox_close(struct as_inbox *inbox); /* takes NULL */

/* Traces begin there from now on; `cuts` is told what crash states are recovered to. */
void as_crashes_begin(struct as_crashes *crashes, const struct as_cut_base *base,
		      struct as_cuts *cuts);
/* Records operations that begin there; plan as above. Free the recording in any case. */
AS_MUST_CHECK int as_crashes_record(struct as_crashes *crashes, const struct as_cut_base *base,
				    const struct as_seq *seq, const struct as_plan *plan,
				    struct as_recording *recording, struct as_err *err);
/* The same, but the clock stands still, and nothing fails. */
AS_MUST_CHECK int as_crashes_record_still(struct as_crashes *crashes, const struct as_seq *seq,
					  struct as_recording *recording, struct as_err *err);
struct as_recoverer *as_crashes_recoverer(const struct as_crashes *crashes);

/* ---- confirm.c ---- */

struct as_confirm;

/* meanwhile: called now and then during what takes long. */
struct as_confirm *as_confirm_new(const struct as_checking *checking, void (*meanwhile)(void *ctx),
				  void *ctx);
void as_confirm_free(struct as_confirm *confirm); /* takes NULL */
/* Of a library: runs the empty workload, which shows what does not depend on the state, such as
 * memory that grows. */
AS_MUST_CHECK int as_confirm_empty(struct as_confirm *confirm, struct as_err *err);
/* The same of a target that is unfit (run/run.h): nothing else is done with it. */
AS_MUST_CHECK int as_confirm_unfit(struct as_confirm *confirm, struct as_err *err);
/* At the end: the same once more, if it has shown something, and nothing else has. */
AS_MUST_CHECK int as_confirm_held(struct as_confirm *confirm, struct as_err *err);
/* Runs again what has been found since the last call. It stops early where the user asks to. */
AS_MUST_CHECK int as_confirm_all(struct as_confirm *confirm, struct as_err *err);

#endif
