/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bad_labfs: labfs, but it misbehaves in the way that its options name (plugin:bad.so:WAY).
 * Built by test_servers.sh with LABFS_SO, the path of the plugin that it stands on.
 */
#include <assay/target.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct as_target_ops as_target;
static const struct as_target_ops *real;
static char way[32];

static bool is(const char *name)
{
	return !strcmp(way, name);
}

static int bad_mount(const struct as_mount_args *args, struct as_fs **fs)
{
	struct as_mount_args plain = *args;

	snprintf(way, sizeof(way), "%s", args->opts ? args->opts : "");
	plain.opts = "";
	return real->mount(&plain, fs);
}

static int bad_mkfs(const struct as_mount_args *args)
{
	struct as_mount_args plain = *args;

	plain.opts = "";
	return real->mkfs(&plain);
}

static int bad_fsck(const struct as_mount_args *args, enum as_fsck_mode mode)
{
	struct as_mount_args plain = *args;

	plain.opts = "";
	return real->fsck(&plain, mode);
}

static int bad_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	static const char line[] = "a line of a plugin that does not stop talking\n";

	while (is("hang"))
		pause();
	while (is("spin"))
		;
	while (is("flood"))
		(void)!write(1, line, sizeof(line) - 1);
	while (is("memory")) {
		char *block = malloc(1 << 20);

		if (!block)
			abort();
		memset(block, 1, 1 << 20);
	}
	return real->mkdir(fs, path, mode);
}

/* It goes on although it was told to stop. */
static int bad_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	char name[256];
	int rc = 0;

	for (unsigned long i = 0; is("endless") && !rc; i++) {
		snprintf(name, sizeof(name), "%0200lu", i);
		rc = fill(ctx, name, i + 2, 0100000);
	}
	for (unsigned long i = 0; is("deaf"); i++)
		fill(ctx, "again", i + 2, 0100000);
	return rc ? 0 : real->readdir(fs, path, fill, ctx);
}

static int64_t bad_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len,
			uint64_t off)
{
	return is("long-read") ? (int64_t)len + 4096 : real->read(fs, handle, buf, len, off);
}

static int64_t bad_readlink(struct as_fs *fs, const char *path, char *buf, size_t len)
{
	return is("long-link") ? (int64_t)1 << 40 : real->readlink(fs, path, buf, len);
}

__attribute__((constructor)) static void load(void)
{
	void *labfs = dlopen(LABFS_SO, RTLD_NOW | RTLD_LOCAL);

	real = labfs ? dlsym(labfs, "as_target") : NULL;
	if (!real)
		abort();
	as_target = *real;
	as_target.name = "bad";
	as_target.mount = bad_mount;
	as_target.mkfs = bad_mkfs;
	as_target.fsck = bad_fsck;
	as_target.mkdir = bad_mkdir;
	as_target.readdir = bad_readdir;
	as_target.read = bad_read;
	as_target.readlink = bad_readlink;
}
