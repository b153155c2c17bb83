/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stop: a run that stops before it first touches some ranges of the disk, and is forked there: all
 * that it did so far is the same whatever these ranges hold, and is done once.
 *
 * Invariants
 *   1. Nothing of the ranges was read or changed before the stop, neither by a call nor through a
 *      map: shim_stop_at() comes before each of them.
 *   2. A process that is forked sees the files that are open as they were at the stop: descriptors
 *      share their offsets, so these are set back. Those of the disk are kept by the shim.
 *   3. A program that has several threads does not stop, because a fork would lose all but one.
 */
#include "tool/shim/shim.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#define SECTOR 512
#define REWIND_FROM 3u /* runs that are forked at first: to save memory costs as much as some */
#define REWIND_WORTH 16u /* runs for which one must serve in the mean */

static int control_fd = -1; /* -1: this run does not stop, or has stopped already */
static struct {
	int fd;
	off_t at;
} offsets[AS_SHIM_MAX_FD];
static unsigned n_offsets;

void shim_stop_setup(int fd)
{
	control_fd = fd;
	n_offsets = 0;
}

/* Sectors that are read to change a part of them count as touched. */
static bool is_touched(uint64_t off, uint64_t len)
{
	uint64_t from = off / SECTOR * SECTOR, to = (off + len + SECTOR - 1) / SECTOR * SECTOR;

	for (uint32_t i = 0; i < shim_head->n_stops && i < AS_SHIM_STOPS; i++)
		if (shim_head->stops[i].off < to &&
		    from < shim_head->stops[i].off + shim_head->stops[i].len)
			return true;
	return false;
}

static bool has_threads(void)
{
	struct stat st;

	/* A folder for each thread, "." and "..". */
	return shim_next()->stat("/proc/self/task", &st) || st.st_nlink != 3;
}

static void note_offsets(void)
{
	for (int fd = 0; fd < AS_SHIM_MAX_FD; fd++) {
		off_t at = shim_file(fd) ? -1 : shim_next()->lseek(fd, 0, SEEK_CUR);

		if (at >= 0) {
			offsets[n_offsets].fd = fd;
			offsets[n_offsets++].at = at;
		}
	}
}

void shim_stop_set_offsets(void)
{
	for (unsigned i = 0; i < n_offsets; i++)
		shim_next()->lseek(offsets[i].fd, offsets[i].at, SEEK_SET);
}

/* Waits for a run that was forked. False: nobody waits for its answer, because it came back at
 * least once and was not running. */
static bool await_run(pid_t pid)
{
	int status = pid < 0 ? -1 : shim_finish(pid);

	if (__atomic_load_n(&shim_head->quits, __ATOMIC_ACQUIRE))
		_exit(0);
	if (!__atomic_load_n(&shim_head->active, __ATOMIC_ACQUIRE))
		return false;
	shim_head->status = status;
	return true;
}

/* Returns in the processes that are forked only. */
static void serve_forks(int fd)
{
	pid_t self = shim_real_pid();
	char byte = AS_SHIM_STOPPED;
	unsigned runs = 0, workers = 0;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	note_offsets();
	if (shim_next()->write(fd, &byte, 1) != 1)
		_exit(127);
	while (shim_next()->read(fd, &byte, 1) == 1 && byte == AS_SHIM_GO) {
		bool rewinds;
		pid_t pid;

		shim_stop_set_offsets();
		/* Not as_stack_catch(): the program may have handlers of its own by now. */
		memset(&shim_head->stack, 0, sizeof(shim_head->stack));
		/* Some programs cannot be brought back, or only sometimes. */
		rewinds =
			++runs > REWIND_FROM && workers * REWIND_WORTH <= runs + shim_head->returns;
		workers += rewinds;
		shim_head->quits = 0;
		shim_head->active = 1;
		pid = shim_next()->fork();
		if (!pid) {
			shim_begin_run(self);
			shim_disk_forked();
			if (!rewinds || !shim_rewind_begin(fd))
				shim_next()->close(fd);
			return;
		}
		if (await_run(pid) && shim_next()->write(fd, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

void shim_stop_at(int64_t off, uint64_t len)
{
	int fd = control_fd, saved = errno;

	if (fd < 0 || off < 0 || !is_touched((uint64_t)off, len))
		return;
	control_fd = -1;
	if (has_threads())
		shim_next()->close(fd);
	else
		serve_forks(fd);
	errno = saved;
}
