/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html_data: what a report shows, read from run folders. A run folder may come from elsewhere:
 * every file is bounded, links are not followed, what cannot be read is left out and counted. */
#include "base/array.h"
#include "base/json.h"
#include "dossier/stored.h"
#include "os/rundir.h"
#include "report/html.h"
#include "report/html_priv.h"
#include "report/sinks.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define STATE_MAX_BYTES ((size_t)64 << 20)
#define TEXT_MAX_BYTES ((size_t)256 << 10)
/* After so many bytes, workloads, programs and pages stay in their folders: the page of ten
 * thousand findings must still open at once. */
#define TEXTS_MAX_BYTES ((size_t)12 << 20)

struct entry_names {
	char **v;
	size_t n, room;
};

struct collecting {
	struct as_json json;
	struct as_report_totals *totals;
	size_t texts; /* bytes of them so far */
};

static int add_name(void *ctx, const char *name)
{
	struct entry_names *names = ctx;

	if (as_dir_is_plain(name)) {
		AS_ARRAY_ROOM(names->v, names->n, names->room);
		names->v[names->n++] = as_xstrdup(name);
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* A text, if there is room for it. */
static void add_text(struct collecting *c, const char *key, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (!len || len > TEXT_MAX_BYTES || c->texts + len > TEXTS_MAX_BYTES)
		return;
	as_json_kstr(&c->json, key, text);
	c->texts += len;
}

/* A text file of the folder, if it is there. */
static void add_file(struct collecting *c, const struct as_dir *folder, const char *key,
		     const char *name)
{
	struct as_buf text = { 0 };

	if (c->texts < TEXTS_MAX_BYTES && as_dir_has(folder, name) &&
	    !as_dir_read(folder, name, TEXT_MAX_BYTES, &text, NULL))
		add_text(c, key, as_buf_str(&text));
	as_buf_free(&text);
}

/* What was seen and logged counts as texts do. */
static void make_room(struct collecting *c, struct as_finding *f)
{
	size_t len = (f->detail ? strlen(f->detail) : 0) + (f->log ? strlen(f->log) : 0);

	if (c->texts + len > TEXTS_MAX_BYTES)
		f->detail = f->log = NULL;
	else
		c->texts += len;
}

/* What the reduced workload shows, if it is known. */
static void add_shows(struct collecting *c, const struct as_stored *stored)
{
	const json_t *reduced = json_object_get(stored->finding.own, "reduced");
	const char *summary = as_stored_shows(stored);

	if (!summary)
		return;
	as_json_key(&c->json, "shows");
	as_json_object(&c->json);
	as_json_kstr(&c->json, "summary", summary);
	as_json_kint(&c->json, "op", json_integer_value(json_object_get(reduced, "op")));
	add_text(c, "detail", json_string_value(json_object_get(reduced, "detail")));
	as_json_end(&c->json);
}

static void add_finding(struct collecting *c, size_t run, const struct as_dir *findings,
			const char *name)
{
	struct as_dir folder = AS_DIR_NONE;
	struct as_stored stored = { 0 };
	struct as_err err;

	if (as_dir_below(findings, name, false, &folder, &err) ||
	    as_stored_load(&folder, &stored, &err)) {
		c->totals->damaged++;
	} else {
		struct as_finding f = stored.finding;

		make_room(c, &f);
		as_json_object(&c->json);
		as_finding_print(&c->json, &f, AS_FINDING_STORED);
		as_json_kuint(&c->json, "run", run);
		as_json_kuint(&c->json, "count", stored.finding.count);
		add_text(c, "reduced", stored.reduced);
		add_shows(c, &stored);
		add_text(c, "workload", stored.workload);
		add_file(c, &folder, "repro", "repro.c");
		add_file(c, &folder, "script", "repro.sh");
		add_file(c, &folder, "page", "README.md");
		add_file(c, &folder, "damage", "damage.txt");
		as_json_end(&c->json);
		c->totals->findings++;
	}
	as_stored_free(&stored);
	as_dir_close(&folder);
}

static void add_findings(struct collecting *c, size_t run, const struct as_dir *dir)
{
	struct as_dir findings = AS_DIR_NONE;
	struct entry_names names = { 0 };

	if (!as_dir_has(dir, AS_RUN_FINDINGS) ||
	    as_dir_below(dir, AS_RUN_FINDINGS, false, &findings, NULL))
		return;
	as_dir_each(&findings, add_name, &names);
	if (names.n)
		qsort(names.v, names.n, sizeof(names.v[0]), by_name);
	for (size_t i = 0; i < names.n; i++) {
		add_finding(c, run, &findings, names.v[i]);
		free(names.v[i]);
	}
	free(names.v);
	as_dir_close(&findings);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* What a hunt remembers (docs/FORMAT.md, "The folder of a hunt"). */
static void add_hunt(struct collecting *c, const struct as_dir *dir)
{
	static const char *const texts[] = { "target", "scenario" };
	static const char *const numbers[] = { "seed", "workloads", "ops", "used_us" };
	struct as_dir hunt = AS_DIR_NONE;
	struct as_buf text = { 0 };
	json_t *state = NULL, *sign;
	size_t i;

	if (!as_dir_has(dir, AS_RUN_HUNT) || as_dir_below(dir, AS_RUN_HUNT, false, &hunt, NULL))
		return;
	if (!as_dir_read(&hunt, AS_RUN_STATE, STATE_MAX_BYTES, &text, NULL))
		state = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	c->totals->unread += as_dir_has(&hunt, AS_RUN_STATE) && !json_is_object(state);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (json_is_string(json_object_get(state, texts[i])))
			as_json_kstr(&c->json, texts[i],
				     json_string_value(json_object_get(state, texts[i])));
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (json_is_integer(json_object_get(state, numbers[i])))
			as_json_kint(&c->json, numbers[i],
				     json_integer_value(json_object_get(state, numbers[i])));
	as_json_key(&c->json, "firsts");
	as_json_array(&c->json);
	json_array_foreach(json_object_get(state, "signatures"), i, sign)
		as_json_int(&c->json, json_integer_value(json_object_get(sign, "first_us")));
	as_json_end(&c->json);
	json_decref(state);
	as_buf_free(&text);
	as_dir_close(&hunt);
}

static int open_run(const char *path, struct as_dir *dir, struct as_err *err)
{
	int rc = as_dir_open(path, NULL, dir, err);

	if (!rc && !as_dir_has(dir, AS_RUN_MARK) && !as_dir_has(dir, AS_RUN_FINDINGS)) {
		as_dir_close(dir);
		rc = as_fail(err, AS_EUSE, "%s: not the folder of a run: it has neither %s nor %s/",
			     path, AS_RUN_MARK, AS_RUN_FINDINGS);
	}
	return rc;
}

int as_report_data(const char *const *folders, size_t n, struct as_buf *out,
		   struct as_report_totals *totals, struct as_err *err)
{
	struct collecting c = { .json = as_json_on(out), .totals = totals };
	struct as_dir *dirs = as_xcalloc(n ? n : 1, sizeof(*dirs));
	size_t joined;
	int rc = 0;

	*totals = (struct as_report_totals){ 0 };
	for (size_t i = 0; i < n; i++)
		dirs[i] = AS_DIR_NONE;
	for (size_t i = 0; i < n && !rc; i++)
		rc = open_run(folders[i], &dirs[i], err);
	if (rc)
		goto out;
	as_json_object(&c.json);
	as_json_kuint(&c.json, "format", 1);
	as_json_key(&c.json, "runs");
	as_json_array(&c.json);
	for (size_t i = 0; i < n; i++) {
		as_json_object(&c.json);
		as_json_kstr(&c.json, "folder", folders[i]);
		add_hunt(&c, &dirs[i]);
		totals->unread += as_report_run(&dirs[i], &c.json);
		joined = as_report_joined(&dirs[i], &c.json, &totals->unread);
		totals->runs += joined ? joined : 1;
		as_json_end(&c.json);
	}
	as_json_end(&c.json);
	as_json_key(&c.json, "findings");
	as_json_array(&c.json);
	for (size_t i = 0; i < n; i++)
		add_findings(&c, i, &dirs[i]);
	as_json_end(&c.json);
	as_json_end(&c.json);
out:
	for (size_t i = 0; i < n; i++)
		as_dir_close(&dirs[i]);
	free(dirs);
	return rc;
}
