/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults: reads that fail during recovery. The driver of steps here is made up: one that gives up
 * when it cannot read, one that repairs and says so, and the mutants: one that takes zeros for what
 * it could not read, one that dies, one that complains.
 */
#include "tests/lib/disk.h"

#include "crash/faults.h"
#include "recover/step_priv.h"
#include "snapshot/tree.h"

#include <errno.h>
#include <sys/stat.h>

#define READS 5

enum manner { CAREFUL, REPAIRS, CARELESS, DIES, COMPLAINS, BLIND };

struct made_up {
	struct as_recoverer base;
	enum manner manner;
	uint64_t asked; /* recoveries */
};

/* A root with as many files as could be read. */
static struct as_tree *tree_of(unsigned files)
{
	struct as_tree_maker *maker = as_tree_maker_new();
	struct as_tree_node root = { .name = "", .mode = S_IFDIR | 0755, .nlink = 2 };
	uint32_t at = as_tree_maker_add(maker, AS_TREE_NONE, 1, &root);

	for (unsigned i = 0; i < files; i++) {
		char name[] = { (char)('a' + i), '\0' };
		struct as_content *none = as_content_of_bytes("", 0);
		struct as_tree_node file = {
			.name = name, .mode = S_IFREG | 0644, .nlink = 1, .content = none
		};

		as_tree_maker_add(maker, at, i + 2, &file);
		as_content_put(none);
	}
	return as_tree_maker_done(maker);
}

static int made_up_run(struct as_recoverer *recoverer, enum as_step step, struct as_disk *disk,
		       bool want_log, struct as_stepped *out, struct as_err *err)
{
	struct made_up *m = (struct made_up *)recoverer;
	uint64_t fails = recoverer->fail_read;
	unsigned files = READS;

	(void)disk;
	(void)want_log;
	(void)err;
	if (step != AS_STEP_MOUNT) /* the checker reads nothing */
		return 0;
	m->asked++;
	as_step_count_reads(recoverer, READS);
	if (fails && fails <= READS) {
		if (m->manner == CAREFUL || m->manner == DIES || m->manner == COMPLAINS) {
			out->end = m->manner == CAREFUL ? AS_REFUSED
				   : m->manner == DIES	? AS_DIED
							: AS_COMPLAINED;
			as_buf_adds(&out->why, "mount: said so");
			return 0;
		}
		out->repaired = m->manner == REPAIRS;
		files -= m->manner != BLIND;
	}
	out->tree = tree_of(files);
	return 0;
}

static const struct as_step_driver driver = { .name = "made up", .run = made_up_run };

static void test_manners(void **state)
{
	static const struct {
		enum manner manner;
		const char *why; /* NULL: nothing is wrong */
	} rows[] = {
		{ CAREFUL, NULL },
		{ REPAIRS, NULL },
		{ BLIND, NULL }, /* it read again, and had it */
		{ CARELESS, "nobody was told (read 1 failed)" },
		{ DIES, "mount: said so (read 1 failed)" },
		{ COMPLAINS, "mount: said so (read 1 failed)" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct made_up m = { .base = { .driver = &driver, .ways = AS_WAYS_ALL },
				     .manner = rows[i].manner };
		struct as_crash_counts counts = { 0 };
		struct as_flight flight = { 0 };
		struct as_faults_args args = { &m.base, AS_WAY_FULL, &flight, &counts };
		struct as_tree *tree = tree_of(READS);
		struct as_problem problem = { 0 };
		struct as_err err;
		int rc = 0;

		assert_int_equal(as_faults(&args, NULL, tree, &problem, &rc, &err), !rows[i].why);
		assert_int_equal(rc, 0);
		assert_int_equal(problem.is, rows[i].why != NULL);
		if (rows[i].why && !strstr(as_buf_str(&problem.why), rows[i].why))
			fail_msg("row %zu: %s", i, as_buf_str(&problem.why));
		/* Every read, and one more recovery to see that there are no more. */
		assert_int_equal(m.asked, rows[i].why ? 1 : READS + 1);
		assert_int_equal(counts.faulty, m.asked);
		assert_int_equal(m.base.fail_read, 0);
		as_problem_free(&problem);
		as_tree_put(tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_manners) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
