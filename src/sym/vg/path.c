/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path: branches, pins, and the log they go to.
 *
 * Method: a node whose value the path has decided (by a branch or a pin) is no longer symbolic:
 * its support becomes 0, and where the operation can be inverted, so does that of its arguments,
 * down to the input bytes. This is what keeps long loops cheap.
 *
 * Invariants
 *  1. What is decided was logged before: all later decisions follow from the events in the log.
 *  2. The log never overflows: below a reserve, all inputs are pinned, and nothing is symbolic.
 *  3. A site has at most SITE_CAP branches that may be negated. */
#include "core.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"
#include "vg.h"

#define SITES (1u << 14)
#define SITE_CAP 48
#define DROPS_MAX 512
#define TABLES_MAX 1024
#define TABLE_BYTES_MAX (2u << 20)
#define NODE_RESERVE 16384
#define NOTES (1u << 20) /* at the file's end, the server's own */

struct as_symlog_head *as_vg_head;

static UChar *log_base;
static struct as_symlog_end counts;
static struct {
	ULong site;
	UInt count;
} sites[SITES];
static UInt site_count;
static struct {
	const HChar *name;
	UInt count;
} drops[DROPS_MAX];
static UInt drop_count;
static struct {
	Addr at;
	UInt bytes;
	ULong digest;
} tables[TABLES_MAX];
static UInt table_count, table_bytes;
static UInt inputs;
static UChar left[64]; /* inputs of each group that are not fixed */

/* ---- The file ------------------------------------------------------------------------------ */

void as_vg_log_open(Int fd)
{
	struct vg_stat st;
	ULong size, rest;
	SysRes map;

	if (VG_(fstat)(fd, &st) != 0 || st.size < (4 << 20)) {
		VG_(umsg)("assaysym: the log must be a file of at least 4 MiB\n");
		VG_(exit)(3);
	}
	size = st.size & ~4095ull;
	map = VG_(am_shared_mmap_file_float_valgrind)(size, VKI_PROT_READ | VKI_PROT_WRITE, fd, 0);
	if (sr_isError(map)) {
		VG_(umsg)("assaysym: the log cannot be mapped\n");
		VG_(exit)(3);
	}
	log_base = (UChar *)sr_Res(map);
	as_vg_head = (struct as_symlog_head *)log_base;
	VG_(memset)(as_vg_head, 0, sizeof *as_vg_head);
	rest = size - 4096;
	as_vg_head->magic = AS_SYMLOG_MAGIC;
	as_vg_head->version = AS_SYMLOG_VERSION;
	as_vg_head->nodes_offset = 4096;
	as_vg_head->nodes_room = rest / 2 / sizeof(struct as_symlog_node);
	as_vg_head->nodes_count = 1;
	as_vg_head->events_offset = 4096 + rest / 2 / 4096 * 4096;
	as_vg_head->nodes_room = (as_vg_head->events_offset - 4096) / sizeof(struct as_symlog_node);
	as_vg_head->events_room = size - as_vg_head->events_offset - NOTES;
	as_vg_server_notes(log_base + size - NOTES, NOTES);
}

static void event(const void *what, UInt bytes)
{
	struct as_symlog_head *h = as_vg_head;

	if (h->events_bytes + bytes > h->events_room) {
		h->flags |= AS_SYMLOG_F_FULL;
		return;
	}
	VG_(memcpy)(log_base + h->events_offset + h->events_bytes, what, bytes);
	h->events_bytes += bytes;
}

void as_vg_log_start(void)
{
	as_vg_head->flags = as_vg_seen;
	as_vg_head->nodes_count = 1;
	as_vg_head->events_bytes = 0;
	as_vg_head->mismatches = 0;
	VG_(memset)(&counts, 0, sizeof counts);
}

static void held_bound(Id n)
{
	struct as_symlog_branch b = { .kind = AS_SYMLOG_BRANCH,
				      .taken = 1,
				      .flags = AS_SYMLOG_B_BOUND | AS_SYMLOG_B_CAPPED,
				      .node = n };

	if (as_vg_is_const(n))
		return;
	if (!as_vg_nodes[n].value[0])
		as_vg_mismatch("a bound", n, 0, 1);
	event(&b, sizeof b);
	counts.branches++;
}

void as_vg_log_end(void)
{
	as_vg_bounds_flush(held_bound);
	counts.kind = AS_SYMLOG_END;
	counts.nodes = as_vg_head->nodes_count - 1;
	counts.mismatches = as_vg_head->mismatches;
	for (UInt i = 0; i < drop_count; i++) {
		struct as_symlog_drop d = { .kind = AS_SYMLOG_DROP, .count = drops[i].count };

		if (!drops[i].count)
			continue;
		counts.drops += d.count;
		VG_(strncpy)(d.name, drops[i].name, sizeof d.name - 1);
		event(&d, sizeof d);
	}
	event(&counts, sizeof counts);
	as_vg_head->flags |= AS_SYMLOG_F_ENDED;
	as_vg_head->instructions = as_vg_instructions;
}

void as_vg_event_cover(ULong addr, UInt size)
{
	struct as_symlog_cover c = { .kind = AS_SYMLOG_COVER, .size = size, .addr = addr };

	event(&c, sizeof c);
}

void as_vg_event_object(UInt index, Addr bias, Addr text, SizeT size, const HChar *path)
{
	struct as_symlog_obj o = {
		.kind = AS_SYMLOG_OBJ, .index = index, .base = bias, .text = text, .text_size = size
	};

	VG_(strncpy)(o.path, path, sizeof o.path - 1);
	event(&o, sizeof o);
}

void as_vg_mismatch(const HChar *what, Id n, ULong site, Wide real)
{
	if (as_vg_head->mismatches++ < 10)
		VG_(umsg)
	("assaysym: mismatch in %s at 0x%llx: node %u (op %u, width %u) has "
	 "0x%llx, really 0x%llx\n",
	 what, site, n, as_vg_nodes[n].op, as_vg_width(n), (ULong)as_vg_value(n), (ULong)real);
}

UInt as_vg_drop_name(const HChar *name)
{
	for (UInt i = 0; i < drop_count; i++)
		if (VG_(strcmp)(drops[i].name, name) == 0)
			return i;
	if (drop_count == DROPS_MAX)
		return DROPS_MAX - 1;
	drops[drop_count].name = VG_(strdup)("assaysym.drop", name);
	return drop_count++;
}

void as_vg_drop(UInt name, UInt count)
{
	drops[name].count += count;
}

/* ---- What the path has fixed --------------------------------------------------------------- */

void as_vg_group_bytes(UInt count)
{
	inputs = count;
	VG_(memset)(left, 0, sizeof left);
	for (UInt i = 0; i < count; i++) {
		UInt g = count <= 64 ? i : (UInt)((ULong)i * 64 / count);

		if (left[g] < 255)
			left[g]++;
	}
}

static void fix_input(Id n)
{
	ULong group = as_vg_extra[n].support;
	UInt g = group ? (UInt)__builtin_ctzll(group) : 0;

	if (!group)
		return;
	if (left[g] && left[g] < 255 && --left[g] == 0)
		as_vg_fixed |= group;
}

static Bool dead(Id n)
{
	return !as_vg_live(n);
}

/* The value of `n` is decided: so are those of its arguments where that follows. */
static void fix(Id n, UInt depth)
{
	const struct as_symlog_node *x = &as_vg_nodes[n];
	Bool one = x->width == 1 && x->value[0] == 1, zero = x->width == 1 && !one;

	if (dead(n) || depth > 40)
		return;
	if (x->op == AS_SYM_INPUT)
		fix_input(n);
	as_vg_extra[n].support = 0;
	switch (x->op) {
	case AS_SYM_CONCAT:
		fix(x->a, depth + 1);
		fix(x->b, depth + 1);
		return;
	case AS_SYM_ZEXT:
	case AS_SYM_SEXT:
	case AS_SYM_NOT:
	case AS_SYM_NEG:
		fix(x->a, depth + 1);
		return;
	case AS_SYM_EXTRACT:
		as_vg_bounds_high(x->a, (UInt)x->imm[0], x->width, x->value[0]);
		return;
	case AS_SYM_ADD:
	case AS_SYM_SUB:
	case AS_SYM_XOR:
		if (dead(x->a))
			fix(x->b, depth + 1);
		else if (dead(x->b))
			fix(x->a, depth + 1);
		return;
	case AS_SYM_MUL:
		if (dead(x->b) && as_vg_nodes[x->b].value[0] & 1)
			fix(x->a, depth + 1);
		return;
	case AS_SYM_EQ:
		if (one && dead(x->b))
			fix(x->a, depth + 1);
		else if (one && dead(x->a))
			fix(x->b, depth + 1);
		return;
	case AS_SYM_AND:
	case AS_SYM_OR:
		if (x->op == AS_SYM_AND ? one : zero) {
			fix(x->a, depth + 1);
			fix(x->b, depth + 1);
		}
		return;
	case AS_SYM_ITE:
		if (dead(x->a))
			fix(as_vg_nodes[x->a].value[0] ? x->b : x->c, depth + 1);
		return;
	default:
		return;
	}
}

static void pin_event(Id n, UInt why, ULong site)
{
	struct as_symlog_pin p = { .kind = AS_SYMLOG_PIN,
				   .why = why,
				   .node = n,
				   .site = site,
				   .value = { as_vg_nodes[n].value[0], as_vg_nodes[n].value[1] } };

	event(&p, sizeof p);
	counts.pins++;
}

/* No room for more: the inputs are what they are. */
static void fill(void)
{
	as_vg_head->flags |= AS_SYMLOG_F_FULL;
	for (Id n = 1; n <= inputs && n < as_vg_head->nodes_count; n++)
		if (as_vg_nodes[n].op == AS_SYM_INPUT && as_vg_live(n))
			pin_event(n, AS_SYMLOG_WHY_CAP, 0);
	as_vg_fixed = ~0ull;
}

Bool as_vg_log_full(void)
{
	struct as_symlog_head *h = as_vg_head;
	ULong reserve = h->events_room / 4 + (ULong)inputs * sizeof(struct as_symlog_pin);

	if (h->nodes_count + NODE_RESERVE < h->nodes_room &&
	    h->events_bytes + reserve < h->events_room)
		return False;
	if (as_vg_fixed != ~0ull)
		fill();
	return True;
}

static UInt *site_of(ULong site)
{
	UInt i = (UInt)((site * 0x9e3779b97f4a7c15ull) >> 50) & (SITES - 1);

	while (sites[i].count && sites[i].site != site)
		i = (i + 1) & (SITES - 1);
	if (!sites[i].count) {
		if (site_count + 1 >= SITES)
			return NULL;
		site_count++;
		sites[i].site = site;
	}
	return &sites[i].count;
}

void as_vg_branch(Id n, Bool taken, ULong site, UInt flags)
{
	struct as_symlog_branch b = {
		.kind = AS_SYMLOG_BRANCH, .taken = taken, .flags = flags, .node = n, .site = site
	};
	UInt *count;
	Id known, about;
	Bool bound;

	if (dead(n))
		return;
	if (as_vg_is_opaque(n)) {
		b.kind = AS_SYMLOG_SEAL;
		event(&b, sizeof b);
		counts.seals++;
		return;
	}
	if (as_vg_nodes[n].value[0] != taken) {
		as_vg_mismatch("a branch", n, site, taken);
		return;
	}
	known = as_vg_bounds_learn(n, taken, &bound, &about);
	count = site_of(site);
	if (!count || ++*count > SITE_CAP)
		b.flags |= AS_SYMLOG_B_CAPPED;
	if (count && *count == SITE_CAP + 1)
		counts.capped++;
	/* Of what is not to be negated, the last bound says all. */
	if (!(b.flags & AS_SYMLOG_B_CAPPED) || !bound || !as_vg_bounds_hold(about)) {
		event(&b, sizeof b);
		counts.branches++;
	}
	fix(n, 0);
	if (known)
		fix(known, 0);
}

/* What is one bit in a wider dress is a decision, and can be negated like a branch. */
static Id one_bit(Id n)
{
	while (as_vg_nodes[n].op == AS_SYM_ZEXT || as_vg_nodes[n].op == AS_SYM_SEXT)
		n = as_vg_nodes[n].a;
	return as_vg_width(n) == 1 ? n : 0;
}

void as_vg_pin(Id n, UInt why, ULong site)
{
	if (dead(n))
		return;
	if (as_vg_is_opaque(n)) {
		pin_event(n, AS_SYMLOG_WHY_OPAQUE, site);
		/* Once is enough: the node stands for all of its kind. */
		return;
	}
	if (one_bit(n)) {
		as_vg_branch(one_bit(n), as_vg_nodes[one_bit(n)].value[0] & 1, site, 0);
		fix(n, 0);
		return;
	}
	pin_event(n, why, site);
	fix(n, 0);
}

/* A length is concrete where it goes, and stays what it is elsewhere. */
void as_vg_length(Id n, ULong site)
{
	if (!dead(n) && !as_vg_extra[n].is_length) {
		pin_event(n, AS_SYMLOG_WHY_LENGTH, site);
		as_vg_extra[n].is_length = 1;
	}
}

/* ---- Tables -------------------------------------------------------------------------------- */

static ULong digest(const UChar *p, UInt bytes)
{
	ULong h = bytes;

	for (UInt i = 0; i < bytes; i++)
		h = (h ^ p[i]) * 0x100000001b3ull + (h >> 47);
	return h;
}

UInt as_vg_log_table(Addr at, UInt bytes)
{
	struct as_symlog_table t = { .kind = AS_SYMLOG_TABLE, .address = at, .bytes = bytes };
	ULong d = digest((const UChar *)at, bytes);
	static const UChar zero[8];

	for (UInt i = table_count; i-- > 0;)
		if (tables[i].at == at && tables[i].bytes == bytes && tables[i].digest == d)
			return i + 1;
	if (table_count == TABLES_MAX || table_bytes + bytes > TABLE_BYTES_MAX || as_vg_log_full())
		return 0;
	if (as_vg_head->events_bytes + as_vg_head->events_room / 4 + bytes >
	    as_vg_head->events_room)
		return 0;
	tables[table_count].at = at;
	tables[table_count].bytes = bytes;
	tables[table_count].digest = d;
	table_bytes += bytes;
	t.number = ++table_count;
	event(&t, sizeof t);
	event((const void *)at, bytes);
	event(zero, -bytes & 7);
	return t.number;
}
