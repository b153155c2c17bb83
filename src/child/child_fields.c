/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_fields: other values in fields of the unmounted disk of a library, as a description of its
 * structures tells where they are (docs/LAYOUT.md): one of the user's, or one that assay has.
 *
 * Method. A field is drawn by its structure and name first, then which instance of it, then one of
 * the values that are worth trying (layout/alter.h). So a rare field is tried as often as one of
 * which there are hundreds. Three times of four the checksums are computed anew: only then does
 * what is after the comparison of checksums see the value. The fourth time they are left wrong.
 *
 * A finding keeps what was drawn: the field's name, which of its instances, the way and the seal.
 * In a workload that was made shorter the instance may be another one: then the other instances
 * are tried, and after them the other values.
 *
 * Raw flash is kept exclusive-or'ed with its erased value (disk/flash.c). The description speaks of
 * what the library reads, so the disk is turned over, altered, and turned back.
 */
#include "child/child_priv.h"

#include "base/array.h"
#include "base/choice.h"
#include "disk/cow.h"
#include "disk/flash.h"
#include "layout/alter.h"
#include "target/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct as_child_fields {
	struct as_fields *fields;
	unsigned char erased; /* what the bytes of the disk are exclusive-or'ed with */
	size_t *groups; /* first fields of their structure and name */
	size_t n_groups, cap_groups;
};

/* The elements of an array have the same name. */
static bool is_alike(const struct as_field *a, const struct as_field *b)
{
	size_t len = strcspn(a->name, "[ ");

	return !strcmp(a->structure, b->structure) && !strcmp(a->class, b->class) &&
	       !strncmp(a->name, b->name, len) && strcspn(b->name, "[ ") == len;
}

static void find_groups(struct as_child_fields *f)
{
	for (size_t i = 0; i < as_fields_n(f->fields); i++) {
		size_t g = 0;

		while (g < f->n_groups &&
		       !is_alike(as_fields_at(f->fields, f->groups[g]), as_fields_at(f->fields, i)))
			g++;
		if (g < f->n_groups)
			continue;
		AS_ARRAY_ROOM(f->groups, f->n_groups, f->cap_groups);
		f->groups[f->n_groups++] = i;
	}
}

static int read_fields(struct child *c, struct as_child_fields *f, struct as_err *err)
{
	const struct as_flash_setup *flash = as_target_flash(c->args->target);
	const char *path = c->args->options->layout;
	struct as_disk *disk = as_disk_snapshot(as_medium_disk(c->disk));
	struct as_geometry geometry = { 0 };
	int rc;

	if (flash) {
		f->erased = flash->geometry.erased;
		geometry.block_bytes = flash->geometry.erase_bytes;
		geometry.unit_bytes = flash->geometry.program_bytes;
	}
	as_disk_turn_over(disk, f->erased);
	rc = *path ? as_fields_read_by(path, &geometry, disk, &f->fields, err)
		   : as_fields_read("lab", disk, &f->fields, err);
	as_disk_free(disk);
	if (!rc && !as_fields_n(f->fields))
		rc = as_fail(err, AS_EUSE, "%s finds no structure on the disk", path);
	return rc ? as_fail_in(err, "--corrupt fields") : 0;
}

struct as_child_fields *as_child_fields_read(struct child *c)
{
	struct as_child_fields *f = as_xcalloc(1, sizeof(*f));

	c->sh->tool_rc = read_fields(c, f, &c->sh->tool_err);
	if (c->sh->tool_rc) {
		as_child_fields_free(f);
		return NULL;
	}
	find_groups(f);
	return f;
}

void as_child_fields_free(struct as_child_fields *f)
{
	if (!f)
		return;
	as_fields_free(f->fields);
	free(f->groups);
	free(f);
}

/* ---- Altering one ---------------------------------------------------------------------------- */

static size_t count_alike(const struct as_child_fields *f, size_t first)
{
	size_t n = 0;

	for (size_t i = first; i < as_fields_n(f->fields); i++)
		n += is_alike(as_fields_at(f->fields, first), as_fields_at(f->fields, i));
	return n;
}

/* Number k of those that are like this one. */
static size_t nth_alike(const struct as_child_fields *f, size_t first, size_t k)
{
	for (size_t i = first;; i++)
		if (is_alike(as_fields_at(f->fields, first), as_fields_at(f->fields, i)) && !k--)
			return i;
}

/* "inode.size", "inode.size of directory". */
static void name_group(const struct as_field *field, char *name, size_t room)
{
	snprintf(name, room, "%s.%.*s%s%s", field->structure, (int)strcspn(field->name, "[ "),
		 field->name, *field->class ? " of " : "", field->class);
}

static void alter(const struct as_child_fields *f, struct as_child_altered *a, struct as_disk *disk)
{
	const struct as_field *field = as_fields_at(f->fields, a->field);
	struct as_buf words = { 0 };
	unsigned char was[CHILD_MASK_MAX];

	a->n = as_field_bytes(field, disk, was, sizeof(was));
	if (as_field_alter(f->fields, a->field, a->way, a->seal, disk, &words))
		as_buf_adds(&words, ", with a checksum that fits");
	else if (field->seal)
		as_buf_adds(&words, ", with a checksum that is wrong");
	(void)as_field_bytes(field, disk, a->mask, a->n);
	for (size_t i = 0; i < a->n; i++)
		a->mask[i] ^= was[i];
	as_buf_adds(&words, ", before the mount");
	a->guarded = field->seal && !a->seal;
	a->shown = field->role &&
		   (!strncmp(field->role, "file.", 5) || !strncmp(field->role, "dir.entry.", 10));
	a->is_size = field->role && !strcmp(field->role, "file.size");
	a->value = as_field_get(field, disk);
	snprintf(a->words, sizeof(a->words), "%s", as_buf_str(&words));
	as_buf_free(&words);
}

void as_child_fields_alter(const struct as_child_fields *f, struct as_child_altered *a,
			   struct as_disk *disk)
{
	as_disk_turn_over(disk, f->erased);
	alter(f, a, disk);
	as_disk_turn_over(disk, f->erased);
}

bool as_child_fields_draw(const struct as_child_fields *f, struct as_choice *choice,
			  struct as_disk *disk, struct as_child_altered *a)
{
	size_t first = f->groups[as_choose(choice, (unsigned)f->n_groups)];
	size_t k = as_choose(choice, (unsigned)count_alike(f, first)), ways;

	*a = (struct as_child_altered){ .field = nth_alike(f, first, k) };
	name_group(as_fields_at(f->fields, first), a->name, sizeof(a->name));
	as_disk_turn_over(disk, f->erased);
	ways = as_field_ways(f->fields, a->field, disk);
	if (ways) {
		a->way = as_choose(choice, (unsigned)ways);
		a->seal = as_choose(choice, 4) != 0;
		snprintf(a->again, sizeof(a->again), "%s:%zu:%zu:%d", a->name, k, a->way, a->seal);
		alter(f, a, disk);
	}
	as_disk_turn_over(disk, f->erased);
	return ways != 0;
}

bool as_child_fields_again(const struct as_child_fields *f, const char *again, unsigned times,
			   struct as_disk *disk, struct as_child_altered *a)
{
	size_t len = strcspn(again, ":"), n, k, way, ways, g = 0;
	unsigned seal;

	*a = (struct as_child_altered){ 0 };
	for (; g < f->n_groups; g++) {
		name_group(as_fields_at(f->fields, f->groups[g]), a->name, sizeof(a->name));
		if (strlen(a->name) == len && !strncmp(a->name, again, len))
			break;
	}
	if (g == f->n_groups || sscanf(again + len, ":%zu:%zu:%u", &k, &way, &seal) != 3)
		return false;
	n = count_alike(f, f->groups[g]);
	k = (k % n + times) % n;
	a->field = nth_alike(f, f->groups[g], k);
	a->seal = seal;
	as_disk_turn_over(disk, f->erased);
	ways = as_field_ways(f->fields, a->field, disk);
	if (ways) {
		a->way = (way + times / n) % ways;
		snprintf(a->again, sizeof(a->again), "%s:%zu:%zu:%d", a->name, k, a->way, a->seal);
		alter(f, a, disk);
	}
	as_disk_turn_over(disk, f->erased);
	return ways != 0;
}

bool as_child_fields_unseal(const struct as_child_fields *f, const struct as_child_altered *a,
			    struct as_disk *disk)
{
	uint32_t seal = as_fields_at(f->fields, a->field)->seal;

	for (size_t i = 0; i < as_fields_n(f->fields); i++) {
		struct as_child_altered sum = { .field = i };

		if (as_fields_at(f->fields, i)->kind != AS_FIELD_CHECKSUM ||
		    as_fields_at(f->fields, i)->seal != seal)
			continue;
		as_child_fields_alter(f, &sum, disk);
		return true;
	}
	return false;
}
