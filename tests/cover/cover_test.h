/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cover_test: a trace in a string, read, and what it was counted as. */
#ifndef AS_TESTS_COVER_TEST_H
#define AS_TESTS_COVER_TEST_H

#include "base/buf.h"
#include "cover/partition.h"
#include "cover/tally.h"
#include "trace/source.h"
#include "trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct as_spec *spec;

/* Of a group of tests: what makes `spec`, and frees it. */
static inline int setup(void **state)
{
	(void)state;
	spec = as_counts_spec();
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	as_spec_free(spec);
	return 0;
}

/* NULL under: everything. */
static inline struct as_counts *read_text(const struct as_spec *spec,
					  const struct as_source_ops *source, const char *under,
					  const char *cwd, const char *text)
{
	struct as_world_options options = { .under = under, .cwd = cwd };
	struct as_tally tally;
	struct as_source_input input = { .path = "test", .trace = as_trace_on(text, strlen(text)) };
	struct as_err err = { 0 };

	if (as_tally_open(&tally, spec, &options, as_counts_new(spec), NULL, &err) ||
	    source->run(&input, &tally.to, &err))
		fail_msg("%s", err.msg);
	as_tally_close(&tally);
	as_trace_free(input.trace);
	return tally.counts;
}

static inline uint64_t count_in(const struct as_counts *counts, const char *family, const char *arg,
				enum as_space_kind kind, const char *part)
{
	struct as_space space;
	uint64_t n = 0;

	if (!as_counts_find(counts, family, arg, kind, &space))
		fail_msg("there is no %s %s", family, arg ? arg : "output");
	for (unsigned i = 0; i < space.n; i++)
		if (!strcmp(space.parts[i].name, part))
			n = space.parts[i].count;
	as_space_free(&space);
	return n;
}

/* Of an argument; arg NULL: of the result. */
static inline uint64_t count(const struct as_counts *counts, const char *family, const char *arg,
			     const char *part)
{
	return count_in(counts, family, arg, arg ? AS_SPACE_PLAIN : AS_SPACE_OUTPUT, part);
}

static inline uint64_t calls(const struct as_counts *counts, const struct as_spec *spec,
			     const char *name)
{
	const struct as_spec_call *call = as_spec_find(spec, name, strlen(name));

	assert_non_null(call);
	return as_counts_variant(counts, call);
}

#endif
