/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * witness: see witness.h. A record is a head and, for writes, the bytes, padded to eight. It is
 * written first and counted afterwards, because the writer may be killed between any two
 * instructions. A write that the disk refused is not recorded.
 */
#include "disk/witness.h"

#include "base/err.h"
#include "disk/call.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct head {
	uint64_t off, len;
	uint64_t call; /* AS_CALL_WRITE, AS_CALL_ZERO */
};

#define PAGE_BYTES 4096u
#define AHEAD_BYTES (2u << 20) /* more than one call makes a file system write */

struct as_witness {
	struct as_bd bd; /* first: a witness is a block device */
	struct as_bd *inner;
	struct as_witness_area *area;
	size_t room_bytes; /* of area->data */
	atomic_size_t touched; /* so many bytes of it, from the beginning, are in memory */
};

static uint64_t padded(uint64_t len)
{
	return (len + 7) / 8 * 8;
}

static void note(struct as_witness *w, enum as_call call, uint64_t off, const void *buf,
		 uint64_t len)
{
	struct head head = { off, len, call };
	uint64_t bytes = call == AS_CALL_WRITE ? padded(len) : 0, at = w->area->len;

	if (w->area->full)
		return;
	if (at > w->room_bytes || sizeof(head) + bytes > w->room_bytes - at) {
		w->area->full = 1;
		return;
	}
	memcpy(w->area->data + at, &head, sizeof(head));
	if (bytes)
		memcpy(w->area->data + at + sizeof(head), buf, len);
	atomic_thread_fence(memory_order_release);
	w->area->len = at + sizeof(head) + bytes;
}

static struct as_witness *of(struct as_bd *bd)
{
	return (struct as_witness *)bd;
}

static int witness_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	return as_bd_read(of(bd)->inner, off, buf, len);
}

static int witness_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	int rc = as_bd_write(of(bd)->inner, off, buf, len);

	if (!rc)
		note(of(bd), AS_CALL_WRITE, off, buf, len);
	return rc;
}

static int witness_flush(struct as_bd *bd)
{
	return as_bd_flush(of(bd)->inner);
}

static int witness_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return as_bd_flush_part(of(bd)->inner, off, len);
}

static int witness_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	int rc = as_bd_discard(of(bd)->inner, off, len);

	/* A discard leaves zeros here. */
	if (!rc)
		note(of(bd), AS_CALL_ZERO, off, NULL, len);
	return rc;
}

static int witness_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	int rc = as_bd_zero(of(bd)->inner, off, len);

	if (!rc)
		note(of(bd), AS_CALL_ZERO, off, NULL, len);
	return rc;
}

static const struct as_bd_ops witness_ops = {
	.api = AS_BD_API,
	.name = "witness",
	.read = witness_read,
	.write = witness_write,
	.flush = witness_flush,
	.discard = witness_discard,
	.zero = witness_zero,
	.flush_part = witness_flush_part,
};

struct as_witness *as_witness_new(struct as_bd *inner, struct as_witness_area *area,
				  size_t room_bytes)
{
	struct as_witness *w = as_xcalloc(1, sizeof(*w));

	as_assert(room_bytes >= sizeof(*area));
	w->bd = (struct as_bd){ .ops = &witness_ops,
				.size_bytes = inner->size_bytes,
				.sector_bytes = inner->sector_bytes };
	w->inner = inner;
	w->area = area;
	w->room_bytes = room_bytes - sizeof(*area);
	area->len = 0;
	area->full = 0;
	return w;
}

void as_witness_free(struct as_witness *w)
{
	free(w);
}

struct as_bd *as_witness_bd(struct as_witness *w)
{
	return &w->bd;
}

uint64_t as_witness_len(const struct as_witness *w)
{
	return w->area->len;
}

void as_witness_truncate(struct as_witness *w, uint64_t len)
{
	as_assert(len <= w->area->len);
	w->area->len = len;
}

/* A byte is replaced by itself, for somebody may write to it now. */
static void touch(uint8_t *byte)
{
	uint8_t was = *(volatile uint8_t *)byte;

	(void)__atomic_compare_exchange_n(byte, &was, was, false, __ATOMIC_RELAXED,
					  __ATOMIC_RELAXED);
}

void as_witness_expect(struct as_witness *w)
{
	size_t len = w->area->len, to = w->room_bytes, from = atomic_load(&w->touched);

	if (w->area->full || len > to)
		return;
	if (to - len > AHEAD_BYTES)
		to = len + AHEAD_BYTES;
	for (size_t at = from > len ? from : len; at < to; at += PAGE_BYTES)
		touch(w->area->data + at);
	if (to > from) {
		touch(w->area->data + to - 1);
		atomic_store(&w->touched, to);
	}
}

bool as_witness_apply(const struct as_witness_area *area, size_t room_bytes, struct as_bd *to)
{
	uint64_t room = room_bytes - sizeof(*area), end = area->len, at = 0;
	int rc = 0;

	if (area->full || end > room)
		return false;
	while (at < end && !rc) {
		struct head head;
		uint64_t bytes;

		if (end - at < sizeof(head))
			return false;
		memcpy(&head, area->data + at, sizeof(head));
		at += sizeof(head);
		if (as_call_check(to, head.off, head.len))
			return false;
		bytes = head.call == AS_CALL_WRITE ? padded(head.len) : 0;
		if (bytes > end - at)
			return false;
		if (head.call == AS_CALL_WRITE)
			rc = as_bd_write(to, head.off, area->data + at, head.len);
		else if (head.call == AS_CALL_ZERO)
			rc = as_bd_zero(to, head.off, head.len);
		else
			return false;
		at += bytes;
	}
	return !rc;
}
