/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start_do: the child that carries the workload of a start out. A row is tried first, to learn how
 * far its steps go; what came of that is a plain workload. A plain workload is carried out once
 * more, from the mount to the unmount, on a disk on which nothing else was done. It is the disk of
 * that run that counts, and its answers.
 */
#include "check/start_priv.h"

#include "child/child.h"
#include "disk/call.h"
#include "work/print.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool went_wrong(struct as_start_maker *m, const char *why)
{
	m->said->wrong = true;
	snprintf(m->said->why, sizeof(m->said->why), "%s", why);
	return false;
}

static bool failed(struct as_start_maker *m, const char *what)
{
	m->said->tool_rc = as_fail(&m->said->tool_err, AS_EUSE, "the start is too long: %s", what);
	return false;
}

/* The line is in the text before the operation is carried out: it may be the last. */
static bool say(struct as_start_maker *m, const struct as_op *op)
{
	struct as_start_said *said = m->said;
	struct as_buf line = { 0 };
	bool fits;

	as_print_op(op, &line);
	as_buf_addc(&line, '\n');
	fits = said->n_text + line.len < AS_START_TEXT_MAX && said->n_ops < AS_START_OPS_MAX;
	if (fits) {
		memcpy(said->text + said->n_text, as_buf_str(&line), line.len + 1);
		said->n_text += line.len;
	}
	as_buf_free(&line);
	return fits || failed(m, "it has too many operations");
}

/* ---- What is noted of an operation ----------------------------------------------------------- */

static bool before(void *ctx, uint32_t i, const struct as_op *op)
{
	struct as_start_maker *m = ctx;

	(void)i;
	if (!say(m, op))
		return false;
	m->said->alive++;
	if (m->args->alive)
		++*m->args->alive;
	return true;
}

static void answered(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got)
{
	struct as_start_maker *m = ctx;

	(void)op;
	m->said->answer[i].ret = got->ret;
	m->said->answer[i].err = got->err;
	m->said->answer[i].done = got->done;
	m->said->n_ops++;
}

static bool agreed(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got)
{
	struct as_start_maker *m = ctx;
	const struct as_allowed *allowed = &m->trial.verdict.allowed;

	(void)i;
	(void)op;
	m->said->refused |=
		allowed->ok && !allowed->must && (got->ret < 0 || got->ret < allowed->ret);
	return true;
}

static void wrong(void *ctx, uint32_t i, const struct as_op *op, enum as_finding_kind kind,
		  const char *why, bool noted)
{
	(void)i;
	(void)op;
	(void)kind;
	(void)noted;
	went_wrong(ctx, why);
}

static const struct as_trial_ops observers = { .before = before,
					       .answered = answered,
					       .agreed = agreed,
					       .wrong = wrong };

bool as_start_op(struct as_start_maker *m, const struct as_op *op)
{
	return as_trial_goes_on(as_trial_op(&m->trial, m->said->n_ops, op, &m->got));
}

/* ---- The workload ---------------------------------------------------------------------------- */

static bool begin(struct as_start_maker *m)
{
	struct as_start_said *said = m->said;
	int mounted;

	said->n_ops = 0;
	said->n_text = 0;
	said->text[0] = '\0';
	m->asked = 0;
	as_trial_begin(&m->trial);
	as_instance_set_faults(m->instance, m->counts);
	said->tool_rc = as_instance_back(m->instance, m->mark, &said->tool_err);
	if (said->tool_rc)
		return false;
	if (as_trial_mount(&m->trial, &mounted) != AS_TRIAL_AGREED) {
		said->tool_rc = as_instance_useless(m->instance, mounted, &said->tool_err);
		return false;
	}
	as_model_free(m->trial.model);
	m->trial.model = as_model_copy(m->args->fresh.model);
	as_model_follow_times(m->trial.model, as_target_opts(m->args->target));
	return true;
}

bool as_start_rewind(struct as_start_maker *m, size_t n)
{
	bool going = begin(m);

	m->seq->n = n;
	for (size_t i = 0; going && i < n; i++)
		going = as_start_op(m, &m->seq->ops[i]);
	return going;
}

static int close_slot(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct as_op close = as_model_closing(slot);

	(void)ino;
	(void)flags;
	as_seq_add(ctx, &close);
	return 0;
}

/* Descriptors are closed, and it is unmounted, unless it is. */
static bool end(struct as_start_maker *m)
{
	struct as_op umount = as_op_make(AS_OP_UMOUNT);
	struct as_seq *closing;
	bool going = true;

	if (!as_model_mounted(m->trial.model))
		return true;
	closing = as_seq_new();
	(void)as_model_each_open(m->trial.model, close_slot, closing);
	as_seq_add(closing, &umount);
	for (size_t i = 0; going && i < closing->n; i++)
		going = as_start_op(m, &closing->ops[i]);
	as_seq_free(closing);
	return going;
}

/* ---- What is handed over --------------------------------------------------------------------- */

static void count_calls(struct as_start_maker *m)
{
	static const unsigned kinds[] = { [AS_START_READ] = AS_CALL_READ,
					  [AS_START_WRITE] = AS_CALL_WRITE,
					  [AS_START_FLUSH] = AS_CALL_FLUSH };
	struct as_medium *disk = as_instance_hold_disk(m->instance);

	for (unsigned i = 0; m->counts && i < AS_START_ALLOC; i++)
		m->said->calls[i] = as_medium_calls(disk, kinds[i]);
	as_instance_release_disk(m->instance);
	if (m->counts)
		m->said->calls[AS_START_ALLOC] = as_instance_allocations(m->instance);
	m->said->calls[AS_START_ASK] = m->asked;
}

static uint64_t count_free(struct as_start_maker *m)
{
	struct as_op statfs = as_op_make(AS_OP_STATFS);
	struct as_outcome got;

	statfs.path = "/";
	as_instance_do(m->instance, 0, &statfs, &got);
	return got.ret < 0 ? UINT64_MAX : got.sfs.blocks_free * got.sfs.block_bytes;
}

static bool hand_over(struct as_start_maker *m)
{
	struct as_op mount = as_op_make(AS_OP_MOUNT);
	struct as_start_said *said = m->said;
	struct as_medium *disk;

	if (as_model_lost(m->trial.model)) {
		said->tool_rc = as_fail(&said->tool_err, AS_EUSE,
					"the start cuts the power, so that it is not known what "
					"it leaves");
		return false;
	}
	if (m->trial.full || m->trial.blind) {
		said->tool_rc = as_fail(&said->tool_err, AS_EUSE,
					"the start fills a file system that then drops what was "
					"not synced, so that it is not known what it leaves");
		return false;
	}
	count_calls(m);
	said->after_ns = (uint64_t)as_instance_time_until(m->instance);
	disk = as_instance_hold_disk(m->instance);
	said->tool_rc = as_medium_export(disk, m->fd, &said->tool_err);
	as_instance_release_disk(m->instance);
	if (said->tool_rc || !as_start_op(m, &mount))
		return false;
	said->free_bytes = count_free(m);
	return true;
}

static void make(struct as_start_maker *m)
{
	bool going = true;

	if (m->row) {
		m->seq = as_seq_new();
		going = begin(m) && as_start_steps(m);
	} else {
		m->seq = as_seq_copy(m->given);
	}
	if (going && as_start_rewind(m, m->seq->n) && end(m))
		(void)hand_over(m);
}

/* ---- The process ----------------------------------------------------------------------------- */

static unsigned pick(struct as_choice *choice, unsigned n)
{
	struct as_start_maker *m =
		(struct as_start_maker *)(void *)((char *)choice -
						  offsetof(struct as_start_maker, choice));

	(void)n;
	m->asked++;
	return 0;
}

static int open_target(struct as_start_maker *m, struct as_err *err)
{
	struct as_instance_args args = { .target = m->args->target,
					 .log = &m->said->log,
					 .seed = m->args->run->seed,
					 .choice = &m->choice,
					 .name_max = m->args->fresh.traits->name_max };
	int rc = as_target_load(m->args->target, err);

	if (rc)
		return rc;
	m->choice.pick = pick;
	m->disk = args.disk = as_medium_copy(m->args->fresh.disk);
	rc = as_instance_open(&args, &m->instance, err);
	if (rc)
		return rc;
	m->trial = (struct as_trial){ .ops = &observers,
				      .ctx = m,
				      .way = AS_TRIAL_START,
				      .target = m->args->target,
				      .traits = m->args->fresh.traits,
				      .instance = m->instance };
	if (!as_instance_can(m->instance, AS_INSTANCE_MARK))
		return as_fail(err, AS_EUSE, "target %s: it cannot be set back to a start",
			       as_target_spec(m->args->target));
	if (as_instance_can(m->instance, AS_INSTANCE_MEMORY))
		as_assert(!as_plan_parse("read:1000000000000:eio", &m->counts, NULL));
	m->mark = as_instance_mark(m->instance);
	return 0;
}

int as_start_child(void *ctx)
{
	struct as_start_maker *m = ctx;
	struct as_start_said *said = m->said;

	as_child_begin(&said->stack);
	said->tool_rc = open_target(m, &said->tool_err);
	if (!said->tool_rc)
		make(m);
	as_instance_mark_free(m->mark);
	as_instance_close(m->instance);
	as_medium_free(m->disk);
	as_plan_free(m->counts);
	as_model_free(m->trial.model);
	as_trial_end(&m->trial);
	as_seq_free(m->seq);
	as_buf_free(&m->line);
	said->ended = true;
	return 0;
}
