/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec: what a system call is. The tables in spec/, put together once: families (open and its
 * variants), their arguments, the calls with where each argument is found, and the errors that
 * manual pages list. Constant after as_spec_new, or after as_counts_spec (cover/counts.h), which
 * numbers the partitions.
 *
 * A family's arguments are its input; its result is its output. A call is a row: one variant. Its
 * parameters ("slots") are arguments of its family. Calls without a family (fork, dup) are only
 * needed for the descriptor tables (see world.h).
 */
#ifndef AS_CALLS_SPEC_H
#define AS_CALLS_SPEC_H

#include "base/err.h"

#include <stddef.h>

#define AS_SYSCALL_SLOTS 8
#define AS_SPEC_ARGS 10 /* arguments of a family */
#define AS_SPEC_BITS 40 /* words of a table of flags */
#define AS_SPEC_NR_MAX 512 /* system call numbers are below */

enum as_spec_class {
	AS_CLASS_FD, /* a descriptor */
	AS_CLASS_DIRFD, /* the directory that a path is relative to; may be AT_FDCWD */
	AS_CLASS_PATH,
	AS_CLASS_TARGET, /* the text of a symbolic link */
	AS_CLASS_NAME, /* of an extended attribute */
	AS_CLASS_BITS, /* flags, modes */
	AS_CLASS_NUMBER,
	AS_CLASS_WORD, /* one of a list */
	AS_CLASS_TIME, /* a struct timespec */
	AS_CLASS_ID, /* a user or group, -1: leave it */
};

/* How the value of a slot is read from the registers of a call. */
enum as_spec_how {
	AS_HOW_VALUE,
	AS_HOW_CONST, /* `constant`: what the call implies */
	AS_HOW_INT, /* the low 32 bits, signed: descriptors */
	AS_HOW_UINT, /* the low 32 bits: flags and modes that are int or umode_t */
	AS_HOW_TEXT, /* pointer to a NUL-terminated string */
	AS_HOW_U64, /* pointer; the 64 bits are at `offset`; may be NULL */
	AS_HOW_IOV, /* pointer to struct iovec[register `more`]: the sum of the lengths */
	AS_HOW_TIMESPEC, /* pointer to struct timespec[2]: number `offset`; may be NULL */
	AS_HOW_TIMEVAL, /* the same with microseconds */
	AS_HOW_UTIMBUF, /* the same with seconds alone */
};

/* What a call does to the descriptor tables; world.c. */
enum as_spec_act {
#define ACT(name) AS_ACT_##name,
#include "calls/spec/act.def"
#undef ACT
};

/* Slots that only the world needs. */
enum as_spec_own {
	AS_OWN_NOT,
	AS_OWN_OLD,
	AS_OWN_NEW,
	AS_OWN_LAST,
	AS_OWN_FLAGS,
	AS_OWN_PAIR,
	AS_OWN_CLONE,
	AS_OWN_ARG,
	AS_OWN_SOURCE,
	AS_OWN_PROGRAM,
};

enum as_spec_ret { AS_RET_NONE, AS_RET_ZERO, AS_RET_BYTES, AS_RET_VALUE };

struct as_spec_word {
	const char *name;
	uint64_t value;
	uint64_t mask; /* of flags: (v & mask) == value; several with one mask exclude each other */
};

struct as_spec_words {
	const char *name;
	const struct as_spec_word *words;
	unsigned n;
	uint64_t known; /* flags: all bits that a word has */
};

struct as_spec_arg {
	const char *name;
	enum as_spec_class class;
	const struct as_spec_words *words; /* flags, words */
	signed char when; /* it counts only if in this earlier argument ... */
	uint64_t when_bits; /* ... one of these bits is set; when -1: always */
	unsigned log2_max; /* numbers: the last power of two that is expected to be tested */
	unsigned bits; /* as_counts_spec: flags: which table of combinations */
	unsigned first, n; /* as_counts_spec: partitions, numbers of the dense table */
};

struct as_spec_family {
	const char *name;
	enum as_spec_ret ret;
	const char *listed; /* errors of the manual pages, separated by blanks */
	struct as_spec_arg args[AS_SPEC_ARGS];
	unsigned n_args;
	unsigned ret_first, ret_n; /* as_counts_spec: partitions of the result */
};

struct as_spec_slot {
	unsigned char arg; /* of the family; AS_SLOT_OWN: only the world wants it */
	unsigned char own; /* enum as_spec_own */
	unsigned char class; /* enum as_spec_class, also of own ones */
	unsigned char reg; /* which parameter, from 0 */
	unsigned char printed; /* where strace prints it: two registers can be one argument */
	unsigned char how; /* enum as_spec_how */
	unsigned char offset, more;
	const char *field; /* the kernel's name of the parameter, as LTTng prints it */
	unsigned char field_len;
	unsigned constant;
	const struct as_spec_words *words;
};
#define AS_SLOT_OWN 255

struct as_spec_call {
	const char *name;
	unsigned short index; /* in as_spec.calls */
	short nr; /* on x86-64; -1: not there */
	short family; /* in as_spec.families; -1: none */
	unsigned char act; /* enum as_spec_act */
	unsigned char n_slots;
	struct as_spec_slot slots[AS_SYSCALL_SLOTS];
};

struct as_spec {
	struct as_spec_family *families;
	unsigned n_families;
	struct as_spec_call *calls;
	unsigned n_calls;
	const struct as_spec_call *by_nr[AS_SPEC_NR_MAX]; /* NULL: not of interest */
	unsigned n_parts; /* as_counts_spec: of the dense table */
	unsigned n_bits; /* as_counts_spec: tables of combinations */
	struct as_spec_names *names;
};

struct as_spec *as_spec_new(void);
void as_spec_free(struct as_spec *spec);
/* NULL: no such call. */
const struct as_spec_call *as_spec_find(const struct as_spec *spec, const char *name, size_t len);
const struct as_spec_family *as_spec_family(const struct as_spec *spec, const char *name);

/* Does this call hide what is done (io_uring_enter)? */
bool as_spec_hides(const struct as_spec_call *call);

#endif
