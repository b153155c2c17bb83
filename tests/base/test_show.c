/* SPDX-License-Identifier: GPL-2.0-or-later */
/* show: characters that control a terminal are escaped, all others stay as they are. */
#include "base/show.h"

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <jansson.h>

static const struct {
	const char *text, *line, *lines;
} rows[] = {
	{ "", "", "" },
	{ "plain text, 100 % \\ \"", "plain text, 100 % \\ \"", "plain text, 100 % \\ \"" },
	{ "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7",
	  "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7",
	  "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7" },
	{ "a\tb\nc", "a\\x09b\\x0ac", "a\tb\nc" },
	{ "\033[2J", "\\x1b[2J", "\\x1b[2J" },
	{ "a\rb\a\b\177", "a\\x0db\\x07\\x08\\x7f", "a\\x0db\\x07\\x08\\x7f" },
	{ "\xc2\x9b"
	  "31m",
	  "\\u{9b}31m", "\\u{9b}31m" },
	{ "\x9b"
	  "31m",
	  "\\x9b31m", "\\x9b31m" },
	{ "\xe2\x80\xae"
	  "txt.exe",
	  "\\u{202e}txt.exe", "\\u{202e}txt.exe" },
	{ "\xe2\x81\xa6x\xe2\x81\xa9", "\\u{2066}x\\u{2069}", "\\u{2066}x\\u{2069}" },
	{ "\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80", "\\xc0\\xaf\\xed\\xa0\\x80" },
	{ "cut \xe2\x82", "cut \\xe2\\x82", "cut \\xe2\\x82" },
	{ "\xf3\xa0\x81\x81", "\\u{e0041}", "\\u{e0041}" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf out = { 0 };

		as_show(&out, rows[i].text);
		assert_string_equal(as_buf_str(&out), rows[i].line);
		as_buf_clear(&out);
		as_show_lines(&out, rows[i].text, strlen(rows[i].text));
		assert_string_equal(as_buf_str(&out), rows[i].lines);
		as_buf_free(&out);
	}
}

/* What a shell gets is the text, if it could be shown. */
static void test_word(void **state)
{
	static const char *const words[][2] = {
		{ "assay.out", "assay.out" },
		{ "../a-b_c/d,e:1", "../a-b_c/d,e:1" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "$(id)`;&", "'$(id)`;&'" },
		{ "it's", "'it'\\''s'" },
		{ "~/x", "'~/x'" },
		{ "\xc3\xa9", "'\xc3\xa9'" },
		{ "a\nb\033", "'a\\x0ab\\x1b'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct as_buf out = { 0 };

		as_show_word(&out, words[i][0]);
		assert_string_equal(as_buf_str(&out), words[i][1]);
		as_buf_free(&out);
	}
}

/* For every pair of bytes, and every character: the result has nothing that controls a terminal,
 * and showing it again does not change it. */
static void check_safe(const char *text, size_t len)
{
	struct as_buf once = { 0 }, twice = { 0 };

	as_shown(&once, text, len);
	for (size_t i = 0; i < once.len; i++) {
		unsigned char c = (unsigned char)once.data[i];

		assert_true(c >= ' ' && c != 0x7f);
		assert_false(c == 0xc2 && (unsigned char)once.data[i + 1] < 0xa0);
	}
	as_shown(&twice, as_buf_str(&once), once.len);
	assert_string_equal(as_buf_str(&once), as_buf_str(&twice));
	as_buf_free(&once);
	as_buf_free(&twice);
}

static void test_all_bytes(void **state)
{
	(void)state;
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++) {
			const char text[] = { (char)a, (char)b };

			check_safe(text, 2);
		}
}

/* JSON: the same characters are escaped, and read back as they were. */
static void test_json(void **state)
{
	static const char text[] = "\033 \xc2\x9b \xe2\x80\xae \xf3\xa0\x81\x81 \xc3\xa9 \x7f\"\\";
	struct as_buf out = { 0 };
	struct as_json j = as_json_on(&out);
	json_t *back;

	(void)state;
	as_json_array(&j);
	as_json_str(&j, text);
	as_json_end(&j);
	check_safe(as_buf_str(&out), out.len);
	assert_null(strstr(as_buf_str(&out), "\xe2\x80\xae"));
	assert_non_null(strstr(as_buf_str(&out), "\\u202e"));
	assert_non_null(strstr(as_buf_str(&out), "\\udb40\\udc41"));
	back = json_loads(as_buf_str(&out), 0, NULL);
	assert_non_null(back);
	assert_string_equal(json_string_value(json_array_get(back, 0)), text);
	json_decref(back);
	as_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_word),
		cmocka_unit_test(test_all_bytes),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
