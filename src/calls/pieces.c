/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pieces: see pieces.h. */
#include "calls/pieces.h"

#include <string.h>
#include <sys/uio.h>

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
		want_piece(&want, AS_BPF_RESULT, call->slots[0].reg, 2 * sizeof(int), 0);
	return want;
}

/* The next piece that is whole; NULL: there is none. They are not trusted: a program may
 * have overwritten them. */
static const struct as_bpf_piece *next(const struct as_pieces *all, size_t *at)
{
	const struct as_bpf_piece *piece = (const void *)(all->data + *at);

	if (*at > all->len || all->len - *at < sizeof(*piece) || piece->padded % 8 ||
	    piece->padded < sizeof(*piece) || piece->padded > all->len - *at ||
	    piece->len > piece->padded - sizeof(*piece))
		return NULL;
	*at += piece->padded;
	return piece;
}

size_t as_pieces_read(void *ctx, uint64_t address, void *out, size_t len, bool text)
{
	const struct as_bpf_piece *piece;
	size_t at = 0;

	while ((piece = next(ctx, &at))) {
		size_t from = address - piece->address, n;

		if (piece->kind == AS_BPF_IOV || address < piece->address || from >= piece->len)
			continue;
		n = piece->len - from;
		/* A text that was cut short ends with a NUL that is not part of it. */
		if (text && piece->len == AS_BPF_TEXT_BYTES)
			n--;
		if (n > len)
			n = len;
		memcpy(out, (const char *)(piece + 1) + from, n);
		return n;
	}
	return 0;
}

void as_pieces_command(const struct as_pieces *all, struct as_syscall *call)
{
	const struct as_bpf_piece *piece;
	size_t at = 0;

	as_assert(call->spec->act == AS_ACT_EXEC && call->spec->n_slots == 1);
	while ((piece = next(all, &at))) {
		const char *text = (const char *)(piece + 1);

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
	}
}

bool as_pieces_sum(void *ctx, uint64_t address, uint64_t n, uint64_t *out)
{
	const struct as_bpf_piece *piece;
	struct as_bpf_sum sum;
	size_t at = 0;

	while ((piece = next(ctx, &at))) {
		if (piece->kind != AS_BPF_IOV || piece->address != address ||
		    piece->len != sizeof(sum))
			continue;
		memcpy(&sum, piece + 1, sizeof(sum));
		*out = sum.sum;
		return sum.n == n;
	}
	return false;
}

static struct as_bpf_sum add_up(const struct iovec *iov, uint64_t n)
{
	struct as_bpf_sum sum = { .n = n };

	for (uint64_t i = 0; i < n && n <= AS_BPF_IOV_MAX; i++)
		sum.sum += iov[i].iov_len;
	return sum;
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
	case AS_BPF_IOV:
		return sizeof(struct as_bpf_sum);
	default:
		return want->piece[i].bytes;
	}
}

size_t as_pieces_cut(const struct as_bpf_want *want, const uint64_t regs[6], char *room)
{
	size_t at = 0;

	for (unsigned i = 0; i < want->n; i++) {
		const void *from = (const void *)(uintptr_t)regs[want->piece[i].reg];
		size_t len = piece_len(want, i, regs);
		struct as_bpf_piece head = { .address = (uintptr_t)from,
					     .len = (unsigned)len,
					     .kind = want->piece[i].kind };
		struct as_bpf_sum sum;

		if (!len)
			continue;
		if (head.kind == AS_BPF_IOV) {
			sum = add_up(from, regs[want->piece[i].more]);
			from = &sum;
		}
		head.padded = (__u16)(sizeof(head) + ((len + 7) & ~(size_t)7));
		memcpy(room + at, &head, sizeof(head));
		memcpy(room + at + sizeof(head), from, len);
		at += head.padded;
	}
	return at;
}
