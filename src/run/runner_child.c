/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_child: a child of the runner, from its start to what is said of it. */
#include "run/runner_priv.h"

#include "crew/ended.h"
#include "disk/flash.h"
#include "instance/folder.h"
#include "instance/instance.h"
#include "klog/kwatch.h"
#include "os/guard.h"
#include "os/spawn.h"
#include "target/facts.h"
#include "vfs/watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned deadline_ms(const struct as_runner *r)
{
	return r->options.deadline_ms ? r->options.deadline_ms : AS_RUN_DEADLINE_MS;
}

static void clear_shared(struct as_runner *r)
{
	r->shared->alive = r->shared->done = r->shared->done_ops = r->shared->done_skipped = 0;
	r->shared->done_unjudged = 0;
	r->shared->done_raced = (struct as_raced){ 0 };
	as_shared_clear(r->shared);
	(void)!ftruncate(r->disk_fd, 0);
}

/* Before and after a run in which something fails: the supervisor of a box then expects complaints,
 * and does not hold them against a workload that ends the box later. */
static void say_faulty(const struct as_runner *r, const struct as_child_args *args)
{
	if (r->options.state && (args->plan || (args->batch && args->batch->plans)))
		r->options.state->faults++;
}

static int start(struct as_runner *r, int (*fn)(void *), const struct as_child_args *args,
		 struct as_ended *ended, struct as_err *err)
{
	struct as_buf where = { 0 };
	struct as_spawn_limits limits = { .deadline_ms = deadline_ms(r),
					  .alive = &r->shared->alive,
					  .stop = r->options.stop,
					  .where = &where };
	struct as_buf output = { 0 };
	int rc;

	clear_shared(r);
	say_faulty(r, args);
	if (as_target_is_foreign(r->target))
		rc = as_guard_fork(fn, (void *)args, &limits, &output, ended, err);
	else
		rc = as_spawn_fork_limited(fn, (void *)args, &limits, ended, err);
	say_faulty(r, args);
	as_host_log_add(&r->shared->log, as_buf_str(&output));
	as_host_log_add(&r->shared->log, as_buf_str(&where));
	as_buf_free(&where);
	as_stack_hear(&r->shared->stack, as_buf_str(&output));
	as_shared_mend(r->shared);
	as_buf_free(&output);
	if (r->options.watch)
		r->options.watch->ended(r->options.watch->ctx);
	if (!rc && ended->stuck)
		as_emit_note(r->sinks,
			     "%s: process %d waits in the kernel and cannot be killed: it is left",
			     as_target_spec(r->target), (int)ended->stuck);
	return !rc && ended->how == AS_END_STOPPED ? as_fail(err, AS_ESTOP, "stopped") : rc;
}

int as_runner_start(struct as_runner *r, int (*fn)(void *), struct as_child_args *args,
		    struct as_ended *ended, struct as_err *err)
{
	const char *place = as_instance_place(r->target);
	struct as_folder *folder = NULL;
	int rc = 0;

	*ended = (struct as_ended){ 0 };
	if (place)
		rc = as_folder_new(place, deadline_ms(r), &folder, err);
	args->folder = folder ? as_folder_tree(folder) : NULL;
	if (!rc)
		rc = start(r, fn, args, ended, err);
	args->folder = NULL;
	/* Where the child waits for ever, we would, too. */
	if (ended->stuck)
		as_folder_leave(&folder);
	else if (rc == AS_ESTOP)
		as_folder_let_go(&folder);
	r->left.code = 0;
	if (as_folder_remove(&folder, &r->left))
		r->left.code = AS_EIO;
	return rc;
}

int as_runner_tell_left(const struct as_runner *r, struct as_err *err)
{
	if (r->left.code && err)
		*err = r->left;
	return r->left.code;
}

const char *as_runner_bad_end(const struct as_runner *r, const struct as_ended *ended, char *text,
			      size_t cap)
{
	const struct as_ended_say say = { .stack = &r->shared->stack,
					  .status = true,
					  .within_ms = deadline_ms(r) };
	struct as_buf words = { 0 };

	if (ended->how != AS_END_SIGNAL && ended->how != AS_END_DEADLINE && r->shared->finished)
		return NULL;
	as_ended_words(ended, &say, &words);
	snprintf(text, cap, "%s", as_buf_str(&words));
	as_buf_free(&words);
	return text;
}

uint64_t as_runner_race_seed(const struct as_runner *r)
{
	const struct as_run_options *o = &r->options;

	return o->race.threads ? as_race_seed(&o->race, o->seed, r->race_run) : 0;
}

void as_runner_add_done(const struct as_child_shared *sh, struct as_run_result *result)
{
	result->runs += sh->done;
	result->ops += sh->done_ops;
	result->skipped += sh->done_skipped;
	result->unjudged += sh->done_unjudged;
	as_raced_add(&result->raced, &sh->done_raced);
}

/* What a flash with `show=1` has told at the end. */
static void tell_wear(const struct as_runner *r)
{
	const struct as_flash_setup *flash = as_target_flash(r->target);
	struct as_buf log = { 0 };
	const char *line;

	if (!flash || !flash->show)
		return;
	as_host_log_text(&r->shared->log, &log);
	line = strstr(as_buf_str(&log), "wear: ");
	if (line)
		as_emit_note(r->sinks, "%.*s", (int)strcspn(line, "\n"), line);
	as_buf_free(&log);
}

static void add_counts(const struct as_child_shared *sh, struct as_run_result *result)
{
	as_runner_add_done(sh, result);
	result->ops += sh->ops;
	result->skipped += sh->skipped;
	result->unjudged += sh->unjudged;
	result->failures += sh->kfired_op ? sh->kfired : 0;
	as_raced_add(&result->raced, &sh->raced);
}

int as_runner_once(struct as_runner *r, const struct as_work *batch, const char *faults,
		   const struct as_plan *plan, struct as_run_result *result, struct as_err *err)
{
	struct as_child_args args = { .target = r->target,
				      .traits = &r->traits,
				      .options = &r->options,
				      .plan = plan,
				      .seq = batch->seqs[0],
				      .batch = batch,
				      .passes = r->passes,
				      .fresh_disk = r->fresh_disk,
				      .fresh_model = r->fresh_model,
				      .shared = r->shared,
				      .disk_fd = r->disk_fd,
				      .code = r->code,
				      .witness = as_shared_witness(r->options.state),
				      .race_seed = as_runner_race_seed(r),
				      .race_first = r->race_run };
	struct as_kwatch *watch = NULL;
	const struct as_child_shared *sh = r->shared;
	struct as_ended ended;
	const char *end;
	char text[512];
	int rc;

	if (r->caps & AS_INSTANCE_KERNEL)
		args.watch = watch = as_kwatch_new(NULL);
	rc = as_runner_leak_begin(r, err);
	if (!rc)
		rc = as_runner_start(r, batch->n > 1 ? as_child_run_batch : as_child_run, &args,
				     &ended, err);
	as_runner_code_tell(r, batch);
	if (rc)
		goto out;
	if (batch->n > 1 && sh->done < batch->n)
		args.seq = batch->seqs[sh->done];
	end = as_runner_bad_end(r, &ended, text, sizeof(text));
	/* What it found counts, even if it came to a bad end afterwards. */
	if (end && !sh->notice.is)
		as_runner_found_dead(r, args.seq, &ended, end);
	else if (!end && sh->tool_rc) {
		if (err)
			*err = sh->tool_err;
		rc = sh->tool_rc;
	}
	/* One that came to its end has looked, and another run may have the device by now. */
	as_kwatch_name(watch, end ? sh->device : "");
	/* One that waits in the kernel and was killed serves its disk no more: the file system
	 * complains of that. */
	if (!rc)
		as_runner_found_in_log(r, args.seq, watch,
				       ended.stuck || (plan && (end || sh->fired)));
	if (!rc && !end)
		as_runner_leak_look(r);
	/* The kernel may say something after the last one was done: that one has not passed. */
	if (batch->n > 1 && sh->notice.is && sh->done >= batch->n)
		r->shared->done = batch->n - 1;
	if (rc)
		goto out;
	result->runs += batch->n == 1 || sh->notice.is;
	add_counts(sh, result);
	if (!sh->notice.is && !r->quiet)
		tell_wear(r);
	if (sh->notice.is && !r->quiet)
		rc = as_runner_report(r, args.seq, batch->names[sh->done], faults, result, err);
	if (!rc)
		rc = as_runner_tell_left(r, err);
out:
	as_kwatch_free(watch);
	return rc;
}
