/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: a folder for each finding. It is written under a temporary name that begins with a dot,
 * and renamed when it is complete. So a folder whose name is an id is complete, whenever we are
 * killed.
 *
 * Several processes may do this at the same time. Of those with the same finding, the first one
 * keeps it, and the others count it. What is in the folder is written by dossier/dossier.c, which
 * locks it where it has a name.
 */
#include "dossier/store.h"

#include "base/buf.h"
#include "dossier/dossier.h"
#include "dossier/recipe.h"
#include "os/rundir.h"

#include <stdlib.h>
#include <string.h>

struct store {
	struct as_sink sink;
	struct as_rundir run; /* the run folder, if this store has opened it */
	struct as_dir findings;
	bool counts; /* it counts findings that are already there */
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

static int count_again(struct store *s, const char *id, struct as_err *err)
{
	const struct as_dossier_news news = { .event = AS_DOSSIER_COUNTED };
	struct as_dir dir;
	int rc;

	if (!s->counts)
		return 0;
	rc = as_dir_below(&s->findings, id, false, &dir, err);
	if (!rc)
		rc = as_dossier_write(&dir, &news, err);
	as_dir_close(&dir);
	return rc;
}

static int keep(struct store *s, const struct as_finding *f, struct as_err *err)
{
	struct as_dossier_news news = { .event = AS_DOSSIER_FOUND, .finding = f };
	bool again = as_dir_has(&s->findings, f->id);
	struct as_buf temp = { 0 };
	struct as_dir dir = AS_DIR_NONE;
	int rc = 0;

	if (!again) {
		news.mkfs = mkfs_version(s, f->target);
		rc = as_dir_temp(&s->findings, AS_RUN_PART, &temp, &dir, err);
		if (!rc)
			rc = as_dossier_write(&dir, &news, err);
		as_dir_close(&dir);
		if (!rc)
			rc = as_dir_place(&s->findings, as_buf_str(&temp), f->id, &again, err);
		else if (temp.len)
			as_dir_remove(&s->findings, as_buf_str(&temp));
	}
	if (!rc && again)
		rc = count_again(s, f->id, err);
	as_buf_free(&temp);
	return rc;
}

static void store_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct store *s = (struct store *)sink;
	struct as_err err = { 0 };

	if (keep(s, f, &err) && !s->failed.code)
		s->failed = err;
}

/* ---- Making it ------------------------------------------------------------------------------- */

static struct store *new_store(void)
{
	struct store *s = as_xcalloc(1, sizeof(*s));

	s->sink.finding = store_finding;
	s->run = (struct as_rundir){ .dir = AS_DIR_NONE, .way.fd = -1 };
	s->findings = AS_DIR_NONE;
	return s;
}

static int hand_out(struct store *s, int rc, struct as_sink **sink)
{
	*sink = rc ? NULL : &s->sink;
	if (rc)
		as_store_sink_free(&s->sink);
	return rc;
}

int as_store_sink_new(const char *folder, struct as_sink **sink, struct as_err *err)
{
	struct store *s = new_store();
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

int as_store_sink_in(const struct as_dir *folder, struct as_sink **sink, struct as_err *err)
{
	struct store *s = new_store();

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
