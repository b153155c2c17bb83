/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opsdecl.h: the functions that lab_target names, by file.
 */
#ifndef LABFS_OPSDECL_H
#define LABFS_OPSDECL_H

#include <assay/target.h>

/* super.c */
int lab_mount(const struct as_mount_args *args, struct as_fs **fs);
int lab_unmount(struct as_fs *fs);
int lab_remount(struct as_fs *fs, const char *opts);
int lab_sync(struct as_fs *fs);
int lab_statfs(struct as_fs *fs, struct as_statfs *st);

/* namespace.c */
int lab_getattr(struct as_fs *fs, const char *path, struct as_stat *st);
int lab_mkdir(struct as_fs *fs, const char *path, uint32_t mode);
int lab_rmdir(struct as_fs *fs, const char *path);
int lab_unlink(struct as_fs *fs, const char *path);
int lab_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx);
int lab_link(struct as_fs *fs, const char *from, const char *to);
int lab_link_handle(struct as_fs *fs, struct as_handle *handle, const char *to);
int lab_symlink(struct as_fs *fs, const char *text, const char *path);
int64_t lab_readlink(struct as_fs *fs, const char *path, char *buf, size_t len);
int lab_mknod(struct as_fs *fs, const char *path, uint32_t mode, uint64_t rdev);

/* rename.c */
int lab_rename(struct as_fs *fs, const char *from, const char *to, unsigned flags);

/* handle.c */
int lab_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
	     struct as_handle **handle);
int lab_close(struct as_fs *fs, struct as_handle *handle);
int lab_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st);
int lab_fsync(struct as_fs *fs, struct as_handle *handle, bool data_only);

/* file.c */
int64_t lab_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len, uint64_t off);
int64_t lab_write(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
		  uint64_t *off);

/* attr.c */
int lab_setattr(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set);
int lab_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st,
		 unsigned set);

/* space.c */
int lab_fallocate(struct as_fs *fs, struct as_handle *handle, unsigned mode, uint64_t off,
		  uint64_t len);

/* xattr.c */
int lab_setxattr(struct as_fs *fs, const char *path, const char *name, const void *value,
		 size_t len, unsigned flags);
int64_t lab_getxattr(struct as_fs *fs, const char *path, const char *name, void *value, size_t len);
int64_t lab_listxattr(struct as_fs *fs, const char *path, char *list, size_t len);
int lab_removexattr(struct as_fs *fs, const char *path, const char *name);

#endif
