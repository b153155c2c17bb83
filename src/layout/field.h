/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * field: the structures of a disk, field by field: where each field is on THIS disk, what it means,
 * and which checksum covers it. What a structure consists of is described in layouts/NAME.layout
 * (docs/LAYOUT.md); where its instances are is found by walking the disk (walk_*.c). A disk that is
 * damaged gives the fields that can still be reached.
 */
#ifndef AS_LAYOUT_FIELD_H
#define AS_LAYOUT_FIELD_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum as_field_kind {
	AS_FIELD_COUNT,
	AS_FIELD_POINTER,
	AS_FIELD_MAGIC,
	AS_FIELD_CHECKSUM,
	AS_FIELD_FLAGS,
	AS_FIELD_TIME,
	AS_FIELD_NAME,
	AS_FIELD_BITMAP,
	AS_FIELD_SIZE,
	AS_FIELD_MODE,
	AS_FIELD_ID,
	AS_FIELD_OTHER,
	AS_FIELD_KINDS
};

/* One field of one instance of a structure. The texts live as long as the struct as_fields. */
struct as_field {
	const char *structure; /* "inode" */
	const char *name; /* "i_mode", "i_block[3]", "block 17" (a bit of a bitmap) */
	const char *instance; /* "inode 12 of /d/f1", "group 0", "entry f1 of /d" */
	/* What instances are like each other: "regular file", "directory", "reserved"; "": all
	 * instances of the structure are. One of each class is enough to try. */
	const char *class;
	/* The same in all types that have it: "file.mode", "super.magic"; NULL: none. */
	const char *role;
	/* AS_FIELD_POINTER: to what ("block", "inode"); NULL: to something else. */
	const char *points;
	const char *path; /* of the file that the instance belongs to; NULL: none */
	enum as_field_kind kind;
	uint64_t off; /* of its first byte on the disk */
	uint32_t bytes; /* 1..8 for numbers; more for names and ids */
	uint8_t shift, bits; /* bits == 0: whole bytes; else a bit field within them */
	bool big_endian;
	uint32_t seal; /* of the checksum that covers it; 0: none */
	/* Numbers of the inode or block that the instance is, and of what holds it; 0: none. */
	uint64_t self, parent;
};

struct as_fields; /* all fields of a disk, in a stable order */

/* A run of bytes that is not described by fields: data of files, free space is not in it. */
struct as_disk_area {
	uint64_t off, len;
	const char *what; /* "data of /f" */
	bool is_data; /* of a file: `at` is its place there in bytes */
	uint64_t at;
};

/* The type is one of `assay targets` ("ext4", "lab"), or NULL: guessed by what is on the disk.
 * AS_EUSE: no layout describes the type, or the disk is not of it. */
AS_MUST_CHECK int as_fields_read(const char *type, struct as_disk *disk, struct as_fields **out,
				 struct as_err *err);
/* The same in less time, for who needs the tree only: structures without a field of a role file.*
 * or dir.entry.* are left out, and elements of arrays are not told apart by their names. */
AS_MUST_CHECK int as_fields_read_tree(const char *type, struct as_disk *disk,
				      struct as_fields **out, struct as_err *err);
/* What a description without a walker may count in: 0 is 4096 and 1. */
struct as_geometry {
	uint32_t block_bytes, unit_bytes;
};

/* The same by a description in a file of the user's; geometry may be NULL. */
AS_MUST_CHECK int as_fields_read_by(const char *layout_path, const struct as_geometry *geometry,
				    struct as_disk *disk, struct as_fields **out,
				    struct as_err *err);
/* The same by a description in memory; `path` is for messages. */
AS_MUST_CHECK int as_fields_read_text(const char *path, const char *text, size_t len,
				      const struct as_geometry *geometry, struct as_disk *disk,
				      struct as_fields **out, struct as_err *err);
void as_fields_free(struct as_fields *fields); /* takes NULL */
/* Whether there is a description for the type. */
bool as_fields_know(const char *type);
/* The four bytes that a block of its journal begins with, the first as the lowest of the number; 0:
 * it has no journal, or they are not described. */
uint32_t as_fields_journal(const char *type);

const char *as_fields_layout(const struct as_fields *fields); /* "ext" */
/* What could not be reached because the disk makes no sense there; "": all was. */
const char *as_fields_complaint(const struct as_fields *fields);
size_t as_fields_n(const struct as_fields *fields);
const struct as_field *as_fields_at(const struct as_fields *fields, size_t i);
size_t as_fields_areas(const struct as_fields *fields);
const struct as_disk_area *as_fields_area(const struct as_fields *fields, size_t i);

/* The path by which fields know this file: another one if it has several names. NULL: there
 * is no such file. */
const char *as_fields_path(const struct as_fields *fields, const char *path);

/* The number that the field has on the disk. Of a field of more than 8 bytes: of its first 8. */
uint64_t as_field_get(const struct as_field *field, struct as_disk *disk);
/* Only the bits of the field are changed, to the lowest bits of `value`. No checksum is. */
AS_MUST_CHECK int as_field_set(const struct as_field *field, struct as_disk *disk, uint64_t value,
			       struct as_err *err);
/* All bits of a number that fits; at most 8 bytes are looked at. */
uint64_t as_field_max(const struct as_field *field);
/* The bytes of a field, for names and ids: at most max of them. Returns how many. */
size_t as_field_bytes(const struct as_field *field, struct as_disk *disk, void *out, size_t max);
AS_MUST_CHECK int as_field_set_bytes(const struct as_field *field, struct as_disk *disk,
				     const void *data, size_t len, struct as_err *err);

/*
 * Values worth trying for field i: 0, 1, the largest, neighbours of what it has, the sign bit, each
 * single bit of flags; for a pointer also itself, its parent, and what other pointers of the same
 * and of another kind have. Each differs from what the field has, and none comes twice. Returns how
 * many there are, at most max.
 */
size_t as_field_values(const struct as_fields *fields, size_t i, struct as_disk *disk,
		       uint64_t *values, size_t max);

/* Computes the checksum anew, and those that cover it. 0 is no checksum: nothing is done. */
AS_MUST_CHECK int as_fields_seal(const struct as_fields *fields, struct as_disk *disk,
				 uint32_t seal, struct as_err *err);
/* All checksums that these bytes are a part of: the generation of an inode of ext4 is also in those
 * of its blocks. */
AS_MUST_CHECK int as_fields_seal_bytes(const struct as_fields *fields, struct as_disk *disk,
				       uint64_t off, uint64_t len, struct as_err *err);
/* How many seals there are; they are numbered from 1. */
uint32_t as_fields_seals(const struct as_fields *fields);

const char *as_field_kind_name(enum as_field_kind kind);
/* "0100644 (regular file)", "0xef53", "12", "\"name\"": a value in words. */
void as_field_say(const struct as_field *field, struct as_disk *disk, struct as_buf *out);
/* The same for a number that need not be on the disk. */
void as_field_say_value(const struct as_field *field, uint64_t value, struct as_buf *out);

#endif
