/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross: checkers of several types against each other (SWIFT, section 4.3). Each has a disk of its
 * own type with the same tree, and gets the same damage, by the roles of fields. What they recover
 * is compared name by name, as far as the healthy disks agree. One that lost what the others kept
 * is named: by the majority if there are three or more, and by what was there if there are two.
 */
#ifndef AS_CROSS_CROSS_H
#define AS_CROSS_CROSS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/event.h"
#include "damage/kernel.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_CROSS_MAX 16u

struct as_cross_setup {
	/* "ext4,reiserfs,minix3": types, checkers, or TYPE=CHECKER. */
	const char *list;
	/* Sandbox and box are used, where a kernel has to read a tree. */
	struct as_fsck_kernel_setup kernel;
	bool by_kernel; /* all trees are read by it, also where a description could */
	unsigned deadline_ms; /* of a run; 0: the default */
	/* A run that has not ended then is ended; NULL: it may take until its deadline. A run of
	 * deeds or of a score says there when its time is over. */
	struct as_halt *halt;
};

struct as_cross;

AS_MUST_CHECK int as_cross_open(const struct as_cross_setup *setup, struct as_cross **cross,
				struct as_err *err);
void as_cross_free(struct as_cross *cross); /* takes NULL */

struct as_cross_counts {
	uint64_t deeds; /* that at least two of them could be given */
	uint64_t damaged, repaired; /* disks */
	uint64_t unjudged; /* of the damaged ones: nobody could read their trees */
	uint64_t differing; /* deeds after which they do not agree */
	uint64_t findings; /* kinds */
};

struct as_frames;

struct as_cross_args {
	int64_t for_us; /* 0: until all is done */
	int only; /* this deed alone (as_cross_only()); -1: all */
	uint64_t max_findings; /* 0: any number */
	unsigned jobs; /* processes, for as_cross_run_jobs() */
	/* Of as_cross_run_jobs(): what is done is kept there, and what was there is not done again;
	 * may be NULL. */
	const struct as_frames *keep;
	struct as_halt *halt; /* that of the setup; NULL: it ends when all is done */
	struct as_sink *sinks;
	/* Called after each deed; may be NULL. */
	void (*progress)(void *ctx, const struct as_cross_counts *counts);
	void *ctx;
};

AS_MUST_CHECK int as_cross_run(struct as_cross *cross, const struct as_cross_args *args,
			       struct as_cross_counts *counts, struct as_err *err);
/* The same in several processes, each of which opens the checkers for itself, by the setup of
 * `cross`. All deeds are done. */
AS_MUST_CHECK int as_cross_run_jobs(struct as_cross *cross, const struct as_cross_setup *setup,
				    const struct as_cross_args *args,
				    struct as_cross_counts *counts, struct as_err *err);
/* What the results depend on, for as_frames_open(). */
void as_cross_keep_head(const struct as_cross *cross, const struct as_cross_setup *setup,
			struct as_buf *out);
/* The number of the deed "file.mode:/f:dir"; -1: there is none. */
int as_cross_only(const char *deed);

/* Notes about the disks and how they are read, a line each. */
void as_cross_describe(const struct as_cross *cross, struct as_buf *out);
/* After a run: what each recovered, role by role, and how often two of them disagree. */
void as_cross_tell(const struct as_cross *cross, struct as_buf *out);
/* SWIFT's Table 10 for these types: the fields that they have in common. */
void as_cross_table(const struct as_cross *cross, struct as_buf *out);

#endif
