/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_site: how an instruction `syscall` of a program's text is redirected to a trampoline
 * without breaking anything that the program may jump or return to.
 *
 * The instruction itself has two bytes, a jump that reaches a trampoline has five. There are two
 * safe methods. Either the instruction before the call has five bytes and does not depend on its
 * address (mostly "mov $number, %eax"): it is replaced by the jump. Or the call becomes a short
 * jump to unused bytes between functions, which hold the long jump. With both, each instruction
 * that remains begins where it began, and the instructions after the call do not change: a jump to
 * the call itself makes an ordinary call, which the filter sees.
 */
#ifndef AS_RECORD_RECORD_SITE_H
#define AS_RECORD_RECORD_SITE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define AS_SITE_BEFORE 16 /* bytes that are looked at before a call, and after its beginning */
#define AS_SITE_BEHIND 160
#define AS_SITE_JUMP 5 /* bytes of a jump that reaches 2 GB */
#define AS_SITE_TRAMPOLINE 48

struct as_site {
	bool usable; /* it can be redirected; else it stays as it is */
	short from; /* where the jump is put, counted from the call */
	short pad; /* where the long jump is; the same as `from`: there is no short jump */
	unsigned char displaced[AS_SITE_JUMP]; /* bytes that the long jump replaces */
};

/* text[at] is the call. Bytes outside of the text are not used. `nr`: its number, -1: any. */
void as_site_plan(const unsigned char *text, size_t len, size_t at, int nr, struct as_site *out);

/* The trampoline of a call at `call`, to be put at `here`. */
void as_site_trampoline(const struct as_site *site, uint64_t call, uint64_t here, uint64_t hook,
			unsigned char out[AS_SITE_TRAMPOLINE]);
/* The long jump at `from`; false: too far. */
bool as_site_jump(uint64_t from, uint64_t to, unsigned char out[AS_SITE_JUMP]);

#endif
