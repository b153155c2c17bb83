/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs: see jobs.h. */
#include "cli/jobs.h"

#include "base/array.h"
#include "cli/boxes.h"
#include "cli/trust.h"
#include "target/target.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX_BYTES ((size_t)64 << 20)

int as_cli_join_wear(const struct as_args *args, struct as_buf *spec, struct as_err *err)
{
	struct as_buf flash = { 0 };

	if (!as_args_has(args, "wear"))
		return 0;
	if (strncmp(as_buf_str(spec), "plugin:", strlen("plugin:")))
		return as_fail(err, AS_EUSE,
			       "--wear: target %s is no plugin, and has no flash of ours",
			       as_buf_str(spec));
	as_buf_addf(&flash, "flash.show=1,flash.wear=%llu",
		    (unsigned long long)as_args_number(args, "wear", 0));
	as_target_join_opts(spec, as_buf_str(&flash));
	as_buf_free(&flash);
	return 0;
}

/* The target of one file: the option, or what the file says. */
static int choose_target(const struct as_args *args, struct as_cli_job *job, struct as_err *err)
{
	const char *asked = as_args_text(args, "target", NULL);
	const char *meta = as_seq_meta(job->seq, "target");
	int rc;

	if (asked) {
		as_buf_adds(&job->spec, asked);
	} else if (!meta) {
		return as_fail(err, AS_EUSE, "%s: no --target given and no @target in the file",
			       job->path);
	} else {
		rc = as_target_parse_meta(meta, &job->spec, &job->size_bytes, err);
		if (rc)
			return as_fail_in(err, "%s", job->path);
		rc = as_cli_trust(args, job->path, as_buf_str(&job->spec), err);
		if (rc)
			return rc;
	}
	if (as_args_has(args, "size"))
		job->size_bytes = as_args_number(args, "size", 0);
	return as_cli_join_wear(args, &job->spec, err);
}

static void add_job(struct as_cli_jobs *all, const char *path, const char *name)
{
	AS_ARRAY_ROOM(all->jobs, all->n, all->cap);
	all->jobs[all->n++] = (struct as_cli_job){ .path = path, .name = name };
}

/* Lines "PATH" or "PATH<tab>NAME". */
static int read_list(const char *path, struct as_cli_jobs *all, struct as_err *err)
{
	char *save = NULL;
	int rc = as_buf_read_file(&all->list, path, LIST_MAX_BYTES, err);

	if (rc)
		return as_fail_in(err, "--list");
	for (char *line = strtok_r(all->list.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *tab = strchr(line, '\t');

		if (tab)
			*tab++ = '\0';
		add_job(all, line, tab && *tab ? tab : line);
	}
	return 0;
}

/* The workloads of one file. The only workload of a file has the name of the file. */
struct jobs_reading {
	struct as_cli_jobs *all;
	const char *path, *name;
	size_t first;
};

static int take_workload(void *ctx, struct as_seq *seq)
{
	struct jobs_reading *r = ctx;
	const char *name = as_seq_meta(seq, "workload");

	add_job(r->all, r->path, r->all->n == r->first || !name ? r->name : name);
	r->all->jobs[r->all->n - 1].seq = seq;
	if (r->all->n == r->first + 2) {
		struct as_cli_job *job = &r->all->jobs[r->first];

		name = as_seq_meta(job->seq, "workload");
		job->name = name ? name : r->name;
	}
	return 0;
}

/* Adds the workloads of one file, without a target; `path` and `name` must outlive them. */
static int add_whole_file(struct as_cli_jobs *all, const char *path, const char *name,
			  struct as_err *err)
{
	struct jobs_reading r = { all, path, name, all->n };

	return as_parse_many(path, take_workload, &r, err);
}

static int read_file(const struct as_args *args, struct as_cli_jobs *all, const char *path,
		     const char *name, struct as_err *err)
{
	size_t first = all->n;
	int rc = add_whole_file(all, path, name, err);

	for (size_t i = first; i < all->n && !rc; i++) {
		struct as_cli_job *job = &all->jobs[i];

		rc = choose_target(args, job, err);
		if (!rc)
			rc = as_cli_trust_seq(args, path, as_buf_str(&job->spec), job->seq, err);
		if (!rc)
			rc = as_cli_check_box(args, as_buf_str(&job->spec), err);
	}
	return rc;
}

/* Each job once for each line of the matrix: the options of the line are added to its target's. */
static int multiply(const char *matrix, struct as_cli_jobs *all, struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_cli_jobs out = { .list = all->list };
	char *save = NULL, *line;
	int rc = as_buf_read_file(&text, matrix, LIST_MAX_BYTES, err);

	if (rc)
		return rc;
	for (line = text.len ? strtok_r(text.data, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		line[strcspn(line, " \t\r")] = '\0';
		for (size_t i = 0; *line && *line != '#' && i < all->n; i++) {
			const struct as_cli_job *from = &all->jobs[i];
			struct as_cli_job *job;

			add_job(&out, from->path, from->name);
			job = &out.jobs[out.n - 1];
			job->seq = as_seq_copy(from->seq);
			job->size_bytes = from->size_bytes;
			as_buf_adds(&job->spec, as_buf_str(&from->spec));
			as_target_join_opts(&job->spec, strcmp(line, "-") ? line : "");
		}
	}
	as_buf_free(&text);
	if (!out.n && all->n)
		return as_fail(err, AS_EUSE, "%s: has no line of options", matrix);
	memset(&all->list, 0, sizeof(all->list));
	as_cli_jobs_free(all);
	*all = out;
	return 0;
}

int as_cli_jobs_read(const struct as_args *args, const char *list, struct as_cli_jobs *all,
		     struct as_err *err)
{
	struct as_cli_jobs files = { 0 };
	bool stdin_read = false;
	int rc = 0;

	if (as_args_has(args, "target"))
		as_cli_typed(args, as_args_text(args, "target", ""));
	for (int i = 0; i < args->n_operands; i++)
		add_job(&files, args->operands[i], args->operands[i]);
	if (list) {
		rc = read_list(list, &files, err);
		all->list = files.list; /* names point into it */
	}
	if (!rc && !files.n)
		rc = as_fail(err, AS_EUSE, "%s: expected FILE...; see `assay help %s`",
			     args->command->name, args->command->name);
	for (size_t i = 0; i < files.n && !rc; i++) {
		const struct as_cli_job *file = &files.jobs[i];
		bool standard = !strcmp(file->path, "-");

		if (standard && stdin_read)
			rc = as_fail(err, AS_EUSE, "standard input was given twice");
		stdin_read |= standard;
		if (!rc)
			rc = read_file(args, all, file->path, file->name, err);
	}
	if (!rc && as_args_has(args, "opts-matrix"))
		rc = multiply(as_args_text(args, "opts-matrix", ""), all, err);
	free(files.jobs);
	return rc;
}

void as_cli_jobs_free(struct as_cli_jobs *all)
{
	for (size_t i = 0; i < all->n; i++) {
		as_seq_free(all->jobs[i].seq);
		as_buf_free(&all->jobs[i].spec);
	}
	free(all->jobs);
	as_buf_free(&all->list);
	*all = (struct as_cli_jobs){ 0 };
}

/* ---- As work --------------------------------------------------------------------------------- */

bool as_cli_job_alike(const struct as_cli_job *a, const struct as_cli_job *b)
{
	return a->size_bytes == b->size_bytes &&
	       !strcmp(as_buf_str(&a->spec), as_buf_str(&b->spec));
}

struct as_work as_cli_jobs_work(const struct as_cli_jobs *all, size_t first)
{
	const struct as_seq **seqs = as_xcalloc(all->n - first + 1, sizeof(*seqs));
	const char **names = as_xcalloc(all->n - first + 1, sizeof(*names));
	struct as_work work = { .seqs = seqs, .names = names };

	for (size_t i = first; i < all->n && as_cli_job_alike(&all->jobs[first], &all->jobs[i]);
	     i++) {
		seqs[work.n] = all->jobs[i].seq;
		names[work.n++] = all->jobs[i].name;
	}
	return work;
}

void as_cli_work_free(struct as_work *work)
{
	free((void *)work->seqs);
	free((void *)work->names);
	*work = (struct as_work){ 0 };
}
