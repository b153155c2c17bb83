/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_watch: see tree_watch.h. Every call is handed on; only its answer is looked at. */
#include "vfs/tree_watch.h"

#include "os/spawn.h"

#include <errno.h>

/* ENOSPC: of a library that writes when a file is closed, as it is after it was read. */
static int64_t note(struct as_tree_watch *w, int64_t rc)
{
	if (w->alive && as_now_us() < w->until_us)
		++*w->alive;
	if (rc == -EIO || rc == -ENOMEM || rc == -EROFS || rc == -EUCLEAN || rc == -EBADMSG ||
	    rc == -EILSEQ || rc == -ENOSPC)
		w->failed = (int)-rc;
	return rc;
}

static int watch_stat(void *ctx, const char *path, struct as_stat *st)
{
	struct as_tree_watch *w = ctx;

	return (int)note(w, as_vfs_tree(w->vfs)->stat(w->vfs, path, st));
}

static int watch_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	struct as_tree_watch *w = ctx;

	return (int)note(w, as_vfs_tree(w->vfs)->list(w->vfs, path, fill, fill_ctx));
}

static int64_t watch_readlink(void *ctx, const char *path, char *buf, size_t len)
{
	struct as_tree_watch *w = ctx;

	return note(w, as_vfs_tree(w->vfs)->readlink(w->vfs, path, buf, len));
}

static int64_t watch_read(void *ctx, const char *path, void *buf, size_t len, uint64_t off)
{
	struct as_tree_watch *w = ctx;

	return note(w, as_vfs_tree(w->vfs)->read(w->vfs, path, buf, len, off));
}

static int64_t watch_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	struct as_tree_watch *w = ctx;

	return note(w, as_vfs_tree(w->vfs)->listxattr(w->vfs, path, buf, len));
}

static int64_t watch_getxattr(void *ctx, const char *path, const char *name, void *buf, size_t len)
{
	struct as_tree_watch *w = ctx;

	return note(w, as_vfs_tree(w->vfs)->getxattr(w->vfs, path, name, buf, len));
}

static void watch_rest(void *ctx)
{
	struct as_tree_watch *w = ctx;

	as_vfs_tree_rest(w->vfs);
}

const struct as_tree_ops as_tree_watch_ops = {
	.stat = watch_stat,
	.list = watch_list,
	.readlink = watch_readlink,
	.read = watch_read,
	.listxattr = watch_listxattr,
	.getxattr = watch_getxattr,
	.rest = watch_rest,
};
