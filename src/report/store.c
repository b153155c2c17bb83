/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: a folder for each finding. It is written under a temporary name that begins with a dot,
 * and renamed when it is complete. So a folder whose name is an id is complete, whenever we are
 * killed.
 *
 * Several processes may do this at the same time. Of those with the same finding, the first one
 * keeps it, and the others count it. Counting reads and writes finding.json, so the folder is
 * locked meanwhile (flock).
 */
#include "report/sinks.h"

#include "base/buf.h"
#include "base/finding_json.h"
#include "base/json.h"
#include "base/show.h"
#include "base/version.h"
#include "os/rundir.h"
#include "report/mail/mail.h"
#include "report/mail/words.h"
#include "report/page.h"
#include "report/recipe.h"
#include "report/script.h"
#include "report/store_priv.h"
#include "work/emit_c.h"
#include "work/parse.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define JSON_MAX_BYTES ((size_t)64 << 20)
#define TEXT_MAX_BYTES ((size_t)1 << 28)
#define FINDING_NAME "finding.json"
#define WORKLOAD_NAME "workload.txt"

struct store {
	struct as_sink sink;
	struct as_rundir run; /* the run folder, if this store has opened it */
	struct as_dir findings;
	bool counts; /* it counts findings that are already there */
	as_save_disk_fn save_disk;
	struct as_buf mkfs, version; /* the last command that was asked, and what it said */
	struct as_err failed; /* code 0: nothing did */
};

/* ---- Writing --------------------------------------------------------------------------------- */

/* What made the disk, as it says itself. A run has one type, so that the answer is kept. */
static const char *mkfs_version(struct store *s, const char *target)
{
	struct as_recipe recipe;

	as_recipe_open(target, &recipe);
	if (recipe.type && recipe.type->mkfs &&
	    strncmp(as_buf_str(&s->mkfs), recipe.type->mkfs, strcspn(recipe.type->mkfs, " ") + 1)) {
		as_buf_clear(&s->mkfs);
		as_buf_adds(&s->mkfs, recipe.type->mkfs);
		as_buf_clear(&s->version);
		as_recipe_version(&recipe, &s->version);
	} else if (!recipe.type) {
		as_buf_clear(&s->mkfs);
		as_buf_clear(&s->version);
	}
	as_recipe_close(&recipe);
	return as_buf_str(&s->version);
}

static int write_json(struct store *s, const struct as_dir *dir, const struct as_finding *f,
		      const char *id, struct as_err *err)
{
	const char *version = mkfs_version(s, f->target);
	struct as_buf text = { 0 };
	struct as_json json = as_json_on(&text);
	int rc;

	as_json_object(&json);
	as_finding_print(&json, f, id);
	as_json_kuint(&json, "count", 1);
	as_json_key(&json, "tools");
	as_json_object(&json);
	as_json_kstr(&json, "assay", AS_VERSION);
	if (*version)
		as_json_kstr(&json, "mkfs", version);
	as_json_end(&json);
	as_json_end(&json);
	as_buf_addc(&text, '\n');
	rc = as_dir_write(dir, FINDING_NAME, &text, err);
	as_buf_free(&text);
	return rc;
}

static int write_text(const struct as_dir *dir, const char *name, const char *text,
		      struct as_err *err)
{
	struct as_buf buf = { 0 };
	int rc;

	as_buf_adds(&buf, text);
	rc = as_dir_write(dir, name, &buf, err);
	as_buf_free(&buf);
	return rc;
}

int as_stored_repro(const struct as_dir *dir, const char *name, const char *workload,
		    struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_seq *seq = NULL;
	int rc = as_parse_text(name, workload, strlen(workload), &seq, err);

	if (!rc) {
		as_emit_c(seq, NULL, &text);
		rc = as_dir_write(dir, "repro.c", &text, err);
	}
	as_seq_free(seq);
	as_buf_free(&text);
	return rc;
}

/* Adds the options without which it is no finding: " --max-heap 4096". */
static void add_bounds(const struct as_finding *f, struct as_buf *line)
{
	static const char *const bounds[][2] = { { " max_heap=", " --max-heap " },
						 { " max_stack=", " --max-stack " } };

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		const char *at = f->options ? strstr(f->options, bounds[i][0]) : NULL;

		if (at)
			as_buf_addf(line, "%s%llu", bounds[i][1],
				    strtoull(at + strlen(bounds[i][0]), NULL, 10));
	}
	if (f->options && strstr(f->options, " corrupt="))
		as_buf_adds(line, " --corrupt bits");
	if (f->options && strstr(f->options, " fields="))
		as_buf_adds(line, " --corrupt fields");
	if (f->layout)
		as_buf_adds(line, " --layout " AS_LAYOUT_NAME);
}

/* "assay run --target 'T' --scenario 'race:seed=7' workload.txt" */
static void add_command(const struct as_finding *f, struct as_buf *out)
{
	const char *word = f->options ? strstr(f->options, "scenario=") : NULL;
	struct as_buf line = { 0 }, scenario = { 0 };
	char kernel[AS_KERNEL_NAME_MAX];

	as_buf_adds(&line, "assay run --target ");
	as_buf_add_word(&line, f->target);
	if (as_finding_is_on_host(f))
		as_buf_adds(&line, " --sandbox host");
	if (as_finding_kernel(f, kernel))
		as_buf_addf(&line, " --kernel %s", kernel);
	add_bounds(f, &line);
	if (word) {
		as_buf_add(&scenario, word + 9, strcspn(word + 9, " "));
		as_buf_adds(&line, " --scenario ");
		as_buf_add_word(&line, as_buf_str(&scenario));
	}
	as_buf_adds(&line, " workload.txt");
	as_page_code(out, as_buf_str(&line));
	as_buf_free(&line);
	as_buf_free(&scenario);
}

/* The program of a finding is linked with the library under test (cli/repro/repro.h). */
static bool is_library(const char *target)
{
	return !strncmp(target, "plugin:", 7) || !strncmp(target, "lab:", 4) ||
	       !strcmp(target, "lab");
}

/* Texts from outside (names, logs, the target) are quoted, so that they cannot look like text of
 * the page. */
static void describe(const struct as_finding *f, const char *id, struct as_buf *t)
{
	as_buf_addf(t, "# %s\n\n%s\n\n    ", id, as_kind_meaning(f->kind));
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
		    "To reproduce it: `assay replay %s%s` (or give it this folder).\n\n"
		    "- `workload.txt`: the operations; ",
		    as_finding_is_on_host(f) ? "--sandbox host " : "", id);
	add_command(f, t);
	as_buf_addf(t, "\n- `repro.c`: the same as a C program%s: ",
		    f->kind == AS_FIND_RACE ? ", of one thread" : "");
	if (is_library(f->target))
		as_buf_adds(t, "linked with the file system it needs no assay; its first lines say "
			       "how to compile it\n");
	else
		as_buf_adds(t, "`cc repro.c -o repro && ./repro DIRECTORY`\n");
	as_buf_addf(t,
		    "- `repro.sh`: makes a disk of its own, does it again by plain means, and says "
		    "REPRODUCED or NOT REPRODUCED\n"
		    "- `finding.json`: all of this for programs\n%s",
		    f->disk ? "- `disk.img.zst`: the disk at that moment; "
			      "`assay disk export disk.img.zst RAW`\n"
			    : "");
	if (f->layout)
		as_buf_adds(t, "- `" AS_LAYOUT_NAME "`: the description of the disk's fields\n");
}

static int write_readme(const struct as_dir *dir, const struct as_finding *f, const char *id,
			struct as_err *err)
{
	struct as_buf t = { 0 };
	int rc;

	describe(f, id, &t);
	rc = as_dir_write(dir, "README.md", &t, err);
	as_buf_free(&t);
	return rc;
}

static int write_files(const struct as_dir *dir, const struct as_finding *f, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < f->n_files; i++) {
		const struct as_finding_file *file = &f->files[i];

		rc = write_text(dir, file->name, file->text, err);
		if (!rc && file->program && fchmodat(dir->fd, file->name, 0755, 0))
			rc = as_fail_errno(err, errno, "%s/%s", dir->path, file->name);
	}
	return rc;
}

static int write_workload(const struct as_dir *dir, const struct as_finding *f, const char *id,
			  struct as_err *err)
{
	int rc = write_text(dir, WORKLOAD_NAME, f->workload, err);

	if (!rc)
		rc = as_stored_repro(dir, f->workload_name ? f->workload_name : "workload",
				     f->workload, err);
	if (!rc && f->layout)
		rc = write_text(dir, AS_LAYOUT_NAME, f->layout, err);
	return rc ? rc : write_readme(dir, f, id, err);
}

static int write_all(struct store *s, const struct as_dir *dir, const struct as_finding *f,
		     const char *id, struct as_err *err)
{
	bool power = f->kind == AS_FIND_CRASH || f->kind == AS_FIND_RECOVERY;
	int rc = f->files ? write_files(dir, f, err) : write_workload(dir, f, id, err);

	if (!rc && f->disk)
		rc = s->save_disk(f->disk, dir, AS_DISK_NAME, err);
	if (!rc && f->healthy)
		rc = s->save_disk(f->healthy, dir, power ? AS_BEFORE_NAME : AS_HEALTHY_NAME, err);
	if (!rc)
		rc = write_json(s, dir, f, id, err);
	if (!rc && !f->files)
		rc = as_script_write(dir, err);
	return rc ? rc : as_mail_write(dir, err);
}

int as_stored_change(const struct as_dir *dir, void (*change)(json_t *root, void *ctx), void *ctx,
		     struct as_err *err)
{
	struct as_buf text = { 0 };
	json_t *root = NULL;
	char *dump;
	int rc = as_dir_lock(dir, true, err);

	if (rc)
		return rc;
	rc = as_dir_read(dir, FINDING_NAME, JSON_MAX_BYTES, &text, err);
	if (!rc)
		root = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	if (!rc && !json_is_object(root))
		rc = as_fail(err, AS_EUSE, "%s/" FINDING_NAME ": not a finding", dir->path);
	if (!rc) {
		change(root, ctx);
		dump = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
		if (!dump)
			as_out_of_memory(text.len);
		as_buf_clear(&text);
		as_buf_addf(&text, "%s\n", dump);
		free(dump);
		rc = as_dir_write(dir, FINDING_NAME, &text, err);
	}
	flock(dir->fd, LOCK_UN);
	json_decref(root);
	as_buf_free(&text);
	return rc;
}

struct counted {
	uint64_t count; /* 0: one more than before */
	const char *group; /* NULL: it stays */
};

static void change_count(json_t *root, void *ctx)
{
	const struct counted *c = ctx;
	json_int_t was = json_integer_value(json_object_get(root, "count"));

	json_object_set_new(root, "count", json_integer(c->count ? (json_int_t)c->count : was + 1));
	if (c->group)
		json_object_set_new(root, "group", json_string(c->group));
}

int as_stored_set_count(const struct as_dir *dir, uint64_t count, const char *group,
			struct as_err *err)
{
	struct counted counted = { count, group };
	int rc = as_stored_change(dir, change_count, &counted, err);

	return rc ? rc : as_mail_write(dir, err);
}

static int count_again(struct store *s, const char *id, struct as_err *err)
{
	struct as_dir dir;
	int rc;

	if (!s->counts)
		return 0;
	rc = as_dir_below(&s->findings, id, false, &dir, err);
	if (!rc)
		rc = as_stored_set_count(&dir, 0, NULL, err);
	as_dir_close(&dir);
	return rc;
}

static int keep(struct store *s, const struct as_finding *f, const char *id, struct as_err *err)
{
	bool again = as_dir_has(&s->findings, id);
	struct as_buf temp = { 0 };
	struct as_dir dir = AS_DIR_NONE;
	int rc = 0;

	if (!again) {
		rc = as_dir_temp(&s->findings, AS_RUN_PART, &temp, &dir, err);
		if (!rc)
			rc = write_all(s, &dir, f, id, err);
		as_dir_close(&dir);
		if (!rc)
			rc = as_dir_place(&s->findings, as_buf_str(&temp), id, &again, err);
		else if (temp.len)
			as_dir_remove(&s->findings, as_buf_str(&temp));
	}
	if (!rc && again)
		rc = count_again(s, id, err);
	as_buf_free(&temp);
	return rc;
}

static void store_finding(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	struct store *s = (struct store *)sink;
	struct as_err err = { 0 };

	if (keep(s, f, id, &err) && !s->failed.code)
		s->failed = err;
}

/* ---- Making it ------------------------------------------------------------------------------- */

static struct store *new_store(as_save_disk_fn save_disk)
{
	struct store *s = as_xcalloc(1, sizeof(*s));

	s->sink.finding = store_finding;
	s->run = (struct as_rundir){ .dir = AS_DIR_NONE, .way.fd = -1 };
	s->findings = AS_DIR_NONE;
	s->save_disk = save_disk;
	return s;
}

static int hand_out(struct store *s, int rc, struct as_sink **sink)
{
	*sink = rc ? NULL : &s->sink;
	if (rc)
		as_store_sink_free(&s->sink);
	return rc;
}

int as_store_sink_new(const char *folder, bool given, as_save_disk_fn save_disk,
		      struct as_sink **sink, struct as_err *err)
{
	struct store *s = new_store(save_disk);
	int rc = as_rundir_open(folder, given ? AS_RUNDIR_GIVEN : AS_RUNDIR_MAKE, &s->run, err);

	s->counts = !given;
	if (!rc)
		rc = as_dir_below(&s->run.dir, AS_RUN_FINDINGS, true, &s->findings, err);
	if (rc && err) {
		struct as_err why = *err;

		as_fail(err, rc, "output folder %s", why.msg);
	}
	return hand_out(s, rc, sink);
}

int as_store_sink_in(const struct as_dir *folder, as_save_disk_fn save_disk, struct as_sink **sink,
		     struct as_err *err)
{
	struct store *s = new_store(save_disk);

	s->counts = true;
	return hand_out(s, as_dir_below(folder, AS_RUN_FINDINGS, true, &s->findings, err), sink);
}

void as_store_sink_goes_on(struct as_sink *sink)
{
	((struct store *)sink)->counts = false;
}

const struct as_dir *as_store_sink_folder(const struct as_sink *sink)
{
	return &((const struct store *)sink)->run.dir;
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

	if (!s)
		return;
	as_dir_close(&s->findings);
	as_rundir_close(&s->run);
	as_buf_free(&s->mkfs);
	as_buf_free(&s->version);
	free(s);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int read_workload(const struct as_dir *dir, const char *name, char **workload,
			 struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_dir_read(dir, name, TEXT_MAX_BYTES, &text, err);

	if (!rc)
		*workload = as_xstrdup(as_buf_str(&text));
	as_buf_free(&text);
	return rc;
}

static int read_finding(const struct as_dir *dir, json_t **root, struct as_err *err)
{
	struct as_buf text = { 0 };
	json_error_t where;
	int rc = as_dir_read(dir, FINDING_NAME, JSON_MAX_BYTES, &text, err);

	*root = NULL;
	if (!rc) {
		*root = json_loadb(as_buf_str(&text), text.len, 0, &where);
		if (!json_is_object(*root))
			rc = as_fail(err, AS_EUSE, "%s/" FINDING_NAME ":%d: not a finding: %s",
				     dir->path, *root ? 1 : where.line,
				     *root ? "expected an object" : where.text);
	}
	as_buf_free(&text);
	return rc;
}

int as_stored_load(const struct as_dir *dir, struct as_stored *stored, struct as_err *err)
{
	struct as_err why;
	json_t *root;
	int rc = read_finding(dir, &root, err);

	*stored = (struct as_stored){ 0 };
	if (!rc && as_finding_parse(root, AS_FINDING_STORED, &stored->record, &why))
		rc = as_fail(err, AS_EUSE, "%s/" FINDING_NAME ": not a finding: %s", dir->path,
			     why.msg);
	/* A finding that has other files in place of a workload. */
	if (!rc && !strncmp(stored->record.finding.options, "fsck=", 5))
		stored->workload = as_xstrdup("");
	else if (!rc)
		rc = read_workload(dir, WORKLOAD_NAME, &stored->workload, err);
	if (!rc && json_is_object(json_object_get(root, "reduced")))
		rc = read_workload(dir, AS_REDUCED_NAME, &stored->reduced, err);
	if (!rc && as_dir_has(dir, AS_LAYOUT_NAME)) {
		struct as_buf path = { 0 };

		as_buf_addf(&path, "%s/" AS_LAYOUT_NAME, dir->path);
		stored->layout = as_xstrdup(as_buf_str(&path));
		as_buf_free(&path);
	}
	json_decref(root);
	if (rc)
		as_stored_free(stored);
	return rc;
}

void as_stored_free(struct as_stored *s)
{
	as_finding_record_free(&s->record);
	free(s->workload);
	free(s->reduced);
	free(s->layout);
	*s = (struct as_stored){ 0 };
}
