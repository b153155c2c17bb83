/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dir.c: directories. On disk a directory is a plain list of records (format.h). In memory, from
 * the first look-up on, it has a hash from names to record positions, so that big directories are
 * not searched.
 *
 * Method. The index keeps the directory's blocks pinned and for each block an upper bound of its
 * largest gap. After a failed operation the index may have changes that the blocks have not. So the
 * index of each directory that it touched is dropped (lab_note_dir), and the next look-up makes a
 * new one.
 *
 * Invariants
 *   1. With an index, every live record has exactly one slot, and every slot one live record.
 *   2. room[i] is never less than the largest gap of block i.
 */
#include "fs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define GONE UINT32_MAX /* slot of a removed entry */

struct dir_slot {
	uint32_t hash;
	uint32_t pos1; /* position + 1; 0 = never used */
	uint32_t ino;
};

struct lab_dirindex {
	struct lab_buf **bufs;
	uint16_t *room;
	uint32_t nblocks, blocks_cap;
	uint32_t room_from; /* blocks below this number have no room */
	struct dir_slot *slots;
	uint32_t mask, filled; /* filled counts removed entries, too */
	uint32_t live;
};

static uint32_t hash_name(const char *name, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15u;

	while (len >= 8) {
		uint64_t word;

		memcpy(&word, name, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
		name += 8;
		len -= 8;
	}
	if (len) {
		uint64_t word = 0;

		memcpy(&word, name, len);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

static struct lab_dirent *entry_at(const struct lab_dirindex *ix, uint32_t pos)
{
	return (struct lab_dirent *)(ix->bufs[pos / LAB_BLOCK]->data + pos % LAB_BLOCK);
}

static bool is_dots(const struct lab_dirent *de)
{
	return (de->name_len == 1 && de->name[0] == '.') ||
	       (de->name_len == 2 && de->name[0] == '.' && de->name[1] == '.');
}

/* With bug DOT_NAMES, ".a" is taken for "..". */
static bool is_listed(const struct as_fs *fs, const struct lab_dirent *de)
{
	if (de->name_len == 2 && de->name[0] == '.' && LAB_BUG_ON(fs, DOT_NAMES))
		return false;
	return de->ino && !is_dots(de);
}

/* Bytes of a record that its own entry does not need. */
static uint32_t gap(const struct lab_dirent *de)
{
	return de->ino ? de->rec_len - LAB_DIRENT_LEN(de->name_len) : de->rec_len;
}

/* The records of a block cover it without gaps, and their names are possible. */
static bool is_sound(const struct lab_dirent *de, uint32_t left)
{
	if (de->rec_len < LAB_DIRENT_LEN(1) || de->rec_len % 4 || de->rec_len > left)
		return false;
	if (!de->ino)
		return true;
	return de->name_len && LAB_DIRENT_LEN(de->name_len) <= de->rec_len &&
	       !memchr(de->name, 0, de->name_len) && !memchr(de->name, '/', de->name_len);
}

static int check_block(struct as_fs *fs, const struct lab_buf *b)
{
	uint32_t off = LAB_BUG_ON(fs, DIR_UNCHECKED) ? LAB_BLOCK : 0;

	while (off < LAB_BLOCK) {
		const struct lab_dirent *de = (const struct lab_dirent *)(b->data + off);

		if (!is_sound(de, LAB_BLOCK - off))
			return lab_corrupt(fs, "directory block", b->block);
		off += de->rec_len;
	}
	return 0;
}

/* ---- The index ---- */

void lab_dir_drop_index(struct as_fs *fs, struct lab_node *dir)
{
	struct lab_dirindex *ix = dir->dir;

	if (!ix)
		return;
	for (uint32_t i = 0; i < ix->nblocks; i++) {
		if (ix->bufs[i])
			lab_unpin(fs, ix->bufs[i]);
	}
	as_free(fs->host, ix->bufs);
	as_free(fs->host, ix->room);
	as_free(fs->host, ix->slots);
	as_free(fs->host, ix);
	dir->dir = NULL;
}

static void put_slot(struct lab_dirindex *ix, uint32_t hash, uint32_t pos, uint32_t ino)
{
	uint32_t i = hash & ix->mask;

	while (ix->slots[i].pos1 && ix->slots[i].pos1 != GONE)
		i = (i + 1) & ix->mask;
	if (!ix->slots[i].pos1)
		ix->filled++;
	ix->slots[i] = (struct dir_slot){ hash, pos + 1, ino };
	ix->live++;
}

/* Makes room for one more slot. */
static int grow_slots(struct as_fs *fs, struct lab_dirindex *ix)
{
	struct dir_slot *old = ix->slots;
	uint32_t old_count = old ? ix->mask + 1 : 0, count = 16;
	uint32_t filled = LAB_BUG_ON(fs, GONE_FREE) ? ix->live : ix->filled;

	if (old && (filled + 1) * 4 <= old_count * 3)
		return 0;
	while (count < (ix->live + 1) * 2)
		count *= 2;
	ix->slots = as_malloc(fs->host, count * sizeof(*ix->slots));
	if (!ix->slots) {
		ix->slots = old;
		return -ENOMEM;
	}
	ix->mask = count - 1;
	ix->filled = ix->live = 0;
	for (uint32_t i = 0; i < old_count; i++) {
		if (old[i].pos1 && old[i].pos1 != GONE)
			put_slot(ix, old[i].hash, old[i].pos1 - 1, old[i].ino);
	}
	as_free(fs->host, old);
	return 0;
}

/* Makes room for block number ix->nblocks. */
static int grow_blocks(struct as_fs *fs, struct lab_dirindex *ix, uint32_t need)
{
	struct lab_buf **bufs;
	uint16_t *room;
	uint32_t cap = ix->blocks_cap ? ix->blocks_cap : 2;

	if (need <= ix->blocks_cap)
		return 0;
	while (cap < need)
		cap *= 2;
	bufs = as_malloc(fs->host, cap * sizeof(*bufs));
	room = as_malloc(fs->host, cap * sizeof(*room));
	if (!bufs || !room) {
		as_free(fs->host, bufs);
		as_free(fs->host, room);
		return -ENOMEM;
	}
	if (ix->nblocks) {
		memcpy(bufs, ix->bufs, ix->nblocks * sizeof(*bufs));
		memcpy(room, ix->room, ix->nblocks * sizeof(*room));
	}
	as_free(fs->host, ix->bufs);
	as_free(fs->host, ix->room);
	ix->bufs = bufs;
	ix->room = room;
	ix->blocks_cap = cap;
	return 0;
}

static void append_block(struct as_fs *fs, struct lab_dirindex *ix, struct lab_buf *b)
{
	lab_pin(fs, b);
	ix->bufs[ix->nblocks] = b;
	ix->room[ix->nblocks] = LAB_BLOCK;
	ix->nblocks++;
}

static int index_block(struct as_fs *fs, struct lab_dirindex *ix, uint32_t i)
{
	struct lab_buf *b = ix->bufs[i];
	uint32_t off = 0, room = 0;
	int rc = check_block(fs, b);

	while (off < LAB_BLOCK && !rc) {
		const struct lab_dirent *de = (const struct lab_dirent *)(b->data + off);

		if (gap(de) > room)
			room = gap(de);
		if (de->ino && !is_dots(de)) {
			rc = grow_slots(fs, ix);
			if (!rc)
				put_slot(ix, hash_name(de->name, de->name_len), i * LAB_BLOCK + off,
					 de->ino);
		}
		off += de->rec_len;
	}
	ix->room[i] = (uint16_t)room;
	return rc;
}

static int read_block(struct as_fs *fs, struct lab_node *dir, uint32_t i, struct lab_buf **b)
{
	uint32_t block;
	int rc = lab_bmap(fs, dir, i, &block);

	if (!rc && !block)
		rc = lab_corrupt(fs, "hole in directory", dir->ino);
	return rc ? rc : lab_bread(fs, block, LAB_K_RAW, b);
}

static int make_index(struct as_fs *fs, struct lab_node *dir)
{
	uint32_t nblocks = (uint32_t)(dir->raw->size / LAB_BLOCK);
	struct lab_dirindex *ix;
	int rc;

	if (dir->dir)
		return 0;
	if (dir->raw->size % LAB_BLOCK || !nblocks || nblocks > LAB_MAX_BLOCKS)
		return lab_corrupt(fs, "size of directory", dir->ino);
	ix = as_malloc(fs->host, sizeof(*ix));
	if (!ix)
		return -ENOMEM;
	dir->dir = ix;
	rc = grow_blocks(fs, ix, nblocks);
	if (!rc)
		rc = grow_slots(fs, ix);
	for (uint32_t i = 0; i < nblocks && !rc; i++) {
		struct lab_buf *b;

		rc = read_block(fs, dir, i, &b);
		if (rc && rc != -EUCLEAN && LAB_BUG_ON(fs, LOOKUP_EIO)) {
			ix->bufs[ix->nblocks] = NULL;
			ix->room[ix->nblocks++] = 0;
			rc = 0;
			continue;
		}
		if (!rc) {
			append_block(fs, ix, b);
			rc = index_block(fs, ix, i);
		}
	}
	if (rc)
		lab_dir_drop_index(fs, dir);
	return rc;
}

static struct dir_slot *find_slot(const struct lab_dirindex *ix, const char *name, size_t len)
{
	uint32_t hash = hash_name(name, len);

	for (uint32_t i = hash & ix->mask; ix->slots[i].pos1; i = (i + 1) & ix->mask) {
		struct dir_slot *s = &ix->slots[i];
		const struct lab_dirent *de;

		if (s->hash != hash || s->pos1 == GONE)
			continue;
		de = entry_at(ix, s->pos1 - 1);
		if (de->name_len == len && !memcmp(de->name, name, len))
			return s;
	}
	return NULL;
}

int lab_dir_find(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len,
		 struct lab_where *where)
{
	struct dir_slot *s;
	int rc;

	if (len > LAB_NAME_MAX - LAB_BUG_ON(fs, NAME_255))
		return -ENAMETOOLONG;
	rc = make_index(fs, dir);
	if (rc)
		return rc;
	s = find_slot(dir->dir, name, len);
	if (!s)
		return -ENOENT;
	*where = (struct lab_where){ .pos = s->pos1 - 1, .ino = s->ino };
	return 0;
}

/* ---- Changes ---- */

/* Puts an entry into the gap of the record at `off`, which is large enough. */
static uint32_t fill_gap(struct lab_buf *b, uint32_t off, const char *name, size_t len,
			 uint32_t ino, uint32_t mode)
{
	struct lab_dirent *de = (struct lab_dirent *)(b->data + off);

	if (de->ino) {
		uint32_t own = LAB_DIRENT_LEN(de->name_len), rest = de->rec_len - own;

		de->rec_len = (uint16_t)own;
		off += own;
		de = (struct lab_dirent *)(b->data + off);
		de->rec_len = (uint16_t)rest;
	}
	de->ino = ino;
	de->name_len = (uint8_t)len;
	de->type = (uint8_t)(mode >> 12);
	memcpy(de->name, name, len);
	memset(de->name + len, 0, LAB_DIRENT_LEN(len) - LAB_DIRENT_HEAD - len);
	return off;
}

/* A record of block i with a gap of `need`; corrects room[i] when there is none. */
static bool find_gap(struct lab_dirindex *ix, uint32_t i, uint32_t need, uint32_t *off)
{
	uint32_t best = 0;

	for (*off = 0; *off < LAB_BLOCK;) {
		const struct lab_dirent *de = (const struct lab_dirent *)(ix->bufs[i]->data + *off);

		if (gap(de) >= need)
			return true;
		if (gap(de) > best)
			best = gap(de);
		*off += de->rec_len;
	}
	ix->room[i] = (uint16_t)best;
	return false;
}

static int add_block(struct as_fs *fs, struct lab_node *dir)
{
	struct lab_dirindex *ix = dir->dir;
	struct lab_buf *b;
	int rc;

	if (ix->nblocks >= (LAB_BUG_ON(fs, DIR_FULL) ? 2 : LAB_MAX_BLOCKS))
		return -ENOSPC;
	rc = grow_blocks(fs, ix, ix->nblocks + 1);
	if (!rc)
		rc = lab_bmap_get(fs, dir, ix->nblocks, LAB_S_META, true, &b);
	if (rc)
		return rc;
	((struct lab_dirent *)b->data)->rec_len = LAB_BLOCK;
	append_block(fs, ix, b);
	dir->raw->size += LAB_BLOCK;
	return 0;
}

/* Prepares a directory for a change of its entries: it has an index, and its inode is dirty. */
static int begin_change(struct as_fs *fs, struct lab_node *dir)
{
	int rc = make_index(fs, dir);

	if (!rc)
		rc = lab_idirty(fs, dir, LAB_WHY_OTHER);
	if (!rc)
		lab_note_dir(fs, dir);
	return rc;
}

/* Finds an entry that is about to change. The block that holds it becomes dirty. */
static int find_to_change(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len,
			  struct dir_slot **slot)
{
	int rc = begin_change(fs, dir);

	if (rc)
		return rc;
	*slot = find_slot(dir->dir, name, len);
	if (!*slot)
		return -ENOENT;
	return lab_dirty(fs, dir->dir->bufs[((*slot)->pos1 - 1) / LAB_BLOCK], LAB_S_META);
}

int lab_dir_add(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len, uint32_t ino,
		uint32_t mode)
{
	uint32_t need = LAB_DIRENT_LEN(len), i, off = 0;
	struct lab_dirindex *ix;
	int rc = begin_change(fs, dir);

	if (rc)
		return rc;
	ix = dir->dir;
	rc = grow_slots(fs, ix);
	if (rc)
		return rc;
	for (i = ix->room_from; i < ix->nblocks; i++) {
		if (ix->room[i] >= need && find_gap(ix, i, need, &off))
			break;
		if (i == ix->room_from && ix->room[i] < LAB_DIRENT_LEN(1))
			ix->room_from++;
	}
	if (i == ix->nblocks) {
		rc = add_block(fs, dir);
		off = 0;
		if (!rc && ix->nblocks == LAB_DIRECT + 1 && LAB_BUG_ON(fs, DIR_GROWTH))
			return 0;
	}
	if (!rc)
		rc = lab_dirty(fs, ix->bufs[i], LAB_S_META);
	if (rc)
		return rc;
	off = fill_gap(ix->bufs[i], off, name, len, ino, mode);
	put_slot(ix, hash_name(name, len), i * LAB_BLOCK + off, ino);
	dir->raw->mtime_ns = dir->raw->ctime_ns = (int64_t)lab_now(fs);
	return 0;
}

/* Gives the record at `off` to the one before it, or marks it free. */
static uint32_t cut(struct lab_buf *b, uint32_t off)
{
	struct lab_dirent *de = (struct lab_dirent *)(b->data + off), *prev = NULL;

	for (uint32_t at = 0; at < off;) {
		prev = (struct lab_dirent *)(b->data + at);
		at += prev->rec_len;
	}
	if (!prev) {
		de->ino = 0;
		return de->rec_len;
	}
	prev->rec_len = (uint16_t)(prev->rec_len + de->rec_len);
	return gap(prev);
}

int lab_dir_remove(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len)
{
	struct lab_dirindex *ix;
	uint32_t i, room;
	struct dir_slot *s;
	int rc = find_to_change(fs, dir, name, len, &s);

	if (rc)
		return rc;
	ix = dir->dir;
	i = (s->pos1 - 1) / LAB_BLOCK;
	if (entry_at(ix, s->pos1 - 1)->type == S_IFDIR >> 12)
		lab_walk_forget(fs);
	room = cut(ix->bufs[i], (s->pos1 - 1) % LAB_BLOCK);
	if (room > ix->room[i])
		ix->room[i] = (uint16_t)room;
	if (i < ix->room_from)
		ix->room_from = i;
	s->pos1 = GONE;
	ix->live--;
	dir->raw->mtime_ns = dir->raw->ctime_ns = (int64_t)lab_now(fs);
	return 0;
}

int lab_dir_set(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len, uint32_t ino,
		uint32_t mode)
{
	struct lab_dirent *de;
	struct dir_slot *s;
	int rc = find_to_change(fs, dir, name, len, &s);

	if (rc)
		return rc;
	lab_walk_forget(fs);
	de = entry_at(dir->dir, s->pos1 - 1);
	de->ino = s->ino = ino;
	de->type = (uint8_t)(mode >> 12);
	dir->raw->mtime_ns = dir->raw->ctime_ns = (int64_t)lab_now(fs);
	return 0;
}

int lab_dir_init(struct as_fs *fs, struct lab_node *dir, uint32_t parent_ino)
{
	struct lab_dirent *dot, *dotdot;
	struct lab_buf *b;
	int rc = lab_bmap_get(fs, dir, 0, LAB_S_META, true, &b);

	if (rc)
		return rc;
	dot = (struct lab_dirent *)b->data;
	*dot = (struct lab_dirent){ .ino = dir->ino, .rec_len = 12, .name_len = 1, .type = 4 };
	dot->name[0] = '.';
	dotdot = (struct lab_dirent *)(b->data + 12);
	*dotdot = (struct lab_dirent){
		.ino = parent_ino, .rec_len = LAB_BLOCK - 12, .name_len = 2, .type = 4
	};
	memcpy(dotdot->name, "..", 2);
	dir->raw->size = LAB_BLOCK;
	return 0;
}

int lab_dir_set_parent(struct as_fs *fs, struct lab_node *dir, uint32_t parent_ino)
{
	struct lab_dirent *dotdot;
	struct lab_buf *b;
	int rc = read_block(fs, dir, 0, &b);

	if (!rc)
		rc = check_block(fs, b);
	if (!rc)
		rc = lab_dirty(fs, b, LAB_S_META);
	if (rc)
		return rc;
	dotdot = (struct lab_dirent *)(b->data + ((struct lab_dirent *)b->data)->rec_len);
	if ((uint8_t *)dotdot >= b->data + LAB_BLOCK || dotdot->name_len != 2 || !is_dots(dotdot))
		return lab_corrupt(fs, "no \"..\" in directory", dir->ino);
	dotdot->ino = parent_ino;
	return 0;
}

int lab_dir_check_empty(struct as_fs *fs, struct lab_node *dir)
{
	uint32_t nblocks = (uint32_t)(dir->raw->size / LAB_BLOCK);

	if (LAB_BUG_ON(fs, RMDIR_FULL) && nblocks > 1)
		nblocks = 1;
	for (uint32_t i = 0; i < nblocks; i++) {
		struct lab_buf *b;
		int rc = read_block(fs, dir, i, &b);

		if (rc && rc != -EUCLEAN && LAB_BUG_ON(fs, RMDIR_EIO))
			continue;
		if (!rc)
			rc = check_block(fs, b);
		if (rc)
			return rc;
		for (uint32_t off = 0; off < LAB_BLOCK;) {
			const struct lab_dirent *de = (const struct lab_dirent *)(b->data + off);

			if (is_listed(fs, de))
				return -ENOTEMPTY;
			off += de->rec_len;
		}
	}
	return 0;
}

int lab_dir_list(struct as_fs *fs, struct lab_node *dir, as_fill_fn fill, void *ctx)
{
	uint32_t nblocks = (uint32_t)(dir->raw->size / LAB_BLOCK);
	char name[LAB_NAME_MAX + 1];

	for (uint32_t i = 0; i < nblocks; i++) {
		struct lab_buf *b;
		int rc = read_block(fs, dir, i, &b);

		if (!rc)
			rc = check_block(fs, b);
		for (uint32_t off = 0; off < LAB_BLOCK && !rc;) {
			const struct lab_dirent *de = (const struct lab_dirent *)(b->data + off);

			if (is_listed(fs, de)) {
				memcpy(name, de->name, de->name_len);
				name[de->name_len] = 0;
				rc = fill(ctx, name, de->ino, (uint32_t)de->type << 12);
			}
			off += de->rec_len;
		}
		if (rc)
			return rc;
	}
	return 0;
}
