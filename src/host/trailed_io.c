/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trailed_io: the device of a library that is trailed. What the disk does otherwise than it should
 * (a fault of a plan, a flash that rots) is told by comparing: what a read gave with what is on the
 * disk, and what is on the disk after a write with what was to be.
 */
#include "host/trailed_priv.h"

#include "base/err.h"
#include "disk/cow.h"
#include "disk/log.h"
#include "host/medium.h"

#include <assay/solo.h>
#include <stdlib.h>
#include <string.h>

/* What is on the disk; false: that is not known. */
static bool truth(struct as_trailed *t, uint64_t off, size_t len, unsigned char *out)
{
	uint64_t first = off / 512 * 512, end = (off + len + 511) / 512 * 512;
	struct as_bd *bd = t->medium ? as_disk_bd(as_medium_disk(t->medium)) : NULL;
	unsigned char *sectors;
	bool good;

	if (!bd || off > bd->size_bytes || end > bd->size_bytes)
		return false;
	sectors = as_xmalloc((size_t)(end - first) + 1);
	good = !as_bd_read(bd, first, sectors, (size_t)(end - first));
	for (size_t i = 0; i < len; i++)
		out[i] = sectors[off - first + i] ^
			 (t->inner_flash ? t->inner_flash->geometry.erased : 0);
	free(sectors);
	return good;
}

static uint64_t recorded(const struct as_trailed *t)
{
	struct as_reclog *log = t->medium ? as_medium_log(t->medium) : NULL;

	return log ? as_reclog_len(log) : 0;
}

/* Adds the event with the `n_own` bytes that were written, and the part of `is` that differs from
 * `should`: n[3] is its place. `is` may be NULL. */
static void note_io(struct as_trailed *t, struct as_trail_event *e, const unsigned char *is,
		    const unsigned char *should, size_t n_own)
{
	size_t len = (size_t)e->n[1], first = 0, end = is ? len : 0;
	unsigned char *both = as_xmalloc(2 * len + 1);

	while (first < end && is[first] == should[first])
		first++;
	while (end > first && is[end - 1] == should[end - 1])
		end--;
	if (n_own)
		memcpy(both, should, n_own);
	if (end > first)
		memcpy(both + n_own, is + first, end - first);
	e->n[3] = e->n[0] + first;
	(void)as_trail_add(t->trail, e, NULL, NULL, both, n_own + end - first);
	free(both);
}

static void trail_read(struct as_trailed *t, uint64_t off, const void *buf, size_t len, int rc)
{
	struct as_trail_event e = {
		.what = AS_TRAIL_IO, .fn = AS_SOLO_READ, .handle = -1, .ret = rc, .n = { off, len }
	};
	unsigned char *is = as_xmalloc(len + 1);
	bool known = (!rc || rc == -EUCLEAN) && truth(t, off, len, is);

	note_io(t, &e, known ? buf : NULL, is, 0);
	free(is);
}

/* A change that is about to be made. */
struct change {
	struct as_trail_event event;
	unsigned char *should, *is;
	size_t len;
	bool known;
};

static void change_begins(struct as_trailed *t, enum as_solo_ask ask, uint64_t off, const void *buf,
			  size_t len, struct change *c)
{
	const unsigned char *data = buf;
	uint8_t erased = t->inner_flash ? t->inner_flash->geometry.erased : 0;

	*c = (struct change){ .event = { .what = AS_TRAIL_IO,
					 .fn = (uint8_t)ask,
					 .handle = -1,
					 .n = { off, len, recorded(t) } },
			      .should = as_xmalloc(2 * len + 1),
			      .len = len };
	c->is = c->should + len;
	c->known = truth(t, off, len, c->should);
	for (size_t i = 0; i < len; i++) {
		unsigned char was = c->should[i];

		c->should[i] = !data ? erased : data[i];
		if (data && t->inner_flash)
			c->should[i] = erased ? was & data[i] : was | data[i];
	}
}

static int change_done(struct as_trailed *t, struct change *c, int rc)
{
	c->event.ret = rc;
	c->event.n[4] = recorded(t);
	c->known = c->known && truth(t, c->event.n[0], c->len, c->is);
	note_io(t, &c->event, c->known && !rc ? c->is : NULL, c->should,
		c->event.fn == AS_SOLO_WRITE ? c->len : 0);
	free(c->should);
	return rc;
}

static int trailed_bd_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	struct as_trailed *t = as_trailed_of_bd(bd);
	int rc = as_bd_read(t->inner_bd, off, buf, len);

	trail_read(t, off, buf, len, rc);
	return rc;
}

static int trailed_bd_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	struct as_trailed *t = as_trailed_of_bd(bd);
	struct change c;

	change_begins(t, AS_SOLO_WRITE, off, buf, len, &c);
	return change_done(t, &c, as_bd_write(t->inner_bd, off, buf, len));
}

static int trail_flush(struct as_trailed *t, int rc)
{
	struct as_trail_event e = {
		.what = AS_TRAIL_IO, .fn = AS_SOLO_FLUSH, .handle = -1, .ret = rc
	};

	(void)as_trail_add(t->trail, &e, NULL, NULL, NULL, 0);
	return rc;
}

static int trailed_bd_flush(struct as_bd *bd)
{
	return trail_flush(as_trailed_of_bd(bd), as_bd_flush(as_trailed_of_bd(bd)->inner_bd));
}

static int trailed_bd_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return trail_flush(as_trailed_of_bd(bd),
			   as_bd_flush_part(as_trailed_of_bd(bd)->inner_bd, off, len));
}

static int trailed_bd_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	struct as_trailed *t = as_trailed_of_bd(bd);
	struct change c;

	change_begins(t, AS_SOLO_ERASE, off, NULL, (size_t)len, &c);
	return change_done(t, &c, as_bd_discard(t->inner_bd, off, len));
}

static int trailed_bd_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	struct as_trailed *t = as_trailed_of_bd(bd);
	struct change c;

	change_begins(t, AS_SOLO_ERASE, off, NULL, (size_t)len, &c);
	return change_done(t, &c, as_bd_zero(t->inner_bd, off, len));
}

static int trailed_bd_submit(struct as_bd *bd, uint64_t off, const void *buf, size_t len,
			     unsigned flags, uint64_t *ticket)
{
	struct as_trailed *t = as_trailed_of_bd(bd);
	struct change c;

	change_begins(t, AS_SOLO_WRITE, off, buf, len, &c);
	return change_done(t, &c, as_bd_submit(t->inner_bd, off, buf, len, flags, ticket));
}

static int trailed_bd_wait(struct as_bd *bd, uint64_t ticket)
{
	return as_bd_wait(as_trailed_of_bd(bd)->inner_bd, ticket);
}

static void trailed_bd_dirty(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	as_bd_dirty(as_trailed_of_bd(bd)->inner_bd, off, buf, len);
}

const struct as_bd_ops as_trailed_bd_ops = {
	.api = AS_BD_PARTS,
	.name = "trailed",
	.read = trailed_bd_read,
	.write = trailed_bd_write,
	.flush = trailed_bd_flush,
	.discard = trailed_bd_discard,
	.zero = trailed_bd_zero,
	.submit = trailed_bd_submit,
	.wait = trailed_bd_wait,
	.dirty = trailed_bd_dirty,
	.flush_part = trailed_bd_flush_part,
};

static int trailed_flash_read(struct as_flash *flash, uint64_t off, void *buf, size_t len)
{
	struct as_trailed *t = as_trailed_of_flash(flash);
	int rc = as_flash_read(t->inner_flash, off, buf, len);

	trail_read(t, off, buf, len, rc);
	return rc;
}

static int trailed_flash_program(struct as_flash *flash, uint64_t off, const void *buf, size_t len)
{
	struct as_trailed *t = as_trailed_of_flash(flash);
	struct change c;

	change_begins(t, AS_SOLO_WRITE, off, buf, len, &c);
	return change_done(t, &c, as_flash_program(t->inner_flash, off, buf, len));
}

static int trailed_flash_erase(struct as_flash *flash, uint64_t off)
{
	struct as_trailed *t = as_trailed_of_flash(flash);
	struct change c;

	change_begins(t, AS_SOLO_ERASE, off, NULL, t->inner_flash->geometry.erase_bytes, &c);
	return change_done(t, &c, as_flash_erase(t->inner_flash, off));
}

const struct as_flash_ops as_trailed_flash_ops = {
	.api = 1,
	.name = "trailed",
	.read = trailed_flash_read,
	.program = trailed_flash_program,
	.erase = trailed_flash_erase,
};
