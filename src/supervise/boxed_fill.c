/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed_fill: what the engine in a box is given to read, in the folder that the box shares with us:
 * workloads, their list, what is known already. The folder they are in is ours; where the engine
 * writes is its own.
 */
#include "supervise/boxed_priv.h"

#include "os/share.h"
#include "work/print.h"

#include <stdio.h>
#include <unistd.h>

#define KNOWN_MAX_BYTES ((size_t)64 << 20)

static int write_job(const struct as_boxed_session *b, size_t job, struct as_err *err)
{
	struct as_buf text = { 0 };
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "%06zu.txt", job);
	as_print_seq(b->jobs[job].seq, &text);
	rc = as_share_write(b->in_fd, name, as_buf_str(&text), text.len, err);
	as_buf_free(&text);
	return rc;
}

/* Paths as they are called inside, each with the name that people know it by. */
static int write_list(const struct as_boxed_session *b, struct as_err *err)
{
	const char *share = b->how->sandbox->share_path;
	struct as_buf text = { 0 };
	int rc;

	for (size_t i = 0; i < b->n_list; i++) {
		size_t start;

		as_buf_addf(&text, "%s/" BOXED_IN "/%06zu.txt\t", share, b->list[i]);
		start = text.len;
		as_buf_adds(&text, b->jobs[b->list[i]].name);
		for (size_t at = start; at < text.len; at++)
			if ((unsigned char)text.data[at] < ' ')
				text.data[at] = '?';
		as_buf_addc(&text, '\n');
	}
	rc = as_share_write(b->in_fd, "list", as_buf_str(&text), text.len, err);
	as_buf_free(&text);
	return rc;
}

int as_boxed_write_work(const struct as_boxed_session *b, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < b->n_list && !rc; i++)
		rc = write_job(b, b->list[i], err);
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
					 box->cell.layers ? box->cell.uid : geteuid());

		if (fd < 0)
			return as_fail_errno(err, -fd, "cannot make a folder for the sandbox");
		close(fd);
	}
	rc = write_known(b, err);
	return rc ? rc : as_boxed_write_work(b, err);
}
