/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html_code: the functions of the kernel that a run with --kcov reached, for the report. The file
 * may come from anywhere: it is read within bounds, and ends where a line makes no sense. */
#include "report/html_priv.h"

#include "progress/progress.h"

#include <stdlib.h>
#include <string.h>

#define CODE_MAX_BYTES ((size_t)4 << 20)
#define CODE_ROWS 40000u
#define NAME_MAX_BYTES 200u
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+?"
#define HEAD "file,function,places"

struct reached_row {
	const char *file, *name;
	unsigned long places;
};

static bool is_name(const char *text)
{
	size_t len = strlen(text);

	return len && len <= NAME_MAX_BYTES && strspn(text, NAME_CHARACTERS) == len;
}

static bool parse(char *line, struct reached_row *row)
{
	char *name = strchr(line, ','), *places = name ? strchr(name + 1, ',') : NULL, *end;

	if (!places)
		return false;
	*name++ = *places++ = '\0';
	*row = (struct reached_row){ line, name, strtoul(places, &end, 10) };
	return is_name(line) && is_name(name) && *places >= '0' && *places <= '9' && !*end &&
	       row->places <= UINT32_MAX;
}

bool as_report_code_print(char *text, struct as_json *json)
{
	char *save, *line = strtok_r(text, "\n", &save);
	const char *file = NULL;
	struct reached_row row;
	unsigned n = 0;
	bool ok = line && !strcmp(line, HEAD);

	while (ok && n++ < CODE_ROWS && (line = strtok_r(NULL, "\n", &save))) {
		ok = parse(line, &row);
		if (!ok)
			break;
		if (!file || strcmp(file, row.file)) {
			if (file) {
				as_json_end(json);
				as_json_end(json);
			}
			as_json_object(json);
			as_json_kstr(json, "file", row.file);
			as_json_key(json, "functions");
			as_json_array(json);
		}
		file = row.file;
		as_json_array(json);
		as_json_str(json, row.name);
		as_json_uint(json, row.places);
		as_json_end(json);
	}
	if (file) {
		as_json_end(json);
		as_json_end(json);
	}
	return ok;
}

bool as_report_code(const struct as_dir *dir, struct as_json *json)
{
	struct as_buf text = { 0 };
	bool read;

	if (!as_dir_has(dir, AS_RUN_CODE))
		return true;
	read = !as_dir_read(dir, AS_RUN_CODE, CODE_MAX_BYTES, &text, NULL) && text.len;
	if (read) {
		as_json_key(json, "code");
		as_json_array(json);
		read = as_report_code_print(text.data, json);
		as_json_end(json);
	}
	as_buf_free(&text);
	return read;
}
