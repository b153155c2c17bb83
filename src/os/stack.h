/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack: where a process was when a signal killed it. The dying process notes its frames in memory
 * that it shares with another one (stack_catch.c, which the shim of checkers contains, too); that
 * one gives them names (stack.c).
 */
#ifndef AS_OS_STACK_H
#define AS_OS_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct as_buf; /* base/buf.h */

#define AS_STACK_FRAMES 16
#define AS_STACK_PATH_BYTES 1024
#define AS_STACK_SAID_BYTES 4096
#define AS_STACK_ABORT_BYTES 512

struct as_stack_frame {
	uint64_t at; /* as the file of the module counts: the same wherever it is loaded */
	char module[AS_STACK_PATH_BYTES]; /* its path or the end of it; "": no code is there */
};

/* All zero: nothing was noted. A reader must not trust it: what died could write to it. */
struct as_stack {
	int32_t signal;
	uint32_t n;
	bool has_address;
	uint64_t address; /* that could not be reached, or where the instruction is */
	struct as_stack_frame frame[AS_STACK_FRAMES]; /* the innermost first */
	char said[AS_STACK_SAID_BYTES]; /* the report of a sanitizer; "": none */
	char abort[AS_STACK_ABORT_BYTES]; /* the assertion that failed, as it was printed */
};

/* Clears it. From now on, a signal that says that this process did something wrong (SIGSEGV,
 * SIGABRT, ...) is noted there before it kills. The process has one at a time. */
void as_stack_catch(struct as_stack *stack);

/* The text that the C library keeps when it aborts (an assertion, a damaged heap) is noted, too, if
 * this is called after as_stack_catch(). */
void as_stack_catch_abort(void);
/* As glibc has it. */
struct as_abort_text {
	unsigned size;
	char text[];
};
void as_stack_catch_text(struct as_abort_text *const *text); /* of stack_catch.c */

/* A file system may print its assertions itself, and abort: looks for the last one in what it
 * printed. */
void as_stack_hear(struct as_stack *stack, const char *printed);

/* Adds what killed it and where: "SIGSEGV in write_block < write_file". `signal` is what the parent
 * saw; what the process itself noted comes first, since the handler may have died, too. Functions
 * without a name are "module+0x12ab". Frames of the C library are left out, and those of functions
 * that only tell of a mistake (assertions). Of our own program only the first frame is told,
 * because after that it is we who called. Of a sanitizer's report, the kind of the mistake stands
 * in place of the signal: "heap-buffer-overflow in write_block". An assertion comes after the
 * signal, with the file and the line: "SIGABRT: assertion `n < 4' at log.c:12 in put". */
void as_stack_words(const struct as_stack *stack, int signal, struct as_buf *out);

/* Adds the report of a sanitizer, up to the end of its stacks, and without our own frames;
 * nothing if there is none. */
void as_stack_report(const struct as_stack *stack, struct as_buf *out);

/* How as_stack_words() names a heap in which the C library met damage. Which call of it does is
 * chance, so nothing else is said. A block that is freed twice is not meant: there the call is the
 * mistake. */
#define AS_STACK_HEAP "a damaged heap"
bool as_stack_is_heap(const struct as_stack *stack);

/* Adds ": assertion `n < 4' at log.c:12"; nothing if none failed (stack_abort.c). */
void as_stack_assertion(const struct as_stack *stack, struct as_buf *out);

/* A call was made to fail: notes who made it; and adds the last such place: "put < commit". Nothing
 * if that is code of our own program, or none was noted. */
void as_stack_note_failure(void);
void as_stack_failure(struct as_buf *out);

/* Notes the frames of whoever calls. */
void as_stack_here(struct as_stack *stack); /* of stack_catch.c */

/* Adds all frames, a line each, up to our own. */
void as_stack_trace(const struct as_stack *stack, struct as_buf *out);

#endif
