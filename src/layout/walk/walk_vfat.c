/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_vfat: finds the structures of FAT12, FAT16 and FAT32, with long names. */
#include "layout/walk/walk_priv.h"

#include "base/show.h"

#include <ctype.h>
#include <string.h>

#define ENTRY 32u
#define LONG_NAMES_MAX 20u
#define ATTR_LONG 0x0f
#define ATTR_LABEL 0x08
#define ATTR_DIR 0x10

enum vfat_var { VFAT_BITS, VFAT_ODD };
enum vfat_space { VFAT_SEEN_DIR = 1, VFAT_SEEN_CLUSTER };

struct vfat_walk {
	struct as_disk_walk *walk;
	unsigned bits;
	uint64_t sector, cluster_bytes, fat_at, fat_bytes, fats;
	uint64_t root_at, root_bytes, root_cluster; /* root_cluster 0: it is at root_at */
	uint64_t data_at, clusters;
};

/* Long names that stand before an entry. */
struct vfat_long {
	uint64_t first; /* where the first of them is */
	unsigned n;
	char text[LONG_NAMES_MAX * 13 * 3 + 1]; /* UTF-8 */
};

/* ---- Boot sector and table ---- */

static int read_boot(struct vfat_walk *v, struct as_err *err)
{
	struct as_disk_walk *w = v->walk;
	uint64_t reserved = as_walk_le(w, 14, 2), sectors = as_walk_le(w, 19, 2);
	uint64_t dir_entries = as_walk_le(w, 17, 2), per_cluster = as_walk_le(w, 13, 1);
	uint64_t fat_sectors = as_walk_le(w, 22, 2);

	v->sector = as_walk_le(w, 11, 2);
	v->fats = as_walk_le(w, 16, 1);
	if (!sectors)
		sectors = as_walk_le(w, 32, 4);
	if (!fat_sectors)
		fat_sectors = as_walk_le(w, 36, 4);
	if (v->sector < 512 || v->sector > 4096 || (v->sector & (v->sector - 1)) || !per_cluster ||
	    !fat_sectors || !v->fats || v->fats > 8)
		return as_fail(err, AS_EUSE, "the disk has no boot sector of FAT");
	v->cluster_bytes = per_cluster * v->sector;
	v->fat_at = reserved * v->sector;
	v->fat_bytes = fat_sectors * v->sector;
	v->root_at = v->fat_at + v->fats * v->fat_bytes;
	v->root_bytes = (dir_entries * ENTRY + v->sector - 1) / v->sector * v->sector;
	v->data_at = v->root_at + v->root_bytes;
	if (v->data_at >= sectors * v->sector)
		return as_fail(err, AS_EUSE, "the boot sector makes no sense");
	if (sectors * v->sector > as_walk_disk_bytes(w)) {
		as_walk_complain(w, "the boot sector names more sectors than the disk has");
		sectors = as_walk_disk_bytes(w) / v->sector;
		if (v->data_at >= sectors * v->sector)
			return as_fail(err, AS_EUSE, "the boot sector makes no sense");
	}
	v->clusters = (sectors * v->sector - v->data_at) / v->cluster_bytes;
	v->bits = v->clusters < 4085 ? 12 : v->clusters < 65525 ? 16 : 32;
	/* mkfs.vfat -F makes FAT32 of fewer clusters, too. */
	if (!as_walk_le(w, 22, 2))
		v->bits = 32;
	if (v->bits == 32)
		v->root_cluster = as_walk_le(w, 44, 4);
	as_walk_set(w, VFAT_BITS, v->bits);
	return 0;
}

static uint64_t entry_at(const struct vfat_walk *v, uint64_t fat, uint64_t cluster)
{
	return v->fat_at + fat * v->fat_bytes + cluster * v->bits / 8;
}

static uint64_t next_of(const struct vfat_walk *v, uint64_t cluster)
{
	uint64_t at = entry_at(v, 0, cluster);

	if (v->bits == 12)
		return as_walk_le(v->walk, at, 2) >> (cluster & 1 ? 4 : 0) & 0xfff;
	return v->bits == 16 ? as_walk_le(v->walk, at, 2) : as_walk_le(v->walk, at, 4) & 0xfffffff;
}

static bool is_cluster(const struct vfat_walk *v, uint64_t cluster)
{
	return cluster >= 2 && cluster < v->clusters + 2;
}

static uint64_t cluster_at(const struct vfat_walk *v, uint64_t cluster)
{
	return v->data_at + (cluster - 2) * v->cluster_bytes;
}

static void emit_table(struct vfat_walk *v, uint64_t fat)
{
	bool has_free = false;

	for (uint64_t cluster = 0; cluster < v->clusters + 2; cluster++) {
		struct as_walk_at at = { .structure = "fat_entry",
					 .off = entry_at(v, fat, cluster),
					 .self = cluster };
		bool used = next_of(v, cluster);

		if (!used && has_free)
			continue;
		has_free |= !used;
		as_walk_set(v->walk, VFAT_ODD, cluster & 1);
		at.instance =
			as_walk_text(v->walk, "cluster %llu in table %llu",
				     (unsigned long long)cluster, (unsigned long long)fat + 1);
		at.class = fat ? "backup" : cluster < 2 ? "reserved" : used ? "used" : "unused";
		as_walk_emit(v->walk, &at);
	}
}

/* ---- Directories ---- */

static void dir(struct vfat_walk *v, uint64_t cluster, const char *path, unsigned depth);

/* The 13 characters of an entry, put before those that came first. */
static void take_long(struct vfat_walk *v, struct vfat_long *name, uint64_t off)
{
	static const unsigned char places[13] = { 1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30 };
	char part[40];
	size_t n = 0, old = strlen(name->text);

	if (name->n == LONG_NAMES_MAX)
		return;
	if (!name->n++)
		name->first = off;
	for (size_t i = 0; i < sizeof(places); i++) {
		uint32_t c = (uint32_t)as_walk_le(v->walk, off + places[i], 2);

		if (!c || c == 0xffff)
			break;
		if (c < 0x80) {
			part[n++] = (char)c;
		} else if (c < 0x800) {
			part[n++] = (char)(0xc0 | c >> 6);
			part[n++] = (char)(0x80 | (c & 63));
		} else {
			part[n++] = (char)(0xe0 | c >> 12);
			part[n++] = (char)(0x80 | (c >> 6 & 63));
			part[n++] = (char)(0x80 | (c & 63));
		}
	}
	memmove(name->text + n, name->text, old + 1);
	memcpy(name->text, part, n);
}

/* "FOO     TXT" is FOO.TXT. */
static void short_name(struct vfat_walk *v, uint64_t off, char out[16])
{
	unsigned char raw[11];
	size_t n = 0;

	as_walk_read(v->walk, off, raw, sizeof(raw));
	for (size_t i = 0; i < sizeof(raw); i++) {
		if (i == 8 && raw[8] != ' ')
			out[n++] = '.';
		if (raw[i] != ' ')
			out[n++] = (char)raw[i];
	}
	out[n] = 0;
}

static void own(struct vfat_walk *v, uint64_t cluster, const char *what, bool is_data)
{
	uint64_t at = 0;

	while (is_cluster(v, cluster) && as_walk_first(v->walk, VFAT_SEEN_CLUSTER, cluster)) {
		as_walk_area(v->walk, cluster_at(v, cluster), v->cluster_bytes, what, is_data, at);
		at += v->cluster_bytes;
		cluster = next_of(v, cluster);
	}
}

static void emit_longs(struct vfat_walk *v, const struct vfat_long *name, const char *path,
		       uint32_t seal)
{
	for (unsigned i = 0; i < name->n; i++) {
		struct as_walk_at at = { .structure = "long_name",
					 .off = name->first + i * ENTRY,
					 .path = path,
					 .seal = seal };

		at.instance = as_walk_text(v->walk, "long name %u of %s", name->n - i, path);
		as_walk_emit(v->walk, &at);
	}
}

static void one(struct vfat_walk *v, uint64_t off, const struct vfat_long *name,
		const char *dir_path, unsigned depth)
{
	struct as_disk_walk *w = v->walk;
	uint32_t attr = (uint32_t)as_walk_le(w, off + 11, 1);
	uint64_t start = as_walk_le(w, off + 26, 2), first = as_walk_le(w, off, 1);
	struct as_walk_at at = { .structure = "dir_entry", .off = off };
	struct as_seal seal = { .sum = AS_SUM_FAT_NAME };
	char text[16];
	bool dots;

	if (v->bits == 32)
		start |= as_walk_le(w, off + 20, 2) << 16;
	short_name(v, off, text);
	dots = text[0] == '.';
	at.path = as_walk_join(w, dir_path, name->n ? name->text : text,
			       strlen(name->n ? name->text : text));
	at.self = start;
	at.class = first == 0xe5       ? "free"
		   : attr & ATTR_LABEL ? "label"
		   : dots	       ? (text[1] ? "parent" : "itself")
		   : attr & ATTR_DIR   ? "directory"
				       : "regular file";
	at.instance = first == 0xe5 ? as_walk_text(w, "free entry at byte %llu of %s",
						   (unsigned long long)off, dir_path)
				    : as_walk_text(w, "entry of %s", at.path);
	if (name->n) {
		as_seal_disk(&seal, off, 11);
		as_seal_store(&seal, name->first + 13, 1, 0, false);
		seal.store[0].repeat = name->n;
		seal.store[0].step = ENTRY;
		at.seal = as_walk_seal(w, &seal);
		emit_longs(v, name, at.path, at.seal);
	}
	as_walk_emit(w, &at);
	if (first == 0xe5 || attr & ATTR_LABEL || dots)
		return;
	(void)as_walk_inode(w, off, at.path);
	own(v, start, as_walk_text(w, "%s %s", attr & ATTR_DIR ? "directory" : "data of", at.path),
	    !(attr & ATTR_DIR));
	if (attr & ATTR_DIR)
		dir(v, start, at.path, depth + 1);
}

/* Entries of a run of bytes. False: the directory ends in it. */
static bool entries(struct vfat_walk *v, uint64_t at, uint64_t len, struct vfat_long *name,
		    const char *path, unsigned depth)
{
	for (uint64_t off = at; off < at + len; off += ENTRY) {
		if (!as_walk_le(v->walk, off, 1))
			return false;
		if (as_walk_le(v->walk, off + 11, 1) == ATTR_LONG &&
		    as_walk_le(v->walk, off, 1) != 0xe5) {
			take_long(v, name, off);
			continue;
		}
		one(v, off, name, path, depth);
		memset(name, 0, sizeof(*name));
	}
	return true;
}

static void dir(struct vfat_walk *v, uint64_t cluster, const char *path, unsigned depth)
{
	struct vfat_long name = { 0 };

	if (depth > WALK_DEPTH_MAX)
		return;
	if (!cluster && !v->root_cluster) {
		/* A directory without clusters leads here, too. */
		if (as_walk_first(v->walk, VFAT_SEEN_DIR, 0))
			(void)entries(v, v->root_at, v->root_bytes, &name, path, depth);
		return;
	}
	while (is_cluster(v, cluster) && as_walk_first(v->walk, VFAT_SEEN_DIR, cluster)) {
		/* A long name whose entries are in two clusters is not put together. */
		memset(&name, 0, sizeof(name));
		if (!entries(v, cluster_at(v, cluster), v->cluster_bytes, &name, path, depth))
			return;
		cluster = next_of(v, cluster);
	}
}

static int walk_vfat(struct as_disk_walk *walk, struct as_err *err)
{
	struct vfat_walk v = { .walk = walk };
	struct as_walk_at at = { .structure = "boot", .instance = "boot sector" };
	uint64_t backup;
	int rc = read_boot(&v, err);

	if (rc)
		return rc;
	as_walk_emit(walk, &at);
	backup = as_walk_le(walk, 50, 2);
	if (v.bits == 32 && backup && backup != 0xffff) {
		at.class = "backup";
		at.instance = "backup boot sector";
		at.off = backup * v.sector;
		as_walk_emit(walk, &at);
	}
	if (v.bits == 32) {
		at = (struct as_walk_at){ .structure = "info",
					  .instance = "information sector",
					  .off = as_walk_le(walk, 48, 2) * v.sector };
		as_walk_emit(walk, &at);
	}
	for (uint64_t fat = 0; fat < v.fats; fat++) {
		emit_table(&v, fat);
		as_walk_area(walk, v.fat_at + fat * v.fat_bytes, v.fat_bytes,
			     as_walk_text(walk, "table %llu", (unsigned long long)fat + 1), false,
			     0);
	}
	as_walk_area(walk, v.root_at, v.root_bytes, "directory /", false, 0);
	if (v.root_cluster)
		own(&v, v.root_cluster, "directory /", false);
	dir(&v, v.root_cluster, "/", 0);
	return 0;
}

static const char *const structures[] = { "boot",      "info",	    "fat_entry",
					  "dir_entry", "long_name", NULL };
static const char *const vars[] = { "fat_bits", "odd", NULL };

const struct as_walker as_walker_vfat = { .name = "vfat",
					  .structures = structures,
					  .vars = vars,
					  .walk = walk_vfat };
