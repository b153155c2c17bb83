/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crash: workloads on a target whose power fails. Each runs once, on a recorded disk. Then every
 * disk that a power cut could have left (perm.h) is recovered (recover.h), and the result is
 * judged: is it a tree that is allowed (legal.h), do all ways to recover give the same tree, does a
 * power cut during the recovery change it (recrash.h)?
 *
 * A finding is recognised by its signature; each is reported once for a workload, in the easiest
 * view in which it shows. Its options (run.h, `scenario`) hold what brings that state back:
 *
 *	crash:view=3,cut=12,units=1+4,way=mount,sig=1a2b3c4d
 *
 * Run with these, the state is made and judged again. Where it does not show that finding (because
 * the workload is another one, while it is being reduced), all states of the views up to that one
 * are searched for it, and nothing else is reported.
 */
#ifndef AS_CRASH_CRASH_H
#define AS_CRASH_CRASH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/event.h"
#include "cuts/perm.h"
#include "cuts/share.h"
#include "cuts/spot.h"
#include "progress/shares.h"
#include "race/race.h"
#include "recover/memo.h"
#include "recover/recover.h"
#include "run/run.h"
#include "target/target.h"
#include "work/seq.h"

#define AS_CRASH_AGAIN_MAX 2u
#define AS_CRASH_ROUNDS_MAX 3u
#define AS_BUDGET_UNSAID UINT64_MAX /* not said: no limit, unless the caller has one */
#define AS_HOLD_MAX 1000u
#define AS_EARLY_MAX 0xffffffffu
#define AS_BUDGET_MAX ((uint64_t)1 << 40)

/* The rules by which a power cut during recovery need not be tried (FiSC section 6.1). */
enum as_prune_rule {
	AS_PRUNE_UNREAD = 1, /* it writes what recovery had not read */
	AS_PRUNE_SAME = 2, /* it writes what was there */
	AS_PRUNE_OWN = 4, /* recovery had read it, but only after its own first write there */
	/* This rule is not in the paper, and has no proof: of recoveries that write the same and
	 * end in the same tree, only the first is disturbed. */
	AS_PRUNE_TWIN = 8,
	AS_PRUNE_PROVED = 7, /* all that have a proof */
	AS_PRUNE_ALL = 15,
	AS_PRUNE_VERIFY = 16, /* states that the rules leave out are tried all the same */
};

/* What fails during recovery (faults.h). */
enum as_crash_fault {
	AS_CRASH_FAIL_READ = 1,
	AS_CRASH_FAIL_WRITE = 2, /* and flushes */
	AS_CRASH_FAIL_ALLOC = 4,
	AS_CRASH_FAIL_ALL = 7,
	/* Of few recoveries of a workload, as each of their calls is a recovery more. These are not
	 * paid for: the budget is for power cuts. It is drawn, and not said of a finding. */
	AS_CRASH_FAIL_FEW = 8,
};

/* What fails while the workload runs (draw.h), besides what run->faults says. */
enum as_crash_record {
	AS_RECORD_SOUND, /* nothing */
	AS_RECORD_SWEEP, /* each call once */
	/* What is drawn for the workload; so are `hold` and `early`, if they are 0. */
	AS_RECORD_DRAW,
};

struct as_crash_counts;

struct as_crash_options {
	uint32_t views; /* mask; 0: all */
	struct as_perm_options perm; /* sector_bytes 0: by the kind of target */
	uint32_t ways; /* mask; 0: mount and full, where the target has them */
	unsigned again; /* how many power cuts in a row during recovery */
	unsigned prune; /* mask of enum as_prune_rule */
	enum as_memo_mode memo;
	unsigned faults; /* what fails once in each recovery: a mask of enum as_crash_fault */
	enum as_crash_record record;
	/* While the workload runs, a write that nobody waits for stays in flight until so many more
	 * calls have come (disk/log.h); 0: none does. */
	unsigned hold;
	/* The number of the choices of what is written back early; 0: nothing is. record.h says
	 * what can be. */
	uint64_t early;
	/* How many recoveries may be spent on a workload (plan.h says on which); 0: any number. */
	uint64_t budget;
	/* One workload in `every` (chosen by its digest) is tried in all views and with power cuts
	 * during recovery. The others are tried only in the first two views, which costs a tenth.
	 * 0: all workloads are tried in full. */
	unsigned every;
	/* Only power cuts from the last `mount` of the workload on are tried: what is before it was
	 * tried as another workload. */
	bool since_mount;
	/* Only power cuts from the first call on that failed; if none did, none are tried. */
	bool since_fault;
	/* How the budget is divided. `draws`: it is drawn for each workload, and so is the number
	 * of rounds if it is 0, by `so_far` and what the workloads since came to. */
	struct as_share share;
	bool draws;
	struct as_shares so_far;

	/* How often the workload runs, each time on what the power cut in the run before has left
	 * (rounds.h); 0: it is drawn. */
	unsigned rounds;
	/* The states from which the rounds before the last one went on; from[0].view 0: those are
	 * drawn. */
	struct as_crash_spot from[AS_CRASH_ROUNDS_MAX - 1];

	/* Several threads run the workload; race.threads 0: one does. With a seed of 0, each run
	 * has another one. */
	struct as_race_options race;

	/* The state and the signature that are to be found again; spot.view 0: report anything. */
	struct as_crash_spot spot, then[AS_CRASH_AGAIN_MAX];
	enum as_way way;
	uint32_t sig; /* as_problem_sig() */

	/* Called in the process that judges, after each state, with the counts before it and now.
	 * Not called for workloads in a sandbox; may be NULL. */
	void (*seen)(void *ctx, const struct as_crash_counts *before,
		     const struct as_crash_counts *now);
	void *seen_ctx;
};

/* What a budget that was not said is: for workloads that were named, or for those of a hunt, which
 * has many. */
uint64_t as_crash_budget(const struct as_target *target, bool hunt);

/* The defaults. */
struct as_crash_options as_crash_options_default(void);
/* The text that follows "crash:", and back; parsing begins with the defaults. */
void as_crash_options_print(const struct as_crash_options *options, struct as_buf *out);
AS_MUST_CHECK int as_crash_options_parse(const char *params, struct as_crash_options *options,
					 struct as_err *err);

struct as_crash_counts {
	uint64_t generated; /* crash states, of all views and cuts */
	uint64_t distinct; /* of these, states that had to be judged (dedup.h) */
	uint64_t checked; /* recovered */
	uint64_t memoised; /* answered from the memo */
	uint64_t again; /* crash states of recoveries */
	uint64_t again_checked; /* recovered once more */
	uint64_t again_memoised; /* the same, answered from the memo */
	uint64_t pruned[3]; /* left out: by each of the first rules of enum as_prune_rule */
	uint64_t twins; /* recoveries left out by the last */
	uint64_t faulty; /* recoveries with a read that fails */
	uint64_t possible; /* crash states that there are; `generated` of them were looked at */
	uint64_t again_possible; /* the same of recoveries that were cut off; see `again` */
	uint64_t rounds; /* runs that went on after a power cut */
	uint64_t unjudged; /* recovered trees of which nothing can be said */
	uint64_t again_known; /* recoveries whose power cuts are known (again.h) */
};

_Static_assert(sizeof(struct as_crash_counts) == AS_RUN_COUNTS * sizeof(uint64_t),
	       "they travel as the counts of a run");

void as_crash_counts_add(struct as_crash_counts *sum, const struct as_crash_counts *counts);

struct as_crasher;

/* The target, the sinks and run->faults must outlive it. A target without a disk is AS_EUSE, and so
 * are faults that nobody is told of: no promise can hold on such a disk. */
AS_MUST_CHECK int as_crasher_new(const struct as_target *target, const struct as_run_options *run,
				 const struct as_crash_options *options, struct as_sink *sinks,
				 struct as_crasher **crasher, struct as_err *err);
void as_crasher_free(struct as_crasher *crasher); /* takes NULL */

/* Findings go to the sinks; what is returned is 0 or an error of ours. */
AS_MUST_CHECK int as_crash_workload(struct as_crasher *crasher, const struct as_seq *seq,
				    const char *name, struct as_run_result *result,
				    struct as_crash_counts *counts, struct as_err *err);
/* Runs the first *done >= 1 of the workloads, several at once where most of the time is waiting
 * (tracks.c): all, or up to and with the first that found something. result sums them up. */
AS_MUST_CHECK int as_crash_workloads(struct as_crasher *crasher, const struct as_work *work,
				     size_t *done, struct as_run_result *result,
				     struct as_err *err);

#endif
