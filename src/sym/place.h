/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: bytes of a disk that are unknown together: a field of a structure, a range, or what a
 * repair changed. With values for them, a place gives a damage: the bytes, and the checksums that
 * cover them.
 */
#ifndef AS_SYM_PLACE_H
#define AS_SYM_PLACE_H

#include "fsck/judge.h"
#include "layout/field.h"
#include "sym/server.h"

#define AS_PLACE_BYTES_MAX 256u
#define AS_PLACE_SEALS_MAX 16u
#define AS_PLACE_FIELDS_MAX 64u

struct as_place {
	uint32_t base; /* number of the disk */
	uint64_t *offs; /* of its bytes, rising */
	unsigned n;
	struct as_sym_range *ranges; /* for the server: those bytes; if watched, checksums, too */
	size_t n_ranges, cap_ranges;
	bool watched;
	const struct as_fields *fields; /* of the disk; NULL: it is not described */
	const struct as_field *field[AS_PLACE_FIELDS_MAX]; /* that are unknown together */
	unsigned n_fields; /* 0: it is no field */
	bool later; /* its fields are places, too: it has its turn when those are done */
	uint32_t seals[AS_PLACE_SEALS_MAX]; /* to be computed anew */
	unsigned n_seals;
	struct as_buf name; /* "superblock s_free_blocks", "bytes 1024 to 1027" */
};

struct as_places {
	struct as_place *items;
	size_t n, cap;
	struct as_fields **of; /* of each disk */
	size_t n_of;
	bool seal; /* checksums are computed anew */
};

struct as_places_setup {
	struct as_fsck_base *bases;
	size_t n;
	const char *type, *books;
	const char *layout; /* a file that describes the disks; NULL: that of the type */
	const char *fields; /* names, separated by commas; NULL: all */
	bool suite; /* what repairs change, instead of fields */
	/* What differs from a sound disk, of each disk, instead of all fields. NULL: no. */
	const struct as_damage *differs;
	bool whole; /* with a range: these bytes, instead of fields */
	uint64_t off, len;
	bool seal;
};

/* AS_EUSE: there are none; the message says why. */
AS_MUST_CHECK int as_places_find(const struct as_places_setup *setup, struct as_places *out,
				 struct as_err *err);
void as_places_free(struct as_places *places);

/* The damage that these values of its bytes are. False: none, they are those of the disk. */
bool as_place_damage(const struct as_place *place, const struct as_fsck_base *base,
		     const unsigned char *values, struct as_damage *out);

/* Finds where its checksums are, once: what sealing other values changes. */
void as_place_watch(struct as_place *place, const struct as_fsck_base *base);

/* For what is damaged otherwise: adds its name and its bytes to the words. */
void as_place_say(const char *name, struct as_damage *damage);
/* Whether a field has one of the bytes that differ, whose offsets rise. */
bool as_place_is_touched(const struct as_field *field, const struct as_damage *damage);

unsigned char as_place_byte(struct as_disk *disk, uint64_t off);
void as_place_set_byte(struct as_disk *disk, uint64_t off, unsigned char value);

#endif
