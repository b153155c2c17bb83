/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state: what a model consists of, for the rules of operations (model/) and for race/, which takes
 * operations apart. Other rooms use model.h.
 *
 * Everything reachable from a struct as_model is counted by reference and shared between copies;
 * what has one owner is changed in place, what has several is copied first. Nothing here is shared
 * between threads.
 *
 * Invariants (checked by as_model_check in tests)
 *   1. Every inode in the table is linked from a directory, or is the root, or carries ORPHAN and
 *      is held by an open descriptor, the working directory or an orphaned child directory.
 *   2. An inode's links are exactly the directory edges that name it.
 *   3. A directory's sums are the multiset sums of its children's digests (bound to their names for
 *      the exact one), so that a change costs one hash a level up to the root.
 *   4. orphan_sum holds the digests of all ORPHAN inodes.
 *   5. multi lists the inodes with two links or more.
 */
#ifndef AS_MODEL_STATE_H
#define AS_MODEL_STATE_H

#include "model/model.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MODEL_ROOT 1u
#define MODEL_PATH_MAX 4096u /* Linux: PATH_MAX, with the terminating NUL */
#define MODEL_SYMLINKS_MAX 40u /* Linux: MAXSYMLINKS */

/* ---- Shared pieces ---- */

struct as_name {
	uint32_t ref, len;
	uint64_t hash;
	char s[];
};

/* A directory's entries: a treap ordered by name whose priorities are hashes of the names, so that
 * equal sets have equal shapes. */
struct as_entry {
	uint32_t ref, ino;
	struct as_name *name;
	struct as_entry *left, *right;
};

/* Contents: sorted, disjoint, non-empty runs; between them are holes. Byte x of a run is byte
 * (x - start + from) of its pattern. */
struct as_data_run {
	uint64_t start, len, pattern, from;
};

struct as_runs {
	uint32_t ref, n, cap;
	struct as_data_run run[];
};

struct as_xattr {
	struct as_name *name;
	uint64_t len, pattern;
};

struct as_xattrs {
	uint32_t ref, n;
	struct as_xattr x[]; /* sorted by name */
};

struct as_link {
	struct as_name *name;
	uint32_t parent;
};

struct as_links {
	uint32_t n, cap;
	struct as_link link[];
};

/* Times that a test may rely on: those set explicitly and not touched since. */
struct as_times {
	uint32_t ref;
	bool atime_known, mtime_known;
	int64_t atime_ns, mtime_ns;
};

struct as_ino_pair {
	struct as_digest exact, canon;
};

enum {
	INODE_ORPHAN = 1, /* not in the tree any more, or not yet (O_TMPFILE) */
	INODE_LINKABLE = 2, /* O_TMPFILE without O_EXCL: link_tmpfile may give it a name */
	INODE_MANY = 4, /* links are in `many` */
	INODE_SETID_UNSURE = 8, /* set-id bits may be gone: as_rule_doubt_setid() */
	INODE_LOOSE = 16, /* contents and size are not known: as_model_loosen() */
};

struct as_inode {
	uint32_t ref, ino;
	uint16_t mode;
	uint8_t flags;
	uint8_t cwd; /* 1: working directory */
	uint32_t nlink, uid, gid, project; /* where a project can be read, it is a mark */
	uint32_t used; /* value of the model's clock when last used */
	uint16_t opens; /* descriptors */
	uint16_t pins; /* orphaned directories whose ".." is this one */
	uint64_t label; /* multiset of (slot, flags, offset) of its descriptors */
	union {
		struct as_link link; /* at most one: an orphaned directory keeps its parent here */
		struct as_links *many; /* two links or more: INODE_MANY */
	};
	struct as_xattrs *xattrs;
	struct as_times *times;
	union {
		struct {
			struct as_entry *entries;
			uint32_t children;
			struct as_ino_pair sum;
		} dir;
		struct {
			uint64_t size, kept; /* kept: see footprint.h */
			struct as_runs *runs;
		} reg;
		struct as_name *text;
		uint64_t rdev; /* AS_DEV form */
	};
};

struct as_file {
	uint32_t ref, ino;
	int32_t slot;
	int64_t flags, off;
	int64_t lock; /* of flock(2): 0, AS_LOCK_SH or AS_LOCK_EX; it ends with the file */
	uint64_t len; /* of a mapping: `flags` is what may be done to it, `off` where it begins */
	bool attached; /* a mapping of what its slot has open now */
	/* Its own view of a regular file (view.h), and what the file had when that began. */
	bool viewing, changed, touched; /* touched: perhaps changed, to what it was (view.c) */
	uint64_t view_size, base_size;
	struct as_runs *view, *base;
};

/* A sparse vector of counted pointers; every element starts with a uint32_t ref. */
#define RADIX_BITS 3
#define RADIX_FAN (1u << RADIX_BITS)
struct as_radix {
	uint32_t ref;
	void *slot[RADIX_FAN];
};

struct as_vec {
	struct as_radix *root;
	uint32_t height; /* 0: empty; index < FAN^height */
};

struct as_inos {
	uint32_t ref, n;
	uint32_t ino[];
};

struct as_model {
	const struct as_traits *traits;
	struct as_vec inodes, files; /* by inode number, by slot */
	struct as_inos *multi;
	struct as_handles *handles; /* that operations asked for; NULL: none */
	struct as_ino_pair orphan_sum;
	uint32_t cwd, next_ino, n_inodes, clock, n_open;
	struct as_locks *locks; /* of ranges; NULL: none */
	struct as_quota_set *limits; /* of quotas; NULL: none was set */
	struct as_stamps *stamps; /* NULL: nobody follows times */
	bool mounted, readonly, synced, lost; /* lost: after a crash it no longer knows the tree */
	bool undigested; /* the sums are not kept, as nobody asks for a digest */
	bool own_opts, cramped; /* mounted with options of the workload; see footprint.h */
	bool has_acls, acls_off; /* a list was set at some time; it is mounted with noacl */
};

/* ---- node.c: the pieces ---- */
struct as_name *as_name_new(const char *s, size_t len);
struct as_name *as_name_get(struct as_name *name);
void as_name_put(struct as_name *name);
int as_name_cmp(const struct as_name *a, const char *s, size_t len);
static inline bool as_vec_holds(const struct as_vec *vec, uint32_t index)
{
	return vec->height >= 11 || (uint64_t)index >> (RADIX_BITS * vec->height) == 0;
}
static inline unsigned as_radix_digit(uint32_t index, uint32_t level)
{
	return index >> (RADIX_BITS * level) & (RADIX_FAN - 1);
}
/* Every operation looks up several inodes: it is worth a place here. */
static inline void *as_vec_at(const struct as_vec *vec, uint32_t index)
{
	void *at = vec->root;

	if (!at || !as_vec_holds(vec, index))
		return NULL;
	for (uint32_t level = vec->height; level-- > 0 && at;)
		at = ((struct as_radix *)at)->slot[as_radix_digit(index, level)];
	return at;
}
/* The element, unshared up to the root and made unshared itself by dup() when needed. */
void *as_vec_edit(struct as_vec *vec, uint32_t index, void *(*dup)(const void *),
		  void (*put)(void *));
/* Takes over the caller's reference; NULL removes. */
void as_vec_set(struct as_vec *vec, uint32_t index, void *elem, void (*put)(void *));
struct as_vec as_vec_copy(const struct as_vec *vec);
void as_vec_free(struct as_vec *vec, void (*put)(void *));
int as_vec_each(const struct as_vec *vec, int (*fn)(void *ctx, uint32_t index, void *elem),
		void *ctx);
struct as_inode *as_inode_new(uint32_t ino, uint32_t mode);
void as_inode_put(void *inode);
void as_file_put(void *file);
void *as_inode_dup(const void *inode);
void *as_file_dup(const void *file);
void as_locks_put(struct as_locks *locks);
void as_times_put(struct as_times *times);
void as_xattrs_put(struct as_xattrs *xattrs);
struct as_entry *as_entries_find(struct as_entry *root, const char *s, size_t len);
/* Each consumes the caller's reference to root and returns the new root. */
struct as_entry *as_entries_add(struct as_entry *root, struct as_name *name, uint32_t ino);
struct as_entry *as_entries_del(struct as_entry *root, const char *s, size_t len);
/* ---- xattrs.c ---- */
struct as_xattr *as_xattr_find(const struct as_inode *inode, const char *name); /* NULL: none */
void as_node_put_xattr(struct as_model *m, uint32_t ino, const char *name, uint64_t len,
		       uint64_t pattern);
void as_node_drop_xattr(struct as_model *m, uint32_t ino, const char *name);

/* ---- content.c ---- */
void as_content_write(struct as_inode *inode, uint64_t off, uint64_t len, uint64_t pattern,
		      uint64_t from);
void as_content_punch(struct as_inode *inode, uint64_t off, uint64_t len);
void as_content_truncate(struct as_inode *inode, uint64_t size);
void as_content_collapse(struct as_inode *inode, uint64_t off, uint64_t len);
void as_content_insert(struct as_inode *inode, uint64_t off, uint64_t len);
/* Where buf differs from bytes off.. of the file, or len. *want is the byte expected there. */
size_t as_content_check(const struct as_inode *inode, uint64_t off, const void *buf, size_t len,
			uint8_t *want);
/* First offset >= off that may hold anything but zeros; UINT64_MAX: none. */
uint64_t as_content_next_data(const struct as_inode *inode, uint64_t off);
bool as_content_is_data(const struct as_inode *inode, uint64_t off);
/* Whether two ranges hold the same bytes. */
bool as_content_same(const struct as_inode *a, uint64_t a_off, const struct as_inode *b,
		     uint64_t b_off, uint64_t len);
/* Copies a range of `from` (may be the same inode, not overlapping). */
void as_content_copy(const struct as_inode *from, uint64_t off, struct as_inode *to,
		     uint64_t to_off, uint64_t len);
void as_runs_put(struct as_runs *runs);

/* ---- tree.c: changes that keep invariants 1 to 5 ---- */
static inline struct as_inode *inode_at(const struct as_model *m, uint32_t ino)
{
	return (struct as_inode *)as_vec_at(&m->inodes, ino);
}
static inline bool is_dir(const struct as_inode *inode)
{
	return S_ISDIR(inode->mode);
}
static inline bool is_reg(const struct as_inode *inode)
{
	return S_ISREG(inode->mode);
}
static inline uint64_t node_rdev(const struct as_inode *inode)
{
	return makedev(AS_DEV_MAJOR(inode->rdev), AS_DEV_MINOR(inode->rdev)); /* for as_stat */
}
/* Between the two, the inode's fields may be changed; finish carries the digest upwards. */
struct as_inode *as_node_edit(struct as_model *m, uint32_t ino, struct as_ino_pair *before);
void as_node_finish(struct as_model *m, struct as_inode *inode, const struct as_ino_pair *before);
/* A new inode outside the tree, without ORPHAN: to be linked before the operation ends. */
struct as_inode *as_node_new(struct as_model *m, uint32_t mode);
void as_node_link(struct as_model *m, uint32_t dir, const char *s, size_t len, uint32_t ino);
/* Removes the edge; what nothing holds any more disappears. */
void as_node_unlink(struct as_model *m, uint32_t dir, const char *s, size_t len);
void as_node_move(struct as_model *m, uint32_t from, const char *fs, size_t flen, uint32_t to,
		  const char *ts, size_t tlen);
void as_node_exchange(struct as_model *m, uint32_t a, const char *as, size_t alen, uint32_t b,
		      const char *bs, size_t blen);
/* A new inode that stays without a name. */
void as_node_orphan(struct as_model *m, uint32_t ino);
void as_node_set_cwd(struct as_model *m, uint32_t ino);
void as_node_forget_times(struct as_model *m, uint32_t ino, bool atime, bool mtime);
struct as_ino_pair as_node_digest(const struct as_inode *inode);
struct as_file *as_file_at(const struct as_model *m, int32_t slot);
void as_file_open(struct as_model *m, int32_t slot, uint32_t ino, int64_t flags);
void as_file_close(struct as_model *m, int32_t slot);
void as_file_lock(struct as_model *m, int32_t slot, int64_t lock);
/* The mapping of a slot is a file that is open as AS_MAP_SLOT and the number. */
void as_file_map(struct as_model *m, int32_t slot, uint32_t ino, int64_t prot, int64_t off,
		 uint64_t len);
void as_file_seek(struct as_model *m, int32_t slot, int64_t off);
/* What stat(2) says of it, but for its times. */
void as_inode_stat(const struct as_inode *inode, struct as_stat *st);
/* Violated invariant in words, or NULL. */
const char *as_model_check(const struct as_model *m);

#endif
