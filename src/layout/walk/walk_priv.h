/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_priv: a walker finds the instances of the structures of one family of file systems on a
 * disk. It trusts nothing that it reads: a place outside of the disk, a loop or a depth without end
 * is left out, and as_walk_complain() says so. It emits instances in a stable order.
 */
#ifndef AS_LAYOUT_WALK_WALK_PRIV_H
#define AS_LAYOUT_WALK_WALK_PRIV_H

#include "layout/desc_priv.h"

#define WALK_VARS_MAX 24
#define WALK_PIECES_MAX 8
#define WALK_STORES_MAX 2
#define WALK_DEPTH_MAX 1024

struct as_disk_walk;

struct as_walker {
	const char *name;
	const char *const *structures; /* that it finds; NULL at the end */
	const char *const *vars; /* of expressions, set by as_walk_set(); NULL at the end */
	/* AS_EUSE: the disk is not of this type. */
	int (*walk)(struct as_disk_walk *walk, struct as_err *err);
};

/* Of a description without a walker. It sets how large the disk is, and its blocks and units. */
extern const struct as_walker as_walker_plain;
/* NULL: there is none of that name. */
const struct as_walker *as_walker_find(const char *name);

/* ---- Checksums ---- */

enum as_seal_sum {
	AS_SUM_CRC32C, /* as_crc32c() from `init` on, then xor `final` */
	AS_SUM_CRC32, /* the same of zlib's polynomial */
	AS_SUM_CRC16, /* ext4's group descriptors without metadata_csum */
	AS_SUM_ROTATE, /* exFAT's boot region: rotate right by one, add a byte */
	AS_SUM_ROTATE16, /* exFAT's sets of entries */
	AS_SUM_FAT_NAME, /* vfat's short names */
	AS_SUM_COPY, /* the bytes themselves */
};

enum as_seal_piece_kind { AS_PIECE_DISK, AS_PIECE_ZEROS, AS_PIECE_LITERAL };

struct as_seal_piece {
	enum as_seal_piece_kind kind;
	uint64_t off, len; /* LITERAL: len <= 16 */
	unsigned char literal[16];
};

/* Where the checksum goes: its bits from `shift` on, `bytes` of them. */
struct as_seal_store {
	uint64_t off;
	uint8_t bytes, shift;
	bool big_endian;
	/* So often in all, 0 is 1, each `step` bytes after the one before it. */
	uint32_t repeat, step;
};

struct as_seal {
	enum as_seal_sum sum;
	uint32_t init, final;
	struct as_seal_piece piece[WALK_PIECES_MAX];
	unsigned n_pieces;
	struct as_seal_store store[WALK_STORES_MAX];
	unsigned n_stores;
	uint32_t next; /* the seal that covers this checksum; 0: none */
};

/* The sum of this name (enum as_seal_sum), with what it usually begins and ends with; DESC_NONE:
 * there is none. */
int as_seal_named(const char *name, size_t len, uint32_t *init, uint32_t *final);
void as_seal_disk(struct as_seal *seal, uint64_t off, uint64_t len);
void as_seal_zeros(struct as_seal *seal, uint64_t len);
void as_seal_literal(struct as_seal *seal, const void *data, size_t len);
void as_seal_le32(struct as_seal *seal, uint32_t value);
void as_seal_store(struct as_seal *seal, uint64_t off, uint8_t bytes, uint8_t shift,
		   bool big_endian);
/* The usual: all of [off, off + len) with the checksum's own `bytes` bytes at csum_off as zeros. */
void as_seal_whole(struct as_seal *seal, uint64_t off, uint64_t len, uint64_t csum_off,
		   uint8_t bytes, bool big_endian);

/* ---- What a walker says ---- */

struct as_walk_at {
	const char *structure;
	uint64_t off, len; /* len 0: what the description says */
	uint64_t most; /* it ends there at the latest, counted from off; 0: at the disk's end */
	const char *instance; /* copied */
	const char *class, *path; /* copied; NULL: "", none */
	uint64_t self, parent;
	uint32_t seal;
};

void as_walk_set(struct as_disk_walk *walk, unsigned var, uint64_t value);
/* Returns how long the instance is; 0: there is none. */
uint64_t as_walk_emit(struct as_disk_walk *walk, const struct as_walk_at *at);
/* One field for each bit that is set, and one for the first that is not. Bit i is called
 * "WORD first + i". */
void as_walk_bits(struct as_disk_walk *walk, const struct as_walk_at *at, const char *word,
		  uint64_t first, uint64_t n_bits, const char *role);
void as_walk_area(struct as_disk_walk *walk, uint64_t off, uint64_t len, const char *what,
		  bool is_data, uint64_t at);
uint32_t as_walk_seal(struct as_disk_walk *walk, const struct as_seal *seal);
void as_walk_complain(struct as_disk_walk *walk, const char *fmt, ...) AS_PRINTF(2, 3);
/* A text that lives as long as the fields. */
const char *as_walk_text(struct as_disk_walk *walk, const char *fmt, ...) AS_PRINTF(2, 3);
/* Whether a walk goes on by an entry of this name. No path goes through one that is empty or has a
 * slash; what has another name, too, must not be told by this one. "." and ".." lead back. */
bool as_walk_leads_on(const char *name, size_t len);
/* "/d" and "f" give "/d/f"; what is not fit for a terminal is escaped. */
const char *as_walk_join(struct as_disk_walk *walk, const char *dir, const char *name, size_t len);
/* True the first time it is asked for this number in this space: so that a walk has an end. */
bool as_walk_first(struct as_disk_walk *walk, unsigned space, uint64_t number);
/* The same for inodes; path may be NULL. A further path of an inode is remembered, so that it is
 * found by each of them. */
bool as_walk_inode(struct as_disk_walk *walk, uint64_t ino, const char *path);

/* ---- Reading; what is outside of the disk reads as zeros, and false is returned ---- */

bool as_walk_read(struct as_disk_walk *walk, uint64_t off, void *buf, size_t len);
uint64_t as_walk_le(struct as_disk_walk *walk, uint64_t off, unsigned bytes);
uint64_t as_walk_be(struct as_disk_walk *walk, uint64_t off, unsigned bytes);
uint64_t as_walk_disk_bytes(const struct as_disk_walk *walk);

/* "regular file", "directory", ... by the type bits of a mode. */
const char *as_walk_mode_class(uint32_t mode);

/* Any bytes of a disk. What is outside reads as zeros: then false. */
bool as_disk_peek(struct as_disk *disk, uint64_t off, void *buf, size_t len);
AS_MUST_CHECK int as_disk_poke(struct as_disk *disk, uint64_t off, const void *data, size_t len,
			       struct as_err *err);
uint64_t as_number_at(const unsigned char *p, unsigned bytes, bool big_endian);
void as_number_put(unsigned char *p, unsigned bytes, bool big_endian, uint64_t value);

/* ---- What is kept; fields*.c and seal.c ---- */

struct as_walk_link {
	const char *path;
	uint64_t ino;
};

struct as_fields {
	struct as_arena arena;
	struct as_desc *own; /* of a user's file; NULL: it is one of the program's */
	const struct as_desc *desc;
	struct as_field *fields;
	size_t n, cap;
	struct as_disk_area *areas;
	size_t n_areas, cap_areas;
	struct as_seal *seals; /* number 1 is seals[0] */
	size_t n_seals, cap_seals;
	struct as_walk_link *links; /* paths of inodes that have more than one */
	size_t n_links, cap_links;
	struct as_buf complaint;
	bool tree; /* only structures of files and names are kept; elements have no numbers */
};

#endif
