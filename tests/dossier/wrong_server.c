/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wrong_server BUG FOLDER MOUNTPOINT: a FUSE server that passes everything on to a folder, and has
 * one bug, which no answer of a call shows:
 *	none   it has none
 *	data   the byte at offset 100 of a file is written with one bit wrong
 *	attr   the last byte of an attribute's value is
 *	text   the first letter of a symbolic link's text is
 *	hang   a rename never comes back
 * or which only a call that reads shows, the first time, and nobody who looks afterwards:
 *	read   the byte at offset 4500 of a file is read with one bit wrong
 *	value  the last byte of an attribute's value is
 *	link   the last letter of a symbolic link's text is
 *	name   the first name in a directory is
 *	type   a file in a directory is called a fifo
 *	list   the last letter of the first attribute's name is
 *	size   a file is one byte longer
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define WRONG_AT 100

#define READ_AT 4500

static const char *bug;
static int folder;

static int has(const char *name)
{
	return !strcmp(bug, name);
}

/* Whether this read is the one that the bug is in. */
static int strikes(const char *name)
{
	static int struck;

	return has(name) && !struck++;
}

/* The library goes to "/" when it starts. */
static void *w_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	(void)config;
	if (fchdir(folder))
		exit(2);
	return NULL;
}

/* The folder is the working directory. */
static const char *rel(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int result(long long n)
{
	return n < 0 ? -errno : (int)n;
}

static int w_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
	int rc = result(lstat(rel(path), st));

	(void)info;
	if (!rc && S_ISREG(st->st_mode) && st->st_size && strikes("size"))
		st->st_size++;
	return rc;
}

static int w_readlink(const char *path, char *buf, size_t len)
{
	ssize_t n = readlink(rel(path), buf, len - 1);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	if (n && strikes("link"))
		buf[n - 1] ^= 1;
	return 0;
}

static int w_mkdir(const char *path, mode_t mode)
{
	return result(mkdir(rel(path), mode));
}

static int w_unlink(const char *path)
{
	return result(unlink(rel(path)));
}

static int w_rmdir(const char *path)
{
	return result(rmdir(rel(path)));
}

static int w_symlink(const char *text, const char *path)
{
	char *own = strdup(text);
	int rc;

	if (has("text"))
		own[0] ^= 1;
	rc = result(symlink(own, rel(path)));
	free(own);
	return rc;
}

static int w_rename(const char *from, const char *to, unsigned flags)
{
	while (has("hang"))
		pause();
	return result(renameat2(AT_FDCWD, rel(from), AT_FDCWD, rel(to), flags));
}

static int w_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
	int fd = open(rel(path), (info->flags | O_CREAT) & ~O_NOFOLLOW, mode);

	info->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int w_open(const char *path, struct fuse_file_info *info)
{
	return w_create(path, 0, info);
}

static int w_read(const char *path, char *buf, size_t len, off_t off, struct fuse_file_info *info)
{
	int n = result(pread((int)info->fh, buf, len, off));

	(void)path;
	if (off <= READ_AT && n > READ_AT - off && strikes("read"))
		buf[READ_AT - off] ^= 1;
	return n;
}

static int w_write(const char *path, const char *buf, size_t len, off_t off,
		   struct fuse_file_info *info)
{
	char *own = malloc(len + 1);
	int rc;

	(void)path;
	memcpy(own, buf, len);
	if (has("data") && off <= WRONG_AT && (off_t)len > WRONG_AT - off)
		own[WRONG_AT - off] ^= 1;
	rc = result(pwrite((int)info->fh, own, len, off));
	free(own);
	return rc;
}

static int w_release(const char *path, struct fuse_file_info *info)
{
	(void)path;
	close((int)info->fh);
	return 0;
}

static int w_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t off,
		     struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	DIR *dir = opendir(rel(path));
	struct dirent *entry;

	(void)off;
	(void)info;
	(void)flags;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		struct stat st = { .st_mode = DTTOIF(entry->d_type) };

		if (entry->d_name[0] != '.' && strikes("name"))
			entry->d_name[0] ^= 1;
		if (entry->d_type == DT_REG && strikes("type"))
			st.st_mode = S_IFIFO;
		fill(buf, entry->d_name, &st, 0, 0);
	}
	closedir(dir);
	return 0;
}

static int w_setxattr(const char *path, const char *name, const char *value, size_t len, int flags)
{
	char *own = malloc(len + 1);
	int rc;

	memcpy(own, value, len);
	if (has("attr") && len)
		own[len - 1] ^= 1;
	rc = result(lsetxattr(rel(path), name, own, len, flags));
	free(own);
	return rc;
}

static int w_getxattr(const char *path, const char *name, char *value, size_t len)
{
	int n = result(lgetxattr(rel(path), name, value, len));

	if (n > 0 && len && strikes("value"))
		value[n - 1] ^= 1;
	return n;
}

static int w_listxattr(const char *path, char *list, size_t len)
{
	int n = result(llistxattr(rel(path), list, len));

	if (n > 0 && len && strikes("list"))
		list[strlen(list) - 1] ^= 1;
	return n;
}

static const struct fuse_operations operations = {
	.init = w_init,
	.getattr = w_getattr,
	.readlink = w_readlink,
	.mkdir = w_mkdir,
	.unlink = w_unlink,
	.rmdir = w_rmdir,
	.symlink = w_symlink,
	.rename = w_rename,
	.open = w_open,
	.create = w_create,
	.read = w_read,
	.write = w_write,
	.release = w_release,
	.readdir = w_readdir,
	.setxattr = w_setxattr,
	.getxattr = w_getxattr,
	.listxattr = w_listxattr,
};

int main(int argc, char **argv)
{
	char *own[] = { argv[0], "-f", "-s", argc == 4 ? argv[3] : NULL, NULL };

	folder = argc == 4 ? open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (folder < 0) {
		fprintf(stderr, "usage: wrong_server BUG FOLDER MOUNTPOINT\n");
		return 2;
	}
	bug = argv[1];
	umask(0);
	return fuse_main(4, own, &operations, NULL);
}
