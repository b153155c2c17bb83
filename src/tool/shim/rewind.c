/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rewind: a run that has ended goes back to where it was forked, and is the next run. A fork costs
 * little, but the page faults after it cost a third of a short run: pages of code are mapped again,
 * and pages that are written are copied, one by one. Here, all memory that the program may write is
 * saved once and copied back after each run, which is a few system calls.
 *
 * Invariants
 *   1. What a run sees at its beginning is what it would see after a fork: memory, registers, the
 *      break, descriptors and their offsets, handlers and the mask of signals, timers, the current
 *      folder, and the mask of new files.
 *   2. Whoever cannot be brought back ends as any other run: a program that has threads, that has
 *      forked, that has mapped the disk, whose mappings are others than before, or that was killed.
 *   3. An answer is sent before memory is copied back, and `active` is cleared before that. So if
 *      this process dies while it is not active, nobody waits for an answer of it.
 *
 * What this code needs itself is in a mapping of its own, which is not copied back: its stack, too.
 */
#include "tool/shim/shim.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#define STACK_BYTES (64u << 10)
#define REGIONS_MAX 128u
#define SAVED_MAX_BYTES (UINT64_C(4) << 20) /* to copy more costs as much as a fork */
#define FDS_MAX 12u /* that are open where runs begin */
#define SIGNALS 32
/* Descriptors of our own: above all that a checker opens, and below those of the server. */
enum { KEPT_FD = 200, KEPT_MAX_FD = AS_SHIM_MAX_FD - 9 };

static struct rewind {
	ucontext_t begin, end;
	pid_t pid;
	int control_fd, saved_fd, size_fd, folder_fd;
	int status;
	bool saved, active;
	struct iovec regions[REGIONS_MAX];
	unsigned n_regions;
	uintptr_t top; /* the break */
	uint64_t pages; /* of all mappings */
	struct {
		int fd, kept, flags;
	} fds[FDS_MAX];
	unsigned n_fds;
	struct sigaction handlers[SIGNALS];
	mode_t mask;
	char stack[STACK_BYTES] __attribute__((aligned(64)));
} * rewind_state;

/* ---- What is saved ---- */

static int keep_fd(int fd)
{
	int kept = fd < 0 ? -1 : shim_next()->fcntl(fd, F_DUPFD_CLOEXEC, KEPT_FD);

	if (fd >= 0)
		shim_next()->close(fd);
	return kept;
}

/* The first word of statm: pages of all mappings. 0: nobody knows. */
static uint64_t count_pages(const struct rewind *r)
{
	char line[64];
	ssize_t n = shim_next()->pread(r->size_fd, line, sizeof(line) - 1, 0);

	line[n > 0 ? n : 0] = '\0';
	return strtoul(line, NULL, 10);
}

/* A line of /proc/self/maps: "from-to rw-p ...". False: there are too many. */
static bool add_region(struct rewind *r, const char *line)
{
	char *end;
	uintptr_t from = strtoul(line, &end, 16), to = strtoul(end + 1, &end, 16);

	if (strncmp(end, " rw-p", 5) && strncmp(end, " rwxp", 5))
		return true;
	if ((uintptr_t)r >= from && (uintptr_t)r < to)
		return to - from < sizeof(*r) + 2 * (uintptr_t)4096;
	if (r->n_regions == REGIONS_MAX)
		return false;
	r->regions[r->n_regions].iov_base = (void *)from;
	r->regions[r->n_regions++].iov_len = to - from;
	return true;
}

static bool find_regions(struct rewind *r)
{
	int fd = shim_next()->open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	bool fine = fd >= 0;
	ssize_t n = 0;

	/* On our own stack, which is not in use yet. */
	while (fine && (n = shim_next()->read(fd, r->stack + have, STACK_BYTES - have - 1)) > 0) {
		char *line = r->stack, *next;

		have += (size_t)n;
		r->stack[have] = '\0';
		while (fine && (next = strchr(line, '\n'))) {
			*next = '\0';
			fine = add_region(r, line);
			line = next + 1;
		}
		have -= (size_t)(line - r->stack);
		memmove(r->stack, line, have);
	}
	if (fd >= 0)
		shim_next()->close(fd);
	return fine && !n;
}

static uint64_t region_bytes(const struct rewind *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < r->n_regions; i++)
		sum += r->regions[i].iov_len;
	return sum;
}

static bool find_fds(struct rewind *r)
{
	for (int fd = 0; fd < KEPT_FD; fd++) {
		int flags = shim_next()->fcntl(fd, F_GETFD);

		if (flags < 0)
			continue;
		if (r->n_fds == FDS_MAX)
			return false;
		r->fds[r->n_fds].fd = fd;
		r->fds[r->n_fds].flags = flags & FD_CLOEXEC ? O_CLOEXEC : 0;
		r->fds[r->n_fds].kept = shim_next()->fcntl(fd, F_DUPFD_CLOEXEC, KEPT_FD);
		if (r->fds[r->n_fds++].kept < 0)
			return false;
	}
	return true;
}

static bool prepare(struct rewind *r)
{
	r->saved_fd = keep_fd((int)syscall(SYS_memfd_create, "assay-rewind", MFD_CLOEXEC));
	r->size_fd = keep_fd(shim_next()->open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
	r->folder_fd = keep_fd(shim_next()->open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (r->saved_fd < 0 || r->size_fd < 0 || r->folder_fd < 0 || !find_fds(r))
		return false;
	for (int i = 1; i < SIGNALS; i++)
		if (sigaction(i, NULL, &r->handlers[i]))
			return false;
	r->mask = umask(0);
	umask(r->mask);
	r->top = (uintptr_t)sbrk(0);
	/* A process that outlives its parent comes to us, so that we see it. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	r->pages = count_pages(r);
	return r->pages && find_regions(r) && region_bytes(r) <= SAVED_MAX_BYTES;
}

/* All of the regions in one call: no memory changes while the kernel copies. */
static bool save(struct rewind *r)
{
	return syscall(SYS_pwritev, (long)r->saved_fd, (long)(uintptr_t)r->regions,
		       (long)r->n_regions, 0L, 0L) == (long)region_bytes(r);
}

static void give_up(struct rewind *r)
{
	int fds[] = { r->saved_fd, r->size_fd, r->folder_fd };

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			shim_next()->close(fds[i]);
	for (unsigned i = 0; i < r->n_fds; i++)
		if (r->fds[i].kept >= 0)
			shim_next()->close(r->fds[i].kept);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	shim_next()->munmap(r, sizeof(*r));
}

/* ---- The end of a run ---- */

static bool can_go_back(const struct rewind *r)
{
	siginfo_t info;

	return r && r->active && r->pid == shim_real_pid() && shim_is_alone() && !shim_head->maps &&
	       !shim_head->mapped &&
	       /* It has no children, neither living nor dead. */
	       waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static bool bring_back_fds(const struct rewind *r)
{
	int next = 0;

	for (unsigned i = 0; i < r->n_fds; i++) {
		while (next < r->fds[i].fd)
			shim_next()->close(next++);
		if (shim_next()->dup3(r->fds[i].kept, r->fds[i].fd, r->fds[i].flags) < 0)
			return false;
		next = r->fds[i].fd + 1;
	}
	return !syscall(SYS_close_range, (long)next, (long)(KEPT_FD - 1), 0L);
}

static bool bring_back(struct rewind *r)
{
	static const struct itimerval none;

	if (syscall(SYS_brk, (long)r->top) != (long)r->top || count_pages(r) != r->pages)
		return false;
	if (syscall(SYS_preadv, (long)r->saved_fd, (long)(uintptr_t)r->regions, (long)r->n_regions,
		    0L, 0L) != (long)region_bytes(r))
		return false;
	for (int i = 1; i < SIGNALS; i++)
		if (i != SIGKILL && i != SIGSTOP && sigaction(i, &r->handlers[i], NULL))
			return false;
	for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++)
		setitimer((__itimer_which_t)i, &none, NULL);
	umask(r->mask);
	return !fchdir(r->folder_fd) && bring_back_fds(r);
}

/* On the stack of its own. */
static void at_end(void)
{
	struct rewind *r = rewind_state;
	char byte = AS_SHIM_GO;

	shim_head->status = r->status;
	r->active = false;
	__atomic_store_n(&shim_head->active, 0, __ATOMIC_RELEASE);
	if (shim_next()->write(r->control_fd, &byte, 1) != 1 || !bring_back(r))
		syscall(SYS_exit_group, 0L);
	shim_disk_warm();
	if (shim_next()->read(r->control_fd, &byte, 1) != 1 || byte != AS_SHIM_GO) {
		__atomic_store_n(&shim_head->quits, 1, __ATOMIC_RELEASE);
		syscall(SYS_exit_group, 0L);
	}
	__atomic_store_n(&shim_head->active, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&shim_head->pid, r->pid, __ATOMIC_RELEASE);
	shim_head->returns++;
	r->active = true;
	shim_stop_set_offsets();
	memset(&shim_head->stack, 0, sizeof(shim_head->stack));
	setcontext(&r->begin);
	syscall(SYS_exit_group, 127L);
}

static void end_run(int status)
{
	rewind_state->status = (status & 0xff) << 8;
	setcontext(&rewind_state->end);
}

/* The last of the functions that exit() calls: it was registered before main. */
void shim_rewind_at_exit(int status, void *ctx)
{
	(void)ctx;
	if (!can_go_back(rewind_state))
		return;
	fflush(NULL); /* what is left to do */
	end_run(status);
}

SHIM_EXPORT void _exit(int status)
{
	if (can_go_back(rewind_state))
		end_run(status);
	for (;;)
		syscall(SYS_exit_group, (long)status);
}
SHIM_ALIAS(_Exit, _exit);

/* ---- The beginning ---- */

bool shim_rewind_is_ours(int fd)
{
	return rewind_state && fd >= KEPT_FD;
}

bool shim_rewind_begin(int control_fd)
{
	struct rewind *r = shim_next()->mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED)
		return false;
	*r = (struct rewind){ .pid = shim_real_pid(),
			      .control_fd = control_fd,
			      .saved_fd = -1,
			      .size_fd = -1,
			      .folder_fd = -1 };
	if (!shim_is_alone() || shim_head->maps || !prepare(r) || getcontext(&r->end)) {
		give_up(r);
		return false;
	}
	r->end.uc_stack.ss_sp = r->stack;
	r->end.uc_stack.ss_size = sizeof(r->stack);
	r->end.uc_link = NULL;
	makecontext(&r->end, at_end, 0);
	rewind_state = r;
	r->active = true;
	if (getcontext(&r->begin))
		return false;
	/* Each run but the first one comes from at_end(). */
	r = rewind_state;
	if (!r->saved) {
		r->saved = true;
		r->active = save(r);
	}
	return true;
}
