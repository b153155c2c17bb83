/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ops.c: the table of operations through which assay uses labfs.
 */
#include "format.h"
#include "fsck.h"
#include "labfs.h"
#include "opsdecl.h"

static int mkfs(const struct as_mount_args *args)
{
	struct lab_opts opts = { 0 };
	int rc = lab_opts_parse(args->opts, &opts);

	return rc ? rc : lab_mkfs(args->host, args->bd, 0);
}

static const struct as_limits limits = {
	.name_max = LAB_NAME_MAX,
	.link_max = LAB_LINK_MAX,
	.dir_link_max = LAB_LINK_MAX,
	.symlink_max = LAB_SYMLINK_MAX,
	.xattr_bytes = LAB_BLOCK - sizeof(struct lab_xattr_head),
	.file_bytes = LAB_MAX_SIZE,
};

const struct as_target_ops lab_target = {
	.api = AS_TARGET_API,
	.caps = AS_CAP_HARDLINK | AS_CAP_SYMLINK | AS_CAP_MKNOD | AS_CAP_XATTR | AS_CAP_FALLOCATE |
		AS_CAP_PUNCH | AS_CAP_RENAME2 | AS_CAP_TMPFILE | AS_CAP_OWNER | AS_CAP_TIMES |
		AS_CAP_STAMPS | AS_CAP_EXACT_SPACE | AS_CAP_STATFS | AS_CAP_OPEN_UNLINKED |
		AS_CAP_FSCK | AS_CAP_READONLY,
	.name = "lab",
	.version = "1",
	.min_bytes = LABFS_MIN_BYTES,
	.default_bytes = LABFS_DEFAULT_BYTES,
	.mkfs = mkfs,
	.mount = lab_mount,
	.unmount = lab_unmount,
	.sync = lab_sync,
	.getattr = lab_getattr,
	.setattr = lab_setattr,
	.mkdir = lab_mkdir,
	.rmdir = lab_rmdir,
	.unlink = lab_unlink,
	.rename = lab_rename,
	.readdir = lab_readdir,
	.open = lab_open,
	.close = lab_close,
	.read = lab_read,
	.write = lab_write,
	.fgetattr = lab_fgetattr,
	.fsetattr = lab_fsetattr,
	.fsync = lab_fsync,
	.link = lab_link,
	.link_handle = lab_link_handle,
	.symlink = lab_symlink,
	.readlink = lab_readlink,
	.mknod = lab_mknod,
	.fallocate = lab_fallocate,
	.setxattr = lab_setxattr,
	.getxattr = lab_getxattr,
	.listxattr = lab_listxattr,
	.removexattr = lab_removexattr,
	.statfs = lab_statfs,
	.remount = lab_remount,
	.fsck = lab_fsck,
	.limits = &limits,
};
