/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history_priv: how a history is kept. Only files of this room include it.
 *
 * A point is a state that the model went through: point 0 is the fresh file system, and each
 * operation that changes something adds one point, or one for each of its calls. Inodes and names
 * (edges of the tree) have versions, each with the point it came with; a version holds until the
 * next one. A promise is something that an operation made stable when it returned.
 *
 * Invariants
 *   1. Versions of one inode or edge are in the order of their points, at most one for a point.
 *   2. after[n] is the point after operation n-1; after[0] is 0.
 *   3. The shape of a point is the digest of all names and attributes then, without sizes and
 *      contents. It equals as_history_shape_of_tree() of a tree that has the same.
 */
#ifndef AS_LEGAL_HISTORY_PRIV_H
#define AS_LEGAL_HISTORY_PRIV_H

#include "base/arena.h"
#include "base/table.h"
#include "legal/history.h"
#include "model/persist.h"
#include "snapshot/tree.h"
#include "work/seq.h"

#define NO_POINT UINT32_MAX
#define ROOT_INO 1u

struct as_history_xattr {
	const char *name;
	uint64_t len, pattern;
	struct as_digest digest; /* of its name and value, as the shape has it */
};

/* One state of an inode. */
struct as_history_version {
	uint32_t point;
	unsigned what; /* enum as_model_change: what changed with it */
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev, size;
	const char *text;
	const struct as_history_xattr *xattr;
	const struct as_node_run *run;
	uint32_t n_xattrs, n_runs;
	bool linked; /* false: it has no name now */
	uint32_t parent; /* one of its names */
	const char *name;
	struct as_digest attrs; /* its part of the shape */
	/* How its data came to be what it is. */
	bool gradual; /* in parts: any size between the old and the new one may show */
	bool delayed; /* the kernel may keep it in memory while later operations reach the disk */
	bool shifted; /* data moved within the file; meanwhile holes may be after cut_from */
	uint64_t cut_from, cut_to; /* whole blocks whose older data must not come back */
};

struct as_history_inode {
	struct as_history_version *v;
	uint32_t n, n_edges, n_promises;
	uint32_t *edge; /* of a directory: all that ever were in it */
	uint32_t *promise; /* those that are of this inode */
	size_t cap, cap_edges, cap_promises;
	/* While operations are added: */
	struct as_digest sum; /* of its children */
	uint32_t *link; /* edges that lead here now */
	uint32_t n_links;
	size_t cap_links;
};

struct as_history_target {
	uint32_t point, ino; /* 0: nothing */
};

struct as_history_edge {
	uint32_t dir;
	const char *name;
	uint64_t hash; /* of the name */
	struct as_history_target *v;
	uint32_t n;
	size_t cap;
};

/* What as_history_saw() was told. */
struct as_history_seen {
	int64_t atime_ns, mtime_ns, ctime_ns;
	uint64_t blocks;
};

/* An operation that touched an inode, whether that shows in a version or not. */
struct as_history_touch {
	size_t op;
	struct as_touch what;
};

/* setquota was answered. */
struct as_history_limit {
	size_t op;
	int64_t type;
	uint32_t id;
	struct as_quota_limits max;
};

/* A descriptor was closed. */
struct as_history_close {
	size_t op;
	uint32_t ino, point;
};

struct as_history_promise {
	size_t op;
	const struct as_history_seen *seen; /* NULL: nobody looked */
	struct as_persist what;
	uint32_t point; /* the state it was given in */
	uint32_t floor; /* with guarantee `prefix`: all up to this point is stable */
};

/* Promises that may be of a later moment, too. */
struct as_history_late {
	size_t op;
	struct as_persist what;
};

/* An operation that promises nothing because something had failed, and that may have made an object
 * stable before the others all the same. */
struct as_history_alone {
	size_t op;
};

struct as_history_point {
	struct as_digest shape;
	size_t op; /* the one that led here; SIZE_MAX for point 0 */
	uint32_t call; /* of that operation, from 1; 0: the operation is done */
};

struct as_history_policy {
	size_t op; /* holds from here on */
	struct as_policy policy;
};

struct as_history_known {
	const char *xattr; /* a name that the workload ever gave an attribute */
	struct as_history_known *next;
};

struct as_history {
	struct as_model *model; /* now */
	const struct as_traits *traits;
	struct as_seq *ops;
	int64_t *ret; /* of each operation */
	size_t *number; /* of each operation, as people count them, from 0 */
	size_t cap_ret, cap_number;
	struct as_history_late *late; /* until as_history_end() */
	size_t n_late, cap_late;
	struct as_history_point *point;
	uint32_t n_points;
	size_t cap_points;
	uint32_t *after; /* by number of operations */
	size_t n_after, cap_after;
	struct as_history_inode *inode; /* by number */
	uint32_t n_inodes;
	size_t cap_inodes;
	struct as_history_edge *edge;
	uint32_t n_edges;
	size_t cap_edges;
	struct as_table edges; /* by directory and name */
	struct as_history_promise *promise; /* in the order of their operations */
	uint32_t n_promises;
	size_t cap_promises;
	struct as_history_alone *alone; /* in the order of their operations */
	uint32_t n_alone;
	size_t cap_alone;
	struct as_history_touch *touch; /* in the order of their operations */
	uint32_t n_touches;
	size_t cap_touches;
	struct as_history_close *close; /* in the order of their operations */
	uint32_t n_closes;
	size_t cap_closes;
	struct as_history_limit *limit; /* in the order of their operations */
	uint32_t n_limits;
	size_t cap_limits;
	bool limits_unsure; /* those at the beginning are not known, or one was set perhaps */
	struct as_history_policy *policy;
	uint32_t n_policies;
	size_t cap_policies;
	struct as_history_known *known;
	size_t judged; /* operations that can be judged; SIZE_MAX: all */
	struct as_arena arena;
	struct legal_cache *cache; /* legal.c's */
	void (*cache_free)(struct legal_cache *cache);
};

/* ---- history.c ---- */

struct as_history_inode *as_history_inode_get(struct as_history *h, uint32_t ino);

/* Adds an operation to the lists of operations; the copy lives as long as the history. */
const struct as_op *as_history_push(struct as_history *h, const struct as_op *op, int64_t ret,
				    size_t number);
/* False: what comes after it cannot be judged. */
bool as_history_end_op(struct as_history *h);
/* Adds a point for the step from `before` (NULL: nothing) to `after`, if anything has changed. */
void as_history_add_point(struct as_history *h, const struct as_op *op,
			  const struct as_model *before, const struct as_model *after,
			  uint32_t call);
/* The operation added last may have closed a descriptor. */
void as_history_add_close(struct as_history *h, const struct as_op *op,
			  const struct as_model *before);
/* What the operation makes stable in the state that the history is in. */
struct as_persist as_history_persist(const struct as_history *h, const struct as_op *op,
				     const struct as_outcome *outcome);

static inline uint64_t as_history_edge_hash(uint32_t dir, uint64_t name_hash)
{
	return as_mix64(name_hash + dir);
}

/* ---- stable.c ---- */

/* The operation added last made this stable. */
void as_stable_record(struct as_history *h, const struct as_persist *what);
/* How many promises operations 0..done-1 gave. */
uint32_t as_stable_promises(const struct as_history *h, size_t done);
/* The same of operations that may have made something stable alone, and promise nothing. */
uint32_t as_stable_alone(const struct as_history *h, size_t done);
/* The last of the first n promises that made everything stable; NULL: none did. */
const struct as_history_promise *as_stable_last_sync(const struct as_history *h, uint32_t n);
void as_stable_promise_words(const struct as_history *h, const struct as_history_promise *promise,
			     struct as_buf *out);

/* The next operation to be added has set limits. */
void as_stable_limit(struct as_history *h, const struct as_op *op);
/* How many touches operations 0..begun-1 made. */
uint32_t as_stable_touches(const struct as_history *h, size_t begun);
/* Notes what the model says the operation added last has touched. */
void as_stable_touch(struct as_history *h, const struct as_model *model);

/* ---- fsync.c ---- */

/* The point up to which a log that is written in order is stable when `what` is. */
uint32_t as_fsync_floor(const struct as_history *h, const struct as_policy *policy,
			const struct as_persist *what, uint32_t point);

/* ---- history_look.c ---- */

/* The version that holds at a point; NULL: the inode is not there yet. A version that is gone has
 * what & AS_CHANGE_GONE. */
const struct as_history_version *as_history_version_at(const struct as_history *h, uint32_t ino,
						       uint32_t point);
/* Its index. */
uint32_t as_history_version_index(const struct as_history_inode *inode, uint32_t point);
uint32_t as_history_edge_find(const struct as_history *h, uint32_t dir, const char *name);
/* Where the edge leads at a point: an inode, 0 for nowhere. */
uint32_t as_history_edge_at(const struct as_history_edge *edge, uint32_t point);
uint32_t as_history_child_at(const struct as_history *h, uint32_t dir, const char *name,
			     uint32_t point);
bool as_history_there(const struct as_history *h, uint32_t ino, uint32_t point); /* has a name */
/* "/a/f", or "a removed file". */
void as_history_path(const struct as_history *h, uint32_t ino, uint32_t point, struct as_buf *out);
struct as_tree *as_history_tree_at(const struct as_history *h, uint32_t point);
/* "op 7: rename /a /b" */
void as_history_op_words(const struct as_history *h, size_t op, struct as_buf *out);
/* "the state after op 7 (rename /a /b)" */
void as_history_point_words(const struct as_history *h, uint32_t point, struct as_buf *out);

/* ---- shape.c ---- */

/* Of an inode's attributes; of a version, and of a node of a tree. */
struct as_digest as_history_attrs_of_version(const struct as_history *h,
					     const struct as_history_version *v);
struct as_digest as_history_attrs_of_node(const struct as_history *h,
					  const struct as_tree_node *node);
struct as_digest as_history_xattr_digest(const char *name, struct as_digest value);
/* Of a node with its children, to be added to its parent's sum under its name. */
struct as_digest as_history_node_digest(struct as_digest attrs, struct as_digest sum);
struct as_digest as_history_shape_of_tree(const struct as_history *h, const struct as_tree *tree);
bool as_history_counts_xattr(const struct as_history *h, const char *name);

static inline struct as_digest h_named(struct as_digest digest, uint64_t name_hash)
{
	return as_digest_bind(digest, name_hash);
}

#endif
