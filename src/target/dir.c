/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dir: a directory of a file system that is already mounted. Each workload gets a fresh folder
 * below it, which is removed afterwards. There is no disk of ours, so there are no faults and no
 * crashes.
 *
 * The file system may not answer. So a child looks at the directory, here and wherever it is used
 * (instance/folder.h): this process must never wait for it.
 */
#include "target/kinds_priv.h"

#include "os/spawn.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define LOOK_MS 5000

struct look {
	const char *path;
	int err; /* errno */
	bool is_dir;
	struct as_target_place place;
	char real[PATH_MAX];
};

static int look(void *ctx)
{
	struct look *l = ctx;
	struct statfs sfs;
	struct stat st;

	as_spawn_be_silent();
	if (stat(l->path, &st) || !realpath(l->path, l->real)) {
		l->err = errno;
		return 0;
	}
	l->is_dir = S_ISDIR(st.st_mode);
	if (!statfs(l->path, &sfs))
		l->place = (struct as_target_place){ (int64_t)sfs.f_type, (uint32_t)sfs.f_bsize };
	else
		l->place.block_bytes = 4096;
	return 0;
}

static int take(struct as_target *t, const struct look *l, struct as_err *err)
{
	if (l->err) {
		as_fail_errno(err, l->err, "target dir:%s", l->path);
		return AS_EUSE;
	}
	if (!l->is_dir)
		return as_fail(err, AS_EUSE, "target dir:%s: not a directory", l->path);
	t->name = as_xstrdup("dir");
	t->dir = as_xstrdup(l->real);
	t->place = l->place;
	t->limits = (struct as_limits){ .name_max = NAME_MAX };
	return 0;
}

int as_target_open_dir(struct as_target *t, const char *rest, struct as_err *err)
{
	struct as_ended ended = { 0 };
	struct look *l;
	int rc;

	if (!*rest)
		return as_fail(err, AS_EUSE, "target dir: expected dir:PATH");
	l = as_shared_alloc(sizeof(*l));
	l->path = rest;
	rc = as_spawn_fork(look, l, LOOK_MS, NULL, &ended, err);
	if (!rc && ended.how != AS_END_EXIT)
		rc = as_fail(err, AS_EIO, "target dir:%s: does not answer within %d s", rest,
			     LOOK_MS / 1000);
	if (!rc)
		rc = take(t, l, err);
	as_shared_free(l, sizeof(*l));
	return rc;
}
