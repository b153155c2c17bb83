/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder: what it records, replay onto a copy, truncating, limits, and what it does not
 * record. */
#include "tests/lib/disk.h"

#include "disk/fault.h"
#include "disk/log.h"

#define SIZE (64 * UINT64_C(4096))

struct rig {
	struct as_chunks *store;
	struct as_disk *disk, *start;
	struct as_reclog *log;
	struct as_bd *bd;
};

static struct rig rig_new(unsigned flags, uint64_t limit_bytes)
{
	struct rig rig = { .store = as_chunks_new() };

	rig.disk = t_disk_new(rig.store, SIZE);
	t_write_fill(as_disk_bd(rig.disk), 0, SIZE / 2, 99);
	rig.start = as_disk_snapshot(rig.disk);
	rig.log = as_reclog_new(as_disk_bd(rig.disk), flags, limit_bytes);
	rig.bd = as_reclog_bd(rig.log);
	return rig;
}

static void rig_free(struct rig *rig)
{
	as_reclog_free(rig->log);
	as_disk_free(rig->disk);
	as_disk_free(rig->start);
	t_store_done(rig->store);
}

static void test_entries(void **state)
{
	static const struct {
		enum as_call kind;
		uint64_t off, len;
		uint32_t op;
		int ret;
	} want[] = {
		{ AS_CALL_WRITE, 512, 1024, AS_RECLOG_NO_OP, 0 },
		{ AS_CALL_FLUSH, 0, 0, 7, 0 },
		{ AS_CALL_DISCARD, 4096, 4096, 7, 0 },
		{ AS_CALL_ZERO, 8192, 512, 8, 0 },
		{ AS_CALL_WRITE, 100, 512, 8, -EINVAL },
		{ AS_CALL_WRITE, 0, 512, 8, 0 },
	};
	struct rig rig = rig_new(0, 0);
	unsigned char buf[1024], data[1024];

	(void)state;
	t_fill(data, sizeof(data), 3);
	t_write_fill(rig.bd, 512, 1024, 3);
	as_reclog_set_op(rig.log, 7);
	assert_int_equal(as_bd_flush(rig.bd), 0);
	assert_int_equal(as_bd_read(rig.bd, 0, buf, 512), 0);
	assert_int_equal(as_bd_discard(rig.bd, 4096, 4096), 0);
	as_reclog_set_op(rig.log, 8);
	assert_int_equal(as_bd_zero(rig.bd, 8192, 512), 0);
	assert_int_equal(as_bd_write(rig.bd, 100, buf, 512), -EINVAL);
	assert_int_equal(as_bd_write(rig.bd, 512, buf, 0), 0);
	as_reclog_pause(rig.log, true);
	assert_int_equal(as_bd_flush(rig.bd), 0);
	as_reclog_pause(rig.log, false);
	t_write_fill(rig.bd, 0, 512, 4);
	assert_int_equal(as_reclog_len(rig.log), N_ROWS(want));
	for (size_t i = 0; i < N_ROWS(want); i++) {
		const struct as_log_entry *entry = as_reclog_at(rig.log, i);

		assert_int_equal(entry->kind, want[i].kind);
		assert_int_equal(entry->off, want[i].off);
		assert_int_equal(entry->len, want[i].len);
		assert_int_equal(entry->op, want[i].op);
		assert_int_equal(entry->ret, want[i].ret);
		assert_int_equal(entry->seq, i);
		assert_int_equal(!!entry->data, entry->kind == AS_CALL_WRITE && !entry->ret);
		assert_int_equal(as_log_entry_changes(entry),
				 !entry->ret && entry->kind != AS_CALL_FLUSH);
	}
	assert_memory_equal(as_reclog_at(rig.log, 0)->data, data, sizeof(data));
	rig_free(&rig);
}

static void test_reads(void **state)
{
	static const struct {
		unsigned flags;
		size_t len;
		bool data;
	} rows[] = { { 0, 0, false },
		     { AS_RECLOG_READS, 1, false },
		     { AS_RECLOG_READ_DATA, 1, true } };

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct rig rig = rig_new(rows[i].flags, 0);
		unsigned char buf[512];

		assert_int_equal(as_bd_read(rig.bd, 4096, buf, 512), 0);
		assert_int_equal(as_reclog_len(rig.log), rows[i].len);
		if (rows[i].len) {
			const struct as_log_entry *entry = as_reclog_at(rig.log, 0);

			assert_int_equal(entry->kind, AS_CALL_READ);
			assert_int_equal(entry->off, 4096);
			assert_int_equal(!!entry->data, rows[i].data);
			if (rows[i].data)
				assert_memory_equal(entry->data, buf, 512);
		}
		rig_free(&rig);
	}
}

/* Any calls, valid or not. */
static void random_calls(struct rig *rig, struct as_choice *choice, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t off = as_choose(choice, 128) * (SIZE / 128);
		uint64_t len = as_choose(choice, 40) * UINT64_C(512);
		unsigned char *buf = as_xmalloc(len + 1);
		unsigned what = as_choose(choice, 16);

		off += !as_choose(choice, 20); /* sometimes misaligned; sometimes over the end */
		t_fill(buf, len, i);
		if (what == 0)
			(void)as_bd_flush(rig->bd);
		else if (what == 1)
			(void)as_bd_discard(rig->bd, off, len);
		else if (what == 2)
			(void)as_bd_zero(rig->bd, off, len);
		else if (what == 3)
			(void)as_bd_read(rig->bd, off, buf, len);
		else
			(void)as_bd_write(rig->bd, off, buf, len);
		free(buf);
	}
}

static void assert_replays(struct rig *rig)
{
	struct as_disk *copy = as_disk_snapshot(rig->start);
	struct as_err err = { 0 };

	if (as_reclog_replay(rig->log, 0, as_reclog_len(rig->log), as_disk_bd(copy), &err))
		fail_msg("%s", err.msg);
	assert_true(as_disk_eq(copy, rig->disk));
	as_disk_free(copy);
}

/* Runs, remembers a place, goes on, goes back to it, and does something else: the log always says
 * how the disk became what it is. */
static void test_replay_and_truncate(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 40; seed++) {
		struct as_chooser *chooser = as_chooser_seeded(seed);
		struct as_choice *choice = as_chooser_choice(chooser);
		struct rig rig = rig_new(seed % 4, 0);
		struct as_disk *middle;
		uint64_t memory, seq;
		size_t len;

		random_calls(&rig, choice, as_choose(choice, 60));
		assert_replays(&rig);
		len = as_reclog_len(rig.log);
		memory = as_reclog_memory(rig.log);
		middle = as_disk_snapshot(rig.disk);
		random_calls(&rig, choice, 200);
		assert_replays(&rig);
		assert_true(as_reclog_memory(rig.log) > memory);
		seq = as_reclog_at(rig.log, as_reclog_len(rig.log) - 1)->seq;
		as_reclog_truncate(rig.log, len);
		as_disk_restore(rig.disk, middle);
		assert_int_equal(as_reclog_len(rig.log), len);
		assert_replays(&rig);
		random_calls(&rig, choice, 100);
		assert_true(as_reclog_at(rig.log, len)->seq > seq);
		assert_replays(&rig);
		as_reclog_clear(rig.log);
		as_disk_restore(rig.start, rig.disk);
		assert_int_equal(as_reclog_len(rig.log), 0);
		random_calls(&rig, choice, 50);
		assert_replays(&rig);
		as_disk_free(middle);
		rig_free(&rig);
		as_chooser_free(chooser);
	}
}

/* At the limit the record stops and is a true prefix; the disk goes on as before. */
static void test_limit(void **state)
{
	struct rig rig = rig_new(0, 300000);
	struct as_disk *copy;
	size_t len;

	(void)state;
	for (unsigned i = 0; i < 50; i++)
		t_write_fill(rig.bd, (i % 32) * UINT64_C(8192), 8192, i);
	len = as_reclog_len(rig.log);
	assert_true(as_reclog_overflowed(rig.log));
	assert_true(len > 20 && len < 50);
	assert_true(as_reclog_memory(rig.log) <= 300000);
	copy = as_disk_snapshot(rig.start);
	for (unsigned i = 0; i < 50; i++) {
		t_write_fill(as_disk_bd(copy), (i % 32) * UINT64_C(8192), 8192, i);
		if (i + 1 == len) {
			struct as_disk *replayed = as_disk_snapshot(rig.start);

			assert_int_equal(
				as_reclog_replay(rig.log, 0, len, as_disk_bd(replayed), NULL), 0);
			assert_true(as_disk_eq(replayed, copy));
			as_disk_free(replayed);
		}
	}
	assert_true(as_disk_eq(copy, rig.disk));
	/* Nothing is added after the gap, however small it is. */
	assert_int_equal(as_bd_flush(rig.bd), 0);
	assert_int_equal(as_reclog_len(rig.log), len);
	as_reclog_truncate(rig.log, 10);
	assert_false(as_reclog_overflowed(rig.log));
	assert_int_equal(as_bd_flush(rig.bd), 0);
	assert_int_equal(as_reclog_at(rig.log, 10)->seq, 51);
	as_disk_free(copy);
	rig_free(&rig);
}

/* Going back and forth for ever takes no more memory than going once. */
static void test_truncate_gives_back(void **state)
{
	struct rig rig = rig_new(0, 0);
	uint64_t memory = 0;

	(void)state;
	t_write_fill(rig.bd, 0, 512, 1);
	for (unsigned i = 0; i < 1000; i++) {
		t_write_fill(rig.bd, 4096, 40960, i);
		if (!i)
			memory = as_reclog_memory(rig.log);
		assert_int_equal(as_reclog_memory(rig.log), memory);
		as_reclog_truncate(rig.log, 1);
	}
	rig_free(&rig);
}

/* A replay that fails says at which entry and why. */
static void test_replay_failure(void **state)
{
	struct rig rig = rig_new(0, 0);
	struct as_disk *small = t_disk_new(rig.store, 4096);
	struct as_err err = { 0 };

	(void)state;
	t_write_fill(rig.bd, 0, 512, 1);
	t_write_fill(rig.bd, 8192, 1024, 1);
	assert_int_equal(as_reclog_replay(rig.log, 0, 2, as_disk_bd(small), &err), AS_EIO);
	assert_string_equal(
		err.msg, "replaying log entry 1 (write of 1024 bytes at 8192): Invalid argument");
	as_disk_free(small);
	rig_free(&rig);
}

/* The recorder under a faulty device notes what reached the disk, and only that. */
static void test_below_faults(void **state)
{
	struct rig rig = rig_new(0, 0);
	struct as_fault_rule *rules;
	struct as_faulty *faulty;
	struct as_bd *bd;
	size_t n;

	(void)state;
	assert_int_equal(
		as_fault_parse("write:1:tear=1,eio flush:1:drop write:2:eio", &rules, &n, NULL), 0);
	faulty = as_faulty_new(rig.bd, rules, n);
	bd = as_faulty_bd(faulty);
	unsigned char buf[2048];

	t_fill(buf, sizeof(buf), 6);
	assert_int_equal(as_bd_write(bd, 0, buf, sizeof(buf)), -EIO);
	assert_int_equal(as_bd_flush(bd), 0);
	assert_int_equal(as_bd_write(bd, 0, buf, sizeof(buf)), -EIO);
	assert_int_equal(as_reclog_len(rig.log), 1);
	assert_int_equal(as_reclog_at(rig.log, 0)->len, 512);
	assert_replays(&rig);
	as_faulty_free(faulty);
	free(rules);
	rig_free(&rig);
}

static size_t submit(struct rig *rig, uint64_t off, unsigned flags, uint64_t *ticket)
{
	unsigned char buf[512];

	t_fill(buf, sizeof(buf), (unsigned)off);
	assert_int_equal(as_bd_submit(rig->bd, off, buf, sizeof(buf), flags, ticket), 0);
	return as_reclog_len(rig->log) - 1;
}

static size_t done(const struct rig *rig, size_t i)
{
	return as_reclog_at(rig->log, i)->done;
}

/* When a write is complete: at once, when somebody waits, or after so many calls. */
static void test_in_flight(void **state)
{
	struct rig rig = rig_new(0, 0);
	uint64_t a, b, c;

	(void)state;
	assert_int_equal(done(&rig, submit(&rig, 0, 0, &a)), 1);
	as_reclog_hold(rig.log, AS_RECLOG_UNTIL_WAIT);
	assert_int_equal(done(&rig, submit(&rig, 512, 0, &a)), AS_RECLOG_IN_FLIGHT);
	submit(&rig, 1024, AS_BD_FUA, &b);
	t_write_fill(rig.bd, 0, 512, 9);
	assert_int_equal(done(&rig, 3), 4);
	assert_int_equal(as_bd_wait(rig.bd, b), 0);
	assert_int_equal(done(&rig, 2), 4);
	assert_true(as_reclog_at(rig.log, 2)->fua);
	assert_int_equal(as_bd_flush(rig.bd), 0);
	assert_int_equal(done(&rig, 1), AS_RECLOG_IN_FLIGHT);
	submit(&rig, 2048, 0, &c);
	assert_int_equal(as_bd_wait(rig.bd, 0), 0);
	assert_int_equal(done(&rig, 1), 6);
	assert_int_equal(done(&rig, 5), 6);
	/* A ticket that is used up is nobody's. */
	submit(&rig, 512, 0, &b);
	assert_int_equal(as_bd_wait(rig.bd, a), 0);
	assert_int_equal(done(&rig, 6), AS_RECLOG_IN_FLIGHT);
	/* In flight during two calls; the third comes after it. */
	as_reclog_hold(rig.log, 2);
	assert_int_equal(done(&rig, 6), 7);
	submit(&rig, 512, 0, &b);
	t_write_fill(rig.bd, 0, 512, 10);
	assert_int_equal(as_bd_flush(rig.bd), 0);
	assert_int_equal(done(&rig, 7), AS_RECLOG_IN_FLIGHT);
	assert_int_equal(as_bd_flush(rig.bd), 0);
	assert_int_equal(done(&rig, 7), 10);
	assert_replays(&rig);
	rig_free(&rig);
}

/* After a power cut nothing is in flight, and what was complete later is complete. */
static void test_in_flight_truncated(void **state)
{
	struct rig rig = rig_new(0, 0);
	uint64_t a, b;

	(void)state;
	as_reclog_hold(rig.log, AS_RECLOG_UNTIL_WAIT);
	submit(&rig, 0, 0, &a);
	submit(&rig, 512, 0, &b);
	t_write_fill(rig.bd, 1024, 512, 1);
	assert_int_equal(as_bd_wait(rig.bd, a), 0);
	as_reclog_truncate(rig.log, 2);
	assert_int_equal(done(&rig, 0), 2);
	assert_int_equal(done(&rig, 1), 2);
	assert_int_equal(as_bd_flush(rig.bd), 0);
	assert_int_equal(as_bd_wait(rig.bd, b), 0);
	assert_int_equal(done(&rig, 1), 2);
	rig_free(&rig);
}

/* Of what is hinted at, the choice says what is written. */
static void test_early(void **state)
{
	static const unsigned answers[] = { 0, 1, 0, 3 };
	struct as_chooser *chooser = as_chooser_replay(answers, N_ROWS(answers));
	struct rig rig = rig_new(0, 0);
	unsigned char buf[512];

	(void)state;
	as_bd_dirty(rig.bd, 0, buf, sizeof(buf));
	assert_int_equal(as_reclog_len(rig.log), 0);
	as_reclog_write_early(rig.log, as_chooser_choice(chooser), 4);
	for (unsigned i = 0; i < N_ROWS(answers); i++) {
		t_fill(buf, sizeof(buf), i);
		as_bd_dirty(rig.bd, i * 512, buf, sizeof(buf));
	}
	assert_int_equal(as_reclog_len(rig.log), 2);
	assert_true(as_reclog_at(rig.log, 1)->early);
	assert_int_equal(as_reclog_at(rig.log, 1)->off, 1024);
	assert_int_equal(done(&rig, 1), 2);
	as_reclog_write_early(rig.log, NULL, 0);
	as_bd_dirty(rig.bd, 0, buf, sizeof(buf));
	assert_int_equal(as_reclog_len(rig.log), 2);
	assert_replays(&rig);
	rig_free(&rig);
	as_chooser_free(chooser);
}

/* A disk of version 1 has no queue: a write is complete at once, and FUA is a flush after it. */
static void test_without_a_queue(void **state)
{
	struct rig rig = rig_new(0, 0);
	struct as_bd_ops old = *rig.bd->ops;
	uint64_t ticket;

	(void)state;
	/* What is after the old end is not read. */
	memset((char *)&old + offsetof(struct as_bd_ops, submit), 0xff,
	       sizeof(old) - offsetof(struct as_bd_ops, submit));
	old.api = 1;
	rig.bd->ops = &old;
	as_reclog_hold(rig.log, AS_RECLOG_UNTIL_WAIT);
	assert_int_equal(done(&rig, submit(&rig, 0, 0, &ticket)), 1);
	assert_int_equal(as_bd_wait(rig.bd, ticket), 0);
	as_bd_dirty(rig.bd, 0, "", 0);
	submit(&rig, 512, AS_BD_FUA, &ticket);
	assert_int_equal(as_reclog_len(rig.log), 3);
	assert_int_equal(as_reclog_at(rig.log, 2)->kind, AS_CALL_FLUSH);
	rig_free(&rig);
}

/* A flush of a part is recorded with its range, and so is what replays it. */
static void test_parts(void **state)
{
	struct rig rig = rig_new(0, 0), other = rig_new(0, 0);
	const struct as_log_entry *e;

	(void)state;
	assert_int_equal(as_bd_flush_part(as_reclog_bd(rig.log), 4096, 8192), 0);
	assert_int_equal(as_bd_flush(as_reclog_bd(rig.log)), 0);
	assert_int_equal(as_reclog_replay(rig.log, 0, 2, as_reclog_bd(other.log), NULL), 0);
	for (unsigned i = 0; i < 2; i++) {
		e = as_reclog_at(i ? other.log : rig.log, 0);
		assert_int_equal(e->kind, AS_CALL_FLUSH);
		assert_int_equal(e->off, 4096);
		assert_int_equal(e->len, 8192);
		assert_int_equal(as_reclog_at(i ? other.log : rig.log, 1)->len, 0);
	}
	rig_free(&rig);
	rig_free(&other);
}

/* On a disk without a cache, each change is stable when it is complete, also one that was held. */
static void test_uncached(void **state)
{
	struct rig rig = rig_new(AS_RECLOG_READS, 0);
	struct as_bd *bd = as_reclog_bd(rig.log);
	unsigned char sector[512] = { 1 };
	uint64_t ticket;

	(void)state;
	assert_int_equal(as_bd_write(bd, 0, sector, 512), 0);
	as_reclog_uncached(rig.log);
	as_reclog_hold(rig.log, AS_RECLOG_UNTIL_WAIT);
	assert_int_equal(as_bd_write(bd, 0, sector, 512), 0);
	assert_int_equal(as_bd_zero(bd, 512, 512), 0);
	assert_int_equal(as_bd_submit(bd, 1024, sector, 512, 0, &ticket), 0);
	assert_int_equal(as_bd_read(bd, 0, sector, 512), 0);
	assert_int_equal(as_bd_flush(bd), 0);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(as_reclog_at(rig.log, i)->fua, i >= 1 && i <= 3);
	assert_true(as_reclog_at(rig.log, 3)->done == AS_RECLOG_IN_FLIGHT);
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_replay_and_truncate),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_replay_failure),
		cmocka_unit_test(test_truncate_gives_back),
		cmocka_unit_test(test_below_faults),
		cmocka_unit_test(test_in_flight),
		cmocka_unit_test(test_in_flight_truncated),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_without_a_queue),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_uncached),
	};

	return cmocka_run_group_tests_name("disk/log", tests, NULL, NULL);
}
