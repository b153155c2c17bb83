/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding: ids, and JSON there and back. */
#include "base/finding_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

static const struct as_finding whole = { .kind = AS_FIND_DATA,
					 .target = "lab:bug=3",
					 .summary = "op 2: read: \xc3\xa9",
					 .detail = "one\ntwo\n",
					 .signature = "data: read: # bytes",
					 .workload = "sync\nsync\n",
					 .workload_name = "w.txt",
					 .options = "check=op fault=read:3",
					 .op_index = 1,
					 .op_line = 2,
					 .log = "log\n" };

static void test_id(void **state)
{
	char id[AS_FINDING_ID_MAX], again[AS_FINDING_ID_MAX];
	struct as_finding other = whole;

	(void)state;
	as_finding_id(&whole, "lab", id);
	assert_memory_equal(id, "lab-data-", 9);
	assert_int_equal(strlen(id), 9 + 8);
	assert_true(as_finding_is_id(id));
	/* Of target, signature and workload; of nothing else. */
	other.summary = other.detail = other.log = "x";
	other.op_index = -1;
	as_finding_id(&other, "lab", again);
	assert_string_equal(id, again);
	other.workload = "sync\n";
	as_finding_id(&other, "lab", again);
	assert_string_not_equal(id, again);
	/* The name of a folder, whatever the target is called. */
	as_finding_id(&whole, "../a b/\xff", id);
	assert_true(as_finding_is_id(id));
	assert_null(strchr(id, '/'));
	assert_false(as_finding_is_id(""));
	assert_false(as_finding_is_id("."));
	assert_false(as_finding_is_id(".x"));
	assert_false(as_finding_is_id("a/b"));
	assert_false(as_finding_is_id("a\nb"));
}

static json_t *print(const struct as_finding *finding, const char *id, enum as_finding_form form)
{
	struct as_finding f = *finding;
	struct as_buf text = { 0 };
	struct as_json json = as_json_on(&text);
	json_t *object;

	as_json_object(&json);
	f.id = id;
	as_finding_print(&json, &f, form);
	as_json_end(&json);
	object = json_loads(as_buf_str(&text), 0, NULL);
	assert_non_null(object);
	as_buf_free(&text);
	return object;
}

static void test_there_and_back(void **state)
{
	json_t *object = print(&whole, "lab-data-1", AS_FINDING_WHOLE);
	struct as_finding r;
	struct as_err err;

	(void)state;
	assert_int_equal(as_finding_parse(object, AS_FINDING_WHOLE, &r, &err), 0);
	json_decref(object);
	assert_string_equal(r.id, "lab-data-1");
	assert_int_equal(r.kind, whole.kind);
	assert_string_equal(r.target, whole.target);
	assert_string_equal(r.summary, whole.summary);
	assert_string_equal(r.detail, whole.detail);
	assert_string_equal(r.signature, whole.signature);
	assert_string_equal(r.workload, whole.workload);
	assert_string_equal(r.workload_name, whole.workload_name);
	assert_string_equal(r.options, whole.options);
	assert_string_equal(r.log, whole.log);
	assert_int_equal(r.op_index, 1);
	assert_int_equal(r.op_line, 2);
	assert_false(r.has_disk);
	as_finding_free(&r);
}

static void test_sources(void **state)
{
	struct as_finding f = whole;
	struct as_finding r;
	struct as_err err;
	json_t *object;

	(void)state;
	/* In its folder, the workload is a file, and a summary may be missing. */
	f.summary = f.detail = f.log = f.workload_name = NULL;
	f.signature = "a\tb";
	f.op_index = -1;
	object = print(&f, "x", AS_FINDING_STORED);
	assert_int_equal(as_finding_parse(object, AS_FINDING_STORED, &r, &err), 0);
	assert_null(r.summary);
	assert_null(r.workload);
	assert_int_equal(r.op_index, -1);
	/* It must stay what a new finding is compared with. */
	assert_string_equal(r.signature, "a\tb");
	as_finding_free(&r);
	assert_int_equal(as_finding_parse(object, AS_FINDING_WHOLE, &r, &err), AS_EUSE);
	assert_string_equal(err.msg, "its form is of another version");
	json_decref(object);
	object = print(&f, "x", AS_FINDING_WHOLE);
	assert_int_equal(as_finding_parse(object, AS_FINDING_WHOLE, &r, &err), AS_EUSE);
	assert_string_equal(err.msg, "it lacks its summary");
	json_decref(object);
	/* What a guest says is made one line. */
	f.summary = "a\nb\033";
	object = print(&f, "x", AS_FINDING_WHOLE);
	assert_int_equal(as_finding_parse(object, AS_FINDING_FROM_GUEST, &r, &err), 0);
	assert_string_equal(r.summary, "a?b?");
	assert_string_equal(r.signature, "a?b");
	assert_string_equal(r.workload, whole.workload);
	as_finding_free(&r);
	json_decref(object);
}

static void test_refused(void **state)
{
	static const struct {
		const char *key, *value, *why; /* value: JSON; NULL: it is missing */
	} rows[] = {
		{ "id", NULL, "it lacks id, target, signature or options" },
		{ "id", "\"a/b\"", "its id is not one" },
		{ "kind", "\"good\"", "its kind is unknown" },
		{ "kind", "7", "its kind is unknown" },
		{ "target", NULL, "it lacks id, target, signature or options" },
		{ "signature", "[]", "it lacks id, target, signature or options" },
		{ "options", "null", "it lacks id, target, signature or options" },
		{ "workload", NULL, "it lacks its workload" },
		{ "log", "{}", "its log is not a text" },
		{ "form", "2", "its form is of another version" },
		{ "form", "\"1\"", "its form is of another version" },
		{ "form", NULL, "its form is of another version" },
		{ "files", "{}", "its files are none" },
		{ "files", "[1]", "one of its files is not one" },
		{ "files", "[1,2,3,4,5,6,7,8,9]", "its files are none" },
		{ "files", "[{\"name\":\"../x\",\"text\":\"\"}]", "one of its files is not one" },
	};
	struct as_finding r;
	struct as_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *object = print(&whole, "x", AS_FINDING_WHOLE);

		if (rows[i].value)
			json_object_set_new(object, rows[i].key,
					    json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		else
			json_object_del(object, rows[i].key);
		assert_int_equal(as_finding_parse(object, AS_FINDING_WHOLE, &r, &err), AS_EUSE);
		assert_string_equal(err.msg, rows[i].why);
		json_decref(object);
	}
	assert_int_equal(as_finding_parse(NULL, AS_FINDING_STORED, &r, &err), AS_EUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
