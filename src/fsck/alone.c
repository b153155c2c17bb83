/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alone: see alone.h. */
#include "fsck/alone.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"
#include "symptom/still.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 2u

struct alias {
	char *from, *to;
};

struct as_alone {
	struct alias *items;
	size_t n, cap;
	struct as_table table;
};

struct as_alone *as_alone_new(void)
{
	return as_xcalloc(1, sizeof(struct as_alone));
}

void as_alone_free(struct as_alone *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->items[i].from);
		free(s->items[i].to);
	}
	free(s->items);
	as_table_free(&s->table);
	free(s);
}

const char *as_alone_name(const struct as_alone *s, const char *signature)
{
	size_t i = as_table_get(&s->table, as_hash64(signature, strlen(signature)));

	return i != AS_TABLE_NONE && !strcmp(s->items[i].from, signature) ? s->items[i].to
									  : signature;
}

static void remember(struct as_alone *s, const char *from, const char *to)
{
	uint64_t hash = as_hash64(from, strlen(from));

	if (as_table_get(&s->table, hash) != AS_TABLE_NONE)
		return;
	AS_ARRAY_ROOM(s->items, s->n, s->cap);
	s->items[s->n] = (struct alias){ as_xstrdup(from), as_xstrdup(to) };
	as_table_add(&s->table, hash, s->n++);
}

int as_alone_try(struct as_alone *s, const struct as_alone_case *c, struct as_corrupt_lot *found,
		 struct as_err *err)
{
	struct as_corrupt_lot part = { 0 };
	struct as_fsck_verdict v = { 0 };
	bool shows = false;
	int rc = 0;

	for (unsigned i = 0; !rc && !shows && i < FIELDS_MAX; i++) {
		const struct as_fsck_base *base;
		struct as_disk *disk;

		as_corrupt_part(c->corrupt, c->lot, c->nth, i, &part);
		if (!part.n)
			continue;
		base = &c->bases[part.damages[0].base];
		disk = as_damage_apply(&part.damages[0], base->disk, NULL);
		rc = as_judge_disk(c->judge, base, &part.damages[0], disk, &v, err);
		shows = !rc && as_still_fails(AS_STILL_ALONE, c->signature,
					      as_fsck_verdict_shows(&v, c->problem));
		as_disk_free(disk);
	}
	if (shows) {
		remember(s, c->signature, as_buf_str(&v.found[c->problem].signature));
		as_corrupt_lot_free(found);
		*found = part;
	} else {
		as_corrupt_lot_free(&part);
	}
	as_fsck_verdict_free(&v);
	return rc;
}
