/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read: see read.h. Each trace has a world of its own: process ids of two traces have nothing to do
 * with each other. */
#include "cover/read.h"
#include "cover/split.h"
#include "cover/tally.h"
#include "trace/source.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int run(const struct as_source_ops *source, const struct as_source_input *input,
	       struct as_tally *tally, const char *under, struct as_err *why, struct as_err *err)
{
	char text[300];
	int rc;

	as_assert(source->version == AS_SOURCE_VERSION);
	snprintf(text, sizeof(text), "%s %s", source->name, input->path);
	if (tally->split)
		as_split_begin(tally->split, text, under);
	rc = source->run(input, &tally->to, err);
	if (rc && as_counts_noted(tally->counts, AS_NOTE_LINES)) {
		*why = *err;
		rc = 0;
	} else if (!rc && input->trace && !as_trace_whole(input->trace)) {
		as_fail(why, AS_EUSE, "%s: ends in the middle of a line", input->path);
	}
	if (why->code)
		as_counts_partial(tally->counts, why->msg);
	as_tally_close(tally);
	as_counts_source(tally->counts, text);
	return rc;
}

int as_read_trace(const struct as_spec *spec, const char *path,
		  const struct as_read_options *options, struct as_counts *into, struct as_err *why,
		  struct as_err *err)
{
	const struct as_source_ops *source = NULL;
	struct as_source_input input = { .path = path };
	struct as_tally tally;
	char *under;
	struct stat st;
	int rc;

	why->code = 0;
	if (options->format) {
		source = as_source_named(options->format);
		if (!source)
			return as_fail(err, AS_EUSE, "--format: no such format: %s",
				       options->format);
	}
	if (strcmp(path, "-") != 0 && !stat(path, &st) && S_ISDIR(st.st_mode)) {
		source = as_source_named("lttng");
		if (!source)
			return as_fail(err, AS_ELACK,
				       "%s is a folder; reading LTTng traces natively needs "
				       "libbabeltrace2 (libbabeltrace2-dev)",
				       path);
	}
	rc = as_tally_open(&tally, spec, &options->world, as_counts_new(spec), options->split, err);
	if (!rc && !(source && (source->flags & AS_SOURCE_FOLDER)))
		rc = as_trace_open(path, &input.trace, err);
	if (!rc && !source)
		rc = as_source_choose(path, input.trace, &source, err);
	under = as_world_under_text(&options->world);
	if (!rc)
		rc = run(source, &input, &tally, under, why, err);
	if (!rc) {
		as_counts_under(tally.counts, under);
		as_counts_merge(into, tally.counts);
	}
	free(under);
	as_trace_free(input.trace);
	as_tally_close(&tally);
	as_counts_free(tally.counts);
	return rc;
}
