/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of the parameters of scenarios: those of a race print to a text that gives the same;
 * a list of targets to compare is the text again when joined by commas. */
#include "race/race.h"
#include "scenario/diff.h"

#include <stdlib.h>
#include <string.h>

static void race(const char *text)
{
	struct as_race_options o, again;
	struct as_buf first = { 0 }, second = { 0 };
	struct as_err err = { 0 };

	if (as_race_parse(text, &o, &err)) {
		as_assert(strstr(err.msg, "race: "));
		return;
	}
	as_race_print(&o, &first);
	as_assert(!as_race_parse(as_buf_str(&first), &again, &err));
	as_race_print(&again, &second);
	as_assert(!strcmp(as_buf_str(&first), as_buf_str(&second)));
	as_buf_free(&first);
	as_buf_free(&second);
}

static void diff(const char *text)
{
	char *specs[AS_DIFF_MAX];
	struct as_buf joined = { 0 };
	struct as_err err = { 0 };
	size_t n, len = strlen(text);

	if (as_diff_parse(text, specs, &n, &err)) {
		as_assert(!n && strstr(err.msg, "diff: "));
		return;
	}
	as_assert(n >= 2);
	for (size_t i = 0; i < n; i++) {
		as_buf_addf(&joined, "%s%s", i ? "," : "", specs[i]);
		free(specs[i]);
	}
	/* A comma at the end says nothing. */
	as_assert(!strcmp(as_buf_str(&joined), text) ||
		  (len == joined.len + 1 && text[len - 1] == ',' &&
		   !strncmp(as_buf_str(&joined), text, joined.len)));
	as_buf_free(&joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_buf text = { 0 };

	as_buf_add(&text, data, len);
	race(as_buf_str(&text));
	diff(as_buf_str(&text));
	as_buf_free(&text);
	return 0;
}
