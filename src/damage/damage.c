/* SPDX-License-Identifier: GPL-2.0-or-later */
/* damage: see damage.h. */
#include "damage/damage.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_RUNS 12
#define SHOWN_BYTES 16

bool as_damage_is_none(const struct as_damage *d)
{
	return !d->n && !d->crashed;
}

void as_damage_free(struct as_damage *d)
{
	as_disk_free(d->crashed);
	free(d->bytes);
	as_buf_free(&d->words);
	as_buf_free(&d->field);
	*d = (struct as_damage){ 0 };
}

void as_damage_clear(struct as_damage *d)
{
	d->n = 0;
	d->base = 0;
	d->sealed = false;
	as_buf_clear(&d->words);
	as_buf_clear(&d->field);
}

static int note_chunk(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	struct as_damage *d = ctx;

	for (unsigned i = 0; i < AS_CHUNK_BYTES; i++)
		if (a[i] != b[i]) {
			AS_ARRAY_ROOM(d->bytes, d->n, d->cap);
			d->bytes[d->n++] = (struct as_damaged_byte){
				.off = index * AS_CHUNK_BYTES + i, .was = a[i], .is = b[i]
			};
		}
	return 0;
}

bool as_damage_diff(struct as_damage *d, struct as_disk *from, struct as_disk *to)
{
	d->n = 0;
	as_disk_diff(from, to, note_chunk, d);
	return d->n;
}

/* A disk takes whole sectors. */
struct as_disk *as_damage_apply(const struct as_damage *d, struct as_disk *disk, const bool *kept)
{
	struct as_disk *copy = as_disk_snapshot(d->crashed ? d->crashed : disk);
	struct as_bd *bd = as_disk_bd(copy);
	unsigned char sector[AS_DISK_SECTOR_BYTES];
	size_t i = 0;

	while (i < d->n) {
		uint64_t at = d->bytes[i].off / sizeof(sector) * sizeof(sector);
		bool any = false;

		as_assert(!as_bd_read(bd, at, sector, sizeof(sector)));
		for (; i < d->n && d->bytes[i].off < at + sizeof(sector); i++)
			if (!kept || kept[i]) {
				sector[d->bytes[i].off - at] = d->bytes[i].is;
				any = true;
			}
		if (any)
			as_assert(!as_bd_write(bd, at, sector, sizeof(sector)));
	}
	return copy;
}

void as_damage_keep(struct as_damage *d, const bool *kept)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		if (kept[i])
			d->bytes[n++] = d->bytes[i];
	d->n = n;
}

static void say_run(const struct as_damage *d, size_t from, size_t to, struct as_buf *out)
{
	size_t shown = to - from < SHOWN_BYTES ? to - from : SHOWN_BYTES;

	as_buf_addf(out, to - from == 1 ? "byte %llu:" : "bytes %llu to %llu:",
		    (unsigned long long)d->bytes[from].off,
		    (unsigned long long)d->bytes[to - 1].off);
	for (size_t i = from; i < from + shown; i++)
		as_buf_addf(out, " %02x", d->bytes[i].was);
	as_buf_adds(out, shown < to - from ? " ... become"
			 : to - from == 1  ? " becomes"
					   : " become");
	for (size_t i = from; i < from + shown; i++)
		as_buf_addf(out, " %02x", d->bytes[i].is);
	as_buf_adds(out, shown < to - from ? " ...\n" : "\n");
}

void as_damage_say_bytes(const struct as_damage *d, struct as_buf *out)
{
	size_t from = 0, runs = 0, left = 0;

	for (size_t i = 1; i <= d->n; i++) {
		if (i < d->n && d->bytes[i].off == d->bytes[i - 1].off + 1)
			continue;
		if (runs++ < SHOWN_RUNS)
			say_run(d, from, i, out);
		else
			left += i - from;
		from = i;
	}
	if (left)
		as_buf_addf(out, "and %zu bytes in %zu other places\n", left, runs - SHOWN_RUNS);
}
