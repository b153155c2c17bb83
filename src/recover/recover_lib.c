/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recover_lib: recovery by a linked library, in this process: its checker, its mount, its own
 * unmount. A library that dies takes the process with it (recover.h, rule 4).
 *
 * Method. Recovery goes in steps, each of which takes a disk to another: the checker, where the way
 * has one; mount, read the tree, unmount; and what comes behind: the full checker, a mount that
 * makes and deletes a file in every directory, and the full checker once more. Each is recorded and
 * remembered by what it read (memo.h). The first ones read what a crash has left and are new with
 * every other disk; the last sees a disk that is in order, and is mostly known. Each step has a
 * host of its own, so that clock, choices and memory begin the same way every time: what is
 * computed follows from the disk alone.
 */
#include "recover/recover.h"

#include "base/choice.h"
#include "base/event.h"
#include "disk/fault.h"
#include "snapshot/tree.h"
#include "target/host.h"
#include "target/target.h"
#include "vfs/lib_new.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROBE_NAME "assay-probe"
#define VERIFY_EVERY 8u /* of the answers from memory, with AS_MEMO_VERIFY */

enum recover_lib_kind { KIND_QUICK, KIND_DEFAULT, KIND_FULL, KIND_READ, KIND_AFTER };

struct lib {
	struct as_recoverer base;
	const struct as_target *target;
	const struct as_target_ops *ops;
	struct as_limits limits;
	uint64_t seed, hits;
	enum as_memo_mode mode;
	struct as_memo *memo;
	struct as_host_log *log;
	uint64_t fail_read; /* 0: none, or it has failed */
	bool failing, failed;
};

/* One step: what it stands on, and how it ended. */
struct recover_lib_step {
	struct lib *lib;
	enum recover_lib_kind kind;
	bool want_log;
	struct as_chooser *chooser;
	struct as_host_mem *host;
	struct as_disk *disk;
	struct as_reclog *reclog; /* NULL: nobody asks */
	struct as_faulty *faulty; /* above it; NULL: nothing fails */
	struct as_vfs *vfs;

	enum as_recovery_end end;
	struct as_buf why;
	struct as_tree *tree;
	bool repaired, memoised;
	size_t mark; /* entries of the record that are recovery itself */
};

static struct as_bd *bd_of(struct recover_lib_step *s)
{
	if (s->faulty)
		return as_faulty_bd(s->faulty);
	return s->reclog ? as_reclog_bd(s->reclog) : as_disk_bd(s->disk);
}

/* The first reason is kept. */
static bool ended(struct recover_lib_step *s, enum as_recovery_end end, const char *doing,
		  const char *why)
{
	if (s->end == AS_RECOVERED) {
		s->end = end;
		as_buf_addf(&s->why, "%s: %s", doing, why);
	}
	return false;
}

static bool ended_errno(struct recover_lib_step *s, enum as_recovery_end end, const char *doing,
			int rc)
{
	char why[64];

	snprintf(why, sizeof(why), "answered %s", as_errno_name(-rc));
	return ended(s, end, doing, why);
}

/* Memory it kept or spoilt. */
static bool sound(struct recover_lib_step *s, const char *doing)
{
	enum as_finding_kind kind;
	const char *why = as_vfs_lib_trouble(s->vfs, &kind);

	return !why || ended(s, AS_COMPLAINED, doing, why);
}

static struct as_mount_args mount_args(struct recover_lib_step *s)
{
	return (struct as_mount_args){ .host = as_host_seam(s->host),
				       .bd = bd_of(s),
				       .opts = as_target_opts(s->lib->target) };
}

/* ---- The checker ----------------------------------------------------------------------------- */

static const char *const kind_names[] = {
	[KIND_QUICK] = "quick fsck", [KIND_DEFAULT] = "fsck", [KIND_FULL] = "full fsck",
	[KIND_READ] = "mount",	     [KIND_AFTER] = "probe",
};

static bool check(struct recover_lib_step *s)
{
	static const enum as_fsck_mode modes[] = {
		[KIND_QUICK] = AS_FSCK_REPLAY,
		[KIND_DEFAULT] = AS_FSCK_DEFAULT,
		[KIND_FULL] = AS_FSCK_FULL,
	};
	struct as_mount_args args = mount_args(s);
	int rc = s->lib->ops->fsck(&args, modes[s->kind]);

	if (rc < 0)
		return ended_errno(s, AS_REFUSED, kind_names[s->kind], rc);
	if (rc & ~AS_FSCK_REPAIRED)
		return ended(s, AS_REFUSED, kind_names[s->kind],
			     rc & AS_FSCK_OPERATIONAL ? "could not do its work"
						      : "left errors uncorrected");
	s->repaired = rc & AS_FSCK_REPAIRED;
	if (s->reclog)
		s->mark = as_reclog_len(s->reclog);
	return true;
}

/* ---- The mount ------------------------------------------------------------------------------- */

static bool mount_and_read(struct recover_lib_step *s)
{
	struct as_buf why = { 0 };
	int rc = as_vfs_lib_mount(s->vfs, "");
	bool read;

	if (rc)
		return ended_errno(s, AS_REFUSED, "mount", rc);
	if (s->reclog)
		s->mark = as_reclog_len(s->reclog);
	if (!sound(s, "mount"))
		return false;
	read = !as_tree_capture(as_vfs_tree(s->vfs), s->vfs, &s->tree, &why);
	if (!read)
		ended(s, AS_UNREADABLE, "reading the tree", as_buf_str(&why));
	as_buf_free(&why);
	return read;
}

/* A file system that is full, or whose paths are at their limit, may say so. */
static bool may_refuse(int err)
{
	return err == ENOSPC || err == EDQUOT || err == ENAMETOOLONG || err == EEXIST ||
	       err == AS_ERR_UNSUPPORTED || err == AS_ERR_LIMIT || err == EROFS;
}

static bool probe_directory(struct recover_lib_step *s, const char *path)
{
	struct as_op create = as_op_make(AS_OP_CREATE), unlink = as_op_make(AS_OP_UNLINK);
	struct as_outcome got;

	create.path = unlink.path = path;
	create.mode = 0644;
	as_vfs_exec(s->vfs, &create, &got);
	if (got.ret < 0)
		return may_refuse(got.err) ||
		       ended_errno(s, AS_COMPLAINED, "creating a file in a recovered directory",
				   -got.err);
	as_vfs_exec(s->vfs, &unlink, &got);
	if (got.ret < 0 && !may_refuse(got.err))
		return ended_errno(s, AS_COMPLAINED, "deleting a file in a recovered directory",
				   -got.err);
	return true;
}

static bool probe_all(struct recover_lib_step *s)
{
	struct as_buf path = { 0 };
	bool fine = true;

	for (uint32_t i = 0; i < as_tree_len(s->tree) && fine; i++) {
		if (!S_ISDIR(as_tree_at(s->tree, i)->mode))
			continue;
		as_buf_clear(&path);
		as_tree_path(s->tree, i, &path);
		if (path.len == 1)
			as_buf_clear(&path);
		as_buf_adds(&path, "/" PROBE_NAME);
		if (path.len < AS_VFS_PATH_MAX)
			fine = probe_directory(s, as_buf_str(&path));
	}
	as_buf_free(&path);
	return fine;
}

/* Mounts, reads the tree, unmounts; in between, where it is a probe, tries to write. */
static void go_mount(struct recover_lib_step *s)
{
	const struct lib *lib = s->lib;
	bool fine;
	int rc;

	s->vfs = as_vfs_lib_new(&(struct as_lib_args){
		.ops = lib->ops,
		.host = s->host,
		.bd = bd_of(s),
		.opts = as_target_opts(lib->target),
		.name_max = lib->limits.name_max ? lib->limits.name_max : 255,
		.size_max_bytes = lib->limits.file_bytes,
	});
	fine = mount_and_read(s) && (s->kind != KIND_AFTER || probe_all(s));
	rc = fine ? as_vfs_lib_unmount(s->vfs) : 0;
	if (rc)
		(void)ended_errno(s, AS_COMPLAINED, "unmount", rc);
	else if (fine)
		(void)sound(s, "unmount");
	as_vfs_lib_abandon(s->vfs);
	as_vfs_free(s->vfs);
	s->vfs = NULL;
}

/* The full checker has nothing to find. */
static bool stays_sound(struct recover_lib_step *s)
{
	struct as_mount_args args = mount_args(s);
	int rc = s->lib->ops->caps & AS_CAP_FSCK ? s->lib->ops->fsck(&args, AS_FSCK_FULL) : 0;
	const char *doing = "the full check after recovery and unmount";

	as_host_drop(s->host);
	if (rc < 0)
		return ended_errno(s, AS_COMPLAINED, doing, rc);
	return !rc || ended(s, AS_COMPLAINED, doing, "finds something to repair");
}

static void go_after(struct recover_lib_step *s)
{
	if (!stays_sound(s))
		return;
	go_mount(s);
	if (s->end == AS_RECOVERED)
		(void)stays_sound(s);
	else
		s->end = AS_COMPLAINED;
	as_tree_put(s->tree);
	s->tree = NULL;
}

/* ---- Steps, remembered ----------------------------------------------------------------------- */

static void begin_faults(struct recover_lib_step *s)
{
	struct as_fault_rule rule = { .kind = AS_CALL_READ,
				      .actions = AS_FAULT_ERROR,
				      .first = s->lib->fail_read,
				      .last = s->lib->fail_read,
				      .errnum = EIO };

	if (s->lib->fail_read)
		s->faulty = as_faulty_new(bd_of(s), &rule, 1);
}

static void end_faults(struct recover_lib_step *s)
{
	struct lib *lib = s->lib;
	uint64_t reads;

	if (!s->faulty)
		return;
	reads = as_faulty_calls(s->faulty, AS_CALL_READ);
	lib->failed = reads >= lib->fail_read;
	lib->fail_read = lib->failed ? 0 : lib->fail_read - reads;
	as_faulty_free(s->faulty);
	s->faulty = NULL;
}

static void step_run(struct recover_lib_step *s, struct as_disk *disk, bool record)
{
	s->chooser = as_chooser_seeded(s->lib->seed);
	s->host = as_host_new(as_chooser_choice(s->chooser), s->lib->log);
	s->disk = as_disk_snapshot(disk);
	if (record)
		s->reclog = as_reclog_new(as_disk_bd(s->disk), AS_RECLOG_READS, 0);
	begin_faults(s);
	if (s->kind == KIND_READ)
		go_mount(s);
	else if (s->kind == KIND_AFTER)
		go_after(s);
	else
		(void)check(s);
	end_faults(s);
	as_host_free(s->host);
	as_chooser_free(s->chooser);
}

static void step_free(struct recover_lib_step *s)
{
	as_disk_free(s->disk);
	as_reclog_free(s->reclog);
	as_tree_put(s->tree);
	as_buf_free(&s->why);
}

/* Its end is that of an earlier one; what that did to its disk is done only if it is wanted. */
static void step_recall(struct recover_lib_step *s, struct as_disk *disk,
			const struct as_memo_answer *answer, bool want_disk)
{
	s->end = (enum as_recovery_end)answer->end;
	s->repaired = answer->flag;
	s->mark = answer->mark;
	s->memoised = true;
	as_buf_adds(&s->why, answer->why);
	s->tree = answer->tree ? as_tree_get(answer->tree) : NULL;
	if (!want_disk && !s->want_log)
		return;
	s->disk = as_disk_snapshot(disk);
	if (s->want_log)
		s->reclog = as_reclog_new(as_disk_bd(s->disk), AS_RECLOG_READS, 0);
	as_memo_redo(s->lib->memo, bd_of(s), s->want_log);
}

static bool is_same_end(const struct recover_lib_step *a, const struct recover_lib_step *b)
{
	if (a->end != b->end || a->repaired != b->repaired || !a->tree != !b->tree ||
	    strcmp(as_buf_str(&a->why), as_buf_str(&b->why)))
		return false;
	return !a->tree || as_digest_eq(as_tree_digest(a->tree), as_tree_digest(b->tree));
}

/* An answer from memory that is not what recovery says is our own mistake. */
static int verify(const struct recover_lib_step *s, struct as_disk *disk, struct as_err *err)
{
	struct recover_lib_step again = { .lib = s->lib, .kind = s->kind };
	int rc = 0;

	step_run(&again, disk, false);
	if (!is_same_end(s, &again))
		rc = as_fail(err, AS_EIO,
			     "memo: the answer to %s was kept as '%s: %s', but is '%s: %s'",
			     kind_names[s->kind], as_recovery_end_name(s->end), as_buf_str(&s->why),
			     as_recovery_end_name(again.end), as_buf_str(&again.why));
	step_free(&again);
	return rc;
}

static int step_go(struct recover_lib_step *s, struct as_disk *disk, bool want_disk,
		   struct as_err *err)
{
	struct lib *lib = s->lib;
	uint32_t kind = (uint32_t)s->kind;
	bool remembers = lib->memo && !lib->failing;
	const struct as_memo_answer *known = remembers ? as_memo_find(lib->memo, kind, disk) : NULL;
	struct as_memo_answer answer;

	if (known) {
		step_recall(s, disk, known, want_disk);
		if (lib->mode == AS_MEMO_VERIFY && !(lib->hits++ % VERIFY_EVERY))
			return verify(s, disk, err);
		return 0;
	}
	step_run(s, disk, remembers || s->want_log);
	if (remembers) {
		answer = (struct as_memo_answer){ .end = (int)s->end,
						  .flag = s->repaired,
						  .mark = s->mark,
						  .why = as_buf_str(&s->why),
						  .tree = s->tree };
		(void)as_memo_add(lib->memo, kind, disk, s->reclog, NULL, &answer);
	}
	return 0;
}

/* ---- The seam -------------------------------------------------------------------------------- */

/* Does what the entries did, reads included, so that a record of it is one of them. */
static void redo(const struct as_reclog *log, size_t end, struct as_bd *bd)
{
	struct as_buf buf = { 0 };
	int rc = 0;

	for (size_t i = 0; i < end && !rc; i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);

		if (e->kind == AS_CALL_READ && !e->ret)
			rc = as_bd_read(bd, e->off, as_buf_reserve(&buf, e->len), e->len);
		else
			rc = as_log_entry_apply(e, bd);
	}
	as_assert(!rc);
	as_buf_free(&buf);
}

/* The checker's record, then the mount's as far as it is recovery. */
static void join_logs(struct recover_lib_step *checker, struct recover_lib_step *mount,
		      struct as_disk *crashed, struct as_recovered *out)
{
	out->disk = as_disk_snapshot(crashed);
	out->log = as_reclog_new(as_disk_bd(out->disk), AS_RECLOG_READS, 0);
	if (checker->reclog)
		redo(checker->reclog, as_reclog_len(checker->reclog), as_reclog_bd(out->log));
	out->checker_end = as_reclog_len(out->log);
	redo(mount->reclog, mount->mark, as_reclog_bd(out->log));
}

/* What comes behind recovery and unmount. */
static int afterwards(struct lib *lib, struct as_disk *disk, struct as_recovered *out,
		      struct as_err *err)
{
	struct recover_lib_step after = { .lib = lib, .kind = KIND_AFTER };
	int rc = step_go(&after, disk, false, err);

	out->memoised &= after.memoised;
	out->end = after.end;
	as_buf_adds(&out->why, as_buf_str(&after.why));
	step_free(&after);
	return rc;
}

static int lib_recover(struct as_recoverer *recoverer, enum as_way way, struct as_disk *crashed,
		       unsigned flags, struct as_recovered *out, struct as_err *err)
{
	static const enum recover_lib_kind kinds[AS_WAYS] = {
		[AS_WAY_QUICK] = KIND_QUICK,
		[AS_WAY_DEFAULT] = KIND_DEFAULT,
		[AS_WAY_FULL] = KIND_FULL,
	};
	struct lib *lib = (struct lib *)recoverer;
	bool want_log = flags & AS_RECOVER_LOG, checked = way != AS_WAY_MOUNT;
	struct recover_lib_step checker = { .lib = lib, .kind = kinds[way], .want_log = want_log };
	struct recover_lib_step read = { .lib = lib, .kind = KIND_READ, .want_log = want_log },
				*last = &read;
	int rc = checked ? step_go(&checker, crashed, true, err) : 0;

	if (checked && checker.end != AS_RECOVERED)
		last = &checker;
	else if (!rc)
		rc = step_go(&read, checked ? checker.disk : crashed, true, err);
	out->end = last->end;
	out->why = last->why;
	last->why = (struct as_buf){ 0 };
	out->tree = last->tree;
	last->tree = NULL;
	out->repaired = checker.repaired;
	out->memoised = last->memoised && (!checked || checker.memoised);
	if (!rc && want_log && last == &read)
		join_logs(&checker, &read, crashed, out);
	if (!rc && flags & AS_RECOVER_PROBE && out->end == AS_RECOVERED)
		rc = afterwards(lib, read.disk, out, err);
	step_free(&checker);
	step_free(&read);
	return rc;
}

/* The full checker must find nothing at all. */
static bool lib_at_peace(struct as_recoverer *recoverer, struct as_disk *disk, struct as_buf *why)
{
	struct recover_lib_step s = { .lib = (struct lib *)recoverer, .kind = KIND_FULL };
	bool at_peace;

	if (!(s.lib->ops->caps & AS_CAP_FSCK))
		return true;
	at_peace = step_go(&s, disk, false, NULL) || (s.end == AS_RECOVERED && !s.repaired);
	if (!at_peace)
		as_buf_addf(why, "the full checker %s",
			    s.why.len ? as_buf_str(&s.why) : "finds something to repair");
	step_free(&s);
	return at_peace;
}

static bool lib_fail_read(struct as_recoverer *recoverer, uint64_t nth)
{
	struct lib *lib = (struct lib *)recoverer;
	bool failed = lib->failed;

	lib->fail_read = nth;
	lib->failing = nth;
	lib->failed = false;
	return failed;
}

static void lib_free(struct as_recoverer *recoverer)
{
	as_memo_free(((struct lib *)recoverer)->memo);
	free(recoverer);
}

static const struct as_recoverer_ops lib_ops = {
	.name = "library",
	.recover = lib_recover,
	.at_peace = lib_at_peace,
	.fail_read = lib_fail_read,
	.free = lib_free,
};

struct as_recoverer *as_recoverer_lib(const struct as_target *target, uint64_t seed,
				      enum as_memo_mode memo, struct as_host_log *log)
{
	struct lib *lib = as_xcalloc(1, sizeof(*lib));

	lib->base.ops = &lib_ops;
	lib->target = target;
	lib->ops = as_target_library(target);
	lib->limits = as_target_limits(target);
	lib->seed = seed;
	lib->mode = memo;
	lib->memo = memo == AS_MEMO_OFF ? NULL : as_memo_new(0);
	lib->log = log;
	lib->base.mount_after_checker = true;
	lib->base.ways = lib->ops->caps & AS_CAP_FSCK ? AS_WAYS_ALL : 1u << AS_WAY_MOUNT;
	return &lib->base;
}
