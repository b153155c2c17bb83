/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_lab: finds the structures of labfs. Of labfs it uses only labfs/format.h. */
#include "layout/walk/walk_blocks_priv.h"

#include "base/show.h"
#include "labfs/format.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

enum lab_var { LAB_VAR_BLOCK_BYTES, LAB_VAR_ENTRIES };
enum lab_space { LAB_SEEN_INODE };

struct lab_walk {
	struct as_disk_walk *walk;
	struct lab_super super;
};

struct lab_file {
	struct lab_walk *lab;
	struct as_walk_at at;
	struct lab_inode inode;
	unsigned depth;
	bool second; /* the second time through a directory: its children */
};

static uint32_t whole_seal(struct lab_walk *lab, uint64_t off, uint64_t len, uint64_t csum)
{
	struct as_seal seal = { .init = UINT32_MAX, .final = UINT32_MAX };

	as_seal_whole(&seal, off, len, off + csum, 4, false);
	return as_walk_seal(lab->walk, &seal);
}

/* ---- Directories ---- */

static void look_at(struct lab_walk *lab, uint32_t ino, uint32_t parent, const char *path,
		    const char *class, unsigned depth);

static void entry(struct lab_file *f, uint64_t off, const struct lab_dirent *head)
{
	struct as_disk_walk *w = f->lab->walk;
	bool dots;
	char name[256];
	struct as_buf shown = { 0 };
	struct as_walk_at at = f->at;

	as_walk_read(w, off + LAB_DIRENT_HEAD, name, head->name_len);
	dots = (head->name_len == 1 && name[0] == '.') ||
	       (head->name_len == 2 && name[0] == '.' && name[1] == '.');
	if (f->second) {
		if (head->ino && as_walk_leads_on(name, head->name_len))
			look_at(f->lab, head->ino, (uint32_t)f->at.self,
				as_walk_join(w, f->at.path, name, head->name_len), NULL,
				f->depth + 1);
		return;
	}
	as_shown(&shown, name, head->name_len);
	at.structure = "dir_entry";
	at.off = off;
	at.len = head->rec_len;
	at.seal = 0;
	at.class = !head->ino		 ? "free"
		   : !dots		 ? "entry"
		   : head->name_len == 1 ? "itself"
					 : "parent";
	at.instance = head->ino ? as_walk_text(w, "entry %s of %s", as_buf_str(&shown), f->at.path)
				: as_walk_text(w, "free entry at byte %llu of %s",
					       (unsigned long long)(off % LAB_BLOCK), f->at.path);
	as_walk_emit(w, &at);
	as_buf_free(&shown);
}

static void dir_block(struct lab_file *f, uint64_t off)
{
	struct as_disk_walk *w = f->lab->walk;
	struct lab_dirent head;

	for (uint32_t pos = 0; pos + LAB_DIRENT_HEAD <= LAB_BLOCK; pos += head.rec_len) {
		as_walk_read(w, off + pos, &head, LAB_DIRENT_HEAD);
		if (head.rec_len < LAB_DIRENT_HEAD || pos + head.rec_len > LAB_BLOCK ||
		    LAB_DIRENT_HEAD + head.name_len > head.rec_len) {
			if (!f->second)
				as_walk_complain(w, "a directory entry of %s makes no sense",
						 f->at.path);
			head.rec_len = (uint16_t)(LAB_BLOCK - pos);
			if (!f->second)
				entry(f, off + pos, &head);
			return;
		}
		entry(f, off + pos, &head);
	}
}

static void file_block(const struct as_walk_blocks *b, uint64_t block, uint64_t at)
{
	struct lab_file *f = b->ctx;
	struct as_disk_walk *w = f->lab->walk;
	struct as_walk_at text = f->at;

	if (S_ISDIR(f->inode.mode)) {
		dir_block(f, block * LAB_BLOCK);
		if (f->second)
			return;
	}
	if (S_ISLNK(f->inode.mode) && !at) {
		as_walk_set(w, LAB_VAR_ENTRIES,
			    f->inode.size < LAB_BLOCK ? f->inode.size : LAB_BLOCK);
		text.structure = "link_text";
		text.off = block * LAB_BLOCK;
		text.len = LAB_BLOCK;
		text.seal = 0;
		text.instance = as_walk_text(w, "text of %s", f->at.path);
		as_walk_emit(w, &text);
	}
	as_walk_area(w, block * LAB_BLOCK, LAB_BLOCK,
		     as_walk_text(w, "%s %s",
				  S_ISDIR(f->inode.mode)   ? "directory"
				  : S_ISLNK(f->inode.mode) ? "text of"
							   : "data of",
				  f->at.path),
		     S_ISREG(f->inode.mode), at * LAB_BLOCK);
}

static void xattrs(struct lab_file *f)
{
	struct as_disk_walk *w = f->lab->walk;
	uint64_t off = (uint64_t)f->inode.xattr_block * LAB_BLOCK,
		 pos = sizeof(struct lab_xattr_head);
	struct as_walk_at at = f->at;

	if (!f->inode.xattr_block || f->inode.xattr_block >= f->lab->super.block_count)
		return;
	at.structure = "xattr_head";
	at.off = off;
	at.len = 0;
	at.seal = whole_seal(f->lab, off, LAB_BLOCK, offsetof(struct lab_xattr_head, csum));
	at.instance = as_walk_text(w, "attribute block of %s", f->at.path);
	as_walk_emit(w, &at);
	as_walk_area(w, off, LAB_BLOCK, as_walk_text(w, "attributes of %s", f->at.path), false, 0);
	at.structure = "xattr_entry";
	for (unsigned i = 0; pos + 4 <= LAB_BLOCK && as_walk_le(w, off + pos, 1); i++) {
		at.off = off + pos;
		at.len = LAB_XATTR_LEN(as_walk_le(w, at.off, 1), as_walk_le(w, at.off + 2, 2));
		if (pos + at.len > LAB_BLOCK)
			return;
		at.instance = as_walk_text(w, "attribute %u of %s", i, f->at.path);
		as_walk_emit(w, &at);
		pos += at.len;
	}
}

/* ---- Inodes ---- */

static void look_at(struct lab_walk *lab, uint32_t ino, uint32_t parent, const char *path,
		    const char *class, unsigned depth)
{
	struct as_disk_walk *w = lab->walk;
	struct lab_file f = { .lab = lab, .depth = depth };
	struct as_walk_blocks b = { .walk = w,
				    .owner = &f.at,
				    .first_block = 1,
				    .blocks = lab->super.block_count,
				    .block_bytes = LAB_BLOCK,
				    .pointer_bytes = 4,
				    .data = file_block,
				    .ctx = &f };

	if (!as_walk_inode(w, ino, path) || ino < 1 || ino > lab->super.inode_count ||
	    depth > WALK_DEPTH_MAX)
		return;
	f.at.off = (uint64_t)lab->super.inode_table_start * LAB_BLOCK +
		   (uint64_t)(ino - 1) * LAB_INODE_BYTES;
	as_walk_read(w, f.at.off, &f.inode, sizeof(f.inode));
	f.at.structure = "inode";
	f.at.instance = as_walk_text(w, "inode %u of %s", ino, path);
	f.at.class = class ? class : as_walk_mode_class(f.inode.mode);
	f.at.path = path;
	f.at.self = ino;
	f.at.parent = parent;
	f.at.seal = whole_seal(lab, f.at.off, sizeof(struct lab_inode),
			       offsetof(struct lab_inode, csum));
	as_walk_emit(w, &f.at);
	xattrs(&f);
	if (!S_ISREG(f.inode.mode) && !S_ISDIR(f.inode.mode) &&
	    !(S_ISLNK(f.inode.mode) && f.inode.blocks))
		return;
	as_walk_blocks(&b, f.at.off + offsetof(struct lab_inode, ptr), LAB_DIRECT, 2);
	if (!S_ISDIR(f.inode.mode))
		return;
	f.second = true;
	for (uint32_t i = 0; i < LAB_DIRECT; i++)
		if (f.inode.ptr[i] && f.inode.ptr[i] < lab->super.block_count)
			dir_block(&f, (uint64_t)f.inode.ptr[i] * LAB_BLOCK);
	if (f.inode.ptr[LAB_DIRECT])
		for (uint32_t i = 0; i < LAB_PTRS; i++) {
			uint64_t to = as_walk_le(
				w, (uint64_t)f.inode.ptr[LAB_DIRECT] * LAB_BLOCK + i * 4, 4);

			if (to && to < lab->super.block_count)
				dir_block(&f, to * LAB_BLOCK);
		}
}

/* ---- Journal ---- */

static void journal_block(struct lab_walk *lab, uint64_t off, uint32_t number)
{
	static const struct {
		const char *structure, *words;
		uint64_t entries_max;
	} kinds[] = {
		[LAB_J_SUPER] = { "journal_super", "journal superblock", 0 },
		[LAB_J_DESC] = { "journal_descriptor", "journal descriptor", LAB_J_TAGS },
		[LAB_J_REVOKE] = { "journal_revoke", "journal revoke block", LAB_J_REVOKES },
		[LAB_J_COMMIT] = { "journal_commit", "journal commit block", 0 },
	};
	struct as_disk_walk *w = lab->walk;
	uint64_t kind = as_walk_le(w, off + 4, 4), n = as_walk_le(w, off + 16, 4);
	struct as_walk_at at = { .off = off };

	if (as_walk_le(w, off, 4) != LAB_J_MAGIC || kind < LAB_J_SUPER || kind > LAB_J_COMMIT)
		return;
	as_walk_set(w, LAB_VAR_ENTRIES, n < kinds[kind].entries_max ? n : kinds[kind].entries_max);
	at.structure = kinds[kind].structure;
	at.seal = whole_seal(lab, off, LAB_BLOCK, offsetof(struct lab_j_head, csum));
	at.instance = kind == LAB_J_SUPER
			      ? kinds[kind].words
			      : as_walk_text(w, "%s %u (transaction %llu)", kinds[kind].words,
					     number, (unsigned long long)as_walk_le(w, off + 8, 4));
	as_walk_emit(w, &at);
}

/* ---- All of it ---- */

static void emit_super(struct lab_walk *lab, uint64_t off, const char *instance, const char *class)
{
	struct as_walk_at at = { .structure = "super",
				 .off = off,
				 .instance = instance,
				 .class = class };

	at.seal = whole_seal(lab, off, sizeof(struct lab_super), offsetof(struct lab_super, csum));
	as_walk_emit(lab->walk, &at);
}

static int walk_lab(struct as_disk_walk *walk, struct as_err *err)
{
	struct lab_walk lab = { .walk = walk };
	struct lab_super *s = &lab.super;
	struct as_walk_at at = { 0 };

	if (!as_walk_read(walk, 0, s, sizeof(*s)) || s->magic != LAB_MAGIC)
		return as_fail(err, AS_EUSE, "the disk has no superblock of labfs");
	as_walk_set(walk, LAB_VAR_BLOCK_BYTES, LAB_BLOCK);
	emit_super(&lab, 0, "superblock", "");
	if ((uint64_t)s->block_count * LAB_BLOCK <= as_walk_disk_bytes(walk) && s->block_count)
		emit_super(&lab, (uint64_t)(s->block_count - 1) * LAB_BLOCK, "backup superblock",
			   "backup");
	at.structure = at.instance = "inode_bitmap";
	at.instance = "inode bitmap";
	at.off = (uint64_t)s->inode_bitmap_start * LAB_BLOCK;
	as_walk_bits(walk, &at, "inode", 1, s->inode_count, "bitmap.inode");
	at.structure = "block_bitmap";
	at.instance = "block bitmap";
	at.off = (uint64_t)s->block_bitmap_start * LAB_BLOCK;
	as_walk_bits(walk, &at, "block", 0, s->block_count, "bitmap.block");
	look_at(&lab, LAB_ROOT_INO, LAB_ROOT_INO, "/", NULL, 0);
	for (uint32_t i = 0; i < s->journal_blocks && i < as_walk_disk_bytes(walk) / LAB_BLOCK; i++)
		journal_block(&lab, (uint64_t)(s->journal_start + i) * LAB_BLOCK, i);
	return 0;
}

static const char *const structures[] = {
	"super",
	"inode_bitmap",
	"block_bitmap",
	"inode",
	"pointer",
	"dir_entry",
	"link_text",
	"xattr_head",
	"xattr_entry",
	"journal_super",
	"journal_descriptor",
	"journal_revoke",
	"journal_commit",
	NULL,
};
static const char *const vars[] = { "block_bytes", "entries", NULL };

const struct as_walker as_walker_lab = { .name = "lab",
					 .structures = structures,
					 .vars = vars,
					 .walk = walk_lab };
