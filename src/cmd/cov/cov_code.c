/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_code: `cov code`: which files and functions of the kernel's file systems were reached. */
#include "base/json.h"
#include "cli/code.h"
#include "cmd/cov/cov.h"
#include "cover/code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct code_view {
	struct as_codeset *set;
	struct as_code_map map;
	const char *under;
	bool functions, never, json;
};

struct code_sum {
	unsigned functions, functions_reached;
	uint64_t reached; /* places */
};

static bool is_shown(const struct code_view *v, const struct as_code_function *f)
{
	size_t len = strlen(v->under);

	return !strncmp(f->file, v->under, len) &&
	       (!len || v->under[len - 1] == '/' || !f->file[len] || f->file[len] == '/');
}

static void add(struct code_sum *sum, const struct as_code_function *f)
{
	sum->functions++;
	sum->functions_reached += f->reached > 0;
	sum->reached += f->reached;
}

static void print_row(const struct code_view *v, const char *what, const char *name,
		      const char *file, const struct code_sum *sum)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	if (v->json) {
		as_json_object(&j);
		as_json_kstr(&j, "event", what);
		if (file)
			as_json_kstr(&j, "file", file);
		if (name)
			as_json_kstr(&j, "function", name);
		as_json_kuint(&j, "places", sum->reached);
		if (!name) {
			as_json_kuint(&j, "functions", sum->functions);
			as_json_kuint(&j, "functions_reached", sum->functions_reached);
		}
		as_json_end(&j);
		printf("%s\n", as_buf_str(&line));
		as_buf_free(&line);
		return;
	}
	printf("%7llu places  ", (unsigned long long)sum->reached);
	if (name)
		printf("%-40s %s\n", name, file);
	else
		printf("%5u of %5u functions  %3.0f %%  %s\n", sum->functions_reached,
		       sum->functions,
		       100.0 * (double)sum->functions_reached / (double)sum->functions,
		       file ? file : "all");
}

static void print_functions(const struct code_view *v)
{
	for (size_t i = 0; i < v->map.n; i++) {
		const struct as_code_function *f = &v->map.functions[i];
		struct code_sum one = { 0 };

		if (!is_shown(v, f) || (v->never && f->reached))
			continue;
		add(&one, f);
		print_row(v, "function", f->name, f->file, &one);
	}
}

static void print_files(const struct code_view *v)
{
	struct code_sum file = { 0 };

	for (size_t i = 0; i < v->map.n; i++) {
		const struct as_code_function *f = &v->map.functions[i];

		if (!is_shown(v, f))
			continue;
		add(&file, f);
		if (i + 1 == v->map.n || strcmp(f->file, f[1].file)) {
			/* Files of which nothing was reached are shown with --under alone. */
			if (file.reached || *v->under)
				print_row(v, "file", NULL, f->file, &file);
			file = (struct code_sum){ 0 };
		}
	}
}

static int print(struct code_view *v, struct as_err *err)
{
	struct code_sum all = { 0 };
	uint64_t nowhere = as_code_count(&v->map, v->set);

	as_code_sort(&v->map);
	for (size_t i = 0; i < v->map.n; i++)
		if (is_shown(v, &v->map.functions[i]))
			add(&all, &v->map.functions[i]);
	if (!all.functions)
		return as_fail(err, AS_EUSE, "--under %s: the kernel has no such code", v->under);
	if (v->functions || v->never)
		print_functions(v);
	else
		print_files(v);
	print_row(v, "all", NULL, NULL, &all);
	if (nowhere && !v->json)
		printf("%llu places are in no function of the list\n", (unsigned long long)nowhere);
	return 0;
}

/* The files of several runs are added up. All are of one kernel. */
static int load(const struct as_args *args, struct code_view *v, struct as_code_of *all,
		struct as_err *err)
{
	int rc = 0;

	*all = (struct as_code_of){ "", "" };
	for (int i = 1; i < args->n_operands && !rc; i++) {
		struct as_buf path = { 0 };
		struct as_code_of of;
		struct stat st;

		as_buf_adds(&path, args->operands[i]);
		if (!stat(as_buf_str(&path), &st) && S_ISDIR(st.st_mode))
			as_buf_adds(&path, "/" AS_CLI_CODE);
		rc = as_code_load(as_buf_str(&path), v->set, &of, err);
		if (!rc && i > 1 && !as_code_of_same(&of, all))
			rc = as_fail(err, AS_EUSE, "%s is of %s, not of the kernel %s",
				     args->operands[i],
				     strcmp(of.kernel, all->kernel) ? of.kernel : "another build",
				     all->kernel);
		if (!rc && (i == 1 || !*all->build))
			*all = of;
		as_buf_free(&path);
	}
	return rc;
}

int as_cov_code(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct code_view v = { .set = as_xcalloc(1, sizeof(*v.set)),
			       .under = as_args_text(args, "under", ""),
			       .functions = as_args_has(args, "functions"),
			       .never = as_args_has(args, "never"),
			       .json = as_args_has(args, "json") };
	struct as_code_of of;
	const char *kernel;
	int rc = load(args, &v, &of, err);

	(void)spec;
	kernel = as_args_text(args, "kernel", of.kernel);
	if (!rc)
		rc = as_cli_code_map(kernel, &v.map, err);
	if (!rc && *of.build && strcmp(of.build, v.map.build))
		rc = as_fail(err, AS_ELACK,
			     "%s was reached in another build of the kernel: the places of %s are "
			     "others",
			     args->operands[1], kernel);
	if (!rc)
		rc = print(&v, err);
	as_code_map_free(&v.map);
	free(v.set);
	return rc;
}
