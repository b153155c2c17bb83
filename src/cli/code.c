/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code: see code.h. */
#include "cli/code.h"

#include "base/json.h"
#include "cli/boxes.h"
#include "kernel/kernel.h"
#include "os/spawn.h"

#include <string.h>

#define KEEP_US 10000000

int as_cli_code_map(const char *name, struct as_code_map *map, struct as_err *err)
{
	struct as_kernel kernel = { 0 };
	struct as_buf path = { 0 };
	int rc;

	if (!*name)
		return as_fail(err, AS_EUSE,
			       "it is not known which kernel that was: --kernel names it");
	rc = as_kernel_find(name, &kernel, err);
	if (!rc) {
		as_buf_addf(&path, "%.*s" AS_KERNEL_FUNCTIONS,
			    (int)(strrchr(kernel.path, '/') + 1 - kernel.path), kernel.path);
		rc = as_code_map_load(as_buf_str(&path), map, err);
	}
	if (rc && rc != AS_ELACK && kernel.path)
		rc = as_fail(err, AS_ELACK,
			     "the kernel %s has no list of its functions: it was built without "
			     "kcov, or by an older assay; `assay kernel build` builds it again",
			     name);
	as_buf_free(&path);
	as_kernel_free(&kernel);
	return rc;
}

static void hear(struct as_sink *sink, const char *text)
{
	struct as_cli_code *code = (struct as_cli_code *)sink;
	const char *name;
	uint64_t added;
	size_t len;

	if (as_codeset_hear(code->set, text, &name, &len, &added) && code->live)
		as_live_set(code->live, AS_COUNT_covered_blocks, code->set->n);
}

void as_cli_code_open(const struct as_args *args, struct as_cli_code *code,
		      struct as_run_options *o)
{
	struct as_code_map map = { 0 };

	*code = (struct as_cli_code){ .set = NULL };
	if (!as_args_has(args, "kcov"))
		return;
	o->kcov = true;
	code->sink.told = hear;
	code->set = as_shared_alloc(sizeof(*code->set));
	memcpy(code->of.kernel, o->kernel, sizeof(code->of.kernel));
	if (!as_cli_code_map(code->of.kernel, &map, NULL)) {
		memcpy(code->of.build, map.build, sizeof(code->of.build));
		/* A guest whose first address is none would shut out all others. */
		if (map.n)
			as_codeset_expect(code->set, map.functions[0].at);
	}
	as_code_map_free(&map);
}

int as_cli_code_recall(struct as_cli_code *code, const struct as_dir *folder, struct as_err *err)
{
	struct as_buf name = { 0 }, text = { 0 };
	struct as_code_of of;
	int rc;

	if (!code->set || !as_dir_has(folder, AS_CLI_CODE))
		return 0;
	as_buf_addf(&name, "%s/" AS_CLI_CODE, folder->path);
	rc = as_dir_read(folder, AS_CLI_CODE, AS_CODE_MAX_BYTES, &text, err);
	if (!rc)
		rc = as_code_parse(as_buf_str(&name), as_buf_str(&text), code->set, &of, err);
	if (!rc && !as_code_of_same(&of, &code->of))
		rc = as_fail(err, AS_EUSE,
			     "%s was reached in another build of the kernel: without that file, "
			     "this begins anew",
			     as_buf_str(&name));
	as_buf_free(&name);
	as_buf_free(&text);
	return rc;
}

static int save(const struct as_cli_code *code, const struct as_dir *folder, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_code_print(code->set, &code->of, &text);
	rc = as_dir_write(folder, AS_CLI_CODE, &text, err);
	as_buf_free(&text);
	return rc;
}

void as_cli_code_keep(struct as_cli_code *code, const struct as_dir *folder)
{
	int64_t now = as_now_us();

	if (!code->set || code->set->n == code->kept || now - code->kept_us < KEEP_US)
		return;
	code->kept = code->set->n;
	code->kept_us = now;
	(void)!save(code, folder, NULL);
}

static void say(const struct as_cli_code *code, struct as_sink *talk, bool json)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);
	unsigned long long n = code->set->n;

	if (json) {
		as_json_object(&j);
		as_json_kstr(&j, "event", "code");
		as_json_kuint(&j, "places", n);
		as_json_kstr(&j, "kernel", code->of.kernel);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&line));
		fflush(stdout);
	} else {
		as_emit_note(talk,
			     "%llu places in the code of the kernel's file systems were reached",
			     n);
	}
	as_buf_free(&line);
}

/* The functions, for the report. A kernel that has no list of them has no table. */
static int save_table(const struct as_cli_code *code, const struct as_dir *folder,
		      struct as_err *err)
{
	struct as_code_map map = { 0 };
	struct as_buf table = { 0 };
	int rc = 0;

	if (!as_cli_code_map(code->of.kernel, &map, NULL) && !strcmp(map.build, code->of.build)) {
		as_code_count(&map, code->set);
		as_code_sort(&map);
		as_code_table(&map, &table);
		rc = as_dir_write(folder, AS_RUN_CODE, &table, err);
	}
	as_code_map_free(&map);
	as_buf_free(&table);
	return rc;
}

int as_cli_code_close(struct as_cli_code *code, const struct as_dir *folder, struct as_sink *talk,
		      bool json, int rc, struct as_err *err)
{
	int saved = 0;

	if (!code->set)
		return rc;
	if (rc >= 0)
		say(code, talk, json);
	if (rc >= 0 && folder) {
		saved = save(code, folder, err);
		if (!saved)
			saved = save_table(code, folder, err);
	}
	as_shared_free(code->set, sizeof(*code->set));
	code->set = NULL;
	return saved ? saved : rc;
}
