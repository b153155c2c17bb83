/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * join: see join.h.
 *
 * Method. A folder gives one run, and one that was joined before gives all its runs. For each run,
 * the folders of its findings are copied first, with the count 0, then its other files, then
 * run.json. When all folders are read, the count of each finding becomes the sum of its runs.
 *
 * Who hunts in a joined folder makes the counts larger than these sums. The difference is that
 * hunt's, and becomes a run as well before anything is added (read_own()).
 */
#include "join/join.h"

#include "cover/counts.h"
#include "dossier/dossier.h"
#include "dossier/stored.h"
#include "join/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct as_join {
	struct as_rundir out;
	struct as_dir runs, findings;
	as_join_tell_fn tell;
	void *ctx;
	struct as_join_totals totals;
};

static void told(struct as_join *j, const char *what, const char *where, const char *name)
{
	struct as_buf line = { 0 };

	j->totals.damaged++;
	as_buf_addf(&line, "%s/%s: %s", where, name, what);
	j->tell(j->ctx, as_buf_str(&line));
	as_buf_free(&line);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Counts that are read can be any numbers; those that are written stay numbers of JSON. */
static json_t *number(uint64_t a, uint64_t b)
{
	return json_integer(a > INT64_MAX - b ? INT64_MAX : (json_int_t)(a + b));
}

static void add_sum(json_t *sums, const char *id, uint64_t count)
{
	json_object_set_new(sums, id, number(as_join_number(sums, id), count));
}

/* Adds the counts of all runs: id -> number. *had is the run of that name, or NULL. */
static json_t *sum_runs(const struct as_dir *runs, const char *wanted, json_t **had, size_t *n)
{
	json_t *sums = json_object(), *run, *one;
	struct join_names names;
	const char *id;

	*n = 0;
	as_join_names(runs, &names);
	for (size_t i = 0; i < names.n; i++) {
		struct as_dir dir = AS_DIR_NONE;

		run = as_dir_below(runs, names.v[i], false, &dir, NULL)
			      ? NULL
			      : as_join_run_load(&dir, names.v[i]);
		json_object_foreach(as_join_run_findings(run), id, one)
			add_sum(sums, id, as_join_number(one, "count"));
		*n += run != NULL;
		if (run && wanted && !strcmp(names.v[i], wanted))
			*had = json_incref(run);
		json_decref(run);
		as_dir_close(&dir);
	}
	as_join_names_free(&names);
	return sums;
}

static int save_run(struct as_join *j, const char *name, json_t *object, struct as_err *err)
{
	struct as_dir dir = AS_DIR_NONE;
	json_t *had;
	int rc = as_dir_below(&j->runs, name, true, &dir, err);

	if (!rc) {
		had = as_join_run_load(&dir, name);
		if (had)
			as_join_run_take(object, had);
		json_decref(had);
		rc = as_join_save(&dir, AS_RUN_JOINED_FILE, object, err);
	}
	as_dir_close(&dir);
	return rc;
}

/* What was found in a joined folder itself: what its counts are more than the sums of its runs, and
 * what was known of it before. False: nothing new. */
static bool read_own(const struct as_dir *dir, const struct as_dir *runs, const char *path,
		     struct join_run *run)
{
	json_t *had = NULL, *sums, *findings, *one;
	bool any = false;
	const char *id;
	void *next;
	size_t n;

	as_join_run_read(dir, path, run);
	sums = sum_runs(runs, run->name, &had, &n);
	findings = as_join_run_findings(run->object);
	json_object_foreach_safe(findings, next, id, one)
	{
		uint64_t count = as_join_number(one, "count"), sum = as_join_number(sums, id);
		const json_t *before = json_object_get(as_join_run_findings(had), id);

		if (count <= sum) {
			json_object_del(findings, id);
			continue;
		}
		any = true;
		json_object_set_new(one, "count",
				    number(count - sum, as_join_number(before, "count")));
	}
	json_decref(had);
	json_decref(sums);
	return any;
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* Makes it the count 0: it is set when all is read. */
static int forget_count(const struct as_dir *finding, struct as_err *err)
{
	json_t *object = as_join_load(finding, JOIN_FINDING);
	int rc = 0;

	if (object) {
		json_object_set_new(object, "count", json_integer(0));
		rc = as_join_save(finding, JOIN_FINDING, object, err);
	}
	json_decref(object);
	return rc;
}

static bool is_reduced(const struct as_dir *finding)
{
	return as_dir_has(finding, AS_REDUCED_NAME);
}

/* One that is there already stays, unless only the other one was reduced. */
static bool is_better(struct as_join *j, const struct as_dir *from, const char *id)
{
	struct as_dir mine = AS_DIR_NONE;
	bool better = true;

	if (as_dir_has(&j->findings, id) && !as_dir_below(&j->findings, id, false, &mine, NULL))
		better = is_reduced(from) && !is_reduced(&mine);
	as_dir_close(&mine);
	return better;
}

/* Gives the finished folder its name, in place of one that is there. */
static int place(struct as_join *j, const char *temp, const char *id, struct as_err *err)
{
	bool again = false;

	if (!as_dir_has(&j->findings, id)) {
		j->totals.fresh++;
		return as_dir_place(&j->findings, temp, id, &again, err);
	}
	if (renameat2(j->findings.fd, temp, j->findings.fd, id, RENAME_EXCHANGE))
		return as_fail_errno(err, errno, "%s/%s", j->findings.path, id);
	as_dir_remove(&j->findings, temp);
	return 0;
}

static int copy_finding(struct as_join *j, const struct as_dir *findings, const char *id,
			struct as_err *err)
{
	struct as_dir from = AS_DIR_NONE, to = AS_DIR_NONE;
	struct as_buf temp = { 0 };
	int rc = as_dir_below(findings, id, false, &from, err);

	if (!rc && is_better(j, &from, id)) {
		rc = as_dir_temp(&j->findings, AS_RUN_PART, &temp, &to, err);
		if (!rc)
			rc = as_join_copy_all(&from, &to, err);
		if (!rc)
			rc = forget_count(&to, err);
		as_dir_close(&to);
		if (!rc)
			rc = place(j, as_buf_str(&temp), id, err);
		else if (temp.len)
			as_dir_remove(&j->findings, as_buf_str(&temp));
	}
	as_dir_close(&from);
	as_buf_free(&temp);
	return rc;
}

/* Copies the findings that the run names. One that is not there any more, or cannot be read, is
 * taken out of it, unless we have it. */
static int copy_findings(struct as_join *j, const struct as_dir *dir, json_t *run,
			 struct as_err *err)
{
	struct as_dir findings = AS_DIR_NONE;
	uint64_t count;
	const char *id;
	json_t *one;
	void *next;
	int rc = 0;

	if (as_dir_has(dir, AS_RUN_FINDINGS))
		rc = as_dir_below(dir, AS_RUN_FINDINGS, false, &findings, err);
	json_object_foreach_safe(as_join_run_findings(run), next, id, one)
	{
		bool there = findings.fd >= 0 && as_join_finding(&findings, id, &count);

		if (!rc && there)
			rc = copy_finding(j, &findings, id, err);
		else if (!rc && !as_dir_has(&j->findings, id))
			json_object_del(as_join_run_findings(run), id);
	}
	as_dir_close(&findings);
	return rc;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static int copy_damaged(struct as_join *j, const struct as_dir *dir, const struct join_run *run,
			const struct as_dir *to, struct as_err *err)
{
	struct as_dir findings = AS_DIR_NONE, keep = AS_DIR_NONE;
	int rc = 0;

	if (!run->damaged.n)
		return 0;
	rc = as_dir_below(dir, AS_RUN_FINDINGS, false, &findings, err);
	if (!rc)
		rc = as_dir_below(to, AS_JOIN_DAMAGED, true, &keep, err);
	for (size_t i = 0; i < run->damaged.n && !rc; i++) {
		struct as_dir from = AS_DIR_NONE, copy = AS_DIR_NONE;

		told(j, "cannot be read as a finding; kept as it is", findings.path,
		     run->damaged.v[i]);
		if (!as_dir_below(&findings, run->damaged.v[i], false, &from, NULL))
			rc = as_dir_below(&keep, run->damaged.v[i], true, &copy, err);
		if (!rc && from.fd >= 0)
			rc = as_join_copy_all(&from, &copy, err);
		as_dir_close(&from);
		as_dir_close(&copy);
	}
	as_dir_close(&findings);
	as_dir_close(&keep);
	return rc;
}

/* Counters over time, the state of a hunt, coverage, the code that was reached: as they are. The
 * code of two kernels has no sum. */
static int copy_beside(const struct as_dir *dir, const struct as_dir *to, struct as_err *err)
{
	struct as_dir hunt = AS_DIR_NONE;
	struct join_names names;
	int rc = 0;

	as_join_names(dir, &names);
	for (size_t i = 0; i < names.n && !rc; i++)
		if ((as_join_is_cov(names.v[i]) && strcmp(names.v[i], AS_JOIN_COV)) ||
		    !strcmp(names.v[i], JOIN_HISTORY) || !strcmp(names.v[i], JOIN_PROGRESS) ||
		    !strcmp(names.v[i], JOIN_STATE) || !strcmp(names.v[i], JOIN_CODE) ||
		    !strcmp(names.v[i], JOIN_CODE_TABLE))
			rc = as_join_copy(dir, names.v[i], to, names.v[i], err);
	as_join_names_free(&names);
	if (!rc && as_dir_has(dir, AS_RUN_HUNT) &&
	    !as_dir_below(dir, AS_RUN_HUNT, false, &hunt, NULL) && as_dir_has(&hunt, AS_RUN_STATE))
		rc = as_join_copy(&hunt, AS_RUN_STATE, to, JOIN_STATE, err);
	as_dir_close(&hunt);
	return rc;
}

static int add_run(struct as_join *j, const struct as_dir *dir, const char *path,
		   struct as_err *err)
{
	struct as_dir to = AS_DIR_NONE;
	struct join_run run;
	int rc;

	as_join_run_read(dir, path, &run);
	j->totals.in_use += json_is_true(json_object_get(run.object, "in_use"));
	if (as_dir_has(dir, AS_RUN_HUNT) && !json_object_get(run.object, "seed"))
		told(j, "cannot be read: the hunt is left out", path, AS_RUN_HUNT);
	rc = copy_findings(j, dir, run.object, err);
	if (!rc)
		rc = as_dir_below(&j->runs, run.name, true, &to, err);
	if (!rc)
		rc = copy_damaged(j, dir, &run, &to, err);
	if (!rc)
		rc = copy_beside(dir, &to, err);
	as_dir_close(&to);
	if (!rc)
		rc = save_run(j, run.name, run.object, err);
	as_join_run_free(&run);
	return rc;
}

/* One run of a folder that was joined before. */
static int add_joined(struct as_join *j, const struct as_dir *dir, const struct as_dir *runs,
		      const char *name, struct as_err *err)
{
	struct as_dir from = AS_DIR_NONE, to = AS_DIR_NONE;
	json_t *run = NULL;
	int rc = 0;

	if (!as_dir_below(runs, name, false, &from, NULL))
		run = as_join_run_load(&from, name);
	if (!run) {
		told(j, "cannot be read as a run", runs->path, name);
		goto out;
	}
	rc = copy_findings(j, dir, run, err);
	if (!rc)
		rc = as_dir_below(&j->runs, name, true, &to, err);
	if (!rc)
		rc = copy_beside(&from, &to, err);
	if (!rc)
		rc = save_run(j, name, run, err);
out:
	json_decref(run);
	as_dir_close(&from);
	as_dir_close(&to);
	return rc;
}

static int add_all_joined(struct as_join *j, const struct as_dir *dir, const char *path,
			  struct as_err *err)
{
	struct as_dir runs = AS_DIR_NONE, to = AS_DIR_NONE;
	struct join_names names = { 0 };
	struct join_run own = { 0 };
	bool any = false;
	int rc = as_dir_below(dir, AS_RUN_JOINED, false, &runs, err);

	if (!rc) {
		any = read_own(dir, &runs, path, &own) || own.damaged.n;
		as_join_names(&runs, &names);
	}
	for (size_t i = 0; i < names.n && !rc; i++)
		rc = add_joined(j, dir, &runs, names.v[i], err);
	if (!rc && any)
		rc = copy_findings(j, dir, own.object, err);
	if (!rc && any)
		rc = as_dir_below(&j->runs, own.name, true, &to, err);
	if (!rc && any)
		rc = copy_damaged(j, dir, &own, &to, err);
	if (!rc && any)
		rc = save_run(j, own.name, own.object, err);
	as_dir_close(&to);
	as_join_run_free(&own);
	as_join_names_free(&names);
	as_dir_close(&runs);
	return rc;
}

/* ---- The whole ------------------------------------------------------------------------------- */

int as_join_check(const char *path, struct as_err *err)
{
	struct as_dir dir = AS_DIR_NONE;
	int rc = as_dir_open(path, NULL, &dir, err);

	if (!rc && !as_dir_has(&dir, AS_RUN_MARK) && !as_dir_has(&dir, AS_RUN_FINDINGS))
		rc = as_fail(err, AS_EUSE, "%s: not the folder of a run: it has neither %s nor %s/",
			     path, AS_RUN_MARK, AS_RUN_FINDINGS);
	as_dir_close(&dir);
	return rc;
}

static bool is_same(const struct as_dir *a, const struct as_dir *b)
{
	struct stat one, two;

	return !fstat(a->fd, &one) && !fstat(b->fd, &two) && one.st_dev == two.st_dev &&
	       one.st_ino == two.st_ino;
}

int as_join_add(struct as_join *j, const char *path, struct as_err *err)
{
	struct as_dir dir = AS_DIR_NONE;
	int rc = as_join_check(path, err);

	if (!rc)
		rc = as_dir_open(path, NULL, &dir, err);
	j->totals.folders += !rc;
	/* What the joined folder has, it keeps. */
	if (!rc && !is_same(&dir, &j->out.dir))
		rc = as_dir_has(&dir, AS_RUN_JOINED) ? add_all_joined(j, &dir, path, err)
						     : add_run(j, &dir, path, err);
	as_dir_close(&dir);
	return rc;
}

int as_join_open(const char *path, as_join_tell_fn tell, void *ctx, struct as_join **join,
		 struct as_err *err)
{
	struct as_join *j = as_xcalloc(1, sizeof(*j));
	struct join_run own = { 0 };
	int rc;

	*j = (struct as_join){
		.runs = AS_DIR_NONE, .findings = AS_DIR_NONE, .tell = tell, .ctx = ctx
	};
	rc = as_rundir_open(path, AS_RUNDIR_MAKE, &j->out, err);
	if (!rc)
		rc = as_dir_below(&j->out.dir, AS_RUN_FINDINGS, true, &j->findings, err);
	if (!rc)
		rc = as_dir_below(&j->out.dir, AS_RUN_JOINED, true, &j->runs, err);
	if (!rc)
		rc = as_dir_lock(&j->runs, true, err);
	if (!rc && read_own(&j->out.dir, &j->runs, path, &own))
		rc = save_run(j, own.name, own.object, err);
	as_join_run_free(&own);
	*join = rc ? NULL : j;
	if (rc)
		as_join_close(j);
	return rc;
}

const struct as_dir *as_join_folder(const struct as_join *join)
{
	return &join->out.dir;
}

/* The counts of the file are added, if it can be read. */
static void add_cov(struct as_join *j, const struct as_spec *spec, const struct as_dir *dir,
		    const char *name, struct as_counts *all)
{
	struct as_counts *one = NULL;
	struct as_buf text = { 0 };
	struct as_err err;

	if (as_dir_read(dir, name, JOIN_JSON_MAX_BYTES, &text, &err) ||
	    as_counts_parse(spec, name, as_buf_str(&text), text.len, &one, &err)) {
		told(j, "cannot be read as coverage", dir->path, name);
	} else {
		if (as_counts_is_partial(one))
			as_counts_partial(all, as_counts_is_partial(one));
		as_counts_merge(all, one);
		j->totals.covered++;
	}
	as_counts_free(one);
	as_buf_free(&text);
}

static int join_cov(struct as_join *j, struct as_err *err)
{
	struct as_spec *spec = as_counts_spec();
	struct as_counts *all = as_counts_new(spec);
	struct join_names runs, names;
	struct as_buf text = { 0 };
	int rc = 0;

	as_join_names(&j->runs, &runs);
	for (size_t i = 0; i < runs.n; i++) {
		struct as_dir dir = AS_DIR_NONE;

		if (as_dir_below(&j->runs, runs.v[i], false, &dir, NULL))
			continue;
		as_join_names(&dir, &names);
		for (size_t k = 0; k < names.n; k++)
			if (as_join_is_cov(names.v[k]))
				add_cov(j, spec, &dir, names.v[k], all);
		as_join_names_free(&names);
		as_dir_close(&dir);
	}
	as_join_names_free(&runs);
	if (j->totals.covered) {
		as_buf_addf(&text, "%zu files of %zu runs", j->totals.covered, j->totals.runs);
		as_counts_source(all, as_buf_str(&text));
		as_buf_clear(&text);
		as_counts_print(all, &text);
		rc = as_dir_write(&j->out.dir, AS_JOIN_COV, &text, err);
	}
	as_buf_free(&text);
	as_counts_free(all);
	as_spec_free(spec);
	return rc;
}

static bool has_count(const struct as_dir *finding, uint64_t count)
{
	json_t *object = as_join_load(finding, JOIN_FINDING);
	bool has = !object || as_join_number(object, "count") == count;

	json_decref(object);
	return has;
}

/* Sets the count, and what the text for maintainers says of it. */
static int set_count(struct as_join *j, const char *id, uint64_t sum, struct as_err *err)
{
	const struct as_dossier_news news = { .event = AS_DOSSIER_COUNTED, .count = sum };
	struct as_dir dir = AS_DIR_NONE;
	int rc = as_dir_below(&j->findings, id, false, &dir, err);

	if (!rc && sum && !has_count(&dir, sum)) {
		rc = as_dossier_write(&dir, &news, err);
		if (rc && has_count(&dir, sum)) {
			told(j, "report.txt cannot be made", j->findings.path, id);
			rc = 0;
		}
	}
	as_dir_close(&dir);
	return rc;
}

int as_join_finish(struct as_join *j, struct as_join_totals *totals, struct as_err *err)
{
	json_t *sums = sum_runs(&j->runs, NULL, NULL, &j->totals.runs);
	struct join_names names;
	int rc = 0;

	as_join_names(&j->findings, &names);
	j->totals.findings = names.n;
	for (size_t i = 0; i < names.n && !rc; i++)
		rc = set_count(j, names.v[i], as_join_number(sums, names.v[i]), err);
	as_join_names_free(&names);
	json_decref(sums);
	if (!rc)
		rc = join_cov(j, err);
	if (!rc && syncfs(j->out.dir.fd) && errno != ENOSYS)
		rc = as_fail_errno(err, errno, "%s: cannot sync it", j->out.dir.path);
	*totals = j->totals;
	return rc;
}

void as_join_close(struct as_join *j)
{
	if (!j)
		return;
	as_dir_close(&j->runs);
	as_dir_close(&j->findings);
	as_rundir_close(&j->out);
	free(j);
}
