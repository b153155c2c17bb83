/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of the room fsck: Table 1, maps of exit statuses, damages, states of sessions that are
 * damaged themselves; and runs that are forked where they first read a damaged sector, which must
 * be the same as whole runs, byte for byte.
 */
#include "damage/generic.h"
#include "fsck/corrupt.h"
#include "fsck/judge.h"
#include "fsck/loss.h"
#include "fsck/state.h"
#include "tests/lib/skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Table 1 ---- */

static void test_table_1(void **state)
{
	static const struct {
		enum as_check_answer first, second;
	} right[] = {
		{ AS_CHECK_CLEAN, AS_CHECK_CLEAN },	   { AS_CHECK_LEFT, AS_CHECK_LEFT },
		{ AS_CHECK_REPAIRED_LEFT, AS_CHECK_LEFT }, { AS_CHECK_REPAIRED, AS_CHECK_CLEAN },
		{ AS_CHECK_FAILED, AS_CHECK_FAILED },
	};
	unsigned agree = 0;

	(void)state;
	for (unsigned i = 0; i < AS_CHECK_ANSWERS; i++)
		for (unsigned k = 0; k < AS_CHECK_ANSWERS; k++)
			agree += as_fsck_agree((enum as_check_answer)i, (enum as_check_answer)k);
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_true(as_fsck_agree(right[i].first, right[i].second));
	assert_int_equal(agree, sizeof(right) / sizeof(right[0]));
}

static void test_exits(void **state)
{
	static const char *const wrong[] = {
		"",	     " ",	 "0",	      "0=",	   "=clean",	     "0=fine",
		"0=clean 1", "-1=clean", "256=clean", "3-1=clean", "0=clean,1=left", "x=clean",
		"0-=clean",  "0=cleanx",
	};
	const char *map = "0=clean 1-3=repaired 4=left 8-255=failed";
	enum as_check_answer answer;
	struct as_err err;

	(void)state;
	assert_int_equal(as_exits_vet(map, &err), 0);
	assert_true(as_exits_find(map, 2, &answer));
	assert_int_equal(answer, AS_CHECK_REPAIRED);
	assert_false(as_exits_find(map, 5, &answer));
	assert_int_equal(answer, AS_CHECK_FAILED);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(as_exits_vet(wrong[i], &err), AS_EUSE);
		(void)as_exits_find(wrong[i], 0, &answer);
	}
	/* Every row says what its statuses mean. */
	for (unsigned i = 0; as_checker_at(i); i++) {
		const char *const both[] = { as_checker_at(i)->exits,
					     as_checker_at(i)->look_exits };

		for (unsigned k = 0; k < 2; k++) {
			if (!both[k])
				continue;
			assert_int_equal(as_exits_vet(both[k], &err), 0);
			assert_true(as_exits_find(both[k], 0, &answer));
			assert_int_equal(answer, AS_CHECK_CLEAN);
		}
	}
}

/* ---- Sessions ---- */

static void test_state(void **state)
{
	struct as_fsck_state was = { .checker = as_xstrdup("e2fsck:ext2"),
				     .model = as_xstrdup("bits"),
				     .seed = 7,
				     .next = 4711 };
	struct as_fsck_state is;
	struct as_buf text = { 0 }, again = { 0 };
	struct as_err err;

	(void)state;
	assert_true(as_fsck_known_add(&was.known, "fsck: twice: a; field b", 3));
	assert_false(as_fsck_known_add(&was.known, "fsck: twice: a; field b", 1));
	as_fsck_state_print(&was, &text);
	assert_int_equal(as_fsck_state_parse("f", as_buf_str(&text), &is, &err), 0);
	as_fsck_state_print(&is, &again);
	assert_string_equal(as_buf_str(&text), as_buf_str(&again));
	as_fsck_state_free(&is);
	/* Every byte changed to some others, and every end: it is refused, or it is a state. */
	for (size_t i = 0; i < text.len; i++) {
		static const char other[] = "\0\n -9x";
		char kept = text.data[i];

		for (size_t k = 0; k < sizeof(other); k++) {
			text.data[i] = other[k];
			if (!as_fsck_state_parse("f", text.data, &is, &err))
				as_fsck_state_free(&is);
		}
		text.data[i] = kept;
	}
	as_buf_free(&text);
	as_buf_free(&again);
	as_fsck_state_free(&was);
}

/* ---- Damages ---- */

static void test_damage(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_damage d = { 0 };
	struct as_disk *a, *b, *c;
	unsigned char sector[512] = { 1, 2, 3 };
	bool kept[] = { true, false, true };
	struct as_buf words = { 0 };
	struct as_err err;

	(void)state;
	assert_int_equal(as_disk_new(store, 1 << 20, &a, &err), 0);
	b = as_disk_snapshot(a);
	assert_false(as_damage_diff(&d, a, b));
	assert_int_equal(as_bd_write(as_disk_bd(b), 8192, sector, sizeof(sector)), 0);
	assert_true(as_damage_diff(&d, a, b));
	assert_int_equal(d.n, 3);
	c = as_damage_apply(&d, a, NULL);
	assert_true(as_disk_eq(b, c));
	as_disk_free(c);
	c = as_damage_apply(&d, a, kept);
	assert_int_equal(as_bd_read(as_disk_bd(c), 8192, sector, sizeof(sector)), 0);
	assert_int_equal(sector[0], 1);
	assert_int_equal(sector[1], 0);
	assert_int_equal(sector[2], 3);
	as_damage_say_bytes(&d, &words);
	assert_string_equal(as_buf_str(&words), "bytes 8192 to 8194: 00 00 00 become 01 02 03\n");
	as_buf_free(&words);
	as_damage_free(&d);
	as_disk_free(a);
	as_disk_free(b);
	as_disk_free(c);
	as_chunks_free(store);
}

/* ---- Forks ---- */

struct rig {
	struct as_chunks *store;
	struct as_generic generic;
	struct as_fsck_subject *subject, *from_main; /* from_main: nothing of its runs is shared */
	struct as_judge *judge;
	struct as_fsck_base base;
	struct as_corrupt *corrupt;
};

static void same_run(const struct as_subject_run *whole, const struct as_subject_run *part)
{
	assert_int_equal(whole->run.ended.how, part->run.ended.how);
	assert_int_equal(whole->run.ended.status, part->run.ended.status);
	assert_string_equal(as_buf_str(&whole->run.output), as_buf_str(&part->run.output));
	assert_true(as_disk_eq(whole->run.disk, part->run.disk));
	assert_int_equal(whole->run.reads, part->run.reads);
	assert_int_equal(as_reclog_len(whole->run.log), as_reclog_len(part->run.log));
}

/* The same of what a run has left: on the first such disk it is stopped, and others fit or not. */
static void go_on(struct rig *r, enum as_subject_mode mode, struct as_disk *disk,
		  const struct as_tool_range *ranges, unsigned n, unsigned *left)
{
	struct as_subject_run whole, part;
	struct as_err err = { 0 };
	bool forks = as_subject_fork_fits(r->subject, 1, mode, disk);

	if (!forks) {
		as_subject_fork_end(r->subject, 1, mode);
		assert_int_equal(as_subject_fork_begin(r->subject, 1, mode, disk, ranges, n, &forks,
						       &err),
				 0);
	}
	if (!forks)
		return;
	assert_int_equal(as_subject_run(r->from_main, mode, disk, &whole, &err), 0);
	assert_int_equal(as_subject_run_forked(r->subject, 1, mode, disk, &part, &err), 0);
	same_run(&whole, &part);
	as_subject_run_free(&whole);
	as_subject_run_free(&part);
	++*left;
}

static void compare(struct rig *r, enum as_subject_mode mode, const struct as_corrupt_lot *lot,
		    const struct as_tool_range *ranges, unsigned n, unsigned *forked,
		    unsigned *left)
{
	struct as_err err = { 0 };
	bool forks;

	assert_int_equal(as_subject_fork_begin(r->subject, 0, mode, r->base.disk, ranges, n, &forks,
					       &err),
			 0);
	for (size_t i = 0; forks && i < lot->n; i++) {
		struct as_disk *disk = as_damage_apply(&lot->damages[i], r->base.disk, NULL);
		struct as_subject_run whole, part, later;

		assert_int_equal(as_subject_run(r->from_main, mode, disk, &whole, &err), 0);
		assert_int_equal(as_subject_run_forked(r->subject, 0, mode, disk, &part, &err), 0);
		assert_int_equal(as_subject_run(r->subject, mode, disk, &later, &err), 0);
		same_run(&whole, &part);
		same_run(&whole, &later);
		go_on(r, mode, part.run.disk, ranges, n, left);
		as_subject_run_free(&later);
		++*forked;
		as_subject_run_free(&whole);
		as_subject_run_free(&part);
		as_disk_free(disk);
	}
	if (forks)
		as_subject_fork_end(r->subject, 0, mode);
	as_subject_fork_end(r->subject, 1, mode);
}

static unsigned find_ranges(const struct as_corrupt_lot *lot, struct as_tool_range *ranges)
{
	unsigned n = 0;

	for (size_t i = 0; i < lot->n; i++)
		for (size_t k = 0; k < lot->damages[i].n; k++) {
			uint64_t at = lot->damages[i].bytes[k].off & ~UINT64_C(511);
			unsigned r = 0;

			while (r < n && ranges[r].off != at)
				r++;
			if (r == AS_TOOL_STOPS_MAX)
				return 0;
			ranges[r] = (struct as_tool_range){ at, 512 };
			n += r == n;
		}
	return n;
}

/* Every twelfth field of the generic disk. */
static void same_as_whole(const char *checker)
{
	struct as_subject_setup setup = { .spec = checker, .deadline_ms = 20000 };
	struct rig r = { .store = as_chunks_new() };
	struct as_corrupt_setup how;
	struct as_err err = { 0 };
	unsigned forked = 0, left = 0;
	int rc = as_subject_open(&setup, &r.subject, &err);

	if (rc == AS_ELACK) {
		as_chunks_free(r.store);
		skip_because("%s", err.msg);
		return;
	}
	assert_int_equal(rc, 0);
	setup.whole = true;
	assert_int_equal(as_subject_open(&setup, &r.from_main, &err), 0);
	assert_int_equal(as_generic_make(r.store, as_subject_type(r.subject),
					 as_subject_checker(r.subject)->bytes, &r.generic, &err),
			 0);
	r.judge = as_judge_new(r.subject);
	r.base.disk = as_disk_snapshot(r.generic.disk);
	assert_int_equal(as_judge_base(r.judge, &r.base, AS_FSCK_MADE, &err), 0);
	how = (struct as_corrupt_setup){ .bases = &r.base,
					 .n = 1,
					 .type = as_subject_type(r.subject),
					 .at_once = 1,
					 .seal = true };
	assert_int_equal(as_corrupt_open("fields", &how, &r.corrupt, &err), 0);
	for (uint64_t i = 0; i < as_corrupt_lots(r.corrupt); i += 12) {
		struct as_corrupt_lot lot = { 0 };
		struct as_tool_range ranges[AS_TOOL_STOPS_MAX];
		unsigned n;

		as_corrupt_lot(r.corrupt, i, &lot);
		n = find_ranges(&lot, ranges);
		if (n) {
			compare(&r, AS_SUBJECT_REPAIR, &lot, ranges, n, &forked, &left);
			compare(&r, AS_SUBJECT_CHECK, &lot, ranges, n, &forked, &left);
		}
		as_corrupt_lot_free(&lot);
	}
	assert_true(forked > 50);
	assert_true(left > 20);
	as_corrupt_free(r.corrupt);
	as_judge_free(r.judge);
	as_fsck_base_free(&r.base);
	as_subject_free(r.subject);
	as_subject_free(r.from_main);
	as_generic_free(&r.generic);
	as_chunks_free(r.store);
}

/* After a power cut: files that the workload does not name must be there. */
static void test_loss_after_crash(void **state)
{
	static const char *const some[] = { "/d/f1", "/d/new" }, *const all[] = { "/d", "/f", "/" };
	struct as_chunks *store = as_chunks_new();
	struct as_generic generic;
	struct as_damage damage = { .names = some, .n_names = 2 };
	struct as_loss_found found;
	struct as_err err = { 0 };
	struct as_loss *loss;

	(void)state;
	assert_int_equal(as_generic_make(store, "lab", 0, &generic, &err), 0);
	loss = as_loss_new("lab", generic.disk, AS_LOSS_DROPS_NOTHING);
	assert_non_null(loss);
	damage.crashed = as_disk_snapshot(generic.disk);
	as_loss_look(loss, &damage, generic.disk, &found);
	assert_int_equal(found.unexcused + found.moved, 0);
	as_loss_found_free(&found);
	as_loss_look(loss, &damage, generic.fresh, &found);
	assert_true(found.unexcused > 50);
	assert_null(strstr(as_buf_str(&found.words), "/d/f1 is"));
	assert_non_null(strstr(as_buf_str(&found.words), "/d/f2 is nowhere"));
	as_loss_found_free(&found);
	damage.names = all;
	damage.n_names = 3;
	as_loss_look(loss, &damage, generic.fresh, &found);
	assert_int_equal(found.unexcused + found.moved, 0);
	as_loss_found_free(&found);
	as_loss_free(loss);
	as_damage_free(&damage);
	as_generic_free(&generic);
	as_chunks_free(store);
}

/* Damage where the checker has been already does not fit; damage of what comes later does. */
static void test_fits(void **state)
{
	struct as_subject_setup setup = { .spec = "fsck.minix", .deadline_ms = 20000 };
	struct as_tool_range inodes = { 4 * 1024, 512 };
	struct as_fsck_subject *subject = NULL;
	struct as_chunks *store = as_chunks_new();
	struct as_generic generic;
	struct as_err err = { 0 };
	unsigned char byte[512];
	struct as_disk *early, *late;
	bool forks;
	int rc = as_subject_open(&setup, &subject, &err);

	(void)state;
	if (rc == AS_ELACK) {
		as_chunks_free(store);
		skip_because("%s", err.msg);
		return;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(as_generic_make(store, "minix", 1 << 20, &generic, &err), 0);
	assert_int_equal(as_subject_fork_begin(subject, 0, AS_SUBJECT_REPAIR, generic.disk, &inodes,
					       1, &forks, &err),
			 0);
	assert_true(forks);
	early = as_disk_snapshot(generic.disk);
	late = as_disk_snapshot(generic.disk);
	assert_int_equal(as_bd_read(as_disk_bd(early), 1024, byte, sizeof(byte)), 0);
	byte[500] ^= 1; /* in the sector of the superblock */
	assert_int_equal(as_bd_write(as_disk_bd(early), 1024, byte, sizeof(byte)), 0);
	assert_int_equal(as_bd_write(as_disk_bd(late), 512 << 10, byte, sizeof(byte)), 0);
	assert_int_equal(as_subject_fork_fits(subject, 0, AS_SUBJECT_REPAIR, early), 0);
	assert_true(as_subject_fork_fits(subject, 0, AS_SUBJECT_REPAIR, late));
	assert_true(as_subject_fork_fits(subject, 0, AS_SUBJECT_REPAIR, generic.disk));
	assert_int_equal(as_subject_fork_fits(subject, 1, AS_SUBJECT_REPAIR, generic.disk), 0);
	as_subject_fork_end(subject, 0, AS_SUBJECT_REPAIR);
	as_disk_free(early);
	as_disk_free(late);
	as_subject_free(subject);
	as_generic_free(&generic);
	as_chunks_free(store);
}

static void test_forks_e2fsck(void **state)
{
	(void)state;
	same_as_whole("e2fsck");
}

static void test_forks_minix(void **state)
{
	(void)state;
	same_as_whole("fsck.minix");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_1),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_loss_after_crash),
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_forks_e2fsck),
		cmocka_unit_test(test_forks_minix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
