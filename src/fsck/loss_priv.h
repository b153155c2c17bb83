/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loss_priv: the tree that the description of a type finds on a disk, and what a damage touches. */
#ifndef AS_FSCK_LOSS_PRIV_H
#define AS_FSCK_LOSS_PRIV_H

#include "base/hash.h"
#include "base/table.h"
#include "fsck/loss.h"
#include "layout/field.h"

struct as_loss_node {
	uint64_t ino, mode, size, uid, gid, mtime;
	uint64_t links; /* as the inode says */
	uint64_t names; /* that lead to it */
	const char *path; /* one of its names */
	struct as_digest content;
	struct as_digest attributes; /* extended ones */
	bool unsure; /* whether that is its content */
	bool touched;
};

struct as_loss_name {
	char *path;
	const char *dir;
	uint64_t ino, off; /* of its entry */
	uint64_t text_off; /* of the name itself, which may be elsewhere */
	const char *instance; /* that has the name */
	bool touched;
};

struct as_loss_files {
	struct as_fields *fields;
	struct as_loss_node *nodes;
	size_t n_nodes, cap_nodes;
	struct as_loss_name *names;
	size_t n_names, cap_names;
	struct as_table by_path; /* names */
	struct as_table by_ino; /* nodes */
	/* An entry of a directory is the inode, too, and has the path of its own file (vfat). */
	bool entries_are_nodes;
};

bool as_loss_has_role(const struct as_field *f, const char *role);
struct as_loss_node *as_loss_node_of(const struct as_loss_files *t, uint64_t ino); /* or NULL */
/* The inode that a name leads to; NULL: none. */
const struct as_loss_name *as_loss_name_at(const struct as_loss_files *t, const char *path);

/* Marks what a damage touches (loss_touch.c), and nothing else. */
void as_loss_touch(struct as_loss_files *t, const struct as_damage *damage,
		   enum as_loss_drops drops);
/* Whether any of the files and names is touched, or any is not. */
bool as_loss_is_touched(const struct as_loss_files *t, bool touched);

#endif
