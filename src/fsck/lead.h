/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lead: a session with a checker: damages are made, judged by several processes, and what they find
 * is put into clusters. One of each cluster is made as small as possible and told to the sinks.
 */
#ifndef AS_FSCK_LEAD_H
#define AS_FSCK_LEAD_H

#include "base/err.h"
#include "base/event.h"
#include "fsck/corrupt.h"
#include "fsck/cover.h"
#include "fsck/found.h"
#include "fsck/subject.h"
#include "os/spawn.h"

#include <stdint.h>

#define AS_FSCK_TALLIES 48 /* numbers that a source counts, whatever they mean to it */

struct as_fsck_status {
	uint64_t lots, all_lots; /* done, of how many; UINT64_MAX: of any number */
	struct as_judge_counts counts;
	uint64_t problems; /* that were met, those of one cluster each time */
	uint64_t clusters, unconfirmed;
	uint64_t unasked; /* of those: there was no time to judge them again */
	int64_t wall_us, search_us; /* of all; until the last disk was judged */
	bool all; /* every damage of the model was tried */
	uint64_t next; /* the first lot that is not done */
	/* What was lost, for --score. */
	uint64_t damaged, lossy; /* repaired disks; those of them that lost something */
	uint64_t lost_files;
	uint64_t tallies[AS_FSCK_TALLIES]; /* of the sources */
};

/*
 * Damages that are found on the way, instead of a model's list of lots: each worker has a source of
 * its own, opened in its process, and takes turns. `judge` of the door runs the checker on the
 * damage; *problems is a mask of what is wrong. `look` does so, too, but nobody is told. `hear`
 * adds what was said of that disk (fsck/voice.h). If what the first run said, as a number, is
 * enough, there are no other runs; NULL: it never is.
 */
struct as_fsck_enough {
	bool (*is)(void *ctx, uint64_t said);
	void *ctx;
};

struct as_fsck_door {
	void *ctx;
	int (*judge)(void *ctx, const struct as_damage *damage, const struct as_fsck_enough *enough,
		     uint32_t *problems, struct as_err *err);
	int (*look)(void *ctx, const struct as_damage *damage, uint32_t *problems,
		    struct as_err *err);
	void (*hear)(void *ctx, struct as_buf *out);
	bool told; /* the leader is through with all that was found in earlier turns */
};

struct as_fsck_source {
	int (*open)(const struct as_fsck_source *source, struct as_fsck_subject *subject,
		    unsigned worker, unsigned workers, void **own, struct as_err *err);
	/* Some damages. *more false: there are none left. Tallies grow. */
	int (*turn)(void *own, const struct as_fsck_door *door, bool *more,
		    uint64_t tallies[AS_FSCK_TALLIES], struct as_err *err);
	void (*close)(void *own);
	void *ctx;
};

struct as_fsck_kernel_setup;

struct as_fsck_args {
	const struct as_subject_setup *setup; /* each process opens the checker for itself */
	struct as_fsck_subject *subject;
	struct as_judge *judge; /* of this process */
	struct as_fsck_base *bases;
	size_t n_bases;
	const char *model;
	struct as_corrupt *corrupt; /* NULL: there is a source */
	const struct as_fsck_source *source;
	unsigned jobs;
	/* Who is asked about disks with which the checker is content; NULL: nobody. */
	const struct as_fsck_kernel_setup *kernel;
	bool fork; /* runs of one lot share their beginning */
	int64_t for_us; /* 0: until all lots are done */
	uint64_t max_lots; /* 0: any number */
	uint64_t max_clusters; /* stop after so many; 0: any number */
	uint64_t first; /* the lot to begin with */
	struct as_fsck_known *known; /* clusters; those of an earlier session may be in it */
	const struct as_fsck_cover *cover; /* how coverage is measured; NULL: it is not */
	/* That of the subject above, too: whatever a checker of this process does, it is ended
	 * then. The session says when its time is over. */
	struct as_halt *halt;
	/* Whether the session may end; NULL: that is not asked. */
	bool (*enough)(void *ctx, const struct as_fsck_status *status);
	struct as_sink *sinks;
	const struct as_dir *export; /* see found.h */
	void (*progress)(void *ctx, const struct as_fsck_status *status);
	void *ctx;
};

AS_MUST_CHECK int as_fsck_lead(const struct as_fsck_args *args, struct as_fsck_status *status,
			       struct as_err *err);

#endif
