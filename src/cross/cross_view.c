/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross_view: what trees of different types have in common: SWIFT's Table 3. A view has one row
 * for each name, with a number for each attribute, so that two types are compared by numbers.
 */
#include "cross/cross_priv.h"

#include "base/array.h"
#include "base/hash.h"
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const facets[] = {
#define FACET(id, name) name,
	AS_CROSS_FACETS(FACET)
#undef FACET
};

const char *as_cross_facet_name(enum as_cross_facet facet)
{
	return facets[facet];
}

void as_cross_view_free(struct as_cross_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		free(view->rows[i].path);
	free(view->rows);
	*view = (struct as_cross_view){ 0 };
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct as_cross_row *)a)->path,
		      ((const struct as_cross_row *)b)->path);
}

static uint64_t content_of(const struct as_tree_node *node)
{
	if (node->content)
		return node->content->digest.lo ^ node->content->digest.hi;
	return node->text ? as_hash64(node->text, strlen(node->text)) : 0;
}

static void add_row(struct as_cross_view *view, const char *path, const struct as_tree_node *node)
{
	bool has_size = S_ISREG(node->mode) || S_ISLNK(node->mode);
	struct as_cross_row *row;

	AS_ARRAY_ROOM(view->rows, view->n, view->cap);
	row = &view->rows[view->n++];
	*row = (struct as_cross_row){ .path = as_xstrdup(path),
				      .bytes = has_size ? node->size : 0 };
	row->v[AS_CROSS_NAME] = AS_CROSS_THERE;
	row->v[AS_CROSS_TYPE] = node->mode & S_IFMT;
	row->v[AS_CROSS_PERMISSIONS] = S_ISLNK(node->mode) ? 0 : node->mode & 07777;
	row->v[AS_CROSS_LINKS] = S_ISDIR(node->mode) ? 0 : node->nlink;
	row->v[AS_CROSS_USER] = node->uid;
	row->v[AS_CROSS_GROUP] = node->gid;
	row->v[AS_CROSS_SIZE] = row->bytes;
	row->v[AS_CROSS_CONTENT] = content_of(node);
}

void as_cross_view_of(const struct as_tree *tree, struct as_cross_view *view)
{
	struct as_buf path = { 0 };

	*view = (struct as_cross_view){ 0 };
	for (uint32_t i = 1; tree && i < as_tree_len(tree); i++) {
		as_buf_clear(&path);
		as_tree_path(tree, i, &path);
		add_row(view, as_buf_str(&path), as_tree_at(tree, i));
	}
	if (view->n)
		qsort(view->rows, view->n, sizeof(*view->rows), by_path);
	as_buf_free(&path);
}

const struct as_cross_row *as_cross_view_find(const struct as_cross_view *view, const char *path)
{
	const struct as_cross_row key = { .path = (char *)path };

	return view->n ? bsearch(&key, view->rows, view->n, sizeof(*view->rows), by_path) : NULL;
}

/* Whether a file with these contents is anywhere under a name that is new. */
static bool is_elsewhere(const struct as_cross_view *was, const struct as_cross_view *now,
			 const struct as_cross_row *row)
{
	for (size_t i = 0; row->bytes && i < now->n; i++)
		if (now->rows[i].v[AS_CROSS_TYPE] == row->v[AS_CROSS_TYPE] &&
		    now->rows[i].v[AS_CROSS_SIZE] == row->v[AS_CROSS_SIZE] &&
		    now->rows[i].v[AS_CROSS_CONTENT] == row->v[AS_CROSS_CONTENT] &&
		    !as_cross_view_find(was, now->rows[i].path))
			return true;
	return false;
}

uint64_t as_cross_value(const struct as_cross_view *was, const struct as_cross_view *now,
			const struct as_cross_row *row, enum as_cross_facet facet)
{
	const struct as_cross_row *there = as_cross_view_find(now, row->path);

	if (there)
		return there->v[facet];
	if (facet != AS_CROSS_NAME)
		return AS_CROSS_NOTHING;
	return is_elsewhere(was, now, row) ? AS_CROSS_MOVED : AS_CROSS_GONE;
}

void as_cross_say_value(enum as_cross_facet facet, uint64_t value, struct as_buf *out)
{
	if (value == AS_CROSS_NOTHING) {
		as_buf_adds(out, "-");
		return;
	}
	switch (facet) {
	case AS_CROSS_NAME:
		as_buf_adds(out, value == AS_CROSS_THERE   ? "there"
				 : value == AS_CROSS_MOVED ? "elsewhere"
							   : "gone");
		break;
	case AS_CROSS_TYPE:
	case AS_CROSS_PERMISSIONS:
		as_buf_addf(out, "0%llo", (unsigned long long)value);
		break;
	case AS_CROSS_CONTENT:
		as_buf_addf(out, "%08llx", (unsigned long long)(value & 0xffffffffu));
		break;
	default:
		as_buf_addf(out, "%llu", (unsigned long long)value);
	}
}
