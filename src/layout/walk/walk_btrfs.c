/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_btrfs: finds the structures of btrfs: superblocks, and all trees that the tree of roots
 * names, with the items that are described.
 *
 * Addresses in trees are logical. The superblock has the chunks that the tree of chunks is in; that
 * tree has the rest. Of chunks with several copies, the first is looked at. Names are collected
 * from all trees first, so that items can be told by their paths. Subvolumes have paths of their
 * own trees only.
 */
#include "layout/walk/walk_names_priv.h"

#include "base/array.h"
#include "base/show.h"

#include <stdlib.h>
#include <string.h>

#define SUPER 65536u
#define HEAD 101u
#define ITEM 25u
#define POINTER 33u
#define LEVELS_MAX 8u
#define FS_TREE 5u
#define FIRST_FREE 256u

enum btrfs_var { BTRFS_ITEM_BYTES };
/* Each pass has its own. */
enum btrfs_space { BTRFS_SEEN_NODE = 2, BTRFS_SEEN_ROOTS = 5 };
enum btrfs_pass { PASS_CHUNKS, PASS_NAMES, PASS_EMIT };
enum {
	T_INODE = 1,
	T_INODE_REF = 12,
	T_DIR_ITEM = 84,
	T_DIR_INDEX = 96,
	T_EXTENT_DATA = 108,
	T_ROOT = 132,
	T_EXTENT = 168,
	T_METADATA = 169,
	T_BLOCK_GROUP = 192,
	T_DEV_EXTENT = 204,
	T_DEV = 216,
	T_CHUNK = 228,
};

struct btrfs_chunk {
	uint64_t logical, length, physical;
};

struct btrfs_walk {
	struct as_disk_walk *walk;
	uint64_t node_bytes;
	uint16_t csum_type;
	struct btrfs_chunk *chunks;
	size_t n_chunks, cap_chunks;
	struct as_walk_names names;
	enum btrfs_pass pass;
	uint64_t tree; /* that is being walked */
};

/* An item in a leaf. */
struct btrfs_item {
	uint64_t object, offset, at, len;
	unsigned type;
};

/* ---- Addresses ---- */

static void take_chunk(struct btrfs_walk *b, uint64_t logical, uint64_t item)
{
	uint64_t n = as_walk_le(b->walk, item + 44, 2);

	if (!n)
		return;
	AS_ARRAY_ROOM(b->chunks, b->n_chunks, b->cap_chunks);
	b->chunks[b->n_chunks++] = (struct btrfs_chunk){ logical, as_walk_le(b->walk, item, 8),
							 as_walk_le(b->walk, item + 56, 8) };
}

static uint64_t physical(const struct btrfs_walk *b, uint64_t logical, uint64_t len)
{
	for (size_t i = 0; i < b->n_chunks; i++) {
		const struct btrfs_chunk *c = &b->chunks[i];
		uint64_t off;

		if (logical < c->logical || logical - c->logical >= c->length)
			continue;
		off = c->physical + (logical - c->logical);
		if (off <= as_walk_disk_bytes(b->walk) && len <= as_walk_disk_bytes(b->walk) - off)
			return off;
	}
	return 0;
}

static void system_chunks(struct btrfs_walk *b)
{
	uint64_t at = SUPER + 811, n = as_walk_le(b->walk, SUPER + 160, 4), end;

	end = at + (n < 2048 ? n : 2048);
	while (at + 17 + 48 <= end) {
		uint64_t stripes = as_walk_le(b->walk, at + 17 + 44, 2);

		take_chunk(b, as_walk_le(b->walk, at + 9, 8), at + 17);
		at += 17 + 48 + stripes * 32;
	}
}

/* ---- Items ---- */

static const struct {
	unsigned type;
	const char *structure, *words;
	bool has_path; /* its object is a file */
} items[] = {
	{ T_INODE, "inode_item", "inode", true },
	{ T_INODE_REF, "inode_ref", "name", true },
	{ T_DIR_ITEM, "dir_item", "entry by hash", true },
	{ T_DIR_INDEX, "dir_item", "entry by number", true },
	{ T_EXTENT_DATA, "extent_data", "extent", true },
	{ T_ROOT, "root_item", "root", false },
	{ T_EXTENT, "extent_item", "extent in use", false },
	{ T_METADATA, "extent_item", "block of a tree in use", false },
	{ T_BLOCK_GROUP, "block_group_item", "block group", false },
	{ T_DEV_EXTENT, "dev_extent", "extent of the device", false },
	{ T_DEV, "dev_item", "device", false },
	{ T_CHUNK, "chunk_item", "chunk", false },
};
#define N_ITEMS (sizeof(items) / sizeof(items[0]))

static bool is_file_tree(const struct btrfs_walk *b)
{
	return b->tree == FS_TREE || b->tree >= FIRST_FREE;
}

static void emit_item(struct btrfs_walk *b, const struct btrfs_item *item, size_t row,
		      uint32_t seal)
{
	struct as_disk_walk *w = b->walk;
	bool has_path = items[row].has_path && is_file_tree(b);
	struct as_walk_at at = { .structure = items[row].structure,
				 .off = item->at,
				 .len = item->len,
				 .class = items[row].words,
				 .self = item->object,
				 .seal = seal };

	as_walk_set(w, BTRFS_ITEM_BYTES, item->len);
	if (has_path)
		at.path = as_walk_name_path(&b->names, item->object);
	if (item->type == T_INODE && has_path)
		at.class = as_walk_mode_class((uint32_t)as_walk_le(w, item->at + 52, 4));
	if (item->type == T_DIR_ITEM || item->type == T_DIR_INDEX) {
		size_t len = (size_t)as_walk_le(w, item->at + 27, 2);
		struct as_buf shown = { 0 };
		char name[256];

		if (len > sizeof(name))
			len = sizeof(name);
		as_walk_read(w, item->at + 30, name, len);
		as_shown(&shown, name, len);
		at.instance = as_walk_text(w, "%s %s of %s%llu", items[row].words,
					   as_buf_str(&shown), has_path ? at.path : "object ",
					   (unsigned long long)item->object);
		if (has_path)
			at.instance = as_walk_text(w, "%s %s of %s", items[row].words,
						   as_buf_str(&shown), at.path);
		as_buf_free(&shown);
	} else if (has_path) {
		at.instance = item->type == T_INODE
				      ? as_walk_text(w, "inode %llu of %s",
						     (unsigned long long)item->object, at.path)
				      : as_walk_text(w, "%s at %llu of %s", items[row].words,
						     (unsigned long long)item->offset, at.path);
	} else {
		at.instance =
			as_walk_text(w, "%s %llu %llu of tree %llu", items[row].words,
				     (unsigned long long)item->object,
				     (unsigned long long)item->offset, (unsigned long long)b->tree);
	}
	as_walk_emit(w, &at);
}

static void own_data(struct btrfs_walk *b, const struct btrfs_item *item)
{
	uint64_t logical = as_walk_le(b->walk, item->at + 21, 8);
	uint64_t len = as_walk_le(b->walk, item->at + 29, 8), off;

	if (!as_walk_le(b->walk, item->at + 20, 1) || !logical || !is_file_tree(b))
		return;
	off = physical(b, logical, len);
	if (off)
		as_walk_area(b->walk, off, len,
			     as_walk_text(b->walk, "data of %s",
					  as_walk_name_path(&b->names, item->object)),
			     true, item->offset);
}

static void on_item(struct btrfs_walk *b, const struct btrfs_item *item, uint32_t seal)
{
	struct as_disk_walk *w = b->walk;
	char name[256];
	size_t len;

	if (b->pass == PASS_CHUNKS && item->type == T_CHUNK && item->len >= 80)
		take_chunk(b, item->offset, item->at);
	if (b->pass == PASS_NAMES && item->type == T_DIR_INDEX && is_file_tree(b) &&
	    item->len > 30) {
		len = (size_t)as_walk_le(w, item->at + 27, 2);
		if (len <= sizeof(name) && 30 + len <= item->len &&
		    as_walk_read(w, item->at + 30, name, len))
			as_walk_name_add(&b->names, as_walk_le(w, item->at, 8), item->object, name,
					 len);
	}
	if (b->pass != PASS_EMIT)
		return;
	for (size_t row = 0; row < N_ITEMS; row++)
		if (items[row].type == item->type)
			emit_item(b, item, row, seal);
	if (item->type == T_EXTENT_DATA && item->len >= 53)
		own_data(b, item);
}

/* ---- Trees ---- */

static uint32_t seal_of(struct btrfs_walk *b, uint64_t off, uint64_t len)
{
	struct as_seal seal = { .init = UINT32_MAX, .final = UINT32_MAX };

	if (b->csum_type) /* only CRC-32C */
		return 0;
	as_seal_disk(&seal, off + 32, len - 32);
	as_seal_store(&seal, off, 4, 0, false);
	return as_walk_seal(b->walk, &seal);
}

static void emit_part(struct btrfs_walk *b, const char *structure, uint64_t off, const char *words,
		      uint64_t i, uint64_t logical, uint32_t seal)
{
	struct as_walk_at at = { .structure = structure, .off = off, .seal = seal };

	at.self = logical;
	at.instance = as_walk_text(b->walk, "%s %llu of block %llu of tree %llu", words,
				   (unsigned long long)i, (unsigned long long)logical,
				   (unsigned long long)b->tree);
	as_walk_emit(b->walk, &at);
}

static void leaf(struct btrfs_walk *b, uint64_t off, uint64_t logical, uint64_t n, uint32_t seal)
{
	struct as_disk_walk *w = b->walk;

	for (uint64_t i = 0; i < n && HEAD + (i + 1) * ITEM <= b->node_bytes; i++) {
		uint64_t head = off + HEAD + i * ITEM;
		struct btrfs_item item = { .object = as_walk_le(w, head, 8),
					   .type = (unsigned)as_walk_le(w, head + 8, 1),
					   .offset = as_walk_le(w, head + 9, 8),
					   .at = off + HEAD + as_walk_le(w, head + 17, 4),
					   .len = as_walk_le(w, head + 21, 4) };

		if (b->pass == PASS_EMIT)
			emit_part(b, "item_head", head, "head", i, logical, seal);
		if (item.len && item.at + item.len <= off + b->node_bytes)
			on_item(b, &item, seal);
	}
}

static void node(struct btrfs_walk *b, uint64_t logical, unsigned depth)
{
	struct as_disk_walk *w = b->walk;
	uint64_t off = physical(b, logical, b->node_bytes), n, level;
	struct as_walk_at at = { .structure = "node", .off = off, .self = logical };

	if (!off || depth > LEVELS_MAX)
		return;
	if (!as_walk_first(w, BTRFS_SEEN_NODE + (unsigned)b->pass, logical))
		return;
	n = as_walk_le(w, off + 96, 4);
	level = as_walk_le(w, off + 100, 1);
	if (b->pass == PASS_EMIT) {
		at.seal = seal_of(b, off, b->node_bytes);
		at.class = level ? "node" : "leaf";
		at.instance =
			as_walk_text(w, "block %llu of tree %llu", (unsigned long long)logical,
				     (unsigned long long)b->tree);
		as_walk_emit(w, &at);
		as_walk_area(w, off, b->node_bytes,
			     as_walk_text(w, "%s of tree %llu", at.class,
					  (unsigned long long)b->tree),
			     false, 0);
	}
	if (!level) {
		leaf(b, off, logical, n, at.seal);
		return;
	}
	for (uint64_t i = 0; i < n && HEAD + (i + 1) * POINTER <= b->node_bytes; i++) {
		uint64_t pointer = off + HEAD + i * POINTER;

		if (b->pass == PASS_EMIT)
			emit_part(b, "key_pointer", pointer, "pointer", i, logical, at.seal);
		node(b, as_walk_le(w, pointer + 17, 8), depth + 1);
	}
}

/* The roots that a leaf of the tree of roots names. */
static void roots(struct btrfs_walk *b, uint64_t logical, unsigned depth)
{
	struct as_disk_walk *w = b->walk;
	uint64_t off = physical(b, logical, b->node_bytes), n, level;

	if (!off || depth > LEVELS_MAX ||
	    !as_walk_first(w, BTRFS_SEEN_ROOTS + (unsigned)b->pass, logical))
		return;
	n = as_walk_le(w, off + 96, 4);
	level = as_walk_le(w, off + 100, 1);
	for (uint64_t i = 0; i < n && HEAD + (i + 1) * POINTER <= b->node_bytes; i++) {
		uint64_t head = off + HEAD + i * ITEM;
		uint64_t item = off + HEAD + as_walk_le(w, head + 17, 4);

		if (level) {
			roots(b, as_walk_le(w, off + HEAD + i * POINTER + 17, 8), depth + 1);
			continue;
		}
		if (as_walk_le(w, head + 8, 1) != T_ROOT || item + 184 > off + b->node_bytes)
			continue;
		b->tree = as_walk_le(w, head, 8);
		node(b, as_walk_le(w, item + 176, 8), 0);
	}
}

static int walk_btrfs(struct as_disk_walk *walk, struct as_err *err)
{
	struct btrfs_walk b = { .walk = walk, .names = { .walk = walk, .root = FIRST_FREE } };
	static const uint64_t mirrors[] = { SUPER, UINT64_C(64) << 20, UINT64_C(256) << 30 };
	uint64_t root = as_walk_le(walk, SUPER + 80, 8), chunk = as_walk_le(walk, SUPER + 88, 8);

	b.node_bytes = as_walk_le(walk, SUPER + 148, 4);
	if (as_walk_le(walk, SUPER + 64, 8) != 0x4d5f53665248425f || b.node_bytes < 4096 ||
	    b.node_bytes > 65536)
		return as_fail(err, AS_EUSE, "the disk has no superblock of btrfs");
	b.csum_type = (uint16_t)as_walk_le(walk, SUPER + 196, 2);
	for (size_t i = 0; i < sizeof(mirrors) / sizeof(mirrors[0]); i++) {
		struct as_walk_at at = { .structure = "super",
					 .off = mirrors[i],
					 .instance =
						 i ? as_walk_text(walk, "backup superblock %zu", i)
						   : "superblock",
					 .class = i ? "backup" : "" };

		if (mirrors[i] + 4096 > as_walk_disk_bytes(walk))
			break;
		at.seal = seal_of(&b, mirrors[i], 4096);
		as_walk_emit(walk, &at);
	}
	system_chunks(&b);
	for (b.pass = PASS_CHUNKS; b.pass <= PASS_EMIT; b.pass++) {
		b.tree = 3;
		if (b.pass != PASS_NAMES)
			node(&b, chunk, 0);
		b.tree = 1;
		if (b.pass == PASS_EMIT)
			node(&b, root, 0);
		if (b.pass != PASS_CHUNKS)
			roots(&b, root, 0);
		if (b.pass == PASS_NAMES)
			as_walk_names_tell(&b.names);
	}
	as_walk_names_free(&b.names);
	free(b.chunks);
	return 0;
}

static const char *const structures[] = {
	"super",      "node",	  "key_pointer", "item_head",	"inode_item",
	"inode_ref",  "dir_item", "extent_data", "extent_item", "block_group_item",
	"dev_extent", "dev_item", "chunk_item",	 "root_item",	NULL,
};
static const char *const vars[] = { "item_bytes", NULL };

const struct as_walker as_walker_btrfs = { .name = "btrfs",
					   .structures = structures,
					   .vars = vars,
					   .walk = walk_btrfs };
