/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_emit_c: a workload as a C program. */
#include "base/buf.h"
#include "cli/cli.h"
#include "dossier/program/emit_c.h"
#include "work/parse.h"

static int run(const struct as_args *args, struct as_err *err)
{
	struct as_buf out = { 0 };
	struct as_seq *seq = NULL;
	int rc = as_parse_file(args->operands[0], &seq, err);

	if (!rc) {
		as_emit_c(seq, NULL, &out);
		fwrite(as_buf_str(&out), 1, out.len, stdout);
	}
	as_seq_free(seq);
	as_buf_free(&out);
	return rc;
}

const struct as_command as_cmd_emit_c = {
	.name = "emit-c",
	.operands = "FILE",
	.summary = "print a workload as one C program that makes the same system calls",
	.text = "The program compiles with `cc` alone and works below the directory given as its "
		"argument. FILE may be - for standard input.",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
