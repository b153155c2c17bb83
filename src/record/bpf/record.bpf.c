/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.bpf: runs in the kernel, at the return of every system call of the machine. Calls of the
 * watched processes that are in the table are sent with the memory that they point to.
 *
 * It runs at the return because the arguments are still in their registers then (x86-64 keeps them
 * there), and the kernel has just read what they point to, so that it is in memory: this program
 * cannot wait for a page. One record for a call is also half the traffic of two.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "calls/event.h"

#define NR_CLOSE 3
#define NR_MMAP 9
#define NR_RT_SIGRETURN 15
#define NR_PRCTL 157
#define NR_CLOSE_RANGE 436
#define MAP_ANONYMOUS_BIT 0x20
#define STATUS_COMPAT 2 /* TS_COMPAT */
#define IOV_STEP 256
#define EINTR_NUMBER 4
#define STRIDE (AS_BPF_PIECE_BYTES + 8) /* largest piece of memory, padded */

/* Structs of the kernel, with only the members that are used; libbpf finds out where these are. */
struct signal_struct {
	struct {
		int counter;
	} live;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long arg_start, arg_end;
} __attribute__((preserve_access_index));

struct linux_binprm {
	const char *filename;
} __attribute__((preserve_access_index));

struct thread_info {
	__u32 status;
} __attribute__((preserve_access_index));

struct files_struct {
	struct {
		int counter;
	} count;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	struct mm_struct *mm;
	void *fs;
	struct files_struct *files;
	struct signal_struct *signal;
} __attribute__((preserve_access_index));

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

/* One more than what is used: the verifier wants to see that the end cannot be passed. */
struct scratch {
	struct as_bpf_event event;
	char memory[(AS_BPF_PIECES + 1) * STRIDE];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u32);
	__type(value, __u8);
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, AS_BPF_NR_MAX);
	__type(key, __u32);
	__type(value, struct as_bpf_want);
} wants SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

struct as_bpf_state state;

/* A 32-bit call: a 64-bit program can make one, too. */
static __always_inline int is_foreign(__u32 nr)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, thread_info.status) & STATUS_COMPAT || nr & 0x40000000;
}

static __always_inline void send(const void *data, __u64 len)
{
	__u64 waiting = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	__u64 flags = waiting >= state.wake_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_output(&events, (void *)data, len, flags))
		__sync_fetch_and_add(&state.lost, 1);
}

static __always_inline void watch(__u32 tgid)
{
	__u8 yes = 1;

	if (bpf_map_update_elem(&watched, &tgid, &yes, BPF_NOEXIST))
		__sync_fetch_and_add(&state.lost, 1);
}

/* The sum of the lengths of n struct iovec; as many are read at a time as fit into `room`. */
static __always_inline int add_up(char *room, __u64 address, __u64 n, struct as_bpf_sum *out)
{
	struct as_bpf_sum sum = { .n = n };

	for (__u32 from = 0; from < AS_BPF_IOV_MAX; from += IOV_STEP) {
		__u64 some = n - from;

		if (from >= n)
			break;
		if (some > IOV_STEP)
			some = IOV_STEP;
		if (bpf_probe_read_user(room, (some * 16) & 0x1fff,
					(void *)(address + 16ull * from)))
			return -1;
		for (__u32 i = 0; i < IOV_STEP; i++) {
			if (i >= some)
				break;
			sum.sum += ((__u64 *)room)[2 * i + 1];
		}
	}
	*out = sum;
	return 0;
}

/* Adds one piece of memory. Returns how many bytes it took, or 0. */
static __always_inline __u32 keep(struct scratch *s, __u32 at, const struct as_bpf_want *want,
				  __u32 i)
{
	__u32 reg = want->piece[i].reg, more = want->piece[i].more;
	struct as_bpf_piece *head;
	__u64 address, n;
	long len;
	char *to;

	if (reg > 5 || more > 5 || at > AS_BPF_PIECES * STRIDE)
		return 0;
	address = s->event.regs[reg];
	if (!address)
		return 0;
	head = (struct as_bpf_piece *)(s->memory + at);
	to = s->memory + at + sizeof(*head);
	switch (want->piece[i].kind) {
	case AS_BPF_TEXT:
		len = bpf_probe_read_user_str(to, AS_BPF_TEXT_BYTES, (void *)address);
		break;
	case AS_BPF_BYTES:
	case AS_BPF_RESULT:
		n = want->piece[i].bytes;
		len = bpf_probe_read_user(to, n & 0xff, (void *)address) ? -1 : (long)n;
		break;
	default:
		n = s->event.regs[more];
		if (n > AS_BPF_IOV_MAX || add_up(to, address, n, (struct as_bpf_sum *)to))
			return 0;
		len = sizeof(struct as_bpf_sum);
	}
	if (len <= 0 || len > AS_BPF_TEXT_BYTES)
		return 0;
	head->address = address;
	head->len = (__u32)len;
	head->kind = want->piece[i].kind;
	head->padded = (__u16)(sizeof(*head) + (((__u32)len + 7) & ~7u));
	return head->padded;
}

static __always_inline void send_call(const struct pt_regs *regs, __s64 ret, __u64 id,
				      const struct as_bpf_want *want)
{
	__u32 zero = 0, at = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s)
		return;
	s->event.kind = AS_BPF_CALL;
	s->event.tid = (__u32)id;
	s->event.tgid = (__u32)(id >> 32);
	s->event.nr = (__u32)regs->orig_ax;
	s->event.other_arch = !want;
	s->event.ret = ret;
	s->event.regs[0] = regs->di;
	s->event.regs[1] = regs->si;
	s->event.regs[2] = regs->dx;
	s->event.regs[3] = regs->r10;
	s->event.regs[4] = regs->r8;
	s->event.regs[5] = regs->r9;
	if (want && want->n > 0)
		at += keep(s, at, want, 0);
	if (want && want->n > 1)
		at += keep(s, at, want, 1);
	if (want && want->n > 2)
		at += keep(s, at, want, 2);
	s->event.piece_bytes = at;
	if (at <= AS_BPF_PIECES * STRIDE)
		send(s, sizeof(s->event) + at);
}

SEC("raw_tp/sys_exit")
int on_return(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = (__u32)(id >> 32), nr;
	const struct as_bpf_want *want;
	struct pt_regs regs;

	if (!bpf_map_lookup_elem(&watched, &tgid)) {
		struct as_bpf_event begin = { .kind = AS_BPF_BEGIN, .tid = (__u32)id };

		if (!state.cookie ||
		    bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]) ||
		    regs.orig_ax != NR_PRCTL || regs.di != AS_BPF_MAGIC || regs.si != state.cookie)
			return 0;
		begin.tgid = tgid;
		watch(tgid);
		state.cookie = 0;
		send(&begin, sizeof(begin));
		return 0;
	}
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]))
		return 0;
	/* A return from a signal handler has no number. What matters of it is whether an
	 * interrupted call is answered with EINTR. */
	if ((long)regs.orig_ax < 0) {
		if ((__s64)ctx->args[1] != -EINTR_NUMBER)
			return 0;
		regs.orig_ax = NR_RT_SIGRETURN;
	}
	nr = (__u32)regs.orig_ax;
	if (is_foreign(nr)) {
		send_call(&regs, (__s64)ctx->args[1], id, NULL);
		return 0;
	}
	/* Mappings without a file are the most frequent calls that do not matter. */
	if (nr == NR_MMAP && regs.r10 & MAP_ANONYMOUS_BIT)
		return 0;
	want = bpf_map_lookup_elem(&wants, &nr);
	if (want && want->watched)
		send_call(&regs, (__s64)ctx->args[1], id, want);
	return 0;
}

/* Where tasks share descriptors, another may have the number before a close comes back: what it
 * closes must be known before. */
SEC("raw_tp/sys_enter")
int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = (__u32)(id >> 32);
	struct as_bpf_event event = { .kind = AS_BPF_ENTER, .tid = (__u32)id, .tgid = tgid };
	struct task_struct *task;
	struct pt_regs regs;

	if (ctx->args[1] != NR_CLOSE && ctx->args[1] != NR_CLOSE_RANGE)
		return 0;
	if (!bpf_map_lookup_elem(&watched, &tgid))
		return 0;
	task = (struct task_struct *)bpf_get_current_task();
	if (BPF_CORE_READ(task, files, count.counter) < 2 ||
	    bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]) || is_foreign(0))
		return 0;
	event.nr = (__u32)ctx->args[1];
	event.regs[0] = regs.di;
	event.regs[1] = regs.si;
	event.regs[2] = regs.dx;
	send(&event, sizeof(event));
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = (__u32)(id >> 32), child_tgid;
	struct as_bpf_event event = { .kind = AS_BPF_FORK, .tid = (__u32)id, .tgid = tgid };

	if (!bpf_map_lookup_elem(&watched, &tgid))
		return 0;
	child_tgid = (__u32)BPF_CORE_READ(child, tgid);
	event.nr = (__u32)BPF_CORE_READ(child, pid);
	/* What they share in fact, whichever call asked for it: CLONE_VM, _FS, _FILES, _THREAD. */
	if (BPF_CORE_READ(child, mm) == BPF_CORE_READ(parent, mm))
		event.regs[0] |= 0x100;
	if (BPF_CORE_READ(child, fs) == BPF_CORE_READ(parent, fs))
		event.regs[0] |= 0x200;
	if (BPF_CORE_READ(child, files) == BPF_CORE_READ(parent, files))
		event.regs[0] |= 0x400;
	if (child_tgid == tgid)
		event.regs[0] |= 0x10000;
	else
		watch(child_tgid);
	send(&event, sizeof(event));
	return 0;
}

static __always_inline __u32 head_of(struct as_bpf_piece *head, __u64 address, long len)
{
	if (len <= 0 || len > AS_BPF_TEXT_BYTES)
		return 0;
	head->address = address;
	head->len = (__u32)len;
	head->padded = (__u16)(sizeof(*head) + (((__u32)len + 7) & ~7u));
	head->kind = AS_BPF_BYTES;
	return head->padded;
}

/* The path that was given to exec, and what the new program finds as its arguments: both have just
 * been put there. */
static __always_inline __u32 keep_command(struct scratch *s, struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct linux_binprm *bprm = (void *)ctx->args[2];
	struct as_bpf_piece *head = (struct as_bpf_piece *)s->memory;
	__u64 from, len;
	__u32 at;

	at = head_of(head, AS_BPF_EXEC_PROGRAM,
		     bpf_probe_read_kernel_str(head + 1, AS_BPF_TEXT_BYTES,
					       BPF_CORE_READ(bprm, filename)));
	if (at > STRIDE)
		return 0;
	head = (struct as_bpf_piece *)(s->memory + at);
	from = BPF_CORE_READ(task, mm, arg_start);
	len = BPF_CORE_READ(task, mm, arg_end) - from;
	if (len > AS_BPF_ARGS_BYTES)
		len = AS_BPF_ARGS_BYTES;
	if (bpf_probe_read_user(head + 1, len & 0x1fff, (void *)from))
		len = 0;
	return at + head_of(head, AS_BPF_EXEC_ARGS, (long)len);
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = (__u32)(id >> 32), zero = 0, at;
	struct scratch *s;

	if (!bpf_map_lookup_elem(&watched, &tgid))
		return 0;
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	s->event.kind = AS_BPF_EXEC;
	s->event.tid = (__u32)id;
	s->event.tgid = tgid;
	s->event.nr = (__u32)ctx->args[1];
	at = keep_command(s, ctx);
	s->event.piece_bytes = at;
	if (at <= AS_BPF_PIECES * STRIDE)
		send(s, sizeof(s->event) + at);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = (__u32)(id >> 32);
	struct as_bpf_event event = { .kind = AS_BPF_EXIT, .tid = (__u32)id, .tgid = tgid };

	if (!bpf_map_lookup_elem(&watched, &tgid))
		return 0;
	send(&event, sizeof(event));
	/* No thread of its group is left. Two that end at once on two processors may both see it,
	 * so nothing is counted here: whoever waits asks whether the map is empty. */
	if (!BPF_CORE_READ(task, signal, live.counter))
		bpf_map_delete_elem(&watched, &tgid);
	return 0;
}

char licence[] SEC("license") = "GPL";
