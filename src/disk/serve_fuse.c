/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve_fuse: see serve.h. libfuse3's low-level interface, one thread. It carries requests out one
 * at a time; answers to writes may come later.
 *
 * Method
 *   1. The thread has a descriptor table of its own (unshare(CLONE_FILES)) and opens /dev/fuse in
 *      it. With a shared table, a killed process might stay for ever: another thread that sleeps in
 *      the kernel until its write is served would keep the table, and with it /dev/fuse and a
 *      connection that nobody serves any more. With its own table, the end of the thread alone
 *      closes the connection, and the kernel answers EIO.
 *   2. Files are opened with FOPEN_DIRECT_IO: no page cache between the loop device and us, which
 *      would cut writes at page boundaries and answer reads from before a restore.
 *   3. When the process dies, the last task in the mount namespace destroys it, and what is mounted
 *      there is written out. If that task were the thread, it would wait for itself, because its
 *      descriptors are closed only after that. So it moves to another namespace when it has
 *      mounted.
 *   4. The kernel may send us a write because it needs memory. So the thread is marked as an I/O
 *      flusher if that is allowed, and its buffers are allocated before the first request.
 *   5. A held write is done at once; only its answer waits, in `held`. Whoever waits for the answer
 *      sends nothing, so the thread waits for requests no longer than idle_ms while there is one.
 *   6. To stop it, a flag is set and a name is looked up: the thread answers and leaves.
 *   7. In User-Mode Linux, requests and answers go through a pipe (serve_pipe.h).
 */
#define FUSE_USE_VERSION 314

#include "disk/serve.h"
#include "disk/serve_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <linux/falloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

#define FIRST_INO 2 /* of disk 0; 1 is the folder */
#define FOREVER_S 1e9 /* names and sizes never change */
/* Room for a read or a write and for what extends it to whole sectors. */
#define DATA_BYTES (AS_SERVE_MAX_BYTES + 2 * 4096)

/* A write whose answer waits. */
struct held_write {
	fuse_req_t req;
	struct as_bd *bd;
	size_t size;
	uint64_t ticket;
	unsigned requests; /* that came after it */
};

#define HELD_MAX 64u /* fewer than the kernel lets be in flight */

struct as_serve {
	struct as_serve_pipe pipe; /* first: it is handed on as this */
	unsigned max_bytes; /* of a read or write */
	char *folder;
	struct as_serve_disk *disks;
	size_t n;
	int folder_fd; /* the root of our mount, to wake the thread */
	bool mounted;
	int home_fd; /* the namespace that the thread goes to; -1: it stays */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* held during every call of a disk */
	struct as_serve_hook hook;
	atomic_bool stop;
	atomic_uint hold; /* as_serve_hold() */
	atomic_int idle_ms;
	struct held_write held[HELD_MAX]; /* of the thread alone, the oldest first */
	unsigned n_held;
	unsigned char *data; /* of a read, or of a write of less than whole sectors */

	/* How the thread reports that it has started, or could not. */
	pthread_mutex_t up_lock;
	pthread_cond_t up_cond;
	bool up;
	int up_rc;
	struct as_err up_err;
};

/* ---- Requests ------------------------------------------------------------------------------ */

static struct as_serve *serve_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* NULL: it is the folder, or nothing of ours. */
static struct as_bd *disk_of(const struct as_serve *s, fuse_ino_t ino)
{
	return ino >= FIRST_INO && ino - FIRST_INO < s->n ? s->disks[ino - FIRST_INO].bd : NULL;
}

static bool fill_stat(const struct as_serve *s, fuse_ino_t ino, struct stat *st)
{
	const struct as_bd *bd = disk_of(s, ino);

	*st = (struct stat){ .st_ino = ino, .st_blksize = 4096, .st_nlink = 1 };
	if (ino == FUSE_ROOT_ID) {
		st->st_mode = S_IFDIR | 0700;
		st->st_nlink = 2;
		return true;
	}
	if (!bd)
		return false;
	st->st_mode = S_IFREG | 0600;
	st->st_size = (off_t)bd->size_bytes;
	st->st_blocks = (blkcnt_t)(bd->size_bytes / 512);
	return true;
}

static void on_init(void *ctx, struct fuse_conn_info *conn)
{
	conn->max_write = conn->max_read = ((struct as_serve *)ctx)->max_bytes;
	conn->max_background = 256;
	/* Data is copied once, into the disk: to splice it costs more than it saves. */
	conn->want &=
		~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct as_serve *s = serve_of(req);
	struct fuse_entry_param entry = { .attr_timeout = FOREVER_S, .entry_timeout = FOREVER_S };

	for (size_t i = 0; parent == FUSE_ROOT_ID && i < s->n; i++)
		if (!strcmp(s->disks[i].name, name)) {
			entry.ino = FIRST_INO + i;
			fill_stat(s, entry.ino, &entry.attr);
			fuse_reply_entry(req, &entry);
			return;
		}
	fuse_reply_err(req, ENOENT);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	if (fill_stat(serve_of(req), ino, &st))
		fuse_reply_attr(req, &st, FOREVER_S);
	else
		fuse_reply_err(req, ENOENT);
}

/* The size of a disk cannot be changed; times and modes are ignored. */
static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	const struct as_bd *bd = disk_of(serve_of(req), ino);

	if (to_set & FUSE_SET_ATTR_SIZE && bd && (uint64_t)attr->st_size != bd->size_bytes)
		fuse_reply_err(req, EPERM);
	else
		on_getattr(req, ino, fi);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (!disk_of(serve_of(req), ino)) {
		fuse_reply_err(req, EISDIR);
		return;
	}
	fi->direct_io = 1;
	fuse_reply_open(req, fi);
}

/* Returns with the lock held, or NULL if there is no such disk. */
static struct as_bd *begin(fuse_req_t req, fuse_ino_t ino, enum as_call call, uint64_t off,
			   uint64_t len)
{
	struct as_serve *s = serve_of(req);
	struct as_bd *bd = disk_of(s, ino);
	struct as_serve_hook hook;

	if (!bd) {
		fuse_reply_err(req, EBADF);
		return NULL;
	}
	pthread_mutex_lock(&s->lock);
	hook = s->hook;
	if (!hook.before)
		return bd;
	pthread_mutex_unlock(&s->lock);
	hook.before(hook.ctx, ino - FIRST_INO, call, off, len);
	pthread_mutex_lock(&s->lock);
	return bd;
}

static void end(fuse_req_t req, int rc)
{
	pthread_mutex_unlock(&serve_of(req)->lock);
	fuse_reply_err(req, -rc);
}

/* Programs may read and write at any place; a disk takes whole sectors. */
struct sector_range {
	uint64_t off, len; /* whole sectors */
	size_t head; /* bytes of them before what was asked for */
};

static struct sector_range widen(const struct as_bd *bd, uint64_t off, size_t size)
{
	uint64_t sector = bd->sector_bytes, end = off + size;
	struct sector_range span = { .off = off - off % sector, .head = off % sector };

	span.len = (end + sector - 1) / sector * sector - span.off;
	return span;
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct as_serve *s = serve_of(req);
	struct as_bd *bd = begin(req, ino, AS_CALL_READ, (uint64_t)off, size);
	struct sector_range span;
	uint64_t left;
	int rc;

	(void)fi;
	if (!bd)
		return;
	left = (uint64_t)off < bd->size_bytes ? bd->size_bytes - (uint64_t)off : 0;
	if (size > left)
		size = left;
	if (size > AS_SERVE_MAX_BYTES)
		size = AS_SERVE_MAX_BYTES;
	span = widen(bd, (uint64_t)off, size);
	rc = size ? as_bd_read(bd, span.off, s->data, span.len) : 0;
	if (rc) {
		end(req, rc);
		return;
	}
	pthread_mutex_unlock(&s->lock);
	fuse_reply_buf(req, (char *)s->data + span.head, size);
}

/* Puts the data between what the sectors at both ends hold already. */
static int write_part(struct as_serve *s, struct as_bd *bd, const struct sector_range *span,
		      const char *data, size_t size)
{
	size_t sector = bd->sector_bytes;
	uint64_t last = span->len - sector;
	int rc = span->len > DATA_BYTES ? -EINVAL : as_bd_read(bd, span->off, s->data, sector);

	if (!rc && last)
		rc = as_bd_read(bd, span->off + last, s->data + last, sector);
	if (rc)
		return rc;
	memcpy(s->data + span->head, data, size);
	return as_bd_write(bd, span->off, s->data, span->len);
}

/* ---- Held writes ---- */

/* Answers those after which more than so many requests came. */
static void release(struct as_serve *s, unsigned requests)
{
	unsigned n = 0;

	while (n < s->n_held && s->held[n].requests > requests) {
		pthread_mutex_lock(&s->lock);
		(void)as_bd_wait(s->held[n].bd, s->held[n].ticket);
		pthread_mutex_unlock(&s->lock);
		fuse_reply_write(s->held[n].req, s->held[n].size);
		n++;
	}
	s->n_held -= n;
	memmove(s->held, s->held + n, s->n_held * sizeof(s->held[0]));
}

static void release_all(struct as_serve *s)
{
	for (unsigned i = 0; i < s->n_held; i++)
		s->held[i].requests = UINT_MAX;
	release(s, 0);
}

/* Before a request: it is one more for those that wait. */
static void count_request(struct as_serve *s)
{
	for (unsigned i = 0; i < s->n_held; i++)
		s->held[i].requests++;
	release(s, s->hold);
}

/* With the lock, which it gives back. */
static void write_held(struct as_serve *s, fuse_req_t req, struct as_bd *bd, const char *data,
		       size_t size, uint64_t off)
{
	struct held_write held = { .req = req, .bd = bd, .size = size };
	int rc = as_bd_submit(bd, off, data, size, 0, &held.ticket);

	if (rc) {
		end(req, rc);
		return;
	}
	pthread_mutex_unlock(&s->lock);
	if (s->n_held == HELD_MAX)
		release_all(s);
	s->held[s->n_held++] = held;
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct as_bd *bd = begin(req, ino, AS_CALL_WRITE, (uint64_t)off, size);
	struct as_serve *s = serve_of(req);
	struct sector_range span;
	int rc;

	(void)fi;
	if (!bd)
		return;
	span = widen(bd, (uint64_t)off, size);
	if (s->hold && span.len == size) {
		write_held(s, req, bd, data, size, (uint64_t)off);
		return;
	}
	rc = span.len == size ? as_bd_write(bd, (uint64_t)off, data, size)
			      : write_part(s, bd, &span, data, size);
	if (rc) {
		end(req, rc);
		return;
	}
	pthread_mutex_unlock(&s->lock);
	fuse_reply_write(req, size);
}

static void on_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct as_bd *bd = begin(req, ino, AS_CALL_FLUSH, 0, 0);
	struct as_serve *s = serve_of(req);
	int rc;

	(void)datasync;
	(void)fi;
	if (!bd)
		return;
	rc = as_bd_flush(bd);
	pthread_mutex_unlock(&s->lock);
	release_all(s);
	fuse_reply_err(req, -rc);
}

static void on_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
			 struct fuse_file_info *fi)
{
	bool punch = mode & FALLOC_FL_PUNCH_HOLE, zero = mode & FALLOC_FL_ZERO_RANGE;
	struct as_bd *bd;

	(void)fi;
	if (punch == zero ||
	    mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	bd = begin(req, ino, punch ? AS_CALL_DISCARD : AS_CALL_ZERO, (uint64_t)off, (uint64_t)len);
	if (!bd)
		return;
	end(req, punch ? as_bd_discard(bd, (uint64_t)off, (uint64_t)len)
		       : as_bd_zero(bd, (uint64_t)off, (uint64_t)len));
}

static const struct fuse_lowlevel_ops ops = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.open = on_open,
	.read = on_read,
	.write = on_write,
	.fsync = on_fsync,
	.fallocate = on_fallocate,
};

/* ---- The thread ---------------------------------------------------------------------------- */

static void say_up(struct as_serve *s, int rc)
{
	pthread_mutex_lock(&s->up_lock);
	s->up = true;
	s->up_rc = rc;
	pthread_cond_signal(&s->up_cond);
	pthread_mutex_unlock(&s->up_lock);
}

/* Opens a session on a mount that we make ourselves, without a helper program. */
static int open_session(struct as_serve *s, struct fuse_session **out)
{
	static const struct fuse_custom_io io = { .read = as_serve_pipe_take,
						  .writev = as_serve_pipe_send };
	char max_read[32], opts[128], path[32];
	char *argv[] = { "assay", max_read, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(2, argv);
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	*out = NULL;
	if (fd < 0)
		return as_fail(&s->up_err, AS_ELACK, "cannot open /dev/fuse: %s", strerror(errno));
	/* libfuse must be told, too, here and in on_init(). */
	snprintf(max_read, sizeof(max_read), "-omax_read=%u", s->max_bytes);
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40000,user_id=0,group_id=0,max_read=%u", fd,
		 s->max_bytes);
	if (mount("assay", s->folder, "fuse", MS_NOSUID | MS_NODEV | MS_NOEXEC, opts)) {
		int errnum = errno;

		close(fd);
		return as_fail(&s->up_err, errnum == EPERM ? AS_ELACK : AS_EIO,
			       "cannot mount a FUSE disk: %s", strerror(errnum));
	}
	s->mounted = true;
	*out = fuse_session_new(&args, &ops, sizeof(ops), s);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	if (!*out || (s->pipe.used ? fuse_session_custom_io(*out, &io, fd)
				   : fuse_session_mount(*out, path))) {
		if (!*out)
			close(fd);
		return as_fail(&s->up_err, AS_EIO, "libfuse refuses the FUSE disk");
	}
	return 0;
}

static int go_home(struct as_serve *s, struct fuse_session *session)
{
	unsigned fd = (unsigned)fuse_session_fd(session);

	if (s->home_fd >= 0 && (unshare(CLONE_FS) || setns(s->home_fd, CLONE_NEWNS)))
		return as_fail_errno(&s->up_err, errno, "cannot leave the mount namespace");
	/* The copied table also has descriptors that are not for this thread. */
	if (fd > 3)
		close_range(3, fd - 1, 0);
	close_range(fd + 1, ~0u, 0);
	return 0;
}

/* Returns when there is one, or when nothing is held any more. */
static void await_request(struct as_serve *s, struct fuse_session *session)
{
	struct pollfd pfd = { .fd = fuse_session_fd(session), .events = POLLIN };
	int n = poll(&pfd, 1, s->idle_ms);

	if (!n)
		release_all(s);
}

static void *serve_requests(void *ctx)
{
	struct as_serve *s = ctx;
	struct fuse_session *session = NULL;
	struct fuse_buf request = { 0 };
	int rc = 0;

	/* The descriptor is copied into the thread's own table. */
	if (unshare(CLONE_FILES))
		rc = as_fail_errno(&s->up_err, errno, "cannot have descriptors of its own");
	/* Refused without CAP_SYS_RESOURCE: then the thread is like that of any program. */
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	if (!rc)
		rc = open_session(s, &session);
	if (!rc)
		rc = go_home(s, session);
	if (!rc && s->pipe.used)
		rc = as_serve_pipe_open(&s->pipe, &request.mem, &s->up_err);
	say_up(s, rc);
	while (!rc && !atomic_load(&s->stop) && !fuse_session_exited(session)) {
		int n;

		if (s->n_held)
			await_request(s, session);
		n = fuse_session_receive_buf(session, &request);
		if (n > 0) {
			if (s->n_held)
				count_request(s);
			fuse_session_process_buf(session, &request);
		} else if (n != -EINTR) {
			break;
		}
	}
	release_all(s);
	free(request.mem);
	if (session)
		fuse_session_destroy(session); /* closes /dev/fuse */
	return NULL;
}

static int start(struct as_serve *s, struct as_err *err)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&s->thread, NULL, serve_requests, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return as_fail_errno(err, rc, "cannot start a thread");
	s->started = true;
	pthread_mutex_lock(&s->up_lock);
	while (!s->up)
		pthread_cond_wait(&s->up_cond, &s->up_lock);
	pthread_mutex_unlock(&s->up_lock);
	if (s->up_rc) {
		if (err)
			*err = s->up_err;
		return s->up_rc;
	}
	s->folder_fd = open(s->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s->folder_fd < 0 ? as_fail_errno(err, errno, "%s", s->folder) : 0;
}

int as_serve_new(const char *folder, const struct as_serve_disk *disks, size_t n, int home_fd,
		 struct as_serve **out, struct as_err *err)
{
	struct as_serve *s = as_xcalloc(1, sizeof(*s));
	int rc;

	s->folder = as_xstrdup(folder);
	s->disks = as_xcalloc(n, sizeof(*disks));
	memcpy(s->disks, disks, n * sizeof(*disks));
	s->n = n;
	s->folder_fd = -1;
	s->home_fd = home_fd;
	s->pipe.used = as_serve_pipe_needed();
	s->max_bytes = s->pipe.used ? AS_SERVE_PIECE_BYTES : AS_SERVE_MAX_BYTES;
	s->data = as_xmalloc(DATA_BYTES);
	/* The pages are touched now, so that no request waits for them. */
	memset(s->data, 0, DATA_BYTES);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->up_lock, NULL);
	pthread_cond_init(&s->up_cond, NULL);
	rc = start(s, err);
	if (rc) {
		as_serve_free(s);
		s = NULL;
	}
	*out = s;
	return rc;
}

void as_serve_free(struct as_serve *s)
{
	if (!s)
		return;
	atomic_store(&s->stop, true);
	if (s->folder_fd >= 0) {
		/* No such name, and never cached: the request comes to the thread. */
		faccessat(s->folder_fd, "stop", F_OK, 0);
		close(s->folder_fd);
	}
	if (s->started)
		pthread_join(s->thread, NULL);
	if (s->mounted)
		umount2(s->folder, MNT_DETACH);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->up_lock);
	pthread_cond_destroy(&s->up_cond);
	free(s->folder);
	free(s->disks);
	free(s->data);
	free(s);
}

void as_serve_lock(struct as_serve *s)
{
	pthread_mutex_lock(&s->lock);
}

void as_serve_unlock(struct as_serve *s)
{
	pthread_mutex_unlock(&s->lock);
}

void as_serve_hold(struct as_serve *s, unsigned after, unsigned idle_ms)
{
	atomic_store(&s->idle_ms, (int)idle_ms);
	atomic_store(&s->hold, after);
}

void as_serve_set_hook(struct as_serve *s, const struct as_serve_hook *hook)
{
	pthread_mutex_lock(&s->lock);
	s->hook = hook ? *hook : (struct as_serve_hook){ 0 };
	pthread_mutex_unlock(&s->lock);
}
