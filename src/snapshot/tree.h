/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: a directory tree as it was read from a file system: what a recovery left. It is judged
 * (legal.h), compared with what another way of recovery left, and remembered (recover/memo.h). It
 * never changes after it was made, its owners are counted, and it is small: contents are recognised
 * as zeros and runs of patterns (content.h), and only what is neither is kept as bytes.
 *
 * It holds names, types, permissions, owners, sizes, link counts, which names are links to one
 * inode, device numbers, link texts, extended attributes and contents. Inode numbers are not kept.
 *
 * Of regular files it also holds what a promise may say something of, but what two recoveries of
 * one disk need not agree on: times, blocks in use, and data that SEEK_HOLE calls a hole. This is
 * judged, but not compared, and has a digest of its own.
 */
#ifndef AS_SNAPSHOT_TREE_H
#define AS_SNAPSHOT_TREE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/compare.h"
#include "snapshot/content.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_TREE_NONE UINT32_MAX

struct as_tree_xattr {
	const char *name;
	const struct as_content *value;
};

/* Nodes stand in the order of a walk: a directory before what is below it, names in bytewise order;
 * node 0 is the root. */
struct as_tree_node {
	const char *name; /* "" for the root */
	uint32_t parent; /* AS_TREE_NONE for the root */
	uint32_t end; /* the nodes after this one and before `end` are below it */
	uint32_t twin; /* the first node that is a name of the same inode, perhaps itself */
	uint32_t names; /* names of this inode in the tree (of all its nodes) */
	uint32_t children; /* of a directory */
	uint32_t mode, nlink, uid, gid;
	uint64_t size, rdev;
	/* Not compared: */
	int64_t atime_ns, mtime_ns, ctime_ns;
	uint64_t blocks; /* of 512 bytes */
	/* One more than the place of the first byte that is not zero and yet in a hole; 0: there is
	 * none, or nobody asked. */
	uint64_t hidden;
	const char *text; /* of a symbolic link, else NULL */
	const struct as_tree_xattr *xattr; /* sorted by name */
	uint32_t n_xattrs;
	const struct as_content *content; /* of a regular file, else NULL */
};

struct as_tree;

/* 0: done. 1: a part of it could not be read and why says which ("/a/f: reading at 4096 gives
 * EIO"); *tree is then NULL. */
int as_tree_capture(const struct as_tree_ops *ops, void *ctx, struct as_tree **tree,
		    struct as_buf *why);
/* The same, and what the file system says of quotas; of a mount that is read-only it may say
 * nothing. */
int as_tree_capture_quotas(const struct as_tree_ops *ops, void *ctx, struct as_tree **tree,
			   struct as_buf *why);
struct as_tree *as_tree_get(struct as_tree *tree); /* one more owner */
void as_tree_put(struct as_tree *tree); /* takes NULL; the last owner frees it */

/* Of all that is compared. */
struct as_digest as_tree_digest(const struct as_tree *tree);
/* Of what is not compared, of regular files. */
struct as_digest as_tree_digest_of_rest(const struct as_tree *tree);
/* True when they differ; the first difference in the order of a walk is added to *how (may be
 * NULL): "/a/f: size 4096 there, 8192 here". `a_is` and `b_is` are what to call them. */
bool as_tree_diff(const struct as_tree *a, const char *a_is, const struct as_tree *b,
		  const char *b_is, struct as_buf *how);

uint32_t as_tree_len(const struct as_tree *tree); /* nodes, at least 1 */
/* Some of it lies deeper than a path can reach and is missing. */
bool as_tree_is_cut(const struct as_tree *tree);
const struct as_tree_node *as_tree_at(const struct as_tree *tree, uint32_t i);
/* NULL: the file system counts nobody, or was not asked. */
const struct as_quota_told *as_tree_quotas(const struct as_tree *tree, uint32_t *n);
/* The node of a normal absolute path, or AS_TREE_NONE. */
uint32_t as_tree_find(const struct as_tree *tree, const char *path);
/* The child of a directory, or AS_TREE_NONE. */
uint32_t as_tree_child(const struct as_tree *tree, uint32_t dir, const char *name);
void as_tree_path(const struct as_tree *tree, uint32_t i, struct as_buf *out);
/* Memory that it takes; contents that are shared count for each. */
uint64_t as_tree_memory(const struct as_tree *tree);
/* A text with one line for each name. */
void as_tree_print(const struct as_tree *tree, struct as_buf *out);

/* As bytes, without quotas, and back; the second fails with a message where the bytes were not
 * written by the first. */
void as_tree_write(const struct as_tree *tree, struct as_buf *out);
AS_MUST_CHECK int as_tree_read(const void *data, size_t len, struct as_tree **tree,
			       struct as_err *err);

/* The tree without an empty directory of the root; NULL: the root has no such directory. litter: it
 * may have directories below it whose names begin with this, and they go with it; NULL: none. */
struct as_tree *as_tree_without(const struct as_tree *tree, const char *name, const char *litter);

/* A model that is in the state of the tree, with nothing open: tree_model.c. NULL: something of it
 * was not read, or is nothing that a model can hold. The traits must outlive it. */
struct as_model *as_tree_model(const struct as_tree *tree, const struct as_traits *traits);

/* ---- Making trees of something else (a state of the model, a test) ---- */

struct as_tree_maker;

struct as_tree_maker *as_tree_maker_new(void);
void as_tree_maker_free(struct as_tree_maker *maker); /* takes NULL */
/* Adds a node below `parent` (AS_TREE_NONE for the first, the root); names are copied, contents and
 * attributes too. Nodes of one inode have the same `ino`. Returns its number, for its children;
 * siblings may come in any order. */
uint32_t as_tree_maker_add(struct as_tree_maker *maker, uint32_t parent, uint64_t ino,
			   const struct as_tree_node *node);
/* Something below is missing: as_tree_is_cut(). */
void as_tree_maker_cut(struct as_tree_maker *maker);
/* What as_tree_quotas() gives; copied. */
void as_tree_maker_quotas(struct as_tree_maker *maker, const struct as_quota_told *quota,
			  uint32_t n);
struct as_tree *as_tree_maker_done(struct as_tree_maker *maker); /* frees the maker */

#endif
