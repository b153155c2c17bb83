/* SPDX-License-Identifier: GPL-2.0-or-later */
/* legal_priv: what the rules have in common. Only files of this room include it. */
#ifndef AS_LEGAL_LEGAL_PRIV_H
#define AS_LEGAL_LEGAL_PRIV_H

#include "legal/history_priv.h"
#include "legal/legal.h"

/* One tree at one moment. */
struct as_legal_judge {
	const struct as_history *h;
	struct as_moment moment;
	const struct as_tree *tree;
	struct as_legal *verdict;
	bool commit; /* the tree is that of the last commit, without logs of fsync */
	bool checked; /* a checker's run has led to the tree */
	struct as_policy policy; /* the weakest since the last sync */
	uint32_t n_promises; /* given by operations that had answered */
	uint32_t n_begun; /* with those of the operation that was under way */
	uint32_t n_touches; /* by operations of which something can be on the disk */
	uint32_t synced; /* the point of the last sync; 0: the fresh file system */
	const struct as_history_promise *synced_by; /* that sync; NULL: none */
	uint32_t hi; /* the last point that can have been reached */
	uint32_t *ino; /* scratch: of each node, the model's inode */
};

/* What is wrong with the data of a file. */
enum as_legal_fault_kind {
	FAULT_SHORT,
	FAULT_LONG,
	FAULT_SIZE, /* another size that it never had */
	FAULT_OLD, /* what it held before it was made stable */
	FAULT_ZEROS,
	FAULT_OTHER, /* data of another file */
	FAULT_MOVED, /* its own data, of another place */
	FAULT_UNKNOWN, /* written by no operation */
	FAULT_MIXED, /* old and new data, or a size of another moment than the data */
	FAULT_ATIME, /* another one than was made stable */
	FAULT_MTIME,
	FAULT_CTIME,
	FAULT_BLOCKS, /* fewer */
	FAULT_LEFT, /* more than it can need */
	FAULT_HIDDEN, /* data that SEEK_HOLE calls a hole */
};

struct as_legal_fault {
	enum as_rule rule;
	enum as_legal_fault_kind kind;
	uint32_t ino;
	uint64_t at; /* byte; or the size, time or number of blocks found */
	uint64_t want_lo, want_hi; /* sizes allowed; want_lo: the time or blocks it was to have */
	/* The promise that is broken; NULL: it would be wrong at any time. */
	const struct as_history_promise *by;
	uint32_t other; /* FAULT_OTHER: whose */
};

/* ---- fsync.c: since when something is stable, and by which promise ---- */

/* The attributes of an inode. */
uint32_t as_fsync_attrs_since(const struct as_legal_judge *j, uint32_t ino,
			      const struct as_history_promise **by);
/* A name: by a sync, by an fsync of its directory, or of the inode that it led to then. */
uint32_t as_fsync_name_since(const struct as_legal_judge *j, const struct as_history_edge *edge,
			     const struct as_history_promise **by);
/* An fsync of the inode after it had lost this name for good; NULL: there is none. */
const struct as_history_promise *as_fsync_lost_name(const struct as_legal_judge *j,
						    const struct as_history_edge *edge,
						    uint32_t ino);
/* That the inode exists at all; false: nobody promised it. */
bool as_fsync_exists_since(const struct as_legal_judge *j, uint32_t ino, uint32_t *since,
			   const struct as_history_promise **by);
/* Its name was given to another file, which was fsynced or is being fsynced, and the type lets it
 * be lost then (policy.h, light_fsync). */
bool as_fsync_is_overtaken(const struct as_legal_judge *j, uint32_t ino, uint32_t since);
/* No version of the inode came in since..hi. */
bool as_fsync_is_untouched(const struct as_legal_judge *j, uint32_t ino, uint32_t since);
/* The last sync, or its own fsync, since when nobody touched the inode; NO_POINT: somebody did. */
uint32_t as_fsync_untouched_since(const struct as_legal_judge *j, uint32_t ino,
				  const struct as_history_promise **by);

/* ---- legal_data.c ---- */

/* Whether a regular file's size and contents may be what `node` has. meta: the point whose names
 * and attributes the tree shows, or NO_POINT where each object is of a point of its own. */
bool as_legal_data_ok(const struct as_legal_judge *j, uint32_t ino, const struct as_tree_node *node,
		      uint32_t meta, struct as_legal_fault *fault);

/* ---- legal_rest.c ---- */

/* Whether the times, blocks and holes of a regular file may be what `node` has. */
bool as_legal_rest_ok(const struct as_legal_judge *j, uint32_t ino, const struct as_tree_node *node,
		      struct as_legal_fault *fault);

/* ---- legal_prefix.c, legal_object.c, legal_repair.c: fill the verdict when they say no ---- */

bool as_legal_prefix(struct as_legal_judge *j);
bool as_legal_object(struct as_legal_judge *j);
bool as_legal_repair(struct as_legal_judge *j);

/* ---- legal_quota.c ---- */

bool as_legal_quotas(struct as_legal_judge *j); /* fills the verdict when it says no */

/* ---- legal_words.c ---- */

/* Begins a verdict: the rule that is broken, and the operation. */
void as_legal_broken(struct as_legal_judge *j, enum as_rule rule, size_t op, const char *signature);
/* "after fsync of /a/f at op 7, " */
void as_legal_after(struct as_legal_judge *j, const struct as_history_promise *promise);
void as_legal_say_fault(struct as_legal_judge *j, const struct as_legal_fault *fault,
			uint32_t node);
/* "/a/f must exist; recovered tree has no /a": says how the tree differs from the inode at a point.
 * False: it does not differ, and nothing was said. */
bool as_legal_say_lack(struct as_legal_judge *j, uint32_t ino, uint32_t point);
/* Link counts against names; true: fine. */
bool as_legal_links_ok(struct as_legal_judge *j);
/* Why no point of lo..hi has the shape of the tree. `by` gave lo. */
void as_legal_explain_shape(struct as_legal_judge *j, uint32_t lo,
			    const struct as_history_promise *by);

#endif
