/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames: see frames.h.
 *
 * Method. A frame is appended by one write. Who is killed leaves at most one that is cut off, and
 * others may append after it before they are killed, too.
 *
 * Invariants
 *   1. What is read are whole records, from the beginning up to the first that is not. The file is
 *      cut there before anybody appends to it.
 *   2. A new file has its first record from its first moment on: it is written beside, and renamed.
 */
#include "os/frames.h"

#include "base/hash.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES ((size_t)1 << 30)
#define MAGIC 0x314d5246u /* and a version */

struct frame_head {
	uint32_t magic, bytes;
	uint64_t sum;
};

_Static_assert(sizeof(struct frame_head) == AS_FRAME_HEAD_BYTES, "it is part of the format");

struct as_frames {
	int fd;
	char *path, *head;
	struct as_buf old;
	size_t first; /* where the records after the head begin */
};

void as_frame_put(struct as_buf *out, uint32_t magic, const void *data, size_t len)
{
	struct frame_head head = { magic, (uint32_t)len, as_hash64(data, len) };

	as_buf_add(out, &head, sizeof(head));
	as_buf_add(out, data, len);
}

size_t as_frame_take(const struct as_buf *file, size_t at, uint32_t magic, const char **data,
		     size_t *len)
{
	struct frame_head head;

	if (file->len - at < sizeof(head))
		return 0;
	memcpy(&head, file->data + at, sizeof(head));
	*data = file->data + at + sizeof(head);
	*len = head.bytes;
	if (head.magic != magic || head.bytes > file->len - at - sizeof(head) ||
	    as_hash64(*data, head.bytes) != head.sum)
		return 0;
	return sizeof(head) + head.bytes;
}

static int lock(const struct as_frames *f, struct as_err *err)
{
	int rc = as_dir_lock_file(f->fd, true, AS_DIR_LOCK_DYING_US);

	if (rc == -EWOULDBLOCK)
		return as_fail(err, AS_EUSE, "%s: another process goes on with it", f->path);
	return rc ? as_fail_errno(err, -rc, "%s: cannot lock it", f->path) : 0;
}

/* Reads what is there, and cuts it after the last whole record. */
static int recall(struct as_frames *f, const struct as_dir *dir, const char *name,
		  struct as_err *err)
{
	const char *data;
	size_t len, at = 0, n;
	int rc = as_dir_read(dir, name, FILE_BYTES, &f->old, err);

	if (rc)
		return rc;
	while ((n = as_frame_take(&f->old, at, MAGIC, &data, &len))) {
		if (!at) {
			f->head = as_xstrndup(data, len);
			f->first = n;
		}
		at += n;
	}
	if (!at)
		return as_fail(err, AS_EUSE, "%s: it is not of this version", f->path);
	f->old.len = at;
	return ftruncate(f->fd, (off_t)at) ? as_fail_errno(err, errno, "%s", f->path) : 0;
}

int as_frames_open(const struct as_dir *dir, const char *name, const char *head, bool resume,
		   struct as_frames **out, struct as_err *err)
{
	struct as_frames *f = as_xcalloc(1, sizeof(*f));
	struct as_buf text = { 0 };
	int rc = 0;

	f->fd = -1;
	as_buf_addf(&text, "%s/%s", dir->path, name);
	f->path = as_xstrdup(as_buf_str(&text));
	as_buf_clear(&text);
	if (!resume) {
		as_frame_put(&text, MAGIC, head, strlen(head));
		rc = as_dir_write(dir, name, &text, err);
		f->head = as_xstrdup(head);
	}
	if (!rc) {
		f->fd = openat(dir->fd, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
		if (f->fd < 0)
			rc = as_fail(err, AS_EUSE, "%s: there is nothing to go on with: %s",
				     f->path, strerror(errno));
	}
	if (!rc)
		rc = lock(f, err);
	if (!rc && resume)
		rc = recall(f, dir, name, err);
	as_buf_free(&text);
	if (rc) {
		as_frames_close(f);
		f = NULL;
	}
	*out = f;
	return rc;
}

void as_frames_close(struct as_frames *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	as_buf_free(&f->old);
	free(f->head);
	free(f->path);
	free(f);
}

const char *as_frames_head(const struct as_frames *f)
{
	return f->head;
}

const char *as_frames_path(const struct as_frames *f)
{
	return f->path;
}

int as_frames_each(const struct as_frames *f, int (*fn)(void *ctx, const void *data, size_t len),
		   void *ctx)
{
	size_t at = f ? f->first : 0, len, n;
	const char *data;
	int rc = 0;

	while (f && !rc && (n = as_frame_take(&f->old, at, MAGIC, &data, &len))) {
		rc = fn(ctx, data, len);
		at += n;
	}
	return rc;
}

int as_frames_add(const struct as_frames *f, const void *data, size_t len, struct as_err *err)
{
	struct as_buf out = { 0 };
	ssize_t n;
	int rc = 0;

	if (!f)
		return 0;
	as_frame_put(&out, MAGIC, data, len);
	do
		n = write(f->fd, out.data, out.len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		rc = as_fail_errno(err, errno, "%s", f->path);
	else if ((size_t)n != out.len)
		rc = as_fail(err, AS_EIO, "%s: only a part could be written", f->path);
	as_buf_free(&out);
	return rc;
}
