/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copy-on-write disks against flat arrays. The random test keeps a handful of disks and an array
 * for each, writes, zeroes, discards, reads, snapshots, restores and frees them, and compares
 * bytes, digests and differences as it goes. Digests are compared with those of a new disk that was
 * written from the array, which has no history.
 */
#include "tests/lib/disk.h"

#include "disk/call.h"

#define N_DISKS 6u

struct world {
	struct as_chunks *store;
	struct as_chooser *chooser;
	struct as_choice *choice;
	uint64_t size;
	struct as_disk *disks[N_DISKS];
	unsigned char *flats[N_DISKS];
};

static unsigned pick_used(struct world *w)
{
	unsigned i = as_choose(w->choice, N_DISKS);

	while (!w->disks[i])
		i = (i + 1) % N_DISKS;
	return i;
}

/* A range of whole sectors, mostly short, sometimes over most of the disk. */
static void pick_range(struct world *w, uint64_t *off, uint64_t *len)
{
	unsigned n = (unsigned)(w->size / 512);
	unsigned first = as_choose(w->choice, n + 1), longest = n - first;

	if (as_choose(w->choice, 8) && longest > 24)
		longest = 24;
	*off = first * UINT64_C(512);
	*len = as_choose(w->choice, longest + 1) * UINT64_C(512);
	if (!as_choose(w->choice, 3)) { /* whole chunks are a case of their own */
		*off = *off / AS_CHUNK_BYTES * AS_CHUNK_BYTES;
		*len = *len / AS_CHUNK_BYTES * AS_CHUNK_BYTES;
	}
}

static void step_write(struct world *w)
{
	unsigned i = pick_used(w), how = as_choose(w->choice, 8);
	struct as_bd *bd = as_disk_bd(w->disks[i]);
	unsigned char *flat = w->flats[i];
	uint64_t off, len;

	pick_range(w, &off, &len);
	if (how == 0) {
		memset(flat + off, 0, len);
		assert_int_equal(as_bd_zero(bd, off, len), 0);
	} else if (how == 1) {
		memset(flat + off, 0, len);
		assert_int_equal(as_bd_discard(bd, off, len), 0);
	} else {
		/* Few seeds, so that equal chunks come up; zeros written by hand too. */
		if (how == 2)
			memset(flat + off, 0, len);
		else
			t_fill(flat + off, len, as_choose(w->choice, 3));
		assert_int_equal(as_bd_write(bd, off, flat + off, len), 0);
	}
}

static void step_read(struct world *w)
{
	unsigned i = pick_used(w);
	unsigned char *buf = as_xmalloc(w->size);
	uint64_t off, len;

	pick_range(w, &off, &len);
	assert_int_equal(as_bd_read(as_disk_bd(w->disks[i]), off, buf, len), 0);
	assert_memory_equal(buf, w->flats[i] + off, len);
	free(buf);
}

static void step_snapshot(struct world *w)
{
	unsigned from = pick_used(w), to = as_choose(w->choice, N_DISKS);

	if (from == to)
		return;
	if (w->disks[to] && as_choose(w->choice, 2)) {
		as_disk_restore(w->disks[to], w->disks[from]);
	} else {
		as_disk_free(w->disks[to]);
		w->disks[to] = as_disk_snapshot(w->disks[from]);
	}
	memcpy(w->flats[to], w->flats[from], w->size);
}

static void check_digest(struct world *w, unsigned i)
{
	struct as_disk *fresh = t_disk_new(w->store, w->size);

	assert_int_equal(as_bd_write(as_disk_bd(fresh), 0, w->flats[i], w->size), 0);
	assert_true(as_digest_eq(as_disk_digest(fresh), as_disk_digest(w->disks[i])));
	assert_true(as_disk_eq(fresh, w->disks[i]));
	as_disk_free(fresh);
}

struct seen {
	const unsigned char *a, *b;
	uint64_t size, next;
};

static void assert_same_until(struct seen *seen, uint64_t index)
{
	uint64_t from = seen->next * AS_CHUNK_BYTES, to = index * AS_CHUNK_BYTES;

	to = to < seen->size ? to : seen->size;
	if (from < to)
		assert_memory_equal(seen->a + from, seen->b + from, to - from);
}

static int see_diff(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	struct seen *seen = ctx;
	uint64_t off = index * AS_CHUNK_BYTES;
	size_t len = seen->size - off < AS_CHUNK_BYTES ? seen->size - off : AS_CHUNK_BYTES;

	assert_true(index >= seen->next && off < seen->size);
	assert_same_until(seen, index);
	assert_memory_equal(a, seen->a + off, len);
	assert_memory_equal(b, seen->b + off, len);
	assert_memory_not_equal(a, b, AS_CHUNK_BYTES);
	seen->next = index + 1;
	return 0;
}

static void check_diff(struct world *w)
{
	unsigned i = pick_used(w), k = pick_used(w);
	struct seen seen = { w->flats[i], w->flats[k], w->size, 0 };

	assert_int_equal(as_disk_diff(w->disks[i], w->disks[k], see_diff, &seen), 0);
	assert_same_until(&seen, UINT64_MAX / AS_CHUNK_BYTES);
	assert_int_equal(as_disk_eq(w->disks[i], w->disks[k]),
			 !memcmp(w->flats[i], w->flats[k], w->size));
}

static void step(struct world *w)
{
	unsigned what = as_choose(w->choice, 64), i;

	if (what < 40) {
		step_write(w);
	} else if (what < 48) {
		step_read(w);
	} else if (what < 54) {
		step_snapshot(w);
	} else if (what < 57) {
		check_digest(w, pick_used(w));
	} else if (what < 60) {
		check_diff(w);
	} else if (what < 61) {
		i = pick_used(w);
		t_assert_holds(as_disk_bd(w->disks[i]), w->flats[i]);
	} else if (what < 62) {
		i = as_choose(w->choice, N_DISKS);
		if (i != 0) { /* disk 0 stays */
			as_disk_free(w->disks[i]);
			w->disks[i] = NULL;
		}
	}
}

static void random_run(uint64_t seed, uint64_t size, unsigned steps)
{
	struct world w = { .store = as_chunks_new(), .size = size };

	w.chooser = as_chooser_seeded(seed);
	w.choice = as_chooser_choice(w.chooser);
	for (unsigned i = 0; i < N_DISKS; i++)
		w.flats[i] = as_xcalloc(1, size);
	w.disks[0] = t_disk_new(w.store, size);
	for (unsigned n = 0; n < steps; n++)
		step(&w);
	for (unsigned i = 0; i < N_DISKS; i++) {
		if (w.disks[i])
			t_assert_holds(as_disk_bd(w.disks[i]), w.flats[i]);
		as_disk_free(w.disks[i]);
		free(w.flats[i]);
	}
	as_chooser_free(w.chooser);
	t_store_done(w.store);
}

static void test_random_against_flat(void **state)
{
	/* One leaf, a partial last chunk, two levels, three levels with a ragged end. */
	static const struct {
		uint64_t size;
		unsigned seeds, steps;
	} rows[] = {
		{ 512, 4, 400 },	{ 3 * 4096, 20, 600 },	 { 5 * 4096 + 512, 20, 600 },
		{ 40 * 4096, 20, 600 }, { 1024 * 4096, 2, 300 }, { 1060 * 4096 + 1536, 3, 300 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++)
		for (unsigned seed = 0; seed < rows[i].seeds; seed++)
			random_run(1000 * i + seed, rows[i].size, rows[i].steps);
}

static void test_sizes(void **state)
{
	static const struct {
		uint64_t size;
		int want;
	} rows[] = {
		{ 0, AS_EUSE },
		{ 511, AS_EUSE },
		{ 512, 0 },
		{ 513, AS_EUSE },
		{ 4096, 0 },
		{ AS_DISK_MAX_BYTES, 0 },
		{ UINT64_MAX, AS_EUSE },
		{ AS_DISK_MAX_BYTES + 512, AS_EUSE },
	};
	struct as_chunks *store = as_chunks_new();

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct as_err err = { 0 };
		struct as_disk *disk;

		assert_int_equal(as_disk_new(store, rows[i].size, &disk, &err), rows[i].want);
		assert_int_equal(!disk, !!rows[i].want);
		if (rows[i].want)
			assert_non_null(strstr(err.msg, "expected a multiple of 512"));
		as_disk_free(disk);
	}
	t_store_done(store);
}

/* The ends of the largest disk can be used like any other place, and cost no more. */
static void test_largest_disk(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = t_disk_new(store, AS_DISK_MAX_BYTES), *empty;
	unsigned char want[1024], got[1024];

	(void)state;
	empty = as_disk_snapshot(disk);
	t_fill(want, sizeof(want), 9);
	assert_int_equal(as_bd_write(as_disk_bd(disk), AS_DISK_MAX_BYTES - 1024, want, 1024), 0);
	assert_int_equal(as_bd_write(as_disk_bd(disk), 0, want, 1024), 0);
	assert_int_equal(as_bd_read(as_disk_bd(disk), AS_DISK_MAX_BYTES - 1024, got, 1024), 0);
	assert_memory_equal(got, want, 1024);
	assert_true(as_chunks_stats(store).memory_bytes < 20000);
	assert_false(as_disk_eq(disk, empty));
	assert_int_equal(as_bd_zero(as_disk_bd(disk), 0, AS_DISK_MAX_BYTES), 0);
	assert_true(as_disk_eq(disk, empty));
	assert_int_equal(as_chunks_stats(store).sealed, 0);
	as_disk_free(disk);
	as_disk_free(empty);
	t_store_done(store);
}

static void test_digest_is_of_bytes_size_and_place(void **state)
{
	struct as_chunks *store = as_chunks_new(), *other = as_chunks_new();
	struct as_disk *a = t_disk_new(store, 8 * 4096), *b = t_disk_new(other, 8 * 4096);
	struct as_disk *shorter = t_disk_new(store, 7 * 4096);

	(void)state;
	assert_true(as_disk_eq(a, b));
	assert_false(as_disk_eq(a, shorter));
	assert_true(as_digest_eq(as_disk_digest(a), as_digest_bind(AS_DIGEST_ZERO, 8 * 4096)));
	t_write_fill(as_disk_bd(a), 4096, 4096, 1);
	assert_false(as_disk_eq(a, b));
	t_write_fill(as_disk_bd(b), 8192, 4096, 1);
	assert_false(as_disk_eq(a, b)); /* the same chunk elsewhere */
	t_write_fill(as_disk_bd(b), 4096, 4096, 1);
	t_write_fill(as_disk_bd(a), 8192, 4096, 1);
	assert_true(as_disk_eq(a, b));
	assert_int_equal(as_disk_diff(a, b, see_diff, NULL), 0); /* across stores, too */
	as_disk_free(a);
	as_disk_free(b);
	as_disk_free(shorter);
	t_store_done(store);
	t_store_done(other);
}

static int stop_at_second(void *ctx, uint64_t index, const unsigned char *data)
{
	(void)data;
	return ++*(int *)ctx == 2 ? (int)index : 0;
}

static void test_walk_stops_when_told(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = t_disk_new(store, 64 * 4096);
	int calls = 0;

	(void)state;
	t_write_fill(as_disk_bd(disk), 3 * 4096, 4096, 1);
	t_write_fill(as_disk_bd(disk), 40 * 4096, 4096, 2);
	t_write_fill(as_disk_bd(disk), 50 * 4096, 4096, 3);
	assert_int_equal(as_disk_each(disk, stop_at_second, &calls), 40);
	assert_int_equal(calls, 2);
	as_disk_free(disk);
	t_store_done(store);
}

/* 8 of 10,240 chunks changed between snapshots: what one more snapshot keeps. */
static void test_snapshot_is_small(void **state)
{
	enum { N = 100, CHUNKS = 10240 };
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = t_disk_new(store, CHUNKS * UINT64_C(4096)), *kept[N];
	struct as_chooser *chooser = as_chooser_seeded(5);
	uint64_t before;

	(void)state;
	for (unsigned i = 0; i < CHUNKS; i++)
		t_write_fill(as_disk_bd(disk), i * UINT64_C(4096), 512, i);
	as_disk_digest(disk);
	before = as_chunks_stats(store).memory_bytes;
	for (unsigned n = 0; n < N; n++) {
		kept[n] = as_disk_snapshot(disk);
		for (unsigned k = 0; k < 8; k++)
			t_write_fill(as_disk_bd(disk),
				     as_choose(as_chooser_choice(chooser), CHUNKS) * UINT64_C(4096),
				     512, CHUNKS + 8 * n + k);
	}
	assert_true((as_chunks_stats(store).memory_bytes - before) / N <= 64 * 1024);
	for (unsigned n = 0; n < N; n++)
		as_disk_free(kept[n]);
	as_disk_free(disk);
	as_chooser_free(chooser);
	t_store_done(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_largest_disk),
		cmocka_unit_test(test_digest_is_of_bytes_size_and_place),
		cmocka_unit_test(test_walk_stops_when_told),
		cmocka_unit_test(test_snapshot_is_small),
		cmocka_unit_test(test_random_against_flat),
	};

	return cmocka_run_group_tests_name("disk/cow", tests, NULL, NULL);
}
