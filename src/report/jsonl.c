/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jsonl: events as JSON lines. */
#include "report/finding_json.h"
#include "report/sinks.h"

#include <stdlib.h>

struct jsonl {
	struct as_sink sink;
	FILE *out;
};

void as_finding_json(struct as_json *json, const struct as_finding *f, const char *id)
{
	as_json_kstr(json, "id", id);
	as_json_kstr(json, "kind", as_finding_kind_name(f->kind));
	as_json_kstr(json, "target", f->target);
	as_json_kstr(json, "summary", f->summary);
	as_json_kstr(json, "detail", f->detail);
	as_json_kstr(json, "signature", f->signature);
	as_json_kstr(json, "workload_name", f->workload_name);
	as_json_kstr(json, "options", f->options);
	as_json_kint(json, "op", f->op_index < 0 ? 0 : f->op_index + 1);
	as_json_kint(json, "line", f->op_line);
	as_json_kstr(json, "log", f->log);
	as_json_kbool(json, "disk", f->disk);
}

static void put(struct jsonl *j, struct as_buf *line)
{
	as_buf_addc(line, '\n');
	fwrite(as_buf_str(line), 1, line->len, j->out);
	fflush(j->out);
	as_buf_free(line);
}

static void jsonl_finding(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);

	as_json_object(&json);
	as_json_kstr(&json, "event", "finding");
	as_finding_json(&json, f, id);
	as_json_kstr(&json, "workload", f->workload);
	as_json_end(&json);
	put((struct jsonl *)sink, &line);
}

static void jsonl_again(struct as_sink *sink, const char *signature)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);

	as_json_object(&json);
	as_json_kstr(&json, "event", "again");
	as_json_kstr(&json, "signature", signature);
	as_json_end(&json);
	put((struct jsonl *)sink, &line);
}

static void jsonl_note(struct as_sink *sink, const char *text)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);

	as_json_object(&json);
	as_json_kstr(&json, "event", "note");
	as_json_kstr(&json, "text", text);
	as_json_end(&json);
	put((struct jsonl *)sink, &line);
}

static void jsonl_done(struct as_sink *sink, const struct as_run_stats *s)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);

	as_json_object(&json);
	as_json_kstr(&json, "event", "done");
	as_json_kuint(&json, "workloads", s->workloads);
	as_json_kuint(&json, "ops", s->ops);
	as_json_kuint(&json, "findings", s->findings);
	as_json_kuint(&json, "skipped", s->skipped);
	as_json_kuint(&json, "unjudged", s->unjudged);
	as_json_kuint(&json, "excused", s->excused);
	as_json_kint(&json, "wall_us", s->wall_us);
	as_json_end(&json);
	put((struct jsonl *)sink, &line);
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
