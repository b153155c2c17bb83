/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_priv: the machine, and what a driver is to it. */
#ifndef AS_RECOVER_STEP_PRIV_H
#define AS_RECOVER_STEP_PRIV_H

#include "recover/step.h"

struct as_faulty;

/* A row of the table of drivers: who carries out steps, and in what the drivers differ. */
struct as_step_driver {
	const char *name;
	/* Carries out one step on a copy of `disk`, without asking the memo. *stepped is zeroed.
	 * Where a log is wanted, it holds all that was done to that copy. */
	int (*run)(struct as_recoverer *recoverer, enum as_step step, struct as_disk *disk,
		   bool want_log, struct as_stepped *stepped, struct as_err *err);
	/* Whether logging this step pays: without a log it cannot be remembered. NULL: always. */
	bool (*is_worth_log)(const struct as_recoverer *recoverer, enum as_step step);
	/* What the step read that cannot matter (memo.h). False: nothing is known of it. NULL: the
	 * driver reads nothing ahead. */
	bool (*hint)(struct as_recoverer *recoverer, enum as_step step, struct as_disk *disk,
		     struct as_memo_hint *hint);
	void (*free)(struct as_recoverer *recoverer);
	unsigned verify_every; /* of the answers from the memo, with AS_MEMO_VERIFY */
	/* Between its checkers and the disk is the page cache of the device (writeback.h). */
	bool cached;
	/* The log of a checker or a mount that refused the disk is kept. */
	bool logs_refusal;
	/* The step of the probe runs the strictest checker itself, before and after. */
	bool probe_checks;
	/* A probe that fails names the directory. */
	bool probe_names;
	/* What findings begin with: one of a disk that should be in order, one of a probe. */
	const char *peace_words, *probe_words;
	/* Between what was done and the error; what reading the tree is called. */
	const char *answer_words, *read_words;
};

/* The machine. A driver embeds it as its first member. */
struct as_recoverer {
	const struct as_step_driver *driver;
	uint32_t ways;
	enum as_step strictest; /* the checker that must find nothing; AS_STEPS: there is none */
	bool mounts_unchecked;
	bool ways_agree;
	bool uncached; /* the disk has no cache: what is done is stable, in its order */
	bool looks; /* a crashed disk is also mounted read-only, and then made writable */
	bool rereads; /* what a mount has recovered is read once more, without replay */
	bool in_process;

	/* as_recoverer_init() sets these. */
	struct as_recover_options options;
	struct as_memo *memo; /* NULL: off */
	struct as_disk_reads *reads; /* what steps read; NULL: nobody wants to know */
	struct as_step_stats stats;
	enum as_recover_fault fail_kind;
	uint64_t fail_nth; /* the call that is to fail; 0: none, or it has failed */
	bool failing, failed;
};

void as_recoverer_init(struct as_recoverer *recoverer, const struct as_step_driver *driver,
		       const struct as_recover_options *options);

/* ---- For drivers: the call that is to fail ---- */

/* A device above `inner` on which that call fails; NULL: none of a device is to fail. */
struct as_faulty *as_step_faulty(const struct as_recoverer *recoverer, struct as_bd *inner);
void as_step_faulty_end(struct as_recoverer *recoverer, struct as_faulty *faulty); /* takes NULL */
/* The same where the driver has a way of its own to let calls of this kind fail: which one is to
 * fail in the next step, 0: none; and how many the step has made. */
uint64_t as_step_fails(const struct as_recoverer *recoverer, enum as_recover_fault kind);
void as_step_count(struct as_recoverer *recoverer, enum as_recover_fault kind, uint64_t calls);

#endif
