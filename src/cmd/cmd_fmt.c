/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_fmt: workloads in canonical form. */
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/live/screen.h"
#include "work/parse.h"
#include "work/print.h"

#include <string.h>

#define FILE_MAX_BYTES ((size_t)1 << 30)

static int format(const char *path, struct as_buf *before, struct as_buf *after, struct as_err *err)
{
	struct as_seq *seq = NULL;
	int rc = as_buf_read_file(before, path, FILE_MAX_BYTES, err);

	if (!rc)
		rc = as_parse_text(path, as_buf_str(before), before->len, &seq, err);
	if (!rc)
		as_print_seq(seq, after);
	as_seq_free(seq);
	return rc;
}

static int run(const struct as_args *args, struct as_err *err)
{
	bool check = as_args_has(args, "check");
	int status = AS_EXIT_CLEAN, rc = 0;

	for (int i = 0; i < args->n_operands && !rc; i++) {
		struct as_buf before = { 0 }, after = { 0 };

		rc = format(args->operands[i], &before, &after, err);
		if (!rc && !check) {
			fwrite(as_buf_str(&after), 1, after.len, stdout);
		} else if (!rc && (before.len != after.len ||
				   (after.len && memcmp(before.data, after.data, after.len)))) {
			as_cli_put(stdout, args->operands[i]);
			printf(": not canonical\n");
			status = AS_EXIT_FOUND;
		}
		as_buf_free(&before);
		as_buf_free(&after);
	}
	return rc ? rc : status;
}

static const struct as_opt opts[] = {
	{ .name = "check",
	  .letter = 'c',
	  .help = "print only the names of files that are not in canonical form; the exit status "
		  "is 1 if there are any" },
	{ 0 },
};

const struct as_command as_cmd_fmt = {
	.name = "fmt",
	.operands = "FILE...",
	.summary = "print workloads in canonical form",
	.text = "FILE may be - for standard input. Comments are not kept.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
