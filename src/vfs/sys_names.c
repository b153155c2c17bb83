/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys_names: names and attributes through system calls: one call each, as op.def says. */
#include "vfs/sys_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define XATTR_BYTES 65536u

void as_sys_answer(struct as_outcome *out, int64_t ret)
{
	as_vfs_answer(out, ret < 0 ? -(int64_t)errno : ret);
}

void as_sys_mkdir(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, mkdirat, AT_FDCWD, SYS_P(op->path), op->mode));
}

void as_sys_create(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int64_t fd = as_sys_do(vfs, openat, AT_FDCWD, SYS_P(op->path), O_CREAT | O_EXCL | O_WRONLY,
			       op->mode);

	as_sys_answer(out, fd < 0 ? fd : as_sys_do(vfs, close, (uint64_t)fd));
}

void as_sys_mknod(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	mode_t type = (mode_t)op->flags & S_IFMT;
	bool device = type == S_IFCHR || type == S_IFBLK;
	dev_t dev = device ? makedev(AS_DEV_MAJOR(op->dev), AS_DEV_MINOR(op->dev)) : 0;

	if (device && op->dev && s->refuse_devices)
		as_vfs_answer(out, -AS_ERR_UNSUPPORTED);
	else
		as_sys_answer(out, as_sys_do(vfs, mknodat, AT_FDCWD, SYS_P(op->path),
					     type | (op->mode & 07777), dev));
}

void as_sys_hardlink(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, linkat, AT_FDCWD, SYS_P(op->path), AT_FDCWD,
				     SYS_P(op->path2), 0));
}

void as_sys_symlink(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, symlinkat, SYS_P(op->path), AT_FDCWD, SYS_P(op->path2)));
}

/* A link in /proc outside the chroot leads to the descriptor without further privileges. */
void as_sys_link_tmpfile(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	int fd = as_sys_fd(vfs, op->fd);
	char name[16];

	snprintf(name, sizeof(name), "%d", fd);
	if (fd < 0)
		as_vfs_answer(out, -EBADF);
	else
		as_sys_answer(out, as_sys_do(vfs, linkat, s->proc_fd, SYS_P(name), AT_FDCWD,
					     SYS_P(op->path), AT_SYMLINK_FOLLOW));
}

void as_sys_rename(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, renameat, AT_FDCWD, SYS_P(op->path), AT_FDCWD,
				     SYS_P(op->path2)));
}

void as_sys_rename2(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, renameat2, AT_FDCWD, SYS_P(op->path), AT_FDCWD,
				     SYS_P(op->path2), (unsigned)op->flags));
}

void as_sys_rmdir(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, unlinkat, AT_FDCWD, SYS_P(op->path), AT_REMOVEDIR));
}

void as_sys_unlink(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, unlinkat, AT_FDCWD, SYS_P(op->path), 0));
}

void as_sys_chcwd(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, chdir, SYS_P(op->path)));
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static int64_t to_ns(struct timespec ts)
{
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void as_sys_convert_stat(const struct stat *from, struct as_stat *to)
{
	*to = (struct as_stat){
		.ino = from->st_ino,
		.mode = from->st_mode,
		.nlink = (uint32_t)from->st_nlink,
		.uid = from->st_uid,
		.gid = from->st_gid,
		.rdev = S_ISCHR(from->st_mode) || S_ISBLK(from->st_mode) ? from->st_rdev : 0,
		.size = (uint64_t)from->st_size,
		.blocks = (uint64_t)from->st_blocks,
		.atime_ns = to_ns(from->st_atim),
		.mtime_ns = to_ns(from->st_mtim),
		.ctime_ns = to_ns(from->st_ctim),
	};
}

static void answer_stat(struct as_outcome *out, int64_t ret, const struct stat *st)
{
	as_sys_answer(out, ret);
	if (ret)
		return;
	out->payload = AS_PAYLOAD_STAT;
	as_sys_convert_stat(st, &out->st);
}

static int64_t statx_ns(struct statx_timestamp t)
{
	return to_ns((struct timespec){ t.tv_sec, t.tv_nsec });
}

void as_sys_statx(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct statx st = { 0 };
	int64_t ret =
		as_sys_do(vfs, statx, AT_FDCWD, SYS_P(op->path),
			  op->nofollow ? AT_SYMLINK_NOFOLLOW : 0, (unsigned)op->flags, SYS_P(&st));

	as_sys_answer(out, ret);
	if (ret)
		return;
	out->payload = AS_PAYLOAD_STAT;
	out->st = (struct as_stat){
		.ino = st.stx_ino,
		.mode = st.stx_mode,
		.nlink = st.stx_nlink,
		.uid = st.stx_uid,
		.gid = st.stx_gid,
		.rdev = S_ISCHR(st.stx_mode) || S_ISBLK(st.stx_mode)
				? makedev(st.stx_rdev_major, st.stx_rdev_minor)
				: 0,
		.size = st.stx_size,
		.blocks = st.stx_blocks,
		.atime_ns = statx_ns(st.stx_atime),
		.mtime_ns = statx_ns(st.stx_mtime),
		.ctime_ns = statx_ns(st.stx_ctime),
	};
	out->stx = (struct as_statx){
		.known = true,
		.mask = st.stx_mask,
		.attributes = st.stx_attributes,
		.attributes_mask = st.stx_attributes_mask,
		.btime_ns = statx_ns(st.stx_btime),
	};
}

void as_sys_stat(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct stat st;
	int64_t ret = as_sys_do(vfs, newfstatat, AT_FDCWD, SYS_P(op->path), SYS_P(&st),
				op->nofollow ? AT_SYMLINK_NOFOLLOW : 0);

	answer_stat(out, ret, &st);
}

void as_sys_fstat(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct stat st;

	answer_stat(out, as_sys_do(vfs, fstat, as_sys_fd(vfs, op->fd), SYS_P(&st)), &st);
}

void as_sys_chmod(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, fchmodat, AT_FDCWD, SYS_P(op->path), op->mode & 07777));
}

void as_sys_fchmod(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, fchmod, as_sys_fd(vfs, op->fd), op->mode & 07777));
}

void as_sys_chown(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, fchownat, AT_FDCWD, SYS_P(op->path), (uid_t)op->uid,
				     (gid_t)op->gid, op->nofollow ? AT_SYMLINK_NOFOLLOW : 0));
}

void as_sys_utimens(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct timespec times[2] = { as_op_timespec(op->atime), as_op_timespec(op->mtime) };

	as_sys_answer(out, as_sys_do(vfs, utimensat, AT_FDCWD, SYS_P(op->path), SYS_P(times),
				     op->nofollow ? AT_SYMLINK_NOFOLLOW : 0));
}

void as_sys_readlink(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const char *buf = as_sys_room(vfs, AS_VFS_PATH_MAX);
	ssize_t n =
		as_sys_do(vfs, readlinkat, AT_FDCWD, SYS_P(op->path), SYS_P(buf), AS_VFS_PATH_MAX);

	as_vfs_answer_bytes(vfs, out, n < 0 ? -errno : n);
}

void as_sys_statfs(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct statfs sfs;
	int64_t ret = as_sys_do(vfs, statfs, SYS_P(op->path), SYS_P(&sfs));

	as_sys_answer(out, ret);
	if (ret)
		return;
	out->payload = AS_PAYLOAD_STATFS;
	out->sfs = (struct as_statfs){
		.block_bytes = (uint32_t)sfs.f_bsize,
		.name_max = (uint32_t)sfs.f_namelen,
		.blocks = sfs.f_blocks,
		.blocks_free = sfs.f_bfree,
		.files = sfs.f_files,
		.files_free = sfs.f_ffree,
	};
}

/* ---- Extended attributes --------------------------------------------------------------------- */

void as_sys_write_xattr(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const void *value;

	as_buf_clear(&vfs->data);
	as_pattern_fill(op->fill, 0, as_buf_reserve(&vfs->data, op->len), op->len);
	value = vfs->data.data;
	as_sys_answer(out, op->nofollow
				   ? as_sys_do(vfs, lsetxattr, SYS_P(op->path), SYS_P(op->name),
					       SYS_P(value), op->len, (int)op->flags)
				   : as_sys_do(vfs, setxattr, SYS_P(op->path), SYS_P(op->name),
					       SYS_P(value), op->len, (int)op->flags));
}

static int64_t read_cramped(struct as_vfs *vfs, const struct as_op *op, char *buf, size_t len)
{
	ssize_t n = op->nofollow ? as_sys_do(vfs, lgetxattr, SYS_P(op->path), SYS_P(op->name),
					     SYS_P(buf), len)
				 : as_sys_do(vfs, getxattr, SYS_P(op->path), SYS_P(op->name),
					     SYS_P(buf), len);

	return n < 0 ? -errno : n;
}

void as_sys_read_xattr(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	char *buf = as_sys_room(vfs, 2 * XATTR_BYTES);
	ssize_t n;

	n = op->nofollow ? as_sys_do(vfs, lgetxattr, SYS_P(op->path), SYS_P(op->name), SYS_P(buf),
				     XATTR_BYTES)
			 : as_sys_do(vfs, getxattr, SYS_P(op->path), SYS_P(op->name), SYS_P(buf),
				     XATTR_BYTES);
	n = n < 0 ? -errno : n;
	if (n > 1)
		n = as_vfs_cramped(n, read_cramped(vfs, op, buf + n, (size_t)n - 1));
	as_vfs_answer_bytes(vfs, out, n);
}

static int64_t list_cramped(struct as_vfs *vfs, const struct as_op *op, char *buf, size_t len)
{
	ssize_t n = op->nofollow ? as_sys_do(vfs, llistxattr, SYS_P(op->path), SYS_P(buf), len)
				 : as_sys_do(vfs, listxattr, SYS_P(op->path), SYS_P(buf), len);

	return n < 0 ? -errno : n;
}

void as_sys_listxattr(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_vfs_names names = { 0 };
	char *buf = as_sys_room(vfs, 2 * XATTR_BYTES);
	ssize_t n;

	n = op->nofollow ? as_sys_do(vfs, llistxattr, SYS_P(op->path), SYS_P(buf), XATTR_BYTES)
			 : as_sys_do(vfs, listxattr, SYS_P(op->path), SYS_P(buf), XATTR_BYTES);
	n = n < 0 ? -errno : n;
	if (n > 1)
		n = as_vfs_cramped(n, list_cramped(vfs, op, buf + n, (size_t)n - 1));
	if (n < 0) {
		as_vfs_answer(out, n);
		return;
	}
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(buf + i) + 1)
		(void)!as_vfs_names_add(&names, 0, buf + i);
	as_vfs_answer_names(vfs, out, &names, false);
	as_vfs_names_free(&names);
}

void as_sys_removexattr(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, op->nofollow
				   ? as_sys_do(vfs, lremovexattr, SYS_P(op->path), SYS_P(op->name))
				   : as_sys_do(vfs, removexattr, SYS_P(op->path), SYS_P(op->name)));
}
