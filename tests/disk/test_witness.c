/* SPDX-License-Identifier: GPL-2.0-or-later */
/* witness: repeating what it wrote gives the same disk; a record that is cut or overwritten is
 * refused. */
#include "tests/lib/skip.h"

#include "base/prng.h"
#include "disk/chunk.h"
#include "disk/cow.h"
#include "disk/witness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DISK_BYTES (256u << 10)
#define SECTOR 512u

struct bench {
	struct as_chunks *store;
	struct as_disk *disk, *fresh;
	struct as_witness_area *area;
	size_t room;
	struct as_witness *witness;
};

static void open_bench(struct bench *b, size_t room)
{
	char block[SECTOR];

	b->store = as_chunks_new();
	assert_int_equal(as_disk_new(b->store, DISK_BYTES, &b->disk, NULL), 0);
	memset(block, 'f', sizeof(block));
	assert_int_equal(as_bd_write(as_disk_bd(b->disk), 4096, block, SECTOR), 0);
	b->fresh = as_disk_snapshot(b->disk);
	b->room = room;
	b->area = calloc(1, room);
	b->witness = as_witness_new(as_disk_bd(b->disk), b->area, room);
}

static void close_bench(struct bench *b)
{
	as_witness_free(b->witness);
	as_disk_free(b->disk);
	as_disk_free(b->fresh);
	as_chunks_free(b->store);
	free(b->area);
}

static void assert_same(struct as_disk *a, struct as_disk *b)
{
	char *left = malloc(DISK_BYTES), *right = malloc(DISK_BYTES);

	assert_int_equal(as_bd_read(as_disk_bd(a), 0, left, DISK_BYTES), 0);
	assert_int_equal(as_bd_read(as_disk_bd(b), 0, right, DISK_BYTES), 0);
	assert_memory_equal(left, right, DISK_BYTES);
	free(left);
	free(right);
}

static void change(struct as_bd *bd, struct as_prng *prng)
{
	char block[8 * SECTOR];
	uint64_t len = (1 + as_prng_below(prng, 8)) * SECTOR;
	uint64_t off = as_prng_below(prng, (DISK_BYTES - len) / SECTOR) * SECTOR;

	memset(block, (int)as_prng_below(prng, 256), sizeof(block));
	switch (as_prng_below(prng, 5)) {
	case 0:
		assert_int_equal(as_bd_zero(bd, off, len), 0);
		break;
	case 1:
		assert_int_equal(as_bd_discard(bd, off, len), 0);
		break;
	case 2:
		assert_int_equal(as_bd_flush(bd), 0);
		break;
	default:
		assert_int_equal(as_bd_write(bd, off, block, len), 0);
	}
}

static void test_same(void **state)
{
	struct as_prng prng = as_prng_seed(1);
	struct bench b;

	(void)state;
	open_bench(&b, 4 << 20);
	for (int i = 0; i < 500; i++) {
		struct as_disk *again = as_disk_snapshot(b.fresh);

		change(as_witness_bd(b.witness), &prng);
		if (i % 50 == 0) {
			assert_true(as_witness_apply(b.area, b.room, as_disk_bd(again)));
			assert_same(b.disk, again);
		}
		as_disk_free(again);
	}
	close_bench(&b);
}

/* Goes back to an earlier state, and goes on from there. */
static void test_back(void **state)
{
	struct as_prng prng = as_prng_seed(2);
	struct as_disk *mark, *again;
	struct bench b;
	uint64_t len;

	(void)state;
	open_bench(&b, 4 << 20);
	for (int i = 0; i < 40; i++)
		change(as_witness_bd(b.witness), &prng);
	mark = as_disk_snapshot(b.disk);
	len = as_witness_len(b.witness);
	for (int i = 0; i < 40; i++)
		change(as_witness_bd(b.witness), &prng);
	as_disk_restore(b.disk, mark);
	as_witness_truncate(b.witness, len);
	for (int i = 0; i < 40; i++)
		change(as_witness_bd(b.witness), &prng);
	again = as_disk_snapshot(b.fresh);
	assert_true(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	assert_same(b.disk, again);
	as_disk_free(again);
	as_disk_free(mark);
	close_bench(&b);
}

static void test_refused(void **state)
{
	char block[SECTOR] = { 1 };
	struct as_disk *again;
	struct bench b;
	uint64_t len;

	(void)state;
	open_bench(&b, 64 + 3 * SECTOR);
	/* A call that the disk refuses is not recorded. */
	assert_int_equal(as_bd_write(as_witness_bd(b.witness), DISK_BYTES, block, SECTOR), -EINVAL);
	assert_int_equal(as_witness_len(b.witness), 0);
	assert_int_equal(as_bd_write(as_witness_bd(b.witness), 0, block, SECTOR), 0);
	again = as_disk_snapshot(b.fresh);
	assert_true(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	len = as_witness_len(b.witness);
	b.area->len = len - 8; /* cut in its bytes */
	assert_false(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	b.area->len = 8; /* in its head */
	assert_false(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	b.area->len = UINT64_MAX; /* beyond the room */
	assert_false(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	b.area->len = len;
	b.area->data[16] = 77; /* a call that does not exist */
	assert_false(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	b.area->data[16] = 1;
	assert_true(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	b.area->data[7] = 0xff; /* far after the end */
	assert_false(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	b.area->data[7] = 0;
	/* More than fits: it says so and does not write past the end. */
	for (int i = 0; i < 5; i++)
		assert_int_equal(as_bd_write(as_witness_bd(b.witness), 0, block, SECTOR), 0);
	assert_int_equal(b.area->full, 1);
	assert_false(as_witness_apply(b.area, b.room, as_disk_bd(again)));
	as_disk_free(again);
	close_bench(&b);
}

/* The pages that the next writes go to are in memory, and no page after the room was touched. The
 * record stays as it is. */
static void test_expect(void **state)
{
	struct as_prng prng = as_prng_seed(3);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = 3 << 20, at;
	unsigned char here[2];
	struct bench b;
	char *map;

	(void)state;
	open_bench(&b, 4096);
	map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + room, page, PROT_NONE), 0);
	free(b.area);
	b.area = (struct as_witness_area *)(void *)map;
	b.room = room;
	as_witness_free(b.witness);
	b.witness = as_witness_new(as_disk_bd(b.disk), b.area, room);
	while (!b.area->full) {
		struct as_disk *again = as_disk_snapshot(b.fresh);

		as_witness_expect(b.witness);
		at = (sizeof(*b.area) + as_witness_len(b.witness)) / page * page;
		assert_int_equal(mincore(map + at, at + page < room ? 2 * page : page, here), 0);
		assert_true(here[0] & 1 && (at + page >= room || here[1] & 1));
		assert_true(as_witness_apply(b.area, room, as_disk_bd(again)));
		assert_same(b.disk, again);
		as_disk_free(again);
		for (int i = 0; i < 100; i++)
			change(as_witness_bd(b.witness), &prng);
	}
	as_witness_expect(b.witness);
	munmap(map, room + page);
	b.area = NULL;
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_expect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
