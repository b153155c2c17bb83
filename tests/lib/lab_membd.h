/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_membd: a disk in memory for the tests of labfs, which fails the n-th read, write or flush on
 * demand and, when asked, keeps a log of writes and flushes from which crash images are made; and a
 * host that fails the n-th allocation and counts what was not given back.
 */
#ifndef AS_TESTS_LIB_LAB_MEMBD_H
#define AS_TESTS_LIB_LAB_MEMBD_H

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

int t_mem_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len);

extern const struct as_bd_ops t_mem_ops;

void t_mem_open(struct membd *m, uint64_t size);

void t_mem_forget_log(struct membd *m);

void t_mem_close(struct membd *m);

void t_mem_record(struct membd *m);

void t_mem_apply(uint8_t *disk, const struct mem_write *w);

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

/* Frees what was left behind: a leak is the test's to see, not the sanitizer's. */
void t_memhost_clear(struct memhost *h);

void t_memhost_init(struct memhost *h);

#endif
