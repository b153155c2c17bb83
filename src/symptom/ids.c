/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ids: see ids.h. */
#include "symptom/ids.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ids_key {
	const struct as_ids *ids;
	const char *id;
};

static bool is_id(const void *ctx, size_t index)
{
	const struct ids_key *key = ctx;

	return !strcmp(key->ids->ids[index], key->id);
}

bool as_ids_add(struct as_ids *ids, const char *id)
{
	struct ids_key key = { ids, id };
	uint64_t hash = as_hash64(id, strlen(id));

	if (as_table_find(&ids->table, hash, is_id, &key) != AS_TABLE_NONE)
		return false;
	AS_ARRAY_ROOM(ids->ids, ids->n, ids->cap);
	snprintf(ids->ids[ids->n], AS_FINDING_ID_MAX, "%s", id);
	as_table_add(&ids->table, hash, ids->n++);
	return true;
}

void as_ids_free(struct as_ids *ids)
{
	as_table_free(&ids->table);
	free(ids->ids);
	*ids = (struct as_ids){ 0 };
}
