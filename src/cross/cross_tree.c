/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross_tree: the tree of a disk by the description of its type (layout/field.h), without a kernel:
 * inodes by their roles file.*, names by dir.entry.*, data by areas. What is damaged is left out,
 * and no directory is entered twice.
 */
#include "cross/cross_priv.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"
#include "layout/field.h"
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 64u
#define FILE_MAX ((uint64_t)64 << 20) /* more than any disk of ours has */
#define SECTOR AS_DISK_SECTOR_BYTES
#define DATA_OF "data of "

struct cross_node {
	uint64_t ino;
	const char *path; /* by which areas of data know it */
	struct as_tree_node node;
	char *text; /* of a link, where the inode has it */
	bool entered;
};

struct cross_name {
	const char *dir;
	char *name;
	uint64_t ino;
};

struct tree_reading {
	struct as_disk *disk;
	struct as_fields *fields;
	struct cross_node *nodes;
	size_t n, cap;
	struct as_table by_ino;
	struct cross_name *names;
	size_t n_names, cap_names;
	struct as_tree_maker *maker;
};

static bool has_role(const struct as_field *f, const char *role)
{
	return f->role && !strcmp(f->role, role);
}

static struct cross_node *node_of(const struct tree_reading *r, uint64_t ino)
{
	size_t i = as_table_get(&r->by_ino, ino);

	return i == AS_TABLE_NONE ? NULL : &r->nodes[i];
}

static void add_node(struct tree_reading *r, const struct as_field *f)
{
	if (node_of(r, f->self))
		return;
	AS_ARRAY_ROOM(r->nodes, r->n, r->cap);
	r->nodes[r->n] = (struct cross_node){ .ino = f->self, .path = f->path };
	r->nodes[r->n].node.mode = (uint32_t)as_field_get(f, r->disk);
	as_table_add(&r->by_ino, f->self, r->n++);
}

static void read_inode(struct tree_reading *r, const struct as_field *f)
{
	struct cross_node *node = node_of(r, f->self);
	char bytes[1025];
	size_t n;

	if (!node)
		return;
	if (has_role(f, "file.size")) {
		node->node.size |= as_field_get(f, r->disk);
	} else if (has_role(f, "file.uid")) {
		node->node.uid = (uint32_t)as_field_get(f, r->disk);
	} else if (has_role(f, "file.gid")) {
		node->node.gid = (uint32_t)as_field_get(f, r->disk);
	} else if (has_role(f, "file.links")) {
		node->node.nlink = (uint32_t)as_field_get(f, r->disk);
	} else if (has_role(f, "file.link_text") && !node->text) {
		n = as_field_bytes(f, r->disk, bytes, sizeof(bytes) - 1);
		node->text = as_xstrndup(bytes, n);
	}
}

static void add_name(struct tree_reading *r, const struct as_field *f, uint64_t ino)
{
	char text[AS_CROSS_NAME_BYTES];

	as_cross_name(f, r->disk, text);
	if (!f->path || !ino || !*text || !strcmp(text, ".") || !strcmp(text, ".."))
		return;
	AS_ARRAY_ROOM(r->names, r->n_names, r->cap_names);
	r->names[r->n_names++] = (struct cross_name){ f->path, as_xstrdup(text), ino };
}

/* jfs has inodes of its own that have the numbers of others, and words in place of a path. */
static bool is_of_tree(const struct as_field *f)
{
	return f->path && f->path[0] == '/';
}

/* Some types have the mode after other fields of an inode. */
static void read_fields(struct tree_reading *r)
{
	for (size_t i = 0; i < as_fields_n(r->fields); i++) {
		const struct as_field *f = as_fields_at(r->fields, i);

		if (has_role(f, "file.mode") && is_of_tree(f))
			add_node(r, f);
	}
	for (size_t i = 0; i < as_fields_n(r->fields); i++) {
		const struct as_field *f = as_fields_at(r->fields, i), *ino;

		if (f->role && !strncmp(f->role, "file.", 5) && is_of_tree(f))
			read_inode(r, f);
		if (!has_role(f, "dir.entry.name"))
			continue;
		ino = as_cross_entry_field(r->fields, i, "dir.entry.inode");
		if (ino)
			add_name(r, f, as_field_get(ino, r->disk));
	}
}

/* The bytes of a file or a long link. */
static unsigned char *read_data(const struct tree_reading *r, const struct cross_node *node)
{
	uint64_t size = node->node.size;
	unsigned char *data = as_xcalloc(size + SECTOR, 1), sector[SECTOR];

	for (size_t i = 0; i < as_fields_areas(r->fields); i++) {
		const struct as_disk_area *a = as_fields_area(r->fields, i);

		if (!a->is_data || strncmp(a->what, DATA_OF, strlen(DATA_OF)) || !node->path ||
		    strcmp(a->what + strlen(DATA_OF), node->path))
			continue;
		for (uint64_t at = 0; at < a->len && a->at + at < size;) {
			uint64_t off = a->off + at, skip = off % SECTOR;
			uint64_t n = SECTOR - skip < a->len - at ? SECTOR - skip : a->len - at;

			if (as_bd_read(as_disk_bd(r->disk), off - skip, sector, SECTOR))
				break;
			if (n > size - (a->at + at))
				n = size - (a->at + at);
			memcpy(data + a->at + at, sector + skip, n);
			at += n;
		}
	}
	return data;
}

static void fill(const struct tree_reading *r, const struct cross_node *node,
		 struct as_tree_node *out, char **text)
{
	unsigned char *data;

	*out = node->node;
	*text = NULL;
	if ((!S_ISREG(out->mode) && !S_ISLNK(out->mode)) || out->size > FILE_MAX)
		return;
	if (S_ISLNK(out->mode) && node->text) {
		/* A damaged inode may tell any size. */
		*text = as_xstrndup(node->text, strnlen(node->text, out->size));
	} else {
		data = read_data(r, node);
		if (S_ISLNK(out->mode))
			*text = as_xstrndup((char *)data, out->size);
		else
			out->content = as_content_of_bytes(data, out->size);
		free(data);
	}
	if (*text)
		out->text = *text;
}

static void add_below(struct tree_reading *r, struct cross_node *dir, uint32_t at, unsigned depth)
{
	dir->entered = true;
	for (size_t i = 0; i < r->n_names && depth < DEPTH_MAX; i++) {
		struct cross_node *node = node_of(r, r->names[i].ino);
		struct as_tree_node one;
		uint32_t number;
		char *text;

		if (!dir->path || strcmp(r->names[i].dir, dir->path) || !node ||
		    (S_ISDIR(node->node.mode) && node->entered))
			continue;
		fill(r, node, &one, &text);
		one.name = r->names[i].name;
		number = as_tree_maker_add(r->maker, at, node->ino, &one);
		as_content_put(one.content);
		free(text);
		if (S_ISDIR(node->node.mode))
			add_below(r, node, number, depth + 1);
	}
}

static struct cross_node *find_root(struct tree_reading *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->nodes[i].path && !strcmp(r->nodes[i].path, "/"))
			return &r->nodes[i];
	return NULL;
}

static bool is_twice(const struct tree_reading *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(r->names[k].name, r->names[i].name) &&
		    !strcmp(r->names[k].dir, r->names[i].dir))
			return true;
	return false;
}

/* A damaged directory may have a name twice; a tree may not. */
static void drop_twins(struct tree_reading *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_names; i++) {
		struct cross_name name = r->names[i];

		if (is_twice(r, i)) {
			free(name.name);
			r->names[i].name = as_xstrdup("");
		}
	}
	for (size_t i = 0; i < r->n_names; i++) {
		if (*r->names[i].name)
			r->names[n++] = r->names[i];
		else
			free(r->names[i].name);
	}
	r->n_names = n;
}

struct as_tree *as_cross_tree(const char *type, struct as_disk *disk)
{
	struct tree_reading r = { .disk = disk };
	struct as_tree *tree = NULL;
	struct cross_node *root;
	struct as_err ignored;

	if (as_fields_read(type, disk, &r.fields, &ignored))
		return NULL;
	read_fields(&r);
	drop_twins(&r);
	root = find_root(&r);
	if (root && S_ISDIR(root->node.mode)) {
		struct as_tree_node one = root->node;

		one.name = "";
		r.maker = as_tree_maker_new();
		add_below(&r, root, as_tree_maker_add(r.maker, AS_TREE_NONE, root->ino, &one), 0);
		tree = as_tree_maker_done(r.maker);
	}
	for (size_t i = 0; i < r.n; i++)
		free(r.nodes[i].text);
	for (size_t i = 0; i < r.n_names; i++)
		free(r.names[i].name);
	free(r.nodes);
	free(r.names);
	as_table_free(&r.by_ino);
	as_fields_free(r.fields);
	return tree;
}
