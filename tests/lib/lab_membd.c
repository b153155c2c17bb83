/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_membd: see lab_membd.h. */
#include "tests/lib/lab_membd.h"

static bool mem_fault(struct membd *m, uint64_t *counter)
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

static int mem_check(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return off % 512 || len % 512 || off > bd->size_bytes || len > bd->size_bytes - off
		       ? -EINVAL
		       : 0;
}

static int mem_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	struct membd *m = (struct membd *)bd;

	if (mem_check(bd, off, len))
		return -EINVAL;
	if (mem_fault(m, &m->fail_read))
		return -EIO;
	memcpy(buf, m->disk + off, len);
	return 0;
}

static void mem_log(struct membd *m, uint64_t off, const void *buf, size_t len)
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

int t_mem_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
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

static int mem_flush(struct as_bd *bd)
{
	struct membd *m = (struct membd *)bd;

	if (mem_fault(m, &m->fail_flush))
		return -EIO;
	m->unflushed = 0;
	mem_log(m, UINT64_MAX, NULL, 0);
	return 0;
}

static int mem_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	static const uint8_t zeros[1024];
	int rc = 0;

	for (uint64_t n; len && !rc; off += n, len -= n) {
		n = len < sizeof(zeros) ? len : sizeof(zeros);
		rc = t_mem_write(bd, off, zeros, n);
	}
	return rc;
}

const struct as_bd_ops t_mem_ops = {
	.api = 1, /* no queue */
	.name = "mem",
	.read = mem_read,
	.write = t_mem_write,
	.flush = mem_flush,
	.discard = mem_zero,
	.zero = mem_zero,
};

void t_mem_open(struct membd *m, uint64_t size)
{
	memset(m, 0, sizeof(*m));
	m->bd = (struct as_bd){ .ops = &t_mem_ops, .size_bytes = size, .sector_bytes = 512 };
	m->disk = calloc(1, size);
}

void t_mem_forget_log(struct membd *m)
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

void t_mem_close(struct membd *m)
{
	t_mem_forget_log(m);
	free(m->disk);
}

void t_mem_record(struct membd *m)
{
	t_mem_forget_log(m);
	m->base = malloc(m->bd.size_bytes);
	memcpy(m->base, m->disk, m->bd.size_bytes);
	m->recording = true;
}

void t_mem_apply(uint8_t *disk, const struct mem_write *w)
{
	if (w->off != UINT64_MAX)
		memcpy(disk + w->off, w->data, w->len);
}

static void *memhost_alloc(void *ctx, size_t len)
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

static void memhost_release(void *ctx, void *ptr)
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

void t_memhost_clear(struct memhost *h)
{
	while (h->pieces.next != &h->pieces)
		memhost_release(h, h->pieces.next + 1);
}

static uint64_t memhost_now(void *ctx)
{
	return ++((struct memhost *)ctx)->clock;
}

static void memhost_log(void *ctx, const char *line)
{
	(void)ctx;
	(void)line;
}

static unsigned memhost_pick(struct as_choice *choice, unsigned n)
{
	(void)choice;
	(void)n;
	return 0;
}

void t_memhost_init(struct memhost *h)
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
