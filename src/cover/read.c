/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read: see read.h. Each trace has a world of its own: process ids of two traces have nothing to do
 * with each other. */
#include "cover/read.h"
#include "cover/split.h"
#include "cover/trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct as_source_ops *const sources[] = {
	&as_source_strace,
	&as_source_babeltrace,
	&as_source_syzkaller,
#ifdef AS_HAVE_babeltrace2
	&as_source_lttng,
#endif
};

#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))
#define SURE_ENOUGH 25

static const struct as_source_ops *by_name(const char *name)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i];
	return NULL;
}

static int choose(const char *path, struct as_trace *trace, const struct as_source_ops **out,
		  struct as_err *err)
{
	size_t len;
	const char *head = as_trace_head(trace, &len);
	int best = 0;

	if (!len) {
		if (as_trace_status(trace, err))
			return err->code;
		return as_fail(err, AS_EUSE, "%s: empty", path);
	}
	for (size_t i = 0; i < N_SOURCES; i++) {
		int sure = sources[i]->recognise ? sources[i]->recognise(head, len) : 0;

		if (sure > best) {
			best = sure;
			*out = sources[i];
		}
	}
	if (best >= SURE_ENOUGH)
		return 0;
	return as_fail(
		err, AS_EUSE,
		"%s: does not look like a trace of strace, babeltrace or syzkaller; if it is "
		"one, say which: --format",
		path);
}

static int run(const struct as_source_ops *source, const struct as_source_input *input,
	       struct as_tally *tally, const char *under, struct as_err *why, struct as_err *err)
{
	char text[300];
	int rc;

	as_assert(source->version == AS_SOURCE_VERSION);
	snprintf(text, sizeof(text), "%s %s", source->name, input->path);
	if (tally->split)
		as_split_begin(tally->split, text, under);
	rc = source->run(input, tally, err);
	if (rc && as_counts_noted(tally->counts, AS_NOTE_LINES)) {
		*why = *err;
		rc = 0;
	} else if (!rc && input->trace && !as_trace_whole(input->trace)) {
		as_fail(why, AS_EUSE, "%s: ends in the middle of a line", input->path);
	}
	if (why->code)
		as_counts_partial(tally->counts, why->msg);
	as_tally_ended(tally);
	as_counts_source(tally->counts, text);
	return rc;
}

int as_read_trace(const struct as_spec *spec, const char *path,
		  const struct as_read_options *options, struct as_counts *into, struct as_err *why,
		  struct as_err *err)
{
	const struct as_source_ops *source = NULL;
	struct as_source_input input = { .path = path };
	struct as_tally tally = { .spec = spec, .split = options->split };
	struct stat st;
	int rc;

	why->code = 0;
	if (options->format) {
		source = by_name(options->format);
		if (!source)
			return as_fail(err, AS_EUSE, "--format: no such format: %s",
				       options->format);
	}
	if (strcmp(path, "-") != 0 && !stat(path, &st) && S_ISDIR(st.st_mode)) {
		source = by_name("lttng");
		if (!source)
			return as_fail(err, AS_ELACK,
				       "%s is a folder; reading LTTng traces natively needs "
				       "libbabeltrace2 (libbabeltrace2-dev)",
				       path);
	}
	rc = as_world_new(spec, &options->world, &tally.world, err);
	if (!rc && !(source && (source->flags & AS_SOURCE_FOLDER)))
		rc = as_trace_open(path, &input.trace, err);
	if (!rc && !source)
		rc = choose(path, input.trace, &source, err);
	if (!rc) {
		tally.counts = as_counts_new(spec);
		rc = run(source, &input, &tally, options->world.under, why, err);
	}
	if (!rc) {
		as_counts_under(tally.counts, options->world.under);
		as_counts_merge(into, tally.counts);
	}
	as_trace_free(input.trace);
	as_counts_free(tally.counts);
	as_world_free(tally.world);
	return rc;
}
