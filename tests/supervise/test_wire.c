/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire: every message goes there and back and is the same; another version of the wire is refused;
 * what a guest says is bounded, whatever it says.
 */
#include "tests/lib/skip.h"

#include "supervise/wire.h"

#include <string.h>

/* ---- There and back -------------------------------------------------------------------------- */

static void test_job(void **state)
{
	struct as_wire_job out = { .target = "ext4:a=\"b\"\n\\",
				   .state = "/dev/mmapper",
				   .work = "/share/in/work",
				   .out = "/share/out",
				   .known = "/share/in/known",
				   .cov = "/share/cov/",
				   .together = true,
				   .once = true,
				   .options = { .check_every_op = true,
						.deadline_ms = 1234,
						.size_bytes = 1 << 24,
						.seed = INT64_MAX,
						.max_bytes = 5,
						.max_entries = 6,
						.max_faults = 2,
						.sweep_at = { 8, 9, 10, 11, 12 },
						.sweep_only = AS_SWEEP_MOUNT,
						.faults = "read:3:eio write:2+:eio",
						.scenario = "race:threads=3",
						.kernel = "debug",
						.sweep = AS_SWEEP_READ } };
	struct as_buf text = { 0 };
	struct as_wire_job in;
	struct as_err err;

	(void)state;
	assert_int_equal(as_wire_job_print(&out, &text, &err), 0);
	assert_ptr_equal(strchr(as_buf_str(&text), '\n'), as_buf_str(&text) + text.len - 1);
	assert_int_equal(as_wire_job_parse(as_buf_str(&text), text.len, &in, &err), 0);
	assert_string_equal(in.target, out.target);
	assert_string_equal(in.state, out.state);
	assert_string_equal(in.work, out.work);
	assert_string_equal(in.out, out.out);
	assert_string_equal(in.known, out.known);
	assert_string_equal(in.cov, out.cov);
	assert_true(in.together && in.once && in.options.check_every_op);
	assert_int_equal(in.options.deadline_ms, 1234);
	assert_int_equal(in.options.size_bytes, 1 << 24);
	assert_int_equal(in.options.seed, INT64_MAX);
	assert_int_equal(in.options.max_bytes, 5);
	assert_int_equal(in.options.max_entries, 6);
	assert_int_equal(in.options.max_faults, 2);
	assert_int_equal(in.options.sweep_at.n2, 11);
	assert_int_equal(in.options.sweep_at.points, 12);
	assert_true(in.options.sweep_only == AS_SWEEP_MOUNT);
	assert_string_equal(in.options.faults, out.options.faults);
	assert_string_equal(in.options.scenario, out.options.scenario);
	assert_string_equal(in.options.kernel, out.options.kernel);
	assert_int_equal(in.options.sweep, AS_SWEEP_READ);
	as_wire_job_free(&in);
	/* What is not given stays away. */
	as_buf_clear(&text);
	out = (struct as_wire_job){ .target = "lab", .state = "s", .work = "w" };
	assert_int_equal(as_wire_job_print(&out, &text, &err), 0);
	assert_int_equal(as_wire_job_parse(as_buf_str(&text), text.len, &in, &err), 0);
	assert_null(in.out);
	assert_null(in.options.faults);
	assert_false(in.together || in.once);
	as_wire_job_free(&in);
	/* JSON has no other texts. */
	as_buf_clear(&text);
	out.target = "dir:/\xff";
	assert_int_equal(as_wire_job_print(&out, &text, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "not UTF-8"));
	as_buf_free(&text);
}

static void test_work(void **state)
{
	struct as_wire_item items[AS_WIRE_REQUESTS + 1] = { { .path = "x", .name = "" } };
	struct as_wire_work out = { .items = items, .n = AS_WIRE_REQUESTS + 1 }, in;
	struct as_buf text = { 0 };
	struct as_err err;

	(void)state;
	for (unsigned i = 0; i < AS_WIRE_REQUESTS; i++)
		items[i + 1] = (struct as_wire_item){ .request = (enum as_wire_request)i,
						      .path = "/share/in/000000.txt",
						      .name = "w\t1\n",
						      .image = "/share/in/000000.image",
						      .answer = "/share/out/answer",
						      .number = 7 };
	as_wire_work_print(&out, &text);
	assert_int_equal(as_wire_work_parse(as_buf_str(&text), text.len, &in, &err), 0);
	assert_int_equal(in.n, out.n);
	for (size_t i = 0; i < in.n; i++) {
		const struct as_wire_row *row = &as_wire_requests[items[i].request];

		assert_int_equal(in.items[i].request, items[i].request);
		assert_string_equal(in.items[i].name, items[i].name);
		assert_true(!in.items[i].path == !row->text);
		assert_true(!in.items[i].image == !row->image);
		assert_true(!in.items[i].answer == !row->answer);
		assert_int_equal(in.items[i].number, row->answer ? 7 : 0);
	}
	as_wire_work_free(&in);
	as_buf_free(&text);
}

/* Printed, parsed, printed: the same line. */
static struct as_wire_event there_and_back(const struct as_wire_event *out)
{
	struct as_buf first = { 0 }, second = { 0 };
	struct as_wire_event in;

	as_wire_event_print(out, &first);
	assert_int_equal(as_wire_event_parse(as_buf_str(&first), first.len - 1, &in),
			 AS_WIRE_EVENT);
	assert_int_equal(in.kind, out->kind);
	as_wire_event_print(&in, &second);
	assert_string_equal(as_buf_str(&first), as_buf_str(&second));
	as_buf_free(&first);
	as_buf_free(&second);
	return in;
}

static void test_events(void **state)
{
	const struct as_run_result result = { .runs = 1,
					      .ops = 2,
					      .findings = 3,
					      .again = 4,
					      .skipped = 5,
					      .unjudged = 6,
					      .excused = 7,
					      .wall_us = 8,
					      .raced = { { 20, 1, 9, 3 } },
					      .counts = { 9, [11] = 10 } };
	struct as_finding f = { .id = "lab-1",
				.kind = AS_FIND_TREE,
				.target = "lab:bug=1",
				.summary = "s",
				.detail = "a\nb",
				.signature = "tree: s",
				.workload = "sync\n",
				.workload_name = "w",
				.options = "check=end",
				.op_index = 0,
				.op_line = 1,
				.log = "l" };
	struct as_wire_event e;

	(void)state;
	e = there_and_back(&(struct as_wire_event){ .kind = AS_WIRE_HELLO, .version = 7 });
	assert_int_equal(e.version, 7);
	as_wire_event_free(&e);
	e = there_and_back(&(struct as_wire_event){ .kind = AS_WIRE_AGAIN, .text = "a: b" });
	assert_string_equal(e.text, "a: b");
	as_wire_event_free(&e);
	e = there_and_back(&(struct as_wire_event){ .kind = AS_WIRE_NOTE, .text = "n\n" });
	assert_string_equal(e.text, "n\n");
	as_wire_event_free(&e);
	e = there_and_back(
		&(struct as_wire_event){ .kind = AS_WIRE_ERROR, .text = "x", .lacks = true });
	assert_true(e.lacks);
	as_wire_event_free(&e);
	e = there_and_back(&(struct as_wire_event){ .kind = AS_WIRE_WORKLOAD, .result = result });
	assert_memory_equal(&e.result, &result, sizeof(result));
	as_wire_event_free(&e);
	e = there_and_back(
		&(struct as_wire_event){ .kind = AS_WIRE_BATCH, .done = 3, .result = result });
	assert_int_equal(e.done, 3);
	assert_memory_equal(&e.result, &result, sizeof(result));
	as_wire_event_free(&e);
	e = there_and_back(&(struct as_wire_event){ .kind = AS_WIRE_FINDING, .finding = f });
	assert_string_equal(e.finding.id, "lab-1");
	assert_int_equal(e.finding.kind, f.kind);
	assert_string_equal(e.finding.detail, f.detail);
	assert_string_equal(e.finding.workload, f.workload);
	assert_int_equal(e.finding.op_index, 0);
	assert_int_equal(e.finding.op_line, 1);
	as_wire_event_free(&e);
}

/* ---- Refused --------------------------------------------------------------------------------- */

#define JOB(rest) "{\"wire\":2,\"target\":\"lab\",\"state\":\"s\",\"work\":\"w\"," rest "}"

static const struct {
	const char *text, *why; /* why NULL: it is taken */
} jobs[] = {
	{ JOB("\"once\":false"), NULL },
	{ JOB("\"deadline_ms\":1,\"seed\":0,\"sweep\":\"none\""), NULL },
	{ "", "this is no job" },
	{ "[]", "this is no job" },
	{ "{}", "this is no job" },
	{ "{\"wire\":\"1\"}", "this is no job" },
	{ "{\"wire\":1}", "the supervisor speaks version 1, this engine 2" },
	{ "{\"wire\":-1}", "the supervisor speaks version -1, this engine 2" },
	{ "{\"wire\":2}", "its target is missing" },
	{ "{\"wire\":2,\"target\":5}", "its target is missing" },
	{ JOB("\"deadline_ms\":\"1\""), "its deadline_ms is not a valid number" },
	{ JOB("\"seed\":-1"), "its seed is not a valid number" },
	{ JOB("\"deadline_ms\":4294967296"), "its deadline_ms is not a valid number" },
	{ JOB("\"kernel\":\"a kernel whose name is so long that no kernel of any machine could "
	      "ever have it, whoever built it\""),
	  "its kernel is too long" },
	{ JOB("\"sweep\":\"all\""), "unknown sweep 'all'" },
	{ JOB("\"sweep\":1"), "unknown sweep" },
};

#define WORK(request, files) \
	"{\"wire\":2,\"work\":[{\"request\":\"" request "\",\"name\":\"n\"," files "}]}"

static void test_refused(void **state)
{
	static const char *const works[] = {
		"",
		"{\"wire\":2}",
		"{\"wire\":2,\"work\":{}}",
		"{\"wire\":2,\"work\":[7]}",
		"{\"wire\":2,\"work\":[{\"path\":\"x\"}]}",
		"{\"wire\":2,\"work\":[{\"path\":\"x\",\"name\":\"y\"}]}",
		WORK("nothing", "\"path\":\"x\""),
		WORK("run", "\"image\":\"x\""),
		WORK("mount", "\"image\":\"x\""),
		WORK("mount", "\"answer\":\"x\""),
		WORK("make", "\"image\":\"x\",\"answer\":\"y\""),
		"{\"wire\":1,\"work\":[]}",
		"{\"wire\":3,\"work\":[]}"
	};
	struct as_wire_work work;
	struct as_wire_job job;
	struct as_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		int rc = as_wire_job_parse(jobs[i].text, strlen(jobs[i].text), &job, &err);

		if (rc != (jobs[i].why ? AS_EUSE : 0))
			fail_msg("%s: %d", jobs[i].text, rc);
		if (rc && !strstr(err.msg, jobs[i].why))
			fail_msg("%s: %s", jobs[i].text, err.msg);
		as_wire_job_free(&job);
	}
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		assert_int_equal(as_wire_work_parse(works[i], strlen(works[i]), &work, &err),
				 AS_EUSE);
}

#define FINDING(id, kind, rest)                                                \
	"{\"event\":\"finding\",\"form\":1,\"id\":\"" id "\",\"kind\":\"" kind \
	"\",\"target\":\"lab\",\"summary\":\"s\",\"signature\":\"g\","         \
	"\"options\":\"o\",\"workload\":\"w\"" rest "}"

static const struct {
	const char *line;
	enum as_wire_parsed parsed;
} lines[] = {
	{ "", AS_WIRE_NO_EVENT },
	{ "assay: no such file", AS_WIRE_NO_EVENT },
	{ "[1]", AS_WIRE_NO_EVENT },
	{ "{", AS_WIRE_NO_EVENT },
	{ "{}", AS_WIRE_NO_EVENT },
	{ "{\"event\":7}", AS_WIRE_NO_EVENT },
	{ "{\"event\":\"\"}", AS_WIRE_OTHER },
	{ "{\"event\":\"nothing\"}", AS_WIRE_OTHER },
	{ "{\"event\":\"note\"}", AS_WIRE_OTHER },
	{ "{\"event\":\"note\",\"text\":[]}", AS_WIRE_OTHER },
	{ "{\"event\":\"again\",\"text\":\"x\"}", AS_WIRE_OTHER },
	{ "{\"event\":\"error\"}", AS_WIRE_OTHER },
	{ "{\"event\":\"workload\"}", AS_WIRE_EVENT },
	{ "{\"event\":\"answer\"}", AS_WIRE_EVENT },
	{ "{\"event\":\"answer\",\"number\":-1}", AS_WIRE_EVENT },
	{ "{\"event\":\"finding\"}", AS_WIRE_BAD_FINDING },
	{ FINDING("a-1", "data", ""), AS_WIRE_EVENT },
	{ FINDING("a-1", "data", ",\"detail\":7"), AS_WIRE_BAD_FINDING },
	{ FINDING("a-1", "data", ",\"form\":2"), AS_WIRE_BAD_FINDING },
	{ FINDING("a-1", "data", ",\"files\":[]"), AS_WIRE_BAD_FINDING },
	{ FINDING("a-1", "data", ",\"target\":null"), AS_WIRE_BAD_FINDING },
	{ FINDING("a-1", "data", ",\"workload\":null"), AS_WIRE_BAD_FINDING },
	{ FINDING("a-1", "nonsense", ""), AS_WIRE_BAD_FINDING },
	{ FINDING("", "data", ""), AS_WIRE_BAD_FINDING },
	{ FINDING("../a", "data", ""), AS_WIRE_BAD_FINDING },
	{ FINDING(".a", "data", ""), AS_WIRE_BAD_FINDING },
	{ FINDING("a b", "data", ""), AS_WIRE_BAD_FINDING },
	{ FINDING("0123456789012345678901234567890123456789012345678901234567890123456789"
		  "0123456789",
		  "data", ""),
	  AS_WIRE_BAD_FINDING },
};

static void test_guest(void **state)
{
	static const char numbers[] =
		"{\"event\":\"batch\",\"done\":-1,\"ops\":9223372036854775807,\"runs\":-5,"
		"\"skipped\":1e300,\"again\":\"x\",\"counts\":[-1,9223372036854775807,\"x\"]}";
	static const char op[] =
		FINDING("a-1", "data",
			",\"op\":-9223372036854775808,\"line\":9223372036854775807,"
			"\"summary\":\"a\\nb\\u001b\"");
	struct as_buf note = { 0 };
	struct as_wire_event e;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		enum as_wire_parsed got =
			as_wire_event_parse(lines[i].line, strlen(lines[i].line), &e);

		if (got != lines[i].parsed)
			fail_msg("%s: %d", lines[i].line, got);
		as_wire_event_free(&e);
	}
	/* Numbers become what is allowed. */
	assert_int_equal(as_wire_event_parse(numbers, strlen(numbers), &e), AS_WIRE_EVENT);
	assert_int_equal(e.done, 0);
	assert_int_equal(e.result.ops, UINT64_C(1) << 40);
	assert_int_equal(e.result.runs, 0);
	assert_int_equal(e.result.skipped, 0);
	assert_int_equal(e.result.again, 0);
	assert_int_equal(e.result.counts[0], 0);
	assert_int_equal(e.result.counts[1], UINT64_C(1) << 40);
	as_wire_event_free(&e);
	assert_int_equal(as_wire_event_parse(op, strlen(op), &e), AS_WIRE_EVENT);
	assert_int_equal(e.finding.op_index, -1);
	assert_int_equal(e.finding.op_line, INT32_MAX);
	assert_string_equal(e.finding.summary, "a?b?");
	as_wire_event_free(&e);
	/* A note is cut off, and not in the middle of a character. */
	as_buf_adds(&note, "{\"event\":\"note\",\"text\":\"x");
	for (int i = 0; i < 2000; i++)
		as_buf_adds(&note, "\xc3\xa9");
	as_buf_adds(&note, "\"}");
	assert_int_equal(as_wire_event_parse(as_buf_str(&note), note.len, &e), AS_WIRE_EVENT);
	assert_int_equal(strlen(e.text), AS_WIRE_TEXT_MAX_BYTES - 1);
	as_wire_event_free(&e);
	as_buf_free(&note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job),    cmocka_unit_test(test_work),
		cmocka_unit_test(test_events), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
