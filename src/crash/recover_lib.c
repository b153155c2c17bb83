/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recover_lib: recovery by a linked library, in this process: its checker, its mount, its own
 * unmount. A library that dies takes the process with it (recover.h, rule 4).
 *
 * Each recovery gets a host of its own, so that clock, choices and memory begin the same way every
 * time: what is computed follows from the disk alone.
 */
#include "crash/recover.h"

#include "base/choice.h"
#include "base/event.h"
#include "crash/tree.h"
#include "run/lib_new.h"
#include "target/host.h"
#include "target/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROBE_NAME "assay-probe"

struct lib {
	struct as_recoverer base;
	const struct as_target *target;
	const struct as_target_ops *ops;
	struct as_limits limits;
	uint64_t seed;
	struct as_host_log *log;
};

/* One recovery. */
struct work {
	struct lib *lib;
	struct as_chooser *chooser;
	struct as_host_mem *host;
	struct as_disk *disk;
	struct as_reclog *reclog; /* NULL: not asked for */
	struct as_vfs *vfs;
	struct as_recovered *out;
};

static struct as_bd *bd_of(struct work *w)
{
	return w->reclog ? as_reclog_bd(w->reclog) : as_disk_bd(w->disk);
}

/* The first reason is kept. */
static bool ended(struct work *w, enum as_recovery_end end, const char *doing, const char *why)
{
	if (w->out->end == AS_RECOVERED) {
		w->out->end = end;
		as_buf_addf(&w->out->why, "%s: %s", doing, why);
	}
	return false;
}

static bool ended_errno(struct work *w, enum as_recovery_end end, const char *doing, int rc)
{
	char why[64];

	snprintf(why, sizeof(why), "answered %s", as_errno_name(-rc));
	return ended(w, end, doing, why);
}

/* Memory it kept or spoilt. */
static bool sound(struct work *w, const char *doing)
{
	enum as_finding_kind kind;
	const char *why = as_vfs_lib_trouble(w->vfs, &kind);

	return !why || ended(w, AS_COMPLAINED, doing, why);
}

static struct as_mount_args mount_args(struct work *w, struct as_bd *bd)
{
	return (struct as_mount_args){ .host = as_host_seam(w->host),
				       .bd = bd,
				       .opts = as_target_opts(w->lib->target) };
}

static bool check(struct work *w, enum as_way way)
{
	static const enum as_fsck_mode modes[AS_WAYS] = {
		[AS_WAY_QUICK] = AS_FSCK_REPLAY,
		[AS_WAY_DEFAULT] = AS_FSCK_DEFAULT,
		[AS_WAY_FULL] = AS_FSCK_FULL,
	};
	struct as_mount_args args = mount_args(w, bd_of(w));
	int rc;

	if (way == AS_WAY_MOUNT)
		return true;
	rc = w->lib->ops->fsck(&args, modes[way]);
	if (rc < 0)
		return ended_errno(w, AS_REFUSED, as_way_name(way), rc);
	if (rc & ~AS_FSCK_REPAIRED)
		return ended(w, AS_REFUSED, as_way_name(way),
			     rc & AS_FSCK_OPERATIONAL ? "could not do its work"
						      : "left errors uncorrected");
	w->out->repaired = rc & AS_FSCK_REPAIRED;
	as_host_drop(w->host);
	if (w->reclog)
		w->out->checker_end = as_reclog_len(w->reclog);
	return true;
}

static bool mount_and_read(struct work *w)
{
	struct as_buf why = { 0 };
	int rc = as_vfs_lib_mount(w->vfs, "");
	bool read;

	if (rc)
		return ended_errno(w, AS_REFUSED, "mount", rc);
	if (w->reclog)
		as_reclog_pause(w->reclog, true);
	w->out->disk = as_disk_snapshot(w->disk);
	if (!sound(w, "mount"))
		return false;
	read = !as_tree_capture(as_vfs_tree(w->vfs), w->vfs, &w->out->tree, &why);
	if (!read)
		ended(w, AS_UNREADABLE, "reading the tree", as_buf_str(&why));
	as_buf_free(&why);
	return read;
}

/* ---- Afterwards ------------------------------------------------------------------------------ */

/* A file system that is full, or whose paths are at their limit, may say so. */
static bool may_refuse(int err)
{
	return err == ENOSPC || err == EDQUOT || err == ENAMETOOLONG || err == EEXIST ||
	       err == AS_ERR_UNSUPPORTED || err == AS_ERR_LIMIT || err == EROFS;
}

static bool probe_directory(struct work *w, const char *path)
{
	struct as_op create = as_op_make(AS_OP_CREATE), unlink = as_op_make(AS_OP_UNLINK);
	struct as_outcome got;

	create.path = unlink.path = path;
	create.mode = 0644;
	as_vfs_exec(w->vfs, &create, &got);
	if (got.ret < 0)
		return may_refuse(got.err) ||
		       ended_errno(w, AS_COMPLAINED, "creating a file in a recovered directory",
				   -got.err);
	as_vfs_exec(w->vfs, &unlink, &got);
	if (got.ret < 0 && !may_refuse(got.err))
		return ended_errno(w, AS_COMPLAINED, "deleting a file in a recovered directory",
				   -got.err);
	return true;
}

static bool probe_all(struct work *w)
{
	const struct as_tree *tree = w->out->tree;
	struct as_buf path = { 0 };
	bool fine = true;

	for (uint32_t i = 0; i < as_tree_len(tree) && fine; i++) {
		if (!S_ISDIR(as_tree_at(tree, i)->mode))
			continue;
		as_buf_clear(&path);
		as_tree_path(tree, i, &path);
		if (path.len == 1)
			as_buf_clear(&path);
		as_buf_adds(&path, "/" PROBE_NAME);
		if (path.len < AS_VFS_PATH_MAX)
			fine = probe_directory(w, as_buf_str(&path));
	}
	as_buf_free(&path);
	return fine;
}

/* What the full checker says of a disk on which nothing should be wrong. */
static bool full_check(struct work *w, struct as_bd *bd, char *why, size_t cap)
{
	struct as_mount_args args = mount_args(w, bd);
	int rc = w->lib->ops->fsck(&args, AS_FSCK_FULL);

	as_host_drop(w->host);
	if (rc < 0)
		snprintf(why, cap, "failed with %s", as_errno_name(-rc));
	else if (rc)
		snprintf(why, cap, "found errors (status %d)", rc);
	return !rc;
}

static bool afterwards(struct work *w)
{
	char why[96];
	int rc;

	if (!probe_all(w))
		return false;
	rc = as_vfs_lib_unmount(w->vfs);
	if (rc)
		return ended_errno(w, AS_COMPLAINED, "unmount", rc);
	if (!sound(w, "unmount"))
		return false;
	if (!(w->lib->ops->caps & AS_CAP_FSCK))
		return true;
	return full_check(w, bd_of(w), why, sizeof(why)) ||
	       ended(w, AS_COMPLAINED, "the full check after recovery and unmount", why);
}

/* ---- The seam -------------------------------------------------------------------------------- */

static void work_begin(struct work *w, struct lib *lib, struct as_disk *crashed)
{
	w->lib = lib;
	w->chooser = as_chooser_seeded(lib->seed);
	w->host = as_host_new(as_chooser_choice(w->chooser), lib->log);
	w->disk = as_disk_snapshot(crashed);
}

static void work_end(struct work *w)
{
	if (w->vfs)
		as_vfs_lib_abandon(w->vfs);
	as_vfs_free(w->vfs);
	as_host_free(w->host);
	as_chooser_free(w->chooser);
	as_disk_free(w->disk);
}

static int lib_recover(struct as_recoverer *recoverer, enum as_way way, struct as_disk *crashed,
		       unsigned flags, struct as_recovered *out, struct as_err *err)
{
	struct lib *lib = (struct lib *)recoverer;
	struct work w = { .out = out };

	(void)err;
	work_begin(&w, lib, crashed);
	if (flags & AS_RECOVER_LOG)
		w.reclog = as_reclog_new(as_disk_bd(w.disk), AS_RECLOG_READ_DATA, 0);
	w.vfs = as_vfs_lib_new(&(struct as_lib_args){
		.ops = lib->ops,
		.host = w.host,
		.bd = bd_of(&w),
		.opts = as_target_opts(lib->target),
		.name_max = lib->limits.name_max ? lib->limits.name_max : 255,
		.size_max_bytes = lib->limits.file_bytes,
	});
	if (check(&w, way) && mount_and_read(&w) && (flags & AS_RECOVER_PROBE))
		(void)afterwards(&w);
	work_end(&w);
	out->log = w.reclog;
	return 0;
}

static bool lib_at_peace(struct as_recoverer *recoverer, struct as_disk *disk, struct as_buf *why)
{
	struct lib *lib = (struct lib *)recoverer;
	struct work w = { 0 };
	char text[96];
	bool peace;

	if (!(lib->ops->caps & AS_CAP_FSCK))
		return true;
	work_begin(&w, lib, disk);
	peace = full_check(&w, as_disk_bd(w.disk), text, sizeof(text));
	if (!peace)
		as_buf_addf(why, "the full checker %s", text);
	work_end(&w);
	return peace;
}

static void lib_free(struct as_recoverer *recoverer)
{
	free(recoverer);
}

static const struct as_recoverer_ops lib_ops = {
	.name = "library",
	.recover = lib_recover,
	.at_peace = lib_at_peace,
	.free = lib_free,
};

struct as_recoverer *as_recoverer_lib(const struct as_target *target, uint64_t seed,
				      struct as_host_log *log)
{
	struct lib *lib = as_xcalloc(1, sizeof(*lib));

	lib->base.ops = &lib_ops;
	lib->target = target;
	lib->ops = as_target_library(target);
	lib->limits = as_target_limits(target);
	lib->seed = seed;
	lib->log = log;
	lib->base.ways = lib->ops->caps & AS_CAP_FSCK ? AS_WAYS_ALL : 1u << AS_WAY_MOUNT;
	return &lib->base;
}
