/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_op: operations on a library as the calls they stand for (op.def: OWN). Descriptors are
 * numbered by their slots. An answer that the executor gives without asking the file system (vfs.h)
 * is no call.
 */
#include "cover/own_priv.h"
#include "work/acl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>

#define FIRST_FD 16
#define SPARE_FD (FIRST_FD - 1)
#define ROOT_FD (FIRST_FD - 2)
#define XATTR_BYTES 65536
#define P(pointer) ((uint64_t)(uintptr_t)(pointer))
#define FD fd_of(own, op->fd)
#define FD2 fd_of(own, op->fd2)
#define CALL(own, raw, name, ...) \
	as_own_call(own, SYS_##name, (const uint64_t[6]){ __VA_ARGS__ }, raw)

static int fd_of(const struct as_own *own, int32_t slot)
{
	return slot >= 0 && slot <= AS_SLOT_MAX && own->slots[slot] ? FIRST_FD + slot : -1;
}

static void on_open(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		    int64_t raw)
{
	bool slot = op->slot >= 0 && op->slot <= AS_SLOT_MAX;
	int fd = slot ? FIRST_FD + op->slot : SPARE_FD;

	(void)raw;
	if (slot && own->slots[op->slot])
		CALL(own, 0, close, fd);
	if (slot)
		own->slots[op->slot] = got->ret >= 0;
	/* For a device or a fifo, the file system was not asked. */
	if (got->err == ENXIO)
		return;
	CALL(own, got->ret < 0 ? -got->err : fd, openat, AT_FDCWD, P(op->path), (int)op->flags,
	     op->mode & 07777);
	if (!slot && got->ret >= 0)
		CALL(own, 0, close, fd);
}

static void on_create(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		      int64_t raw)
{
	(void)raw;
	CALL(own, got->ret < 0 ? -got->err : SPARE_FD, openat, AT_FDCWD, P(op->path),
	     O_CREAT | O_EXCL | O_WRONLY, op->mode);
	if (got->ret >= 0)
		CALL(own, 0, close, SPARE_FD);
}

static void on_close(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		     int64_t raw)
{
	(void)got;
	CALL(own, raw, close, FD);
	if (op->fd >= 0 && op->fd <= AS_SLOT_MAX)
		own->slots[op->fd] = false;
}

static void on_xattr(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		     int64_t raw)
{
	uint64_t path = P(op->path), name = P(op->name);

	if (op->code == AS_OP_WRITE_XATTR && op->nofollow)
		CALL(own, raw, lsetxattr, path, name, 0, op->len, (int)op->flags);
	else if (op->code == AS_OP_WRITE_XATTR)
		CALL(own, raw, setxattr, path, name, 0, op->len, (int)op->flags);
	else if (op->code == AS_OP_READ_XATTR && op->nofollow)
		CALL(own, raw, lgetxattr, path, name, 0, XATTR_BYTES);
	else if (op->code == AS_OP_READ_XATTR)
		CALL(own, raw, getxattr, path, name, 0, XATTR_BYTES);
	else if (op->code == AS_OP_REMOVEXATTR && op->nofollow)
		CALL(own, raw, lremovexattr, path, name);
	else if (op->code == AS_OP_REMOVEXATTR)
		CALL(own, raw, removexattr, path, name);
	else if (op->nofollow)
		CALL(own, raw < 0 ? raw : (int64_t)got->len, llistxattr, path, 0, XATTR_BYTES);
	else
		CALL(own, raw < 0 ? raw : (int64_t)got->len, listxattr, path, 0, XATTR_BYTES);
}

static void on_acl(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		   int64_t raw)
{
	struct as_op as = *op;
	uint8_t bytes[AS_ACL_BYTES];
	struct as_acl acl;

	as.name = as_acl_attribute(op->flags);
	as.flags = 0;
	as.code = AS_OP_READ_XATTR;
	if (op->code == AS_OP_SETACL) {
		/* Refused without a call. */
		if (!as_acl_parse(op->name, &acl))
			return;
		as.len = as_acl_encode(&acl, bytes);
		as.code = acl.n ? AS_OP_WRITE_XATTR : AS_OP_REMOVEXATTR;
	}
	on_xattr(own, &as, got, raw);
}

static void on_utimens(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		       int64_t raw)
{
	struct timespec times[2] = { as_op_timespec(op->atime), as_op_timespec(op->mtime) };

	(void)got;
	CALL(own, raw, utimensat, AT_FDCWD, P(op->path), P(times),
	     op->nofollow ? AT_SYMLINK_NOFOLLOW : 0);
}

static void on_copy(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		    int64_t raw)
{
	/* What memory holds after the call. */
	uint64_t moved = raw > 0 ? (uint64_t)raw : 0, from = (uint64_t)op->off + moved,
		 to = (uint64_t)op->off2 + moved;

	(void)got;
	CALL(own, raw, copy_file_range, FD, P(&from), FD2, P(&to), op->len, 0);
}

static void on_send(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		    int64_t raw)
{
	uint64_t from = (uint64_t)op->off + (raw > 0 ? (uint64_t)raw : 0);

	(void)got;
	CALL(own, raw, sendfile, FD2, FD, op->off == -1 ? 0 : P(&from), op->len);
}

static void on_vector(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		      int64_t raw)
{
	struct iovec vec = { NULL, op->len };

	(void)got;
	if (op->code == AS_OP_PREADV2)
		CALL(own, raw, preadv2, FD, P(&vec), 1, (uint64_t)op->off, 0, (unsigned)op->flags);
	else
		CALL(own, raw, pwritev2, FD, P(&vec), 1, (uint64_t)op->off, 0, (unsigned)op->flags);
}

static void on_map(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		   int64_t raw)
{
	(void)got;
	CALL(own, raw < 0 ? raw : 4096, mmap, 0, op->len, (int)op->flags, MAP_SHARED, FD,
	     (uint64_t)op->off);
}

/* No call that is counted. */
static void on_none(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		    int64_t raw)
{
	(void)own;
	(void)op;
	(void)got;
	(void)raw;
}

/* The rules that come before mmap(2) answer EBADF, EINVAL and ENXIO. */
static void on_mmap(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		    int64_t raw)
{
	uint64_t start = (uint64_t)op->off & ~(uint64_t)4095;
	uint64_t len = (uint64_t)op->off - start + op->len;

	(void)got;
	if (raw == -EBADF || raw == -EINVAL || raw == -ENXIO)
		return;
	CALL(own, raw < 0 ? raw : 4096, mmap, 0, len, PROT_READ | PROT_WRITE, MAP_SHARED, FD,
	     start);
	if (raw >= 0 && op->flags)
		CALL(own, raw, msync, 4096, len, (int)op->flags);
}

static void on_mount(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		     int64_t raw)
{
	(void)op;
	(void)got;
	if (raw >= 0)
		as_own_begin(own);
}

static void on_hidden(struct as_own *own, const struct as_op *op, const struct as_outcome *got,
		      int64_t raw)
{
	(void)op;
	(void)got;
	(void)raw;
	as_own_hidden(own);
}

/* The last column of op.def. */
#define OWN(...) CALL(own, raw, __VA_ARGS__)
#define OWN_BY(function) on_##function(own, op, got, raw)
#define OWN_HIDDEN on_hidden(own, op, got, raw)
#define OP(id, name, layer, args, calls, needs, persists, paths, changes, reads, moves, cost, \
	   race, syscalls, help, gen, weights, draws, last)                                   \
	static void op_##name(struct as_own *own, const struct as_op *op,                     \
			      const struct as_outcome *got, int64_t raw)                      \
	{                                                                                     \
		(void)op;                                                                     \
		(void)got;                                                                    \
		last;                                                                         \
	}
#include "work/op.def"
#undef OP

static void (*const on[AS_OP_COUNT])(struct as_own *own, const struct as_op *op,
				     const struct as_outcome *got, int64_t raw) = {
#define OP(id, name, ...) [AS_OP_##id] = op_##name,
#include "work/op.def"
#undef OP
};

void as_own_op(void *ctx, const struct as_op *op, const struct as_outcome *got)
{
	struct as_own *own = ctx;
	int64_t raw = got->ret < 0 ? -(int64_t)got->err : got->ret;

	if (got->err == AS_ERR_UNSUPPORTED || got->err == AS_ERR_LIMIT || got->err == ESHUTDOWN)
		return;
	if (!own->told)
		as_own_holds(own, ROOT_FD, "/", true);
	own->told = true;
	on[op->code](own, op, got, raw);
}
