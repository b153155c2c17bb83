/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source: the table of those that read traces, and which one a trace is for. */
#include "trace/source.h"
#include "trace/trace.h"

#include <string.h>

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

const struct as_source_ops *as_source_named(const char *name)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i];
	return NULL;
}

int as_source_choose(const char *path, struct as_trace *trace, const struct as_source_ops **out,
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
