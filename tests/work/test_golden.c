/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/golden/work/NAME.txt is a workload, NAME.want its canonical form or the error it earns.
 * UPDATE=1 writes the latter anew. Examples are already canonical but for comments and must parse.
 */
#include "os/out.h"
#include "work/arg.h"
#include "work/parse.h"
#include "work/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[AS_ARG_KINDS] = {
#define ARG(kind, ...) [AS_ARG_##kind] = #kind,
#include "work/arg.def"
#undef ARG
};

static void check_file(const char *path, bool update)
{
	const char *name = strrchr(path, '/') + 1;
	struct as_buf text = { 0 }, got = { 0 }, want_path = { 0 }, want = { 0 };
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	assert_int_equal(as_buf_read_file(&text, path, 1 << 24, &err), 0);
	if (as_parse_text(name, as_buf_str(&text), text.len, &seq, &err))
		as_buf_addf(&got, "%s\n", err.msg);
	else
		as_print_seq(seq, &got);
	as_buf_add(&want_path, path, strlen(path) - strlen(".txt"));
	as_buf_adds(&want_path, ".want");
	if (update)
		assert_int_equal(as_out_save(want_path.data, &got, &err), 0);
	if (as_buf_read_file(&want, want_path.data, 1 << 24, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(as_buf_str(&got), as_buf_str(&want));
	as_buf_free(&text);
	as_buf_free(&got);
	as_buf_free(&want_path);
	as_buf_free(&want);
	as_seq_free(seq);
}

static void test_golden(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob("tests/golden/work/*.txt", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 5);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_file(found.gl_pathv[i], getenv("UPDATE") != NULL);
	globfree(&found);
}

static void test_examples(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob("examples/*.txt", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct as_seq *seq = NULL;
		struct as_err err = { 0 };

		if (as_parse_file(found.gl_pathv[i], &seq, &err))
			fail_msg("%s", err.msg);
		assert_true(seq->n > 0);
		as_seq_free(seq);
	}
	globfree(&found);
}

/* The example that promises to touch every operation does. */
static void test_smoke_is_complete(void **state)
{
	bool seen[AS_OP_COUNT] = { false };
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_parse_file("examples/smoke.txt", &seq, &err), 0);
	for (size_t i = 0; i < seq->n; i++)
		seen[seq->ops[i].code] = true;
	for (int code = 0; code < AS_OP_COUNT; code++) {
		if (!seen[code])
			fail_msg("examples/smoke.txt has no %s", as_op_table[code].name);
	}
	as_seq_free(seq);
}

#define OPS_HEAD "| written | layer | stable | does |\n|---|---|---|---|\n"

/* A row of the table of operations in docs/FORMAT.md. */
static void add_row(const struct as_op_info *info, bool slot, struct as_buf *out)
{
	as_buf_addf(out, "| `%s%s", slot ? "$N = " : "", info->name);
	for (const enum as_arg_kind *kind = info->args; *kind != AS_ARG_END; kind++) {
		const struct as_arg_info *arg = &as_arg_table[*kind];

		as_buf_addf(out, " %s%s%s%s%s", arg->def == AS_REQUIRED ? "" : "[",
			    arg->key ? arg->key : "", arg->key ? "=" : "", kind_names[*kind],
			    arg->def == AS_REQUIRED ? "" : "]");
	}
	as_buf_addf(out, "` | %s | %s | %s |\n", as_layer_name(info->layer),
		    info->persists ? as_persists_name(info->persists) : "", info->help);
}

/* The table of operations in docs/FORMAT.md is written from op.def. */
static void check_ops(const char *manual)
{
	const char *path = "docs/FORMAT.md", *from = strstr(manual, OPS_HEAD), *to;
	struct as_buf want = { 0 }, all = { 0 };
	struct as_err err = { 0 };

	assert_non_null(from);
	from += strlen(OPS_HEAD);
	to = strstr(from, "\n\n");
	assert_non_null(to++);
	for (int code = 0; code < AS_OP_COUNT; code++)
		add_row(&as_op_table[code], code == AS_OP_OPEN, &want);
	as_buf_addf(&all, "%.*s%s%s", (int)(from - manual), manual, as_buf_str(&want), to);
	if (getenv("UPDATE"))
		assert_int_equal(as_out_save(path, &all, &err), 0);
	else if (strcmp(manual, as_buf_str(&all)))
		fail_msg("%s: its table of operations is not that of op.def: UPDATE=1", path);
	as_buf_free(&want);
	as_buf_free(&all);
}

/* docs/FORMAT.md leaves nothing out: every operation, key and flag word. */
static void test_manual_is_complete(void **state)
{
	struct as_buf manual = { 0 }, word = { 0 };
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_buf_read_file(&manual, "docs/FORMAT.md", 1 << 20, &err), 0);
	check_ops(as_buf_str(&manual));
	for (int table = 0; table < AS_FLAG_TABLES; table++) {
		size_t n;
		int64_t exclusive;
		const struct as_flag_word *words =
			as_flag_words((enum as_flag_table)table, &n, &exclusive);

		for (size_t i = 0; i < n; i++) {
			as_buf_clear(&word);
			as_buf_addf(&word, "`%s`", words[i].word);
			if (!strstr(as_buf_str(&manual), as_buf_str(&word)))
				fail_msg("docs/FORMAT.md lacks %s", as_buf_str(&word));
		}
	}
	as_buf_free(&manual);
	as_buf_free(&word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_smoke_is_complete),
		cmocka_unit_test(test_manual_is_complete),
	};

	return cmocka_run_group_tests_name("work golden", tests, NULL, NULL);
}
