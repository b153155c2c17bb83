/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_pass3.c: pass 3, connectivity.
 *
 * Contract. Given sound directories, afterwards there is a root, every directory can be reached
 * from it in one way and has the directory above it as "..", and every other inode in use has a
 * name. An inode without a name goes to /lost+found as "#INO". But if its link count is 0, too, it
 * was removed while it was open (or is an empty directory that was), and is freed. /lost+found is
 * made only when it is needed, because people may remove it. If there is no room to connect
 * something, it is left as it is, and reported.
 */
#include "fsck_state.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define DIR_TYPE (S_IFDIR >> 12)
#define LOST_NAMES 10 /* "lost+found", "lost+found.1" and so on, where files have these names */

static int make_root(struct lab_ck *ck)
{
	int rc = 0;

	if (ck->ino[LAB_ROOT_INO].type != DIR_TYPE) {
		LAB_CK_PROBLEM(ck, ROOT_LOST);
		rc = lab_ck_dir_make(ck, LAB_ROOT_INO, LAB_ROOT_INO);
	}
	ck->ino[LAB_ROOT_INO].parent = LAB_ROOT_INO;
	ck->ino[LAB_ROOT_INO].flags |= LAB_CK_REACHED;
	return rc;
}

static int name_below_root(struct lab_ck *ck, const char *name, uint32_t ino)
{
	uint32_t hint = 0;
	int rc = lab_ck_dir_add(ck, LAB_ROOT_INO, name, ino, &hint);

	if (rc)
		return rc;
	ck->ino[ino].parent = LAB_ROOT_INO;
	ck->ino[ino].flags |= LAB_CK_REACHED;
	return 0;
}

static int make_lost(struct lab_ck *ck, const char *name, uint32_t *made)
{
	uint32_t ino = LAB_LOST_INO;
	int rc;

	for (uint32_t i = 1; ck->ino[ino].type && i <= ck->sb.inode_count; i++)
		ino = i;
	if (ck->ino[ino].type)
		return -ENOSPC;
	rc = lab_ck_dir_make(ck, ino, LAB_ROOT_INO);
	if (rc)
		return rc;
	rc = name_below_root(ck, name, ino);
	if (rc) {
		int undo = lab_ck_release(ck, ino);

		return undo ? undo : rc;
	}
	LAB_CK_PROBLEM(ck, LOST_FOUND, .ino = ino);
	*made = ino;
	return 0;
}

/* Whether the inode of /lost+found is in use but has no name. */
static int is_nameless_lost(struct lab_ck *ck, bool *yes)
{
	struct lab_inode node;
	int rc = lab_ck_get_inode(ck, LAB_LOST_INO, &node);

	*yes = !rc && ck->ino[LAB_LOST_INO].type == DIR_TYPE && !ck->ino[LAB_LOST_INO].parent &&
	       node.nlink;
	return rc;
}

static int find_lost(struct lab_ck *ck)
{
	char name[24] = "lost+found";
	uint32_t ino = 0;
	bool nameless;
	int rc = is_nameless_lost(ck, &nameless);

	if (ck->lost || rc)
		return rc;
	for (int i = 0; i < LOST_NAMES; i++) {
		if (i)
			snprintf(name, sizeof(name), "lost+found.%d", i);
		rc = lab_ck_dir_find(ck, LAB_ROOT_INO, name, &ino);
		if (rc || !ino || ck->ino[ino].type == DIR_TYPE)
			break;
	}
	if (!rc && !ino && nameless) {
		ino = LAB_LOST_INO;
		rc = name_below_root(ck, name, ino);
		if (!rc)
			LAB_CK_PROBLEM(ck, LOST_FOUND_NAME, .ino = ino);
	} else if (!rc && !ino) {
		rc = make_lost(ck, name, &ino);
	}
	if (rc)
		return rc;
	if (ck->ino[ino].type != DIR_TYPE)
		return -ENOSPC;
	ck->lost = ino;
	ck->lost_hashes = ck->ino[ino].flags & LAB_CK_FULL;
	return 0;
}

/* Finds a name that does not exist in /lost+found yet. */
static int choose_name(struct lab_ck *ck, uint32_t ino, char *name, size_t len)
{
	uint32_t taken = 0;
	int rc = 0;

	snprintf(name, len, "#%u", ino);
	if (LAB_BUG_ON(ck, CK_LOST_OVERWRITES))
		return lab_ck_dir_drop(ck, ck->lost, 0, name);
	for (unsigned i = 1; ck->lost_hashes; i++) {
		rc = lab_ck_dir_find(ck, ck->lost, name, &taken);
		if (rc || !taken)
			break;
		snprintf(name, len, "#%u.%u", ino, i);
	}
	return rc;
}

static int attach(struct lab_ck *ck, uint32_t ino)
{
	char name[32];
	int rc = find_lost(ck);

	if (!rc && ck->ino[ino].parent)
		return 0; /* it was /lost+found itself */
	if (!rc)
		rc = choose_name(ck, ino, name, sizeof(name));
	if (!rc)
		rc = lab_ck_dir_add(ck, ck->lost, name, ino, &ck->lost_block);
	if (rc == -ENOSPC) {
		LAB_CK_PROBLEM(ck, NO_ROOM, .ino = ino);
		ck->ino[ino].flags |= LAB_CK_LEFT;
		ck->left++;
		return 0;
	}
	if (rc)
		return rc;
	LAB_CK_PROBLEM(ck, UNCONNECTED, .ino = ino, .text = name);
	if (ck->ino[ino].type == DIR_TYPE)
		ck->ino[ino].parent = ck->lost;
	else
		ck->ino[ino].links++;
	return 0;
}

/* Handles an inode without a name. */
static int connect_or_free(struct lab_ck *ck, uint32_t ino)
{
	bool orphan = ck->ino[ino].flags & LAB_CK_ORPHAN;
	struct lab_inode node;
	int rc = lab_ck_get_inode(ck, ino, &node);

	if (rc)
		return rc;
	if (node.nlink || ck->ino[ino].flags & LAB_CK_FULL)
		return attach(ck, ino);
	if (orphan)
		LAB_CK_PROBLEM(ck, ORPHAN_RELEASE, .ino = ino);
	else
		LAB_CK_PROBLEM(ck, ZERO_LINKS, .ino = ino);
	return lab_ck_release(ck, ino);
}

/* Takes one directory out of a loop that contains `at`: preferably one whose ".." does not agree
 * with where it is. */
static int break_loop(struct lab_ck *ck, uint32_t at)
{
	uint32_t out = at, dir;
	int rc;

	for (uint32_t i = ck->ino[at].parent; i != at; i = ck->ino[i].parent)
		if (ck->ino[i].dotdot != ck->ino[i].parent)
			out = i;
	dir = ck->ino[out].parent;
	LAB_CK_PROBLEM(ck, DIR_LOOP, .ino = out, .dir = dir);
	rc = lab_ck_dir_drop(ck, dir, out, NULL);
	ck->ino[out].parent = 0;
	return rc ? rc : attach(ck, out);
}

/* Goes up from a directory until it meets a known way to the root, and makes one if there is
 * none. */
static int follow(struct lab_ck *ck, uint32_t ino)
{
	uint32_t at = ino;
	bool loop;

	while (!(ck->ino[at].flags & (LAB_CK_REACHED | LAB_CK_TRAIL)) && ck->ino[at].parent) {
		if (!LAB_BUG_ON(ck, CK_LOOP_HANGS))
			ck->ino[at].flags |= LAB_CK_TRAIL;
		at = ck->ino[at].parent;
	}
	loop = ck->ino[at].flags & LAB_CK_TRAIL;
	/* The directories on the way can be reached when its end is connected. */
	for (uint32_t on = ino; ck->ino[on].flags & LAB_CK_TRAIL; on = ck->ino[on].parent) {
		ck->ino[on].flags &= (uint16_t)~LAB_CK_TRAIL;
		ck->ino[on].flags |= LAB_CK_REACHED;
	}
	if (loop)
		return break_loop(ck, at);
	if (ck->ino[at].flags & LAB_CK_REACHED)
		return 0;
	ck->ino[at].flags |= LAB_CK_REACHED;
	return connect_or_free(ck, at);
}

static int check_dotdot(struct lab_ck *ck, uint32_t ino)
{
	const struct lab_ck_ino *dir = &ck->ino[ino];

	if (!dir->parent || dir->dotdot == dir->parent)
		return 0;
	LAB_CK_PROBLEM(ck, DIR_DOTDOT, .ino = ino, .num = dir->dotdot, .dir = dir->parent);
	return lab_ck_dir_set_dotdot(ck, ino, dir->parent);
}

int lab_ck_pass3(struct lab_ck *ck)
{
	int rc = make_root(ck);

	if (rc == -ENOSPC) {
		LAB_CK_PROBLEM(ck, NO_ROOM, .ino = LAB_ROOT_INO);
		ck->left++;
		return 0;
	}
	for (uint32_t ino = 1; !rc && ino <= ck->sb.inode_count; ino++)
		if (ck->ino[ino].type == DIR_TYPE)
			rc = follow(ck, ino);
	for (uint32_t ino = 1; !rc && ino <= ck->sb.inode_count; ino++)
		if (ck->ino[ino].type && ck->ino[ino].type != DIR_TYPE && !ck->ino[ino].links)
			rc = connect_or_free(ck, ino);
	for (uint32_t ino = 1; !rc && ino <= ck->sb.inode_count; ino++)
		if (ck->ino[ino].type == DIR_TYPE)
			rc = check_dotdot(ck, ino);
	return rc;
}
