/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_crash: power cuts on labfs. Runs a workload on a recorded disk and takes a picture of the
 * tree after every call; then makes disks as a power cut could leave them (everything before some
 * flush, and any subset of the writes up to the next), mounts each and judges it:
 *
 *   1. names, attributes and sizes are those after some call that is not before the last sync;
 *   2. a file's bytes are zero or its own (each file has a fill byte, kept in user.tag);
 *   3. a file that has not been touched since the last sync has its contents;
 *   4. after unmount, the checker finds nothing;
 *   5. a power cut during the mount changes nothing of this.
 */
#ifndef AS_TESTS_LIB_LAB_CRASH_H
#define AS_TESTS_LIB_LAB_CRASH_H

#include "tests/lib/lab_rig.h"

struct shot { /* the tree after one call */
	char *meta, *contents;
};

struct crashlab {
	struct rig r;
	struct shot *shots;
	uint32_t nshots;
	size_t *synced_at; /* log position when the call ended; valid where is_sync */
	bool *is_sync;
	uint64_t rng;
	unsigned states; /* disks judged */
	char verdict[512]; /* first complaint */
	const char *crash_opts; /* options of the mount after the power cut */
	unsigned trials; /* random subsets of a long epoch */
	unsigned singles; /* epochs up to so many writes: each write left out once */
	unsigned recovery_odds; /* one in so many mounts is cut, too */
};

uint32_t t_crash_rnd(struct crashlab *lab, uint32_t n);

struct judge {
	struct rig *r;
	struct text contents;
	char *bad; /* a file with foreign bytes */
};

void t_free_shot(struct shot *s);

/* After each call of the workload. */
void t_crash_step(struct crashlab *lab, bool sync);

void t_crash_open(struct crashlab *lab, uint64_t size, const char *opts, uint64_t seed);

void t_crash_close(struct crashlab *lab);

void t_judge_disk(struct crashlab *lab, uint8_t *disk, uint32_t lo, uint32_t hi, bool again);

#endif
