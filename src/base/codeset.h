/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * codeset: a set of places in the code of a kernel, by their addresses. It is one piece of memory
 * without pointers, so that processes can share it: several may add at once.
 *
 * All addresses lie within AS_CODESET_WINDOW bytes from a base, which is that of the first one. An
 * address elsewhere is not taken, nor is the last one that there is, because whoever walks through
 * the set goes on after it. Nor are more than AS_CODESET_MAX, give or take what processes add at
 * the same moment: no kernel has as many, but one that is broken may tell as many.
 */
#ifndef AS_BASE_CODESET_H
#define AS_BASE_CODESET_H

#include "base/buf.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define AS_CODESET_WINDOW ((uint64_t)128 << 20)
#define AS_CODESET_MAX ((uint64_t)2 << 20)
/* The digits of an address in hexadecimal, without sign and prefix. *end: what follows; it is
 * `text` if there is no address. */
uint64_t as_codeset_address(const char *text, const char **end);

/* A set that is all zero is empty. */
struct as_codeset {
	_Atomic uint64_t base, n;
	_Atomic uint64_t bits[AS_CODESET_WINDOW / 64];
};

/* Of an empty set: addresses will be around this one, whichever is told first. */
void as_codeset_expect(struct as_codeset *set, uint64_t pc);
/* True: it was not in the set before. */
bool as_codeset_add(struct as_codeset *set, uint64_t pc);
bool as_codeset_has(const struct as_codeset *set, uint64_t pc);
/* The next one from `pc` on; 0: there is none. */
uint64_t as_codeset_next(const struct as_codeset *set, uint64_t pc);

/*
 * How a process tells of what was reached for the first time: "kcov NAME\n" and the addresses in
 * hexadecimal with blanks between, NAME being that of the workload (base/event.h, `told`). A text
 * of more than AS_CODESET_TOLD_MAX addresses is several.
 */
#define AS_CODESET_TOLD_MAX 16384
void as_codeset_tell(const char *name, const uint64_t *pcs, size_t n, struct as_buf *text);
/* Adds them. *added: those that were new. *name points into the text, and has `len` bytes. False:
 * the text is none of these, or damaged, and then a part may have been added. */
bool as_codeset_hear(struct as_codeset *set, const char *text, const char **name, size_t *len,
		     uint64_t *added);

#endif
