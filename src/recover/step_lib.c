/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_lib: the driver of linked libraries: their checkers, mount and unmount, in this process. A
 * library that dies takes the process with it (recover.h, rule 4).
 *
 * Each step has a host of its own, so that clock, choices and memory begin the same way every time:
 * the result follows from the disk alone. The step of the probe is the full checker, a mount that
 * makes and deletes a file in every directory, and the full checker once more; they are one step
 * because on a recovered disk all of it is mostly known from another disk.
 */
#include "recover/step_priv.h"

#include "base/choice.h"
#include "base/event.h"
#include "disk/fault.h"
#include "snapshot/tree.h"
#include "target/checker_words.h"
#include "target/host.h"
#include "target/target.h"
#include "vfs/lib_new.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROBE_NAME "assay-probe"
#define VERIFY_EVERY 8u

struct lib {
	struct as_recoverer base;
	const struct as_target *target;
	const struct as_target_ops *ops;
	struct as_limits limits;
	uint64_t seed;
	struct as_host_log *log;
};

/* One step under way. */
struct lib_work {
	struct lib *lib;
	enum as_step step;
	struct as_stepped *out;
	struct as_chooser *chooser;
	struct as_host_mem *host;
	struct as_bd *bd; /* the disk, beneath a log and a read that fails where asked for */
	struct as_vfs *vfs;
};

/* The first reason is kept. */
static bool ended(struct lib_work *w, enum as_recovery_end end, const char *doing, const char *why)
{
	if (w->out->end == AS_RECOVERED) {
		w->out->end = end;
		as_buf_addf(&w->out->why, "%s: %s", doing, why);
	}
	return false;
}

static bool ended_errno(struct lib_work *w, enum as_recovery_end end, const char *doing, int rc)
{
	char why[64];

	snprintf(why, sizeof(why), "answered %s", as_errno_name(-rc));
	return ended(w, end, doing, why);
}

/* Whether the library leaked or overwrote memory. */
static bool sound(struct lib_work *w, const char *doing)
{
	enum as_finding_kind kind;
	const char *why = as_vfs_lib_trouble(w->vfs, &kind);

	return !why || ended(w, AS_COMPLAINED, doing, why);
}

static struct as_mount_args mount_args(struct lib_work *w)
{
	return (struct as_mount_args){ .host = as_host_seam(w->host),
				       .bd = w->bd,
				       .opts = as_target_opts(w->lib->target) };
}

/* What comes after this is no longer recovery. */
static void note_recovered(struct lib_work *w)
{
	if (w->out->log)
		w->out->tree_at = as_reclog_len(w->out->log);
}

/* ---- The checker ----------------------------------------------------------------------------- */

/* What the checker named since then, after what we say of it. */
static void add_problem(const struct lib_work *w, uint64_t since, struct as_buf *out)
{
	struct as_buf said = { 0 }, problem = { 0 };

	as_host_log_since(w->lib->log, since, &said);
	if (as_checker_problem("", as_buf_str(&said), &problem))
		as_buf_addf(out, ": %s", as_buf_str(&problem));
	as_buf_free(&said);
	as_buf_free(&problem);
}

static bool check(struct lib_work *w)
{
	static const enum as_fsck_mode modes[] = {
		[AS_STEP_QUICK] = AS_FSCK_REPLAY,
		[AS_STEP_DEFAULT] = AS_FSCK_DEFAULT,
		[AS_STEP_FULL] = AS_FSCK_FULL,
	};
	struct as_mount_args args = mount_args(w);
	uint64_t since = w->lib->log->total_bytes;
	int rc = w->lib->ops->fsck(&args, modes[w->step]);

	if (rc < 0)
		return ended_errno(w, AS_REFUSED, as_step_name(w->step), rc);
	if (rc & ~AS_FSCK_REPAIRED)
		return ended(w, AS_REFUSED, as_step_name(w->step),
			     rc & AS_FSCK_OPERATIONAL ? "could not do its work"
						      : "left errors uncorrected");
	w->out->repaired = rc & AS_FSCK_REPAIRED;
	if (w->out->repaired) {
		as_buf_adds(&w->out->why, "finds something to repair");
		add_problem(w, since, &w->out->why);
	}
	note_recovered(w);
	return true;
}

/* ---- The mount ------------------------------------------------------------------------------- */

static bool mount_and_read(struct lib_work *w)
{
	struct as_buf why = { 0 };
	int rc = as_vfs_lib_mount(w->vfs, "");
	bool read;

	if (rc)
		return ended_errno(w, AS_REFUSED, "mount", rc);
	note_recovered(w);
	if (!sound(w, "mount"))
		return false;
	read = !as_tree_capture(as_vfs_tree(w->vfs), w->vfs, &w->out->tree, &why);
	if (!read)
		ended(w, AS_UNREADABLE, "reading the tree", as_buf_str(&why));
	as_buf_free(&why);
	return read;
}

/* Errors of a file system that is full, or of a path at its limit. */
static bool may_refuse(int err)
{
	return err == ENOSPC || err == EDQUOT || err == ENAMETOOLONG || err == EEXIST ||
	       err == AS_ERR_UNSUPPORTED || err == AS_ERR_LIMIT || err == EROFS;
}

static bool probe_directory(struct lib_work *w, const char *path)
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

static bool probe_all(struct lib_work *w)
{
	struct as_buf path = { 0 };
	bool fine = true;

	for (uint32_t i = 0; i < as_tree_len(w->out->tree) && fine; i++) {
		if (!S_ISDIR(as_tree_at(w->out->tree, i)->mode))
			continue;
		as_buf_clear(&path);
		as_tree_path(w->out->tree, i, &path);
		if (path.len == 1)
			as_buf_clear(&path);
		as_buf_adds(&path, "/" PROBE_NAME);
		if (path.len < AS_VFS_PATH_MAX)
			fine = probe_directory(w, as_buf_str(&path));
	}
	as_buf_free(&path);
	return fine;
}

/* Mounts, reads the tree, unmounts; in between, where it is a probe, tries to write. */
static void go_mount(struct lib_work *w)
{
	const struct lib *lib = w->lib;
	bool fine;
	int rc;

	w->vfs = as_vfs_lib_new(&(struct as_lib_args){
		.ops = lib->ops,
		.host = w->host,
		.bd = w->bd,
		.opts = as_target_opts(lib->target),
		.name_max = lib->limits.name_max ? lib->limits.name_max : 255,
		.size_max_bytes = lib->limits.file_bytes,
	});
	fine = mount_and_read(w) && (w->step != AS_STEP_PROBE || probe_all(w));
	rc = fine ? as_vfs_lib_unmount(w->vfs) : 0;
	if (rc)
		(void)ended_errno(w, AS_COMPLAINED, "unmount", rc);
	else if (fine)
		(void)sound(w, "unmount");
	as_vfs_lib_abandon(w->vfs);
	as_vfs_free(w->vfs);
	w->vfs = NULL;
}

/* The full checker must find nothing. */
static bool stays_sound(struct lib_work *w)
{
	struct as_mount_args args = mount_args(w);
	uint64_t since = w->lib->log->total_bytes;
	int rc = w->lib->ops->caps & AS_CAP_FSCK ? w->lib->ops->fsck(&args, AS_FSCK_FULL) : 0;
	const char *doing = "the full check after recovery and unmount";

	as_host_drop(w->host);
	if (rc < 0)
		return ended_errno(w, AS_COMPLAINED, doing, rc);
	if (!rc)
		return true;
	if (w->out->end == AS_RECOVERED) {
		(void)ended(w, AS_COMPLAINED, doing, "finds something to repair");
		add_problem(w, since, &w->out->why);
	}
	return false;
}

static void go_probe(struct lib_work *w)
{
	if (!stays_sound(w))
		return;
	go_mount(w);
	if (w->out->end == AS_RECOVERED)
		(void)stays_sound(w);
	else
		w->out->end = AS_COMPLAINED;
	as_tree_put(w->out->tree);
	w->out->tree = NULL;
}

/* ---- The driver ------------------------------------------------------------------------------ */

static int lib_run(struct as_recoverer *r, enum as_step step, struct as_disk *disk, bool want_log,
		   struct as_stepped *out, struct as_err *err)
{
	struct lib *lib = (struct lib *)r;
	struct lib_work w = { .lib = lib, .step = step, .out = out };
	struct as_faulty *faulty;

	(void)err;
	w.chooser = as_chooser_seeded(lib->seed);
	w.host = as_host_new(as_chooser_choice(w.chooser), lib->log);
	out->disk = as_disk_snapshot(disk);
	w.bd = as_disk_bd(out->disk);
	if (want_log) {
		out->log = as_reclog_new(w.bd, AS_RECLOG_READS, 0);
		w.bd = as_reclog_bd(out->log);
	}
	faulty = as_step_faulty(r, w.bd);
	if (faulty)
		w.bd = as_faulty_bd(faulty);
	if (as_step_is_checker(step))
		(void)check(&w);
	else if (step == AS_STEP_MOUNT)
		go_mount(&w);
	else
		go_probe(&w);
	as_step_faulty_end(r, faulty);
	as_host_free(w.host);
	as_chooser_free(w.chooser);
	return 0;
}

static void lib_free(struct as_recoverer *r)
{
	free(r);
}

static const struct as_step_driver lib_driver = {
	.name = "library",
	.run = lib_run,
	.free = lib_free,
	.verify_every = VERIFY_EVERY,
	.probe_checks = true,
	.in_process = true,
	.peace_words = "the full checker ",
	.probe_words = "",
};

struct as_recoverer *as_recoverer_lib(const struct as_target *target, uint64_t seed,
				      struct as_host_log *log,
				      const struct as_recover_options *options)
{
	struct lib *lib = as_xcalloc(1, sizeof(*lib));
	bool checks;

	lib->target = target;
	lib->ops = as_target_library(target);
	lib->limits = as_target_limits(target);
	lib->seed = seed;
	lib->log = log;
	checks = lib->ops->caps & AS_CAP_FSCK;
	as_recoverer_init(&lib->base, &lib_driver, options);
	lib->base.ways = checks ? AS_WAYS_ALL : 1u << AS_WAY_MOUNT;
	lib->base.strictest = checks ? AS_STEP_FULL : AS_STEPS;
	lib->base.mounts_unchecked = true;
	lib->base.ways_agree = true;
	return &lib->base;
}
