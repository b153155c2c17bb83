/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * corrupt_bits: the model `bits`: what disks do to bytes without knowing what they mean. Each row
 * of ways[] is one way; which, where and how is drawn from the seed and the number of the damage.
 * Sectors are drawn among those that hold something, of metadata, of data, or of both.
 */
#include "fsck/corrupt_priv.h"

#include "base/array.h"
#include "base/choice.h"
#include "base/hash.h"
#include "layout/field.h"

#include <stdlib.h>
#include <string.h>

#define LOT 8u
#define SECTOR AS_DISK_SECTOR_BYTES

struct sectors {
	uint64_t *at; /* offsets */
	size_t n, cap;
};

struct bits {
	struct sectors *of; /* of each disk */
};

/* ---- Which sectors --------------------------------------------------------------------------- */

struct wanted {
	struct sectors *out;
	unsigned char *mask; /* one byte for each sector: it may be damaged; NULL: all may */
};

static int add_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	static const unsigned char zeros[SECTOR];
	struct wanted *w = ctx;

	for (unsigned i = 0; i < AS_CHUNK_BYTES; i += SECTOR) {
		uint64_t at = index * AS_CHUNK_BYTES + i;

		if (!memcmp(data + i, zeros, SECTOR) || (w->mask && !w->mask[at / SECTOR]))
			continue;
		AS_ARRAY_ROOM(w->out->at, w->out->n, w->out->cap);
		w->out->at[w->out->n++] = at;
	}
	return 0;
}

static void mark(unsigned char *mask, uint64_t off, uint64_t len, uint64_t size)
{
	for (uint64_t at = off / SECTOR; len && at <= (off + len - 1) / SECTOR; at++)
		if (at < size / SECTOR)
			mask[at] = 1;
}

/* Sectors with metadata have a field in them, sectors with data lie in an area of data. */
static int find_mask(const struct as_corrupt *c, struct as_disk *disk, unsigned char **mask,
		     struct as_err *err)
{
	uint64_t size = as_disk_size(disk);
	struct as_fields *fields = NULL;
	int rc;

	*mask = NULL;
	if (c->setup.where == AS_CORRUPT_ANYWHERE)
		return 0;
	rc = as_corrupt_read_fields(c, disk, &fields, err);
	if (rc)
		return as_fail_in(err, "--where");
	*mask = as_xcalloc(size / SECTOR + 1, 1);
	if (c->setup.where == AS_CORRUPT_METADATA) {
		for (size_t i = 0; i < as_fields_n(fields); i++)
			mark(*mask, as_fields_at(fields, i)->off, as_fields_at(fields, i)->bytes,
			     size);
	} else {
		for (size_t i = 0; i < as_fields_areas(fields); i++)
			if (as_fields_area(fields, i)->is_data)
				mark(*mask, as_fields_area(fields, i)->off,
				     as_fields_area(fields, i)->len, size);
	}
	as_fields_free(fields);
	return 0;
}

static int open_bits(struct as_corrupt *c, struct as_err *err)
{
	struct bits *b = c->own = as_xcalloc(1, sizeof(*b));
	int rc = 0;

	b->of = as_xcalloc(c->setup.n, sizeof(*b->of));
	for (size_t i = 0; !rc && i < c->setup.n; i++) {
		struct wanted w = { .out = &b->of[i] };

		rc = find_mask(c, c->setup.bases[i].disk, &w.mask, err);
		if (!rc)
			as_disk_each(c->setup.bases[i].disk, add_chunk, &w);
		if (!rc && !b->of[i].n)
			rc = as_fail(err, AS_EUSE, "%s: there is nothing on it that can be damaged",
				     c->setup.bases[i].name);
		free(w.mask);
	}
	return rc;
}

static void close_bits(struct as_corrupt *c)
{
	struct bits *b = c->own;

	for (size_t i = 0; b && b->of && i < c->setup.n; i++)
		free(b->of[i].at);
	if (b)
		free(b->of);
	free(b);
}

/* ---- The ways -------------------------------------------------------------------------------- */

struct way {
	struct as_choice *choice;
	const struct sectors *sectors;
	struct as_disk *disk; /* to be damaged */
	struct as_disk *older;
	struct as_buf *words;
};

static uint64_t any_sector(struct way *w)
{
	return w->sectors->at[as_choose(w->choice, (unsigned)w->sectors->n)];
}

static void get(struct as_disk *disk, uint64_t at, unsigned char *sector)
{
	as_assert(!as_bd_read(as_disk_bd(disk), at, sector, SECTOR));
}

static void put(struct as_disk *disk, uint64_t at, const unsigned char *sector)
{
	as_assert(!as_bd_write(as_disk_bd(disk), at, sector, SECTOR));
}

static void flip(struct way *w, unsigned bits)
{
	uint64_t at = any_sector(w);
	unsigned char sector[SECTOR];

	get(w->disk, at, sector);
	for (unsigned i = 0; i < bits; i++) {
		unsigned bit = as_choose(w->choice, SECTOR * 8);

		sector[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	put(w->disk, at, sector);
	as_buf_addf(w->words, bits == 1 ? "a bit of sector %llu flips" : "bits of sector %llu flip",
		    (unsigned long long)(at / SECTOR));
}

static void flip_one(struct way *w)
{
	flip(w, 1);
}

static void flip_some(struct way *w)
{
	flip(w, 2 + as_choose(w->choice, 7));
}

static void overwrite(struct way *w)
{
	static const unsigned char edges[] = { 0, 1, 0x7f, 0x80, 0xff };
	unsigned len = 1u << as_choose(w->choice, 4), value = as_choose(w->choice, 6);
	unsigned at_byte = as_choose(w->choice, SECTOR / len) * len;
	uint64_t at = any_sector(w);
	unsigned char sector[SECTOR];

	get(w->disk, at, sector);
	for (unsigned i = 0; i < len; i++)
		sector[at_byte + i] = value < sizeof(edges)
					      ? edges[value]
					      : (unsigned char)as_choose(w->choice, 256);
	put(w->disk, at, sector);
	as_buf_addf(w->words, "%u bytes at %llu are overwritten", len,
		    (unsigned long long)at + at_byte);
}

static void swap(struct way *w)
{
	uint64_t a = any_sector(w), b = any_sector(w);
	unsigned char x[SECTOR], y[SECTOR];

	get(w->disk, a, x);
	get(w->disk, b, y);
	put(w->disk, a, y);
	put(w->disk, b, x);
	as_buf_addf(w->words, "sectors %llu and %llu change places",
		    (unsigned long long)(a / SECTOR), (unsigned long long)(b / SECTOR));
}

static void misdirect(struct way *w)
{
	uint64_t a = any_sector(w), b = any_sector(w);
	unsigned char x[SECTOR];

	get(w->disk, a, x);
	put(w->disk, b, x);
	as_buf_addf(w->words, "sector %llu holds what sector %llu holds",
		    (unsigned long long)(b / SECTOR), (unsigned long long)(a / SECTOR));
}

static void clear(struct way *w)
{
	static const unsigned char zeros[SECTOR];
	uint64_t at = any_sector(w);

	put(w->disk, at, zeros);
	as_buf_addf(w->words, "sector %llu is zeros", (unsigned long long)(at / SECTOR));
}

static void stale(struct way *w)
{
	uint64_t at = any_sector(w);
	unsigned char old[SECTOR];

	if (!w->older) {
		clear(w);
		return;
	}
	get(w->older, at, old);
	put(w->disk, at, old);
	as_buf_addf(w->words, "sector %llu is as it was on the fresh disk",
		    (unsigned long long)(at / SECTOR));
}

/* A flipped bit is the likeliest. */
static void (*const ways[])(struct way *w) = { flip_one, flip_one,  flip_some, overwrite, overwrite,
					       swap,	 misdirect, clear,     stale };

static uint64_t bits_lots(const struct as_corrupt *c)
{
	(void)c;
	return UINT64_MAX;
}

static void bits_lot(struct as_corrupt *c, uint64_t i, struct as_corrupt_lot *lot)
{
	const struct bits *b = c->own;

	for (unsigned k = 0; k < LOT; k++) {
		uint64_t seed = as_mix64(as_mix64(c->setup.seed) + i * LOT + k);
		struct as_chooser *chooser = as_chooser_seeded(seed);
		struct as_choice *choice = as_chooser_choice(chooser);
		uint32_t base = (uint32_t)as_choose(choice, (unsigned)c->setup.n);
		struct as_damage *d = as_corrupt_add(lot, base);
		struct way w = { .choice = choice,
				 .sectors = &b->of[base],
				 .disk = as_disk_snapshot(c->setup.bases[base].disk),
				 .older = base ? NULL : c->setup.older,
				 .words = &d->words };

		ways[as_choose(choice, sizeof(ways) / sizeof(ways[0]))](&w);
		as_corrupt_take(c, lot, w.disk);
		as_chooser_free(chooser);
	}
}

const struct as_corrupt_row as_corrupt_bits = {
	.name = "bits",
	.help = "bits that flip, bytes that are overwritten, sectors that are swapped, "
		"misdirected, zeros or old",
	.open = open_bits,
	.lots = bits_lots,
	.lot = bits_lot,
	.close = close_bits,
};
