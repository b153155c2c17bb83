/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_cov: input and output coverage of system calls; the parts are in cov_*.c. */
#include "cmd/cov/cov.h"
#include "cover/metric.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int min, max; /* operands after the name; max -1: any number */
	const char *operands;
	int (*run)(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
} parts[] = {
	{ "record", 0, -1, "-o FILE.cov -- COMMAND...", as_cov_record },
	{ "read", 1, -1, "TRACE... -o FILE.cov", as_cov_read },
	{ "show", 1, -1, "FILE.cov", as_cov_show },
	{ "untested", 1, 1, "FILE.cov", as_cov_untested },
	{ "tcd", 1, 2, "FILE.cov [FILE.cov]", as_cov_tcd },
	{ "merge", 1, -1, "FILE.cov... -o FILE.cov", as_cov_merge },
	{ "diff", 2, 2, "FILE.cov FILE.cov", as_cov_diff },
	{ "which", 1, -1, "FOLDER|FILE.cov... --syscall NAME", as_cov_which },
	{ "adds", 1, 2, "FOLDER [TEST]", as_cov_adds },
	{ "rank", 1, -1, "FOLDER|FILE.cov...", as_cov_rank },
	{ "feedback", 1, 1, "FILE.cov", as_cov_feedback },
	{ "code", 1, -1, "FOLDER|FILE.kcov...", as_cov_code },
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static int run(const struct as_args *args, struct as_err *err)
{
	const char *name = args->operands[0];
	struct as_spec *spec;
	int n = args->n_operands - 1, rc;
	size_t i = 0;

	while (i < N_PARTS && strcmp(parts[i].name, name) != 0)
		i++;
	if (i == N_PARTS)
		return as_fail(err, AS_EUSE,
			       "cov: '%s' is none of its commands; see `assay help cov`", name);
	if (n < parts[i].min || (parts[i].max >= 0 && n > parts[i].max))
		return as_fail(err, AS_EUSE, "cov %s: expected %s", name, parts[i].operands);
	spec = as_counts_spec();
	rc = as_cov_judge_check(spec, args, err);
	if (!rc)
		rc = parts[i].run(spec, args, err);
	as_spec_free(spec);
	return rc;
}

/* ---- What the parts share -------------------------------------------------------------------- */

static int choose_kinds(const char *list, unsigned *kinds, struct as_err *err)
{
	*kinds = 0;
	while (*list) {
		size_t len = strcspn(list, ",");
		unsigned k = AS_SPACE_PLAIN;

		while (k <= AS_SPACE_VARIANTS &&
		       (strlen(as_space_kind_name((enum as_space_kind)k)) != len ||
			memcmp(as_space_kind_name((enum as_space_kind)k), list, len) != 0))
			k++;
		if (len == 3 && !memcmp(list, "all", 3))
			*kinds = ~0u;
		else if (k > AS_SPACE_VARIANTS)
			return as_fail(err, AS_EUSE,
				       "--spaces: '%.*s' is none of values, boundaries, together, "
				       "pairs, output, variants, all",
				       (int)len, list);
		else
			*kinds |= 1u << k;
		list += len + (list[len] == ',');
	}
	return 0;
}

/* --syscall takes a family or any of its calls. */
static const struct as_spec_family *find_family(const struct as_spec *spec, const char *name)
{
	const struct as_spec_family *family = as_spec_family(spec, name);
	const struct as_spec_call *call = as_spec_find(spec, name, strlen(name));

	if (!family && call && call->family >= 0)
		family = &spec->families[call->family];
	return family;
}

/* --arg NAME=VALUE and --result VALUE: only `which` looks for values. */
static int choose_part(const struct as_args *args, struct as_cov_choice *out, struct as_err *err)
{
	const char *arg = as_args_text(args, "arg", NULL), *result;
	const char *equals = arg ? strchr(arg, '=') : NULL;

	result = as_args_text(args, "result", NULL);
	if ((equals || result) && strcmp(args->operands[0], "which") != 0)
		return as_fail(err, AS_EUSE, "cov %s: %s is for `cov which`", args->operands[0],
			       result ? "--result" : "--arg NAME=VALUE");
	if (arg && result)
		return as_fail(err, AS_EUSE, "cov which: either --arg or --result");
	if (equals && (size_t)(equals - arg) >= sizeof(out->arg_text))
		return as_fail(err, AS_EUSE, "--arg: no call has an argument '%s'", arg);
	if (equals) {
		memcpy(out->arg_text, arg, (size_t)(equals - arg));
		out->arg = out->arg_text;
		out->part = equals + 1;
	}
	if (result) {
		out->part = result;
		out->kinds = 1u << AS_SPACE_OUTPUT;
	}
	return 0;
}

int as_cov_choose(const struct as_spec *spec, const struct as_args *args, unsigned kinds,
		  struct as_cov_choice *out, struct as_err *err)
{
	const char *name = as_args_text(args, "syscall", NULL), *list;
	const struct as_spec_family *family = name ? find_family(spec, name) : NULL;
	bool found = false;
	int rc;

	*out = (struct as_cov_choice){ .arg = as_args_text(args, "arg", NULL), .kinds = kinds };
	rc = choose_part(args, out, err);
	if (rc)
		return rc;
	if (name && !family)
		return as_fail(err, AS_EUSE, "--syscall: '%s' is not counted", name);
	out->family = family ? family->name : NULL;
	for (unsigned f = 0; f < spec->n_families; f++)
		for (unsigned a = 0; out->arg && a < spec->families[f].n_args; a++)
			found |= (!family || family == &spec->families[f]) &&
				 !strcmp(spec->families[f].args[a].name, out->arg);
	if (out->arg && !found)
		return as_fail(err, AS_EUSE, "--arg: %s has no argument '%s'",
			       name ? name : "no call", out->arg);
	list = as_args_text(args, "spaces", NULL);
	return list ? choose_kinds(list, &out->kinds, err) : 0;
}

bool as_cov_chosen(const struct as_cov_choice *choice, const struct as_space *space)
{
	if (choice->family && strcmp(choice->family, space->family->name) != 0)
		return false;
	if (choice->arg && (!space->arg || strcmp(choice->arg, space->arg->name) != 0))
		return false;
	return choice->kinds >> space->kind & 1;
}

const char *as_cov_title(const struct as_space *space, char out[static 64])
{
	if (!space->arg)
		snprintf(out, 64, "%s", as_space_kind_name(space->kind));
	else if (space->kind == AS_SPACE_PLAIN)
		snprintf(out, 64, "%s", space->arg->name);
	else
		snprintf(out, 64, "%s/%s", space->arg->name, as_space_kind_name(space->kind));
	return out;
}

int as_cov_percent(const struct as_args *args, const char *name, double otherwise, double *out,
		   struct as_err *err)
{
	const char *text = as_args_text(args, name, NULL);
	char *end;

	*out = otherwise;
	if (!text)
		return 0;
	*out = strtod(text, &end);
	if (!isdigit((unsigned char)*text) || (*end && strcmp(end, "%") != 0) || *out > 100)
		return as_fail(err, AS_EUSE, "--%s: '%s' is not a percentage", name, text);
	return 0;
}

void as_cov_print_notes(const struct as_counts *counts, const char *path)
{
	const char *under = as_counts_get_under(counts);
	uint64_t n;

	printf("%s: %s%s%s\n", path, as_counts_get_source(counts), under ? ", under " : "",
	       under ? under : "");
	for (unsigned i = 0; i < AS_NOTES; i++)
		if ((n = as_counts_noted(counts, (enum as_cov_note)i)))
			printf("%12llu  %s\n", (unsigned long long)n,
			       as_cov_note_text((enum as_cov_note)i));
	for (unsigned i = 0; as_counts_example_at(counts, i); i++)
		printf("              not understood: %s\n", as_counts_example_at(counts, i));
}

static const struct as_opt opts[] = {
	{ .name = "under",
	  .kind = AS_OPT_TEXT,
	  .arg = "PATH",
	  .help = "record, read: count only calls on this file or folder and what is below it "
		  "(an absolute "
		  "path); default: all calls. code: only these files, such as fs/ext4" },
	{ .name = "under-regex",
	  .kind = AS_OPT_TEXT,
	  .arg = "REGEX",
	  .help = "record, read: the same for all paths that this matches (POSIX extended, from "
		  "the root): "
		  "--under-regex '/mnt/(test|scratch)'" },
	{ .name = "output",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "read, merge, record: write the counts to this file; with tests apart, to this "
		  "folder, which must be new or empty" },
	{ .name = "cwd",
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "read: working directory of the processes that the trace begins with; default: "
		  "not known" },
	{ .name = "format",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAME",
	  .help = "read: the format of the trace: strace, babeltrace, syzkaller, lttng; default: "
		  "found from how the trace begins" },
	{ .name = "max-unknown",
	  .kind = AS_OPT_TEXT,
	  .arg = "PERCENT",
	  .help = "read: exit with status 1 if more than this share of the lines was not "
		  "understood; "
		  "default 5" },
	{ .name = "syscall",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAME",
	  .help = "show only this call and its variants" },
	{ .name = "arg",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAME[=VALUE]",
	  .help = "show only this argument; which: tests that meet this value of it (name of a "
		  "partition, wildcards)" },
	{ .name = "result",
	  .kind = AS_OPT_TEXT,
	  .arg = "VALUE",
	  .help = "which: tests that meet this result (success, ENOSPC, or wildcards)" },
	{ .name = "spaces",
	  .kind = AS_OPT_TEXT,
	  .arg = "LIST",
	  .help = "choose the kinds of partitions: values, boundaries, together, pairs, output, "
		  "variants, all" },
	{ .name = "combine",
	  .kind = AS_OPT_NUMBER,
	  .arg = "T",
	  .min = 2,
	  .max = 6,
	  .help = "show: list the combinations of T flags that were never used" },
	{ .name = "split-by",
	  .kind = AS_OPT_TEXT,
	  .arg = "REGEX",
	  .help = "record, read: count each test apart. A command whose line or program matches "
		  "is a test, "
		  "named by the first group of the match; -o is a folder with a file for each "
		  "test" },
	{ .name = "runtest",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "record, read: count each test apart. A command of this list of LTP (lines of "
		  "TAG "
		  "COMMAND) is the test TAG" },
	{ .name = "each",
	  .help = "record, read: count each program that the command starts as a test" },
	{ .name = "each-of",
	  .kind = AS_OPT_TEXT,
	  .arg = "REGEX",
	  .help = "record, read: count each program that a matching command starts as a test: "
		  "--each-of ltp-pan" },
	{ .name = "each-line",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "record: run each line of the file with sh, and count it as a test" },
	{ .name = "how",
	  .kind = AS_OPT_CHOICE,
	  .choices = "bpf|inprocess|ptrace|auto",
	  .help = "record with eBPF (root), inside of the processes, or with ptrace; default "
		  "auto: the "
		  "first of these that works here" },
	{ .name = "svg",
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "show: write the figures of the paper, or those that --syscall and --arg choose, "
		  "to files" },
	{ .name = "html",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "show, diff: write one page with everything" },
	{ .name = "json", .help = "show, diff, which, adds, rank, code: print JSON" },
	{ .name = "csv", .help = "show: print comma-separated values" },
	{ .name = "threshold",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .help = "untested: list what was met less than N times; default 1" },
	{ .name = "target",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .help = "tcd: how often each partition should be tested" },
	{ .name = "targets",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "tcd: read a target for each partition from this file" },
	{ .name = "fail-under",
	  .kind = AS_OPT_TEXT,
	  .arg = "LIST",
	  .help = "exit with status 1 if the coverage is below: 60, outputs=30, open=70, "
		  "open.flags=80, "
		  "write:outputs=30, separated by commas" },
	{ .name = "baseline",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE.cov",
	  .help = "exit with status 1 if a partition that is met there is not met here, and name "
		  "it" },
	{ .name = "max-drop",
	  .kind = AS_OPT_TEXT,
	  .arg = "POINTS",
	  .help = "with --baseline: exit with status 1 only if the coverage is lower by more "
		  "percentage points" },
	{ .name = "functions", .help = "code: print each function, not each file" },
	{ .name = "never", .help = "code: print the functions that were never reached" },
	{ .name = "kernel",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAME",
	  .help = "code: the kernel that it was; default: the one that the run had" },
	{ .name = "summary", .help = "diff: print only the numbers for each call" },
	{ 0 },
};

const struct as_command as_cmd_cov = {
	.name = "cov",
	.operands = "record -- COMMAND... | read TRACE... | show FILE... | untested FILE | "
		    "tcd FILE [FILE] | merge FILE... | diff FILE FILE | which FOLDER | "
		    "adds FOLDER [TEST] | rank FOLDER | feedback FILE | code FOLDER",
	.summary = "count which arguments and results of system calls were tested",
	.text = "`cov record` runs a command and counts the calls of it and its children, "
		"until the "
		"last of them has ended. Its exit status is that of the command (128 plus the "
		"number of a signal; 127: not found, 126: cannot be run, 125: an error of assay "
		"itself). `cov read` counts the calls of traces (strace -f, babeltrace of "
		"LTTng; gzip "
		"and zstd are unpacked, `-` is standard input). Both keep the counts in a "
		".cov file. `cov show` prints it, or draws it (up to four "
		"files side by side). `cov untested` lists the partitions that were never met. "
		"`cov tcd` prints the Test Coverage Deviation, and for two files the target at "
		"which they cross. `cov merge` adds files up, `cov diff` prints what only one of "
		"two files has. With "
		"--split-by, --runtest, --each, --each-of or --each-line, record and read keep the "
		"counts of each test of a suite in a folder: `cov which` says which tests meet an "
		"argument or a result (exit status 1: none), `cov adds` what only one test meets, "
		"`cov rank` in which order tests add the most. Such a folder can be given "
		"where a file is expected, and stands for the whole suite. `cov code` prints how "
		"much of each source file of the kernel's file systems a run, hunt or check with "
		"--kcov reached, or its functions. --fail-under and "
		"--baseline make the exit status 1. docs/COVERAGE.md explains all of it.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
