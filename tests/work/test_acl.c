/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access control lists: how they are spelled, and the kernel's form. */
#include "work/acl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const lists[] = {
	"none",
	"u::rwx",
	"u::rw-,u:1000:r--,g::r--,g:7:-w-,m::rw-,o::---",
	"o::--x,m::---,m::rwx",
	"u:0:r--,u:4294967294:--x",
};

static const char *const others[] = {
	"",
	"u",
	"u:",
	"u::",
	"u::rw",
	"u::rwxx",
	"u::wrx",
	"u::rwx,",
	",u::rwx",
	"u::rwx g",
	"m:1:rwx",
	"o:1:rwx",
	"x::rwx",
	"u:01:rwx",
	"u:-1:rwx",
	"u: 1:rwx",
	"u:4294967295:r--",
	"u:1rwx",
	"None",
	"u::rwx,none",
	"u:99999999999999999999:rwx",
	"u::RWX",
	"uu::rwx",
	"u:1::rwx",
};

static void test_spelling(void **state)
{
	struct as_buf text = { 0 };
	struct as_acl acl;

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		assert_true(as_acl_parse(lists[i], &acl));
		as_buf_clear(&text);
		as_acl_print(&acl, &text);
		assert_string_equal(as_buf_str(&text), lists[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (as_acl_parse(others[i], &acl))
			fail_msg("'%s' is taken for a list", others[i]);
	as_buf_free(&text);
}

static void test_many(void **state)
{
	struct as_buf text = { 0 };
	struct as_acl acl;

	(void)state;
	as_buf_adds(&text, "u::rwx");
	for (unsigned i = 1; i < AS_ACL_MAX; i++)
		as_buf_addf(&text, ",u:%u:r--", i);
	assert_true(as_acl_parse(as_buf_str(&text), &acl));
	assert_int_equal(acl.n, AS_ACL_MAX);
	as_buf_adds(&text, ",o::---");
	assert_false(as_acl_parse(as_buf_str(&text), &acl));
	as_buf_free(&text);
}

/* As <linux/posix_acl_xattr.h> has it. */
static void test_bytes(void **state)
{
	static const uint8_t want[] = { 2, 0, 0,   0, 1, 0, 7,	  0, 255, 255, 255, 255, 2,   0,
					4, 0, 232, 3, 0, 0, 0x20, 0, 1,	  0,   255, 255, 255, 255 };
	uint8_t bytes[AS_ACL_BYTES];
	struct as_acl acl, back;

	(void)state;
	assert_true(as_acl_parse("u::rwx,u:1000:r--,o::--x", &acl));
	assert_int_equal(as_acl_encode(&acl, bytes), sizeof(want));
	assert_memory_equal(bytes, want, sizeof(want));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		assert_true(as_acl_parse(lists[i], &acl));
		assert_true(as_acl_decode(bytes, as_acl_encode(&acl, bytes), &back));
		assert_int_equal(back.n, acl.n);
		assert_memory_equal(back.entry, acl.entry, acl.n * sizeof(acl.entry[0]));
	}
}

static void test_no_list(void **state)
{
	uint8_t bytes[AS_ACL_BYTES + 8];
	struct as_acl acl;
	size_t len;

	(void)state;
	assert_true(as_acl_parse("u::rwx,u:1000:r--,o::--x", &acl));
	len = as_acl_encode(&acl, bytes);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(as_acl_decode(bytes, cut, &acl),
				 cut == 4 || cut == 12 || cut == 20);
	/* Byte after byte another one: the version, tags, permissions, an id where none belongs. */
	for (size_t i = 0; i < 12; i++) {
		bytes[i] ^= 0x40;
		assert_false(as_acl_decode(bytes, len, &acl));
		bytes[i] ^= 0x40;
	}
	memset(bytes + len, 0, sizeof(bytes) - len);
	assert_false(as_acl_decode(bytes, sizeof(bytes), &acl));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spelling),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
