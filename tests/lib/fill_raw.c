/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fill_raw: see fill_raw.h. */
#include "tests/lib/fill_raw.h"

static void fill_put(unsigned char *at, uint32_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t fill_get(const unsigned char *at, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint32_t)at[i] << 8 * i;
	return value;
}

static unsigned char *fill_inode(const struct fill_minix *m, unsigned ino)
{
	return m->disk + (2 + m->imap_blocks + m->zmap_blocks) * 1024 + (ino - 1) * m->inode_bytes;
}

/* A file or directory with `zones` zones from `zone` on. */
static void fill_minix_inode(const struct fill_minix *m, unsigned ino, unsigned mode,
			     unsigned links, unsigned size, unsigned zone, unsigned zones)
{
	unsigned char *inode = fill_inode(m, ino);
	unsigned wide = m->inode_bytes == 64;
	unsigned char *zmap = m->disk + (2 + m->imap_blocks) * 1024;

	fill_put(inode, mode, 2);
	fill_put(inode + (wide ? 2 : 13), links, wide ? 2 : 1);
	fill_put(inode + (wide ? 8 : 4), size, 4);
	for (unsigned i = 0; i < zones; i++) {
		unsigned bit = zone + i - m->first_zone + 1;

		fill_put(inode + (wide ? 24 + 4 * i : 14 + 2 * i), zone + i, wide ? 4 : 2);
		zmap[bit / 8] |= (unsigned char)(1u << bit % 8);
	}
	m->disk[2 * 1024 + ino / 8] |= (unsigned char)(1u << ino % 8);
}

static void fill_minix_entry(const struct fill_minix *m, unsigned char *dir, unsigned slot,
			     unsigned ino, const char *name)
{
	unsigned char *entry = dir + slot * m->entry_bytes;

	fill_put(entry, ino, m->number_bytes);
	snprintf((char *)entry + m->number_bytes, m->entry_bytes - m->number_bytes, "%s", name);
}

void t_fill_minix(unsigned char *disk, unsigned version)
{
	const unsigned char *super = disk + 1024;
	struct fill_minix m = {
		.inode_bytes = version == 1 ? 32 : 64,
		.entry_bytes = version == 3 ? 64 : 32,
		.number_bytes = version == 3 ? 4 : 2,
		.imap_blocks = fill_get(super + (version == 3 ? 6 : 4), 2),
		.zmap_blocks = fill_get(super + (version == 3 ? 8 : 6), 2),
		.first_zone = fill_get(super + (version == 3 ? 10 : 8), 2),
		.disk = disk,
	};
	unsigned char *root = disk + m.first_zone * 1024;
	unsigned char *sub = root + 1024, *inode = fill_inode(&m, 1);
	unsigned zone = m.first_zone + 2, slot = 2;
	char name[16];

	fill_minix_entry(&m, sub, 0, 2, ".");
	fill_minix_entry(&m, sub, 1, 1, "..");
	fill_minix_entry(&m, root, slot++, 2, "folder");
	for (unsigned i = 0; i < FILL_FILES; i++) {
		unsigned zones = i % 4;

		snprintf(name, sizeof(name), "file-%u", i);
		/* Every third has its only name in the folder below. */
		if (i % 3)
			fill_minix_entry(&m, root, slot++, 3 + i, name);
		else
			fill_minix_entry(&m, sub, 2 + i / 3, 3 + i, name);
		memset(disk + zone * 1024, 'a' + (int)i, zones * 1024);
		fill_minix_inode(&m, 3 + i, 0100644, 1, zones * 1024, zone, zones);
		zone += zones;
	}
	fill_minix_inode(&m, 2, 0040755, 2, (2 + FILL_FILES / 3) * m.entry_bytes, m.first_zone + 1,
			 1);
	fill_put(inode + (version == 1 ? 13 : 2), 3, version == 1 ? 1 : 2);
	fill_put(inode + (version == 1 ? 4 : 8), slot * m.entry_bytes, 4);
}

static void fill_fat_link(unsigned char *fat, unsigned cluster, unsigned next)
{
	unsigned char *at = fat + cluster * 3 / 2;
	unsigned old = fill_get(at, 2);

	fill_put(at, cluster % 2 ? (old & 0xf) | next << 4 : (old & 0xf000) | next, 2);
}

void t_fill_fat(unsigned char *disk)
{
	unsigned sector = fill_get(disk + 11, 2), cluster = disk[13] * sector;
	unsigned first_fat = fill_get(disk + 14, 2) * sector, fats = disk[16];
	unsigned fat_bytes = fill_get(disk + 22, 2) * sector;
	unsigned char *root = disk + first_fat + fats * fat_bytes;
	unsigned char *data = root + fill_get(disk + 17, 2) * 32;
	unsigned at = 2;

	for (unsigned i = 0; i < FILL_FILES; i++) {
		unsigned char *entry = root + (i + 1) * 32;
		unsigned clusters = i % 4 + 1;
		char name[12];

		snprintf(name, sizeof(name), "FILE%02u  TXT", i);
		memcpy(entry, name, 11);
		entry[11] = 0x20;
		fill_put(entry + 26, at, 2);
		fill_put(entry + 28, clusters * cluster - 7, 4);
		memset(data + (at - 2) * cluster, 'a' + (int)i, clusters * cluster);
		for (unsigned k = 0; k < clusters; k++)
			for (unsigned f = 0; f < fats; f++)
				fill_fat_link(disk + first_fat + f * fat_bytes, at + k,
					      k + 1 < clusters ? at + k + 1 : 0xfff);
		at += clusters;
	}
	/* The first entry stays free for a label, the end stays marked. */
	root[0] = 0xe5;
}
