/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep: see keep.h.
 *
 * Method. Each record is put in a frame (os/frames.h) and appended by one write. Whoever is killed
 * leaves at most one frame that is cut off, at the end.
 *
 * Invariants
 *   1. What is read of a file are whole records; the file is cut after them before anybody appends
 *      to it.
 *   2. The lists of a record lie within it; the length of each is a multiple of its items'.
 */
#include "sym/keep.h"

#include "os/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 64u
#define FILE_BYTES ((size_t)1 << 30)
#define MAGIC 0x3345594du /* and a version */
#define NAME_BYTES 320u

struct as_keep {
	struct as_buf files[FILES_MAX]; /* of earlier sessions */
	int fds[FILES_MAX];
	const char *folder; /* for messages; the folder outlives us */
};

static const size_t item_bytes[AS_KEEP_LISTS] = { sizeof(uint64_t), sizeof(uint64_t),
						  sizeof(struct as_path_cover), 1 };

static void file_name(char *out, const char *name, unsigned i)
{
	snprintf(out, NAME_BYTES, "%s.search-%u", name, i);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* False: its lists make no sense. */
static bool take_lists(const unsigned char *at, size_t len, struct as_keep_record *r)
{
	if (len < sizeof(r->head))
		return false;
	memcpy(&r->head, at, sizeof(r->head));
	at += sizeof(r->head);
	len -= sizeof(r->head);
	for (unsigned i = 0; i < AS_KEEP_LISTS; i++) {
		if (r->head.bytes[i] > len || r->head.bytes[i] % item_bytes[i])
			return false;
		r->list[i] = at;
		at += r->head.bytes[i];
		len -= r->head.bytes[i];
	}
	return !len;
}

/* Bytes of the record at `at`; 0: it is cut off, or none. After a power cut, the end may be
 * anything; what begins otherwise is no file of ours. */
static size_t take_record(const struct as_buf *file, size_t at, struct as_keep_record *r, bool *bad)
{
	const uint32_t magic = MAGIC;
	const char *data;
	size_t len, n = as_frame_take(file, at, MAGIC, &data, &len);

	if (n)
		*bad = !take_lists((const unsigned char *)data, len, r);
	else
		*bad = !at && file->len >= AS_FRAME_HEAD_BYTES &&
		       memcmp(file->data, &magic, sizeof(magic)) != 0;
	return *bad ? 0 : n;
}

void as_keep_each(const struct as_keep *k, void (*fn)(void *ctx, const struct as_keep_record *r),
		  void *ctx)
{
	for (unsigned i = 0; k && i < FILES_MAX; i++) {
		struct as_keep_record r;
		size_t at = 0, n;
		bool bad;

		while ((n = take_record(&k->files[i], at, &r, &bad))) {
			fn(ctx, &r);
			at += n;
		}
	}
}

const unsigned char *as_keep_next(const struct as_keep_record *r, size_t *at,
				  struct as_keep_values *head)
{
	size_t left = r->head.bytes[AS_KEEP_VALUES] - *at;
	const unsigned char *from = r->list[AS_KEEP_VALUES] + *at;

	if (left < sizeof(*head))
		return NULL;
	memcpy(head, from, sizeof(*head));
	if (head->n > left - sizeof(*head))
		return NULL;
	*at += sizeof(*head) + head->n;
	return from + sizeof(*head);
}

void as_keep_put(const struct as_keep_head *head, const struct as_buf lists[AS_KEEP_LISTS],
		 struct as_buf *out)
{
	struct as_keep_head h = *head;
	struct as_buf record = { 0 };

	for (unsigned i = 0; i < AS_KEEP_LISTS; i++)
		h.bytes[i] = (uint32_t)lists[i].len;
	as_buf_add(&record, &h, sizeof(h));
	for (unsigned i = 0; i < AS_KEEP_LISTS; i++)
		as_buf_add(&record, lists[i].data, lists[i].len);
	as_frame_put(out, MAGIC, record.data, record.len);
	as_buf_free(&record);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Reads one file and cuts off what is not whole at its end. */
static int read_file(struct as_keep *k, const struct as_dir *dir, const char *name, unsigned i,
		     struct as_err *err)
{
	struct as_buf *file = &k->files[i];
	struct as_keep_record r;
	size_t at = 0, n;
	bool bad = false;
	int rc = as_dir_read(dir, name, FILE_BYTES, file, err), fd;

	if (rc)
		return rc;
	while (at < file->len && (n = take_record(file, at, &r, &bad)))
		at += n;
	if (bad)
		return as_fail(err, AS_EUSE, "%s/%s: byte %zu: it is no search of this version",
			       dir->path, name, at);
	if (at == file->len)
		return 0;
	file->len = at;
	fd = openat(dir->fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)at))
		rc = as_fail_errno(err, errno, "%s/%s", dir->path, name);
	if (fd >= 0)
		close(fd);
	return rc;
}

int as_keep_open(const struct as_dir *dir, const char *name, unsigned jobs, bool resume,
		 struct as_keep **out, struct as_err *err)
{
	struct as_keep *k = as_xcalloc(1, sizeof(*k));
	char file[NAME_BYTES];
	int rc = 0;

	k->folder = dir->path;
	for (unsigned i = 0; i < FILES_MAX; i++)
		k->fds[i] = -1;
	for (unsigned i = 0; !rc && i < FILES_MAX; i++) {
		file_name(file, name, i);
		if (!as_dir_has(dir, file))
			continue;
		if (resume)
			rc = read_file(k, dir, file, i, err);
		else if (unlinkat(dir->fd, file, 0))
			rc = as_fail_errno(err, errno, "%s/%s", dir->path, file);
	}
	for (unsigned i = 0; !rc && i < jobs && i < FILES_MAX; i++) {
		file_name(file, name, i);
		k->fds[i] = openat(dir->fd, file,
				   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (k->fds[i] < 0)
			rc = as_fail_errno(err, errno, "%s/%s", dir->path, file);
	}
	if (rc)
		as_keep_free(k);
	*out = rc ? NULL : k;
	return rc;
}

void as_keep_free(struct as_keep *k)
{
	if (!k)
		return;
	for (unsigned i = 0; i < FILES_MAX; i++) {
		as_buf_free(&k->files[i]);
		if (k->fds[i] >= 0)
			close(k->fds[i]);
	}
	free(k);
}

int as_keep_write(const struct as_keep *k, unsigned worker, const struct as_buf *records,
		  struct as_err *err)
{
	size_t done = 0;

	if (!k || worker >= FILES_MAX || k->fds[worker] < 0)
		return 0;
	while (done < records->len) {
		ssize_t n = write(k->fds[worker], records->data + done, records->len - done);

		if (n < 0 && errno != EINTR)
			return as_fail_errno(err, errno, "%s: what was searched", k->folder);
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}
