/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dump: a disk that went through a dump is the same, whatever it held before; a dump that makes no
 * sense is refused, and nothing outside of the disk and the dump is touched. */
#include "disk/dump.h"

#include "base/prng.h"
#include "disk/chunk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define DISK_BYTES ((uint64_t)8 << 20)
#define ROOM_BYTES ((size_t)9 << 20)

static unsigned char image[DISK_BYTES];

/* Writes a piece to the file and to `image`. */
static void put(int fd, uint64_t at, uint64_t len, unsigned char value)
{
	memset(image + at, value, len);
	assert_int_equal(pwrite(fd, image + at, len, (off_t)at), len);
}

static void assert_is_image(struct as_disk *disk, uint64_t size)
{
	unsigned char *bytes = malloc(size);

	assert_int_equal(as_bd_read(as_disk_bd(disk), 0, bytes, size), 0);
	assert_memory_equal(bytes, image, size);
	free(bytes);
}

static int new_file(uint64_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);

	memset(image, 0, sizeof(image));
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

/* Random pieces; the disk that is loaded holds those of the round before. */
static void test_round_trip(void **state)
{
	struct as_prng prng = as_prng_seed(7);
	struct as_chunks *store = as_chunks_new();
	unsigned char *area = malloc(ROOM_BYTES);
	struct as_disk *disk;
	size_t len;

	(void)state;
	assert_int_equal(as_disk_new(store, DISK_BYTES, &disk, NULL), 0);
	for (int round = 0; round < 60; round++) {
		int fd = new_file(DISK_BYTES);

		for (uint64_t i = as_prng_below(&prng, 40); i; i--) {
			uint64_t at = as_prng_below(&prng, DISK_BYTES);
			uint64_t most = as_prng_below(&prng, 2) ? 9000 : 300000;
			uint64_t n = 1 + as_prng_below(&prng, most);

			put(fd, at, n < DISK_BYTES - at ? n : DISK_BYTES - at,
			    (unsigned char)as_prng_below(&prng, 3));
		}
		assert_int_equal(as_dump_file(fd, area, ROOM_BYTES, &len, NULL), 0);
		assert_int_equal(as_dump_load(area, len, disk, NULL), 0);
		assert_is_image(disk, DISK_BYTES);
		close(fd);
	}
	as_disk_free(disk);
	as_chunks_free(store);
	free(area);
}

/* A disk that ends within a chunk, and one with nothing on it. */
static void test_edges(void **state)
{
	const uint64_t size = 3 * AS_CHUNK_BYTES + 512;
	struct as_chunks *store = as_chunks_new();
	unsigned char *area = malloc(ROOM_BYTES);
	struct as_disk *disk;
	int fd = new_file(size);
	size_t len;

	(void)state;
	assert_int_equal(as_disk_new(store, size, &disk, NULL), 0);
	put(fd, size - 700, 700, 9);
	assert_int_equal(as_dump_file(fd, area, ROOM_BYTES, &len, NULL), 0);
	assert_int_equal(as_dump_load(area, len, disk, NULL), 0);
	assert_is_image(disk, size);
	/* One byte less than it needs. */
	assert_int_equal(as_dump_file(fd, area, len - 1, &len, NULL), AS_ELACK);
	close(fd);
	fd = new_file(size);
	assert_int_equal(as_dump_file(fd, area, ROOM_BYTES, &len, NULL), 0);
	assert_int_equal(len, 0);
	assert_int_equal(as_dump_load(area, len, disk, NULL), 0);
	assert_is_image(disk, size);
	close(fd);
	as_disk_free(disk);
	as_chunks_free(store);
	free(area);
}

static void test_nonsense(void **state)
{
	const uint64_t c = AS_CHUNK_BYTES;
	const struct {
		const char *name;
		struct as_dump_extent first, second; /* second is after the bytes of the first */
		size_t len;
	} rows[] = {
		{ "half a head", { 0, c }, { 0, 0 }, 8 },
		{ "no bytes", { 0, c }, { 0, 0 }, 16 },
		{ "too few bytes", { 0, 2 * c }, { 0, 0 }, 16 + c },
		{ "empty", { 0, 0 }, { 0, 0 }, 16 },
		{ "not aligned", { 512, c }, { 0, 0 }, 16 + c },
		{ "a part of a chunk", { 0, 512 }, { 0, 0 }, 16 + 512 },
		{ "after the end", { DISK_BYTES, c }, { 0, 0 }, 16 + c },
		{ "across the end", { DISK_BYTES - c, 2 * c }, { 0, 0 }, 16 + 2 * c },
		{ "far away", { (uint64_t)-c, c }, { 0, 0 }, 16 + c },
		{ "too long", { 0, (uint64_t)-8 }, { 0, 0 }, 16 + c },
		{ "backwards", { 4 * c, c }, { c, c }, 2 * (16 + c) },
		{ "twice", { c, c }, { c, c }, 2 * (16 + c) },
		{ "half a second head", { c, c }, { 4 * c, c }, 16 + c + 8 },
	};
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk;

	(void)state;
	assert_int_equal(as_disk_new(store, DISK_BYTES, &disk, NULL), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned char *area = calloc(1, rows[i].len);
		struct as_err err = { 0 };

		memcpy(area, &rows[i].first, rows[i].len < 16 ? rows[i].len : 16);
		if (rows[i].len > 16 + c)
			memcpy(area + 16 + c, &rows[i].second,
			       rows[i].len - 16 - c < 16 ? rows[i].len - 16 - c : 16);
		if (as_dump_load(area, rows[i].len, disk, &err) != AS_EUSE)
			fail_msg("%s: not refused", rows[i].name);
		free(area);
	}
	as_disk_free(disk);
	as_chunks_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
