/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_tree: see import_tree.h. Paths are those of the tree. */
#include "trace/import_tree.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Since when a name is there. */
enum name_since { SINCE_START, SINCE_MADE, SINCE_GONE };

struct as_import_name {
	enum name_since since;
	char path[];
};

void as_import_tree_open(struct as_import_tree *t, struct as_importing *x, const char *root)
{
	*t = (struct as_import_tree){ .x = x, .first = as_seq_new() };
	if (strcmp(root, "/") != 0)
		as_buf_adds(&t->root, root);
}

void as_import_tree_close(struct as_import_tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->names[i]);
	free(t->names);
	as_table_free(&t->table);
	as_seq_free(t->first);
	as_buf_free(&t->root);
}

const char *as_import_tree_path(const struct as_import_tree *t, const struct as_buf *absolute)
{
	const char *path = absolute->data;
	size_t n = t->root.len;

	if (absolute->len < n || (n && memcmp(path, t->root.data, n) != 0) ||
	    (absolute->len > n && path[n] != '/'))
		return NULL;
	if (absolute->len == n)
		return "/";
	return as_importing_word(t->x, (struct as_span){ path + n, absolute->len - n });
}

/* A slash at the end does not belong to the name. */
static size_t name_len(const char *path)
{
	size_t len = strlen(path);

	while (len && path[len - 1] == '/')
		len--;
	return len;
}

struct import_key {
	const struct as_import_tree *tree;
	const char *path;
	size_t len;
};

static bool is_name(const void *ctx, size_t index)
{
	const struct import_key *key = ctx;
	const char *path = key->tree->names[index]->path;

	return !strncmp(path, key->path, key->len) && !path[key->len];
}

static struct as_import_name *find_name(const struct as_import_tree *t, const char *path,
					size_t len)
{
	struct import_key key = { t, path, len };
	size_t i = as_table_find(&t->table, as_hash64(path, len), is_name, &key);

	return i == AS_TABLE_NONE ? NULL : t->names[i];
}

static void set_name(struct as_import_tree *t, const char *path, size_t len, enum name_since since)
{
	struct as_import_name *name = find_name(t, path, len);

	if (!name) {
		name = as_xcalloc(1, sizeof(*name) + len + 1);
		memcpy(name->path, path, len);
		AS_ARRAY_ROOM(t->names, t->n, t->cap);
		as_table_add(&t->table, as_hash64(path, len), t->n);
		t->names[t->n++] = name;
	}
	name->since = since;
}

/* How much of a path of this length is its folder, without the slash. */
static size_t folder_len(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len - (len > 0);
}

void as_import_tree_needs(struct as_import_tree *t, const char *path, bool folder)
{
	struct as_op op = as_op_make(folder ? AS_OP_MKDIR : AS_OP_CREATE);
	size_t len = name_len(path), above = folder_len(path, len);
	struct as_import_name *name;

	if (!len || find_name(t, path, len))
		return;
	op.path = as_importing_word(t->x, (struct as_span){ path, above });
	as_import_tree_needs(t, op.path, true);
	/* A folder that the log itself made was empty, so nothing in it was there at the start. */
	name = above ? find_name(t, path, above) : NULL;
	if (name && name->since != SINCE_START)
		return;
	op.path = as_importing_word(t->x, (struct as_span){ path, len });
	op.mode = folder ? 0777 : 0666;
	as_seq_add(t->first, &op);
	set_name(t, path, len, SINCE_START);
}

void as_import_tree_needs_folder_of(struct as_import_tree *t, const char *path)
{
	size_t len = folder_len(path, name_len(path));

	as_import_tree_needs(t, as_importing_word(t->x, (struct as_span){ path, len }), true);
}

void as_import_tree_made(struct as_import_tree *t, const char *path)
{
	set_name(t, path, name_len(path), SINCE_MADE);
}

void as_import_tree_gone(struct as_import_tree *t, const char *path)
{
	set_name(t, path, name_len(path), SINCE_GONE);
}

static bool is_at_or_below(const char *path, const char *folder, size_t len)
{
	return !strncmp(path, folder, len) && (path[len] == '/' || !path[len]);
}

void as_import_tree_renamed(struct as_import_tree *t, const char *from, const char *to)
{
	size_t len = name_len(from), n = t->n;

	/* Nothing can be moved below itself, and the root cannot be moved at all. */
	if (!len || is_at_or_below(to, from, len))
		return;
	/* Names that are added here come after these. */
	for (size_t i = 0; i < n; i++) {
		struct as_import_name *name = t->names[i];
		struct as_buf path = { 0 };

		if (name->since == SINCE_GONE || !is_at_or_below(name->path, from, len))
			continue;
		name->since = SINCE_GONE;
		as_buf_addf(&path, "%.*s%s", (int)name_len(to), to, name->path + len);
		as_import_tree_made(t, as_buf_str(&path));
		as_buf_free(&path);
	}
	as_import_tree_made(t, to);
	as_import_tree_gone(t, from);
}
