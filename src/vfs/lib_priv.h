/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_priv: what the files of the executor for linked file systems share.
 *
 * It does for a library what Linux's VFS does for its file systems: path walk, descriptors with
 * offsets and access modes, the working directory. It decides only what the seam cannot carry
 * (dots, slashes, links, limits of paths, access modes, negative offsets); what is there, what is
 * empty, what may replace what is left to the library, so that its answers are tested.
 */
#ifndef AS_VFS_LIB_PRIV_H
#define AS_VFS_LIB_PRIV_H

#include "host/host.h"
#include "vfs/lib_new.h"
#include "vfs/lib_watched.h"
#include "vfs/vfs.h"

struct as_lib_slot {
	bool used;
	bool path_only; /* O_PATH: no data, no changes */
	struct as_handle *handle; /* NULL: a node that cannot be opened; `path` names it */
	char *path; /* kept true across renames; NULL once it was removed */
	uint64_t ino;
	uint32_t type; /* S_IFMT bits */
	unsigned flags; /* as opened */
	int64_t off;
};

/* A mapping holds the handle of the slot that it was made of, also after the slot is closed. */
struct as_lib_map {
	struct as_handle *handle; /* NULL: none */
	int64_t prot, off;
	uint64_t len;
};

/* The working directory: `gone` levels of removed directories below `path`. */
struct as_lib_cwd {
	struct as_buf path; /* "" is the root */
	unsigned gone;
	struct as_handle *handle; /* of the directory itself; NULL for the root */
};

struct as_lib {
	struct as_vfs vfs;
	struct as_lib_args args;
	const struct as_target_ops *ops;
	const struct as_host *host;
	struct as_watched *watched; /* what `ops` is a table of */
	struct as_fs *fs; /* NULL: unmounted */
	struct as_lib_cwd cwd;
	struct as_lib_slot *slots;
	size_t n_slots, cap_slots;
	struct as_lib_map *maps; /* of the slots 0, 1, ... */
	size_t n_maps, cap_maps;
	struct as_buf todo[2]; /* link texts being walked, see lib_path.c */
	struct as_buf opts;
	uint32_t leak_op; /* the operation that made what was left, or AS_HOST_NO_OP */
	enum as_finding_kind trouble_kind;
	struct as_buf trouble; /* "" for none */
};

/* ---- Paths (lib_path.c) ---- */

enum as_lib_walk {
	WALK_PARENT, /* all but the last component; nothing is asked about that one */
	WALK_NOFOLLOW, /* what is there; a link at the end is not followed (but before a slash) */
	WALK_FOLLOW, /* what is there */
	WALK_CREATE, /* as WALK_FOLLOW, but the last component need not be there */
	WALK_CREATE_NOFOLLOW,
};

enum as_lib_last { LAST_NORM, LAST_DOT, LAST_DOTDOT, LAST_ROOT };

struct as_lib_place {
	struct as_buf path; /* absolute and normal; "" is the root */
	enum as_lib_last last;
	bool slash; /* after the last component */
	bool there; /* something is: st says what (not with WALK_PARENT) */
	/* > 0: a removed directory, that many levels below path; with WALK_PARENT and LAST_NORM a
	 * name in one, which is not in path. */
	unsigned gone;
	bool too_long; /* the last component is, and is not in path (as_lib_walk_renamed only) */
	struct as_stat st;
};

/* 0 or a negative errno; free the place in both cases. */
int as_lib_walk(struct as_lib *l, const char *text, enum as_lib_walk how,
		struct as_lib_place *place);
/* The same, but a last component that is too long is no error yet: do_renameat2() walks to both
 * parents before it looks at either name. */
int as_lib_walk_renamed(struct as_lib *l, const char *text, enum as_lib_walk how,
			struct as_lib_place *place);
const char *as_lib_place_path(const struct as_lib_place *place); /* "/" for the root */
void as_lib_place_free(struct as_lib_place *place);
/* The working directory and path-only slots follow what happened to names. */
void as_lib_track_removed(struct as_lib *l, const char *path);
void as_lib_track_renamed(struct as_lib *l, const char *from, const char *to, bool exchange);
int as_lib_cwd_set(struct as_lib *l, const struct as_lib_place *place);
void as_lib_cwd_reset(struct as_lib *l);

/* ---- Slots (lib_file.c) ---- */

/* NULL: EBADF. */
struct as_lib_slot *as_lib_slot_get(struct as_lib *l, int32_t number);
/* The same, but not one opened with O_PATH. */
struct as_lib_slot *as_lib_slot_get_file(struct as_lib *l, int32_t number);
int as_lib_slot_close(struct as_lib *l, struct as_lib_slot *slot);
int as_lib_slot_stat(struct as_lib *l, struct as_lib_slot *slot, struct as_stat *st);
bool as_lib_slots_open(const struct as_lib *l);
/* Whether a mapping holds the handle (lib_map.c). */
bool as_lib_map_holds(const struct as_lib *l, const struct as_handle *handle);
/* Gives all mappings up; the first error, or 0. */
int as_lib_unmap_all(struct as_lib *l);

/* Bytes after a buffer that the library fills (lib_file.c): put there before the call, and looked
 * at after it. A library that has changed one of them is blamed. */
#define AS_LIB_GUARD 16u
void as_lib_guard(char *end);
void as_lib_look_at_guard(struct as_lib *l, const char *end);

/* ---- Operations ---- */

#define OP(id, name, ...) \
	void as_lib_##name(struct as_lib *l, const struct as_op *op, struct as_outcome *out);
#include "work/op.def"
#undef OP

/* By path as the workload wrote it; 0 or a negative errno. */
int as_lib_rmdir_at(struct as_lib *l, const char *text);
int as_lib_unlink_at(struct as_lib *l, const char *text);
int as_lib_truncate_at(struct as_lib *l, const char *text, uint64_t size);
int as_lib_open_at(struct as_lib *l, const char *text, unsigned flags, uint32_t mode,
		   struct as_lib_slot *slot);
/* The attributes, without what its contract says nothing of (enum as_semantics). */
int as_lib_getattr(struct as_lib *l, const char *path, struct as_stat *st);
int as_lib_fgetattr(struct as_lib *l, struct as_handle *handle, struct as_stat *st);
int as_lib_list(struct as_lib *l, const char *path, struct as_vfs_names *names);

#endif
