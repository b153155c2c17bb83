/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shadows: which bytes of memory, of the guest's registers and of the disk are symbolic.
 *
 * Memory: an 8-bit node for each byte, in chunks of 256 bytes found by hash. The disk is kept the
 * same way, at addresses from DISK_BASE up. Registers: a 64-bit node for each word of the guest's
 * state, or one for each byte where some are concrete. In front of both stands a filter that the
 * translated code asks itself: tags by address, and as_vg_regs, a bit for each register.
 *
 * Invariants
 *  1. A byte with a shadow has a tag not 0 for each address from which an access of up to 32
 *     bytes can reach it. The converse need not hold: tags share entries.
 *  2. A word of the state with a shadow has its bit in as_vg_regs. */
#include "libvex_guest_amd64.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_mallocfree.h"
#include "vg.h"

#define CHUNK 256
#define CHUNK_SLOTS (1u << 15)
#define THREADS 1024
#define WORDS ((sizeof(VexGuestAMD64State) + 7) / 8)

struct chunk {
	ULong key;
	struct chunk *next;
	UInt used;
	Id ids[CHUNK];
};

UShort as_vg_tags[TAG_COUNT];
ULong as_vg_regs;

static struct chunk *slots[CHUNK_SLOTS];
struct guest_word {
	Bool split; /* a node for each byte; what has none is concrete */
	Id whole; /* 64 bits; not split */
	Id bytes[8];
};

struct regs {
	ULong mask;
	struct guest_word words[WORDS];
};

static struct regs *threads[THREADS], *regs;

void as_vg_shadow_start(void)
{
	as_vg_regs = 0;
	as_vg_reg_thread(1);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static UInt slot_of(ULong key)
{
	return (UInt)((key * 0x9e3779b97f4a7c15ull) >> 49);
}

static struct chunk *chunk_at(ULong addr, Bool make)
{
	ULong key = addr / CHUNK;
	UInt s = slot_of(key);
	struct chunk *c;

	for (c = slots[s]; c; c = c->next)
		if (c->key == key)
			return c;
	if (!make)
		return NULL;
	c = VG_(calloc)("assaysym.chunk", 1, sizeof *c);
	c->key = key;
	c->next = slots[s];
	slots[s] = c;
	return c;
}

static UInt tag_of(ULong addr)
{
	return (UInt)(addr >> TAG_SHIFT) & (TAG_COUNT - 1);
}

static void tag(ULong addr, Int by)
{
	UInt here = tag_of(addr), before = tag_of(addr - 31);

	if (addr >= DISK_BASE)
		return;
	if (as_vg_tags[here] < 0xffff)
		as_vg_tags[here] += by;
	if (before != here && as_vg_tags[before] < 0xffff)
		as_vg_tags[before] += by;
}

Id as_vg_mem_byte(ULong addr)
{
	struct chunk *c = chunk_at(addr, False);
	Id n = c ? c->ids[addr % CHUNK] : 0;

	if (n && !as_vg_live(n)) {
		as_vg_mem_set_byte(addr, 0);
		n = 0;
	}
	return n;
}

void as_vg_mem_set_byte(ULong addr, Id n)
{
	struct chunk *c = chunk_at(addr, n != 0);
	Id *p = c ? &c->ids[addr % CHUNK] : NULL;

	if (!p || *p == n)
		return;
	if (!*p) {
		c->used++;
		tag(addr, 1);
	} else if (!n) {
		c->used--;
		tag(addr, -1);
	}
	*p = n;
}

/* A node for `bytes` (1 .. 16) from there, 0 if all are concrete; `real` is what they are. */
Id as_vg_mem_load(ULong addr, UInt bytes, const UChar *real)
{
	Id part[16], r;
	Bool any = False;

	for (UInt i = 0; i < bytes; i++) {
		part[i] = as_vg_mem_byte(addr + i);
		any |= part[i] != 0;
	}
	if (!any)
		return 0;
	r = part[bytes - 1] ? part[bytes - 1] : as_vg_const(8, real[bytes - 1]);
	for (UInt i = bytes - 1; i-- > 0;)
		r = as_vg_concat(r, part[i] ? part[i] : as_vg_const(8, real[i]));
	return r;
}

static Id useful(Id n)
{
	return as_vg_live(n) ? n : 0;
}

void as_vg_mem_store(ULong addr, UInt bytes, Id n)
{
	if (!n) {
		as_vg_mem_clear(addr, bytes);
		return;
	}
	for (UInt i = 0; i < bytes; i++)
		as_vg_mem_set_byte(addr + i, useful(as_vg_extract(8, i * 8, n)));
}

/* Calls `f` for the pieces of chunks that are there in the range. */
static Bool each(ULong addr, ULong bytes, Bool (*f)(struct chunk *c, UInt from, UInt to))
{
	ULong end = addr + bytes;

	if (bytes / CHUNK > CHUNK_SLOTS) { /* fewer chunks than that: go by them */
		for (UInt s = 0; s < CHUNK_SLOTS; s++)
			for (struct chunk *c = slots[s]; c; c = c->next) {
				ULong at = c->key * CHUNK;

				if (at + CHUNK > addr && at < end &&
				    f(c, at < addr ? (UInt)(addr - at) : 0,
				      at + CHUNK > end ? (UInt)(end - at) : CHUNK))
					return True;
			}
		return False;
	}
	while (addr < end) {
		ULong stop = (addr / CHUNK + 1) * CHUNK;
		struct chunk *c = chunk_at(addr, False);

		if (stop > end)
			stop = end;
		if (c && c->used && f(c, addr % CHUNK, (UInt)(stop - addr / CHUNK * CHUNK)))
			return True;
		addr = stop;
	}
	return False;
}

static Bool clear_piece(struct chunk *c, UInt from, UInt to)
{
	for (UInt i = from; i < to; i++)
		if (c->ids[i])
			as_vg_mem_set_byte(c->key * CHUNK + i, 0);
	return False;
}

static Bool any_piece(struct chunk *c, UInt from, UInt to)
{
	for (UInt i = from; i < to; i++)
		if (as_vg_live(c->ids[i]))
			return True;
	return False;
}

void as_vg_mem_clear(ULong addr, ULong bytes)
{
	each(addr, bytes, clear_piece);
}

Bool as_vg_mem_any(ULong addr, ULong bytes)
{
	return each(addr, bytes, any_piece);
}

void as_vg_mem_copy(ULong from, ULong to, ULong bytes)
{
	if (!as_vg_mem_any(from, bytes)) {
		as_vg_mem_clear(to, bytes);
		return;
	}
	if (to <= from)
		for (ULong i = 0; i < bytes; i++)
			as_vg_mem_set_byte(to + i, as_vg_mem_byte(from + i));
	else
		for (ULong i = bytes; i-- > 0;)
			as_vg_mem_set_byte(to + i, as_vg_mem_byte(from + i));
}

/* ---- Registers ----------------------------------------------------------------------------- */

#define OFFSET(field) offsetof(VexGuestAMD64State, field)

static ULong word_bit(UInt word)
{
	UInt off = word * 8;

	if (off < OFFSET(guest_DFLAG)) /* general registers and the thunk of the flags */
		return 1ull << word;
	if (off >= OFFSET(guest_YMM0) && off < OFFSET(guest_YMM16))
		return 1ull << (32 + (off - OFFSET(guest_YMM0)) / 32);
	return 1ull << 63;
}

ULong as_vg_reg_bits(UInt offset, UInt bytes)
{
	ULong bits = 0;

	for (UInt w = offset / 8; w <= (offset + bytes - 1) / 8; w++)
		bits |= word_bit(w);
	return bits;
}

static Bool word_any(const struct guest_word *x)
{
	if (!x->split)
		return as_vg_live(x->whole);
	for (UInt i = 0; i < 8; i++)
		if (as_vg_live(x->bytes[i]))
			return True;
	return False;
}

/* The word has changed: says so in as_vg_regs. */
static void note(UInt w)
{
	ULong bit = word_bit(w);
	UInt first = w, last = w;

	if (word_any(&regs->words[w])) {
		as_vg_regs |= bit;
		return;
	}
	regs->words[w].whole = 0;
	regs->words[w].split = False;
	if (!(as_vg_regs & bit))
		return;
	if (bit == 1ull << 63) {
		last = WORDS - 1;
	} else if (w * 8 >= OFFSET(guest_YMM0)) {
		first = w - (w - OFFSET(guest_YMM0) / 8) % 4;
		last = first + 3;
	}
	for (UInt i = first; i <= last; i++)
		if (word_bit(i) == bit && word_any(&regs->words[i]))
			return;
	as_vg_regs &= ~bit;
}

/* At most 8 bytes within one word; `real` is what they are. */
Id as_vg_reg_get(UInt offset, UInt bytes, ULong real)
{
	struct guest_word *x = &regs->words[offset / 8];
	UInt from = offset % 8;
	Bool any = False;
	Id n = 0;

	if (!x->split) {
		if (!as_vg_live(x->whole))
			return 0;
		n = as_vg_extract(bytes * 8, from * 8, x->whole);
		return as_vg_live(n) ? n : 0;
	}
	for (UInt i = 0; i < bytes; i++) {
		Id b = as_vg_live(x->bytes[from + i]) ? x->bytes[from + i] : 0;

		any |= b != 0;
		b = b ? b : as_vg_const(8, real >> 8 * i);
		n = n ? as_vg_concat(b, n) : b;
	}
	return any ? n : 0;
}

void as_vg_reg_put(UInt offset, UInt bytes, Id n)
{
	struct guest_word *x = &regs->words[offset / 8];
	UInt from = offset % 8;

	if (bytes == 8) {
		tl_assert(from == 0);
		x->split = False;
		x->whole = n;
		note(offset / 8);
		return;
	}
	tl_assert(from + bytes <= 8);
	if (!n && !word_any(x))
		return;
	if (!x->split) {
		for (UInt i = 0; i < 8; i++)
			x->bytes[i] = as_vg_live(x->whole) ? as_vg_extract(8, i * 8, x->whole) : 0;
		x->split = True;
	}
	for (UInt i = 0; i < bytes; i++)
		x->bytes[from + i] = n ? as_vg_extract(8, i * 8, n) : 0;
	note(offset / 8);
}

void as_vg_reg_clear(UInt offset, UInt bytes)
{
	for (UInt w = offset / 8; w <= (offset + bytes - 1) / 8 && w < WORDS; w++) {
		regs->words[w].split = False;
		regs->words[w].whole = 0;
		note(w);
	}
}

/* Each thread has registers of its own. */
void as_vg_reg_thread(ThreadId tid)
{
	if (regs == threads[tid] && regs)
		return;
	if (regs)
		regs->mask = as_vg_regs;
	if (!threads[tid])
		threads[tid] = VG_(calloc)("assaysym.regs", 1, sizeof **threads);
	regs = threads[tid];
	as_vg_regs = regs->mask;
}

/* The path depends on what is in there in a way that is not spelled out. */
void as_vg_reg_pin(UInt offset, UInt bytes, UInt why, ULong site)
{
	for (UInt w = offset / 8; w <= (offset + bytes - 1) / 8 && w < WORDS; w++) {
		struct guest_word *x = &regs->words[w];

		if (!x->split && as_vg_live(x->whole)) {
			UInt from = w == offset / 8 ? offset % 8 : 0;
			UInt to = offset + bytes < w * 8 + 8 ? offset + bytes - w * 8 : 8;

			as_vg_pin(as_vg_extract((to - from) * 8, from * 8, x->whole), why, site);
		}
		for (UInt i = 0; x->split && i < 8; i++)
			if (w * 8 + i >= offset && w * 8 + i < offset + bytes)
				as_vg_pin(x->bytes[i], why, site);
	}
}

void as_vg_reg_forget(ULong site)
{
	as_vg_reg_pin(0, WORDS * 8, AS_SYMLOG_WHY_SYSCALL, site);
	as_vg_reg_clear(0, WORDS * 8);
}

/* The word is a length that somebody else deals with. */
void as_vg_reg_length(UInt offset, ULong site)
{
	struct guest_word *x = &regs->words[offset / 8];

	if (!word_any(x))
		return;
	if (x->split)
		as_vg_reg_pin(offset, 8, AS_SYMLOG_WHY_DROPPED, site);
	else
		as_vg_length(x->whole, site);
	as_vg_reg_clear(offset, 8);
}
