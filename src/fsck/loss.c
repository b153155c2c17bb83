/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loss: see loss.h.
 *
 * Method. A tree is made of the fields and areas that the description of the type finds on a disk
 * (layout/field.h), by their roles: file.* of an inode, dir.entry.* of a name, areas of data. So
 * every type with a description can be judged, and no kernel is asked.
 *
 * What a damage touches:
 *   - an inode, if a byte of it, of its data, or of a block that leads to its data was changed;
 *   - a name, if a byte of its entry was changed, or the inode of a directory above it was, or the
 *     length of an entry before it in the same directory (nobody can tell then where it begins);
 *     Where a type has its names twice (btrfs), both are touched;
 *   - all that is in a block of a tree, if the head of the block or of an item was changed, and
 *     everything, if a pointer of a tree was;
 *   - nothing at all, if it is in the superblock, a bitmap or another structure of no file.
 * Checksums that were computed anew are not counted.
 *
 * An inode that was not touched must be there with the same contents, type, permissions, owner and
 * size; if it has lost its names, it may be anywhere. A name that was not touched must lead to it.
 */
#include "fsck/loss.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"
#include "layout/field.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SECTOR AS_DISK_SECTOR_BYTES
#define PIECE ((uint64_t)16 << 10)
#define SAME_MAX 65536u /* digests of disks with the same tree that are remembered */
#define LOST_FOUND "/lost+found"
#define TREE_BLOCK 4096u /* of reiserfs; blocks of btrfs are told by their checksum */

struct node {
	uint64_t ino, mode, size, uid, gid;
	const char *path; /* one of its names */
	struct as_digest content;
	bool touched;
};

struct file_name {
	char *path;
	const char *dir;
	uint64_t ino, off; /* of its entry */
	uint64_t text_off; /* of the name itself, which may be elsewhere */
	const char *instance; /* that has the name */
	bool touched;
};

struct files {
	struct as_fields *fields;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct file_name *names;
	size_t n_names, cap_names;
	struct as_table by_path; /* names */
	struct as_table by_ino; /* nodes */
};

struct as_loss {
	char *type;
	enum as_loss_drops drops;
	struct files was;
	struct as_digest sum;
	struct as_table same; /* digests of repaired disks on which nothing is missing */
};

/* ---- Reading a tree -------------------------------------------------------------------------- */

static bool has_role(const struct as_field *f, const char *role)
{
	return f->role && !strcmp(f->role, role);
}

static void free_files(struct files *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		free(t->names[i].path);
	free(t->names);
	free(t->nodes);
	as_table_free(&t->by_path);
	as_table_free(&t->by_ino);
	as_fields_free(t->fields);
	*t = (struct files){ 0 };
}

static struct node *node_of(const struct files *t, uint64_t ino)
{
	size_t i = as_table_get(&t->by_ino, ino);

	return i == AS_TABLE_NONE ? NULL : &t->nodes[i];
}

static void add_node(struct files *t, const struct as_field *f, uint64_t mode)
{
	/* Inodes of no name ("(map of blocks)", "/(master)") may have the same numbers. */
	if (f->path[0] != '/' || f->path[1] == '(' || node_of(t, f->self))
		return;
	AS_ARRAY_ROOM(t->nodes, t->n_nodes, t->cap_nodes);
	t->nodes[t->n_nodes] = (struct node){ .ino = f->self, .mode = mode, .path = f->path };
	as_table_add(&t->by_ino, f->self, t->n_nodes++);
}

/* A field of an inode that was added. */
static void read_inode(struct files *t, const struct as_field *f, struct as_disk *disk)
{
	struct node *node = node_of(t, f->self);
	unsigned char bytes[256];
	size_t n;

	if (!node)
		return;
	if (has_role(f, "file.size")) {
		node->size |= as_field_get(f, disk);
	} else if (has_role(f, "file.uid")) {
		node->uid = as_field_get(f, disk);
	} else if (has_role(f, "file.gid")) {
		node->gid = as_field_get(f, disk);
	} else if (has_role(f, "file.link_text") || has_role(f, "file.device")) {
		n = as_field_bytes(f, disk, bytes, sizeof(bytes));
		node->content = as_digest_add(node->content, as_hash(bytes, n));
	}
}

struct path_key {
	const struct files *t;
	const char *path;
};

static bool is_path(const void *ctx, size_t i)
{
	const struct path_key *key = ctx;

	return !strcmp(key->t->names[i].path, key->path);
}

static const struct file_name *name_at(const struct files *t, const char *path)
{
	struct path_key key = { t, path };
	size_t i = as_table_find(&t->by_path, as_hash64(path, strlen(path)), is_path, &key);

	return i == AS_TABLE_NONE ? NULL : &t->names[i];
}

static void add_name(struct files *t, const struct as_field *f, struct as_disk *disk, uint64_t ino,
		     uint64_t off)
{
	char text[512];
	size_t n = as_field_bytes(f, disk, text, sizeof(text) - 1), len = 0;
	struct as_buf path = { 0 };

	/* Names of two bytes a letter (jfs, exfat) have zeros in between. */
	for (size_t i = 0; i < n; i++)
		if (text[i])
			text[len++] = text[i];
	text[len] = '\0';
	if (!f->path || !strcmp(text, ".") || !strcmp(text, ".."))
		return;
	as_buf_addf(&path, "%s/%s", strcmp(f->path, "/") ? f->path : "", text);
	AS_ARRAY_ROOM(t->names, t->n_names, t->cap_names);
	t->names[t->n_names] = (struct file_name){ .path = as_xstrdup(as_buf_str(&path)),
						   .dir = f->path,
						   .ino = ino,
						   .off = off,
						   .text_off = f->off,
						   .instance = f->instance };
	as_table_add(&t->by_path, as_hash64(as_buf_str(&path), path.len), t->n_names++);
	as_buf_free(&path);
}

static struct node *node_named(struct files *t, const char *path)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].path && !strcmp(t->nodes[i].path, path))
			return &t->nodes[i];
	return NULL;
}

/* Adds the sectors of a file from `at` on; zeros are as good as a hole. */
static void read_sectors(struct node *node, uint64_t at, unsigned char *data, uint64_t len)
{
	static const unsigned char zeros[SECTOR];

	for (uint64_t i = 0; i < len && at + i < node->size; i += SECTOR) {
		uint64_t left = node->size - (at + i);

		if (left < SECTOR)
			memset(data + i + left, 0, SECTOR - left);
		if (memcmp(data + i, zeros, SECTOR))
			node->content = as_digest_add(node->content,
						      as_hash_seeded(data + i, SECTOR, at + i));
	}
}

static void read_area(struct files *t, const struct as_disk_area *a, struct as_disk *disk)
{
	static const char begins[] = "data of ";
	unsigned char data[PIECE];
	struct node *node;

	if (!a->is_data || strncmp(a->what, begins, strlen(begins)))
		return;
	node = node_named(t, a->what + strlen(begins));
	for (uint64_t i = 0; node && i < a->len && a->at + i < node->size; i += PIECE) {
		uint64_t len = a->len - i < PIECE ? a->len - i : PIECE;

		/* The last sector of an area need not be whole. */
		len = (len + SECTOR - 1) / SECTOR * SECTOR;
		if (as_bd_read(as_disk_bd(disk), a->off + i, data, len))
			return;
		read_sectors(node, a->at + i, data, len);
	}
}

/*
 * The number of an inode that an entry leads to may stand before the name, after it (xfs), or in
 * another structure before it (reiserfs): what is in the same instance wins.
 */
struct entry_number {
	const struct as_field *f; /* the last one that was met; NULL: none */
	uint64_t ino;
};

static void read_number(struct files *t, const struct as_field *f, struct as_disk *disk,
			struct entry_number *number)
{
	struct file_name *last = t->n_names ? &t->names[t->n_names - 1] : NULL;

	*number = (struct entry_number){ f, as_field_get(f, disk) };
	if (last && last->text_off < f->off && !strcmp(last->instance, f->instance)) {
		last->ino = number->ino;
		last->off = last->text_off;
	}
}

static void read_name(struct files *t, const struct as_field *f, struct as_disk *disk,
		      const struct entry_number *number)
{
	bool of_another = number->f && !strcmp(number->f->structure, f->structure) &&
			  strcmp(number->f->instance, f->instance);

	if (!number->f || of_another)
		add_name(t, f, disk, 0, f->off);
	else if (number->ino)
		add_name(t, f, disk, number->ino, number->f->off);
}

/* 0, or an error: nothing can be read, and nothing is known. whole: all fields are wanted, to tell
 * which of them a damage touches. */
static int read_files(const char *type, bool whole, struct as_disk *disk, struct files *t)
{
	struct entry_number number = { 0 };
	struct as_err err;
	int rc = whole ? as_fields_read(type, disk, &t->fields, &err)
		       : as_fields_read_tree(type, disk, &t->fields, &err);

	if (rc)
		return rc;
	for (size_t i = 0; i < as_fields_n(t->fields); i++) {
		const struct as_field *f = as_fields_at(t->fields, i);

		if (has_role(f, "file.mode") && f->path)
			add_node(t, f, as_field_get(f, disk));
		else if (f->role && !strncmp(f->role, "file.", 5))
			read_inode(t, f, disk);
		else if (has_role(f, "dir.entry.inode"))
			read_number(t, f, disk, &number);
		else if (has_role(f, "dir.entry.name"))
			read_name(t, f, disk, &number);
	}
	for (size_t i = 0; i < as_fields_areas(t->fields); i++)
		read_area(t, as_fields_area(t->fields, i), disk);
	return 0;
}

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

static void touch_path(struct files *t, const char *path)
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
static void touch_entry(struct files *t, const struct as_field *f)
{
	/* The longest entry begins at most so far before. */
	uint64_t from = f->off > 16 ? f->off - 16 : 0;

	for (size_t i = 0; i < t->n_names; i++) {
		struct file_name *name = &t->names[i];
		bool same = ((name->off >= from && name->off <= f->off) ||
			     name->text_off == f->off || !strcmp(name->instance, f->instance)) &&
			    !strcmp(name->dir, f->path);
		bool later =
			(has_role(f, "dir.entry.length") || has_role(f, "dir.entry.name_length")) &&
			name->off > f->off && !strcmp(name->dir, f->path);

		name->touched = name->touched || same || later;
	}
}

/* A name that is on the disk twice, such as by its hash and by its number. */
static void touch_twins(struct files *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		for (size_t k = 0; t->names[i].touched && k < t->n_names; k++)
			if (!strcmp(t->names[k].path, t->names[i].path))
				t->names[k].touched = true;
}

/* What is below a directory that lost its name can have moved with it. Names are in the order of a
 * walk, so that those of a directory come before what is below it. */
static void touch_below(struct files *t)
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
static void touch_named(struct files *t, const char *path)
{
	const struct file_name *name = name_at(t, path);
	const char *end = strrchr(path, '/');
	struct node *node = name ? node_of(t, name->ino) : NULL;

	if (node)
		node->touched = true;
	for (size_t i = 0; i < t->n_names; i++) {
		struct file_name *k = &t->names[i];
		size_t dir = strlen(k->dir) == 1 ? 0 : strlen(k->dir);

		if (is_below(k->path, path)) {
			k->touched = true;
			node = node_of(t, k->ino);
			if (node)
				node->touched = true;
		} else if (!strcmp(k->path, path) ||
			   (end && dir == (size_t)(end - path) && !strncmp(k->dir, path, dir))) {
			k->touched = true;
		}
	}
}

/* What has lost all of its names, and is freed then. */
static void touch_nameless(struct files *t, enum as_loss_drops drops)
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

static void touch_field(struct files *t, const struct as_field *f)
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
static void touch_tree(struct files *t, const struct as_field *f)
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

static void touch(struct files *t, const struct as_damage *d, enum as_loss_drops drops)
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
	}
	for (size_t i = 0; i < as_fields_areas(t->fields); i++) {
		const struct as_disk_area *a = as_fields_area(t->fields, i);
		const char *path = strchr(a->what, '/');

		if (a->is_data && path && is_in(d, a->off, a->len))
			touch_path(t, path);
	}
	touch_twins(t);
	touch_below(t);
	if (drops != AS_LOSS_DROPS_NOTHING)
		touch_nameless(t, drops);
}

static bool is_any_touched(const struct files *t)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].touched)
			return true;
	for (size_t i = 0; i < t->n_names; i++)
		if (t->names[i].touched)
			return true;
	return false;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool is_same(const struct node *a, const struct node *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       (S_ISDIR(a->mode) || (a->size == b->size && as_digest_eq(a->content, b->content)));
}

static const struct node *find_like(const struct files *now, const struct node *was)
{
	const struct node *same = node_of(now, was->ino);

	if (same && is_same(was, same))
		return same;
	/* An empty file is like any other: only its number tells that it is the same. */
	if (!was->size || S_ISDIR(was->mode))
		return NULL;
	for (size_t i = 0; i < now->n_nodes; i++)
		if (is_same(was, &now->nodes[i]))
			return &now->nodes[i];
	return NULL;
}

static void note(struct as_loss_found *found, unsigned *count, const char *path, const char *what)
{
	/* What is found unexcused is told first. */
	if (!(*count)++)
		as_buf_clear(&found->first);
	if (*count == 1)
		as_buf_addf(&found->first, "%s %s", path, what);
	as_buf_addf(&found->words, "%s %s\n", path, what);
}

/* Its directory has another name now, and still has it. */
static bool went_along(const struct files *was, const struct files *now,
		       const struct file_name *name)
{
	const struct file_name *dir = name_at(was, name->dir);
	const struct node *at = dir ? node_of(now, dir->ino) : NULL;
	struct as_buf path = { 0 };
	bool there;

	if (!at || !at->path)
		return false;
	as_buf_addf(&path, "%s%s", at->path, strrchr(name->path, '/'));
	there = name_at(now, as_buf_str(&path));
	as_buf_free(&path);
	return there;
}

static void look_at(struct files *was, const struct files *now, struct as_loss_found *found)
{
	for (size_t i = 0; i < was->n_names; i++) {
		const struct file_name *name = &was->names[i], *there = name_at(now, name->path);
		const struct node *node = node_of(was, name->ino);
		const struct node *at = there ? node_of(now, there->ino) : NULL;

		if (!node || (at && is_same(node, at)))
			continue;
		if (!strcmp(name->path, LOST_FOUND) || S_ISDIR(node->mode)) {
			if (!at && !node->touched && !name->touched && !find_like(now, node))
				note(found, &found->moved, name->path, "is gone");
			continue;
		}
		found->files++;
		if (node->touched)
			as_buf_addf(&found->words, "%s was damaged itself\n", name->path);
		else if (!find_like(now, node))
			note(found, &found->unexcused, name->path,
			     at ? "has other contents or attributes" : "is nowhere");
		else if (!name->touched && !there && !went_along(was, now, name))
			note(found, &found->moved, name->path, "has lost this name");
	}
}

static struct as_digest sum_of(const struct files *t)
{
	struct as_digest sum = AS_DIGEST_ZERO;

	for (size_t i = 0; i < t->n_names; i++) {
		const struct node *node = node_of(t, t->names[i].ino);
		uint64_t parts[8] = { t->names[i].ino };

		if (node) {
			parts[1] = node->mode;
			parts[2] = S_ISDIR(node->mode) ? 0 : node->size;
			parts[3] = node->uid;
			parts[4] = node->gid;
			parts[5] = node->content.lo;
			parts[6] = node->content.hi;
		}
		parts[7] = as_hash64(t->names[i].path, strlen(t->names[i].path));
		sum = as_digest_add(sum, as_hash(parts, sizeof(parts)));
	}
	return sum;
}

struct as_loss *as_loss_new(const char *type, struct as_disk *disk, enum as_loss_drops drops)
{
	struct as_loss *loss = as_xcalloc(1, sizeof(*loss));

	if (!type || !as_fields_know(type) || read_files(type, true, disk, &loss->was) ||
	    !loss->was.n_nodes || !loss->was.n_names) {
		as_loss_free(loss);
		return NULL;
	}
	loss->type = as_xstrdup(type);
	loss->drops = drops;
	loss->sum = sum_of(&loss->was);
	return loss;
}

void as_loss_free(struct as_loss *loss)
{
	if (!loss)
		return;
	free_files(&loss->was);
	as_table_free(&loss->same);
	free(loss->type);
	free(loss);
}

void as_loss_found_free(struct as_loss_found *found)
{
	as_buf_free(&found->first);
	as_buf_free(&found->words);
}

void as_loss_look(struct as_loss *loss, const struct as_damage *damage, struct as_disk *repaired,
		  struct as_loss_found *found)
{
	uint64_t digest = as_disk_digest(repaired).lo;
	struct files now = { 0 };

	*found = (struct as_loss_found){ 0 };
	if (as_table_get(&loss->same, digest) != AS_TABLE_NONE)
		return;
	if (read_files(loss->type, false, repaired, &now))
		return;
	if (!now.n_nodes || !now.n_names) {
		/* A checker may go on with a copy of the superblock, which is not read here. */
		touch(&loss->was, damage, loss->drops);
		if (is_any_touched(&loss->was)) {
			found->files = (unsigned)loss->was.n_names;
			note(found, &found->unexcused, "everything", "is gone");
		}
	} else if (!as_digest_eq(sum_of(&now), loss->sum)) {
		touch(&loss->was, damage, loss->drops);
		look_at(&loss->was, &now, found);
	} else if (loss->same.n < SAME_MAX) {
		as_table_add(&loss->same, digest, 1);
	}
	free_files(&now);
}
