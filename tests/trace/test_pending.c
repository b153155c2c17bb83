/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of threads between the beginning of a call and its end: found by key, removed, and
 * bounded in number and bytes. */
#include "trace/pending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void begin(struct as_pendings *p, unsigned key)
{
	struct as_pending *pending = as_pendings_get(p, key);

	as_pending_room(p, pending, 32);
	pending->len = (size_t)snprintf(pending->text, 32, "call of %u", key);
	pending->active = true;
}

static void assert_has(struct as_pendings *p, unsigned key)
{
	const struct as_pending *pending = as_pendings_find(p, key);
	char want[32];

	snprintf(want, sizeof(want), "call of %u", key);
	assert_non_null(pending);
	assert_int_equal(pending->key, key);
	assert_string_equal(pending->text, want);
}

/* The last one takes the place of each that ends. */
static void test_end(void **state)
{
	struct as_pendings p;

	(void)state;
	as_pendings_open(&p);
	assert_null(as_pendings_find(&p, 1));
	as_pendings_end(&p, 1);
	for (unsigned key = 0; key < 1000; key++)
		begin(&p, key * 4096);
	assert_int_equal(as_pendings_active(&p), 1000);
	for (unsigned key = 0; key < 1000; key += 3)
		as_pendings_end(&p, key * 4096);
	for (unsigned key = 0; key < 1000; key++)
		if (key % 3)
			assert_has(&p, key * 4096);
		else
			assert_null(as_pendings_find(&p, key * 4096));
	assert_int_equal(as_pendings_active(&p), 666);
	as_pendings_close(&p);
}

/* Those with nothing pending go first, and a call that is dropped is counted. */
static void test_too_many(void **state)
{
	enum { MOST = 16384 };
	struct as_pendings p;

	(void)state;
	as_pendings_open(&p);
	for (unsigned key = 0; key < MOST; key++)
		begin(&p, key);
	as_pendings_find(&p, 10)->active = false;
	begin(&p, MOST);
	assert_null(as_pendings_find(&p, 10));
	assert_int_equal(p.dropped, 0);
	for (unsigned key = MOST + 1; key < 2 * MOST; key++)
		begin(&p, key);
	assert_int_equal(p.dropped, MOST - 1);
	assert_int_equal(as_pendings_active(&p), 2 * MOST - 1);
	assert_has(&p, 2 * MOST - 1);
	as_pendings_close(&p);
}

static void test_too_long(void **state)
{
	const size_t mib = (size_t)1 << 20;
	struct as_pendings p;

	(void)state;
	as_pendings_open(&p);
	for (unsigned key = 0; key < 64; key++) {
		struct as_pending *pending = as_pendings_get(&p, key);

		pending->active = true;
		as_pending_room(&p, pending, mib);
		memset(pending->text, 'x', mib);
		assert_true(p.bytes <= 32 * mib);
	}
	assert_int_equal(p.dropped, 32);
	as_pendings_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests_name("trace/pending", tests, NULL, NULL);
}
