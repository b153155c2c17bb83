/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memo: answers by what was read. A recovery of our own, small enough to be run for every disk that
 * is looked up, says whether an answer is right: for thousands of disks that are alike in places.
 * The mutant is a recovery that looks at something which its record does not show.
 */
#include "tests/lib/disk.h"

#include "recover/jbd2.h"
#include "recover/memo.h"
#include "snapshot/tree.h"

#include <errno.h>

#define SECTOR 512u
#define SECTORS 64u
#define DISK_BYTES (SECTORS * SECTOR)
#define STEPS 6u

/* ---- A recovery ------------------------------------------------------------------------------ */

struct recovery {
	struct as_disk *disk; /* as it left it */
	struct as_reclog *log;
	uint64_t sum; /* what it answers */
};

static uint64_t read_word(struct as_bd *bd, uint64_t sector)
{
	unsigned char buf[SECTOR];
	uint64_t word;

	assert_int_equal(as_bd_read(bd, sector * SECTOR, buf, sizeof(buf)), 0);
	memcpy(&word, buf, sizeof(word));
	return word;
}

static void write_word(struct as_bd *bd, uint64_t sector, uint64_t word)
{
	unsigned char buf[SECTOR] = { 0 };

	memcpy(buf, &word, sizeof(word));
	assert_int_equal(as_bd_write(bd, sector * SECTOR, buf, sizeof(buf)), 0);
}

/* Follows a chain from sector 0: where it goes, what it writes and what it answers depend on all it
 * has read. `peeks`: it also looks at the last sector, past the recorder. */
static struct recovery recover(struct as_disk *crashed, bool peeks)
{
	struct recovery r = { .disk = as_disk_snapshot(crashed) };
	uint64_t at = 0;
	struct as_bd *bd;

	r.log = as_reclog_new(as_disk_bd(r.disk), AS_RECLOG_READS, 0);
	bd = as_reclog_bd(r.log);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t word = read_word(bd, at);

		r.sum = as_mix64(r.sum ^ word);
		if (r.sum % 3 == 0)
			write_word(bd, r.sum / 3 % SECTORS, r.sum);
		if (r.sum % 7 == 0)
			assert_int_equal(as_bd_discard(bd, r.sum / 7 % SECTORS * SECTOR, SECTOR),
					 0);
		at = r.sum / 64 % (SECTORS - 1);
	}
	assert_int_equal(as_bd_flush(bd), 0);
	if (peeks)
		r.sum ^= read_word(as_disk_bd(crashed), SECTORS - 1);
	return r;
}

static void recovery_free(struct recovery *r)
{
	as_reclog_free(r->log);
	as_disk_free(r->disk);
}

/* Every sector has one of two values: many disks agree on what is read. */
static struct as_disk *some_disk(struct as_chunks *store, struct as_choice *choice)
{
	struct as_disk *disk = t_disk_new(store, DISK_BYTES);

	for (uint64_t s = 0; s < SECTORS; s++)
		write_word(as_disk_bd(disk), s, 1 + as_choose(choice, 2));
	return disk;
}

static bool add(struct as_memo *memo, struct as_disk *disk, const struct recovery *r)
{
	struct as_memo_answer answer = { .end = (int)(r->sum >> 40),
					 .flag = r->sum & 1,
					 .mark = r->sum >> 32 & 255,
					 .why = r->sum & 2 ? "two" : "" };

	return as_memo_add(memo, 0, disk, r->log, NULL, &answer);
}

/* Whether the answer is what the recovery says, and its disk what the recovery leaves. */
static bool is_right(struct as_memo *memo, const struct as_memo_answer *answer,
		     struct as_disk *disk, const struct recovery *r)
{
	struct as_disk *copy = as_disk_snapshot(disk);
	bool same;

	as_memo_redo(memo, as_disk_bd(copy), false);
	same = answer->end == (int)(r->sum >> 40) && answer->flag == (r->sum & 1) &&
	       answer->mark == (r->sum >> 32 & 255) &&
	       !strcmp(answer->why, r->sum & 2 ? "two" : "") && as_disk_eq(copy, r->disk);
	as_disk_free(copy);
	return same;
}

struct tally {
	unsigned asked, hits, wrong;
};

static struct tally try_disks(struct as_memo *memo, unsigned n, bool peeks)
{
	struct as_chunks *store = as_chunks_new();
	struct as_chooser *chooser = as_chooser_seeded(7);
	struct tally tally = { 0 };

	for (unsigned i = 0; i < n; i++) {
		struct as_disk *disk = some_disk(store, as_chooser_choice(chooser));
		struct recovery r = recover(disk, peeks);
		const struct as_memo_answer *answer = as_memo_find(memo, 0, disk);

		tally.asked++;
		tally.hits += answer != NULL;
		tally.wrong += answer && !is_right(memo, answer, disk, &r);
		if (!answer)
			assert_true(add(memo, disk, &r));
		recovery_free(&r);
		as_disk_free(disk);
	}
	as_chooser_free(chooser);
	t_store_done(store);
	return tally;
}

static void test_every_answer_is_right(void **state)
{
	struct as_memo *memo = as_memo_new(0);
	struct tally tally = try_disks(memo, 3000, false);
	struct as_memo_stats stats = as_memo_stats(memo);

	(void)state;
	assert_int_equal(tally.wrong, 0);
	/* There are 2^64 disks and at most 2^6 ways through them. */
	assert_true(tally.hits > 2900);
	assert_int_equal(stats.asked, tally.asked);
	assert_int_equal(stats.hits, tally.hits);
	assert_int_equal(stats.kept, tally.asked - tally.hits);
	assert_int_equal(stats.evicted + stats.refused, 0);
	as_memo_free(memo);
}

static void test_a_peek_is_caught(void **state)
{
	struct as_memo *memo = as_memo_new(0);

	(void)state;
	assert_true(try_disks(memo, 500, true).wrong > 0);
	as_memo_free(memo);
}

/* Adds what the recoveries of n disks are, and hands each on to `other` as bytes. */
static unsigned hand_on(struct as_memo *memo, struct as_memo *other, unsigned n)
{
	struct as_chunks *store = as_chunks_new();
	struct as_chooser *chooser = as_chooser_seeded(11);
	struct as_buf bytes = { 0 };
	unsigned handed = 0;

	for (unsigned i = 0; i < n; i++) {
		struct as_disk *disk = some_disk(store, as_chooser_choice(chooser));
		struct recovery r = recover(disk, false);

		if (!as_memo_find(memo, 0, disk)) {
			assert_true(add(memo, disk, &r));
			as_buf_clear(&bytes);
			as_memo_export(memo, &bytes);
			assert_true(as_memo_import(other, bytes.data, bytes.len));
			/* Once is enough. */
			assert_false(as_memo_import(other, bytes.data, bytes.len));
			assert_true(as_memo_find(other, 0, disk)->told);
			assert_false(as_memo_find(memo, 0, disk)->told);
			handed++;
		}
		recovery_free(&r);
		as_disk_free(disk);
	}
	as_buf_free(&bytes);
	as_chooser_free(chooser);
	t_store_done(store);
	return handed;
}

/* What one memo was told by another is right for all disks, and leaves nothing to be learnt. */
static void test_answers_are_handed_on(void **state)
{
	struct as_memo *memo = as_memo_new(0), *other = as_memo_new(0);
	unsigned handed = hand_on(memo, other, 3000);
	struct tally tally = try_disks(other, 1000, false);

	(void)state;
	assert_true(handed > 20);
	assert_int_equal(tally.wrong, 0);
	assert_int_equal(tally.hits, 1000);
	assert_int_equal(as_memo_stats(other).kept, handed);
	assert_int_equal(as_memo_stats(memo).kept, handed);
	assert_int_equal(as_memo_stats(other).questions, as_memo_stats(memo).questions);
	as_memo_free(memo);
	as_memo_free(other);
}

/* Whoever wrote the bytes may have been overwritten by a file system. */
static void test_bad_bytes_are_refused(void **state)
{
	struct as_memo *memo = as_memo_new(0), *other = as_memo_new(0);
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = t_disk_new(store, DISK_BYTES);
	struct recovery r = recover(disk, false);
	struct as_buf bytes = { 0 };

	(void)state;
	as_memo_export(memo, &bytes);
	assert_int_equal(bytes.len, 0); /* there is none */
	assert_true(add(memo, disk, &r));
	as_memo_export(memo, &bytes);
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= 1;
		assert_false(as_memo_import(other, bytes.data, bytes.len));
		bytes.data[i] ^= 1;
		assert_false(as_memo_import(other, bytes.data, i));
	}
	assert_int_equal(as_memo_stats(other).questions, 0);
	assert_true(as_memo_import(other, bytes.data, bytes.len));
	as_buf_free(&bytes);
	recovery_free(&r);
	as_disk_free(disk);
	as_memo_free(memo);
	as_memo_free(other);
	t_store_done(store);
}

static void test_memory_is_bounded(void **state)
{
	struct as_memo *memo = as_memo_new(24 << 10);
	struct tally tally = try_disks(memo, 2000, false);
	struct as_memo_stats stats = as_memo_stats(memo);

	(void)state;
	assert_int_equal(tally.wrong, 0);
	assert_true(stats.evicted > 0);
	assert_true(stats.memory_bytes <= 24 << 10);
	as_memo_free(memo);
}

/* ---- Single rules ---------------------------------------------------------------------------- */

struct bench {
	struct as_chunks *store;
	struct as_memo *memo;
	struct as_disk *disk, *work;
	struct as_reclog *log;
	struct as_bd *bd;
};

static struct bench set_up_of(uint64_t sectors)
{
	struct bench b = { .store = as_chunks_new(), .memo = as_memo_new(0) };

	b.disk = t_disk_new(b.store, sectors * SECTOR);
	for (uint64_t s = 0; s < sectors; s++)
		write_word(as_disk_bd(b.disk), s, s + 1);
	b.work = as_disk_snapshot(b.disk);
	b.log = as_reclog_new(as_disk_bd(b.work), AS_RECLOG_READS, 0);
	b.bd = as_reclog_bd(b.log);
	return b;
}

static struct bench set_up(void)
{
	return set_up_of(SECTORS);
}

static bool keep(struct bench *b, const struct as_memo_hint *hint)
{
	return as_memo_add(b->memo, 0, b->disk, b->log, hint,
			   &(struct as_memo_answer){ .end = 5, .why = "five" });
}

/* Whether a disk that has another word in this sector is answered. */
static bool known_with(struct bench *b, uint64_t sector)
{
	struct as_disk *other = as_disk_snapshot(b->disk);
	bool known;

	write_word(as_disk_bd(other), sector, 4711);
	known = as_memo_find(b->memo, 0, other);
	as_disk_free(other);
	return known;
}

static void tear_down(struct bench *b)
{
	as_memo_free(b->memo);
	as_reclog_free(b->log);
	as_disk_free(b->work);
	as_disk_free(b->disk);
	t_store_done(b->store);
}

/* What it wrote before it read it is its own; what it read before it wrote it is not. */
static void test_own_writes_are_no_question(void **state)
{
	struct bench b = set_up();

	(void)state;
	write_word(b.bd, 3, 99);
	assert_int_equal(read_word(b.bd, 3), 99);
	assert_int_equal(read_word(b.bd, 4), 5);
	write_word(b.bd, 4, 98);
	assert_true(keep(&b, NULL));
	assert_true(known_with(&b, 3));
	assert_false(known_with(&b, 4));
	assert_true(known_with(&b, 5));
	tear_down(&b);
}

/* A long read is one question about those of its sectors that are not known yet. */
static void test_parts_of_a_read(void **state)
{
	unsigned char buf[8 * SECTOR];
	struct bench b = set_up();

	(void)state;
	write_word(b.bd, 3, 99);
	assert_int_equal(as_bd_read(b.bd, 0, buf, sizeof(buf)), 0);
	assert_int_equal(as_bd_read(b.bd, 4 * SECTOR, buf, 2 * SECTOR), 0);
	assert_true(keep(&b, NULL));
	assert_true(known_with(&b, 3));
	assert_false(known_with(&b, 2));
	assert_false(known_with(&b, 7));
	assert_true(known_with(&b, 8));
	/* Sectors 0..2, and 4..7. */
	assert_int_equal(as_memo_stats(b.memo).questions, 2);
	tear_down(&b);
}

/* Windows of 64 KiB that are read from end to end are a question each, also when other sizes of
 * reads did that; the rest is asked for read by read. Every sector of them counts. */
static void test_windows(void **state)
{
	const uint64_t window = 128, sectors = 2 * window + 16;
	struct bench b = set_up_of(sectors);
	unsigned char buf[16 * SECTOR];

	(void)state;
	for (uint64_t s = 0; s < window; s += 8)
		assert_int_equal(as_bd_read(b.bd, s * SECTOR, buf, 8 * SECTOR), 0);
	for (uint64_t s = window; s < sectors; s += 16)
		assert_int_equal(as_bd_read(b.bd, s * SECTOR, buf, 16 * SECTOR), 0);
	assert_true(keep(&b, NULL));
	assert_int_equal(as_memo_stats(b.memo).questions, 3);
	assert_non_null(as_memo_find(b.memo, 0, b.disk));
	for (uint64_t s = 0; s < sectors; s++)
		assert_false(known_with(&b, s));
	tear_down(&b);
}

/* A window of which a part was written before, or is left out, is no window. */
static void test_no_windows(void **state)
{
	unsigned char buf[8 * SECTOR];
	struct bench b = set_up_of(256);

	(void)state;
	write_word(b.bd, 9, 99);
	for (uint64_t s = 0; s < 256; s += 8)
		if (s != 200)
			assert_int_equal(as_bd_read(b.bd, s * SECTOR, buf, 8 * SECTOR), 0);
	assert_true(keep(&b, NULL));
	for (uint64_t s = 0; s < 256; s++)
		assert_int_equal(known_with(&b, s), s == 9 || (s >= 200 && s < 208));
	/* 16 reads, one of them in two parts; and 15. */
	assert_int_equal(as_memo_stats(b.memo).questions, 32);
	tear_down(&b);
}

/* Two steps that read 64 sectors and differ in one: what they have in common is there once, and
 * what is left when either goes is one step. */
static void test_common_beginning(void **state)
{
	for (uint64_t differs = 0; differs < 64; differs += 21) {
		struct bench b = set_up_of(64);
		unsigned char buf[SECTOR];

		(void)state;
		for (uint64_t s = 0; s < 64; s++)
			assert_int_equal(as_bd_read(b.bd, s * SECTOR, buf, SECTOR), 0);
		assert_true(keep(&b, NULL));
		assert_int_equal(as_memo_stats(b.memo).questions, 64);
		assert_false(keep(&b, NULL));
		assert_int_equal(as_memo_stats(b.memo).questions, 64);
		write_word(as_disk_bd(b.disk), differs, 77);
		assert_null(as_memo_find(b.memo, 0, b.disk));
		assert_true(keep(&b, NULL));
		assert_int_equal(as_memo_stats(b.memo).questions, 128 - differs);
		assert_non_null(as_memo_find(b.memo, 0, b.disk));
		write_word(as_disk_bd(b.disk), 63, 78);
		assert_null(as_memo_find(b.memo, 0, b.disk));
		tear_down(&b);
	}
}

/* Disks of another size and other kinds of recovery are strangers. */
static void test_kinds_and_sizes(void **state)
{
	struct bench b = set_up();
	struct as_disk *larger = t_disk_new(b.store, 2 * DISK_BYTES);

	(void)state;
	read_word(b.bd, 1);
	write_word(as_disk_bd(larger), 1, 2);
	assert_true(keep(&b, NULL));
	assert_non_null(as_memo_find(b.memo, 0, b.disk));
	assert_null(as_memo_find(b.memo, 1, b.disk));
	assert_null(as_memo_find(b.memo, 0, larger));
	as_disk_free(larger);
	tear_down(&b);
}

/* A call that failed says nothing about other disks, nor does half a record. */
static void test_refused(void **state)
{
	unsigned char buf[SECTOR];
	struct bench b = set_up();
	struct as_reclog *small = as_reclog_new(as_disk_bd(b.work), AS_RECLOG_READ_DATA, 4096);

	(void)state;
	assert_int_equal(as_bd_read(b.bd, DISK_BYTES, buf, SECTOR), -EINVAL);
	assert_false(keep(&b, NULL));
	for (unsigned i = 0; i < SECTORS; i++)
		assert_int_equal(as_bd_read(as_reclog_bd(small), i * SECTOR, buf, SECTOR), 0);
	assert_true(as_reclog_overflowed(small));
	assert_false(
		as_memo_add(b.memo, 0, b.disk, small, NULL, &(struct as_memo_answer){ .why = "" }));
	assert_int_equal(as_memo_stats(b.memo).refused, 2);
	assert_int_equal(as_memo_stats(b.memo).questions, 0);
	as_reclog_free(small);
	tear_down(&b);
}

/* Many threads read in any order: the answer is found whichever way it was asked for, and a
 * recovery that has no order at all is not kept for ever. */
static void test_orders(void **state)
{
	struct bench b = set_up();
	unsigned kept = 0;

	(void)state;
	for (uint64_t first = 1; first <= 8; first++) {
		as_reclog_clear(b.log);
		write_word(as_disk_bd(b.disk), 20, first);
		read_word(b.bd, first);
		read_word(b.bd, 20);
		kept += keep(&b, NULL);
		assert_int_equal(as_memo_find(b.memo, 0, b.disk) != NULL, first <= 4);
	}
	assert_int_equal(kept, 4);
	assert_int_equal(as_memo_stats(b.memo).refused, 4);
	tear_down(&b);
}

/* What is said not to matter does not, as long as what says so is the same. */
static void test_hints(void **state)
{
	static const struct as_sector_span unseen[] = { { 10 * SECTOR, 4 * SECTOR } };
	static const struct as_sector_span why[] = { { 30 * SECTOR, SECTOR } };
	const struct as_memo_hint hint = { unseen, why, 1, 1 };
	unsigned char buf[8 * SECTOR];
	struct bench b = set_up();

	(void)state;
	assert_int_equal(as_bd_read(b.bd, 8 * SECTOR, buf, sizeof(buf)), 0);
	assert_true(keep(&b, &hint));
	assert_true(known_with(&b, 10));
	assert_true(known_with(&b, 13));
	assert_false(known_with(&b, 9));
	assert_false(known_with(&b, 14));
	assert_false(known_with(&b, 30));
	tear_down(&b);
}

/* A record can be made again from memory: reads and flushes in their places. */
static void test_redo_with_log(void **state)
{
	struct bench b = set_up();
	struct as_disk *copy;
	struct as_reclog *again;

	(void)state;
	read_word(b.bd, 1);
	write_word(b.bd, 2, 9);
	assert_int_equal(as_bd_flush(b.bd), 0);
	assert_int_equal(as_bd_zero(b.bd, 0, 2 * SECTOR), 0);
	assert_true(keep(&b, NULL));
	assert_non_null(as_memo_find(b.memo, 0, b.disk));
	copy = as_disk_snapshot(b.disk);
	again = as_reclog_new(as_disk_bd(copy), AS_RECLOG_READS, 0);
	as_memo_redo(b.memo, as_reclog_bd(again), true);
	assert_int_equal(as_reclog_len(again), as_reclog_len(b.log));
	for (size_t i = 0; i < as_reclog_len(again); i++) {
		const struct as_log_entry *e = as_reclog_at(again, i), *f = as_reclog_at(b.log, i);

		assert_true(e->kind == f->kind && e->off == f->off && e->len == f->len);
	}
	assert_true(as_disk_eq(copy, b.work));
	as_reclog_free(again);
	as_disk_free(copy);
	tear_down(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_answer_is_right),
		cmocka_unit_test(test_a_peek_is_caught),
		cmocka_unit_test(test_answers_are_handed_on),
		cmocka_unit_test(test_bad_bytes_are_refused),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_own_writes_are_no_question),
		cmocka_unit_test(test_parts_of_a_read),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_no_windows),
		cmocka_unit_test(test_common_beginning),
		cmocka_unit_test(test_kinds_and_sizes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_redo_with_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
