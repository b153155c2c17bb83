/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goals: every row of aim.def can be written and does what it says (the model is asked), what was
 * tried in vain is tried less, and a table that somebody else wrote cannot slip commands in.
 */
#include "tests/lib/gen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_SLOT 100
#define SEEDS 5

/* The same as `coverage`, with every command. */
static struct as_profile *every_command(void)
{
	static const char text[] = "like coverage\nweight link_tmpfile 1\n";
	struct as_profile *p = as_profile_new();
	struct as_err err = { 0 };

	if (as_profile_parse("p", text, strlen(text), p, &err))
		fail_msg("%s", err.msg);
	return p;
}

static void feed(struct as_profile *p, const char *text)
{
	struct as_err err = { 0 };

	if (as_gen_feedback(p, "f", text, strlen(text), &err))
		fail_msg("%s", err.msg);
}

/* A line about one partition. */
static void add_line(struct as_buf *out, const char *call, const char *arg, const char *part,
		     unsigned count)
{
	if (!strcmp(arg, "output"))
		as_buf_addf(out, "{\"call\": \"%s\", \"output\": \"%s\", \"count\": %u}\n", call,
			    part, count);
	else
		as_buf_addf(out,
			    "{\"call\": \"%s\", \"arg\": \"%s\", \"partition\": \"%s\", "
			    "\"count\": %u}\n",
			    call, arg, part, count);
}

static struct as_seq *first_of(const struct as_profile *p, const struct as_traits *traits)
{
	struct as_chooser *chooser = as_chooser_seeded(p->seed);
	struct as_gen *gen = t_gen_start(p, traits, chooser);
	struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);

	as_gen_free(gen);
	as_chooser_free(chooser);
	assert_non_null(seq);
	return seq;
}

/* What goes for goals, and what stands before it. */
static struct as_seq *aimed(const char *call, const char *arg, const char *part, uint64_t seed,
			    const struct as_traits *traits, size_t *before)
{
	struct as_profile *p = every_command();
	struct as_seq *plain, *seq;
	struct as_buf line = { 0 };

	p->seed = seed;
	plain = first_of(p, traits);
	add_line(&line, call, arg, part, 0);
	feed(p, as_buf_str(&line));
	if (p->n_goals != 1)
		fail_msg("no goal of %s %s %s", call, arg, part);
	seq = first_of(p, traits);
	*before = plain->n;
	for (size_t i = 0; i < plain->n; i++)
		assert_true(as_op_equal(&plain->ops[i], &seq->ops[i]));
	as_seq_free(plain);
	as_buf_free(&line);
	free(p);
	return seq;
}

/* Something of the shape that a row is for. */
static const char *example(const char *part)
{
	static const struct {
		const char *shape, *part;
	} examples[] = { { "numbers", "2^5" },
			 { "OK=2^*", "OK=2^7" },
			 { "S_*", "S_IXGRP" },
			 { "O_*", "O_SYNC" },
			 { "SEEK_*", "SEEK_END" },
			 { "RENAME_*", "RENAME_EXCHANGE" },
			 { "XATTR_*", "XATTR_CREATE" },
			 { "MS_*", "MS_ASYNC" },
			 { "SYNC_FILE_RANGE_*", "SYNC_FILE_RANGE_WRITE" } };

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (!strcmp(examples[i].shape, part))
			return examples[i].part;
	assert_null(strchr(part, '*'));
	return part;
}

static void test_every_row_can_be_written(void **state)
{
	struct as_traits traits = t_any_traits;
	const char *call, *arg, *part, *recipe;
	size_t before;

	(void)state;
	traits.may_fill = true;
	traits.dir_link_max = 100;
	for (unsigned i = 0; as_aim_row(i, &call, &arg, &part, &recipe); i++) {
		const char *want = part			    ? example(part)
				   : strstr(recipe, "{fd}") ? "negative"
							    : "empty";
		struct as_seq *seq = aimed(call, arg, want, 5, &traits, &before);

		if (seq->n <= before)
			fail_msg("%s %s %s: nothing was written: %s", call, arg, want, recipe);
		as_seq_free(seq);
	}
}

/* Whether the model gives this answer to one of the commands after `before`. */
static bool answers(const struct as_seq *seq, size_t before, const struct as_traits *traits,
		    int err)
{
	struct as_model *model = as_model_new(traits);
	bool found = false;

	for (size_t i = 0; i < seq->n; i++) {
		int got = as_model_apply(model, &seq->ops[i]);

		found |= i >= before && got == err;
	}
	as_model_free(model);
	return found;
}

/* Errors that any target without limits gives; by other names than rows have they are in ways. */
static const struct {
	const char *call, *error;
	int err;
} errors[] = {
	{ "open", "EEXIST", EEXIST },
	{ "open", "EISDIR", EISDIR },
	{ "open", "EINVAL", EINVAL },
	{ "open", "ELOOP", ELOOP },
	{ "open", "ENAMETOOLONG", ENAMETOOLONG },
	{ "open", "ENOTDIR", ENOTDIR },
	{ "read", "EBADF", EBADF },
	{ "read", "EISDIR", EISDIR },
	{ "read", "EINVAL", EINVAL },
	{ "write", "EBADF", EBADF },
	{ "write", "EINVAL", EINVAL },
	{ "lseek", "ENXIO", ENXIO },
	{ "lseek", "EINVAL", EINVAL },
	{ "truncate", "EINVAL", EINVAL },
	{ "truncate", "EISDIR", EISDIR },
	{ "truncate", "ELOOP", ELOOP },
	{ "mkdir", "EEXIST", EEXIST },
	{ "mkdir", "ENOENT", ENOENT },
	{ "chdir", "ELOOP", ELOOP },
	{ "chmod", "ENAMETOOLONG", ENAMETOOLONG },
	{ "setxattr", "EEXIST", EEXIST },
	{ "setxattr", "ENODATA", ENODATA },
	{ "setxattr", "EINVAL", EINVAL },
	{ "setxattr", "EOPNOTSUPP", EOPNOTSUPP },
	{ "setxattr", "EPERM", EPERM },
	{ "setxattr", "ERANGE", ERANGE },
	{ "getxattr", "ENODATA", ENODATA },
	{ "removexattr", "ENODATA", ENODATA },
	{ "rename", "EEXIST", EEXIST },
	{ "rename", "EINVAL", EINVAL },
	{ "rename", "ENOTEMPTY", ENOTEMPTY },
	{ "rename", "EISDIR", EISDIR },
	{ "link", "EPERM", EPERM },
	{ "link", "EEXIST", EEXIST },
	{ "symlink", "EEXIST", EEXIST },
	{ "unlink", "ENOTEMPTY", ENOTEMPTY },
	{ "unlink", "EISDIR", EISDIR },
	{ "unlink", "EBUSY", EBUSY },
	{ "mknod", "EPERM", EPERM },
	{ "mknod", "EINVAL", EINVAL },
	{ "fsync", "EBADF", EBADF },
	{ "fallocate", "EINVAL", EINVAL },
	{ "fallocate", "EFBIG", EFBIG },
	{ "fallocate", "EOPNOTSUPP", EOPNOTSUPP },
	{ "copy_file_range", "EISDIR", EISDIR },
	{ "copy_file_range", "EINVAL", EINVAL },
	{ "stat", "ELOOP", ELOOP },
	{ "readlink", "EINVAL", EINVAL },
	{ "mmap", "EACCES", EACCES },
	{ "statfs", "ENAMETOOLONG", ENAMETOOLONG },
};

static void test_recipes_bring_errors_about(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		bool found = false;

		/* Some of its recipes are for other calls of the family. */
		for (uint64_t seed = 1; seed <= SEEDS && !found; seed++) {
			size_t before;
			struct as_seq *seq = aimed(errors[i].call, "output", errors[i].error, seed,
						   &t_any_traits, &before);

			found = answers(seq, before, &t_any_traits, errors[i].err);
			as_seq_free(seq);
		}
		if (!found)
			fail_msg("%s: nothing answers %s", errors[i].call, errors[i].error);
	}
}

static size_t aims_of(const struct as_seq *seq)
{
	size_t n = 0;

	for (size_t i = 0; i < seq->n; i++)
		n += seq->ops[i].slot >= FIRST_SLOT;
	return n;
}

/* One goal that is met every time and is never said to be: it is left alone after a while. */
static void test_tried_in_vain(void **state)
{
	struct as_profile *p = every_command();
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_buf text = { 0 };
	size_t aims = 0;
	struct as_gen *gen;

	(void)state;
	feed(p, "{\"call\": \"lseek\", \"output\": \"EINVAL\", \"count\": 0}\n");
	gen = t_gen_start(p, &t_any_traits, chooser);
	for (unsigned i = 0; i < 100; i++) {
		struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);

		aims += aims_of(seq);
		as_seq_free(seq);
	}
	assert_in_range(aims, 3, 20);
	/* Told to another generator it goes on as it was. */
	as_gen_tries(gen, p);
	assert_true(p->goal[0].tries >= 3);
	as_gen_tries_print(p, &text);
	as_gen_free(gen);
	p->goal[0].tries = 0;
	feed(p, as_buf_str(&text));
	assert_true(p->goal[0].tries >= 3);
	/* The same counts again change nothing, a count of 1 is the end of it. */
	feed(p, "{\"call\": \"lseek\", \"output\": \"EINVAL\", \"count\": 0}\n");
	assert_int_equal(p->n_goals, 1);
	assert_true(p->goal[0].tries >= 3);
	feed(p, "{\"call\": \"lseek\", \"output\": \"EINVAL\", \"count\": 0}\n"
		"{\"call\": \"lseek\", \"output\": \"EINVAL\", \"count\": 1}\n");
	assert_int_equal(p->n_goals, 0);
	as_buf_free(&text);
	as_chooser_free(chooser);
	free(p);
}

/* What the profile never draws stays out. */
static void test_profile_has_the_say(void **state)
{
	static const char text[] = "like coverage\nweight symlink 0\nlength.max 10\n"
				   "param open.open_flags O_RDWR 10% never=O_TMPFILE\n";
	static const char never[] = "{\"call\": \"open\", \"arg\": \"flags\", \"partition\": "
				    "\"O_TMPFILE\", \"count\": 0}\n"
				    "{\"call\": \"stat\", \"output\": \"ELOOP\", \"count\": 0}\n"
				    "{\"call\": \"stat\", \"output\": \"ENOENT\", \"count\": 0}\n";
	struct as_profile *p = as_profile_new();
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_err err = { 0 };
	struct as_gen *gen;

	(void)state;
	assert_int_equal(as_profile_parse("p", text, strlen(text), p, &err), 0);
	feed(p, never);
	assert_int_equal(p->n_goals, 3);
	gen = t_gen_start(p, &t_any_traits, chooser);
	for (unsigned n = 0; n < 20; n++) {
		struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);

		for (size_t i = 0; i < seq->n; i++) {
			assert_int_not_equal(seq->ops[i].code, AS_OP_SYMLINK);
			if (seq->ops[i].code == AS_OP_OPEN)
				assert_false(seq->ops[i].flags & AS_O_TMPFILE_ONLY);
		}
		as_seq_free(seq);
	}
	as_gen_free(gen);
	as_chooser_free(chooser);
	free(p);
}

/* Names in a table are somebody else's: none becomes a command. */
static void test_names_are_names(void **state)
{
	static const char *const bad[] = {
		"S_IXGRP\\ncrash", "S_ ; crash",    "S_\\\"", "S_{many}", "S_%1",
		"O_RDWR|O_X",	   "2^99999999999", "2^-1",
	};
	struct as_profile *p = every_command();
	struct as_buf text = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		add_line(&text, "mkdir", "mode", bad[i], 0);
		add_line(&text, "open", "flags", bad[i], 0);
		add_line(&text, "truncate", "length", bad[i], 0);
		add_line(&text, "read", "output", bad[i], 0);
	}
	add_line(&text, "nosuch", "mode", "S_IXGRP", 0);
	feed(p, as_buf_str(&text));
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct as_seq *seq;

		p->seed = seed;
		seq = first_of(p, &t_any_traits);
		for (size_t i = 0; i < seq->n; i++)
			assert_int_not_equal(seq->ops[i].code, AS_OP_CRASH);
		as_seq_free(seq);
	}
	as_buf_free(&text);
	free(p);
}

static const struct {
	const char *text, *message;
} refused[] = {
	{ "{\"call\": \"open\", \"count\": 0}", "f:1:1: expected {\"call\"" },
	{ "{\"call\": 3, \"output\": \"OK\", \"count\": 0}", "f:1:1: expected {\"call\"" },
	{ "{\"call\": \"open\", \"output\": \"OK\"}", "f:1:1: expected {\"call\"" },
	{ "{\"call\": \"open\", \"arg\": \"flags\", \"count\": 0}", "f:1:1: expected {\"call\"" },
	{ "{\"call\": \"open\", \"output\": \"OK\", \"count\": -1}",
	  "f:1:1: the count is negative" },
	{ "{\"call\": \"open\", \"output\": \"OK\", \"tries\": -1}",
	  "f:1:1: the count is negative" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct as_profile *p = as_profile_new();
		struct as_err err = { 0 };
		const char *text = refused[i].text;

		assert_int_equal(as_gen_feedback(p, "f", text, strlen(text), &err), AS_EUSE);
		if (strncmp(err.msg, refused[i].message, strlen(refused[i].message)))
			fail_msg("'%s': %s", text, err.msg);
		assert_int_equal(p->n_goals, 0);
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_can_be_written),
		cmocka_unit_test(test_recipes_bring_errors_about),
		cmocka_unit_test(test_tried_in_vain),
		cmocka_unit_test(test_profile_has_the_say),
		cmocka_unit_test(test_names_are_names),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
