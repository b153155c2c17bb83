/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * roster: the names and descriptors that a walk (walk.h) believes to be there. It follows every
 * command by simple rules (what has this path, what lies below it) and never asks the model: a walk
 * is long, and a command that fails because the roster was wrong is a command like any other.
 *
 * It is bounded: of what deepen and enlarge make it keeps a few names only.
 */
#ifndef AS_GEN_ROSTER_H
#define AS_GEN_ROSTER_H

#include "gen/view.h"

#define AS_ROSTER_PATH_MAX 4000 /* bytes: longer paths are not kept */
#define AS_ROSTER_GHOSTS 4

enum as_item_kind { AS_ITEM_DIR, AS_ITEM_REG, AS_ITEM_LINK, AS_ITEM_NODE };

struct as_item {
	const char *path; /* absolute */
	uint32_t len, hash;
	uint32_t file; /* names of one inode share it */
	enum as_item_kind kind;
	bool long_names; /* a directory in which new names are long */
	bool xattr; /* was given an attribute */
	bool bulk; /* a directory with more in it than is listed here */
};

struct as_gen_handle {
	int32_t slot;
	uint32_t file;
	enum as_item_kind kind;
	bool tmpfile; /* without a name yet */
	bool nameless; /* O_TMPFILE with O_EXCL: it never gets one */
};

struct as_roster {
	struct as_item *item; /* item 0 is the root */
	size_t n, cap;
	struct as_gen_handle handle[64];
	unsigned n_handles;
	uint32_t next_file;
	const char *cwd; /* NULL: it was removed */
	const char *ghost[AS_ROSTER_GHOSTS]; /* removed or moved away, NULL: none */
	unsigned next_ghost;
	struct as_arena text;
};

/* Forgets everything and takes over what the view shows, which has looked at the whole tree. */
void as_roster_load(struct as_roster *roster, const struct as_gen_view *view, const char *cwd);
void as_roster_free(struct as_roster *roster);

/* SIZE_MAX: not there. */
size_t as_roster_find(const struct as_roster *roster, const char *path, size_t len);
/* Whether the directory that the path names its last component in is there. */
bool as_roster_has_parent(const struct as_roster *roster, const char *path, size_t len);
/* Whether something is listed below it; true for a bulk directory. */
bool as_roster_has_below(const struct as_roster *roster, size_t i);
/* How many names are listed directly in a directory, and which was there first. */
size_t as_roster_list(const struct as_roster *roster, size_t dir, size_t *first);
/* file 0: a new inode. Returns the item. */
struct as_item *as_roster_add(struct as_roster *roster, const char *path, size_t len,
			      enum as_item_kind kind, uint32_t file);
/* The name and all below it; with keep_top only what is below. */
void as_roster_drop(struct as_roster *roster, size_t i, bool keep_top);
/* Moves a name with all below it to another path, where nothing may be. */
void as_roster_move(struct as_roster *roster, size_t i, const char *to, size_t to_len);
/* Makes it the item that was added last. */
void as_roster_to_end(struct as_roster *roster, size_t i);
void as_roster_swap(struct as_roster *roster, size_t a, size_t b);

void as_roster_open(struct as_roster *roster, struct as_gen_handle handle);
void as_roster_close(struct as_roster *roster, int32_t slot);
/* The file system was taken away and came back. */
void as_roster_close_all(struct as_roster *roster);

#endif
