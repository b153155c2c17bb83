/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * give: what the engine in a box is given to read, in the folder that the box shares with us: its
 * job, its work (wire.h), workloads and disks, the signatures that were met before. This folder is
 * ours; the engine writes to others, which belong to it.
 */
#include "supervise/boxed_priv.h"

#include "os/share.h"
#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT ".txt"
#define IMAGE ".image"
#define KNOWN_MAX_BYTES ((size_t)64 << 20)

static void file_name(size_t job, const char *ending, char *name, size_t cap)
{
	snprintf(name, cap, "%06zu%s", job, ending);
}

/* The files that a request comes with. */
static int write_files(const struct as_boxed_session *b, size_t i, struct as_err *err)
{
	const struct as_boxed_job *job = &b->jobs[i];
	struct as_buf text = { 0 };
	char name[32];
	int rc = 0;

	if (job->seq) {
		file_name(i, TEXT, name, sizeof(name));
		as_print_seq(job->seq, &text);
		rc = as_share_write(b->in_fd, name, as_buf_str(&text), text.len, err);
	}
	if (job->image && !rc) {
		file_name(i, IMAGE, name, sizeof(name));
		rc = as_share_write(b->in_fd, name, as_buf_str(job->image), job->image->len, err);
	}
	as_buf_free(&text);
	return rc;
}

void as_boxed_in_path(const struct as_boxed_session *b, const char *name, struct as_buf *out)
{
	as_buf_addf(out, "%s/" BOXED_IN "/%s", b->how->sandbox->share_path, name);
}

/* The paths in an item. */
struct item_paths {
	struct as_buf text, image;
};

/* As it is called in the sandbox, with the name that people know it by. */
static struct as_wire_item item_of(const struct as_boxed_session *b, size_t i,
				   struct item_paths *paths, const struct as_buf *answer)
{
	const struct as_boxed_job *job = &b->jobs[i];
	char name[32];

	file_name(i, TEXT, name, sizeof(name));
	as_boxed_in_path(b, name, &paths->text);
	file_name(i, IMAGE, name, sizeof(name));
	as_boxed_in_path(b, name, &paths->image);
	return (struct as_wire_item){ .request = job->request,
				      .path = as_buf_str(&paths->text),
				      .name = job->name,
				      .image = as_buf_str(&paths->image),
				      .answer = as_buf_str(answer),
				      .number = b->asked };
}

static int write_list(const struct as_boxed_session *b, struct as_err *err)
{
	struct item_paths *paths = as_xcalloc(b->n_list + 1, sizeof(*paths));
	struct as_wire_work work = { .n = b->n_list };
	struct as_buf text = { 0 }, answer = { 0 };
	int rc;

	as_buf_addf(&answer, "%s/" BOXED_OUT "/" AS_BOXED_ANSWER, b->how->sandbox->share_path);
	work.items = as_xcalloc(b->n_list + 1, sizeof(*work.items));
	for (size_t i = 0; i < b->n_list; i++)
		work.items[i] = item_of(b, b->list[i], &paths[i], &answer);
	as_wire_work_print(&work, &text);
	rc = as_share_write(b->in_fd, AS_BOXED_WORK, as_buf_str(&text), text.len, err);
	for (size_t i = 0; i < b->n_list; i++) {
		as_buf_free(&paths[i].text);
		as_buf_free(&paths[i].image);
	}
	free(paths);
	as_buf_free(&answer);
	as_wire_work_free(&work);
	as_buf_free(&text);
	return rc;
}

int as_boxed_write_work(const struct as_boxed_session *b, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < b->n_list && !rc; i++)
		rc = write_files(b, b->list[i], err);
	return rc ? rc : write_list(b, err);
}

static int write_known(const struct as_boxed_session *b, struct as_err *err)
{
	struct as_buf path = { 0 }, text = { 0 };
	int rc;

	if (!b->how->out || !b->how->known)
		return 0;
	as_buf_addf(&path, "%s/%s", b->how->out, b->how->known);
	rc = as_buf_read_file(&text, as_buf_str(&path), KNOWN_MAX_BYTES, err);
	if (!rc)
		rc = as_share_write(b->in_fd, "known", as_buf_str(&text), text.len, err);
	as_buf_free(&path);
	as_buf_free(&text);
	return rc;
}

/* The paths in a job. */
struct job_paths {
	struct as_buf work, out, known, cov;
};

static void name_paths(const struct as_boxed_session *b, struct job_paths *p,
		       struct as_wire_job *job)
{
	const char *share = b->how->sandbox->share_path;

	as_boxed_in_path(b, AS_BOXED_WORK, &p->work);
	job->work = as_buf_str(&p->work);
	if (!b->how->out)
		return;
	as_buf_addf(&p->out, "%s/" BOXED_OUT, share);
	job->out = as_buf_str(&p->out);
	if (b->how->known) {
		as_boxed_in_path(b, "known", &p->known);
		job->known = as_buf_str(&p->known);
	}
	if (b->how->cov) {
		as_buf_addf(&p->cov, "%s/" BOXED_COUNTS "/", share);
		job->cov = as_buf_str(&p->cov);
	}
}

static int write_job(const struct as_boxed_session *b, struct as_err *err)
{
	struct as_wire_job job = { .target = b->how->target,
				   .state = b->how->sandbox->state_path,
				   .together = b->how->together,
				   .once = b->once,
				   .options = b->how->options };
	struct job_paths paths = { 0 };
	struct as_buf text = { 0 };
	int rc;

	job.options.sweep_at = b->sweep_at;
	name_paths(b, &paths, &job);
	rc = as_wire_job_print(&job, &text, err);
	if (!rc)
		rc = as_share_write(b->in_fd, AS_BOXED_JOB, as_buf_str(&text), text.len, err);
	as_buf_free(&paths.work);
	as_buf_free(&paths.out);
	as_buf_free(&paths.known);
	as_buf_free(&paths.cov);
	as_buf_free(&text);
	return rc;
}

int as_boxed_fill(void *ctx, struct as_box *box, struct as_err *err)
{
	static const char *const own[] = { BOXED_OUT, BOXED_COUNTS };
	struct as_boxed_session *b = ctx;
	int rc;

	b->in_fd = as_share_folder(box->share_fd, BOXED_IN, geteuid());
	if (b->in_fd < 0)
		return as_fail_errno(err, -b->in_fd, "cannot make a folder for the sandbox");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		int fd = as_share_folder(box->share_fd, own[i],
					 box->jail.layers ? box->jail.uid : geteuid());

		if (fd < 0)
			return as_fail_errno(err, -fd, "cannot make a folder for the sandbox");
		close(fd);
	}
	as_boxed_outside_offer(b, box);
	rc = write_known(b, err);
	if (!rc)
		rc = write_job(b, err);
	return rc ? rc : as_boxed_write_work(b, err);
}
