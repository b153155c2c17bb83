/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool_stop: see stop.h; shim/stop.c is the other side.
 *
 * Method. When a run has stopped, its record so far and what it printed are kept. For each disk,
 * the memfd gets the bytes of the disk with the writes of the record so far, and the record is cut
 * back to that point. So a record always begins with what was done before the stop, and replaying
 * it on the disk of that run gives the disk that the run left, as for any other run.
 *
 * Up to the stop, reads are recorded, too: they say which sectors the run depends on so far.
 *
 * Invariants
 *   1. `touched` has every sector that was read, written or mapped before the stop.
 *   2. A disk is forked only if these sectors are equal to those of `begun`.
 */
#include "tool/stop.h"

#include "tool/tool_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A record that is longer is cut off by as_tool_harvest(). */
#define RECORD_MAX_BYTES (UINT64_C(4) << 20)
#define QUIT_MS 5000
#define DISK_MAX_BYTES (UINT64_C(1) << 30) /* there is a byte for each sector */

struct as_tool_stopped {
	struct as_tool_job job;
	struct as_disk *begun, *now; /* the disk at the beginning, and at the stop */
	unsigned char *touched; /* of each sector: enum sector_use */
	uint64_t sectors, n_touched;
	bool wrote;
	struct as_buf output; /* so far */
	uint64_t used, reads, maps;
	uint32_t refused;
	char note[AS_SHIM_NOTE_BYTES];
};

enum sector_use { TOUCHED = 1, WRITTEN = 2 };

static void free_stop(struct as_tool *tool)
{
	struct as_tool_stopped *at = tool->at;

	tool->at = NULL;
	if (!at)
		return;
	as_disk_free(at->begun);
	as_disk_free(at->now);
	free(at->touched);
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

static void touch(struct as_tool_stopped *at, uint64_t off, uint64_t len, unsigned char how)
{
	uint64_t end = (off + len + AS_DISK_SECTOR_BYTES - 1) / AS_DISK_SECTOR_BYTES;

	for (uint64_t i = off / AS_DISK_SECTOR_BYTES; i < end && i < at->sectors; i++) {
		at->n_touched += !at->touched[i];
		at->touched[i] |= how;
	}
	at->wrote |= how & WRITTEN;
}

/* What the run has read and written so far. A map may be read at any time. */
static void note_touched(struct as_tool_stopped *at, const struct as_reclog *log, uint64_t size)
{
	/* Before it touches anything at all. */
	if (!as_reclog_len(log) && !at->maps)
		return;
	at->sectors = (size + AS_DISK_SECTOR_BYTES - 1) / AS_DISK_SECTOR_BYTES;
	at->touched = as_xcalloc(at->sectors + 1, 1);
	for (size_t i = 0; i < as_reclog_len(log); i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);

		if (e->kind == AS_CALL_READ)
			touch(at, e->off, e->len, TOUCHED);
		else if (e->kind != AS_CALL_FLUSH)
			touch(at, e->off, e->len, TOUCHED | WRITTEN);
	}
	if (at->maps)
		touch(at, 0, size, TOUCHED);
}

static void keep(struct as_tool *tool, const struct as_tool_job *job, struct as_disk *disk,
		 struct as_tool_result *result)
{
	struct as_tool_stopped *at = tool->at = as_xcalloc(1, sizeof(*at));

	at->job = *job;
	at->used = tool->head->used;
	at->reads = tool->head->reads;
	at->maps = tool->head->maps;
	at->refused = tool->head->refused;
	memcpy(at->note, tool->head->note, sizeof(at->note));
	as_buf_add(&at->output, as_buf_str(&result->output), result->output.len);
	as_tool_harvest(tool, disk, job->flags | AS_TOOL_READS, result);
	at->begun = as_disk_snapshot(disk);
	at->now = as_disk_snapshot(result->disk);
	note_touched(at, result->log, as_disk_size(disk));
	if (!(job->flags & AS_TOOL_READS))
		tool->head->flags &= ~(uint32_t)AS_SHIM_READS;
}

int as_tool_stop_begin(struct as_tool *tool, const struct as_tool_job *job, struct as_disk *disk,
		       const struct as_tool_range *ranges, unsigned n, bool *stopped,
		       struct as_err *err)
{
	struct as_tool_result result = { 0 };
	int rc;

	*stopped = false;
	as_assert(!tool->stopped && n <= AS_TOOL_STOPS_MAX);
	if (tool->is_static || !n ||
	    (as_disk_size(disk) > DISK_MAX_BYTES && ranges[0].len < as_disk_size(disk)))
		return 0;
	rc = as_tool_pack_args(tool, job->argv, err);
	if (!rc)
		rc = as_tool_load(tool, disk, job, err);
	if (rc)
		return rc;
	tool->head->n_stops = n;
	tool->head->flags |= AS_SHIM_READS;
	for (unsigned i = 0; i < n; i++) {
		tool->head->stops[i].off = ranges[i].off;
		tool->head->stops[i].len = ranges[i].len;
	}
	rc = as_tool_go(tool, &result, err);
	if (rc)
		as_tool_forget(tool);
	else if (tool->stopped && tool->head->used <= RECORD_MAX_BYTES && !tool->head->overflowed)
		keep(tool, job, disk, &result);
	else
		as_tool_harvest(tool, disk, job->flags, &result);
	if (!rc && tool->stopped && !tool->at)
		quit(tool);
	*stopped = tool->stopped;
	as_tool_result_free(&result);
	return rc;
}

/* The disk as it is for this run at the stop: as it began, with what was written since. */
static struct as_disk *disk_at_stop(const struct as_tool_stopped *at, struct as_disk *disk)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];
	struct as_disk *now = as_disk_snapshot(disk);

	for (uint64_t i = 0; at->wrote && i < at->sectors; i++) {
		uint64_t off = i * sizeof(sector);

		if (!(at->touched[i] & WRITTEN))
			continue;
		as_assert(!as_bd_read(as_disk_bd(at->now), off, sector, sizeof(sector)));
		as_assert(!as_bd_write(as_disk_bd(now), off, sector, sizeof(sector)));
	}
	return now;
}

/* Not 0: a sector that was touched differs. */
static int differs(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	const struct as_tool_stopped *at = ctx;
	uint64_t first = index * (AS_CHUNK_BYTES / AS_DISK_SECTOR_BYTES);

	for (unsigned i = 0; i < AS_CHUNK_BYTES / AS_DISK_SECTOR_BYTES; i++)
		if (first + i < at->sectors && at->touched[first + i] &&
		    memcmp(a + i * AS_DISK_SECTOR_BYTES, b + i * AS_DISK_SECTOR_BYTES,
			   AS_DISK_SECTOR_BYTES))
			return 1;
	return 0;
}

bool as_tool_stop_fits(const struct as_tool *tool, const struct as_disk *disk)
{
	struct as_tool_stopped *at = tool->at;

	return as_tool_has_stopped(tool) && as_disk_size(at->begun) == as_disk_size(disk) &&
	       (!at->n_touched || !as_disk_diff(at->begun, disk, differs, at));
}

uint64_t as_tool_stop_reads(const struct as_tool *tool)
{
	return as_tool_has_stopped(tool) ? tool->at->reads : 0;
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
	as_assert(as_tool_stop_fits(tool, disk));
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
