/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack: where a process was when a signal killed it. The dying process notes its frames in memory
 * that it shares with another one (stack_catch.c, which the shim of checkers contains, too); that
 * one gives them names (stack.c).
 */
#ifndef AS_OS_STACK_H
#define AS_OS_STACK_H

#include <stdint.h>

struct as_buf; /* base/buf.h */

#define AS_STACK_FRAMES 16
#define AS_STACK_PATH_BYTES 112
#define AS_STACK_SAID_BYTES 4096

struct as_stack_frame {
	uint64_t at; /* as the file of the module counts: the same wherever it is loaded */
	char module[AS_STACK_PATH_BYTES]; /* its path; "": no code is there */
};

/* All zero: nothing was noted. A reader must not trust it: what died could write to it. */
struct as_stack {
	int32_t signal;
	uint32_t n;
	struct as_stack_frame frame[AS_STACK_FRAMES]; /* the innermost first */
	char said[AS_STACK_SAID_BYTES]; /* the report of a sanitizer; "": none */
};

/* Clears it. From now on, a signal that says that this process did something wrong (SIGSEGV,
 * SIGABRT, ...) is noted there before it kills. The process has one at a time. */
void as_stack_catch(struct as_stack *stack);

/* Adds what killed it and where: "SIGSEGV in write_block < write_file". `signal` is what the parent
 * saw; what the process itself noted comes first, since the handler may have died, too. Functions
 * without a name are "module+0x12ab". Frames of the C library are left out, and those of functions
 * that only tell of a mistake (assertions). Of our own program only the first frame is told,
 * because after that it is we who called. Of a sanitizer's report, the kind of the mistake stands
 * in place of the signal: "heap-buffer-overflow in write_block". */
void as_stack_words(const struct as_stack *stack, int signal, struct as_buf *out);

/* Adds the report of a sanitizer, up to the end of its stacks, and without our own frames;
 * nothing if there is none. */
void as_stack_report(const struct as_stack *stack, struct as_buf *out);

#endif
