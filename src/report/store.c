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
#include "dossier/dossier.h"
#include "dossier/letter/mail.h"
#include "dossier/recipe.h"
#include "dossier/stored.h"
#include "os/rundir.h"
#include "report/store_priv.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define JSON_MAX_BYTES ((size_t)64 << 20)

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
	rc = as_dir_write(dir, AS_FINDING_NAME, &text, err);
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
	int rc = write_text(dir, AS_WORKLOAD_NAME, f->workload, err);

	if (!rc)
		rc = as_dossier_begin(dir, f, id, err);
	if (!rc && f->layout)
		rc = write_text(dir, AS_LAYOUT_NAME, f->layout, err);
	return rc;
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
	return rc ? rc : as_dossier_tell(dir, f->files, err);
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
	rc = as_dir_read(dir, AS_FINDING_NAME, JSON_MAX_BYTES, &text, err);
	if (!rc)
		root = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	if (!rc && !json_is_object(root))
		rc = as_fail(err, AS_EUSE, "%s/" AS_FINDING_NAME ": not a finding", dir->path);
	if (!rc) {
		change(root, ctx);
		dump = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
		if (!dump)
			as_out_of_memory(text.len);
		as_buf_clear(&text);
		as_buf_addf(&text, "%s\n", dump);
		free(dump);
		rc = as_dir_write(dir, AS_FINDING_NAME, &text, err);
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

int as_store_sink_new(const char *folder, as_save_disk_fn save_disk, struct as_sink **sink,
		      struct as_err *err)
{
	struct store *s = new_store(save_disk);
	int rc = as_rundir_open(folder, AS_RUNDIR_MAKE, &s->run, err);

	s->counts = true;
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
