/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suite: see suite.h. */
#include "damage/suite.h"

#include "base/array.h"
#include "os/dir.h"
#include "trace/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 4096u
#define PIECE_BYTES AS_CHUNK_BYTES

struct names {
	char **items;
	size_t n, cap;
};

static int add_name(void *ctx, const char *name)
{
	struct names *names = ctx;

	AS_ARRAY_ROOM(names->items, names->n, names->cap);
	names->items[names->n++] = as_xstrdup(name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- One image ------------------------------------------------------------------------------- */

static size_t read_fd(void *ctx, char *out, size_t len)
{
	ssize_t n;

	while ((n = read(*(int *)ctx, out, len)) < 0 && errno == EINTR)
		;
	return n > 0 ? (size_t)n : 0;
}

/* Unpacks into memory: what is all zeros takes none. */
struct pieces {
	struct as_chunks *store;
	struct as_disk *disk; /* of AS_SUITE_IMAGE_MAX bytes */
	uint64_t size;
};

static int take_piece(struct pieces *p, const char *data, size_t len, struct as_err *err)
{
	static const char zeros[PIECE_BYTES];
	char padded[PIECE_BYTES] = { 0 };

	if (p->size + len > AS_SUITE_IMAGE_MAX)
		return AS_ENOMEM;
	if (memcmp(data, zeros, len)) {
		memcpy(padded, data, len);
		if (as_bd_write(as_disk_bd(p->disk), p->size, padded, PIECE_BYTES))
			return as_fail(err, AS_EIO, "cannot keep an image in memory");
	}
	p->size += len;
	return 0;
}

static int unpack_all(struct pieces *p, int fd, const char *name, struct as_err *err)
{
	char head[HEAD_BYTES], piece[PIECE_BYTES];
	size_t head_len = read_fd(&fd, head, sizeof(head));
	struct as_unpack *unpack = NULL;
	struct as_err failed = { 0 };
	int rc = as_unpack_new(head, head_len, read_fd, &fd, name, &unpack, err);

	/* It is not packed. */
	if (!rc && !unpack)
		lseek(fd, 0, SEEK_SET);

	for (;;) {
		size_t n = 0, got = 1;

		while (!rc && got && n < sizeof(piece)) {
			got = unpack ? as_unpack_read(unpack, piece + n, sizeof(piece) - n, &failed)
				     : read_fd(&fd, piece + n, sizeof(piece) - n);
			n += got;
		}
		if (rc || !n)
			break;
		rc = take_piece(p, piece, n, err);
	}
	as_unpack_free(unpack);
	if (!rc && failed.code)
		rc = as_fail(err, AS_EUSE, "%s", failed.msg);
	return rc;
}

static int copy_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	struct as_disk *to = ctx;
	uint64_t at = index * AS_CHUNK_BYTES, left = as_disk_size(to) - at;

	as_assert(!as_bd_write(as_disk_bd(to), at, data,
			       left < AS_CHUNK_BYTES ? left : AS_CHUNK_BYTES));
	return 0;
}

/* A disk of the image's size. */
static int finish(struct pieces *p, struct as_disk **disk, struct as_err *err)
{
	uint64_t size =
		(p->size + AS_DISK_SECTOR_BYTES - 1) & ~(uint64_t)(AS_DISK_SECTOR_BYTES - 1);
	int rc = as_disk_new(p->store, size ? size : AS_DISK_SECTOR_BYTES, disk, err);

	if (!rc)
		as_disk_each(p->disk, copy_chunk, *disk);
	return rc;
}

static int load_image(struct as_fsck_suite *s, struct as_chunks *store, int fd, const char *name,
		      struct as_err *err)
{
	struct pieces p = { .store = store };
	struct as_disk *disk = NULL;
	int rc = as_disk_new(store, AS_SUITE_IMAGE_MAX + PIECE_BYTES, &p.disk, err);

	if (!rc)
		rc = unpack_all(&p, fd, name, err);
	if (rc == AS_ENOMEM)
		rc = as_fail(err, AS_EUSE, "%s: it has more than %u MiB", name,
			     (unsigned)(AS_SUITE_IMAGE_MAX >> 20));
	else if (!rc && !p.size)
		rc = as_fail(err, AS_EUSE, "%s: it is empty", name);
	if (rc == AS_EUSE) {
		as_buf_addf(&s->left_out, "%s\n", err->msg);
		rc = 0;
	} else if (!rc) {
		rc = finish(&p, &disk, err);
	}
	if (!rc && disk) {
		AS_ARRAY_ROOM(s->images, s->n, s->cap);
		s->images[s->n++] = (struct as_suite_image){ as_xstrdup(name), disk };
	}
	as_disk_free(p.disk);
	return rc;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && !strcmp(name + n - m, end);
}

static bool is_image(const char *name)
{
	return !strcmp(name, "image.gz") || ends_in(name, ".img") || ends_in(name, ".img.gz") ||
	       ends_in(name, ".img.zst");
}

/* A case of the suite, or an image itself. */
static int load_entry(struct as_fsck_suite *s, struct as_chunks *store, const struct as_dir *dir,
		      const char *name, struct as_err *err)
{
	struct stat st;
	int fd, rc = 0;

	if (fstatat(dir->fd, name, &st, 0))
		return 0;
	if (S_ISDIR(st.st_mode)) {
		int below = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		fd = below < 0 ? -1 : openat(below, "image.gz", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (below >= 0)
			close(below);
	} else {
		fd = is_image(name) && S_ISREG(st.st_mode)
			     ? openat(dir->fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
			     : -1;
	}
	if (fd >= 0) {
		rc = load_image(s, store, fd, name, err);
		close(fd);
	}
	return rc;
}

int as_suite_load(struct as_chunks *store, const char *path, struct as_fsck_suite *out,
		  struct as_err *err)
{
	struct names names = { 0 };
	struct as_dir dir = AS_DIR_NONE;
	int rc = as_dir_open(path, NULL, &dir, err);

	*out = (struct as_fsck_suite){ 0 };
	if (!rc)
		rc = as_dir_each(&dir, add_name, &names);
	if (names.n)
		qsort(names.items, names.n, sizeof(*names.items), by_name);
	for (size_t i = 0; !rc && i < names.n; i++)
		rc = load_entry(out, store, &dir, names.items[i], err);
	if (!rc && !out->n)
		rc = as_fail(
			err, AS_EUSE,
			"--suite %s: there is no image in it: expected CASE/image.gz, or files "
			"*.img, *.img.gz, *.img.zst%s%.*s",
			path, out->left_out.len ? "; " : "",
			(int)strcspn(as_buf_str(&out->left_out), "\n"), as_buf_str(&out->left_out));
	for (size_t i = 0; i < names.n; i++)
		free(names.items[i]);
	free(names.items);
	as_dir_close(&dir);
	if (rc)
		as_suite_free(out);
	return rc;
}

void as_suite_free(struct as_fsck_suite *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->images[i].name);
		as_disk_free(s->images[i].disk);
	}
	free(s->images);
	as_buf_free(&s->left_out);
	*s = (struct as_fsck_suite){ 0 };
}
