/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_exfat: finds the structures of exFAT. */
#include "layout/walk/walk_priv.h"

#include <string.h>

#define ENTRY 32u
#define BOOT_SECTORS 11u /* that the checksum of the boot region covers */
#define SET_MAX 19u
#define DIR_BYTES_MAX (UINT64_C(256) << 20)

enum exfat_space { EXFAT_SEEN_DIR = 1 };

struct exfat_walk {
	struct as_disk_walk *walk;
	uint64_t sector, cluster_bytes, fat_at, heap_at, clusters;
};

/* A run of clusters that follows the table, or itself if it says so. */
struct exfat_stream {
	uint64_t cluster, len;
	bool contiguous;
};

static bool is_cluster(const struct exfat_walk *x, uint64_t cluster)
{
	return cluster >= 2 && cluster < x->clusters + 2;
}

/* Where byte `at` of a stream is; 0: nowhere. */
static uint64_t place_of(const struct exfat_walk *x, struct exfat_stream s, uint64_t at)
{
	uint64_t cluster = s.cluster;

	for (uint64_t i = at / x->cluster_bytes; i && is_cluster(x, cluster); i--)
		cluster = s.contiguous ? cluster + 1
				       : as_walk_le(x->walk, x->fat_at + cluster * 4, 4);
	if (!is_cluster(x, cluster))
		return 0;
	return x->heap_at + (cluster - 2) * x->cluster_bytes + at % x->cluster_bytes;
}

static void own(struct exfat_walk *x, struct exfat_stream s, const char *what, bool is_data)
{
	for (uint64_t at = 0; at < s.len && at < DIR_BYTES_MAX; at += x->cluster_bytes) {
		uint64_t off = place_of(x, s, at);

		if (!off)
			return;
		as_walk_area(x->walk, off, x->cluster_bytes, what, is_data, at);
	}
}

/* ---- Boot region ---- */

static void emit_boot(struct exfat_walk *x, uint64_t first, const char *class)
{
	const char *prefix = first ? "backup " : "";
	struct as_seal seal = { .sum = AS_SUM_ROTATE };
	struct as_walk_at at = { .structure = "boot", .off = first, .class = class };

	/* VolumeFlags and PercentInUse change without it. */
	as_seal_disk(&seal, first, 106);
	as_seal_disk(&seal, first + 108, 4);
	as_seal_disk(&seal, first + 113, BOOT_SECTORS * x->sector - 113);
	as_seal_store(&seal, first + BOOT_SECTORS * x->sector, 4, 0, false);
	seal.store[0].repeat = (uint32_t)(x->sector / 4);
	seal.store[0].step = 4;
	at.seal = as_walk_seal(x->walk, &seal);
	at.instance = as_walk_text(x->walk, "%sboot sector", prefix);
	as_walk_emit(x->walk, &at);
	at.structure = "boot_checksum";
	at.off = first + BOOT_SECTORS * x->sector;
	at.instance = as_walk_text(x->walk, "%sboot checksum", prefix);
	as_walk_emit(x->walk, &at);
}

static void emit_table(struct exfat_walk *x)
{
	bool has_free = false;

	for (uint64_t cluster = 0; cluster < x->clusters + 2; cluster++) {
		struct as_walk_at at = { .structure = "fat_entry",
					 .off = x->fat_at + cluster * 4,
					 .self = cluster };
		bool used = as_walk_le(x->walk, at.off, 4);

		if (!used && has_free)
			continue;
		has_free |= !used;
		at.class = cluster < 2 ? "reserved" : used ? "used" : "unused";
		at.instance = as_walk_text(x->walk, "cluster %llu in the table",
					   (unsigned long long)cluster);
		as_walk_emit(x->walk, &at);
	}
}

/* ---- Directories ---- */

struct exfat_dir {
	struct exfat_walk *x;
	struct exfat_stream stream;
	const char *path;
	unsigned depth;
};

static void look_into(const struct exfat_dir *d);

/* Entries of a set: file, stream, names. Returns how many there are. */
static unsigned file_set(const struct exfat_dir *d, uint64_t at)
{
	struct as_disk_walk *w = d->x->walk;
	uint64_t off[SET_MAX], n = 1, len;
	struct as_seal seal = { .sum = AS_SUM_ROTATE16 };
	struct exfat_dir child = { .x = d->x, .depth = d->depth + 1 };
	char name[SET_MAX * 15 * 3 + 1];
	struct as_walk_at to = { 0 };
	size_t text = 0;
	bool together = true, is_dir;

	off[0] = place_of(d->x, d->stream, at);
	n += as_walk_le(w, off[0] + 1, 1);
	if (n > SET_MAX)
		n = SET_MAX;
	for (uint64_t i = 1; i < n; i++) {
		off[i] = place_of(d->x, d->stream, at + i * ENTRY);
		together &= off[i] == off[0] + i * ENTRY;
		for (unsigned k = 0; off[i] && i > 1 && k < 15; k++) {
			uint32_t c = (uint32_t)as_walk_le(w, off[i] + 2 + k * 2, 2);

			if (!c)
				break;
			if (c >= 0x80) {
				if (c >= 0x800)
					name[text++] = (char)(0xe0 | c >> 12);
				name[text++] =
					(char)(c >= 0x800 ? 0x80 | (c >> 6 & 63) : 0xc0 | c >> 6);
				c = 0x80 | (c & 63);
			}
			name[text++] = (char)c;
		}
	}
	if (n < 2 || !off[1])
		return 1;
	is_dir = as_walk_le(w, off[0] + 4, 2) & 0x10;
	len = as_walk_le(w, off[1] + 24, 8);
	to.path = child.path = as_walk_join(w, d->path, name, text);
	to.class = is_dir ? "directory" : "regular file";
	if (together) {
		as_seal_disk(&seal, off[0], 2);
		as_seal_disk(&seal, off[0] + 4, n * ENTRY - 4);
		as_seal_store(&seal, off[0] + 2, 2, 0, false);
		to.seal = as_walk_seal(w, &seal);
	}
	(void)as_walk_inode(w, off[0], child.path);
	for (uint64_t i = 0; i < n && off[i]; i++) {
		to.off = off[i];
		to.structure = !i ? "file_entry" : i == 1 ? "stream_entry" : "name_entry";
		to.instance = i < 2 ? as_walk_text(w, "%s of %s", i ? "stream" : "entry", to.path)
				    : as_walk_text(w, "name %llu of %s", (unsigned long long)i - 1,
						   to.path);
		as_walk_emit(w, &to);
	}
	child.stream = (struct exfat_stream){ .cluster = as_walk_le(w, off[1] + 20, 4),
					      .len = len,
					      .contiguous = as_walk_le(w, off[1] + 1, 1) & 2 };
	own(d->x, child.stream, as_walk_text(w, "%s %s", is_dir ? "directory" : "data of", to.path),
	    !is_dir);
	if (is_dir)
		look_into(&child);
	return (unsigned)n;
}

static void special(const struct exfat_dir *d, uint64_t off, unsigned type)
{
	struct as_disk_walk *w = d->x->walk;
	struct as_walk_at at = { .off = off };
	struct exfat_stream s = { .cluster = as_walk_le(w, off + 20, 4),
				  .len = as_walk_le(w, off + 24, 8) };

	at.structure = type == 1 ? "bitmap_entry" : type == 2 ? "upcase_entry" : "label_entry";
	at.instance = type == 1	  ? "entry of the bitmap"
		      : type == 2 ? "entry of the table of upper cases"
				  : "entry of the label";
	as_walk_emit(w, &at);
	if (type == 3)
		return;
	own(d->x, s, type == 1 ? "bitmap" : "table of upper cases", false);
	if (type == 1 && place_of(d->x, s, 0)) {
		at.structure = at.instance = "bitmap";
		at.off = place_of(d->x, s, 0);
		as_walk_bits(w, &at, "cluster", 2,
			     d->x->clusters < d->x->cluster_bytes * 8 ? d->x->clusters
								      : d->x->cluster_bytes * 8,
			     "bitmap.block");
	}
}

static void look_into(const struct exfat_dir *d)
{
	unsigned n;

	if (d->depth > WALK_DEPTH_MAX ||
	    !as_walk_first(d->x->walk, EXFAT_SEEN_DIR, d->stream.cluster))
		return;
	for (uint64_t at = 0; at < d->stream.len && at < DIR_BYTES_MAX; at += n * ENTRY) {
		uint64_t off = place_of(d->x, d->stream, at);
		unsigned type = off ? (unsigned)as_walk_le(d->x->walk, off, 1) : 0;

		if (!type)
			return;
		n = 1;
		if (type == 0x85)
			n = file_set(d, at);
		else if (type >= 0x81 && type <= 0x83)
			special(d, off, type & 3);
	}
}

static int walk_exfat(struct as_disk_walk *walk, struct as_err *err)
{
	struct exfat_walk x = { .walk = walk };
	uint64_t shift = as_walk_le(walk, 108, 1), cluster_shift = as_walk_le(walk, 109, 1);
	struct exfat_dir root = { .x = &x, .path = "/" };
	char name[8];

	as_walk_read(walk, 3, name, sizeof(name));
	if (memcmp(name, "EXFAT   ", sizeof(name)) != 0 || shift < 9 || shift > 12 ||
	    cluster_shift > 25 - shift)
		return as_fail(err, AS_EUSE, "the disk has no boot sector of exFAT");
	x.sector = UINT64_C(1) << shift;
	x.cluster_bytes = x.sector << cluster_shift;
	x.fat_at = as_walk_le(walk, 80, 4) * x.sector;
	x.heap_at = as_walk_le(walk, 88, 4) * x.sector;
	x.clusters = as_walk_le(walk, 92, 4);
	if (x.clusters > as_walk_disk_bytes(walk) / x.cluster_bytes) {
		as_walk_complain(walk, "the boot sector names more clusters than the disk has");
		x.clusters = as_walk_disk_bytes(walk) / x.cluster_bytes;
	}
	emit_boot(&x, 0, "");
	emit_boot(&x, 12 * x.sector, "backup");
	emit_table(&x);
	root.stream =
		(struct exfat_stream){ .cluster = as_walk_le(walk, 96, 4), .len = DIR_BYTES_MAX };
	as_walk_area(walk, place_of(&x, root.stream, 0), x.cluster_bytes, "directory /", false, 0);
	look_into(&root);
	return 0;
}

static const char *const structures[] = {
	"boot",		"boot_checksum", "fat_entry",	"bitmap",
	"bitmap_entry", "upcase_entry",	 "label_entry", "file_entry",
	"stream_entry", "name_entry",	 NULL,
};
static const char *const vars[] = { NULL };

const struct as_walker as_walker_exfat = { .name = "exfat",
					   .structures = structures,
					   .vars = vars,
					   .walk = walk_exfat };
