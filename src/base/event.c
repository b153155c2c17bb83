/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event: hands events along a chain of sinks. */
#include "base/event.h"

#include "base/buf.h"

const char *const as_raced_names[AS_RACED_COUNTS] = {
	[AS_RACED_CALLS] = "calls",   [AS_RACED_LOST] = "lost",
	[AS_RACED_READS] = "reads",   [AS_RACED_READS_OPEN] = "reads_open",
	[AS_RACED_SEEKS] = "seeks",   [AS_RACED_SEEKS_OPEN] = "seeks_open",
	[AS_RACED_STATS] = "stats",   [AS_RACED_STATS_OPEN] = "stats_open",
	[AS_RACED_LISTS] = "lists",   [AS_RACED_LISTS_OPEN] = "lists_open",
	[AS_RACED_COPIES] = "copies", [AS_RACED_COPIES_OPEN] = "copies_open",
};

void as_raced_add(struct as_raced *sum, const struct as_raced *raced)
{
	for (size_t i = 0; i < AS_RACED_COUNTS; i++)
		sum->n[i] += raced->n[i];
}

uint64_t as_raced_full(const struct as_raced *raced)
{
	const uint64_t *n = raced->n;
	uint64_t rest = n[AS_RACED_LOST] + n[AS_RACED_READS_OPEN] + n[AS_RACED_SEEKS_OPEN] +
			n[AS_RACED_STATS_OPEN] + n[AS_RACED_LISTS_OPEN] + n[AS_RACED_COPIES_OPEN];

	return n[AS_RACED_CALLS] > rest ? n[AS_RACED_CALLS] - rest : 0;
}

void as_raced_print(struct as_json *json, const struct as_raced *raced)
{
	if (!raced->n[AS_RACED_CALLS])
		return;
	as_json_key(json, "raced");
	as_json_object(json);
	for (size_t i = 0; i < AS_RACED_COUNTS; i++)
		as_json_kuint(json, as_raced_names[i], raced->n[i]);
	as_json_end(json);
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

void as_emit_told(struct as_sink *chain, const char *text)
{
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->told)
			sink->told(sink, text);
}

void as_emit_done(struct as_sink *chain, const struct as_run_stats *stats)
{
	for (struct as_sink *sink = chain; sink; sink = sink->next)
		if (sink->done)
			sink->done(sink, stats);
}
