/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runner: the parent's side of a run: it makes the fresh file system once and then runs workloads,
 * each in a child of its own (runner_child.c).
 *
 * Method. The fresh disk is made in a child too, handed over through a file without a name and kept
 * as a copy-on-write disk that every later child inherits. What a child has to say is in shared
 * memory; when a child dies, the memory says how far it had come.
 */
#include "run/runner_priv.h"

#include "host/medium.h"
#include "instance/instance.h"
#include "os/spawn.h"
#include "vfs/traits.h"
#include "vfs/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* What was found is told by each workload. There is nothing on the disk. */
static void keep_unfit(struct as_runner *r)
{
	r->unfit = as_xmalloc(sizeof(*r->unfit));
	memcpy(r->unfit, r->shared, sizeof(*r->unfit));
	r->fresh_model = as_model_new(&r->traits);
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
	const char *end = NULL;
	char text[512];
	int rc = as_runner_start(r, as_child_prepare, &args, &ended, err);

	if (!rc)
		end = as_runner_bad_end(r, &ended, text, sizeof(text));
	if (!rc && as_runner_found_fresh(r, &ended, end)) {
		keep_unfit(r);
		return as_runner_tell_left(r, err);
	}
	if (end)
		rc = as_fail(err, AS_EUSE, "%s: %s %s", as_target_spec(r->target),
			     as_phase_name(r->shared->phase), end);
	if (!rc && r->shared->tool_rc) {
		if (err)
			*err = r->shared->tool_err;
		rc = as_fail_in(err, "target %s", as_target_spec(r->target));
	}
	if (!rc)
		rc = as_runner_tell_left(r, err);
	if (!rc && r->caps & AS_INSTANCE_MAKE)
		rc = as_medium_import(r->fresh_disk, r->disk_fd, err);
	if (!rc)
		adopt_fresh(r);
	return rc;
}

static int open_disk(struct as_runner *r, struct as_err *err)
{
	uint64_t size_bytes;
	int rc;

	if (!(r->caps & AS_INSTANCE_DISK))
		return r->options.size_bytes || r->plan || r->options.draw_faults ||
				       r->options.sweep
			       ? as_fail(err, AS_EUSE,
					 "target %s: a directory has no disk of its own, "
					 "so sizes and faults need a disk",
					 as_target_spec(r->target))
			       : 0;
	rc = as_target_disk_bytes(r->target, r->options.size_bytes, &size_bytes, err);
	if (!rc)
		rc = as_medium_new(size_bytes, &r->fresh_disk, err);
	return rc ? rc : as_instance_make_disk(r->target, r->fresh_disk, err);
}

/* Others who use the target may have asked for more to be measured. */
static void measure(const struct as_runner *r)
{
	const struct as_run_options *o = &r->options;
	struct as_usage *u = as_target_usage(r->target);

	if (!u)
		return;
	u->measured[AS_RESOURCE_HEAP] |= o->max_heap || o->measure_heap;
	u->measured[AS_RESOURCE_STACK] |= o->max_stack || o->measure_stack;
	if (o->max_heap)
		u->max[AS_RESOURCE_HEAP] = o->max_heap;
	if (o->max_stack)
		u->max[AS_RESOURCE_STACK] = o->max_stack;
}

int as_runner_new(const struct as_target *target, const struct as_run_options *options,
		  struct as_sink *sinks, struct as_runner **out, struct as_err *err)
{
	struct as_runner *r = as_xcalloc(1, sizeof(*r));
	int rc = 0;

	r->target = target;
	r->caps = as_instance_caps(target);
	r->options = *options;
	r->sinks = sinks;
	measure(r);
	/* With the same seed once more, everything would be the same once more. */
	r->options.race.vary = r->caps & AS_INSTANCE_CERTAIN;
	r->shared = options->state ? (struct as_child_shared *)(void *)options->state->engine
				   : as_shared_alloc(sizeof(*r->shared));
	as_runner_code_open(r);
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
	as_ids_free(&r->ids);
	as_runner_close_tracks(r);
	as_runner_code_close(r);
	free(r->unfit);
	free(r);
}

struct as_run_fresh as_runner_fresh(const struct as_runner *r)
{
	return (struct as_run_fresh){ r->fresh_disk, r->fresh_model, &r->traits };
}

bool as_runner_unfit(const struct as_runner *r)
{
	return r->unfit;
}

/* ---- Workloads ------------------------------------------------------------------------------- */

/* What a workload asks for that a directory cannot do: somebody else has mounted it. */
static void say_left_out(struct as_runner *r, const struct as_seq *seq)
{
	if (r->said || r->caps & AS_INSTANCE_DISK)
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

static int run_one(struct as_runner *r, const struct as_work *one, struct as_run_result *result,
		   struct as_err *err)
{
	size_t done;
	int rc;

	if (r->options.near && r->plan)
		return as_runner_near(r, one, result, err);
	if (r->options.draw_faults && !r->plan)
		return as_runner_drawn(r, one, &done, result, err);
	if (!r->options.sweep)
		return as_runner_once(r, one, r->options.faults, r->plan, result, err);
	/* Without a fault first: a workload that fails anyway says nothing about faults, and a
	 * target that dies without one would be swept for ever. */
	rc = as_runner_once(r, one, NULL, NULL, result, err);
	if (!rc && !result->findings)
		rc = as_runner_sweep(r, one, result, err);
	return rc;
}

static int tell_unfit(struct as_runner *r, const struct as_work *one, struct as_run_result *result,
		      struct as_err *err)
{
	memcpy(r->shared, r->unfit, sizeof(*r->unfit));
	result->runs = result->unfit = 1;
	return as_runner_report(r, one->seqs[0], one->names[0], NULL, result, err);
}

int as_run_workload(struct as_runner *r, const struct as_seq *seq, const char *name,
		    struct as_run_result *result, struct as_err *err)
{
	struct as_work one = { .seqs = &seq, .names = &name, .n = 1 };
	int64_t start_us = as_now_us();
	int rc;

	*result = (struct as_run_result){ 0 };
	say_left_out(r, seq);
	if (r->unfit)
		rc = tell_unfit(r, &one, result, err);
	else
		rc = r->options.race.threads ? as_runner_race(r, seq, name, result, err)
					     : run_one(r, &one, result, err);
	result->wall_us = as_now_us() - start_us;
	return rc;
}
