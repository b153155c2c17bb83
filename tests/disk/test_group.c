/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sync groups and cut points. Logs are written as letters: w write, d discard, z zero, f flush, r
 * read; W and F are a write and a flush that failed. The expected result is written in a short
 * form:
 *	groups	FIRST-END fN: PENDING...  (or "open:")
 *	cuts	AT/BASE: PENDING...
 */
#include "tests/lib/disk.h"

#include "base/buf.h"
#include "disk/fault.h"
#include "disk/group.h"

struct rig {
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_faulty *faulty;
	struct as_reclog *log;
};

static void play(struct rig *rig, char letter, unsigned i)
{
	static const struct as_fault_rule fail_flush = { .kind = AS_CALL_FLUSH,
							 .actions = AS_FAULT_ERROR,
							 .first = 1,
							 .last = 1,
							 .errnum = EIO };
	struct as_bd *bd = as_reclog_bd(rig->log);
	unsigned char buf[512];

	t_fill(buf, sizeof(buf), i);
	as_reclog_set_op(rig->log, 100 + i);
	switch (letter) {
	case 'w':
		assert_int_equal(as_bd_write(bd, (i % 16) * 512, buf, 512), 0);
		break;
	case 'W':
		assert_int_equal(as_bd_write(bd, 1, buf, 512), -EINVAL);
		break;
	case 'd':
		assert_int_equal(as_bd_discard(bd, (i % 8) * 512, 1024), 0);
		break;
	case 'z':
		assert_int_equal(as_bd_zero(bd, (i % 8) * 512, 1024), 0);
		break;
	case 'f':
		assert_int_equal(as_bd_flush(bd), 0);
		break;
	case 'F':
		as_faulty_plan(rig->faulty, &fail_flush, 1);
		assert_int_equal(as_bd_flush(bd), -EIO);
		break;
	default:
		assert_int_equal(as_bd_read(bd, 0, buf, 512), 0);
	}
}

static struct rig rig_new(const char *letters)
{
	struct rig rig = { .store = as_chunks_new() };

	rig.disk = t_disk_new(rig.store, 8192);
	rig.faulty = as_faulty_new(as_disk_bd(rig.disk), NULL, 0);
	rig.log = as_reclog_new(as_faulty_bd(rig.faulty), AS_RECLOG_READS, 0);
	for (unsigned i = 0; letters[i]; i++)
		play(&rig, letters[i], i);
	assert_int_equal(as_reclog_len(rig.log), strlen(letters));
	return rig;
}

static void rig_free(struct rig *rig)
{
	as_reclog_free(rig->log);
	as_faulty_free(rig->faulty);
	as_disk_free(rig->disk);
	t_store_done(rig->store);
}

static void print_list(struct as_buf *out, const size_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		as_buf_addf(out, " %zu", list[i]);
}

static void print_groups(const struct as_groups *groups, struct as_buf *out)
{
	for (size_t g = 0; g < as_groups_len(groups); g++) {
		struct as_group group = as_groups_at(groups, g);

		as_buf_addf(out, "%s%zu-%zu ", g ? " | " : "", group.first, group.end);
		if (group.flush == AS_GROUP_OPEN)
			as_buf_adds(out, "open:");
		else
			as_buf_addf(out, "f%zu:", group.flush);
		print_list(out, group.pending, group.n_pending);
	}
}

static void print_cuts(const struct as_groups *groups, struct as_buf *out)
{
	for (size_t k = 0; k < as_groups_cuts(groups); k++) {
		struct as_cut cut = as_groups_cut(groups, k);

		as_buf_addf(out, "%s%zu/%zu:", k ? " | " : "", cut.at, cut.base_end);
		print_list(out, cut.pending, cut.n_pending);
	}
}

static void test_by_hand(void **state)
{
	static const struct {
		const char *log, *groups, *cuts;
	} rows[] = {
		{ "", "0-0 open:", "0/0:" },
		{ "w", "0-1 open: 0", "0/0: | 1/0: 0" },
		{ "f", "0-1 f0: | 1-1 open:", "0/0: | 1/1:" },
		{ "r", "0-1 open:", "0/0:" },
		{ "wwf", "0-3 f2: 0 1 | 3-3 open:", "0/0: | 1/0: 0 | 2/0: 0 1 | 3/3:" },
		{ "dzf", "0-3 f2: 0 1 | 3-3 open:", "0/0: | 1/0: 0 | 2/0: 0 1 | 3/3:" },
		{ "wfw", "0-2 f1: 0 | 2-3 open: 2", "0/0: | 1/0: 0 | 2/2: | 3/2: 2" },
		/* A failed flush ends no group. */
		{ "wFwf", "0-4 f3: 0 2 | 4-4 open:", "0/0: | 1/0: 0 | 3/0: 0 2 | 4/4:" },
		/* Reads and failed writes are no cut points and are not pending. */
		{ "wrWdfz", "0-5 f4: 0 3 | 5-6 open: 5",
		  "0/0: | 1/0: 0 | 4/0: 0 3 | 5/5: | 6/5: 5" },
		{ "wffw", "0-2 f1: 0 | 2-3 f2: | 3-4 open: 3",
		  "0/0: | 1/0: 0 | 2/2: | 3/3: | 4/3: 3" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct rig rig = rig_new(rows[i].log);
		struct as_groups *groups = as_groups_new(rig.log);
		struct as_buf text = { 0 };

		print_groups(groups, &text);
		assert_string_equal(as_buf_str(&text), rows[i].groups);
		as_buf_clear(&text);
		print_cuts(groups, &text);
		assert_string_equal(as_buf_str(&text), rows[i].cuts);
		as_buf_free(&text);
		as_groups_free(groups);
		rig_free(&rig);
	}
}

/* Whether entry i is pending at `at`, directly from the rule. */
static bool waits(const char *log, size_t i, size_t at)
{
	if (i >= at || !strchr("wdz", log[i]))
		return false;
	for (size_t k = i + 1; k < at; k++)
		if (log[k] == 'f')
			return false;
	return true;
}

static void check_cut(const struct rig *rig, const char *log, struct as_cut cut)
{
	struct as_disk *whole = t_disk_new(rig->store, 8192), *parts = t_disk_new(rig->store, 8192);
	size_t n = 0;

	for (size_t i = 0; i < strlen(log); i++) {
		if (!waits(log, i, cut.at))
			continue;
		assert_true(n < cut.n_pending);
		assert_int_equal(cut.pending[n++], i);
		assert_true(i >= cut.base_end);
	}
	assert_int_equal(cut.n_pending, n);
	assert_int_equal(cut.op, cut.at ? 100 + cut.at - 1 : AS_RECLOG_NO_OP);
	/* The base with everything pending is the disk as it was. */
	assert_int_equal(as_reclog_replay(rig->log, 0, cut.at, as_disk_bd(whole), NULL), 0);
	assert_int_equal(as_reclog_replay(rig->log, 0, cut.base_end, as_disk_bd(parts), NULL), 0);
	for (size_t i = 0; i < cut.n_pending; i++)
		assert_int_equal(as_log_entry_apply(as_reclog_at(rig->log, cut.pending[i]),
						    as_disk_bd(parts)),
				 0);
	assert_true(as_disk_eq(whole, parts));
	as_disk_free(whole);
	as_disk_free(parts);
}

/* All logs of up to five letters. */
static void test_exhaustive(void **state)
{
	static const char letters[] = "wdzfrWF";
	struct as_chooser *chooser = as_chooser_exhaustive();
	unsigned n_logs = 0;

	(void)state;
	do {
		struct as_choice *choice = as_chooser_choice(chooser);
		char log[8] = "";
		unsigned len = as_choose(choice, 6), n_cuts = 1, n_flushes = 0;
		struct as_groups *groups;
		struct rig rig;

		for (unsigned i = 0; i < len; i++) {
			log[i] = letters[as_choose(choice, 7)];
			n_cuts += !!strchr("wdzf", log[i]);
			n_flushes += log[i] == 'f';
		}
		rig = rig_new(log);
		groups = as_groups_new(rig.log);
		assert_int_equal(as_groups_cuts(groups), n_cuts);
		assert_int_equal(as_groups_len(groups), n_flushes + 1);
		for (size_t k = 0; k < as_groups_cuts(groups); k++)
			check_cut(&rig, log, as_groups_cut(groups, k));
		as_groups_free(groups);
		rig_free(&rig);
		n_logs++;
	} while (as_chooser_next(chooser));
	assert_int_equal(n_logs, 1 + 7 + 49 + 343 + 2401 + 16807);
	as_chooser_free(chooser);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_exhaustive),
	};

	return cmocka_run_group_tests_name("disk/group", tests, NULL, NULL);
}
