/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: see record.h.
 *
 * Method with faults. Reads, writes, flushes and allocations fail as the plan says, and the calls
 * that fail are not in the record: a write that failed is never on the disk, and a flush that
 * failed covers nothing. What is judged afterwards are power cuts as always: recovery must succeed,
 * and what was stable must be there. The rules:
 *   1. Until a fault has hit, nothing changes.
 *   2. An operation that the fault made fail has made nothing stable. After a power cut it may have
 *      happened or not (as_history_add_failed()). What was stable before it stays stable.
 *   3. An operation that answers success is believed, and gives its promise, even if the fault hit
 *      it: a file system may try again, but it may not hide a loss.
 *      The first that hid a failure is noted; what it lost, a power cut may show.
 *   4. Afterwards the file system may have turned itself off, if its contract says so: EIO and
 *      EROFS are no findings. Nor is a mount that refuses (AS_MEANS_FAILED_NO_MOUNT).
 *   5. A library (AS_INSTANCE_STRICT) undoes what fails. So its workload goes on and is judged, and
 *      an fsync that succeeds after one that failed promises what both were to make stable.
 *   6. Where the record ends at a fault, and why, is told by the column "crash" of
 *      trial/excuse.def: with others than libraries, at the first operation that failed or that the
 *      model cannot follow.
 *   7. With others, sync and umount promise nothing once a fault has hit: they answer 0 whatever
 *      happened. Nor does fsync of a type without a log: its inodes and directories are in blocks
 *      of the device, and if one of these could not be written back earlier, no file knows of it.
 *   8. Others may note on the disk that an error was met, and leave work to the checker when they
 *      mount such a disk (ext4 drops its orphans). So what a checker finds after a mount alone is
 *      no finding then. The tree must be right all the same, and after the checker all must be.
 *   9. A type whose mark "clean" says nothing after an error (AS_CRASH_MARK_UNSURE) is judged by
 *      the checker that looks at everything, and by no other way.
 */
#include "recording/record_priv.h"

#include "base/array.h"
#include "base/choice.h"
#include "host/medium.h"
#include "instance/instance.h"
#include "legal/policy.h"
#include "model/compare.h"
#include "model/model.h"
#include "mount/mount.h"
#include "snapshot/tree.h"
#include "target/facts.h"
#include "work/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Then the record ends, but the run goes on. */
#define RECORD_MAX_BYTES ((uint64_t)256 << 20)

/* One in 1, 2 or 4 of what may be written early is. */
#define EARLY_SHARES 3u

static int set_up(struct rec *r, struct as_err *err)
{
	const struct as_record_args *args = r->args;
	struct as_recording *out = r->out;
	struct as_policy policy = as_policy_of(args->target);
	struct as_instance_args how = { .target = args->target,
					.log = args->log,
					.seed = args->seed,
					.choices = args->choices,
					.still = args->still,
					.after_ns = args->after_ns,
					.plan = args->plan,
					.name_max = args->fresh.traits->name_max };
	int rc;

	out->medium = how.disk = as_medium_copy(args->fresh.disk);
	if (args->crashed)
		as_disk_restore(as_medium_disk(out->medium), args->crashed);
	out->start = as_disk_snapshot(as_medium_disk(out->medium));
	as_medium_record(out->medium, RECORD_MAX_BYTES);
	out->log = as_medium_log(out->medium);
	as_reclog_hold(as_medium_log(out->medium), args->hold);
	if (as_target_promise(args->target).crash & AS_CRASH_NO_FLUSH)
		as_reclog_uncached(as_medium_log(out->medium));
	if (args->early) {
		struct as_choice *choice;

		r->early = as_chooser_seeded(args->early);
		choice = as_chooser_choice(r->early);
		as_reclog_write_early(as_medium_log(out->medium), choice,
				      1u << as_choose(choice, EARLY_SHARES));
		as_mount_write_soon(true);
	}
	r->policy = policy;
	r->strict = as_instance_caps(args->target) & AS_INSTANCE_STRICT;
	r->logs = policy.guarantee != AS_GUARANTEE_REPAIR;
	rc = as_instance_open(&how, &r->instance, err);
	if (!rc)
		as_instance_vfs(r->instance)->recorded = true;
	return rc;
}

/* ---- Operations ------------------------------------------------------------------------------ */

bool as_record_went_wrong(struct rec *r, enum as_finding_kind kind, const char *why)
{
	/* A wrong answer says more than that a failure was hidden. */
	if (r->out->wrong && (r->out->kind != AS_FIND_SILENT || kind == AS_FIND_SILENT))
		return false;
	as_buf_clear(&r->out->why);
	r->out->wrong = true;
	r->out->wrong_op = r->op;
	r->out->kind = kind;
	as_buf_adds(&r->out->why, why);
	return false;
}

/* failed: because of a fault. */
static void keep_answer(struct rec *r, const struct as_op *op, const struct as_outcome *got,
			bool failed)
{
	struct as_recording *out = r->out;
	size_t n = out->n_ops++;
	struct as_digest digest;

	AS_ARRAY_ROOM(out->answers, n, r->answers_cap);
	AS_ARRAY_ROOM(out->upto, n + 1, r->upto_cap);
	as_print_op(op, &r->text);
	as_outcome_print(got, &r->text);
	if (failed)
		as_buf_addc(&r->text, '!');
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

	/* With faults it would be a call that meets them, or moves them to another operation. */
	if (op->code != AS_OP_FSYNC || answer->ret < 0 || r->args->plan)
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

/* ---- Faults ---- */

static bool has_hit(struct rec *r)
{
	struct as_recording *out = r->out;

	if (!out->fired && as_trial_hit(&r->trial)) {
		out->fired = true;
		out->fired_from = (size_t)(r->op + 1);
		if (r->args->fresh.traits->quirks & AS_QUIRK_FAILED_NO_MOUNT)
			out->refused_from = out->fired_from;
		out->unsure = as_target_promise(r->args->target).crash & AS_CRASH_MARK_UNSURE;
		if (!r->strict)
			out->marked_from = (size_t)(r->op + 1);
	}
	return out->fired;
}

/* Rule 2: an operation that failed, and that is explained. */
static bool excused(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got,
		    bool closed)
{
	static const struct as_outcome done = { 0 };
	struct rec *r = ctx;
	bool going = closed ? as_history_add_unsure(r->out->history, op, &done)
			    : as_history_add_failed(r->out->history, op, got);

	(void)i;
	keep_answer(r, op, got, true);
	return going;
}

/* Rules 3 and 7, for an answer that the model allows. */
static bool agreed(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got)
{
	struct rec *r = ctx;
	bool all = as_op_makes_all_stable(op);
	struct as_outcome unsure = *got;

	(void)i;
	if (!r->strict && has_hit(r) && got->ret >= 0 && (all || !r->logs)) {
		if (!as_history_add_unsure(r->out->history, op, got))
			return false;
		if (all) {
			unsure.ret = -1;
			unsure.err = EIO;
		}
		keep_answer(r, op, &unsure, true);
		return op->code != AS_OP_UMOUNT;
	}
	if (!as_history_add(r->out->history, op, got))
		return false;
	look(r, op, got);
	keep_answer(r, op, got, false);
	return true;
}

/* ---- The workload ---- */

/* Before an operation; what is written belongs to it, because what is before it is done. With
 * faults it would hide them: sync_file_range takes an error away that a later fsync should tell. */
static void write_back(struct rec *r)
{
	if (!r->early || r->args->plan)
		return;
	as_instance_set_op(r->instance, (uint32_t)r->op);
	as_vfs_write_back(as_instance_vfs(r->instance), as_chooser_choice(r->early));
}

/* What is on the disk when the power fails is stable, also if a flush failed: nothing can be lost
 * of what the recovery reads. (Of others than libraries, rule 6 ends the record before.) */
static void cut_power(struct rec *r)
{
	struct as_reclog *log = as_medium_log(r->out->medium);

	as_reclog_truncate(log, as_reclog_len(log)); /* nothing is in flight */
	as_assert(!as_bd_flush(as_reclog_bd(log)));
}

/* Whether a checker runs before the next mount (vfs/sys_mount.c): what it writes goes around the
 * recorder, in an order that nobody has seen. Rounds go on after such a power cut. */
static bool is_repaired(const struct rec *r)
{
	struct as_recovery recovery = as_target_recovery(r->args->target);

	return !recovery.impossible && !recovery.by_mount;
}

static bool before(void *ctx, uint32_t i, const struct as_op *op)
{
	struct rec *r = ctx;

	r->op = (int64_t)i;
	as_buf_clear(&r->text);
	r->args->step(r->args->ctx, r->op);
	write_back(r);
	/* What the mount would find, the model does not know, and a checker writes around the
	 * recorder. */
	if (op->code == AS_OP_CRASH && (r->trial.unsure || is_repaired(r)))
		return false;
	if (op->code == AS_OP_CRASH && r->strict)
		cut_power(r);
	return true;
}

static void answered(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got)
{
	struct rec *r = ctx;

	(void)i;
	if (got->ret >= 0 && as_op_makes_all_stable(op))
		as_instance_flush(r->instance);
	(void)has_hit(r);
}

static void wrong(void *ctx, uint32_t i, const struct as_op *op, enum as_finding_kind kind,
		  const char *why, bool noted)
{
	(void)i;
	(void)op;
	(void)noted;
	as_record_went_wrong(ctx, kind, why);
}

static const struct as_trial_ops observers = { .before = before,
					       .answered = answered,
					       .agreed = agreed,
					       .excused = excused,
					       .wrong = wrong };

static void judge_open(struct rec *r)
{
	r->trial = (struct as_trial){ .ops = &observers,
				      .ctx = r,
				      .way = AS_TRIAL_CRASH,
				      .target = r->args->target,
				      .traits = r->args->fresh.traits,
				      .instance = r->instance,
				      .plan = r->args->plan };
}

/* False: nothing is done after it. */
static bool run_op(struct rec *r, size_t i)
{
	struct as_outcome got = { 0 };
	enum as_trial_did did = as_trial_op(&r->trial, (uint32_t)i, &r->out->seq->ops[i], &got);

	if (r->args->judged)
		r->args->judged(r->args->ctx, r->op, did, &r->trial, &got);
	return as_trial_goes_on(did);
}

static int add_close(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct as_op close = as_model_closing(slot);

	(void)ino;
	(void)flags;
	as_seq_add(ctx, &close);
	return 0;
}

void as_record_add_end(struct rec *r)
{
	struct as_op umount = as_op_make(AS_OP_UMOUNT);

	(void)as_model_each_open(r->trial.model, add_close, r->out->seq);
	as_seq_add(r->out->seq, &umount);
}

static bool tree_agrees(struct rec *r)
{
	struct as_buf why = { 0 };
	bool agrees;

	if (!r->args->compare || !as_model_mounted(r->trial.model))
		return true;
	agrees = as_trial_tree_agrees(&r->trial, NULL, 0, &why);
	if (!agrees)
		as_record_went_wrong(r, AS_FIND_TREE, as_buf_str(&why));
	as_buf_free(&why);
	return agrees;
}

static int run_all(struct rec *r)
{
	struct as_recording *out = r->out;
	bool going = true;

	for (size_t i = 0; i < out->seq->n && going; i++)
		going = run_op(r, i);
	going = going && tree_agrees(r);
	if (!going || !as_model_mounted(r->trial.model) || r->args->open_end)
		return 0;
	as_record_add_end(r);
	for (size_t i = out->n_ops; i < out->seq->n && going; i++)
		going = run_op(r, i);
	return 0;
}

/* ---- The beginning ---- */

static void begin_with(struct rec *r, const struct as_model *model)
{
	r->out->history = as_history_new(model, &r->policy);
	r->trial.model = as_model_copy(model);
}

/* With what the mount made of a crashed disk. False: the workload cannot begin. */
static bool begin_with_found(struct rec *r)
{
	struct as_instance_reader reader = as_instance_reads(r->instance);
	struct as_buf why = { 0 };
	struct as_tree *tree = NULL;
	struct as_model *model = NULL;
	bool begun;

	if (as_tree_capture(reader.ops, reader.ctx, &tree, &why) ||
	    !r->args->may_begin(r->args->ctx, tree, &why)) {
		as_record_went_wrong(r, AS_FIND_RECOVERY, as_buf_str(&why));
	} else {
		model = as_tree_model(tree, r->args->fresh.traits);
		r->out->unfit = !model;
	}
	if (model) {
		begin_with(r, model);
		as_history_doubt_limits(r->out->history);
		r->out->upto[0] = as_digest_bind(as_tree_digest(tree), 19);
	}
	begun = model;
	as_model_free(model);
	as_tree_put(tree);
	as_buf_free(&why);
	return begun;
}

static bool begin(struct rec *r)
{
	if (r->args->crashed)
		return begin_with_found(r);
	begin_with(r, r->args->fresh.model);
	if (!r->args->still)
		as_model_follow_times(r->trial.model, as_target_opts(r->args->target));
	return true;
}

static void tear_down(struct rec *r)
{
	if (r->instance)
		r->out->until_ns = (uint64_t)as_instance_time_until(r->instance);
	as_instance_close(r->instance);
	as_race_delay_free(r->delay);
	as_reclog_write_early(as_medium_log(r->out->medium), NULL, 0);
	if (r->early)
		as_mount_write_soon(false);
	as_chooser_free(r->early);
	as_model_free(r->trial.model);
	as_trial_end(&r->trial);
	as_buf_free(&r->text);
}

int as_record(const struct as_record_args *args, struct as_recording *out, struct as_err *err)
{
	struct rec r = { .args = args, .out = out, .op = -1 };
	enum as_trial_did did;
	int rc, mounted;

	*out = (struct as_recording){ .seq = as_seq_copy(args->seq),
				      .marked_from = SIZE_MAX,
				      .fired_from = SIZE_MAX,
				      .refused_from = SIZE_MAX };
	out->upto = as_xcalloc(1, sizeof(*out->upto));
	rc = set_up(&r, err);
	if (!rc) {
		judge_open(&r);
		args->step(args->ctx, -1);
		as_instance_set_op(r.instance, AS_RECLOG_NO_OP);
		did = as_trial_mount(&r.trial, &mounted);
		if (mounted && !args->crashed)
			begin_with(&r, args->fresh.model);
		if (args->judged)
			args->judged(args->ctx, -1, did, &r.trial, NULL);
		if (did == AS_TRIAL_WRONG)
			as_record_went_wrong(&r, AS_FIND_MOUNT, as_errno_name(-mounted));
		else if (did == AS_TRIAL_AGREED && begin(&r))
			rc = args->race ? as_record_race(&r, err) : run_all(&r);
		(void)has_hit(&r);
		out->truncated = as_reclog_overflowed(out->log);
	}
	tear_down(&r);
	return rc;
}

void as_recording_free(struct as_recording *rec)
{
	as_history_free(rec->history);
	as_orders_free(rec->orders);
	as_disk_free(rec->start);
	as_medium_free(rec->medium);
	as_seq_free(rec->seq);
	free(rec->upto);
	free(rec->answers);
	as_buf_free(&rec->why);
	*rec = (struct as_recording){ 0 };
}
