/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every option of a run survives every way on which child/run_option.def says that it travels: a
 * value that is not the default goes into the text of a finding and back, over the wire and back,
 * comes from the command line of each command that offers it, and comes again from the words by
 * which a hunt remembers it. What does not travel arrives as the default.
 */
#include "tests/lib/skip.h"

#include "cli/rows.h"
#include "supervise/wire.h"

#include <stdlib.h>
#include <string.h>

extern const struct as_command as_cmd_run, as_cmd_crash, as_cmd_hunt, as_cmd_check;

static const struct as_command *const commands[] = { &as_cmd_run, &as_cmd_crash, &as_cmd_hunt,
						     &as_cmd_check };

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

/* What the column `given` says: an example of the command line, or an own option. */
static const struct {
	const char *example, *why_not;
	bool own;
} givens[] = {
#define OPT(kind, name, value, min, max, resume, help) .own = true
#define BY(words) .example = (words)
#define UNGIVEN(reason) .why_not = (reason)
#define RUN_OPTION(field, form, said, sent, given, what) { given },
#define RUN_PART(whole, part, form, said, sent, given, what) { given },
#include "child/run_option.def"
};

/* A text that such a field may hold, other than the default. */
static const char *text_of(const struct as_run_row *row)
{
	if (!strcmp(row->field, "choices"))
		return "0.1.2";
	if (!strcmp(row->field, "faults"))
		return "read:3:eio write:2+:enospc";
	return row->said == AS_SAID_PATH ? "a b%" : "some-9";
}

static void set(struct as_run_options *o, const struct as_run_row *row)
{
	switch (row->form) {
	case AS_RUN_TEXT:
		*(const char **)(void *)((char *)o + row->at) = text_of(row);
		break;
	case AS_RUN_WORD:
		assert_int_equal(as_run_set_word(o, row, text_of(row), NULL), 0);
		break;
	case AS_RUN_SWEEP:
		o->sweep = AS_SWEEP_WRITE_ENOSPC;
		break;
	default:
		as_run_set_number(o, row, row->form == AS_RUN_FLAG ? 1 : row->standard + 17);
	}
}

static bool is_set(const struct as_run_options *o, const struct as_run_row *row)
{
	switch (row->form) {
	case AS_RUN_TEXT:
	case AS_RUN_WORD:
		return *as_run_text(o, row);
	case AS_RUN_SWEEP:
		return o->sweep;
	default:
		return as_run_number(o, row) && as_run_number(o, row) != row->standard;
	}
}

static bool same(const struct as_run_options *a, const struct as_run_options *b,
		 const struct as_run_row *row)
{
	switch (row->form) {
	case AS_RUN_TEXT:
	case AS_RUN_WORD:
		return !strcmp(as_run_text(a, row), as_run_text(b, row));
	case AS_RUN_SWEEP:
		return a->sweep == b->sweep;
	default:
		return as_run_number(a, row) == as_run_number(b, row);
	}
}

/* ---- Text and wire --------------------------------------------------------------------------- */

/* All rows: of row i with its value, and `in` where it has arrived. */
static void expect(const struct as_run_options *out, const struct as_run_options *in, size_t i,
		   bool travels, const char *way)
{
	const struct as_run_options none = { 0 };

	for (size_t k = 0; k < AS_RUN_OPTIONS; k++)
		if (!same(k == i && travels ? out : &none, in, &as_run_rows[k]))
			fail_msg("%s: %s is another one when %s is set", way, as_run_rows[k].field,
				 as_run_rows[i].field);
}

static void test_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < AS_RUN_OPTIONS; i++) {
		const struct as_run_row *row = &as_run_rows[i];
		struct as_run_options out = { 0 }, in;
		struct as_buf text = { 0 };
		char *faults;

		set(&out, row);
		assert_true(is_set(&out, row));
		as_run_options_print(&out, &text);
		assert_int_equal(as_run_options_parse(as_buf_str(&text), &in, &faults, NULL), 0);
		expect(&out, &in, i, row->said != AS_SAID_NOWHERE, "the text of a finding");
		assert_true(row->said != AS_SAID_NOWHERE || (row->why && *row->why));
		free(faults);
		as_buf_free(&text);
	}
}

static void test_wire(void **state)
{
	(void)state;
	for (size_t i = 0; i < AS_RUN_OPTIONS; i++) {
		const struct as_run_row *row = &as_run_rows[i];
		struct as_wire_call in, out = {
			.request = AS_WIRE_MOUNT, .target = "lab", .image = "i", .answer = "a"
		};
		struct as_buf text = { 0 };

		set(&out.options, row);
		assert_int_equal(as_wire_call_print(&out, &text, NULL), 0);
		assert_int_equal(as_wire_call_parse(as_buf_str(&text), text.len, &in, NULL), 0);
		expect(&out.options, &in.options, i, row->sent, "the wire");
		assert_true(row->sent || (row->why && *row->why));
		as_wire_call_free(&in);
		as_buf_free(&text);
	}
}

/* What was written by earlier versions, all words in one. */
static void test_old_text(void **state)
{
	static const char old[] =
		"check=op " AS_FINDING_ON_HOST
		" kernel=debug size=16777216 seed=9 corrupt=16 fields=16 kmemleak=1 "
		"max_heap=1 max_stack=8192 deadline_ms=1000 max_bytes=5 max_entries=6 "
		"layout=/a%20b.layout alter=inode.size:3:max:1 choices=0.1.2 "
		"scenario=crash:view=3,cut=12,units=1+4,way=mount,sig=1a2b3c4d faults=draw "
		"fault=read:3:eio fault=write:2+:eio";
	struct as_run_options o;
	struct as_buf text = { 0 };
	struct as_err err;
	char *faults;

	(void)state;
	if (as_run_options_parse(old, &o, &faults, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < AS_RUN_OPTIONS; i++)
		if (as_run_rows[i].said != AS_SAID_NOWHERE)
			assert_true(is_set(&o, &as_run_rows[i]));
	assert_string_equal(o.layout, "/a b.layout");
	as_run_options_print(&o, &text);
	assert_string_equal(as_buf_str(&text), old);
	free(faults);
	as_buf_free(&text);
	assert_int_equal(as_run_options_parse("check=end kernel=../x", &o, &faults, &err), AS_EUSE);
	assert_int_equal(as_run_options_parse("check=end seed=x", &o, &faults, &err), AS_EUSE);
	assert_int_equal(as_run_options_parse("check=end near=x", &o, &faults, &err), AS_EUSE);
}

/* ---- The command line ------------------------------------------------------------------------ */

/* A word of the command line that sets row i. */
static void word_for(size_t i, struct as_buf *word)
{
	const struct as_opt *opt = &as_cli_run_opts[i];

	if (!givens[i].own) {
		as_buf_adds(word, givens[i].example);
		return;
	}
	as_buf_addf(word, "--%s", opt->name);
	switch (opt->kind) {
	case AS_OPT_FLAG:
		break;
	case AS_OPT_CHOICE:
		as_buf_addf(word, "=%.*s", (int)strcspn(opt->choices, "|"), opt->choices);
		break;
	case AS_OPT_TEXT:
		as_buf_addf(word, "=%s", text_of(&as_run_rows[i]));
		break;
	default: /* the largest of a small range, which no default is */
		as_buf_addf(word, "=%llu",
			    (unsigned long long)(opt->max && opt->max < 8192 ? opt->max : 8192));
	}
}

/* Whether a command has the option of row i. One of the same name may be another one, such as
 * --seed of a hunt. */
static bool offers(const struct as_command *command, size_t i, const char *word)
{
	size_t len = strcspn(word + 2, "=");
	const struct as_opt *opt;

	for (size_t k = 0; (opt = as_opt_at(command->opts, k, NULL)); k++)
		if (givens[i].own ? opt == &as_cli_run_opts[i]
				  : strlen(opt->name) == len && !strncmp(opt->name, word + 2, len))
			return true;
	return false;
}

/* The commands read these by themselves (rows.h). */
static bool is_of_command(const struct as_run_row *row)
{
	static const char *const fields[] = { "scenario", "draw_faults", "faults", "sweep",
					      "sweep_only" };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(row->field, fields[i]))
			return true;
	return false;
}

/* Reads it as the command does, and as a hunt that is resumed does: from the same word. */
static void read_word(const struct as_command *command, size_t i, char *word)
{
	static char target[] = "--target=lab", fields[] = "--corrupt=fields", file[] = "w";
	bool layout = !strncmp(word, "--layout", 8);
	char *argv[] = { word, layout ? fields : target, file };
	struct as_run_options o = { 0 };
	struct as_args args;
	struct as_err err = { 0 };

	if (as_args_parse(command, command->min_operands ? 3 : 2, argv, &args, &err) ||
	    as_cli_run_options(&args, &o, &err))
		fail_msg("%s %s: %s", command->name, word, err.msg);
	assert_true(args.given[0].opt->resume != AS_OPT_ANEW);
	if (!is_set(&o, &as_run_rows[i]))
		fail_msg("%s: %s leaves %s as it is", command->name, word, as_run_rows[i].field);
}

static void test_command_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < AS_RUN_OPTIONS; i++) {
		unsigned offered = 0;
		struct as_buf word = { 0 };

		if (givens[i].why_not) {
			assert_true(*givens[i].why_not);
			continue;
		}
		word_for(i, &word);
		for (size_t k = 0; k < NCOMMANDS; k++) {
			char *copy = as_xstrdup(as_buf_str(&word));

			if (offers(commands[k], i, copy)) {
				if (!is_of_command(&as_run_rows[i]))
					read_word(commands[k], i, copy);
				offered++;
			}
			free(copy);
		}
		if (!offered)
			fail_msg("%s: no command has it", as_buf_str(&word));
		as_buf_free(&word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_old_text),
		cmocka_unit_test(test_command_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
