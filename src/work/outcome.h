/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outcome: what a file system answered to one operation. Outcomes are data: they are compared with
 * the model, never turned into errors of ours.
 *
 * Composite operations (remove, prune, deepen, enlarge) consist of several system calls in a fixed
 * order; they stop at the first that fails. `done` counts the calls that changed something.
 */
#ifndef AS_WORK_OUTCOME_H
#define AS_WORK_OUTCOME_H

#include "base/buf.h"
#include "work/op.h"

#include <assay/target.h>

enum as_payload {
	AS_PAYLOAD_NONE,
	AS_PAYLOAD_BYTES, /* read, pread, read_xattr, readlink */
	/* readdir, listxattr: NUL-terminated strings, one after the other, sorted; readdir
	 * without "." and "..", each name preceded by a type letter: d - l p s c b */
	AS_PAYLOAD_NAMES,
	AS_PAYLOAD_STAT, /* stat, fstat, statx */
	AS_PAYLOAD_STATFS,
};

/* Answers that no file system gives: the executor's own. */
#define AS_ERR_UNSUPPORTED 4095 /* this target cannot do this operation (umount of dir:) */
#define AS_ERR_LIMIT 4094 /* refused by a safety limit of the executor */
/* The target gave more than was asked for, or more than there can be: a listing without an end. */
#define AS_ERR_TOO_MUCH 4093

/* "ENOENT", or one of the above: "LIMIT". */
const char *as_outcome_err_name(int err);

/* What statx(2) tells besides struct as_stat. */
struct as_statx {
	bool known; /* it was told at all */
	uint32_t mask; /* stx_mask */
	uint64_t attributes, attributes_mask;
	int64_t btime_ns; /* counts where the mask has AS_STATX_BTIME */
};

/* What an owner may have at most: inodes, and space in units of 1024 bytes; 0: no limit. */
struct as_quota_limits {
	uint64_t inodes_soft, inodes_hard, space_soft, space_hard;
};

struct as_outcome {
	int64_t ret; /* >= 0: success (byte count, offset, number of entries made); -1: failed */
	int err; /* errno when ret is -1, else 0 */
	uint64_t done; /* composite operations only */
	enum as_payload payload;
	const void *data; /* bytes or names; owned by the executor until its next operation */
	size_t len;
	struct as_stat st;
	struct as_statx stx;
	struct as_statfs sfs;
	uint64_t space_bytes; /* quota */
	struct as_quota_limits limits; /* quota */
};

/* "= 4096", "= -1 ENOENT", "= -1 ENOSPC done=5" (a composite operation that got so far) */
void as_outcome_print(const struct as_outcome *outcome, struct as_buf *out);

#endif
