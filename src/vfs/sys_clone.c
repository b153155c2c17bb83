/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys_clone: files that share blocks, through ioctl(2). The first slot is the file that changes. */
#include "vfs/sys_priv.h"

#include <errno.h>
#include <linux/fs.h>

void as_sys_clone(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_sys_answer(out, as_sys_do(vfs, ioctl, as_sys_fd(vfs, op->fd), FICLONE,
				     as_sys_fd(vfs, op->fd2)));
}

void as_sys_clone_range(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct file_clone_range range = {
		.src_fd = as_sys_fd(vfs, op->fd2),
		.src_offset = (uint64_t)op->off,
		.src_length = op->len,
		.dest_offset = (uint64_t)op->off2,
	};

	as_sys_answer(out,
		      as_sys_do(vfs, ioctl, as_sys_fd(vfs, op->fd), FICLONERANGE, SYS_P(&range)));
}

void as_sys_dedupe_range(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	/* A request for one other file: the head and its only entry. */
	union {
		struct file_dedupe_range head;
		char room[sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info)];
	} ask = {
		.head = { .src_offset = (uint64_t)op->off, .src_length = op->len, .dest_count = 1 }
	};
	struct file_dedupe_range_info *info = ask.head.info;

	info->dest_fd = as_sys_fd(vfs, op->fd);
	info->dest_offset = (uint64_t)op->off2;
	if (as_sys_do(vfs, ioctl, as_sys_fd(vfs, op->fd2), FIDEDUPERANGE, SYS_P(&ask)) < 0)
		as_sys_answer(out, -1);
	else if (info->status == FILE_DEDUPE_RANGE_DIFFERS)
		as_vfs_answer(out, -EBADE);
	else
		as_vfs_answer(out, info->status < 0 ? info->status : (int64_t)info->bytes_deduped);
}
