/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * index: a joined folder as tables of SQLite (docs/FORMAT.md, "The index"). The tables are made
 * anew each time, in a file of another name that is renamed when it is complete. The folder is the
 * truth; the index is there to be asked.
 */
#include "join/join.h"

#include "base/version.h"
#include "cover/counts.h"
#include "join/run.h"
#include "os/out.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HISTORY_MAX_BYTES ((size_t)64 << 20)
#define COLUMNS_MAX 64
#define TIME_END_US 9e18 /* what a number of the index can hold */

static const char schema[] =
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA user_version=1;"
	"BEGIN;"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);"
	"CREATE TABLE runs(run TEXT PRIMARY KEY, folder TEXT, command TEXT, target TEXT,"
	" scenario TEXT, seed INTEGER, workloads INTEGER, ops INTEGER, skipped INTEGER,"
	" used_us INTEGER, state TEXT, in_use INTEGER, assay TEXT);"
	"CREATE TABLE counters(run TEXT REFERENCES runs, at_us INTEGER, name TEXT, value INTEGER);"
	"CREATE TABLE findings(id TEXT PRIMARY KEY, kind TEXT, target TEXT, summary TEXT,"
	" detail TEXT, signature TEXT, cause TEXT, options TEXT, op INTEGER, line INTEGER,"
	" workload_name TEXT, log TEXT, kernel TEXT, disk INTEGER, count INTEGER,"
	" reduced_ops INTEGER);"
	"CREATE TABLE met(run TEXT REFERENCES runs, finding TEXT REFERENCES findings,"
	" count INTEGER, first_us INTEGER, PRIMARY KEY(run, finding));"
	"CREATE TABLE coverage(call TEXT, argument TEXT, space TEXT, partition TEXT,"
	" count INTEGER, expected INTEGER);"
	"CREATE INDEX counters_run ON counters(run, name, at_us);"
	"CREATE INDEX met_finding ON met(finding);"
	"CREATE INDEX findings_signature ON findings(signature);"
	"CREATE VIEW signatures AS SELECT signature, min(cause) AS cause, count(*) AS findings,"
	" sum(count) AS count, min(id) AS example FROM findings GROUP BY signature;";

enum index_table {
	INTO_META,
	INTO_RUNS,
	INTO_COUNTERS,
	INTO_FINDINGS,
	INTO_MET,
	INTO_COVERAGE,
	INTO_END
};

static const struct {
	const char *sql;
} inserts[INTO_END] = {
	[INTO_META] = { "INSERT INTO meta VALUES(?,?)" },
	[INTO_RUNS] = { "INSERT INTO runs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)" },
	[INTO_COUNTERS] = { "INSERT INTO counters VALUES(?,?,?,?)" },
	[INTO_FINDINGS] = { "INSERT INTO findings VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)" },
	[INTO_MET] = { "INSERT OR IGNORE INTO met VALUES(?,?,?,?)" },
	[INTO_COVERAGE] = { "INSERT INTO coverage VALUES(?,?,?,?,?,?)" },
};

struct indexing {
	sqlite3 *db;
	sqlite3_stmt *into[INTO_END];
	int at; /* the next column of the row that is filled */
	const struct as_dir *folder;
};

/* ---- Rows ------------------------------------------------------------------------------------ */

static void put_text(struct indexing *x, enum index_table table, const char *text)
{
	if (text)
		sqlite3_bind_text(x->into[table], ++x->at, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(x->into[table], ++x->at);
}

static void put_number(struct indexing *x, enum index_table table, int64_t n)
{
	sqlite3_bind_int64(x->into[table], ++x->at, n);
}

/* A member of an object, whatever it is. */
static void put_member(struct indexing *x, enum index_table table, const json_t *object,
		       const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_integer(value))
		put_number(x, table, json_integer_value(value));
	else if (json_is_boolean(value))
		put_number(x, table, json_is_true(value));
	else
		put_text(x, table, json_string_value(value));
}

/* The row is complete. */
static void end_row(struct indexing *x, enum index_table table)
{
	sqlite3_step(x->into[table]);
	sqlite3_reset(x->into[table]);
	sqlite3_clear_bindings(x->into[table]);
	x->at = 0;
}

static void put_meta(struct indexing *x, const char *key, const char *value)
{
	put_text(x, INTO_META, key);
	put_text(x, INTO_META, value);
	end_row(x, INTO_META);
}

/* ---- Counters over time ---------------------------------------------------------------------- */

/* The next cell of a line; NULL: the line has ended. */
static char *next_cell(char **rest)
{
	char *cell = *rest, *comma;

	if (!cell)
		return NULL;
	comma = strchr(cell, ',');
	*rest = comma ? comma + 1 : NULL;
	if (comma)
		*comma = '\0';
	return cell;
}

static bool is_time(const char *name, int64_t *unit_us)
{
	*unit_us = !strcmp(name, "wall_us") || !strcmp(name, "at_us")	 ? 1
		   : !strcmp(name, "wall_ms") || !strcmp(name, "at_ms")	 ? 1000
		   : !strcmp(name, "seconds") || !strcmp(name, "wall_s") ? 1000000
									 : 0;
	return *unit_us;
}

static void put_counter(struct indexing *x, const char *run, int64_t at_us, const char *name,
			const char *cell)
{
	char *end;
	double value = strtod(cell, &end);

	if (end == cell || *end)
		return;
	put_text(x, INTO_COUNTERS, run);
	put_number(x, INTO_COUNTERS, at_us);
	put_text(x, INTO_COUNTERS, name);
	if (strpbrk(cell, ".eE"))
		sqlite3_bind_double(x->into[INTO_COUNTERS], ++x->at, value);
	else
		put_number(x, INTO_COUNTERS, strtoll(cell, NULL, 10));
	end_row(x, INTO_COUNTERS);
}

/* One line: its cells belong to the names of the first line; one of these is the time. */
static void put_line(struct indexing *x, const char *run, char *line, char *const *names,
		     unsigned n, unsigned time, int64_t unit_us)
{
	char *cells[COLUMNS_MAX] = { 0 };
	double at_us;

	for (unsigned i = 0; i < n; i++)
		cells[i] = next_cell(&line);
	if (!cells[n - 1] || line)
		return; /* it was being written */
	at_us = strtod(cells[time], NULL) * (double)unit_us;
	if (!(at_us >= 0 && at_us < TIME_END_US))
		return;
	for (unsigned i = 0; i < n; i++)
		if (i != time)
			put_counter(x, run, (int64_t)at_us, names[i], cells[i]);
}

/* history.csv: a line of names, then a line for each moment. */
static void add_history(struct indexing *x, const char *run, const struct as_dir *dir)
{
	char *names[COLUMNS_MAX], *line, *save = NULL, *rest, *cell;
	struct as_buf text = { 0 };
	unsigned n = 0, time = COLUMNS_MAX;
	int64_t unit_us = 0, unit;

	if (!as_dir_has(dir, JOIN_HISTORY) ||
	    as_dir_read(dir, JOIN_HISTORY, HISTORY_MAX_BYTES, &text, NULL) || !text.len)
		goto out;
	rest = strtok_r(text.data, "\n", &save);
	while (rest && n < COLUMNS_MAX && (cell = next_cell(&rest))) {
		if (is_time(cell, &unit)) {
			time = n;
			unit_us = unit;
		}
		names[n++] = cell;
	}
	while (time < n && (line = strtok_r(NULL, "\n", &save)))
		put_line(x, run, line, names, n, time, unit_us);
out:
	as_buf_free(&text);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void add_run(struct indexing *x, const json_t *run, const char *name,
		    const struct as_dir *dir)
{
	static const char *const members[] = { "folder",  "command",   "target", "scenario",
					       "seed",	  "workloads", "ops",	 "skipped",
					       "used_us", "state",     "in_use", "assay" };
	json_t *one;
	const char *id;

	put_text(x, INTO_RUNS, name);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		put_member(x, INTO_RUNS, run, members[i]);
	end_row(x, INTO_RUNS);
	json_object_foreach(as_join_run_findings(run), id, one)
	{
		put_text(x, INTO_MET, name);
		put_text(x, INTO_MET, id);
		put_member(x, INTO_MET, one, "count");
		put_member(x, INTO_MET, one, "first_us");
		end_row(x, INTO_MET);
	}
	add_history(x, name, dir);
}

static void add_runs(struct indexing *x)
{
	struct as_dir runs = AS_DIR_NONE;
	struct join_names names = { 0 };

	if (!as_dir_below(x->folder, AS_RUN_JOINED, false, &runs, NULL))
		as_join_names(&runs, &names);
	for (size_t i = 0; i < names.n; i++) {
		struct as_dir dir = AS_DIR_NONE;
		json_t *run = as_dir_below(&runs, names.v[i], false, &dir, NULL)
				      ? NULL
				      : as_join_run_load(&dir, names.v[i]);

		if (run)
			add_run(x, run, names.v[i], &dir);
		json_decref(run);
		as_dir_close(&dir);
	}
	as_join_names_free(&names);
	as_dir_close(&runs);
}

static void add_finding(struct indexing *x, const json_t *f)
{
	static const char *const members[] = { "id",	 "kind",      "target",	       "summary",
					       "detail", "signature", "group",	       "options",
					       "op",	 "line",      "workload_name", "log",
					       "kernel", "disk",      "count" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		put_member(x, INTO_FINDINGS, f, members[i]);
	put_member(x, INTO_FINDINGS, json_object_get(f, "reduced"), "ops");
	end_row(x, INTO_FINDINGS);
}

static void add_findings(struct indexing *x)
{
	struct as_dir findings = AS_DIR_NONE;
	struct join_names names = { 0 };

	if (!as_dir_below(x->folder, AS_RUN_FINDINGS, false, &findings, NULL))
		as_join_names(&findings, &names);
	for (size_t i = 0; i < names.n; i++) {
		struct as_dir dir = AS_DIR_NONE;
		json_t *f = as_dir_below(&findings, names.v[i], false, &dir, NULL)
				    ? NULL
				    : as_join_load(&dir, JOIN_FINDING);

		if (f)
			add_finding(x, f);
		json_decref(f);
		as_dir_close(&dir);
	}
	as_join_names_free(&names);
	as_dir_close(&findings);
}

static void add_space(struct indexing *x, const struct as_space *space)
{
	for (unsigned i = 0; i < space->n; i++) {
		put_text(x, INTO_COVERAGE, space->family->name);
		put_text(x, INTO_COVERAGE, space->arg ? space->arg->name : NULL);
		put_text(x, INTO_COVERAGE, as_space_kind_name(space->kind));
		put_text(x, INTO_COVERAGE, space->parts[i].name);
		put_number(x, INTO_COVERAGE, (int64_t)space->parts[i].count);
		put_number(x, INTO_COVERAGE, space->parts[i].expected);
		end_row(x, INTO_COVERAGE);
	}
}

static void add_coverage(struct indexing *x)
{
	struct as_spec *spec = as_counts_spec();
	struct as_counts *counts = NULL;
	struct as_buf text = { 0 };
	struct as_space space = { 0 };

	if (as_dir_has(x->folder, AS_JOIN_COV) &&
	    !as_dir_read(x->folder, AS_JOIN_COV, JOIN_JSON_MAX_BYTES, &text, NULL) &&
	    !as_counts_parse(spec, AS_JOIN_COV, as_buf_str(&text), text.len, &counts, NULL))
		for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
			as_counts_space(counts, i, &space);
			add_space(x, &space);
			as_space_free(&space);
			space = (struct as_space){ 0 };
		}
	as_counts_free(counts);
	as_buf_free(&text);
	as_spec_free(spec);
}

/* ---- The file -------------------------------------------------------------------------------- */

static int begin(struct indexing *x, const char *path, struct as_err *err)
{
	if (sqlite3_open_v2(path, &x->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ||
	    sqlite3_exec(x->db, schema, NULL, NULL, NULL))
		return as_fail(err, AS_EIO, "%s/" AS_JOIN_INDEX ": %s", x->folder->path,
			       sqlite3_errmsg(x->db));
	for (unsigned i = 0; i < INTO_END; i++)
		if (sqlite3_prepare_v2(x->db, inserts[i].sql, -1, &x->into[i], NULL))
			return as_fail(err, AS_EIO, "%s/" AS_JOIN_INDEX ": %s", x->folder->path,
				       sqlite3_errmsg(x->db));
	return 0;
}

static int end(struct indexing *x, int rc, struct as_err *err)
{
	for (unsigned i = 0; i < INTO_END; i++)
		sqlite3_finalize(x->into[i]);
	if (!rc && sqlite3_exec(x->db, "COMMIT", NULL, NULL, NULL))
		rc = as_fail(err, AS_EIO, "%s/" AS_JOIN_INDEX ": %s", x->folder->path,
			     sqlite3_errmsg(x->db));
	sqlite3_close(x->db);
	return rc;
}

int as_join_index(const struct as_dir *folder, struct as_err *err)
{
	struct indexing x = { .folder = folder };
	char temp[64], path[96];
	int rc, fd;

	/* SQLite wants a path. That of the descriptor leads to the folder that we have open. */
	snprintf(temp, sizeof(temp), AS_RUN_PART "%ld.index", (long)getpid());
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder->fd, temp);
	unlinkat(folder->fd, temp, 0);
	rc = begin(&x, path, err);
	if (!rc) {
		put_meta(&x, "schema", "1");
		put_meta(&x, "assay", AS_VERSION);
		add_runs(&x);
		add_findings(&x);
		add_coverage(&x);
	}
	rc = end(&x, rc, err);
	fd = rc ? -1 : openat(folder->fd, temp, O_RDONLY | O_CLOEXEC);
	if (!rc && (fd < 0 || fsync(fd) || renameat(folder->fd, temp, folder->fd, AS_JOIN_INDEX)))
		rc = as_fail_errno(err, errno, "%s/" AS_JOIN_INDEX, folder->path);
	if (fd >= 0)
		close(fd);
	if (rc)
		unlinkat(folder->fd, temp, 0);
	return rc;
}
