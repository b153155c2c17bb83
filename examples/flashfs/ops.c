/* SPDX-License-Identifier: MIT */
/* ops: names, handles, and the table that assay looks for. */
#include "flashfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Looking up ---- */

static struct ff_node *child(struct as_fs *fs, uint32_t parent, const char *name, size_t len)
{
	for (size_t i = 0; i < fs->n_nodes; i++) {
		struct ff_node *node = fs->nodes[i];

		if ((node->kind == FF_FILE || node->kind == FF_DIR) && node->ino != FF_ROOT &&
		    node->parent == parent && strlen(node->name) == len &&
		    !memcmp(node->name, name, len))
			return node;
	}
	return NULL;
}

struct place {
	struct ff_node *dir, *node; /* node is NULL: there is nothing of that name */
	const char *name;
};

static int walk(struct as_fs *fs, const char *path, struct place *p)
{
	p->dir = p->node = ff_find(fs, FF_ROOT);
	p->name = "";
	for (const char *s = path + 1; *s;) {
		size_t len = strcspn(s, "/");

		if (!p->node)
			return -ENOENT;
		if (p->node->kind != FF_DIR)
			return -ENOTDIR;
		p->dir = p->node;
		p->name = s;
		p->node = child(fs, p->dir->ino, s, len);
		s += len;
		s += *s == '/';
	}
	return 0;
}

static int walk_to(struct as_fs *fs, const char *path, struct place *p)
{
	int rc = walk(fs, path, p);

	return rc ? rc : p->node ? 0 : -ENOENT;
}

static bool is_empty(const struct as_fs *fs, const struct ff_node *dir)
{
	for (size_t i = 0; i < fs->n_nodes; i++) {
		const struct ff_node *node = fs->nodes[i];

		if ((node->kind == FF_FILE || node->kind == FF_DIR) && node->ino != FF_ROOT &&
		    node->parent == dir->ino)
			return false;
	}
	return true;
}

/* ---- Attributes ---- */

static int stat_node(struct as_fs *fs, const struct ff_node *node, struct as_stat *st)
{
	bool dir = node->kind != FF_FILE; /* of what is removed, only a directory can be open */

	(void)fs;
	*st = (struct as_stat){
		.ino = node->ino,
		.mode = dir ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = 1,
		.size = dir ? 0 : node->size,
	};
	return 0;
}

static int ff_getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	return rc ? rc : stat_node(fs, p.node, st);
}

static int set_node(struct as_fs *fs, struct ff_node *node, const struct as_stat *st, unsigned set)
{
	if (fs->readonly)
		return -EROFS;
	if (!(set & AS_SET_SIZE))
		return 0;
	if (node->kind == FF_DIR)
		return -EISDIR;
	return ff_resize(fs, node, st->size);
}

static int ff_setattr(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	return rc ? rc : set_node(fs, p.node, st, set);
}

/* ---- Names ---- */

/* A removed node, whose stone its next state replaces. */
static struct ff_node *reusable(struct as_fs *fs)
{
	for (size_t i = 0; i < fs->n_nodes; i++)
		if (fs->nodes[i]->kind == FF_GONE && !fs->nodes[i]->opens)
			return fs->nodes[i];
	return NULL;
}

static int make(struct as_fs *fs, const struct place *p, enum ff_kind kind, struct ff_node **out)
{
	struct ff_node *node;
	bool fresh;
	struct ff_change change;
	int rc;

	if (p->node)
		return -EEXIST;
	if (strlen(p->name) > FF_NAME)
		return -ENAMETOOLONG;
	rc = ff_has_room(fs, ff_state_bytes(fs));
	if (!rc)
		rc = ff_begin(fs, 0);
	if (rc)
		return rc;
	node = reusable(fs);
	fresh = !node;
	if (fresh)
		node = ff_new_node(fs, fs->next_ino);
	if (!node)
		return -ENOMEM;
	change = ff_as_it_is(node);
	change.kind = kind;
	change.size = 0;
	change.parent = p->dir->ino;
	change.name = p->name;
	if (fs->bug == FF_NAMES_LATE) {
		node->kind = kind;
		node->parent = p->dir->ino;
		memcpy(node->name, p->name, strlen(p->name) + 1);
		node->unnamed = true;
	} else {
		rc = ff_commit(fs, &change, 1);
	}
	if (rc && fresh)
		ff_drop_node(fs, node);
	else if (!rc && fresh)
		fs->next_ino++;
	ff_end(fs);
	if (!rc && out)
		*out = node;
	return rc;
}

static int drop(struct as_fs *fs, struct ff_node *node)
{
	struct ff_change change = ff_as_it_is(node);
	int rc = ff_begin(fs, 0);

	change.kind = FF_GONE;
	change.size = 0;
	if (!rc)
		rc = ff_commit(fs, &change, 1);
	if (!rc)
		ff_forget(fs, node);
	ff_end(fs);
	return rc;
}

static int ff_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	struct place p;
	int rc = walk(fs, path, &p);

	(void)mode;
	return rc ? rc : make(fs, &p, FF_DIR, NULL);
}

static int ff_rmdir(struct as_fs *fs, const char *path)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (rc)
		return rc;
	if (p.node->kind != FF_DIR)
		return -ENOTDIR;
	if (p.node->ino == FF_ROOT)
		return -EBUSY;
	return is_empty(fs, p.node) ? drop(fs, p.node) : -ENOTEMPTY;
}

/* A file that is open cannot be removed: the contract says so. */
static int ff_unlink(struct as_fs *fs, const char *path)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (rc)
		return rc;
	if (p.node->kind == FF_DIR)
		return -EISDIR;
	return p.node->opens ? -EBUSY : drop(fs, p.node);
}

static bool lies_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && path[len] == '/';
}

static int may_replace(const struct as_fs *fs, const struct ff_node *from, const struct ff_node *to)
{
	if (from->kind == FF_DIR && to->kind != FF_DIR)
		return -ENOTDIR;
	if (from->kind != FF_DIR && to->kind == FF_DIR)
		return -EISDIR;
	if (to->kind == FF_DIR)
		return is_empty(fs, to) ? 0 : -ENOTEMPTY;
	return to->opens ? -EBUSY : 0;
}

static int ff_rename(struct as_fs *fs, const char *from_path, const char *to_path, unsigned flags)
{
	struct ff_change changes[2];
	struct place from, to;
	int rc = walk_to(fs, from_path, &from);

	if (flags)
		return -EINVAL;
	if (!rc)
		rc = walk(fs, to_path, &to);
	if (rc || to.node == from.node)
		return rc;
	if (lies_below(to_path, from_path))
		return -EINVAL;
	if (lies_below(from_path, to_path))
		return -ENOTEMPTY;
	if (to.node)
		rc = may_replace(fs, from.node, to.node);
	if (!rc && strlen(to.name) > FF_NAME)
		rc = -ENAMETOOLONG;
	if (!rc)
		rc = ff_begin(fs, 0);
	if (rc)
		return rc;
	/* Both in one record: after a power cut both have happened, or neither. */
	changes[0] = ff_as_it_is(from.node);
	changes[0].parent = to.dir->ino;
	changes[0].name = to.name;
	if (to.node) {
		changes[1] = ff_as_it_is(to.node);
		changes[1].kind = FF_GONE;
		changes[1].size = 0;
	}
	if (fs->bug == FF_RENAME_TWICE && to.node) {
		rc = ff_commit(fs, &changes[1], 1);
		if (!rc)
			rc = ff_commit(fs, &changes[0], 1);
	} else {
		rc = ff_commit(fs, changes, to.node ? 2 : 1);
	}
	if (!rc)
		from.node->unnamed = false;
	if (!rc && to.node)
		ff_forget(fs, to.node);
	ff_end(fs);
	return rc;
}

static int ff_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (!rc && p.node->kind != FF_DIR)
		rc = -ENOTDIR;
	for (size_t i = 0; i < fs->n_nodes && !rc; i++) {
		const struct ff_node *node = fs->nodes[i];

		if ((node->kind != FF_FILE && node->kind != FF_DIR) || node->ino == FF_ROOT ||
		    node->parent != p.node->ino)
			continue;
		rc = fill(ctx, node->name, node->ino, node->kind == FF_DIR ? S_IFDIR : S_IFREG);
	}
	return rc;
}

/* ---- Handles ---- */

static int may_open(const struct place *p, unsigned flags)
{
	bool dir = p->node->kind == FF_DIR;

	if (flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if (flags & O_DIRECTORY && !dir)
		return -ENOTDIR;
	if (dir && (flags & O_CREAT || flags & O_TRUNC || (flags & O_ACCMODE) != O_RDONLY))
		return -EISDIR;
	return 0;
}

static int ff_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
		   struct as_handle **out)
{
	struct as_handle *handle;
	struct place p;
	int rc = walk(fs, path, &p);

	(void)mode;
	if (rc)
		return rc;
	if (!p.node && !(flags & O_CREAT))
		return -ENOENT;
	if (p.node)
		rc = may_open(&p, flags);
	if (rc)
		return rc;
	handle = as_malloc(fs->host, sizeof(*handle));
	if (!handle)
		return -ENOMEM;
	if (!p.node)
		rc = make(fs, &p, FF_FILE, &p.node);
	else if (flags & O_TRUNC)
		rc = fs->readonly ? -EROFS : ff_resize(fs, p.node, 0);
	if (rc) {
		as_free(fs->host, handle);
		return rc;
	}
	handle->node = p.node;
	handle->flags = flags;
	p.node->opens++;
	*out = handle;
	return 0;
}

static int ff_close(struct as_fs *fs, struct as_handle *handle)
{
	struct ff_node *node = handle->node;
	int rc = 0;

	node->opens--;
	as_free(fs->host, handle);
	if (fs->bug != FF_CLOSE_KEEPS && node->kind == FF_FILE)
		rc = ff_flush(fs, node);
	return rc;
}

static int64_t ff_pread(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len,
			uint64_t off)
{
	if (handle->node->kind != FF_FILE)
		return -EISDIR;
	return ff_read_file(fs, handle->node, buf, len, off);
}

static int64_t ff_write(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
			uint64_t *off)
{
	uint64_t at = handle->flags & O_APPEND ? handle->node->size : *off;
	int64_t n;

	if (fs->readonly)
		return -EROFS;
	n = handle->flags & (O_SYNC | O_DSYNC) ? ff_write_stable(fs, handle->node, buf, len, at)
					       : ff_write_file(fs, handle->node, buf, len, at);
	if (n < 0)
		return n;
	*off = n ? at + (uint64_t)n : *off;
	return n;
}

static int ff_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st)
{
	return stat_node(fs, handle->node, st);
}

static int ff_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st,
		       unsigned set)
{
	return set_node(fs, handle->node, st, set);
}

static int ff_fsync(struct as_fs *fs, struct as_handle *handle, bool data_only)
{
	(void)data_only;
	return fs->readonly ? 0 : ff_flush(fs, handle->node);
}

/* ---- The table ---- */

static const struct as_limits limits = { .name_max = FF_NAME, .file_bytes = FF_FILE_BYTES };

#define FF_SUMS AS_PROMISE_CHECKSUMS

/* What is written is stable at close, all of it or nothing; names at once. */
static const struct as_contract contract = {
	.after_cut = AS_CUT_PREFIX,
	.promises = FF_SUMS | AS_PROMISE_AT_CLOSE | AS_PROMISE_NAMES_NOW | AS_PROMISE_WHOLE_FILES,
	.semantics = AS_MEANS_NLINK_ANY | AS_MEANS_FULL_DROPS,
	.busy_errno = EBUSY,
};

static const struct as_flash_geometry flash = { .erase_bytes = 4096,
						.program_bytes = 16,
						.read_bytes = 1,
						.erased = 0xff };

__attribute__((visibility("default"))) extern const struct as_target_ops as_target;
const struct as_target_ops as_target = {
	.api = AS_TARGET_API,
	.caps = 0,
	.name = "flashfs",
	.version = "1",
	.min_bytes = 32 * 1024,
	.default_bytes = 128 * 1024,
	.mkfs = ff_mkfs,
	.mount = ff_mount,
	.unmount = ff_unmount,
	.sync = ff_sync,
	.getattr = ff_getattr,
	.setattr = ff_setattr,
	.mkdir = ff_mkdir,
	.rmdir = ff_rmdir,
	.unlink = ff_unlink,
	.rename = ff_rename,
	.readdir = ff_readdir,
	.open = ff_open,
	.close = ff_close,
	.read = ff_pread,
	.write = ff_write,
	.fgetattr = ff_fgetattr,
	.fsetattr = ff_fsetattr,
	.fsync = ff_fsync,
	.limits = &limits,
	.contract = &contract,
	.flash = &flash,
};
