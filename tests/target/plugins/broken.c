/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * broken: the example plugin with one thing wrong, chosen with -DBREAK_...: what tests prove that
 * assay survives and names. Built by the tests themselves.
 */
#define as_target skeleton_target
#include "../../../examples/plugin_skeleton/skeleton.c"
#undef as_target

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Each takes the place of mkdir: an operation that fails in its own way. */
static int __attribute__((unused)) op_crash(struct as_fs *fs, const char *path, uint32_t mode)
{
	(void)fs;
	(void)path;
	*(volatile uint32_t *)8 = mode;
	return 0;
}

static int __attribute__((unused)) op_abort(struct as_fs *fs, const char *path, uint32_t mode)
{
	(void)fs;
	(void)path;
	(void)mode;
	abort();
}

static int __attribute__((unused)) op_hang(struct as_fs *fs, const char *path, uint32_t mode)
{
	(void)fs;
	(void)path;
	(void)mode;
	for (;;)
		pause();
}

static int __attribute__((unused)) op_exit(struct as_fs *fs, const char *path, uint32_t mode)
{
	(void)fs;
	(void)path;
	(void)mode;
	exit(0);
}

static int __attribute__((unused)) op_leak(struct as_fs *fs, const char *path, uint32_t mode)
{
	return as_malloc(fs->host, 100) ? fs_mkdir(fs, path, mode) : -ENOMEM;
}

static int __attribute__((unused)) op_double_free(struct as_fs *fs, const char *path, uint32_t mode)
{
	void *ptr = as_malloc(fs->host, 100);

	as_free(fs->host, ptr);
	as_free(fs->host, ptr);
	return fs_mkdir(fs, path, mode);
}

static int __attribute__((unused)) op_overrun(struct as_fs *fs, const char *path, uint32_t mode)
{
	char *ptr = as_malloc(fs->host, 100);

	if (ptr)
		ptr[100] = 1;
	as_free(fs->host, ptr);
	return fs_mkdir(fs, path, mode);
}

static int __attribute__((unused)) op_outside(struct as_fs *fs, const char *path, uint32_t mode)
{
	char sector[SECTOR];

	(void)!as_bd_read(fs->bd, fs->bd->size_bytes, sector, SECTOR);
	return fs_mkdir(fs, path, mode);
}

static int __attribute__((unused)) op_print(struct as_fs *fs, const char *path, uint32_t mode)
{
	printf("not JSON\n");
	fflush(stdout);
	return fs_mkdir(fs, path, mode);
}

static int __attribute__((unused)) op_chdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	return chdir("/") ? -EIO : fs_mkdir(fs, path, mode);
}

static int __attribute__((unused)) op_handler(struct as_fs *fs, const char *path, uint32_t mode)
{
	signal(SIGPIPE, SIG_IGN);
	return fs_mkdir(fs, path, mode);
}

static int __attribute__((unused)) op_block(struct as_fs *fs, const char *path, uint32_t mode)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	return fs_mkdir(fs, path, mode);
}

static int __attribute__((unused)) mount_crash(const struct as_mount_args *args, struct as_fs **fs)
{
	(void)args;
	*(struct as_fs *volatile *)8 = *fs;
	return 0;
}

static int __attribute__((unused)) mount_hang(const struct as_mount_args *args, struct as_fs **fs)
{
	(void)args;
	(void)fs;
	for (;;)
		pause();
}

static int __attribute__((unused)) refuse(const struct as_mount_args *args)
{
	(void)args;
	return -EIO;
}

static int __attribute__((unused)) unmount_fails(struct as_fs *fs)
{
	fs_unmount(fs);
	return -EIO;
}

#ifndef BREAK_symbol
__attribute__((visibility("default"))) struct as_target_ops as_target;

__attribute__((constructor)) static void fill(void)
{
	as_target = skeleton_target;
	as_target.name = "broken";
#ifdef BREAK_api
	as_target.api = 99;
#endif
#ifdef BREAK_function
	as_target.rename = NULL;
#endif
#ifdef BREAK_capability
	as_target.caps |= AS_CAP_SYMLINK;
#endif
#ifdef BREAK_mkdir
	as_target.mkdir = BREAK_mkdir;
#endif
#ifdef BREAK_mount
	as_target.mount = BREAK_mount;
#endif
#ifdef BREAK_mkfs
	as_target.mkfs = refuse;
#endif
#ifdef BREAK_unmount
	as_target.unmount = unmount_fails;
#endif
}
#endif
