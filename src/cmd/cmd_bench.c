/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_bench: the benchmarks, one JSON line for each number. */
#include "base/buf.h"
#include "base/json.h"
#include "bench/bench.h"
#include "bench/kept.h"
#include "cli/cli.h"

#include <string.h>

/* What the user asked for. It is static because benchmarks report through a function without a
 * context. */
static const struct as_args *wanted;
static struct as_err failed; /* code 0: the numbers could be kept */

static bool starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static void report(const char *name, double value, const char *unit)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);
	bool show = !wanted->n_operands;

	for (int i = 0; i < wanted->n_operands; i++)
		show = show || starts(name, wanted->operands[i]);
	if (show) {
		as_json_object(&json);
		as_json_kstr(&json, "name", name);
		as_json_key(&json, "value");
		as_json_num(&json, value);
		as_json_kstr(&json, "unit", unit);
		as_json_end(&json);
		printf("%s\n", as_buf_str(&line));
		fflush(stdout);
		if (!failed.code)
			(void)!as_bench_kept_add(name, as_buf_str(&line), &failed);
	}
	as_buf_free(&line);
}

/* Both "run.lab" and "r" select something of the group "run". */
static bool concerns(const char *group, const char *name)
{
	return starts(name, group) || starts(group, name);
}

/* Ends as soon as a number cannot be kept. */
static int measure(struct as_err *err)
{
	failed = (struct as_err){ 0 };
	for (const struct as_bench *b = as_benches; b->prefix && !failed.code; b++)
		if (as_bench_wants(b->prefix))
			b->run(report);
	if (failed.code)
		*err = failed;
	return failed.code ? failed.code : AS_EXIT_CLEAN;
}

static int run(const struct as_args *args, struct as_err *err)
{
	const char *file = as_args_text(args, "out", NULL);
	int rc = 0;

	wanted = args;
	for (int i = 0; i < args->n_operands; i++) {
		bool known = false;

		for (const struct as_bench *b = as_benches; b->prefix; b++)
			known = known || concerns(b->prefix, args->operands[i]);
		if (!known)
			return as_fail(err, AS_EUSE, "bench: no benchmark is called '%s'",
				       args->operands[i]);
	}
	as_bench_want(args->operands, args->n_operands);
	as_bench_set(&(struct as_bench_how){ .seconds = as_args_number(args, "seconds", 0),
					     .suite = as_args_text(args, "suite", NULL) });
	if (file)
		rc = as_bench_kept_open(file, err);
	if (!rc)
		rc = measure(err);
	as_bench_kept_close();
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "keep the numbers in FILE, too; what it has already is not measured again, so "
		  "that the same command goes on where it was stopped" },
	{ .name = "seconds",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 86400,
	  .help = "how long each session of sym.* takes; default: as the benchmark says" },
	{ .name = "suite",
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "the images of sym.versus, as for `assay fsck --suite`" },
	{ 0 },
};

const struct as_command as_cmd_bench = {
	.name = "bench",
	.operands = "[NAME...]",
	.summary = "measure how fast assay is; prints a JSON line {name,value,unit} per number",
	.text = "NAME is the beginning of a benchmark's name, such as `model` or `run.lab`. "
		"Without a NAME, all benchmarks run.",
	.opts = opts,
	.max_operands = -1,
	.run = run,
};
