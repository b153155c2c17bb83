/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * damage: what is wrong with a disk that a checker is given: bytes that differ from a healthy disk,
 * and words that say so.
 */
#ifndef AS_DAMAGE_DAMAGE_H
#define AS_DAMAGE_DAMAGE_H

#include "base/buf.h"
#include "disk/cow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_damaged_byte {
	uint64_t off;
	unsigned char was, is;
};

/* One that is all zero is empty. */
struct as_damage {
	uint32_t base; /* the number of the disk that it belongs to */
	struct as_damaged_byte *bytes; /* by rising offset, each once, was != is */
	size_t n, cap;
	/* "superblock: s_free_blocks_count: 12 becomes 0" */
	struct as_buf words;
	/* What clusters are told apart by: "superblock s_free_blocks_count"; "": nothing. */
	struct as_buf field;
	bool sealed; /* checksums were computed anew */
	/* What a power cut left: a disk as a whole, of which no part is left out; NULL: the bytes
	 * say what is wrong. */
	struct as_disk *crashed;
	/* With it: paths that may have changed since the healthy disk; all others are as they were.
	 * They outlive the damage. */
	const char *const *names;
	size_t n_names;
};

/* Nothing is wrong. */
bool as_damage_is_none(const struct as_damage *damage);
void as_damage_free(struct as_damage *damage);
void as_damage_clear(struct as_damage *damage);
/* Takes over what differs between two disks of the same size. False: nothing does. */
bool as_damage_diff(struct as_damage *damage, struct as_disk *from, struct as_disk *to);
/* A copy of the disk with the damage; kept (may be NULL) says which of its bytes. */
struct as_disk *as_damage_apply(const struct as_damage *damage, struct as_disk *disk,
				const bool *kept);
/* The bytes as words: "bytes 1036..1039: 85 02 00 00 become 00 00 00 00", a line for each run. */
void as_damage_say_bytes(const struct as_damage *damage, struct as_buf *out);
/* Leaves only the kept bytes. */
void as_damage_keep(struct as_damage *damage, const bool *kept);

/* Adds a damage as a part of a message; how many bytes that took. 0: it is too large for one. */
#define AS_DAMAGE_SENT_MAX 131072u
uint32_t as_damage_put(const struct as_damage *damage, struct as_buf *out);
/* The reverse. `bases` is how many disks there are. False: it makes no sense. */
bool as_damage_get(const void *data, size_t len, size_t bases, struct as_damage *damage);

#endif
