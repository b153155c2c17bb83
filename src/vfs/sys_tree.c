/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_tree: operations that are many calls, and reading a whole tree. Everything goes by
 * descriptor, one directory open at a time: trees may be deeper than PATH_MAX or the table of
 * descriptors.
 */
#include "vfs/sys_priv.h"

#include "base/array.h"
#include "model/mark.h"
#include "mount/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIST_BYTES 16384
#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* The type of an entry, or 0 if it cannot be had. -ENOMEM: it could be had another time. */
static int type_of(struct as_vfs *vfs, int fd, const struct dirent64 *entry, uint32_t *type)
{
	struct stat st;

	*type = DTTOIF(entry->d_type);
	if (entry->d_type != DT_UNKNOWN)
		return 0;
	/* reiserfs_lookup() says EACCES if it gets no memory for the inode: ask once more. */
	for (int i = 0; i < 2; i++) {
		if (!as_sys_do(vfs, newfstatat, fd, SYS_P(entry->d_name), SYS_P(&st),
			       AT_SYMLINK_NOFOLLOW)) {
			*type = st.st_mode & S_IFMT;
			return 0;
		}
		if (errno != EACCES)
			return errno == ENOMEM ? -ENOMEM : 0;
	}
	return 0;
}

static int add_name(struct as_vfs *vfs, int fd, const struct dirent64 *entry,
		    struct as_vfs_names *names)
{
	uint32_t type;
	int rc;

	if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
		return 0;
	rc = type_of(vfs, fd, entry, &type);
	return rc ? rc : as_vfs_names_add(names, as_vfs_type_letter(type), entry->d_name);
}

/* The system call itself: readdir(3) takes the ENOENT of a removed directory for its end. */
static int list_all(struct as_vfs *vfs, int own, struct as_vfs_names *names)
{
	_Alignas(struct dirent64) char block[LIST_BYTES];
	ssize_t n;
	int rc = 0;

	while (!rc && (n = as_sys_do(vfs, getdents64, own, SYS_P(block), sizeof(block))) > 0) {
		for (ssize_t at = 0; at < n && !rc;) {
			const struct dirent64 *entry = (const struct dirent64 *)(block + at);

			rc = add_name(vfs, own, entry, names);
			at += entry->d_reclen;
		}
	}
	if (!rc && n < 0)
		rc = -errno;
	as_vfs_names_sort(names);
	return rc;
}

void as_sys_readdir(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_vfs_names names = { 0 };
	int fd = (int)as_sys_do(vfs, openat, AT_FDCWD, SYS_P(op->path), OPEN_DIR), rc;

	rc = fd < 0 ? -errno : list_all(vfs, fd, &names);
	if (rc)
		as_vfs_answer(out, rc);
	else
		as_vfs_answer_names(vfs, out, &names, true);
	if (fd >= 0)
		as_sys_do(vfs, close, fd);
	as_vfs_names_free(&names);
}

/* ---- remove, prune --------------------------------------------------------------------------- */

/*
 * Others may rename what we are in: ".." is believed only when it is the directory we came from,
 * and what is entered is never a link. So nothing is touched but what was below the first directory
 * when we came to it. The directories above are kept open as long as there are few of them.
 */
#define KEPT_MAX 64

struct sys_tree_level {
	struct as_vfs_names names;
	size_t next;
	dev_t dev;
	ino_t ino;
	int fd; /* -1: it was not kept */
};

struct sys_tree_climb {
	struct as_vfs *vfs; /* who is watched; NULL: nobody */
	struct sys_tree_level *levels;
	size_t n, cap;
	int fd; /* of the innermost level, where it has just been opened */
	bool force;
};

static int enter(struct sys_tree_climb *c, const struct stat *st)
{
	AS_ARRAY_ROOM(c->levels, c->n, c->cap);
	c->levels[c->n++] =
		(struct sys_tree_level){ .dev = st->st_dev, .ino = st->st_ino, .fd = c->fd };
	return list_all(c->vfs, c->fd, &c->levels[c->n - 1].names);
}

int as_sys_open_dir(struct as_vfs *vfs, int at, const char *name, bool force)
{
	char path[40];
	int fd, own;

	if (!force)
		return (int)as_sys_do(vfs, openat, at, SYS_P(name), OPEN_DIR | O_NOFOLLOW);
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* Where this does not help, the open below fails. */
	(void)!chmod(path, 0700);
	own = openat(fd, ".", OPEN_DIR);
	if (own >= 0)
		as_sys_clear_flags(own);
	close(fd);
	return own;
}

static int go_to(struct sys_tree_climb *c, const char *name)
{
	int fd = as_sys_open_dir(c->vfs, c->fd, name, c->force);

	if (fd < 0)
		return -errno;
	if (c->n > KEPT_MAX) {
		as_sys_do(c->vfs, close, c->fd);
		c->levels[c->n - 1].fd = -1;
	}
	c->fd = fd;
	return 0;
}

/* Back to the level above. */
static int go_up(struct sys_tree_climb *c)
{
	struct sys_tree_level *above = &c->levels[c->n - 1];
	bool kept = above->fd >= 0;
	struct stat st;

	if (!kept)
		above->fd = (int)as_sys_do(c->vfs, openat, c->fd, SYS_P(".."), OPEN_DIR);
	if (above->fd < 0)
		return -errno;
	as_sys_do(c->vfs, close, c->fd);
	c->fd = above->fd;
	if (kept)
		return 0;
	if (as_sys_do(c->vfs, fstat, c->fd, SYS_P(&st)))
		return -errno;
	return st.st_dev == above->dev && st.st_ino == above->ino ? 0 : -ESTALE;
}

/* A file that is append-only or immutable cannot be removed. */
static void free_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	as_sys_clear_flags(fd);
	close(fd);
}

/* The next entry of the innermost level: removed (1), or entered (0). */
static int remove_next(struct sys_tree_climb *c)
{
	struct sys_tree_level *level = &c->levels[c->n - 1];
	const char *name = as_vfs_names_at(&level->names, level->next++) + 1;
	struct stat st;
	int rc;

	if (as_sys_do(c->vfs, newfstatat, c->fd, SYS_P(name), SYS_P(&st), AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISDIR(st.st_mode)) {
		if (c->force && S_ISREG(st.st_mode))
			free_file(c->fd, name);
		return as_sys_do(c->vfs, unlinkat, c->fd, SYS_P(name), 0) ? -errno : 1;
	}
	rc = go_to(c, name);
	return rc ? rc : enter(c, &st);
}

/* The innermost level is empty: back to the one above, which removes it. */
static int leave(struct sys_tree_climb *c)
{
	struct sys_tree_level *above;
	int rc;

	as_vfs_names_free(&c->levels[--c->n].names);
	if (!c->n)
		return 0;
	above = &c->levels[c->n - 1];
	rc = go_up(c);
	if (rc)
		return rc;
	return as_sys_do(c->vfs, unlinkat, c->fd,
			 SYS_P(as_vfs_names_at(&above->names, above->next - 1) + 1), AT_REMOVEDIR)
		       ? -errno
		       : 1;
}

int as_sys_remove_below(struct as_vfs *vfs, int fd, bool force, uint64_t *done)
{
	struct sys_tree_climb c = { .vfs = vfs, .fd = fd, .force = force };
	struct stat st;
	int rc = as_sys_do(vfs, fstat, fd, SYS_P(&st)) ? -errno : enter(&c, &st);

	while (rc >= 0 && c.n) {
		struct sys_tree_level *level = &c.levels[c.n - 1];

		rc = level->next < level->names.n ? remove_next(&c) : leave(&c);
		*done += rc == 1;
	}
	while (c.n) {
		struct sys_tree_level *level = &c.levels[--c.n];

		as_vfs_names_free(&level->names);
		if (level->fd >= 0 && level->fd != c.fd)
			as_sys_do(vfs, close, level->fd);
	}
	free(c.levels);
	as_sys_do(vfs, close, c.fd);
	return rc < 0 ? rc : 0;
}

static int empty_dir(struct as_vfs *vfs, const char *path, uint64_t *done)
{
	int fd = (int)as_sys_do(vfs, openat, AT_FDCWD, SYS_P(path), OPEN_DIR);

	return fd < 0 ? -errno : as_sys_remove_below(vfs, fd, false, done);
}

void as_sys_remove(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct stat st;
	int rc = -as_op_remove_refused(op->path);

	if (!rc &&
	    as_sys_do(vfs, newfstatat, AT_FDCWD, SYS_P(op->path), SYS_P(&st), AT_SYMLINK_NOFOLLOW))
		rc = -errno;
	if (!rc && S_ISDIR(st.st_mode))
		rc = empty_dir(vfs, op->path, &out->done);
	if (!rc && as_sys_do(vfs, unlinkat, AT_FDCWD, SYS_P(op->path),
			     S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0))
		rc = -errno;
	out->done += !rc;
	as_vfs_answer(out, rc);
}

void as_sys_prune(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct stat st;
	int rc = 0;

	if (as_sys_do(vfs, newfstatat, AT_FDCWD, SYS_P(op->path), SYS_P(&st), 0))
		rc = -errno;
	else if (S_ISDIR(st.st_mode))
		rc = empty_dir(vfs, op->path, &out->done);
	else if (!S_ISREG(st.st_mode))
		rc = -EINVAL;
	else if (as_sys_do(vfs, truncate, SYS_P(op->path), 0))
		rc = -errno;
	as_vfs_answer(out, rc);
}

/* ---- deepen, enlarge ------------------------------------------------------------------------- */

static int enlarge_dir(struct as_vfs *vfs, const char *path, uint64_t count, uint64_t *done)
{
	int fd = (int)as_sys_do(vfs, openat, AT_FDCWD, SYS_P(path), OPEN_DIR), rc = 0;
	char name[24];

	if (fd < 0)
		return -errno;
	for (unsigned long long i = 0; *done < count && !rc; i++) {
		snprintf(name, sizeof(name), "e%llu", i);
		if (!as_sys_do(vfs, mkdirat, fd, SYS_P(name), 0755))
			++*done;
		else if (errno != EEXIST)
			rc = -errno;
	}
	as_sys_do(vfs, close, fd);
	return rc;
}

void as_sys_enlarge(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct stat st;
	int rc = 0;

	if (as_sys_do(vfs, newfstatat, AT_FDCWD, SYS_P(op->path), SYS_P(&st), 0)) {
		as_vfs_answer(out, -errno);
	} else if (S_ISDIR(st.st_mode)) {
		rc = enlarge_dir(vfs, op->path, op->len, &out->done);
		as_vfs_answer(out, rc ? rc : (int64_t)op->len);
	} else if (S_ISREG(st.st_mode)) {
		as_sys_answer(out, as_sys_do(vfs, truncate, SYS_P(op->path),
					     (uint64_t)st.st_size + op->len));
	} else {
		as_vfs_answer(out, -EINVAL);
	}
}

void as_sys_deepen(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int fd = (int)as_sys_do(vfs, openat, AT_FDCWD, SYS_P(op->path), OPEN_DIR), below, rc = 0;

	if (fd < 0)
		rc = -errno;
	while (!rc && out->done < op->len) {
		if (!as_sys_do(vfs, mkdirat, fd, SYS_P("d"), 0755))
			out->done++;
		else if (errno != EEXIST)
			rc = -errno;
		if (rc)
			break;
		below = (int)as_sys_do(vfs, openat, fd, SYS_P("d"), OPEN_DIR | O_NOFOLLOW);
		rc = below < 0 ? -errno : 0;
		if (rc)
			break;
		as_sys_do(vfs, close, fd);
		fd = below;
	}
	if (fd >= 0)
		as_sys_do(vfs, close, fd);
	as_vfs_answer(out, rc ? rc : (int64_t)op->len);
}

/* ---- Reading a tree -------------------------------------------------------------------------- */

/* Some file systems look at each directory along a path again (gfs2's d_revalidate), so a tree of
 * some thousand levels is read by short paths only; a path of one call is shorter anyway. */
enum { DEEP_BYTES = 512, DEEP_LEVELS = 16 };
_Static_assert(DEEP_BYTES > 256 && DEEP_BYTES <= AS_VFS_PATH_MAX, "a name, and one call");

static void leave_deep(struct as_sys *s)
{
	if (s->deep.fd >= 0)
		close(s->deep.fd);
	s->deep.fd = -1;
	as_buf_clear(&s->deep.path);
}

/* Where a walk along the path begins, and the rest of it. */
static int nearest(struct as_sys *s, const char *path, const char **rest)
{
	size_t len = s->deep.path.len;

	*rest = path;
	if (s->deep.fd < 0 || strncmp(path, as_buf_str(&s->deep.path), len) || path[len] != '/')
		return s->root_fd;
	*rest = path + len + 1;
	return s->deep.fd;
}

static bool is_long(const char *path)
{
	unsigned levels = 0;

	for (const char *at = path; *at; at++)
		levels += *at == '/';
	return levels > DEEP_LEVELS || strlen(path) >= DEEP_BYTES;
}

/* Opens the directories along a long path, and keeps the last one; returns its descriptor, or the
 * root's, which the caller does not close, and the tail that is left; or a negative errno. */
static int walk_deep(struct as_sys *s, const char *path, const char **tail)
{
	char part[DEEP_BYTES];
	const char *rest;
	int fd;

	path += strspn(path, "/");
	fd = nearest(s, path, &rest);
	while (fd >= 0 && is_long(rest)) {
		size_t len = strnlen(rest, DEEP_BYTES) - 1;
		int next;

		while (rest[len] != '/')
			len--;
		memcpy(part, rest, len);
		part[len] = '\0';
		next = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		rest += len + 1;
		leave_deep(s);
		as_buf_add(&s->deep.path, path, (size_t)(rest - 1 - path));
		fd = s->deep.fd = next;
	}
	*tail = *rest ? rest : ".";
	return fd < 0 ? -EBADF : fd;
}

static int tree_open(struct as_sys *s, const char *path, int flags)
{
	const char *tail;
	int dir = walk_deep(s, path, &tail), fd;

	if (dir < 0)
		return dir;
	fd = openat(dir, tail, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void forget_seen(struct as_sys *s)
{
	if (s->seen.fd >= 0)
		close(s->seen.fd);
	s->seen.fd = -1;
	s->seen.mode = 0;
}

void as_sys_tree_rest(void *ctx)
{
	forget_seen(ctx);
	leave_deep(ctx);
}

static bool is_seen(const struct as_sys *s, const char *path)
{
	return s->seen.mode && !strcmp(as_buf_str(&s->seen.path), path);
}

static int tree_stat(void *ctx, const char *path, struct as_stat *to)
{
	struct as_sys *s = ctx;
	struct stat st;
	const char *tail;
	int dir = walk_deep(s, path, &tail);

	forget_seen(s);
	if (dir < 0)
		return dir;
	if (fstatat(dir, tail, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	as_sys_convert_stat(&st, to);
	s->seen.mode = to->mode;
	as_buf_clear(&s->seen.path);
	as_buf_adds(&s->seen.path, path);
	return 0;
}

/* A descriptor for reading, which is kept until something else is looked at. Only what can be
 * opened without harm is: a regular file or a directory; else -ENXIO. */
static int keep_open(struct as_sys *s, const char *path)
{
	int flags = O_RDONLY | O_NONBLOCK;
	struct as_stat st;
	int rc = is_seen(s, path) ? 0 : tree_stat(s, path, &st);

	if (rc || s->seen.fd >= 0)
		return rc ? rc : s->seen.fd;
	if (!S_ISREG(s->seen.mode) && !S_ISDIR(s->seen.mode))
		return -ENXIO;
	rc = tree_open(s, path, flags | (S_ISREG(s->seen.mode) ? O_NOATIME : 0));
	if (rc == -EPERM)
		rc = tree_open(s, path, flags);
	s->seen.fd = rc < 0 ? -1 : rc;
	return rc;
}

static int tree_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	struct as_vfs_names names = { 0 };
	int fd = keep_open(ctx, path), rc;

	if (fd < 0)
		return fd == -ENXIO ? -ENOTDIR : fd;
	rc = list_all(NULL, fd, &names);
	/* What was read of it once is not read again. */
	forget_seen(ctx);
	return as_vfs_names_pass(&names, rc, fill, fill_ctx);
}

static int64_t tree_readlink(void *ctx, const char *path, char *buf, size_t len)
{
	const char *tail;
	int dir = walk_deep(ctx, path, &tail);
	ssize_t n;

	if (dir < 0)
		return dir;
	n = readlinkat(dir, tail, buf, len);
	return n < 0 ? -errno : n;
}

static int64_t tree_read(void *ctx, const char *path, void *buf, size_t len, uint64_t off)
{
	int fd = keep_open(ctx, path);
	ssize_t n = fd < 0 ? 0 : pread(fd, buf, len, (off_t)off);

	return fd < 0 ? fd : n < 0 ? -errno : n;
}

/* The calls for attributes take paths only, which begin at the root we are confined to; for one
 * that is too long the working directory is lent to them. */
static int64_t with_dir(struct as_sys *s, const char *path,
			ssize_t (*call)(const char *tail, const char *name, void *buf, size_t len),
			const char *name, void *buf, size_t len)
{
	const char *tail;
	int dir, back;
	int64_t n;

	if (path[0] == '/' && !is_long(path + 1)) {
		n = call(path, name, buf, len);
		return n < 0 ? -errno : n;
	}
	dir = walk_deep(s, path, &tail);
	if (dir < 0)
		return dir;
	back = open(".", O_PATH | O_CLOEXEC);
	n = back < 0 || fchdir(dir) ? -1 : call(tail, name, buf, len);
	if (n < 0)
		n = -errno;
	if (back >= 0) {
		as_assert(!fchdir(back));
		close(back);
	}
	return n;
}

static ssize_t call_list(const char *tail, const char *name, void *buf, size_t len)
{
	(void)name;
	return llistxattr(tail, buf, len);
}

static ssize_t call_get(const char *tail, const char *name, void *buf, size_t len)
{
	return lgetxattr(tail, name, buf, len);
}

static int64_t tree_getxattr(void *ctx, const char *path, const char *name, void *buf, size_t len)
{
	if (as_mark_is(name))
		return 0;
	return with_dir(ctx, path, call_get, name, buf, len);
}

static bool has_projects(const struct as_sys *s)
{
	return s->mount && as_mount_type(s->mount)->projects;
}

static int64_t tree_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	int64_t n = with_dir(ctx, path, call_list, NULL, buf, len), marks;
	int fd;

	/* A type without attributes may have flags. */
	if (n == -EOPNOTSUPP)
		n = 0;
	n = as_sys_acl_marks(buf, n, len, tree_getxattr, ctx, path);
	if (n < 0)
		return n;
	fd = keep_open(ctx, path);
	marks = fd < 0 ? 0 : as_sys_marks(fd, has_projects(ctx), buf + n, len - (size_t)n);
	return marks < 0 ? marks : n + marks;
}

const struct as_tree_ops as_sys_tree_ops = {
	.stat = tree_stat,
	.list = tree_list,
	.readlink = tree_readlink,
	.read = tree_read,
	.listxattr = tree_listxattr,
	.getxattr = tree_getxattr,
	.rest = as_sys_tree_rest,
};
