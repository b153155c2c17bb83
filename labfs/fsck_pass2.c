/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_pass2.c: pass 2, what is in the directories.
 *
 * Contract. Given pass 1's inodes, afterwards every directory starts with a right "." and some
 * "..", its blocks are chains of whole records, its names are possible and different from each
 * other, every entry leads to an inode in use and has its type, and every directory has at most one
 * name (its directory is ck->ino[].parent). ck->ino[].links counts the names of the others. Entries
 * are only removed here; pass 3 connects what has lost its last name.
 *
 * If a directory has several names, the one in the directory that it calls ".." is kept. A first
 * round over all directories finds out which directories have such a name.
 */
#include "fsck_state.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define DIR_TYPE (S_IFDIR >> 12)

/* A directory in memory, with a hash table of its names. */
struct dir {
	struct lab_ck *ck;
	uint32_t ino, blocks;
	uint8_t *image; /* the blocks as they were */
	uint32_t *block; /* where they are on the disk */
	uint32_t *slot; /* 1 + offset in the image of a record; 0 = empty */
	uint32_t slots;
};

static void unload(struct dir *dir)
{
	as_free(dir->ck->host, dir->image);
	as_free(dir->ck->host, dir->block);
	as_free(dir->ck->host, dir->slot);
}

static int load(struct dir *dir, bool with_names)
{
	struct lab_ck *ck = dir->ck;
	struct lab_inode node;
	int rc = lab_ck_get_inode(ck, dir->ino, &node);

	if (rc)
		return rc;
	dir->blocks = (uint32_t)(node.size / LAB_BLOCK);
	dir->image = as_malloc(ck->host, (size_t)dir->blocks * LAB_BLOCK);
	dir->block = as_malloc(ck->host, (size_t)dir->blocks * sizeof(*dir->block));
	if (!dir->image || !dir->block)
		return -ENOMEM;
	if (with_names) {
		for (dir->slots = 256; dir->slots < 2 * LAB_CK_RECS * dir->blocks; dir->slots *= 2)
			;
		dir->slot = as_malloc(ck->host, dir->slots * sizeof(*dir->slot));
		if (!dir->slot)
			return -ENOMEM;
	}
	for (uint32_t i = 0; !rc && i < dir->blocks; i++) {
		rc = lab_ck_map(ck, &node, i, &dir->block[i]);
		if (!rc)
			rc = lab_ck_read(ck, dir->block[i], dir->image + (size_t)i * LAB_BLOCK);
	}
	return rc;
}

/* Adds the name; false if it exists already. */
static bool add_name(struct dir *dir, const struct lab_ck_rec *rec)
{
	uint32_t hash = 2166136261u, i;

	for (unsigned c = 0; c < rec->name_len; c++)
		hash = (hash ^ (uint8_t)rec->name[c]) * 16777619u;
	for (i = hash & (dir->slots - 1); dir->slot[i]; i = (i + 1) & (dir->slots - 1)) {
		const uint8_t *other = dir->image + dir->slot[i] - 1;

		if (other[6] == rec->name_len &&
		    !memcmp(other + LAB_DIRENT_HEAD, rec->name, rec->name_len))
			return false;
	}
	dir->slot[i] = 1 + (uint32_t)((const uint8_t *)rec->name - dir->image) - LAB_DIRENT_HEAD;
	return true;
}

/* Whether this directory may keep its name here. */
static bool may_hold(const struct dir *dir, uint32_t child)
{
	const struct lab_ck_ino *ino = &dir->ck->ino[child];

	if (child == LAB_ROOT_INO || child == dir->ino || ino->parent)
		return false;
	return !(ino->flags & LAB_CK_CONFIRMED) || ino->dotdot == dir->ino;
}

static bool check_entry(struct dir *dir, struct lab_ck_rec *rec, bool *changed)
{
	struct lab_ck *ck = dir->ck;
	struct lab_ck_what what = { .ino = rec->ino,
				    .dir = dir->ino,
				    .text = rec->name,
				    .text_len = rec->name_len,
				    .num = ck->sb.inode_count };
	enum lab_problem_id problem;
	unsigned type;

	if (!lab_ck_name_ok(rec->name, rec->name_len) || lab_ck_rec_is(rec, ".") ||
	    lab_ck_rec_is(rec, "..")) {
		problem = LAB_P_DIRENT_NAME;
	} else if (rec->ino > ck->sb.inode_count) {
		problem = LAB_P_DIRENT_RANGE;
	} else if (!ck->ino[rec->ino].type) {
		problem = LAB_P_DIRENT_FREE;
	} else if (ck->ino[rec->ino].type == DIR_TYPE && !may_hold(dir, rec->ino)) {
		problem = LAB_P_DIRENT_DIR_LINK;
	} else if (!add_name(dir, rec)) {
		problem = LAB_P_DIRENT_DUP;
	} else {
		type = ck->ino[rec->ino].type;
		if (rec->type != type) {
			what.num = rec->type;
			what.num2 = type;
			lab_ck_problem(ck, LAB_P_DIRENT_TYPE, &what);
			rec->type = (uint8_t)type;
			*changed = true;
		}
		if (type == DIR_TYPE)
			ck->ino[rec->ino].parent = dir->ino;
		else
			ck->ino[rec->ino].links++;
		ck->ino[dir->ino].flags |= LAB_CK_FULL;
		return true;
	}
	lab_ck_problem(ck, problem, &what);
	*changed = true;
	return false;
}

/* Puts "." and ".." at the start of `out`. Returns how many records of `in` were these. */
static unsigned check_dots(struct dir *dir, const struct lab_ck_recs *in, struct lab_ck_recs *out,
			   bool *changed)
{
	struct lab_ck *ck = dir->ck;
	struct lab_ck_rec dot = { dir->ino, 0, 1, DIR_TYPE, "." };
	struct lab_ck_rec dotdot = { LAB_ROOT_INO, 0, 2, DIR_TYPE, ".." };
	unsigned used = 0;
	bool right = false;

	if (in->count && lab_ck_rec_is(&in->rec[0], ".")) {
		used = 1;
		right = !in->rec[0].off && in->rec[0].type == DIR_TYPE;
		if (in->rec[0].ino != dir->ino)
			LAB_CK_PROBLEM(ck, DIR_DOT_INO, .dir = dir->ino, .num = in->rec[0].ino);
		*changed |= in->rec[0].ino != dir->ino;
	}
	if (!right)
		LAB_CK_PROBLEM(ck, DIR_DOT_MISSING, .dir = dir->ino);
	*changed |= !right;
	right = false;
	if (in->count > used && lab_ck_rec_is(&in->rec[used], "..")) {
		const struct lab_ck_rec *rec = &in->rec[used];
		uint16_t dot_len;

		memcpy(&dot_len, dir->image + offsetof(struct lab_dirent, rec_len), 2);
		right = used && rec->type == DIR_TYPE && rec->off == dot_len;
		dotdot.ino = rec->ino;
		used++;
	}
	if (!right && !in->damaged)
		LAB_CK_PROBLEM(ck, DIR_DOTDOT_MISSING, .dir = dir->ino);
	*changed |= !right;
	ck->ino[dir->ino].dotdot = dotdot.ino;
	out->rec[0] = dot;
	out->rec[1] = dotdot;
	out->count = 2;
	return used;
}

static int check_block(struct dir *dir, uint32_t index)
{
	struct lab_ck *ck = dir->ck;
	const uint8_t *image = dir->image + (size_t)index * LAB_BLOCK;
	struct lab_ck_recs in, out = { .count = 0 };
	uint8_t buf[LAB_BLOCK];
	unsigned used = 0, first = 0;
	bool changed = false;

	lab_ck_parse_dir(ck, image, &in);
	if (in.damaged && LAB_BUG_ON(ck, CK_CHAIN_DROPS))
		in.count = 0;
	if (in.damaged) {
		LAB_CK_PROBLEM(ck, DIR_CHAIN, .dir = dir->ino, .block = dir->block[index],
			       .num = in.count);
		changed = true;
	}
	if (!index) {
		bool dot_wrong = in.count && in.rec[0].ino != dir->ino;

		first = check_dots(dir, &in, &out, &changed);
		used = LAB_DIRENT_LEN(1) + LAB_DIRENT_LEN(2);
		if (dot_wrong && dir->ino == LAB_ROOT_INO && LAB_BUG_ON(ck, CK_ROOT_DOT))
			in.count = first;
	}
	for (unsigned i = first; i < in.count; i++) {
		struct lab_ck_rec *rec = &in.rec[i];

		if (used + LAB_DIRENT_LEN(rec->name_len) > LAB_BLOCK) {
			LAB_CK_PROBLEM(ck, DIR_OVERFLOW, .dir = dir->ino, .text = rec->name,
				       .text_len = rec->name_len);
			changed = true;
		} else if (check_entry(dir, rec, &changed)) {
			out.rec[out.count++] = *rec;
			used += LAB_DIRENT_LEN(rec->name_len);
		}
	}
	if (!changed)
		return 0;
	lab_ck_build_dir(buf, out.rec, out.count);
	return lab_ck_write(ck, dir->block[index], buf);
}

/* First round: finds directories that have a name in the directory they call "..". */
static void confirm_block(struct dir *dir, uint32_t index)
{
	struct lab_ck *ck = dir->ck;
	struct lab_ck_recs recs;

	lab_ck_parse_dir(ck, dir->image + (size_t)index * LAB_BLOCK, &recs);
	for (unsigned i = 0; i < recs.count; i++) {
		const struct lab_ck_rec *rec = &recs.rec[i];

		if (rec->ino > ck->sb.inode_count || lab_ck_rec_is(rec, ".") ||
		    lab_ck_rec_is(rec, ".."))
			continue;
		if (ck->ino[rec->ino].dotdot == dir->ino && ck->ino[rec->ino].type == DIR_TYPE)
			ck->ino[rec->ino].flags |= LAB_CK_CONFIRMED;
	}
}

static int each_dir(struct lab_ck *ck, bool confirm)
{
	for (uint32_t ino = 1; ino <= ck->sb.inode_count; ino++) {
		struct dir dir = { .ck = ck, .ino = ino };
		int rc;

		if (ck->ino[ino].type != DIR_TYPE)
			continue;
		rc = load(&dir, !confirm);
		for (uint32_t i = 0; !rc && i < dir.blocks; i++) {
			if (confirm)
				confirm_block(&dir, i);
			else
				rc = check_block(&dir, i);
		}
		unload(&dir);
		if (rc)
			return rc;
	}
	return 0;
}

int lab_ck_pass2(struct lab_ck *ck)
{
	int rc = each_dir(ck, true);

	return rc ? rc : each_dir(ck, false);
}
