/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_handle: handles of files. What one leads to is opened with O_PATH, so that no device and no
 * fifo is opened. Handles are kept as long as the executor is: over mounts and power cuts.
 */
#include "vfs/sys_priv.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

union handle {
	struct file_handle head;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

struct as_sys_handles {
	struct {
		char *path; /* as the workload spells it */
		union handle handle;
	} * at;
	size_t n, cap;
};

void as_sys_handles_free(struct as_sys_handles *all)
{
	for (size_t i = 0; all && i < all->n; i++)
		free(all->at[i].path);
	if (all)
		free(all->at);
	free(all);
}

/* NULL: none was asked for under that path. */
static union handle *find(struct as_sys *s, const char *path)
{
	for (size_t i = 0; s->handles && i < s->handles->n; i++)
		if (!strcmp(s->handles->at[i].path, path))
			return &s->handles->at[i].handle;
	return NULL;
}

static union handle *make(struct as_sys *s, const char *path)
{
	union handle *old = find(s, path);
	struct as_sys_handles *all;

	if (old)
		return old;
	if (!s->handles)
		s->handles = as_xcalloc(1, sizeof(*s->handles));
	all = s->handles;
	AS_ARRAY_ROOM(all->at, all->n, all->cap);
	all->at[all->n].path = as_xstrdup(path);
	return &all->at[all->n++].handle;
}

void as_sys_handle(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	union handle handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount = 0;
	int64_t ret = as_sys_do(vfs, name_to_handle_at, AT_FDCWD, SYS_P(op->path), SYS_P(&handle),
				SYS_P(&mount), op->nofollow ? 0 : AT_SYMLINK_FOLLOW);

	as_sys_answer(out, ret);
	if (!ret)
		*make((struct as_sys *)vfs, op->path) = handle;
}

void as_sys_openhandle(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const union handle *handle = find((struct as_sys *)vfs, op->path);
	struct stat st;
	int root, fd;

	if (!handle) {
		as_vfs_answer(out, -EBADF);
		return;
	}
	root = (int)as_sys_do(vfs, openat, AT_FDCWD, SYS_P("/"),
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = (int)as_sys_do(vfs, open_by_handle_at, root, SYS_P(handle), O_PATH | O_CLOEXEC);
	as_sys_answer(out, fd < 0 ? -1 : as_sys_do(vfs, fstat, fd, SYS_P(&st)));
	if (out->ret >= 0) {
		out->payload = AS_PAYLOAD_STAT;
		as_sys_convert_stat(&st, &out->st);
	}
	if (fd >= 0)
		as_sys_do(vfs, close, fd);
	if (root >= 0)
		as_sys_do(vfs, close, root);
}
