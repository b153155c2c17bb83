/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event: hands events along a chain of sinks. */
#include "base/event.h"

#include "base/buf.h"

void as_emit_finding(struct as_sink *chain, const struct as_finding *finding)
{
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->finding)
			sink->finding(sink, finding);
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

void as_emit_told(struct as_sink *chain, const char *text)
{
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->told)
			sink->told(sink, text);
}

void as_emit_done(struct as_sink *chain, const struct as_run_result *stats)
{
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->done)
			sink->done(sink, stats);
}
