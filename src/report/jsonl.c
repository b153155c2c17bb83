/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jsonl: events as JSON lines. */
#include "report/sinks.h"

#include "base/finding_json.h"
#include "progress/result.h"

#include <stdlib.h>

struct jsonl {
	struct as_sink sink;
	FILE *out;
};

/* Every event begins like this. */
static struct as_json begin(struct as_buf *line, const char *event)
{
	struct as_json json = as_json_on(line);

	as_json_object(&json);
	as_json_kstr(&json, "event", event);
	return json;
}

static void put(struct as_sink *sink, struct as_json *json)
{
	FILE *out = ((struct jsonl *)sink)->out;
	struct as_buf *line = json->out;

	as_json_end(json);
	as_buf_addc(line, '\n');
	fwrite(as_buf_str(line), 1, line->len, out);
	fflush(out);
	as_buf_free(line);
}

static void jsonl_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct as_buf line = { 0 };
	struct as_json json = begin(&line, "finding");

	as_finding_print(&json, f, AS_FINDING_STORED);
	as_json_kstr(&json, "workload", f->workload);
	put(sink, &json);
}

static void jsonl_again(struct as_sink *sink, const char *signature)
{
	struct as_buf line = { 0 };
	struct as_json json = begin(&line, "again");

	as_json_kstr(&json, "signature", signature);
	put(sink, &json);
}

static void jsonl_note(struct as_sink *sink, const char *text)
{
	struct as_buf line = { 0 };
	struct as_json json = begin(&line, "note");

	as_json_kstr(&json, "text", text);
	put(sink, &json);
}

static void jsonl_done(struct as_sink *sink, const struct as_run_result *s)
{
	struct as_buf line = { 0 };
	struct as_json json = begin(&line, "done");

	as_json_kuint(&json, "workloads", s->workloads);
	as_json_kuint(&json, "ops", s->ops);
	as_json_kuint(&json, "findings", s->findings);
	as_json_kuint(&json, "skipped", s->skipped);
	as_json_kuint(&json, "unjudged", s->unjudged);
	as_json_kuint(&json, "excused", s->excused);
	if (s->failures)
		as_json_kuint(&json, "failures", s->failures);
	if (s->possible) {
		as_json_kuint(&json, "looked", s->looked);
		as_json_kuint(&json, "possible", s->possible);
	}
	as_json_kint(&json, "wall_us", s->wall_us);
	as_raced_print(&json, &s->raced);
	as_shares_print(&json, &s->shares);
	put(sink, &json);
}

struct as_sink *as_jsonl_sink_new(FILE *out)
{
	struct jsonl *j = as_xcalloc(1, sizeof(*j));

	j->sink.finding = jsonl_finding;
	j->sink.again = jsonl_again;
	j->sink.note = jsonl_note;
	j->sink.done = jsonl_done;
	j->out = out;
	return &j->sink;
}

void as_jsonl_sink_free(struct as_sink *sink)
{
	free(sink);
}
