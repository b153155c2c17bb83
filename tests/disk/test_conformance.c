/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the seam promises, asked of every block device there is: plain disks, copies of them, a disk
 * that went through an image, and the wrappers, alone and stacked. A new implementation is one more
 * row.
 */
#include "tests/lib/disk.h"

#include "disk/fault.h"
#include "disk/image.h"
#include "disk/log.h"
#include "disk/window.h"

#define SIZE (70 * UINT64_C(4096) + 512)

/* One device under test, with everything below it. */
struct stack {
	struct as_chunks *store;
	struct as_disk *disk, *other;
	struct as_reclog *log;
	struct as_faulty *faulty;
	struct as_window window;
	struct as_bd *bd;
};

static void make_disk(struct stack *s)
{
	s->bd = as_disk_bd(s->disk);
}

static void make_snapshot(struct stack *s)
{
	s->other = as_disk_snapshot(s->disk);
	s->bd = as_disk_bd(s->other);
}

/* Restored from an empty disk after it was full. */
static void make_restored(struct stack *s)
{
	s->other = t_disk_new(s->store, SIZE);
	t_write_fill(as_disk_bd(s->other), 0, SIZE, 1);
	as_disk_restore(s->other, s->disk);
	s->bd = as_disk_bd(s->other);
}

static void make_loaded(struct stack *s)
{
	struct as_buf image = { 0 };
	struct as_err err = { 0 };

	if (as_image_encode(s->disk, &image, &err) ||
	    as_image_decode(s->store, image.data, image.len, &s->other, &err))
		fail_msg("%s", err.msg);
	as_buf_free(&image);
	s->bd = as_disk_bd(s->other);
}

static void make_recorded(struct stack *s)
{
	s->log = as_reclog_new(as_disk_bd(s->disk), AS_RECLOG_READ_DATA, 0);
	s->bd = as_reclog_bd(s->log);
}

/* The record is full already: that must not change how the device works. */
static void make_overflowed(struct stack *s)
{
	s->log = as_reclog_new(as_disk_bd(s->disk), 0, 1);
	s->bd = as_reclog_bd(s->log);
}

static void make_faulty(struct stack *s)
{
	s->faulty = as_faulty_new(as_disk_bd(s->disk), NULL, 0);
	s->bd = as_faulty_bd(s->faulty);
}

/* These rules never apply. */
static void make_faulty_recorded(struct stack *s)
{
	struct as_fault_rule *rules;
	struct as_err err = { 0 };
	size_t n;

	if (as_fault_parse("read:100000+:eio write:100000:tear=0 flush:100000:drop", &rules, &n,
			   &err))
		fail_msg("%s", err.msg);
	s->log = as_reclog_new(as_disk_bd(s->disk), 0, 0);
	s->faulty = as_faulty_new(as_reclog_bd(s->log), rules, n);
	free(rules);
	s->bd = as_faulty_bd(s->faulty);
}

static void make_recorded_faulty(struct stack *s)
{
	s->faulty = as_faulty_new(as_disk_bd(s->disk), NULL, 0);
	s->log = as_reclog_new(as_faulty_bd(s->faulty), 0, 0);
	s->bd = as_reclog_bd(s->log);
}

/* There is something before it and after it. */
static void make_window(struct stack *s)
{
	s->other = t_disk_new(s->store, SIZE + 8192);
	t_write_fill(as_disk_bd(s->other), 0, 4096, 1);
	t_write_fill(as_disk_bd(s->other), SIZE + 4096, 4096, 1);
	as_window_init(&s->window, as_disk_bd(s->other), 4096, SIZE);
	s->bd = &s->window.bd;
}

static const struct implementation {
	const char *name;
	void (*make)(struct stack *s);
} implementations[] = {
	{ "disk", make_disk },
	{ "snapshot", make_snapshot },
	{ "restored disk", make_restored },
	{ "loaded image", make_loaded },
	{ "recorded", make_recorded },
	{ "recorder with a full log", make_overflowed },
	{ "faulty without rules", make_faulty },
	{ "faulty over recorded", make_faulty_recorded },
	{ "recorded over faulty", make_recorded_faulty },
	{ "window", make_window },
};

/* ---- What is asked -------------------------------------------------------------------------- */

static void ask_shape(struct as_bd *bd)
{
	assert_int_equal(bd->size_bytes, SIZE);
	assert_int_equal(bd->sector_bytes, 512);
	assert_non_null(bd->ops->name);
	assert_int_equal(bd->ops->api, AS_BD_API);
}

static void ask_fresh_is_zero(struct as_bd *bd)
{
	unsigned char *zeros = as_xcalloc(1, SIZE);

	t_assert_holds(bd, zeros);
	free(zeros);
}

static void ask_ranges(struct as_bd *bd)
{
	static const struct {
		uint64_t off, len;
		int want;
	} rows[] = {
		{ 0, 0, 0 },
		{ SIZE, 0, 0 },
		{ SIZE + 512, 0, -EINVAL },
		{ 1, 0, -EINVAL },
		{ 0, 512, 0 },
		{ 0, 513, -EINVAL },
		{ 1, 512, -EINVAL },
		{ 256, 256, -EINVAL },
		{ SIZE - 512, 512, 0 },
		{ SIZE - 512, 1024, -EINVAL },
		{ SIZE, 512, -EINVAL },
		{ UINT64_MAX - 511, 512, -EINVAL },
		{ UINT64_MAX - 511, 1024, -EINVAL },
		{ 512, UINT64_MAX - 511, -EINVAL },
	};
	unsigned char buf[4096] = { 0 };

	for (size_t i = 0; i < N_ROWS(rows); i++) {
		uint64_t off = rows[i].off, len = rows[i].len;

		assert_int_equal(as_bd_read(bd, off, buf, len), rows[i].want);
		assert_int_equal(as_bd_write(bd, off, buf, len), rows[i].want);
		assert_int_equal(as_bd_discard(bd, off, len), rows[i].want);
		assert_int_equal(as_bd_zero(bd, off, len), rows[i].want);
	}
	ask_fresh_is_zero(bd);
}

/* Every first and last sector of a chunk, and everything across: compared with an array. */
static void ask_reads_back(struct as_bd *bd)
{
	static const struct {
		uint64_t off;
		size_t len;
	} rows[] = {
		{ 0, 512 },
		{ 4096 - 512, 512 },
		{ 4096 - 512, 1024 },
		{ 8192, 4096 },
		{ 8192 + 1024, 2048 },
		{ 3 * 4096 + 512, 9 * 4096 },
		{ 31 * 4096, 2 * 4096 },
		{ SIZE - 512, 512 },
		{ SIZE - 4096, 4096 },
		{ 0, SIZE },
	};
	unsigned char *flat = as_xcalloc(1, SIZE);

	for (size_t i = 0; i < N_ROWS(rows); i++) {
		t_fill(flat + rows[i].off, rows[i].len, (unsigned)i);
		t_write_fill(bd, rows[i].off, rows[i].len, (unsigned)i);
		t_assert_holds(bd, flat);
		assert_int_equal(as_bd_flush(bd), 0);
	}
	t_assert_holds(bd, flat);
	free(flat);
}

static void ask_zero_and_discard(struct as_bd *bd)
{
	static const struct {
		uint64_t off, len;
	} rows[] = {
		{ 512, 512 },
		{ 4096, 4096 },
		{ 3 * 4096 - 512, 1024 },
		{ 5 * 4096, 3 * 4096 },
		{ 10 * 4096 + 512, 40 * 4096 },
		{ SIZE - 512, 512 },
		{ 512, SIZE - 512 },
		{ 0, SIZE },
	};
	unsigned char *flat = as_xcalloc(1, SIZE);

	for (unsigned discard = 0; discard < 2; discard++) {
		for (size_t i = 0; i < N_ROWS(rows); i++) {
			t_fill(flat, SIZE, 40);
			t_write_fill(bd, 0, SIZE, 40);
			memset(flat + rows[i].off, 0, rows[i].len);
			if (discard)
				assert_int_equal(as_bd_discard(bd, rows[i].off, rows[i].len), 0);
			else
				assert_int_equal(as_bd_zero(bd, rows[i].off, rows[i].len), 0);
			t_assert_holds(bd, flat);
		}
	}
	free(flat);
}

/* The caller may reuse its buffer after a write, and reads do not change what was written. */
static void ask_buffers_are_copied(struct as_bd *bd)
{
	unsigned char buf[1024], want[1024], got[1024];

	t_fill(buf, sizeof(buf), 5);
	memcpy(want, buf, sizeof(buf));
	assert_int_equal(as_bd_write(bd, 4096, buf, sizeof(buf)), 0);
	assert_memory_equal(buf, want, sizeof(buf));
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(as_bd_read(bd, 4096, got, sizeof(got)), 0);
	assert_memory_equal(got, want, sizeof(got));
}

static const struct {
	const char *name;
	void (*ask)(struct as_bd *bd);
} questions[] = {
	{ "shape", ask_shape },
	{ "fresh is zero", ask_fresh_is_zero },
	{ "ranges", ask_ranges },
	{ "reads back", ask_reads_back },
	{ "zero and discard", ask_zero_and_discard },
	{ "buffers are copied", ask_buffers_are_copied },
};

static void test_implementation(void **state)
{
	const struct implementation *impl = *state;

	for (size_t i = 0; i < N_ROWS(questions); i++) {
		struct stack s = { .store = as_chunks_new() };

		print_message("             %s: %s\n", impl->name, questions[i].name);
		s.disk = t_disk_new(s.store, SIZE);
		impl->make(&s);
		questions[i].ask(s.bd);
		as_faulty_free(s.faulty);
		as_reclog_free(s.log);
		as_disk_free(s.other);
		as_disk_free(s.disk);
		t_store_done(s.store);
	}
}

int main(void)
{
	struct CMUnitTest tests[N_ROWS(implementations)];

	for (size_t i = 0; i < N_ROWS(tests); i++)
		tests[i] = (struct CMUnitTest){
			.name = implementations[i].name,
			.test_func = test_implementation,
			.initial_state = (void *)&implementations[i],
		};
	return cmocka_run_group_tests_name("disk/conformance", tests, NULL, NULL);
}
