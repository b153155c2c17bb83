/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crasher: what a crasher is made of (crash_priv.h), and what it refuses. */
#include "crash/boxed.h"
#include "crash/crash_priv.h"
#include "instance/instance.h"
#include "target/facts.h"
#include "target/fstype.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Recoveries. */
#define BUDGET_HUNT 96
#define BUDGET_NAMED 4096

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
	if (o->race.threads && as_target_contract(target).semantics & AS_MEANS_OWN_VIEWS)
		return as_fail(err, AS_EUSE,
			       "target %s: power cuts in a race are not judged where each "
			       "descriptor has its own view of a file",
			       as_target_spec(target));
	if (o->race.threads && (o->record == AS_RECORD_SWEEP || o->rounds > 1 || o->from[0].view))
		return as_fail(err, AS_EUSE, "in a race, nothing fails, and there is one round");
	if (o->perm.trials > AS_PERM_TRIALS_MAX)
		return as_fail(err, AS_EUSE, "trials=%u: at most %u", o->perm.trials,
			       AS_PERM_TRIALS_MAX);
	return 0;
}

static int read_plan(struct as_crasher *c, struct as_err *err)
{
	const char *faults = c->run.faults ? c->run.faults : "";
	int rc = *faults ? as_plan_parse(faults, &c->plan, err) : 0;

	if (!rc && c->plan && c->options.race.threads)
		rc = as_fail(err, AS_EUSE, "faults cannot be combined with a race");
	if (!rc && c->plan && as_plan_is_silent(c->plan))
		rc = as_fail(err, AS_EUSE,
			     "fault %s: no promise can hold on a disk that loses or changes data "
			     "and reports no error; use faults that are reported, such as "
			     "write:2:eio",
			     faults);
	return rc;
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
	c->so_far = options->so_far;
	c->sinks = sinks;
	c->dedup = as_dedup_new();
	c->disk_fd = memfd_create("assay-crash", MFD_CLOEXEC);
	if (!rc && c->disk_fd < 0)
		rc = as_fail_errno(err, errno, "cannot make a file in memory");
	if (!rc)
		rc = read_plan(c, err);
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
	as_plan_free(c->plan);
	if (!c->run.state && c->shared)
		as_shared_free(c->shared, sizeof(*c->shared));
	if (c->disk_fd >= 0)
		close(c->disk_fd);
	free(c);
}
