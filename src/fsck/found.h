/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * found: from a problem to a finding: the smallest damage that still shows it, the page that tells
 * of it, and a script that shows it without assay.
 */
#ifndef AS_FSCK_FOUND_H
#define AS_FSCK_FOUND_H

#include "base/err.h"
#include "base/event.h"
#include "base/table.h"
#include "fsck/judge.h"
#include "os/dir.h"

/* Clusters: signatures that were met, and how often. One that is all zero is empty. */
struct as_fsck_known {
	struct as_fsck_cluster {
		char *signature;
		uint64_t count;
		unsigned doubts; /* how often it did not come back; 0 once it has */
	} * items;
	size_t n, cap;
	struct as_table table;
};

void as_fsck_known_free(struct as_fsck_known *known);
/* Counts a signature. True: it is new, or was met once or twice and did not come back. */
bool as_fsck_known_add(struct as_fsck_known *known, const char *signature, uint64_t count);
/* Whether it was met before. */
bool as_fsck_known_has(const struct as_fsck_known *known, const char *signature);
/* Whether it came back when it was judged again: a cluster that never did is none. */
void as_fsck_known_judge(struct as_fsck_known *known, const char *signature, bool confirmed);

struct as_fsck_found {
	struct as_fsck_subject *subject;
	struct as_judge *judge;
	const struct as_fsck_base *base;
	const char *model;
	enum as_fsck_problem problem;
	const char *signature;
	struct as_damage *damage; /* is made smaller */
	const struct as_dir *export; /* where cases of a suite are put; NULL: nowhere */
	bool hurry; /* others wait: it need not be the smallest damage */
};

/* Makes the damage smaller and tells the sinks. *confirmed: the problem came back when the disk was
 * judged here; otherwise nothing is told. */
AS_MUST_CHECK int as_fsck_tell(const struct as_fsck_found *found, struct as_sink *sinks,
			       bool *confirmed, struct as_err *err);

/* The script for a verdict: plain shell, with the exit status of each run. */
void as_fsck_script(const struct as_fsck_subject *subject, const struct as_fsck_verdict *verdict,
		    struct as_buf *out);

#endif
