/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fight: the model against a file system: every sequence of up to three operations over an
 * alphabet, from two starting points, and long random ones, are carried out and judged, and the
 * tree is compared at their end. One disagreement fails the test. This is what makes the oracle
 * trustworthy, so it runs on the kernel's own file systems, a tmpfs and the disk's, by system calls
 * in a scratch directory; and on labfs, which has to be as right as they are.
 *
 * Bouts on a read-only mount have a tmpfs of their own, or a library: nothing but descriptors,
 * locks and the working directory may change there.
 *
 * Enumeration: the odometer of base/choice. An operation that left the model as it was ends its
 * sequence: what would follow is a shorter sequence that is tried anyway, and the comparison at the
 * end of this one shows that it changed nothing on disk either.
 */
#ifndef AS_TESTS_LIB_FIGHT_H
#define AS_TESTS_LIB_FIGHT_H

#include "tests/lib/model.h"

#include "base/choice.h"
#include "host/host.h"
#include "host/medium.h"
#include "model/compare.h"
#include "os/spawn.h"
#include "target/target.h"
#include "tests/lib/skip.h"
#include "vfs/lib_new.h"
#include "vfs/sys_new.h"
#include "vfs/traits.h"
#include "work/print.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SLOTS 3
#define LENGTH_MAX 320

struct bout {
	char folder[4096]; /* for system calls; "": a library */
	const struct as_target *target;
	unsigned start, length;
	unsigned parts; /* how many of them */
	bool readonly; /* the sequences are played on a read-only mount */
	unsigned random; /* that many random sequences instead of all */
	struct as_traits traits;
	/* Shared with the child. */
	struct tally {
		volatile uint64_t alive;
		uint64_t sequences, ops, maybes;
		bool failed;
		char what[32768];
	} * tally;
};

struct fight {
	struct bout *bout;
	struct as_vfs *vfs;
	struct as_seq *start, *alphabet;
	struct as_model *fresh; /* an empty model that knows the root's attributes */
	struct as_verdict verdict;
	const struct as_op *done[LENGTH_MAX];
	size_t n_done;
	/* What a library stands on. */
	struct as_chooser *chance;
	struct as_host_log log;
	struct as_host_mem *host;
	struct as_medium *stand;
};

/* In the child: system calls are confined to the scratch directory for good. */
int t_fight_it_out(void *ctx);

#endif
