/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall: builds a call from the registers and the memory of the process that made it. */
#include "calls/syscall.h"

#include <string.h>
#include <sys/syscall.h>

#define IOV_MOST 1024
#define IOV_STEP 128

/* False: the pointer is NULL, or cannot be read; the state of the slot says which. */
static bool fetch(struct as_syscall_slot *slot, const struct as_memory *memory, uint64_t address,
		  void *out, size_t len)
{
	if (!address)
		slot->state = AS_SLOT_NULL;
	else if (memory->read(memory->ctx, address, out, len, false) != len)
		slot->state = AS_SLOT_FAULT;
	else
		return true;
	return false;
}

static void fill_text(struct as_syscall_slot *slot, const struct as_memory *memory,
		      uint64_t address, char *room)
{
	size_t n;
	char *nul;

	if (!address) {
		slot->state = AS_SLOT_NULL;
		return;
	}
	n = memory->read(memory->ctx, address, room, AS_SYSCALL_TEXT_MAX, true);
	if (!n) {
		slot->state = AS_SLOT_FAULT;
		return;
	}
	nul = memchr(room, 0, n);
	slot->state = AS_SLOT_TEXT;
	slot->text = room;
	slot->len = (unsigned)(nul ? (size_t)(nul - room) : n);
	slot->cut = !nul;
}

/* The kernel copies all of them first: if one cannot be read, the call fails. */
static bool add_up(const struct as_memory *memory, uint64_t address, uint64_t n, uint64_t *sum)
{
	uint64_t iov[IOV_STEP][2];

	if (memory->sum)
		return memory->sum(memory->ctx, address, n, sum);
	while (n) {
		size_t some = n < IOV_STEP ? n : IOV_STEP, len = some * sizeof(iov[0]);

		if (memory->read(memory->ctx, address, iov, len, false) != len)
			return false;
		for (size_t i = 0; i < some; i++)
			*sum += iov[i][1];
		address += len;
		n -= some;
	}
	return true;
}

static void fill_iov(struct as_syscall_slot *slot, const struct as_memory *memory, uint64_t address,
		     uint64_t n)
{
	slot->value = 0;
	if (n > IOV_MOST)
		slot->state = AS_SLOT_UNSEEN; /* The kernel does not look at it either. */
	else if (n && !address)
		slot->state = AS_SLOT_NULL;
	else if (n && !add_up(memory, address, n, &slot->value))
		slot->state = AS_SLOT_FAULT;
	else
		slot->state = AS_SLOT_VALUE;
}

static void fill_time(struct as_syscall_slot *slot, const struct as_memory *memory,
		      const struct as_spec_slot *spec, uint64_t address)
{
	int64_t t[4] = { 0 };
	size_t len = spec->how == AS_HOW_UTIMBUF ? 16 : 32;

	if (!fetch(slot, memory, address, t, len))
		return;
	slot->state = AS_SLOT_TIME;
	slot->value = (uint64_t)t[spec->how == AS_HOW_UTIMBUF ? spec->offset : 2 * spec->offset];
	slot->nsec = spec->how == AS_HOW_UTIMBUF ? 0 : t[2 * spec->offset + 1];
	if (spec->how == AS_HOW_TIMEVAL)
		slot->nsec = slot->nsec >= 0 && slot->nsec < 1000000 ? slot->nsec * 1000 : -1;
}

void as_syscall_fill(struct as_syscall *call, const struct as_spec_call *spec,
		     const uint64_t regs[6], const struct as_memory *memory, char *room)
{
	call->spec = spec;
	call->args = NULL;
	call->finished = call->no_result = false;
	call->made[0] = call->made[1] = -1;
	for (unsigned i = 0; i < spec->n_slots; i++) {
		const struct as_spec_slot *how = &spec->slots[i];
		struct as_syscall_slot *slot = &call->slots[i];
		uint64_t reg = how->reg < 6 ? regs[how->reg] : 0, there;

		*slot = (struct as_syscall_slot){ .state = AS_SLOT_VALUE,
						  .value = as_syscall_value(how, reg) };
		switch (how->how) {
		case AS_HOW_TEXT:
			fill_text(slot, memory, reg, room);
			room += slot->state == AS_SLOT_TEXT ? slot->len + 1 : 0;
			break;
		case AS_HOW_U64:
			if (fetch(slot, memory, reg ? reg + how->offset : 0, &there, 8))
				slot->value = there;
			break;
		case AS_HOW_IOV:
			fill_iov(slot, memory, reg, regs[how->more]);
			break;
		case AS_HOW_TIMESPEC:
		case AS_HOW_TIMEVAL:
		case AS_HOW_UTIMBUF:
			fill_time(slot, memory, how, reg);
			break;
		default:
			break;
		}
	}
}

void as_syscall_return(struct as_syscall *call, int64_t raw, const uint64_t regs[6],
		       const struct as_memory *memory)
{
	/* Interrupted by a signal: made again, or answered by an EINTR that the return from the
	 * handler shows (interrupt.c). */
	call->finished = raw > -AS_SYSCALL_RESTART_FIRST || raw < -AS_SYSCALL_RESTART_LAST;
	call->err = raw < 0 && raw >= -4095 ? (int)-raw : 0;
	call->ret = call->err ? -1 : raw;
	for (unsigned i = 0; i < call->spec->n_slots; i++) {
		const struct as_spec_slot *slot = &call->spec->slots[i];
		int pair[2];

		if (slot->own != AS_OWN_PAIR || call->err)
			continue;
		if (memory->read(memory->ctx, regs[slot->reg], pair, sizeof(pair), false) ==
		    sizeof(pair))
			memcpy(call->made, pair, sizeof(pair));
	}
}

size_t as_syscall_bytes(const struct as_syscall *call)
{
	size_t bytes = sizeof(*call);

	for (unsigned i = 0; i < call->spec->n_slots; i++)
		bytes += call->slots[i].len;
	return bytes;
}

void as_syscall_keep(const struct as_syscall *call, void *memory)
{
	struct as_syscall *copy = memory;
	char *room = (char *)(copy + 1);

	/* Slots beyond n_slots are not initialized. */
	memcpy(copy, call, offsetof(struct as_syscall, slots));
	copy->finished = call->finished;
	copy->no_result = call->no_result;
	copy->ret = call->ret;
	copy->err = call->err;
	memcpy(copy->made, call->made, sizeof(copy->made));
	copy->args = NULL;
	copy->args_len = 0;
	copy->args_cut = false;
	for (unsigned i = 0; i < call->spec->n_slots; i++) {
		copy->slots[i] = call->slots[i];
		if (!call->slots[i].len)
			continue;
		memcpy(room, call->slots[i].text, call->slots[i].len);
		copy->slots[i].text = room;
		room += call->slots[i].len;
	}
}

void as_syscall_undo_offset(struct as_syscall *call, int64_t raw)
{
	const struct as_spec_call *spec = call->spec;

	if (raw <= 0 ||
	    (spec->nr != SYS_copy_file_range && spec->nr != SYS_sendfile && spec->nr != SYS_splice))
		return;
	for (unsigned i = 0; i < spec->n_slots; i++)
		if (spec->slots[i].how == AS_HOW_U64 && call->slots[i].state == AS_SLOT_VALUE)
			call->slots[i].value -= (uint64_t)raw;
}
