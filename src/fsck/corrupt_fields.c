/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * corrupt_fields: the model `fields` (SWIFT, section 5.3.1 and Table 5): every field of every
 * structure gets every value that is worth trying (layout/field.h), one field at a time or two.
 *
 * Pruned as in the paper: of instances that are alike (the same structure and class), only the first
 * one is damaged, as a checker treats the others in the same way. All bits of bitmaps that stand for
 * something in use are tried, and one of those that do not: the walk of the disk gives no others.
 *
 * A lot is one field with all its values; with two at once, it is a pair of fields. Pairs are taken
 * in an order that a seed decides, since there are too many to try them all.
 */
#include "fsck/corrupt_priv.h"

#include "base/array.h"
#include "base/choice.h"
#include "base/hash.h"
#include "base/table.h"
#include "layout/field.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 96
#define PAIR_VALUES 4u /* pairs of values of one pair of fields */
#define NAME_BYTES 256u

struct pick {
	uint32_t base;
	size_t field;
};

struct fields_model {
	struct as_fields **of; /* of each disk */
	struct pick *picks;
	size_t n, cap;
};

/* ---- Which fields ---------------------------------------------------------------------------- */

static bool alike(const struct as_field *a, const struct as_field *b)
{
	return !strcmp(a->structure, b->structure) && !strcmp(a->class, b->class) &&
	       !strcmp(a->name, b->name);
}

struct alike_to {
	const struct fields_model *m;
	const struct as_field *field;
	uint32_t base;
};

static bool is_alike(const void *ctx, size_t i)
{
	const struct alike_to *to = ctx;
	const struct pick *p = &to->m->picks[i];

	return p->base == to->base && alike(as_fields_at(to->m->of[p->base], p->field), to->field);
}

static uint64_t key_of(const struct as_field *f)
{
	return as_hash64(f->structure, strlen(f->structure)) * 3 +
	       as_hash64(f->class, strlen(f->class)) * 5 + as_hash64(f->name, strlen(f->name));
}

static void pick_fields(struct fields_model *m, uint32_t base, struct as_table *table)
{
	for (size_t i = 0; i < as_fields_n(m->of[base]); i++) {
		struct alike_to to = { m, as_fields_at(m->of[base], i), base };
		uint64_t key = key_of(to.field);

		if (as_table_find(table, key, is_alike, &to) != AS_TABLE_NONE)
			continue;
		AS_ARRAY_ROOM(m->picks, m->n, m->cap);
		m->picks[m->n] = (struct pick){ base, i };
		as_table_add(table, key, m->n++);
	}
}

static int open_fields(struct as_corrupt *c, struct as_err *err)
{
	struct fields_model *m = c->own = as_xcalloc(1, sizeof(*m));
	struct as_table table = { 0 };
	int rc = 0;

	m->of = as_xcalloc(c->setup.n, sizeof(struct as_fields *));
	for (size_t i = 0; !rc && i < c->setup.n; i++) {
		rc = as_fields_read(c->setup.type, c->setup.bases[i].disk, &m->of[i], err);
		if (rc)
			as_fail_in(err, "--model fields: %s", c->setup.bases[i].name);
		else
			pick_fields(m, (uint32_t)i, &table);
	}
	as_table_free(&table);
	if (!rc && !m->n)
		rc = as_fail(err, AS_EUSE, "--model fields: no field was found");
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

static void seal(const struct as_corrupt *c, const struct as_fields *fields,
		 const struct as_field *f, struct as_disk *disk, struct as_damage *d)
{
	struct as_err err;

	/* A checksum that is damaged itself must stay wrong. */
	if (!c->setup.seal || !f->seal || f->kind == AS_FIELD_CHECKSUM)
		return;
	if (!as_fields_seal(fields, disk, f->seal, &err))
		d->sealed = true;
}

static void begin_words(const struct as_field *f, struct as_disk *disk, struct as_buf *words)
{
	as_buf_addf(words, "%s%s: %s: ", words->len ? "; " : "", f->instance, f->name);
	as_field_say(f, disk, words);
	as_buf_adds(words, " becomes ");
}

static void damage_number(const struct as_corrupt *c, const struct fields_model *m,
			  const struct pick *p, uint64_t value, struct as_disk *disk,
			  struct as_damage *d)
{
	const struct as_field *f = as_fields_at(m->of[p->base], p->field);
	struct as_err err;

	begin_words(f, disk, &d->words);
	as_field_say_value(f, value, &d->words);
	name_field(f, &d->field);
	if (!as_field_set(f, disk, value, &err))
		seal(c, m->of[p->base], f, disk, d);
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* What a name may become: number i; false after the last. */
static bool other_name(const struct fields_model *m, const struct pick *p, struct as_disk *disk,
		       unsigned i, unsigned char *name, size_t *len)
{
	const struct as_field *f = as_fields_at(m->of[p->base], p->field);

	*len = as_field_bytes(f, disk, name, NAME_BYTES);
	switch (i) {
	case 0: /* not a name at all */
		name[0] = '/';
		return true;
	case 1:
		name[0] = '\0';
		return true;
	case 2:
		memset(name, 0xff, *len);
		return true;
	case 3: /* one that points to itself */
		name[0] = '.';
		return true;
	case 4: /* that of a neighbour: two of the same name */
		for (size_t k = p->field; k-- > 0;) {
			const struct as_field *g = as_fields_at(m->of[p->base], k);

			if (g->kind == AS_FIELD_NAME && g->bytes == f->bytes &&
			    !strcmp(g->structure, f->structure) && g->parent == f->parent) {
				*len = as_field_bytes(g, disk, name, NAME_BYTES);
				return true;
			}
		}
		return true;
	default:
		return false;
	}
}

static void name_lot(struct as_corrupt *c, const struct pick *p, struct as_corrupt_lot *lot)
{
	const struct fields_model *m = c->own;
	const struct as_field *f = as_fields_at(m->of[p->base], p->field);
	struct as_disk *base = c->setup.bases[p->base].disk;
	unsigned char name[NAME_BYTES];
	size_t len;

	for (unsigned i = 0; other_name(m, p, base, i, name, &len); i++) {
		struct as_disk *disk = as_disk_snapshot(base);
		struct as_damage *d = as_corrupt_add(lot, p->base);
		struct as_err err;

		begin_words(f, disk, &d->words);
		if (!as_field_set_bytes(f, disk, name, len, &err))
			seal(c, m->of[p->base], f, disk, d);
		as_field_say(f, disk, &d->words);
		name_field(f, &d->field);
		as_corrupt_take(c, lot, disk);
	}
}

/* ---- Lots ------------------------------------------------------------------------------------ */

static uint64_t fields_lots(const struct as_corrupt *c)
{
	const struct fields_model *m = c->own;

	return c->setup.at_once < 2 ? m->n : (uint64_t)m->n * (m->n - 1) / 2;
}

static void one_lot(struct as_corrupt *c, const struct pick *p, struct as_corrupt_lot *lot)
{
	const struct fields_model *m = c->own;
	const struct as_field *f = as_fields_at(m->of[p->base], p->field);
	struct as_disk *base = c->setup.bases[p->base].disk;
	uint64_t values[VALUES_MAX];
	size_t n = as_field_values(m->of[p->base], p->field, base, values, VALUES_MAX);

	for (size_t i = 0; i < n; i++) {
		struct as_disk *disk = as_disk_snapshot(base);

		damage_number(c, m, p, values[i], disk, as_corrupt_add(lot, p->base));
		as_corrupt_take(c, lot, disk);
	}
	if (f->kind == AS_FIELD_NAME)
		name_lot(c, p, lot);
}

/* Two fields, and a few pairs of their values. */
static void pair_lot(struct as_corrupt *c, uint64_t i, struct as_corrupt_lot *lot)
{
	const struct fields_model *m = c->own;
	struct as_chooser *chooser = as_chooser_seeded(as_mix64(as_mix64(c->setup.seed) + i));
	struct as_choice *choice = as_chooser_choice(chooser);
	const struct pick *a = &m->picks[as_choose(choice, (unsigned)m->n)];
	const struct pick *b = &m->picks[as_choose(choice, (unsigned)m->n)];
	struct as_disk *base = c->setup.bases[a->base].disk;
	uint64_t x[VALUES_MAX], y[VALUES_MAX];
	size_t nx, ny;

	nx = as_field_values(m->of[a->base], a->field, base, x, VALUES_MAX);
	ny = a->base == b->base ? as_field_values(m->of[b->base], b->field, base, y, VALUES_MAX)
				: 0;
	for (unsigned k = 0; nx && ny && k < PAIR_VALUES; k++) {
		struct as_disk *disk = as_disk_snapshot(base);
		struct as_damage *d = as_corrupt_add(lot, a->base);

		damage_number(c, m, a, x[as_choose(choice, (unsigned)nx)], disk, d);
		damage_number(c, m, b, y[as_choose(choice, (unsigned)ny)], disk, d);
		as_corrupt_take(c, lot, disk);
	}
	as_chooser_free(chooser);
}

static void fields_lot(struct as_corrupt *c, uint64_t i, struct as_corrupt_lot *lot)
{
	const struct fields_model *m = c->own;

	if (c->setup.at_once >= 2)
		pair_lot(c, i, lot);
	else
		one_lot(c, &m->picks[i], lot);
}

const struct as_corrupt_row as_corrupt_fields = {
	.name = "fields",
	.help = "every field of every structure, with every value that is worth trying",
	.open = open_fields,
	.lots = fields_lots,
	.lot = fields_lot,
	.close = close_fields,
};
