/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record: see record.h. */
#include "crash/record.h"

#include "base/array.h"
#include "legal/policy.h"
#include "model/model.h"
#include "run/instance.h"
#include "target/medium.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

/* Then the record ends, but the run goes on. */
#define RECORD_MAX_BYTES ((uint64_t)256 << 20)

struct rec {
	const struct as_record_args *args;
	struct as_recording *out;
	struct as_instance *instance;
	struct as_model *model;
	struct as_verdict verdict;
	struct as_buf text;
	size_t answers_cap, upto_cap;
	int64_t op; /* in flight; -1: the mount */
};

static int set_up(struct rec *r, struct as_err *err)
{
	const struct as_record_args *args = r->args;
	struct as_recording *out = r->out;
	struct as_policy policy = as_policy_of(args->target);
	struct as_instance_args how = { .target = args->target,
					.log = args->log,
					.seed = args->seed,
					.name_max = args->fresh.traits->name_max };

	out->medium = how.disk = as_medium_copy(args->fresh.disk);
	out->start = as_disk_snapshot(as_medium_disk(out->medium));
	as_medium_record(out->medium, RECORD_MAX_BYTES);
	out->log = as_medium_log(out->medium);
	out->history = as_history_new(args->fresh.model, &policy);
	r->model = as_model_copy(args->fresh.model);
	return as_instance_open(&how, &r->instance, err);
}

/* ---- Operations ------------------------------------------------------------------------------ */

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

	AS_ARRAY_ROOM(out->answers, n, r->answers_cap);
	AS_ARRAY_ROOM(out->upto, n + 1, r->upto_cap);
	as_print_op(op, &r->text);
	as_outcome_print(got, &r->text);
	digest = as_hash(as_buf_str(&r->text), r->text.len);
	out->upto[n + 1] = as_digest_add(as_digest_bind(out->upto[n], 1), digest);
	out->answers[n] = *got;
	out->answers[n].data = NULL;
	out->answers[n].payload = AS_PAYLOAD_NONE;
}

/* After an fsync: what it has made stable. */
static void look(struct rec *r, const struct as_op *op, const struct as_outcome *answer)
{
	struct as_op stat = as_op_make(AS_OP_FSTAT);
	struct as_outcome got;

	if (op->code != AS_OP_FSYNC || answer->ret < 0)
		return;
	stat.fd = op->fd;
	as_instance_do(r->instance, (uint32_t)r->op, &stat, &got);
	if (got.ret < 0)
		return;
	as_history_saw(r->out->history, &got.st);
	as_buf_addf(&r->text, " %lld %lld %lld %llu", (long long)got.st.atime_ns,
		    (long long)got.st.mtime_ns, (long long)got.st.ctime_ns,
		    (unsigned long long)got.st.blocks);
}

/* False: nothing is done after it. */
static bool run_op(struct rec *r, size_t i)
{
	const struct as_op *op = &r->out->seq->ops[i];
	enum as_finding_kind kind;
	struct as_outcome got;
	const char *why;

	r->op = (int64_t)i;
	r->args->step(r->args->ctx, r->op);
	as_instance_do(r->instance, (uint32_t)i, op, &got);
	if (got.ret >= 0 && as_op_table[op->code].persists == AS_PERSISTS_ALL)
		as_instance_flush(r->instance);
	why = as_instance_trouble(r->instance, &kind);
	if (why)
		return went_wrong(r, kind, why);
	if (!as_model_judge(r->model, op, &got, &r->verdict))
		return went_wrong(r, r->verdict.kind, as_buf_str(&r->verdict.why));
	if (!as_history_add(r->out->history, op, &got))
		return false;
	as_buf_clear(&r->text);
	look(r, op, &got);
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
	as_instance_close(r->instance);
	as_model_free(r->model);
	as_verdict_free(&r->verdict);
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
		as_instance_set_op(r.instance, AS_RECLOG_NO_OP);
		mounted = as_instance_mount(r.instance);
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
