/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_pieces: see record_pieces.h. */
#include "cover/record_pieces.h"

#include <string.h>

static void want_piece(struct as_bpf_want *want, unsigned kind, unsigned reg, unsigned bytes,
		       unsigned more)
{
	unsigned i = 0;

	while (i < want->n && want->piece[i].reg != reg)
		i++;
	as_assert(i < AS_BPF_PIECES && bytes < 256);
	if (i == want->n)
		want->n++;
	want->piece[i].kind = (unsigned char)kind;
	want->piece[i].reg = (unsigned char)reg;
	want->piece[i].more = (unsigned char)more;
	if (bytes > want->piece[i].bytes)
		want->piece[i].bytes = (unsigned char)bytes;
}

static void want_slot(struct as_bpf_want *want, const struct as_spec_slot *slot)
{
	switch (slot->how) {
	case AS_HOW_TEXT:
		want_piece(want, AS_BPF_TEXT, slot->reg, 0, 0);
		break;
	case AS_HOW_U64:
		want_piece(want, AS_BPF_BYTES, slot->reg, slot->offset + 8u, 0);
		break;
	case AS_HOW_IOV:
		want_piece(want, AS_BPF_IOV, slot->reg, 0, slot->more);
		break;
	case AS_HOW_TIMESPEC:
	case AS_HOW_TIMEVAL:
		want_piece(want, AS_BPF_BYTES, slot->reg, 32, 0);
		break;
	case AS_HOW_UTIMBUF:
		want_piece(want, AS_BPF_BYTES, slot->reg, 16, 0);
		break;
	default:
		break;
	}
}

struct as_bpf_want as_pieces_wanted(const struct as_spec_call *call)
{
	struct as_bpf_want want = { .watched = true };

	for (unsigned i = 0; i < call->n_slots; i++)
		want_slot(&want, &call->slots[i]);
	/* Two descriptors come back through memory. */
	if (call->act == AS_ACT_MAKE_PAIR)
		want_piece(&want, AS_BPF_BYTES, call->slots[0].reg, 2 * sizeof(int), 0);
	return want;
}

size_t as_pieces_read(void *ctx, uint64_t address, void *out, size_t len, bool text)
{
	const struct as_pieces *all = ctx;
	const char *at = all->data, *end = at + all->len;

	while (at < end) {
		const struct as_bpf_piece *piece = (const void *)at;

		if (address >= piece->address && address - piece->address < piece->len) {
			size_t from = address - piece->address, n = piece->len - from;

			/* What was cut short ends with a NUL that is not its own. */
			if (text && piece->len == AS_BPF_TEXT_BYTES)
				n--;
			if (n > len)
				n = len;
			memcpy(out, at + sizeof(*piece) + from, n);
			return n;
		}
		at += piece->padded;
	}
	return 0;
}

void as_pieces_command(const char *data, size_t len, struct as_syscall *call)
{
	const char *end = data + len;

	as_assert(call->spec->act == AS_ACT_EXEC && call->spec->n_slots == 1);
	while (data < end) {
		const struct as_bpf_piece *piece = (const void *)data;
		const char *text = data + sizeof(*piece);

		if (piece->address == AS_BPF_EXEC_PROGRAM) {
			call->slots[0] = (struct as_syscall_slot){ .state = AS_SLOT_TEXT,
								   .text = text,
								   .len = (unsigned)strnlen(
									   text, piece->len) };
		} else if (piece->address == AS_BPF_EXEC_ARGS) {
			call->args = text;
			call->args_len = piece->len;
			call->args_cut = piece->len == AS_BPF_ARGS_BYTES;
		}
		data += piece->padded;
	}
}

static size_t piece_len(const struct as_bpf_want *want, unsigned i, const uint64_t regs[6])
{
	const char *from = (const char *)(uintptr_t)regs[want->piece[i].reg];
	uint64_t n;

	if (!from)
		return 0;
	switch (want->piece[i].kind) {
	case AS_BPF_TEXT:
		n = strnlen(from, AS_BPF_TEXT_BYTES) + 1;
		return n > AS_BPF_TEXT_BYTES ? AS_BPF_TEXT_BYTES : n;
	case AS_BPF_BYTES:
		return want->piece[i].bytes;
	default:
		n = regs[want->piece[i].more];
		return (n > AS_BPF_IOV_MAX ? AS_BPF_IOV_MAX : n) * 16;
	}
}

size_t as_pieces_cut(const struct as_bpf_want *want, const uint64_t regs[6], char *room)
{
	size_t at = 0;

	for (unsigned i = 0; i < want->n; i++) {
		uint64_t address = regs[want->piece[i].reg];
		size_t len = piece_len(want, i, regs);
		struct as_bpf_piece head = { .address = address, .len = (unsigned)len };

		if (!len)
			continue;
		head.padded = (unsigned)(sizeof(head) + ((len + 7) & ~(size_t)7));
		memcpy(room + at, &head, sizeof(head));
		memcpy(room + at + sizeof(head), (const void *)(uintptr_t)address, len);
		at += head.padded;
	}
	return at;
}
