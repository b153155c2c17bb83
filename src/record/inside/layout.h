/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout: what the code that runs inside recorded processes (hook.S, inside.c) and the recorder
 * (record_inprocess.c) share. Included by the assembler, too.
 *
 * In each process there are: the code, at an address that the seccomp filter knows; trampolines,
 * near the text whose calls they catch; and the pool, memory shared by all processes of a recording
 * and the recorder. The pool's first slot is its head; every other one belongs to one thread, whose
 * gs register holds the slot's address.
 */
#ifndef AS_RECORD_INSIDE_LAYOUT_H
#define AS_RECORD_INSIDE_LAYOUT_H

#define AS_INSIDE_CODE 0x6f000000 /* low: reached by 32-bit addresses */
#define AS_INSIDE_CODE_BYTES 0x8000 /* the code, and trampolines for text that is low, too */
#define AS_INSIDE_IMAGE_MAX 0x3000
#define AS_INSIDE_POOL 0x70000000
#define AS_INSIDE_SLOT 0x8000
#define AS_INSIDE_SLOTS 512
#define AS_INSIDE_POOL_BYTES (AS_INSIDE_SLOT * AS_INSIDE_SLOTS)

#define AS_INSIDE_NRS 512
#define AS_INSIDE_ROWS 64

/* A trampoline: "call the hook", the place it returns to, and the original call, about which the
 * filter asks the tracer. */
#define AS_INSIDE_RAW 16 /* from the place it returns to, to the original call */

#ifndef __ASSEMBLER__

#include "calls/event.h"

struct as_inside_pool {
	__u64 moment; /* counts the beginnings and the ends of calls */
};

struct as_inside_slot {
	__u64 write; /* bytes allocated, this head included; beyond the end: full */
	__u64 lost;
	__u64 full_at; /* the position at which room ran out; 0: there is room */
	__u64 unused[5];
};

struct as_inside_record {
	__u64 begun; /* the moment; 0: not filled in yet */
	__u64 ended; /* 0: not yet */
	__u32 len; /* length of the record, the pieces included */
	__u32 nr;
	__u64 regs[6];
	__s64 ret;
	__u32 piece_bytes;
	__u32 taken; /* the recorder has reported this record */
};

/* The head of the image: addresses in it, and what the recorder fills in. */
struct as_inside_image {
	__u64 start, hook;
	__u64 allowed; /* the instruction after the only call that the filter lets through */
	__u64 copy, copy_end, copy_fault; /* a fault between the first two continues at the third */
	__u64 end;
	__u64 entry; /* of the program */
	__u64 pool_id;
	__u8 row[AS_INSIDE_NRS]; /* of each call, 0: not of interest */
	struct as_bpf_want rows[AS_INSIDE_ROWS];
};

#endif
#endif
