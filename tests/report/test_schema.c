/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What assay writes as JSON is as docs/schema says, and the schemas refuse what is otherwise. Real
 * commands write the files: a run of each kind of output, of labfs with bugs.
 */
#include "base/buf.h"
#include "tests/lib/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char work[256];

static json_t *load_schema(const char *name)
{
	char path[512];
	json_error_t where;
	json_t *schema;

	snprintf(path, sizeof(path), "docs/schema/%s.schema.json", name);
	schema = json_load_file(path, 0, &where);
	if (!schema)
		fail_msg("%s:%d: %s", path, where.line, where.text);
	return schema;
}

static void run(const char *command)
{
	char line[2048];
	int status;

	snprintf(line, sizeof(line), "cd \"%s\" && exec 2>/dev/null; %s", work, command);
	status = system(line);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
}

/* Each line of the file is a value. */
static unsigned check_lines(const char *schema_name, const char *file)
{
	json_t *schema = load_schema(schema_name), *value;
	char path[512];
	struct as_buf why = { 0 };
	unsigned n = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", work, file);
	in = fopen(path, "r");
	assert_non_null(in);
	while ((value = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL))) {
		if (!t_schema_valid(schema, value, &why))
			fail_msg("%s of %s: %s", file, schema_name, as_buf_str(&why));
		json_decref(value);
		n++;
	}
	assert_true(fgetc(in) == EOF);
	fclose(in);
	as_buf_free(&why);
	json_decref(schema);
	return n;
}

#define A "\"${ASSAY_ABSOLUTE}\" "

static void test_real_outputs(void **state)
{
	(void)state;
	run(A "hunt --json --target lab:bug=3 --seed 1 --max-workloads 6 -o hunt >hunt.jsonl");
	assert_true(check_lines("event", "hunt.jsonl") > 3);
	run(A
	    "run --json --target lab:bug=16 -o run \"$TREE/labfs/cases/16-write-after-prune.txt\" "
	    ">run.jsonl");
	assert_true(check_lines("event", "run.jsonl") >= 2);
	run("printf '%s\\n' 'mkdir /a 0755' '$0 = open /f O_RDWR|O_CREAT 0644' "
	    "'hardlink /f /g' 'fsync $0' "
	    ">w.txt; " A "crash --json --target lab:bug=29 -o crash w.txt >crash.jsonl");
	assert_true(check_lines("event", "crash.jsonl") >= 2);
	run(A "fsck labfs-fsck:bug=50 --for 2s --json -o fsck >fsck.jsonl");
	run("for d in hunt run crash fsck; do cat $d/findings/*/finding.json; done "
	    ">findings.jsonl");
	assert_true(check_lines("finding", "findings.jsonl") >= 4);
	run(A "report hunt run crash fsck --json >report.json");
	assert_int_equal(check_lines("report", "report.json"), 1);
	run(A "report hunt run crash fsck --sarif >report.sarif");
	assert_int_equal(check_lines("sarif", "report.sarif"), 1);
	run(A "merge hunt run crash fsck -o all --json >merged.jsonl");
	assert_int_equal(check_lines("event", "merged.jsonl"), 1);
	run("cat all/runs/*/run.json >runs.jsonl");
	assert_int_equal(check_lines("run", "runs.jsonl"), 4);
	run(A "report all --json >all.json");
	assert_int_equal(check_lines("report", "all.json"), 1);
	run("cat all/findings/*/finding.json >joined.jsonl");
	assert_true(check_lines("finding", "joined.jsonl") >= 4);
}

/* A schema that accepts everything would prove nothing. */
static void test_mistakes(void **state)
{
	static const struct {
		const char *schema, *value;
		bool valid;
	} rows[] = {
		{ "run",
		  "{\"format\":1,\"run\":\"0123456789abcdef0123456789abcdef\",\"folder\":\"a\","
		  "\"findings\":{\"x\":{\"count\":1}},\"in_use\":false,\"assay\":\"1\"}",
		  true },
		{ "run",
		  "{\"format\":1,\"run\":\"0123456789abcdef0123456789abcdef\",\"folder\":\"a\","
		  "\"findings\":{\"x\":{\"count\":0}},\"in_use\":false,\"assay\":\"1\"}",
		  false },
		{ "run",
		  "{\"format\":2,\"run\":\"0123456789abcdef0123456789abcdef\",\"folder\":\"a\","
		  "\"findings\":{},\"in_use\":false,\"assay\":\"1\"}",
		  false },
		{ "run",
		  "{\"format\":1,\"run\":\"../../etc\",\"folder\":\"a\",\"findings\":{},"
		  "\"in_use\":false,\"assay\":\"1\"}",
		  false },
		{ "event",
		  "{\"event\":\"done\",\"workloads\":1,\"ops\":1,\"findings\":0,"
		  "\"wall_us\":3}",
		  true },
		{ "event",
		  "{\"event\":\"done\",\"workloads\":\"1\",\"ops\":1,\"findings\":0,"
		  "\"wall_us\":3}",
		  false },
		{ "event", "{\"event\":\"surprise\"}", false },
		{ "report", "{\"format\":1,\"runs\":[{\"folder\":\"a\"}],\"findings\":[]}", true },
		{ "report", "{\"format\":1,\"runs\":[{}],\"findings\":[]}", false },
		{ "report",
		  "{\"format\":1,\"runs\":[{\"folder\":\"a\",\"joined\":[{}]}],\"findings\":[]}",
		  false },
		{ "report", "{\"format\":1,\"runs\":[],\"findings\":[{\"id\":\"a\"}]}", false },
		{ "sarif", "{\"version\":\"2.1.0\",\"runs\":[]}", true },
		{ "sarif", "{\"version\":\"2.0.0\",\"runs\":[]}", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *schema = load_schema(rows[i].schema);
		json_t *value = json_loads(rows[i].value, 0, NULL);
		struct as_buf why = { 0 };

		assert_non_null(value);
		if (t_schema_valid(schema, value, &why) != rows[i].valid)
			fail_msg("%s: %s", rows[i].schema, rows[i].value);
		as_buf_free(&why);
		json_decref(value);
		json_decref(schema);
	}
}

static int set_up(void **state)
{
	const char *assay = getenv("ASSAY"), *temp = getenv("TMPDIR");
	char tree[4096], *path = realpath(assay ? assay : "./assay", NULL);

	(void)state;
	if (!path || !getcwd(tree, sizeof(tree)))
		return -1;
	setenv("ASSAY_ABSOLUTE", path, 1);
	setenv("TREE", tree, 1);
	free(path);
	snprintf(work, sizeof(work), "%s/assay-schema-XXXXXX", temp ? temp : "/tmp");
	return mkdtemp(work) ? 0 : -1;
}

static int tear_down(void **state)
{
	char line[512];

	(void)state;
	snprintf(line, sizeof(line), "rm -rf \"%s\"", work);
	return system(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_outputs),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
