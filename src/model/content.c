/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * content: what a regular file holds, as sorted runs of patterns with holes between them. A run of
 * pattern 0 is zeros that were written: the same bytes as a hole, but SEEK_HOLE may tell them
 * apart.
 */
#include "model/state.h"

#include <stdlib.h>
#include <string.h>

void as_runs_put(struct as_runs *runs)
{
	if (runs && --runs->ref == 0)
		free(runs);
}

/* The caller's inode already owns a reference of its own. */
static struct as_runs *runs_unshare(struct as_runs *runs, uint32_t room)
{
	uint32_t n = runs ? runs->n : 0;
	struct as_runs *copy;

	if (runs && runs->ref == 1 && runs->cap >= n + room)
		return runs;
	copy = as_xmalloc(sizeof(*copy) + (n + room) * sizeof(struct as_data_run));
	copy->ref = 1;
	copy->n = n;
	copy->cap = n + room;
	if (runs) {
		memcpy(copy->run, runs->run, n * sizeof(struct as_data_run));
		as_runs_put(runs);
	}
	return copy;
}

/* Index of the first run that ends after off. */
static uint32_t find(const struct as_runs *runs, uint64_t off)
{
	uint32_t lo = 0, hi = runs ? runs->n : 0;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (runs->run[mid].start + runs->run[mid].len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void insert_at(struct as_runs *runs, uint32_t i, struct as_data_run run)
{
	as_assert(runs->n < runs->cap);
	memmove(&runs->run[i + 1], &runs->run[i], (runs->n - i) * sizeof(run));
	runs->run[i] = run;
	runs->n++;
}

static void remove_at(struct as_runs *runs, uint32_t i, uint32_t n)
{
	memmove(&runs->run[i], &runs->run[i + n], (runs->n - i - n) * sizeof(struct as_data_run));
	runs->n -= n;
}

static void cut_front(struct as_data_run *run, uint64_t n)
{
	run->start += n;
	run->from += n;
	run->len -= n;
}

/* Makes [off, off+len) a hole; returns where a run starting at off would go. */
static uint32_t clear(struct as_runs *runs, uint64_t off, uint64_t len)
{
	uint64_t end = off + len;
	uint32_t i = find(runs, off), last;

	if (i < runs->n && runs->run[i].start < off) {
		struct as_data_run *run = &runs->run[i];
		uint64_t run_end = run->start + run->len;

		if (run_end > end) {
			struct as_data_run tail = *run;

			cut_front(&tail, end - run->start);
			run->len = off - run->start;
			insert_at(runs, i + 1, tail);
			return i + 1;
		}
		run->len = off - run->start;
		i++;
	}
	for (last = i; last < runs->n && runs->run[last].start + runs->run[last].len <= end;)
		last++;
	remove_at(runs, i, last - i);
	if (i < runs->n && runs->run[i].start < end)
		cut_front(&runs->run[i], end - runs->run[i].start);
	return i;
}

static bool continues(const struct as_data_run *a, const struct as_data_run *b)
{
	return a->start + a->len == b->start && a->pattern == b->pattern &&
	       (a->pattern == 0 || a->from + a->len == b->from);
}

/* Joins run i with its neighbours where they continue each other. */
static void merge(struct as_runs *runs, uint32_t i)
{
	if (i + 1 < runs->n && continues(&runs->run[i], &runs->run[i + 1])) {
		runs->run[i].len += runs->run[i + 1].len;
		remove_at(runs, i + 1, 1);
	}
	if (i > 0 && i < runs->n && continues(&runs->run[i - 1], &runs->run[i])) {
		runs->run[i - 1].len += runs->run[i].len;
		remove_at(runs, i, 1);
	}
}

void as_content_write(struct as_inode *inode, uint64_t off, uint64_t len, uint64_t pattern,
		      uint64_t from)
{
	struct as_data_run run = { off, len, pattern, pattern ? from : 0 };
	uint32_t i;

	if (len == 0)
		return;
	inode->reg.runs = runs_unshare(inode->reg.runs, 2);
	i = clear(inode->reg.runs, off, len);
	insert_at(inode->reg.runs, i, run);
	merge(inode->reg.runs, i);
	if (off + len > inode->reg.size)
		inode->reg.size = off + len;
}

static void drop_if_empty(struct as_inode *inode)
{
	if (inode->reg.runs && inode->reg.runs->n == 0) {
		as_runs_put(inode->reg.runs);
		inode->reg.runs = NULL;
	}
}

void as_content_punch(struct as_inode *inode, uint64_t off, uint64_t len)
{
	if (len == 0 || !inode->reg.runs)
		return;
	inode->reg.runs = runs_unshare(inode->reg.runs, 1);
	clear(inode->reg.runs, off, len);
	drop_if_empty(inode);
}

void as_content_truncate(struct as_inode *inode, uint64_t size)
{
	if (size < inode->reg.size)
		as_content_punch(inode, size, inode->reg.size - size);
	inode->reg.size = size;
}

void as_content_collapse(struct as_inode *inode, uint64_t off, uint64_t len)
{
	as_content_punch(inode, off, len);
	inode->reg.size -= len;
	if (!inode->reg.runs)
		return;
	inode->reg.runs = runs_unshare(inode->reg.runs, 0);
	for (uint32_t i = find(inode->reg.runs, off); i < inode->reg.runs->n; i++)
		inode->reg.runs->run[i].start -= len;
	merge(inode->reg.runs, find(inode->reg.runs, off));
}

void as_content_insert(struct as_inode *inode, uint64_t off, uint64_t len)
{
	struct as_runs *runs;
	uint32_t i;

	inode->reg.size += len;
	if (!inode->reg.runs)
		return;
	runs = inode->reg.runs = runs_unshare(inode->reg.runs, 1);
	i = find(runs, off);
	if (i < runs->n && runs->run[i].start < off) {
		struct as_data_run tail = runs->run[i];

		cut_front(&tail, off - tail.start);
		runs->run[i].len = off - runs->run[i].start;
		insert_at(runs, ++i, tail);
	}
	for (; i < runs->n; i++)
		runs->run[i].start += len;
}

size_t as_content_check(const struct as_inode *inode, uint64_t off, const void *buf, size_t len,
			uint8_t *want)
{
	const struct as_runs *runs = inode->reg.runs;
	uint32_t i = find(runs, off);
	size_t at = 0;

	while (at < len) {
		uint64_t pos = off + at, n = len - at, pattern = 0, from = 0;
		size_t good;

		if (runs && i < runs->n) {
			const struct as_data_run *run = &runs->run[i];

			if (run->start > pos) {
				n = run->start - pos < n ? run->start - pos : n;
			} else {
				uint64_t left = run->start + run->len - pos;

				n = left < n ? left : n;
				pattern = run->pattern;
				from = run->from + (pos - run->start);
				i += left == n;
			}
		}
		good = as_pattern_check(pattern, from, (const char *)buf + at, n);
		at += good;
		if (good < n) {
			as_pattern_fill(pattern, from + good, want, 1);
			return at;
		}
	}
	return len;
}

uint64_t as_content_next_data(const struct as_inode *inode, uint64_t off)
{
	const struct as_runs *runs = inode->reg.runs;

	for (uint32_t i = find(runs, off); runs && i < runs->n; i++)
		if (runs->run[i].pattern)
			return runs->run[i].start > off ? runs->run[i].start : off;
	return UINT64_MAX;
}

bool as_content_is_data(const struct as_inode *inode, uint64_t off)
{
	return as_content_next_data(inode, off) == off;
}

void as_content_copy(const struct as_inode *from, uint64_t off, struct as_inode *to,
		     uint64_t to_off, uint64_t len)
{
	struct as_runs *runs = from->reg.runs;
	uint64_t end = off + len;

	/* Held, since `to` may be the same inode and would otherwise change it under us. */
	if (runs)
		runs->ref++;
	as_content_write(to, to_off, len, 0, 0);
	for (uint32_t i = find(runs, off); runs && i < runs->n && runs->run[i].start < end; i++) {
		struct as_data_run run = runs->run[i];

		if (run.start < off)
			cut_front(&run, off - run.start);
		if (run.start + run.len > end)
			run.len = end - run.start;
		as_content_write(to, run.start - off + to_off, run.len, run.pattern, run.from);
	}
	as_runs_put(runs);
}

/* How far it is from `off` to the next byte that is data and not a hole. UINT64_MAX: there is
 * none. */
static uint64_t to_data(const struct as_inode *inode, uint64_t off)
{
	uint64_t next = as_content_next_data(inode, off);

	return next == UINT64_MAX ? UINT64_MAX : next - off;
}

/* The pattern at `off`, and how far it goes at least. */
static struct as_data_run run_at(const struct as_inode *inode, uint64_t off)
{
	const struct as_runs *runs = inode->reg.runs;
	uint32_t i = find(runs, off);
	struct as_data_run run = { .start = off, .len = UINT64_MAX };

	if (!runs || i == runs->n)
		return run;
	if (runs->run[i].start > off) {
		run.len = runs->run[i].start - off;
		return run;
	}
	run = runs->run[i];
	if (run.start < off)
		cut_front(&run, off - run.start);
	return run;
}

bool as_content_same(const struct as_inode *a, uint64_t a_off, const struct as_inode *b,
		     uint64_t b_off, uint64_t len)
{
	uint8_t bytes[4096], want;

	while (len) {
		uint64_t zeros = to_data(a, a_off), other = to_data(b, b_off), n;
		struct as_data_run run = run_at(a, a_off);

		/* Holes of both at once: they may be large. */
		n = zeros < other ? zeros : other;
		if (!n) {
			n = run.len < sizeof(bytes) ? run.len : sizeof(bytes);
			n = n < len ? n : len;
			as_pattern_fill(run.pattern, run.from, bytes, n);
			if (as_content_check(b, b_off, bytes, n, &want) < n)
				return false;
		}
		n = n < len ? n : len;
		a_off += n;
		b_off += n;
		len -= n;
	}
	return true;
}
