/* SPDX-License-Identifier: GPL-2.0-or-later */
/* subject_forks: runs that begin where the checker has stopped on a disk like theirs (stop.h) */
#include "fsck/subject_priv.h"

#include <stdlib.h>
#include <string.h>

#define ORDER_MAX_BYTES (UINT64_C(1) << 30) /* of a disk: there is a number for each sector */

/* The tool of a place; NULL: there is none. */
static int tool_at(struct as_fsck_subject *s, unsigned which, enum as_subject_mode mode,
		   struct as_tool **tool, struct as_err *err)
{
	struct as_tool_setup how = { .deadline_ms = s->now_ms,
				     .halt = s->halt,
				     .output_bytes = 256 << 10 };
	int rc = 0;

	*tool = NULL;
	/* The command that only looks may be another program. */
	if (!s->dynamic || strcmp(s->argv[mode][0], s->argv[0][0]))
		return 0;
	if (!s->forks[which][mode])
		rc = as_tool_start(s->program, &how, &s->forks[which][mode], err);
	*tool = rc ? NULL : s->forks[which][mode];
	return rc;
}

static void note_order(const struct as_reclog *log, uint32_t *order, uint64_t sectors)
{
	uint32_t reads = 0;

	for (size_t i = 0; i < as_reclog_len(log); i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);
		uint64_t end = (e->off + e->len + AS_DISK_SECTOR_BYTES - 1) / AS_DISK_SECTOR_BYTES;

		for (uint64_t k = e->off / AS_DISK_SECTOR_BYTES; k < end && k < sectors; k++)
			if (e->kind != AS_CALL_FLUSH && order[k] == UINT32_MAX)
				order[k] = reads;
		reads += e->kind == AS_CALL_READ;
	}
}

int as_subject_order(struct as_fsck_subject *s, enum as_subject_mode mode, struct as_disk *disk,
		     uint32_t **order, uint64_t *reads, struct as_err *err)
{
	uint64_t sectors = as_disk_size(disk) / AS_DISK_SECTOR_BYTES;
	struct as_tool_result result = { 0 };
	struct as_tool_job job = as_subject_job(s, mode);
	struct as_tool *tool;
	int rc = tool_at(s, 0, mode, &tool, err);

	*reads = 0;
	*order = NULL;
	if (rc || !tool || as_disk_size(disk) > ORDER_MAX_BYTES)
		return rc;
	*order = as_xmalloc((sectors + 1) * sizeof(**order));
	for (uint64_t i = 0; i < sectors; i++)
		(*order)[i] = UINT32_MAX;
	as_tool_stop_end(tool);
	job.flags |= AS_TOOL_READS;
	rc = as_tool_run(tool, &job, disk, &result, err);
	if (!rc && result.log && !result.maps && !result.incomplete) {
		note_order(result.log, *order, sectors);
		*reads = result.reads;
	}
	as_tool_result_free(&result);
	return rc;
}

int as_subject_fork_begin(struct as_fsck_subject *s, unsigned which, enum as_subject_mode mode,
			  struct as_disk *disk, const struct as_tool_range *ranges, unsigned n,
			  bool *forks, struct as_err *err)
{
	struct as_tool_job job = as_subject_job(s, mode);
	struct as_tool *tool;
	int rc = tool_at(s, which, mode, &tool, err);

	*forks = false;
	if (!rc && tool)
		rc = as_tool_stop_begin(tool, &job, disk, ranges, n, forks, err);
	/* Each run is forked before it touches its disk anyway. */
	if (!rc && *forks && !as_tool_stop_reads(tool)) {
		as_tool_stop_end(tool);
		*forks = false;
	}
	return rc;
}

uint64_t as_subject_fork_fits(const struct as_fsck_subject *s, unsigned which,
			      enum as_subject_mode mode, const struct as_disk *disk)
{
	const struct as_tool *tool = s->forks[which][mode];

	return tool && as_tool_stop_fits(tool, disk) ? as_tool_stop_reads(tool) : 0;
}

int as_subject_run_forked(struct as_fsck_subject *s, unsigned which, enum as_subject_mode mode,
			  struct as_disk *disk, struct as_subject_run *run, struct as_err *err)
{
	int rc;

	/* A run that had to be killed may have taken the others with it. */
	if (!as_tool_has_stopped(s->forks[which][mode]))
		return as_subject_run(s, mode, disk, run, err);
	memset(run, 0, sizeof(*run));
	rc = as_tool_stop_run(s->forks[which][mode], disk, &run->run, err);
	if (!rc)
		as_subject_give_meaning(s, mode, run);
	return rc;
}

void as_subject_fork_end(struct as_fsck_subject *s, unsigned which, enum as_subject_mode mode)
{
	if (s->forks[which][mode])
		as_tool_stop_end(s->forks[which][mode]);
}
