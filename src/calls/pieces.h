/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pieces: the memory that a call's arguments point to, cut out and sent along with it, where
 * whoever counts cannot look into the process any more. The layout is that of bpf/event.h.
 */
#ifndef AS_CALLS_PIECES_H
#define AS_CALLS_PIECES_H

#include "calls/event.h"
#include "calls/syscall.h"

/* What of a call's memory is wanted. */
struct as_bpf_want as_pieces_wanted(const struct as_spec_call *call);

struct as_pieces {
	const char *data;
	size_t len;
};

/* For struct as_memory: ctx is a struct as_pieces. */
size_t as_pieces_read(void *ctx, uint64_t address, void *out, size_t len, bool text);
bool as_pieces_sum(void *ctx, uint64_t address, uint64_t n, uint64_t *out);

/* The pieces of an exec: program and arguments. They stay where they are. */
void as_pieces_command(const struct as_pieces *all, struct as_syscall *call);

/* The pieces of a call of our own, put into room (of AS_PIECES_ROOM bytes, aligned to 8); how many
 * bytes they take. Pointers that a call of ours is made with are good. */
#define AS_PIECES_ROOM (AS_BPF_PIECES * (AS_BPF_PIECE_BYTES + 8))
size_t as_pieces_cut(const struct as_bpf_want *want, const uint64_t regs[6], char *room);

#endif
