/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * corrupt_fields: the model `fields` (SWIFT, section 5.3.1 and Table 5): every field of every
 * structure gets every value that is worth trying (layout/field.h), one field at a time or two.
 *
 * Pruned as in the paper: of instances that are alike (the same structure and class), only the
 * first one is damaged, as a checker treats the others in the same way. All bits of bitmaps that
 * stand for something in use are tried, and one of those that do not: the walk of the disk gives
 * no others.
 *
 * A lot is one field with all its values; with two at once, it is a pair of fields with some of
 * theirs. Pairs of pointers come first, since there are too many pairs to try them all.
 */
#include "fsck/corrupt_priv.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"
#include "layout/alter.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 96
#define PAIRS_MAX ((size_t)1 << 22)
#define PAIR_VALUES 8u /* of each field of a pair; of two that are no pointers, 2 */

struct pick {
	uint32_t base;
	size_t field;
};

struct pair {
	uint32_t a, b; /* picks */
};

struct fields_model {
	struct as_fields **of; /* of each disk */
	struct pick *picks;
	size_t n, cap;
	struct pair *pairs;
	size_t n_pairs, cap_pairs;
};

/* ---- Which fields ---------------------------------------------------------------------------- */

/* How many directories are above a path, up to 3. */
static unsigned depth_of(const char *path)
{
	unsigned depth = 0;

	for (; path && *path && depth < 3; path++)
		depth += *path == '/' && path[1];
	return depth;
}

/* What tells a field from those that are alike: its structure, class and name, and of an entry of a
 * directory also how deep that is, and what the entry leads to. */
static void add_key(uint32_t base, const struct as_field *f, const char *leads_to,
		    struct as_buf *out)
{
	bool entry = f->role && !strncmp(f->role, "dir.entry.", 10);

	as_buf_addf(out, "%u/%s/%s/%s/%s/%u", base, f->structure, f->class, f->name,
		    entry ? leads_to : "", entry ? depth_of(f->path) : 0);
}

/* The class of an inode by its number. */
static const char *class_of(const struct as_fields *fields, uint64_t ino)
{
	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);

		/* A checker makes that one, and treats it as no other. */
		if (f->self == ino && f->role && !strcmp(f->role, "file.mode"))
			return f->path && !strcmp(f->path, "/lost+found") ? f->path : f->class;
	}
	return "";
}

static void pick_fields(struct as_corrupt *c, uint32_t base, struct as_table *table)
{
	struct fields_model *m = c->own;
	const char *leads_to = "";
	struct as_buf key = { 0 };

	for (size_t i = 0; i < as_fields_n(m->of[base]); i++) {
		const struct as_field *f = as_fields_at(m->of[base], i);
		uint64_t hash;

		if (f->role && !strcmp(f->role, "dir.entry.inode"))
			leads_to =
				class_of(m->of[base], as_field_get(f, c->setup.bases[base].disk));
		as_buf_clear(&key);
		add_key(base, f, leads_to, &key);
		/* Two that are mixed up cost one field, and 64 bits mix up none. */
		hash = as_hash64(as_buf_str(&key), key.len);
		if (as_table_get(table, hash) != AS_TABLE_NONE)
			continue;
		AS_ARRAY_ROOM(m->picks, m->n, m->cap);
		m->picks[m->n] = (struct pick){ base, i };
		as_table_add(table, hash, m->n++);
	}
	as_buf_free(&key);
}

/* Pairs of pointers to inodes make loops and lost trees; they come first. So do those with the
 * magic number, which make a checker go on with a backup of the superblock. */
static int rank(const struct fields_model *m, const struct pick *p)
{
	const struct as_field *f = as_fields_at(m->of[p->base], p->field);

	if (f->role && !strcmp(f->role, "super.magic"))
		return -1;
	return f->kind == AS_FIELD_BITMAP			? 4
	       : f->kind != AS_FIELD_POINTER			? 2
	       : f->role && !strcmp(f->role, "dir.entry.inode") ? 0
								: 1;
}

static void pick_pairs(struct fields_model *m)
{
	for (int sum = -1; sum <= 8; sum++)
		for (size_t a = 0; a < m->n; a++)
			for (size_t b = a + 1; b < m->n; b++) {
				if (m->picks[a].base != m->picks[b].base ||
				    rank(m, &m->picks[a]) + rank(m, &m->picks[b]) != sum ||
				    m->n_pairs == PAIRS_MAX)
					continue;
				AS_ARRAY_ROOM(m->pairs, m->n_pairs, m->cap_pairs);
				m->pairs[m->n_pairs++] = (struct pair){ (uint32_t)a, (uint32_t)b };
			}
}

static int open_fields(struct as_corrupt *c, struct as_err *err)
{
	struct fields_model *m = c->own = as_xcalloc(1, sizeof(*m));
	struct as_table table = { 0 };
	int rc = 0;

	m->of = as_xcalloc(c->setup.n, sizeof(struct as_fields *));
	for (size_t i = 0; !rc && i < c->setup.n; i++) {
		rc = as_corrupt_read_fields(c, c->setup.bases[i].disk, &m->of[i], err);
		if (rc)
			as_fail_in(err, "--model fields: %s", c->setup.bases[i].name);
		else
			pick_fields(c, (uint32_t)i, &table);
	}
	as_table_free(&table);
	if (!rc && !m->n)
		rc = as_fail(err, AS_EUSE, "--model fields: no field was found");
	if (!rc && c->setup.at_once >= 2)
		pick_pairs(m);
	return rc;
}

static void close_fields(struct as_corrupt *c)
{
	struct fields_model *m = c->own;

	if (!m)
		return;
	for (size_t i = 0; m->of && i < c->setup.n; i++)
		as_fields_free(m->of[i]);
	free(m->of);
	free(m->picks);
	free(m->pairs);
	free(m);
}

/* ---- Damaging one ---------------------------------------------------------------------------- */

static void name_field(const struct as_field *f, struct as_buf *out)
{
	/* The number of a bit, or of a pointer among others, does not make it another field. */
	size_t len = f->kind == AS_FIELD_BITMAP ? strcspn(f->name, " ") : strcspn(f->name, "[");

	as_buf_addf(out, "%s%s %.*s%s%s%s", out->len ? ", " : "", f->structure, (int)len, f->name,
		    *f->class ? " (" : "", f->class, *f->class ? ")" : "");
}

static void damage_number(const struct as_corrupt *c, const struct fields_model *m,
			  const struct pick *p, uint64_t value, struct as_disk *disk,
			  struct as_damage *d)
{
	name_field(as_fields_at(m->of[p->base], p->field), &d->field);
	d->sealed |=
		as_field_alter_to(m->of[p->base], p->field, value, c->setup.seal, disk, &d->words);
}

/* ---- Lots ------------------------------------------------------------------------------------ */

static uint64_t fields_lots(const struct as_corrupt *c)
{
	const struct fields_model *m = c->own;

	return c->setup.at_once < 2 ? m->n : m->n_pairs;
}

static void one_lot(struct as_corrupt *c, const struct pick *p, struct as_corrupt_lot *lot)
{
	const struct fields_model *m = c->own;
	const struct as_fields *fields = m->of[p->base];
	struct as_disk *base = c->setup.bases[p->base].disk;
	size_t n = as_field_ways(fields, p->field, base);

	for (size_t i = 0; i < n; i++) {
		struct as_disk *disk = as_disk_snapshot(base);
		struct as_damage *d = as_corrupt_add(lot, p->base);

		name_field(as_fields_at(fields, p->field), &d->field);
		d->sealed = as_field_alter(fields, p->field, i, c->setup.seal, disk, &d->words);
		as_corrupt_take(c, lot, disk);
	}
}

/* No inode, and every directory but the one that it leads to. */
static size_t tree_values(const struct as_fields *fields, uint64_t has, size_t most,
			  uint64_t *values)
{
	size_t n = 0;

	values[n++] = 0;
	for (size_t i = 0; i < as_fields_n(fields) && n < most; i++) {
		const struct as_field *f = as_fields_at(fields, i);

		if (f->role && !strcmp(f->role, "file.mode") && !strcmp(f->class, "directory") &&
		    f->self != has)
			values[n++] = f->self;
	}
	return n;
}

/* The values of a field of a pair: of pointers to inodes, those that change the shape of the tree;
 * of others, some. */
static size_t pair_values(const struct as_corrupt *c, const struct pick *p, size_t most,
			  uint64_t *values)
{
	const struct fields_model *m = c->own;
	const struct as_fields *fields = m->of[p->base];
	struct as_disk *base = c->setup.bases[p->base].disk;
	size_t n, k = 0;

	if (rank(m, p) == 0)
		return tree_values(fields, as_field_get(as_fields_at(fields, p->field), base), most,
				   values);
	n = as_field_values(fields, p->field, base, values, VALUES_MAX);
	for (size_t i = 0; i < n; i++)
		if (n <= most || i * most / n != (i + 1) * most / n)
			values[k++] = values[i];
	return k;
}

struct pair_damage {
	const struct pick *pick[2];
	uint64_t value[2];
};

/* which: 0 or 1, or 2: both. */
static void damage_pair(struct as_corrupt *c, const struct pair_damage *p, unsigned which,
			struct as_corrupt_lot *lot)
{
	struct as_disk *disk = as_disk_snapshot(c->setup.bases[p->pick[0]->base].disk);
	struct as_damage *d = as_corrupt_add(lot, p->pick[0]->base);

	for (unsigned i = 0; i < 2; i++)
		if (which == 2 || which == i)
			damage_number(c, c->own, p->pick[i], p->value[i], disk, d);
	as_corrupt_take(c, lot, disk);
}

/* Two fields, each with some of its values, up to damage number nth; *last is that one then. */
static void pair_lot(struct as_corrupt *c, uint64_t i, size_t nth, struct pair_damage *last,
		     struct as_corrupt_lot *lot)
{
	const struct fields_model *m = c->own;
	const struct pick *a = &m->picks[m->pairs[i].a], *b = &m->picks[m->pairs[i].b];
	int sum = rank(m, a) + rank(m, b);
	size_t most = rank(m, a) >= 0 && rank(m, b) >= 0 && sum <= 2 ? PAIR_VALUES : 2;
	uint64_t x[VALUES_MAX], y[VALUES_MAX];
	size_t nx = pair_values(c, a, most, x), ny = pair_values(c, b, most, y);

	for (size_t k = 0; k < nx; k++)
		for (size_t l = 0; l < ny && lot->n <= nth; l++) {
			*last = (struct pair_damage){ { a, b }, { x[k], y[l] } };
			damage_pair(c, last, 2, lot);
		}
}

static void fields_part(struct as_corrupt *c, uint64_t i, size_t nth, unsigned which,
			struct as_corrupt_lot *lot)
{
	struct as_corrupt_lot all = { 0 };
	struct pair_damage last;

	if (c->setup.at_once < 2)
		return;
	pair_lot(c, i, nth, &last, &all);
	if (all.n == nth + 1)
		damage_pair(c, &last, which, lot);
	as_corrupt_lot_free(&all);
}

static void fields_lot(struct as_corrupt *c, uint64_t i, struct as_corrupt_lot *lot)
{
	const struct fields_model *m = c->own;
	struct pair_damage last;

	if (c->setup.at_once >= 2)
		pair_lot(c, i, SIZE_MAX - 1, &last, lot);
	else
		one_lot(c, &m->picks[i], lot);
}

const struct as_corrupt_row as_corrupt_fields = {
	.name = "fields",
	.help = "every field of every structure, with every value that is worth trying",
	.open = open_fields,
	.lots = fields_lots,
	.lot = fields_lot,
	.part = fields_part,
	.close = close_fields,
};
