/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * views: the example plugin with handles that each have a copy of the file of their own, which they
 * write back at fsync, sync and close. Compiled with:
 *   -DDECLARES       its contract says so (AS_MEANS_OWN_VIEWS)
 *   -DPLAIN          handles are those of the example, which share the file
 *   -DCLOSE_FORGETS  close does not write back
 */
#define as_target skeleton_target
#include "../../../examples/plugin_skeleton/skeleton.c"
#undef as_target

#define HANDLES 64
#define FILE_MAX FILE_BYTES

struct copy {
	struct as_handle *handle;
	unsigned char *bytes;
	uint64_t size;
	bool changed;
};

static struct copy copies[HANDLES];

static struct copy *copy_of(const struct as_handle *handle)
{
	for (unsigned i = 0; i < HANDLES; i++)
		if (copies[i].handle == handle)
			return &copies[i];
	return NULL;
}

static int write_back(struct as_fs *fs, struct copy *c)
{
	struct as_stat st = { .size = 0 };
	unsigned flags = c->handle->flags;
	uint64_t off = 0;
	int64_t n = 0;
	int rc;

	if (!c->changed)
		return 0;
	c->handle->flags = O_RDWR;
	rc = fs_fsetattr(fs, c->handle, &st, AS_SET_SIZE);
	if (!rc && c->size)
		n = fs_write(fs, c->handle, c->bytes, c->size, &off);
	c->handle->flags = flags;
	c->changed = false;
	/* A part only: the rest could not be written. */
	return rc ? rc : n < 0 ? (int)n : (uint64_t)n < c->size ? -EIO : 0;
}

static int views_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
		      struct as_handle **handle)
{
	struct copy *c = copy_of(NULL);
	unsigned char *bytes;
	struct as_stat st;
	int rc;

	if (!c)
		return -ENFILE;
	/* Memory first: an open that fails makes nothing. */
	bytes = as_malloc(fs->host, FILE_MAX);
	if (!bytes)
		return -ENOMEM;
	rc = fs_open(fs, path, flags & ~(unsigned)O_TRUNC, mode, handle);
	if (!rc) {
		rc = fs_fgetattr(fs, *handle, &st);
		if (!rc && S_ISDIR(st.mode) && flags & O_TRUNC)
			rc = -EISDIR;
		if (rc)
			(void)fs_close(fs, *handle);
	}
	if (rc || !S_ISREG(st.mode)) {
		as_free(fs->host, bytes);
		return rc;
	}
	*c = (struct copy){ .handle = *handle, .bytes = bytes };
	if (flags & O_TRUNC)
		c->changed = true;
	else if (fs_read(fs, *handle, c->bytes, FILE_MAX, 0) >= 0)
		c->size = st.size;
	return 0;
}

static int views_close(struct as_fs *fs, struct as_handle *handle)
{
	struct copy *c = copy_of(handle);
	int rc = 0, closed;

	if (c) {
#ifndef CLOSE_FORGETS
		rc = write_back(fs, c);
#endif
		as_free(fs->host, c->bytes);
		*c = (struct copy){ 0 };
	}
	closed = fs_close(fs, handle);
	return rc ? rc : closed;
}

static int64_t views_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len,
			  uint64_t off)
{
	struct copy *c = copy_of(handle);

	if (!c)
		return fs_read(fs, handle, buf, len, off);
	if (off >= c->size)
		return 0;
	len = len < c->size - off ? len : (size_t)(c->size - off);
	memcpy(buf, c->bytes + off, len);
	return (int64_t)len;
}

static int views_fsync(struct as_fs *fs, struct as_handle *handle, bool data_only)
{
	struct copy *c = copy_of(handle);
	int rc = c ? write_back(fs, c) : 0;

	return rc ? rc : fs_fsync(fs, handle, data_only);
}

static int64_t views_write(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
			   uint64_t *off)
{
	struct copy *c = copy_of(handle);
	uint64_t at = handle->flags & O_APPEND ? c->size : *off;

	if (!len)
		return 0;
	if (at >= FILE_MAX)
		return -EFBIG;
	len = len < FILE_MAX - at ? len : (size_t)(FILE_MAX - at);
	memcpy(c->bytes + at, buf, len);
	c->size = at + len > c->size && len ? at + len : c->size;
	c->changed = c->changed || len;
	*off = len ? at + len : *off;
	if (len && handle->flags & (O_SYNC | O_DSYNC) && views_fsync(fs, handle, false))
		return -EIO;
	return (int64_t)len;
}

static int views_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st)
{
	struct copy *c = copy_of(handle);
	int rc = fs_fgetattr(fs, handle, st);

	if (!rc && c)
		st->size = c->size;
	return rc;
}

static int views_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st,
			  unsigned set)
{
	struct copy *c = copy_of(handle);

	if (c && set & AS_SET_SIZE) {
		if (st->size > FILE_MAX)
			return -EFBIG;
		if (st->size > c->size)
			memset(c->bytes + c->size, 0, st->size - c->size);
		else
			memset(c->bytes + st->size, 0, c->size - st->size);
		c->changed = true;
		c->size = st->size;
		set &= ~(unsigned)AS_SET_SIZE;
	}
	return set ? fs_fsetattr(fs, handle, st, set) : 0;
}

static int views_sync(struct as_fs *fs)
{
	int rc = 0;

	for (unsigned i = 0; i < HANDLES && !rc; i++)
		if (copies[i].handle)
			rc = write_back(fs, &copies[i]);
	return rc ? rc : fs_sync(fs);
}

static const struct as_contract views_contract = {
	.after_cut = AS_CUT_REPAIR,
	.semantics = AS_MEANS_OWN_VIEWS,
};

/* After a power cut nobody has closed what was open: its copies are those of another life. */
static int views_mount(const struct as_mount_args *args, struct as_fs **fs)
{
	memset(copies, 0, sizeof(copies));
	return fs_mount(args, fs);
}

__attribute__((visibility("default"))) extern struct as_target_ops as_target;
struct as_target_ops as_target;

__attribute__((constructor)) static void fill(void)
{
	as_target = skeleton_target;
#ifdef DECLARES
	as_target.contract = &views_contract;
#else
	(void)views_contract;
#endif
#ifndef PLAIN
	as_target.mount = views_mount;
	as_target.open = views_open;
	as_target.close = views_close;
	as_target.read = views_read;
	as_target.write = views_write;
	as_target.fgetattr = views_fgetattr;
	as_target.fsetattr = views_fsetattr;
	as_target.fsync = views_fsync;
	as_target.sync = views_sync;
#else
	(void)views_open, (void)views_close, (void)views_read, (void)views_write;
	(void)views_fgetattr, (void)views_fsetattr, (void)views_fsync, (void)views_sync;
#endif
}
