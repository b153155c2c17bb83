/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record: see record.h. Libraries and types of the kernel differ in how they are mounted. */
#include "crash/record.h"

#include "base/choice.h"
#include "legal/policy.h"
#include "model/model.h"
#include "target/medium.h"
#include "target/mount.h"
#include "vfs/lib_new.h"
#include "vfs/sys_new.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

/* Beyond it the record ends, the run does not. */
#define RECORD_MAX_BYTES ((uint64_t)256 << 20)

struct rec {
	const struct as_record_args *args;
	struct as_recording *out;
	const struct as_target_ops *ops; /* of a library; NULL: a type of the kernel */
	struct as_chooser *chooser;
	struct as_host_mem *host;
	struct as_mount *mount; /* of a type of the kernel */
	struct as_vfs *vfs;
	struct as_model *model;
	struct as_verdict verdict;
	struct as_buf text;
	size_t cap;
	int64_t op; /* in flight; -1: the mount */
};

/* ---- Setting up ------------------------------------------------------------------------------ */

static void set_up_library(struct rec *r)
{
	const struct as_record_args *args = r->args;

	r->vfs = as_vfs_lib_new(&(struct as_lib_args){
		.ops = r->ops,
		.host = r->host,
		.bd = as_medium_bd(r->out->medium),
		.opts = as_target_opts(args->target),
		.name_max = args->fresh.traits->name_max,
		.size_max_bytes = as_target_limits(args->target).file_bytes,
	});
}

static int set_up_kernel(struct rec *r, struct as_err *err)
{
	int rc = as_mount_new(as_target_fstype(r->args->target), r->out->medium, &r->mount, err);

	return rc ? rc
		  : as_vfs_sys_mounted_new(r->mount, as_target_opts(r->args->target), &r->vfs, err);
}

static int set_up(struct rec *r, struct as_err *err)
{
	const struct as_record_args *args = r->args;
	struct as_recording *out = r->out;
	struct as_policy policy = as_policy_of(args->target);
	int rc = 0;

	r->ops = as_target_library(args->target);
	r->chooser = as_chooser_seeded(args->seed);
	r->host = as_host_new(as_chooser_choice(r->chooser), args->log);
	out->medium = as_medium_copy(args->fresh.disk);
	/* The medium's own; only its type is hidden. */
	out->start = as_disk_snapshot((struct as_disk *)as_medium_disk(out->medium));
	as_medium_record(out->medium, RECORD_MAX_BYTES);
	out->log = as_medium_log(out->medium);
	out->history = as_history_new(args->fresh.model, &policy);
	r->model = as_model_copy(args->fresh.model);
	if (r->ops)
		set_up_library(r);
	else
		rc = set_up_kernel(r, err);
	return rc;
}

static void set_op(struct rec *r, uint32_t op)
{
	if (r->mount)
		as_mount_set_op(r->mount, op);
	else
		as_reclog_set_op(as_medium_log(r->out->medium), op);
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* See AS_CRASH_NO_FLUSH. */
static void flush_for_it(struct rec *r)
{
	const struct as_fstype *type = as_target_fstype(r->args->target);

	if (r->mount && type && (type->crash & AS_CRASH_NO_FLUSH))
		as_mount_flush(r->mount);
}

static bool went_wrong(struct rec *r, enum as_finding_kind kind, const char *why)
{
	if (r->out->wrong)
		return false;
	r->out->wrong = true;
	r->out->wrong_op = r->op;
	r->out->kind = kind;
	as_buf_adds(&r->out->why, why);
	return false;
}

static void keep_answer(struct rec *r, const struct as_op *op, const struct as_outcome *got)
{
	struct as_recording *out = r->out;
	size_t n = out->n_ops++;
	struct as_digest digest;

	if (out->n_ops + 1 > r->cap) {
		r->cap = (out->n_ops + 1) * 2;
		out->upto = as_xrealloc(out->upto, r->cap * sizeof(*out->upto));
		out->answers = as_xrealloc(out->answers, r->cap * sizeof(*out->answers));
	}
	as_buf_clear(&r->text);
	as_print_op(op, &r->text);
	as_outcome_print(got, &r->text);
	digest = as_hash(as_buf_str(&r->text), r->text.len);
	out->upto[n + 1] = as_digest_add(as_digest_bind(out->upto[n], 1), digest);
	out->answers[n] = *got;
	out->answers[n].data = NULL;
	out->answers[n].payload = AS_PAYLOAD_NONE;
}

/* False: nothing is done behind it. */
static bool run_op(struct rec *r, size_t i)
{
	const struct as_op *op = &r->out->seq->ops[i];
	enum as_finding_kind kind;
	struct as_outcome got;
	const char *why;

	r->op = (int64_t)i;
	r->args->step(r->args->ctx, r->op);
	set_op(r, (uint32_t)i);
	as_vfs_exec(r->vfs, op, &got);
	if (got.ret >= 0 && as_op_table[op->code].persists == AS_PERSISTS_ALL)
		flush_for_it(r);
	why = r->ops ? as_vfs_lib_trouble(r->vfs, &kind) : NULL;
	if (why)
		return went_wrong(r, kind, why);
	if (!as_model_judge(r->model, op, &got, &r->verdict))
		return went_wrong(r, r->verdict.kind, as_buf_str(&r->verdict.why));
	if (!as_history_add(r->out->history, op, &got))
		return false;
	keep_answer(r, op, &got);
	return true;
}

static int add_close(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct as_op close = as_op_make(AS_OP_CLOSE);

	(void)ino;
	(void)flags;
	close.fd = slot;
	as_seq_add(ctx, &close);
	return 0;
}

static void run_all(struct rec *r)
{
	struct as_recording *out = r->out;
	struct as_op umount = as_op_make(AS_OP_UMOUNT);
	bool going = true;

	for (size_t i = 0; i < out->seq->n && going; i++)
		going = run_op(r, i);
	if (!going || !as_model_mounted(r->model))
		return;
	(void)as_model_each_open(r->model, add_close, out->seq);
	as_seq_add(out->seq, &umount);
	for (size_t i = out->n_ops; i < out->seq->n && going; i++)
		going = run_op(r, i);
}

static void tear_down(struct rec *r)
{
	if (r->ops && r->vfs)
		as_vfs_lib_abandon(r->vfs);
	as_vfs_free(r->vfs);
	as_mount_free(r->mount);
	as_model_free(r->model);
	as_verdict_free(&r->verdict);
	as_host_free(r->host);
	as_chooser_free(r->chooser);
	as_buf_free(&r->text);
}

int as_record(const struct as_record_args *args, struct as_recording *out, struct as_err *err)
{
	struct rec r = { .args = args, .out = out, .op = -1 };
	int rc, mounted;

	*out = (struct as_recording){ .seq = as_seq_copy(args->seq) };
	out->upto = as_xcalloc(1, sizeof(*out->upto));
	rc = set_up(&r, err);
	if (!rc) {
		args->step(args->ctx, -1);
		set_op(&r, AS_RECLOG_NO_OP);
		mounted = r.ops ? as_vfs_lib_mount(r.vfs, "") : as_vfs_sys_mount(r.vfs, "");
		if (mounted)
			went_wrong(&r, AS_FIND_MOUNT, as_errno_name(-mounted));
		else
			run_all(&r);
		out->truncated = as_reclog_overflowed(out->log);
	}
	tear_down(&r);
	return rc;
}

void as_recording_free(struct as_recording *rec)
{
	as_history_free(rec->history);
	as_disk_free(rec->start);
	as_medium_free(rec->medium);
	as_seq_free(rec->seq);
	free(rec->upto);
	free(rec->answers);
	as_buf_free(&rec->why);
	*rec = (struct as_recording){ 0 };
}
