/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inside: writes a record of a call, within the process that makes it. It uses no library, makes no
 * calls, and uses general registers only and little stack.
 *
 *  1. A record is allocated by one instruction (xadd), so that a signal handler that makes calls
 *     meanwhile gets another one. It is zero until it is filled in.
 *  2. `begun` and `ended` are written last: a record with a beginning has its arguments, and one
 *     with an end has its result.
 *  3. Memory of the program is touched only by as_inside_copy, whose faults the recorder handles.
 */
#include "record/inside/layout.h"

#define NR_MMAP 9
#define PROT_EXEC_BIT 4
#define MAP_ANONYMOUS_BIT 0x20

extern const unsigned char as_inside_row[AS_INSIDE_NRS];
extern const struct as_bpf_want as_inside_rows[AS_INSIDE_ROWS];

long as_inside_copy(void *to, const void *from, unsigned long n, long text);
struct as_inside_record *as_inside_begin(const __u64 regs[6], struct as_inside_slot *slot,
					 __u32 nr);
void as_inside_end(struct as_inside_record *record, __s64 ret, const __u64 regs[6],
		   const void *slot);

static struct as_inside_pool *const pool = (void *)AS_INSIDE_POOL;

/* No process can have this address: checking it is cheaper than a fault. */
static int nowhere(__u64 address)
{
	return address < 4096 || address >= 0x7ffffffff000;
}

static long text_bytes(__u64 address)
{
	return nowhere(address) ? -1 : as_inside_copy(0, (void *)address, AS_BPF_TEXT_BYTES, 1);
}

/* How many bytes the piece will have; 0: nothing can be read. */
static unsigned long measure(const struct as_bpf_want *want, unsigned i, const __u64 regs[6])
{
	__u64 address = regs[want->piece[i].reg];
	long n;

	switch (want->piece[i].kind) {
	case AS_BPF_TEXT:
		n = text_bytes(address);
		return n < 0 ? 0 : (unsigned long)n;
	case AS_BPF_IOV:
		return regs[want->piece[i].more] <= AS_BPF_IOV_MAX ? sizeof(struct as_bpf_sum) : 0;
	default:
		return nowhere(address) ? 0 : want->piece[i].bytes;
	}
}

static int add_up(__u64 address, __u64 n, struct as_bpf_sum *out)
{
	__u64 iov[2], sum = 0;

	if (n && nowhere(address))
		return -1;
	for (__u64 i = 0; i < n; i++) {
		if (as_inside_copy(iov, (char *)address + i * sizeof(iov), sizeof(iov), 0) < 0)
			return -1;
		sum += iov[1];
	}
	out->n = n;
	out->sum = sum;
	return 0;
}

static unsigned padded(unsigned long len)
{
	return (unsigned)(sizeof(struct as_bpf_piece) + ((len + 7) & ~7ul));
}

/* If a text has become shorter meanwhile, the rest is zero. */
static void fill(struct as_bpf_piece *head, const struct as_bpf_want *want, unsigned i,
		 const __u64 regs[6], unsigned long len)
{
	__u64 address = regs[want->piece[i].reg];
	void *to = head + 1;

	head->kind = want->piece[i].kind;
	head->padded = (__u16)padded(len);
	head->address = address;
	head->len = 0;
	switch (want->piece[i].kind) {
	case AS_BPF_RESULT:
		return; /* when it is there */
	case AS_BPF_IOV:
		if (add_up(address, regs[want->piece[i].more], to))
			return;
		break;
	default:
		if (as_inside_copy(to, (void *)address, len, 0) < 0)
			return;
		if (want->piece[i].kind == AS_BPF_TEXT)
			((char *)to)[len - 1] = 0;
	}
	head->len = (__u32)len;
}

struct as_inside_record *as_inside_begin(const __u64 regs[6], struct as_inside_slot *slot, __u32 nr)
{
	const struct as_bpf_want *want = &as_inside_rows[as_inside_row[nr] % AS_INSIDE_ROWS];
	unsigned long len[AS_BPF_PIECES], all = sizeof(struct as_inside_record), at;
	struct as_inside_record *record;
	unsigned n = want->n;

	/* Mappings without a file do not matter; the recorder must see those of text. */
	if (nr == NR_MMAP && (regs[3] & MAP_ANONYMOUS_BIT || regs[2] & PROT_EXEC_BIT))
		return 0;
	for (unsigned i = 0; i < n; i++) {
		len[i] = measure(want, i, regs);
		all += len[i] ? padded(len[i]) : 0;
	}
	at = all;
	__asm__ volatile("xadd %0, %1" : "+r"(at), "+m"(slot->write) : : "memory", "cc");
	if (at < sizeof(*slot) || at > AS_INSIDE_SLOT)
		return 0;
	if (at + all > AS_INSIDE_SLOT) {
		slot->full_at = at;
		return 0;
	}
	record = (void *)((char *)slot + at);
	record->len = (__u32)all;
	record->nr = nr;
	for (unsigned i = 0; i < 6; i++)
		record->regs[i] = regs[i];
	at = sizeof(*record);
	for (unsigned i = 0; i < n; i++) {
		if (!len[i])
			continue;
		fill((void *)((char *)record + at), want, i, regs, len[i]);
		at += padded(len[i]);
	}
	record->piece_bytes = (__u32)(at - sizeof(*record));
	__asm__ volatile("" : : : "memory");
	record->begun = __atomic_fetch_add(&pool->moment, 1, __ATOMIC_SEQ_CST) + 1;
	return record;
}

/* What the call has put into memory. */
static void results(struct as_inside_record *record)
{
	const struct as_bpf_want *want =
		&as_inside_rows[as_inside_row[record->nr % AS_INSIDE_NRS] % AS_INSIDE_ROWS];
	struct as_bpf_piece *head = (void *)(record + 1);

	if (want->n != 1 || want->piece[0].kind != AS_BPF_RESULT || !record->piece_bytes)
		return;
	if (as_inside_copy(head + 1, (void *)head->address, want->piece[0].bytes, 0) >= 0)
		head->len = want->piece[0].bytes;
}

void as_inside_end(struct as_inside_record *record, __s64 ret, const __u64 regs[6],
		   const void *slot)
{
	(void)regs;
	/* A child that was forked in a signal handler comes back here with its parent's record. */
	if (((unsigned long)record & ~(AS_INSIDE_SLOT - 1ul)) != (unsigned long)slot) {
		struct as_inside_slot *own = (void *)slot;

		if ((unsigned long)slot - AS_INSIDE_POOL < AS_INSIDE_POOL_BYTES)
			own->lost++;
		return;
	}
	if (ret >= 0)
		results(record);
	record->ret = ret;
	__asm__ volatile("" : : : "memory");
	record->ended = __atomic_fetch_add(&pool->moment, 1, __ATOMIC_SEQ_CST) + 1;
}
