/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * membd.h: a disk in memory for the tests of labfs, which fails the n-th read, write or flush on
 * demand and, when asked, keeps a log of writes and flushes from which crash images are made; and a
 * host that fails the n-th allocation and counts what was not given back.
 */
#ifndef TESTS_LABFS_MEMBD_H
#define TESTS_LABFS_MEMBD_H

#include <assay/target.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct mem_write {
	uint64_t off; /* UINT64_MAX = a flush */
	uint32_t len;
	uint32_t mark; /* value of membd.mark when it happened */
	uint8_t *data;
};

struct membd {
	struct as_bd bd;
	uint8_t *disk;
	/* log */
	bool recording;
	uint8_t *base; /* the disk when recording began */
	struct mem_write *log;
	size_t nlog, log_cap;
	uint32_t mark;
	size_t unflushed; /* writes since the last flush, recorded or not */
	/* faults: 0 = none, n = the n-th call from now fails, once */
	uint64_t fail_read, fail_write, fail_flush;
	bool fail_on; /* all writes and flushes from the failing one on */
	uint64_t fired;
};

static inline bool mem_fault(struct membd *m, uint64_t *counter)
{
	if (!*counter)
		return false;
	if (*counter == 1 && m->fail_on) {
		m->fired++;
		return true;
	}
	if (--*counter)
		return false;
	m->fired++;
	if (m->fail_on)
		*counter = 1;
	return true;
}

static inline int mem_check(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return off % 512 || len % 512 || off > bd->size_bytes || len > bd->size_bytes - off
		       ? -EINVAL
		       : 0;
}

static inline int mem_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	struct membd *m = (struct membd *)bd;

	if (mem_check(bd, off, len))
		return -EINVAL;
	if (mem_fault(m, &m->fail_read))
		return -EIO;
	memcpy(buf, m->disk + off, len);
	return 0;
}

static inline void mem_log(struct membd *m, uint64_t off, const void *buf, size_t len)
{
	struct mem_write *w;

	if (!m->recording)
		return;
	if (m->nlog == m->log_cap) {
		m->log_cap = m->log_cap ? m->log_cap * 2 : 256;
		m->log = realloc(m->log, m->log_cap * sizeof(*m->log));
	}
	w = &m->log[m->nlog++];
	*w = (struct mem_write){ .off = off, .len = (uint32_t)len, .mark = m->mark };
	if (len) {
		w->data = malloc(len);
		memcpy(w->data, buf, len);
	}
}

static inline int mem_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	struct membd *m = (struct membd *)bd;

	if (mem_check(bd, off, len))
		return -EINVAL;
	if (mem_fault(m, &m->fail_write))
		return -EIO;
	memcpy(m->disk + off, buf, len);
	m->unflushed++;
	mem_log(m, off, buf, len);
	return 0;
}

static inline int mem_flush(struct as_bd *bd)
{
	struct membd *m = (struct membd *)bd;

	if (mem_fault(m, &m->fail_flush))
		return -EIO;
	m->unflushed = 0;
	mem_log(m, UINT64_MAX, NULL, 0);
	return 0;
}

static inline int mem_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	static const uint8_t zeros[1024];
	int rc = 0;

	for (uint64_t n; len && !rc; off += n, len -= n) {
		n = len < sizeof(zeros) ? len : sizeof(zeros);
		rc = mem_write(bd, off, zeros, n);
	}
	return rc;
}

static const struct as_bd_ops mem_ops = {
	.api = AS_TARGET_API,
	.name = "mem",
	.read = mem_read,
	.write = mem_write,
	.flush = mem_flush,
	.discard = mem_zero,
	.zero = mem_zero,
};

static inline void mem_open(struct membd *m, uint64_t size)
{
	memset(m, 0, sizeof(*m));
	m->bd = (struct as_bd){ .ops = &mem_ops, .size_bytes = size, .sector_bytes = 512 };
	m->disk = calloc(1, size);
}

static inline void mem_forget_log(struct membd *m)
{
	for (size_t i = 0; i < m->nlog; i++)
		free(m->log[i].data);
	free(m->log);
	free(m->base);
	m->log = NULL;
	m->base = NULL;
	m->nlog = m->log_cap = 0;
	m->recording = false;
}

static inline void mem_close(struct membd *m)
{
	mem_forget_log(m);
	free(m->disk);
}

static inline void mem_record(struct membd *m)
{
	mem_forget_log(m);
	m->base = malloc(m->bd.size_bytes);
	memcpy(m->base, m->disk, m->bd.size_bytes);
	m->recording = true;
}

static inline void mem_apply(uint8_t *disk, const struct mem_write *w)
{
	if (w->off != UINT64_MAX)
		memcpy(disk + w->off, w->data, w->len);
}

/* ---- Host ---- */

struct mem_piece { /* in front of each allocation */
	struct mem_piece *prev, *next;
};

struct memhost {
	struct as_host host;
	struct mem_piece pieces;
	struct as_choice choice;
	uint64_t clock;
	uint64_t fail_alloc, fired;
	long live;
};

static inline void *memhost_alloc(void *ctx, size_t len)
{
	struct memhost *h = ctx;
	struct mem_piece *piece;

	if (h->fail_alloc && !--h->fail_alloc) {
		h->fired++;
		return NULL;
	}
	piece = calloc(1, sizeof(*piece) + len);
	piece->next = h->pieces.next;
	piece->prev = &h->pieces;
	piece->next->prev = piece;
	h->pieces.next = piece;
	h->live++;
	return piece + 1;
}

static inline void memhost_release(void *ctx, void *ptr)
{
	struct memhost *h = ctx;
	struct mem_piece *piece = ptr;

	if (!ptr)
		return;
	piece--;
	piece->prev->next = piece->next;
	piece->next->prev = piece->prev;
	h->live--;
	free(piece);
}

/* Frees what was not freed: the test reports a leak, not the sanitizer. */
static inline void memhost_clear(struct memhost *h)
{
	while (h->pieces.next != &h->pieces)
		memhost_release(h, h->pieces.next + 1);
}

static inline uint64_t memhost_now(void *ctx)
{
	return ++((struct memhost *)ctx)->clock;
}

static inline void memhost_log(void *ctx, const char *line)
{
	(void)ctx;
	(void)line;
}

static inline unsigned memhost_pick(struct as_choice *choice, unsigned n)
{
	(void)choice;
	(void)n;
	return 0;
}

static inline void memhost_init(struct memhost *h)
{
	memset(h, 0, sizeof(*h));
	h->choice.pick = memhost_pick;
	h->pieces.prev = h->pieces.next = &h->pieces;
	h->clock = 1000;
	h->host = (struct as_host){
		.api = AS_TARGET_API,
		.ctx = h,
		.alloc = memhost_alloc,
		.release = memhost_release,
		.choice = &h->choice,
		.now_ns = memhost_now,
		.log = memhost_log,
	};
}

#endif
