/* SPDX-License-Identifier: GPL-2.0-or-later */
/* told: what a sandbox tells of a state comes back as it was, and what cannot be true does not. */
#include "tests/lib/skip.h"

#include "check/told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_round_trip(void **state)
{
	struct as_told_state plain = { .digest = as_hash("a", 1),
				       .fine = true,
				       .wrote = 17,
				       .novel = { { 1, INT64_MAX, 3 }, .answers = 4 },
				       .line = "rename /a /b" };
	struct as_told_start start = { "sync\numount\nmount\n", true, "died" };
	struct as_suspect *suspect = as_xcalloc(1, sizeof(*suspect));
	struct as_check_counts counts = { .transitions = 5, .crash = { .generated = 7 } };
	struct as_buf text = { 0 };
	struct as_told told;

	(void)state;
	as_told_print_state(&plain, &text);
	as_told_parse(as_buf_str(&text), &told);
	assert_int_equal(told.kind, AS_TOLD_STATE);
	assert_true(as_digest_eq(told.state.digest, plain.digest));
	assert_true(told.state.fine);
	assert_false(told.state.recovered);
	assert_int_equal(told.state.wrote, 17);
	assert_memory_equal(&told.state.novel, &plain.novel, sizeof(plain.novel));
	assert_string_equal(told.state.line, plain.line);
	as_told_free(&told);
	as_buf_clear(&text);

	as_told_print_start(&start, &text);
	as_told_parse(as_buf_str(&text), &told);
	assert_int_equal(told.kind, AS_TOLD_START);
	assert_string_equal(told.start.text, start.text);
	assert_string_equal(told.start.wrong, start.wrong);
	assert_true(told.start.last);
	as_told_free(&told);
	as_buf_clear(&text);

	as_notice_begin(&suspect->notice, AS_FIND_RECOVERY, -1);
	AS_NOTICE_SET(&suspect->notice, summary, "it \"hung\"");
	AS_NOTICE_SET(&suspect->notice, options, AS_SUSPECT_CRASH);
	as_notice_close(&suspect->notice);
	snprintf(suspect->tried.line, sizeof(suspect->tried.line), "%s", "mkdir /a 0755");
	snprintf(suspect->tried.since, sizeof(suspect->tried.since), "%s", "rmdir /a\nunlink /a\n");
	snprintf(suspect->tried.faults, sizeof(suspect->tried.faults), "%s", "write:3:eio");
	snprintf(suspect->tried.choices, sizeof(suspect->tried.choices), "%s", "0.1");
	as_told_print_suspect(suspect, &text);
	as_told_parse(as_buf_str(&text), &told);
	assert_int_equal(told.kind, AS_TOLD_SUSPECT);
	assert_true(as_suspect_is_crash(&told.notice));
	assert_true(told.notice.is);
	assert_int_equal(told.notice.kind, AS_FIND_RECOVERY);
	assert_string_equal(told.state.line, suspect->tried.line);
	assert_string_equal(told.since, suspect->tried.since);
	assert_string_equal(told.faults, suspect->tried.faults);
	assert_string_equal(told.choices, suspect->tried.choices);
	assert_string_equal(told.notice.summary, suspect->notice.summary);
	as_told_free(&told);
	as_buf_clear(&text);

	as_told_print_counts(&counts, &text);
	as_told_parse(as_buf_str(&text), &told);
	assert_int_equal(told.kind, AS_TOLD_COUNTS);
	assert_memory_equal(&told.counts, &counts, sizeof(counts));
	as_told_free(&told);
	as_buf_free(&text);
	free(suspect);
}

/* A suspect with this member in place of its notice. */
#define SUSPECT(notice)                                                                            \
	"{\"told\":\"suspect\",\"line\":\"sync\",\"since\":\"\",\"faults\":\"\",\"choices\":\"\"," \
	"\"notice\":" notice "}"
#define NOTICE(form, kind, why, options)                                         \
	"{\"form\":" form ",\"kind\":\"" kind "\",\"op\":0,\"summary\":" why "," \
	"\"signature\":\"\",\"options\":\"" options "\"}"
#define DIGEST "\"digest\":\"00112233445566778899aabbccddeeff\""

static const struct {
	const char *name, *text;
	enum as_told_kind want;
} rows[] = {
	{ "a state", "{\"told\":\"state\"," DIGEST ",\"line\":\"sync\"}", AS_TOLD_STATE },
	{ "features that are none",
	  "{\"told\":\"state\"," DIGEST ",\"line\":\"sync\",\"features\":{\"0\":1},\"answers\":-1}",
	  AS_TOLD_STATE },
	{ "nothing", "", AS_TOLD_NOTHING },
	{ "no object", "[1,2]", AS_TOLD_NOTHING },
	{ "half", "{\"told\":\"state\"", AS_TOLD_NOTHING },
	{ "no kind", "{" DIGEST ",\"line\":\"sync\"}", AS_TOLD_NOTHING },
	{ "another kind", "{\"told\":\"x\"," DIGEST ",\"line\":\"sync\"}", AS_TOLD_NOTHING },
	{ "no digest", "{\"told\":\"state\",\"line\":\"sync\"}", AS_TOLD_NOTHING },
	{ "a short digest", "{\"told\":\"state\",\"digest\":\"0011\",\"line\":\"sync\"}",
	  AS_TOLD_NOTHING },
	{ "no line", "{\"told\":\"state\"," DIGEST "}", AS_TOLD_NOTHING },
	{ "an empty line", "{\"told\":\"state\"," DIGEST ",\"line\":\"\"}", AS_TOLD_NOTHING },
	{ "two operations", "{\"told\":\"state\"," DIGEST ",\"line\":\"sync\\nsync\"}",
	  AS_TOLD_NOTHING },
	{ "no operation", "{\"told\":\"state\"," DIGEST ",\"line\":\"launch /a\"}",
	  AS_TOLD_NOTHING },
	{ "another target", "{\"told\":\"state\"," DIGEST ",\"line\":\"@target dir:/\"}",
	  AS_TOLD_NOTHING },
	{ "a step",
	  "{\"told\":\"state\",\"recovered\":true," DIGEST
	  ",\"line\":\"crash # log=2+ from=1:12:1+4\"}",
	  AS_TOLD_STATE },
	{ "a step that nothing recovered",
	  "{\"told\":\"state\"," DIGEST ",\"line\":\"crash # from=1:12:1+4\"}", AS_TOLD_NOTHING },
	{ "an operation that was recovered",
	  "{\"told\":\"state\",\"recovered\":true," DIGEST ",\"line\":\"sync\"}", AS_TOLD_NOTHING },
	{ "a step from nowhere",
	  "{\"told\":\"state\",\"recovered\":true," DIGEST ",\"line\":\"crash # from=x\"}",
	  AS_TOLD_NOTHING },
	{ "a line and a comment", "{\"told\":\"state\"," DIGEST ",\"line\":\"sync\\n# x\"}",
	  AS_TOLD_NOTHING },
	{ "a start without a text", "{\"told\":\"start\",\"last\":true}", AS_TOLD_NOTHING },
	{ "a number", "{\"told\":\"state\"," DIGEST ",\"line\":7}", AS_TOLD_NOTHING },
	{ "a suspect without reason",
	  "{\"told\":\"suspect\",\"line\":\"sync\",\"since\":\"\",\"faults\":\"\","
	  "\"choices\":\"\"}",
	  AS_TOLD_NOTHING },
	{ "faults that are none",
	  "{\"told\":\"suspect\",\"line\":\"sync\",\"since\":\"\",\"faults\":\"x y\","
	  "\"choices\":\"\",\"notice\":" NOTICE("1", "tree", "\"\"", "") "}",
	  AS_TOLD_NOTHING },
	{ "choices that are none",
	  "{\"told\":\"suspect\",\"line\":\"sync\",\"since\":\"\",\"faults\":\"\","
	  "\"choices\":\"a\",\"notice\":" NOTICE("1", "tree", "\"\"", "") "}",
	  AS_TOLD_NOTHING },
	{ "a suspect", SUSPECT(NOTICE("1", "tree", "\"why\"", "")), AS_TOLD_SUSPECT },
	{ "a suspect that takes a power cut",
	  SUSPECT(NOTICE("1", "crash", "\"why\"", AS_SUSPECT_CRASH)), AS_TOLD_SUSPECT },
	{ "a notice of another form", SUSPECT(NOTICE("2", "tree", "\"why\"", "")),
	  AS_TOLD_NOTHING },
	{ "a notice of no kind", SUSPECT(NOTICE("1", "x", "\"why\"", "")), AS_TOLD_NOTHING },
	{ "a notice that says nothing", SUSPECT(NOTICE("1", "tree", "null", "")), AS_TOLD_NOTHING },
	{ "a notice with options of its own",
	  SUSPECT(NOTICE("1", "tree", "\"why\"", "scenario=diff:plugin:/x.so")), AS_TOLD_NOTHING },
	{ "no notice", SUSPECT("7"), AS_TOLD_NOTHING },
	{ "too few counts", "{\"told\":\"counts\",\"n\":[1,2]}", AS_TOLD_NOTHING },
	{ "counts of another type", "{\"told\":\"counts\",\"n\":\"1\"}", AS_TOLD_NOTHING },
};

static void test_hostile(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_told told;

		as_told_parse(rows[i].text, &told);
		if (told.kind != rows[i].want)
			fail_msg("%s: taken for kind %d", rows[i].name, (int)told.kind);
		as_told_free(&told);
	}
}

/* Every text with a byte changed, and every beginning of it: it does not matter what comes of
 * it. */
static void test_damage(void **state)
{
	const char *text = rows[0].text;

	(void)state;
	for (size_t i = 0; i < strlen(text); i++)
		for (unsigned byte = 0; byte < 256; byte += 5) {
			char *copy = as_xstrndup(text, strlen(text));
			struct as_told told;

			copy[i] = (char)byte;
			as_told_parse(copy, &told);
			assert_true(told.kind == AS_TOLD_NOTHING || told.kind == AS_TOLD_STATE);
			as_told_free(&told);
			free(copy);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
