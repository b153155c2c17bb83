/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a block did with symbolic values.
 *
 * Method: translated code runs at nearly its normal speed. It records the values that come in
 * (from registers and memory), and calls as_vg_replay at the end of each segment (before each exit
 * of the block, and at its end) only if something symbolic may have been touched: a register with
 * a shadow, or memory with a tag. The replay then goes through the segment's instructions in
 * order, with a shadow for each temporary, and with numbers calculated from what was recorded,
 * only where they are needed.
 *
 * Invariants
 *  1. A temporary without a node is concrete, and its number can be had: recorded, or calculated
 *     from other temporaries of the block.
 *  2. A node's value is what the guest has; where a real value was recorded, the two are
 *     compared, and a difference is a mismatch, after which the temporary is concrete.
 *  3. Nothing of a replay stays but shadows, and events in the log. */
#include "code.h"

#define TEMPS_MAX 8192

struct temp {
	Id id; /* of a scalar; of a vector: 1, see vecs */
	UChar known; /* value is there */
};

ULong as_vg_more[MORE_SLOTS];

static struct temp temps[TEMPS_MAX];
static ULong values[TEMPS_MAX][4];
static Id vecs[TEMPS_MAX][32];
static struct code *code;
static VexGuestAMD64State *state;
static const struct ins *now, *until; /* the end of the segment */

ULong as_vg_replay_site(void)
{
	return code->base + (Long)now->at;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

static const ULong *slot(UInt rec, UInt word)
{
	rec += word;
	if (rec < STATE_SLOTS)
		return (const ULong *)((const UChar *)state + sizeof *state) + rec;
	return &as_vg_more[rec - STATE_SLOTS];
}

static void recorded(UInt t, const struct ins *in)
{
	UInt bytes = as_vg_type_bytes(in->type);

	for (UInt i = 0; i < (bytes + 7) / 8; i++)
		values[t][i] = *slot(in->rec, i);
	if (bytes < 8)
		values[t][0] &= (ULong)as_vg_mask(as_vg_type_bits(in->type));
}

static const ULong *number(UInt ref);

static void calculate(UInt t, const struct ins *in)
{
	const struct op *op;
	const ULong *from;
	struct vec v;
	Wide w;

	if (in->kind == I_MOVE || in->kind == I_ITE) {
		from = number(in->kind == I_MOVE ? in->a : *number(in->a) & 1 ? in->b : in->c);
		for (UInt i = 0; i < 4; i++)
			values[t][i] = from[i];
		return;
	}
	tl_assert(in->kind == I_OP);
	op = as_vg_op(in->x);
	if (as_vg_model_is_vec(op)) {
		as_vg_model_vec(op, in, &v);
		VG_(memset)(values[t], 0, sizeof values[t]);
		VG_(memcpy)(values[t], v.real, as_vg_type_bytes(in->type));
		return;
	}
	w = as_vg_model_value(op, in);
	values[t][0] = (ULong)w;
	values[t][1] = (ULong)(w >> 64);
}

static const ULong *number(UInt ref)
{
	const struct ins *in;
	Id id;

	if (ref & CONST_REF)
		return code->consts[ref & ~CONST_REF].word;
	if (temps[ref].known)
		return values[ref];
	temps[ref].known = 1;
	id = temps[ref].id;
	in = &code->ins[code->defs[ref] - 1];
	if (in->rec)
		recorded(ref, in);
	else if (id && !as_vg_type_is_vec(code->types[ref]) && !as_vg_is_opaque(id)) {
		values[ref][0] = as_vg_nodes[id].value[0];
		values[ref][1] = as_vg_nodes[id].value[1];
	} else
		calculate(ref, in);
	return values[ref];
}

Wide as_vg_ref_value(UInt ref)
{
	const ULong *n = number(ref);

	return (Wide)n[1] * (as_vg_ref_type(ref) == T_I128) << 64 | n[0];
}

UInt as_vg_ref_type(UInt ref)
{
	return ref & CONST_REF ? code->consts[ref & ~CONST_REF].type : code->types[ref];
}

/* ---- Nodes --------------------------------------------------------------------------------- */

Id as_vg_ref_id(UInt ref)
{
	if (ref & CONST_REF)
		return 0;
	if (as_vg_type_is_vec(code->types[ref]))
		return 0;
	return as_vg_live(temps[ref].id) ? temps[ref].id : 0;
}

Id as_vg_ref_node(UInt ref)
{
	Id id = as_vg_ref_id(ref);

	return id ? id : as_vg_const(as_vg_type_bits(as_vg_ref_type(ref)), as_vg_ref_value(ref));
}

Bool as_vg_ref_symbolic(UInt ref)
{
	if (ref == NO_REF || ref & CONST_REF || !temps[ref].id)
		return False;
	return as_vg_type_is_vec(code->types[ref]) || as_vg_live(temps[ref].id);
}

void as_vg_ref_vec(UInt ref, struct vec *v)
{
	UInt bytes = as_vg_type_bytes(as_vg_ref_type(ref));

	VG_(memcpy)(v->real, number(ref), bytes);
	if (!as_vg_ref_symbolic(ref)) {
		VG_(memset)(v->id, 0, bytes * sizeof *v->id);
		return;
	}
	for (UInt i = 0; i < bytes; i++) {
		Id b = as_vg_type_is_vec(code->types[ref]) ? vecs[ref][i]
							   : as_vg_extract(8, i * 8, temps[ref].id);

		v->id[i] = as_vg_live(b) ? b : 0;
	}
}

/* The real value, where there is one, must be that of the node. */
static void set(const struct ins *in, Id n)
{
	Wide real;

	temps[in->dst].id = as_vg_live(n) ? n : 0;
	if (!temps[in->dst].id || !in->rec || as_vg_is_opaque(n))
		return;
	real = as_vg_ref_value(in->dst);
	if (real != as_vg_value(n)) {
		as_vg_mismatch("a value", n, as_vg_replay_site(), real);
		temps[in->dst].id = 0;
	}
}

static void set_vec(const struct ins *in, const struct vec *v)
{
	UInt bytes = as_vg_type_bytes(in->type);
	Bool any = False;
	Id n = 0;

	for (UInt i = 0; i < bytes; i++)
		any |= v->id[i] != 0;
	if (!any) {
		temps[in->dst].id = 0;
		return;
	}
	if (as_vg_type_is_vec(in->type)) {
		VG_(memcpy)(vecs[in->dst], v->id, bytes * sizeof(Id));
		temps[in->dst].id = 1;
		return;
	}
	for (UInt i = bytes; i-- > 0;) {
		Id b = v->id[i] ? v->id[i] : as_vg_const(8, v->real[i]);

		n = n ? as_vg_concat(n, b) : b;
	}
	set(in, n);
}

/* What depends on this operand from here on is not spelled out. */
static void pin(UInt ref, UInt why)
{
	if (!as_vg_ref_symbolic(ref))
		return;
	if (!as_vg_type_is_vec(code->types[ref])) {
		as_vg_pin(temps[ref].id, why, as_vg_replay_site());
		return;
	}
	for (UInt i = 0; i < as_vg_type_bytes(code->types[ref]); i++)
		if (vecs[ref][i])
			as_vg_pin(vecs[ref][i], why, as_vg_replay_site());
}

/* ---- Instructions -------------------------------------------------------------------------- */

static void do_get(const struct ins *in)
{
	UInt bytes = as_vg_type_bytes(in->type);
	const ULong *real = number(in->dst);
	struct vec v;

	if (!(as_vg_reg_bits(in->x, bytes) & as_vg_regs)) {
		temps[in->dst].id = 0;
		return;
	}
	if (!as_vg_type_is_vec(in->type)) {
		Id n = as_vg_reg_get(in->x, bytes, real[0]);

		set(in, n && in->type == T_I1 ? as_vg_extract(1, 0, n) : n);
		return;
	}
	for (UInt i = 0; i < bytes; i += 8) {
		Id n = as_vg_reg_get(in->x + i, 8, real[i / 8]);

		for (UInt k = 0; k < 8; k++) {
			Id b = n ? as_vg_extract(8, k * 8, n) : 0;

			v.id[i + k] = as_vg_live(b) ? b : 0;
		}
	}
	set_vec(in, &v);
}

static void do_put(const struct ins *in)
{
	UInt bytes = as_vg_type_bytes(in->type);
	struct vec v;

	if (!as_vg_ref_symbolic(in->a)) {
		if (as_vg_reg_bits(in->x, bytes) & as_vg_regs)
			for (UInt i = 0; i < bytes; i += 8)
				as_vg_reg_put(in->x + i, bytes < 8 ? bytes : 8, 0);
		return;
	}
	if (!as_vg_type_is_vec(in->type)) {
		Id n = temps[in->a].id;

		as_vg_reg_put(in->x, bytes, in->type == T_I1 ? as_vg_ext(AS_SYM_ZEXT, 8, n) : n);
		return;
	}
	as_vg_ref_vec(in->a, &v);
	for (UInt i = 0; i < bytes; i += 8) {
		Id n = 0;
		Bool any = False;

		for (UInt k = 8; k-- > 0;) {
			Id b = v.id[i + k];

			any |= b != 0;
			b = b ? b : as_vg_const(8, v.real[i + k]);
			n = n ? as_vg_concat(n, b) : b;
		}
		as_vg_reg_put(in->x + i, 8, any ? n : 0);
	}
}

/* Whether the rest of the segment, which has run, has written there: then memory is not what it was
 * at this instruction. */
Bool as_vg_replay_rewritten(Addr at, SizeT bytes)
{
	for (const struct ins *in = now + 1; in < until; in++) {
		UInt size;

		if (in->kind == I_STORE)
			size = as_vg_type_bytes(as_vg_ref_type(in->b));
		else if (in->kind == I_CAS)
			size = as_vg_type_bytes(in->type);
		else if (in->kind == I_DIRTY && in->a != NO_REF && in->c)
			size = in->b;
		else
			continue;
		if (in->kind == I_STORE && in->c != NO_REF && !(*number(in->c) & 1))
			continue;
		if (*number(in->a) < at + bytes && at < *number(in->a) + size)
			return True;
	}
	return False;
}

/* Returns the number of the address; a symbolic one is pinned unless it is an index. */
static ULong address(UInt ref)
{
	if (as_vg_ref_symbolic(ref)) {
		Id n = temps[ref].id;

		if (!as_vg_is_opaque(n) && (ULong)as_vg_value(n) != *number(ref))
			as_vg_mismatch("an address", n, as_vg_replay_site(), *number(ref));
		pin(ref, AS_SYMLOG_WHY_ADDRESS);
	}
	return *number(ref);
}

static void load(const struct ins *in, UInt type)
{
	UInt bytes = as_vg_type_bytes(type);
	const UChar *real = (const UChar *)number(in->dst);
	ULong at;
	struct vec v;

	if (as_vg_ref_symbolic(in->a) && !as_vg_type_is_vec(type)) {
		Id n = as_vg_by_index(temps[in->a].id, bytes, as_vg_ref_value(in->dst));

		if (n) {
			set(in, n);
			return;
		}
	}
	at = address(in->a);
	if (!as_vg_type_is_vec(type)) {
		set(in, as_vg_mem_load(at, bytes, real));
		return;
	}
	for (UInt i = 0; i < bytes; i++) {
		v.id[i] = as_vg_mem_byte(at + i);
		if (v.id[i] && !as_vg_is_opaque(v.id[i]) &&
		    (UChar)as_vg_value(v.id[i]) != real[i]) {
			as_vg_mismatch("memory", v.id[i], as_vg_replay_site(), real[i]);
			v.id[i] = 0;
		}
	}
	set_vec(in, &v);
}

/* A guarded load (vector code only): the guard is pinned. */
static void do_loadg(const struct ins *in)
{
	pin(in->c, AS_SYMLOG_WHY_DROPPED);
	if (*number(in->c) & 1) {
		Id n;
		UChar real[16];
		ULong at = address(in->a);

		/* Widened ones do not occur on amd64; they would be concrete. */
		if (in->x != ILGop_Ident32 && in->x != ILGop_Ident64)
			return;
		VG_(memcpy)(real, number(in->dst), 16);
		n = as_vg_mem_load(at, as_vg_type_bytes(in->type), real);
		set(in, n);
	} else if (as_vg_ref_symbolic(in->b)) {
		temps[in->dst].id = temps[in->b].id;
		VG_(memcpy)(vecs[in->dst], vecs[in->b], sizeof vecs[0]);
	}
}

static void store(ULong at, UInt ref)
{
	UInt type = as_vg_ref_type(ref), bytes = as_vg_type_bytes(type);
	struct vec v;

	if (!as_vg_ref_symbolic(ref)) {
		as_vg_mem_clear(at, bytes);
	} else if (as_vg_type_is_vec(type)) {
		as_vg_ref_vec(ref, &v);
		for (UInt i = 0; i < bytes; i++)
			as_vg_mem_set_byte(at + i, v.id[i]);
	} else {
		Id n = temps[ref].id;

		as_vg_mem_store(at, bytes, type == T_I1 ? as_vg_ext(AS_SYM_ZEXT, 8, n) : n);
	}
}

static void do_store(const struct ins *in)
{
	if (in->c != NO_REF) {
		pin(in->c, AS_SYMLOG_WHY_DROPPED);
		if (!(*number(in->c) & 1))
			return;
	}
	store(address(in->a), in->b);
}

static void do_op(const struct ins *in)
{
	const struct op *op = as_vg_op(in->x);
	struct vec v;

	if (!as_vg_ref_symbolic(in->a) && !as_vg_ref_symbolic(in->b) &&
	    !as_vg_ref_symbolic(in->c) && !as_vg_ref_symbolic(in->d)) {
		temps[in->dst].id = 0;
		return;
	}
	if (as_vg_model_is_vec(op)) {
		as_vg_model_vec(op, in, &v);
		set_vec(in, &v);
	} else
		set(in, as_vg_model(op, in));
}

static void do_ite(const struct ins *in)
{
	UInt from;

	if (as_vg_ref_symbolic(in->a) && !as_vg_type_is_vec(in->type)) {
		set(in, as_vg_ite(temps[in->a].id, as_vg_ref_node(in->b), as_vg_ref_node(in->c)));
		return;
	}
	pin(in->a, AS_SYMLOG_WHY_DROPPED);
	from = *number(in->a) & 1 ? in->b : in->c;
	temps[in->dst].id = as_vg_ref_symbolic(from) ? temps[from].id : 0;
	if (temps[in->dst].id && as_vg_type_is_vec(in->type))
		VG_(memcpy)(vecs[in->dst], vecs[from], sizeof vecs[0]);
}

static void do_drop(const struct ins *in, UInt why)
{
	UInt met = 0;

	for (UInt i = 0; i < in->nargs; i++) {
		met += as_vg_ref_symbolic(code->args[in->args + i]);
		pin(code->args[in->args + i], why);
	}
	if (met)
		as_vg_drop(in->x, 1);
	if (in->dst != NO_REF)
		temps[in->dst].id = 0;
}

static void do_ccall(const struct ins *in)
{
	const UShort *args = code->args + in->args;
	Id n = 0, one = 0;
	ULong support = 0;

	for (UInt i = 0; i < in->nargs; i++)
		if (as_vg_ref_symbolic(args[i])) {
			one = temps[args[i]].id;
			support |= as_vg_extra[one].support;
		}
	temps[in->dst].id = 0;
	if (!one)
		return;
	if (in->x == H_CRC)
		n = as_vg_opaque(as_vg_type_bits(in->type), one, support);
	else
		n = as_vg_flags(in->x, args);
	if (n) {
		set(in, n);
		return;
	}
	as_vg_drop(as_vg_drop_name("flags"), 1);
	for (UInt i = 0; i < in->nargs; i++)
		pin(args[i], AS_SYMLOG_WHY_DROPPED);
}

static void do_cas(const struct ins *in)
{
	ULong at = address(in->a);
	Id old = as_vg_mem_load(at, as_vg_type_bytes(in->type), (const UChar *)number(in->dst));
	Bool same = *number(in->dst) == *number(in->b);

	set(in, old);
	if (as_vg_ref_symbolic(in->dst) || as_vg_ref_symbolic(in->b))
		as_vg_branch(as_vg_cmp(AS_SYM_EQ, as_vg_ref_node(in->dst), as_vg_ref_node(in->b)),
			     same, as_vg_replay_site(), AS_SYMLOG_B_BOUND);
	if (same)
		store(at, in->c);
}

static void do_dirty(const struct ins *in)
{
	do_drop(in, AS_SYMLOG_WHY_DROPPED);
	if (in->a == NO_REF)
		return;
	/* Memory that the helper reads or writes. */
	for (UInt i = 0; i < in->b; i++) {
		Id n = as_vg_mem_byte(*number(in->a) + i);

		if (n)
			as_vg_pin(n, AS_SYMLOG_WHY_DROPPED, as_vg_replay_site());
	}
	if (in->c)
		as_vg_mem_clear(*number(in->a), in->b);
}

static void do_exit(const struct ins *in, Bool taken)
{
	Id n = as_vg_ref_id(in->a);

	if (n)
		as_vg_branch(n, taken, as_vg_replay_site(), 0);
}

static void step(const struct ins *in)
{
	switch (in->kind) {
	case I_GET:
		do_get(in);
		return;
	case I_PUT:
		do_put(in);
		return;
	case I_GETI:
		temps[in->dst].id = 0;
		return;
	case I_PUTI:
		pin(in->a, AS_SYMLOG_WHY_FLOAT);
		return;
	case I_LOAD:
		load(in, in->type);
		return;
	case I_LOADG:
		do_loadg(in);
		return;
	case I_STORE:
		do_store(in);
		return;
	case I_OP:
		do_op(in);
		return;
	case I_DROP:
		do_drop(in, AS_SYMLOG_WHY_DROPPED);
		return;
	case I_MOVE:
		temps[in->dst].id = as_vg_ref_symbolic(in->a) ? temps[in->a].id : 0;
		if (temps[in->dst].id && as_vg_type_is_vec(in->type))
			VG_(memcpy)(vecs[in->dst], vecs[in->a], sizeof vecs[0]);
		return;
	case I_ITE:
		do_ite(in);
		return;
	case I_CCALL:
		do_ccall(in);
		return;
	case I_DIRTY:
		do_dirty(in);
		return;
	case I_CAS:
		do_cas(in);
		return;
	case I_NEXT:
		pin(in->a, AS_SYMLOG_WHY_JUMP);
		return;
	case I_LENGTH:
		as_vg_reg_length(in->x, as_vg_replay_site());
		return;
	case I_CLEAR:
		as_vg_reg_pin(in->x, in->b, AS_SYMLOG_WHY_DROPPED, as_vg_replay_site());
		if (in->c)
			as_vg_reg_clear(in->x, in->b);
		return;
	default:
		return;
	}
}

/* `segment`: its number, shifted by one; bit 0: the condition of the exit at its end. `before`: was
 * the segment before it replayed, too? */
void as_vg_replay(VexGuestAMD64State *guest, struct code *of, UWord segment, UWord before)
{
	UInt n = (UInt)segment >> 1;
	UInt from = n ? of->stops[n - 1] : 0, to = of->stops[n];

	if (!as_vg_in_run || as_vg_fixed == ~0ull)
		return;
	state = guest;
	code = of;
	now = &of->ins[from];
	until = &of->ins[to];
	if (as_vg_log_full())
		return;
	if (!before) {
		tl_assert(of->temps <= TEMPS_MAX);
		VG_(memset)(temps, 0, of->temps * sizeof *temps);
	}
	for (; from < to; from++) {
		now = &of->ins[from];
		if (now->kind == I_EXIT)
			do_exit(now, segment & 1);
		else
			step(now);
	}
}
