/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_fuzz: a trace of any bytes is read without harm, whatever it says; what is counted of it is
 * never more than what came back, and its file is read as it was written. */
#ifndef AS_TESTS_FUZZ_COV_H
#define AS_TESTS_FUZZ_COV_H

#include "cover/tally.h"
#include "trace/source.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Once: what it holds is constant. */
static const struct as_spec *the_spec(void)
{
	static struct as_spec *spec;

	if (!spec)
		spec = as_counts_spec();
	return spec;
}

static inline void fuzz_round_trip(const struct as_counts *counts)
{
	struct as_buf first = { 0 }, second = { 0 };
	struct as_counts *again = NULL, *merged;
	struct as_err err;

	as_counts_print(counts, &first);
	as_assert(!as_counts_parse(the_spec(), "x", as_buf_str(&first), first.len, &again, &err));
	as_counts_print(again, &second);
	as_assert(first.len == second.len && !memcmp(first.data, second.data, first.len));
	/* Put together with nothing it is the same, and twice it is read again. */
	merged = as_counts_new(the_spec());
	as_counts_merge(merged, again);
	as_buf_clear(&second);
	as_counts_print(merged, &second);
	as_assert(first.len == second.len && !memcmp(first.data, second.data, first.len));
	as_counts_merge(merged, again);
	as_buf_clear(&second);
	as_counts_print(merged, &second);
	as_counts_free(again);
	again = NULL;
	as_assert(!as_counts_parse(the_spec(), "x", as_buf_str(&second), second.len, &again, &err));
	as_counts_free(merged);
	as_counts_free(again);
	as_buf_free(&first);
	as_buf_free(&second);
}

static inline int fuzz_source(const struct as_source_ops *source, const uint8_t *data, size_t len)
{
	static const struct as_world_options options = { .under_regex = "/mnt/(test|s+)",
							 .cwd = "/mnt" };
	char *text = malloc(len + 1);
	struct as_tally tally;
	struct as_source_input input = { .path = "fuzz.7" };
	struct as_err err;
	int rc;

	as_assert(text);
	memcpy(text, data, len);
	text[len] = 0;
	as_assert(!as_tally_open(&tally, the_spec(), &options, as_counts_new(the_spec()), NULL,
				 &err));
	input.trace = as_trace_on(text, len);
	as_assert(source->recognise(text, len) <= 100);
	/* One that cannot be counted at all is refused. */
	rc = source->run(&input, &tally.to, &err);
	as_assert(!rc || (err.code == AS_EUSE && *err.msg));
	as_tally_close(&tally);
	as_assert(as_counts_noted(tally.counts, AS_NOTE_COUNTED) <=
		  as_counts_noted(tally.counts, AS_NOTE_CALLS));
	as_assert(rc || as_counts_noted(tally.counts, AS_NOTE_NOT_UNDERSTOOD) <=
				as_counts_noted(tally.counts, AS_NOTE_LINES));
	fuzz_round_trip(tally.counts);
	as_trace_free(input.trace);
	as_counts_free(tally.counts);
	free(text);
	return 0;
}

#endif
