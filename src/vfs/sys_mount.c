/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_mount: the executor for a file system that we mounted ourselves (mount/mount.h): what
 * unmounts it, brings it back, and cuts its power. In a directory of somebody else's mount all of
 * that is impossible.
 */
#include "vfs/sys_priv.h"

#include "mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_root(struct as_sys *s)
{
	as_sys_tree_rest(s);
	if (s->root_fd >= 0)
		close(s->root_fd);
	s->root_fd = -1;
}

static bool slots_open(const struct as_sys *s)
{
	for (size_t i = 0; i <= AS_SLOT_MAX; i++)
		if (s->slots[i] >= 0)
			return true;
	return as_sys_mapped(s);
}

static void close_slots(struct as_sys *s)
{
	as_sys_unmap_all(s);
	for (size_t i = 0; i <= AS_SLOT_MAX; i++) {
		if (s->slots[i] >= 0)
			close(s->slots[i]);
		s->slots[i] = -1;
	}
}

static int open_root(struct as_sys *s)
{
	if (as_mount_enter(s->mount, NULL))
		return -EIO;
	s->root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->root_fd < 0 ? -errno : 0;
}

int as_vfs_sys_mount(struct as_vfs *vfs, const char *opts)
{
	struct as_sys *s = (struct as_sys *)vfs;
	int rc = as_mount_mount(s->mount, s->mount_opts, opts);

	/* In a kernel without memory, calls of ours may fail, too. */
	if (!rc && (rc = open_root(s))) {
		close_root(s);
		if (as_mount_umount(s->mount))
			rc = -EBUSY;
	}
	vfs->readonly = !rc && as_opts_read_only(opts);
	if (!rc && vfs->watch)
		as_sys_begin(vfs);
	return rc;
}

int as_vfs_sys_unmount(struct as_vfs *vfs)
{
	struct as_sys *s = (struct as_sys *)vfs;
	int rc;

	if (!as_mount_mounted(s->mount))
		return 0;
	close_slots(s);
	close_root(s);
	rc = as_mount_umount(s->mount);
	vfs->readonly &= !!rc;
	return rc;
}

void as_sys_umount(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_sys *s = (struct as_sys *)vfs;
	int rc = -EBUSY;

	(void)op;
	if (!s->mount)
		rc = -AS_ERR_UNSUPPORTED;
	else if (!slots_open(s))
		rc = as_vfs_sys_unmount(vfs);
	as_vfs_answer(out, rc);
}

/* A server may take `ro` for itself, so that the kernel's checks come in another order. */
static bool keeps_read_only(const struct as_sys *s, const char *opts)
{
	struct statvfs st;

	return as_mount_type(s->mount)->server && as_opts_read_only(opts) &&
	       !fstatvfs(s->root_fd, &st) && !(st.f_flag & ST_RDONLY);
}

void as_sys_mount(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	const char *opts = op->opts ? op->opts : "";
	int rc = -EBUSY;

	if (!s->mount)
		rc = -AS_ERR_UNSUPPORTED;
	else if (!as_mount_mounted(s->mount))
		rc = as_vfs_sys_mount(vfs, opts);
	if (!rc && keeps_read_only(s, opts)) {
		rc = as_vfs_sys_unmount(vfs);
		rc = rc ? rc : -AS_ERR_UNSUPPORTED;
	}
	as_vfs_answer(out, rc);
}

void as_sys_remount(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	const char *opts = op->opts ? op->opts : "";
	int rc = -AS_ERR_UNSUPPORTED;

	if (s->mount && !as_mount_type(s->mount)->server)
		rc = as_mount_remount(s->mount, s->mount_opts, opts);
	if (!rc)
		vfs->readonly = as_opts_read_only(opts);
	as_vfs_answer(out, rc);
}

bool as_sys_is_ours(const struct as_sys *s)
{
	return s->mount && !as_mount_type(s->mount)->server;
}

void as_sys_trim(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	struct fstrim_range range = { .start = (uint64_t)op->off, .len = op->len };

	if (!as_sys_is_ours(s))
		as_vfs_answer(out, -AS_ERR_UNSUPPORTED);
	else
		as_sys_answer(out, as_sys_do(vfs, ioctl, s->root_fd, FITRIM, SYS_P(&range)));
}

/* An errno of freezing or thawing. */
static int freeze_and_thaw(int fd)
{
	int rc = ioctl(fd, FIFREEZE, 0) ? errno : 0;

	return !rc && ioctl(fd, FITHAW, 0) ? errno : rc;
}

/* A process that is killed while it freezes ends when it has frozen: then nobody thaws. So another
 * one does both, outside of the group that is killed. It shares our memory: in a guest, a copy of
 * it would cost more than a hundred operations. */
void as_sys_freeze(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	pid_t pid;
	int status;

	(void)op;
	if (!as_sys_is_ours(s)) {
		as_vfs_answer(out, -AS_ERR_UNSUPPORTED);
		return;
	}
	pid = vfork();
	if (pid == 0) {
		setsid();
		_exit(freeze_and_thaw(s->root_fd));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		as_sys_answer(out, -1);
	else
		as_vfs_answer(out, WIFEXITED(status) ? -(int64_t)WEXITSTATUS(status) : -EINTR);
}

#define LOST_FOUND "lost+found"

static bool needs_repair(const struct as_sys *s)
{
	const struct as_fstype *type = as_mount_type(s->mount);

	return type->guarantee == AS_GUARANTEE_REPAIR || type->replayed_by_checker;
}

/* A type that promises nothing of a disk after a power cut is mounted only after its checker has
 * run, as at boot. */
static int repair(struct as_sys *s)
{
	const struct as_fstype *type = as_mount_type(s->mount);
	enum as_check_mode mode = type->replayed_by_checker ? AS_CHECK_QUICK : AS_CHECK_DEFAULT;
	enum as_check_answer answer;

	if (!needs_repair(s))
		return 0;
	if (as_mount_check(s->mount, mode, true, 0, &answer, NULL, NULL))
		return -EIO;
	return answer == AS_CHECK_CLEAN || answer == AS_CHECK_REPAIRED ? 0 : -EUCLEAN;
}

void as_sys_crash(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_sys *s = (struct as_sys *)vfs;
	int rc = -AS_ERR_UNSUPPORTED;
	bool had;

	(void)op;
	/* The kernel does not pass sync(2) on to FUSE servers, so nothing is promised that could
	 * be judged. */
	if (s->mount && !as_mount_type(s->mount)->server) {
		had = !faccessat(s->root_fd, LOST_FOUND, F_OK, AT_SYMLINK_NOFOLLOW);
		/* Closing may write to the disk, so it comes after the power cut. */
		as_mount_cut(s->mount);
		close_slots(s);
		close_root(s);
		rc = as_mount_cut_end(s->mount);
		if (!rc)
			rc = repair(s);
		if (!rc)
			rc = as_vfs_sys_mount(vfs, "");
		if (!rc)
			as_vfs_watch(vfs, vfs->watch);
		/* Checkers make lost+found where it is missing; the workload did not make it. */
		if (!rc && !had && needs_repair(s))
			unlinkat(s->root_fd, LOST_FOUND, AT_REMOVEDIR);
	}
	as_vfs_answer(out, rc);
}
