/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_race: one workload in several threads (race/race.h), several times. */
#include "run/runner_priv.h"

#include "instance/instance.h"
#include "symptom/still.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* One child for all the runs. With AS_INSTANCE_CERTAIN, and so with AS_INSTANCE_BATCH. */
static int race_together(struct as_runner *r, const struct as_work *one, unsigned repeat,
			 struct as_run_result *result, struct as_err *err)
{
	const struct as_seq **seqs = as_xcalloc(repeat, sizeof(*seqs));
	const char **names = as_xcalloc(repeat, sizeof(*names));
	struct as_work batch = { .seqs = seqs, .names = names, .n = repeat };
	int rc;

	for (unsigned i = 0; i < repeat; i++) {
		seqs[i] = one->seqs[0];
		names[i] = one->names[0];
	}
	rc = as_runner_once(r, &batch, r->options.faults, r->plan, result, err);
	free(seqs);
	free(names);
	return rc;
}

/* Counts how often the same seed finds the same again. The shared memory stays as it was. */
static int race_rate(struct as_runner *r, const struct as_work *one, unsigned repeat,
		     struct as_run_result *result, struct as_err *err)
{
	size_t bytes = offsetof(struct as_child_shared, fresh);
	struct as_child_shared *found = as_xmalloc(bytes);
	struct as_race_options race = r->options.race;
	unsigned again = 0, number = r->race_run;
	int disk_fd = r->disk_fd, rc = 0;
	char *detail = r->shared->notice.detail;
	size_t len;

	memcpy(found, r->shared, bytes);
	r->disk_fd = memfd_create("assay-disk", MFD_CLOEXEC);
	if (r->disk_fd < 0)
		rc = as_fail_errno(err, errno, "cannot make a file in memory");
	r->options.race.seed = as_runner_race_seed(r);
	r->race_run = 0;
	for (unsigned i = 0; i < repeat && !rc; i++) {
		rc = as_runner_once(r, one, r->options.faults, r->plan, result, err);
		again += !rc && r->shared->notice.is &&
			 as_still_fails(AS_STILL_EXACTLY, found->notice.signature,
					r->shared->notice.signature);
	}
	if (r->disk_fd >= 0)
		close(r->disk_fd);
	r->disk_fd = disk_fd;
	r->options.race = race;
	r->race_run = number;
	found->alive = r->shared->alive;
	memcpy(r->shared, found, bytes);
	free(found);
	len = strlen(detail);
	as_notice_text(detail + len, sizeof(r->shared->notice.detail) - len,
		       "with its seed and delays it came again in %u of %u runs\n", again, repeat);
	return rc;
}

int as_runner_race(struct as_runner *r, const struct as_seq *seq, const char *name,
		   struct as_run_result *result, struct as_err *err)
{
	const struct as_race_options *race = &r->options.race;
	unsigned repeat = race->repeat ? race->repeat : AS_RACE_REPEAT;
	const struct as_seq *form = as_race_form(seq, r->fresh_model, false, &result->skipped);
	struct as_work one = { .seqs = &form, .names = &name, .n = 1 };
	bool certain = r->caps & AS_INSTANCE_CERTAIN;
	int rc = 0;

	r->race_run = 0;
	r->shared->notice.is = false;
	r->quiet = true;
	if (certain)
		rc = race_together(r, &one, repeat, result, err);
	for (unsigned i = 0; i < repeat && !certain && !rc && !r->shared->notice.is; i++) {
		r->race_run = i;
		rc = as_runner_once(r, &one, r->options.faults, r->plan, result, err);
	}
	if (!rc && r->shared->notice.is && !certain && !race->seed)
		rc = race_rate(r, &one, repeat, result, err);
	if (!rc && r->shared->notice.is && race->seed && !certain)
		as_emit_note(r->sinks, "%s: seed %llu, run %u of at most %u", name,
			     (unsigned long long)race->seed, r->race_run + 1, repeat);
	r->quiet = false;
	if (!rc && r->shared->notice.is)
		rc = as_runner_report(r, form, name, r->options.faults, result, err);
	as_seq_free((struct as_seq *)form);
	return rc;
}
