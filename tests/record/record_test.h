/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_test: what the tests of live recording share: a mode of the test's own program is recorded
 * in a folder of its own, by each way that can be used here. */
#ifndef TESTS_RECORD_RECORD_TEST_H
#define TESTS_RECORD_RECORD_TEST_H

#include "traced.h"

#include "record/record.h"
#include "tests/lib/counted.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char self[4096];

/* In the order of their exactness. */
static const struct as_source_ops *const ways[] = { &as_source_inprocess, &as_source_ptrace,
						    &as_source_ebpf };
#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

struct program {
	const char *mode;
	int (*run)(void);
};

/* Of a test's main: runs a mode when there is one, else returns -1 with `self` and `t_spec` set. */
static inline int start(int argc, char **argv, const struct program *programs, size_t n)
{
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return 2;
	for (size_t i = 0; argc == 2 && i < n; i++)
		if (!strcmp(programs[i].mode, argv[1]))
			return programs[i].run();
	t_spec_setup(NULL);
	return argc == 2 ? 2 : -1;
}

struct recorded {
	const char *way;
	struct as_counts *counts;
	int status;
	struct as_record_control control;
};

static inline void record(const struct as_source_ops *source, char *mode, struct recorded *r)
{
	const char *root = t_tmpdir();
	char *argv[] = { self, mode, NULL };
	struct as_world_options options = { .under = root };
	struct as_tally tally;
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct as_err err = { 0 };

	assert_int_equal(as_tally_open(&tally, t_spec, &options, as_counts_new(t_spec), NULL, &err),
			 0);
	assert_int_equal(chdir(root), 0);
	if (source->run(&(struct as_source_input){ .argv = argv,
						   .exit_status = &r->status,
						   .control = &r->control },
			&tally.to, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(fchdir(here), 0);
	close(here);
	as_tally_close(&tally);
	r->counts = tally.counts;
	t_tmpdir_remove(root);
}

static inline uint64_t made(const struct recorded *r, const char *name)
{
	return t_calls(r->counts, name);
}

static inline uint64_t met(const struct recorded *r, const char *family, const char *arg,
			   const char *part)
{
	return t_count(r->counts, family, arg, part);
}

/* With each way that can be used here. */
static inline void all_ways(char *mode, void (*check)(const struct recorded *r))
{
	for (size_t i = 0; i < N_WAYS; i++) {
		struct recorded r = { 0 };
		struct as_err err;

		if (ways[i]->usable(&err)) {
			print_message("not by %s: %s\n", ways[i]->name, err.msg);
			continue;
		}
		r.way = ways[i]->name;
		record(ways[i], mode, &r);
		if (!WIFEXITED(r.status) || WEXITSTATUS(r.status))
			fail_msg("by %s: status %x", ways[i]->name, r.status);
		print_message("by %s\n", ways[i]->name);
		check(&r);
		as_counts_free(r.counts);
	}
}

/* What a test's main returns. */
#define RUN_OR_TEST(argc, argv, programs, tests)                                               \
	({                                                                                     \
		int failed_ =                                                                  \
			start(argc, argv, programs, sizeof(programs) / sizeof((programs)[0])); \
                                                                                               \
		if (failed_ < 0) {                                                             \
			failed_ = cmocka_run_group_tests(tests, NULL, NULL);                   \
			t_spec_teardown(NULL);                                                 \
		}                                                                              \
		failed_;                                                                       \
	})

#endif
