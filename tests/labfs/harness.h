/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * harness.h: what the tests of labfs share: a rig (disk, host, mounted file system), short calls,
 * and a picture of the whole tree as text that can be compared.
 */
#ifndef TESTS_LABFS_HARNESS_H
#define TESTS_LABFS_HARNESS_H

#include "membd.h"

#include <fcntl.h>
#include <labfs/labfs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
/* after the above: cmocka wants them first */
#include <cmocka.h>

#define FS (&lab_target)
#define UNUSED __attribute__((unused))

struct rig {
	struct membd disk;
	struct memhost host;
	struct as_fs *fs;
	const char *opts;
};

UNUSED static int rig_mount(struct rig *r, bool readonly)
{
	struct as_mount_args args = { &r->host.host, &r->disk.bd, r->opts, readonly };

	r->fs = NULL;
	return FS->mount(&args, &r->fs);
}

UNUSED static int rig_unmount(struct rig *r)
{
	int rc = FS->unmount(r->fs);

	r->fs = NULL;
	return rc;
}

UNUSED static void rig_open(struct rig *r, uint64_t size, const char *opts)
{
	struct as_mount_args args = { &r->host.host, &r->disk.bd, "", false };

	memset(r, 0, sizeof(*r));
	mem_open(&r->disk, size);
	memhost_init(&r->host);
	r->opts = opts;
	assert_int_equal(FS->mkfs(&args), 0);
	assert_int_equal(rig_mount(r, false), 0);
}

UNUSED static void rig_close(struct rig *r)
{
	if (r->fs)
		assert_int_equal(rig_unmount(r), 0);
	assert_int_equal(r->host.live, 0);
	mem_close(&r->disk);
}

UNUSED static void rig_again(struct rig *r)
{
	assert_int_equal(rig_unmount(r), 0);
	assert_int_equal(r->host.live, 0);
	assert_int_equal(rig_mount(r, false), 0);
}

/* The checker's answer, read-only; 0 = nothing is wrong. */
UNUSED static int rig_fsck(struct rig *r)
{
	struct as_mount_args args = { &r->host.host, &r->disk.bd, "", true };

	return FS->fsck(&args, AS_FSCK_FULL);
}

/* ---- Short calls ---- */

UNUSED static int touch(struct rig *r, const char *path)
{
	struct as_handle *h;
	int rc = FS->open(r->fs, path, O_CREAT | O_RDWR, 0644, &h);

	return rc ? rc : FS->close(r->fs, h);
}

/* Writes len bytes of `fill` at off. */
UNUSED static int64_t put_at(struct rig *r, const char *path, unsigned flags, uint8_t fill,
			     size_t len, uint64_t off)
{
	struct as_handle *h;
	uint8_t *buf = malloc(len ? len : 1);
	int64_t n = FS->open(r->fs, path, flags | O_RDWR, 0644, &h);

	memset(buf, fill, len);
	if (!n) {
		int close_rc;

		n = FS->write(r->fs, h, buf, len, &off);
		close_rc = FS->close(r->fs, h);
		n = n < 0 || !close_rc ? n : close_rc;
	}
	free(buf);
	return n;
}

/* Reads up to len bytes at off. */
UNUSED static int64_t get_at(struct rig *r, const char *path, void *buf, size_t len, uint64_t off)
{
	struct as_handle *h;
	int64_t n = FS->open(r->fs, path, O_RDONLY, 0, &h);
	int close_rc;

	if (n)
		return n;
	n = FS->read(r->fs, h, buf, len, off);
	close_rc = FS->close(r->fs, h);
	return n < 0 || !close_rc ? n : close_rc;
}

UNUSED static int set_size(struct rig *r, const char *path, uint64_t size)
{
	struct as_stat st = { .size = size };

	return FS->setattr(r->fs, path, &st, AS_SET_SIZE);
}

UNUSED static struct as_stat stat_of(struct rig *r, const char *path)
{
	struct as_stat st = { 0 };

	assert_int_equal(FS->getattr(r->fs, path, &st), 0);
	return st;
}

/* ---- A picture of the tree ---- */

struct text {
	char *at;
	size_t len, cap;
};

__attribute__((format(printf, 2, 3))) UNUSED static void text_add(struct text *t, const char *fmt,
								  ...)
{
	va_list ap;
	int n;

	if (t->cap - t->len < 8192) {
		t->cap = t->cap * 2 + 16384;
		t->at = realloc(t->at, t->cap);
	}
	va_start(ap, fmt);
	n = vsnprintf(t->at + t->len, t->cap - t->len, fmt, ap);
	va_end(ap);
	t->len += (size_t)n;
}

struct names {
	char *name[5000];
	int count;
};

UNUSED static int names_fill(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct names *n = ctx;

	(void)ino;
	(void)type;
	if (n->count < 5000)
		n->name[n->count++] = strdup(name);
	return 0;
}

UNUSED static int names_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Called for each regular file, with its contents. */
typedef void (*see_fn)(void *ctx, const char *path, const uint8_t *data, size_t len);

struct look {
	struct rig *r;
	struct text *out;
	see_fn see;
	void *ctx;
	int count; /* of what it has seen */
	int error; /* first, met while looking */
};

UNUSED static void look_xattrs(struct look *l, const char *path)
{
	char list[1024], value[1024];
	int64_t n = FS->listxattr(l->r->fs, path, list, sizeof(list));

	if (n < 0)
		l->error = l->error ? l->error : (int)n;
	for (char *x = list; n > 0 && x < list + n; x += strlen(x) + 1) {
		int64_t len = FS->getxattr(l->r->fs, path, x, value, sizeof(value));

		text_add(l->out, " %s=%.*s", x, len < 0 ? 0 : (int)len, value);
	}
}

UNUSED static void look_at(struct look *l, const char *path)
{
	struct as_stat st;
	struct names *names = NULL;
	char text[1100];
	int64_t n = 0;
	int rc = FS->getattr(l->r->fs, path, &st);

	if (rc) {
		l->error = l->error ? l->error : rc;
		return;
	}
	text_add(l->out,
		 "%s %o nlink=%u uid=%u gid=%u rdev=%lu size=%lu blocks=%lu mtime=%ld ctime=%ld",
		 path, st.mode, st.nlink, st.uid, st.gid, st.rdev, st.size, st.blocks, st.mtime_ns,
		 st.ctime_ns);
	look_xattrs(l, path);
	if (S_ISLNK(st.mode)) {
		n = FS->readlink(l->r->fs, path, text, sizeof(text));
		text_add(l->out, " -> %.*s", n > 0 ? (int)n : 0, text);
	}
	text_add(l->out, "\n");
	if (S_ISREG(st.mode) && l->see) {
		uint8_t *data = malloc(st.size + 1);

		n = get_at(l->r, path, data, st.size + 1, 0);
		if (n == (int64_t)st.size)
			l->see(l->ctx, path, data, st.size);
		else
			n = n < 0 ? n : -ENODATA;
		free(data);
	}
	if (S_ISDIR(st.mode)) {
		names = calloc(1, sizeof(*names));
		n = FS->readdir(l->r->fs, path, names_fill, names);
		qsort(names->name, (size_t)names->count, sizeof(char *), names_order);
	}
	if (n < 0)
		l->error = l->error ? l->error : (int)n;
	for (int i = 0; names && i < names->count; i++) {
		char child[4096];

		snprintf(child, sizeof(child), "%s/%s", path[1] ? path : "", names->name[i]);
		free(names->name[i]);
		if (strlen(path) < 400 && ++l->count < 10000) /* a damaged tree may be a loop */
			look_at(l, child);
	}
	free(names);
}

/* Digest of a file's contents as a line of the picture. */
UNUSED static void see_digest(void *ctx, const char *path, const uint8_t *data, size_t len)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ data[i]) * 1099511628211u;
	text_add(ctx, "%s contents %016lx\n", path, h);
}

/* The whole tree with contents; the caller frees it. Errors show up as a line. */
UNUSED static char *picture(struct rig *r)
{
	struct text t = { 0 };
	struct look l = { .r = r, .out = &t, .see = see_digest, .ctx = &t };
	struct as_statfs sf;

	look_at(&l, "/");
	assert_int_equal(FS->statfs(r->fs, &sf), 0);
	text_add(&t, "free %lu blocks %lu files\n", sf.blocks_free, sf.files_free);
	if (l.error)
		text_add(&t, "error %d\n", l.error);
	return t.at;
}

#endif
