/* SPDX-License-Identifier: GPL-2.0-or-later */
/* judge_priv: what judge.c and judge_lot.c share. */
#ifndef AS_FSCK_JUDGE_PRIV_H
#define AS_FSCK_JUDGE_PRIV_H

#include "base/table.h"
#include "fsck/judge.h"

struct known_run {
	enum as_subject_mode mode;
	struct as_digest digest;
	struct as_fsck_run run;
};

struct as_judge {
	struct as_fsck_subject *subject;
	struct known_run **known;
	size_t n, cap;
	struct as_table table;
	struct as_judge_counts counts;
	bool forks[AS_SUBJECT_MODES]; /* runs of that mode can be forked */
	bool first; /* this run is on a disk of the lot */
	struct as_fsck_kernel *kernel; /* NULL: it is not asked */
	bool repairs_only; /* it is not run to look only */
};

/* judge_kernel.c: after the runs of the checker. */
AS_MUST_CHECK int as_judge_ask_kernel(struct as_judge *j, const struct as_fsck_base *base,
				      const struct as_damage *damage, struct as_fsck_verdict *v,
				      struct as_err *err);

#endif
