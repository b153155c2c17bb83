/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of `assay kernel` that need no build: options, fragments, the paths in a patch. */
#include "kernel/kernel_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_options(void **state)
{
	struct as_err err = { 0 };
	struct as_buf text = { 0 };
	uint32_t with;

	(void)state;
	assert_int_equal(as_kernel_options_parse("faults,kasan", &with, &err), 0);
	as_kernel_options_print(with, ",", &text);
	assert_string_equal(as_buf_str(&text), "kasan,faults");
	assert_int_equal(as_kernel_options_parse("", &with, &err), 0);
	assert_int_equal(with, 0);
	assert_int_equal(as_kernel_options_parse("kasan,,kcov", &with, &err), AS_EUSE);
	assert_int_equal(as_kernel_options_parse("kasa", &with, &err), AS_EUSE);
	assert_string_equal(as_kernel_flavour_with(AS_KERNEL_HAS_faults), "debug");
	assert_string_equal(as_kernel_flavour_with(AS_KERNEL_HAS_lockdep), "debug");
	as_buf_free(&text);
}

/* Each line of a fragment is "CONFIG_X=...", a comment, or empty; no fragment takes back what
 * another one gives. */
static void test_fragments(void **state)
{
	struct as_buf all = { 0 }, lacks = { 0 };
	struct as_err err = { 0 };
	const uint32_t every = (1u << AS_KERNEL_OPTIONS) - 1;
	char *rest, *line;

	(void)state;
	as_kernel_config_want(every, &all);
	/* A configuration that has all of it is good. */
	assert_int_equal(as_kernel_config_check(0, as_buf_str(&all), &lacks, &err), AS_EUSE);
	as_buf_clear(&lacks);
	rest = all.data;
	while ((line = strsep(&rest, "\n"))) {
		size_t key = strcspn(line, "=");

		if (!*line || *line == '#')
			continue;
		assert_memory_equal(line, "CONFIG_", 7);
		assert_true(line[key] == '=' && line[key + 1]);
		if (strcmp(line + key, "=n") != 0)
			as_buf_addf(&lacks, "%s\n", line);
	}
	{
		struct as_buf config = lacks;

		lacks = (struct as_buf){ 0 };
		assert_int_equal(as_kernel_config_check(every, config.data, &lacks, &err), 0);
		assert_int_equal(lacks.len, 0);
		as_buf_free(&config);
	}
	as_buf_free(&all);
	as_buf_free(&lacks);
}

static void test_missing(void **state)
{
	struct as_buf all = { 0 }, config = { 0 }, lacks = { 0 };
	struct as_err err = { 0 };
	char *rest, *line;

	(void)state;
	as_kernel_config_want(1u << AS_KERNEL_HAS_kasan, &all);
	rest = all.data;
	while ((line = strsep(&rest, "\n")))
		if (*line == 'C' && !strstr(line, "=n") && strcmp(line, "CONFIG_XFS_FS=y") != 0 &&
		    strcmp(line, "CONFIG_KASAN=y") != 0)
			as_buf_addf(&config, "%s\n", line);
	assert_int_equal(as_kernel_config_check(0, as_buf_str(&config), &lacks, &err), 0);
	assert_string_equal(as_buf_str(&lacks), "CONFIG_XFS_FS=y");
	assert_int_equal(as_kernel_config_check(1u << AS_KERNEL_HAS_kasan, as_buf_str(&config),
						&lacks, &err),
			 AS_EUSE);
	assert_non_null(strstr(err.msg, "kasan"));
	assert_non_null(strstr(err.msg, "CONFIG_KASAN=y"));
	/* What must be off, and is on. */
	as_buf_adds(&config, "CONFIG_EXPERT=y\n");
	assert_int_equal(as_kernel_config_check(0, as_buf_str(&config), &lacks, &err), AS_EUSE);
	as_buf_free(&all);
	as_buf_free(&config);
	as_buf_free(&lacks);
}

static void test_patch_paths(void **state)
{
	static const struct {
		const char *text, *paths; /* joined by blanks; NULL: refused */
	} rows[] = {
		{ "", "" },
		{ "--- a/fs/x.c\n+++ b/fs/x.c\n@@ -1 +1 @@\n-a\n+b\n", "fs/x.c " },
		{ "--- a/fs/x.c\t2020\n+++ b/fs/x.c\t2021\n", "fs/x.c " },
		{ "--- /dev/null\n+++ b/new.c\n", "new.c " },
		{ "--- a/gone.c\n+++ /dev/null", "gone.c " },
		{ "--- a/x.c\n+++ b/x.c\n--- a/d/y.c\n+++ b/d/y.c\n", "x.c d/y.c " },
		{ "diff --git a/fs/a.c b/b.c\nrename from fs/a.c\nrename to b.c\n", "fs/a.c b.c " },
		{ "diff --git a/x.c b/y.c\ncopy from x.c\ncopy to y.c\n", "x.c y.c " },
		{ "diff --git a/fs/a.c b/fs/a.c\nnew file mode 100644\n", "fs/a.c " },
		{ "diff --git a/x b/x\nrename to ../x\n", NULL },
		{ "diff --git a/x b/../x\n", NULL },
		{ "rename to ../x, said the author\ncopy from /dev/null\n", "" },
		{ "*** a/fs/x.c\n--- b/fs/x.c\n*** 1 ****\n", "fs/x.c " },
		{ "Index: a/fs/x.c\n1d\n", "fs/x.c " },
		{ "  --- a/fs/x.c\n  +++ b/fs/y.c\n", "fs/x.c fs/y.c " },
		{ "--- a/../x\n", NULL },
		{ "--- a//etc/passwd\n", NULL },
		{ "+++ b/fs/../../x\n", NULL },
		{ "+++ b/..\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf paths = { 0 }, text = { 0 };
		bool ok = as_kernel_patch_paths(rows[i].text, strlen(rows[i].text), &paths);

		assert_int_equal(ok, rows[i].paths != NULL);
		for (size_t at = 0; at < paths.len; at += strlen(paths.data + at) + 1)
			as_buf_addf(&text, "%s ", paths.data + at);
		if (ok)
			assert_string_equal(as_buf_str(&text), rows[i].paths);
		as_buf_free(&paths);
		as_buf_free(&text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_patch_paths),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
