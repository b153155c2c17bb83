/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross_deed: the same damage on disks of different types. A deed names a role of a field, a file,
 * and what is done (cross_role.def). On each disk the field is found by the description of the
 * type, so that the bytes differ and the meaning is the same. Checksums are computed anew.
 */
#include "cross/cross_priv.h"

#include "layout/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OTHER "/d/d2/g" /* a file that is damaged by no deed */
#define NAME_BYTES 256u
#define NEAR 16u /* an entry has fewer fields */
#define TYPE_BITS ((uint64_t)S_IFMT)
#define MODE_BITS (TYPE_BITS | 07777u)

static const struct as_cross_role roles[] = {
#define CROSS(role, words, paths, deeds) { role, words, paths, deeds },
#include "cross/cross_role.def"
#undef CROSS
};

const struct as_cross_role *as_cross_role(unsigned i)
{
	return i < sizeof(roles) / sizeof(roles[0]) ? &roles[i] : NULL;
}

/* ---- Counting them --------------------------------------------------------------------------- */

static unsigned words_in(const char *text)
{
	unsigned n = 0;

	for (; *text; text += strspn(text, " ")) {
		text += strcspn(text, " ");
		n++;
	}
	return n;
}

static void word_at(const char *text, unsigned i, char *out, size_t cap)
{
	for (; i; i--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	snprintf(out, cap, "%.*s", (int)strcspn(text, " "), text);
}

bool as_cross_deed(unsigned i, struct as_cross_deed *d)
{
	for (unsigned k = 0; as_cross_role(k); k++) {
		unsigned paths = words_in(roles[k].paths), deeds = words_in(roles[k].deeds);
		unsigned n = (paths ? paths : 1) * deeds;

		if (i >= n) {
			i -= n;
			continue;
		}
		*d = (struct as_cross_deed){ .role = roles[k].role, .words = roles[k].words };
		if (paths)
			word_at(roles[k].paths, i / deeds, d->path, sizeof(d->path));
		word_at(roles[k].deeds, i % deeds, d->deed, sizeof(d->deed));
		return true;
	}
	return false;
}

void as_cross_deed_print(const struct as_cross_deed *d, struct as_buf *out)
{
	as_buf_addf(out, "%s:%s:%s", d->role, d->path, d->deed);
}

int as_cross_deed_find(const char *text)
{
	struct as_cross_deed d;
	struct as_buf name = { 0 };
	int found = -1;

	for (unsigned i = 0; found < 0 && as_cross_deed(i, &d); i++) {
		as_buf_clear(&name);
		as_cross_deed_print(&d, &name);
		if (!strcmp(as_buf_str(&name), text))
			found = (int)i;
	}
	as_buf_free(&name);
	return found;
}

/* ---- Finding the field ----------------------------------------------------------------------- */

static bool has_role(const struct as_field *f, const char *role)
{
	return f->role && !strcmp(f->role, role);
}

static const struct as_field *find_super(const struct as_fields *fields, const char *role)
{
	for (size_t i = 0; i < as_fields_n(fields); i++)
		if (has_role(as_fields_at(fields, i), role))
			return as_fields_at(fields, i);
	return NULL;
}

/* The first of an array of pointers that points to something, if any does. */
static const struct as_field *find_file(const struct as_fields *fields, const char *role,
					const char *path, struct as_disk *disk)
{
	const char *known = as_fields_path(fields, path);
	const struct as_field *first = NULL;

	for (size_t i = 0; known && i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);

		if (!has_role(f, role) || !f->path || strcmp(f->path, known))
			continue;
		if (f->kind != AS_FIELD_POINTER || as_field_get(f, disk))
			return f;
		first = first ? first : f;
	}
	return first;
}

void as_cross_name(const struct as_field *f, struct as_disk *disk, char name[AS_CROSS_NAME_BYTES])
{
	size_t n = as_field_bytes(f, disk, name, AS_CROSS_NAME_BYTES - 1), wide = n / 2;

	name[n] = '\0';
	for (size_t i = 0; i < n / 2; i++)
		if (name[2 * i + 1])
			wide = 0;
	for (size_t i = 0; i < wide; i++)
		name[i] = name[2 * i];
	if (wide)
		name[wide] = '\0';
}

/* Whether it is the name of the entry for a path. */
static bool is_entry(const struct as_field *f, struct as_disk *disk, const char *path)
{
	const char *last = strrchr(path, '/');
	size_t dir_len = last == path ? 1 : (size_t)(last - path);
	char name[AS_CROSS_NAME_BYTES];

	if (!has_role(f, "dir.entry.name") || !f->path || strlen(f->path) != dir_len ||
	    strncmp(f->path, path, dir_len))
		return false;
	as_cross_name(f, disk, name);
	return !strcmp(name, last + 1);
}

static const struct as_field *near(const struct as_fields *fields, size_t i, const char *role,
				   const char *instance)
{
	const struct as_field *f = i < as_fields_n(fields) ? as_fields_at(fields, i) : NULL;

	return f && has_role(f, role) && (!instance || !strcmp(f->instance, instance)) ? f : NULL;
}

/* Fields of an entry have the same words for it, or stand before its name. */
const struct as_field *as_cross_entry_field(const struct as_fields *fields, size_t name,
					    const char *role)
{
	const char *instance = as_fields_at(fields, name)->instance;
	const struct as_field *f = NULL;

	for (size_t k = 0; !f && k < NEAR; k++) {
		if (name >= k)
			f = near(fields, name - k, role, instance);
		if (!f)
			f = near(fields, name + k, role, instance);
	}
	for (size_t k = 1; !f && k < NEAR && name >= k; k++) {
		if (has_role(as_fields_at(fields, name - k), "dir.entry.name"))
			break;
		f = near(fields, name - k, role, NULL);
	}
	return f;
}

static const struct as_field *find_entry(const struct as_fields *fields, const char *role,
					 const char *path, struct as_disk *disk)
{
	for (size_t i = 0; i < as_fields_n(fields); i++)
		if (is_entry(as_fields_at(fields, i), disk, path))
			return as_cross_entry_field(fields, i, role);
	return NULL;
}

/* The bit of the file's first block. */
static const struct as_field *find_bit(const struct as_fields *fields, const char *path,
				       struct as_disk *disk)
{
	const struct as_field *pointer = find_file(fields, "file.direct", path, disk);
	char name[64];

	if (!pointer)
		return NULL;
	snprintf(name, sizeof(name), "block %llu", (unsigned long long)as_field_get(pointer, disk));
	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);

		if (f->kind == AS_FIELD_BITMAP && !strcmp(f->name, name))
			return f;
	}
	return NULL;
}

static const struct as_field *find(const struct as_fields *fields, const char *role,
				   const char *path, struct as_disk *disk)
{
	if (!strncmp(role, "super.", 6))
		return find_super(fields, role);
	if (!strcmp(role, "bitmap.block"))
		return find_bit(fields, path, disk);
	if (!strncmp(role, "dir.entry.", 10))
		return find_entry(fields, role, path, disk);
	return find_file(fields, role, path, disk);
}

bool as_cross_role_field(const struct as_fields *fields, const struct as_cross_role *role,
			 struct as_disk *disk, struct as_buf *name)
{
	char path[64] = "";
	const struct as_field *f;

	if (*role->paths)
		word_at(role->paths, 0, path, sizeof(path));
	f = find(fields, role->role, path, disk);
	if (!f)
		return false;
	if (f->kind == AS_FIELD_BITMAP)
		as_buf_adds(name, f->structure);
	else
		as_buf_addf(name, "%s.%.*s", f->structure, (int)strcspn(f->name, "["), f->name);
	return true;
}

/* ---- Doing it -------------------------------------------------------------------------------- */

static bool value_of_other(const struct as_fields *fields, const struct as_cross_deed *d,
			   const char *path, struct as_disk *disk, uint64_t *value)
{
	const struct as_field *other = find(fields, d->role, path, disk);

	if (other)
		*value = as_field_get(other, disk);
	return other;
}

static bool mode_value(const char *deed, uint64_t was, uint64_t *value)
{
	static const struct {
		const char *name;
		uint64_t type;
	} types[] = {
		{ "dir", S_IFDIR }, { "file", S_IFREG }, { "link", S_IFLNK }, { "fifo", S_IFIFO }
	};

	if (!strcmp(deed, "bare")) {
		*value = was & TYPE_BITS;
		return true;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(deed, types[i].name)) {
			*value = (was & ~TYPE_BITS) | types[i].type;
			return true;
		}
	return false;
}

static bool new_value(const struct as_fields *fields, const struct as_cross_deed *d,
		      const struct as_field *f, struct as_disk *disk, uint64_t *value)
{
	uint64_t was = as_field_get(f, disk), max = as_field_max(f);

	if (!strcmp(d->deed, "zero") || !strcmp(d->deed, "clear"))
		*value = 0;
	else if (!strcmp(d->deed, "one"))
		*value = 1;
	else if (!strcmp(d->deed, "hundred"))
		*value = 100;
	else if (!strcmp(d->deed, "max"))
		*value = strcmp(d->role, "file.mode") ? max : was | MODE_BITS;
	else if (!strcmp(d->deed, "more"))
		*value = (was + 1) & max;
	else if (!strcmp(d->deed, "less"))
		*value = (was - 1) & max;
	else if (!strcmp(d->deed, "other"))
		return value_of_other(fields, d, OTHER, disk, value);
	else if (!strcmp(d->deed, "self"))
		*value = f->parent ? f->parent : f->self;
	else if (!strcmp(d->deed, "parent")) {
		const struct as_field *root = find_file(fields, "file.mode", "/", disk);

		if (!root)
			return false;
		*value = root->self;
	} else
		return mode_value(d->deed, was, value);
	return true;
}

static bool set_name(const struct as_cross_deed *d, const struct as_field *f, struct as_disk *disk)
{
	unsigned char bytes[NAME_BYTES];
	size_t n = as_field_bytes(f, disk, bytes, sizeof(bytes));
	struct as_err ignored;

	if (!n)
		return false;
	bytes[0] = !strcmp(d->deed, "slash") ? '/' : !strcmp(d->deed, "dot") ? '.' : '\0';
	return !as_field_set_bytes(f, disk, bytes, n, &ignored);
}

struct as_disk *as_cross_damage(const struct as_cross_deed *d, const struct as_fields *fields,
				struct as_disk *healthy, struct as_damage *damage)
{
	const struct as_field *f = find(fields, d->role, d->path, healthy);
	bool named =
		!strcmp(d->deed, "slash") || !strcmp(d->deed, "nul") || !strcmp(d->deed, "dot");
	struct as_disk *disk;
	struct as_err ignored;
	uint64_t value = 0;
	bool done;

	/* The attributes of FAT are no mode. */
	if (f && !strcmp(d->role, "file.mode") && f->kind != AS_FIELD_MODE)
		return NULL;
	if (!f || (!named && !new_value(fields, d, f, healthy, &value)))
		return NULL;
	as_damage_clear(damage);
	as_buf_addf(&damage->words, "%s: %s: ", f->instance, f->name);
	as_field_say(f, healthy, &damage->words);
	disk = as_disk_snapshot(healthy);
	done = named ? set_name(d, f, disk) : !as_field_set(f, disk, value, &ignored);
	as_buf_adds(&damage->words, " becomes ");
	as_field_say(f, disk, &damage->words);
	if (done && f->seal && !as_fields_seal(fields, disk, f->seal, &ignored))
		damage->sealed = true;
	as_buf_addf(&damage->field, "%s", d->role);
	if (done && as_damage_diff(damage, healthy, disk))
		return disk;
	as_disk_free(disk);
	return NULL;
}
