/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cross_priv: what cross*.c and score*.c share. */
#ifndef AS_CROSS_CROSS_PRIV_H
#define AS_CROSS_CROSS_PRIV_H

#include "base/buf.h"
#include "base/err.h"
#include "damage/damage.h"
#include "disk/cow.h"

#include <stdbool.h>
#include <stdint.h>

struct as_tree;
struct as_fields;
struct as_field;

/* cross_tree.c: by the description of the type; NULL: nothing can be read. */
struct as_tree *as_cross_tree(const char *type, struct as_disk *disk);

/* The name that a field holds, also one of two bytes for each character. */
#define AS_CROSS_NAME_BYTES 512u
void as_cross_name(const struct as_field *field, struct as_disk *disk,
		   char name[AS_CROSS_NAME_BYTES]);
/* The field of an entry that has the role, by the number of its name; NULL: there is none. */
const struct as_field *as_cross_entry_field(const struct as_fields *fields, size_t name,
					    const char *role);

/* ---- cross_view.c ---- */

/* SWIFT, Table 3. */
#define AS_CROSS_FACETS(X)            \
	X(NAME, "name")               \
	X(TYPE, "type")               \
	X(PERMISSIONS, "permissions") \
	X(LINKS, "number of links")   \
	X(USER, "user")               \
	X(GROUP, "group")             \
	X(SIZE, "size")               \
	X(CONTENT, "content")

enum as_cross_facet {
#define FACET(id, name) AS_CROSS_##id,
	AS_CROSS_FACETS(FACET)
#undef FACET
		AS_CROSS_N
};

const char *as_cross_facet_name(enum as_cross_facet facet);

/* Values of AS_CROSS_NAME. */
enum { AS_CROSS_GONE, AS_CROSS_THERE, AS_CROSS_MOVED };
/* Of the other attributes, if the name is not there. */
#define AS_CROSS_NOTHING UINT64_MAX

struct as_cross_row {
	char *path;
	uint64_t v[AS_CROSS_N];
	uint64_t bytes;
};

struct as_cross_view {
	struct as_cross_row *rows; /* by path */
	size_t n, cap;
};

/* A tree that is NULL has no rows. */
void as_cross_view_of(const struct as_tree *tree, struct as_cross_view *view);
void as_cross_view_free(struct as_cross_view *view);
const struct as_cross_row *as_cross_view_find(const struct as_cross_view *view, const char *path);
/* What has become of a row of the healthy tree. */
uint64_t as_cross_value(const struct as_cross_view *was, const struct as_cross_view *now,
			const struct as_cross_row *row, enum as_cross_facet facet);
void as_cross_say_value(enum as_cross_facet facet, uint64_t value, struct as_buf *out);

/* ---- cross_deed.c: the same damage on every type, by the roles of fields ---- */

struct as_cross_deed {
	const char *role, *words;
	char path[64]; /* of what is damaged; "": the file system as a whole */
	char deed[16]; /* "zero", "max", ... */
};

/* Number i; false after the last. */
bool as_cross_deed(unsigned i, struct as_cross_deed *deed);
/* The number of "ROLE:PATH:DEED"; -1: there is none. */
int as_cross_deed_find(const char *text);
void as_cross_deed_print(const struct as_cross_deed *deed, struct as_buf *out);
/* The disk with that damage; NULL: the type has no such field there, or the value is the same. */
struct as_disk *as_cross_damage(const struct as_cross_deed *deed, const struct as_fields *fields,
				struct as_disk *healthy, struct as_damage *damage);

/* cross_role.def: for tables. */
struct as_cross_role {
	const char *role, *words, *paths, *deeds;
};
const struct as_cross_role *as_cross_role(unsigned i); /* NULL after the last */
/* The name of the field that has the role on this disk; false: none has. */
bool as_cross_role_field(const struct as_fields *fields, const struct as_cross_role *role,
			 struct as_disk *disk, struct as_buf *name);

#endif
