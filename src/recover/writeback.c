/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writeback: see writeback.h. The log is divided at its flushes, and at discards and zeroes, which
 * do not go through the cache. For each part we find out which sectors of which pages are written
 * at all, and what they hold in the end; then the entries are passed on, each page at its first
 * write.
 */
#include "recover/writeback.h"

#include "recover/redo.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define SECTOR AS_DISK_SECTOR_BYTES
#define PAGE_SECTORS (PAGE_BYTES / SECTOR)

struct cache {
	const struct as_reclog *log;
	struct as_disk *disk; /* as it is after the current part */
	struct as_bd *to;
	unsigned char *dirty; /* for each page, a bit for each sector; 0 once it is written */
	uint64_t pages;
	struct as_buf scratch;
};

static void mark(struct cache *c, const struct as_log_entry *e)
{
	for (uint64_t s = e->off / SECTOR; s < (e->off + e->len) / SECTOR; s++)
		c->dirty[s / PAGE_SECTORS] |= (unsigned char)(1u << s % PAGE_SECTORS);
}

static void write_run(struct cache *c, uint64_t sector, unsigned n)
{
	unsigned char buf[PAGE_BYTES];

	as_assert(!as_bd_read(as_disk_bd(c->disk), sector * SECTOR, buf, (size_t)n * SECTOR));
	as_assert(!as_bd_write(c->to, sector * SECTOR, buf, (size_t)n * SECTOR));
}

static void write_page(struct cache *c, uint64_t page)
{
	unsigned dirty = c->dirty[page], first, end;

	for (first = 0; first < PAGE_SECTORS; first = end) {
		for (end = first + 1; end < PAGE_SECTORS; end++)
			if ((dirty >> end & 1) != (dirty >> first & 1))
				break;
		if (dirty >> first & 1)
			write_run(c, page * PAGE_SECTORS + first, end - first);
	}
	c->dirty[page] = 0;
}

static void pass_on(struct cache *c, const struct as_log_entry *e)
{
	if (e->kind != AS_CALL_WRITE)
		as_redo(e, c->to, &c->scratch);
	else if (!e->ret)
		for (uint64_t p = e->off / PAGE_BYTES; p * PAGE_BYTES < e->off + e->len; p++)
			write_page(c, p);
}

/* Where the part that begins with entry i ends. */
static size_t part_end(const struct as_reclog *log, size_t i, size_t n)
{
	for (; i < n; i++) {
		enum as_call kind = as_reclog_at(log, i)->kind;

		if (kind != AS_CALL_READ && kind != AS_CALL_WRITE)
			return i + 1;
	}
	return n;
}

void as_writeback(const struct as_reclog *log, size_t n, struct as_disk *start, struct as_bd *to)
{
	struct cache c = { .log = log, .disk = as_disk_snapshot(start), .to = to };

	c.pages = as_disk_size(start) / PAGE_BYTES + 1;
	c.dirty = as_xcalloc(c.pages, 1);
	for (size_t i = 0, end; i < n; i = end) {
		end = part_end(log, i, n);
		for (size_t k = i; k < end; k++) {
			const struct as_log_entry *e = as_reclog_at(log, k);

			if (e->kind == AS_CALL_WRITE && !e->ret)
				mark(&c, e);
			/* What ends the part comes after its writes. */
			if (e->kind == AS_CALL_WRITE)
				as_assert(!as_log_entry_apply(e, as_disk_bd(c.disk)));
		}
		for (size_t k = i; k < end; k++)
			pass_on(&c, as_reclog_at(log, k));
		as_assert(!as_log_entry_apply(as_reclog_at(log, end - 1), as_disk_bd(c.disk)));
	}
	free(c.dirty);
	as_buf_free(&c.scratch);
	as_disk_free(c.disk);
}
