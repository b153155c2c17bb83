/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_read: see lab_read.h. */
#include "tests/lib/lab_read.h"

static int read_all(struct as_fs *fs, const char *path, unsigned depth);

static int see_entry(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	char(*list)[LAB_NAME_MAX + 1] = ctx;
	unsigned i = 0;

	(void)ino;
	(void)type;
	while (i < 256 && list[i][0])
		i++;
	if (i < 256)
		snprintf(list[i], LAB_NAME_MAX + 1, "%s", name);
	return 0;
}

static int read_dir(struct as_fs *fs, const char *path, unsigned depth)
{
	char(*list)[LAB_NAME_MAX + 1] = calloc(257, sizeof(*list));
	char below[1024];
	int rc = FS->readdir(fs, path, see_entry, list);

	for (unsigned i = 0; !rc && list[i][0] && depth < 20; i++) {
		if (snprintf(below, sizeof(below), "%s/%s", path[1] ? path : "", list[i]) < 900)
			rc = read_all(fs, below, depth + 1);
	}
	free(list);
	return rc;
}

static int read_file(struct as_fs *fs, const char *path, uint64_t size)
{
	struct as_handle *handle;
	uint8_t buf[8192];
	int64_t n = 0;
	int rc = FS->open(fs, path, O_RDONLY, 0, &handle);

	if (rc)
		return rc;
	for (uint64_t off = 0; off < size && off < 1 << 20 && n >= 0; off += sizeof(buf))
		n = FS->read(fs, handle, buf, sizeof(buf), off);
	rc = FS->close(fs, handle);
	return n < 0 ? (int)n : rc;
}

static int read_all(struct as_fs *fs, const char *path, unsigned depth)
{
	char buf[2048];
	struct as_stat st;
	int64_t n;
	int rc = FS->getattr(fs, path, &st);

	if (rc)
		return rc;
	n = FS->listxattr(fs, path, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	if (S_ISDIR(st.mode))
		return read_dir(fs, path, depth);
	if (S_ISREG(st.mode))
		return read_file(fs, path, st.size);
	if (!S_ISLNK(st.mode))
		return 0;
	n = FS->readlink(fs, path, buf, sizeof(buf));
	return n < 0 ? (int)n : 0;
}

int t_mount_and_read(struct img *img)
{
	struct membd disk = t_sample_disk(img);
	struct memhost host;
	struct as_mount_args args = { .host = &host.host, .bd = &disk.bd, .opts = "" };
	struct as_fs *fs;
	int rc, un;

	t_memhost_init(&host);
	rc = FS->mount(&args, &fs);
	if (rc)
		return rc;
	rc = read_all(fs, "/", 0);
	un = FS->unmount(fs);
	return rc ? rc : un;
}
