/* SPDX-License-Identifier: GPL-2.0-or-later */
/* disk: see disk.h. */
#include "tests/lib/disk.h"

struct as_disk *t_disk_new(struct as_chunks *store, uint64_t size_bytes)
{
	struct as_err err = { 0 };
	struct as_disk *disk;

	if (as_disk_new(store, size_bytes, &disk, &err))
		fail_msg("%s", err.msg);
	return disk;
}

void t_fill(unsigned char *buf, size_t len, unsigned seed)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)(1 + as_mix64(x + i / 7) % 255);
}

void t_write_fill(struct as_bd *bd, uint64_t off, size_t len, unsigned seed)
{
	unsigned char *buf = as_xmalloc(len);

	t_fill(buf, len, seed);
	assert_int_equal(as_bd_write(bd, off, buf, len), 0);
	free(buf);
}

void t_assert_holds(struct as_bd *bd, const unsigned char *want)
{
	unsigned char *got = as_xmalloc(bd->size_bytes);

	assert_int_equal(as_bd_read(bd, 0, got, bd->size_bytes), 0);
	assert_memory_equal(got, want, bd->size_bytes);
	free(got);
}

void t_store_done(struct as_chunks *store)
{
	struct as_chunks_stats stats = as_chunks_stats(store);

	assert_int_equal(stats.sealed, 0);
	assert_int_equal(stats.private, 0);
	assert_int_equal(stats.data_bytes, 0);
	as_chunks_free(store);
}
