/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_watched: a file system around a linked one. It hands every call on. Where calls fail, or
 * what they use is measured, it tells the host when a call begins and how it ends: success although
 * something that it asked for has failed is a finding. A count that is shorter than what was asked
 * for says that something went wrong.
 *
 * An answer that is negative and no errno is a finding, too, and is handed on as EPROTO: codes of a
 * library's own must not be taken for answers of the executor (work/outcome.h). Only what the
 * executor has told readdir itself may come back.
 */
#include "vfs/lib_watched.h"

#include "base/err.h"
#include "work/outcome.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct as_watched {
	struct as_target_ops ops;
	const struct as_target_ops *inner;
	struct as_host_mem *host;
	bool faulty, measured;
	struct as_fs *fs; /* the one around which this is; NULL: not mounted */
};

static struct as_watched *of(struct as_fs *fs)
{
	return (struct as_watched *)(void *)fs;
}

#define CALLS                                                                                     \
	CALL(int, sync, (struct as_fs * fs), (w->fs))                                             \
	CALL(int, getattr, (struct as_fs * fs, const char *path, struct as_stat *st),             \
	     (w->fs, path, st))                                                                   \
	CALL(int, setattr,                                                                        \
	     (struct as_fs * fs, const char *path, const struct as_stat *st, unsigned set),       \
	     (w->fs, path, st, set))                                                              \
	CALL(int, mkdir, (struct as_fs * fs, const char *path, uint32_t mode),                    \
	     (w->fs, path, mode))                                                                 \
	CALL(int, rmdir, (struct as_fs * fs, const char *path), (w->fs, path))                    \
	CALL(int, unlink, (struct as_fs * fs, const char *path), (w->fs, path))                   \
	CALL(int, rename, (struct as_fs * fs, const char *from, const char *to, unsigned flags),  \
	     (w->fs, from, to, flags))                                                            \
	CALL(int, readdir, (struct as_fs * fs, const char *path, as_fill_fn fill, void *ctx),     \
	     (w->fs, path, fill, ctx))                                                            \
	CALL(int, open,                                                                           \
	     (struct as_fs * fs, const char *path, unsigned flags, uint32_t mode,                 \
	      struct as_handle **handle),                                                         \
	     (w->fs, path, flags, mode, handle))                                                  \
	CALL(int, close, (struct as_fs * fs, struct as_handle * handle), (w->fs, handle))         \
	CALL(int, fgetattr, (struct as_fs * fs, struct as_handle * handle, struct as_stat * st),  \
	     (w->fs, handle, st))                                                                 \
	CALL(int, fsetattr,                                                                       \
	     (struct as_fs * fs, struct as_handle * handle, const struct as_stat *st,             \
	      unsigned set),                                                                      \
	     (w->fs, handle, st, set))                                                            \
	CALL(int, fsync, (struct as_fs * fs, struct as_handle * handle, bool data_only),          \
	     (w->fs, handle, data_only))                                                          \
	CALL(int, link, (struct as_fs * fs, const char *from, const char *to), (w->fs, from, to)) \
	CALL(int, link_handle, (struct as_fs * fs, struct as_handle * handle, const char *to),    \
	     (w->fs, handle, to))                                                                 \
	CALL(int, symlink, (struct as_fs * fs, const char *text, const char *path),               \
	     (w->fs, text, path))                                                                 \
	CALL(int64_t, readlink, (struct as_fs * fs, const char *path, char *buf, size_t len),     \
	     (w->fs, path, buf, len))                                                             \
	CALL(int, mknod, (struct as_fs * fs, const char *path, uint32_t mode, uint64_t rdev),     \
	     (w->fs, path, mode, rdev))                                                           \
	CALL(int, fallocate,                                                                      \
	     (struct as_fs * fs, struct as_handle * handle, unsigned mode, uint64_t off,          \
	      uint64_t len),                                                                      \
	     (w->fs, handle, mode, off, len))                                                     \
	CALL(int, setxattr,                                                                       \
	     (struct as_fs * fs, const char *path, const char *name, const void *value,           \
	      size_t len, unsigned flags),                                                        \
	     (w->fs, path, name, value, len, flags))                                              \
	CALL(int64_t, getxattr,                                                                   \
	     (struct as_fs * fs, const char *path, const char *name, void *value, size_t len),    \
	     (w->fs, path, name, value, len))                                                     \
	CALL(int64_t, listxattr, (struct as_fs * fs, const char *path, char *list, size_t len),   \
	     (w->fs, path, list, len))                                                            \
	CALL(int, removexattr, (struct as_fs * fs, const char *path, const char *name),           \
	     (w->fs, path, name))                                                                 \
	CALL(int, statfs, (struct as_fs * fs, struct as_statfs * st), (w->fs, st))                \
	CALL(int, remount, (struct as_fs * fs, const char *opts), (w->fs, opts))

static inline __attribute__((always_inline)) void begin(struct as_watched *w)
{
	if (w->faulty)
		as_host_begin_call(w->host);
	if (w->measured)
		as_host_enter(w->host);
}

static __attribute__((noinline, cold)) int64_t vet(struct as_watched *w, enum as_use use,
						   int64_t answer)
{
	char what[96];

	if (answer >= -INT_MAX && as_errno_exists((int)-answer))
		return answer;
	if (use == AS_USE_readdir && answer <= -AS_ERR_TOO_MUCH && answer >= -AS_ERR_UNSUPPORTED)
		return answer;
	snprintf(what, sizeof(what), "%s answered %lld, which is no errno", as_use_name(use),
		 (long long)answer);
	as_host_blame(w->host, what);
	return -EPROTO;
}

/* `whole` is what success would have been, or what was answered. */
static inline __attribute__((always_inline)) int64_t end(struct as_watched *w, enum as_use use,
							 int64_t answer, int64_t whole)
{
	if (w->measured)
		as_host_exit(w->host, use);
	if (answer < 0)
		answer = vet(w, use, answer);
	if (w->faulty)
		as_host_end_call(w->host, as_use_name(use), answer == whole ? answer : -1);
	return answer;
}

#define CALL(type, name, params, args)                              \
	static type watched_##name params                           \
	{                                                           \
		struct as_watched *w = of(fs);                      \
		type answer;                                        \
                                                                    \
		begin(w);                                           \
		answer = w->inner->name args;                       \
		return (type)end(w, AS_USE_##name, answer, answer); \
	}
CALLS
#undef CALL

static int64_t watched_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len,
			    uint64_t off)
{
	struct as_watched *w = of(fs);
	int64_t answer;

	begin(w);
	answer = w->inner->read(w->fs, handle, buf, len, off);
	return end(w, AS_USE_read, answer, (int64_t)len);
}

static int64_t watched_write(struct as_fs *fs, struct as_handle *handle, const void *buf,
			     size_t len, uint64_t *off)
{
	struct as_watched *w = of(fs);
	int64_t answer;

	begin(w);
	answer = w->inner->write(w->fs, handle, buf, len, off);
	return end(w, AS_USE_write, answer, (int64_t)len);
}

static int watched_unmount(struct as_fs *fs)
{
	struct as_watched *w = of(fs);
	int answer;

	begin(w);
	answer = w->inner->unmount(w->fs);
	w->fs = NULL;
	return (int)end(w, AS_USE_unmount, answer, answer);
}

int as_watched_mount(struct as_watched *w, const struct as_mount_args *args, struct as_fs **fs)
{
	int answer;

	w->fs = NULL;
	begin(w);
	answer = w->inner->mount(args, &w->fs);
	answer = (int)end(w, AS_USE_mount, answer, answer);
	*fs = w->fs ? (struct as_fs *)(void *)w : NULL;
	return answer;
}

struct as_watched *as_watched_new(const struct as_target_ops *inner, struct as_host_mem *host,
				  bool faulty, bool measured)
{
	struct as_watched *w = as_xcalloc(1, sizeof(*w));

	w->ops = *inner;
	w->inner = inner;
	w->host = host;
	w->faulty = faulty;
	w->measured = measured;
	w->ops.unmount = watched_unmount;
	w->ops.read = watched_read;
	w->ops.write = watched_write;
#define CALL(type, name, params, args) \
	if (inner->name)               \
		w->ops.name = watched_##name;
	CALLS
#undef CALL
	return w;
}

void as_watched_free(struct as_watched *w)
{
	free(w);
}

const struct as_target_ops *as_watched_ops(const struct as_watched *w)
{
	return &w->ops;
}
