/* SPDX-License-Identifier: GPL-2.0-or-later */
/* disk_test: what the tests of this room share: disks without error handling, patterns of bytes,
 * and a store that must be empty in the end. */
#ifndef AS_TESTS_DISK_TEST_H
#define AS_TESTS_DISK_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include "base/choice.h"
#include "base/err.h"
#include "disk/cow.h"

#include <stdlib.h>
#include <string.h>

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

static inline struct as_disk *disk_new(struct as_chunks *store, uint64_t size_bytes)
{
	struct as_err err = { 0 };
	struct as_disk *disk;

	if (as_disk_new(store, size_bytes, &disk, &err))
		fail_msg("%s", err.msg);
	return disk;
}

/* Bytes that depend on the seed and the place, none of them zero. */
static inline void fill(unsigned char *buf, size_t len, unsigned seed)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)(1 + as_mix64(x + i / 7) % 255);
}

static inline void write_fill(struct as_bd *bd, uint64_t off, size_t len, unsigned seed)
{
	unsigned char *buf = as_xmalloc(len);

	fill(buf, len, seed);
	assert_int_equal(as_bd_write(bd, off, buf, len), 0);
	free(buf);
}

/* The whole device holds exactly these bytes. */
static inline void assert_holds(struct as_bd *bd, const unsigned char *want)
{
	unsigned char *got = as_xmalloc(bd->size_bytes);

	assert_int_equal(as_bd_read(bd, 0, got, bd->size_bytes), 0);
	assert_memory_equal(got, want, bd->size_bytes);
	free(got);
}

/* Nothing is left in the store, and it is freed. */
static inline void store_done(struct as_chunks *store)
{
	struct as_chunks_stats stats = as_chunks_stats(store);

	assert_int_equal(stats.sealed, 0);
	assert_int_equal(stats.private, 0);
	assert_int_equal(stats.data_bytes, 0);
	as_chunks_free(store);
}

#endif
