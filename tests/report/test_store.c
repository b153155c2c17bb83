/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store of findings: what is written is whole, can be read back, and counts repetitions. */
#include "tests/lib/skip.h"

#include "base/buf.h"
#include "dossier/stored.h"
#include "progress/result.h"
#include "report/sinks.h"
#include "tests/lib/tmpdir.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char out[PATH_MAX];

static int setup(void **state)
{
	(void)state;
	snprintf(out, sizeof(out), "%s/out", t_tmpdir());
	return 0;
}

static int save_disk(const struct as_disk *disk, const struct as_dir *dir, const char *name,
		     struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_buf_adds(&text, (const char *)disk);
	rc = as_dir_write(dir, name, &text, err);
	as_buf_free(&text);
	return rc;
}

static int save_fails(const struct as_disk *disk, const struct as_dir *dir, const char *name,
		      struct as_err *err)
{
	(void)disk;
	return as_fail(err, AS_EIO, "cannot write %s/%s", dir->path, name);
}

static char the_disk[] = "the disk"; /* to the store it is the saver's affair alone */

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
	.disk = (struct as_disk *)the_disk,
};

static bool exists(const char *id, const char *name)
{
	char path[PATH_MAX + 256];

	snprintf(path, sizeof(path), "%s/findings/%s/%s", out, id, name);
	return !access(path, R_OK);
}

static void written_and_read(void **state)
{
	static const char *const parts[] = { "finding.json", "workload.txt", "repro.c", "README.md",
					     "disk.img.zst" };
	struct as_stored stored;
	struct as_sink *sink;
	struct as_dir dir;
	struct as_err err;
	char path[PATH_MAX + 256];

	(void)state;
	assert_int_equal(as_store_sink_new(out, save_disk, &sink, &err), 0);
	as_emit_finding(sink, &finding, "lab-outcome-1");
	as_emit_finding(sink, &finding, "lab-outcome-1");
	assert_int_equal(as_store_sink_failed(sink, &err), 0);
	as_store_sink_free(sink);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		assert_true(exists("lab-outcome-1", parts[i]));
	snprintf(path, sizeof(path), "%s/findings/lab-outcome-1", out);
	assert_int_equal(as_dir_open(path, NULL, &dir, &err), 0);
	assert_int_equal(as_stored_load(&dir, &stored, &err), 0);
	as_dir_close(&dir);
	assert_string_equal(stored.record.id, "lab-outcome-1");
	assert_string_equal(stored.record.finding.target, finding.target);
	assert_string_equal(stored.record.finding.options, finding.options);
	assert_string_equal(stored.record.finding.signature, finding.signature);
	assert_string_equal(stored.workload, finding.workload);
	assert_int_equal(stored.record.count, 2);
	as_stored_free(&stored);
}

/* A writer that was killed left its beginnings; they do not stand in the way. */
static void leftovers(void **state)
{
	struct as_sink *sink;
	char path[PATH_MAX + 256];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/findings/.part-1.0", out);
	assert_int_equal(mkdir(path, 0777), 0);
	snprintf(path, sizeof(path), "%s/findings/.part-1.0/half", out);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(as_store_sink_new(out, save_disk, &sink, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	as_emit_finding(sink, &finding, "lab-outcome-2");
	assert_true(exists("lab-outcome-2", "finding.json"));
	as_store_sink_free(sink);
}

static void failures_are_kept(void **state)
{
	struct as_sink *sink;
	struct as_err err;

	(void)state;
	assert_int_equal(as_store_sink_new(out, save_fails, &sink, &err), 0);
	as_emit_finding(sink, &finding, "lab-outcome-3");
	assert_int_equal(as_store_sink_failed(sink, &err), AS_EIO);
	assert_non_null(strstr(err.msg, "disk.img.zst"));
	assert_false(exists("lab-outcome-3", "finding.json"));
	as_store_sink_free(sink);
}

static void refused(void **state)
{
	struct as_sink *sink;
	struct as_err err;

	(void)state;
	assert_int_not_equal(as_store_sink_new("/proc/nosuch/x", save_disk, &sink, &err), 0);
	assert_non_null(strstr(err.msg, "/proc/nosuch/x"));
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
	as_emit_finding(sink, &finding, "id");
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
	as_emit_finding(sink, &finding, "lab-outcome-8");
	fflush(file);
	assert_null(strstr(text, "again:"));
	sink->next = &keeper;
	as_emit_finding(sink, &finding, "lab-outcome-9");
	fflush(file);
	assert_non_null(strstr(text, "again: assay replay lab-outcome-9\n"));
	assert_non_null(strstr(text, "mkdir /a 0755 = 0"));
	assert_non_null(strstr(text, "a line"));
	assert_null(strchr(text, '\033'));
	len = strlen(text);
	as_emit_finding(sink, &finding, "lab-outcome-9");
	fflush(file);
	assert_int_equal(strlen(text), len);
	as_term_sink_free(sink);
	/* Where it is kept, if replay would look elsewhere: as one word of a shell. */
	sink = as_term_sink_new(file, false, "it's $here");
	sink->next = &keeper;
	as_emit_finding(sink, &finding, "lab-outcome-7");
	fflush(file);
	assert_non_null(strstr(text, "again: assay replay -o 'it'\\''s $here' lab-outcome-7\n"));
	as_term_sink_free(sink);
	fclose(file);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_and_read),  cmocka_unit_test(leftovers),
		cmocka_unit_test(failures_are_kept), cmocka_unit_test(refused),
		cmocka_unit_test(json_lines),	     cmocka_unit_test(terminal),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
