/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_test: what the tests of live recording share: a mode of the test's own program is recorded
 * in a folder of its own, by each way that can be used here. */
#ifndef TESTS_RECORD_RECORD_TEST_H
#define TESTS_RECORD_RECORD_TEST_H

#include "traced.h"

#include "cover/tally.h"
#include "os/spawn.h"
#include "record/record.h"

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
static struct as_spec *spec;

/* In the order of their exactness. */
static const struct as_source_ops *const ways[] = { &as_source_inprocess, &as_source_ptrace,
						    &as_source_ebpf };
#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

struct program {
	const char *mode;
	int (*run)(void);
};

/* Of a test's main: runs a mode when there is one, else returns -1 with `self` and `spec` set. */
static inline int start(int argc, char **argv, const struct program *programs, size_t n)
{
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return 2;
	for (size_t i = 0; argc == 2 && i < n; i++)
		if (!strcmp(programs[i].mode, argv[1]))
			return programs[i].run();
	spec = as_counts_spec();
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
	char root[] = "/tmp/assay-record-XXXXXX", *argv[] = { self, mode, NULL };
	struct as_world_options options = { .under = root };
	struct as_tally tally;
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *rm[] = { "rm", "-rf", root, NULL };
	struct as_ended ended;
	struct as_err err = { 0 };

	assert_non_null(mkdtemp(root));
	assert_int_equal(as_tally_open(&tally, spec, &options, as_counts_new(spec), NULL, &err), 0);
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
	assert_int_equal(as_spawn_run(&(struct as_spawn){ .argv = rm }, &ended, NULL), 0);
}

static inline uint64_t made(const struct recorded *r, const char *name)
{
	return as_counts_variant(r->counts, as_spec_find(spec, name, strlen(name)));
}

static inline uint64_t met(const struct recorded *r, const char *family, const char *arg,
			   const char *part)
{
	struct as_space space;
	uint64_t n = 0;

	assert_true(as_counts_find(r->counts, family, arg, arg ? AS_SPACE_PLAIN : AS_SPACE_OUTPUT,
				   &space));
	for (unsigned i = 0; i < space.n; i++)
		if (!strcmp(space.parts[i].name, part))
			n = space.parts[i].count;
	as_space_free(&space);
	return n;
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
			as_spec_free(spec);                                                    \
		}                                                                              \
		failed_;                                                                       \
	})

#endif
