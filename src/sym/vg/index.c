/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads by a symbolic index: small tables are read symbolically. The table is copied when the
 * segment is replayed, at its end; bytes that the segment has written meanwhile are not what the
 * load saw, and then the address is pinned instead. */
#include "code.h"
#include "pub_tool_aspacemgr.h"

#define TABLE_BYTES 4096
#define WRITABLE_BYTES 1024
#define DEPTH_MAX 12

/* The values low, low + 1, ..., low + more, which may go round: a table of characters is read by a
 * signed one, and half of it lies before the address that is named. */
struct index_span {
	ULong low, more;
};

static Bool span_of(Id n, UInt depth, struct index_span *s);

static Bool times(struct index_span *s, ULong factor, ULong top)
{
	if (!factor || s->more > top / factor)
		return False;
	s->low = s->low * factor & top;
	s->more *= factor;
	return True;
}

static Bool span_add(const struct as_symlog_node *x, UInt depth, ULong top, struct index_span *s)
{
	struct index_span b;

	if (!span_of(x->a, depth, s) || !span_of(x->b, depth, &b) || b.more > top - s->more)
		return False;
	s->low = (x->op == AS_SYM_ADD ? s->low + b.low : s->low - b.low - b.more) & top;
	s->more += b.more;
	return True;
}

static Bool span_sext(const struct as_symlog_node *x, ULong top, struct index_span *s)
{
	UInt width = as_vg_width(x->a);
	ULong min, max, half = 1ull << (width - 1);

	if (!as_vg_range(x->a, 0, &min, &max))
		return False;
	s->more = max - min;
	s->low = (min ^ half) - half;
	if (min < half && max >= half) { /* negative ones come first */
		s->more = 2 * half - 1;
		s->low = 0 - half;
	}
	s->low &= top;
	return True;
}

/* By what the value is made of. */
static Bool span_parts(const struct as_symlog_node *x, UInt depth, struct index_span *s)
{
	ULong top = (ULong)as_vg_mask(x->width);

	switch (x->op) {
	case AS_SYM_ADD:
	case AS_SYM_SUB:
		return span_add(x, depth, top, s);
	case AS_SYM_SEXT:
		return span_sext(x, top, s);
	case AS_SYM_EXTRACT:
		if (x->imm[0] || !span_of(x->a, depth, s) || s->more > top)
			return False;
		s->low &= top;
		return True;
	case AS_SYM_CONCAT: /* with a constant below it: a product */
		if (!as_vg_is_const(x->b) || !span_of(x->a, depth, s) ||
		    !times(s, 1ull << as_vg_width(x->b), top))
			return False;
		s->low |= (ULong)as_vg_value(x->b);
		return True;
	case AS_SYM_MUL:
		return as_vg_is_const(x->b) && span_of(x->a, depth, s) &&
		       times(s, (ULong)as_vg_value(x->b), top);
	default:
		return False;
	}
}

static Bool span_of(Id n, UInt depth, struct index_span *s)
{
	const struct as_symlog_node *x = &as_vg_nodes[n];
	struct index_span parts;
	ULong min, max;

	if (x->width > 64 || depth > DEPTH_MAX || !as_vg_range(n, depth, &min, &max))
		return False;
	s->low = min;
	s->more = max - min;
	if (span_parts(x, depth + 1, &parts) && parts.more < s->more)
		*s = parts;
	return True;
}

/* Whether all of it can be read; *writable: some of it can be written. It may lie in two segments
 * that are side by side: data, and those that begin as zeros. */
static Bool is_there(Addr at, Addr last, Bool *writable)
{
	*writable = False;
	for (;;) {
		const NSegment *seg = VG_(am_find_nsegment)(at);

		if (!seg || !seg->hasR || at < seg->start)
			return False;
		*writable |= seg->hasW;
		if (last <= seg->end)
			return True;
		at = seg->end + 1;
	}
}

/* The bytes that the load may read, if they are few, concrete and there. 0: they are not. */
Id as_vg_by_index(Id address, UInt bytes, Wide real)
{
	struct index_span s;
	ULong min, max;
	Bool writable;
	UInt number;

	if (as_vg_is_opaque(address))
		return as_vg_opaque(bytes * 8, address, as_vg_extra[address].support);
	if (bytes > 8 || !span_of(address, 0, &s) || s.more > TABLE_BYTES || !s.more ||
	    s.low > DISK_BASE - TABLE_BYTES)
		return 0;
	min = s.low;
	max = s.low + s.more;
	if (!is_there(min, max + bytes - 1, &writable) || as_vg_mem_any(min, max - min + bytes))
		return 0;
	if (writable &&
	    (max - min > WRITABLE_BYTES || as_vg_replay_rewritten(min, max - min + bytes)))
		return 0;
	number = as_vg_log_table(min, (UInt)(max - min) + bytes);
	if (!number)
		return 0;
	address = as_vg_bin(AS_SYM_SUB, address, as_vg_const(64, min));
	return as_vg_table(bytes * 8, number, address, real);
}
