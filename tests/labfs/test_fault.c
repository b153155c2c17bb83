/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fault: "fail call 1, then 2, then 3, until none fails any more", for allocations, reads,
 * writes and flushes, over one mixed workload. A call that fails must leave the tree as it was,
 * nothing may leak, and the disk must be sound afterwards.
 */
#include "tests/lib/lab_workload.h"

#include <linux/falloc.h>

#define STEPS 140

enum kind { ALLOC, READ, WRITE, FLUSH };

static uint64_t *counter(struct rig *r, enum kind kind)
{
	switch (kind) {
	case ALLOC:
		return &r->host.fail_alloc;
	case READ:
		return &r->disk.fail_read;
	case WRITE:
		return &r->disk.fail_write;
	case FLUSH:
		return &r->disk.fail_flush;
	}
	return NULL;
}

static uint64_t fired(const struct rig *r)
{
	return r->host.fired + r->disk.fired;
}

static void prepare(struct rig *r)
{
	t_rig_open(r, 256 * 1024, "");
	assert_int_equal(FS->mkdir(r->fs, "/d0", 0755), 0);
	assert_int_equal(FS->mkdir(r->fs, "/d1", 0755), 0);
	assert_int_equal(t_put_at(r, "/d0/f0", O_CREAT, 'a', 20000, 0), 20000);
	assert_int_equal(FS->setxattr(r->fs, "/d0/f0", "user.tag", "a", 1, 0), 0);
	assert_int_equal(t_rig_unmount(r), 0);
}

/* The twin never meets a fault. When a step of the other one fails, the twin has not done that step
 * yet, and so shows the tree as it must still be. */
static void compare(struct rig *r, struct rig *twin, enum kind kind, uint64_t n, int rc)
{
	char *got = t_picture(r), *want = t_picture(twin);

	if (strcmp(got, want))
		fail_msg("kind %d, n %lu: answer %d, yet\n%s\nwas\n%s", kind, n, rc, got, want);
	free(got);
	free(want);
}

static void again(struct rig *r, struct load *w)
{
	uint64_t clock = r->host.clock;

	t_load_end(w);
	(void)t_rig_unmount(r);
	assert_int_equal(t_rig_mount(r, false), 0);
	r->host.clock = clock;
}

/* Steps until the fault has fired; every fifth starts with a cold cache, where that
 * matters. */
static void steps(struct rig *r, struct rig *twin, enum kind kind, uint64_t n, uint64_t seed)
{
	struct load w = { .r = r, .rng = seed }, tw = { .r = twin, .rng = seed };

	for (int i = 0; i < STEPS && !fired(r); i++) {
		if (i % 5 == 4 && (kind == READ || kind == ALLOC)) {
			uint64_t armed = *counter(r, kind);

			*counter(r, kind) = 0;
			again(r, &w);
			again(twin, &tw);
			*counter(r, kind) = armed;
		}
		t_load_step(&w);
		if (fired(r) && w.rc < 0) {
			compare(r, twin, kind, n, w.rc);
			break;
		}
		t_load_step(&tw);
	}
	t_load_end(&w);
	t_load_end(&tw);
}

/* False when the fault never fired: the sweep is complete. */
static bool one_run(enum kind kind, uint64_t n, uint64_t seed)
{
	struct rig r, twin;
	bool hit;
	int rc;

	prepare(&r);
	prepare(&twin);
	*counter(&r, kind) = n;
	rc = t_rig_mount(&r, false);
	assert_int_equal(t_rig_mount(&twin, false), 0);
	if (!rc) {
		steps(&r, &twin, kind, n, seed);
		rc = t_rig_unmount(&r);
	}
	if (rc)
		assert_int_not_equal(fired(&r), 0);
	assert_int_equal(r.host.live, 0);
	hit = fired(&r);
	*counter(&r, kind) = 0;
	/* Whatever happened, the disk can be mounted and is sound. */
	assert_int_equal(t_rig_mount(&r, false), 0);
	assert_int_equal(t_rig_unmount(&r), 0);
	rc = t_rig_fsck(&r);
	if (rc)
		fail_msg("kind %d, n %lu: the checker says %d", kind, n, rc);
	t_rig_close(&r);
	t_rig_close(&twin);
	return hit;
}

static void sweep(enum kind kind, uint64_t seed)
{
	uint64_t n = 1;

	while (one_run(kind, n, seed))
		n++;
	assert_in_range(n, 10, 100000);
}

static void test_alloc(void **state)
{
	(void)state;
	sweep(ALLOC, 11);
	sweep(ALLOC, 12);
}

static void test_read(void **state)
{
	(void)state;
	sweep(READ, 13);
	sweep(READ, 14);
}

static void test_write(void **state)
{
	(void)state;
	sweep(WRITE, 15);
	sweep(WRITE, 17);
	sweep(WRITE, 18);
}

static void test_flush(void **state)
{
	(void)state;
	sweep(FLUSH, 16);
}

/* ---- A file with more pointer blocks than a transaction of a small disk takes ---- */

enum { COMB = 28, STRIDE = 256 * 1024, PIECE = 700, COMB_END = COMB * STRIDE };

static int punch_all(struct rig *r, struct as_handle *h)
{
	return FS->fallocate(r->fs, h, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1024, COMB_END);
}

/* Zeroes a piece, makes holes full, and needs pointer blocks of its own. */
static int zero_some(struct rig *r, struct as_handle *h)
{
	return FS->fallocate(r->fs, h, FALLOC_FL_ZERO_RANGE, COMB_END - STRIDE - 20000, 40000);
}

static int fill_some(struct rig *r, struct as_handle *h)
{
	return FS->fallocate(r->fs, h, 0, COMB_END - 10000, 60000);
}

static int cut_all(struct rig *r, struct as_handle *h)
{
	struct as_stat st = { .size = 1000 };

	return FS->fsetattr(r->fs, h, &st, AS_SET_SIZE);
}

static int remove_name(struct rig *r, struct as_handle *h)
{
	(void)h;
	return FS->unlink(r->fs, "/f");
}

static void prepare_comb(struct rig *r)
{
	t_rig_open(r, 256 * 1024, "");
	for (unsigned i = 0; i < COMB; i++)
		assert_int_equal(t_put_at(r, "/f", O_CREAT, (uint8_t)(i + 1), PIECE,
					  (uint64_t)i * STRIDE),
				 PIECE);
	t_rig_again(r);
	/* Data that a commit has to write first. */
	assert_int_equal(t_put_at(r, "/f", 0, 'x', 10, 0), 10);
}

/* What can be told from a call that is done from one that is not. */
struct comb_look {
	struct as_stat st;
	uint8_t pieces[COMB]; /* of each piece a byte */
	int rc;
};

static struct comb_look look_at_comb(struct rig *r)
{
	struct comb_look look = { 0 };

	look.rc = FS->getattr(r->fs, "/f", &look.st);
	for (unsigned i = 0; i < COMB && !look.rc; i++)
		(void)t_get_at(r, "/f", &look.pieces[i], 1, (uint64_t)i * STRIDE + 600);
	return look;
}

/* False when the fault never fired. */
static bool fault_in_comb(int (*op)(struct rig *, struct as_handle *), enum kind kind, uint64_t n)
{
	struct comb_look before, after;
	struct as_handle *h;
	struct rig r;
	bool hit;
	int rc;

	prepare_comb(&r);
	assert_int_equal(FS->open(r.fs, "/f", O_RDWR, 0, &h), 0);
	assert_int_equal(FS->getattr(r.fs, "/f", &before.st), 0);
	*counter(&r, kind) = n;
	rc = op(&r, h);
	hit = fired(&r);
	*counter(&r, kind) = 0;
	after = look_at_comb(&r);
	if (rc) {
		assert_true(hit);
		for (unsigned i = 0; i < COMB; i++)
			assert_int_equal(after.pieces[i], i + 1);
		assert_memory_equal(&after.st, &before.st, sizeof(before.st));
	}
	assert_int_equal(FS->close(r.fs, h), 0);
	/* What is left to do is done, unless the journal could not be written. */
	rc = t_rig_unmount(&r);
	assert_int_equal(t_rig_mount(&r, false), 0);
	before = look_at_comb(&r);
	if (!rc)
		assert_memory_equal(&after.pieces, &before.pieces, sizeof(before.pieces));
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	t_rig_close(&r);
	return hit;
}

static void test_many_pointers(void **state)
{
	static int (*const ops[])(struct rig *, struct as_handle *) = {
		punch_all, zero_some, fill_some, cut_all, remove_name,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (enum kind kind = ALLOC; kind <= WRITE; kind++)
			for (uint64_t n = 1; fault_in_comb(ops[i], kind, n); n++)
				;
}

/* A disk that fails for good: every later write fails; the last commit must be on it. */
static void test_dying_disk(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 60; n++) {
		struct load w = { .rng = n };
		struct rig r;

		t_rig_open(&r, 256 * 1024, "");
		r.disk.fail_on = true;
		r.disk.fail_write = n * 5;
		w.r = &r;
		for (int i = 0; i < 200; i++)
			t_load_step(&w);
		t_load_end(&w);
		(void)t_rig_unmount(&r);
		assert_int_equal(r.host.live, 0);
		r.disk.fail_write = 0;
		assert_int_equal(t_rig_mount(&r, false), 0);
		assert_int_equal(t_rig_unmount(&r), 0);
		assert_int_equal(t_rig_fsck(&r), 0);
		t_rig_close(&r);
	}
}

/* After a journal error: read-only, still readable. */
static void test_read_only_after_error(void **state)
{
	struct rig r;
	char buf[4];

	(void)state;
	t_rig_open(&r, 256 * 1024, "");
	assert_int_equal(t_put_at(&r, "/f", O_CREAT, 'f', 3, 0), 3);
	r.disk.fail_flush = 1;
	assert_int_equal(FS->sync(r.fs), -EIO);
	assert_int_equal(FS->mkdir(r.fs, "/d", 0755), -EROFS);
	assert_int_equal(FS->sync(r.fs), -EROFS);
	assert_int_equal(t_get_at(&r, "/f", buf, 4, 0), 3);
	assert_int_equal(FS->unmount(r.fs), -EIO);
	r.fs = NULL;
	t_rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_many_pointers),
		cmocka_unit_test(test_dying_disk),
		cmocka_unit_test(test_read_only_after_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
