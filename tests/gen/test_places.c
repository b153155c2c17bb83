/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where operations go in files, how long the texts of links are, how names are spelled, and how
 * much of the disk a light workload takes: each setting does what it says, and nothing without it.
 */
#include "tests/lib/gen.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

#define WORKLOADS 60
#define LARGEST 67381248

struct seen {
	unsigned ranges, met; /* operations with a place; those at one of an earlier operation */
	unsigned far, largest, beyond; /* after 1 MiB; to the last byte; further */
	unsigned links, exact[200]; /* their texts by length */
	unsigned light; /* workloads in which nothing takes more than 512 bytes */
	unsigned dotted; /* workloads with a name after a dot */
	unsigned two_dots; /* workloads with a name after two dots */
};

static bool has_place(const struct as_op *op)
{
	return op->code == AS_OP_PREAD || op->code == AS_OP_PWRITE || op->code == AS_OP_FALLOCATE ||
	       op->code == AS_OP_FTRUNCATE;
}

static int64_t end_of(const struct as_op *op)
{
	return (int64_t)op->len + (op->code == AS_OP_FTRUNCATE ? 0 : op->off);
}

static bool is_beside(int64_t a, int64_t b)
{
	return a >= b - 1 && a <= b + 1;
}

static void look_at_place(const struct as_op *op, int64_t last[64], struct seen *seen)
{
	int64_t end = end_of(op);

	seen->ranges++;
	seen->far += end > 2 << 20;
	seen->largest += end == LARGEST;
	seen->beyond += end > LARGEST;
	if (op->fd < 0 || op->fd >= 64)
		return;
	seen->met += is_beside(end, last[op->fd]) ||
		     (op->code != AS_OP_FTRUNCATE && is_beside(op->off, last[op->fd]));
	last[op->fd] = end;
}

static void look_at_link(const struct as_op *op, struct seen *seen)
{
	size_t len = strlen(op->path);

	seen->links++;
	seen->exact[len < 199 ? len : 199]++;
}

static struct seen look(const char *more, const struct as_traits *traits)
{
	struct as_profile *profile = as_profile_new();
	struct as_chooser *chooser = as_chooser_seeded(11);
	struct as_buf text = { 0 };
	struct seen seen = { 0 };
	struct as_gen *gen;

	as_buf_adds(&text, "like hunt\nagain 0%\nfar 0%\nlink-text 0%\nspell 0\nreuse 0\n");
	as_buf_adds(&text, more);
	assert_int_equal(as_profile_parse("p", as_buf_str(&text), text.len, profile, NULL), 0);
	gen = t_gen_start(profile, traits, chooser);
	for (unsigned n = 0; n < WORKLOADS; n++) {
		struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);
		int64_t last[64];
		bool light = true, dotted = false, two_dots = false;

		memset(last, -9, sizeof(last));
		for (size_t i = 0; i < seq->n; i++) {
			const struct as_op *op = &seq->ops[i];

			if (has_place(op))
				look_at_place(op, last, &seen);
			if (op->code == AS_OP_SYMLINK)
				look_at_link(op, &seen);
			dotted |= op->path && strstr(op->path, "/.a");
			two_dots |= op->path && strstr(op->path, "/..");
			light &= (op->code != AS_OP_WRITE && op->code != AS_OP_PWRITE) ||
				 op->len <= 512;
		}
		seen.light += light;
		seen.dotted += dotted;
		seen.two_dots += two_dots;
		as_seq_free(seq);
		as_chooser_next(chooser);
	}
	as_gen_free(gen);
	as_chooser_free(chooser);
	as_buf_free(&text);
	free(profile);
	return seen;
}

static void test_operations_meet(void **state)
{
	struct seen without = look("", &t_any_traits);
	struct seen with = look("again 20%\n", &t_any_traits);

	(void)state;
	assert_true(with.ranges > 500);
	assert_true(with.met * without.ranges > 2 * without.met * with.ranges);
}

static void test_far_needs_a_limit(void **state)
{
	struct as_traits traits = t_any_traits;
	struct seen seen = look("far 10%\n", &traits);

	(void)state;
	assert_int_equal(seen.far, 0);
	traits.features |= AS_FEAT_LIBRARY;
	traits.size_max = LARGEST;
	seen = look("far 10%\n", &traits);
	assert_true(seen.far > 20 && seen.largest && seen.beyond);
	assert_int_equal(look("", &traits).far, 0);
}

static void test_links_of_all_lengths(void **state)
{
	struct as_traits traits = t_any_traits;
	struct seen seen = look("link-text 100%\n", &traits);
	unsigned lengths = 0;

	(void)state;
	for (unsigned i = 0; i < 199; i++)
		lengths += seen.exact[i] > 0;
	assert_true(seen.links > 100 && lengths > 60 && seen.exact[199]);
	/* A type that keeps a list of names would not give such a text back. */
	traits.quirks |= AS_QUIRK_SYMLINK_OF_NAMES;
	seen = look("link-text 100%\n", &traits);
	for (unsigned i = lengths = 0; i < 199; i++)
		lengths += seen.exact[i] > 0;
	assert_true(lengths < 60);
}

static void test_half_of_them_are_light(void **state)
{
	struct seen without = look("", &t_any_traits), with = look("spare 512\n", &t_any_traits);

	(void)state;
	assert_true(without.light < WORKLOADS / 10);
	assert_true(with.light > WORKLOADS / 4 && with.light < WORKLOADS * 3 / 4);
}

static unsigned words_of(const char *more, unsigned number, struct as_buf *out)
{
	struct as_profile *profile = as_profile_new();
	struct as_chooser *chooser = as_chooser_seeded(12);
	struct as_buf text = { 0 };
	unsigned ops = 0;
	struct as_gen *gen;

	as_buf_addf(&text, "like hunt\n%s", more);
	assert_int_equal(as_profile_parse("p", as_buf_str(&text), text.len, profile, NULL), 0);
	gen = t_gen_start(profile, &t_any_traits, chooser);
	for (unsigned n = 0; n <= number; n++) {
		struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);

		if (n == number)
			as_print_seq(seq, out);
		ops = (unsigned)seq->n;
		as_seq_free(seq);
		as_chooser_next(chooser);
	}
	as_gen_free(gen);
	as_chooser_free(chooser);
	as_buf_free(&text);
	free(profile);
	return ops;
}

/* Every third has names with dots; all others are what they were. */
static void test_names_are_spelled(void **state)
{
	struct seen without = look("", &t_any_traits), with = look("spell 3\n", &t_any_traits);

	(void)state;
	assert_int_equal(without.dotted, 0);
	assert_true(with.dotted > WORKLOADS / 20 && with.dotted <= WORKLOADS / 3);
	for (unsigned n = 0; n < 6; n++) {
		struct as_buf plain = { 0 }, spelled = { 0 };

		assert_int_equal(words_of("spell 0\n", n, &plain),
				 words_of("spell 3\n", n, &spelled));
		assert_int_equal(!strcmp(as_buf_str(&plain), as_buf_str(&spelled)), n % 3 != 2);
		as_buf_free(&plain);
		as_buf_free(&spelled);
	}
}

/* A type that loses names with two dots before them gets none; they have one dot then. */
static void test_names_with_two_dots(void **state)
{
	struct as_traits traits = t_any_traits;
	struct seen any = look("spell 3\n", &traits), one;

	(void)state;
	traits.quirks |= AS_QUIRK_DOTS_LOST;
	one = look("spell 3\n", &traits);
	assert_true(any.two_dots > WORKLOADS / 20);
	assert_int_equal(one.two_dots, 0);
	assert_true(one.dotted > any.dotted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations_meet),
		cmocka_unit_test(test_far_needs_a_limit),
		cmocka_unit_test(test_links_of_all_lengths),
		cmocka_unit_test(test_half_of_them_are_light),
		cmocka_unit_test(test_names_are_spelled),
		cmocka_unit_test(test_names_with_two_dots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
