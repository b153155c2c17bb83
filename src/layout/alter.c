/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alter: see alter.h. */
#include "layout/alter.h"

#include "disk/chunk.h"

#include <string.h>

#define VALUES_MAX 96
#define NAME_BYTES 256u
#define NAMES 5u

static bool seal_after(const struct as_fields *fields, const struct as_field *f, bool seal,
		       struct as_disk *disk)
{
	struct as_err err;

	/* A checksum that is damaged itself must stay wrong. */
	return seal && f->seal && f->kind != AS_FIELD_CHECKSUM &&
	       !as_fields_seal(fields, disk, f->seal, &err) &&
	       !as_fields_seal_bytes(fields, disk, f->off, f->bytes, &err);
}

static void begin_words(const struct as_field *f, struct as_disk *disk, struct as_buf *words)
{
	as_buf_addf(words, "%s%s: %s: ", words->len ? "; " : "", f->instance, f->name);
	as_field_say(f, disk, words);
	as_buf_adds(words, " becomes ");
}

bool as_field_alter_to(const struct as_fields *fields, size_t i, uint64_t value, bool seal,
		       struct as_disk *disk, struct as_buf *words)
{
	const struct as_field *f = as_fields_at(fields, i);
	struct as_err err;

	begin_words(f, disk, words);
	as_field_say_value(f, value, words);
	return !as_field_set(f, disk, value, &err) && seal_after(fields, f, seal, disk);
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* That of a neighbour: two of the same name. */
static void name_of_other(const struct as_fields *fields, size_t i, struct as_disk *disk,
			  unsigned char *name, size_t *len)
{
	const struct as_field *f = as_fields_at(fields, i);

	for (size_t k = i; k-- > 0;) {
		const struct as_field *g = as_fields_at(fields, k);

		if (g->kind == AS_FIELD_NAME && g->bytes == f->bytes &&
		    !strcmp(g->structure, f->structure) && g->parent == f->parent) {
			*len = as_field_bytes(g, disk, name, NAME_BYTES);
			return;
		}
	}
}

/* What a name may become. */
static void other_name(const struct as_fields *fields, size_t i, struct as_disk *disk, unsigned way,
		       unsigned char *name, size_t *len)
{
	*len = as_field_bytes(as_fields_at(fields, i), disk, name, NAME_BYTES);
	switch (way) {
	case 0: /* not a name at all */
		name[0] = '/';
		break;
	case 1:
		name[0] = '\0';
		break;
	case 2:
		memset(name, 0xff, *len);
		break;
	case 3: /* one that points to itself */
		name[0] = '.';
		break;
	default:
		name_of_other(fields, i, disk, name, len);
	}
}

static bool alter_name(const struct as_fields *fields, size_t i, unsigned way, bool seal,
		       struct as_disk *disk, struct as_buf *words)
{
	const struct as_field *f = as_fields_at(fields, i);
	unsigned char name[NAME_BYTES];
	struct as_err err;
	size_t len;
	bool sealed;

	other_name(fields, i, disk, way, name, &len);
	begin_words(f, disk, words);
	sealed = !as_field_set_bytes(f, disk, name, len, &err) && seal_after(fields, f, seal, disk);
	as_field_say(f, disk, words);
	return sealed;
}

/* ---- Either ---------------------------------------------------------------------------------- */

size_t as_field_ways(const struct as_fields *fields, size_t i, struct as_disk *disk)
{
	uint64_t values[VALUES_MAX];
	size_t n = as_field_values(fields, i, disk, values, VALUES_MAX);

	return n + (as_fields_at(fields, i)->kind == AS_FIELD_NAME ? NAMES : 0);
}

bool as_field_alter(const struct as_fields *fields, size_t i, size_t way, bool seal,
		    struct as_disk *disk, struct as_buf *words)
{
	uint64_t values[VALUES_MAX];
	size_t n = as_field_values(fields, i, disk, values, VALUES_MAX);

	return way < n ? as_field_alter_to(fields, i, values[way], seal, disk, words)
		       : alter_name(fields, i, (unsigned)(way - n), seal, disk, words);
}

void as_disk_turn_over(struct as_disk *disk, unsigned char erased)
{
	unsigned char chunk[AS_CHUNK_BYTES];
	uint64_t size = as_disk_size(disk);

	for (uint64_t at = 0; erased && at < size; at += sizeof(chunk)) {
		size_t n = size - at < sizeof(chunk) ? (size_t)(size - at) : sizeof(chunk);

		as_assert(!as_bd_read(as_disk_bd(disk), at, chunk, n));
		for (size_t i = 0; i < n; i++)
			chunk[i] ^= erased;
		as_assert(!as_bd_write(as_disk_bd(disk), at, chunk, n));
	}
}
