/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_mount: the executor's own life: mounting, unmounting, power cuts, what makes things stable,
 * and the table of its operations.
 *
 * After every unmount the library must have given all memory back; what it kept is a leak, noted
 * as trouble and dropped, so that it is reported once.
 */
#include "base/show.h"
#include "vfs/lib_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Mounting -------------------------------------------------------------------------------- */

static void note_trouble(struct as_lib *l, enum as_finding_kind kind, const char *text)
{
	if (l->trouble.len)
		return;
	l->trouble_kind = kind;
	as_buf_adds(&l->trouble, text);
}

static void check_leaks(struct as_lib *l, const char *when)
{
	struct as_host_leaks live = as_host_live(l->args.host);
	struct as_buf text = { 0 };

	as_host_check(l->args.host);
	if (live.count) {
		as_buf_addf(&text, "%llu allocation%s, %llu bytes, left after %s",
			    (unsigned long long)live.count, as_plural(live.count),
			    (unsigned long long)live.bytes, when);
		l->leak_op = as_host_live_op(l->args.host);
		if (l->leak_op != AS_HOST_NO_OP)
			as_buf_addf(&text, "; operation %u made the first", l->leak_op + 1);
		note_trouble(l, AS_FIND_LEAK, as_buf_str(&text));
		as_host_drop(l->args.host);
	}
	as_buf_free(&text);
}

const char *as_vfs_lib_trouble(struct as_vfs *vfs, enum as_finding_kind *kind)
{
	struct as_lib *l = (struct as_lib *)vfs;
	const char *misuse = as_host_misuse(l->args.host);

	if (misuse)
		note_trouble(l, AS_FIND_MISUSE, misuse);
	misuse = as_host_trouble(l->args.host, kind);
	if (misuse)
		note_trouble(l, *kind, misuse);
	*kind = l->trouble_kind;
	return l->trouble.len ? as_buf_str(&l->trouble) : NULL;
}

uint32_t as_vfs_lib_leak_op(const struct as_vfs *vfs)
{
	const struct as_lib *l = (const struct as_lib *)vfs;

	return l->trouble.len && l->trouble_kind == AS_FIND_LEAK ? l->leak_op : AS_HOST_NO_OP;
}

int as_vfs_lib_mount(struct as_vfs *vfs, const char *opts)
{
	struct as_lib *l = (struct as_lib *)vfs;
	struct as_mount_args args = { .host = l->host, .bd = l->args.bd, .flash = l->args.flash };
	int rc;

	as_buf_clear(&l->opts);
	as_buf_adds(&l->opts, l->args.opts);
	if (*opts)
		as_buf_addf(&l->opts, "%s%s", l->opts.len ? "," : "", opts);
	args.opts = as_buf_str(&l->opts);
	args.readonly = as_opts_read_only(args.opts);
	/* A checker may have mounted it for itself: what it told of that file system is over. */
	as_host_leaving(l->args.host);
	rc = as_watched_mount(l->watched, &args, &l->fs);
	if (rc) {
		enum as_finding_kind kind;

		l->fs = NULL;
		(void)as_vfs_lib_trouble(vfs, &kind); /* before it is forgotten with the memory */
		as_host_leaving(l->args.host);
		as_host_left(l->args.host);
		check_leaks(l, "a mount that failed");
		return rc;
	}
	if (!l->fs)
		note_trouble(l, AS_FIND_MISUSE, "mount answered 0 but gave no file system");
	vfs->readonly = args.readonly;
	as_host_end_op(l->args.host);
	return 0;
}

static void forget(struct as_lib *l)
{
	for (size_t i = 0; i < l->n_slots; i++)
		free(l->slots[i].path);
	free(l->slots);
	free(l->maps);
	l->slots = NULL;
	l->maps = NULL;
	l->n_slots = l->cap_slots = l->n_maps = l->cap_maps = 0;
	l->fs = NULL;
	l->vfs.readonly = false;
	l->cwd.handle = NULL;
	l->cwd.gone = 0;
	as_buf_clear(&l->cwd.path);
}

int as_vfs_lib_unmount(struct as_vfs *vfs)
{
	struct as_lib *l = (struct as_lib *)vfs;
	int rc, first = 0;

	if (!l->fs)
		return 0;
	first = as_lib_unmap_all(l);
	for (size_t i = 0; i < l->n_slots; i++) {
		rc = l->slots[i].used ? as_lib_slot_close(l, &l->slots[i]) : 0;
		if (rc && !first)
			first = rc;
	}
	as_lib_cwd_reset(l);
	as_host_leaving(l->args.host);
	rc = l->ops->unmount(l->fs);
	as_host_left(l->args.host);
	forget(l);
	check_leaks(l, "unmount");
	return first ? first : rc;
}

void as_vfs_lib_abandon(struct as_vfs *vfs)
{
	struct as_lib *l = (struct as_lib *)vfs;

	if (!l->fs)
		return;
	/* What the library holds is dropped; the library is not told. */
	as_host_check(l->args.host);
	forget(l);
	as_host_drop(l->args.host);
}

void as_lib_umount(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	(void)op;
	as_vfs_answer(out, as_lib_slots_open(l) ? -EBUSY : as_vfs_lib_unmount(&l->vfs));
}

void as_lib_mount(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	int rc = -EBUSY;

	if (as_opts_read_only(op->opts) && !(l->args.ops->caps & AS_CAP_READONLY))
		rc = -AS_ERR_UNSUPPORTED;
	else if (!l->fs)
		rc = as_vfs_lib_mount(&l->vfs, op->opts);
	as_vfs_answer(out, rc);
}

/* Between read-only and writable, or neither. A library is told the way back, which is what a
 * remount without `ro` is to a kernel. */
static int remount(struct as_lib *l, const char *opts)
{
	bool readonly = as_opts_read_only(opts);
	int rc;

	if ((readonly || l->vfs.readonly) &&
	    !(l->ops->remount && l->args.ops->caps & AS_CAP_READONLY))
		return -AS_ERR_UNSUPPORTED;
	if (!l->ops->remount)
		return 0;
	if (l->vfs.readonly && !readonly) {
		as_buf_clear(&l->opts);
		as_buf_addf(&l->opts, "rw%s%s", *opts ? "," : "", opts);
		opts = as_buf_str(&l->opts);
	}
	rc = l->ops->remount(l->fs, opts);
	if (!rc)
		l->vfs.readonly = readonly;
	return rc;
}

void as_lib_remount(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	bool syncs = !l->ops->remount || l->args.semantics & AS_MEANS_OWN_VIEWS;
	int rc = remount(l, op->opts ? op->opts : "");

	if (!rc && syncs)
		rc = l->ops->sync(l->fs);
	as_vfs_answer(out, rc);
}

void as_lib_crash(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_mount_args args = {
		.host = l->host, .bd = l->args.bd, .flash = l->args.flash, .opts = l->args.opts
	};
	int rc = 0;

	(void)op;
	as_vfs_lib_abandon(&l->vfs);
	if (l->args.check_first)
		rc = l->args.ops->fsck(&args, AS_FSCK_DEFAULT);
	if (rc > 0)
		rc = rc & ~AS_FSCK_REPAIRED ? -EIO : 0;
	as_vfs_answer(out, rc ? rc : as_vfs_lib_mount(&l->vfs, ""));
}

/* ---- Stable storage -------------------------------------------------------------------------- */

void as_lib_sync(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	(void)op;
	as_vfs_answer(out, l->ops->sync(l->fs));
}

void as_lib_syncfs(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, as_lib_slot_get_file(l, op->fd) ? l->ops->sync(l->fs) : -EBADF);
}

static void sync_slot(struct as_lib *l, const struct as_op *op, bool data_only,
		      struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);

	as_vfs_answer(out, slot ? l->ops->fsync(l->fs, slot->handle, data_only) : -EBADF);
}

void as_lib_fsync(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	sync_slot(l, op, false, out);
}

void as_lib_fdatasync(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	sync_slot(l, op, true, out);
}

/* It promises nothing, so a library has nothing to do: fs/sync.c, sync_file_range() checks. */
void as_lib_sync_file_range(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	uint64_t end = (uint64_t)op->off + op->len;
	int rc = 0;

	if (!as_lib_slot_get_file(l, op->fd))
		rc = -EBADF;
	else if (op->flags & ~(int64_t)AS_SYNC_FILE_RANGE_ALL || op->off < 0 || (int64_t)end < 0 ||
		 end < (uint64_t)op->off)
		rc = -EINVAL;
	as_vfs_answer(out, rc);
}

/* ---- Reading the tree ------------------------------------------------------------------------ */

static int tree_stat(void *ctx, const char *path, struct as_stat *st)
{
	struct as_lib *l = ctx;

	return as_lib_getattr(l, path, st);
}

static int tree_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	struct as_vfs_names names = { 0 };
	int rc = as_lib_list(ctx, path, &names);

	return as_vfs_names_pass(&names, rc, fill, fill_ctx);
}

static int64_t tree_readlink(void *ctx, const char *path, char *buf, size_t len)
{
	struct as_lib *l = ctx;

	return as_vfs_fitting(l->ops->readlink(l->fs, path, buf, len), len);
}

static int64_t tree_read(void *ctx, const char *path, void *buf, size_t len, uint64_t off)
{
	struct as_lib *l = ctx;
	struct as_handle *handle;
	int64_t n, rc = l->ops->open(l->fs, path, O_RDONLY, 0, &handle);

	if (rc)
		return rc;
	n = as_vfs_fitting(l->ops->read(l->fs, handle, buf, len, off), len);
	rc = l->ops->close(l->fs, handle);
	return n < 0 || !rc ? n : rc;
}

static int64_t tree_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	struct as_lib *l = ctx;

	int64_t n = l->ops->caps & AS_CAP_XATTR ? l->ops->listxattr(l->fs, path, buf, len)
						: -EOPNOTSUPP;

	n = as_vfs_fitting(n, len);
	/* The reader of the list relies on a NUL at its end. */
	if (n > 0)
		buf[n - 1] = '\0';
	return n;
}

static int64_t tree_getxattr(void *ctx, const char *path, const char *name, void *buf, size_t len)
{
	struct as_lib *l = ctx;

	return l->ops->caps & AS_CAP_XATTR
		       ? as_vfs_fitting(l->ops->getxattr(l->fs, path, name, buf, len), len)
		       : -EOPNOTSUPP;
}

static const struct as_tree_ops tree_ops = {
	.stat = tree_stat,
	.list = tree_list,
	.readlink = tree_readlink,
	.read = tree_read,
	.listxattr = tree_listxattr,
	.getxattr = tree_getxattr,
};

/* ---- The table ------------------------------------------------------------------------------- */

/* While nothing is mounted, only mount can do anything. */
static bool answered_unmounted(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	if (l->fs || op->code == AS_OP_MOUNT)
		return false;
	as_vfs_answer(out, op->code == AS_OP_UMOUNT ? -EINVAL : -ESHUTDOWN);
	return true;
}

#define OP(id, name, ...)                                                                         \
	static void op_##name(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out) \
	{                                                                                         \
		struct as_lib *l = (struct as_lib *)vfs;                                          \
                                                                                                  \
		if (!answered_unmounted(l, op, out))                                              \
			as_lib_##name(l, op, out);                                                \
	}
#include "work/op.def"
#undef OP

static void lib_free(struct as_vfs *vfs)
{
	struct as_lib *l = (struct as_lib *)vfs;

	forget(l);
	as_buf_free(&l->cwd.path);
	as_buf_free(&l->todo[0]);
	as_buf_free(&l->todo[1]);
	as_buf_free(&l->opts);
	as_buf_free(&l->trouble);
	as_watched_free(l->watched);
	free(l);
}

static const struct as_vfs_ops lib_ops = {
	.api = AS_VFS_API,
	.caps = AS_VFS_MOUNTS | AS_VFS_LIBRARY,
	.name = "library",
	.op = {
#define OP(id, name, ...) [AS_OP_##id] = op_##name,
#include "work/op.def"
#undef OP
	},
	.tree = &tree_ops,
	.free = lib_free,
};

struct as_vfs *as_vfs_lib_new(const struct as_lib_args *args)
{
	struct as_lib *l = as_xcalloc(1, sizeof(*l));

	l->vfs.ops = &lib_ops;
	l->args = *args;
	l->host = as_host_seam(args->host);
	l->watched = as_watched_new(args->ops, args->host, args->faulty, args->measured);
	l->ops = as_watched_ops(l->watched);
	return &l->vfs;
}

/* struct as_target_ops has none of them. */
void as_lib_trim(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	(void)l;
	(void)op;
	as_vfs_answer(out, -EOPNOTSUPP);
}

void as_lib_freeze(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_lib_trim(l, op, out);
}

void as_lib_quota(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_lib_trim(l, op, out);
}

void as_lib_setquota(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	bool wrong = (op->off2 && op->off > op->off2) || (op->len && op->fill > op->len);

	(void)l;
	as_vfs_answer(out, wrong ? -EINVAL : -EOPNOTSUPP);
}

void as_lib_swapon(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_lib_trim(l, op, out);
}

void as_lib_setproject(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_lib_trim(l, op, out);
}
