/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loss: see loss.h.
 *
 * Method. A tree is made of the fields and areas that the description of the type finds on a disk
 * (layout/field.h), by their roles: file.* of an inode, dir.entry.* of a name, areas of data. So
 * every type with a description can be judged, and no kernel is asked.
 *
 * What a damage touches: loss_touch.c.
 *
 * An inode that was not touched must be there with the same contents, type, permissions, owner,
 * size, time of modification and extended attributes, and a right number of links; if it has lost
 * its names, it may be anywhere. A name that was not touched must lead to it. Of a directory, type,
 * permissions, owner and attributes are compared.
 */
#include "fsck/loss.h"

#include "base/array.h"
#include "base/hash.h"
#include "fsck/loss_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SECTOR AS_DISK_SECTOR_BYTES
#define PIECE ((uint64_t)16 << 10)
#define SAME_MAX 65536u /* digests of disks with the same tree that are remembered */
#define XATTR "file.xattr." /* name, value */
#define LOST_FOUND "/lost+found"

struct as_loss {
	char *type;
	enum as_loss_drops drops;
	struct as_loss_files was;
	struct as_digest sum;
	struct as_table same; /* digests of repaired disks on which nothing is missing */
};

/* ---- Reading a tree -------------------------------------------------------------------------- */

bool as_loss_has_role(const struct as_field *f, const char *role)
{
	return f->role && !strcmp(f->role, role);
}

static void free_files(struct as_loss_files *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		free(t->names[i].path);
	free(t->names);
	free(t->nodes);
	as_table_free(&t->by_path);
	as_table_free(&t->by_ino);
	as_fields_free(t->fields);
	*t = (struct as_loss_files){ 0 };
}

struct as_loss_node *as_loss_node_of(const struct as_loss_files *t, uint64_t ino)
{
	size_t i = as_table_get(&t->by_ino, ino);

	return i == AS_TABLE_NONE ? NULL : &t->nodes[i];
}

static void add_node(struct as_loss_files *t, const struct as_field *f, uint64_t mode)
{
	/* Inodes of no name ("(map of blocks)", "/(master)") may have the same numbers. */
	if (f->path[0] != '/' || f->path[1] == '(' || as_loss_node_of(t, f->self))
		return;
	AS_ARRAY_ROOM(t->nodes, t->n_nodes, t->cap_nodes);
	t->nodes[t->n_nodes] =
		(struct as_loss_node){ .ino = f->self, .mode = mode, .path = f->path };
	as_table_add(&t->by_ino, f->self, t->n_nodes++);
}

/* The entry that was added last, if the field is of it. */
static struct as_loss_node *last_entry(const struct as_loss_files *t, const struct as_field *f)
{
	if (!t->n_names || !t->n_nodes || strcmp(t->names[t->n_names - 1].instance, f->instance))
		return NULL;
	return &t->nodes[t->n_nodes - 1];
}

/* A field of an inode that was added. */
static void read_inode(struct as_loss_files *t, const struct as_field *f, struct as_disk *disk)
{
	struct as_loss_node *node =
		t->entries_are_nodes ? last_entry(t, f) : as_loss_node_of(t, f->self);
	unsigned char bytes[256];
	size_t n;

	if (!node)
		return;
	if (!strncmp(f->role, XATTR, strlen(XATTR))) {
		n = as_field_bytes(f, disk, bytes, sizeof(bytes));
		node->attributes = as_digest_add(
			node->attributes,
			as_hash_seeded(bytes, n, as_hash64(f->role, strlen(f->role))));
	} else if (as_loss_has_role(f, "file.size")) {
		node->size |= as_field_get(f, disk);
	} else if (as_loss_has_role(f, "file.uid")) {
		node->uid = as_field_get(f, disk);
	} else if (as_loss_has_role(f, "file.gid")) {
		node->gid = as_field_get(f, disk);
	} else if (as_loss_has_role(f, "file.mtime")) {
		node->mtime = as_field_get(f, disk);
	} else if (as_loss_has_role(f, "file.links")) {
		node->links = as_field_get(f, disk);
	} else if (as_loss_has_role(f, "file.link_text") || as_loss_has_role(f, "file.device")) {
		n = as_field_bytes(f, disk, bytes, sizeof(bytes));
		/* How many zeros come after a text does not matter. */
		if (as_loss_has_role(f, "file.link_text"))
			n = strnlen((const char *)bytes, n);
		node->content = as_digest_add(node->content, as_hash(bytes, n));
	}
}

struct path_key {
	const struct as_loss_files *t;
	const char *path;
};

static bool is_path(const void *ctx, size_t i)
{
	const struct path_key *key = ctx;

	return !strcmp(key->t->names[i].path, key->path);
}

const struct as_loss_name *as_loss_name_at(const struct as_loss_files *t, const char *path)
{
	struct path_key key = { t, path };
	size_t i = as_table_find(&t->by_path, as_hash64(path, strlen(path)), is_path, &key);

	return i == AS_TABLE_NONE ? NULL : &t->names[i];
}

static void add_name(struct as_loss_files *t, const struct as_field *f, struct as_disk *disk,
		     uint64_t ino, uint64_t off)
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
	t->names[t->n_names] = (struct as_loss_name){ .path = as_xstrdup(as_buf_str(&path)),
						      .dir = f->path,
						      .ino = ino,
						      .off = off,
						      .text_off = f->off,
						      .instance = f->instance };
	as_table_add(&t->by_path, as_hash64(as_buf_str(&path), path.len), t->n_names++);
	as_buf_free(&path);
}

static struct as_loss_node *loss_node_named(struct as_loss_files *t, const char *path)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].path && !strcmp(t->nodes[i].path, path))
			return &t->nodes[i];
	return NULL;
}

/* Adds the sectors of a file from `at` on; zeros are as good as a hole. */
static void read_sectors(struct as_loss_node *node, uint64_t at, unsigned char *data, uint64_t len)
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

static void read_area(struct as_loss_files *t, const struct as_disk_area *a, struct as_disk *disk)
{
	static const char begins[] = "data of ";
	unsigned char data[PIECE];
	struct as_loss_node *node;

	if (!a->is_data || strncmp(a->what, begins, strlen(begins)))
		return;
	node = loss_node_named(t, a->what + strlen(begins));
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
 * another structure before it (reiserfs): what is in the same instance wins. Two entries of one
 * name are two instances with the same text.
 */
struct entry_number {
	const struct as_field *f; /* the last one that was met; NULL: none */
	uint64_t ino;
};

static void read_number(struct as_loss_files *t, const struct as_field *f, struct as_disk *disk,
			struct entry_number *number)
{
	struct as_loss_name *last = t->n_names ? &t->names[t->n_names - 1] : NULL;

	*number = (struct entry_number){ f, as_field_get(f, disk) };
	if (last && last->text_off < f->off && last->instance == f->instance) {
		last->ino = number->ino;
		last->off = last->text_off;
	}
}

static void read_name(struct as_loss_files *t, const struct as_field *f, struct as_disk *disk,
		      const struct entry_number *number)
{
	bool of_another = number->f && !strcmp(number->f->structure, f->structure) &&
			  number->f->instance != f->instance;

	if (!number->f || of_another)
		add_name(t, f, disk, 0, f->off);
	else if (number->ino)
		add_name(t, f, disk, number->ino, number->f->off);
}

/* ---- Entries that are inodes (vfat) ---- */

#define FAT_DIRECTORY 0x10u /* of `attr` */

/* Whether the name of an entry and what an inode has are in one instance. */
static bool is_node_too(const struct as_loss_files *t, size_t i)
{
	const struct as_field *name = as_fields_at(t->fields, i), *next;

	if (i + 1 == as_fields_n(t->fields) || !name->path)
		return false;
	next = as_fields_at(t->fields, i + 1);
	return as_loss_has_role(next, "file.mode") && !strcmp(next->instance, name->instance);
}

/* Its path is that of the file, by its long name if it has one; its number is its place. */
static void add_entry(struct as_loss_files *t, const struct as_field *f, uint64_t attr)
{
	uint64_t mode = attr & FAT_DIRECTORY ? S_IFDIR : S_IFREG;
	const char *end = strrchr(f->path, '/');
	const struct as_loss_node *dir = NULL;

	t->entries_are_nodes = true;
	if (!end || (strcmp(f->class, "directory") && strcmp(f->class, "regular file")) ||
	    as_loss_node_of(t, f->off))
		return;
	for (size_t i = 0; i < t->n_nodes && end > f->path; i++)
		if (strlen(t->nodes[i].path) == (size_t)(end - f->path) &&
		    !strncmp(t->nodes[i].path, f->path, (size_t)(end - f->path)))
			dir = &t->nodes[i];
	AS_ARRAY_ROOM(t->names, t->n_names, t->cap_names);
	t->names[t->n_names] = (struct as_loss_name){ .path = as_xstrdup(f->path),
						      .dir = dir ? dir->path : "/",
						      .ino = f->off,
						      .off = f->off,
						      .text_off = f->off,
						      .instance = f->instance };
	as_table_add(&t->by_path, as_hash64(f->path, strlen(f->path)), t->n_names++);
	AS_ARRAY_ROOM(t->nodes, t->n_nodes, t->cap_nodes);
	t->nodes[t->n_nodes] =
		(struct as_loss_node){ .ino = f->off, .mode = mode, .path = f->path };
	as_table_add(&t->by_ino, f->off, t->n_nodes++);
}

/* Data is told by its path: where one path leads to two files, nobody knows whose it is. */
static void count_names(struct as_loss_files *t)
{
	for (size_t i = 0; i < t->n_names; i++) {
		uint64_t ino = t->names[i].ino, other = as_loss_name_at(t, t->names[i].path)->ino;
		struct as_loss_node *node = as_loss_node_of(t, ino),
				    *rival = other == ino ? NULL : as_loss_node_of(t, other);

		if (node)
			node->names++;
		if (node && rival)
			node->unsure = rival->unsure = true;
	}
}

/* 0, or an error: nothing can be read, and nothing is known. whole: all fields are wanted, to tell
 * which of them a damage touches. */
static int read_files(const char *type, bool whole, struct as_disk *disk, struct as_loss_files *t)
{
	struct entry_number number = { 0 };
	struct as_err err;
	int rc = whole ? as_fields_read(type, disk, &t->fields, &err)
		       : as_fields_read_tree(type, disk, &t->fields, &err);

	if (rc)
		return rc;
	for (size_t i = 0; i < as_fields_n(t->fields); i++) {
		const struct as_field *f = as_fields_at(t->fields, i);

		if (as_loss_has_role(f, "dir.entry.name") && is_node_too(t, i))
			add_entry(t, f, as_field_get(as_fields_at(t->fields, i + 1), disk));
		else if (as_loss_has_role(f, "file.mode") && f->path && !t->entries_are_nodes)
			add_node(t, f, as_field_get(f, disk));
		else if (f->role && !strncmp(f->role, "file.", 5))
			read_inode(t, f, disk);
		else if (as_loss_has_role(f, "dir.entry.inode"))
			read_number(t, f, disk, &number);
		else if (as_loss_has_role(f, "dir.entry.name"))
			read_name(t, f, disk, &number);
	}
	for (size_t i = 0; i < as_fields_areas(t->fields); i++)
		read_area(t, as_fields_area(t->fields, i), disk);
	count_names(t);
	return 0;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool is_same(const struct as_loss_node *a, const struct as_loss_node *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       as_digest_eq(a->attributes, b->attributes) &&
	       (S_ISDIR(a->mode) || (a->size == b->size && a->mtime == b->mtime &&
				     (b->unsure || as_digest_eq(a->content, b->content))));
}

/* Entries that lead to it, those without a name, "." and ".." with them. */
static uint64_t count_entries(const struct as_loss_files *t, struct as_disk *disk, uint64_t ino)
{
	uint64_t n = 0;

	for (size_t i = 0; i < as_fields_n(t->fields); i++) {
		const struct as_field *f = as_fields_at(t->fields, i);

		n += as_loss_has_role(f, "dir.entry.inode") && as_field_get(f, disk) == ino;
	}
	return n;
}

/* A number of links that was right is not; directories have links of their own kind. An entry that
 * the damage made lead there counts, too, whatever its name is. */
static bool is_miscounted(const struct as_loss_node *was, const struct as_loss_files *t,
			  struct as_disk *disk, const struct as_loss_node *now)
{
	return !S_ISDIR(was->mode) && was->links == was->names && now->links != now->names &&
	       now->links != count_entries(t, disk, now->ino);
}

/* Nothing of the inode was touched, and none of its names. */
static bool is_safe(const struct as_loss_files *was, uint64_t ino)
{
	const struct as_loss_node *node = as_loss_node_of(was, ino);

	if (!node || node->touched)
		return false;
	for (size_t i = 0; i < was->n_names; i++)
		if (was->names[i].ino == ino && was->names[i].touched)
			return false;
	return true;
}

static const struct as_loss_node *find_like(const struct as_loss_files *now,
					    const struct as_loss_node *was)
{
	const struct as_loss_node *same = as_loss_node_of(now, was->ino);

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
static bool went_along(const struct as_loss_files *was, const struct as_loss_files *now,
		       const struct as_loss_name *name)
{
	const struct as_loss_name *dir = as_loss_name_at(was, name->dir);
	const struct as_loss_node *at = dir ? as_loss_node_of(now, dir->ino) : NULL;
	struct as_buf path = { 0 };
	bool there;

	if (!at || !at->path)
		return false;
	as_buf_addf(&path, "%s%s", at->path, strrchr(name->path, '/'));
	there = as_loss_name_at(now, as_buf_str(&path));
	as_buf_free(&path);
	return there;
}

/* A directory that is not as it was; `at` is what its name leads to. */
static void look_at_directory(const struct as_loss_files *now, const struct as_loss_name *name,
			      const struct as_loss_node *node, const struct as_loss_node *at,
			      struct as_loss_found *found)
{
	if (node->touched || name->touched)
		return;
	if (at && at->ino == node->ino && strcmp(name->path, LOST_FOUND)) {
		found->files++;
		note(found, &found->unexcused, name->path, "has other attributes");
	} else if (!at && !find_like(now, node)) {
		note(found, &found->moved, name->path, "is gone");
	}
}

/* The root has no name. */
static void look_at_root(struct as_loss_files *was, struct as_loss_files *now,
			 struct as_loss_found *found)
{
	const struct as_loss_node *node = loss_node_named(was, "/"),
				  *at = loss_node_named(now, "/");

	if (!node || !at || node->touched || at->ino != node->ino || is_same(node, at))
		return;
	found->files++;
	note(found, &found->unexcused, "/", "has other attributes");
}

static void look_at(struct as_loss_files *was, const struct as_loss_files *now,
		    struct as_disk *disk, struct as_loss_found *found)
{
	for (size_t i = 0; i < was->n_names; i++) {
		const struct as_loss_name *name = &was->names[i],
					  *there = as_loss_name_at(now, name->path);
		const struct as_loss_node *node = as_loss_node_of(was, name->ino);
		const struct as_loss_node *at = there ? as_loss_node_of(now, there->ino) : NULL;

		if (node && at && is_same(node, at)) {
			if (is_safe(was, name->ino) && is_miscounted(node, now, disk, at)) {
				found->files++;
				note(found, &found->unexcused, name->path,
				     "has a wrong number of links");
			}
			continue;
		}
		if (!node)
			continue;
		if (S_ISDIR(node->mode)) {
			look_at_directory(now, name, node, at, found);
			continue;
		}
		found->files++;
		if (node->touched)
			as_buf_addf(&found->words, "%s was damaged itself\n", name->path);
		else if (!find_like(now, node))
			note(found, &found->unexcused, name->path,
			     at ? "has other contents or attributes" : "is nowhere");
		else if (at && is_safe(was, name->ino) && is_safe(was, there->ino))
			note(found, &found->unexcused, name->path, "leads to another file");
		else if (!name->touched && !there && !went_along(was, now, name))
			note(found, &found->moved, name->path, "has lost this name");
	}
}

static struct as_digest sum_of(struct as_loss_files *t)
{
	const struct as_loss_node *root = loss_node_named(t, "/");
	struct as_digest sum = AS_DIGEST_ZERO;

	if (root) {
		const uint64_t own[] = { root->ino, root->mode,		 root->uid,
					 root->gid, root->attributes.lo, root->attributes.hi };

		sum = as_hash(own, sizeof(own));
	}

	for (size_t i = 0; i < t->n_names; i++) {
		const struct as_loss_node *node = as_loss_node_of(t, t->names[i].ino);
		uint64_t parts[12] = { t->names[i].ino };

		if (node) {
			parts[1] = node->mode;
			parts[2] = S_ISDIR(node->mode) ? 0 : node->size;
			parts[3] = node->uid;
			parts[4] = node->gid;
			parts[5] = node->content.lo;
			parts[6] = node->content.hi;
			parts[8] = S_ISDIR(node->mode) ? 0 : node->mtime;
			parts[9] = S_ISDIR(node->mode) ? 0 : node->links;
			parts[10] = node->attributes.lo;
			parts[11] = node->attributes.hi;
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
	struct as_loss_files now = { 0 };

	*found = (struct as_loss_found){ 0 };
	if (as_table_get(&loss->same, digest) != AS_TABLE_NONE)
		return;
	if (read_files(loss->type, false, repaired, &now))
		return;
	if (!now.n_nodes || !now.n_names) {
		/* A checker may go on with a copy of the superblock, which is not read here. */
		as_loss_touch(&loss->was, damage, loss->drops);
		if (as_loss_is_touched(&loss->was, true) && as_loss_is_touched(&loss->was, false)) {
			found->files = (unsigned)loss->was.n_names;
			note(found, &found->unexcused, "everything", "is gone");
		}
	} else if (!as_digest_eq(sum_of(&now), loss->sum)) {
		as_loss_touch(&loss->was, damage, loss->drops);
		look_at(&loss->was, &now, repaired, found);
		look_at_root(&loss->was, &now, found);
	} else if (loss->same.n < SAME_MAX) {
		as_table_add(&loss->same, digest, 1);
	}
	free_files(&now);
}

void as_loss_mark(struct as_loss *loss, const struct as_damage *damage)
{
	as_loss_touch(&loss->was, damage, loss->drops);
}

/* What happens to one name of a file can be seen by its others, too, such as in a link count. */
enum as_loss_mark as_loss_marked(const struct as_loss *loss, const char *path)
{
	const struct as_loss_files *t = &loss->was;
	const struct as_loss_name *name = as_loss_name_at(t, path);
	const struct as_loss_node *node = name ? as_loss_node_of(t, name->ino) : NULL;

	if (!name)
		return AS_LOSS_UNKNOWN;
	if (name->touched || (node && node->touched))
		return AS_LOSS_TOUCHED;
	for (size_t i = 0; i < t->n_names; i++)
		if (t->names[i].ino == name->ino && t->names[i].touched)
			return AS_LOSS_TOUCHED;
	return AS_LOSS_UNTOUCHED;
}
