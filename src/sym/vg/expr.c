/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store of nodes. Method: nodes live in the log itself, which is shared memory, so that nothing
 * is copied when a run ends. A hash table finds a node that is there already.
 *
 * Invariants
 *  1. No two nodes have the same op, width, arguments and immediate.
 *  2. extra[n].support has the groups of all inputs below n; it becomes 0 when the path fixes n.
 *  3. Once hashy reaches HASHY_MAX, the node is OPAQUE, and so is all that is computed from it.
 *     One OPAQUE node stands for all of the same width and support: checksums do not grow the log.
 *
 * What it does not do: simplify (expr_bits.c does) or decide what is logged (path.c). */
#include "pub_tool_aspacemgr.h"
#include "pub_tool_mallocfree.h"
#include "vg.h"

#define BUCKETS (1u << 17)

struct as_symlog_node *as_vg_nodes;
struct extra *as_vg_extra;
ULong as_vg_fixed;

static Id *buckets; /* open addressing within chains of `next` */
static Id *next;

void as_vg_expr_start(void)
{
	ULong room = as_vg_head->nodes_room;

	if (!buckets) {
		buckets = VG_(am_shadow_alloc)(BUCKETS * sizeof(Id));
		next = VG_(am_shadow_alloc)(room * sizeof(Id));
		as_vg_extra = VG_(am_shadow_alloc)(room * sizeof(struct extra));
		as_vg_nodes =
			(struct as_symlog_node *)((Addr)as_vg_head + as_vg_head->nodes_offset);
	}
	as_vg_fixed = 0;
	as_vg_bounds_start();
}

static UInt hash(UInt op, UInt width, Id a, Id b, Id c, Wide imm)
{
	ULong h = (ULong)op * 0x9e3779b97f4a7c15ull + width;

	h = (h ^ a) * 0xff51afd7ed558ccdull;
	h = (h ^ (h >> 29) ^ b) * 0xc4ceb9fe1a85ec53ull;
	h = (h ^ (h >> 31) ^ c) * 0x9e3779b97f4a7c15ull;
	h = (h ^ (ULong)imm ^ (ULong)(imm >> 64) * 31) * 0xff51afd7ed558ccdull;
	return (UInt)(h >> 40) & (BUCKETS - 1);
}

static Id find(UInt bucket, UInt op, UInt width, Id a, Id b, Id c, Wide imm)
{
	for (Id n = buckets[bucket]; n; n = next[n]) {
		const struct as_symlog_node *x = &as_vg_nodes[n];

		if (x->op == op && x->width == width && x->a == a && x->b == b && x->c == c &&
		    x->imm[0] == (ULong)imm && x->imm[1] == (ULong)(imm >> 64))
			return n;
	}
	return 0;
}

static void inherit(struct extra *x, Id from)
{
	if (!from)
		return;
	x->support |= as_vg_extra[from].support;
	if (as_vg_extra[from].hashy > x->hashy)
		x->hashy = as_vg_extra[from].hashy;
}

static Id add(UInt bucket, const struct as_symlog_node *node, const struct extra *x)
{
	Id n = (Id)as_vg_head->nodes_count;

	tl_assert(n < as_vg_head->nodes_room);
	as_vg_nodes[n] = *node;
	as_vg_extra[n] = *x;
	next[n] = buckets[bucket];
	buckets[bucket] = n;
	as_vg_head->nodes_count = n + 1;
	return n;
}

static Id intern(UInt op, UInt width, Id a, Id b, Id c, Wide imm, Wide value, ULong support,
		 UInt hashy)
{
	UInt bucket = hash(op, width, a, b, c, imm);
	Id n = find(bucket, op, width, a, b, c, imm);
	struct extra x = { .support = support, .hashy = hashy };
	struct as_symlog_node node = { .op = op,
				       .width = width,
				       .a = a,
				       .b = b,
				       .c = c,
				       .imm = { (ULong)imm, (ULong)(imm >> 64) },
				       .value = { (ULong)value, (ULong)(value >> 64) } };

	return n ? n : add(bucket, &node, &x);
}

Id as_vg_const(UInt width, Wide value)
{
	value &= as_vg_mask(width);
	return intern(AS_SYM_CONST, width, 0, 0, 0, value, value, 0, 0);
}

Id as_vg_input(ULong offset, UChar value, UInt index, UInt count)
{
	UInt group = count <= 64 ? index : (UInt)((ULong)index * 64 / count);

	return intern(AS_SYM_INPUT, 8, 0, 0, 0, offset, value, 1ull << group, 0);
}

Id as_vg_opaque(UInt width, Id from, ULong support)
{
	/* `from` is the first such node only: it must not make two nodes of one. */
	UInt bucket = hash(AS_SYM_OPAQUE, width, 0, 0, 0, support);
	struct extra x = { .support = support, .hashy = HASHY_MAX };
	struct as_symlog_node node = {
		.op = AS_SYM_OPAQUE, .width = width, .a = from, .imm = { support, 0 }
	};

	for (Id n = buckets[bucket]; n; n = next[n])
		if (as_vg_nodes[n].op == AS_SYM_OPAQUE && as_vg_nodes[n].width == width &&
		    as_vg_nodes[n].imm[0] == support)
			return n;
	return add(bucket, &node, &x);
}

static UInt heavier(UInt hashy, UInt by)
{
	return hashy + by > HASHY_MAX ? HASHY_MAX : hashy + by;
}

/* Long chains of arithmetic are checksums, too; moves of bits weigh nothing. */
static UInt weight(UInt op)
{
	return op == AS_SYM_XOR ? WEIGHT_XOR : op >= AS_SYM_ADD && op <= AS_SYM_OR ? 1 : 0;
}

/* One node, without any simplification but constants. */
Id as_vg_raw(UInt op, UInt width, Id a, Id b, Id c, ULong imm)
{
	struct extra x = { 0 };
	Wide value;

	inherit(&x, a);
	inherit(&x, b);
	inherit(&x, c);
	x.hashy = heavier(x.hashy, weight(op));
	/* Bytes that stand beside a checksum can be taken out of the word again. */
	if (x.hashy >= HASHY_MAX && op != AS_SYM_CONCAT)
		return as_vg_opaque(width, as_vg_live(a) ? a : as_vg_live(b) ? b : c, x.support);
	value = as_vg_eval(op, width, as_vg_width(a), as_vg_value(a), b ? as_vg_value(b) : 0,
			   c ? as_vg_value(c) : 0, imm);
	if (as_vg_is_const(a) && (!b || as_vg_is_const(b)) && (!c || as_vg_is_const(c)))
		return as_vg_const(width, value);
	return intern(op, width, a, b, c, imm, value, x.support, x.hashy);
}

Id as_vg_table(UInt width, UInt number, Id offset, Wide value)
{
	struct extra x = as_vg_extra[offset];

	x.hashy = heavier(x.hashy, WEIGHT_TABLE);
	if (x.hashy >= HASHY_MAX)
		return as_vg_opaque(width, offset, x.support);
	return intern(AS_SYM_TABLE, width, offset, 0, 0, number, value, x.support, x.hashy);
}
