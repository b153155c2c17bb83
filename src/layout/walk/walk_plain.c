/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_plain: structures that are found without code, as the description says where they are: at
 * fixed places (at=), and one after the other in another structure (holds). A disk may say
 * anything, so:
 *
 * 1. What is held lies within what holds it, and structures hold each other to a depth of
 *    DEPTH_MAX.
 * 2. A row of instances ends with the first one that is not there, or has no length.
 * 3. A checksum that a structure has itself covers the fields in its range. Those of what it holds
 *    are covered, too; if they have one of their own, that is computed first.
 */
#include "layout/walk/walk_in_priv.h"

#include <string.h>

#define DEPTH_MAX 6u
#define FIELDS_MAX (UINT64_C(1) << 20) /* of one description without a walker */

enum plain_var { PLAIN_DISK_BYTES, PLAIN_BLOCK_BYTES, PLAIN_UNIT_BYTES };

static int walk_plain(struct as_disk_walk *walk, struct as_err *err)
{
	(void)err;
	as_walk_set(walk, PLAIN_DISK_BYTES, as_walk_disk_bytes(walk));
	as_walk_set(walk, PLAIN_BLOCK_BYTES, walk->geometry.block_bytes);
	as_walk_set(walk, PLAIN_UNIT_BYTES, walk->geometry.unit_bytes);
	return 0;
}

static const char *const structures[] = { NULL };
static const char *const vars[] = { "disk_bytes", "block_bytes", "unit_bytes", NULL };

const struct as_walker as_walker_plain = { .name = "plain",
					   .structures = structures,
					   .vars = vars,
					   .walk = walk_plain };

/* ---- One instance ---- */

bool as_walk_is_there(const struct as_walk_instance *in)
{
	struct as_disk_walk *walk = in->walk;

	for (size_t i = 0; i < in->s->n; i++) {
		const struct as_desc_field *d = &walk->desc->fields[in->s->first + i];
		uint64_t place = in->place[i];

		if (d->is != DESC_NONE &&
		    (!place || as_field_get(&walk->out->fields[place - 1], walk->disk) !=
				       as_walk_eval(in, d->is)))
			return false;
	}
	return true;
}

static uint32_t make_seal(const struct as_walk_instance *in, const struct as_desc_field *d,
			  const struct as_field *field, uint64_t from, uint64_t len)
{
	struct as_seal seal = { .sum = (enum as_seal_sum)d->sum,
				.init = d->init,
				.final = d->final,
				.next = in->base->seal };
	uint64_t off = in->off + from;

	if (field->off >= off && field->off + field->bytes <= off + len) {
		as_seal_whole(&seal, off, len, field->off, (uint8_t)field->bytes,
			      field->big_endian);
	} else {
		as_seal_disk(&seal, off, len);
		as_seal_store(&seal, field->off, (uint8_t)field->bytes, 0, field->big_endian);
	}
	return as_walk_seal(in->walk, &seal);
}

void as_walk_sums(struct as_walk_instance *in)
{
	struct as_fields *out = in->walk->out;

	for (size_t i = 0; i < in->s->n; i++) {
		const struct as_desc_field *d = &in->walk->desc->fields[in->s->first + i];
		uint64_t place = in->place[i], from, len;
		uint32_t seal;

		if (d->sum == DESC_NONE || !place)
			continue;
		from = as_walk_eval(in, d->from);
		len = as_walk_eval(in, d->len);
		if (!len || from > in->len || len > in->len - from)
			continue;
		seal = make_seal(in, d, &out->fields[place - 1], from, len);
		for (size_t k = in->first; k < out->n; k++)
			if (out->fields[k].off >= in->off + from &&
			    out->fields[k].off < in->off + from + len)
				out->fields[k].seal = seal;
		out->fields[place - 1].seal = seal;
		in->base->seal = seal;
	}
}

static void hold(const struct as_walk_instance *in, const struct as_desc_hold *h)
{
	struct as_disk_walk *walk = in->walk;
	uint64_t at = as_walk_eval(in, h->off), times = as_walk_eval(in, h->times);

	for (uint64_t k = 0; k < times && k < DESC_TIMES_MAX && at < in->len; k++) {
		struct as_walk_at here = { .structure = h->name,
					   .off = in->off + at,
					   .most = in->len - at,
					   .seal = in->base->seal };
		uint64_t align = 1, len;

		if (walk->rc || walk->out->n > FIELDS_MAX)
			return;
		here.instance = as_walk_text(walk, "%s %llu of %s", h->name, (unsigned long long)k,
					     in->base->instance);
		len = as_walk_emit(walk, &here);
		if (!len)
			return;
		for (size_t i = 0; i < walk->desc->n_structs; i++) {
			const struct as_desc_struct *s = &walk->desc->structs[i];

			if (s->align != DESC_NONE && !strcmp(s->name, h->name))
				align = as_desc_eval(walk->desc, s->align, walk->var, NULL, NULL);
		}
		at += len;
		if (align > 1 && at % align)
			at += align - at % align;
	}
}

void as_walk_holds(const struct as_walk_instance *in)
{
	struct as_disk_walk *walk = in->walk;

	if (walk->depth == DEPTH_MAX)
		return;
	walk->depth++;
	for (size_t i = 0; i < in->s->n_holds; i++) {
		const struct as_desc_hold *h = &walk->desc->holds[in->s->first_hold + i];

		if (h->cond == DESC_NONE || as_walk_eval(in, h->cond))
			hold(in, h);
	}
	walk->depth--;
}

/* ---- At fixed places ---- */

static bool is_outside(const struct as_disk_walk *walk, const struct as_desc_struct *s,
		       uint64_t off)
{
	uint64_t size = as_disk_size(walk->disk);

	return off >= size ||
	       (s->size != DESC_NONE && !as_desc_names_fields(walk->desc, s->size) &&
		as_desc_eval(walk->desc, s->size, walk->var, NULL, NULL) > size - off);
}

static void place(struct as_disk_walk *walk, const struct as_desc_struct *s)
{
	const struct as_desc *desc = walk->desc;
	uint64_t at = as_desc_eval(desc, s->at, walk->var, NULL, NULL), times = 1, step = 0;

	if (s->times != DESC_NONE) {
		times = as_desc_eval(desc, s->times, walk->var, NULL, NULL);
		step = as_desc_eval(desc, s->step, walk->var, NULL, NULL);
	}
	for (uint64_t k = 0; k < times && k < DESC_TIMES_MAX && !walk->rc; k++) {
		uint64_t off = at + k * step;
		struct as_walk_at here = { .structure = s->name, .off = off };

		if (is_outside(walk, s, off)) {
			walk->rc = as_fail(walk->err, AS_EUSE,
					   "%s:%u:%u: %s would be at byte %llu, which is outside "
					   "of the disk of %llu bytes",
					   desc->path, s->line, s->col, s->name,
					   (unsigned long long)off,
					   (unsigned long long)as_disk_size(walk->disk));
			return;
		}
		if (walk->out->n > FIELDS_MAX)
			return;
		if (s->times != DESC_NONE)
			here.instance =
				as_walk_text(walk, "%s %llu", s->name, (unsigned long long)k);
		(void)as_walk_emit(walk, &here);
	}
}

void as_walk_placed(struct as_disk_walk *walk)
{
	for (size_t i = 0; i < walk->desc->n_structs && !walk->rc; i++)
		if (walk->desc->structs[i].at != DESC_NONE)
			place(walk, &walk->desc->structs[i]);
}
