/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * give: what the engine in a box is given to read, in a folder that the box shares with us: a call
 * (wire.h) and, beside it, the disk of a question. This folder is ours; the engine writes to
 * others, which belong to it.
 */
#include "supervise/boxed_priv.h"

#include "os/share.h"

#include <stdlib.h>
#include <unistd.h>

#define CALL "call"
#define IMAGE "image"

static void in_path(const struct as_boxed_session *b, const char *name, struct as_buf *out)
{
	as_buf_addf(out, "%s/" BOXED_IN "/%s", b->how->sandbox->share_path, name);
}

void as_boxed_call_path(const struct as_boxed_session *b, struct as_buf *out)
{
	in_path(b, CALL, out);
}

/* The folders that are shared with a box that begins. */
static int make_folders(struct as_boxed_session *b, struct as_box *box, struct as_err *err)
{
	static const char *const own[] = { BOXED_OUT, BOXED_COUNTS };

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
	return 0;
}

/* The paths in a call, as they are in the sandbox. */
struct call_paths {
	struct as_buf out, cov, image, answer;
};

static void name_paths(const struct as_boxed_session *b, struct call_paths *p,
		       struct as_wire_call *call)
{
	const char *share = b->how->sandbox->share_path;

	if (b->question) {
		in_path(b, IMAGE, &p->image);
		call->image = as_buf_str(&p->image);
		as_buf_addf(&p->answer, "%s/" BOXED_OUT "/" AS_BOXED_ANSWER, share);
		call->answer = as_buf_str(&p->answer);
	}
	if (!b->how->out)
		return;
	as_buf_addf(&p->out, "%s/" BOXED_OUT, share);
	call->out = as_buf_str(&p->out);
	if (b->how->cov) {
		as_buf_addf(&p->cov, "%s/" BOXED_COUNTS "/", share);
		call->cov = as_buf_str(&p->cov);
	}
}

/* The workloads that are left. */
static struct as_work work_left(const struct as_boxed_session *b, const struct as_seq **seqs,
				const char **names)
{
	for (size_t i = 0; i < b->n_list; i++) {
		seqs[i] = b->work->seqs[b->list[i]];
		names[i] = b->work->names[b->list[i]];
	}
	return (struct as_work){ .seqs = seqs, .names = names, .n = b->n_list };
}

static int write_call(const struct as_boxed_session *b, const struct as_wire_call *call,
		      struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_wire_call_print(call, &text, err);

	if (!rc && b->question)
		rc = as_share_write(b->in_fd, IMAGE, as_buf_str(b->question->image),
				    b->question->image->len, err);
	if (!rc)
		rc = as_share_write(b->in_fd, CALL, as_buf_str(&text), text.len, err);
	as_buf_free(&text);
	return rc;
}

int as_boxed_fill(void *ctx, struct as_box *box, struct as_err *err)
{
	struct as_boxed_session *b = ctx;
	bool begins = b->in_fd < 0;
	struct as_wire_call call = { .request = b->question ? b->question->request : AS_WIRE_RUN,
				     .target = b->how->target,
				     .number = b->asked,
				     .together = b->how->together,
				     .last = b->once,
				     .options = b->how->options,
				     .known = begins ? (struct as_known *)b->how->known : NULL };
	const struct as_seq **seqs = as_xcalloc(b->n_list + 1, sizeof(*seqs));
	const char **names = as_xcalloc(b->n_list + 1, sizeof(*names));
	struct call_paths paths = { 0 };
	int rc = begins ? make_folders(b, box, err) : 0;

	if (!rc && begins)
		as_boxed_outside_offer(b, box);
	call.options.sweep_at = b->sweep_at;
	name_paths(b, &paths, &call);
	if (!b->question || b->question->seq)
		call.work = work_left(b, seqs, names);
	if (!rc)
		rc = write_call(b, &call, err);
	as_buf_free(&paths.out);
	as_buf_free(&paths.cov);
	as_buf_free(&paths.image);
	as_buf_free(&paths.answer);
	free(seqs);
	free(names);
	return rc;
}
