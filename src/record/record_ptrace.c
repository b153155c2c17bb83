/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_ptrace: recording without privileges: ptrace, with a seccomp filter that stops only at the
 * calls of interest.
 *
 * Method. A call of interest stops twice. The filter stops it before it begins; the tracee is only
 * told to stop again after the call. At the second stop the registers hold number, arguments and
 * result, since the kernel leaves the arguments in place. Memory is read then; the call is counted
 * while the tracee runs on. Every other call costs nothing. As "inprocess", most calls do not stop
 * at all: see record_ptrace_priv.h.
 *
 *  1. A tracee does not run before the world knows it: a child may be seen before the event of its
 *     parent.
 *  2. What a task inherits, shares or loses comes from ptrace's events (fork, exec, exit), never
 *     from those calls themselves.
 *  3. A tracee's call is open (`in_call`) from the first of its two stops to the second: until
 *     then it is resumed in the mode that makes the second one happen.
 *  4. A fork whose event is lost, since another thread has ended the one that was to report it, is
 *     found when the process has executed another program, or has ended.
 *  5. The calls in the shared memory are reported before the stop that follows them.
 *
 * It cannot trace programs that trace others (debuggers, User-Mode Linux). Setuid programs run
 * without their rights, unless we are root.
 */
#include "base/table.h"
#include "record/record_ptrace_priv.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILTER_MAX 1024
#define USER_CS_32 0x23
#define OPTIONS                                                               \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | \
	 PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

struct tracer {
	struct as_receiver *to;
	struct as_record_control *control;
	struct as_table tasks; /* by tid */
	struct as_task *oldest, *newest;
	struct as_task *last; /* found */
	struct as_inside *inside; /* NULL: nothing is put into the processes */
	pid_t main;
	bool begun; /* the command itself runs */
	int *exit_status;
	char room[AS_SYSCALL_ROOM];
	struct as_record_command command; /* program and arguments of an exec */
};

static void on_status(struct tracer *t, pid_t tid, int status);

/* ---- Tasks ----------------------------------------------------------------------------------- */

/* Many stops in a row are of the same task, so the last one is tried first. */
static struct as_task *find(struct tracer *t, pid_t tid)
{
	if (!t->last || t->last->tid != tid)
		t->last = as_table_ptr(as_table_get(&t->tasks, (unsigned)tid));
	return t->last;
}

static struct as_task *get(struct tracer *t, pid_t tid)
{
	struct as_task *task = find(t, tid);

	if (task)
		return task;
	task = as_xcalloc(1, sizeof(*task));
	task->tid = task->tgid = tid;
	task->newborn = true;
	task->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = task;
	t->newest = task;
	as_table_add_ptr(&t->tasks, (unsigned)tid, task);
	return task;
}

static void forget(struct tracer *t, struct as_task *task)
{
	uint64_t open = task->in_call;

	as_world_exit(t->to->world, (unsigned)task->tid);
	if (t->inside)
		open += as_inside_gone(t->inside, task);
	t->to->remark(t->to, AS_REMARK_UNFINISHED, open);
	*(task->older ? &task->older->newer : &t->oldest) = task->newer;
	*(task->newer ? &task->newer->older : &t->newest) = task->older;
	as_table_remove_ptr(&t->tasks, (unsigned)task->tid, task);
	t->last = NULL;
	free(task);
}

/* An error means that the tracee is gone. Its end is reported elsewhere. */
static void resume(const struct as_task *task, int sig)
{
	ptrace(task->in_call ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, 0, (long)sig);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void on_return(struct tracer *t, struct as_task *task)
{
	struct as_memory memory = { .read = as_tracer_text, .ctx = &task->tid };
	const struct as_spec_call *spec;
	struct user_regs_struct r;
	struct as_syscall call;

	task->in_call = false;
	if (ptrace(PTRACE_GETREGS, task->tid, 0, &r))
		return;
	if ((long long)r.orig_rax == -1)
		/* Back from a signal's handler: the number is gone. */
		t->to->sigreturn(t->to, (unsigned)task->tid, (int64_t)r.rax);
	spec = r.orig_rax < AS_SPEC_NR_MAX ? t->to->spec->by_nr[r.orig_rax] : NULL;
	if (!spec || !t->begun) {
		resume(task, 0);
		return;
	}
	if (t->inside && r.orig_rax == SYS_mmap && r.rdx & PROT_EXEC && (int64_t)r.rax > 0 &&
	    (int)r.r8 >= 0)
		as_inside_mapped(t->inside, task, r.rax, r.rsi, (int)r.r8, r.r9, r.rip);
	{
		const uint64_t regs[6] = { r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9 };

		as_syscall_fill(&call, spec, regs, &memory, t->room);
		as_syscall_return(&call, (int64_t)r.rax, regs, &memory);
	}
	resume(task, 0);
	as_syscall_undo_offset(&call, (int64_t)r.rax);
	call.pid = (unsigned)task->tgid;
	call.tid = (unsigned)task->tid;
	t->to->call(t->to, &call);
}

/* A close takes effect when it begins: another thread may get the number before the close is
 * seen to come back. */
static void on_begin(struct tracer *t, struct as_task *task, const struct user_regs_struct *r)
{
	const uint64_t regs[6] = { r->rdi, r->rsi, r->rdx };
	struct as_syscall call = { .tid = (unsigned)task->tid };
	const struct as_memory none = { 0 };
	const struct as_spec_call *spec;

	if (r->orig_rax >= AS_SPEC_NR_MAX || !t->begun)
		return;
	spec = t->to->spec->by_nr[r->orig_rax];
	if (!spec || !as_world_closes(spec))
		return;
	as_syscall_fill(&call, spec, regs, &none, t->room);
	as_world_enter(t->to->world, &call);
}

/* The tracee is about to make a call. */
static void on_call(struct tracer *t, struct as_task *task)
{
	bool shares = as_world_shares(t->to->world, (unsigned)task->tid), looked = false;
	struct user_regs_struct r;
	unsigned long why = 0;
	int status = 0;

	ptrace(PTRACE_GETEVENTMSG, task->tid, 0, &why);
	if (why == AS_RECORD_OTHER_ARCH) {
		if (t->begun)
			t->to->remark(t->to, AS_REMARK_OTHER_ARCH, 1);
		resume(task, 0);
		return;
	}
	if (shares || task->space)
		looked = !ptrace(PTRACE_GETREGS, task->tid, 0, &r);
	if (looked && task->space && as_inside_hit(t->inside, task, &r, &status)) {
		if (status)
			on_status(t, task->tid, status);
		else
			resume(task, 0);
		return;
	}
	if (looked && shares)
		on_begin(t, task, &r);
	task->in_call = true;
	ptrace(PTRACE_SYSCALL, task->tid, 0, 0);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static uint64_t clone_flags(pid_t tid, int event)
{
	struct user_regs_struct r;
	uint64_t flags = 0;

	if (event == PTRACE_EVENT_VFORK)
		flags = CLONE_VM | CLONE_VFORK;
	if (ptrace(PTRACE_GETREGS, tid, 0, &r) || r.cs == USER_CS_32)
		return flags;
	if (r.orig_rax == SYS_clone)
		flags = r.rdi;
	if (r.orig_rax == SYS_clone3)
		as_tracer_read(tid, r.rdi, &flags, sizeof(flags));
	return flags;
}

/* Lets a task run for the first time. */
static void release(struct tracer *t, struct as_task *child)
{
	if (t->inside && child->newborn)
		as_inside_release(t->inside, child);
	child->newborn = false;
	resume(child, 0);
}

static void born(struct tracer *t, struct as_task *parent, struct as_task *child, uint64_t flags)
{
	as_world_fork(t->to->world, (unsigned)parent->tid, (unsigned)child->tid, flags);
	child->known = true;
	child->tgid = flags & CLONE_THREAD ? parent->tgid : child->tid;
	if (t->inside)
		as_inside_born(t->inside, parent, child, flags);
	if (child->waits)
		release(t, child);
	child->waits = false;
}

static void on_fork(struct tracer *t, struct as_task *task, int event)
{
	uint64_t flags = clone_flags(task->tid, event);
	unsigned long message = 0;

	if (!ptrace(PTRACE_GETEVENTMSG, task->tid, 0, &message) && message)
		born(t, task, get(t, (pid_t)message), flags);
	resume(task, 0);
}

/* Whether a task is left of the process that has made this one: it may still report it. */
static bool has_parent(const struct tracer *t, const struct as_task *child)
{
	struct as_tracer_status st = as_tracer_status(child->tid);
	/* A thread was made by another one of its process. */
	pid_t parent = st.tgid != child->tid ? st.tgid : st.parent;

	for (const struct as_task *task = t->oldest; task; task = task->newer)
		if (task != child && task->tgid == parent)
			return true;
	return false;
}

/* A process that a thread has made which is gone: as far as is known, a copy of the process. */
static void adopt(struct tracer *t, struct as_task *task, pid_t pid)
{
	struct as_task *child = find(t, pid);
	struct as_tracer_status st = as_tracer_status(pid);

	if (child ? child->known : st.state == 'Z' || st.state == 'X')
		return;
	if (st.tracer == getpid() && st.tgid == pid && st.parent == task->tid)
		born(t, task, get(t, pid), 0);
}

/* An exec has ended all other threads of the process. Forks that one of them was to report are
 * never reported: the children are found by asking who they are. Later ones are not there yet, as
 * the process has stopped. */
static void adopt_all(struct tracer *t, struct as_task *task)
{
	char path[64];
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)task->tid, (int)task->tid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		adopt(t, task, pid);
	if (f)
		fclose(f);
	/* Without CONFIG_PROC_CHILDREN, at least those that have been seen. */
	for (struct as_task *child = t->oldest, *next; child && !f; child = next) {
		next = child->newer;
		if (child->waits)
			adopt(t, task, child->tid);
	}
}

static bool is_setuid(pid_t tid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
	return !stat(path, &st) &&
	       (st.st_mode & S_ISUID || (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP));
}

static void on_exec(struct tracer *t, struct as_task *task)
{
	const struct as_spec_call *spec = t->to->spec->by_nr[SYS_execve];
	struct as_syscall call = { .spec = spec, .finished = true, .made = { -1, -1 } };
	unsigned long former = 0;
	struct as_task *old;
	int status;

	/* A thread that is not the first takes the first one's number. */
	if (!ptrace(PTRACE_GETEVENTMSG, task->tid, 0, &former) && (pid_t)former != task->tid &&
	    (old = find(t, (pid_t)former))) {
		as_record_renamed(t->to->world, (unsigned)former, (unsigned)task->tid);
		forget(t, old);
	}
	if (t->begun)
		adopt_all(t, task);
	task->in_call = false;
	t->begun = true;
	if (geteuid() && t->control && is_setuid(task->tid))
		t->control->setuid_programs++;
	call.pid = call.tid = (unsigned)task->tid;
	if (t->to->wants_commands)
		as_record_command(task->tid, &t->command, &call);
	t->to->call(t->to, &call);
	if (t->inside && !as_inside_exec(t->inside, task, &status))
		on_status(t, task->tid, status);
	else
		resume(task, 0);
}

/* The event of the parent was lost: the parent was killed, or another thread of its process has
 * ended them all. The child runs all the same. `all`: whoever waits. */
static void release_orphans(struct tracer *t, bool all)
{
	for (struct as_task *task = t->oldest, *next; task; task = next) {
		next = task->newer;
		if (!task->waits || (!all && has_parent(t, task)))
			continue;
		task->known = true;
		task->waits = false;
		release(t, task);
	}
}

static void on_end(struct tracer *t, pid_t tid, int status)
{
	struct as_task *task = find(t, tid);

	if (tid == t->main && t->exit_status)
		*t->exit_status = status;
	if (task)
		forget(t, task);
	release_orphans(t, WIFSIGNALED(status));
}

/* PTRACE_EVENT_STOP: a new task's first stop, or a stop of the whole group, which is left in place
 * until somebody continues it. */
static void on_pause(struct tracer *t, struct as_task *task, int sig)
{
	if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)
		ptrace(PTRACE_LISTEN, task->tid, 0, 0);
	else if (task->known)
		release(t, task);
	else {
		task->waits = true;
		/* Its parent may have come to its end before this stop was seen. */
		release_orphans(t, false);
	}
}

/* A signal that our own code caused. */
static bool mended(struct tracer *t, struct as_task *task, int sig)
{
	return t->inside && (sig == SIGSEGV || sig == SIGBUS) && as_inside_fault(t->inside, task);
}

static void on_stop(struct tracer *t, pid_t tid, int status)
{
	struct as_task *task = get(t, tid);
	int sig = WSTOPSIG(status), event = status >> 16;

	switch (event) {
	case PTRACE_EVENT_SECCOMP:
		on_call(t, task);
		return;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_fork(t, task, event);
		return;
	case PTRACE_EVENT_EXEC:
		on_exec(t, task);
		return;
	case PTRACE_EVENT_STOP:
		on_pause(t, task, sig);
		return;
	case 0:
		if (sig == (SIGTRAP | 0x80))
			on_return(t, task);
		else
			resume(task, mended(t, task, sig) ? 0 : sig);
		return;
	default:
		resume(task, 0);
	}
}

static void on_status(struct tracer *t, pid_t tid, int status)
{
	if (t->inside)
		as_inside_drain(t->inside, t->to);
	if (WIFSTOPPED(status))
		on_stop(t, tid, status);
	else
		on_end(t, tid, status);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void kill_all(struct tracer *t)
{
	for (const struct as_task *task = t->oldest; task; task = task->newer)
		kill(task->tid, SIGKILL);
}

static int follow(struct tracer *t, struct as_err *err)
{
	int status, killed = 0;
	pid_t tid;

	while (t->oldest) {
		if (t->control && t->control->asked > 1 && !killed++)
			kill_all(t);
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0 && errno == ECHILD)
			break;
		if (tid < 0)
			return as_fail_errno(err, errno, "cannot wait for the command");
		on_status(t, tid, status);
	}
	return 0;
}

/* In the child. Root does not need PR_SET_NO_NEW_PRIVS, so that setuid programs work. */
static int install(void *ctx)
{
	const struct sock_fprog *program = ctx;

	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, program))
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, program))
		return errno;
	return 0;
}

static int seize(struct tracer *t, const struct as_record_child *child, struct as_err *err)
{
	struct as_task *task;

	if (ptrace(PTRACE_SEIZE, child->pid, 0, OPTIONS))
		return as_fail_errno(err, errno, "cannot trace with ptrace");
	task = get(t, child->pid);
	task->known = true;
	task->newborn = false;
	t->main = child->pid;
	as_record_inherited(t->to->world, child->pid, (unsigned)child->pid);
	return 0;
}

static int record(const struct as_source_input *input, struct as_receiver *to,
		  struct as_inside *inside, struct as_err *err)
{
	struct sock_filter filter[FILTER_MAX];
	struct sock_fprog program = { .filter = filter };
	/* We wait for stops, so we do not need a signal for them. */
	struct sigaction quiet = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP }, before;
	struct tracer *t = as_xcalloc(1, sizeof(*t));
	struct as_record_child child;
	int rc, said;

	t->to = to;
	t->control = input->control;
	t->exit_status = input->exit_status;
	t->inside = inside;
	program.len = (unsigned short)as_record_filter(
		to->spec, inside ? as_inside_allowed(inside) : 0, filter, FILTER_MAX);
	sigaction(SIGCHLD, &quiet, &before);
	rc = as_record_fork(input->argv, install, &program, &child, err);
	if (!rc) {
		rc = seize(t, &child, err);
		if (rc)
			kill(child.pid, SIGKILL);
		if (t->control)
			t->control->child = child.pid;
		as_record_go(&child);
		if (!rc)
			rc = follow(t, err);
		else
			waitpid(child.pid, NULL, 0);
		if (t->control)
			t->control->child = 0;
		said = as_record_said(&child, input, rc ? NULL : err);
		rc = rc ? rc : said;
	}
	sigaction(SIGCHLD, &before, NULL);
	for (struct as_task *task = t->oldest, *next; task; task = next) {
		next = task->newer;
		free(task);
	}
	as_table_free(&t->tasks);
	free(t);
	return rc;
}

/* The child does nothing: whether ptrace is allowed (a sandbox or kernel.yama.ptrace_scope=3 may
 * forbid it) shows when the child is seized. */
static int probe(void *ctx)
{
	(void)ctx;
	return 0;
}

static int usable(struct as_err *err)
{
	static char *argv[] = { "true", NULL };
	const struct as_source_input input = { .argv = argv };
	struct as_record_child child;
	int rc = as_record_fork(argv, probe, NULL, &child, err);

	if (rc)
		return rc;
	if (ptrace(PTRACE_SEIZE, child.pid, 0, PTRACE_O_EXITKILL))
		rc = as_fail(err, AS_ELACK, "this machine does not let us use ptrace: %s",
			     strerror(errno));
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, __WALL);
	(void)!as_record_said(&child, &input, NULL);
	return rc;
}

static int record_ptrace(const struct as_source_input *input, struct as_receiver *to,
			 struct as_err *err)
{
	return record(input, to, NULL, err);
}

static int record_inprocess(const struct as_source_input *input, struct as_receiver *to,
			    struct as_err *err)
{
	struct as_inside *inside = as_inside_new(to->spec, err);
	int rc;

	if (!inside)
		return err->code;
	rc = record(input, to, inside, err);
	as_inside_free(inside);
	return rc;
}

static int usable_inprocess(struct as_err *err)
{
	struct as_spec *spec = as_spec_new();
	struct as_inside *inside = as_inside_new(spec, err);
	int rc = inside ? usable(err) : err->code;

	as_inside_free(inside);
	as_spec_free(spec);
	return rc;
}

const struct as_source_ops as_source_ptrace = {
	.name = "ptrace",
	.about = "runs a command; ptrace with a seccomp filter, needs no privileges",
	.version = AS_SOURCE_VERSION,
	.flags = AS_SOURCE_LIVE,
	.usable = usable,
	.run = record_ptrace,
};

const struct as_source_ops as_source_inprocess = {
	.name = "inprocess",
	.about = "runs a command; its processes note their own calls, needs no privileges",
	.version = AS_SOURCE_VERSION,
	.flags = AS_SOURCE_LIVE,
	.usable = usable_inprocess,
	.run = record_inprocess,
};
