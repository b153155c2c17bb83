/* SPDX-License-Identifier: MIT */
/*
 * ext2lib: libext2fs, the library of e2fsprogs, as a plugin of assay: its in-process calls for
 * files and directories, on the disk of assay. It is linked from the system (package
 * libext2fs-dev).
 *
 * What is its own here, and what is libext2fs's: the library has inodes, directory entries, files,
 * links and extended attributes. It has no unlink that frees an inode, no rename, no rmdir, and no
 * open files that are removed; these are made of its calls here, in the way in which fuse2fs and
 * debugfs make them.
 *
 * What it promises: the library has no journal. Nothing is stable until ext2fs_flush(), which sync
 * and fsync call; what was touched since may be anything after a power cut, and needs e2fsck.
 * Its memory comes from malloc(), so that assay can neither count it nor make it fail.
 */
#ifndef EXT2LIB_H
#define EXT2LIB_H

#include <assay/target.h>
#include <ext2fs/ext2fs.h>

#define E2_SYMLINK_MAX 1023u /* bytes of a link: less than the smallest block */
#define E2_FILE_BYTES ((uint64_t)16 << 30) /* blocks of 1 KiB below three levels of pointers */

struct as_handle {
	ext2_ino_t ino;
	unsigned flags; /* of open */
	struct as_handle *next;
};

struct as_fs {
	const struct as_host *host;
	ext2_filsys ext2;
	bool readonly;
	struct as_handle *open;
};

/* The disk of assay, as libext2fs sees disks. NAME is what e2_device() has been told. */
extern struct struct_io_manager e2_io;
void e2_device(struct as_bd *bd);

/* e2fsck, the program, on a copy of the disk (fsck.c). */
int e2_fsck(const struct as_mount_args *args, enum as_fsck_mode mode);

/* An error of libext2fs as a negative errno. */
int e2_errno(errcode_t code);

/* The directory that `path` is in, and its last name; -ENOENT, -ENOTDIR. */
int e2_parent(struct as_fs *fs, const char *path, ext2_ino_t *dir, const char **name);
int e2_lookup(struct as_fs *fs, const char *path, ext2_ino_t *ino, struct ext2_inode *inode);
int e2_name_in(struct as_fs *fs, ext2_ino_t dir, const char *name, ext2_ino_t *ino);
/* A new inode with this mode and one link, which has no name yet. */
int e2_new_inode(struct as_fs *fs, ext2_ino_t dir, uint32_t mode, ext2_ino_t *ino);
/* A new inode gets the group of a directory that has S_ISGID, and a directory that bit, too. */
errcode_t e2_inherit(struct as_fs *fs, ext2_ino_t dir, struct ext2_inode *inode);
/* Adds a name; the directory grows if need be. */
int e2_add_name(struct as_fs *fs, ext2_ino_t dir, const char *name, ext2_ino_t ino, uint32_t mode);
/* One link less. The last one frees the inode, unless it is open. */
int e2_put_link(struct as_fs *fs, ext2_ino_t ino);
/* Frees an inode without links that nobody has open. */
int e2_free_unused(struct as_fs *fs, ext2_ino_t ino);
/* Sets the times that are asked for (AS_SET_ATIME, AS_SET_MTIME) and ctime to now. */
void e2_touch(struct as_fs *fs, struct ext2_inode *inode, unsigned which);
int e2_touch_dir(struct as_fs *fs, ext2_ino_t dir);

/* names.c */
int e2_mkdir(struct as_fs *fs, const char *path, uint32_t mode);
int e2_rmdir(struct as_fs *fs, const char *path);
int e2_unlink(struct as_fs *fs, const char *path);
int e2_rename(struct as_fs *fs, const char *from, const char *to, unsigned flags);
int e2_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx);
int e2_link(struct as_fs *fs, const char *from, const char *to);
int e2_symlink(struct as_fs *fs, const char *text, const char *path);
int64_t e2_readlink(struct as_fs *fs, const char *path, char *buf, size_t len);

/* files.c */
int e2_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
	    struct as_handle **handle);
int e2_close(struct as_fs *fs, struct as_handle *handle);
int64_t e2_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len, uint64_t off);
int64_t e2_write(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
		 uint64_t *off);
int e2_getattr(struct as_fs *fs, const char *path, struct as_stat *st);
int e2_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st);
int e2_setattr(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set);
int e2_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st, unsigned set);
int e2_setxattr(struct as_fs *fs, const char *path, const char *name, const void *value, size_t len,
		unsigned flags);
int64_t e2_getxattr(struct as_fs *fs, const char *path, const char *name, void *value, size_t len);
int64_t e2_listxattr(struct as_fs *fs, const char *path, char *list, size_t len);
int e2_removexattr(struct as_fs *fs, const char *path, const char *name);

#endif
