/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_import: workloads from the languages and logs of others. All files are read before anything
 * is written. What could not be expressed is listed on standard error, "file:line: what".
 */
#include "base/buf.h"
#include "base/show.h"
#include "cli/cli.h"
#include "cli/live/screen.h"
#include "os/dir.h"
#include "os/out.h"
#include "trace/import.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)1 << 30)

struct import_job {
	const char *path;
	struct as_seq *seq;
	struct as_import import;
};

static void list(void *ctx, unsigned line, const char *what)
{
	as_cli_put(stderr, ctx);
	fprintf(stderr, ":%u: ", line);
	as_cli_put(stderr, what);
	fputc('\n', stderr);
}

static int read_job(const struct as_args *args, struct import_job *job, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, job->path, FILE_MAX_BYTES, err);

	job->import = (struct as_import){
		.from = (enum as_import_from)as_import_find(as_args_text(args, "from", "")),
		.file = strcmp(job->path, "-") ? job->path : "standard input",
		.under = as_args_text(args, "under", NULL),
		.left_out = list,
		.ctx = (void *)job->path,
	};
	if (!rc)
		rc = as_import_text(&job->import, as_buf_str(&text), text.len, &job->seq, err);
	as_buf_free(&text);
	return rc;
}

/* FOLDER/NAME.txt, NAME being the last part of the path. */
static int write_file(const char *folder, const struct import_job *job, struct as_err *err)
{
	const char *slash = strrchr(job->import.file, '/');
	struct as_buf path = { 0 }, text = { 0 };
	int rc;

	as_buf_addf(&path, "%s/%s.txt", folder, slash ? slash + 1 : job->import.file);
	as_print_seq(job->seq, &text);
	rc = as_out_save(as_buf_str(&path), &text, err);
	as_buf_free(&path);
	as_buf_free(&text);
	return rc;
}

static int write_folder(const char *folder, const struct import_job *jobs, int n,
			struct as_err *err)
{
	int rc = as_dir_make(folder, err);

	for (int i = 0; i < n && !rc; i++)
		rc = write_file(folder, &jobs[i], err);
	return rc;
}

/* Two files of the same name would be one. */
static int check_names(char **paths, int n, struct as_err *err)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++) {
			const char *a = strrchr(paths[i], '/'), *b = strrchr(paths[k], '/');

			if (!strcmp(a ? a + 1 : paths[i], b ? b + 1 : paths[k]))
				return as_fail(err, AS_EUSE, "%s and %s would be the same file",
					       paths[k], paths[i]);
		}
	return 0;
}

static void say_end(const struct import_job *jobs, int n)
{
	uint64_t ops = 0, left_out = 0, outside = 0, other = 0;

	for (int i = 0; i < n; i++) {
		ops += jobs[i].seq->n;
		left_out += jobs[i].import.n_left_out;
		outside += jobs[i].import.n_outside;
		other += jobs[i].import.n_other;
	}
	fprintf(stderr, "%d file%s, %llu operation%s, %llu left out", n, as_plural((uint64_t)n),
		(unsigned long long)ops, as_plural(ops), (unsigned long long)left_out);
	if (outside)
		fprintf(stderr, ", %llu outside the tree", (unsigned long long)outside);
	if (other)
		fprintf(stderr, ", %llu not on files", (unsigned long long)other);
	fputc('\n', stderr);
}

static int put_out(const struct as_args *args, const struct import_job *jobs, struct as_err *err)
{
	const char *folder = as_args_text(args, "out", NULL);
	struct as_buf text = { 0 };

	if (folder)
		return write_folder(folder, jobs, args->n_operands, err);
	as_print_seq(jobs[0].seq, &text);
	fwrite(as_buf_str(&text), 1, text.len, stdout);
	as_buf_free(&text);
	return 0;
}

static int run(const struct as_args *args, struct as_err *err)
{
	int n = args->n_operands, rc = 0;
	struct import_job *jobs = as_xcalloc((uint64_t)n, sizeof(*jobs));
	uint64_t left_out = 0, ops = 0;

	if (!as_args_has(args, "from"))
		rc = as_fail(err, AS_EUSE, "import: expected --from jlang, fsx or strace");
	else if (n > 1 && !as_args_has(args, "out"))
		rc = as_fail(err, AS_EUSE, "import: several files need a folder to go to: --out");
	if (!rc && as_args_has(args, "out"))
		rc = check_names(args->operands, n, err);
	for (int i = 0; i < n && !rc; i++) {
		jobs[i].path = args->operands[i];
		rc = read_job(args, &jobs[i], err);
		left_out += jobs[i].import.n_left_out;
		ops += rc ? 0 : jobs[i].seq->n;
	}
	if (!rc && !ops)
		rc = as_fail(err, AS_EUSE, "import: there is no operation in what was read");
	if (!rc && left_out && as_args_has(args, "strict"))
		rc = as_fail(err, AS_EUSE, "%llu lines cannot be expressed; nothing was written",
			     (unsigned long long)left_out);
	if (!rc)
		rc = put_out(args, jobs, err);
	if (!rc)
		say_end(jobs, n);
	for (int i = 0; i < n; i++)
		as_seq_free(jobs[i].seq);
	free(jobs);
	return rc ? rc : AS_EXIT_CLEAN;
}

static const struct as_opt opts[] = {
	{ .name = "from",
	  .kind = AS_OPT_CHOICE,
	  .choices = "jlang|fsx|strace",
	  .help = "the kind of the files: CrashMonkey's J-lang, the log of fsx --record-ops, "
		  "or the "
		  "output of strace (best with -f -y -o FILE)" },
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "FOLDER",
	  .help = "write FOLDER/NAME.txt for each file; default: one file goes to standard "
		  "output" },
	{ .name = "under",
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "strace: the root of the tree; calls on other files are only counted; "
		  "default /" },
	{ .name = "strict", .help = "write nothing if anything cannot be expressed" },
	{ 0 },
};

const struct as_command as_cmd_import = {
	.name = "import",
	.operands = "FILE...",
	.summary = "turn workloads and logs of other tools into workloads",
	.text = "What cannot be expressed is listed on standard error with its line, and counted; "
		"the rest is written. With --strict it is an error (exit status 2). FILE may be "
		"- for standard input. docs/FORMAT.md says which line becomes which operation.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
