/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layout_priv: how layouts are kept. Only layout*.c include it. */
#ifndef AS_LAYOUT_LAYOUT_PRIV_H
#define AS_LAYOUT_LAYOUT_PRIV_H

#include "base/arena.h"
#include "layout/layout.h"

#define LAYOUT_NAMES 4u /* of the inodes in one block, shown */

/* What one block is. */
struct as_layout_block {
	const char *what; /* NULL: not known */
	bool is_data; /* of a file: `at` is its place there, in blocks */
	bool is_journal; /* `at` is its place in the journal */
	uint64_t at;
	uint64_t home; /* is_journal: the block it holds a copy of; 0: not known */
};

struct as_layout {
	uint32_t block_bytes;
	uint64_t n_blocks;
	struct as_layout_block *block;
	struct as_arena arena;
	/* Says what can be told from the data of a block itself; false: nothing. */
	bool (*reads)(struct as_layout *layout, uint64_t block, const unsigned char *data,
		      struct as_buf *out);
	/* Blocks of the journal, in order. */
	uint64_t *journal;
	uint64_t n_journal;
	size_t cap_journal;
	uint32_t journal_features; /* ext's */
};

/* They return NULL where the disk makes no sense to them. */
struct as_layout *as_layout_lab(struct as_disk *disk);
struct as_layout *as_layout_ext2fs(struct as_disk *disk);
/* By the description of the type's structures; NULL also if there is none. */
struct as_layout *as_layout_fields(const char *type, struct as_disk *disk);

struct as_layout *as_layout_make(uint32_t block_bytes, uint64_t n_blocks);
/* The text is copied; a block that is known already stays as it is. */
void as_layout_set(struct as_layout *layout, uint64_t block, const char *what);
void as_layout_data(struct as_layout *layout, uint64_t block, const char *what, uint64_t at);
void as_layout_journal(struct as_layout *layout, uint64_t block);
/* Block `journal` of the journal will hold a copy of `home`. */
void as_layout_copy(struct as_layout *layout, uint64_t journal, uint64_t home);
/* "the inode table (/, /a)": what block `home` is, for a journal's descriptor. */
void as_layout_home(struct as_layout *layout, uint64_t home, struct as_buf *out);

/* Paths of inodes, found while a tree is walked. */
struct as_layout_paths {
	char **path; /* by inode number; NULL: none */
	uint32_t n;
	size_t cap;
};

void as_layout_path_set(struct as_layout_paths *paths, uint32_t ino, const char *dir,
			const char *name, size_t name_len);
void as_layout_paths_free(struct as_layout_paths *paths);
/* "inode table (/a, /a/f)" for inodes first..end-1, those without a path left out. */
void as_layout_inodes(const struct as_layout_paths *paths, uint32_t first, uint32_t end,
		      struct as_buf *out);

#endif
