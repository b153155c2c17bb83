/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handle.c: open, close, fsync.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static bool wants_write(unsigned flags)
{
	return (flags & O_ACCMODE) != O_RDONLY;
}

static bool wants_tmpfile(unsigned flags)
{
	return (flags & O_TMPFILE) == O_TMPFILE;
}

static int do_tmpfile(struct as_fs *fs, struct lab_node *dir, uint32_t mode, bool linkable,
		      struct lab_node **node)
{
	int rc = lab_inew(fs, dir, S_IFREG | (mode & 07777), 0, node);

	if (!rc)
		rc = lab_orphan_add(fs, *node);
	if (!rc)
		(*node)->linkable = linkable;
	return rc;
}

static int open_tmpfile(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
			struct lab_node **node)
{
	struct lab_node *dir;
	int rc = lab_walk(fs, path, &dir);

	if (!rc && !S_ISDIR(dir->raw->mode))
		rc = -ENOTDIR;
	if (!rc && !wants_write(flags))
		rc = -EINVAL;
	if (rc)
		return rc;
	return LAB_RUN(fs, lab_ns_credits(fs),
		       do_tmpfile(fs, dir, mode, !(flags & O_EXCL) || LAB_BUG_ON(fs, TMPFILE_EXCL),
				  node));
}

/* Whether an existing inode may be opened with these flags. */
static int check_existing(const struct as_fs *fs, const struct lab_node *node, unsigned flags)
{
	uint32_t mode = node->raw->mode;

	if (flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if (S_ISLNK(mode))
		return flags & O_DIRECTORY ? -ENOTDIR : -ELOOP;
	if (S_ISDIR(mode))
		return flags & (O_CREAT | O_TRUNC) || wants_write(flags) ? -EISDIR : 0;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	if (!S_ISREG(mode))
		return -ENXIO;
	if ((wants_write(flags) || flags & O_TRUNC) && (fs->readonly || fs->aborted))
		return -EROFS;
	return 0;
}

static int do_create(struct as_fs *fs, const char *path, uint32_t mode, struct lab_node **node)
{
	struct lab_path at;
	int rc = lab_walk_parent(fs, path, &at);

	if (!rc && at.dir)
		lab_lock_dir(fs, at.dir);
	return rc ? rc : lab_create(fs, &at, S_IFREG | (mode & 07777), 0, node);
}

static int open_path(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
		     struct lab_node **node)
{
	int rc = lab_walk(fs, path, node);

	if (rc == -ENOENT && flags & O_CREAT) {
		rc = LAB_RUN(fs, lab_ns_credits(fs), do_create(fs, path, mode, node));
		return !rc && !*node ? -EIO : rc; /* only with bug ERRNO_INO */
	}
	if (!rc)
		rc = check_existing(fs, *node, flags);
	if (!rc && flags & O_TRUNC && S_ISREG((*node)->raw->mode) &&
	    ((*node)->raw->size || !LAB_BUG_ON(fs, TRUNC_EMPTY)) &&
	    !((*node)->raw->size % LAB_BLOCK == 0 && LAB_BUG_ON(fs, TRUNC_ALIGNED)))
		rc = lab_truncate(fs, *node, 0);
	return rc;
}

int lab_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
	     struct as_handle **out)
{
	struct as_handle *handle = NULL;
	struct lab_node *node;
	int rc;

	if (flags & O_CREAT && flags & O_DIRECTORY && !wants_tmpfile(flags))
		return -EINVAL;
	/* The handle is allocated first: if there is no memory for it, no file has been made. */
	if (!LAB_BUG_ON(fs, CREATE_LEFT)) {
		handle = as_malloc(fs->host, sizeof(*handle));
		if (!handle && !LAB_BUG_ON(fs, ALLOC_NULL))
			return -ENOMEM;
		handle->flags = flags;
	}
	rc = wants_tmpfile(flags) ? open_tmpfile(fs, path, flags, mode, &node)
				  : open_path(fs, path, flags, mode, &node);
	if (!rc && !handle) {
		handle = as_malloc(fs->host, sizeof(*handle));
		if (!handle)
			rc = -ENOMEM;
	}
	if (rc) {
		as_free(fs->host, handle);
		return rc;
	}
	handle->flags = flags;
	handle->node = node;
	handle->size_seen = node->raw->size;
	node->opens++;
	as_pair(fs->host, AS_PAIR_UNMOUNT, LAB_PAIR_OPEN, 1);
	fs->nwriters += wants_write(flags);
	*out = handle;
	return 0;
}

int lab_close(struct as_fs *fs, struct as_handle *handle)
{
	struct lab_node *node = handle->node;
	int rc = 0;

	node->opens--;
	if (node->raw->nlink || !LAB_BUG_ON(fs, CLOSE_UNPAIRED))
		as_pair(fs->host, AS_PAIR_UNMOUNT, LAB_PAIR_OPEN, -1);
	fs->nwriters -= wants_write(handle->flags);
	as_free(fs->host, handle);
	if (node->opens || node->raw->nlink || fs->readonly || fs->aborted)
		return 0;
	if (LAB_BUG_ON(fs, ORPHAN_KEPT))
		return 0;
	rc = lab_orphan_finish(fs, node);
	return rc;
}

int lab_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st)
{
	lab_fill_stat(handle->node, st);
	if (LAB_BUG_ON(fs, SIZE_STALE) && handle->size_seen < st->size)
		st->size = handle->size_seen;
	return 0;
}

/* Bug 180. The new size is in the inode, and that is what fdatasync leaves out. */
static bool leaves_size(const struct as_fs *fs, const struct lab_node *node, bool data_only)
{
	return data_only && node->why_seq == fs->seq &&
	       !(node->why & ~(LAB_WHY_GROWN | LAB_WHY_TIMES)) && LAB_BUG_ON(fs, FDATASYNC_SIZE);
}

/* The bugs that make an fsync forget the journal. */
static bool forgets(const struct as_fs *fs, const struct lab_node *node)
{
	uint8_t why = node->why_seq == fs->seq ? node->why : 0;

	if (S_ISDIR(node->raw->mode))
		return LAB_BUG_ON(fs, FSYNC_DIR) ||
		       (node->raw->size > LAB_DIRECT * LAB_BLOCK && LAB_BUG_ON(fs, FSYNC_LARGE));
	return (why & LAB_WHY_LINK && LAB_BUG_ON(fs, FSYNC_NAMES)) ||
	       (why == LAB_WHY_FALLOC && LAB_BUG_ON(fs, FALLOC_SIZE)) ||
	       (why == LAB_WHY_XATTR && LAB_BUG_ON(fs, FSYNC_XATTR)) ||
	       (why == LAB_WHY_PUNCH && LAB_BUG_ON(fs, PUNCH_NOLOG)) ||
	       (why == LAB_WHY_TIMES && LAB_BUG_ON(fs, FSYNC_TIMES)) ||
	       (why == LAB_WHY_KEEP && LAB_BUG_ON(fs, FSYNC_KEEP));
}

/* Bug 71: the transaction has nothing of the thread that asks. */
static bool is_of_others(const struct as_fs *fs)
{
	return LAB_BUG_ON(fs, FSYNC_OWN) && !(fs->callers >> as_caller(fs->host) % 32 & 1);
}

int lab_fsync(struct as_fs *fs, struct as_handle *handle, bool data_only)
{
	/* The journal holds sizes and pointers: fsync and fdatasync both need it. */
	if (S_ISDIR(handle->node->raw->mode) && LAB_BUG_ON(fs, LOCK_CIRCLE)) {
		as_lock(fs->host, LAB_LOCK_JOURNAL, 0);
		as_lock(fs->host, LAB_LOCK_OP, 0);
		as_unlock(fs->host, LAB_LOCK_OP, 0);
		as_unlock(fs->host, LAB_LOCK_JOURNAL, 0);
	}
	if (handle->node->buf->state == LAB_S_META && LAB_BUG_ON(fs, HOME_EARLY)) {
		int rc = lab_write_home(fs, handle->node->buf);

		if (rc)
			return rc;
	}
	if (forgets(fs, handle->node) || is_of_others(fs) ||
	    leaves_size(fs, handle->node, data_only)) {
		int rc = lab_write_data(fs);

		return rc ? rc : as_bd_flush(fs->bd);
	}
	return lab_commit(fs);
}
