/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscall: one traced call, from any source. Its pointers are valid only during the function that
 * is given the call.
 */
#ifndef AS_CALLS_SYSCALL_H
#define AS_CALLS_SYSCALL_H

#include "calls/spec.h"

enum as_slot_state {
	AS_SLOT_ABSENT, /* the call has no such argument (mode of an open without O_CREAT) */
	AS_SLOT_UNSEEN, /* the trace does not say */
	AS_SLOT_VALUE, /* value; of a descriptor perhaps also text: its path (strace -y) */
	AS_SLOT_TEXT, /* text, len */
	AS_SLOT_NULL, /* a pointer: NULL */
	AS_SLOT_FAULT, /* a pointer that cannot be read */
	AS_SLOT_TIME, /* value: seconds, nsec */
};

struct as_syscall_slot {
	unsigned char state; /* enum as_slot_state */
	bool cut; /* text goes on */
	unsigned len;
	uint64_t value;
	int64_t nsec;
	const char *text; /* not NUL-terminated */
};

struct as_syscall {
	const struct as_spec_call *spec;
	unsigned pid; /* the thread group; 0: the trace does not say */
	unsigned tid; /* the thread; sources that know only one number put it into both */
	uint64_t time_ns; /* 0: not said */
	struct as_syscall_slot slots[AS_SYSCALL_SLOTS]; /* as spec->slots */
	bool finished; /* it has returned: ret and err are valid */
	bool no_result; /* it is taken as successful, but the trace does not say so: no output is
			   counted */
	int64_t ret; /* -1 when err */
	int err; /* errno, 0: none */
	int made[2]; /* descriptors that came back through memory (pipe, socketpair); -1: none */
	/* Of an exec: the arguments, a NUL after each. NULL: not known. The path of the program is
	 * its slot. Only read if the call is an exec. */
	const char *args;
	unsigned args_len;
	bool args_cut; /* there were more, or longer ones */
};

/* The value of a register, converted to the type of the parameter. */
static inline uint64_t as_syscall_value(const struct as_spec_slot *slot, uint64_t raw)
{
	switch (slot->how) {
	case AS_HOW_CONST:
		return slot->constant;
	case AS_HOW_INT:
		return (uint64_t)(int64_t)(int32_t)raw;
	case AS_HOW_UINT:
		return (uint32_t)raw;
	default:
		return raw;
	}
}

/* Reads len bytes at `address` of the traced process; returns how many could be read. With
 * text, it stops after a NUL. */
struct as_memory {
	/* The lengths of n struct iovec added up; false: they cannot be read. NULL: by read. */
	bool (*sum)(void *ctx, uint64_t address, uint64_t n, uint64_t *out);
	size_t (*read)(void *ctx, uint64_t address, void *out, size_t len, bool text);
	void *ctx;
};

#define AS_SYSCALL_TEXT_MAX 4096

/* Fills the slots of `call` from the registers of a call that begins. Texts are put into `room`
 * (of AS_SYSCALL_ROOM bytes), and pointed to. pid, tid, time and the result are the caller's. */
#define AS_SYSCALL_ROOM (4 * (AS_SYSCALL_TEXT_MAX + 1))
void as_syscall_fill(struct as_syscall *call, const struct as_spec_call *spec,
		     const uint64_t regs[6], const struct as_memory *memory, char *room);
/* When it comes back: raw is what the kernel put into the register. Reads what came back through
 * memory (pipe). */
void as_syscall_return(struct as_syscall *call, int64_t raw, const uint64_t regs[6],
		       const struct as_memory *memory);

/* Calls that move an offset through a pointer: their argument is what memory held before. If memory
 * was read after the call, this undoes the move. raw: as above. */
void as_syscall_undo_offset(struct as_syscall *call, int64_t raw);

/* A call that was interrupted and whose answer the program has not seen yet: err is one of the
 * kernel's own, between these two (ERESTARTSYS to ERESTART_RESTARTBLOCK). */
#define AS_SYSCALL_RESTART_FIRST 512
#define AS_SYSCALL_RESTART_LAST 516
static inline bool as_syscall_interrupted(const struct as_syscall *call)
{
	return !call->finished && call->err >= AS_SYSCALL_RESTART_FIRST &&
	       call->err <= AS_SYSCALL_RESTART_LAST;
}

/* A copy of the call and its texts in one piece of memory, and how many bytes that takes. The
 * arguments of an exec are not copied: the copy says that they are not known. */
size_t as_syscall_bytes(const struct as_syscall *call);
void as_syscall_keep(const struct as_syscall *call, void *memory);

#endif
