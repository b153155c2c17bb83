/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json: what is written is what jansson, a parser that is not ours, reads back. */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

static void test_shape(void **state)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);

	(void)state;
	as_json_object(&json);
	as_json_kstr(&json, "s", "x");
	as_json_kstr(&json, "null", NULL);
	as_json_key(&json, "list");
	as_json_array(&json);
	as_json_int(&json, -1);
	as_json_array(&json);
	as_json_end(&json);
	as_json_object(&json);
	as_json_end(&json);
	as_json_object(&json);
	as_json_kuint(&json, "u", UINT64_MAX);
	as_json_end(&json);
	as_json_bool(&json, true);
	as_json_end(&json);
	as_json_kbool(&json, "b", false);
	as_json_kint(&json, "i", INT64_MIN);
	as_json_end(&json);
	assert_string_equal(as_buf_str(&out), "{\"s\":\"x\",\"null\":null,\"list\":[-1,[],{},"
					      "{\"u\":18446744073709551615},true],\"b\":false,"
					      "\"i\":-9223372036854775808}");
	assert_int_equal(json.depth, 0);
	as_buf_free(&out);
}

static void test_nests_to_the_limit(void **state)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);
	json_t *read;

	(void)state;
	for (int i = 0; i < AS_JSON_DEPTH_MAX; i++) {
		if (i % 2) {
			as_json_object(&json);
			as_json_key(&json, "k");
		} else {
			as_json_array(&json);
			as_json_int(&json, i);
		}
	}
	as_json_int(&json, 99);
	for (int i = 0; i < AS_JSON_DEPTH_MAX; i++)
		as_json_end(&json);
	read = json_loads(as_buf_str(&out), 0, NULL);
	assert_non_null(read);
	json_decref(read);
	as_buf_free(&out);
}

static json_t *read_string(const char *value, size_t len)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);
	json_t *read;

	as_json_strn(&json, value, len);
	read = json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	as_buf_free(&out);
	assert_non_null(read);
	assert_true(json_is_string(read));
	return read;
}

static void test_escapes(void **state)
{
	static const struct {
		const char *in, *want; /* want NULL: as it is */
	} rows[] = {
		{ "", NULL },
		{ "plain / text", NULL },
		{ "\" \\ \b \f \n \r \t \x01 \x1f \x7f", NULL },
		{ "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf", NULL },
		{ "\xff", "\xc3\xbf" },
		{ "a\x80z", "a\xc2\x80z" },
		{ "\xc3", "\xc3\x83" }, /* cut short */
		{ "\xc0\xaf", "\xc3\x80\xc2\xaf" }, /* overlong */
		{ "\xed\xa0\x80", "\xc3\xad\xc2\xa0\xc2\x80" }, /* a surrogate */
		{ "\xf4\x90\x80\x80", "\xc3\xb4\xc2\x90\xc2\x80\xc2\x80" }, /* past U+10FFFF */
		{ "\xe2\x82x", "\xc3\xa2\xc2\x82x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *read = read_string(rows[i].in, strlen(rows[i].in));

		assert_string_equal(json_string_value(read),
				    rows[i].want ? rows[i].want : rows[i].in);
		json_decref(read);
	}
}

/* Every byte, every pair of bytes, whatever it means: always valid JSON. */
static void test_any_bytes_are_valid(void **state)
{
	(void)state;
	for (unsigned pair = 0; pair < 65536; pair++) {
		char bytes[3] = { (char)(pair >> 8), (char)pair, 'x' };

		json_decref(read_string(bytes, 3));
	}
}

static void test_keys_are_escaped(void **state)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);
	json_t *read;

	(void)state;
	as_json_object(&json);
	as_json_kint(&json, "a\"b\n", 5);
	as_json_end(&json);
	read = json_loads(as_buf_str(&out), 0, NULL);
	assert_non_null(read);
	assert_int_equal(json_integer_value(json_object_get(read, "a\"b\n")), 5);
	json_decref(read);
	as_buf_free(&out);
}

static void test_numbers(void **state)
{
	static const double values[] = { 0,	  0.1,	   1.0 / 3, 1e300,   -2.5,
					 DBL_MAX, DBL_MIN, 123456,  1048576, 0.30000000000000004 };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct as_buf out = { 0 };
		struct as_json json = as_json_on(&out);
		json_t *read;

		as_json_num(&json, values[i]);
		read = json_loads(as_buf_str(&out), JSON_DECODE_ANY, NULL);
		assert_non_null(read);
		assert_true(json_number_value(read) == values[i]);
		json_decref(read);
		as_buf_clear(&out);
		json = as_json_on(&out);
		as_json_num(&json, i % 2 ? NAN : INFINITY);
		assert_string_equal(as_buf_str(&out), "null");
		as_buf_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_nests_to_the_limit),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_any_bytes_are_valid),
		cmocka_unit_test(test_keys_are_escaped),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
