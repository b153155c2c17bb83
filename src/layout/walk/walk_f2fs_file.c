/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_f2fs_file: inodes of f2fs, the nodes that lead to their blocks, and directories. */
#include "layout/walk/walk_f2fs_priv.h"

#include "base/show.h"

#include <string.h>
#include <sys/stat.h>

#define ADDRESSES 923u /* in an inode */
#define PER_NODE 1018u
#define I_ADDR 360u
#define I_NID 4052u
#define INLINE_XATTR 1u
#define INLINE_DATA 2u
#define INLINE_DENTRY 4u
#define EXTRA_ATTR 0x20u
#define XATTR_ADDRESSES 50u
#define ENTRY 11u
#define SLOT 8u
#define FEATURE_INODE_CHECKSUM 0x20u

struct f2fs_file {
	struct f2fs_walk *f;
	uint64_t ino, off, size, parent;
	uint32_t mode, in, extra, addresses;
	const char *path, *class;
	unsigned depth;
	int pass; /* of a directory: 0 emits, 1 goes on to the children */
};

static void emit(const struct f2fs_file *file, const char *structure, uint64_t off, uint64_t len,
		 const char *class, const char *instance, uint32_t seal)
{
	struct as_walk_at at = { .structure = structure,
				 .off = off,
				 .len = len,
				 .instance = instance,
				 .class = class,
				 .path = file->path,
				 .self = file->ino,
				 .parent = file->parent,
				 .seal = seal };

	as_walk_emit(file->f->walk, &at);
}

/* ---- Directories ---- */

struct f2fs_entries {
	uint64_t bitmap, entries, names, n;
};

static void entry(const struct f2fs_file *dir, const struct f2fs_entries *e, uint64_t i, size_t len)
{
	struct as_disk_walk *w = dir->f->walk;
	uint64_t off = e->entries + i * ENTRY;
	struct as_buf shown = { 0 };
	char name[256];
	const char *class;

	as_walk_read(w, e->names + i * SLOT, name, len);
	class = len == 1 && name[0] == '.'		       ? "itself"
		: len == 2 && name[0] == '.' && name[1] == '.' ? "parent"
							       : "entry";
	if (dir->pass) {
		if (as_walk_leads_on(name, len))
			as_f2fs_inode(dir->f, as_walk_le(w, off + 4, 4), dir->ino,
				      as_walk_join(w, dir->path, name, len), dir->depth + 1);
		return;
	}
	as_shown(&shown, name, len);
	emit(dir, "dir_entry", off, 0, class,
	     as_walk_text(w, "entry %s of %s", as_buf_str(&shown), dir->path), 0);
	as_walk_set(w, F2FS_ENTRIES, len);
	emit(dir, "dir_name", e->names + i * SLOT, len, class,
	     as_walk_text(w, "name of entry %s of %s", as_buf_str(&shown), dir->path), 0);
	as_buf_free(&shown);
}

static void entries(const struct f2fs_file *dir, const struct f2fs_entries *e)
{
	struct as_disk_walk *w = dir->f->walk;
	struct as_walk_at at = { .structure = "dir_bitmap", .off = e->bitmap, .path = dir->path };

	at.instance = as_walk_text(w, "bitmap of entries of %s", dir->path);
	if (!dir->pass)
		as_walk_bits(w, &at, "entry", 0, e->n, NULL);
	for (uint64_t i = 0; i < e->n;) {
		size_t len = (size_t)as_walk_le(w, e->entries + i * ENTRY + 8, 2);

		if (!(as_walk_le(w, e->bitmap + i / 8, 1) >> i % 8 & 1)) {
			i++;
			continue;
		}
		if (!len || len > 255 || i + (len + SLOT - 1) / SLOT > e->n) {
			if (!dir->pass)
				as_walk_complain(w, "an entry of %s makes no sense", dir->path);
			i++;
			continue;
		}
		entry(dir, e, i, len);
		i += (len + SLOT - 1) / SLOT;
	}
}

static void dir_block(const struct f2fs_file *dir, uint64_t block)
{
	uint64_t off = block * F2FS_BLOCK;
	struct f2fs_entries e = {
		.bitmap = off, .entries = off + 30, .names = off + 2384, .n = 214
	};

	entries(dir, &e);
}

/* In the inode: as many entries as have room, with their bitmap before them. */
static void inline_dir(const struct f2fs_file *dir)
{
	uint64_t start = dir->off + I_ADDR + dir->extra + 4;
	uint64_t room = 4 * ((uint64_t)dir->addresses - XATTR_ADDRESSES - 1);
	uint64_t n = room * 8 / ((ENTRY + SLOT) * 8 + 1), bitmap = (n + 7) / 8;
	uint64_t reserved = room - ((ENTRY + SLOT) * n + bitmap);
	struct f2fs_entries e = { .bitmap = start,
				  .entries = start + bitmap + reserved,
				  .names = start + bitmap + reserved + n * ENTRY,
				  .n = n };

	entries(dir, &e);
}

/* ---- Blocks ---- */

static void one_block(const struct f2fs_file *file, uint64_t block, uint64_t at)
{
	struct as_disk_walk *w = file->f->walk;

	if (!as_f2fs_block_ok(file->f, block))
		return;
	if (S_ISDIR(file->mode))
		dir_block(file, block);
	if (file->pass)
		return;
	if (S_ISLNK(file->mode) && !at) {
		as_walk_set(w, F2FS_ENTRIES, file->size < F2FS_BLOCK ? file->size : F2FS_BLOCK);
		emit(file, "link_text", block * F2FS_BLOCK, F2FS_BLOCK, file->class,
		     as_walk_text(w, "text of %s", file->path), 0);
	}
	as_walk_area(w, block * F2FS_BLOCK, F2FS_BLOCK,
		     as_walk_text(w, "%s %s",
				  S_ISDIR(file->mode)	? "directory"
				  : S_ISLNK(file->mode) ? "text of"
							: "data of",
				  file->path),
		     S_ISREG(file->mode), at * F2FS_BLOCK);
}

/* A node of addresses (level 0) or of nodes. */
static void node(const struct f2fs_file *file, uint64_t nid, unsigned level, uint64_t *at)
{
	struct as_disk_walk *w = file->f->walk;
	uint64_t block = nid ? as_f2fs_node(file->f, nid) : 0, covers = PER_NODE;

	for (unsigned i = 0; i < level; i++)
		covers *= PER_NODE;
	if (!block || !as_walk_first(w, 2 + (unsigned)file->pass, nid)) {
		*at += covers;
		return;
	}
	if (!file->pass) {
		emit(file, level ? "indirect_node" : "direct_node", block * F2FS_BLOCK, 0,
		     file->class,
		     as_walk_text(w, "node %llu of %s", (unsigned long long)nid, file->path), 0);
		as_walk_area(w, block * F2FS_BLOCK, F2FS_BLOCK,
			     as_walk_text(w, "node of %s", file->path), false, 0);
	}
	for (unsigned i = 0; i < PER_NODE; i++) {
		uint64_t to = as_walk_le(w, block * F2FS_BLOCK + i * 4, 4);

		if (level)
			node(file, to, level - 1, at);
		else
			one_block(file, to, (*at)++);
	}
}

static void blocks(const struct f2fs_file *file)
{
	static const unsigned levels[5] = { 0, 0, 1, 1, 2 };
	uint64_t at = 0, table = file->off + I_ADDR + file->extra;

	for (; at < file->addresses; at++)
		one_block(file, as_walk_le(file->f->walk, table + at * 4, 4), at);
	for (unsigned i = 0; i < 5; i++)
		node(file, as_walk_le(file->f->walk, file->off + I_NID + i * 4, 4), levels[i], &at);
}

/* ---- Inodes ---- */

static uint32_t inode_seal(const struct f2fs_file *file)
{
	struct f2fs_walk *f = file->f;
	struct as_seal seal = { .sum = AS_SUM_CRC32, .init = UINT32_MAX };

	if (!(f->feature & FEATURE_INODE_CHECKSUM) || file->extra < 12)
		return 0;
	as_seal_disk(&seal, 1024 + 108, 16);
	as_seal_disk(&seal, file->off + 4076, 4);
	as_seal_disk(&seal, file->off + 68, 4);
	as_seal_whole(&seal, file->off, F2FS_BLOCK, file->off + 368, 4, false);
	return as_walk_seal(f->walk, &seal);
}

void as_f2fs_inode(struct f2fs_walk *f, uint64_t ino, uint64_t parent, const char *path,
		   unsigned depth)
{
	struct as_disk_walk *w = f->walk;
	struct f2fs_file file = { .f = f, .ino = ino, .path = path, .depth = depth };
	uint64_t block;

	if (!as_walk_inode(w, ino, path) || depth > WALK_DEPTH_MAX)
		return;
	block = as_f2fs_node(f, ino);
	if (!block) {
		as_walk_complain(w, "inode %llu of %s has no block", (unsigned long long)ino, path);
		return;
	}
	file.off = block * F2FS_BLOCK;
	file.parent = parent;
	file.mode = (uint32_t)as_walk_le(w, file.off, 2);
	file.in = (uint32_t)as_walk_le(w, file.off + 3, 1);
	file.size = as_walk_le(w, file.off + 16, 8);
	if (file.in & EXTRA_ATTR)
		file.extra = (uint32_t)as_walk_le(w, file.off + I_ADDR, 2) & ~3u;
	if (file.extra > 400)
		file.extra = 0;
	file.addresses = ADDRESSES - file.extra / 4;
	as_walk_set(w, F2FS_EXTRA, file.extra);
	as_walk_set(w, F2FS_ADDRESSES,
		    file.addresses - (file.in & INLINE_XATTR ? XATTR_ADDRESSES : 0));
	file.class = as_walk_mode_class(file.mode);
	emit(&file, "inode", file.off, 0, file.class,
	     as_walk_text(w, "inode %llu of %s", (unsigned long long)ino, path), inode_seal(&file));
	as_walk_area(w, file.off, F2FS_BLOCK, as_walk_text(w, "inode of %s", path), false, 0);
	if (file.in & INLINE_XATTR)
		file.addresses -=
			S_ISDIR(file.mode) && file.in & INLINE_DENTRY ? 0 : XATTR_ADDRESSES;
	if (file.in & INLINE_DATA && S_ISLNK(file.mode)) {
		as_walk_set(w, F2FS_ENTRIES, file.size < 3488 ? file.size : 3488);
		emit(&file, "link_text", file.off + I_ADDR + file.extra + 4, 3488, file.class,
		     as_walk_text(w, "text of %s", path), 0);
	}
	for (file.pass = 0; file.pass < (S_ISDIR(file.mode) ? 2 : 1); file.pass++) {
		if (file.in & INLINE_DENTRY)
			inline_dir(&file);
		else if (!(file.in & INLINE_DATA) &&
			 (S_ISREG(file.mode) || S_ISDIR(file.mode) || S_ISLNK(file.mode)))
			blocks(&file);
	}
}
