/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff: the same workload on several file systems, compared answer by answer. Where answers
 * differ, the model decides first: an answer that it does not allow is the odd one. Where it
 * allows several, the answer of the fewest is the odd one. Pure. */
#ifndef AS_SCENARIO_DIFF_H
#define AS_SCENARIO_DIFF_H

#include "base/buf.h"
#include "child/answers.h"

#define AS_DIFF_MAX 16u /* file systems */

struct as_diff_subject {
	const char *name; /* as typed */
	const struct as_traits *traits;
	const struct as_answers *answers;
	size_t fresh; /* inodes on its fresh disk, the root included */
};

enum as_diff_answer {
	AS_DIFF_NONE, /* no difference has to be reported */
	AS_DIFF_WRONG, /* an answer that the model does not allow, unlike those of others */
	AS_DIFF_ODD, /* all are allowed, but most agree and one does not */
};

struct as_diff {
	enum as_diff_answer answer;
	size_t op; /* where */
	size_t odd; /* who */
	size_t other; /* one that answered otherwise */
	struct as_buf says, others_say; /* in words */
	/* Differences that are no finding: they follow from a documented trait of a type or a full
	 * disk; they are hints; or the model allows both answers and there is no majority. */
	uint64_t documented, hints, undecided;
	struct as_buf undecided_first; /* the first of them, in words */
	size_t undecided_op;
};

/* Stops at the first difference that has to be reported. */
void as_diff_judge(const struct as_seq *seq, const struct as_diff_subject *subjects, size_t n,
		   struct as_diff *diff);
void as_diff_free(struct as_diff *diff);

/* "ext4,xfs:logbufs=2,noalign,lab": commas in options of a target belong to it. The specs are to be
 * freed. AS_EUSE for fewer than two, or more than AS_DIFF_MAX. */
AS_MUST_CHECK int as_diff_parse(const char *text, char **specs, size_t *n, struct as_err *err);

#endif
