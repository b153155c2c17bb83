/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire: every message goes there and back and is the same; another version of the wire is refused;
 * what a guest says is bounded, whatever it says.
 */
#include "tests/lib/skip.h"

#include "supervise/wire.h"
#include "work/parse.h"
#include "work/print.h"

#include <string.h>

/* ---- There and back -------------------------------------------------------------------------- */

static struct as_seq *workload(const char *text)
{
	struct as_seq *seq = NULL;

	assert_int_equal(as_parse_text("w", text, strlen(text), &seq, NULL), 0);
	return seq;
}

static void assert_same_work(const struct as_work *a, const struct as_work *b)
{
	struct as_buf one = { 0 }, other = { 0 };

	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_string_equal(a->names[i], b->names[i]);
		as_buf_clear(&one);
		as_buf_clear(&other);
		as_print_seq(a->seqs[i], &one);
		as_print_seq(b->seqs[i], &other);
		assert_string_equal(as_buf_str(&one), as_buf_str(&other));
	}
	as_buf_free(&one);
	as_buf_free(&other);
}

/* Printed and parsed; *in is to be freed. */
static void send(const struct as_wire_call *out, struct as_wire_call *in)
{
	struct as_buf text = { 0 };
	struct as_err err;

	assert_int_equal(as_wire_call_print(out, &text, &err), 0);
	assert_ptr_equal(strchr(as_buf_str(&text), '\n'), as_buf_str(&text) + text.len - 1);
	if (as_wire_call_parse(as_buf_str(&text), text.len, in, &err))
		fail_msg("%s", err.msg);
	as_buf_free(&text);
}

static void test_call(void **state)
{
	struct as_seq *seqs[] = { workload("@seed 7\nmkdir \"/a\\xff\\\"\" 0755\n"), workload("") };
	const char *const names[] = { "w\t1\n", "w \"2\"" };
	struct as_wire_call out = { .request = AS_WIRE_RUN,
				    .target = "ext4:a=\"b\"\n\\",
				    .out = "/share/out",
				    .cov = "/share/cov/",
				    .number = 9,
				    .together = true,
				    .last = true,
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
						 .sweep = AS_SWEEP_READ },
				    .known = as_known_new(),
				    .work = { (const struct as_seq *const *)seqs, names, 2,
					      NULL } };
	struct as_buf text = { 0 };
	struct as_wire_call in;

	(void)state;
	as_known_add(out.known, "answer: mkdir: \"EIO\"");
	as_known_add(out.known, "hang: rmdir");
	send(&out, &in);
	assert_int_equal(in.request, AS_WIRE_RUN);
	assert_string_equal(in.target, out.target);
	assert_string_equal(in.out, out.out);
	assert_string_equal(in.cov, out.cov);
	assert_int_equal(in.number, 9);
	assert_true(in.together && in.last && in.options.check_every_op);
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
	assert_same_work(&in.work, &out.work);
	as_known_print(in.known, &text);
	assert_string_equal(as_buf_str(&text), "answer: mkdir: \"EIO\"\nhang: rmdir\n");
	assert_true(as_wire_call_alike(&in, &out));
	as_wire_call_free(&in);
	as_known_free(out.known);
	as_buf_free(&text);
	as_seq_free(seqs[0]);
	as_seq_free(seqs[1]);
}

/* What is not given stays away. */
static void test_bare(void **state)
{
	struct as_seq *seq = workload("");
	const char *const name = "w";
	struct as_wire_call in,
		out = { .target = "lab",
			.work = { (const struct as_seq *const *)&seq, &name, 1, NULL } };
	struct as_buf text = { 0 };
	struct as_err err;

	(void)state;
	send(&out, &in);
	assert_null(in.out);
	assert_null(in.known);
	assert_null(in.options.faults);
	assert_false(in.together || in.last);
	as_wire_call_free(&in);
	/* JSON has no other texts. */
	out.target = "dir:/\xff";
	assert_int_equal(as_wire_call_print(&out, &text, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "not UTF-8"));
	as_buf_free(&text);
	as_seq_free(seq);
}

/* Each request takes the workloads and the files that its row says, and no others. */
static void test_requests(void **state)
{
	struct as_seq *seq = workload("mkdir /a 0755\n");
	const struct as_seq *const seqs[] = { seq, seq };
	const char *const names[] = { "a", "b" };

	(void)state;
	for (unsigned i = 0; i < AS_WIRE_REQUESTS; i++)
		for (unsigned files = 0; files < 4; files++)
			for (size_t n = 0; n <= 2; n++) {
				const struct as_wire_row *row = &as_wire_requests[i];
				struct as_wire_call in, out = { .request = (enum as_wire_request)i,
								.target = "lab",
								.image = files & 1 ? "i" : NULL,
								.answer = files & 2 ? "a" : NULL,
								.work = { seqs, names, n, NULL } };
				bool fits = n >= row->work_min && n <= row->work_max &&
					    (files & 1 || !row->image) &&
					    (files & 2 || !row->answer);
				struct as_buf text = { 0 };
				int rc;

				assert_int_equal(as_wire_call_print(&out, &text, NULL), 0);
				rc = as_wire_call_parse(as_buf_str(&text), text.len, &in, NULL);
				if (rc != (fits ? 0 : AS_EUSE))
					fail_msg("%s, %zu workloads, files %u: %d", row->name, n,
						 files, rc);
				if (!rc)
					assert_same_work(&in.work, &out.work);
				as_wire_call_free(&in);
				as_buf_free(&text);
			}
	as_seq_free(seq);
}

/* What was opened for one call serves only those that go the same way. */
static void test_alike(void **state)
{
	const struct as_wire_call a = { .target = "lab", .out = "/o" };
	struct as_wire_call b;

	(void)state;
	b = a;
	b.number = 7;
	b.last = true;
	b.options.state = (void *)&b;
	assert_true(as_wire_call_alike(&a, &b));
	b = a;
	b.target = "lab:bug=1";
	assert_false(as_wire_call_alike(&a, &b));
	b = a;
	b.out = NULL;
	assert_false(as_wire_call_alike(&a, &b));
	b = a;
	b.cov = "/c/";
	assert_false(as_wire_call_alike(&a, &b));
	b = a;
	b.together = true;
	assert_false(as_wire_call_alike(&a, &b));
	b = a;
	b.options.sweep = AS_SWEEP_READ;
	assert_false(as_wire_call_alike(&a, &b));
	b = a;
	b.options.sweep_at.n = 1;
	assert_false(as_wire_call_alike(&a, &b));
	b = a;
	b.options.faults = "read:1:eio";
	assert_false(as_wire_call_alike(&a, &b));
	b = a;
	memcpy(b.options.scenario, "race", 5);
	assert_false(as_wire_call_alike(&a, &b));
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
	const struct as_run_result result = { .workloads = 1,
					      .runs = 1,
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
	e = there_and_back(&(struct as_wire_event){ .kind = AS_WIRE_CHECK, .number = 7 });
	assert_int_equal(e.number, 7);
	as_wire_event_free(&e);
	e = there_and_back(&(struct as_wire_event){ .kind = AS_WIRE_ANSWER, .number = INT64_MAX });
	assert_int_equal(e.number, INT64_MAX);
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
	e = there_and_back(&(struct as_wire_event){ .kind = AS_WIRE_BATCH, .result = result });
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

#define CALL(rest) WORK("run", "\"work\":[{\"name\":\"w\",\"text\":\"\"}]," rest)
#define WORK(request, rest) "{\"wire\":3,\"request\":\"" request "\",\"target\":\"lab\"," rest "}"
#define FILES "\"image\":\"i\",\"answer\":\"a\""

static const struct {
	const char *text, *why; /* why NULL: it is taken */
} calls[] = {
	{ CALL("\"last\":false"), NULL },
	{ CALL("\"deadline_ms\":1,\"seed\":0,\"sweep\":\"none\""), NULL },
	{ CALL("\"known\":\"a\\nb\\n\""), NULL },
	{ "", "this is no call" },
	{ "[]", "this is no call" },
	{ "{}", "this is no call" },
	{ "{\"wire\":\"1\"}", "this is no call" },
	{ "{\"wire\":2}", "the supervisor speaks version 2, this engine 3" },
	{ "{\"wire\":4}", "the supervisor speaks version 4, this engine 3" },
	{ "{\"wire\":-1}", "the supervisor speaks version -1, this engine 3" },
	{ "{\"wire\":3}", "there is no such request" },
	{ "{\"wire\":3,\"request\":\"check\"}", "there is no such request" },
	{ "{\"wire\":3,\"request\":7}", "there is no such request" },
	{ "{\"wire\":3,\"request\":\"run\"}", "its target is missing" },
	{ "{\"wire\":3,\"request\":\"run\",\"target\":5}", "its target is missing" },
	{ CALL("\"deadline_ms\":\"1\""), "its deadline_ms is not a valid number" },
	{ CALL("\"seed\":-1"), "its seed is not a valid number" },
	{ CALL("\"deadline_ms\":4294967296"), "its deadline_ms is not a valid number" },
	{ CALL("\"kernel\":\"a kernel whose name is so long that no kernel of any machine could "
	       "ever have it, whoever built it\""),
	  "its kernel is too long" },
	{ CALL("\"sweep\":\"all\""), "unknown sweep 'all'" },
	{ CALL("\"sweep\":1"), "unknown sweep" },
	{ CALL("\"known\":\"tree: x\""), "older assay" },
	{ WORK("run", FILES), "no work for the request run" },
	{ WORK("run", "\"work\":{}"), "no work for the request run" },
	{ WORK("run", "\"work\":[]"), "no work for the request run" },
	{ WORK("run", "\"work\":[7]"), "workload 0 is not valid" },
	{ WORK("run", "\"work\":[{\"text\":\"\"}]"), "workload 0 is not valid" },
	{ WORK("run", "\"work\":[{\"name\":\"w\",\"text\":\"\"},{\"name\":\"w\"}]"),
	  "workload 1 is not valid" },
	{ WORK("run", "\"work\":[{\"name\":\"w\",\"text\":\"fly /a\"}]"), "w:1:1" },
	{ WORK("mount", "\"work\":[],\"image\":\"i\""), "its answer is missing" },
	{ WORK("mount", "\"work\":[],\"answer\":\"a\""), "its image is missing" },
	{ WORK("mount", "\"work\":[]," FILES), NULL },
	{ WORK("make", "\"work\":[]," FILES), "no work for the request make" },
};

static void test_refused(void **state)
{
	struct as_wire_call call;
	struct as_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		int rc = as_wire_call_parse(calls[i].text, strlen(calls[i].text), &call, &err);

		if (rc != (calls[i].why ? AS_EUSE : 0))
			fail_msg("%s: %d: %s", calls[i].text, rc, rc ? err.msg : "");
		if (rc && !strstr(err.msg, calls[i].why))
			fail_msg("%s: %s", calls[i].text, err.msg);
		as_wire_call_free(&call);
	}
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
	assert_int_equal(e.result.workloads, 0);
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
		cmocka_unit_test(test_call),	 cmocka_unit_test(test_bare),
		cmocka_unit_test(test_requests), cmocka_unit_test(test_alike),
		cmocka_unit_test(test_events),	 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
