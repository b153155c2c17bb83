/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_names: see walk_names_priv.h. */
#include "layout/walk/walk_names_priv.h"

#include "base/array.h"
#include "base/show.h"

#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 1024u

struct as_walk_name *as_walk_name_of(struct as_walk_names *names, uint64_t object)
{
	size_t i = as_table_get(&names->by_object, object);

	return i == AS_TABLE_NONE ? NULL : &names->names[i];
}

void as_walk_name_add(struct as_walk_names *names, uint64_t object, uint64_t parent,
		      const char *name, size_t len)
{
	if (!as_walk_leads_on(name, len))
		return;
	AS_ARRAY_ROOM(names->names, names->n, names->cap);
	names->names[names->n] = (struct as_walk_name){ object, parent, as_xstrndup(name, len), 0 };
	if (!as_walk_name_of(names, object))
		as_table_add(&names->by_object, object, names->n);
	names->n++;
}

/* Upwards to the root; a loop of a damaged disk ends at CHAIN_MAX. */
static const char *path_from(struct as_walk_names *names, const struct as_walk_name *name)
{
	const struct as_walk_name *chain[CHAIN_MAX];
	struct as_buf path = { 0 };
	const char *text = "/";
	size_t n = 0;

	for (; name && n < CHAIN_MAX; name = as_walk_name_of(names, name->parent)) {
		chain[n++] = name;
		if (name->parent == names->root)
			break;
	}
	while (n--) {
		as_buf_addc(&path, '/');
		as_shown(&path, chain[n]->name, strlen(chain[n]->name));
	}
	if (path.len)
		text = as_walk_text(names->walk, "%s", as_buf_str(&path));
	as_buf_free(&path);
	return text;
}

const char *as_walk_name_path(struct as_walk_names *names, uint64_t object)
{
	const struct as_walk_name *name;

	if (object == names->root)
		return "/";
	name = as_walk_name_of(names, object);
	return name ? path_from(names, name)
		    : as_walk_text(names->walk, "(object %llu without a name)",
				   (unsigned long long)object);
}

void as_walk_names_tell(struct as_walk_names *names)
{
	(void)as_walk_inode(names->walk, names->root, "/");
	for (size_t i = 0; i < names->n; i++)
		(void)as_walk_inode(names->walk, names->names[i].object,
				    path_from(names, &names->names[i]));
}

void as_walk_names_free(struct as_walk_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->names[i].name);
	free(names->names);
	as_table_free(&names->by_object);
}
