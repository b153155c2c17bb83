/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_workload: random calls on a small tree, one changing call a step, for the crash and the fault
 * tests. Failing calls are part of it (names are few, so that they meet).
 */
#ifndef AS_TESTS_LIB_LAB_WORKLOAD_H
#define AS_TESTS_LIB_LAB_WORKLOAD_H

#include "tests/lib/lab_rig.h"

#include <linux/falloc.h>
#include <linux/fs.h>

struct load {
	struct rig *r;
	uint64_t rng;
	struct as_handle *kept; /* open across calls, perhaps removed */
	uint8_t next_tag;
	bool wants_tag; /* a file was just made */
	char tag_path[64];
	bool synced; /* the last call was a successful sync or fsync */
	int rc; /* its answer */
};

/* One call; its answer is in w->rc. */
void t_load_step(struct load *w);

void t_load_end(struct load *w);

#endif
