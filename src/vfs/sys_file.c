/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys_file: descriptors through system calls. */
#include "vfs/sys_priv.h"
#include "work/arg.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int as_sys_fd(struct as_vfs *vfs, int32_t slot)
{
	const struct as_sys *s = (const struct as_sys *)vfs;

	return slot < 0 || slot > AS_SLOT_MAX ? -1 : s->slots[slot];
}

int as_sys_look(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

/* ---- open ------------------------------------------------------------------------------------ */

/* -ENXIO: opening would reach a fifo, socket or device. With O_DIRECTORY or O_CREAT|O_EXCL the
 * kernel refuses such a node itself. An error that says nothing about the path (ENOMEM, EIO) is the
 * answer, too: nobody knows what would be opened. */
static int look_for_node(const char *path, int flags)
{
	bool safe = flags & (O_PATH | O_DIRECTORY) || (flags & O_CREAT && flags & O_EXCL);
	int how = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
	struct stat st;

	if (safe)
		return 0;
	if (fstatat(AT_FDCWD, path, &st, how))
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES ||
				       errno == ENAMETOOLONG
			       ? 0
			       : -errno;
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : -ENXIO;
}

void as_sys_open(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_sys *s = (struct as_sys *)vfs;
	int *slot = op->slot == AS_SLOT_NONE ? NULL : &s->slots[op->slot];
	int fd, rc;

	/* What the slot held is closed first, whatever comes of the open. */
	if (slot && *slot >= 0) {
		as_sys_do(vfs, close, *slot);
		*slot = -1;
	}
	rc = look_for_node(op->path, (int)op->flags);
	if (rc) {
		as_vfs_answer(out, rc);
		return;
	}
	fd = (int)as_sys_do(vfs, openat, AT_FDCWD, SYS_P(op->path), (int)op->flags,
			    op->mode & 07777);
	as_sys_answer(out, fd < 0 ? -1 : 0);
	if (slot)
		*slot = fd;
	else if (fd >= 0)
		as_sys_do(vfs, close, fd);
}

void as_sys_close(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_sys *s = (struct as_sys *)vfs;
	int fd = as_sys_fd(vfs, op->fd);

	as_sys_answer(out, as_sys_do(vfs, close, fd));
	if (fd >= 0)
		s->slots[op->fd] = -1;
}

/* ---- Data ------------------------------------------------------------------------------------ */

char *as_sys_room(struct as_vfs *vfs, size_t len)
{
	char *at;

	as_buf_clear(&vfs->data);
	at = as_buf_reserve(&vfs->data, len + 1);
	for (size_t i = 0; i < len; i += AS_MEM_PAGE)
		*(volatile char *)(at + i) = 0;
	*(volatile char *)(at + len) = 0;
	return at;
}

/* Where the operation wants its buffer: so many bytes after the start of a page. */
static char *room(struct as_vfs *vfs, const struct as_op *op)
{
	char *at = as_sys_room(vfs, op->len + op->mem + AS_MEM_PAGE);

	return at + (0 - (uintptr_t)at) % AS_MEM_PAGE + op->mem;
}

static void answer_read(struct as_vfs *vfs, struct as_outcome *out, int64_t n, const char *buf)
{
	as_vfs_answer_bytes(vfs, out, n < 0 ? -errno : n);
	if (out->payload == AS_PAYLOAD_BYTES)
		out->data = buf;
}

void as_sys_read(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const char *buf = room(vfs, op);
	int64_t n = as_sys_do(vfs, read, as_sys_fd(vfs, op->fd), SYS_P(buf), op->len);

	answer_read(vfs, out, n, buf);
}

void as_sys_pread(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const char *buf = room(vfs, op);
	int64_t n = as_sys_do(vfs, pread64, as_sys_fd(vfs, op->fd), SYS_P(buf), op->len,
			      (uint64_t)op->off);

	answer_read(vfs, out, n, buf);
}

/* Whether a write goes to the end, by the descriptor's flags or by its own. */
static bool appends(const struct as_op *op, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	int64_t own = op->code == AS_OP_PWRITEV2 ? op->flags : 0;

	return own & AS_RWF_APPEND || (flags >= 0 && flags & O_APPEND && !(own & AS_RWF_NOAPPEND));
}

/* The pattern as it will land: at the end where it is appended. */
static const char *pattern(struct as_vfs *vfs, const struct as_op *op, int fd, int64_t off)
{
	char *buf = room(vfs, op);
	struct stat st;

	if (appends(op, fd) && !as_sys_look(fd, &st))
		off = st.st_size;
	as_pattern_fill(op->fill, off < 0 ? 0 : (uint64_t)off, buf, op->len);
	return buf;
}

void as_sys_write(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int fd = as_sys_fd(vfs, op->fd);
	const char *buf = pattern(vfs, op, fd, lseek(fd, 0, SEEK_CUR));

	as_sys_answer(out, as_sys_do(vfs, write, fd, SYS_P(buf), op->len));
}

void as_sys_pwrite(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int fd = as_sys_fd(vfs, op->fd);
	const char *buf = pattern(vfs, op, fd, op->off);

	as_sys_answer(out, as_sys_do(vfs, pwrite64, fd, SYS_P(buf), op->len, (uint64_t)op->off));
}

/* The kernel takes an offset in two halves; the upper one is empty where a long has 64 bits. */
void as_sys_preadv2(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct iovec vec = { room(vfs, op), op->len };
	int64_t n = as_sys_do(vfs, preadv2, as_sys_fd(vfs, op->fd), SYS_P(&vec), 1,
			      (uint64_t)op->off, 0, (unsigned)op->flags);

	answer_read(vfs, out, n, vec.iov_base);
}

void as_sys_pwritev2(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int fd = as_sys_fd(vfs, op->fd);
	int64_t off = op->off == -1 ? lseek(fd, 0, SEEK_CUR) : op->off;
	struct iovec vec = { (void *)(uintptr_t)pattern(vfs, op, fd, off), op->len };

	as_sys_answer(out, as_sys_do(vfs, pwritev2, fd, SYS_P(&vec), 1, (uint64_t)op->off, 0,
				     (unsigned)op->flags));
}

void as_sys_lseek(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, lseek, as_sys_fd(vfs, op->fd), (uint64_t)op->off,
				     (int)op->flags));
}

void as_sys_truncate(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, truncate, SYS_P(op->path), op->len));
}

void as_sys_ftruncate(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, ftruncate, as_sys_fd(vfs, op->fd), op->len));
}

void as_sys_fallocate(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int fd = as_sys_fd(vfs, op->fd);
	struct stat before, after;
	bool known = !as_sys_look(fd, &before);

	as_sys_answer(out,
		      as_sys_do(vfs, fallocate, fd, (int)op->flags, (uint64_t)op->off, op->len));
	if (out->ret < 0 && (out->err == ENOSPC || out->err == EDQUOT) && known &&
	    !as_sys_look(fd, &after) && after.st_size > before.st_size)
		out->done = (uint64_t)(after.st_size - before.st_size);
}

void as_sys_copy_file_range(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	off_t from = op->off, to = op->off2;

	as_sys_answer(out, as_sys_do(vfs, copy_file_range, as_sys_fd(vfs, op->fd), SYS_P(&from),
				     as_sys_fd(vfs, op->fd2), SYS_P(&to), op->len, 0));
}

/* ---- Stable storage -------------------------------------------------------------------------- */

void as_sys_fsync(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, fsync, as_sys_fd(vfs, op->fd)));
}

void as_sys_fdatasync(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, fdatasync, as_sys_fd(vfs, op->fd)));
}

void as_sys_syncfs(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, syncfs, as_sys_fd(vfs, op->fd)));
}

void as_sys_sync(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	(void)op;
	as_sys_answer(out, as_sys_do(vfs, syncfs, ((struct as_sys *)vfs)->root_fd));
}

void as_sys_sync_file_range(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, sync_file_range, as_sys_fd(vfs, op->fd),
				     (uint64_t)op->off, op->len, (unsigned)op->flags));
}
