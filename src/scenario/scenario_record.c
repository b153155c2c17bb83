/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario_record: runs each workload once on a recorded disk, and tells the record as a tape
 * (recording/tape.h), piece by piece, to who gave the workload. Nothing is judged and nothing is
 * found. A target that dies or hangs is an error.
 */
#include "child/child.h"
#include "os/spawn.h"
#include "recording/tape.h"
#include "scenario/scenario_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct recording_shared {
	volatile uint64_t alive;
	struct as_host_log log;
	struct as_stack stack;
	int rc;
	struct as_err err;
};

struct record_scenario {
	struct as_runner *runner;
	const struct as_target *target;
	struct as_run_options options;
	struct as_sink *sinks;
	struct recording_shared *shared;
	int fd;
};

struct record_work {
	struct record_scenario *s;
	const struct as_seq *seq;
};

static void record_close(struct as_scenario *scenario)
{
	struct record_scenario *s = (struct record_scenario *)scenario;

	if (!s)
		return;
	as_runner_free(s->runner);
	if (s->shared)
		as_shared_free(s->shared, sizeof(*s->shared));
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static int record_open(const struct as_scenario_args *args, struct as_scenario **scenario,
		       struct as_err *err)
{
	struct record_scenario *s = as_xcalloc(1, sizeof(*s));
	int rc = 0;

	s->target = args->targets[0];
	s->options = *args->options;
	s->sinks = args->sinks;
	s->fd = memfd_create("assay-tape", MFD_CLOEXEC);
	if (s->fd < 0)
		rc = as_fail_errno(err, errno, "cannot make a file in memory");
	if (!rc)
		rc = as_runner_new(s->target, &s->options, s->sinks, &s->runner, err);
	s->shared = as_shared_alloc(sizeof(*s->shared));
	*scenario = (struct as_scenario *)s;
	if (rc) {
		record_close(*scenario);
		*scenario = NULL;
	}
	return rc;
}

/* ---- In the child ---------------------------------------------------------------------------- */

static void put_piece(void *ctx, const char *text)
{
	struct record_scenario *s = ctx;
	size_t len = strlen(text), at = 0;

	while (at < len && !s->shared->rc) {
		ssize_t n = write(s->fd, text + at, len - at);

		if (n <= 0)
			s->shared->rc = as_fail_errno(&s->shared->err, errno, "cannot write");
		else
			at += (size_t)n;
	}
	if (!s->shared->rc && write(s->fd, "\n", 1) != 1)
		s->shared->rc = as_fail_errno(&s->shared->err, errno, "cannot write");
}

static void step(void *ctx, int64_t op)
{
	struct record_scenario *s = ctx;

	(void)op;
	s->shared->alive++;
}

static int record_child(void *ctx)
{
	const struct record_work *w = ctx;
	struct record_scenario *s = w->s;
	struct recording_shared *sh = s->shared;
	struct as_record_args args = { .target = s->target,
				       .fresh = as_runner_fresh(s->runner),
				       .seq = w->seq,
				       .seed = s->options.seed,
				       .choices = s->options.choices,
				       .log = &sh->log,
				       .step = step,
				       .ctx = s };
	struct as_recording recording = { 0 };

	as_child_begin(&sh->stack);
	sh->rc = as_target_load(s->target, &sh->err);
	if (!sh->rc)
		sh->rc = as_record(&args, &recording, &sh->err);
	sh->alive++;
	if (!sh->rc)
		sh->rc = as_tape_print(&recording, put_piece, s, &sh->err);
	as_recording_free(&recording);
	return 0;
}

/* ---- In the parent --------------------------------------------------------------------------- */

static int tell(struct record_scenario *s, struct as_err *err)
{
	off_t len = lseek(s->fd, 0, SEEK_END);
	char *text =
		len > 0 ? mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_PRIVATE, s->fd, 0)
			: MAP_FAILED;

	if (text == MAP_FAILED)
		return as_fail_errno(err, errno, "cannot read the record");
	for (char *at = text, *end; (end = memchr(at, '\n', (size_t)(text + len - at)));
	     at = end + 1) {
		*end = '\0';
		as_emit_told(s->sinks, at);
		if (end + 1 == text + len)
			break;
	}
	munmap(text, (size_t)len);
	return 0;
}

static int record_run(struct as_scenario *scenario, const struct as_work *work,
		      struct as_run_result *result, struct as_err *err)
{
	struct record_scenario *s = (struct record_scenario *)scenario;
	struct record_work w = { s, work->seqs[0] };
	unsigned deadline = s->options.deadline_ms ? s->options.deadline_ms : AS_RUN_DEADLINE_MS;
	struct as_spawn_limits limits = { .deadline_ms = deadline,
					  .alive = &s->shared->alive,
					  .stop = s->options.stop };
	struct as_ended ended;
	int rc;

	result->workloads = 1;
	memset(s->shared, 0, sizeof(*s->shared));
	if (ftruncate(s->fd, 0) || lseek(s->fd, 0, SEEK_SET))
		return as_fail_errno(err, errno, "cannot empty a file in memory");
	rc = as_spawn_fork_limited(record_child, &w, &limits, &ended, err);
	if (!rc && ended.how != AS_END_EXIT)
		rc = as_fail(err, AS_EIO, "%s: the target %s while %s was recorded",
			     as_target_spec(s->target),
			     ended.how == AS_END_SIGNAL ? "died" : "did not come back",
			     work->names[0]);
	if (!rc && s->shared->rc) {
		rc = s->shared->rc;
		if (err)
			*err = s->shared->err;
	}
	if (!rc)
		rc = tell(s, err);
	result->runs = 1;
	result->ops = work->seqs[0]->n;
	return rc;
}

const struct as_scenario_ops as_scenario_record = {
	.api = AS_SCENARIO_API,
	.name = "record",
	.help = "what a workload does to its disk; only for `assay fsck --model crash`",
	.batch = 1,
	.batch_here = 1,
	.open = record_open,
	.run = record_run,
	.close = record_close,
};
