/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs: the workloads of a command, with the target of each, from its operands. All are read before
 * the first runs, so that bad input is refused at once.
 */
#ifndef AS_CLI_JOBS_H
#define AS_CLI_JOBS_H

#include "base/buf.h"
#include "cli/cli.h"
#include "work/list.h"

/* A workload and where it is run. */
struct as_cli_job {
	const char *path; /* where it is read from */
	const char *name; /* for people */
	struct as_seq *seq;
	struct as_buf spec; /* the target */
	uint64_t size_bytes; /* of the disk; 0: the target's own */
};

struct as_cli_jobs {
	struct as_cli_job *jobs;
	size_t n, cap;
	struct as_buf list; /* the text that names point into */
};

/* Reads the operands ("-" is standard input) and the files that the lines of the file `list` name
 * (NULL: none): "PATH" or "PATH<tab>NAME". A target that cannot run where the options say is
 * refused. Free the jobs also after an error. */
AS_MUST_CHECK int as_cli_jobs_read(const struct as_args *args, const char *list,
				   struct as_cli_jobs *all, struct as_err *err);
/* Whether both run on the same target, with a disk of the same size. */
bool as_cli_job_alike(const struct as_cli_job *a, const struct as_cli_job *b);
/* Those from `first` on that are alike, in order; to be freed by as_cli_work_free(). */
struct as_work as_cli_jobs_work(const struct as_cli_jobs *all, size_t first);
void as_cli_work_free(struct as_work *work);
/* The option of a command that reads jobs: each is done once for each line of a file. */
#define AS_CLI_MATRIX_OPT                                                              \
	{                                                                              \
		.name = "opts-matrix", .kind = AS_OPT_TEXT, .arg = "FILE",             \
		.help = "use each workload once for each line of FILE, and add the "   \
			"options of that line to the target's; a line `-` adds none; " \
			"lines that begin with # are skipped"                          \
	}
/* The option --wear (rows.h) as options of a target on raw flash. */
AS_MUST_CHECK int as_cli_join_wear(const struct as_args *args, struct as_buf *spec,
				   struct as_err *err);
void as_cli_jobs_free(struct as_cli_jobs *all);

#endif
