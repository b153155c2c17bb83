/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notice: each text and number of a notice comes through memory, through the finding and through
 * JSON as it was; memory that somebody wrote over can be read all the same; what cannot be a
 * finding is refused, however it is damaged.
 */
#include "base/finding_json.h"
#include "base/notice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	size_t at, bytes, in_finding;
} rows[] = {
#define SAID(name, bytes, ...) \
	{ #name, offsetof(struct as_notice, name), bytes, offsetof(struct as_finding, name) },
#define ADDED(name, ...)
#include "base/notice.def"
#undef SAID
#undef ADDED
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static char *text_of(struct as_notice *notice, size_t row)
{
	return (char *)notice + rows[row].at;
}

static const char *text_in(const struct as_finding *f, size_t row)
{
	return *(const char *const *)(const void *)((const char *)f + rows[row].in_finding);
}

/* A notice with another text in each row. */
static struct as_notice *filled(void)
{
	struct as_notice *notice = as_xmalloc(sizeof(*notice));

	memset(notice, 0xa5, sizeof(*notice));
	as_notice_begin(notice, AS_FIND_RACE, 7);
	for (size_t i = 0; i < N_ROWS; i++)
		as_notice_text(text_of(notice, i), rows[i].bytes, "%s: \"\xc3\xa9\" %zu\n",
			       rows[i].name, i);
	notice->disk_at = 4096;
	notice->disk_len = 12345;
	as_notice_close(notice);
	return notice;
}

static void assert_same(const struct as_notice *a, const struct as_notice *b)
{
	assert_int_equal(a->is, b->is);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->op, b->op);
	for (size_t i = 0; i < N_ROWS; i++)
		assert_string_equal((const char *)a + rows[i].at, (const char *)b + rows[i].at);
}

static void test_begin(void **state)
{
	struct as_notice *notice = filled();

	(void)state;
	as_notice_begin(notice, AS_FIND_TREE, -1);
	assert_false(notice->is);
	assert_int_equal(notice->kind, AS_FIND_TREE);
	assert_int_equal(notice->op, -1);
	assert_int_equal(notice->disk_len, 0);
	for (size_t i = 0; i < N_ROWS; i++)
		assert_string_equal(text_of(notice, i), "");
	free(notice);
}

static void test_memory(void **state)
{
	struct as_notice *notice = filled(), *copy = as_xmalloc(sizeof(*copy));

	(void)state;
	assert_true(as_notice_mend(notice));
	as_notice_copy(copy, notice);
	assert_same(copy, notice);
	assert_int_equal(copy->disk_at, 4096);
	assert_int_equal(copy->disk_len, 12345);
	free(copy);
	free(notice);
}

static void test_finding(void **state)
{
	struct as_notice *notice = filled(), *again = as_xmalloc(sizeof(*again));
	struct as_finding f = as_notice_open(notice);

	(void)state;
	assert_int_equal(f.kind, notice->kind);
	assert_int_equal(f.op_index, notice->op);
	for (size_t i = 0; i < N_ROWS; i++)
		assert_ptr_equal(text_in(&f, i), text_of(notice, i));
	assert_true(as_notice_of(&f, again));
	assert_same(again, notice);
	free(again);
	free(notice);
}

/* What a finding of this notice packs to. */
static void pack(const struct as_notice *notice, struct as_buf *out)
{
	static const struct as_finding_file files[] = { { "README.md", "a\n\"b\"", false },
							{ "repro.sh", "#!/bin/sh\n", true } };
	struct as_finding f = as_notice_open(notice);

	f.id = "lab-race-12345678";
	f.target = "lab:bug=3";
	f.workload = "sync\n";
	f.workload_name = "w.txt";
	f.op_line = 8;
	f.log = "it said\n";
	f.kernel = "Linux 6.1";
	f.files = files;
	f.n_files = 2;
	as_finding_pack(&f, out);
}

static void test_packed(void **state)
{
	struct as_notice *notice = filled(), *again = as_xmalloc(sizeof(*again));
	struct as_buf first = { 0 }, second = { 0 };
	struct as_finding r;
	struct as_err err;

	(void)state;
	pack(notice, &first);
	assert_int_equal(as_finding_unpack(first.data, first.len, AS_FINDING_WHOLE, &r, &err), 0);
	assert_string_equal(r.id, "lab-race-12345678");
	assert_string_equal(r.target, "lab:bug=3");
	assert_string_equal(r.workload, "sync\n");
	assert_string_equal(r.workload_name, "w.txt");
	assert_string_equal(r.log, "it said\n");
	assert_string_equal(r.kernel, "Linux 6.1");
	assert_int_equal(r.op_line, 8);
	assert_int_equal(r.n_files, 2);
	assert_string_equal(r.files[0].name, "README.md");
	assert_string_equal(r.files[0].text, "a\n\"b\"");
	assert_false(r.files[0].program);
	assert_true(r.files[1].program);
	assert_true(as_notice_of(&r, again));
	assert_same(again, notice);
	/* Once more, it is the same. */
	as_finding_pack(&r, &second);
	assert_string_equal(as_buf_str(&first), as_buf_str(&second));
	as_finding_free(&r);
	/* A guest has no files to give. */
	assert_int_equal(as_finding_unpack(first.data, first.len, AS_FINDING_FROM_GUEST, &r, &err),
			 AS_EUSE);
	as_buf_free(&first);
	as_buf_free(&second);
	free(again);
	free(notice);
}

/* ---- Hostile --------------------------------------------------------------------------------- */

static void test_scribbled(void **state)
{
	struct as_notice *notice = as_xmalloc(sizeof(*notice));
	struct as_finding f;

	(void)state;
	for (int byte = 0; byte < 256; byte += 51) {
		memset(notice, byte, sizeof(*notice));
		assert_int_equal(as_notice_mend(notice), byte == 0);
		assert_true((unsigned)notice->kind < AS_FIND_KINDS);
		assert_in_range(notice->op + 1, 0, INT32_MAX);
		assert_true(notice->disk_at + notice->disk_len <= INT64_MAX);
		f = as_notice_open(notice);
		for (size_t i = 0; i < N_ROWS; i++)
			assert_true(strlen(text_in(&f, i)) < rows[i].bytes);
		/* It is sound now. */
		assert_true(as_notice_mend(notice));
	}
	free(notice);
}

/* Each thing that can be wrong, alone. */
static void test_mended(void **state)
{
	struct as_notice *notice;

	(void)state;
	notice = filled();
	notice->kind = AS_FIND_KINDS;
	assert_false(as_notice_mend(notice));
	free(notice);
	notice = filled();
	notice->op = INT64_MAX;
	assert_false(as_notice_mend(notice));
	assert_int_equal(notice->op, -1);
	notice->op = -2;
	assert_false(as_notice_mend(notice));
	free(notice);
	notice = filled();
	notice->disk_at = UINT64_MAX - 1;
	assert_false(as_notice_mend(notice));
	assert_int_equal(notice->disk_len, 0);
	free(notice);
	for (size_t i = 0; i < N_ROWS; i++) {
		notice = filled();
		memset(text_of(notice, i), 'x', rows[i].bytes);
		assert_false(as_notice_mend(notice));
		assert_int_equal(strlen(text_of(notice, i)), rows[i].bytes - 1);
		free(notice);
	}
}

static void test_too_long(void **state)
{
	struct as_notice *notice = filled(), *again = as_xmalloc(sizeof(*again));
	char *text = as_xmalloc(1 << 20);

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		struct as_finding f = as_notice_open(notice);

		for (int over = 0; over < 2; over++) {
			size_t len = rows[i].bytes - !over;

			memset(text, 'x', len);
			text[len] = '\0';
			*(const char **)(void *)((char *)&f + rows[i].in_finding) = text;
			assert_int_equal(as_notice_of(&f, again), !over);
			assert_int_equal(again->is, !over);
		}
		/* Where it is noticed, it is cut. */
		as_notice_text(text_of(again, i), rows[i].bytes, "%s", text);
		assert_int_equal(strlen(text_of(again, i)), rows[i].bytes - 1);
	}
	free(text);
	free(again);
	free(notice);
}

/* Every beginning of one, and one with each byte changed: it is refused, or can be read. */
static void test_truncated(void **state)
{
	struct as_notice *notice = filled();
	struct as_finding r;
	struct as_buf text = { 0 };

	(void)state;
	pack(notice, &text);
	for (size_t len = 0; len < text.len; len++)
		assert_int_equal(as_finding_unpack(text.data, len, AS_FINDING_WHOLE, &r, NULL),
				 AS_EUSE);
	for (size_t at = 0; at < text.len; at++) {
		text.data[at] ^= 0x15;
		if (!as_finding_unpack(text.data, text.len, AS_FINDING_WHOLE, &r, NULL)) {
			assert_true(r.n_files <= AS_FINDING_FILES_MAX);
			assert_true((unsigned)r.kind < AS_FIND_KINDS);
			assert_true(as_finding_is_id(r.id));
			as_finding_free(&r);
		}
		text.data[at] ^= 0x15;
	}
	as_buf_free(&text);
	free(notice);
}

#define WITH(form, more)                                                                          \
	"{\"form\":" form ",\"id\":\"a\",\"kind\":\"data\",\"target\":\"lab\",\"summary\":\"s\"," \
	"\"signature\":\"g\",\"options\":\"\",\"workload\":\"\"" more "}"

static void test_frames(void **state)
{
	static const struct {
		const char *name, *text;
		bool fine;
	} frames[] = {
		{ "sound", WITH("1", ""), true },
		{ "nothing", "", false },
		{ "a list", "[1]", false },
		{ "an old form", WITH("0", ""), false },
		{ "a form to come", WITH("2", ""), false },
		{ "a form that is no number", WITH("[]", ""), false },
		{ "a text that does not end", "{\"form\":1,\"id\":\"a", false },
		{ "a text with a NUL", WITH("1", ",\"detail\":\"a\\u0000b\""), false },
		{ "a text that is no UTF-8", WITH("1", ",\"detail\":\"\xff\""), false },
		{ "numbers beyond all bounds",
		  WITH("1", ",\"op\":9223372036854775807,\"line\":-9223372036854775808"), true },
		{ "a number that is too large", WITH("1", ",\"op\":99999999999999999999"), false },
		{ "too many files", WITH("1", ",\"files\":[{},{},{},{},{},{},{},{},{}]"), false },
		{ "a file that is none", WITH("1", ",\"files\":[{\"name\":\"a\"}]"), false },
		{ "a file elsewhere", WITH("1", ",\"files\":[{\"name\":\"/etc/x\",\"text\":\"\"}]"),
		  false },
		{ "something after it", WITH("1", "") "x", false },
	};
	struct as_finding r;

	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		const char *text = frames[i].text;
		bool fine = !as_finding_unpack(text, strlen(text), AS_FINDING_WHOLE, &r, NULL);

		if (fine != frames[i].fine)
			fail_msg("%s: it is %s", frames[i].name, fine ? "taken" : "refused");
		assert_in_range(r.op_index + 1, 0, INT32_MAX);
		assert_in_range(r.op_line, 0, INT32_MAX);
		as_finding_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begin),	  cmocka_unit_test(test_memory),
		cmocka_unit_test(test_finding),	  cmocka_unit_test(test_packed),
		cmocka_unit_test(test_scribbled), cmocka_unit_test(test_mended),
		cmocka_unit_test(test_too_long),  cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
