/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runs: see runs.h. */
#include "cli/runs.h"

#include "base/json.h"
#include "cli/boxes.h"
#include "disk/flash_wear.h"
#include "host/usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORRUPT_TIMES 16u

int as_cli_usage_options(const struct as_args *args, struct as_run_options *o, struct as_err *err)
{
	o->max_heap = as_args_number(args, "max-heap", 0);
	o->max_stack = as_args_number(args, "max-stack", 0);
	o->measure_heap = as_args_has(args, "max-heap");
	o->measure_stack = as_args_has(args, "max-stack");
	if (o->max_stack &&
	    (o->max_stack < AS_USAGE_STACK_MIN || o->max_stack > AS_USAGE_STACK_MAX))
		return as_fail(err, AS_EUSE, "--max-stack: expected 0, or %u to %u bytes",
			       AS_USAGE_STACK_MIN, AS_USAGE_STACK_MAX);
	return 0;
}

void as_cli_usage_say(const struct as_target *target, bool json, struct as_sink *sinks)
{
	const struct as_usage *usage = target ? as_target_usage(target) : NULL;
	struct as_buf text = { 0 };
	struct as_json j = as_json_on(&text);

	if (!usage)
		return;
	if (json && (usage->measured[AS_RESOURCE_HEAP] || usage->measured[AS_RESOURCE_STACK])) {
		as_json_object(&j);
		as_json_kstr(&j, "event", "usage");
		as_json_kstr(&j, "target", as_target_spec(target));
		as_usage_json(usage, &j);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&text));
		fflush(stdout);
	} else if (!json) {
		as_usage_print(usage, &text);
		if (text.len)
			as_emit_note(sinks, "%s: at most %s", as_target_spec(target),
				     as_buf_str(&text));
	}
	as_buf_free(&text);
}

void as_cli_wear_say(const struct as_target *target, bool named, bool json, struct as_sink *sinks)
{
	const struct as_wear *wear = target ? as_target_wear(target) : NULL;
	struct as_buf text = { 0 };
	struct as_json j = as_json_on(&text);

	if (!wear)
		return;
	if (json) {
		as_json_object(&j);
		as_json_kstr(&j, "event", "wear");
		as_json_kstr(&j, "target", as_target_spec(target));
		as_wear_json(wear, &j);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&text));
		fflush(stdout);
	} else {
		if (named)
			as_buf_addf(&text, "%s: ", as_target_spec(target));
		as_wear_print(wear, &text);
		as_emit_note(sinks, "%s", as_buf_str(&text));
	}
	as_buf_free(&text);
}

void as_cli_runs_say(const struct as_turns *r)
{
	as_cli_usage_say(r->target, r->json, r->sinks);
}

/* plugin:DIR/NAME.so has its description in DIR/NAME.layout. */
static void layout_beside(const char *spec, struct as_buf *out)
{
	const char *path = spec + strlen("plugin:"), *end;

	if (strncmp(spec, "plugin:", strlen("plugin:")))
		return;
	end = strstr(path, ".so");
	if (end)
		as_buf_addf(out, "%.*s.layout", (int)(end - path), path);
}

/* A finding keeps the whole path, as it is replayed from anywhere. */
static int find_layout(const struct as_args *args, struct as_run_options *o, struct as_err *err)
{
	const char *spec = as_args_text(args, "target", ""),
		   *asked = as_args_text(args, "layout", NULL);
	struct as_buf path = { 0 };
	char *real = NULL;
	int rc = 0;

	if (asked)
		as_buf_adds(&path, asked);
	else
		layout_beside(spec, &path);
	if (path.len)
		real = realpath(as_buf_str(&path), NULL);
	if (!real && (asked || strncmp(spec, "lab", 3)))
		rc = as_fail(err, asked ? AS_EIO : AS_EUSE,
			     asked ? "--layout %s: %s"
				   : "target %s: --corrupt fields needs a description of its disk: "
				     "--layout FILE (docs/LAYOUT.md)",
			     asked ? asked : spec, strerror(errno));
	else if (real && strlen(real) >= sizeof(o->layout))
		rc = as_fail(err, AS_EUSE, "--layout %s: the path is too long", asked);
	else if (real)
		memcpy(o->layout, real, strlen(real) + 1);
	free(real);
	as_buf_free(&path);
	return rc;
}

static int corrupt_options(const struct as_args *args, struct as_run_options *o, struct as_err *err)
{
	const char *what = as_args_text(args, "corrupt", NULL);

	if (what && !strcmp(what, "fields")) {
		o->fields = CORRUPT_TIMES;
		return find_layout(args, o, err);
	}
	if (as_args_has(args, "layout"))
		return as_fail(err, AS_EUSE, "--layout belongs to --corrupt fields");
	if (what && strcmp(what, "bits"))
		return as_fail(err, AS_EUSE, "--corrupt %s: expected bits or fields", what);
	o->corrupt = what ? CORRUPT_TIMES : 0;
	return 0;
}

int as_cli_run_options(const struct as_args *args, struct as_run_options *o, struct as_err *err)
{
	int rc;

	o->deadline_ms = (unsigned)as_args_number(args, "deadline", 10) * 1000;
	as_cli_where(args, o);
	o->max_bytes = as_args_number(args, "max-bytes", 0);
	o->max_entries = as_args_number(args, "max-entries", 0);
	rc = corrupt_options(args, o, err);
	if (!rc)
		rc = as_cli_usage_options(args, o, err);
	return rc ? rc : as_run_choices(as_args_text(args, "choices", ""), o, err);
}
