/* SPDX-License-Identifier: GPL-2.0-or-later */
/* against: see against.h. */
#include "tests/lib/against.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <linux/magic.h>

/* tests/model/test_against_*.c give each file system its own program: they run side by side. */
static const char *scratch; /* a folder, or the name of a library */
static long scratch_magic; /* what statfs(2) has to say of the folder; 0: a library */
static bool scratch_is_slow;

static void judge_bout(struct bout *bout, const char *where)
{
	struct as_ended ended;
	struct as_err err = { 0 };

	as_run_traits(bout->target, &bout->traits);
	bout->tally = as_shared_alloc(sizeof(*bout->tally));
	if (as_spawn_fork(t_fight_it_out, bout, 60000, &bout->tally->alive, &ended, &err) != 0)
		fail_msg("%s", err.msg);
	if (bout->folder[0])
		assert_int_equal(
			as_sys_remove_counted(AT_FDCWD, bout->folder, &(uint64_t){ 0 }, &err), 0);
	if (ended.how == AS_END_EXIT && ended.status == 3)
		skip_because("%s", bout->tally->what);
	if (bout->tally->failed) {
		/* cmocka cuts long messages; the sequence is wanted whole. */
		fputs(bout->tally->what, stderr);
		fputc('\n', stderr);
		fail_msg("disagreement on %s", where);
	}
	if (ended.how != AS_END_EXIT || ended.status != 0)
		fail_msg("the child ended with %d/%d: %s", ended.how, ended.status,
			 bout->tally->what);
	print_message("%s: %llu sequences, %llu operations, %llu maybes, %.1f s\n", where,
		      (unsigned long long)bout->tally->sequences,
		      (unsigned long long)bout->tally->ops, (unsigned long long)bout->tally->maybes,
		      (double)ended.wall_us / 1e6);
	assert_int_equal(bout->tally->maybes, 0);
	assert_true(bout->tally->sequences >= 100);
	as_shared_free(bout->tally, sizeof(*bout->tally));
}

static void against(struct bout bout)
{
	struct as_target *target = NULL;
	struct as_err err = { 0 };
	struct statfs sfs;
	char spec[4200];
	const char *folder;

	if (scratch_magic) {
		if (statfs(scratch, &sfs) != 0 || (long)sfs.f_type != scratch_magic)
			skip_because("%s is not the kind of file system this is about", scratch);
		folder = t_tmpdir_in(scratch);
		if (!folder)
			skip_because("cannot make a folder in %s", scratch);
		snprintf(bout.folder, sizeof(bout.folder), "%s", folder);
		assert_int_equal(chmod(bout.folder, 0755), 0);
		snprintf(spec, sizeof(spec), "dir:%s", bout.folder);
	} else {
		snprintf(spec, sizeof(spec), "%s", scratch);
	}
	if (as_target_open(spec, &target, &err) != 0)
		fail_msg("%s", err.msg);
	bout.target = target;
	judge_bout(&bout, scratch);
	as_target_free(target);
}

static void test_empty_threes(void **state)
{
	(void)state;
	against((struct bout){ .start = 0, .length = 3, .parts = 3 });
}

static void test_prepared_twos(void **state)
{
	(void)state;
	against((struct bout){ .start = 1, .length = 2, .parts = 3 });
}

static void test_prepared_threes(void **state)
{
	(void)state;
	against((struct bout){ .start = 1, .length = 3, .parts = scratch_is_slow ? 1 : 2 });
}

static void test_read_only(void **state)
{
	(void)state;
	if (scratch_magic && scratch_magic != TMPFS_MAGIC)
		skip_because("a file system of the machine stays writable");
	against((struct bout){
		.start = 2, .length = scratch_magic ? 2 : 3, .parts = 3, .readonly = true });
}

static void test_random(void **state)
{
	(void)state;
	against((struct bout){
		.start = 1, .length = 300, .parts = 3, .random = scratch_is_slow ? 300 : 1000 });
}

int t_run_against(const char *where, long magic, bool slow)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_threes),	cmocka_unit_test(test_prepared_twos),
		cmocka_unit_test(test_prepared_threes), cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_random),
	};

	scratch = where;
	scratch_magic = magic;
	scratch_is_slow = slow;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
