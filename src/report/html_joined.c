/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html_joined: the runs of a joined folder (docs/FORMAT.md, "Joined folders"), for the report. They
 * may come from anywhere, too: what cannot be read is left out. */
#include "base/array.h"
#include "os/rundir.h"
#include "report/html_priv.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define RUN_MAX_BYTES ((size_t)64 << 20)
#define RUNS_MAX 1000u

struct joined_names {
	char **v;
	size_t n, room;
};

static int add_name(void *ctx, const char *name)
{
	struct joined_names *names = ctx;

	if (as_dir_is_plain(name) && names->n < RUNS_MAX) {
		AS_ARRAY_ROOM(names->v, names->n, names->room);
		names->v[names->n++] = as_xstrdup(name);
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Which findings it met how often, and when first. */
static void add_met(const json_t *findings, struct as_json *json)
{
	const char *id;
	json_t *met, *first;

	as_json_key(json, "met");
	as_json_object(json);
	json_object_foreach((json_t *)findings, id, met)
		as_json_kint(json, id, json_integer_value(json_object_get(met, "count")));
	as_json_end(json);
	as_json_key(json, "firsts");
	as_json_array(json);
	json_object_foreach((json_t *)findings, id,
			    met) if (json_is_integer(first = json_object_get(met, "first_us")))
		as_json_int(json, json_integer_value(first));
	as_json_end(json);
}

static void add_said(const json_t *run, struct as_json *json)
{
	static const char *const texts[] = { "command", "target", "scenario" };
	static const char *const numbers[] = { "seed", "workloads", "ops", "used_us" };
	const char *folder = json_string_value(json_object_get(run, "folder"));

	as_json_kstr(json, "folder", folder ? folder : "");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (json_is_string(json_object_get(run, texts[i])))
			as_json_kstr(json, texts[i],
				     json_string_value(json_object_get(run, texts[i])));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (json_is_integer(json_object_get(run, numbers[i])))
			as_json_kint(json, numbers[i],
				     json_integer_value(json_object_get(run, numbers[i])));
	add_met(json_object_get(run, "findings"), json);
}

static bool add_run(const struct as_dir *runs, const char *name, struct as_json *json,
		    size_t *unread)
{
	struct as_dir dir = AS_DIR_NONE;
	struct as_buf text = { 0 };
	json_t *run = NULL;
	bool read;

	if (as_dir_below(runs, name, false, &dir, NULL))
		return false;
	if (as_dir_has(&dir, AS_RUN_JOINED_FILE) &&
	    !as_dir_read(&dir, AS_RUN_JOINED_FILE, RUN_MAX_BYTES, &text, NULL))
		run = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	read = run;
	*unread += !read && as_dir_has(&dir, AS_RUN_JOINED_FILE);
	if (read) {
		as_json_object(json);
		add_said(run, json);
		*unread += as_report_run(&dir, json);
		as_json_end(json);
	}
	as_buf_free(&text);
	as_dir_close(&dir);
	json_decref(run);
	return read;
}

size_t as_report_joined(const struct as_dir *dir, struct as_json *json, size_t *unread)
{
	struct as_dir runs = AS_DIR_NONE;
	struct joined_names names = { 0 };
	size_t n = 0;

	if (!as_dir_has(dir, AS_RUN_JOINED) || as_dir_below(dir, AS_RUN_JOINED, false, &runs, NULL))
		return 0;
	as_dir_each(&runs, add_name, &names);
	if (names.n)
		qsort(names.v, names.n, sizeof(names.v[0]), by_name);
	as_json_key(json, "joined");
	as_json_array(json);
	for (size_t i = 0; i < names.n; i++) {
		n += add_run(&runs, names.v[i], json, unread);
		free(names.v[i]);
	}
	as_json_end(json);
	free(names.v);
	as_dir_close(&runs);
	return n;
}
