/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * liar_plugin: the example plugin, whose functions answer what no file system should, or do to
 * their process what no library should. The variable LIE of the environment says which row of the
 * table below. Built by test_liars.sh, which says what assay must make of it.
 */
#define as_target skeleton_target
#include "../../examples/plugin_skeleton/skeleton.c"
#undef as_target

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct as_target_ops lies;
__attribute__((visibility("default"))) struct as_target_ops as_target;

static bool is(const char *lie)
{
	const char *given = getenv("LIE");

	return given && !strcmp(given, lie);
}

/* ---- Answers ---- */

static int64_t lie_read(struct as_fs *fs, struct as_handle *h, void *buf, size_t len, uint64_t off)
{
	int64_t n = fs_read(fs, h, buf, len, off);

	if (n <= 0)
		return n;
	if (is("read_past"))
		((char *)buf)[len] = 0;
	if (is("read_more"))
		return (int64_t)len + 1000;
	if (is("read_most"))
		return INT64_MAX;
	if (is("read_least"))
		return INT64_MIN;
	if (is("read_nothing"))
		return 0;
	if (is("read_strange"))
		return -70000;
	return n;
}

static int64_t lie_write(struct as_fs *fs, struct as_handle *h, const void *buf, size_t len,
			 uint64_t *off)
{
	int64_t n = fs_write(fs, h, buf, len, off);

	if (is("write_more"))
		return n + 1000;
	if (is("write_most"))
		return INT64_MAX;
	if (is("write_nothing"))
		return 0;
	if (is("write_place"))
		*off = UINT64_MAX;
	return n;
}

static int lie_getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	int rc = fs_getattr(fs, path, st);

	if (rc)
		return rc;
	if (is("ino_zero"))
		st->ino = 0;
	if (is("size_negative") && S_ISREG(st->mode))
		st->size = (uint64_t)-1;
	if (is("size_huge") && S_ISREG(st->mode))
		st->size = (uint64_t)1 << 62;
	if (is("mode_zero"))
		st->mode = 0;
	if (is("mode_strange") && S_ISREG(st->mode))
		st->mode = 0xffffffff;
	if (is("nlink_zero"))
		st->nlink = 0;
	return is("getattr_positive") ? 7 : is("getattr_strange") ? -70000 : rc;
}

static int lie_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	static char name[1 << 20];
	int rc = fs_readdir(fs, path, fill, ctx);

	memset(name, 'x', sizeof(name) - 1);
	if (!rc && is("name_huge"))
		rc = fill(ctx, name, 77, S_IFREG);
	if (!rc && is("name_300")) {
		name[300] = '\0';
		rc = fill(ctx, name, 77, S_IFREG);
	}
	if (!rc && is("name_empty"))
		rc = fill(ctx, "", 77, S_IFREG);
	if (!rc && is("name_slash"))
		rc = fill(ctx, "a/../..", 77, S_IFREG);
	if (!rc && is("name_dots"))
		rc = fill(ctx, "..", 1, S_IFDIR);
	if (!rc && is("name_binary"))
		rc = fill(ctx, "\033]0;t\007\377\n", 77, S_IFREG);
	if (!rc && is("name_null"))
		rc = fill(ctx, NULL, 77, S_IFREG);
	if (!rc && is("name_twice"))
		rc = fs_readdir(fs, path, fill, ctx);
	if (!rc && is("type_strange"))
		rc = fill(ctx, "b", 77, 0xffffffff);
	for (unsigned i = 0; !rc && is("names_endless"); i++) {
		snprintf(name, sizeof(name), "n%u", i);
		rc = fill(ctx, name, i + 100, S_IFREG);
	}
	return is("readdir_positive") ? 7 : rc;
}

static int lie_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
		    struct as_handle **handle)
{
	int rc = fs_open(fs, path, flags, mode, handle);

	if (!rc && is("open_null"))
		*handle = NULL;
	if (!rc && is("open_wild"))
		*handle = (struct as_handle *)8;
	return is("open_positive") ? 7 : rc;
}

static int lie_mount(const struct as_mount_args *args, struct as_fs **fs)
{
	int rc;

	if (is("mount_null"))
		return 0;
	if (is("mount_positive"))
		return 7;
	if (is("mount_hang"))
		for (;;)
			pause();
	if (is("mount_loop"))
		for (volatile int i = 0;; i++)
			;
	rc = fs_mount(args, fs);
	if (is("mount_strange"))
		return -70000;
	return rc;
}

static int lie_statfs(struct as_fs *fs, struct as_statfs *st)
{
	int rc = fs_statfs(fs, st);

	if (is("statfs_wild"))
		memset(st, 0xff, sizeof(*st));
	return rc;
}

static int lie_unmount(struct as_fs *fs)
{
	if (is("unmount_twice"))
		(void)!fs_unmount(fs);
	if (is("unmount_not"))
		return 0;
	return fs_unmount(fs);
}

/* ---- Deeds: in the place of mkdir ---- */

static int deepen(volatile char *above)
{
	volatile char here[4096];

	memset((char *)here, above ? above[0] : 1, sizeof(here));
	return deepen(here) + here[17];
}

static void *stay(void *arg)
{
	for (;;)
		usleep(1000);
	return arg;
}

static void *scribble(void *arg)
{
	(void)!write(1, "thread\n", 7);
	return arg;
}

static void corrupt_heap(void)
{
	char *block = malloc(40);

	memset(block - 16, 0x41, 16 + 4000);
	free(block);
}

static int lie_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	unsigned char sector[512] = { 0 };
	pthread_t thread;
	char *mine;

	if (is("stack"))
		return deepen(NULL);
	if (is("heap"))
		corrupt_heap();
	if (is("overrun")) {
		mine = as_malloc(fs->host, 40);
		memset(mine, 0x41, 48);
		as_free(fs->host, mine);
	}
	if (is("wild_free"))
		as_free(fs->host, (char *)fs + 8);
	if (is("outside"))
		(void)!as_bd_write(fs->bd, fs->bd->size_bytes + 4096, sector, 512);
	if (is("outside_wrap"))
		(void)!as_bd_write(fs->bd, UINT64_MAX - 511, sector, 512);
	if (is("length_huge"))
		(void)!as_bd_read(fs->bd, 0, sector, (size_t)1 << 60);
	if (is("close_fds"))
		for (int fd = 0; fd < 3; fd++)
			close(fd);
	if (is("close_all"))
		for (int fd = 0; fd < 4096; fd++)
			close(fd);
	if (is("fork") && !fork())
		_exit(0);
	if (is("fork_goes_on") && !fork())
		return fs_mkdir(fs, path, mode);
	if (is("thread"))
		pthread_create(&thread, NULL, stay, NULL);
	if (is("thread_ends") && !pthread_create(&thread, NULL, scribble, NULL))
		pthread_join(thread, NULL);
	if (is("malloc_huge"))
		return as_malloc(fs->host, (size_t)1 << 62) ? 0 : -ENOMEM;
	if (is("malloc_much"))
		for (int i = 0; i < 1 << 20; i++)
			if (!as_malloc(fs->host, 1 << 20))
				return -ENOMEM;
	if (is("ignores"))
		(void)!as_bd_write(fs->bd, 0, sector, 0);
	if (is("log_null"))
		fs->host->log(fs->host->ctx, NULL);
	if (is("ask_zero"))
		(void)as_ask(fs->host, 0, NULL);
	if (is("unlock"))
		as_unlock(fs->host, NULL, 3);
	return is("mkdir_positive") ? 7 : is("mkdir_min") ? INT32_MIN : fs_mkdir(fs, path, mode);
}

__attribute__((constructor)) static void fill_table(void)
{
	lies = skeleton_target;
	lies.name = "liar";
	lies.read = lie_read;
	lies.write = lie_write;
	lies.getattr = lie_getattr;
	lies.readdir = lie_readdir;
	lies.open = lie_open;
	lies.mount = lie_mount;
	lies.unmount = lie_unmount;
	lies.statfs = lie_statfs;
	lies.mkdir = lie_mkdir;
	as_target = lies;
}
