/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event: the kinds by name, and handing things along the chain of sinks. */
#include "base/event.h"

#include "base/buf.h"

#include <string.h>

static const char *const kind_names[AS_FIND_KINDS] = {
	[AS_FIND_OUTCOME] = "outcome", [AS_FIND_DATA] = "data",	  [AS_FIND_TREE] = "tree",
	[AS_FIND_SIGNAL] = "signal",   [AS_FIND_HANG] = "hang",	  [AS_FIND_LEAK] = "leak",
	[AS_FIND_CHECKER] = "checker", [AS_FIND_MOUNT] = "mount", [AS_FIND_MISUSE] = "misuse",
	[AS_FIND_KERNEL] = "kernel",   [AS_FIND_CRASH] = "crash", [AS_FIND_RECOVERY] = "recovery",
	[AS_FIND_RACE] = "race",       [AS_FIND_DIFF] = "diff",
};

const char *as_finding_kind_name(enum as_finding_kind kind)
{
	as_assert((unsigned)kind < AS_FIND_KINDS);
	return kind_names[kind];
}

int as_finding_kind_parse(const char *name)
{
	for (int i = 0; i < AS_FIND_KINDS; i++)
		if (!strcmp(kind_names[i], name))
			return i;
	return -1;
}

void as_emit_finding(struct as_sink *chain, const struct as_finding *finding, const char *id)
{
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->finding)
			sink->finding(sink, finding, id);
}

void as_emit_again(struct as_sink *chain, const char *signature)
{
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->again)
			sink->again(sink, signature);
}

void as_emit_note(struct as_sink *chain, const char *fmt, ...)
{
	struct as_buf line = { 0 };
	va_list ap;

	va_start(ap, fmt);
	as_buf_vaddf(&line, fmt, ap);
	va_end(ap);
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->note)
			sink->note(sink, as_buf_str(&line));
	as_buf_free(&line);
}

void as_emit_done(struct as_sink *chain, const struct as_run_stats *stats)
{
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->done)
			sink->done(sink, stats);
}
