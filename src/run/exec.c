/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec: the parent's side of a run: it makes the fresh file system once, starts a child for each
 * workload (run/child.c), watches it, and says what was found.
 *
 * Method. The fresh disk is made in a child too, handed over through a nameless file and kept as a
 * copy-on-write disk that every later child inherits. What a child has to say stands in shared
 * memory; a child that dies leaves there how far it had come.
 */
#include "run/run.h"

#include "base/hash.h"
#include "os/guard.h"
#include "os/spawn.h"
#include "run/child.h"
#include "run/folder.h"
#include "run/kwatch.h"
#include "target/cache.h"
#include "target/fresh.h"
#include "target/mount.h"
#include "vfs/traits.h"
#include "vfs/watch.h"
#include "work/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define OP_SHOWN_BYTES 120 /* of an operation, where it is only shown */

struct as_runner {
	const struct as_target *target;
	struct as_run_options options;
	struct as_sink *sinks;
	struct as_traits traits;
	struct as_plan *plan;
	struct as_medium *fresh_disk; /* NULL: a directory */
	struct as_model *fresh_model;
	struct as_child_shared *shared;
	int disk_fd;
	bool said; /* what is left out on a directory */
	bool quiet; /* findings are not told */
	struct as_err left; /* what could not be removed after the last run; code 0: nothing */
	unsigned race_run; /* number of the run of this workload in several threads */
	char (*ids)[AS_FINDING_ID_MAX]; /* already found: met again, a finding is not a new one */
	size_t n_ids;
};

#define WITNESS_AT ((sizeof(struct as_child_shared) + 63) / 64 * 64)

size_t as_run_state_bytes(void)
{
	return WITNESS_AT + AS_RUN_WITNESS_BYTES;
}

struct as_witness_area *as_shared_witness(struct as_box_state *state)
{
	return state ? (struct as_witness_area *)(void *)(state->engine + WITNESS_AT) : NULL;
}

/* ---- Children -------------------------------------------------------------------------------- */

static void clear_shared(struct as_runner *r)
{
	r->shared->alive = r->shared->done = r->shared->done_ops = r->shared->done_skipped = 0;
	r->shared->done_unjudged = 0;
	as_shared_clear(r->shared);
	if (ftruncate(r->disk_fd, 0))
		r->shared->has_disk = false;
}

static unsigned deadline_ms(const struct as_runner *r)
{
	return r->options.deadline_ms ? r->options.deadline_ms : AS_RUN_DEADLINE_MS;
}

static int start(struct as_runner *r, int (*fn)(void *), const struct as_child_args *args,
		 struct as_ended *ended, struct as_err *err)
{
	struct as_spawn_limits limits = { .deadline_ms = deadline_ms(r),
					  .alive = &r->shared->alive,
					  .stop = r->options.stop };
	struct as_buf output = { 0 };
	int rc;

	clear_shared(r);
	if (as_target_is_foreign(r->target))
		rc = as_guard_fork(fn, (void *)args, &limits, &output, ended, err);
	else
		rc = as_spawn_fork_limited(fn, (void *)args, &limits, ended, err);
	as_host_log_add(&r->shared->log, as_buf_str(&output));
	as_buf_free(&output);
	if (r->options.watch)
		r->options.watch->ended(r->options.watch->ctx);
	if (!rc && ended->stuck)
		as_emit_note(r->sinks,
			     "%s: process %d waits in the kernel and cannot be killed: it is left",
			     as_target_spec(r->target), (int)ended->stuck);
	return !rc && ended->how == AS_END_STOPPED ? as_fail(err, AS_ESTOP, "stopped") : rc;
}

/* A child, and a directory's folder that it works in, which is gone afterwards: r->left says so if
 * not, since what was found before counts all the same. */
static int start_in_folder(struct as_runner *r, int (*fn)(void *), struct as_child_args *args,
			   struct as_ended *ended, struct as_err *err)
{
	struct as_folder *folder = NULL;
	int rc = 0;

	*ended = (struct as_ended){ 0 };
	if (!r->fresh_disk)
		rc = as_folder_new(as_target_dir(r->target), deadline_ms(r), &folder, err);
	args->folder = folder ? as_folder_tree(folder) : NULL;
	if (!rc)
		rc = start(r, fn, args, ended, err);
	args->folder = NULL;
	/* Where one waits for ever, so would who removes. */
	if (ended->stuck)
		as_folder_leave(&folder);
	else if (rc == AS_ESTOP)
		as_folder_let_go(&folder);
	r->left.code = 0;
	if (as_folder_remove(&folder, &r->left))
		r->left.code = AS_EIO;
	return rc;
}

static int tell_left(const struct as_runner *r, struct as_err *err)
{
	if (r->left.code && err)
		*err = r->left;
	return r->left.code;
}

/* "died of SIGSEGV", "called exit(3)", "did not come back within 10 s", or NULL for a child that
 * came to its own end. */
static const char *bad_end(const struct as_runner *r, const struct as_ended *ended, char *text,
			   size_t cap)
{
	if (ended->how == AS_END_SIGNAL)
		snprintf(text, cap, "died of %s", as_signal_name(ended->status));
	else if (ended->how == AS_END_DEADLINE)
		snprintf(text, cap, "did not come back within %u ms", deadline_ms(r));
	else if (!r->shared->finished)
		snprintf(text, cap, "called exit(%d)", ended->status);
	else
		return NULL;
	return text;
}

/* ---- The fresh file system ------------------------------------------------------------------- */

static void adopt_fresh(struct as_runner *r)
{
	const struct as_child_shared *sh = r->shared;
	uint32_t at = 0;

	r->fresh_model = as_model_new(&r->traits);
	while (at < sh->fresh_len) {
		struct as_stat st;
		const char *path = sh->fresh + at + sizeof(st);

		memcpy(&st, sh->fresh + at, sizeof(st));
		as_model_adopt(r->fresh_model, path, &st);
		at += (uint32_t)(sizeof(st) + strlen(path) + 1);
	}
}

static int prepare(struct as_runner *r, struct as_err *err)
{
	struct as_child_args args = { .target = r->target,
				      .traits = &r->traits,
				      .options = &r->options,
				      .fresh_disk = r->fresh_disk,
				      .shared = r->shared,
				      .disk_fd = r->disk_fd };
	struct as_ended ended;
	const char *end;
	char text[96];
	int rc = start_in_folder(r, as_child_prepare, &args, &ended, err);

	if (!rc && (end = bad_end(r, &ended, text, sizeof(text))))
		rc = as_fail(err, AS_EUSE, "%s: %s %s", as_target_spec(r->target),
			     as_phase_name(r->shared->phase), end);
	if (!rc && r->shared->tool_rc) {
		if (err)
			*err = r->shared->tool_err;
		rc = as_fail_in(err, "target %s", as_target_spec(r->target));
	}
	if (!rc)
		rc = tell_left(r, err);
	if (!rc && as_target_library(r->target))
		rc = as_medium_import(r->fresh_disk, r->disk_fd, err);
	if (!rc)
		adopt_fresh(r);
	return rc;
}

/* mkfs is a program, so no child of ours is needed. Without a place for a cache it runs each
 * time. */
static int make_fresh(struct as_runner *r, struct as_err *err)
{
	const struct as_fstype *type = as_target_fstype(r->target);
	struct as_buf folder = { 0 };
	int rc = type->server ? 0 : as_mount_allowed(err);

	if (!rc && type->mkfs) {
		bool cached = !as_cache_folder("images", &folder, NULL);

		rc = as_fresh_disk(type, cached ? as_buf_str(&folder) : NULL, r->fresh_disk, NULL,
				   err);
	}
	as_buf_free(&folder);
	return rc ? as_fail_in(err, "target %s", as_target_spec(r->target)) : 0;
}

static int open_disk(struct as_runner *r, struct as_err *err)
{
	uint64_t size_bytes;
	int rc;

	if (as_target_dir(r->target))
		return r->options.size_bytes || r->plan || r->options.sweep
			       ? as_fail(err, AS_EUSE,
					 "target %s: a directory has no disk of its own, "
					 "so sizes and faults need a disk",
					 as_target_spec(r->target))
			       : 0;
	rc = as_target_disk_bytes(r->target, r->options.size_bytes, &size_bytes, err);
	if (!rc)
		rc = as_medium_new(size_bytes, &r->fresh_disk, err);
	return rc || !as_target_fstype(r->target) ? rc : make_fresh(r, err);
}

int as_runner_new(const struct as_target *target, const struct as_run_options *options,
		  struct as_sink *sinks, struct as_runner **out, struct as_err *err)
{
	struct as_runner *r = as_xcalloc(1, sizeof(*r));
	int rc = 0;

	r->target = target;
	r->options = *options;
	r->sinks = sinks;
	/* There the seed decides everything: once more would be the same once more. */
	r->options.race.vary = as_target_library(target);
	r->shared = options->state ? (struct as_child_shared *)(void *)options->state->engine
				   : as_shared_alloc(sizeof(*r->shared));
	r->disk_fd = memfd_create("assay-disk", MFD_CLOEXEC);
	as_run_traits(target, &r->traits);
	if (options->watch)
		options->watch->open(options->watch->ctx);
	if (r->disk_fd < 0)
		rc = as_fail_errno(err, errno, "cannot make a file in memory");
	if (!rc && options->faults && *options->faults)
		rc = as_plan_parse(options->faults, &r->plan, err);
	if (!rc)
		rc = open_disk(r, err);
	if (!rc)
		rc = prepare(r, err);
	if (rc) {
		as_runner_free(r);
		r = NULL;
	}
	*out = r;
	return rc;
}

void as_runner_free(struct as_runner *r)
{
	if (!r)
		return;
	if (r->options.watch)
		r->options.watch->close(r->options.watch->ctx);
	as_model_free(r->fresh_model);
	as_medium_free(r->fresh_disk);
	as_plan_free(r->plan);
	if (r->disk_fd >= 0)
		close(r->disk_fd);
	if (!r->options.state)
		as_shared_free(r->shared, sizeof(*r->shared));
	free(r->ids);
	free(r);
}

struct as_run_fresh as_runner_fresh(const struct as_runner *r)
{
	return (struct as_run_fresh){ r->fresh_disk, r->fresh_model, &r->traits };
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* What a dead child cannot say itself. */
static void found_dead(struct as_runner *r, const struct as_seq *seq, const struct as_ended *ended,
		       const char *end)
{
	struct as_child_shared *sh = r->shared;
	const char *about = as_phase_name(sh->phase);
	struct as_buf op = { 0 };

	sh->found = true;
	sh->kind = ended->how == AS_END_DEADLINE ? AS_FIND_HANG : AS_FIND_SIGNAL;
	sh->found_op = sh->phase == PHASE_OP ? sh->op : -1;
	sh->has_disk = false;
	if (sh->found_op >= 0) {
		about = as_op_table[seq->ops[sh->op].code].name;
		as_print_op(&seq->ops[sh->op], &op);
		snprintf(sh->summary, sizeof(sh->summary), "op %lld: %.120s: the target %s",
			 (long long)sh->op + 1, as_buf_str(&op), end);
	} else {
		snprintf(sh->summary, sizeof(sh->summary), "%s: the target %s", about, end);
	}
	snprintf(sh->signature, sizeof(sh->signature), "%s: %s: %s", as_finding_kind_name(sh->kind),
		 about,
		 ended->how == AS_END_SIGNAL ? as_signal_name(ended->status)
		 : ended->how == AS_END_EXIT ? "exit"
					     : "hang");
	as_buf_free(&op);
}

/* What the kernel said when the child could not tell any more: he may have died of it. */
static void found_in_log(struct as_runner *r, const struct as_seq *seq, struct as_kwatch *watch,
			 bool excused)
{
	struct as_child_shared *sh = r->shared;
	struct as_kwatch_news news;
	struct as_buf op = { 0 };

	if ((sh->found && sh->finished) || !as_kwatch_look(watch, excused, &news))
		return;
	sh->found_op = sh->phase == PHASE_OP && !sh->finished ? sh->op : -1;
	if (sh->found_op >= 0)
		as_print_op(&seq->ops[sh->op], &op);
	snprintf(sh->summary, sizeof(sh->summary), "%.160s: %s",
		 op.len ? as_buf_str(&op) : as_phase_name(sh->phase), news.title);
	snprintf(sh->signature, sizeof(sh->signature), "%s", news.signature);
	as_host_log_add(&sh->log, news.text);
	sh->kind = AS_FIND_KERNEL;
	sh->found = true;
	as_buf_free(&op);
}

/* The last operations with their answers, the guilty one last. */
void as_shared_describe(const struct as_child_shared *sh, const struct as_seq *seq,
			const char *faults, struct as_buf *out)
{
	int64_t last = sh->found_op >= 0 ? sh->found_op : (int64_t)sh->ops - 1;
	int64_t first = last >= RECENT ? last - RECENT + 1 : 0;
	struct as_buf op = { 0 };

	for (int64_t i = first; i <= last && i < (int64_t)seq->n; i++) {
		const struct as_recent *recent = &sh->recent[i % RECENT];
		struct as_outcome outcome = { .ret = recent->ret, .err = recent->err };

		as_buf_addf(out, "%6lld  ", (long long)i + 1);
		as_buf_clear(&op);
		as_print_op(&seq->ops[i], &op);
		as_buf_addf(out, "%.*s%s ", OP_SHOWN_BYTES, as_buf_str(&op),
			    op.len > OP_SHOWN_BYTES ? "..." : "");
		if (recent->index == i && i < (int64_t)sh->ops)
			as_outcome_print(&outcome, out);
		else
			as_buf_adds(out, "...");
		as_buf_addc(out, '\n');
	}
	if (faults && *faults)
		as_buf_addf(out, "with the fault %s\n", faults);
	as_buf_free(&op);
}

static bool is_new(struct as_runner *r, const char *id)
{
	for (size_t i = 0; i < r->n_ids; i++)
		if (!strcmp(r->ids[i], id))
			return false;
	r->ids = as_xrealloc(r->ids, (r->n_ids + 1) * sizeof(*r->ids));
	memcpy(r->ids[r->n_ids++], id, AS_FINDING_ID_MAX);
	return true;
}

/* Of the run that found something: the same chance once more. */
static void name_race(const struct as_runner *r, struct as_run_options *used)
{
	struct as_buf text = { 0 };

	used->race.seed =
		as_race_seed(&used->race, used->seed, r->race_run + (unsigned)r->shared->done);
	as_buf_adds(&text, "race:");
	as_race_print(&used->race, &text);
	snprintf(used->scenario, sizeof(used->scenario), "%s", as_buf_str(&text));
	as_buf_free(&text);
}

static int report(struct as_runner *r, const struct as_seq *seq, const char *name,
		  const char *faults, struct as_run_result *result, struct as_err *err)
{
	struct as_child_shared *sh = r->shared;
	struct as_buf workload = { 0 }, options = { 0 }, detail = { 0 }, log = { 0 };
	struct as_run_options used = r->options;
	struct as_finding finding;
	struct as_medium *disk = NULL;
	char id[AS_FINDING_ID_MAX] = "";
	int rc = 0;

	used.faults = faults;
	if (r->options.race.threads)
		name_race(r, &used);
	as_print_seq(seq, &workload);
	as_run_options_print(&used, &options);
	if (sh->detail[0])
		as_buf_adds(&detail, sh->detail);
	else
		as_shared_describe(sh, seq, faults, &detail);
	as_host_log_text(&sh->log, &log);
	if (sh->has_disk) {
		rc = as_medium_new(as_medium_bd(r->fresh_disk)->size_bytes, &disk, err);
		if (!rc)
			rc = as_medium_import(disk, r->disk_fd, err);
	}
	finding = (struct as_finding){
		.kind = sh->kind,
		.target = as_target_spec(r->target),
		.summary = sh->summary,
		.detail = as_buf_str(&detail),
		.signature = sh->signature,
		.workload = as_buf_str(&workload),
		.workload_name = name,
		.options = as_buf_str(&options),
		.op_index = (long)sh->found_op,
		.op_line = sh->found_op >= 0 ? (int)(seq->n_meta + (size_t)sh->found_op + 1) : 0,
		.log = log.len ? as_buf_str(&log) : NULL,
		.disk = disk ? as_medium_disk(disk) : NULL,
	};
	as_finding_id(&finding, as_target_name(r->target), id);
	*(is_new(r, id) ? &result->findings : &result->again) += 1;
	as_emit_finding(r->sinks, &finding, id);
	as_medium_free(disk);
	as_buf_free(&workload);
	as_buf_free(&options);
	as_buf_free(&detail);
	as_buf_free(&log);
	return rc;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static uint64_t race_seed(const struct as_runner *r)
{
	const struct as_run_options *o = &r->options;

	return o->race.threads ? as_race_seed(&o->race, o->seed, r->race_run) : 0;
}

/* The workloads of a child that came to their end. */
static void add_done(const struct as_child_shared *sh, struct as_run_result *result)
{
	result->runs += sh->done;
	result->ops += sh->done_ops;
	result->skipped += sh->done_skipped;
	result->unjudged += sh->done_unjudged;
}

/* One workload, or those of a batch until one has found something. */
static int run_once(struct as_runner *r, const struct as_run_batch *batch, const char *faults,
		    const struct as_plan *plan, struct as_run_result *result, struct as_err *err)
{
	struct as_child_args args = { .target = r->target,
				      .traits = &r->traits,
				      .options = &r->options,
				      .plan = plan,
				      .seq = batch->seqs[0],
				      .batch = batch,
				      .fresh_disk = r->fresh_disk,
				      .fresh_model = r->fresh_model,
				      .shared = r->shared,
				      .disk_fd = r->disk_fd,
				      .witness = as_shared_witness(r->options.state),
				      .race_seed = race_seed(r),
				      .race_first = r->race_run };
	struct as_kwatch *watch = NULL;
	const struct as_child_shared *sh = r->shared;
	struct as_ended ended;
	const char *end;
	char text[96];
	int rc;

	if (as_target_fstype(r->target))
		watch = as_kwatch_new(NULL);
	rc = start_in_folder(r, batch->n > 1 ? as_child_run_batch : as_child_run, &args, &ended,
			     err);
	if (rc)
		goto out;
	if (batch->n > 1 && sh->done < batch->n)
		args.seq = batch->seqs[sh->done];
	end = bad_end(r, &ended, text, sizeof(text));
	/* What it had found before it came to a bad end, closing things say, is what counts. */
	if (end && !sh->found)
		found_dead(r, args.seq, &ended, end);
	else if (!end && sh->tool_rc) {
		if (err)
			*err = sh->tool_err;
		rc = sh->tool_rc;
	}
	as_kwatch_name(watch, sh->device);
	if (!rc)
		found_in_log(r, args.seq, watch, plan && (end || sh->fired));
	if (rc)
		goto out;
	add_done(sh, result);
	result->runs += batch->n == 1 || sh->found;
	result->ops += sh->ops;
	result->skipped += sh->skipped;
	result->unjudged += sh->unjudged;
	if (sh->found && !r->quiet)
		rc = report(r, args.seq, batch->names[sh->done], faults, result, err);
	if (!rc)
		rc = tell_left(r, err);
out:
	as_kwatch_free(watch);
	return rc;
}

/* Fails call 1, 2, 3, ... until a run ends in which none failed. */
static int run_sweep(struct as_runner *r, const struct as_run_batch *one,
		     struct as_run_result *result, struct as_err *err)
{
	bool fired = true;
	int rc = 0;

	for (unsigned long long n = 1; fired && !rc; n++) {
		struct as_plan *plan = NULL;
		char text[64];

		snprintf(text, sizeof(text),
			 r->options.sweep == AS_SWEEP_ALLOC ? "%s:%llu" : "%s:%llu:eio",
			 as_sweep_name(r->options.sweep), n);
		rc = as_plan_parse(text, &plan, err);
		if (!rc)
			rc = run_once(r, one, text, plan, result, err);
		/* A child that died cannot say whether it was hit: it was, or it dies without. */
		fired = r->shared->fired || (r->shared->found && !r->shared->finished);
		as_plan_free(plan);
	}
	return rc;
}

/* A directory's file system was mounted by someone else. */
static void say_left_out(struct as_runner *r, const struct as_seq *seq)
{
	if (r->said || r->fresh_disk || as_target_library(r->target))
		return;
	for (size_t i = 0; i < seq->n; i++) {
		enum as_opcode code = seq->ops[i].code;

		if (as_op_table[code].needs != AS_NEEDS_MOUNT)
			continue;
		as_emit_note(r->sinks,
			     "%s: umount, mount, remount and crash are left out: the file system "
			     "is in use by others, and its disk is not ours",
			     as_target_spec(r->target));
		r->said = true;
		return;
	}
}

static int run_one(struct as_runner *r, const struct as_run_batch *one,
		   struct as_run_result *result, struct as_err *err)
{
	int rc;

	if (!r->options.sweep)
		return run_once(r, one, r->options.faults, r->plan, result, err);
	/* Without a fault first: a workload that fails anyway says nothing about faults, and a
	 * target that dies without one would be swept for ever. */
	rc = run_once(r, one, NULL, NULL, result, err);
	if (!rc && !result->findings)
		rc = run_sweep(r, one, result, err);
	return rc;
}

/* ---- Several threads ------------------------------------------------------------------------- */

/* One child for all the runs: a library's only. */
static int race_together(struct as_runner *r, const struct as_run_batch *one, unsigned repeat,
			 struct as_run_result *result, struct as_err *err)
{
	const struct as_seq **seqs = as_xcalloc(repeat, sizeof(*seqs));
	const char **names = as_xcalloc(repeat, sizeof(*names));
	struct as_run_batch batch = { .seqs = seqs, .names = names, .n = repeat };
	int rc;

	for (unsigned i = 0; i < repeat; i++) {
		seqs[i] = one->seqs[0];
		names[i] = one->names[0];
	}
	rc = run_once(r, &batch, r->options.faults, r->plan, result, err);
	free(seqs);
	free(names);
	return rc;
}

/* How often the same seed brings the same back. What was found is put back behind it. */
static int race_rate(struct as_runner *r, const struct as_run_batch *one, unsigned repeat,
		     struct as_run_result *result, struct as_err *err)
{
	size_t bytes = offsetof(struct as_child_shared, fresh);
	struct as_child_shared *found = as_xmalloc(bytes);
	struct as_race_options race = r->options.race;
	unsigned again = 0, number = r->race_run;
	int disk_fd = r->disk_fd, rc = 0;
	size_t len;

	memcpy(found, r->shared, bytes);
	r->disk_fd = memfd_create("assay-disk", MFD_CLOEXEC);
	if (r->disk_fd < 0)
		rc = as_fail_errno(err, errno, "cannot make a file in memory");
	r->options.race.seed = race_seed(r);
	r->race_run = 0;
	for (unsigned i = 0; i < repeat && !rc; i++) {
		rc = run_once(r, one, r->options.faults, r->plan, result, err);
		again += !rc && r->shared->found && !strcmp(r->shared->signature, found->signature);
	}
	if (r->disk_fd >= 0)
		close(r->disk_fd);
	r->disk_fd = disk_fd;
	r->options.race = race;
	r->race_run = number;
	found->alive = r->shared->alive;
	memcpy(r->shared, found, bytes);
	free(found);
	len = strlen(r->shared->detail);
	snprintf(r->shared->detail + len, sizeof(r->shared->detail) - len,
		 "with its seed and delays it came again in %u of %u runs\n", again, repeat);
	return rc;
}

static int run_race(struct as_runner *r, const struct as_seq *seq, const char *name,
		    struct as_run_result *result, struct as_err *err)
{
	const struct as_race_options *race = &r->options.race;
	unsigned repeat = race->repeat ? race->repeat : AS_RACE_REPEAT;
	const struct as_seq *form = as_race_form(seq, r->fresh_model, &result->skipped);
	struct as_run_batch one = { .seqs = &form, .names = &name, .n = 1 };
	bool library = as_target_library(r->target);
	int rc = 0;

	r->race_run = 0;
	r->shared->found = false;
	r->quiet = true;
	if (library)
		rc = race_together(r, &one, repeat, result, err);
	for (unsigned i = 0; i < repeat && !library && !rc && !r->shared->found; i++) {
		r->race_run = i;
		rc = run_once(r, &one, r->options.faults, r->plan, result, err);
	}
	if (!rc && r->shared->found && !library && !race->seed)
		rc = race_rate(r, &one, repeat, result, err);
	if (!rc && r->shared->found && race->seed && !library)
		as_emit_note(r->sinks, "%s: seed %llu, run %u of at most %u", name,
			     (unsigned long long)race->seed, r->race_run + 1, repeat);
	r->quiet = false;
	if (!rc && r->shared->found)
		rc = report(r, form, name, r->options.faults, result, err);
	as_seq_free((struct as_seq *)form);
	return rc;
}

int as_run_workload(struct as_runner *r, const struct as_seq *seq, const char *name,
		    struct as_run_result *result, struct as_err *err)
{
	struct as_run_batch one = { .seqs = &seq, .names = &name, .n = 1 };
	int64_t start_us = as_now_us();
	int rc;

	*result = (struct as_run_result){ 0 };
	say_left_out(r, seq);
	rc = r->options.race.threads ? run_race(r, seq, name, result, err)
				     : run_one(r, &one, result, err);
	result->wall_us = as_now_us() - start_us;
	return rc;
}

/* How many workloads there are before one that cuts the power: which takes a served disk. */
static size_t until_crash(const struct as_run_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		for (size_t k = 0; k < batch->seqs[i]->n; k++)
			if (batch->seqs[i]->ops[k].code == AS_OP_CRASH)
				return i;
	return batch->n;
}

/* What was found on a disk that nobody watched is looked for again alone, on one that is. If it
 * does not come, it is told as it was. */
static int find_again(struct as_runner *r, const struct as_run_batch *batch, size_t i,
		      struct as_run_result *result, struct as_err *err)
{
	struct as_run_batch one = { &batch->seqs[i], &batch->names[i], 1 };
	struct as_child_shared *before = as_xmalloc(sizeof(*before));
	struct as_run_result again = { 0 };
	int rc;

	memcpy(before, r->shared, sizeof(*before));
	rc = run_once(r, &one, NULL, NULL, &again, err);
	result->findings += again.findings;
	result->again += again.again;
	if (!rc && !r->shared->found) {
		memcpy(r->shared, before, sizeof(*before));
		rc = report(r, one.seqs[0], one.names[0], NULL, result, err);
	}
	free(before);
	return rc;
}

int as_run_batch(struct as_runner *r, const struct as_run_batch *batch, size_t *done,
		 struct as_run_result *result, struct as_err *err)
{
	const struct as_fstype *type = as_target_fstype(r->target);
	/* A server may remember more than its disk. */
	bool possible = as_target_library(r->target) || (type && !type->server && !r->plan);
	bool together = possible && !r->options.sweep && !r->options.race.threads;
	struct as_run_batch some = *batch;
	int64_t start_us = as_now_us();
	int rc;

	if (type && together)
		some.n = until_crash(batch);
	if (!together || some.n <= 1) {
		*done = 1;
		return as_run_workload(r, batch->seqs[0], batch->names[0], result, err);
	}
	*result = (struct as_run_result){ 0 };
	r->quiet = type;
	rc = run_once(r, &some, r->options.faults, r->plan, result, err);
	/* Stopped: what was done by then is done. */
	if (rc == AS_ESTOP && r->shared->done) {
		r->shared->found = false;
		add_done(r->shared, result);
		rc = 0;
	}
	*done = r->shared->done + r->shared->found;
	r->quiet = false;
	if (!rc && type && r->shared->found)
		rc = find_again(r, &some, *done - 1, result, err);
	result->wall_us = as_now_us() - start_us;
	return rc;
}
