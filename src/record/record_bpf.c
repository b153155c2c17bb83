/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_bpf: recording by a program in the kernel (bpf/record.bpf.c, which is part of this
 * program). It follows the command's tree, and sends the calls of interest through a ring buffer.
 * The command is never stopped. When the reader is too slow, the kernel drops events and counts
 * them; they are reported as lost.
 *
 * The command's process makes itself known by a cookie, not by its number: numbers differ between
 * namespaces. Afterwards all numbers are the kernel's own.
 */
#include "base/embed.h"
#include "record/record.h"

#include "calls/pieces.h"
#include "os/spawn.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AS_RECORD_BPF_O
#error "AS_RECORD_BPF_O names the object to be put in; the Makefile says it"
#endif

AS_EMBED(as_record_bpf, AS_RECORD_BPF_O);

#define RING_BYTES_MAX ((size_t)32 << 20)
#define RING_BYTES_MIN ((size_t)1 << 20)
#define POLL_MS 20
#define PROGRAMS_MAX 8

struct recorder {
	struct as_receiver *to;
	struct as_record_control *control;
	struct bpf_object *object;
	struct bpf_link *links[PROGRAMS_MAX];
	struct ring_buffer *ring;
	struct as_bpf_state *state; /* shared with the program */
	bool begun; /* the command's process was seen */
	unsigned tid; /* what the kernel calls it */
	bool exec_seen;
	char room[AS_SYSCALL_ROOM];
};

/* ---- What is wanted -------------------------------------------------------------------------- */

static int fill_wants(struct recorder *r, struct as_err *err)
{
	struct bpf_map *map = bpf_object__find_map_by_name(r->object, "wants");

	as_assert(map && AS_BPF_NR_MAX <= AS_SPEC_NR_MAX);
	for (unsigned nr = 0; nr < AS_BPF_NR_MAX; nr++) {
		const struct as_spec_call *call = r->to->spec->by_nr[nr];
		struct as_bpf_want want;

		if (!call || as_record_by_event(call))
			continue;
		want = as_pieces_wanted(call);
		if (bpf_map_update_elem(bpf_map__fd(map), &nr, &want, BPF_ANY))
			return as_fail_errno(err, errno, "cannot tell the kernel what to record");
	}
	return 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* The kernel could read this memory, and the program in the kernel could not: its value is not
 * known. */
static void unread(struct recorder *r, struct as_syscall *call, int64_t ret)
{
	for (unsigned i = 0; i < call->spec->n_slots && ret != -EFAULT; i++) {
		if (call->slots[i].state != AS_SLOT_FAULT)
			continue;
		call->slots[i].state = AS_SLOT_UNSEEN;
		if (r->control)
			r->control->cut_short++;
	}
}

static void on_call(struct recorder *r, const struct as_bpf_event *event)
{
	struct as_pieces pieces = { .data = (const char *)(event + 1), .len = event->piece_bytes };
	struct as_memory memory = { .read = as_pieces_read, .sum = as_pieces_sum, .ctx = &pieces };
	const struct as_spec_call *spec;
	struct as_syscall call;

	if (!r->exec_seen)
		return;
	if (event->other_arch || event->nr >= AS_SPEC_NR_MAX) {
		r->to->remark(r->to, AS_REMARK_OTHER_ARCH, 1);
		return;
	}
	spec = r->to->spec->by_nr[event->nr];
	if (!spec)
		return;
	as_syscall_fill(&call, spec, (const uint64_t *)event->regs, &memory, r->room);
	as_syscall_return(&call, event->ret, (const uint64_t *)event->regs, &memory);
	as_syscall_undo_offset(&call, event->ret);
	unread(r, &call, event->ret);
	call.pid = event->tgid;
	call.tid = event->tid;
	r->to->call(r->to, &call);
}

static void on_enter(struct recorder *r, const struct as_bpf_event *event)
{
	const struct as_spec_call *spec = r->to->spec->by_nr[event->nr % AS_SPEC_NR_MAX];
	const struct as_memory none = { 0 };
	struct as_syscall call = { .pid = event->tgid, .tid = event->tid };

	if (!r->exec_seen || !spec || !as_world_closes(spec))
		return;
	as_syscall_fill(&call, spec, (const uint64_t *)event->regs, &none, r->room);
	as_world_enter(r->to->world, &call);
}

static void on_exec(struct recorder *r, const struct as_bpf_event *event)
{
	struct as_syscall call = { .spec = r->to->spec->by_nr[SYS_execve],
				   .pid = event->tgid,
				   .tid = event->tid,
				   .finished = true,
				   .made = { -1, -1 } };
	struct as_pieces pieces = { (const char *)(event + 1), event->piece_bytes };

	r->exec_seen = true;
	if (event->nr != event->tid)
		as_record_renamed(r->to->world, event->nr, event->tid);
	as_pieces_command(&pieces, &call);
	r->to->call(r->to, &call);
}

static int on_event(void *ctx, void *data, size_t len)
{
	struct recorder *r = ctx;
	const struct as_bpf_event *event = data;

	as_assert(len >= sizeof(*event));
	switch (event->kind) {
	case AS_BPF_BEGIN:
		r->begun = true;
		r->tid = event->tid;
		break;
	case AS_BPF_CALL:
		on_call(r, event);
		break;
	case AS_BPF_FORK:
		as_world_fork(r->to->world, event->tid, event->nr, event->regs[0]);
		break;
	case AS_BPF_EXEC:
		on_exec(r, event);
		break;
	case AS_BPF_ENTER:
		on_enter(r, event);
		break;
	case AS_BPF_EXIT:
		as_world_exit(r->to->world, event->tid);
		break;
	}
	return 0;
}

/* ---- The program in the kernel --------------------------------------------------------------- */

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int refused(struct as_err *err, int errnum, const char *what)
{
	if (errnum == EPERM || errnum == EACCES)
		return as_fail(err, AS_ELACK,
			       "recording by eBPF needs root, or CAP_BPF and CAP_PERFMON (%s: %s)",
			       what, strerror(errnum));
	return as_fail(err, AS_ELACK,
		       "this kernel does not do what recording by eBPF needs (%s: %s)", what,
		       strerror(errnum));
}

static int open_object(struct recorder *r, size_t ring_bytes, struct as_err *err)
{
	struct bpf_map *map, *bss;
	int rc;

	r->object = bpf_object__open_mem(as_record_bpf_first,
					 (size_t)(as_record_bpf_end - as_record_bpf_first), NULL);
	if (!r->object)
		return refused(err, errno, "opening the program");
	map = bpf_object__find_map_by_name(r->object, "events");
	bss = bpf_object__find_map_by_name(r->object, ".bss");
	as_assert(map && bss);
	bpf_map__set_max_entries(map, (unsigned)ring_bytes);
	rc = bpf_object__load(r->object);
	if (rc) {
		refused(err, -rc, "loading the program");
		errno = -rc;
		return AS_ELACK;
	}
	r->state = mmap(NULL, sizeof(*r->state), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(bss), 0);
	if (r->state == MAP_FAILED) {
		r->state = NULL;
		return refused(err, errno, "mapping the program's memory");
	}
	r->state->wake_bytes = ring_bytes / 8;
	r->ring = ring_buffer__new(bpf_map__fd(map), on_event, r, NULL);
	return r->ring ? 0 : refused(err, errno, "mapping the ring buffer");
}

static int attach(struct recorder *r, struct as_err *err)
{
	struct bpf_program *program;
	unsigned n = 0;

	bpf_object__for_each_program(program, r->object)
	{
		as_assert(n < PROGRAMS_MAX);
		r->links[n] = bpf_program__attach(program);
		if (!r->links[n])
			return refused(err, errno, bpf_program__section_name(program));
		n++;
	}
	return 0;
}

static void close_recorder(struct recorder *r)
{
	for (unsigned i = 0; i < PROGRAMS_MAX; i++)
		bpf_link__destroy(r->links[i]);
	ring_buffer__free(r->ring);
	if (r->state)
		munmap(r->state, sizeof(*r->state));
	bpf_object__close(r->object);
	*r = (struct recorder){ .to = r->to, .control = r->control };
}

/* If memory is short, a smaller buffer is tried. */
static int open_recorder(struct recorder *r, struct as_err *err)
{
	size_t bytes =
		r->control && r->control->ring_bytes ? r->control->ring_bytes : RING_BYTES_MAX;
	int rc;

	libbpf_set_print(quiet);
	rc = open_object(r, bytes, err);
	while (rc && errno == ENOMEM && bytes > RING_BYTES_MIN) {
		close_recorder(r);
		bytes /= 2;
		rc = open_object(r, bytes, err);
	}
	return rc ? rc : attach(r, err);
}

/* Events that the kernel dropped because our program was already running. */
static uint64_t missed(struct recorder *r)
{
	struct bpf_program *program;
	uint64_t n = 0;

	bpf_object__for_each_program(program, r->object)
	{
		struct bpf_prog_info info = { 0 };
		unsigned len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
			n += info.recursion_misses;
	}
	return n;
}

/* ---- The whole ------------------------------------------------------------------------------- */

struct hello {
	uint64_t cookie;
	int wait_fd;
};

/* In the child: sends the cookie, and waits until its descriptors have been looked at. */
static int say_hello(void *ctx)
{
	const struct hello *hello = ctx;
	char c;

	syscall(SYS_prctl, AS_BPF_MAGIC, hello->cookie, 0, 0, 0);
	return read(hello->wait_fd, &c, 1) == 1 ? 0 : ECANCELED;
}

static int watched_fd(const struct recorder *r)
{
	return bpf_map__fd(bpf_object__find_map_by_name(r->object, "watched"));
}

/* Is a process of the command's tree left? A child is in the map before its parent can end. */
static bool any_alive(const struct recorder *r)
{
	unsigned tgid;

	return !bpf_map_get_next_key(watched_fd(r), NULL, &tgid);
}

static void kill_all(struct recorder *r, pid_t child)
{
	int fd = watched_fd(r);
	unsigned tgid, *from = NULL;

	kill(child, SIGKILL);
	/* In a namespace, our process numbers are not the kernel's. */
	if (r->tid != (unsigned)child)
		return;
	while (!bpf_map_get_next_key(fd, from, &tgid)) {
		kill((pid_t)tgid, SIGKILL);
		from = &tgid;
	}
}

/* The kernel wakes us only when much is waiting, so the buffer is also read after each pause. */
static int read_events(struct recorder *r)
{
	int rc = ring_buffer__poll(r->ring, POLL_MS);

	if (rc >= 0 || rc == -EINTR)
		rc = ring_buffer__consume(r->ring);
	return rc < 0 ? rc : 0;
}

static int wait_for_hello(struct recorder *r, struct as_err *err)
{
	for (int i = 0; i < 10000 / POLL_MS && !r->begun; i++)
		if (read_events(r))
			break;
	return r->begun ? 0
			: as_fail(err, AS_ELACK, "the kernel does not report the command's calls");
}

static int follow(struct recorder *r, pid_t child, int *exit_status, struct as_err *err)
{
	bool ended = false, killed = false;
	int status, rc = 0;

	while (!rc && !(ended && !any_alive(r))) {
		rc = read_events(r);
		if (!ended && waitpid(child, &status, WNOHANG) == child) {
			ended = true;
			if (exit_status)
				*exit_status = status;
		}
		if (r->control && r->control->asked > 1 && !killed) {
			kill_all(r, child);
			killed = true;
		}
	}
	if (!rc)
		rc = ring_buffer__consume(r->ring);
	return rc < 0 ? as_fail_errno(err, -rc, "cannot read what the kernel recorded") : 0;
}

static int run_child(struct recorder *r, const struct as_source_input *input, struct as_err *err)
{
	struct hello hello = { .cookie = (uint64_t)as_now_us() << 20 ^ (uint64_t)getpid() };
	struct as_record_child child;
	int go[2], rc, said;

	if (pipe2(go, O_CLOEXEC))
		return as_fail_errno(err, errno, "cannot make a pipe");
	hello.wait_fd = go[0];
	r->state->cookie = hello.cookie;
	rc = as_record_fork(input->argv, say_hello, &hello, &child, err);
	close(go[0]);
	if (rc) {
		close(go[1]);
		return rc;
	}
	as_record_go(&child);
	rc = wait_for_hello(r, err);
	if (!rc) {
		as_record_inherited(r->to->world, child.pid, r->tid);
		if (r->control)
			r->control->child = child.pid;
		(void)!write(go[1], "", 1);
		rc = follow(r, child.pid, input->exit_status, err);
		if (r->control)
			r->control->child = 0;
	}
	close(go[1]);
	if (rc) {
		kill(child.pid, SIGKILL);
		waitpid(child.pid, NULL, 0);
	}
	said = as_record_said(&child, input, rc ? NULL : err);
	return rc ? rc : said;
}

static int record(const struct as_source_input *input, struct as_receiver *to, struct as_err *err)
{
	struct recorder *r = as_xcalloc(1, sizeof(*r));
	uint64_t lost;
	int rc;

	r->to = to;
	r->control = input->control;
	rc = open_recorder(r, err);
	if (!rc)
		rc = fill_wants(r, err);
	if (!rc)
		rc = run_child(r, input, err);
	if (!rc) {
		lost = r->state->lost + missed(r);
		if (lost)
			to->lost(to, lost);
	}
	close_recorder(r);
	free(r);
	return rc;
}

static int usable(struct as_err *err)
{
	struct recorder *r = as_xcalloc(1, sizeof(*r));
	int rc = open_recorder(r, err);

	close_recorder(r);
	free(r);
	return rc;
}

const struct as_source_ops as_source_ebpf = {
	.name = "ebpf",
	.about = "runs a command; a program in the kernel records its calls, needs privileges",
	.version = AS_SOURCE_VERSION,
	.flags = AS_SOURCE_LIVE | AS_SOURCE_PRIVILEGED,
	.usable = usable,
	.run = record,
};
