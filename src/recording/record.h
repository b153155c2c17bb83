/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: a workload that is run once on a recorded disk: the writes of every operation, its
 * answer, and every state of the model in between. To be used in a child process of its own.
 *
 * The workload's own operations are followed by those that end it: every descriptor is closed, and
 * the file system is unmounted. But a `crash` in the workload, after which the model cannot tell
 * what is there, ends it at once.
 *
 * Writes may be held, and what a cache has may be written early: a library says by as_bd_dirty()
 * what its cache has (disk/log.h); of a kernel's cache, parts are written back between operations
 * (as_vfs_write_back()).
 *
 * The disk and the memory may fail while the workload runs, as a plan says (record.c has the rules
 * of what may be believed then).
 */
#ifndef AS_RECORDING_RECORD_H
#define AS_RECORDING_RECORD_H

#include "base/err.h"
#include "base/event.h"
#include "base/hash.h"
#include "disk/cow.h"
#include "disk/log.h"
#include "host/host.h"
#include "legal/history.h"
#include "progress/raced.h"
#include "run/run.h"
#include "trial/trial.h"
#include "work/seq.h"

struct as_orders;
struct as_tree;

struct as_record_args {
	const struct as_target *target;
	struct as_run_fresh fresh;
	const struct as_seq *seq;
	uint64_t seed;
	const char *choices; /* see struct as_instance_args */
	struct as_host_log *log;
	unsigned hold; /* see struct as_crash_options */
	uint64_t early;
	const struct as_plan *plan; /* what fails; only faults that are reported. NULL: nothing */
	bool compare; /* after the workload's own operations, the tree must be as the model says */
	bool open_end; /* it is not ended: what is open stays open, what is mounted stays mounted */
	/* Several threads run the workload, which has the form of a race (as_race_form()); NULL:
	 * one does. With neither a plan nor `early`. */
	const struct as_race_options *race;
	uint64_t race_seed, race_delays;
	/* A disk that a power cut left, with which the record begins; NULL: the fresh disk. The
	 * mount recovers it, and what the mount finds is where the workload begins: all of it is
	 * stable, because it came from the disk. */
	struct as_disk *crashed;
	bool still; /* the clock stands still: what is on the disk does not depend on times */
	uint64_t after_ns; /* all times are later than this, as if the clock had not stopped */
	/* With that: whether what the mount has found is right. False: *why says why not. */
	bool (*may_begin)(void *ctx, const struct as_tree *tree, struct as_buf *why);
	/* Called before the mount (op -1) and before each operation. */
	void (*step)(void *ctx, int64_t op);
	/* Called after each operation, with what became of it; NULL: nobody asks. */
	void (*judged)(void *ctx, int64_t op, enum as_trial_did did, const struct as_trial *trial,
		       const struct as_outcome *got);
	void *ctx;
};

/*
 * Of a race: `op` of an entry of the record is the clock of the race when the entry came, and so
 * are moments (orders.h). The history is only that of the beginning.
 */
struct as_recording {
	struct as_seq *seq; /* the workload and its end */
	bool raced; /* several threads ran it */
	bool unjudged; /* raced: too many orders, so that nothing can be judged */
	struct as_orders *orders; /* raced; NULL: nothing can be judged */
	uint64_t until; /* raced: the clock at the end */
	struct as_raced counted; /* raced: how the calls were judged */
	size_t n_ops; /* that were done and can be judged; one more may have begun */
	struct as_medium *medium; /* keeps the record */
	const struct as_reclog *log; /* op is the index in seq; AS_RECLOG_NO_OP: the first mount */
	struct as_disk *start; /* before the first mount */
	struct as_history *history; /* NULL: the workload did not begin */
	/* Of where the workload began, operations 0..i-1 and their answers: n_ops + 1 of them. */
	struct as_digest *upto;
	struct as_outcome *answers; /* of each operation, without payload */
	bool truncated; /* the record ran full: the rest is missing */
	uint64_t until_ns; /* the clock at its end */
	/* What the mount of a crashed disk found cannot be told to a model: nothing was done. */
	bool unfit;
	bool fired; /* something of the plan has failed */
	size_t fired_from; /* when so many operations had begun; SIZE_MAX: nothing has failed */
	bool unsure; /* ... and the disk may say that it is clean and not be (rule 9 of record.c) */
	size_t refused_from; /* the same: from then on a mount may refuse; SIZE_MAX: it may not */
	/* Once so many operations have begun, the disk may say of itself that a checker is needed
	 * (rule 8 of record.c); SIZE_MAX: it may not. */
	size_t marked_from;

	/* An answer that the model does not allow. */
	bool wrong;
	int64_t wrong_op; /* -1: of the first mount */
	enum as_finding_kind kind;
	struct as_buf why;
};

/* 0 or an error of ours; to be freed in both cases. */
AS_MUST_CHECK int as_record(const struct as_record_args *args, struct as_recording *recording,
			    struct as_err *err);
void as_recording_free(struct as_recording *recording);

#endif
