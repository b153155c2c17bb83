/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_crash: random workloads, power cuts at every flush with subsets of the unflushed writes; and
 * the same with a flush left out, which must be noticed.
 */
#include "tests/lib/lab_cut.h"
#include "tests/lib/lab_workload.h"

static void run(struct crashlab *lab, unsigned steps, uint64_t seed)
{
	struct load w = { .r = &lab->r, .rng = seed * 0x2545f4914f6cdd1du + 7 };

	for (unsigned i = 0; i < steps; i++) {
		t_load_step(&w);
		t_crash_step(lab, w.synced);
	}
	t_load_end(&w);
	t_crash_step(lab, false);
}

static const struct {
	const char *name;
	uint64_t size;
	const char *opts;
	unsigned steps, seeds;
} plans[] = {
	{ "smallest disk", 256 * 1024, "", 250, 12 },
	{ "small disk", 512 * 1024, "", 250, 6 },
	{ "commit after every call", 256 * 1024, "commit=every", 60, 4 },
	{ "bigger disk", 4 << 20, "", 120, 1 },
};

static void test_random(void **state)
{
	(void)state;
	for (size_t p = 0; p < sizeof(plans) / sizeof(plans[0]); p++) {
		unsigned states = 0;

		for (uint64_t seed = 1; seed <= plans[p].seeds; seed++) {
			struct crashlab lab;

			t_crash_open(&lab, plans[p].size, plans[p].opts, seed);
			run(&lab, plans[p].steps, seed);
			t_crash_judge(&lab);
			if (lab.verdict[0])
				fail_msg("%s, seed %lu: %s", plans[p].name, seed, lab.verdict);
			states += lab.states;
			t_crash_close(&lab);
		}
		assert_in_range(states, 100, 1000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
