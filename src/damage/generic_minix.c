/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generic_minix: fills a fresh disk of minix (version 1, 2 or 3, as its magic number says) with the
 * generic tree, inode by inode. Inodes and zones are taken in order, as a kernel would on a disk
 * that is empty. Blocks are of 1024 bytes.
 */
#include "damage/generic_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK 1024u
#define DIRECT 7u
#define ROOT 1u
#define TIME 1000000000u

struct minix {
	unsigned char *disk;
	uint64_t size;
	unsigned version, inode_bytes, entry_bytes, number_bytes, zone_bytes;
	unsigned imap_blocks, zmap_blocks, first_zone;
	unsigned next_ino, next_zone;
};

static void put(unsigned char *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

static bool read_super(struct minix *m)
{
	const unsigned char *s = m->disk + BLOCK;
	unsigned magic = (unsigned)get(s + 16, 2);
	bool three = get(s + 24, 2) == 0x4d5a;

	m->version = three ? 3 : magic == 0x138f || magic == 0x137f ? 1 : 2;
	if (!three && magic != 0x138f && magic != 0x137f && magic != 0x2478 && magic != 0x2468)
		return false;
	m->inode_bytes = m->version == 1 ? 32 : 64;
	m->zone_bytes = m->version == 1 ? 2 : 4;
	m->entry_bytes = three ? 64 : magic == 0x137f || magic == 0x2468 ? 16 : 32;
	m->number_bytes = three ? 4 : 2;
	m->imap_blocks = (unsigned)get(s + (three ? 6 : 4), 2);
	m->zmap_blocks = (unsigned)get(s + (three ? 8 : 6), 2);
	m->first_zone = (unsigned)get(s + (three ? 10 : 8), 2);
	m->next_ino = ROOT + 1;
	m->next_zone = m->first_zone + 1; /* the first holds the root directory */
	return (uint64_t)(m->first_zone + 400) * BLOCK <= m->size;
}

static unsigned char *inode_at(const struct minix *m, unsigned ino)
{
	return m->disk + (2 + m->imap_blocks + m->zmap_blocks) * BLOCK +
	       (size_t)(ino - 1) * m->inode_bytes;
}

static unsigned take_zone(struct minix *m)
{
	unsigned zone = m->next_zone++, bit = zone - m->first_zone + 1;
	unsigned char *map = m->disk + (2 + m->imap_blocks) * BLOCK;

	map[bit / 8] |= (unsigned char)(1u << bit % 8);
	return zone;
}

/* The place of pointer i of an inode, or of one that a pointer block holds, which is made. */
static unsigned char *zone_slot(struct minix *m, unsigned char *inode, uint64_t i)
{
	unsigned char *zones = inode + (m->version == 1 ? 14 : 24), *slot;
	uint64_t each = BLOCK / m->zone_bytes, span = 1;
	unsigned level = 0, at = DIRECT;

	if (i < DIRECT)
		return zones + i * m->zone_bytes;
	for (i -= DIRECT, level = 1; i >= span * each; level++, at++) {
		i -= span * each;
		span *= each;
	}
	slot = zones + at * m->zone_bytes;
	for (; level; level--, span /= each) {
		if (!get(slot, m->zone_bytes))
			put(slot, take_zone(m), m->zone_bytes);
		slot = m->disk + get(slot, m->zone_bytes) * BLOCK + i / span % each * m->zone_bytes;
	}
	return slot;
}

static unsigned char *block_of(struct minix *m, unsigned ino, uint64_t i)
{
	unsigned char *slot = zone_slot(m, inode_at(m, ino), i);

	if (!get(slot, m->zone_bytes))
		put(slot, take_zone(m), m->zone_bytes);
	return m->disk + get(slot, m->zone_bytes) * BLOCK;
}

static uint64_t size_of(const struct minix *m, unsigned ino)
{
	return get(inode_at(m, ino) + (m->version == 1 ? 4 : 8), 4);
}

static void set_size(const struct minix *m, unsigned ino, uint64_t size)
{
	put(inode_at(m, ino) + (m->version == 1 ? 4 : 8), size, 4);
}

static void add_link(const struct minix *m, unsigned ino)
{
	unsigned char *at = inode_at(m, ino) + (m->version == 1 ? 13 : 2);
	unsigned bytes = m->version == 1 ? 1 : 2;

	put(at, get(at, bytes) + 1, bytes);
}

static void add_entry(struct minix *m, unsigned dir, unsigned ino, const char *name)
{
	uint64_t at = size_of(m, dir);
	unsigned char *entry = block_of(m, dir, at / BLOCK) + at % BLOCK;

	put(entry, ino, m->number_bytes);
	memcpy(entry + m->number_bytes, name, strlen(name)); /* none has the length of the field */
	set_size(m, dir, at + m->entry_bytes);
	add_link(m, ino);
}

static unsigned make(struct minix *m, unsigned mode)
{
	unsigned ino = m->next_ino++;
	unsigned char *inode = inode_at(m, ino);

	put(inode, mode, 2);
	put(inode + (m->version == 1 ? 8 : 12), TIME, 4);
	if (m->version != 1) {
		put(inode + 16, TIME, 4);
		put(inode + 20, TIME, 4);
	}
	m->disk[2 * BLOCK + ino / 8] |= (unsigned char)(1u << ino % 8);
	return ino;
}

static void fill_file(struct minix *m, unsigned ino, const struct as_generic_row *r)
{
	uint64_t len = r->to ? strlen(r->to) : r->n;

	for (uint64_t i = 0; i < len; i += BLOCK) {
		size_t n = len - i < BLOCK ? (size_t)(len - i) : BLOCK;

		if (r->to)
			memcpy(block_of(m, ino, i / BLOCK), r->to + i, n);
		else
			as_generic_data(r, i, block_of(m, ino, i / BLOCK), n);
	}
	set_size(m, ino, len);
}

static unsigned find(struct minix *m, unsigned dir, const char *name, size_t len)
{
	for (uint64_t at = 0; at < size_of(m, dir); at += m->entry_bytes) {
		const unsigned char *entry = block_of(m, dir, at / BLOCK) + at % BLOCK;
		const char *is = (const char *)entry + m->number_bytes;

		if (!strncmp(is, name, len) && !is[len])
			return (unsigned)get(entry, m->number_bytes);
	}
	return 0;
}

/* The directory of a path, and its last name. */
static unsigned parent_of(struct minix *m, const char *path, const char **name)
{
	unsigned dir = ROOT;
	size_t len;

	for (path++; path[len = strcspn(path, "/")]; path += len + 1)
		dir = find(m, dir, path, len);
	*name = path;
	return dir;
}

static void add_row(struct minix *m, const struct as_generic_row *r)
{
	const char *name, *to;
	unsigned dir = parent_of(m, r->path, &name), ino;
	char numbered[64];

	switch (r->kind) {
	case 'd':
		ino = make(m, S_IFDIR | 0755);
		add_entry(m, ino, ino, ".");
		add_entry(m, ino, dir, "..");
		break;
	case 'l':
		ino = make(m, S_IFLNK | 0777);
		fill_file(m, ino, r);
		break;
	case 'h':
		ino = parent_of(m, r->to, &to);
		ino = find(m, ino, to, strlen(to));
		break;
	case 'f':
		ino = make(m, S_IFREG | 0644);
		fill_file(m, ino, r);
		break;
	case 'n':
		for (uint64_t i = 1; i <= r->n; i++) {
			snprintf(numbered, sizeof(numbered), "%s%u", name, (unsigned)i);
			add_entry(m, dir, make(m, S_IFREG | 0644), numbered);
		}
		return;
	default:
		ino = make(m, (r->kind == 'p'	? S_IFIFO
			       : r->kind == 'b' ? S_IFBLK
						: S_IFCHR) |
				      0644);
		if (r->kind != 'p')
			put(inode_at(m, ino) + (m->version == 1 ? 14 : 24), 0x0102, m->zone_bytes);
	}
	add_entry(m, dir, ino, name);
}

int as_generic_fill_minix(struct as_disk *disk, struct as_err *err)
{
	struct minix m = { .size = as_disk_size(disk) };
	int rc = 0;

	m.disk = as_xmalloc(m.size);
	as_assert(!as_bd_read(as_disk_bd(disk), 0, m.disk, m.size));
	if (read_super(&m)) {
		for (const struct as_generic_row *r = as_generic_tree; r->kind; r++)
			add_row(&m, r);
		as_assert(!as_bd_write(as_disk_bd(disk), 0, m.disk, m.size));
	} else {
		rc = as_fail(err, AS_EUSE, "minix: too small for the generic tree");
	}
	free(m.disk);
	return rc;
}
