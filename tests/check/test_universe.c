/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations that may follow in a state: what is there, and what the bounds leave out. */
#include "check/universe.h"
#include "tests/lib/model.h"
#include "work/print.h"

static struct as_buf moves_of(const struct as_universe *universe, const struct as_model *model)
{
	struct as_seq *moves = as_universe_moves(universe, model);
	struct as_buf text = { 0 };

	as_print_seq(moves, &text);
	as_seq_free(moves);
	return text;
}

static bool has_line(const struct as_buf *text, const char *line)
{
	const char *at = as_buf_str((struct as_buf *)text);
	size_t len = strlen(line);

	for (; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, line, len) && (at[len] == '\n' || !at[len]))
			return true;
	}
	return false;
}

static void test_fresh(void **state)
{
	struct as_model *model = as_model_new(&t_any_traits);
	struct as_universe universe = as_universe_of(model, 2);
	struct as_buf text = moves_of(&universe, model);

	(void)state;
	assert_true(has_line(&text, "mkdir /a 0755"));
	assert_true(has_line(&text, "create /a 0644"));
	assert_true(has_line(&text, "$0 = open /a O_RDWR|O_CREAT 0644"));
	assert_true(has_line(&text, "unlink /a")); /* it is refused */
	assert_true(has_line(&text, "umount"));
	assert_false(has_line(&text, "mount"));
	assert_null(strstr(as_buf_str(&text), "pwrite"));
	assert_null(strstr(as_buf_str(&text), "/b"));
	as_buf_free(&text);
	as_model_free(model);
}

/* Of each argument there is one value. */
static void test_narrow(void **state)
{
	struct as_model *model = as_model_new(&t_any_traits);
	struct as_universe universe = as_universe_of(model, 2);
	struct as_op op = as_op_make(AS_OP_OPEN);
	struct as_buf text;

	(void)state;
	op.path = "/a";
	op.flags = AS_O_RDWR | AS_O_CREAT;
	op.mode = 0644;
	op.slot = 0;
	universe.narrow = true;
	text = moves_of(&universe, model);
	assert_true(has_line(&text, "$0 = open /a O_RDWR|O_CREAT 0644"));
	assert_null(strstr(as_buf_str(&text), "O_TRUNC"));
	as_buf_free(&text);
	assert_int_equal(as_model_apply(model, &op), 0);
	text = moves_of(&universe, model);
	assert_true(has_line(&text, "pwrite $0 len=10 at=0 fill=1"));
	assert_null(strstr(as_buf_str(&text), "len=5000"));
	assert_null(strstr(as_buf_str(&text), "at=9000"));
	as_buf_free(&text);
	as_model_free(model);
}

/* More values: those that the type says, and those that the user names. */
static void test_wide(void **state)
{
	struct as_traits traits = t_any_traits;
	struct as_model *model;
	struct as_universe universe;
	struct as_buf text;
	struct as_err err;

	(void)state;
	traits.size_max = 100000;
	traits.symlink_max = 100;
	model = as_model_new(&traits);
	universe = as_universe_of(model, 2);
	assert_int_equal(as_universe_choose(&universe, "symlink,truncate,remount,umount", &err), 0);
	assert_int_equal(t_apply_text(model, "create /b 0644\n"), 0);
	universe.opts = "noatime sync";
	text = moves_of(&universe, model);
	assert_null(strstr(as_buf_str(&text), "//a"));
	assert_null(strstr(as_buf_str(&text), "/.a"));
	assert_false(has_line(&text, "truncate /b 100000"));
	assert_true(has_line(&text, "remount"));
	assert_true(has_line(&text, "remount opts=noatime"));
	assert_true(has_line(&text, "remount opts=sync"));
	as_buf_free(&text);
	universe.wide = true;
	universe.opts = " noatime ";
	text = moves_of(&universe, model);
	assert_true(has_line(&text, "truncate /b 100000"));
	assert_true(has_line(&text, "truncate /b 100001"));
	assert_true(has_line(&text, "remount opts=noatime"));
	assert_false(has_line(&text, "remount opts=sync"));
	/* 39 to 41, 59 to 61, and of the longest 100 and 101 bytes. */
	assert_true(has_line(&text, "symlink ///////////////////////////////////////a /a"));
	assert_non_null(strstr(as_buf_str(&text), "a /a\nsymlink"));
	assert_non_null(strstr(as_buf_str(&text), "a /.a\n"));
	assert_null(strstr(as_buf_str(&text), "nrjl")); /* no link of this type needs a block */
	as_buf_free(&text);
	assert_int_equal(t_apply_text(model, "umount\n"), 0);
	text = moves_of(&universe, model);
	assert_string_equal(as_buf_str(&text), "mount\nmount opts=noatime\n");
	as_buf_free(&text);
	as_model_free(model);
	/* Where a largest file takes too long, none is tried. */
	traits.size_max = INT64_MAX;
	model = as_model_new(&traits);
	assert_int_equal(t_apply_text(model, "create /b 0644\n"), 0);
	text = moves_of(&universe, model);
	assert_null(strstr(as_buf_str(&text), "truncate /b 9"));
	assert_true(has_line(&text, "truncate /b 1000"));
	as_buf_free(&text);
	as_model_free(model);
}

/* Links that begin as a log does, files without a name, ranges of many pointer blocks. */
static void test_wider(void **state)
{
	struct as_traits traits = t_any_traits;
	struct as_model *model;
	struct as_universe universe;
	struct as_buf text;
	struct as_err err;

	(void)state;
	traits.symlink_max = 4095;
	model = as_model_new(&traits);
	universe = as_universe_of(model, 2);
	assert_int_equal(as_universe_choose(&universe, "symlink,open,fallocate", &err), 0);
	assert_int_equal(t_apply_text(model, "$0 = open /b O_RDWR|O_CREAT 0644\n"), 0);
	universe.slots = 2;
	for (int wide = 0; wide < 2; wide++) {
		universe.wide = wide;
		text = moves_of(&universe, model);
		assert_int_equal(!!strstr(as_buf_str(&text), "symlink nrjl///"), wide);
		assert_int_equal(!!strstr(as_buf_str(&text), "symlink \"\\xc0;9\\x98///"), wide);
		assert_int_equal(has_line(&text, "$1 = open / O_RDWR|O_TMPFILE 0644"), wide);
		assert_int_equal(has_line(&text,
					  "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=3000 len=8388608"),
				 wide);
		as_buf_free(&text);
	}
	as_model_free(model);
}

static void test_bounds(void **state)
{
	struct as_model *model = as_model_new(&t_any_traits);
	struct as_universe universe = as_universe_of(model, 2);
	struct as_buf text;

	(void)state;
	assert_int_equal(t_apply_text(model, "mkdir /a 0755\n$0 = open /a/a O_RDWR|O_CREAT 0644\n"),
			 0);
	text = moves_of(&universe, model);
	/* No third node, but a second name; one descriptor, and it is used. */
	assert_false(has_line(&text, "create /a/b 0644"));
	assert_null(strstr(as_buf_str(&text), "open"));
	assert_true(has_line(&text, "mkdir /a 0755"));
	assert_true(has_line(&text, "pwrite $0 len=10 at=0 fill=1"));
	assert_true(has_line(&text, "pwrite $0 len=5000 at=9000 fill=2"));
	assert_true(has_line(&text, "rename /a/a /a"));
	assert_non_null(strstr(as_buf_str(&text), "hardlink /a/a /"));
	as_buf_free(&text);
	universe.slots = 2;
	universe.nodes = 3;
	text = moves_of(&universe, model);
	assert_true(has_line(&text, "$1 = open /a/a O_RDWR"));
	assert_non_null(strstr(as_buf_str(&text), "create /a/aa"));
	as_buf_free(&text);
	assert_int_equal(t_apply_text(model, "close $0\numount\n"), 0);
	text = moves_of(&universe, model);
	assert_string_equal(as_buf_str(&text), "mount\n");
	as_buf_free(&text);
	as_model_free(model);
}

static void test_choose(void **state)
{
	struct as_model *model = as_model_new(&t_any_traits);
	struct as_universe universe = as_universe_of(model, 2);
	struct as_buf text = { 0 };
	struct as_err err;

	(void)state;
	assert_int_equal(as_universe_choose(&universe, "mkdir,umount", &err), 0);
	as_universe_print(&universe, &text);
	assert_string_equal(as_buf_str(&text), "mkdir,umount,mount");
	assert_int_equal(as_universe_choose(&universe, "mkdir,fly", &err), AS_EUSE);
	assert_string_equal(err.msg, "'fly': there is no such operation");
	assert_int_equal(as_universe_choose(&universe, "crash", &err), AS_EUSE);
	assert_int_equal(as_universe_choose(&universe, "", &err), AS_EUSE);
	assert_int_equal(as_universe_choose(&universe, "all", &err), 0);
	assert_true(universe.has[AS_OP_FALLOCATE] && universe.has[AS_OP_WRITE_XATTR]);
	assert_false(universe.has[AS_OP_CRASH]);
	as_buf_free(&text);
	as_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fresh),  cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_wide),   cmocka_unit_test(test_wider),
		cmocka_unit_test(test_bounds), cmocka_unit_test(test_choose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
