/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare: the model against a real tree, through whoever can read it. The first difference, in
 * path order, is said in words: "/a/f: size 4096, model says 8192". */
#ifndef AS_MODEL_COMPARE_H
#define AS_MODEL_COMPARE_H

#include "model/model.h"

/* Bytes start..end-1 of a file. */
struct as_hole {
	uint64_t start, end;
};

/* What a user, a group or a project has, and may have at most, as the file system tells it. */
struct as_quota_told {
	int64_t type; /* AS_QUOTA_* */
	uint32_t id;
	uint64_t inodes, space_bytes;
	struct as_quota_limits limits;
};

/* Reads a tree by absolute, normal paths; links are never followed. Each function returns 0 or a
 * count, or a negative errno. */
struct as_tree_ops {
	int (*stat)(void *ctx, const char *path, struct as_stat *st);
	int (*list)(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx);
	int64_t (*readlink)(void *ctx, const char *path, char *buf, size_t len);
	int64_t (*read)(void *ctx, const char *path, void *buf, size_t len, uint64_t off);
	int64_t (*listxattr)(void *ctx, const char *path, char *buf, size_t len);
	int64_t (*getxattr)(void *ctx, const char *path, const char *name, void *buf, size_t len);
	/* The first `max` holes of a regular file, as SEEK_HOLE and SEEK_DATA tell them. NULL: it
	 * cannot be told. */
	int64_t (*holes)(void *ctx, const char *path, struct as_hole *hole, size_t max);
	/* The first `max` owners that the file system counts, or has limits for; 0: none. NULL: it
	 * cannot be told. */
	int64_t (*quotas)(void *ctx, struct as_quota_told *quota, size_t max);
	/* The tree was read: what is open is closed. NULL: nothing ever is. */
	void (*rest)(void *ctx);
};

/* "a directory", "of unknown type". */
const char *as_model_type_word(uint32_t mode);

/* 0: the same. 1: different, and why says how. */
int as_model_compare(const struct as_model *model, const struct as_tree_ops *tree, void *ctx,
		     struct as_buf *why);

#endif
