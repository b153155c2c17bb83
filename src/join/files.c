/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files: folders and files that are read and copied, see join_priv.h. They may be anybody's: names
 * are plain, links are not followed, and only regular files count. */
#include "base/array.h"
#include "join/join_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 20)

static int add_name(void *ctx, const char *name)
{
	struct join_names *names = ctx;

	if (as_dir_is_plain(name)) {
		AS_ARRAY_ROOM(names->v, names->n, names->cap);
		names->v[names->n++] = as_xstrdup(name);
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void as_join_names(const struct as_dir *dir, struct join_names *names)
{
	*names = (struct join_names){ 0 };
	as_dir_each(dir, add_name, names);
	if (names->n)
		qsort(names->v, names->n, sizeof(names->v[0]), by_name);
}

void as_join_names_free(struct join_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	*names = (struct join_names){ 0 };
}

json_t *as_join_load(const struct as_dir *dir, const char *name)
{
	struct as_buf text = { 0 };
	json_t *root = NULL;

	if (as_dir_has(dir, name) && !as_dir_read(dir, name, JOIN_JSON_MAX_BYTES, &text, NULL))
		root = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	as_buf_free(&text);
	if (root && !json_is_object(root)) {
		json_decref(root);
		root = NULL;
	}
	return root;
}

static int put_bytes(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return -1;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* A name that run folders are cleaned of when nobody uses them (os/rundir.h). */
static void temp_name(const char *name, char temp[static NAME_MAX + 1])
{
	snprintf(temp, NAME_MAX + 1, AS_RUN_PART "%ld.%.100s", (long)getpid(), name);
}

static int begin(const struct as_dir *dir, const char *temp)
{
	return openat(dir->fd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
}

static int end(const struct as_dir *dir, int fd, int failed, const char *temp, const char *name,
	       struct as_err *err)
{
	if (fd >= 0 && close(fd) && !failed)
		failed = errno;
	if (!failed && renameat(dir->fd, temp, dir->fd, name))
		failed = errno;
	if (!failed)
		return 0;
	unlinkat(dir->fd, temp, 0);
	return as_fail_errno(err, failed, "%s/%s", dir->path, name);
}

int as_join_save(const struct as_dir *dir, const char *name, const json_t *object,
		 struct as_err *err)
{
	char temp[NAME_MAX + 1], *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	int fd, failed = 0;

	if (!text)
		as_out_of_memory(1);
	temp_name(name, temp);
	fd = begin(dir, temp);
	if (fd < 0 || put_bytes(fd, text, strlen(text)) || put_bytes(fd, "\n", 1))
		failed = errno;
	free(text);
	return end(dir, fd, failed, temp, name, err);
}

/* 0, an errno of the copy, or a negative one of what is read. */
static int copy_bytes(int from, int to)
{
	char *data = as_xmalloc(COPY_BYTES);
	uint64_t sum = 0;
	ssize_t n;
	int failed = 0;

	while (!failed && (n = read(from, data, COPY_BYTES)) != 0) {
		if (n < 0)
			failed = errno == EINTR ? 0 : -errno;
		else if ((sum += (uint64_t)n) > JOIN_FILE_MAX_BYTES)
			failed = -EFBIG;
		else if (put_bytes(to, data, (size_t)n))
			failed = errno;
	}
	free(data);
	return failed;
}

int as_join_copy(const struct as_dir *from, const char *name, const struct as_dir *to,
		 const char *as, struct as_err *err)
{
	int in = openat(from->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char temp[NAME_MAX + 1];
	struct stat st;
	int out, failed;

	if (in < 0 || fstat(in, &st) || !S_ISREG(st.st_mode)) {
		if (in >= 0)
			close(in);
		return 0;
	}
	temp_name(as, temp);
	out = begin(to, temp);
	failed = out < 0 ? errno : copy_bytes(in, out);
	if (!failed && st.st_mode & 0100 && fchmod(out, 0755))
		failed = errno;
	close(in);
	if (failed < 0)
		as_fail_errno(err, -failed, "%s/%s: cannot read it", from->path, name);
	if (failed < 0) {
		close(out);
		unlinkat(to->fd, temp, 0);
		return AS_EIO;
	}
	return end(to, out, failed, temp, as, err);
}

int as_join_copy_all(const struct as_dir *from, const struct as_dir *to, struct as_err *err)
{
	struct join_names names;
	int rc = 0;

	as_join_names(from, &names);
	for (size_t i = 0; i < names.n && !rc; i++)
		rc = as_join_copy(from, names.v[i], to, names.v[i], err);
	as_join_names_free(&names);
	return rc;
}

bool as_join_is_cov(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, ".cov");
}

uint64_t as_join_number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}
