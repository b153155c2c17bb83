/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loss_touch: what a damage touches:
 *   - an inode, if a byte of it, of its data, or of a block that leads to its data was changed;
 *   - a name, if a byte of its entry was changed, or the inode of a directory above it was, or the
 *     length of an entry before it in the same directory (nobody can tell then where it begins).
 *     Where a type has its names twice (btrfs), both are touched;
 *   - all that is in a block of a tree, if the head of the block or of an item was changed, and
 *     everything, if a pointer of a tree was;
 *   - where the entry of a directory is the inode (vfat), the file and all below it, if the entry
 *     or its long name was changed, all of the directory, if its first byte was (0 is the end of
 *     the directory), and everything, if the table was;
 *   - nothing at all, if it is in the superblock, a bitmap or another structure of no file.
 * Checksums that were computed anew are not counted. If they were not, all that a checksum covers
 * is touched.
 */
#include "fsck/loss_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TREE_BLOCK 4096u /* of reiserfs; blocks of btrfs are told by their checksum */
#define IAG_EXTENT 32u /* inodes of an extent of jfs, */
#define IAG_EXTENTS 128u /* and extents of a group */
#define FAT_ENTRY 32u /* bytes of an entry of a directory of vfat */

/* ---- What a damage touches ------------------------------------------------------------------- */

static bool is_in(const struct as_damage *d, uint64_t off, uint64_t len)
{
	size_t lo = 0, hi = d->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (d->bytes[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->n && d->bytes[lo].off < off + len;
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strcmp(dir, "/") || (!strncmp(path, dir, len) && path[len] == '/');
}

static void touch_path(struct as_loss_files *t, const char *path)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].path && !strcmp(t->nodes[i].path, path)) {
			t->nodes[i].touched = true;
			if (!S_ISDIR(t->nodes[i].mode))
				continue;
			for (size_t k = 0; k < t->n_names; k++)
				if (is_below(t->names[k].path, path))
					t->names[k].touched = true;
		}
}

/* An entry of a directory, by the field of it that was damaged. */
static void touch_entry(struct as_loss_files *t, const struct as_field *f)
{
	/* The longest entry begins at most so far before. */
	uint64_t from = f->off > 16 ? f->off - 16 : 0;

	for (size_t i = 0; i < t->n_names; i++) {
		struct as_loss_name *name = &t->names[i];
		bool same = ((name->off >= from && name->off <= f->off) ||
			     name->text_off == f->off || !strcmp(name->instance, f->instance)) &&
			    !strcmp(name->dir, f->path);
		bool later = (as_loss_has_role(f, "dir.entry.length") ||
			      as_loss_has_role(f, "dir.entry.name_length")) &&
			     name->off > f->off && !strcmp(name->dir, f->path);

		name->touched = name->touched || same || later;
	}
}

/* A name that is on the disk twice, such as by its hash and by its number. */
static void touch_twins(struct as_loss_files *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		for (size_t k = 0; t->names[i].touched && k < t->n_names; k++)
			if (!strcmp(t->names[k].path, t->names[i].path))
				t->names[k].touched = true;
}

/* What is below a directory that lost its name can have moved with it. Names are in the order of a
 * walk, so that those of a directory come before what is below it. */
static void touch_below(struct as_loss_files *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		for (size_t k = 0; t->names[i].touched && k < t->n_names; k++)
			if (is_below(t->names[k].path, t->names[i].path))
				t->names[k].touched = true;
}

/* The entry "..": a repair may believe either side of it, and move the directory. */
static bool is_parent_entry(const struct as_field *f)
{
	return !strcmp(f->class, "parent");
}

/* After a power cut: what the workload named since the disk was healthy. The entries of a directory
 * that was changed may be torn. */
static void touch_named(struct as_loss_files *t, const char *path)
{
	const struct as_loss_name *name = as_loss_name_at(t, path);
	const char *end = strrchr(path, '/');
	struct as_loss_node *node = name ? as_loss_node_of(t, name->ino) : NULL;

	if (node)
		node->touched = true;
	for (size_t i = 0; i < t->n_names; i++) {
		struct as_loss_name *k = &t->names[i];
		size_t dir = strlen(k->dir) == 1 ? 0 : strlen(k->dir);

		if (is_below(k->path, path)) {
			k->touched = true;
			node = as_loss_node_of(t, k->ino);
			if (node)
				node->touched = true;
		} else if (!strcmp(k->path, path) ||
			   (end && dir == (size_t)(end - path) && !strncmp(k->dir, path, dir))) {
			k->touched = true;
		}
	}
}

/* What has lost all of its names, and is freed then. */
static void touch_nameless(struct as_loss_files *t, enum as_loss_drops drops)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		bool named = drops == AS_LOSS_DROPS_EMPTY &&
			     (!S_ISREG(t->nodes[i].mode) || t->nodes[i].size);

		for (size_t k = 0; !named && k < t->n_names; k++)
			named = t->names[k].ino == t->nodes[i].ino && !t->names[k].touched;
		t->nodes[i].touched = t->nodes[i].touched || !named;
	}
}

static bool is_one_of(const char *structure, const char *const *all)
{
	while (*all && strcmp(structure, *all))
		all++;
	return *all;
}

static void touch_field(struct as_loss_files *t, const struct as_field *f)
{
	if (!f->path)
		return;
	if (f->role && !strncmp(f->role, "dir.entry.", 10) && !is_parent_entry(f))
		touch_entry(t, f);
	else
		touch_path(t, f->path);
}

/* Trees whose blocks hold items of several files: a head that is wrong spoils the block, and a
 * pointer that is wrong all that is below it. */
static void touch_tree(struct as_loss_files *t, const struct as_field *f)
{
	static const char *const heads[] = { "node_head", "item_head", "node", NULL };
	static const char *const pointers[] = { "node_key", "node_child", "key_pointer", NULL };
	bool all = is_one_of(f->structure, pointers);

	if (!all && !is_one_of(f->structure, heads))
		return;
	for (size_t i = 0; i < as_fields_n(t->fields); i++) {
		const struct as_field *g = as_fields_at(t->fields, i);

		if (all || (f->seal && f->seal == g->seal) ||
		    g->off / TREE_BLOCK == f->off / TREE_BLOCK)
			touch_field(t, g);
	}
}

/* Nobody believes a block whose checksum is wrong: what it covers is touched with it. */
static void touch_sealed(struct as_loss_files *t, const struct as_field *f)
{
	for (size_t i = 0; f->seal && i < as_fields_n(t->fields); i++)
		if (as_fields_at(t->fields, i)->seal == f->seal)
			touch_field(t, as_fields_at(t->fields, i));
}

/* Of jfs: a wrong pointer of a group of inodes leads to none of the inodes that it stands for. */
static void touch_extent(struct as_loss_files *t, const struct as_field *f)
{
	unsigned extent;

	if (strcmp(f->structure, "iag") || sscanf(f->name, "inoext[%u]", &extent) != 1)
		return;
	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].ino / IAG_EXTENT % IAG_EXTENTS == extent)
			t->nodes[i].touched = true;
	for (size_t i = 0; i < t->n_names; i++)
		if (t->names[i].ino / IAG_EXTENT % IAG_EXTENTS == extent)
			t->names[i].touched = true;
}

static void touch_under(struct as_loss_files *t, const char *path)
{
	for (size_t i = 0; i < t->n_names; i++)
		if (!strcmp(t->names[i].path, path) || is_below(t->names[i].path, path))
			t->names[i].touched = true;
	for (size_t i = 0; i < t->n_nodes; i++)
		if (!strcmp(t->nodes[i].path, path) || is_below(t->nodes[i].path, path))
			t->nodes[i].touched = true;
}

/* Of vfat: the path of an entry is that of its file, and a long name before it is a part of it. A
 * first byte of 0 is the end of the directory. An entry of the table may be of any file. */
static void touch_entry_and_node(struct as_loss_files *t, const struct as_field *f)
{
	char dir[1024];
	char *end;

	if (!t->entries_are_nodes)
		return;
	if (!f->path) {
		if (!strcmp(f->structure, "fat_entry"))
			touch_under(t, "/");
		return;
	}
	touch_under(t, f->path);
	if (f->off % FAT_ENTRY || strlen(f->path) >= sizeof(dir))
		return;
	memcpy(dir, f->path, strlen(f->path) + 1);
	end = strrchr(dir, '/');
	if (end)
		end[end == dir] = '\0';
	touch_under(t, dir);
}

/* A block that leads to the data of a file: pointers that are not in use yet are no fields. */
static bool leads_to_data(const char *what)
{
	static const char *const begins[] = { "pointers of ", "extents of " };

	for (unsigned i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(what, begins[i], strlen(begins[i])))
			return true;
	return false;
}

void as_loss_touch(struct as_loss_files *t, const struct as_damage *d, enum as_loss_drops drops)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		t->nodes[i].touched = false;
	for (size_t i = 0; i < t->n_names; i++)
		t->names[i].touched = false;
	for (size_t i = 0; d->crashed && i < d->n_names; i++)
		touch_named(t, d->names[i]);
	if (d->crashed) {
		touch_below(t);
		return;
	}
	for (size_t i = 0; i < as_fields_n(t->fields); i++) {
		const struct as_field *f = as_fields_at(t->fields, i);

		if (!is_in(d, f->off, f->bytes) || (d->sealed && f->kind == AS_FIELD_CHECKSUM))
			continue;
		touch_field(t, f);
		touch_tree(t, f);
		if (!d->sealed)
			touch_sealed(t, f);
		touch_extent(t, f);
		touch_entry_and_node(t, f);
	}
	for (size_t i = 0; i < as_fields_areas(t->fields); i++) {
		const struct as_disk_area *a = as_fields_area(t->fields, i);
		const char *path = strchr(a->what, '/');

		if ((a->is_data || leads_to_data(a->what)) && path && is_in(d, a->off, a->len))
			touch_path(t, path);
	}
	touch_twins(t);
	touch_below(t);
	if (drops != AS_LOSS_DROPS_NOTHING)
		touch_nameless(t, drops);
}

bool as_loss_is_touched(const struct as_loss_files *t, bool touched)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].touched == touched)
			return true;
	for (size_t i = 0; i < t->n_names; i++)
		if (t->names[i].touched == touched)
			return true;
	return false;
}
