/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault plans: the language, each kind of fault, what counts as fired, and the sweep that ends when
 * every call has failed once. */
#include "tests/lib/disk.h"

#include "base/buf.h"
#include "disk/fault.h"
#include "disk/log.h"

static void test_parse_prints_back(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ " ; ;\n", "" },
		{ "read:3:eio", "read:3:eio" },
		{ "write:5:EIO", "write:5:eio" },
		{ "WRITE:2:tear=1", "write:2:tear=1" },
		{ "write:2:eio,tear=1", "write:2:tear=1,eio" },
		{ "flush:1:drop;read:4:flip=100", "flush:1:drop read:4:flip=100" },
		{ "write:7+:enospc", "write:7+:enospc" },
		{ "zero:2..9:tear=0  discard:1..1:ENOMEM", "zero:2..9:tear=0 discard:1:enomem" },
		{ "write:1:flip=9,tear=2", "write:1:tear=2,flip=9" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct as_fault_rule *rules, *again;
		struct as_err err = { 0 };
		struct as_buf text = { 0 };
		size_t n, n_again;

		if (as_fault_parse(rows[i].text, &rules, &n, &err))
			fail_msg("%s: %s", rows[i].text, err.msg);
		as_fault_print(rules, n, &text);
		assert_string_equal(as_buf_str(&text), rows[i].want);
		assert_int_equal(as_fault_parse(as_buf_str(&text), &again, &n_again, &err), 0);
		assert_int_equal(n_again, n);
		as_buf_clear(&text);
		as_fault_print(again, n_again, &text);
		assert_string_equal(as_buf_str(&text), rows[i].want);
		free(rules);
		free(again);
		as_buf_free(&text);
	}
}

static void test_parse_errors(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "reed:1:eio",
		  "'reed:1:eio', column 1: expected read, write, flush, discard or zero" },
		{ "alloc:1:enomem", "column 1: expected read, write" },
		{ "read", "'read', column 5: expected ':'" },
		{ "read:", "column 6: expected the number of a call: N, N+ or N..M, from 1" },
		{ "read:0:eio", "column 7: expected the number of a call" },
		{ "read:-1:eio", "column 6: expected the number of a call" },
		{ "read:5..4:eio", "column 10: expected a last call that is not before the first" },
		{ "read:5..:eio", "column 9: expected the number of the last call" },
		{ "read:99999999999999999999:eio", "column 6: expected a smaller number" },
		{ "read:1", "column 7: expected ':'" },
		{ "read:1:", "column 8: expected an errno name such as eio, or tear=N" },
		{ "read:1:eoi", "column 8: expected an errno name" },
		{ "read:1:tear=1", "column 8: expected an action that fits this kind of call" },
		{ "read:1:drop", "column 8: expected an action that fits" },
		{ "flush:1:flip=1", "column 9: expected an action that fits" },
		{ "flush:1:tear=1", "column 9: expected an action that fits" },
		{ "write:1:tear", "column 13: expected '=' and a number" },
		{ "write:1:tear=x", "column 14: expected a number" },
		{ "write:1:drop,eio", "column 14: expected an action that goes with" },
		{ "write:1:eio,eio", "column 13: expected an action that goes with" },
		{ "read:1:eio,flip=3", "column 12: expected an action that goes with" },
		{ "write:1:eio!", "column 12: expected ',' and another action" },
		{ "write:1:eio,", "column 13: expected an errno name" },
		{ "read:1:eio write:x:eio flush:1:drop",
		  "'write:x:eio', column 7: expected the number of a call" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct as_fault_rule *rules;
		struct as_err err = { 0 };
		size_t n;

		assert_int_equal(as_fault_parse(rows[i].text, &rules, &n, &err), AS_EUSE);
		assert_null(rules);
		if (!strstr(err.msg, rows[i].want))
			fail_msg("%s: got \"%s\", want \"%s\"", rows[i].text, err.msg,
				 rows[i].want);
	}
}

/* ---- Each kind of fault ---------------------------------------------------------------------- */

#define SIZE UINT64_C(65536)

struct rig {
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_reclog *log; /* below the faults: it records what gets through */
	struct as_faulty *faulty;
	struct as_bd *bd;
	unsigned char flat[SIZE];
};

static void rig_init(struct rig *rig, const char *plan)
{
	struct as_fault_rule *rules;
	struct as_err err = { 0 };
	size_t n;

	if (as_fault_parse(plan, &rules, &n, &err))
		fail_msg("%s", err.msg);
	rig->store = as_chunks_new();
	rig->disk = t_disk_new(rig->store, SIZE);
	t_fill(rig->flat, SIZE, 1);
	t_write_fill(as_disk_bd(rig->disk), 0, SIZE, 1);
	rig->log = as_reclog_new(as_disk_bd(rig->disk), AS_RECLOG_READS, 0);
	rig->faulty = as_faulty_new(as_reclog_bd(rig->log), rules, n);
	rig->bd = as_faulty_bd(rig->faulty);
	free(rules);
}

static void rig_done(struct rig *rig)
{
	as_faulty_free(rig->faulty);
	as_reclog_free(rig->log);
	as_disk_free(rig->disk);
	t_store_done(rig->store);
}

/* One call of each kind on sectors 8..11, three times over; the rule meets the second round. */
static void test_each_fault(void **state)
{
	enum { OFF = 4096, LEN = 2048 };
	static const struct {
		const char *plan;
		enum as_call kind;
		int want; /* answer of the second call */
		size_t lands; /* bytes of it that reach the disk */
		int flipped; /* which byte of the data differs, or -1 */
		unsigned fired;
	} rows[] = {
		{ "write:2:eio", AS_CALL_WRITE, -EIO, 0, -1, 1 },
		{ "write:2:enospc", AS_CALL_WRITE, -ENOSPC, 0, -1, 1 },
		{ "write:2:tear=1", AS_CALL_WRITE, 0, 512, -1, 1 },
		{ "write:2:tear=3,eio", AS_CALL_WRITE, -EIO, 1536, -1, 1 },
		{ "write:2:tear=0", AS_CALL_WRITE, 0, 0, -1, 1 },
		{ "write:2:tear=4", AS_CALL_WRITE, 0, 2048, -1, 0 },
		{ "write:2:tear=4,eio", AS_CALL_WRITE, -EIO, 2048, -1, 1 },
		{ "write:2:drop", AS_CALL_WRITE, 0, 0, -1, 1 },
		{ "write:2:flip=100", AS_CALL_WRITE, 0, 2048, 12, 1 },
		{ "write:2:flip=16384", AS_CALL_WRITE, 0, 2048, 0, 1 },
		{ "write:2:tear=2,flip=8", AS_CALL_WRITE, 0, 1024, 1, 1 },
		{ "zero:2:eio", AS_CALL_ZERO, -EIO, 0, -1, 1 },
		{ "zero:2:tear=1", AS_CALL_ZERO, 0, 512, -1, 1 },
		{ "zero:2:drop", AS_CALL_ZERO, 0, 0, -1, 1 },
		{ "discard:2:eio", AS_CALL_DISCARD, -EIO, 0, -1, 1 },
		{ "discard:2:tear=2,eio", AS_CALL_DISCARD, -EIO, 1024, -1, 1 },
		{ "discard:2:drop", AS_CALL_DISCARD, 0, 0, -1, 1 },
		{ "write:4:eio", AS_CALL_WRITE, 0, 2048, -1, 0 },
		{ "zero:2:eio", AS_CALL_WRITE, 0, 2048, -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct rig rig;
		unsigned char data[LEN], sent[LEN];

		rig_init(&rig, rows[i].plan);
		for (unsigned round = 1; round <= 3; round++) {
			uint64_t off = OFF * round;
			size_t lands = round == 2 ? rows[i].lands : LEN;
			int want = round == 2 ? rows[i].want : 0, rc;

			t_fill(data, LEN, 10 + round);
			if (rows[i].kind != AS_CALL_WRITE)
				memset(data, 0, LEN);
			memcpy(sent, data, LEN);
			memcpy(rig.flat + off, data, lands);
			if (round == 2 && rows[i].flipped >= 0)
				rig.flat[off + (unsigned)rows[i].flipped] ^=
					rows[i].flipped == 12 ? 16 : 1;
			if (rows[i].kind == AS_CALL_WRITE)
				rc = as_bd_write(rig.bd, off, data, LEN);
			else if (rows[i].kind == AS_CALL_ZERO)
				rc = as_bd_zero(rig.bd, off, LEN);
			else
				rc = as_bd_discard(rig.bd, off, LEN);
			assert_int_equal(rc, want);
			assert_memory_equal(data, sent, LEN);
		}
		assert_int_equal(as_faulty_fired(rig.faulty, 0), rows[i].fired);
		assert_int_equal(as_faulty_calls(rig.faulty, rows[i].kind), 3);
		t_assert_holds(as_disk_bd(rig.disk), rig.flat);
		rig_done(&rig);
	}
}

static void test_reads(void **state)
{
	struct rig rig;
	unsigned char buf[1024], want[1024];

	(void)state;
	rig_init(&rig, "read:1:eio read:2:flip=100 read:4+:enodata read:2:eio");
	memcpy(want, rig.flat + 512, sizeof(want));
	assert_int_equal(as_bd_read(rig.bd, 512, buf, 1024), -EIO);
	assert_int_equal(as_reclog_len(rig.log), 0);
	assert_int_equal(as_bd_read(rig.bd, 512, buf, 1024), 0);
	want[12] ^= 16;
	assert_memory_equal(buf, want, 1024);
	want[12] ^= 16;
	assert_int_equal(as_bd_read(rig.bd, 512, buf, 1024), 0);
	assert_memory_equal(buf, want, 1024);
	assert_int_equal(as_bd_read(rig.bd, 512, buf, 1024), -ENODATA);
	assert_int_equal(as_bd_read(rig.bd, 512, buf, 1024), -ENODATA);
	/* An invalid call is the caller's mistake, and no rule fires. */
	assert_int_equal(as_bd_read(rig.bd, 1, buf, 1024), -EINVAL);
	assert_int_equal(as_faulty_calls(rig.faulty, AS_CALL_READ), 6);
	assert_int_equal(as_faulty_fired(rig.faulty, 0), 1);
	assert_int_equal(as_faulty_fired(rig.faulty, 1), 1);
	assert_int_equal(as_faulty_fired(rig.faulty, 2), 2);
	assert_int_equal(as_faulty_fired(rig.faulty, 3), 0); /* an earlier rule won */
	assert_int_equal(as_faulty_fired_any(rig.faulty), 4);
	t_assert_holds(as_disk_bd(rig.disk), rig.flat);
	rig_done(&rig);
}

static void test_flushes(void **state)
{
	static const struct {
		int want;
		size_t reached; /* flushes that reach the disk after this one */
	} rounds[] = { { 0, 1 }, { 0, 1 }, { -EIO, 1 }, { -EIO, 1 }, { 0, 2 } };
	struct rig rig;

	(void)state;
	rig_init(&rig, "flush:2:drop flush:3..4:eio");
	for (size_t i = 0; i < N_ROWS(rounds); i++) {
		assert_int_equal(as_bd_flush(rig.bd), rounds[i].want);
		assert_int_equal(as_reclog_len(rig.log), rounds[i].reached);
	}
	assert_int_equal(as_faulty_fired(rig.faulty, 0), 1);
	assert_int_equal(as_faulty_fired(rig.faulty, 1), 2);
	rig_done(&rig);
}

/* A little client: 4 writes, a flush, and it gives up at the first error. */
static int client(struct as_bd *bd)
{
	unsigned char buf[512];
	int rc = 0;

	for (unsigned i = 0; !rc && i < 4; i++) {
		t_fill(buf, sizeof(buf), i);
		rc = as_bd_write(bd, i * 512, buf, 512);
	}
	return rc ? rc : as_bd_flush(bd);
}

/* Fail call 1, 2, 3 … until a run ends in which nothing fired. */
static void test_sweep(void **state)
{
	struct rig rig;
	unsigned n_failed = 0;

	(void)state;
	rig_init(&rig, "");
	for (unsigned n = 1;; n++) {
		struct as_fault_rule rule = { .kind = AS_CALL_WRITE,
					      .actions = AS_FAULT_ERROR,
					      .first = n,
					      .last = n,
					      .errnum = EIO };
		int rc;

		as_faulty_plan(rig.faulty, &rule, 1);
		rc = client(rig.bd);
		if (!as_faulty_fired_any(rig.faulty)) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -EIO);
		assert_int_equal(as_faulty_calls(rig.faulty, AS_CALL_WRITE), n);
		n_failed++;
	}
	assert_int_equal(n_failed, 4);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_prints_back), cmocka_unit_test(test_parse_errors),
		cmocka_unit_test(test_each_fault),	  cmocka_unit_test(test_reads),
		cmocka_unit_test(test_flushes),		  cmocka_unit_test(test_sweep),
	};

	return cmocka_run_group_tests_name("disk/fault", tests, NULL, NULL);
}
