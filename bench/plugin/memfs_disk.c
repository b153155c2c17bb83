/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memfs_disk: the tree on the disk, one node after the other. */
#include "memfs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC 0x7366656du

struct super {
	uint32_t magic, nodes;
	uint64_t bytes, next_ino;
};

static uint32_t save(const struct node *n, unsigned char *out, size_t *at)
{
	struct saved s = { n->ino,	n->parent ? n->parent->ino : 0,
			   n->size,	n->mode,
			   n->uid,	n->gid,
			   n->name_len, n->atime_ns,
			   n->mtime_ns, n->ctime_ns };
	uint32_t nodes = 1;

	memcpy(out + *at, &s, sizeof(s));
	memcpy(out + *at + sizeof(s), n->name, n->name_len);
	*at += sizeof(s) + n->name_len;
	if (n->size)
		memcpy(out + *at, n->data, (size_t)n->size);
	*at += (size_t)n->size;
	for (const struct node *c = n->first; c; c = c->next)
		nodes += save(c, out, at);
	return nodes;
}

int mem_sync(struct as_fs *fs)
{
	size_t at = sizeof(struct super), len;
	unsigned char *out;
	struct super super;
	int rc;

	if (!fs->changed)
		return 0;
	out = as_malloc(fs->host, (size_t)fs->used + SECTOR + sizeof(super));
	if (!out)
		return -ENOMEM;
	super = (struct super){ MAGIC, save(fs->root, out, &at), at, fs->next_ino };
	memcpy(out, &super, sizeof(super));
	len = (at + SECTOR - 1) / SECTOR * SECTOR;
	rc = as_bd_write(fs->bd, 0, out, len);
	if (!rc)
		rc = as_bd_flush(fs->bd);
	as_free(fs->host, out);
	fs->changed = rc != 0;
	return rc;
}

static void free_tree(struct as_fs *fs, struct node *n)
{
	while (n->first) {
		struct node *c = n->first;

		n->first = c->next;
		free_tree(fs, c);
	}
	mem_free_node(fs, n);
}

static struct node *find_ino(struct node *n, uint64_t ino)
{
	struct node *found = n->ino == ino ? n : NULL;

	for (struct node *c = n->first; c && !found; c = c->next)
		found = find_ino(c, ino);
	return found;
}

/* A parent comes before what is in it. */
static int load_node(struct as_fs *fs, const unsigned char *in, size_t len, size_t *at)
{
	struct node *n, *dir = NULL;
	struct saved s;

	if (len - *at < sizeof(s))
		return -EUCLEAN;
	memcpy(&s, in + *at, sizeof(s));
	*at += sizeof(s);
	if (s.name_len > NAME_BYTES || s.size > FILE_BYTES || len - *at < s.name_len + s.size)
		return -EUCLEAN;
	if (s.parent)
		dir = fs->root ? find_ino(fs->root, s.parent) : NULL;
	if (s.parent ? !dir : !!fs->root)
		return -EUCLEAN;
	n = as_malloc(fs->host, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->ino = s.ino;
	n->mode = s.mode;
	n->uid = s.uid;
	n->gid = s.gid;
	n->atime_ns = s.atime_ns;
	n->mtime_ns = s.mtime_ns;
	n->ctime_ns = s.ctime_ns;
	fs->used += bytes_of(n);
	if (dir)
		mem_enter(dir, n, (const char *)in + *at, s.name_len);
	else
		fs->root = n;
	*at += s.name_len;
	if (s.size && mem_resize(fs, n, s.size))
		return -ENOMEM;
	if (s.size)
		memcpy(n->data, in + *at, (size_t)s.size);
	*at += (size_t)s.size;
	return 0;
}

static int load(struct as_fs *fs)
{
	unsigned char sector[SECTOR], *in;
	struct super super;
	size_t at = sizeof(super), len;
	int rc = as_bd_read(fs->bd, 0, sector, SECTOR);

	if (rc)
		return rc;
	memcpy(&super, sector, sizeof(super));
	if (super.magic != MAGIC || super.bytes > fs->bd->size_bytes || super.bytes < at)
		return -EINVAL;
	len = ((size_t)super.bytes + SECTOR - 1) / SECTOR * SECTOR;
	in = as_malloc(fs->host, len);
	if (!in)
		return -ENOMEM;
	rc = as_bd_read(fs->bd, 0, in, len);
	fs->next_ino = super.next_ino;
	for (uint32_t i = 0; i < super.nodes && !rc; i++)
		rc = load_node(fs, in, (size_t)super.bytes, &at);
	as_free(fs->host, in);
	return rc ? rc : fs->root ? 0 : -EUCLEAN;
}

int mem_mkfs(const struct as_mount_args *args)
{
	struct node root = { .ino = 1, .mode = S_IFDIR | 0755 };
	struct as_fs fs = { .host = args->host, .bd = args->bd, .next_ino = 2, .changed = true };

	fs.root = &root;
	fs.used = bytes_of(&root);
	return mem_sync(&fs);
}

int mem_mount(const struct as_mount_args *args, struct as_fs **out)
{
	struct as_fs *fs = as_malloc(args->host, sizeof(*fs));
	int rc;

	if (!fs)
		return -ENOMEM;
	fs->host = args->host;
	fs->bd = args->bd;
	fs->readonly = args->readonly;
	rc = load(fs);
	if (rc) {
		if (fs->root)
			free_tree(fs, fs->root);
		as_free(args->host, fs);
		return rc;
	}
	*out = fs;
	return 0;
}

int mem_unmount(struct as_fs *fs)
{
	const struct as_host *host = fs->host;
	int rc = mem_sync(fs);

	free_tree(fs, fs->root);
	as_free(host, fs);
	return rc;
}
