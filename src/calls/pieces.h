/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pieces: the memory that a call's arguments point to, copied and sent along with the call. The
 * receiver cannot read the memory of the process any more. event.h has the layout.
 */
#ifndef AS_CALLS_PIECES_H
#define AS_CALLS_PIECES_H

#include "calls/event.h"
#include "calls/syscall.h"

/* Which memory of a call is to be sent. */
struct as_bpf_want as_pieces_wanted(const struct as_spec_call *call);

struct as_pieces {
	const char *data;
	size_t len;
};

/* For struct as_memory: ctx is a struct as_pieces. */
size_t as_pieces_read(void *ctx, uint64_t address, void *out, size_t len, bool text);
bool as_pieces_sum(void *ctx, uint64_t address, uint64_t n, uint64_t *out);

/* The pieces of an exec: program and arguments. The call points to them. */
void as_pieces_command(const struct as_pieces *all, struct as_syscall *call);

/* Copies the pieces of a call of this process into room (of AS_PIECES_ROOM bytes, aligned to 8),
 * and returns how many bytes they take. The pointers must be valid. */
#define AS_PIECES_ROOM (AS_BPF_PIECES * (AS_BPF_PIECE_BYTES + 8))
size_t as_pieces_cut(const struct as_bpf_want *want, const uint64_t regs[6], char *room);

#endif
