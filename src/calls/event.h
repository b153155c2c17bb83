/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event: a call as the program in the kernel (record.bpf.c) and the code in recorded processes
 * (record/inside) send it. They include this file, too: it uses no headers of the C library.
 */
#ifndef AS_CALLS_EVENT_H
#define AS_CALLS_EVENT_H

#include <linux/types.h>

#define AS_BPF_NR_MAX 512
#define AS_BPF_TEXT_BYTES 4104 /* PATH_MAX, and enough to see that a text is longer */
#define AS_BPF_IOV_MAX 1024 /* the kernel accepts no more */
#define AS_BPF_PIECES 3 /* pieces of memory with one call */
#define AS_BPF_PIECE_BYTES (AS_BPF_TEXT_BYTES + sizeof(struct as_bpf_piece))
/* A process that calls prctl(2) with this number, and its cookie after it, is watched from then
 * on. */
#define AS_BPF_MAGIC 0x41535359

enum as_bpf_kind {
	AS_BPF_BEGIN, /* the process of the command has sent its cookie */
	AS_BPF_CALL,
	AS_BPF_FORK, /* nr: the child, regs[0]: flags of clone */
	AS_BPF_EXEC, /* nr: the former thread; pieces: the program's path and its arguments */
	AS_BPF_EXIT,
	AS_BPF_ENTER, /* a close of a descriptor that several tasks share begins */
};

/* Pieces of memory follow, each with a head and padded to 8 bytes. */
struct as_bpf_event {
	__u32 kind, tid, tgid, nr;
	__u32 other_arch, piece_bytes; /* all of them */
	__s64 ret;
	__u64 regs[6];
};

struct as_bpf_piece {
	__u64 address;
	__u32 len;
	__u16 padded; /* length with this head, padded */
	__u16 kind; /* enum as_bpf_want_kind */
};

/* What is sent of an array of struct iovec. */
struct as_bpf_sum {
	__u64 n, sum;
};

/* The pieces of an exec have these in place of addresses. */
enum { AS_BPF_EXEC_PROGRAM = 1, AS_BPF_EXEC_ARGS = 2 };
#define AS_BPF_ARGS_BYTES 4096

/* Which memory is sent, of what a call's arguments point to. */
enum as_bpf_want_kind {
	AS_BPF_NOTHING,
	AS_BPF_TEXT,
	AS_BPF_BYTES,
	AS_BPF_IOV,
	AS_BPF_RESULT, /* bytes that the call puts there */
};

struct as_bpf_want {
	__u8 watched; /* the call is of interest */
	__u8 n;
	struct {
		__u8 kind, reg;
		__u8 more; /* the parameter with the number of struct iovec */
		__u8 bytes;
	} piece[AS_BPF_PIECES];
};

/* Shared memory: counters of both sides. */
struct as_bpf_state {
	__u64 cookie;
	__u64 lost; /* events that did not fit */
	__u64 wake_bytes; /* wake the reader when this many bytes are waiting */
};

#endif
