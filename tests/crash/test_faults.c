/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults: calls that fail during recovery. The driver of steps here is made up: one that gives up
 * when it cannot read, one that repairs and says so, and the mutants: one that takes zeros for what
 * it could not read, one that dies, one that complains, and one that leaves a disk on which the
 * next recovery gives up.
 */
#include "tests/lib/disk.h"

#include "crash/faults.h"
#include "recover/step_priv.h"
#include "snapshot/tree.h"

#include <errno.h>
#include <sys/stat.h>

#define READS 5

enum manner { CAREFUL, REPAIRS, CARELESS, DIES, COMPLAINS, BLIND, SPOILS };

struct made_up {
	struct as_recoverer base;
	enum manner manner;
	uint64_t asked; /* recoveries */
	bool spoilt; /* the disk */
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
	enum as_recover_fault kind = recoverer->fail_kind;
	uint64_t fails = as_step_fails(recoverer, kind);
	unsigned files = READS;

	(void)want_log;
	(void)err;
	if (step != AS_STEP_MOUNT) /* the checker reads nothing */
		return 0;
	m->asked++;
	as_step_count(recoverer, kind, READS);
	out->disk = as_disk_snapshot(disk);
	if (m->spoilt && !fails) {
		out->end = AS_REFUSED;
		as_buf_adds(&out->why, "mount: is spoilt");
		return 0;
	}
	if (fails && fails <= READS) {
		if (m->manner == CAREFUL || m->manner == DIES || m->manner == COMPLAINS) {
			out->end = m->manner == CAREFUL ? AS_REFUSED
				   : m->manner == DIES	? AS_DIED
							: AS_COMPLAINED;
			as_buf_adds(&out->why, "mount: said so");
			return 0;
		}
		out->repaired = m->manner == REPAIRS;
		m->spoilt = m->manner == SPOILS;
		files -= m->manner != BLIND && m->manner != SPOILS;
	}
	out->tree = tree_of(files);
	return 0;
}

static const struct as_step_driver driver = { .name = "made up", .run = made_up_run };

/* Kinds of calls that fail. Writes and flushes are asked for as one. */
static unsigned kinds(unsigned what, bool outside)
{
	unsigned n = !!(what & AS_CRASH_FAIL_READ);

	if (!outside)
		n += (what & AS_CRASH_FAIL_WRITE ? 2 : 0) + !!(what & AS_CRASH_FAIL_ALLOC);
	return n;
}

static void test_manners(void **state)
{
	static const struct {
		enum manner manner;
		const char *why; /* NULL: nothing is wrong */
		unsigned what;
		bool outside; /* it is not in our process */
	} rows[] = {
		{ CAREFUL, NULL, AS_CRASH_FAIL_READ, false },
		{ REPAIRS, NULL, AS_CRASH_FAIL_READ, false },
		/* It read again, and had it. */
		{ BLIND, NULL, AS_CRASH_FAIL_READ, false },
		{ CARELESS, "nobody was told (read 1 failed)", AS_CRASH_FAIL_READ, false },
		{ DIES, "mount: said so (read 1 failed)", AS_CRASH_FAIL_READ, false },
		{ COMPLAINS, "mount: said so (read 1 failed)", AS_CRASH_FAIL_READ, false },
		{ SPOILS, "mount: is spoilt (read 1 failed)", AS_CRASH_FAIL_READ, false },
		{ SPOILS, NULL, AS_CRASH_FAIL_READ, true },
		{ CAREFUL, NULL, AS_CRASH_FAIL_ALL, false },
		{ CAREFUL, NULL, AS_CRASH_FAIL_ALL, true },
		{ SPOILS, "mount: is spoilt (write 1 failed)", AS_CRASH_FAIL_WRITE, false },
		{ CARELESS, "nobody was told (allocation 1 failed)", AS_CRASH_FAIL_ALLOC, false },
		{ CARELESS, NULL, AS_CRASH_FAIL_ALLOC, true }, /* it cannot be made to fail */
	};

	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = t_disk_new(store, 4096);

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct made_up m = { .base = { .driver = &driver,
					       .ways = AS_WAYS_ALL,
					       .in_process = !rows[i].outside },
				     .manner = rows[i].manner };
		struct as_crash_counts counts = { 0 };
		struct as_flight flight = { 0 };
		struct as_faults_args args = { .recoverer = &m.base,
					       .what = rows[i].what,
					       .way = AS_WAY_FULL,
					       .flight = &flight,
					       .counts = &counts };
		struct as_tree *tree = tree_of(READS);
		struct as_problem problem = { 0 };
		struct as_err err;
		int rc = 0;

		assert_int_equal(as_faults(&args, disk, tree, &problem, &rc, &err), !rows[i].why);
		assert_int_equal(rc, 0);
		assert_int_equal(problem.notice != NULL, rows[i].why != NULL);
		if (rows[i].why && !strstr(problem.notice->summary, rows[i].why))
			fail_msg("row %zu: %s", i, problem.notice->summary);
		/* Every call, and one more recovery to see that there are no more. */
		assert_int_equal(counts.faulty,
				 rows[i].why ? 1
					     : kinds(rows[i].what, rows[i].outside) * (READS + 1));
		assert_true(m.asked >= counts.faulty);
		assert_int_equal(m.base.fail_nth, 0);
		as_problem_free(&problem);
		as_tree_put(tree);
	}
	as_disk_free(disk);
	t_store_done(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_manners) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
