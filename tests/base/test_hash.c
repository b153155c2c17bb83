/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hash and prng: known values (the same on every machine), and the algebra of multisets. */
#include "base/crc.h"
#include "base/hash.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* From the xxHash specification's own vectors: XXH3 of the empty input with seed 0. */
static void test_known_values(void **state)
{
	char hex[AS_DIGEST_HEX_LEN + 1];

	(void)state;
	assert_true(as_hash64("", 0) == 0x2d06800538d394c2u);
	as_digest_hex(as_hash("", 0), hex);
	assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
	assert_false(as_digest_eq(as_hash_seeded("x", 1, 1), as_hash_seeded("x", 1, 2)));
	assert_true(as_digest_eq(as_hash_seeded("x", 1, 0), as_hash("x", 1)));
}

/* The check value of CRC-32C, and that it can be computed in parts. */
static void test_crc32c(void **state)
{
	(void)state;
	assert_int_equal(~as_crc32c(~0u, "123456789", 9), 0xe3069283u);
	assert_int_equal(as_crc32c(as_crc32c(~0u, "1234", 4), "56789", 5),
			 as_crc32c(~0u, "123456789", 9));
}

static void test_hex_round_trip(void **state)
{
	static const char *const bad[] = {
		"",
		"0123",
		"0123456789abcdef0123456789abcdeg",
		"0123456789abcdef0123456789abcdef0",
		" 123456789abcdef0123456789abcdef",
	};
	char hex[AS_DIGEST_HEX_LEN + 1];
	struct as_digest d, untouched = { 1, 2 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		struct as_digest want = as_hash(&i, sizeof(i));

		as_digest_hex(want, hex);
		assert_true(as_digest_parse(hex, &d));
		assert_true(as_digest_eq(d, want));
	}
	assert_true(as_digest_parse("0123456789ABCDEF0123456789abcdef", &d));
	assert_true(d.hi == 0x0123456789abcdefu && d.lo == d.hi);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(as_digest_parse(bad[i], &untouched));
	assert_true(untouched.lo == 1 && untouched.hi == 2);
}

static struct as_digest element(uint64_t i)
{
	return as_digest_bind(as_hash(&i, sizeof(i)), i);
}

/* Order does not matter, multiplicity does, and what is taken out leaves no trace. */
static void test_multiset_algebra(void **state)
{
	struct as_digest up = AS_DIGEST_ZERO, down = AS_DIGEST_ZERO, part = AS_DIGEST_ZERO;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		up = as_digest_add(up, element(i));
		down = as_digest_add(down, element(999 - i));
		if (i % 3)
			part = as_digest_add(part, element(i));
	}
	assert_true(as_digest_eq(up, down));
	for (uint64_t i = 0; i < 1000; i += 3)
		down = as_digest_sub(down, element(i));
	assert_true(as_digest_eq(part, down));
	assert_false(as_digest_eq(as_digest_add(up, element(1)), up));
	for (uint64_t i = 0; i < 1000; i++)
		up = as_digest_sub(up, element(i));
	assert_true(as_digest_eq(up, AS_DIGEST_ZERO));
}

/* Exchanging the values of two keys must change the sum, which it would not for unbound digests. */
static void test_bind_separates_keys(void **state)
{
	(void)state;
	for (uint64_t a = 0; a < 60; a++) {
		for (uint64_t b = 0; b < a; b++) {
			struct as_digest x = as_hash(&a, sizeof(a)), y = as_hash(&b, sizeof(b));
			struct as_digest straight, crossed;

			straight = as_digest_add(as_digest_bind(x, a), as_digest_bind(y, b));
			crossed = as_digest_add(as_digest_bind(x, b), as_digest_bind(y, a));
			assert_false(as_digest_eq(straight, crossed));
			assert_false(as_digest_eq(as_digest_bind(x, a), as_digest_bind(x, b)));
		}
	}
}

static void test_splitmix64_known_values(void **state)
{
	/* The reference implementation, seed 1234567. */
	static const uint64_t want[] = { 6457827717110365317u, 3203168211198807973u,
					 9817491932198370423u, 4593380528125082431u,
					 16408922859458223821u };
	struct as_prng prng = as_prng_seed(1234567);

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_true(as_prng_next(&prng) == want[i]);
}

static void test_below_is_even(void **state)
{
	struct as_prng prng = as_prng_seed(1);
	unsigned seen[7] = { 0 };

	(void)state;
	for (int i = 0; i < 70000; i++) {
		uint64_t v = as_prng_below(&prng, 7);

		assert_true(v < 7);
		seen[v]++;
	}
	/* Five standard deviations (about 93 each) around 10000. */
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], 9535, 10465);
	for (int i = 0; i < 100; i++) {
		assert_true(as_prng_below(&prng, 1) == 0);
		assert_true(as_prng_below(&prng, UINT64_MAX) < UINT64_MAX);
	}
}

/* With n just above 2^63, plain modulo would give the low quarter twice as often. */
static void test_below_has_no_modulo_bias(void **state)
{
	struct as_prng prng = as_prng_seed(2);
	uint64_t n = (uint64_t)3 << 62;
	unsigned low = 0;

	(void)state;
	for (int i = 0; i < 30000; i++)
		low += as_prng_below(&prng, n) < (uint64_t)1 << 62;
	assert_in_range(low, 9590, 10410);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_hex_round_trip),
		cmocka_unit_test(test_multiset_algebra),
		cmocka_unit_test(test_bind_separates_keys),
		cmocka_unit_test(test_splitmix64_known_values),
		cmocka_unit_test(test_below_is_even),
		cmocka_unit_test(test_below_has_no_modulo_bias),
	};

	return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
