/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_rig: what the tests of labfs share: a rig (disk, host, mounted file system), short calls,
 * and a picture of the whole tree as text that can be compared.
 */
#ifndef AS_TESTS_LIB_LAB_RIG_H
#define AS_TESTS_LIB_LAB_RIG_H

#include "tests/lib/lab_membd.h"

#include <fcntl.h>
#include <labfs/labfs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
/* after the above: cmocka wants them first */
#include <cmocka.h>

#define FS (&lab_target)

struct rig {
	struct membd disk;
	struct memhost host;
	struct as_fs *fs;
	const char *opts;
};

int t_rig_mount(struct rig *r, bool readonly);

int t_rig_unmount(struct rig *r);

void t_rig_open(struct rig *r, uint64_t size, const char *opts);

void t_rig_close(struct rig *r);

void t_rig_again(struct rig *r);

/* The checker's answer, looking only; 0 = nothing wrong. */
int t_rig_fsck(struct rig *r);

/* ---- Short calls ---- */

int t_touch(struct rig *r, const char *path);

/* Writes len bytes of `fill` at off. */
int64_t t_put_at(struct rig *r, const char *path, unsigned flags, uint8_t fill, size_t len,
		 uint64_t off);

/* Reads up to len bytes at off. */
int64_t t_get_at(struct rig *r, const char *path, void *buf, size_t len, uint64_t off);

int t_set_size(struct rig *r, const char *path, uint64_t size);

struct as_stat t_stat_of(struct rig *r, const char *path);

/* ---- A picture of the tree ---- */

struct text {
	char *at;
	size_t len, cap;
};

void t_text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct names {
	char *name[5000];
	int count;
};

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

void t_look_at(struct look *l, const char *path);

/* Digest of a file's contents as a line of the picture. */
void t_see_digest(void *ctx, const char *path, const uint8_t *data, size_t len);

/* The whole tree with contents; the caller frees it. Errors show up as a line. */
char *t_picture(struct rig *r);

#endif
