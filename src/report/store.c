/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: a folder for each finding. It is written under a name that begins with a dot and renamed
 * when it is whole, so a folder with an id for a name is complete whenever we are killed.
 */
#include "report/sinks.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/show.h"
#include "report/finding_json.h"
#include "report/page.h"
#include "work/emit_c.h"
#include "work/parse.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JSON_MAX_BYTES ((size_t)64 << 20)
#define TEXT_MAX_BYTES ((size_t)1 << 30)

struct store {
	struct as_sink sink;
	char *folder;
	bool made; /* by us */
	as_save_disk_fn save_disk;
	struct as_err failed; /* code 0: nothing did */
};

/* ---- Writing --------------------------------------------------------------------------------- */

static int write_json(const char *path, const struct as_finding *f, const char *id,
		      struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_json json = as_json_on(&text);
	int rc;

	as_json_object(&json);
	as_finding_json(&json, f, id);
	as_json_kuint(&json, "count", 1);
	as_json_end(&json);
	as_buf_addc(&text, '\n');
	rc = as_buf_write_file(&text, path, err);
	as_buf_free(&text);
	return rc;
}

static int write_text(const char *path, const char *text, struct as_err *err)
{
	struct as_buf buf = { 0 };
	int rc;

	as_buf_adds(&buf, text);
	rc = as_buf_write_file(&buf, path, err);
	as_buf_free(&buf);
	return rc;
}

/* The workload as a C program: it can be given to someone who does not have assay. */
static int write_repro(const char *path, const struct as_finding *f, struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_seq *seq = NULL;
	int rc = as_parse_text(f->workload_name ? f->workload_name : "workload", f->workload,
			       strlen(f->workload), &seq, err);

	if (!rc) {
		as_emit_c(seq, NULL, &text);
		rc = as_buf_write_file(&text, path, err);
	}
	as_seq_free(seq);
	as_buf_free(&text);
	return rc;
}

/* What each kind means, for a reader who has not met assay. */
static const char *const meanings[AS_FIND_KINDS] = {
	[AS_FIND_OUTCOME] =
		"An operation gave an answer that neither POSIX nor Linux allows there.",
	[AS_FIND_DATA] =
		"An operation succeeded, but what it handed back is not what should be there.",
	[AS_FIND_TREE] =
		"Read from the root, the tree is not what the operations should have left.",
	[AS_FIND_SIGNAL] = "The file system ended the process it ran in.",
	[AS_FIND_HANG] = "The file system did not come back from a call.",
	[AS_FIND_LEAK] = "After unmount, memory was still allocated.",
	[AS_FIND_CHECKER] = "After a clean unmount, the file system's own checker found errors.",
	[AS_FIND_MOUNT] = "mkfs, mount or unmount failed though nothing was wrong.",
	[AS_FIND_MISUSE] = "The file system broke a rule of the interface with its disk or memory.",
	[AS_FIND_KERNEL] =
		"The kernel under test crashed, warned or complained of corruption: see its log.",
	[AS_FIND_CRASH] =
		"After a power cut, the tree is not one that was promised, or there is none.",
	[AS_FIND_RACE] =
		"No order of the calls that overlapped explains what they answered or left.",
	[AS_FIND_DIFF] = "One file system gave an answer that others, asked the same, did not.",
	[AS_FIND_RECOVERY] = "Two recoveries of the same disk do not end in the same tree.",
};

/* "assay run --target 'T' --scenario 'race:seed=7' workload.txt" */
static void add_command(const struct as_finding *f, struct as_buf *out)
{
	const char *word = f->options ? strstr(f->options, "scenario=") : NULL;
	struct as_buf line = { 0 }, scenario = { 0 };

	as_buf_adds(&line, "assay run --target ");
	as_page_word(&line, f->target);
	if (word) {
		as_buf_add(&scenario, word + 9, strcspn(word + 9, " "));
		as_buf_adds(&line, " --scenario ");
		as_page_word(&line, as_buf_str(&scenario));
	}
	as_buf_adds(&line, " workload.txt");
	as_page_code(out, as_buf_str(&line));
	as_buf_free(&line);
	as_buf_free(&scenario);
}

/* What is from outside (names, logs, the target) is quoted: a page must not be able to lie. */
static void describe(const struct as_finding *f, const char *id, bool has_disk, struct as_buf *t)
{
	as_buf_addf(t, "# %s\n\n%s\n\n    ", id, meanings[f->kind]);
	as_show(t, f->summary);
	as_buf_adds(t, "\n\nTarget ");
	as_page_code(t, f->target);
	as_buf_adds(t, ", workload ");
	as_page_code(t, f->workload_name ? f->workload_name : "-");
	as_buf_adds(t, ", run with ");
	as_page_code(t, f->options ? f->options : "");
	as_buf_adds(t, ".\n\n");
	if (f->detail && *f->detail) {
		as_buf_adds(t, "The last operations and their answers:\n\n");
		as_page_block(t, f->detail);
		as_buf_addc(t, '\n');
	}
	if (f->log && *f->log) {
		as_buf_adds(t, "What the target logged:\n\n");
		as_page_block(t, f->log);
		as_buf_addc(t, '\n');
	}
	as_buf_addf(t,
		    "To see it again: `assay replay %s` (or give it this folder).\n\n"
		    "- `workload.txt`: the operations; ",
		    id);
	add_command(f, t);
	as_buf_addf(t,
		    "\n- `repro.c`: the same as a C program%s: `cc repro.c -o repro && ./repro "
		    "DIRECTORY`\n"
		    "- `finding.json`: all of this for programs\n%s",
		    f->kind == AS_FIND_RACE ? ", of one thread" : "",
		    has_disk ? "- `disk.img.zst`: the disk at that moment; "
			       "`assay disk export disk.img.zst RAW`\n"
			     : "");
}

static int write_readme(const char *path, const struct as_finding *f, const char *id, bool has_disk,
			struct as_err *err)
{
	struct as_buf t = { 0 };
	int rc;

	describe(f, id, has_disk, &t);
	rc = as_buf_write_file(&t, path, err);
	as_buf_free(&t);
	return rc;
}

static int write_all(struct store *s, const char *dir, const struct as_finding *f, const char *id,
		     struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc = 0;
	size_t base;

	as_buf_addf(&path, "%s/", dir);
	base = path.len;
#define AT(name) (path.len = base, as_buf_adds(&path, name), as_buf_str(&path))
	rc = write_text(AT("workload.txt"), f->workload, err);
	if (!rc)
		rc = write_repro(AT("repro.c"), f, err);
	if (!rc && f->disk)
		rc = s->save_disk(f->disk, AT("disk.img.zst"), err);
	if (!rc)
		rc = write_readme(AT("README.md"), f, id, f->disk, err);
	if (!rc)
		rc = write_json(AT("finding.json"), f, id, err);
#undef AT
	as_buf_free(&path);
	return rc;
}

/* A folder of a writer that was killed. */
static void remove_leftover(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* The count in finding.json becomes `count`, or with 0 goes up by one. */
static int change_count(const char *dir, uint64_t count, struct as_err *err)
{
	struct as_buf path = { 0 }, text = { 0 };
	json_t *root;
	char *dump;
	int rc = 0;

	as_buf_addf(&path, "%s/finding.json", dir);
	root = json_load_file(as_buf_str(&path), 0, NULL);
	if (json_is_object(root)) {
		json_int_t was = json_integer_value(json_object_get(root, "count"));

		json_object_set_new(root, "count",
				    json_integer(count ? (json_int_t)count : was + 1));
		dump = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
		as_buf_addf(&text, "%s\n", dump);
		free(dump);
		rc = as_buf_write_file(&text, as_buf_str(&path), err);
	}
	json_decref(root);
	as_buf_free(&path);
	as_buf_free(&text);
	return rc;
}

int as_stored_set_count(const char *folder, uint64_t count, struct as_err *err)
{
	return change_count(folder, count, err);
}

static void store_finding(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	struct store *s = (struct store *)sink;
	struct as_buf dir = { 0 }, tmp = { 0 };
	struct as_err err = { 0 };
	struct stat st;
	int rc;

	as_buf_addf(&dir, "%s/findings/%s", s->folder, id);
	as_buf_addf(&tmp, "%s/findings/.%s", s->folder, id);
	if (!stat(as_buf_str(&dir), &st)) {
		rc = change_count(as_buf_str(&dir), 0, &err);
	} else {
		remove_leftover(as_buf_str(&tmp));
		rc = mkdir(as_buf_str(&tmp), 0777)
			     ? as_fail_errno(&err, errno, "cannot write %s", as_buf_str(&tmp))
			     : write_all(s, as_buf_str(&tmp), f, id, &err);
		if (!rc && rename(as_buf_str(&tmp), as_buf_str(&dir)))
			rc = as_fail_errno(&err, errno, "cannot write %s", as_buf_str(&dir));
	}
	if (rc && !s->failed.code)
		s->failed = err;
	as_buf_free(&dir);
	as_buf_free(&tmp);
}

static int make_folder(const char *path, bool *made, struct as_err *err)
{
	struct stat st;

	if (!mkdir(path, 0777)) {
		*made = true;
		return 0;
	}
	if (errno != EEXIST)
		return as_fail_errno(err, errno, "output folder %s", path);
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return as_fail(err, AS_EUSE, "output folder %s: not a directory", path);
	if (access(path, W_OK | X_OK))
		return as_fail_errno(err, errno, "output folder %s", path);
	return 0;
}

int as_store_sink_new(const char *folder, as_save_disk_fn save_disk, struct as_sink **sink,
		      struct as_err *err)
{
	struct store *s = as_xcalloc(1, sizeof(*s));
	struct as_buf findings = { 0 };
	bool made = false;
	int rc;

	s->sink.finding = store_finding;
	s->folder = as_xstrdup(folder);
	s->save_disk = save_disk;
	rc = make_folder(folder, &s->made, err);
	as_buf_addf(&findings, "%s/findings", folder);
	if (!rc)
		rc = make_folder(as_buf_str(&findings), &made, err);
	as_buf_free(&findings);
	*sink = rc ? NULL : &s->sink;
	if (rc)
		as_store_sink_free(&s->sink);
	return rc;
}

int as_store_sink_failed(const struct as_sink *sink, struct as_err *err)
{
	const struct store *s = (const struct store *)sink;

	if (s->failed.code && err)
		*err = s->failed;
	return s->failed.code;
}

void as_store_sink_free(struct as_sink *sink)
{
	struct store *s = (struct store *)sink;
	struct as_buf findings = { 0 };

	if (!s)
		return;
	/* Nothing was found: leave nothing. rmdir() takes empty folders only. */
	as_buf_addf(&findings, "%s/findings", s->folder);
	if (!rmdir(as_buf_str(&findings)) && s->made)
		rmdir(s->folder);
	as_buf_free(&findings);
	free(s->folder);
	free(s);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static char *take(const json_t *root, const char *key)
{
	const char *value = json_string_value(json_object_get(root, key));

	return value ? as_xstrdup(value) : NULL;
}

static int read_workload(const char *folder, const char *name, char **workload, struct as_err *err)
{
	struct as_buf path = { 0 }, text = { 0 };
	int rc;

	as_buf_addf(&path, "%s/%s", folder, name);
	rc = as_buf_read_file(&text, as_buf_str(&path), TEXT_MAX_BYTES, err);
	if (!rc)
		*workload = as_xstrdup(as_buf_str(&text));
	as_buf_free(&path);
	as_buf_free(&text);
	return rc;
}

int as_stored_load(const char *folder, struct as_stored *stored, struct as_err *err)
{
	struct as_buf path = { 0 }, text = { 0 };
	json_error_t where;
	json_t *root = NULL;
	int rc;

	*stored = (struct as_stored){ 0 };
	as_buf_addf(&path, "%s/finding.json", folder);
	rc = as_buf_read_file(&text, as_buf_str(&path), JSON_MAX_BYTES, err);
	if (!rc) {
		root = json_loadb(as_buf_str(&text), text.len, 0, &where);
		if (!json_is_object(root))
			rc = as_fail(err, AS_EUSE, "%s:%d: not a finding: %s", as_buf_str(&path),
				     root ? 1 : where.line,
				     root ? "expected an object" : where.text);
	}
	if (!rc) {
		stored->id = take(root, "id");
		stored->kind = take(root, "kind");
		stored->target = take(root, "target");
		stored->summary = take(root, "summary");
		stored->signature = take(root, "signature");
		stored->options = take(root, "options");
		stored->workload_name = take(root, "workload_name");
		stored->op = (uint64_t)json_integer_value(json_object_get(root, "op"));
		stored->count = (uint64_t)json_integer_value(json_object_get(root, "count"));
		if (!stored->id || !stored->target || !stored->signature || !stored->options)
			rc = as_fail(err, AS_EUSE,
				     "%s: not a finding: it lacks id, target, signature or options",
				     as_buf_str(&path));
	}
	if (!rc)
		rc = read_workload(folder, "workload.txt", &stored->workload, err);
	if (!rc && json_is_object(json_object_get(root, "reduced")))
		rc = read_workload(folder, AS_REDUCED_NAME, &stored->reduced, err);
	json_decref(root);
	as_buf_free(&path);
	as_buf_free(&text);
	if (rc)
		as_stored_free(stored);
	return rc;
}

void as_stored_free(struct as_stored *s)
{
	free(s->id);
	free(s->kind);
	free(s->target);
	free(s->summary);
	free(s->signature);
	free(s->options);
	free(s->workload);
	free(s->workload_name);
	free(s->reduced);
	*s = (struct as_stored){ 0 };
}
