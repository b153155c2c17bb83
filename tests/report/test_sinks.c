/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sinks that print: for programs and for people. */
#include "tests/lib/skip.h"

#include "progress/result.h"
#include "report/sinks.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct as_finding finding = {
	.kind = AS_FIND_OUTCOME,
	.target = "lab:bug=1",
	.summary = "op 1: \"quoted\" \xff and <odd>",
	.detail = "     1  mkdir /a 0755 = 0\n",
	.signature = "outcome: mkdir: returned #",
	.workload = "mkdir /a 0755\n",
	.workload_name = "w.txt",
	.options = "check=end fault=read:3:eio",
	.op_index = 0,
	.op_line = 1,
	.log = "a line\n",
};

static void emit(struct as_sink *sink, const char *id)
{
	struct as_finding f = finding;

	f.id = id;
	as_emit_finding(sink, &f);
}

/* Every line is one JSON object, whatever bytes a finding holds. */
static void json_lines(void **state)
{
	struct as_run_result stats = { .workloads = 1, .findings = 1 };
	char *text = NULL, *save = NULL, *line;
	size_t len = 0, lines = 0;
	FILE *file = open_memstream(&text, &len);
	struct as_sink *sink = as_jsonl_sink_new(file);

	(void)state;
	emit(sink, "id");
	as_emit_note(sink, "a \"note\"\nwith a line break");
	as_emit_done(sink, &stats);
	fclose(file);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *json = json_loads(line, 0, NULL);

		assert_true(json_is_object(json));
		assert_true(json_is_string(json_object_get(json, "event")));
		json_decref(json);
		lines++;
	}
	assert_int_equal(lines, 3);
	as_jsonl_sink_free(sink);
	free(text);
}

/* For people: the id, what happened, how to see it again; once. */
static void terminal(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);
	struct as_sink *sink = as_term_sink_new(file, false, NULL), keeper = { 0 };

	(void)state;
	/* Nobody keeps it: there is nothing to replay. */
	emit(sink, "lab-outcome-8");
	fflush(file);
	assert_null(strstr(text, "again:"));
	sink->next = &keeper;
	emit(sink, "lab-outcome-9");
	fflush(file);
	assert_non_null(strstr(text, "again: assay replay lab-outcome-9\n"));
	assert_non_null(strstr(text, "mkdir /a 0755 = 0"));
	assert_non_null(strstr(text, "a line"));
	assert_null(strchr(text, '\033'));
	len = strlen(text);
	emit(sink, "lab-outcome-9");
	fflush(file);
	assert_int_equal(strlen(text), len);
	as_term_sink_free(sink);
	/* Where it is kept, if replay would look elsewhere: as one word of a shell. */
	sink = as_term_sink_new(file, false, "it's $here");
	sink->next = &keeper;
	emit(sink, "lab-outcome-7");
	fflush(file);
	assert_non_null(strstr(text, "again: assay replay -o 'it'\\''s $here' lab-outcome-7\n"));
	as_term_sink_free(sink);
	fclose(file);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_lines),
		cmocka_unit_test(terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
