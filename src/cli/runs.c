/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runs: see runs.h. */
#include "cli/runs.h"

#include "base/json.h"
#include "disk/flash_wear.h"
#include "host/usage.h"

#include <stdio.h>

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

void as_cli_runs_say(const struct as_series *r)
{
	as_cli_usage_say(r->target, r->json, r->sinks);
}
