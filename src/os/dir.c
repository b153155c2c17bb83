/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dir: see dir.h.
 *
 * Method. A path is walked part by part: each is opened with O_PATH and O_NOFOLLOW, and its type
 * and its owner are read from that descriptor. The text of a link replaces its name in the rest of
 * the path.
 *
 * Invariant: what was checked is what is used. No path is looked up a second time.
 */
#include "os/dir.h"

#include "os/out.h"
#include "os/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel has it */
#define LINK_TEXT_MAX 4096
#define TEMP_ATTEMPTS 10000
#define LOCK_WAIT_US 30000000
#define LOCK_LOOK_MS 5
#define DEPTH_MAX 32 /* folders that are open at a time while one is emptied */
#define UP_ATTEMPTS 100

/* ---- Walking --------------------------------------------------------------------------------- */

struct walking {
	struct as_route *way;
	const char *path; /* for messages */
	struct as_buf rest; /* still to be walked */
	unsigned links;
};

static void step_to(struct as_route *way, int fd)
{
	if (way->fd >= 0)
		close(way->fd);
	way->fd = fd;
}

static int start_at(struct walking *w, const char *folder, struct as_err *err)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return as_fail_errno(err, errno, "%s", w->path);
	step_to(w->way, fd);
	return 0;
}

/* Takes the first part off the rest; false: nothing is left. *last: no part follows. */
static bool next_part(struct walking *w, bool *last)
{
	const char *rest = as_buf_str(&w->rest);
	size_t from = strspn(rest, "/"), len = strcspn(rest + from, "/");
	size_t to = from + len + strspn(rest + from + len, "/");

	if (!len)
		return false;
	as_buf_clear(&w->way->name);
	as_buf_add(&w->way->name, rest + from, len);
	*last = to == w->rest.len;
	memmove(w->rest.data, w->rest.data + to, w->rest.len - to + 1);
	w->rest.len -= to;
	return true;
}

/* Puts the text of the link `fd` in front of the rest. */
static int follow(struct walking *w, int fd, const struct stat *st, struct as_err *err)
{
	char text[LINK_TEXT_MAX];
	struct as_buf rest = { 0 };
	ssize_t len = readlinkat(fd, "", text, sizeof(text) - 1);

	if (len <= 0 || ++w->links > LINKS_MAX)
		return as_fail_errno(err, len < 0 ? errno : ELOOP, "%s", w->path);
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return as_fail(err, AS_EUSE, "%s: '%s' is a link that another user made: refused",
			       w->path, as_buf_str(&w->way->name));
	text[len] = '\0';
	as_buf_adds(&rest, text);
	as_buf_addf(&rest, "/%s", as_buf_str(&w->rest));
	as_buf_free(&w->rest);
	w->rest = rest;
	return text[0] == '/' ? start_at(w, "/", err) : 0;
}

static bool is_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Walks one part. *end: the walk is over. */
static int step(struct walking *w, bool last, bool *end, struct as_err *err)
{
	struct as_route *way = w->way;
	const char *name = as_buf_str(&way->name);
	int fd = openat(way->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0 && errno == ENOENT && last) {
		*end = true;
		return 0;
	}
	if (fd < 0 || fstat(fd, &st)) {
		rc = as_fail_errno(err, errno, "%s", w->path);
	} else if (S_ISLNK(st.st_mode) && last && is_proc(way->fd)) {
		*end = way->is_magic = true;
	} else if (S_ISLNK(st.st_mode)) {
		rc = follow(w, fd, &st, err);
	} else if (last) {
		*end = true;
	} else if (!S_ISDIR(st.st_mode)) {
		rc = as_fail_errno(err, ENOTDIR, "%s", w->path);
	} else {
		step_to(way, fd);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

int as_route_find(const char *path, struct as_route *way, struct as_err *err)
{
	struct walking w = { .way = way, .path = path };
	bool last, end = false;
	int rc;

	*way = (struct as_route){ .fd = -1 };
	if (!*path)
		return as_fail(err, AS_EUSE, "expected the name of a file, got an empty one");
	as_buf_adds(&w.rest, path);
	rc = start_at(&w, path[0] == '/' ? "/" : ".", err);
	while (!rc && !end && next_part(&w, &last))
		rc = step(&w, last, &end, err);
	/* "/", or a link to it. */
	if (!rc && !end) {
		as_buf_clear(&way->name);
		as_buf_adds(&way->name, ".");
	}
	as_buf_free(&w.rest);
	if (rc)
		as_route_free(way);
	return rc;
}

void as_route_free(struct as_route *way)
{
	if (way->fd >= 0)
		close(way->fd);
	as_buf_free(&way->name);
	*way = (struct as_route){ .fd = -1 };
}

/* ---- Folders --------------------------------------------------------------------------------- */

/* Returns 0 or a negative errno. A new folder is not writable for the group, whatever the umask
 * says (see rundir.h). */
static int open_one(int at, const char *name, bool make, bool *made, int *fd)
{
	if (make && !mkdirat(at, name, 0755))
		*made = true;
	else if (make && errno != EEXIST)
		return -errno;
	*fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

int as_dir_open_way(const struct as_route *way, const char *path, bool *made, struct as_dir *dir,
		    struct as_err *err)
{
	bool own = false;
	int fd = -1, rc = open_one(way->fd, as_buf_str(&way->name), made, &own, &fd);

	*dir = AS_DIR_NONE;
	if (rc)
		return as_fail_errno(err, -rc, "%s", path);
	if (made)
		*made = own;
	*dir = (struct as_dir){ fd, as_xstrdup(path) };
	return 0;
}

int as_dir_open(const char *path, bool *made, struct as_dir *dir, struct as_err *err)
{
	struct as_route way;
	int rc = as_route_find(path, &way, err);

	*dir = AS_DIR_NONE;
	if (!rc)
		rc = as_dir_open_way(&way, path, made, dir, err);
	as_route_free(&way);
	return rc;
}

int as_dir_make(const char *path, struct as_err *err)
{
	struct as_dir dir;
	bool made;
	int rc = as_dir_open(path, &made, &dir, err);

	if (!rc && faccessat(dir.fd, ".", W_OK | X_OK, AT_EACCESS))
		rc = as_fail_errno(err, errno, "%s", path);
	as_dir_close(&dir);
	return rc;
}

int as_dir_below(const struct as_dir *dir, const char *name, bool make, struct as_dir *below,
		 struct as_err *err)
{
	struct as_buf path = { 0 };
	bool made;
	int fd = -1, rc;

	as_assert(!strchr(name, '/'));
	*below = AS_DIR_NONE;
	rc = open_one(dir->fd, name, make, &made, &fd);
	as_buf_addf(&path, "%s/%s", dir->path, name);
	if (rc == -ELOOP || rc == -ENOTDIR)
		rc = as_fail(err, AS_EUSE, "%s: a link, or no folder, where assay keeps a folder",
			     as_buf_str(&path));
	else if (rc)
		rc = as_fail_errno(err, -rc, "%s", as_buf_str(&path));
	else
		*below = (struct as_dir){ fd, as_xstrdup(as_buf_str(&path)) };
	as_buf_free(&path);
	return rc;
}

int as_dir_dup(const struct as_dir *dir, struct as_dir *copy, struct as_err *err)
{
	int fd = fcntl(dir->fd, F_DUPFD_CLOEXEC, 3);

	*copy = AS_DIR_NONE;
	if (fd < 0)
		return as_fail_errno(err, errno, "%s", dir->path);
	*copy = (struct as_dir){ fd, as_xstrdup(dir->path) };
	return 0;
}

void as_dir_close(struct as_dir *dir)
{
	if (dir->fd >= 0)
		close(dir->fd);
	free(dir->path);
	*dir = AS_DIR_NONE;
}

int as_dir_temp(const struct as_dir *dir, const char *prefix, struct as_buf *name,
		struct as_dir *below, struct as_err *err)
{
	int fail = EEXIST;

	for (unsigned i = 0; i < TEMP_ATTEMPTS && fail == EEXIST; i++) {
		as_buf_clear(name);
		as_buf_addf(name, "%s%ld.%u", prefix, (long)getpid(), i);
		if (!mkdirat(dir->fd, as_buf_str(name), 0755))
			return as_dir_below(dir, as_buf_str(name), false, below, err);
		fail = errno;
	}
	*below = AS_DIR_NONE;
	as_fail_errno(err, fail, "%s/%s", dir->path, as_buf_str(name));
	/* A folder of that name belongs to somebody else. */
	as_buf_clear(name);
	return AS_EIO;
}

int as_dir_lock_file(int fd, bool alone, int64_t wait_us)
{
	int64_t until_us = as_now_us() + wait_us;

	while (flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB)) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || as_now_us() > until_us)
			return -errno;
		poll(NULL, 0, LOCK_LOOK_MS);
	}
	return 0;
}

int as_dir_lock(const struct as_dir *dir, bool alone, struct as_err *err)
{
	int rc = as_dir_lock_file(dir->fd, alone, LOCK_WAIT_US);

	if (rc == -EWOULDBLOCK)
		return as_fail(err, AS_EIO, "%s: somebody else keeps it locked", dir->path);
	return rc ? as_fail_errno(err, -rc, "%s: cannot lock it", dir->path) : 0;
}

/* ---- What is in them ------------------------------------------------------------------------- */

bool as_dir_is_plain(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

bool as_dir_has(const struct as_dir *dir, const char *name)
{
	struct stat st;

	return !fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

int as_dir_read(const struct as_dir *dir, const char *name, size_t max, struct as_buf *buf,
		struct as_err *err)
{
	int fd = openat(dir->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct as_buf path = { 0 };
	struct stat st;
	int rc;

	as_buf_addf(&path, "%s/%s", dir->path, name);
	if (fd < 0 && errno != ELOOP && errno != ENXIO)
		rc = as_fail_errno(err, errno, "%s: cannot open", as_buf_str(&path));
	else if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		rc = as_fail(err, AS_EUSE, "%s: not a regular file", as_buf_str(&path));
	else if ((uint64_t)st.st_size > max)
		rc = as_fail(err, AS_EUSE, "%s: longer than the %zu bytes allowed",
			     as_buf_str(&path), max);
	else
		rc = as_buf_read_fd(buf, fd, as_buf_str(&path), max, err);
	if (fd >= 0)
		close(fd);
	as_buf_free(&path);
	return rc;
}

int as_dir_write(const struct as_dir *dir, const char *name, const struct as_buf *buf,
		 struct as_err *err)
{
	struct as_out *out;
	int rc = as_out_open_at(dir, name, &out, err);

	return rc ? rc : as_out_end(out, as_out_write(out, as_buf_str(buf), buf->len), err);
}

/* Opens a folder for readdir(). It has a descriptor of its own, which closedir() closes. */
static DIR *list(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own < 0 ? NULL : fdopendir(own);

	if (!dir && own >= 0)
		close(own);
	return dir;
}

static const char *next_name(DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			return entry->d_name;
	return NULL;
}

int as_dir_each(const struct as_dir *dir, int (*fn)(void *ctx, const char *name), void *ctx)
{
	DIR *names = list(dir->fd);
	const char *name;
	int rc = 0;

	while (!rc && names && (name = next_name(names)))
		rc = fn(ctx, name);
	if (names)
		closedir(names);
	return rc;
}

/* ---- Emptying -------------------------------------------------------------------------------- */

struct emptying {
	int top;
	unsigned names; /* names that were tried in `top` */
	unsigned moved; /* folders that were moved up to it */
};

static void empty(struct emptying *e, int fd, unsigned depth);

/* A folder that is too deep for our number of descriptors is moved up to the folder that is
 * emptied. */
static void move_up(struct emptying *e, int fd, const char *name)
{
	char up[32];
	int rc = -EEXIST;

	/* The name may exist: a folder can replace only an empty folder, and no file. */
	for (unsigned i = 0;
	     i < UP_ATTEMPTS && (rc == -EEXIST || rc == -ENOTEMPTY || rc == -ENOTDIR); i++) {
		snprintf(up, sizeof(up), "up-%u", e->names++);
		rc = renameat(fd, name, e->top, up) ? -errno : 0;
	}
	e->moved += !rc;
}

/* Opens a folder that is no link and no mount point. */
static int open_same_mount(int at, const char *name, int flags)
{
	struct open_how how = { .flags = (unsigned)flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
	struct stat above, st;

	if (fd >= 0 || errno != ENOSYS)
		return fd;
	/* Kernels before 5.6 tell only file systems apart, not mounts. */
	fd = openat(at, name, (int)how.flags);
	if (fd >= 0 && (fstat(at, &above) || fstat(fd, &st) || above.st_dev != st.st_dev)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Removes an entry that is no folder (-1), or opens the folder. What is mounted there is not ours
 * to empty (-1). */
static int unlink_or_open(int at, const char *name)
{
	int fd;

	if (!unlinkat(at, name, 0))
		return -1;
	fd = open_same_mount(at, name, O_PATH);
	if (fd < 0)
		return -1;
	close(fd);
	/* A folder that we cannot read may still belong to us. */
	fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW);
	return open_same_mount(at, name, O_RDONLY);
}

static void remove_at(struct emptying *e, int at, const char *name, unsigned depth)
{
	int fd = unlink_or_open(at, name);

	if (fd < 0)
		return;
	if (depth < DEPTH_MAX)
		empty(e, fd, depth + 1);
	close(fd);
	if (unlinkat(at, name, AT_REMOVEDIR) && depth == DEPTH_MAX)
		move_up(e, at, name);
}

static void empty(struct emptying *e, int fd, unsigned depth)
{
	DIR *names = list(fd);
	const char *name;

	while (names && (name = next_name(names)))
		remove_at(e, fd, name, depth);
	if (names)
		closedir(names);
}

void as_dir_empty(int fd)
{
	struct emptying e = { .top = fd };
	unsigned before;

	/* Each pass removes what the pass before has moved up. */
	do {
		before = e.moved;
		empty(&e, fd, 0);
	} while (e.moved != before);
}

static void remove_entry(int at, const char *name)
{
	int fd = unlink_or_open(at, name);

	if (fd < 0)
		return;
	as_dir_empty(fd);
	close(fd);
	unlinkat(at, name, AT_REMOVEDIR);
}

void as_dir_remove(const struct as_dir *dir, const char *name)
{
	remove_entry(dir->fd, name);
}

void as_dir_remove_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *above = slash ? as_xstrndup(path, (size_t)(slash - path) + 1) : as_xstrdup(".");
	int at = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);

	free(above);
	if (at < 0)
		return;
	remove_entry(at, slash ? slash + 1 : path);
	close(at);
}
