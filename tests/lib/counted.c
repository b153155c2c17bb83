/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counted: see counted.h. */
#include "tests/lib/counted.h"

#include "trace/trace.h"

struct as_spec *t_spec;

int t_spec_setup(void **state)
{
	(void)state;
	t_spec = as_counts_spec();
	return 0;
}

int t_spec_teardown(void **state)
{
	(void)state;
	as_spec_free(t_spec);
	t_spec = NULL;
	return 0;
}

struct as_counts *t_read_with(const struct as_source_ops *source,
			      const struct as_world_options *options, const char *text)
{
	struct as_tally tally;
	struct as_source_input input = { .path = "test", .trace = as_trace_on(text, strlen(text)) };
	struct as_err err = { 0 };

	if (as_tally_open(&tally, t_spec, options, as_counts_new(t_spec), NULL, &err) ||
	    source->run(&input, &tally.to, &err))
		fail_msg("%s", err.msg);
	as_tally_close(&tally);
	as_trace_free(input.trace);
	return tally.counts;
}

struct as_counts *t_read_text(const struct as_source_ops *source, const char *under,
			      const char *cwd, const char *text)
{
	return t_read_with(source, &(struct as_world_options){ .under = under, .cwd = cwd }, text);
}

uint64_t t_count_in(const struct as_counts *counts, const char *family, const char *arg,
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

uint64_t t_count(const struct as_counts *counts, const char *family, const char *arg,
		 const char *part)
{
	return t_count_in(counts, family, arg, arg ? AS_SPACE_PLAIN : AS_SPACE_OUTPUT, part);
}

uint64_t t_calls(const struct as_counts *counts, const char *name)
{
	const struct as_spec_call *call = as_spec_find(t_spec, name, strlen(name));

	assert_non_null(call);
	return as_counts_variant(counts, call);
}
