/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault: a block device that fails as a plan says. A plan is a list of rules in text, separated by
 * blanks or semicolons:
 *
 *	KIND:WHEN:ACTION[,ACTION]
 *
 *	KIND    read, write, flush, discard, zero; of flash: program (a write), erase (a zero)
 *	WHEN    3 (the third call of that kind), 3+ (from the third on), 3..5
 *	ACTION  eio (or any errno name)  the call fails
 *	        tear=N  write, discard, zero: only the first N sectors are done, the rest stays old
 *	        drop    write, flush, discard, zero: not done at all, and reported as done
 *	        flip=N  read, write: bit N of the data is inverted (modulo the length; bit 0 is
 *	                the lowest of the first byte)
 *
 * A torn call is reported as done, as after a power cut, unless an errno says otherwise:
 * "write:2:tear=1" and "write:2:tear=1,eio". With an errno alone nothing is done. drop cannot be
 * combined with anything, flip only with tear. If several rules match a call, the first one of the
 * plan applies.
 *
 * Each rule counts how often it fired, which means that it changed what a call did or answered. A
 * sweep that fails call 1, 2, 3 … is complete when a run ends in which no rule fired.
 */
#ifndef AS_DISK_FAULT_H
#define AS_DISK_FAULT_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/call.h"

#include <assay/target.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_FAULT_NEVER_ENDS UINT64_MAX

enum as_fault_action {
	AS_FAULT_ERROR = 1,
	AS_FAULT_TEAR = 2,
	AS_FAULT_DROP = 4,
	AS_FAULT_FLIP = 8,
};

struct as_fault_rule {
	enum as_call kind;
	unsigned actions; /* enum as_fault_action */
	uint64_t first, last; /* calls of that kind, counted from 1; last may be NEVER_ENDS */
	int errnum; /* positive: EIO */
	uint64_t tear_sectors, flip_bit;
};

struct as_faulty;

/* Reads a plan; an empty text is an empty plan. *rules is to be freed. The message of an error
 * names the rule, the place in it, and what was expected there. */
AS_MUST_CHECK int as_fault_parse(const char *text, struct as_fault_rule **rules, size_t *n,
				 struct as_err *err);
/* Prints a plan in its canonical form: parse(print(plan)) is the plan. */
void as_fault_print(const struct as_fault_rule *rules, size_t n, struct as_buf *out);

/* `inner` must outlive the wrapper and is not freed with it; the rules are copied. Rules that
 * as_fault_parse() would not return are a programming error. */
struct as_faulty *as_faulty_new(struct as_bd *inner, const struct as_fault_rule *rules, size_t n);
void as_faulty_free(struct as_faulty *faulty); /* takes NULL */
/* The block device to be used in place of `inner`. */
struct as_bd *as_faulty_bd(struct as_faulty *faulty);

/* Sets another plan; the counts of calls and firings start again at 0. */
void as_faulty_plan(struct as_faulty *faulty, const struct as_fault_rule *rules, size_t n);
/* Calls of a kind since the plan was set, the invalid ones included. */
uint64_t as_faulty_calls(const struct as_faulty *faulty, enum as_call kind);
/* How often rule i of the plan fired. */
uint64_t as_faulty_fired(const struct as_faulty *faulty, size_t i);
/* How often any rule fired. */
uint64_t as_faulty_fired_any(const struct as_faulty *faulty);

#endif
