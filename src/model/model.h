/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model: the abstract file system, written once: what the generator explores, what judges the
 * answers of a file system under test, and what a recovered tree is compared with. Pure: no I/O.
 *
 * A state holds inodes, directory edges, open descriptors and the working directory, as Dogfood
 * section 4.1 has them, with contents as runs of patterns. It is a persistent structure: a copy is
 * O(1) and later changes to one do not show in the other.
 */
#ifndef AS_MODEL_MODEL_H
#define AS_MODEL_MODEL_H

#include "base/buf.h"
#include "base/event.h"
#include "base/hash.h"
#include "model/traits.h"
#include "work/op.h"
#include "work/outcome.h"

#include <assay/target.h>

struct as_model;
struct as_handed;

/* An empty root directory (mode 0755, owned by 0:0). The traits must outlive every copy. */
struct as_model *as_model_new(const struct as_traits *traits);
struct as_model *as_model_copy(const struct as_model *model);
void as_model_free(struct as_model *model);

/* From now on the times of inodes are followed and judged (model/stamp.h), where the type keeps
 * them. Copies do not. The options, which every mount has, must outlive the model. */
void as_model_follow_times(struct as_model *model, const char *mount_opts);
/* When the operation that is judged next began and ended. */
void as_model_clock(struct as_model *model, int64_t began_ns, int64_t ended_ns);

/* One inode that an operation touched; times: which of its times that moves or may move, a bit for
 * each of atime, mtime and ctime (AS_STAMPS_*). */
struct as_touch {
	uint32_t ino;
	unsigned times;
};

/* Instead of times, the model notes which inodes operations touch; no time is judged. */
void as_model_follow_touches(struct as_model *model);
/* Those since the last call of as_model_clock(); an inode may be there more than once. */
const struct as_touch *as_model_touches(const struct as_model *model, size_t *n);
/* After this call failed: may a descriptor's view have become the file's before (model/view.h)? */
bool as_model_view_in_doubt(const struct as_model *model, const struct as_op *op);
/* Until when the tree was read; INT64_MAX: it is being read. Reading opens and closes files. */
void as_model_tree_read(struct as_model *model, int64_t until_ns);

/*
 * Errnos an operation may answer. `must` is the model's first choice (0: success); `may` holds
 * every errno that is allowed, as a set; success is allowed when ok.
 */
struct as_allowed {
	bool ok;
	int64_t ret; /* on success; -1: any value >= 0 */
	int must; /* 0, or the errno the rules name first */
	uint64_t may[3]; /* bit e of word e/64 */
};

static inline bool as_allowed_err(const struct as_allowed *allowed, int err)
{
	return err > 0 && err < 192 && (allowed->may[err / 64] >> (err % 64) & 1);
}

/* What the judge thought of an outcome. */
struct as_verdict {
	bool agrees;
	bool unjudged; /* agrees because the model could not tell (after a crash, say) */
	enum as_finding_kind kind; /* when it does not agree: AS_FIND_OUTCOME or AS_FIND_DATA */
	struct as_allowed allowed;
	struct as_buf why; /* when it does not agree: "returned 4096, model says 8192" */
};

void as_verdict_free(struct as_verdict *verdict);

/* The set of outcomes allowed now; the model is not changed. */
void as_model_allowed(const struct as_model *model, const struct as_op *op,
		      struct as_allowed *allowed);
/* Judges `got` and, if allowed, moves to the state that follows from it. After a disagreement the
 * state is unchanged. *verdict is zeroed or was used before (its buffer is reused). */
bool as_model_judge(struct as_model *model, const struct as_op *op, const struct as_outcome *got,
		    struct as_verdict *verdict);
/* Moves on as if the file system had answered the model's first choice; returns its errno, 0 for
 * success. For generators. */
int as_model_apply(struct as_model *model, const struct as_op *op);
/* The same; *told, which was cleared, gets what a success hands over. */
int as_model_hand_over(struct as_model *model, const struct as_op *op, struct as_handed *told);

/* Digest of everything a workload can see: names, contents, attributes, descriptors, cwd. */
struct as_digest as_model_digest(const struct as_model *model);
/* The same for every state that differs only in names (FiSC section 3.3). */
struct as_digest as_model_digest_canonical(const struct as_model *model);

/* Nobody will ask this model, nor a copy of it, for a digest: each change then costs less. */
void as_model_undigested(struct as_model *model);

/* How many bytes of the disk a regular file can have at most (footprint.h), and how many if all of
 * its data were punched. False: it is not known. */
struct as_footprint {
	uint64_t bytes, empty_bytes;
};
bool as_model_footprint(const struct as_model *model, uint32_t ino, struct as_footprint *most);

/* What regular files contain that are open for writing (all: any regular file) is not known from
 * now on, nor how long they are. */
void as_model_loosen(struct as_model *model, bool all);
bool as_model_is_loose(const struct as_model *model, uint32_t ino); /* 0: there is none */

bool as_model_mounted(const struct as_model *model);
bool as_model_read_only(const struct as_model *model);
/* After a crash that followed no sync: the model no longer knows the tree. */
bool as_model_lost(const struct as_model *model);
const struct as_traits *as_model_traits(const struct as_model *model);
size_t as_model_inodes(const struct as_model *model);

/* Puts into the empty model what a fresh file system holds (lost+found): directories and empty
 * files only. */
void as_model_adopt(struct as_model *model, const char *path, const struct as_stat *st);
/* The same for anything; of st, only type, permissions, owners, the size of a regular file and the
 * device count. text: of a symbolic link. A regular file is one hole. */
void as_model_adopt_node(struct as_model *model, const char *path, const struct as_stat *st,
			 const char *text);
void as_model_adopt_link(struct as_model *model, const char *path, const char *other);
/* Bytes of a regular file, within its size: those of the pattern at the same place. */
void as_model_adopt_run(struct as_model *model, const char *path, uint64_t off, uint64_t len,
			uint64_t pattern);
/* The attributes of a file come sorted by name. */
void as_model_adopt_xattr(struct as_model *model, const char *path, const char *name, uint64_t len,
			  uint64_t pattern);

/* "user", "group" or "project". */
const char *as_quota_word(int64_t type);
/* What a setquota asks for. */
struct as_quota_limits as_model_quota_asked(const struct as_op *op);
/* Whether any limits were set; *vague: somebody may have those of another one. */
bool as_model_has_limits(const struct as_model *model, bool *vague);
/* The project of an inode. */
uint32_t as_model_project(const struct as_model *model, uint32_t ino);

/* Attribute vector of Dogfood section 4.1, for clustering. */
struct as_attrs {
	uint32_t ino;
	uint32_t type; /* S_IFMT bits */
	uint32_t symlinked; /* symbolic links that resolve here */
	uint32_t atime_order; /* 0 = least recently used by an operation */
	uint32_t depth, hardlinks, children, open;
};

/* Calls fn for every inode reachable from the root (or, with below_cwd, from the working
 * directory) with one path of it. Stops on a non-zero return and hands it back. */
int as_model_each(const struct as_model *model, bool below_cwd,
		  int (*fn)(void *ctx, const char *path, const struct as_attrs *attrs), void *ctx);
/* The same, but an inode with several links is shown once for each of its names. */
int as_model_each_name(const struct as_model *model, bool below_cwd,
		       int (*fn)(void *ctx, const char *path, const struct as_attrs *attrs),
		       void *ctx);
/* Open slots, and mappings: those have numbers from AS_MAP_SLOT on. */
#define AS_MAP_SLOT (2 * (AS_SLOT_MAX + 1))
int as_model_each_open(const struct as_model *model,
		       int (*fn)(void *ctx, int slot, uint32_t ino, int64_t flags), void *ctx);
/* What is open in a slot: the number of its inode. 0: nothing. */
uint32_t as_model_slot_ino(const struct as_model *model, int slot);
/* The operation that gives one of them up: close or munmap. */
struct as_op as_model_closing(int slot);

/* Resolves a path as an operation would; false if it names nothing. */
bool as_model_stat(const struct as_model *model, const char *path, bool nofollow,
		   struct as_stat *st);

#endif
