/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chunk store: sharing by contents, the ways between private and sealed, counting, and an index
 * that stays right through growing, shrinking and removal in the middle of probe chains. */
#include "tests/lib/disk.h"

#include "disk/chunk.h"

/* A reference to a sealed chunk with these bytes. */
static struct as_chunk *put(struct as_chunks *store, const void *data)
{
	struct as_chunk *chunk = as_chunk_own(store, NULL, true);

	memcpy(as_chunk_bytes(chunk), data, AS_CHUNK_BYTES);
	return as_chunk_seal(store, chunk);
}

static void test_equal_contents_are_one_chunk(void **state)
{
	struct as_chunks *store = as_chunks_new();
	unsigned char buf[AS_CHUNK_BYTES];
	struct as_chunk *a, *b, *c;

	(void)state;
	t_fill(buf, sizeof(buf), 1);
	a = put(store, buf);
	b = put(store, buf);
	assert_ptr_equal(a, b);
	buf[AS_CHUNK_BYTES - 1] ^= 1;
	c = put(store, buf);
	assert_ptr_not_equal(a, c);
	assert_int_equal(as_chunks_stats(store).sealed, 2);
	assert_int_equal(as_chunks_stats(store).data_bytes, 2 * AS_CHUNK_BYTES);
	assert_false(as_chunk_same(a, c));
	assert_memory_equal(as_chunk_data(c), buf, sizeof(buf));
	as_chunk_unref(store, a);
	assert_int_equal(as_chunks_stats(store).sealed, 2);
	as_chunk_unref(store, b);
	assert_int_equal(as_chunks_stats(store).sealed, 1);
	as_chunk_unref(store, c);
	t_store_done(store);
}

static void test_zero_is_null(void **state)
{
	static const unsigned char zeros[AS_CHUNK_BYTES];
	struct as_chunks *store = as_chunks_new();
	struct as_chunk *chunk = put(store, zeros);

	(void)state;
	assert_null(chunk);
	assert_memory_equal(as_chunk_data(NULL), zeros, sizeof(zeros));
	assert_true(as_digest_eq(as_chunk_digest(NULL), AS_DIGEST_ZERO));
	chunk = as_chunk_own(store, NULL, false);
	assert_memory_equal(as_chunk_data(chunk), zeros, sizeof(zeros));
	assert_true(as_chunk_same(chunk, NULL));
	as_chunk_bytes(chunk)[77] = 1;
	assert_false(as_chunk_same(chunk, NULL));
	chunk = as_chunk_own(store, chunk, false);
	as_chunk_bytes(chunk)[77] = 0;
	chunk = as_chunk_seal(store, chunk);
	assert_null(chunk);
	t_store_done(store);
}

static void test_owning_leaves_others_alone(void **state)
{
	struct as_chunks *store = as_chunks_new();
	unsigned char buf[AS_CHUNK_BYTES];
	struct as_chunk *sealed, *mine;

	(void)state;
	t_fill(buf, sizeof(buf), 2);
	sealed = put(store, buf);
	mine = as_chunk_own(store, as_chunk_ref(sealed), false);
	assert_ptr_not_equal(mine, sealed);
	as_chunk_bytes(mine)[0] ^= 0xff;
	assert_memory_equal(as_chunk_data(sealed), buf, sizeof(buf));
	/* When it is changed back and sealed, it becomes the chunk that is there already. */
	mine = as_chunk_own(store, mine, false);
	as_chunk_bytes(mine)[0] ^= 0xff;
	mine = as_chunk_seal(store, mine);
	assert_ptr_equal(mine, sealed);
	as_chunk_unref(store, mine);
	/* The only owner of a sealed chunk may take it out of the index and change it in place. */
	mine = as_chunk_own(store, sealed, false);
	assert_int_equal(as_chunks_stats(store).sealed, 0);
	assert_int_equal(as_chunks_stats(store).private, 1);
	as_chunk_bytes(mine)[5] ^= 1;
	mine = as_chunk_seal(store, mine);
	buf[5] ^= 1;
	assert_true(as_digest_eq(as_chunk_digest(mine), as_hash(buf, sizeof(buf))));
	as_chunk_unref(store, mine);
	t_store_done(store);
}

/* A private chunk that two owners hold is sealed by each of them in turn. */
static void test_sealing_a_shared_private_chunk(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_chunk *a = as_chunk_own(store, NULL, false), *b, *known;
	unsigned char buf[AS_CHUNK_BYTES];

	(void)state;
	t_fill(buf, sizeof(buf), 3);
	memcpy(as_chunk_bytes(a), buf, sizeof(buf));
	b = as_chunk_ref(a);
	known = put(store, buf);
	a = as_chunk_seal(store, a);
	assert_ptr_equal(a, known);
	assert_int_equal(as_chunks_stats(store).private, 1);
	b = as_chunk_seal(store, b);
	assert_ptr_equal(b, known);
	assert_int_equal(as_chunks_stats(store).private, 0);
	as_chunk_unref(store, a);
	as_chunk_unref(store, b);
	as_chunk_unref(store, known);
	t_store_done(store);
}

static struct as_chunk *put_number(struct as_chunks *store, unsigned number)
{
	unsigned char buf[AS_CHUNK_BYTES] = { 1 };

	memcpy(buf + 8, &number, sizeof(number));
	return put(store, buf);
}

/* Thousands of chunks put and dropped in random order; each is found again while it lives. */
static void test_index(void **state)
{
	enum { N = 3000, STEPS = 60000 };
	struct as_chunks *store = as_chunks_new();
	struct as_chooser *chooser = as_chooser_seeded(11);
	struct as_choice *choice = as_chooser_choice(chooser);
	struct as_chunk **held = as_xcalloc(N, sizeof(*held));
	uint64_t small, n_held = 0;

	(void)state;
	as_chunk_unref(store, put_number(store, 0));
	small = as_chunks_stats(store).memory_bytes;
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = as_choose(choice, N);
		/* First it fills, then it stays about full, then it empties, so that the table
		 * grows and shrinks. */
		unsigned drop_of_8 = step < STEPS / 3 ? 1 : step < STEPS * 2 / 3 ? 4 : 7;

		if (held[i] && as_choose(choice, 8) < drop_of_8) {
			as_chunk_unref(store, held[i]);
			held[i] = NULL;
			n_held--;
		} else {
			struct as_chunk *chunk = put_number(store, i);

			if (held[i]) {
				assert_ptr_equal(chunk, held[i]);
				as_chunk_unref(store, chunk);
			}
			n_held += !held[i];
			held[i] = chunk;
		}
		assert_int_equal(as_chunks_stats(store).sealed, n_held);
	}
	for (unsigned i = 0; i < N; i++)
		as_chunk_unref(store, held[i]);
	assert_int_equal(as_chunks_stats(store).memory_bytes, small);
	t_store_done(store);
	as_chooser_free(chooser);
	free(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_contents_are_one_chunk),
		cmocka_unit_test(test_zero_is_null),
		cmocka_unit_test(test_owning_leaves_others_alone),
		cmocka_unit_test(test_sealing_a_shared_private_chunk),
		cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests_name("disk/chunk", tests, NULL, NULL);
}
