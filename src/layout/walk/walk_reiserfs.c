/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_reiserfs: finds the structures of ReiserFS. All items are in one tree. It is walked twice:
 * first for the names, which lead from an object to its directory, then for the rest.
 */
#include "layout/walk/walk_names_priv.h"

#include "base/show.h"

#include <string.h>
#include <sys/stat.h>

#define SUPER 65536u
#define HEAD 24u /* of a block, and of an item */
#define LEVELS_MAX 8u
#define ROOT_OBJECT 2u
#define BITMAPS_MAX 4096u

enum reiser_var { REISER_BLOCK_BYTES, REISER_ENTRIES };
enum reiser_space { REISER_SEEN_NAMES = 1, REISER_SEEN_BLOCK };
enum reiser_item { ITEM_STAT, ITEM_INDIRECT, ITEM_DIRECT, ITEM_DIR, ITEM_OTHER };

struct reiser_walk {
	struct as_disk_walk *walk;
	uint64_t block_bytes, blocks;
	struct as_walk_names names;
	bool collecting;
};

/* One item of a leaf. */
struct reiser_head {
	uint64_t at, body; /* of its head and of itself on the disk */
	uint32_t dir, object, count, len, version;
	uint64_t offset;
	enum reiser_item kind;
};

static bool is_block(const struct reiser_walk *r, uint64_t block)
{
	return block && block < r->blocks &&
	       (block + 1) * r->block_bytes <= as_walk_disk_bytes(r->walk);
}

/* ---- Items ---- */

static struct reiser_head read_head(struct reiser_walk *r, uint64_t block_off, uint64_t at)
{
	struct as_disk_walk *w = r->walk;
	struct reiser_head h = { .at = at };
	uint64_t key = as_walk_le(w, at + 8, 8), old;

	h.dir = (uint32_t)as_walk_le(w, at, 4);
	h.object = (uint32_t)as_walk_le(w, at + 4, 4);
	h.count = (uint32_t)as_walk_le(w, at + 16, 2);
	h.len = (uint32_t)as_walk_le(w, at + 18, 2);
	h.body = block_off + as_walk_le(w, at + 20, 2);
	h.version = (uint32_t)as_walk_le(w, at + 22, 2);
	old = key >> 32;
	if (h.version) {
		h.kind = key >> 60 < ITEM_OTHER ? (enum reiser_item)(key >> 60) : ITEM_OTHER;
		h.offset = key & ((UINT64_C(1) << 60) - 1);
	} else {
		h.kind = !old		     ? ITEM_STAT
			 : old == 500	     ? ITEM_DIR
			 : old == 0xffffffff ? ITEM_DIRECT
			 : old == 0xfffffffe ? ITEM_INDIRECT
					     : ITEM_OTHER;
		h.offset = key & 0xffffffff;
	}
	return h;
}

static void emit(struct reiser_walk *r, const struct reiser_head *h, const char *structure,
		 uint64_t off, uint64_t len, const char *instance, const char *class)
{
	struct as_walk_at at = { .structure = structure,
				 .off = off,
				 .len = len,
				 .instance = instance,
				 .class = class,
				 .path = as_walk_name_path(&r->names, h->object),
				 .self = h->object,
				 .parent = h->dir };

	as_walk_emit(r->walk, &at);
}

/* The names of a directory's item: each ends where that of the entry before it begins. */
static void dir_item(struct reiser_walk *r, const struct reiser_head *h)
{
	struct as_disk_walk *w = r->walk;
	uint64_t end = h->len;
	const char *path = r->collecting ? NULL : as_walk_name_path(&r->names, h->object);

	for (uint32_t i = 0; i < h->count && (i + 1) * 16 <= h->len; i++) {
		uint64_t head = h->body + i * 16, from = as_walk_le(w, head + 12, 2), len;
		struct as_buf shown = { 0 };
		char name[8192]; /* as long as a block at most */
		const char *class;

		if (from > end || from < (uint64_t)h->count * 16)
			return;
		as_walk_read(w, h->body + from, name, end - from);
		len = strnlen(name, end - from);
		end = from;
		if (r->collecting) {
			as_walk_name_add(&r->names, as_walk_le(w, head + 8, 4), h->object, name,
					 len);
			continue;
		}
		as_shown(&shown, name, len);
		class = len == 1 && name[0] == '.'		 ? "itself"
			: len == 2 && memcmp(name, "..", 2) == 0 ? "parent"
								 : "entry";
		emit(r, h, "dir_entry", head, 0,
		     as_walk_text(w, "entry %s of %s", as_buf_str(&shown), path), class);
		as_walk_set(w, REISER_ENTRIES, len);
		emit(r, h, "dir_name", h->body + from, len,
		     as_walk_text(w, "name of entry %s of %s", as_buf_str(&shown), path), class);
		as_buf_free(&shown);
	}
}

static void indirect_item(struct reiser_walk *r, const struct reiser_head *h)
{
	struct as_disk_walk *w = r->walk;
	const char *path = as_walk_name_path(&r->names, h->object);
	const char *what = as_walk_text(w, "data of %s", path);

	as_walk_set(w, REISER_ENTRIES, h->len / 4);
	emit(r, h, "indirect_item", h->body, h->len, as_walk_text(w, "pointers of %s", path), "");
	for (uint32_t i = 0; i < h->len / 4; i++) {
		uint64_t block = as_walk_le(w, h->body + i * 4, 4);

		if (is_block(r, block))
			as_walk_area(w, block * r->block_bytes, r->block_bytes, what, true,
				     h->offset - 1 + i * r->block_bytes);
	}
}

static void item_body(struct reiser_walk *r, const struct reiser_head *h)
{
	struct as_disk_walk *w = r->walk;
	const char *path = as_walk_name_path(&r->names, h->object);
	struct as_walk_name *name = as_walk_name_of(&r->names, h->object);
	uint32_t mode = (uint32_t)as_walk_le(w, h->body, 2);

	switch (h->kind) {
	case ITEM_STAT:
		if (name)
			name->mode = mode;
		emit(r, h, h->len == 44 ? "stat_data" : "stat_data_old", h->body, h->len,
		     as_walk_text(w, "stat data of %s", path), as_walk_mode_class(mode));
		break;
	case ITEM_DIR:
		dir_item(r, h);
		break;
	case ITEM_INDIRECT:
		indirect_item(r, h);
		break;
	case ITEM_DIRECT:
		if (name && S_ISLNK(name->mode)) {
			as_walk_set(w, REISER_ENTRIES, h->len);
			emit(r, h, "link_text", h->body, h->len,
			     as_walk_text(w, "text of %s", path), "");
		} else {
			as_walk_area(w, h->body, h->len, as_walk_text(w, "tail of %s", path), true,
				     h->offset - 1);
		}
		break;
	default:
		break;
	}
}

/* ---- The tree ---- */

static void leaf(struct reiser_walk *r, uint64_t off, uint64_t n)
{
	static const char *const words[] = { "stat data", "indirect item", "direct item",
					     "directory item", "item" };

	for (uint64_t i = 0; i < n && (i + 2) * HEAD <= r->block_bytes; i++) {
		struct reiser_head h = read_head(r, off, off + HEAD + i * HEAD);

		if (!r->collecting)
			emit(r, &h, "item_head", h.at, 0,
			     as_walk_text(r->walk, "head of the %s of %s at %llu", words[h.kind],
					  as_walk_name_path(&r->names, h.object),
					  (unsigned long long)h.offset),
			     words[h.kind]);
		if (h.body < off + HEAD || h.body + h.len > off + r->block_bytes)
			continue;
		if (!r->collecting)
			item_body(r, &h);
		else if (h.kind == ITEM_DIR)
			dir_item(r, &h);
	}
}

static void node_entry(struct reiser_walk *r, const char *structure, uint64_t off,
		       const char *words, uint64_t i, uint64_t block)
{
	struct as_walk_at at = { .structure = structure,
				 .off = off,
				 .instance = as_walk_text(r->walk, "%s %llu of node %llu", words,
							  (unsigned long long)i,
							  (unsigned long long)block),
				 .self = block };

	as_walk_emit(r->walk, &at);
}

static void node(struct reiser_walk *r, uint64_t block, unsigned depth)
{
	struct as_disk_walk *w = r->walk;
	uint64_t off = block * r->block_bytes, level = as_walk_le(w, off, 2);
	uint64_t n = as_walk_le(w, off + 2, 2), children = off + HEAD + n * 16;
	struct as_walk_at at = { .structure = "node_head", .off = off, .self = block };

	if (!is_block(r, block) || depth > LEVELS_MAX ||
	    !as_walk_first(w, r->collecting ? REISER_SEEN_NAMES : REISER_SEEN_BLOCK, block))
		return;
	if (!r->collecting) {
		at.class = level == 1 ? "leaf" : "node";
		at.instance = as_walk_text(w, "%s %llu", at.class, (unsigned long long)block);
		as_walk_emit(w, &at);
		as_walk_area(w, off, r->block_bytes, as_walk_text(w, "%s of the tree", at.class),
			     false, 0);
	}
	if (level == 1) {
		leaf(r, off, n);
		return;
	}
	if (HEAD + n * 16 + (n + 1) * 8 > r->block_bytes) {
		as_walk_complain(w, "node %llu of the tree makes no sense",
				 (unsigned long long)block);
		return;
	}
	for (uint64_t i = 0; i < n && !r->collecting; i++)
		node_entry(r, "node_key", off + HEAD + i * 16, "key", i, block);
	for (uint64_t i = 0; i <= n; i++) {
		if (!r->collecting)
			node_entry(r, "node_child", children + i * 8, "child", i, block);
		node(r, as_walk_le(w, children + i * 8, 4), depth + 1);
	}
}

/* ---- Journal, bitmaps ---- */

static void journal(struct reiser_walk *r)
{
	struct as_disk_walk *w = r->walk;
	uint64_t first = as_walk_le(w, SUPER + 12, 4), n = as_walk_le(w, SUPER + 20, 4);
	uint64_t most = (r->block_bytes - 24) / 4;
	struct as_walk_at at = { .structure = "journal_header", .instance = "journal header" };

	if (!is_block(r, first + n))
		return;
	as_walk_area(w, first * r->block_bytes, (n + 1) * r->block_bytes, "journal", false, 0);
	at.off = (first + n) * r->block_bytes;
	as_walk_emit(w, &at);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t off = (first + i) * r->block_bytes, len = as_walk_le(w, off + 4, 4), end;
		char magic[8];

		as_walk_read(w, off + r->block_bytes - 12, magic, sizeof(magic));
		if (memcmp(magic, "ReIsErLB", 8) != 0)
			continue;
		as_walk_set(w, REISER_ENTRIES, len < most ? len : most);
		at.off = off;
		at.structure = "journal_desc";
		at.instance = as_walk_text(w, "journal descriptor %llu (transaction %llu)",
					   (unsigned long long)i,
					   (unsigned long long)as_walk_le(w, off, 4));
		as_walk_emit(w, &at);
		end = (first + (i + len + 1) % n) * r->block_bytes;
		if (as_walk_le(w, end, 4) != as_walk_le(w, off, 4))
			continue;
		at.off = end;
		at.structure = "journal_commit";
		as_walk_set(w, REISER_ENTRIES, len > most ? len - most : 0);
		at.instance = as_walk_text(w, "journal commit block %llu (transaction %llu)",
					   (unsigned long long)((i + len + 1) % n),
					   (unsigned long long)as_walk_le(w, off, 4));
		as_walk_emit(w, &at);
	}
}

static void bitmaps(struct reiser_walk *r)
{
	uint64_t per = r->block_bytes * 8;

	for (uint64_t i = 0; i * per < r->blocks && i < BITMAPS_MAX; i++) {
		uint64_t block = i ? i * per : SUPER / r->block_bytes + 1;
		struct as_walk_at at = { .structure = "block_bitmap",
					 .off = block * r->block_bytes };

		at.instance = as_walk_text(r->walk, "bitmap %llu", (unsigned long long)i);
		as_walk_bits(r->walk, &at, "block", i * per,
			     r->blocks - i * per < per ? r->blocks - i * per : per, "bitmap.block");
	}
}

static int walk_reiserfs(struct as_disk_walk *walk, struct as_err *err)
{
	struct reiser_walk r = { .walk = walk, .names = { .walk = walk, .root = ROOT_OBJECT } };
	struct as_walk_at at = { .structure = "super", .off = SUPER, .instance = "superblock" };
	uint64_t n = as_walk_le(walk, SUPER + 48, 2), root = as_walk_le(walk, SUPER + 8, 4);
	char magic[10];

	as_walk_read(walk, SUPER + 52, magic, sizeof(magic));
	r.block_bytes = as_walk_le(walk, SUPER + 44, 2);
	r.blocks = as_walk_le(walk, SUPER, 4);
	if (memcmp(magic, "ReIsEr", 6) != 0 || r.block_bytes < 512 || r.block_bytes > 8192 ||
	    r.block_bytes & (r.block_bytes - 1))
		return as_fail(err, AS_EUSE, "the disk has no superblock of ReiserFS");
	as_walk_set(walk, REISER_BLOCK_BYTES, r.block_bytes);
	as_walk_emit(walk, &at);
	at = (struct as_walk_at){ .structure = "object_map",
				  .off = SUPER + 204,
				  .len = r.block_bytes - 204,
				  .instance = "object map" };
	as_walk_set(walk, REISER_ENTRIES, n < at.len / 4 ? n : at.len / 4);
	as_walk_emit(walk, &at);
	bitmaps(&r);
	r.collecting = true;
	node(&r, root, 0);
	r.collecting = false;
	as_walk_names_tell(&r.names);
	node(&r, root, 0);
	journal(&r);
	as_walk_names_free(&r.names);
	return 0;
}

static const char *const structures[] = {
	"super",
	"object_map",
	"block_bitmap",
	"node_head",
	"node_key",
	"node_child",
	"item_head",
	"stat_data",
	"stat_data_old",
	"dir_entry",
	"dir_name",
	"indirect_item",
	"link_text",
	"journal_header",
	"journal_desc",
	"journal_commit",
	NULL,
};
static const char *const vars[] = { "block_bytes", "entries", NULL };

const struct as_walker as_walker_reiserfs = { .name = "reiserfs",
					      .structures = structures,
					      .vars = vars,
					      .walk = walk_reiserfs };
