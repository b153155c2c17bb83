/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memfs.h: what the files of memfs share; memfs.c says what it is. */
#ifndef MEMFS_H
#define MEMFS_H

#include <assay/target.h>

#define SECTOR 512u
#define FILE_BYTES (32u * 1024u)
#define NAME_BYTES 255u

struct node {
	struct node *parent, *first, *next; /* entries of a directory, and the next one beside it */
	struct node **link; /* what points to this one, while it has a name */
	unsigned char *data;
	size_t room;
	uint64_t ino, size;
	uint32_t mode, uid, gid, subdirs, opens, name_len;
	int64_t atime_ns, mtime_ns, ctime_ns;
	char name[NAME_BYTES + 1];
};

struct as_handle {
	struct node *node;
	unsigned flags;
};

struct as_fs {
	const struct as_host *host;
	struct as_bd *bd;
	struct node *root;
	uint64_t next_ino, used; /* used: bytes on the disk */
	bool readonly, changed;
};

/* On the disk, then the name, then the data. The root has parent 0. */
struct saved {
	uint64_t ino, parent, size;
	uint32_t mode, uid, gid, name_len;
	int64_t atime_ns, mtime_ns, ctime_ns;
};

static inline uint64_t bytes_of(const struct node *n)
{
	return sizeof(struct saved) + NAME_BYTES + n->size;
}

/* memfs.c */
void mem_enter(struct node *dir, struct node *n, const char *name, size_t len);
void mem_free_node(struct as_fs *fs, struct node *n);
int mem_resize(struct as_fs *fs, struct node *n, uint64_t size);

/* memfs_disk.c */
int mem_mkfs(const struct as_mount_args *args);
int mem_mount(const struct as_mount_args *args, struct as_fs **out);
int mem_unmount(struct as_fs *fs);
int mem_sync(struct as_fs *fs);

#endif
