/* SPDX-License-Identifier: GPL-2.0-or-later */
/* judge_priv: what the files of the judge share. */
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
	/* The lot: where its disks differ, and what runs are forked from (judge_lot.c). */
	struct as_disk *lot_disk; /* undamaged; NULL: there is no lot */
	struct as_tool_range ranges[AS_TOOL_STOPS_MAX];
	unsigned n_ranges; /* 0: it is not worth to stop for it */
	size_t lot_n; /* disks */
	struct stops {
		uint32_t *order; /* when a run touches each sector; NULL: not known yet */
		uint64_t sectors, reads; /* of a whole run */
		uint64_t used[AS_SUBJECT_FORKS]; /* when; 0: never */
		unsigned begun; /* in this lot */
	} stops[AS_SUBJECT_MODES];
	uint64_t clock; /* for `used` */
	struct as_fsck_kernel *kernel; /* NULL: it is not asked */
	bool hurries; /* a run that has not ended in time is not judged */
	bool repairs_only; /* it is not run to look only */
	bool (*enough)(void *ctx, const struct as_fsck_run *first); /* NULL: never */
	void *enough_ctx;
};

/* judge_lot.c: a run on a disk that is not known yet, forked if that is possible. */
AS_MUST_CHECK int as_judge_run(struct as_judge *j, enum as_subject_mode mode, struct as_disk *disk,
			       struct as_subject_run *run, struct as_err *err);

/* judge.c: the same, unless the result is known. It lives until the next disk is judged. */
AS_MUST_CHECK int as_judge_run_once(struct as_judge *j, enum as_subject_mode mode,
				    struct as_disk *disk, const struct as_fsck_run **out,
				    struct as_err *err);
/* Whether a run ended by itself and with a status that means something. False: it is a problem. */
bool as_judge_ended_well(const struct as_judge *j, struct as_fsck_verdict *v,
			 const struct as_damage *damage, enum as_subject_mode mode,
			 const struct as_fsck_run *run, const char *which);
/* Begins a problem: the damage; ends it: the field by which clusters are told apart. */
void as_judge_begin(struct as_fsck_verdict *v, enum as_fsck_problem problem,
		    const struct as_damage *damage);
void as_judge_end(struct as_fsck_verdict *v, enum as_fsck_problem problem,
		  const struct as_damage *damage);
/* "exits 1 (repaired)" */
void as_judge_describe(const struct as_fsck_run *run, struct as_buf *out);
/* The problem that the output names; nothing: none. */
void as_judge_add_words(const struct as_judge *j, enum as_subject_mode mode,
			const struct as_fsck_run *run, struct as_buf *sign, struct as_buf *words);
/* Bytes in a line. */
void as_judge_say_bytes(const struct as_damage *how, struct as_buf *words);

/* judge_look.c: after the runs that repair. */
AS_MUST_CHECK int as_judge_look(struct as_judge *j, const struct as_fsck_base *base,
				const struct as_damage *damage, struct as_disk *disk,
				struct as_fsck_verdict *v, struct as_err *err);

void as_judge_end_stops(struct as_judge *j);

/* judge_kernel.c: after the runs of the checker. */
AS_MUST_CHECK int as_judge_ask_kernel(struct as_judge *j, const struct as_fsck_base *base,
				      const struct as_damage *damage, struct as_fsck_verdict *v,
				      struct as_err *err);

#endif
