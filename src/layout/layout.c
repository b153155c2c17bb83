/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layout: see layout.h. This part is the same for all types of file systems. */
#include "layout/layout_priv.h"

#include "base/array.h"
#include "target/facts.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX (1u << 24)

#ifndef AS_HAVE_ext2fs
struct as_layout *as_layout_ext2fs(struct as_disk *disk)
{
	return as_layout_fields("ext4", disk);
}
#endif

struct as_layout *as_layout_new(const struct as_target *target, struct as_disk *disk)
{
	static struct as_layout *(*const read[AS_DISK_LAYOUTS])(struct as_disk * disk) = {
		[AS_DISK_LAB] = as_layout_lab,
		[AS_DISK_EXT] = as_layout_ext2fs,
	};
	enum as_disk_layout layout = as_target_layout(target);

	return read[layout] ? read[layout](disk) : as_layout_fields(as_target_name(target), disk);
}

struct as_layout *as_layout_make(uint32_t block_bytes, uint64_t n_blocks)
{
	struct as_layout *layout;

	if (!block_bytes || !n_blocks || n_blocks > BLOCKS_MAX)
		return NULL;
	layout = as_xcalloc(1, sizeof(*layout));
	layout->block_bytes = block_bytes;
	layout->n_blocks = n_blocks;
	layout->block = as_xcalloc(n_blocks, sizeof(*layout->block));
	return layout;
}

void as_layout_free(struct as_layout *layout)
{
	if (!layout)
		return;
	free(layout->block);
	free(layout->journal);
	as_arena_free(&layout->arena);
	free(layout);
}

static struct as_layout_block *unknown(struct as_layout *layout, uint64_t block)
{
	if (block >= layout->n_blocks || layout->block[block].what)
		return NULL;
	return &layout->block[block];
}

void as_layout_set(struct as_layout *layout, uint64_t block, const char *what)
{
	struct as_layout_block *at = unknown(layout, block);

	if (at)
		at->what = as_arena_strndup(&layout->arena, what, strlen(what));
}

void as_layout_data(struct as_layout *layout, uint64_t block, const char *what, uint64_t place)
{
	struct as_layout_block *at = unknown(layout, block);

	if (!at)
		return;
	at->what = as_arena_strndup(&layout->arena, what, strlen(what));
	at->is_data = true;
	at->at = place;
}

void as_layout_journal(struct as_layout *layout, uint64_t block)
{
	struct as_layout_block *at = unknown(layout, block);

	if (!at)
		return;
	AS_ARRAY_ROOM(layout->journal, layout->n_journal, layout->cap_journal);
	at->what = "journal";
	at->is_journal = true;
	at->at = layout->n_journal;
	layout->journal[layout->n_journal++] = block;
}

void as_layout_copy(struct as_layout *layout, uint64_t journal, uint64_t home)
{
	if (journal < layout->n_journal && home < layout->n_blocks)
		layout->block[layout->journal[journal]].home = home;
}

/* ---- Saying ---- */

/* Says what one block is. */
static bool say_block(struct as_layout *layout, uint64_t block, const unsigned char *data,
		      struct as_buf *out)
{
	const struct as_layout_block *at = &layout->block[block];

	if (data && layout->reads && layout->reads(layout, block, data, out))
		return true;
	if (!at->what)
		return false;
	if (!at->is_journal) {
		as_buf_adds(out, at->what);
		return true;
	}
	as_buf_adds(out, "journal: ");
	if (at->home) {
		as_buf_adds(out, "copy of ");
		as_layout_home(layout, at->home, out);
	} else {
		as_buf_adds(out, "a block of it");
	}
	return true;
}

void as_layout_home(struct as_layout *layout, uint64_t home, struct as_buf *out)
{
	if (home < layout->n_blocks && layout->block[home].what)
		as_buf_adds(out, layout->block[home].what);
	else
		as_buf_addf(out, "block %llu", (unsigned long long)home);
}

/* How many blocks from `block` on follow each other in the same file. */
static uint64_t say_data(const struct as_layout *layout, uint64_t block, uint64_t end,
			 struct as_buf *out)
{
	const struct as_layout_block *at = &layout->block[block];
	uint64_t n = 1, bytes = layout->block_bytes;

	while (block + n < end && at[n].is_data && at[n].at == at->at + n &&
	       strcmp(at[n].what, at->what) == 0)
		n++;
	as_buf_addf(out, "%s, bytes %llu to %llu", at->what, (unsigned long long)(at->at * bytes),
		    (unsigned long long)((at->at + n) * bytes - 1));
	return n;
}

bool as_layout_say(struct as_layout *layout, uint64_t off, uint64_t len, const unsigned char *data,
		   struct as_buf *out)
{
	uint64_t bytes = layout->block_bytes, first = off / bytes;
	uint64_t end = len ? (off + len - 1) / bytes + 1 : first, n;
	struct as_buf last = { 0 }, now = { 0 };
	bool said = false;

	for (uint64_t block = first; block < end && block < layout->n_blocks; block += n) {
		/* The data tells what a block is only where the whole block was written. */
		bool whole = block * bytes >= off && (block + 1) * bytes <= off + len;

		n = 1;
		as_buf_clear(&now);
		if (layout->block[block].is_data)
			n = say_data(layout, block, end, &now);
		else if (!say_block(layout, block,
				    data && whole ? data + (block * bytes - off) : NULL, &now))
			continue;
		if (strcmp(as_buf_str(&now), as_buf_str(&last)) == 0)
			continue;
		as_buf_addf(out, "%s%s", said ? "; " : "", as_buf_str(&now));
		as_buf_clear(&last);
		as_buf_adds(&last, as_buf_str(&now));
		said = true;
	}
	as_buf_free(&last);
	as_buf_free(&now);
	return said;
}

/* ---- Paths ---- */

void as_layout_path_set(struct as_layout_paths *paths, uint32_t ino, const char *dir,
			const char *name, size_t name_len)
{
	struct as_buf path = { 0 };

	while (ino >= paths->n) {
		AS_ARRAY_ROOM(paths->path, paths->n, paths->cap);
		paths->path[paths->n++] = NULL;
	}
	if (paths->path[ino])
		return;
	as_buf_addf(&path, "%s%s%.*s", dir, strcmp(dir, "/") && name_len ? "/" : "", (int)name_len,
		    name);
	paths->path[ino] = as_xstrdup(as_buf_str(&path));
	as_buf_free(&path);
}

void as_layout_paths_free(struct as_layout_paths *paths)
{
	for (uint32_t i = 0; i < paths->n; i++)
		free(paths->path[i]);
	free(paths->path);
}

void as_layout_inodes(const struct as_layout_paths *paths, uint32_t first, uint32_t end,
		      struct as_buf *out)
{
	unsigned shown = 0, more = 0;

	as_buf_adds(out, "inode table");
	for (uint32_t ino = first; ino < end && ino < paths->n; ino++) {
		if (!paths->path[ino])
			continue;
		if (shown == LAYOUT_NAMES) {
			more++;
			continue;
		}
		as_buf_addf(out, "%s%s", shown++ ? ", " : " (", paths->path[ino]);
	}
	if (more)
		as_buf_addf(out, " and %u more", more);
	if (shown)
		as_buf_addc(out, ')');
}
