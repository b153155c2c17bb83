/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html_runs: what a run says of itself, for the report. The files may come from anywhere: they are
 * read within bounds, and only numbers and known names go on. */
#include "report/html_priv.h"

#include "base/array.h"
#include "progress/curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FSCK_FOLDER "fsck"
#define CSV_MAX_BYTES ((size_t)16 << 20)
#define CSV_ROWS 500u /* that are shown of a file */
#define CSV_COLUMNS 32u
#define CSV_FILES 32u

/* ---- Progress -------------------------------------------------------------------------------- */

/* False: the file is there, but makes no sense. */
static bool add_progress(const struct as_dir *dir, struct as_json *json)
{
	struct as_buf text = { 0 };
	struct as_progress p;

	if (!as_dir_has(dir, AS_RUN_PROGRESS))
		return true;
	if (as_dir_read(dir, AS_RUN_PROGRESS, AS_PROGRESS_MAX_BYTES, &text, NULL) ||
	    as_progress_parse(as_buf_str(&text), text.len, &p, NULL)) {
		as_buf_free(&text);
		return false;
	}
	as_json_key(json, "progress");
	as_json_object(json);
	as_progress_print(&p, true, json);
	as_json_end(json);
	as_buf_free(&text);
	return true;
}

static bool add_history(const struct as_dir *dir, struct as_json *json)
{
	struct as_buf text = { 0 };
	struct as_curves curves = { 0 };
	uint64_t has = 0;
	bool read = true;

	if (as_dir_has(dir, AS_RUN_HISTORY))
		read = !as_dir_read(dir, AS_RUN_HISTORY, AS_CURVES_MAX_BYTES, &text, NULL) &&
		       !as_curves_parse(as_buf_str(&text), text.len, &curves, NULL);
	if (!read)
		as_curves_free(&curves);
	as_buf_free(&text);
	for (size_t i = 0; i < curves.n; i++)
		has |= curves.rows[i].has;
	if (curves.n) {
		as_json_key(json, "history");
		as_json_object(json);
		as_json_key(json, "wall_us");
		as_json_array(json);
		for (size_t i = 0; i < curves.n; i++)
			as_json_int(json, curves.rows[i].wall_us);
		as_json_end(json);
	}
	for (unsigned c = 0; c < AS_COUNTERS; c++) {
		if (!(has >> c & 1))
			continue;
		as_json_key(json, as_counter_names[c]);
		as_json_array(json);
		for (size_t i = 0; i < curves.n; i++)
			as_json_uint(json, curves.rows[i].n[c]);
		as_json_end(json);
	}
	if (curves.n)
		as_json_end(json);
	as_curves_free(&curves);
	return read;
}

/* ---- Curves of checkers ---------------------------------------------------------------------- */

struct csv {
	char *columns[CSV_COLUMNS];
	size_t n_columns;
	double *cells;
	size_t n, room; /* cells */
};

/* A number that JSON can hold; false: it is none. */
static bool cell(char *at, char **end, double *value)
{
	*value = strtod(at, end);
	return *end != at && isfinite(*value) && (!**end || **end == ',');
}

static void csv_parse(char *text, struct csv *csv)
{
	char *save, *word, *line = strtok_r(text, "\n", &save);

	for (word = line; word && csv->n_columns < CSV_COLUMNS;) {
		char *comma = strchr(word, ',');

		if (comma)
			*comma++ = '\0';
		csv->columns[csv->n_columns++] = word;
		word = comma;
	}
	while (line && (line = strtok_r(NULL, "\n", &save))) {
		size_t before = csv->n;
		char *end = line;

		for (size_t i = 0; i < csv->n_columns; i++) {
			double value;

			if (!cell(line, &end, &value)) {
				csv->n = before;
				return;
			}
			AS_ARRAY_ROOM(csv->cells, csv->n, csv->room);
			csv->cells[csv->n++] = value;
			line = end + (*end == ',');
		}
	}
}

static void csv_print(const struct csv *csv, const char *name, struct as_json *json)
{
	size_t rows = csv->n_columns ? csv->n / csv->n_columns : 0;
	size_t step = rows / CSV_ROWS + 1;

	as_json_object(json);
	as_json_kstr(json, "name", name);
	as_json_key(json, "columns");
	as_json_array(json);
	for (size_t i = 0; i < csv->n_columns; i++)
		as_json_str(json, csv->columns[i]);
	as_json_end(json);
	as_json_key(json, "rows");
	as_json_array(json);
	/* Every so many, and the last. */
	for (size_t r = 0; r < rows; r += r + step < rows || r + 1 == rows ? step : rows - 1 - r) {
		as_json_array(json);
		for (size_t i = 0; i < csv->n_columns; i++)
			as_json_num(json, csv->cells[r * csv->n_columns + i]);
		as_json_end(json);
	}
	as_json_end(json);
	as_json_end(json);
}

struct csv_files {
	const struct as_dir *dir;
	struct as_json *json;
	unsigned n;
};

static int add_csv(void *ctx, const char *name)
{
	struct csv_files *files = ctx;
	size_t len = strlen(name);
	struct as_buf text = { 0 };
	struct csv csv = { 0 };

	if (len < 5 || strcmp(name + len - 4, ".csv") || !as_dir_is_plain(name) ||
	    files->n >= CSV_FILES || as_dir_read(files->dir, name, CSV_MAX_BYTES, &text, NULL)) {
		as_buf_free(&text);
		return 0;
	}
	if (text.len)
		csv_parse(text.data, &csv);
	if (csv.n) {
		csv_print(&csv, name, files->json);
		files->n++;
	}
	free(csv.cells);
	as_buf_free(&text);
	return 0;
}

size_t as_report_run(const struct as_dir *dir, struct as_json *json)
{
	struct as_dir fsck = AS_DIR_NONE;
	struct csv_files files = { .dir = &fsck, .json = json };
	size_t unread = !add_progress(dir, json);

	unread += !add_history(dir, json);
	unread += !as_report_code(dir, json);
	if (!as_dir_has(dir, FSCK_FOLDER) || as_dir_below(dir, FSCK_FOLDER, false, &fsck, NULL))
		return unread;
	as_json_key(json, "curves");
	as_json_array(json);
	as_dir_each(&fsck, add_csv, &files);
	as_json_end(json);
	as_dir_close(&fsck);
	return unread;
}
