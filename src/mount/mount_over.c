/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount_over: a file system that is mounted over folders of another one (overlayfs).
 *
 * Method. The type on the disk (fstype.over) is mounted beside. It holds three folders, which the
 * first mount makes: `lower` with a few empty files and folders, so that there is something to copy
 * up, `upper` and `work`. The overlay of these is what a workload sees. Both are unmounted
 * together, so what reaches the disk at an unmount is what the overlay left there.
 *
 * The shell script of a finding does the same (dossier/emitted/repro.sh).
 */
#include "mount/mount_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_ROOM 96

static const struct {
	const char *path;
	mode_t mode;
} tree[] = {
	{ "upper", S_IFDIR | 0755 },	   { "work", S_IFDIR | 0755 },
	{ "lower", S_IFDIR | 0755 },	   { "lower/low", S_IFDIR | 0755 },
	{ "lower/low/d", S_IFDIR | 0755 }, { "lower/low/d/h", S_IFREG | 0644 },
	{ "lower/low/f", S_IFREG | 0644 }, { "lower/low/g", S_IFREG | 0600 },
};

static int make_node(const char *path, mode_t mode)
{
	int fd;

	if (S_ISDIR(mode))
		return mkdir(path, mode & 0777) ? -errno : 0;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
	if (fd < 0)
		return -errno;
	close(fd);
	return chmod(path, mode & 0777) ? -errno : 0;
}

/* `upper` is there: an earlier mount has made all of it. */
static int make_tree(const struct as_mount *m)
{
	char path[PATH_ROOM];
	int rc = 0;

	snprintf(path, sizeof(path), "%s/%s", m->src, tree[0].path);
	if (!access(path, F_OK))
		return 0;
	for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]) && !rc; i++) {
		snprintf(path, sizeof(path), "%s/%s", m->src, tree[i].path);
		rc = make_node(path, tree[i].mode);
	}
	return rc;
}

int as_mount_over(struct as_mount *m, const char *device, unsigned long flags, struct as_buf *data)
{
	int rc;

	if (flags & MS_REMOUNT)
		return mount("overlay", m->inside ? "/" : m->fs, m->type->type, flags,
			     as_buf_str(data))
			       ? -errno
			       : 0;
	if (mount(device, m->src, m->type->over, MS_NOSUID | MS_NODEV, ""))
		return -errno;
	rc = make_tree(m);
	as_buf_addf(data, "%slowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		    data->len ? "," : "", m->src, m->src, m->src);
	if (!rc && mount("overlay", m->fs, m->type->type, flags, as_buf_str(data)))
		rc = -errno;
	if (rc)
		umount2(m->src, 0);
	return rc;
}
