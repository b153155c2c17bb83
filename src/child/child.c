/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child: see child.h. One workload, or several one after the other, from the mount to the last
 * comparison. How operations are carried out is in child_judge.c, what a finding says in
 * child_found.c.
 */
#include "child/child_priv.h"

#include "child/answers.h"
#include "instance/outside.h"
#include "klog/kwatch.h"
#include "os/limit.h"
#include "os/sanitizer.h"
#include "os/spawn.h"
#include "target/facts.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define KEPT_BYTES (64 << 20) /* of freed memory, between the workloads of one child */

void as_child_enter(struct child *c, enum as_phase phase)
{
	if (c->kcov)
		as_kcov_take(c->kcov, c->sh->done);
	c->sh->phase = phase;
	c->sh->alive++;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static void copy_disk(struct child *c)
{
	const struct as_child_args *args = c->args;

	if (!args->fresh_disk)
		return;
	c->disk = as_medium_copy(args->fresh_disk);
	if (args->witness && c->quick)
		as_medium_unwitnessed(args->witness);
	else if (args->witness)
		as_medium_witness(c->disk, args->witness, AS_RUN_WITNESS_BYTES);
}

/* Sooner than the parent gives this process up: it knows better what hangs. */
static unsigned server_ms(const struct as_run_options *o)
{
	return (o->deadline_ms ? o->deadline_ms : AS_RUN_DEADLINE_MS) / 4 * 3;
}

static void name_device(struct child *c)
{
	snprintf(c->sh->device, sizeof(c->sh->device), "%s", as_instance_device(c->instance));
}

int as_child_open(struct child *c, struct as_err *err)
{
	const struct as_run_options *options = c->args->options;
	struct as_instance_args args = { .target = c->args->target,
					 .folder = c->args->folder,
					 .log = &c->sh->log,
					 .seed = options->seed,
					 .choices = options->choices,
					 .name_max = c->args->traits->name_max,
					 .plan = c->args->plan,
					 .deadline_ms = server_ms(options),
					 .max_bytes = options->max_bytes,
					 .max_entries = options->max_entries,
					 .quick = c->quick };
	int rc;

	as_child_enter(c, PHASE_SETUP);
	copy_disk(c);
	args.disk = c->disk;
	if (c->quick && options->state)
		args.outside = as_outside_of(options->state);
	rc = as_instance_open(&args, &c->instance, err);
	if (!rc && as_instance_can(c->instance, AS_INSTANCE_DEVICE)) {
		name_device(c);
		as_kwatch_skip(c->args->watch);
		c->watch = as_kwatch_new(c->sh->device);
	}
	c->kfail = as_plan_kernel(c->args->plan);
	if (!rc && c->kfail.n)
		rc = as_kfault_open(&c->kfail, c->sh->device, &c->kfault, err);
	if (!rc && c->args->code)
		rc = as_kcov_open(c->args->code, &c->kcov, err);
	as_child_judge_open(c);
	return rc;
}

void as_child_close(struct child *c)
{
	if (c->kcov)
		as_kcov_take(c->kcov, c->sh->done);
	as_kcov_close(c->kcov);
	as_kfault_close(c->kfault);
	as_instance_close(c->instance);
	as_race_delay_free(c->delay);
	as_medium_free(c->disk);
	as_kwatch_free(c->watch);
	as_model_free(c->trial.model);
	if (c->args->options->answers)
		as_answers_note(c->args->options->answers, &c->trial);
	as_trial_end(&c->trial);
	as_buf_free(&c->text);
	free(c->failed);
	*c = (struct child){ 0 };
}

/* ---- From the mount to the end --------------------------------------------------------------- */

static enum as_trial_did try_mount(struct child *c, enum as_phase phase, int *rc)
{
	enum as_trial_did did;

	as_child_kfail_begin(c, phase == PHASE_MOUNT ? 0 : UINT64_MAX);
	did = as_trial_mount(&c->trial, rc);
	as_child_kfail_end(c);
	return did;
}

/* False: not mounted. */
static bool mount_target(struct child *c, enum as_phase phase)
{
	enum as_trial_did did;
	int rc;

	as_child_enter(c, phase);
	did = try_mount(c, phase, &rc);
	/* It may refuse to mount, and it must mount the next time. */
	if (rc && c->kfault && c->sh->fired && phase == PHASE_MOUNT && !as_child_troubled(c, -1)) {
		c->trial.met = false;
		did = as_trial_mount(&c->trial, &rc);
	}
	/* One that may be refused must not leak all the same. */
	if (did == AS_TRIAL_WRONG)
		as_child_found_errno(c, AS_FIND_MOUNT, rc);
	else if (!as_child_troubled(c, -1))
		return did == AS_TRIAL_AGREED;
	return false;
}

static bool unmount_target(struct child *c, enum as_phase phase)
{
	enum as_trial_did did;
	int rc;

	as_child_enter(c, phase);
	as_child_kfail_look(c);
	did = as_trial_unmount(&c->trial, &rc);
	if (as_child_troubled(c, -1))
		return false;
	if (did == AS_TRIAL_WRONG)
		as_child_found_errno(c, AS_FIND_MOUNT, rc);
	return did != AS_TRIAL_WRONG;
}

/* A checker must have nothing to complain of on a disk that was unmounted as usual. */
static bool check_disk(struct child *c)
{
	struct as_child_shared *sh = c->sh;
	struct as_instance_checked checked;

	if (!as_instance_can(c->instance, AS_INSTANCE_CHECK) ||
	    as_trial_excuses(&c->trial, AS_EXCUSED_CHECKER))
		return true;
	as_child_enter(c, PHASE_FSCK);
	sh->log.total_bytes = 0;
	sh->tool_rc = as_instance_check(c->instance, c->args->options->deadline_ms, &checked,
					&sh->tool_err);
	if (!sh->tool_rc && !checked.clean)
		as_child_found_by_checker(c, &checked);
	return !sh->tool_rc && !sh->notice.is;
}

/* The model of a workload that ends unmounted is unmounted, too: it follows our own mount. */
static bool model_mounts(struct child *c)
{
	struct as_op mount = as_op_make(AS_OP_MOUNT);
	struct as_outcome done = { 0 };

	if (!c->trial.model || as_model_mounted(c->trial.model))
		return c->trial.model;
	return c->trial.blind || as_model_judge(c->trial.model, &mount, &done, &c->trial.verdict);
}

static int note_slot(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct as_op closing = as_model_closing(slot);

	(void)ino;
	(void)flags;
	as_seq_add(ctx, &closing);
	return 0;
}

/* What is open is closed before the unmount. Of a library with views of its own that is when what
 * was written becomes the file's. */
static void model_closes(struct child *c)
{
	struct as_seq *closing;

	if (!(c->args->traits->quirks & AS_QUIRK_OWN_VIEWS) || !as_model_mounted(c->trial.model))
		return;
	closing = as_seq_new();
	(void)as_model_each_open(c->trial.model, note_slot, closing);
	for (size_t i = 0; i < closing->n; i++) {
		struct as_outcome done = { 0 };

		if (!c->trial.blind &&
		    !as_model_judge(c->trial.model, &closing->ops[i], &done, &c->trial.verdict))
			c->trial.blind = true;
	}
	as_seq_free(closing);
	c->trial.blind |= c->args->plan && as_child_fault_hit(c);
}

static void end_target(struct child *c)
{
	bool unclean;

	model_closes(c);
	if (!unmount_target(c, PHASE_UNMOUNT))
		return;
	as_child_fault_hit(c);
	as_trial_end_faults(&c->trial);
	unclean = c->trial.unclean;
	if (!check_disk(c))
		return;
	/* Everything must be there after a clean unmount. */
	if (as_trial_excuses(&c->trial, AS_EXCUSED_AGAIN))
		return;
	if (!unclean && (c->args->options->corrupt || c->args->options->fields) && model_mounts(c))
		as_child_corrupt(c);
	if (c->sh->tool_rc || c->sh->notice.is || !mount_target(c, PHASE_MOUNT_AGAIN))
		return;
	as_child_enter(c, PHASE_COMPARE_AGAIN);
	if (!model_mounts(c) || !as_child_tree_agrees(c, -1))
		return;
	if (!as_child_quota_agrees(c))
		return;
	as_child_enter(c, PHASE_SPACE);
	if (!as_child_space_agrees(c))
		return;
	if (!unmount_target(c, PHASE_UNMOUNT_AGAIN))
		return;
	/* What the faults kept from being an unmount as usual has become one now. */
	if (!unclean || check_disk(c))
		as_child_growth(c);
}

static void run_all(struct child *c)
{
	int64_t n = (int64_t)c->args->seq->n;
	bool going = true;

	if (c->disk && !mount_target(c, PHASE_MOUNT))
		return;
	as_child_space_begin(c);
	as_vfs_watch(as_instance_vfs(c->instance), c->args->options->watch);
	c->trial.model = as_model_copy(c->args->fresh_model);
	if (!c->args->race_seed)
		as_model_undigested(c->trial.model);
	free(c->failed);
	c->failed = as_xcalloc(c->args->seq->n + 1, sizeof(*c->failed));
	as_model_follow_times(c->trial.model, as_target_opts(c->args->target));
	if (c->args->race_seed)
		as_child_race(c);
	for (int64_t i = 0; going && i < n && !c->args->race_seed; i++)
		going = as_child_run_op(c, i);
	if (c->sh->notice.is || c->sh->tool_rc)
		return;
	if (going && as_model_mounted(c->trial.model) && !c->args->race_seed) {
		as_child_enter(c, PHASE_COMPARE);
		if (!as_child_tree_agrees(c, -1))
			return;
		as_child_space_end(c);
	}
	if (c->disk)
		end_target(c);
}

static void run_workload(const struct as_child_args *args)
{
	struct child c = { .args = args, .sh = args->shared };

	c.sh->tool_rc = as_child_open(&c, &c.sh->tool_err);
	if (!c.sh->tool_rc) {
		run_all(&c);
		as_child_fault_hit(&c);
	}
	as_child_close(&c);
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* The workload is done, and the next one finds the shared memory as the first one did. */
static void count_done(const struct as_child_args *args, size_t i)
{
	struct as_child_shared *sh = args->shared;
	uint64_t ops = sh->done_ops + sh->ops, skipped = sh->done_skipped + sh->skipped;
	uint64_t unjudged = sh->done_unjudged + sh->unjudged;
	struct as_raced raced = sh->done_raced;

	as_raced_add(&raced, &sh->raced);
	if (args->passes)
		args->passes->rows[i] = (struct as_pass){ true, sh->ops, sh->skipped };
	as_shared_clear(sh);
	sh->done_ops = ops;
	sh->done_skipped = skipped;
	sh->done_unjudged = unjudged;
	sh->done_raced = raced;
	sh->done = i + 1;
	if (args->options->state)
		args->options->state->job++;
}

/* The workload after the one before `i`; the number of all of them if there is none. */
static size_t take(const struct as_child_args *args, size_t i)
{
	struct as_passes *passes = args->passes;

	if (passes) {
		i = passes->over ? args->batch->n
				 : __atomic_fetch_add(&passes->next, 1, __ATOMIC_RELAXED);
		i = i < args->batch->n ? i : args->batch->n;
		args->shared->done = i;
	}
	return i;
}

static int renew(struct child *c, const struct as_instance_mark *fresh, struct as_err *err)
{
	as_model_free(c->trial.model);
	c->trial.model = NULL;
	as_trial_begin(&c->trial);
	name_device(c);
	return as_instance_back(c->instance, fresh, err);
}

/* The next workload takes the memory that the last one freed: the kernel need not know. In a guest
 * a page that has to be had again is expensive. */
void as_child_keep_memory(void)
{
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES / 2);
	mallopt(M_TOP_PAD, KEPT_BYTES / 16);
}

/* One instance for all workloads, which is set back to the fresh disk in between: the kernel keeps
 * the loop device and the namespace, but forgets what it knew of the disk. */
static void run_quick_batch(struct as_child_args *args)
{
	struct child c = { .args = args, .sh = args->shared, .quick = true };
	struct as_instance_mark *fresh = NULL;
	struct as_child_shared *sh = c.sh;
	size_t i = 0;

	as_child_keep_memory();
	args->seq = args->batch->seqs[0];
	sh->tool_rc = as_child_open(&c, &sh->tool_err);
	if (!sh->tool_rc) {
		fresh = as_instance_mark(c.instance);
		i = take(args, 0);
	}
	while (i < args->batch->n && !sh->tool_rc) {
		args->seq = args->batch->seqs[i];
		run_all(&c);
		if (sh->notice.is || sh->tool_rc)
			break;
		count_done(args, i);
		i = take(args, i + 1);
		if (i < args->batch->n)
			sh->tool_rc = renew(&c, fresh, &sh->tool_err);
	}
	as_instance_mark_free(fresh);
	as_child_close(&c);
}

/* An instance for each. This is also how a race is run several times. */
static void run_separate_batch(struct as_child_args *args)
{
	struct as_child_shared *sh = args->shared;

	as_child_keep_memory();
	for (size_t i = 0; i < args->batch->n; i++) {
		args->seq = args->batch->seqs[i];
		if (args->batch->plans)
			args->plan = args->batch->plans[i];
		if (args->race_seed)
			args->race_seed = as_race_seed(&args->options->race, args->options->seed,
						       args->race_first + (unsigned)i);
		run_workload(args);
		if (sh->notice.is || sh->tool_rc)
			break;
		count_done(args, i);
	}
}

/* ---- The process ----------------------------------------------------------------------------- */

/* A target that dies notes where and leaves no core, what it prints does not mix with our output,
 * and nobody (a sanitizer, say) turns the signal it dies of into something else. */
void as_child_begin(struct as_stack *stack)
{
	struct rlimit none = { 0, 0 };

	as_stack_catch(stack);
	as_stack_catch_abort();
	as_sanitizer_tell(stack->said, sizeof(stack->said));
	setrlimit(RLIMIT_CORE, &none);
	as_limit_memory();
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

bool as_child_load_target(const struct as_child_args *args)
{
	struct as_child_shared *sh = args->shared;

	sh->phase = PHASE_SETUP;
	sh->tool_rc = as_target_load(args->target, &sh->tool_err);
	return !sh->tool_rc;
}

int as_child_run(void *ctx)
{
	const struct as_child_args *args = ctx;

	as_child_begin(&args->shared->stack);
	/* A file system that is not ours may let this process wait for ever. */
	if (args->folder)
		as_spawn_be_silent();
	if (as_child_load_target(args))
		run_workload(args);
	args->shared->finished = true;
	return 0;
}

int as_child_run_batch(void *ctx)
{
	struct as_child_args args = *(const struct as_child_args *)ctx;
	bool quick = as_instance_caps(args.target) & AS_INSTANCE_QUICK && !args.race_seed;

	as_child_begin(&args.shared->stack);
	if (as_child_load_target(&args)) {
		if (quick)
			run_quick_batch(&args);
		else
			run_separate_batch(&args);
	}
	args.shared->finished = true;
	return 0;
}
