/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step: the step machine of recovery, with a driver that is made up: its checkers and its mount do
 * what a sector of the disk tells them to. Ways are paths of steps, steps are remembered by what
 * they read, the log of a recovery leads to its disk, a read can be made to fail. The mutant is a
 * driver that answers by something it did not read: the machine must notice.
 */
#include "tests/lib/disk.h"

#include "disk/fault.h"
#include "recover/step_priv.h"
#include "snapshot/tree.h"

#include <errno.h>
#include <sys/stat.h>

#define SECTOR 512u
#define DISK_BYTES (16u * SECTOR)

/* What each byte of sector 0 tells the driver. */
enum order {
	REPAIR,
	REFUSE,
	MOUNT_REFUSES,
	PROBE_FAILS,
	DAMAGED,
	STALE,
	LOOK_STALE,
	LOOK_REFUSES,
	LOOK_LOSES,
	ORDERS
};

struct made_up {
	struct as_recoverer base;
	bool peeks; /* the mutant: it answers by how often it ran */
	unsigned runs;
};

static struct as_tree *tree_of(uint32_t nlink)
{
	struct as_tree_maker *maker = as_tree_maker_new();
	struct as_tree_node root = { .name = "", .mode = S_IFDIR | 0755, .nlink = nlink };

	as_tree_maker_add(maker, AS_TREE_NONE, 1, &root);
	return as_tree_maker_done(maker);
}

static void end(struct as_stepped *out, enum as_recovery_end end, const char *why)
{
	out->end = end;
	as_buf_adds(&out->why, why);
}

/* Checkers read sector 0 and write sector 1. The mount reads sectors 0 and 1, writes sector 2 and
 * flushes; reading the tree reads sector 4. The probe reads sector 0, and so does the mount without
 * replay, which finds another tree if it is told to. */
static void act(struct made_up *m, enum as_step step, struct as_bd *bd, struct as_stepped *out)
{
	unsigned char order[SECTOR], data[SECTOR];

	if (as_bd_read(bd, 0, order, SECTOR)) {
		end(out, AS_REFUSED, "made up: cannot read");
	} else if (as_step_is_checker(step)) {
		out->repaired = order[REPAIR];
		if (order[REFUSE])
			end(out, AS_REFUSED, "made up: too bad");
		else if (order[DAMAGED])
			as_buf_adds(&out->why, "made up: damaged");
		memset(data, 1, sizeof(data));
		assert_int_equal(as_bd_write(bd, SECTOR, data, SECTOR), 0);
		out->tree_at = out->log ? as_reclog_len(out->log) : 0;
	} else if (step == AS_STEP_PROBE) {
		if (order[PROBE_FAILS])
			end(out, AS_COMPLAINED, "made up: cannot write");
	} else if (step == AS_STEP_LOOK && order[LOOK_REFUSES]) {
		end(out, AS_REFUSED, "made up: not without a recovery");
	} else if (step == AS_STEP_LOOK) {
		out->tree = tree_of(order[LOOK_STALE] ? 3 : 2);
		memcpy(data, order, sizeof(data));
		data[MOUNT_REFUSES] = order[LOOK_LOSES];
		assert_int_equal(as_bd_write(bd, 0, data, SECTOR), 0);
	} else if (step == AS_STEP_REREAD) {
		out->tree = tree_of(order[STALE] ? 3 : 2);
	} else if (order[MOUNT_REFUSES] || as_bd_read(bd, SECTOR, data, SECTOR)) {
		end(out, AS_REFUSED, "made up: mount says no");
	} else {
		assert_int_equal(as_bd_write(bd, 2 * SECTOR, order, SECTOR), 0);
		assert_int_equal(as_bd_flush(bd), 0);
		out->tree_at = out->log ? as_reclog_len(out->log) : 0;
		out->tree = tree_of(2 + (m->peeks ? m->runs : 0));
		assert_int_equal(as_bd_read(bd, 4 * SECTOR, data, SECTOR), 0);
	}
}

static int made_up_run(struct as_recoverer *r, enum as_step step, struct as_disk *disk,
		       bool want_log, struct as_stepped *out, struct as_err *err)
{
	struct made_up *m = (struct made_up *)r;
	struct as_faulty *faulty;
	struct as_bd *bd;

	(void)err;
	m->runs++;
	out->disk = as_disk_snapshot(disk);
	bd = as_disk_bd(out->disk);
	if (want_log) {
		out->log = as_reclog_new(bd, AS_RECLOG_READS, 0);
		bd = as_reclog_bd(out->log);
	}
	faulty = as_step_faulty(r, bd);
	act(m, step, faulty ? as_faulty_bd(faulty) : bd, out);
	as_step_faulty_end(r, faulty);
	return 0;
}

static void made_up_free(struct as_recoverer *r)
{
	(void)r;
}

static const struct as_step_driver driver = {
	.name = "made up",
	.run = made_up_run,
	.free = made_up_free,
	.verify_every = 1,
	.logs_refusal = true,
	.peace_words = "looking: ",
	.probe_words = "probing: ",
};

static struct as_step_driver without_log;

struct bench {
	struct as_chunks *store;
	struct as_disk *disk;
	struct made_up m;
};

static void set(struct as_disk *disk, unsigned sector, unsigned at, unsigned char value)
{
	unsigned char buf[SECTOR];

	assert_int_equal(as_bd_read(as_disk_bd(disk), sector * SECTOR, buf, SECTOR), 0);
	buf[at] = value;
	assert_int_equal(as_bd_write(as_disk_bd(disk), sector * SECTOR, buf, SECTOR), 0);
}

static struct bench open_bench(enum as_memo_mode memo, int order)
{
	const struct as_recover_options options = { .memo = memo };
	struct bench b = { .store = as_chunks_new() };

	b.disk = t_disk_new(b.store, DISK_BYTES);
	if (order >= 0)
		set(b.disk, 0, (unsigned)order, 1);
	as_recoverer_init(&b.m.base, &driver, &options);
	b.m.base.ways = AS_WAYS_ALL;
	b.m.base.strictest = AS_STEP_FULL;
	return b;
}

static void close_bench(struct bench *b)
{
	as_recoverer_free(&b->m.base);
	as_disk_free(b->disk);
	t_store_done(b->store);
}

static struct as_recovered go(struct bench *b, enum as_way way, unsigned flags)
{
	struct as_recovered got;
	struct as_err err;

	if (as_recover(&b->m.base, way, b->disk, flags, &got, &err))
		fail_msg("%s", err.msg);
	return got;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

static void test_ends(void **state)
{
	static const struct {
		int order;
		enum as_way way;
		enum as_recovery_end end;
		const char *why;
		unsigned runs; /* steps that were carried out */
	} rows[] = {
		{ -1, AS_WAY_MOUNT, AS_RECOVERED, "", 3 }, /* mount, full, probe */
		{ -1, AS_WAY_QUICK, AS_RECOVERED, "", 4 },
		{ REPAIR, AS_WAY_DEFAULT, AS_RECOVERED, "", 4 },
		{ REFUSE, AS_WAY_DEFAULT, AS_REFUSED, "made up: too bad", 1 },
		{ MOUNT_REFUSES, AS_WAY_QUICK, AS_REFUSED, "made up: mount says no", 2 },
		{ PROBE_FAILS, AS_WAY_MOUNT, AS_COMPLAINED, "probing: made up: cannot write", 3 },
		{ DAMAGED, AS_WAY_MOUNT, AS_COMPLAINED, "probing: made up: damaged", 2 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct bench b = open_bench(AS_MEMO_OFF, rows[i].order);
		struct as_recovered got = go(&b, rows[i].way, AS_RECOVER_PROBE);

		assert_int_equal(got.end, rows[i].end);
		assert_string_equal(as_buf_str(&got.why), rows[i].why);
		assert_int_equal(got.repaired, rows[i].order == REPAIR);
		assert_int_equal(!got.tree, rows[i].end == AS_REFUSED);
		assert_int_equal(b.m.runs, rows[i].runs);
		as_recovered_free(&got);
		close_bench(&b);
	}
}

/* What a mount has recovered is read again without replay. The mutant is a recovery that kept what
 * it replayed in memory: without that, all is well with it. */
static void test_reread(void **state)
{
	static const char *const stale = "probing: a mount without replay does not agree: ";
	static const struct {
		bool rereads, written; /* written: by an earlier recovery */
		int order;
		enum as_way way;
		bool found;
		unsigned runs;
	} rows[] = {
		{ true, false, REPAIR, AS_WAY_MOUNT, false, 4 },
		{ true, false, STALE, AS_WAY_MOUNT, true, 2 },
		{ false, false, STALE, AS_WAY_MOUNT, false, 3 },
		/* A checker's way, and a mount that had nothing to do. */
		{ true, false, STALE, AS_WAY_FULL, false, 4 },
		{ true, true, STALE, AS_WAY_MOUNT, false, 3 },
		/* A way of its own. */
		{ true, false, STALE, AS_WAY_COMMIT, false, 3 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct bench b = open_bench(AS_MEMO_OFF, rows[i].order);
		struct as_recovered got;

		if (rows[i].written)
			set(b.disk, 2, STALE, 1);
		b.m.base.rereads = rows[i].rereads;
		got = go(&b, rows[i].way, AS_RECOVER_PROBE);
		assert_int_equal(got.end, rows[i].found ? AS_COMPLAINED : AS_RECOVERED);
		assert_int_equal(strncmp(as_buf_str(&got.why), stale, strlen(stale)) == 0,
				 rows[i].found);
		assert_int_equal(b.m.runs, rows[i].runs);
		assert_non_null(got.tree);
		assert_int_equal(as_tree_at(got.tree, 0)->nlink,
				 rows[i].way == AS_WAY_COMMIT ? 3 : 2);
		as_recovered_free(&got);
		close_bench(&b);
	}
}

/* A crashed disk is also mounted read-only, and then made writable. The mutants are a mount that
 * shows something else as long as it is read-only, and one that loses what it showed. */
static void test_look(void **state)
{
	static const struct {
		bool looks;
		int order;
		enum as_way way;
		const char *why; /* how it begins; NULL: all is well */
		unsigned runs;
	} rows[] = {
		{ true, REPAIR, AS_WAY_MOUNT, NULL, 5 },
		{ true, LOOK_STALE, AS_WAY_MOUNT,
		  "probing: a read-only mount does not agree: ", 2 },
		{ true, LOOK_LOSES, AS_WAY_MOUNT, "probing: made up: mount says no", 3 },
		/* It may refuse, and not every target can do it. */
		{ true, LOOK_REFUSES, AS_WAY_MOUNT, NULL, 4 },
		{ false, LOOK_STALE, AS_WAY_MOUNT, NULL, 3 },
		/* A checker's way. */
		{ true, LOOK_STALE, AS_WAY_FULL, NULL, 4 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct bench b = open_bench(AS_MEMO_OFF, rows[i].order);
		const char *why = rows[i].why ? rows[i].why : "";
		struct as_recovered got;

		b.m.base.looks = rows[i].looks;
		got = go(&b, rows[i].way, AS_RECOVER_PROBE);
		assert_int_equal(got.end, rows[i].why ? AS_COMPLAINED : AS_RECOVERED);
		assert_int_equal(strncmp(as_buf_str(&got.why), why, strlen(why)), 0);
		assert_int_equal(b.m.runs, rows[i].runs);
		as_recovered_free(&got);
		close_bench(&b);
	}
}

static void test_peace(void **state)
{
	struct as_buf why = { 0 };
	struct bench b = open_bench(AS_MEMO_ON, -1);

	(void)state;
	assert_true(as_recover_at_peace(&b.m.base, b.disk, &why));
	set(b.disk, 0, DAMAGED, 1);
	assert_false(as_recover_at_peace(&b.m.base, b.disk, &why));
	assert_string_equal(as_buf_str(&why), "looking: made up: damaged");
	b.m.base.strictest = AS_STEPS;
	assert_true(as_recover_at_peace(&b.m.base, b.disk, &why));
	as_buf_free(&why);
	close_bench(&b);
}

/* ---- Logs ------------------------------------------------------------------------------------ */

/* The log has the checker's entries, then the mount's, and leads to the disk. */
static void test_log(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		struct bench b = open_bench(AS_MEMO_ON, -1);
		struct as_disk *again = as_disk_snapshot(b.disk);
		struct as_recovered got;
		struct as_err err;

		if (known) {
			got = go(&b, AS_WAY_FULL, 0);
			as_recovered_free(&got);
		}
		got = go(&b, AS_WAY_FULL, AS_RECOVER_LOG);
		assert_int_equal(got.memoised, known);
		assert_int_equal(got.checker_end, 2);
		assert_int_equal(as_reclog_len(got.log), 2 + 4);
		assert_int_equal(as_reclog_replay(got.log, 0, 6, as_disk_bd(again), &err), 0);
		assert_true(as_disk_eq(again, got.disk));
		as_recovered_free(&got);
		as_disk_free(again);
		close_bench(&b);
	}
}

static void test_log_of_refusal(void **state)
{
	(void)state;
	without_log = driver;
	without_log.logs_refusal = false;
	for (int kept = 0; kept < 2; kept++) {
		struct bench b = open_bench(AS_MEMO_OFF, REFUSE);
		struct as_recovered got;

		if (!kept)
			b.m.base.driver = &without_log;
		got = go(&b, AS_WAY_QUICK, AS_RECOVER_LOG);
		assert_int_equal(got.end, AS_REFUSED);
		assert_int_equal(got.log != NULL, kept);
		assert_int_equal(got.disk != NULL, kept);
		as_recovered_free(&got);
		close_bench(&b);
	}
}

/* ---- The memo -------------------------------------------------------------------------------- */

static void test_memo(void **state)
{
	static const struct {
		int sector; /* that is changed before the second recovery; -1: none */
		bool known;
	} rows[] = { { -1, true }, { 0, false }, { 1, true }, { 4, false }, { 9, true } };

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct bench b = open_bench(AS_MEMO_VERIFY, -1);
		struct as_recovered got = go(&b, AS_WAY_QUICK, 0);
		struct as_step_stats stats;

		assert_false(got.memoised);
		as_recovered_free(&got);
		if (rows[i].sector >= 0)
			set(b.disk, (unsigned)rows[i].sector, ORDERS, 7);
		got = go(&b, AS_WAY_QUICK, 0);
		assert_int_equal(got.memoised, rows[i].known);
		assert_int_equal(got.end, AS_RECOVERED);
		stats = as_recoverer_stats(&b.m.base);
		assert_int_equal(stats.asked[AS_STEP_QUICK], 2);
		assert_int_equal(stats.verified, stats.memo.hits);
		assert_int_equal(stats.other_bytes, 0);
		as_recovered_free(&got);
		close_bench(&b);
	}
}

static void test_mutant(void **state)
{
	struct bench b = open_bench(AS_MEMO_VERIFY, -1);
	struct as_recovered got;
	struct as_err err;

	(void)state;
	b.m.peeks = true;
	got = go(&b, AS_WAY_MOUNT, 0);
	as_recovered_free(&got);
	assert_int_equal(as_recover(&b.m.base, AS_WAY_MOUNT, b.disk, 0, &got, &err), AS_EIO);
	assert_non_null(strstr(err.msg, "mount remembered wrongly"));
	as_recovered_free(&got);
	close_bench(&b);
}

/* ---- Reads that fail ------------------------------------------------------------------------- */

static void test_fail_read(void **state)
{
	static const struct {
		uint64_t nth;
		enum as_recovery_end end;
		const char *why;
		bool failed;
	} rows[] = {
		{ 1, AS_REFUSED, "made up: cannot read", true }, /* the checker's */
		{ 2, AS_REFUSED, "made up: cannot read", true }, /* the mount's */
		{ 3, AS_REFUSED, "made up: mount says no", true },
		{ 5, AS_RECOVERED, "", false }, /* there are four */
	};
	struct bench b = open_bench(AS_MEMO_ON, -1);
	struct as_recovered got = go(&b, AS_WAY_QUICK, 0);

	(void)state;
	as_recovered_free(&got);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		(void)as_recover_fail(&b.m.base, AS_RECOVER_FAIL_READ, rows[i].nth);
		got = go(&b, AS_WAY_QUICK, 0);
		assert_false(got.memoised);
		assert_int_equal(got.end, rows[i].end);
		assert_string_equal(as_buf_str(&got.why), rows[i].why);
		assert_int_equal(as_recover_fail(&b.m.base, AS_RECOVER_FAIL_READ, 0),
				 rows[i].failed);
		as_recovered_free(&got);
	}
	got = go(&b, AS_WAY_QUICK, 0);
	assert_true(got.memoised && got.end == AS_RECOVERED);
	as_recovered_free(&got);
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),	  cmocka_unit_test(test_reread),
		cmocka_unit_test(test_look),	  cmocka_unit_test(test_peace),
		cmocka_unit_test(test_log),	  cmocka_unit_test(test_log_of_refusal),
		cmocka_unit_test(test_memo),	  cmocka_unit_test(test_mutant),
		cmocka_unit_test(test_fail_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
