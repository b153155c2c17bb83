/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crash: the parent's side of a crash run: the fresh file system (made by run/runner.c), a child
 * for each workload (child.c), and what is said of it.
 */
#include "crash/crash.h"

#include "crash/boxed.h"
#include "crash/child.h"
#include "disk/image.h"
#include "os/guard.h"
#include "run/finding.h"
#include "run/instance.h"
#include "target/facts.h"
#include "target/fstype.h"
#include "work/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Recoveries. */
#define BUDGET_HUNT 96
#define BUDGET_NAMED 4096

struct as_crasher {
	const struct as_target *target;
	struct as_run_options run;
	struct as_crash_options options;
	struct as_sink *sinks;
	struct as_runner *runner;
	struct as_dedup *dedup;
	struct as_crash_shared *shared;
	int disk_fd;
};

static int vet(const struct as_target *target, const struct as_crash_options *o, struct as_err *err)
{
	if (!(as_instance_caps(target) & AS_INSTANCE_DISK))
		return as_fail(err, AS_EUSE,
			       "target %s: a directory's disk is not ours to crash; name a file "
			       "system type, a plugin or lab",
			       as_target_spec(target));
	if (o->perm.t > AS_PERM_T_MAX)
		return as_fail(err, AS_EUSE,
			       "t=%u: 2^t subsets are tried at every point, so at most %u",
			       o->perm.t, AS_PERM_T_MAX);
	if (o->perm.trials > AS_PERM_TRIALS_MAX)
		return as_fail(err, AS_EUSE, "trials=%u: at most %u", o->perm.trials,
			       AS_PERM_TRIALS_MAX);
	return 0;
}

uint64_t as_crash_budget(const struct as_target *target, bool hunt)
{
	bool here = as_target_traits(target).source == AS_TRAITS_CAPS;

	/* In this process a recovery takes 50 microseconds, in a kernel 5 to 50 milliseconds. */
	return hunt ? BUDGET_HUNT : here ? 0 : BUDGET_NAMED;
}

int as_crasher_new(const struct as_target *target, const struct as_run_options *run,
		   const struct as_crash_options *options, struct as_sink *sinks,
		   struct as_crasher **out, struct as_err *err)
{
	struct as_crasher *c = as_xcalloc(1, sizeof(*c));
	int rc = vet(target, options, err);

	c->target = target;
	c->run = *run;
	if (!c->run.size_bytes)
		c->run.size_bytes = as_target_small_bytes(target);
	c->options = *options;
	if (!c->options.perm.sector_bytes)
		c->options.perm.sector_bytes = as_target_sector_bytes(target);
	c->sinks = sinks;
	c->dedup = as_dedup_new();
	c->disk_fd = memfd_create("assay-crash", MFD_CLOEXEC);
	if (!rc && c->disk_fd < 0)
		rc = as_fail_errno(err, errno, "cannot make a file in memory");
	if (!rc)
		rc = as_runner_new(target, &c->run, sinks, &c->runner, err);
	if (!rc)
		/* The runner has used that memory before, to make the fresh disk. */
		c->shared = run->state ? as_crash_box_shared(run->state)
				       : as_shared_alloc(sizeof(*c->shared));
	if (rc) {
		as_crasher_free(c);
		c = NULL;
	}
	*out = c;
	return rc;
}

void as_crasher_free(struct as_crasher *c)
{
	if (!c)
		return;
	as_runner_free(c->runner);
	as_dedup_free(c->dedup);
	if (!c->run.state && c->shared)
		as_shared_free(c->shared, sizeof(*c->shared));
	if (c->disk_fd >= 0)
		close(c->disk_fd);
	free(c);
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* NULL where there is none, or it cannot be read. */
static struct as_disk *read_disk(struct as_crasher *c, const struct as_crash_report *f,
				 struct as_chunks *store)
{
	struct as_buf image = { 0 };
	struct as_disk *disk = NULL;
	char *to = f->disk_len ? as_buf_reserve(&image, f->disk_len) : NULL;

	if (to && pread(c->disk_fd, to, f->disk_len, (off_t)f->disk_at) == (ssize_t)f->disk_len &&
	    as_image_decode(store, to, f->disk_len, &disk, NULL))
		disk = NULL;
	as_buf_free(&image);
	return disk;
}

static void emit(struct as_crasher *c, const struct as_seq *seq, const char *name,
		 const struct as_crash_report *f, const char *log)
{
	struct as_run_options run = c->run;
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = read_disk(c, f, store);
	char id[AS_FINDING_ID_MAX];
	struct as_finding finding;

	snprintf(run.scenario, sizeof(run.scenario), "crash:%s", f->params);
	finding = (struct as_finding){
		.kind = f->kind,
		.target = as_target_spec(c->target),
		.summary = f->summary,
		.detail = f->detail,
		.signature = f->signature,
		.workload_name = name,
		.op_index = (long)f->op,
		.log = *log ? log : NULL,
		.disk = disk,
	};
	as_finding_tell(&finding, as_target_name(c->target), seq, &run, c->sinks, id);
	as_disk_free(disk);
	as_chunks_free(store);
}

/* The child ended while the workload ran: the target died without any power cut. */
static void report_death(struct as_crasher *c, const struct as_seq *seq,
			 const struct as_ended *ended)
{
	struct as_crash_shared *sh = c->shared;
	struct as_crash_report *f = &sh->reports[0];
	struct as_buf op = { 0 }, params = { 0 };
	bool hung = ended->how == AS_END_DEADLINE;
	const char *how = hung				? "did not come back"
			  : ended->how == AS_END_SIGNAL ? as_signal_name(ended->status)
							: "exit";

	sh->n_reports = 1;
	memset(f, 0, sizeof(*f));
	f->kind = hung ? AS_FIND_HANG : AS_FIND_SIGNAL;
	f->op = sh->op;
	if (sh->op >= 0 && sh->op < (int64_t)seq->n)
		as_print_op(&seq->ops[sh->op], &op);
	else
		as_buf_adds(&op, sh->op < 0 ? "mount" : "the end of the workload");
	snprintf(f->summary, sizeof(f->summary), "op %lld: %.120s: the target died: %s",
		 (long long)sh->op + 1, as_buf_str(&op), how);
	snprintf(f->signature, sizeof(f->signature), "%s: %.*s: %s", as_finding_kind_name(f->kind),
		 (int)strcspn(as_buf_str(&op), " "), as_buf_str(&op), how);
	as_crash_options_print(&c->options, &params);
	snprintf(f->params, sizeof(f->params), "%s", as_buf_str(&params));
	as_buf_free(&op);
	as_buf_free(&params);
}

/* ---- Workloads ------------------------------------------------------------------------------- */

/* The views of one workload. */
static struct as_crash_options options_of(const struct as_crasher *c, const struct as_seq *seq)
{
	struct as_crash_options options = c->options;

	if (options.every > 1 && !options.spot.view && as_seq_digest(seq).lo % options.every) {
		options.views &= 1u << AS_VIEW_SYNC_ATOMIC | 1u << AS_VIEW_SYNC_LEFT;
		options.again = 0;
	}
	return options;
}

static int start(struct as_crasher *c, const struct as_seq *seq, struct as_ended *ended,
		 struct as_err *err)
{
	struct as_crash_options options = options_of(c, seq);
	struct as_crash_args args = { .target = c->target,
				      .run = &c->run,
				      .options = &options,
				      .fresh = as_runner_fresh(c->runner),
				      .seq = seq,
				      .dedup = c->dedup,
				      .shared = c->shared,
				      .disk_fd = c->disk_fd };
	unsigned deadline = c->run.deadline_ms ? c->run.deadline_ms : AS_RUN_DEADLINE_MS;
	/* The process that judges has a deadline of its own, which must come first. */
	struct as_spawn_limits limits = { .deadline_ms = deadline * 2,
					  .alive = &c->shared->flight.alive,
					  .stop = c->run.stop };
	struct as_buf output = { 0 };
	int rc;

	/* Reports from n_reports on were never touched. */
	memset(c->shared, 0,
	       offsetof(struct as_crash_shared, reports) +
		       c->shared->n_reports * sizeof(c->shared->reports[0]));
	if (ftruncate(c->disk_fd, 0))
		return as_fail_errno(err, errno, "cannot empty a file in memory");
	if (as_target_is_foreign(c->target))
		rc = as_guard_fork(as_crash_child, &args, &limits, &output, ended, err);
	else
		rc = as_spawn_fork_limited(as_crash_child, &args, &limits, ended, err);
	as_host_log_add(&c->shared->log, as_buf_str(&output));
	as_buf_free(&output);
	return !rc && ended->how == AS_END_STOPPED ? as_fail(err, AS_ESTOP, "stopped") : rc;
}

int as_crash_workload(struct as_crasher *c, const struct as_seq *seq, const char *name,
		      struct as_run_result *result, struct as_crash_counts *counts,
		      struct as_err *err)
{
	struct as_crash_shared *sh = c->shared;
	int64_t start_us = as_now_us();
	struct as_buf log = { 0 };
	struct as_ended ended;
	int rc = start(c, seq, &ended, err);

	*result = (struct as_run_result){ .runs = 1 };
	*counts = sh->counts;
	memcpy(result->counts, counts, sizeof(result->counts));
	if (rc)
		return rc;
	if (!sh->finished && !sh->recorded) {
		report_death(c, seq, &ended);
	} else if (!sh->finished) {
		return as_fail(err, AS_EIO, "%s: the process that judges crash states ended early",
			       name);
	} else if (sh->tool_rc) {
		if (err)
			*err = sh->tool_err;
		return sh->tool_rc;
	}
	as_host_log_text(&sh->log, &log);
	for (unsigned i = 0; i < sh->n_reports; i++)
		emit(c, seq, name, &sh->reports[i], as_buf_str(&log));
	as_buf_free(&log);
	result->ops = sh->ops;
	result->findings = sh->n_reports;
	result->looked = counts->generated + counts->again;
	result->possible = counts->possible + counts->again_possible;
	result->wall_us = as_now_us() - start_us;
	return 0;
}
