/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_split: --split-by, --each and the like: the tests of a suite, each with counts of its own. */
#include "base/show.h"
#include "cmd/cov/cov.h"
#include "cover/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ways[] = { "split-by", "runtest", "each", "each-of", "each-line" };
#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

int as_cov_split(const struct as_spec *spec, const struct as_args *args, struct as_split **out,
		 struct as_err *err)
{
	struct as_split_options options = {
		.by = as_args_text(args, "split-by", NULL),
		.runtest = as_args_text(args, "runtest", NULL),
		.each = as_args_has(args, "each") || as_args_has(args, "each-line"),
		.each_of = as_args_text(args, "each-of", NULL),
		.folder = as_args_text(args, "output", NULL),
	};
	const char *first = NULL, *lines;

	*out = NULL;
	for (size_t i = 0; i < N_WAYS; i++) {
		if (!as_args_has(args, ways[i]))
			continue;
		if (first)
			return as_fail(err, AS_EUSE, "cov %s: either --%s or --%s",
				       args->operands[0], first, ways[i]);
		first = ways[i];
	}
	if (!first)
		return 0;
	if (!options.folder || !strcmp(options.folder, "-"))
		return as_fail(err, AS_EUSE, "cov %s: --%s needs -o FOLDER", args->operands[0],
			       first);
	lines = as_args_text(args, "each-line", "-");
	if (strcmp(lines, "-") != 0 && access(lines, R_OK))
		return as_fail_errno(err, errno, "cannot read %s", lines);
	return as_split_new(spec, &options, out, err);
}

/* The command of --each-line: a shell that starts each line by another one. */
char **as_cov_lines_argv(const char *file)
{
	static const char script[] = "rc=0\n"
				     "while IFS= read -r line <&3 || [ -n \"$line\" ]; do\n"
				     "	case $line in '' | '#'*) continue ;; esac\n"
				     "	sh -c \"$line\" 3<&- </dev/null || rc=1\n"
				     "done 3<\"$1\"\n"
				     "exit \"$rc\"";
	const char *const words[] = {
		"sh", "-c", script, "assay", strcmp(file, "-") ? file : "/dev/stdin", NULL
	};
	char **argv = as_xcalloc(sizeof(words) / sizeof(words[0]), sizeof(*argv));

	memcpy(argv, words, sizeof(words));
	return argv;
}

static void warn_none(const struct as_args *args)
{
	const char *by = as_args_text(args, "split-by", NULL);
	const char *list = as_args_text(args, "runtest", NULL);

	if (by)
		fprintf(stderr,
			"assay: no command was a test: nothing that was started matches %s\n", by);
	else if (list)
		fprintf(stderr, "assay: no command was a test: nothing that was started is in %s\n",
			list);
	else
		fprintf(stderr, "assay: no command was a test: nothing was started\n");
}

int as_cov_split_end(struct as_split *split, const struct as_args *args, struct as_counts *counts,
		     struct as_err *err)
{
	const char *folder = as_args_text(args, "output", NULL);
	int rc = as_split_finish(split, counts, err);

	if (rc)
		return rc;
	printf("%s: %u test%s, the rest in " AS_SPLIT_OTHER ".cov, all in " AS_SPLIT_TOTAL ".cov\n",
	       folder, as_split_tests(split), as_plural(as_split_tests(split)));
	fflush(stdout);
	if (!as_split_tests(split))
		warn_none(args);
	if (as_split_cut(split))
		fprintf(stderr,
			"assay: %llu command lines were not seen in full, and may have been "
			"tests%s\n",
			(unsigned long long)as_split_cut(split),
			strcmp(args->operands[0], "read") ? "" : " (strace -s 4096 shows more)");
	if (as_split_beyond(split))
		fprintf(stderr, "assay: too many tests: %llu were not told apart\n",
			(unsigned long long)as_split_beyond(split));
	return 0;
}
