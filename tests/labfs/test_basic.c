/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_basic: answers of labfs to single calls, as Linux's ext4 would give them.
 */
#include "tests/lib/lab_rig.h"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define DISK (1024 * 1024)

/* ---- One call, one answer, over a fixed tree ---- */

static char name255[260] = "/", name256[260] = "/";
static char text1024[1030];

enum what {
	MKDIR,
	RMDIR,
	UNLINK,
	RENAME,
	LINK,
	SYMLINK,
	MKNOD,
	OPEN,
	GETATTR,
	TRUNCATE,
	READLINK,
	CHMOD
};

struct row {
	const char *name;
	enum what what;
	const char *a, *b;
	unsigned flags;
	int want;
};

static const struct row rows[] = {
	{ "mkdir over a file", MKDIR, "/f", NULL, 0, -EEXIST },
	{ "mkdir over a dir", MKDIR, "/d", NULL, 0, -EEXIST },
	{ "mkdir of the root", MKDIR, "/", NULL, 0, -EEXIST },
	{ "mkdir below nothing", MKDIR, "/no/x", NULL, 0, -ENOENT },
	{ "mkdir below a file", MKDIR, "/f/x", NULL, 0, -ENOTDIR },
	{ "mkdir below a link", MKDIR, "/l/x", NULL, 0, -ENOTDIR },
	{ "mkdir, 255 bytes", MKDIR, name255, NULL, 0, 0 },
	{ "mkdir, 256 bytes", MKDIR, name256, NULL, 0, -ENAMETOOLONG },
	{ "getattr, 256 bytes", GETATTR, name256, NULL, 0, -ENAMETOOLONG },
	{ "rmdir of a file", RMDIR, "/f", NULL, 0, -ENOTDIR },
	{ "rmdir of a full dir", RMDIR, "/d", NULL, 0, -ENOTEMPTY },
	{ "rmdir of the root", RMDIR, "/", NULL, 0, -EBUSY },
	{ "rmdir of nothing", RMDIR, "/no", NULL, 0, -ENOENT },
	{ "rmdir", RMDIR, "/e", NULL, 0, 0 },
	{ "unlink of a dir", UNLINK, "/e", NULL, 0, -EISDIR },
	{ "unlink of the root", UNLINK, "/", NULL, 0, -EISDIR },
	{ "unlink of nothing", UNLINK, "/no", NULL, 0, -ENOENT },
	{ "unlink below a file", UNLINK, "/f/x", NULL, 0, -ENOTDIR },
	{ "unlink of a link", UNLINK, "/l", NULL, 0, 0 },
	{ "unlink of a device", UNLINK, "/c", NULL, 0, 0 },
	{ "rename to a new name", RENAME, "/f", "/e/f", 0, 0 },
	{ "rename over a file", RENAME, "/f", "/g", 0, 0 },
	{ "rename onto itself", RENAME, "/f", "/f", 0, 0 },
	{ "rename onto a hard link", RENAME, "/f", "/d/hard", 0, 0 },
	{ "rename of nothing", RENAME, "/no", "/x", 0, -ENOENT },
	{ "rename file over dir", RENAME, "/f", "/e", 0, -EISDIR },
	{ "rename dir over file", RENAME, "/e", "/f", 0, -ENOTDIR },
	{ "rename dir over empty dir", RENAME, "/d", "/e", 0, 0 },
	{ "rename dir over full dir", RENAME, "/e", "/d", 0, -ENOTEMPTY },
	{ "rename into own subtree", RENAME, "/d", "/d/sub/x", 0, -EINVAL },
	{ "rename onto own ancestor", RENAME, "/d/sub", "/d", 0, -ENOTEMPTY },
	{ "rename of the root", RENAME, "/", "/x", 0, -EBUSY },
	{ "rename to a prefix, not below", RENAME, "/d", "/dd", 0, 0 },
	{ "noreplace over a file", RENAME, "/f", "/g", RENAME_NOREPLACE, -EEXIST },
	{ "noreplace to a new name", RENAME, "/f", "/n", RENAME_NOREPLACE, 0 },
	{ "exchange", RENAME, "/f", "/d/sub", RENAME_EXCHANGE, 0 },
	{ "exchange with nothing", RENAME, "/f", "/n", RENAME_EXCHANGE, -ENOENT },
	{ "exchange with own child", RENAME, "/d", "/d/sub", RENAME_EXCHANGE, -EINVAL },
	{ "exchange with own parent", RENAME, "/d/sub", "/d", RENAME_EXCHANGE, -EINVAL },
	{ "exchange and noreplace", RENAME, "/f", "/g", RENAME_EXCHANGE | RENAME_NOREPLACE,
	  -EINVAL },
	{ "whiteout and exchange", RENAME, "/f", "/g", RENAME_EXCHANGE | RENAME_WHITEOUT, -EINVAL },
	{ "whiteout", RENAME, "/f", "/n", RENAME_WHITEOUT, 0 },
	{ "unknown flag", RENAME, "/f", "/n", 8, -EINVAL },
	{ "link", LINK, "/f", "/n", 0, 0 },
	{ "link over a file", LINK, "/f", "/g", 0, -EEXIST },
	{ "link of a dir", LINK, "/d", "/n", 0, -EPERM },
	{ "link of nothing", LINK, "/no", "/n", 0, -ENOENT },
	{ "link of a link", LINK, "/l", "/n", 0, 0 },
	{ "symlink", SYMLINK, "target", "/n", 0, 0 },
	{ "symlink over a file", SYMLINK, "target", "/f", 0, -EEXIST },
	{ "symlink without text", SYMLINK, "", "/n", 0, -ENOENT },
	{ "symlink, 1024 bytes", SYMLINK, text1024, "/n", 0, -ENAMETOOLONG },
	{ "symlink, 1024 bytes, over a file", SYMLINK, text1024, "/f", 0, -EEXIST },
	{ "mknod dir", MKNOD, "/n", NULL, S_IFDIR | 0644, -EPERM },
	{ "mknod symlink", MKNOD, "/n", NULL, S_IFLNK | 0644, -EINVAL },
	{ "mknod fifo", MKNOD, "/n", NULL, S_IFIFO | 0644, 0 },
	{ "mknod over a file", MKNOD, "/f", NULL, S_IFIFO | 0644, -EEXIST },
	{ "open a dir to write", OPEN, "/d", NULL, O_RDWR, -EISDIR },
	{ "open a dir", OPEN, "/d", NULL, O_RDONLY, 0 },
	{ "open with O_DIRECTORY a dir", OPEN, "/d", NULL, O_DIRECTORY, 0 },
	{ "open with O_DIRECTORY a file", OPEN, "/f", NULL, O_DIRECTORY, -ENOTDIR },
	{ "open with O_CREAT a dir", OPEN, "/d", NULL, O_CREAT, -EISDIR },
	{ "open with O_CREAT and O_DIRECTORY", OPEN, "/n", NULL, O_CREAT | O_DIRECTORY, -EINVAL },
	{ "open nothing", OPEN, "/no", NULL, O_RDONLY, -ENOENT },
	{ "open O_EXCL existing", OPEN, "/f", NULL, O_CREAT | O_EXCL | O_RDWR, -EEXIST },
	{ "open O_EXCL a link", OPEN, "/l", NULL, O_CREAT | O_EXCL | O_RDWR, -EEXIST },
	{ "open O_EXCL new", OPEN, "/n", NULL, O_CREAT | O_EXCL | O_RDWR, 0 },
	{ "open a link", OPEN, "/l", NULL, O_RDONLY, -ELOOP },
	{ "open a socket", OPEN, "/s", NULL, O_RDONLY, -ENXIO },
	{ "tmpfile on a file", OPEN, "/f", NULL, O_TMPFILE | O_RDWR, -ENOTDIR },
	{ "tmpfile read-only", OPEN, "/d", NULL, O_TMPFILE | O_RDONLY, -EINVAL },
	{ "tmpfile", OPEN, "/d", NULL, O_TMPFILE | O_RDWR, 0 },
	{ "truncate a dir", TRUNCATE, "/d", NULL, 0, -EISDIR },
	{ "truncate a fifo", TRUNCATE, "/p", NULL, 0, -EINVAL },
	{ "readlink of a file", READLINK, "/f", NULL, 0, -EINVAL },
	{ "readlink", READLINK, "/l", NULL, 0, 6 },
	{ "chmod of a link", CHMOD, "/l", NULL, 0, -EOPNOTSUPP },
};

static int call(struct rig *r, const struct row *row)
{
	struct as_stat st = { 0 };
	struct as_handle *h;
	char buf[64];
	int rc;

	switch (row->what) {
	case MKDIR:
		return FS->mkdir(r->fs, row->a, 0755);
	case RMDIR:
		return FS->rmdir(r->fs, row->a);
	case UNLINK:
		return FS->unlink(r->fs, row->a);
	case RENAME:
		return FS->rename(r->fs, row->a, row->b, row->flags);
	case LINK:
		return FS->link(r->fs, row->a, row->b);
	case SYMLINK:
		return FS->symlink(r->fs, row->a, row->b);
	case MKNOD:
		return FS->mknod(r->fs, row->a, row->flags, 0);
	case OPEN:
		rc = FS->open(r->fs, row->a, row->flags, 0644, &h);
		return rc ? rc : FS->close(r->fs, h);
	case GETATTR:
		return FS->getattr(r->fs, row->a, &st);
	case TRUNCATE:
		return FS->setattr(r->fs, row->a, &st, AS_SET_SIZE);
	case READLINK:
		return (int)FS->readlink(r->fs, row->a, buf, sizeof(buf));
	case CHMOD:
		return FS->setattr(r->fs, row->a, &st, AS_SET_MODE);
	}
	return -1;
}

static void make_tree(struct rig *r)
{
	assert_int_equal(FS->mkdir(r->fs, "/d", 0755), 0);
	assert_int_equal(FS->mkdir(r->fs, "/d/sub", 0755), 0);
	assert_int_equal(FS->mkdir(r->fs, "/e", 0755), 0);
	assert_int_equal(t_put_at(r, "/f", O_CREAT, 'f', 3000, 0), 3000);
	assert_int_equal(t_touch(r, "/g"), 0);
	assert_int_equal(FS->link(r->fs, "/f", "/d/hard"), 0);
	assert_int_equal(FS->symlink(r->fs, "target", "/l"), 0);
	assert_int_equal(FS->mknod(r->fs, "/c", S_IFCHR | 0600, makedev(1, 3)), 0);
	assert_int_equal(FS->mknod(r->fs, "/p", S_IFIFO | 0600, 0), 0);
	assert_int_equal(FS->mknod(r->fs, "/s", S_IFSOCK | 0600, 0), 0);
}

static void test_answers(void **state)
{
	(void)state;
	memset(name255 + 1, 'x', 255);
	memset(name256 + 1, 'x', 256);
	memset(text1024, 'x', 1024);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig r;
		char *before, *after;
		int rc;

		t_rig_open(&r, DISK, "");
		make_tree(&r);
		before = t_picture(&r);
		rc = call(&r, &rows[i]);
		if (rc != rows[i].want)
			fail_msg("%s: %d, want %d", rows[i].name, rc, rows[i].want);
		after = t_picture(&r);
		if (rc < 0)
			assert_string_equal(before, after);
		t_rig_again(&r);
		free(before);
		before = t_picture(&r);
		assert_string_equal(before, after);
		free(before);
		free(after);
		assert_int_equal(t_rig_unmount(&r), 0);
		if (t_rig_fsck(&r))
			fail_msg("%s: the checker complains", rows[i].name);
		t_rig_close(&r);
	}
}

/* ---- Counts ---- */

static void test_counts(void **state)
{
	struct rig r;

	(void)state;
	t_rig_open(&r, DISK, "");
	make_tree(&r);
	assert_int_equal(t_stat_of(&r, "/").nlink, 5);
	assert_int_equal(t_stat_of(&r, "/d").nlink, 3);
	assert_int_equal(t_stat_of(&r, "/f").nlink, 2);
	assert_int_equal(t_stat_of(&r, "/f").blocks, 6);
	assert_int_equal(t_stat_of(&r, "/c").rdev, makedev(1, 3));
	assert_int_equal(FS->rename(r.fs, "/d/sub", "/e/sub", 0), 0);
	assert_int_equal(t_stat_of(&r, "/d").nlink, 2);
	assert_int_equal(t_stat_of(&r, "/e").nlink, 3);
	assert_int_equal(FS->rename(r.fs, "/f", "/e/sub", RENAME_EXCHANGE), 0);
	assert_int_equal(t_stat_of(&r, "/e").nlink, 2);
	assert_int_equal(t_stat_of(&r, "/").nlink, 6);
	assert_int_equal(FS->rename(r.fs, "/g", "/h", RENAME_WHITEOUT), 0);
	assert_int_equal(t_stat_of(&r, "/g").mode, S_IFCHR);
	assert_int_equal(t_stat_of(&r, "/g").rdev, 0);
	/* a sparse file through every level */
	assert_int_equal(t_put_at(&r, "/h", 0, 'h', 1, 1024 * 5), 1);
	assert_int_equal(t_stat_of(&r, "/h").blocks, 2);
	assert_int_equal(t_put_at(&r, "/h", 0, 'h', 1, 1024 * 100), 1);
	assert_int_equal(t_stat_of(&r, "/h").blocks, 6);
	assert_int_equal(t_put_at(&r, "/h", 0, 'h', 1, 1024 * 1000), 1);
	assert_int_equal(t_stat_of(&r, "/h").blocks, 12);
	assert_int_equal(t_set_size(&r, "/h", 1024 * 50), 0);
	assert_int_equal(t_stat_of(&r, "/h").blocks, 2);
	assert_int_equal(t_set_size(&r, "/h", 0), 0);
	assert_int_equal(t_stat_of(&r, "/h").blocks, 0);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	t_rig_close(&r);
}

/* ---- Data ---- */

static void test_data(void **state)
{
	struct as_handle *h, *h2;
	struct rig r;
	uint8_t buf[8192];
	uint64_t off;

	(void)state;
	t_rig_open(&r, DISK, "");
	assert_int_equal(FS->open(r.fs, "/f", O_CREAT | O_RDWR | O_APPEND, 0644, &h), 0);
	off = 0;
	assert_int_equal(FS->write(r.fs, h, "abc", 3, &off), 3);
	assert_int_equal(off, 3);
	assert_int_equal(t_put_at(&r, "/f", 0, 'x', 2000, 3), 2000);
	off = 0;
	assert_int_equal(FS->write(r.fs, h, "def", 3, &off), 3);
	assert_int_equal(off, 2006);
	assert_int_equal(FS->read(r.fs, h, buf, sizeof(buf), 2000), 6);
	assert_memory_equal(buf, "xxxdef", 6);
	/* shrink and grow: zeros, not what was there */
	assert_int_equal(t_set_size(&r, "/f", 1500), 0);
	assert_int_equal(t_set_size(&r, "/f", 1900), 0);
	assert_int_equal(FS->read(r.fs, h, buf, sizeof(buf), 1490), 410);
	assert_memory_equal(buf, "xxxxxxxxxx\0\0\0", 13);
	for (int i = 10; i < 410; i++)
		assert_int_equal(buf[i], 0);
	assert_int_equal(t_set_size(&r, "/f", 1500), 0);
	assert_int_equal(t_put_at(&r, "/f", 0, 'y', 10, 2040), 10);
	assert_int_equal(FS->read(r.fs, h, buf, 540, 1500), 540);
	for (int i = 0; i < 540; i++)
		assert_int_equal(buf[i], 0);
	/* wrong ways to use a handle */
	assert_int_equal(FS->open(r.fs, "/f", O_RDONLY, 0, &h2), 0);
	off = 0;
	assert_int_equal(FS->write(r.fs, h2, "a", 1, &off), -EBADF);
	assert_int_equal(FS->close(r.fs, h2), 0);
	assert_int_equal(FS->open(r.fs, "/f", O_WRONLY, 0, &h2), 0);
	assert_int_equal(FS->read(r.fs, h2, buf, 1, 0), -EBADF);
	off = (uint64_t)67383296 + 1;
	assert_int_equal(FS->write(r.fs, h2, "a", 1, &off), -EFBIG);
	assert_int_equal(FS->close(r.fs, h2), 0);
	assert_int_equal(t_set_size(&r, "/f", (uint64_t)1 << 40), -EFBIG);
	/* O_TRUNC */
	assert_int_equal(t_put_at(&r, "/f", O_TRUNC, 'z', 5, 0), 5);
	assert_int_equal(t_stat_of(&r, "/f").size, 5);
	/* removed, still usable */
	assert_int_equal(FS->unlink(r.fs, "/f"), 0);
	off = 0;
	assert_int_equal(FS->write(r.fs, h, "more", 4, &off), 4);
	assert_int_equal(FS->read(r.fs, h, buf, 100, 0), 9);
	assert_memory_equal(buf, "zzzzzmore", 9);
	assert_int_equal(FS->link_handle(r.fs, h, "/back"), -ENOENT);
	assert_int_equal(FS->close(r.fs, h), 0);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	t_rig_close(&r);
}

static void test_tmpfile(void **state)
{
	struct as_handle *h;
	struct rig r;
	uint64_t off = 0;
	char buf[8];

	(void)state;
	t_rig_open(&r, DISK, "");
	assert_int_equal(FS->open(r.fs, "/", O_TMPFILE | O_RDWR, 0600, &h), 0);
	assert_int_equal(FS->write(r.fs, h, "tmp", 3, &off), 3);
	assert_int_equal(FS->link_handle(r.fs, h, "/named"), 0);
	assert_int_equal(FS->close(r.fs, h), 0);
	assert_int_equal(t_stat_of(&r, "/named").nlink, 1);
	assert_int_equal(t_get_at(&r, "/named", buf, 8, 0), 3);
	assert_int_equal(FS->open(r.fs, "/", O_TMPFILE | O_RDWR | O_EXCL, 0600, &h), 0);
	assert_int_equal(FS->link_handle(r.fs, h, "/other"), -ENOENT);
	assert_int_equal(FS->close(r.fs, h), 0);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	t_rig_close(&r);
}

/* ---- fallocate ---- */

static const struct {
	const char *name;
	unsigned mode;
	uint64_t off, len;
	int want;
	uint64_t size, blocks; /* after it, of a file with 5000 bytes */
	uint64_t zero_from, zero_to; /* the rest below 5000 stays */
} falloc_rows[] = {
	{ "beyond the end", 0, 4000, 8000, 0, 12000, 26, 0, 0 },
	{ "beyond the end, size kept", FALLOC_FL_KEEP_SIZE, 4000, 8000, 0, 5000, 26, 0, 0 },
	{ "punch, aligned", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1024, 2048, 0, 5000, 6,
	  1024, 3072 },
	{ "punch, unaligned", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1000, 2000, 0, 5000, 8,
	  1000, 3000 },
	{ "punch in one block", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1100, 50, 0, 5000, 10,
	  1100, 1150 },
	{ "punch without KEEP_SIZE", FALLOC_FL_PUNCH_HOLE, 0, 10, -EOPNOTSUPP, 5000, 10, 0, 0 },
	{ "zero", FALLOC_FL_ZERO_RANGE, 1000, 2000, 0, 5000, 10, 1000, 3000 },
	{ "zero beyond the end", FALLOC_FL_ZERO_RANGE, 4000, 8000, 0, 12000, 26, 4000, 5000 },
	{ "zero, size kept", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 4000, 8000, 0, 5000, 26,
	  4000, 5000 },
	{ "collapse", FALLOC_FL_COLLAPSE_RANGE, 0, 1024, -EOPNOTSUPP, 5000, 10, 0, 0 },
	{ "insert", FALLOC_FL_INSERT_RANGE, 0, 1024, -EOPNOTSUPP, 5000, 10, 0, 0 },
	{ "nothing", 0, 0, 0, -EINVAL, 5000, 10, 0, 0 },
	{ "too far", 0, (uint64_t)1 << 40, 10, -EFBIG, 5000, 10, 0, 0 },
	{ "too much", 0, 0, 40 << 20, -ENOSPC, 5000, 10, 0, 0 },
};

static void test_fallocate(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(falloc_rows) / sizeof(falloc_rows[0]); i++) {
		struct as_handle *h;
		struct rig r;
		uint8_t buf[16384];
		int rc;

		t_rig_open(&r, DISK, "");
		assert_int_equal(t_put_at(&r, "/f", O_CREAT, 'f', 5000, 0), 5000);
		assert_int_equal(FS->open(r.fs, "/f", O_RDWR, 0, &h), 0);
		rc = FS->fallocate(r.fs, h, falloc_rows[i].mode, falloc_rows[i].off,
				   falloc_rows[i].len);
		assert_int_equal(FS->close(r.fs, h), 0);
		if (rc != falloc_rows[i].want || t_stat_of(&r, "/f").size != falloc_rows[i].size ||
		    t_stat_of(&r, "/f").blocks != falloc_rows[i].blocks)
			fail_msg("%s: %d, size %lu, blocks %lu", falloc_rows[i].name, rc,
				 t_stat_of(&r, "/f").size, t_stat_of(&r, "/f").blocks);
		assert_int_equal(t_get_at(&r, "/f", buf, sizeof(buf), 0), falloc_rows[i].size);
		for (uint64_t k = 0; k < falloc_rows[i].size; k++) {
			bool zero = k >= 5000 ||
				    (k >= falloc_rows[i].zero_from && k < falloc_rows[i].zero_to);

			if (buf[k] != (zero ? 0 : 'f'))
				fail_msg("%s: byte %lu is %d", falloc_rows[i].name, k, buf[k]);
		}
		assert_int_equal(t_rig_unmount(&r), 0);
		assert_int_equal(t_rig_fsck(&r), 0);
		t_rig_close(&r);
	}
}

/* ---- Attributes ---- */

static void test_xattr(void **state)
{
	static char big[2000];
	struct rig r;
	char buf[1024];

	(void)state;
	t_rig_open(&r, DISK, "");
	make_tree(&r);
	assert_int_equal(FS->setxattr(r.fs, "/f", "user.a", "1", 1, XATTR_REPLACE), -ENODATA);
	assert_int_equal(FS->setxattr(r.fs, "/f", "user.a", "1", 1, XATTR_CREATE), 0);
	assert_int_equal(FS->setxattr(r.fs, "/f", "user.a", "2", 1, XATTR_CREATE), -EEXIST);
	assert_int_equal(FS->setxattr(r.fs, "/f", "trusted.b", "22", 2, 0), 0);
	assert_int_equal(FS->setxattr(r.fs, "/f", "user.a", "333", 3, 0), 0);
	assert_int_equal(FS->getxattr(r.fs, "/f", "user.a", buf, 0), 3);
	assert_int_equal(FS->getxattr(r.fs, "/f", "user.a", buf, 2), -ERANGE);
	assert_int_equal(FS->getxattr(r.fs, "/f", "user.a", buf, 9), 3);
	assert_memory_equal(buf, "333", 3);
	assert_int_equal(FS->getxattr(r.fs, "/f", "user.no", buf, 9), -ENODATA);
	assert_int_equal(FS->getxattr(r.fs, "/g", "user.a", buf, 9), -ENODATA);
	assert_int_equal(FS->listxattr(r.fs, "/f", buf, 0), 17);
	assert_int_equal(FS->listxattr(r.fs, "/f", buf, 16), -ERANGE);
	assert_int_equal(FS->listxattr(r.fs, "/f", buf, 17), 17);
	assert_memory_equal(buf, "trusted.b\0user.a", 17);
	assert_int_equal(FS->setxattr(r.fs, "/f", "system.x", "1", 1, 0), -EOPNOTSUPP);
	assert_int_equal(FS->setxattr(r.fs, "/f", "odd", "1", 1, 0), -EOPNOTSUPP);
	assert_int_equal(FS->setxattr(r.fs, "/f", "user.", "1", 1, 0), -EINVAL);
	assert_int_equal(FS->setxattr(r.fs, "/f", "user.big", big, sizeof(big), 0), -ENOSPC);
	assert_int_equal(FS->setxattr(r.fs, "/l", "user.a", "1", 1, 0), -EPERM);
	assert_int_equal(FS->setxattr(r.fs, "/l", "trusted.a", "1", 1, 0), 0);
	assert_int_equal(FS->removexattr(r.fs, "/f", "user.no"), -ENODATA);
	assert_int_equal(FS->removexattr(r.fs, "/f", "user.a"), 0);
	assert_int_equal(t_stat_of(&r, "/f").blocks, 8);
	assert_int_equal(FS->removexattr(r.fs, "/f", "trusted.b"), 0);
	assert_int_equal(t_stat_of(&r, "/f").blocks, 6);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	t_rig_close(&r);
}

static void test_attr(void **state)
{
	struct as_stat st = { .mode = 07755, .uid = 7, .gid = 8, .atime_ns = 9, .mtime_ns = 10 };
	struct rig r;

	(void)state;
	t_rig_open(&r, DISK, "");
	make_tree(&r);
	assert_int_equal(FS->setattr(r.fs, "/f", &st, AS_SET_MODE), 0);
	assert_int_equal(t_stat_of(&r, "/f").mode, S_IFREG | 07755);
	assert_int_equal(FS->setattr(r.fs, "/f", &st,
				     AS_SET_UID | AS_SET_GID | AS_SET_ATIME | AS_SET_MTIME),
			 0);
	assert_int_equal(t_stat_of(&r, "/f").mode, S_IFREG | 01755);
	assert_int_equal(t_stat_of(&r, "/f").uid, 7);
	assert_int_equal(t_stat_of(&r, "/f").gid, 8);
	assert_int_equal(t_stat_of(&r, "/f").atime_ns, 9);
	assert_int_equal(t_stat_of(&r, "/f").mtime_ns, 10);
	/* a setgid directory hands down its group */
	assert_int_equal(FS->setattr(r.fs, "/d", &st, AS_SET_GID), 0);
	st.mode = 02755;
	assert_int_equal(FS->setattr(r.fs, "/d", &st, AS_SET_MODE), 0);
	assert_int_equal(FS->mkdir(r.fs, "/d/below", 0755), 0);
	assert_int_equal(t_stat_of(&r, "/d/below").gid, 8);
	assert_int_equal(t_stat_of(&r, "/d/below").mode, S_IFDIR | 02755);
	t_rig_close(&r);
}

/* ---- Full disk, many entries ---- */

static void test_full(void **state)
{
	struct as_statfs before, after;
	struct rig r;
	char path[32];
	int64_t n;
	int i, rc;

	(void)state;
	t_rig_open(&r, 256 * 1024, "");
	assert_int_equal(FS->statfs(r.fs, &before), 0);
	n = t_put_at(&r, "/f", O_CREAT, 'f', 1 << 20, 0);
	assert_in_range(n, 1024 * 100, 256 * 1024);
	assert_int_equal(t_put_at(&r, "/f", 0, 'f', 1, (uint64_t)n), -ENOSPC);
	assert_int_equal(FS->mkdir(r.fs, "/d", 0755), -ENOSPC);
	assert_int_equal(FS->unlink(r.fs, "/f"), 0);
	/* these blocks are freed and needed again at once: there is a commit in between */
	assert_int_equal(t_put_at(&r, "/f", O_CREAT, 'f', 1 << 20, 0), n);
	assert_int_equal(t_put_at(&r, "/f", O_TRUNC, 'f', 1 << 20, 0), n);
	assert_int_equal(FS->unlink(r.fs, "/f"), 0);
	assert_int_equal(FS->statfs(r.fs, &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	for (i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/file%d", i);
		rc = t_touch(&r, path);
		if (rc)
			break;
	}
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(i, before.files_free);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	t_rig_close(&r);
}

static void test_large_directory(void **state)
{
	struct as_stat st;
	struct rig r;
	char path[64], *before, *after;

	(void)state;
	t_rig_open(&r, 32 << 20, "");
	assert_int_equal(FS->mkdir(r.fs, "/big", 0755), 0);
	for (int i = 0; i < 4500; i++) {
		snprintf(path, sizeof(path), "/big/a-rather-long-name-%d", i);
		assert_int_equal(t_touch(&r, path), 0);
	}
	for (int i = 0; i < 4500; i += 3) {
		snprintf(path, sizeof(path), "/big/a-rather-long-name-%d", i);
		assert_int_equal(FS->unlink(r.fs, path), 0);
	}
	before = t_picture(&r);
	t_rig_again(&r);
	after = t_picture(&r);
	assert_string_equal(before, after);
	for (int i = 0; i < 4500; i++) {
		snprintf(path, sizeof(path), "/big/a-rather-long-name-%d", i);
		assert_int_equal(FS->getattr(r.fs, path, &st), i % 3 ? 0 : -ENOENT);
	}
	free(before);
	free(after);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	t_rig_close(&r);
}

static void test_deep(void **state)
{
	static char path[8000];
	struct rig r;
	size_t len = 0;

	(void)state;
	t_rig_open(&r, DISK, "");
	for (int i = 0; i < 200; i++) {
		len += (size_t)snprintf(path + len, sizeof(path) - len, "/level%d", i);
		assert_int_equal(FS->mkdir(r.fs, path, 0755), 0);
	}
	t_rig_again(&r);
	assert_int_equal(t_stat_of(&r, path).nlink, 2);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	t_rig_close(&r);
}

static void test_link_max(void **state)
{
	struct rig r;
	char path[32];

	(void)state;
	t_rig_open(&r, 8 << 20, "");
	assert_int_equal(t_touch(&r, "/f"), 0);
	for (int i = 1; i < 32000; i++) {
		snprintf(path, sizeof(path), "/l%d", i);
		assert_int_equal(FS->link(r.fs, "/f", path), 0);
	}
	assert_int_equal(FS->link(r.fs, "/f", "/more"), -EMLINK);
	t_rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_tmpfile),
		cmocka_unit_test(test_fallocate),
		cmocka_unit_test(test_xattr),
		cmocka_unit_test(test_attr),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_large_directory),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_link_max),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
