/* SPDX-License-Identifier: GPL-2.0-or-later */
/* buf: growing, formatting, and files read and written whole. */
#include "base/buf.h"
#include "os/out.h"
#include "tests/lib/tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_starts_empty(void **state)
{
	struct as_buf buf = { 0 };

	(void)state;
	assert_string_equal(as_buf_str(&buf), "");
	as_buf_clear(&buf);
	as_buf_add(&buf, NULL, 0);
	assert_int_equal(buf.len, 0);
	assert_string_equal(as_buf_str(&buf), "");
	as_buf_free(&buf);
	as_buf_free(NULL);
}

static void test_adds(void **state)
{
	struct as_buf buf = { 0 };

	(void)state;
	as_buf_adds(&buf, "ab");
	as_buf_addc(&buf, 'c');
	as_buf_add(&buf, "d\0e", 3);
	assert_int_equal(buf.len, 6);
	assert_memory_equal(buf.data, "abcd\0e", 7);
	as_buf_clear(&buf);
	as_buf_addf(&buf, "%s-%d", "x", 5);
	as_buf_addf(&buf, "%s", "");
	assert_string_equal(as_buf_str(&buf), "x-5");
	as_buf_free(&buf);
	assert_null(buf.data);
}

/* Formatting must be right at every fill level around each doubling. */
static void test_format_at_every_boundary(void **state)
{
	(void)state;
	for (size_t fill = 0; fill < 300; fill++) {
		for (int width = 1; width < 200; width += 33) {
			struct as_buf buf = { 0 };
			char want[200];

			for (size_t i = 0; i < fill; i++)
				as_buf_addc(&buf, '.');
			as_buf_addf(&buf, "%0*d", width, 7);
			snprintf(want, sizeof(want), "%0*d", width, 7);
			assert_int_equal(buf.len, fill + (size_t)width);
			assert_string_equal(buf.data + fill, want);
			assert_true(buf.len < buf.cap);
			as_buf_free(&buf);
		}
	}
}

static void test_addu(void **state)
{
	static const unsigned long long values[] = { 0, 1, 9, 10, 99, 100, 4294967296, ULLONG_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct as_buf buf = { 0 };
		char want[32];

		as_buf_addu(&buf, values[i]);
		snprintf(want, sizeof(want), "%llu", values[i]);
		assert_string_equal(as_buf_str(&buf), want);
		as_buf_free(&buf);
	}
}

static void test_reserve_keeps_len(void **state)
{
	struct as_buf buf = { 0 };
	char *at;

	(void)state;
	as_buf_adds(&buf, "head");
	at = as_buf_reserve(&buf, 1000);
	assert_int_equal(buf.len, 4);
	assert_string_equal(as_buf_str(&buf), "head");
	memset(at, 'x', 1000);
	buf.len += 1000;
	buf.data[buf.len] = 0;
	assert_int_equal(strlen(buf.data), 1004);
	as_buf_free(&buf);
}

static int make_folder(void **state)
{
	*state = (void *)t_tmpdir();
	return 0;
}

static size_t count_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void test_file_round_trip(void **state)
{
	struct as_buf out = { 0 }, in = { 0 }, path = { 0 };
	struct as_err err = { 0 };
	struct stat st;

	as_buf_addf(&path, "%s/file", (char *)*state);
	for (unsigned i = 0; i < 300000; i++)
		as_buf_addc(&out, (char)(i * 7));
	assert_int_equal(as_out_save(path.data, &out, &err), 0);
	assert_int_equal(as_buf_read_file(&in, path.data, out.len, &err), 0);
	assert_int_equal(in.len, out.len);
	assert_memory_equal(in.data, out.data, out.len);

	/* Appends to what is there, and replaces what was written. */
	assert_int_equal(as_buf_read_file(&in, path.data, out.len, &err), 0);
	assert_int_equal(in.len, 2 * out.len);
	as_buf_clear(&out);
	assert_int_equal(as_out_save(path.data, &out, &err), 0);
	assert_int_equal(stat(path.data, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(count_entries(*state), 1);
	as_buf_free(&out);
	as_buf_free(&in);
	as_buf_free(&path);
}

static void test_file_limit(void **state)
{
	struct as_buf out = { 0 }, in = { 0 }, path = { 0 };
	struct as_err err = { 0 };

	as_buf_addf(&path, "%s/limit", (char *)*state);
	as_buf_adds(&out, "12345");
	assert_int_equal(as_out_save(path.data, &out, &err), 0);
	as_buf_adds(&in, "kept");
	assert_int_equal(as_buf_read_file(&in, path.data, 4, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "longer than the 4 bytes"));
	assert_string_equal(as_buf_str(&in), "kept");
	assert_int_equal(as_buf_read_file(&in, path.data, 5, &err), 0);
	assert_string_equal(as_buf_str(&in), "kept12345");
	as_buf_free(&out);
	as_buf_free(&in);
	as_buf_free(&path);
}

static void test_file_errors_name_the_file(void **state)
{
	struct as_buf buf = { 0 };
	struct as_err err = { 0 };

	assert_int_equal(as_buf_read_file(&buf, "/nonexistent/x", 10, &err), AS_EIO);
	assert_non_null(strstr(err.msg, "/nonexistent/x"));
	assert_non_null(strstr(err.msg, "No such file"));
	assert_int_equal(as_out_save("/nonexistent/x", &buf, &err), AS_EIO);
	assert_non_null(strstr(err.msg, "/nonexistent/x"));
	/* A folder cannot be read as a file, nor replaced by one, and no file is left over. */
	assert_int_equal(as_buf_read_file(&buf, *state, 10, &err), AS_EIO);
	as_buf_adds(&buf, *state);
	as_buf_adds(&buf, "/sub");
	assert_int_equal(mkdir(buf.data, 0777), 0);
	assert_int_equal(as_out_save(buf.data, &buf, &err), AS_EIO);
	assert_int_equal(rmdir(buf.data), 0);
	assert_int_equal(count_entries(*state), 0);
	as_buf_free(&buf);
}

static void test_word(void **state)
{
	struct as_buf buf = { 0 };

	(void)state;
	as_buf_add_word(&buf, "");
	as_buf_adds(&buf, " ");
	as_buf_add_word(&buf, "it's `a` $b");
	assert_string_equal(as_buf_str(&buf), "'' 'it'\\''s `a` $b'");
	as_buf_free(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_empty),
		cmocka_unit_test(test_adds),
		cmocka_unit_test(test_format_at_every_boundary),
		cmocka_unit_test(test_addu),
		cmocka_unit_test(test_reserve_keeps_len),
		cmocka_unit_test(test_word),
		cmocka_unit_test_setup_teardown(test_file_round_trip, make_folder, NULL),
		cmocka_unit_test_setup_teardown(test_file_limit, make_folder, NULL),
		cmocka_unit_test_setup_teardown(test_file_errors_name_the_file, make_folder, NULL),
	};

	return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
