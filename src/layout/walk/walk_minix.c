/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_minix: finds the structures of minix, versions 1, 2 and 3. */
#include "layout/walk/walk_blocks_priv.h"

#include "base/show.h"

#include <string.h>
#include <sys/stat.h>

#define SUPER 1024u
#define ROOT_INO 1u

enum minix_var {
	MINIX_VERSION,
	MINIX_ENTRY_BYTES,
	MINIX_NUMBER_BYTES,
	MINIX_ZONE_BYTES,
	MINIX_ENTRIES,
};

struct minix_walk {
	struct as_disk_walk *walk;
	unsigned version, entry_bytes, number_bytes, zone_bytes, inode_bytes;
	uint64_t block_bytes, zones, inodes, imap_blocks, zmap_blocks, first_zone;
};

struct minix_file {
	struct minix_walk *m;
	struct as_walk_at at;
	uint32_t mode;
	uint64_t size;
	unsigned depth;
	bool second;
};

/* ---- Superblock ---- */

static int read_super(struct minix_walk *m, struct as_err *err)
{
	struct as_disk_walk *w = m->walk;
	uint64_t magic = as_walk_le(w, SUPER + 16, 2);

	m->block_bytes = 1024;
	m->imap_blocks = as_walk_le(w, SUPER + 4, 2);
	m->zmap_blocks = as_walk_le(w, SUPER + 6, 2);
	m->first_zone = as_walk_le(w, SUPER + 8, 2);
	m->inodes = as_walk_le(w, SUPER, 2);
	m->number_bytes = 2;
	if (as_walk_le(w, SUPER + 24, 2) == 0x4d5a) {
		m->version = 3;
		m->inodes = as_walk_le(w, SUPER, 4);
		m->imap_blocks = as_walk_le(w, SUPER + 6, 2);
		m->zmap_blocks = as_walk_le(w, SUPER + 8, 2);
		m->first_zone = as_walk_le(w, SUPER + 10, 2);
		m->zones = as_walk_le(w, SUPER + 20, 4);
		m->block_bytes = as_walk_le(w, SUPER + 28, 2);
		m->entry_bytes = 64;
		m->number_bytes = 4;
	} else if (magic == 0x137f || magic == 0x138f) {
		m->version = 1;
		m->zones = as_walk_le(w, SUPER + 2, 2);
		m->entry_bytes = magic == 0x137f ? 16 : 32;
	} else if (magic == 0x2468 || magic == 0x2478) {
		m->version = 2;
		m->zones = as_walk_le(w, SUPER + 20, 4);
		m->entry_bytes = magic == 0x2468 ? 16 : 32;
	} else {
		return as_fail(err, AS_EUSE, "the disk has no superblock of minix");
	}
	if (m->block_bytes < 1024 || m->block_bytes % 1024)
		return as_fail(err, AS_EUSE, "the superblock names no size of blocks that exists");
	m->zone_bytes = m->version == 1 ? 2 : 4;
	m->inode_bytes = m->version == 1 ? 32 : 64;
	as_walk_set(w, MINIX_VERSION, m->version);
	as_walk_set(w, MINIX_ENTRY_BYTES, m->entry_bytes);
	as_walk_set(w, MINIX_NUMBER_BYTES, m->number_bytes);
	as_walk_set(w, MINIX_ZONE_BYTES, m->zone_bytes);
	return 0;
}

/* ---- Directories ---- */

static void look_at(struct minix_walk *m, uint64_t ino, uint64_t parent, const char *path,
		    const char *class, unsigned depth);

static void entry(struct minix_file *f, uint64_t off)
{
	struct minix_walk *m = f->m;
	struct as_disk_walk *w = m->walk;
	uint64_t ino = as_walk_le(w, off, m->number_bytes);
	struct as_walk_at at = f->at;
	struct as_buf shown = { 0 };
	char name[64];
	size_t len;
	bool dots;

	as_walk_read(w, off + m->number_bytes, name, m->entry_bytes - m->number_bytes);
	len = strnlen(name, m->entry_bytes - m->number_bytes);
	dots = (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
	if (f->second) {
		if (ino && as_walk_leads_on(name, len))
			look_at(m, ino, f->at.self, as_walk_join(w, f->at.path, name, len), NULL,
				f->depth + 1);
		return;
	}
	as_shown(&shown, name, len);
	at.structure = "dir_entry";
	at.off = off;
	at.class = !ino ? "free" : !dots ? "entry" : len == 1 ? "itself" : "parent";
	at.instance = ino ? as_walk_text(w, "entry %s of %s", as_buf_str(&shown), f->at.path)
			  : as_walk_text(w, "free entry at byte %llu of %s",
					 (unsigned long long)(off % m->block_bytes), f->at.path);
	as_walk_emit(w, &at);
	as_buf_free(&shown);
}

static void file_block(const struct as_walk_blocks *b, uint64_t block, uint64_t at)
{
	struct minix_file *f = b->ctx;
	struct minix_walk *m = f->m;
	struct as_walk_at text = f->at;
	uint64_t off = block * m->block_bytes;

	if (S_ISDIR(f->mode)) {
		for (uint64_t pos = 0; pos < m->block_bytes; pos += m->entry_bytes)
			if (at * m->block_bytes + pos < f->size)
				entry(f, off + pos);
		if (f->second)
			return;
	}
	if (S_ISLNK(f->mode) && !at) {
		as_walk_set(m->walk, MINIX_ENTRIES,
			    f->size < m->block_bytes ? f->size : m->block_bytes);
		text.structure = "link_text";
		text.off = off;
		text.len = m->block_bytes;
		text.instance = as_walk_text(m->walk, "text of %s", f->at.path);
		as_walk_emit(m->walk, &text);
	}
	as_walk_area(m->walk, off, m->block_bytes,
		     as_walk_text(m->walk, "%s %s",
				  S_ISDIR(f->mode)   ? "directory"
				  : S_ISLNK(f->mode) ? "text of"
						     : "data of",
				  f->at.path),
		     S_ISREG(f->mode), at * m->block_bytes);
}

/* ---- Inodes ---- */

/* The children of a directory, block by block; pointers are not emitted again. */
static void children(struct minix_file *f, uint64_t table)
{
	struct minix_walk *m = f->m;
	struct as_walk_blocks b = { .ctx = f };
	uint64_t per_block = m->block_bytes / m->zone_bytes, at = 0;

	f->second = true;
	for (unsigned i = 0; i < 7; i++, at++) {
		uint64_t zone = as_walk_le(m->walk, table + i * m->zone_bytes, m->zone_bytes);

		if (zone >= m->first_zone && zone < m->zones)
			file_block(&b, zone, at);
	}
	for (uint64_t i = 0; i < per_block; i++, at++) {
		uint64_t block = as_walk_le(m->walk, table + 7 * m->zone_bytes, m->zone_bytes);
		uint64_t zone = as_walk_le(m->walk, block * m->block_bytes + i * m->zone_bytes,
					   m->zone_bytes);

		if (block >= m->first_zone && zone >= m->first_zone && zone < m->zones)
			file_block(&b, zone, at);
	}
}

static void look_at(struct minix_walk *m, uint64_t ino, uint64_t parent, const char *path,
		    const char *class, unsigned depth)
{
	struct as_disk_walk *w = m->walk;
	struct minix_file f = { .m = m, .depth = depth };
	struct as_walk_blocks b = { .walk = w,
				    .owner = &f.at,
				    .first_block = m->first_zone,
				    .blocks = m->zones,
				    .block_bytes = m->block_bytes,
				    .pointer_bytes = m->zone_bytes,
				    .data = file_block,
				    .ctx = &f };
	uint64_t table;

	if (!as_walk_inode(w, ino, path) || ino < 1 || ino > m->inodes || depth > WALK_DEPTH_MAX)
		return;
	f.at.off =
		(2 + m->imap_blocks + m->zmap_blocks) * m->block_bytes + (ino - 1) * m->inode_bytes;
	f.mode = (uint32_t)as_walk_le(w, f.at.off, 2);
	f.size = as_walk_le(w, f.at.off + (m->version == 1 ? 4 : 8), 4);
	f.at.structure = m->version == 1 ? "inode1" : "inode2";
	f.at.instance = as_walk_text(w, "inode %llu of %s", (unsigned long long)ino, path);
	f.at.class = class ? class : as_walk_mode_class(f.mode);
	f.at.path = path;
	f.at.self = ino;
	f.at.parent = parent;
	as_walk_emit(w, &f.at);
	if (!S_ISREG(f.mode) && !S_ISDIR(f.mode) && !S_ISLNK(f.mode))
		return;
	table = f.at.off + (m->version == 1 ? 14 : 24);
	as_walk_blocks(&b, table, 7, m->version == 1 ? 2 : 3);
	if (S_ISDIR(f.mode))
		children(&f, table);
}

static int walk_minix(struct as_disk_walk *walk, struct as_err *err)
{
	struct minix_walk m = { .walk = walk };
	struct as_walk_at at = { .off = SUPER, .instance = "superblock" };
	int rc = read_super(&m, err);

	if (rc)
		return rc;
	at.structure = m.version == 3 ? "super3" : "super";
	as_walk_emit(walk, &at);
	at.structure = "inode_bitmap";
	at.instance = "inode bitmap";
	at.off = 2 * m.block_bytes;
	/* Bit 0 stands for no inode. */
	as_walk_bits(walk, &at, "inode", 0, m.inodes + 1, "bitmap.inode");
	at.structure = "zone_bitmap";
	at.instance = "zone bitmap";
	at.off += m.imap_blocks * m.block_bytes;
	if (m.zones > m.first_zone)
		as_walk_bits(walk, &at, "zone", m.first_zone - 1, m.zones - m.first_zone + 1,
			     "bitmap.block");
	look_at(&m, ROOT_INO, ROOT_INO, "/", NULL, 0);
	return 0;
}

static const char *const structures[] = {
	"super",  "super3",  "inode_bitmap", "zone_bitmap", "inode1",
	"inode2", "pointer", "dir_entry",    "link_text",   NULL,
};
static const char *const vars[] = { "version",	  "entry_bytes", "number_bytes",
				    "zone_bytes", "entries",	 NULL };

const struct as_walker as_walker_minix = { .name = "minix",
					   .structures = structures,
					   .vars = vars,
					   .walk = walk_minix };
