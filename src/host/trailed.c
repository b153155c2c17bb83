/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trailed: a file system around a library, and a device around the one that it works on
 * (trailed_io.c). Both hand every call on, and put it on a trail. A call is put on the trail before
 * it is made, so that the last one is known if it does not come back.
 */
#include "host/trailed_priv.h"

#include "base/array.h"
#include "host/host.h"

#include <assay/solo.h>
#include <stdlib.h>
#include <string.h>

static struct as_trailed *of(struct as_fs *fs)
{
	return (struct as_trailed *)(void *)fs;
}

static struct as_trailed *of_args(const struct as_mount_args *args)
{
	return args->flash ? as_trailed_of_flash(args->flash) : as_trailed_of_bd(args->bd);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static int32_t number_of(const struct as_trailed *t, const struct as_handle *handle)
{
	for (size_t i = t->n_handles; i-- > 0;)
		if (t->handles[i] == handle && handle)
			return (int32_t)i;
	return -1;
}

static struct as_trail_event call_of(const struct as_trailed *t, enum as_trail_fn fn,
				     const struct as_handle *handle)
{
	return (struct as_trail_event){ .what = AS_TRAIL_CALL,
					.fn = (uint8_t)fn,
					.handle = number_of(t, handle),
					.before_ns = as_host_clock(*t->host) };
}

/* What was filled in is summed up; both may be NULL. */
static int64_t back(const struct as_trailed *t, struct as_trail_event *e, int64_t ret,
		    const void *filled, size_t len)
{
	if (!e)
		return ret;
	e->ret = ret;
	e->done = true;
	e->after_ns = as_host_clock(*t->host);
	if (filled)
		e->sum = as_solo_sum(filled, len);
	return ret;
}

/* A call of a function with these paths or texts; NUM and NUM2 are numbers among its arguments. */
#define TRAILED(t, FN, handle, text, text2, num, num2, ...)                     \
	struct as_trail_event e_ = call_of((t), AS_TRAIL_##FN, (handle)), *at_; \
                                                                                \
	e_.n[0] = (uint64_t)(num);                                              \
	e_.n[1] = (uint64_t)(num2);                                             \
	at_ = as_trail_add((t)->trail, &e_, (text), (text2), NULL, 0);          \
	return (int)back((t), at_, (t)->inner->FN(__VA_ARGS__), NULL, 0)

static int trailed_mkfs(const struct as_mount_args *args)
{
	struct as_trailed *t = of_args(args);
	struct as_mount_args inner = *args;

	TRAILED(t, mkfs, NULL, args->opts, NULL, 0, 0, &inner);
}

static int trailed_fsck(const struct as_mount_args *args, enum as_fsck_mode mode)
{
	struct as_trailed *t = of_args(args);

	TRAILED(t, fsck, NULL, args->opts, NULL, mode, 0, args, mode);
}

static int trailed_mount(const struct as_mount_args *args, struct as_fs **fs)
{
	struct as_trailed *t = of_args(args);
	struct as_trail_event e = call_of(t, AS_TRAIL_mount, NULL), *at;
	int rc;

	e.n[0] = args->readonly;
	at = as_trail_add(t->trail, &e, args->opts, NULL, NULL, 0);
	t->fs = NULL;
	rc = (int)back(t, at, t->inner->mount(args, &t->fs), NULL, 0);
	*fs = t->fs ? (struct as_fs *)(void *)t : NULL;
	return rc;
}

static int trailed_unmount(struct as_fs *fs)
{
	struct as_trailed *t = of(fs);
	struct as_fs *inner = t->fs;

	t->fs = NULL;
	TRAILED(t, unmount, NULL, NULL, NULL, 0, 0, inner);
}

static int trailed_sync(struct as_fs *fs)
{
	TRAILED(of(fs), sync, NULL, NULL, NULL, 0, 0, of(fs)->fs);
}

static int trailed_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	TRAILED(of(fs), mkdir, NULL, path, NULL, mode, 0, of(fs)->fs, path, mode);
}

static int trailed_rmdir(struct as_fs *fs, const char *path)
{
	TRAILED(of(fs), rmdir, NULL, path, NULL, 0, 0, of(fs)->fs, path);
}

static int trailed_unlink(struct as_fs *fs, const char *path)
{
	TRAILED(of(fs), unlink, NULL, path, NULL, 0, 0, of(fs)->fs, path);
}

static int trailed_rename(struct as_fs *fs, const char *from, const char *to, unsigned flags)
{
	TRAILED(of(fs), rename, NULL, from, to, flags, 0, of(fs)->fs, from, to, flags);
}

static int trailed_fsync(struct as_fs *fs, struct as_handle *handle, bool data_only)
{
	TRAILED(of(fs), fsync, handle, NULL, NULL, data_only, 0, of(fs)->fs, handle, data_only);
}

static int trailed_link(struct as_fs *fs, const char *from, const char *to)
{
	TRAILED(of(fs), link, NULL, from, to, 0, 0, of(fs)->fs, from, to);
}

static int trailed_link_handle(struct as_fs *fs, struct as_handle *handle, const char *to)
{
	TRAILED(of(fs), link_handle, handle, to, NULL, 0, 0, of(fs)->fs, handle, to);
}

static int trailed_symlink(struct as_fs *fs, const char *text, const char *path)
{
	TRAILED(of(fs), symlink, NULL, text, path, 0, 0, of(fs)->fs, text, path);
}

static int trailed_mknod(struct as_fs *fs, const char *path, uint32_t mode, uint64_t rdev)
{
	TRAILED(of(fs), mknod, NULL, path, NULL, mode, rdev, of(fs)->fs, path, mode, rdev);
}

static int trailed_removexattr(struct as_fs *fs, const char *path, const char *name)
{
	TRAILED(of(fs), removexattr, NULL, path, name, 0, 0, of(fs)->fs, path, name);
}

static int trailed_remount(struct as_fs *fs, const char *opts)
{
	TRAILED(of(fs), remount, NULL, opts, NULL, 0, 0, of(fs)->fs, opts);
}

static int trailed_fallocate(struct as_fs *fs, struct as_handle *handle, unsigned mode,
			     uint64_t off, uint64_t len)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_fallocate, handle), *at;

	e.n[0] = mode;
	e.n[1] = off;
	e.n[2] = len;
	at = as_trail_add(t->trail, &e, NULL, NULL, NULL, 0);
	return (int)back(t, at, t->inner->fallocate(t->fs, handle, mode, off, len), NULL, 0);
}

static int trailed_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
			struct as_handle **handle)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_open, NULL), *at;
	int rc;

	e.n[0] = flags;
	e.n[1] = mode;
	e.handle = (int32_t)t->n_handles;
	at = as_trail_add(t->trail, &e, path, NULL, NULL, 0);
	rc = (int)back(t, at, t->inner->open(t->fs, path, flags, mode, handle), NULL, 0);
	AS_ARRAY_ROOM(t->handles, t->n_handles, t->cap_handles);
	t->handles[t->n_handles++] = rc ? NULL : *handle;
	return rc;
}

static int trailed_close(struct as_fs *fs, struct as_handle *handle)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_close, handle), *at;

	at = as_trail_add(t->trail, &e, NULL, NULL, NULL, 0);
	if (e.handle >= 0)
		t->handles[e.handle] = NULL;
	return (int)back(t, at, t->inner->close(t->fs, handle), NULL, 0);
}

/* ---- Calls with bytes ------------------------------------------------------------------------ */

static int64_t trailed_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len,
			    uint64_t off)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_read, handle), *at;
	int64_t n;

	e.n[0] = len;
	e.n[1] = off;
	at = as_trail_add(t->trail, &e, NULL, NULL, NULL, 0);
	/* What the library does not fill in is the same every time. */
	memset(buf, AS_SOLO_POISON, len);
	n = t->inner->read(t->fs, handle, buf, len, off);
	return back(t, at, n, buf, n > 0 && (size_t)n <= len ? (size_t)n : 0);
}

static int64_t trailed_write(struct as_fs *fs, struct as_handle *handle, const void *buf,
			     size_t len, uint64_t *off)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_write, handle), *at;

	e.n[0] = len;
	e.n[1] = *off;
	at = as_trail_add(t->trail, &e, NULL, NULL, buf, len);
	return back(t, at, t->inner->write(t->fs, handle, buf, len, off), NULL, 0);
}

static int back_stat(struct as_trailed *t, struct as_trail_event *at, int rc,
		     const struct as_stat *st)
{
	(void)back(t, at, rc, NULL, 0);
	if (at && !rc) {
		at->st = *st;
		at->sum = as_solo_sum_stat(st);
	}
	return rc;
}

static int trailed_getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_getattr, NULL), *at;

	at = as_trail_add(t->trail, &e, path, NULL, NULL, 0);
	return back_stat(t, at, t->inner->getattr(t->fs, path, st), st);
}

static int trailed_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_fgetattr, handle), *at;

	at = as_trail_add(t->trail, &e, NULL, NULL, NULL, 0);
	return back_stat(t, at, t->inner->fgetattr(t->fs, handle, st), st);
}

static int trailed_setattr(struct as_fs *fs, const char *path, const struct as_stat *st,
			   unsigned set)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_setattr, NULL), *at;

	e.n[0] = set;
	e.st = *st;
	at = as_trail_add(t->trail, &e, path, NULL, NULL, 0);
	return (int)back(t, at, t->inner->setattr(t->fs, path, st, set), NULL, 0);
}

static int trailed_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st,
			    unsigned set)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_fsetattr, handle), *at;

	e.n[0] = set;
	e.st = *st;
	at = as_trail_add(t->trail, &e, NULL, NULL, NULL, 0);
	return (int)back(t, at, t->inner->fsetattr(t->fs, handle, st, set), NULL, 0);
}

/* The sum of the names, in whatever order they come. */
struct trailed_fill {
	as_fill_fn fill;
	void *ctx;
	uint32_t sum;
};

static int fill_name(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct trailed_fill *f = ctx;

	(void)as_solo_add_name(&f->sum, name, ino, type);
	return f->fill(f->ctx, name, ino, type);
}

static int trailed_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_readdir, NULL), *at;
	struct trailed_fill f = { fill, ctx, 0 };
	int rc;

	at = as_trail_add(t->trail, &e, path, NULL, NULL, 0);
	rc = (int)back(t, at, t->inner->readdir(t->fs, path, fill_name, &f), NULL, 0);
	if (at)
		at->sum = f.sum;
	return rc;
}

static int64_t trailed_readlink(struct as_fs *fs, const char *path, char *buf, size_t len)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_readlink, NULL), *at;
	int64_t n;

	e.n[0] = len;
	at = as_trail_add(t->trail, &e, path, NULL, NULL, 0);
	n = t->inner->readlink(t->fs, path, buf, len);
	return back(t, at, n, buf, n > 0 && (size_t)n <= len ? (size_t)n : 0);
}

static int trailed_setxattr(struct as_fs *fs, const char *path, const char *name, const void *value,
			    size_t len, unsigned flags)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_setxattr, NULL), *at;

	e.n[0] = len;
	e.n[1] = flags;
	at = as_trail_add(t->trail, &e, path, name, value, len);
	return (int)back(t, at, t->inner->setxattr(t->fs, path, name, value, len, flags), NULL, 0);
}

static int64_t trailed_getxattr(struct as_fs *fs, const char *path, const char *name, void *value,
				size_t len)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_getxattr, NULL), *at;
	int64_t n;

	e.n[0] = len;
	at = as_trail_add(t->trail, &e, path, name, NULL, 0);
	n = t->inner->getxattr(t->fs, path, name, value, len);
	return back(t, at, n, value, n > 0 && (size_t)n <= len ? (size_t)n : 0);
}

static int64_t trailed_listxattr(struct as_fs *fs, const char *path, char *list, size_t len)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_listxattr, NULL), *at;
	int64_t n;

	e.n[0] = len;
	at = as_trail_add(t->trail, &e, path, NULL, NULL, 0);
	n = t->inner->listxattr(t->fs, path, list, len);
	return back(t, at, n, list, n > 0 && (size_t)n <= len ? (size_t)n : 0);
}

static int trailed_statfs(struct as_fs *fs, struct as_statfs *st)
{
	struct as_trailed *t = of(fs);
	struct as_trail_event e = call_of(t, AS_TRAIL_statfs, NULL), *at;
	int rc;

	at = as_trail_add(t->trail, &e, NULL, NULL, NULL, 0);
	rc = t->inner->statfs(t->fs, st);
	if (at && rc >= 0) {
		at->n[0] = st->blocks_free;
		at->n[1] = st->blocks;
		at->n[2] = st->files_free;
		at->n[3] = st->files;
	}
	return (int)back(t, at, rc, rc ? NULL : st, sizeof(*st));
}

/* ---- Life ------------------------------------------------------------------------------------ */

void as_trailed_tree(struct as_trailed *t)
{
	struct as_solo_text text = { 0 };

	if (!t->fs)
		return;
	as_solo_tree_add(t->inner, t->fs, "/", &text);
	as_trail_mark(t->trail, AS_TRAIL_TREE, 0, text.text, text.len + 1);
	free(text.text);
}

struct as_trailed *as_trailed_new(const struct as_target_ops *inner, struct as_trail *trail,
				  struct as_host_mem *const *host, struct as_medium *medium,
				  struct as_bd *bd, struct as_flash *flash)
{
	struct as_trailed *t = as_xcalloc(1, sizeof(*t));

	t->inner = inner;
	t->trail = trail;
	t->host = host;
	t->medium = medium;
	t->inner_bd = bd;
	t->inner_flash = flash;
	if (bd)
		t->bd = *bd;
	t->bd.ops = &as_trailed_bd_ops;
	if (flash)
		t->flash = *flash;
	t->flash.ops = &as_trailed_flash_ops;
	t->ops = *inner;
#define X(name)          \
	if (inner->name) \
		t->ops.name = trailed_##name;
	AS_TRAIL_FNS(X)
#undef X
	return t;
}

void as_trailed_free(struct as_trailed *t)
{
	if (!t)
		return;
	free(t->handles);
	free(t);
}

const struct as_target_ops *as_trailed_ops(const struct as_trailed *t)
{
	return &t->ops;
}

struct as_bd *as_trailed_bd(struct as_trailed *t)
{
	return t->inner_flash ? NULL : &t->bd;
}

struct as_flash *as_trailed_flash(struct as_trailed *t)
{
	return t->inner_flash ? &t->flash : NULL;
}
