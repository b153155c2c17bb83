/* SPDX-License-Identifier: MIT */
/*
 * flashfs: a small file system for raw flash, written in a log: an example of a file system that
 * assay tests without a block device.
 *
 * On flash. A block begins with a head (how often it was erased), and has records after it, each
 * with a checksum. A record is a page of a file, or a commit: the states of one or two nodes. The
 * state of a node has everything: its parent, its name, its size and where its pages are. The
 * newest version of a node counts, wherever it stands. So a commit is one record: it is there or
 * not. A removed node leaves a state that says so (a stone), as long as older records are left.
 *
 * In memory. All nodes. What is written to a file stays in memory until close, fsync or sync.
 *
 * A block in which nothing lives is free. It is erased when it is taken again. When few are free,
 * what lives in the emptiest block is moved (gc.c).
 */
#ifndef FLASHFS_H
#define FLASHFS_H

#include <assay/target.h>
#include <stdbool.h>
#include <stdint.h>

#define FF_PAGE 256u
#define FF_PAGES 128u
#define FF_FILE_BYTES (FF_PAGE * FF_PAGES)
#define FF_NAME 64u
#define FF_RESERVE 3u /* free blocks that only gc may use up */
#define FF_SPREAD 8u /* erases that one block may be ahead of another */
#define FF_NONE UINT32_MAX
#define FF_ROOT 1u
#define FF_TABLE 0u /* the node that lists bad blocks: its pages are their numbers */

enum ff_bug {
	FF_CLEAN,
#define BUG(number, id, help) FF_##id = number,
#include "bugs.def"
#undef BUG
};

struct ff_head {
	uint32_t magic, erases, zero, crc;
};

enum ff_type { FF_REC_PAGE = 1, FF_REC_COMMIT = 2 };

struct ff_record {
	uint16_t magic, type;
	uint32_t len; /* of what follows */
	uint32_t count; /* of a commit: states; of a page: its node */
	uint32_t crc; /* of the head, with 0 here, and of what follows */
};

enum ff_kind { FF_FILE = 1, FF_DIR = 2, FF_GONE = 3, FF_BAD_TABLE = 4 };

/* In a commit, followed by the name and by the places of the pages. */
struct ff_state {
	uint32_t ino, parent, version, size;
	uint8_t kind, name_len;
	uint16_t n_pages;
};

struct ff_node {
	uint32_t ino, parent, version;
	enum ff_kind kind;
	char name[FF_NAME + 1];
	/* As it is on flash. */
	uint32_t where; /* its newest state; 0: none */
	uint32_t records; /* states of it on flash, old ones too */
	uint32_t flash_size, flash_pages[FF_PAGES];
	/* As it is in memory. */
	uint32_t size, pages[FF_PAGES]; /* 0: zeros */
	unsigned char *dirty[FF_PAGES]; /* not on flash yet */
	bool changed;
	bool unnamed; /* FF_NAMES_LATE: it has no state on flash yet */
	unsigned opens;
};

struct ff_block {
	uint32_t erases;
	uint32_t live; /* bytes; by ff_count_live() */
	bool headed, bad, pinned, weak;
};

struct as_handle {
	struct ff_node *node;
	unsigned flags;
};

struct as_fs {
	const struct as_host *host;
	struct as_flash *flash;
	uint32_t block_bytes, unit, n_blocks;
	enum ff_bug bug;
	bool readonly, bad_changed, moving;
	struct ff_block *blocks;
	struct ff_node **nodes;
	size_t n_nodes, cap_nodes;
	uint32_t cur, at; /* where the next record goes; cur is FF_NONE: to a new block */
	uint32_t version, next_ino;
	unsigned char *record, *page; /* a block's bytes each, to build and to read in */
};

/* ---- log.c ---- */

uint32_t ff_round(const struct as_fs *fs, uint32_t len);
uint32_t ff_head_bytes(const struct as_fs *fs);
uint32_t ff_page_bytes(const struct as_fs *fs); /* of a page's record */
uint32_t ff_state_bytes(const struct as_fs *fs); /* of the longest commit */
bool ff_newer(const struct as_fs *fs, uint32_t a, uint32_t b);
/* A read that may have been corrected. */
int ff_read(struct as_fs *fs, uint32_t at, void *buf, uint32_t len);
int ff_put_page(struct as_fs *fs, uint32_t ino, const unsigned char *bytes, uint32_t *at);
int ff_get_page(struct as_fs *fs, uint32_t at, unsigned char *bytes);
/* What a commit says of a node. */
struct ff_change {
	struct ff_node *node;
	enum ff_kind kind;
	uint32_t parent, size;
	const char *name;
	const uint32_t *pages;
};
/* Commits up to two nodes at once, and changes them in memory when that is done. */
int ff_commit(struct as_fs *fs, const struct ff_change *changes, unsigned n);
struct ff_change ff_as_it_is(struct ff_node *node);
/* Reads the record at `at`, which is `end` where there is no good one. */
int ff_next_record(struct as_fs *fs, uint32_t at, uint32_t end, struct ff_record *rec,
		   unsigned char *body);
/* Calls fn for each state of a commit. */
typedef int (*ff_state_fn)(struct as_fs *fs, const struct ff_state *state, const char *name,
			   const unsigned char *pages, uint32_t where);
int ff_each_state(struct as_fs *fs, uint32_t block, ff_state_fn fn, uint32_t *end);

/* ---- gc.c ---- */

void ff_count_live(struct as_fs *fs);
/* Makes room for a change of so many bytes; call it before, and ff_end() after. */
int ff_begin(struct as_fs *fs, uint32_t bytes);
void ff_end(struct as_fs *fs);
/* Whether so many bytes can be committed on top of what waits in memory; else -ENOSPC. */
int ff_has_room(struct as_fs *fs, uint32_t bytes);
/* The block for the next records. */
int ff_take_block(struct as_fs *fs);
void ff_retire(struct as_fs *fs, uint32_t block);

/* ---- mount.c ---- */

int ff_mkfs(const struct as_mount_args *args);
int ff_mount(const struct as_mount_args *args, struct as_fs **fs);
int ff_unmount(struct as_fs *fs);
int ff_sync(struct as_fs *fs);
struct ff_node *ff_find(struct as_fs *fs, uint32_t ino);
struct ff_node *ff_new_node(struct as_fs *fs, uint32_t ino);
void ff_drop_node(struct as_fs *fs, struct ff_node *node);

/* ---- file.c ---- */

int ff_flush(struct as_fs *fs, struct ff_node *node);
/* The file has nothing in memory any more: it is removed. */
void ff_forget(struct as_fs *fs, struct ff_node *node);
int ff_resize(struct as_fs *fs, struct ff_node *node, uint64_t size);
int64_t ff_read_file(struct as_fs *fs, struct ff_node *node, void *buf, size_t len, uint64_t off);
int64_t ff_write_file(struct as_fs *fs, struct ff_node *node, const void *buf, size_t len,
		      uint64_t off);
/* The same, and it is on the flash; if that fails, it was never written. */
int64_t ff_write_stable(struct as_fs *fs, struct ff_node *node, const void *buf, size_t len,
			uint64_t off);

#endif
