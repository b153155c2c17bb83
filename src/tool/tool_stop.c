/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool_stop: see stop.h; shim/stop.c is the other side.
 *
 * Method. When a run has stopped, its record so far and what it printed are kept. For each disk,
 * the memfd gets the bytes of the disk with the writes of the record so far, and the record is cut
 * back to that point. So a record always begins with what was done before the stop, and replaying
 * it on the disk of that run gives the disk that the run left, as for any other run.
 */
#include "tool/stop.h"

#include "tool/tool_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A record that is longer is cut off by as_tool_harvest(). */
#define RECORD_MAX_BYTES (UINT64_C(4) << 20)
#define QUIT_MS 5000

struct as_tool_stopped {
	struct as_tool_job job;
	struct as_disk *now; /* as it is at the stop */
	struct as_tool_range ranges[AS_TOOL_STOPS_MAX];
	unsigned n;
	struct as_buf output; /* so far */
	uint64_t used, reads, maps;
	uint32_t refused;
	char note[AS_SHIM_NOTE_BYTES];
};

static void free_stop(struct as_tool *tool)
{
	struct as_tool_stopped *at = tool->at;

	tool->at = NULL;
	if (!at)
		return;
	as_disk_free(at->now);
	as_buf_free(&at->output);
	free(at);
}

static void quit(struct as_tool *tool)
{
	const char byte = AS_SHIM_QUIT;
	struct as_buf output = { 0 };

	if (tool->pid && tool->stopped &&
	    (send(tool->control_fd, &byte, 1, MSG_NOSIGNAL) != 1 ||
	     as_tool_await(tool, QUIT_MS, &output) != 1))
		as_tool_stop_server(tool);
	tool->running = tool->stopped = false;
	as_buf_free(&output);
}

static void keep(struct as_tool *tool, const struct as_tool_job *job, struct as_disk *disk,
		 const struct as_tool_range *ranges, unsigned n, struct as_tool_result *result)
{
	struct as_tool_stopped *at = tool->at = as_xcalloc(1, sizeof(*at));

	at->job = *job;
	at->n = n;
	memcpy(at->ranges, ranges, n * sizeof(*ranges));
	at->used = tool->head->used;
	at->reads = tool->head->reads;
	at->maps = tool->head->maps;
	at->refused = tool->head->refused;
	memcpy(at->note, tool->head->note, sizeof(at->note));
	as_buf_add(&at->output, as_buf_str(&result->output), result->output.len);
	as_tool_harvest(tool, disk, job->flags, result);
	at->now = as_disk_snapshot(result->disk);
}

int as_tool_stop_begin(struct as_tool *tool, const struct as_tool_job *job, struct as_disk *disk,
		       const struct as_tool_range *ranges, unsigned n, bool *stopped,
		       struct as_err *err)
{
	struct as_tool_result result = { 0 };
	int rc;

	*stopped = false;
	as_assert(!tool->stopped && n <= AS_TOOL_STOPS_MAX);
	if (tool->is_static || !n)
		return 0;
	rc = as_tool_pack_args(tool, job->argv, err);
	if (!rc)
		rc = as_tool_load(tool, disk, job, err);
	if (rc)
		return rc;
	tool->head->n_stops = n;
	for (unsigned i = 0; i < n; i++) {
		tool->head->stops[i].off = ranges[i].off;
		tool->head->stops[i].len = ranges[i].len;
	}
	rc = as_tool_go(tool, &result, err);
	if (rc)
		as_tool_forget(tool);
	else if (tool->stopped && tool->head->used <= RECORD_MAX_BYTES && !tool->head->overflowed)
		keep(tool, job, disk, ranges, n, &result);
	else
		as_tool_harvest(tool, disk, job->flags, &result);
	if (!rc && tool->stopped && !tool->at)
		quit(tool);
	*stopped = tool->stopped;
	as_tool_result_free(&result);
	return rc;
}

/* The disk as it is for this run at the stop: where it differs from the one that the first run
 * began with, nothing was written. */
static struct as_disk *disk_at_stop(const struct as_tool_stopped *at, struct as_disk *disk)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];
	struct as_disk *now;

	/* Before it touches anything at all. */
	if (at->n == 1 && !at->ranges[0].off && at->ranges[0].len >= as_disk_size(disk))
		return as_disk_snapshot(disk);
	now = as_disk_snapshot(at->now);
	for (unsigned i = 0; i < at->n; i++) {
		uint64_t off = at->ranges[i].off / sizeof(sector) * sizeof(sector);
		uint64_t end = at->ranges[i].off + at->ranges[i].len;

		for (; off < end; off += sizeof(sector)) {
			as_assert(!as_bd_read(as_disk_bd(disk), off, sector, sizeof(sector)));
			as_assert(!as_bd_write(as_disk_bd(now), off, sector, sizeof(sector)));
		}
	}
	return now;
}

bool as_tool_has_stopped(const struct as_tool *tool)
{
	return tool->stopped && tool->at;
}

int as_tool_stop_run(struct as_tool *tool, struct as_disk *disk, struct as_tool_result *result,
		     struct as_err *err)
{
	struct as_tool_stopped *at = tool->at;
	struct as_shim_head *head = tool->head;
	struct as_disk *now;
	int rc;

	memset(result, 0, sizeof(*result));
	as_assert(tool->stopped && at);
	now = disk_at_stop(at, disk);
	rc = as_tool_fill(tool, now, err);
	as_disk_free(now);
	if (rc)
		return rc;
	head->used = at->used;
	head->reads = at->reads;
	head->maps = at->maps;
	head->refused = at->refused;
	memcpy(head->note, at->note, sizeof(at->note));
	head->overflowed = 0;
	head->status = 0;
	head->pid = 0;
	as_buf_add(&result->output, as_buf_str(&at->output), at->output.len);
	rc = as_tool_go(tool, result, err);
	if (rc) {
		as_tool_forget(tool);
		return rc;
	}
	/* The process that has stopped waits for the next one, unless its server was killed. */
	tool->running = tool->stopped = tool->pid > 0;
	as_tool_harvest(tool, disk, at->job.flags, result);
	return 0;
}

void as_tool_stop_end(struct as_tool *tool)
{
	quit(tool);
	free_stop(tool);
}
