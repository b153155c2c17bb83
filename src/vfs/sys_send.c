/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys_send: bytes from one descriptor to another: sendfile(2), and splice(2) through a pipe. */
#include "vfs/sys_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t offset_of(int fd, int64_t given)
{
	return given == -1 ? lseek(fd, 0, SEEK_CUR) : given;
}

/* What the format decides before the first call: negative errno or 0. */
static int send_check(int in, int out, const struct as_op *op)
{
	bool spliced = op->code == AS_OP_SPLICE;
	int64_t from = offset_of(in, op->off), to = offset_of(out, spliced ? op->off2 : -1);
	struct stat a, b;

	if (from < 0 || to < 0 || fcntl(in, F_GETFL) & O_PATH || fcntl(out, F_GETFL) & O_PATH ||
	    as_sys_look(in, &a) || as_sys_look(out, &b))
		return 0;
	if (!S_ISREG(a.st_mode) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return 0;
	return as_op_sends_into_itself((uint64_t)from, (uint64_t)to, op->len, (uint64_t)a.st_size)
		       ? -EINVAL
		       : 0;
}

void as_sys_sendfile(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int from = as_sys_fd(vfs, op->fd), to = as_sys_fd(vfs, op->fd2);
	int rc = send_check(from, to, op);
	off_t off = op->off;

	if (rc)
		as_vfs_answer(out, rc);
	else
		as_sys_answer(out, as_sys_do(vfs, sendfile, to, from,
					     op->off == -1 ? 0 : SYS_P(&off), op->len));
}

/* Into the pipe and out again; a negative errno, or what came out. */
static int64_t splice_through(struct as_vfs *vfs, const struct as_op *op, const int pipe[2])
{
	int in = as_sys_fd(vfs, op->fd), out = as_sys_fd(vfs, op->fd2);
	off_t from = op->off, to = op->off2;
	int64_t n, done;
	int err;

	n = as_sys_do(vfs, splice, in, op->off == -1 ? 0 : SYS_P(&from), pipe[1], 0, op->len, 0);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	done = as_sys_do(vfs, splice, pipe[0], 0, out, op->off2 == -1 ? 0 : SYS_P(&to), (uint64_t)n,
			 0);
	err = errno;
	/* What is left in the pipe counts as not read. */
	if (op->off == -1 && done < n)
		lseek(in, -(n - (done > 0 ? done : 0)), SEEK_CUR);
	return done < 0 ? -err : done;
}

void as_sys_splice(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int rc = send_check(as_sys_fd(vfs, op->fd), as_sys_fd(vfs, op->fd2), op), pipe[2];

	if (rc) {
		as_vfs_answer(out, rc);
		return;
	}
	if (as_sys_do(vfs, pipe2, SYS_P(pipe), O_CLOEXEC) < 0) {
		as_sys_answer(out, -1);
		return;
	}
	as_vfs_answer(out, splice_through(vfs, op, pipe));
	as_sys_do(vfs, close, pipe[0]);
	as_sys_do(vfs, close, pipe[1]);
}
