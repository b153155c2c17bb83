/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code: the places of a kernel that were reached, as a set, as a file, and as functions. */
#include "tests/lib/skip.h"

#include "child/kcov.h"
#include "cover/code.h"

#include <stdlib.h>
#include <string.h>

#define BASE 0x60000000ull

static struct as_codeset *set_new(void)
{
	return as_xcalloc(1, sizeof(struct as_codeset));
}

static uint64_t count(const struct as_codeset *set, uint64_t most)
{
	uint64_t n = 0;

	for (uint64_t pc = 0; n < most && (pc = as_codeset_next(set, pc)); pc++)
		n++;
	return n;
}

/* A walk goes on after the last address: so none may be the last one that there is. */
static void test_last_address(void **state)
{
	struct as_codeset *set = set_new();

	(void)state;
	assert_false(as_codeset_add(set, 0));
	assert_false(as_codeset_add(set, UINT64_MAX));
	assert_true(as_codeset_add(set, UINT64_MAX - 1));
	assert_int_equal(set->n, 1);
	assert_int_equal(count(set, 3), 1);
	free(set);
}

/* What a guest tells first does not decide what is taken, if it is known where its kernel is. */
static void test_expected(void **state)
{
	struct as_codeset *set = set_new();

	(void)state;
	as_codeset_expect(set, BASE + 77);
	assert_false(as_codeset_add(set, BASE << 1));
	assert_true(as_codeset_add(set, BASE + 1));
	assert_int_equal(set->n, 1);
	free(set);
}

/* A guest that tells every address there is does not fill a disk with them. */
static void test_bound(void **state)
{
	struct as_codeset *set = set_new();

	(void)state;
	for (uint64_t i = 0; i < AS_CODESET_MAX + 10; i++)
		assert_int_equal(as_codeset_add(set, BASE + i), i < AS_CODESET_MAX);
	assert_int_equal(set->n, AS_CODESET_MAX);
	assert_int_equal(count(set, UINT64_MAX), AS_CODESET_MAX);
	assert_false(as_codeset_has(set, BASE + AS_CODESET_MAX));
	free(set);
}

static const struct {
	const char *name, *text;
	bool heard;
	uint64_t n;
} rows[] = {
	{ "two places", "kcov w\n60000001 60000002 ", true, 2 },
	{ "none", "kcov w\n", true, 0 },
	{ "no name", "kcov \n60000001 ", true, 1 },
	{ "no end", "kcov w\n60000001", false, 0 },
	{ "something else", "told w\n60000001 ", false, 0 },
	{ "a sign", "kcov w\n-60000001 ", false, 0 },
	{ "a prefix", "kcov w\n0x60000001 ", false, 0 },
	{ "two blanks", "kcov w\n60000001  60000002 ", false, 1 },
	{ "too large", "kcov w\n60000001000000000 ", false, 0 },
	{ "far away", "kcov w\n60000001 f0000001 ", true, 1 },
};

static void test_hear(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_codeset *set = set_new();
		const char *name;
		uint64_t added;
		size_t len;
		bool heard = as_codeset_hear(set, rows[i].text, &name, &len, &added);

		if (heard != rows[i].heard || added != rows[i].n || set->n != added)
			fail_msg("%s: heard %d, %llu places", rows[i].name, heard,
				 (unsigned long long)added);
		free(set);
	}
}

/* ---- What children tell ---------------------------------------------------------------------- */

static struct as_buf told;

static void hear_told(struct as_sink *sink, const char *text)
{
	(void)sink;
	as_buf_addf(&told, "[%s]", text);
}

/* Each place is told once: to its workload, and what is nobody's at the end. */
static void test_tell(void **state)
{
	static const struct as_kcov_new fresh[] = {
		{ BASE + 1, 0 }, { BASE + 2, AS_KCOV_NOBODY }, { BASE + 3, 1 }, { BASE + 4, 0 }
	};
	struct as_kcov_area *area = as_xcalloc(1, sizeof(*area));
	struct as_sink sink = { .told = hear_told };

	(void)state;
	memcpy(area->fresh, fresh, sizeof(fresh));
	area->n_new = sizeof(fresh) / sizeof(fresh[0]);
	as_kcov_tell(area, 0, "a", &sink);
	assert_string_equal(as_buf_str(&told), "[kcov a\n60000001 60000004 ]");
	as_buf_clear(&told);
	as_kcov_tell(area, 0, "a", &sink);
	as_kcov_tell(area, 7, "b", &sink);
	assert_string_equal(as_buf_str(&told), "");
	as_kcov_tell(area, AS_KCOV_NOBODY, "", &sink);
	assert_string_equal(as_buf_str(&told), "[kcov \n60000002 60000003 ]");
	assert_int_equal(area->n_new, 0);
	as_buf_clear(&told);
	/* More than there was room for. */
	area->n_new = AS_KCOV_NEW_MAX + 5;
	as_kcov_tell(area, AS_KCOV_NOBODY, "", &sink);
	assert_string_equal(as_buf_str(&told), "");
	assert_int_equal(area->n_new, 0);
	as_buf_free(&told);
	free(area);
}

/* ---- Files ----------------------------------------------------------------------------------- */

#define HEX_A "0123456789abcdef0123456789abcdef"
#define HEX_B "0123456789abcdef0123456789abcde0"

static const struct {
	const char *name, *line;
	int rc;
	const char *kernel, *build;
} heads[] = {
	{ "with its build", "debug " HEX_A, 0, "debug", HEX_A },
	{ "of an old version", "debug", 0, "debug", "" },
	{ "unknown", "-", 0, "", "" },
	{ "unknown, with a build", "- " HEX_A, 0, "", HEX_A },
	{ "a build that is none", "debug xyz", AS_EUSE, "", "" },
	{ "a build that is too long", "debug " HEX_A "0", AS_EUSE, "", "" },
	{ "an empty build", "debug ", AS_EUSE, "", "" },
	{ "a path", "../x " HEX_A, AS_EUSE, "", "" },
	{ "no name", "", AS_EUSE, "", "" },
};

static void test_heads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct as_codeset *set = set_new();
		struct as_buf text = { 0 };
		struct as_code_of of;
		int rc;

		as_buf_addf(&text, "assay-code 1\nkernel %s\n60000001\n", heads[i].line);
		rc = as_code_parse("x", as_buf_str(&text), set, &of, NULL);
		if (rc != heads[i].rc || (!rc && (strcmp(of.kernel, heads[i].kernel) ||
						  strcmp(of.build, heads[i].build))))
			fail_msg("%s: %d, '%s', '%s'", heads[i].name, rc, of.kernel, of.build);
		assert_int_equal(set->n, !rc);
		as_buf_free(&text);
		free(set);
	}
}

/* Two kernels of one name are not the same, if they are known to be two. */
static void test_same(void **state)
{
	const struct as_code_of a = { "debug", HEX_A }, b = { "debug", HEX_B },
				other = { "other", HEX_A }, old = { "debug", "" },
				none = { "", "" };

	(void)state;
	assert_true(as_code_of_same(&a, &a));
	assert_false(as_code_of_same(&a, &b));
	assert_true(as_code_of_same(&a, &other));
	assert_true(as_code_of_same(&a, &old));
	assert_false(as_code_of_same(&other, &old));
	assert_false(as_code_of_same(&none, &old));
}

static void test_build(void **state)
{
	static const char one[] = "60000000 16 fs/a.c f\n", two[] = "60000000 16 fs/a.c g\n";
	struct as_code_map a, again, b;

	(void)state;
	assert_int_equal(as_code_map_parse("x", one, &a, NULL), 0);
	assert_int_equal(as_code_map_parse("x", one, &again, NULL), 0);
	assert_int_equal(as_code_map_parse("x", two, &b, NULL), 0);
	assert_int_equal(strlen(a.build), AS_DIGEST_HEX_LEN);
	assert_string_equal(a.build, again.build);
	assert_string_not_equal(a.build, b.build);
	as_code_map_free(&a);
	as_code_map_free(&again);
	as_code_map_free(&b);
}

/* What the compiler made of a function is that function; one of another file is another one. */
static void test_parts(void **state)
{
	static const char list[] = "60000000 16 fs/a.c f.cold\n"
				   "60000010 16 fs/b.c f\n"
				   "60000020 16 fs/a.c g.isra.0\n"
				   "60000030 16 fs/a.c f\n"
				   "60000040 16 fs/a.c h.part.0\n"
				   "60000050 16 fs/a.c f2\n";
	static const uint64_t places[] = { 0x60000008, 0x60000024, 0x60000034, 0x60000038 };
	struct as_codeset *set = set_new();
	struct as_code_map map;
	struct as_buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		assert_true(as_codeset_add(set, places[i]));
	assert_int_equal(as_code_map_parse("x", list, &map, NULL), 0);
	assert_int_equal(as_code_count(&map, set), 0);
	as_code_sort(&map);
	as_code_table(&map, &out);
	assert_string_equal(as_buf_str(&out), "file,function,places\n"
					      "fs/a.c,f,3\n"
					      "fs/a.c,g,1\n"
					      "fs/a.c,h,0\n"
					      "fs/a.c,f2,0\n");
	as_buf_free(&out);
	as_code_map_free(&map);
	free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_address), cmocka_unit_test(test_expected),
		cmocka_unit_test(test_bound),	     cmocka_unit_test(test_hear),
		cmocka_unit_test(test_tell),	     cmocka_unit_test(test_heads),
		cmocka_unit_test(test_same),	     cmocka_unit_test(test_build),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
