/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server: stands at the first read of a range and forks a child for each run.
 *
 * Method: the parent never goes on from there. A child runs the checker to its end; the code that
 * it had to translate is noted in memory that both share (the end of the log's file), and the
 * parent translates it, too, so that the next child finds it.
 *
 * Invariants
 *  1. A run begins with the descriptors' positions that the first one had: they are shared by
 *     all.
 *  2. The parent has no symbolic byte, no node and no shadow. */
#include "core.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_libcsignal.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "vg.h"

#define FD_FIRST 3 /* the standard ones may be shared with whoever started us */
#define FDS_MAX 256

Bool as_vg_in_run;
UInt as_vg_seen;
static Bool no_cover;
static Int command = -1, answer = -1;
static Long positions[FDS_MAX];
static ULong ready_instructions;
static struct {
	UInt room;
	UInt count;
	ULong addr[];
} * translated;
static Bool is_child, is_muted, is_forking; /* is_forking: a run, not the checker */
static Int own_pid;

Bool as_vg_serving(void)
{
	return command >= 0;
}

/* A run dies with the server, and what a run forks dies with the run. A process that the checker
 * forks is not followed: there is one log. */
static void on_fork(ThreadId tid)
{
	(void)tid;
	VG_(prctl)(VKI_PR_SET_PDEATHSIG, VKI_SIGKILL, 0, 0, 0);
	if (VG_(getppid)() != own_pid)
		VG_(exit)(1);
	own_pid = VG_(getpid)();
	as_vg_in_run = False;
	is_muted = True;
}

static void on_forked(ThreadId tid)
{
	(void)tid;
	if (!is_forking)
		as_vg_see(AS_SYMLOG_F_FORKS);
}

void as_vg_see(UInt flag)
{
	if (is_muted)
		return;
	as_vg_seen |= flag;
	as_vg_head->flags |= flag;
}

Bool as_vg_muted(void)
{
	return is_muted;
}

void as_vg_server_start(void)
{
	own_pid = VG_(getpid)();
	VG_(atfork)(NULL, on_forked, on_fork);
}

void as_vg_server_open(Int cmd, Int ans)
{
	command = VG_(safe_fd)(cmd);
	answer = VG_(safe_fd)(ans);
}

void as_vg_server_notes(void *at, SizeT bytes)
{
	translated = at;
	translated->room = (UInt)(bytes / 8) - 1;
	translated->count = 0;
}

void as_vg_server_translated(Addr at)
{
	if (is_child && translated && translated->count < translated->room)
		translated->addr[translated->count++] = at;
}

Bool as_vg_run_covers(void)
{
	return !no_cover;
}

static Bool take(void *to, Int bytes)
{
	Int n = 0;

	while (n < bytes) {
		Int got = VG_(read)(command, (UChar *)to + n, bytes - n);

		if (got == -VKI_EINTR)
			continue;
		if (got <= 0)
			return False;
		n += got;
	}
	return True;
}

static void say(const struct as_symlog_answer *a)
{
	if (VG_(write)(answer, a, sizeof *a) != sizeof *a)
		VG_(exit)(1);
}

static void say_kind(UInt kind)
{
	struct as_symlog_answer a = { .kind = kind,
				      .nodes = as_vg_head->nodes_count,
				      .events_bytes = as_vg_head->events_bytes,
				      .instructions = as_vg_instructions };

	say(&a);
}

void as_vg_server_unreached(void)
{
	if (as_vg_serving() && !is_child)
		say_kind(AS_SYMLOG_UNREACHED);
}

static ULong micros(void)
{
	struct vki_timespec t;

	VG_(clock_gettime)(&t, VKI_CLOCK_MONOTONIC);
	return (ULong)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void save_positions(void)
{
	for (Int fd = FD_FIRST; fd < FDS_MAX; fd++)
		positions[fd] = VG_(lseek)(fd, 0, VKI_SEEK_CUR);
}

static void restore_positions(void)
{
	for (Int fd = FD_FIRST; fd < FDS_MAX; fd++)
		if (positions[fd] >= 0)
			VG_(lseek)(fd, positions[fd], VKI_SEEK_SET);
}

static void begin_run(void)
{
	as_vg_log_start();
	as_vg_expr_start();
	as_vg_shadow_start();
	as_vg_in_run = True;
	is_muted = False;
	/* A run that is killed has no end, but its sites mean something. */
	as_vg_objects();
	as_vg_io_inputs();
}

/* What the child translated, the parent translates, if it has the same code there. */
static void translate_again(void)
{
	ThreadId tid = VG_(get_running_tid)();

	for (UInt i = 0; i < translated->count; i++) {
		Addr at = translated->addr[i], host;
		const NSegment *seg = VG_(am_find_nsegment)(at);

		if (!seg || !seg->hasX || seg->kind != SkFileC)
			continue;
		if (!VG_(search_transtab)(&host, NULL, NULL, at, False))
			VG_(translate)(tid, at, False, 0, 0, True);
	}
	translated->count = 0;
}

static Bool wait_for(Int pid, Int life, UInt deadline_ms, Int *status)
{
	struct vki_pollfd p = { .fd = life, .events = VKI_POLLIN };
	ULong end = micros() + (ULong)deadline_ms * 1000;
	Bool in_time = True;

	for (;;) {
		ULong now = micros();
		SysRes r;

		if (deadline_ms && now >= end) {
			in_time = False;
			VG_(kill)(pid, VKI_SIGKILL);
			break;
		}
		r = VG_(poll)(&p, 1, deadline_ms ? (Int)((end - now) / 1000) + 1 : -1);
		if (!sr_isError(r) && sr_Res(r) > 0)
			break;
	}
	while (VG_(waitpid)(pid, status, 0) == -1)
		;
	return in_time;
}

/*
 * VG_(fork) lets the child wait for a byte from the server, in a pipe whose other end the child
 * has, too: if the server is killed just then, the child waits for ever. This one goes on to
 * on_fork(), which looks whether the server is still there. VG_(fork) also sees to it that the
 * checker gets no SIGCHLD for the child; but the server never goes on with the checker.
 */
static Int plain_fork(void)
{
	Long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((Long)__NR_fork)
			 : "rcx", "r11", "memory", "cc");
	return (Int)result;
}

/* Returns True in the child. */
static Bool run(const struct as_symlog_cmd *c)
{
	struct as_symlog_answer a = { .kind = AS_SYMLOG_DONE };
	ThreadId tid = VG_(get_running_tid)();
	ULong began = micros();
	Int life[2], pid, status = 0;

	restore_positions();
	as_vg_log_start();
	tl_assert(VG_(pipe)(life) == 0);
	life[0] = VG_(safe_fd)(life[0]);
	life[1] = VG_(safe_fd)(life[1]);
	is_forking = True;
	VG_(do_atfork_pre)(tid);
	pid = plain_fork();
	if (pid == 0) {
		VG_(do_atfork_child)(tid);
		is_child = True;
		is_forking = False;
		no_cover = c->flags & AS_SYMLOG_C_NO_COVER;
		VG_(close)(life[0]);
		begin_run();
		return True;
	}
	VG_(do_atfork_parent)(tid);
	is_forking = False;
	tl_assert(pid > 0);
	VG_(close)(life[1]);
	if (!wait_for(pid, life[0], c->deadline_ms, &status))
		a.kind = AS_SYMLOG_LATE;
	VG_(close)(life[0]);
	a.micros = micros() - began;
	a.status = status;
	a.nodes = as_vg_head->nodes_count;
	a.events_bytes = as_vg_head->events_bytes;
	if (as_vg_head->flags & AS_SYMLOG_F_ENDED)
		a.instructions = as_vg_head->instructions - ready_instructions;
	say(&a);
	translate_again();
	return False;
}

static Bool take_ranges(UInt count)
{
	if (!count)
		return True;
	if (count > AS_SYMLOG_RANGES_MAX)
		return False;
	as_vg_range_count = count;
	return take(as_vg_ranges, (Int)(count * sizeof as_vg_ranges[0]));
}

static void serve(void)
{
	struct as_symlog_cmd c;

	if (VG_(count_living_threads)() != 1) {
		say_kind(AS_SYMLOG_UNFIT);
		VG_(exit)(0);
	}
	save_positions();
	ready_instructions = as_vg_instructions;
	say_kind(AS_SYMLOG_READY);
	while (take(&c, sizeof c) && c.kind == AS_SYMLOG_RUN && take_ranges(c.ranges))
		if (run(&c))
			return;
	VG_(exit)(0);
}

void as_vg_server_here(void)
{
	if (as_vg_in_run || is_muted || as_vg_cover_only)
		return;
	if (as_vg_serving())
		serve();
	else
		begin_run();
}
