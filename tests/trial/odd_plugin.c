/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * odd_plugin: labfs that promises other things, or breaks what it promises. What it does is said by
 * the name of its file: test_agree.c builds it once, with LABFS_SO, the path of the plugin that it
 * passes its calls to, and copies it.
 */
#include <assay/target.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct as_target_ops as_target;
static const struct as_target_ops *real;
static struct as_contract contract = {
	.after_cut = AS_CUT_PREFIX,
	.promises = AS_PROMISE_FSYNC_NAMES | AS_PROMISE_FSYNC_TIMES | AS_PROMISE_FSYNC_BLOCKS,
	.semantics = AS_MEANS_FAILED_READ_ONLY,
};
static struct as_bd *disk;

/* ---- What is wrong --------------------------------------------------------------------------- */

static int another_error(int rc)
{
	return rc == -EIO ? -ENXIO : rc;
}

static int odd_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	return another_error(real->mkdir(fs, path, mode));
}

static int odd_sync(struct as_fs *fs)
{
	return another_error(real->sync(fs));
}

static int odd_fsync(struct as_fs *fs, struct as_handle *handle, bool data_only)
{
	return another_error(real->fsync(fs, handle, data_only));
}

static int odd_mount(const struct as_mount_args *args, struct as_fs **fs)
{
	return another_error(real->mount(args, fs));
}

static int noting_mount(const struct as_mount_args *args, struct as_fs **fs)
{
	disk = args->bd;
	return real->mount(args, fs);
}

static int odd_unmount(struct as_fs *fs)
{
	int rc = real->unmount(fs);

	return rc ? rc : -ENXIO;
}

/* After a failure it asks for what is not there. */
static int stray_sync(struct as_fs *fs)
{
	int rc = real->sync(fs);
	char byte[512];

	if (rc)
		(void)disk->ops->read(disk, disk->size_bytes, byte, sizeof(byte));
	return rc;
}

static int full_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	return strcmp(path, "/full") ? real->mkdir(fs, path, mode) : -ENOSPC;
}

static int late_getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	int rc = real->getattr(fs, path, st);

	if (!rc && !strcmp(path, "/late"))
		st->mtime_ns += 3600000000000;
	return rc;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void be_odd(void)
{
	as_target.mkdir = odd_mkdir;
	as_target.sync = odd_sync;
	as_target.fsync = odd_fsync;
}

static void mount_oddly(void)
{
	as_target.mount = odd_mount;
}

static void unmount_oddly(void)
{
	as_target.unmount = odd_unmount;
}

static void stray(void)
{
	as_target.mount = noting_mount;
	as_target.sync = stray_sync;
}

static void be_full(void)
{
	as_target.mkdir = full_mkdir;
}

static void be_late(void)
{
	as_target.getattr = late_getattr;
}

static void be_lenient(void)
{
	contract.semantics |= AS_MEANS_FAILED_MAYBE_DONE;
}

static void forget(void)
{
	contract.semantics |= AS_MEANS_SYNC_FORGETS;
}

static void drop(void)
{
	contract.semantics |= AS_MEANS_FULL_DROPS;
}

static const struct {
	const char *name;
	void (*set)(void);
} rows[] = {
	{ "/odd.so", be_odd },
	{ "/oddmount.so", mount_oddly },
	{ "/oddunmount.so", unmount_oddly },
	{ "/stray.so", stray },
	{ "/full.so", be_full },
	{ "/late.so", be_late },
	{ "/lenient.so", be_lenient },
	{ "/forgets.so", forget },
	{ "/drops.so", drop },
};

__attribute__((constructor)) static void load(void)
{
	void *labfs = dlopen(LABFS_SO, RTLD_NOW | RTLD_LOCAL);
	Dl_info self;

	real = labfs ? dlsym(labfs, "as_target") : NULL;
	if (!real || !dladdr(&as_target, &self))
		abort();
	as_target = *real;
	as_target.name = "odd";
	as_target.contract = &contract;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(strrchr(self.dli_fname, '/'), rows[i].name))
			rows[i].set();
}
