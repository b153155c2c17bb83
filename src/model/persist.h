/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * persist: what has to be known of the model to say what a power cut may leave: how one state
 * differs from the next, through which states an operation of many calls goes, and what an
 * operation that answered made stable.
 */
#ifndef AS_MODEL_PERSIST_H
#define AS_MODEL_PERSIST_H

#include "model/model.h"

/* Byte x of a run is byte (x - start + from) of its pattern; between runs are holes. */
struct as_node_run {
	uint64_t start, len, pattern, from;
};

struct as_node_xattr {
	const char *name;
	uint64_t len, pattern;
};

/* An inode, valid while the state is as it is. */
struct as_node {
	uint32_t ino; /* 1: the root; never used again */
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev; /* as struct as_stat has it */
	uint64_t size;
	const struct as_node_run *run;
	uint32_t n_runs, n_xattrs;
	const struct as_node_xattr *xattr; /* sorted by name */
	const char *text; /* of a symbolic link */
	bool linked; /* has a name (the root too) */
	uint32_t parent; /* one of its names; 0 and "" for the root and where it has none */
	const char *name;
};

enum as_model_change {
	AS_CHANGE_MADE = 1,
	AS_CHANGE_GONE = 2,
	AS_CHANGE_ATTR = 4, /* permissions, owner */
	AS_CHANGE_LINKS = 8, /* its names, their number */
	AS_CHANGE_XATTR = 16,
	AS_CHANGE_SIZE = 32,
	AS_CHANGE_DATA = 64,
	AS_CHANGE_ENTRIES = 128, /* of a directory */
};

struct as_changes_ops {
	/* An inode that is not the same; before or after is NULL where it was not there. */
	void (*inode)(void *ctx, const struct as_node *before, const struct as_node *after,
		      unsigned what);
	/* A name that leads elsewhere than before; 0: nowhere. */
	void (*edge)(void *ctx, uint32_t dir, const char *name, uint32_t before, uint32_t after);
};

/* Costs what was changed. before may be NULL: all of after is new. */
void as_model_changes(const struct as_model *before, const struct as_model *after,
		      const struct as_changes_ops *ops, void *ctx);

/* Operations of many calls (remove, prune, deepen, enlarge): makes the next of them, as if the ones
 * before had been made. Permission bits and access control lists follow each other, and a new inode
 * gets its lists, in a step of their own. Other operations are one step. */
bool as_model_goes_by_steps(const struct as_model *after, const struct as_op *op);
void as_model_substep(struct as_model *model, const struct as_op *op);

/* The same of an operation of many calls, but what the call makes has not got its access control
 * lists yet: none (bare 2), or only the default list (1). False: there are no lists. */
bool as_model_substep_bare(struct as_model *model, const struct as_op *op, unsigned bare);

enum as_persist_kind {
	AS_PERSIST_NOTHING,
	AS_PERSIST_INODE, /* all of an inode (fsync) */
	AS_PERSIST_DATA, /* its data and size (fdatasync) */
	AS_PERSIST_OP, /* what the operation itself changed */
	AS_PERSIST_ALL, /* everything */
};

struct as_persist {
	enum as_persist_kind kind;
	uint32_t ino; /* INODE, DATA */
	uint64_t off, len; /* the bytes, 0 and UINT64_MAX for all */
};

/* SYNC: data; DIRSYNC: names; CLOSE: a library's contract (AS_PROMISE_AT_CLOSE). */
enum { AS_MOUNTED_SYNC = 1, AS_MOUNTED_DIRSYNC = 2, AS_MOUNTED_CLOSE = 4 };

/*
 * What the operation made stable when it answered `got` in the state `before` (of before the
 * operation). mounted: AS_MOUNTED_*.
 *   fsync, fdatasync        the inode; its data and size (fsync(2))
 *   sync, syncfs, umount, freeze  everything (sync(2): on Linux it waits)
 *   a write with O_SYNC     as fsync, of the bytes written (open(2): "as though each write(2) was
 *                           followed by a call to fsync(2)", which the kernel limits to the range:
 *                           generic_write_sync())
 *   a write with O_DSYNC    as fdatasync, of the bytes written; so with mount -o sync (mount(8))
 *   msync, mmap_write, both with MS_SYNC: as fdatasync, of the range (msync(2), vfs_fsync_range())
 *   names, -o dirsync       the operation itself (mount(8), IS_DIRSYNC()), if it changes a name
 *   close, AS_MOUNTED_CLOSE as fdatasync
 *   sync_file_range         nothing (its manual page: "extremely dangerous", no metadata)
 *   remount, read-only      everything (reconfigure_super(), sync_filesystem())
 *   O_DIRECT, other remounts  nothing
 * What failed made nothing stable.
 */
struct as_persist as_model_persists(const struct as_model *before, const struct as_op *op,
				    const struct as_outcome *got, unsigned mounted);

#endif
