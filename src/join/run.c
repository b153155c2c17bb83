/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run: see run.h. A folder of an old version has no name: it gets one made of what it holds. */
#include "join/run.h"

#include "base/array.h"
#include "base/finding_json.h"
#include "base/hash.h"
#include "base/version.h"

#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

json_t *as_join_run_findings(const json_t *object)
{
	json_t *findings = json_object_get(object, "findings");

	return json_is_object(findings) ? findings : NULL;
}

static void put_count(json_t *findings, const char *id, uint64_t count)
{
	json_t *one = json_object();

	json_object_set_new(one, "count", json_integer((json_int_t)count));
	json_object_set_new(findings, id, one);
}

bool as_join_finding(const struct as_dir *findings, const char *name, uint64_t *count)
{
	struct as_finding f = { 0 };
	struct as_dir folder = AS_DIR_NONE;
	json_t *object = NULL;
	bool good = false;

	if (!as_dir_below(findings, name, false, &folder, NULL))
		object = as_join_load(&folder, JOIN_FINDING);
	if (object && !as_finding_parse(object, AS_FINDING_STORED, &f, NULL)) {
		good = !strcmp(f.id, name);
		*count = f.count;
		as_finding_free(&f);
	}
	json_decref(object);
	as_dir_close(&folder);
	return good;
}

static void read_findings(const struct as_dir *dir, struct join_run *run)
{
	json_t *findings = json_object();
	struct as_dir below = AS_DIR_NONE;
	struct join_names names = { 0 };
	uint64_t count;

	json_object_set_new(run->object, "findings", findings);
	if (as_dir_has(dir, AS_RUN_FINDINGS) &&
	    !as_dir_below(dir, AS_RUN_FINDINGS, false, &below, NULL))
		as_join_names(&below, &names);
	for (size_t i = 0; i < names.n; i++) {
		if (as_join_finding(&below, names.v[i], &count)) {
			if (count || !as_dir_has(dir, AS_RUN_JOINED))
				put_count(findings, names.v[i], count ? count : 1);
			continue;
		}
		AS_ARRAY_ROOM(run->damaged.v, run->damaged.n, run->damaged.cap);
		run->damaged.v[run->damaged.n++] = as_xstrdup(names.v[i]);
	}
	as_join_names_free(&names);
	as_dir_close(&below);
}

/* What a hunt remembers; when a finding was met first stands with the finding. */
static void read_hunt(const struct as_dir *dir, json_t *object)
{
	static const char *const members[] = { "target", "scenario", "seed",	"workloads",
					       "ops",	 "skipped",  "used_us", "words" };
	json_t *state = NULL, *sign, *one;
	struct as_dir hunt = AS_DIR_NONE;
	size_t i;

	if (as_dir_has(dir, AS_RUN_HUNT) && !as_dir_below(dir, AS_RUN_HUNT, false, &hunt, NULL))
		state = as_join_load(&hunt, AS_RUN_STATE);
	for (i = 0; state && i < sizeof(members) / sizeof(members[0]); i++)
		if (json_object_get(state, members[i]))
			json_object_set(object, members[i], json_object_get(state, members[i]));
	if (state)
		json_object_set_new(object, "command", json_string("hunt"));
	json_array_foreach(json_object_get(state, "signatures"), i, sign)
	{
		const char *id = json_string_value(json_object_get(sign, "id"));

		one = id ? json_object_get(as_join_run_findings(object), id) : NULL;
		if (!one)
			continue;
		json_object_set(one, "first_us", json_object_get(sign, "first_us"));
		/* A hunt keeps one of each kind, and counts the others here. */
		if (as_join_number(sign, "count") > as_join_number(one, "count"))
			json_object_set(one, "count", json_object_get(sign, "count"));
	}
	json_decref(state);
	as_dir_close(&hunt);
}

/* What a run says of itself while it runs, and at its end. */
static void read_progress(const struct as_dir *dir, json_t *object)
{
	static const char *const texts[] = { "command", "target", "state" };
	json_t *progress = as_join_load(dir, JOIN_PROGRESS), *value;
	const char *key;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (json_is_string(json_object_get(progress, texts[i])))
			json_object_set(object, texts[i], json_object_get(progress, texts[i]));
	json_object_foreach(progress, key,
			    value) if (json_is_integer(value) && !json_object_get(object, key))
		json_object_set(object, key, value);
	json_decref(progress);
}

static bool is_in_use(const struct as_dir *dir)
{
	if (flock(dir->fd, LOCK_EX | LOCK_NB))
		return true;
	flock(dir->fd, LOCK_UN);
	return false;
}

static void name_by_content(const json_t *object, char name[static AS_RUN_ID_LEN + 1])
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);

	if (!text)
		as_out_of_memory(1);
	as_digest_hex(as_hash(text, strlen(text)), name);
	free(text);
}

void as_join_run_read(const struct as_dir *dir, const char *path, struct join_run *run)
{
	json_t *folder;

	*run = (struct join_run){ .object = json_object() };
	read_findings(dir, run);
	read_hunt(dir, run->object);
	if (!as_rundir_id(dir, run->name))
		name_by_content(run->object, run->name);
	read_progress(dir, run->object);
	json_object_set_new(run->object, "format", json_integer(AS_JOIN_FORMAT));
	json_object_set_new(run->object, "run", json_string(run->name));
	folder = json_string(path); /* NULL: not UTF-8 */
	json_object_set_new(run->object, "folder", folder ? folder : json_string("?"));
	json_object_set_new(run->object, "in_use", json_boolean(is_in_use(dir)));
	json_object_set_new(run->object, "assay", json_string(AS_VERSION));
}

json_t *as_join_run_load(const struct as_dir *dir, const char *name)
{
	json_t *object = as_join_load(dir, AS_RUN_JOINED_FILE), *one;
	const char *said = json_string_value(json_object_get(object, "run")), *id;
	struct as_digest digest;
	bool good = said && !strcmp(said, name) && as_digest_parse(name, &digest) &&
		    as_join_run_findings(object);

	if (good)
		json_object_foreach(as_join_run_findings(object), id, one) good =
			good && as_finding_is_id(id) && as_join_number(one, "count");
	if (good)
		return object;
	json_decref(object);
	return NULL;
}

static uint64_t work_of(const json_t *object)
{
	uint64_t sum = as_join_number(object, "workloads") + as_join_number(object, "used_us");
	const char *id;
	json_t *one;

	json_object_foreach(as_join_run_findings(object), id, one) sum +=
		as_join_number(one, "count");
	return sum;
}

void as_join_run_take(json_t *to, const json_t *from)
{
	json_t *mine = as_join_run_findings(to), *one, *had, *value;
	bool more = work_of(from) > work_of(to);
	const char *id, *key;

	json_object_foreach(as_join_run_findings(from), id, one)
	{
		had = json_object_get(mine, id);
		if (!had || as_join_number(one, "count") > as_join_number(had, "count"))
			json_object_set(mine, id, one);
	}
	json_object_foreach((json_t *)from, key, value) if (strcmp(key, "findings") &&
							    (more || !json_object_get(to, key)))
		json_object_set(to, key, value);
}

void as_join_run_free(struct join_run *run)
{
	json_decref(run->object);
	as_join_names_free(&run->damaged);
}
