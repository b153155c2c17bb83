/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translation of a block: what is added to VEX's code, and the instructions that replay.c reads.
 * replay.c explains the method.
 *
 * Invariants
 *  1. Each temporary that is not calculated by a modelled operation has its value recorded.
 *  2. `flag` is not 0 if a register that the block names has a shadow, or an address that it has
 *     used has a tag; it never goes back to 0 within a block.
 *  3. Before each exit, and at the end, the replay is called if `flag` is not 0. */
#include "code.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_tooliface.h"

#define INS_MAX 8192
#define CONSTS_MAX 4096
#define ARGS_MAX 8192
#define STOPS_MAX 1024

/* The block in work. */
static struct {
	IRSB *out;
	const IRTypeEnv *types;
	struct code *code;
	struct ins ins[INS_MAX];
	struct constant consts[CONSTS_MAX];
	UShort args[ARGS_MAX], stops[STOPS_MAX];
	UInt ins_count, consts_count, args_count, stop_count, slots;
	ULong base, at;
	IRTemp flag;
	IRExpr *before; /* the flag at the last stop */
} w;

static UInt type_of(IRType t)
{
	switch (t) {
	case Ity_I1:
		return T_I1;
	case Ity_I8:
		return T_I8;
	case Ity_I16:
		return T_I16;
	case Ity_I32:
	case Ity_F32:
		return T_I32;
	case Ity_I64:
	case Ity_F64:
		return T_I64;
	case Ity_I128:
	case Ity_F128:
		return T_I128;
	case Ity_V128:
		return T_V128;
	case Ity_V256:
		return T_V256;
	default:
		tl_assert2(0, "type %x does not occur on amd64", t);
	}
}

static void add(IRStmt *st)
{
	addStmtToIRSB(w.out, st);
}

static IRExpr *tmp(IRType type, IRExpr *e)
{
	IRTemp t = newIRTemp(w.out->tyenv, type);

	add(IRStmt_WrTmp(t, e));
	return IRExpr_RdTmp(t);
}

static IRExpr *word(ULong v)
{
	return IRExpr_Const(IRConst_U64(v));
}

/* ---- Operands ------------------------------------------------------------------------------ */

static void vec_const(struct constant *c, UInt bits, UInt bytes)
{
	for (UInt i = 0; i < bytes; i++)
		if (bits >> i & 1)
			c->word[i / 8] |= 0xffull << i % 8 * 8;
}

static UShort const_ref(const IRConst *con)
{
	struct constant *c = &w.consts[w.consts_count];

	tl_assert(w.consts_count < CONSTS_MAX);
	VG_(memset)(c, 0, sizeof *c);
	switch (con->tag) {
	case Ico_U1:
		c->word[0] = con->Ico.U1 & 1;
		break;
	case Ico_U8:
		c->word[0] = con->Ico.U8;
		break;
	case Ico_U16:
		c->word[0] = con->Ico.U16;
		break;
	case Ico_U32:
		c->word[0] = con->Ico.U32;
		break;
	case Ico_U64:
		c->word[0] = con->Ico.U64;
		break;
	case Ico_F32i:
		c->word[0] = con->Ico.F32i;
		break;
	case Ico_F64i:
		c->word[0] = con->Ico.F64i;
		break;
	case Ico_F32:
		VG_(memcpy)(c->word, &con->Ico.F32, 4);
		break;
	case Ico_F64:
		VG_(memcpy)(c->word, &con->Ico.F64, 8);
		break;
	case Ico_V128:
		vec_const(c, con->Ico.V128, 16);
		break;
	case Ico_V256:
		vec_const(c, con->Ico.V256, 32);
		break;
	default:
		tl_assert2(0, "constant %x does not occur on amd64", con->tag);
	}
	c->type = type_of(typeOfIRConst(con));
	return CONST_REF | w.consts_count++;
}

static UShort ref(const IRExpr *e)
{
	if (!e)
		return NO_REF;
	if (e->tag == Iex_Const)
		return const_ref(e->Iex.Const.con);
	tl_assert(e->tag == Iex_RdTmp);
	return (UShort)e->Iex.RdTmp.tmp;
}

static struct ins *ins(UInt kind, UInt type, IRTemp dst)
{
	struct ins *i = &w.ins[w.ins_count++];

	tl_assert(w.ins_count < INS_MAX);
	VG_(memset)(i, 0, sizeof *i);
	i->kind = kind;
	i->type = type;
	i->dst = dst == IRTemp_INVALID ? NO_REF : (UShort)dst;
	i->a = i->b = i->c = i->d = NO_REF;
	i->at = (Int)(w.at - w.base);
	if (i->dst != NO_REF)
		w.code->defs[dst] = w.ins_count;
	return i;
}

static void arg(struct ins *i, const IRExpr *e)
{
	if (is_IRExpr_VECRET_or_GSPTR(e))
		return;
	if (!i->nargs)
		i->args = w.args_count;
	tl_assert(w.args_count < ARGS_MAX);
	w.args[w.args_count++] = ref(e);
	i->nargs++;
}

/* The value of `t`, just defined, is recorded. */
static void record(struct ins *i, IRTemp t)
{
	IRType type = typeOfIRTemp(w.types, t);
	UInt words = (as_vg_type_bytes(type_of(type)) + 7) / 8;
	IRExpr *value = IRExpr_RdTmp(t);

	if (type == Ity_I1)
		value = tmp(Ity_I64, IRExpr_Unop(Iop_1Uto64, value));
	i->rec = (UShort)w.slots;
	/* A value does not straddle the two places. */
	if (w.slots < STATE_SLOTS && w.slots + words > STATE_SLOTS)
		i->rec = STATE_SLOTS;
	w.slots = i->rec + words;
	if (i->rec < STATE_SLOTS) {
		add(IRStmt_Put(sizeof(VexGuestAMD64State) + i->rec * 8, value));
		return;
	}
	tl_assert(w.slots - STATE_SLOTS < MORE_SLOTS);
	add(IRStmt_Store(Iend_LE, word((Addr)&as_vg_more[i->rec - STATE_SLOTS]), value));
}

/* ---- The filter ---------------------------------------------------------------------------- */

static void or_flag(IRExpr *e)
{
	IRExpr *f = tmp(Ity_I64, IRExpr_Binop(Iop_Or64, IRExpr_RdTmp(w.flag), e));

	w.flag = f->Iex.RdTmp.tmp;
}

static void check_address(IRExpr *at)
{
	IRExpr *line, *entry, *tag;

	if (at->tag == Iex_Const) {
		ULong i = at->Iex.Const.con->Ico.U64 >> TAG_SHIFT & (TAG_COUNT - 1);

		entry = word((Addr)&as_vg_tags[i]);
	} else {
		/* Twice the line's number, as entries have two bytes. */
		line = tmp(Ity_I64,
			   IRExpr_Binop(Iop_Shr64, at, IRExpr_Const(IRConst_U8(TAG_SHIFT - 1))));
		line = tmp(Ity_I64, IRExpr_Binop(Iop_And64, line, word((TAG_COUNT - 1) * 2)));
		entry = tmp(Ity_I64, IRExpr_Binop(Iop_Add64, line, word((Addr)as_vg_tags)));
	}
	tag = tmp(Ity_I16, IRExpr_Load(Iend_LE, Ity_I16, entry));
	or_flag(tmp(Ity_I64, IRExpr_Unop(Iop_16Uto64, tag)));
}

static void check_registers(ULong bits)
{
	IRExpr *r = tmp(Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, word((Addr)&as_vg_regs)));

	r = tmp(Ity_I64, IRExpr_Binop(Iop_And64, r, word(bits)));
	w.flag = r->Iex.RdTmp.tmp;
}

static void stop(const IRExpr *condition)
{
	IRExpr *number = word(w.stop_count << 1), *c;
	IRDirty *call;

	tl_assert(w.stop_count < STOPS_MAX);
	w.stops[w.stop_count++] = w.ins_count;
	if (condition && condition->tag == Iex_RdTmp) {
		c = tmp(Ity_I64, IRExpr_Unop(Iop_1Uto64, deepCopyIRExpr(condition)));
		number = tmp(Ity_I64, IRExpr_Binop(Iop_Or64, c, number));
	}
	call = unsafeIRDirty_0_N(0, "as_vg_replay", VG_(fnptr_to_fnentry)(&as_vg_replay),
				 mkIRExprVec_4(IRExpr_GSPTR(), mkIRExpr_HWord((HWord)w.code),
					       number, w.before));
	call->guard = tmp(Ity_I1, IRExpr_Binop(Iop_CmpNE64, IRExpr_RdTmp(w.flag), word(0)));
	call->nFxState = 1;
	VG_(memset)(call->fxState, 0, sizeof call->fxState);
	call->fxState[0].fx = Ifx_Read;
	call->fxState[0].offset = offsetof(VexGuestAMD64State, guest_RIP);
	call->fxState[0].size = 8;
	add(IRStmt_Dirty(call));
	w.before = IRExpr_RdTmp(w.flag);
}

/* ---- Statements ---------------------------------------------------------------------------- */

static void operation(IRTemp dst, IROp op, IRExpr **args, UInt n)
{
	UInt type = type_of(typeOfIRTemp(w.types, dst));
	const struct op *model = as_vg_op(op);
	struct ins *i;
	HChar name[40];

	if (model->model != M_DROP) {
		i = ins(I_OP, type, dst);
		i->x = op;
		i->a = ref(args[0]);
		i->b = n > 1 ? ref(args[1]) : NO_REF;
		i->c = n > 2 ? ref(args[2]) : NO_REF;
		i->d = n > 3 ? ref(args[3]) : NO_REF;
		return;
	}
	i = ins(I_DROP, type, dst);
	for (UInt k = 0; k < n; k++)
		arg(i, args[k]);
	VG_(sprintf)(name, "Iop_%u", (UInt)(op - Iop_INVALID));
	i->x = as_vg_drop_name(name);
	record(i, dst);
}

static void ccall(IRTemp dst, const IRExpr *e)
{
	UInt helper = as_vg_flag_helper(e->Iex.CCall.cee->name);
	struct ins *i = ins(helper ? I_CCALL : I_DROP, type_of(e->Iex.CCall.retty), dst);

	for (UInt k = 0; e->Iex.CCall.args[k]; k++)
		arg(i, e->Iex.CCall.args[k]);
	i->x = helper ? helper : as_vg_drop_name(e->Iex.CCall.cee->name);
	record(i, dst);
}

static void assign(IRTemp dst, IRExpr *e)
{
	UInt type = type_of(typeOfIRTemp(w.types, dst));
	struct ins *i;

	switch (e->tag) {
	case Iex_Get:
		i = ins(I_GET, type, dst);
		i->x = e->Iex.Get.offset;
		record(i, dst);
		return;
	case Iex_GetI:
		record(ins(I_GETI, type, dst), dst);
		return;
	case Iex_RdTmp:
	case Iex_Const:
		ins(I_MOVE, type, dst)->a = ref(e);
		return;
	case Iex_Load:
		i = ins(I_LOAD, type, dst);
		i->a = ref(e->Iex.Load.addr);
		record(i, dst);
		check_address(e->Iex.Load.addr);
		return;
	case Iex_Unop:
		operation(dst, e->Iex.Unop.op, &e->Iex.Unop.arg, 1);
		return;
	case Iex_Binop:
		operation(dst, e->Iex.Binop.op,
			  (IRExpr *[]){ e->Iex.Binop.arg1, e->Iex.Binop.arg2 }, 2);
		return;
	case Iex_Triop: {
		IRTriop *t = e->Iex.Triop.details;

		operation(dst, t->op, (IRExpr *[]){ t->arg1, t->arg2, t->arg3 }, 3);
		return;
	}
	case Iex_Qop: {
		IRQop *q = e->Iex.Qop.details;

		operation(dst, q->op, (IRExpr *[]){ q->arg1, q->arg2, q->arg3, q->arg4 }, 4);
		return;
	}
	case Iex_ITE:
		i = ins(I_ITE, type, dst);
		i->a = ref(e->Iex.ITE.cond);
		i->b = ref(e->Iex.ITE.iftrue);
		i->c = ref(e->Iex.ITE.iffalse);
		return;
	case Iex_CCall:
		ccall(dst, e);
		return;
	default:
		tl_assert2(0, "expression %x does not occur here", e->tag);
	}
}

static void state_effects(const IRDirty *d)
{
	for (Int k = 0; k < d->nFxState; k++)
		for (UInt r = 0; r <= d->fxState[k].nRepeats; r++) {
			struct ins *i = ins(I_CLEAR, T_I8, IRTemp_INVALID);

			i->x = d->fxState[k].offset + r * d->fxState[k].repeatLen;
			i->b = d->fxState[k].size;
			i->c = d->fxState[k].fx != Ifx_Read;
		}
}

static void dirty(IRDirty *d)
{
	UInt type = d->tmp == IRTemp_INVALID ? T_I64 : type_of(typeOfIRTemp(w.types, d->tmp));
	struct ins *i = ins(I_DIRTY, type, d->tmp);

	for (UInt k = 0; d->args[k]; k++)
		arg(i, d->args[k]);
	i->x = as_vg_drop_name(d->cee->name);
	if (d->mFx != Ifx_None) {
		i->a = ref(d->mAddr);
		i->b = d->mSize;
		i->c = d->mFx != Ifx_Read;
		check_address(d->mAddr);
		/* More than a tag looks ahead: every line is asked. */
		for (Int k = 32; k < d->mSize; k += 32)
			check_address(tmp(Ity_I64, IRExpr_Binop(Iop_Add64, d->mAddr, word(k))));
	}
	if (d->tmp != IRTemp_INVALID)
		record(i, d->tmp);
	state_effects(d);
}

static void cas(IRCAS *c)
{
	struct ins *i;
	UInt type = type_of(typeOfIRExpr(w.types, c->dataLo));

	check_address(c->addr);
	if (!c->dataHi) {
		i = ins(I_CAS, type, c->oldLo);
		i->a = ref(c->addr);
		i->b = ref(c->expdLo);
		i->c = ref(c->dataLo);
		record(i, c->oldLo);
		return;
	}
	i = ins(I_DIRTY, type, c->oldLo);
	arg(i, c->expdLo);
	arg(i, c->expdHi);
	arg(i, c->dataLo);
	arg(i, c->dataHi);
	i->x = as_vg_drop_name("double CAS");
	i->a = ref(c->addr);
	i->b = 2 * as_vg_type_bytes(type);
	i->c = 1;
	record(i, c->oldLo);
	i = ins(I_DROP, type, c->oldHi);
	i->x = as_vg_drop_name("double CAS");
	record(i, c->oldHi);
}

static void store_guarded(const IRStoreG *s)
{
	struct ins *i = ins(I_STORE, T_I64, IRTemp_INVALID);

	i->a = ref(s->addr);
	i->b = ref(s->data);
	i->c = ref(s->guard);
	check_address(s->addr);
}

static void load_guarded(const IRLoadG *l)
{
	struct ins *i = ins(I_LOADG, type_of(typeOfIRTemp(w.types, l->dst)), l->dst);

	i->a = ref(l->addr);
	i->b = ref(l->alt);
	i->c = ref(l->guard);
	i->x = l->cvt;
	record(i, l->dst);
	check_address(l->addr);
}

static void put(const IRStmt *st)
{
	UInt offset = st->Ist.Put.offset;
	struct ins *i;

	if (offset == offsetof(VexGuestAMD64State, guest_RIP))
		return;
	i = ins(I_PUT, type_of(typeOfIRExpr(w.types, st->Ist.Put.data)), IRTemp_INVALID);
	i->x = offset;
	i->a = ref(st->Ist.Put.data);
}

static void leave(IRStmt *st)
{
	if (st->Ist.Exit.guard->tag == Iex_RdTmp)
		ins(I_EXIT, T_I1, IRTemp_INVALID)->a = ref(st->Ist.Exit.guard);
	stop(st->Ist.Exit.guard);
}

static void statement(IRStmt *st)
{
	struct ins *i;

	if (st->tag == Ist_Exit) {
		leave(st);
		add(st);
		return;
	}
	add(st);
	switch (st->tag) {
	case Ist_Put:
		put(st);
		return;
	case Ist_PutI:
		i = ins(I_PUTI, T_I64, IRTemp_INVALID);
		i->a = ref(st->Ist.PutI.details->data);
		return;
	case Ist_WrTmp:
		assign(st->Ist.WrTmp.tmp, st->Ist.WrTmp.data);
		return;
	case Ist_Store:
		i = ins(I_STORE, T_I64, IRTemp_INVALID);
		i->a = ref(st->Ist.Store.addr);
		i->b = ref(st->Ist.Store.data);
		check_address(st->Ist.Store.addr);
		return;
	case Ist_StoreG:
		store_guarded(st->Ist.StoreG.details);
		return;
	case Ist_LoadG:
		load_guarded(st->Ist.LoadG.details);
		return;
	case Ist_CAS:
		cas(st->Ist.CAS.details);
		return;
	case Ist_Dirty:
		dirty(st->Ist.Dirty.details);
		return;
	case Ist_NoOp:
	case Ist_IMark:
	case Ist_AbiHint:
	case Ist_MBE:
		return;
	default:
		tl_assert2(0, "statement %x does not occur on amd64", st->tag);
	}
}

/* ---- A block ------------------------------------------------------------------------------- */

static void *keep(const void *from, SizeT bytes)
{
	void *p = VG_(malloc)("assaysym.code", bytes ? bytes : 1);

	VG_(memcpy)(p, from, bytes);
	return p;
}

/* A function begins that takes lengths; returns the bits of their registers. */
static ULong lengths(Addr at)
{
	const UShort *regs = as_vg_lengths_at(at);
	ULong bits = 0;

	for (UInt i = 0; regs && i < 2 && regs[i]; i++) {
		ins(I_LENGTH, T_I64, IRTemp_INVALID)->x = regs[i];
		bits |= as_vg_reg_bits(regs[i], 8);
	}
	return bits;
}

static void begin(const IRSB *in, ULong base)
{
	w.types = in->tyenv;
	w.code = VG_(calloc)("assaysym.code", 1, sizeof *w.code);
	w.code->base = w.base = w.at = base;
	w.code->temps = (UShort)in->tyenv->types_used;
	tl_assert(in->tyenv->types_used < (Int)NO_REF);
	w.code->defs = VG_(calloc)("assaysym.code", w.code->temps + 1, sizeof *w.code->defs);
	w.code->types = VG_(malloc)("assaysym.code", w.code->temps + 1);
	for (UInt i = 0; i < w.code->temps; i++)
		w.code->types[i] = type_of(in->tyenv->types[i]);
	w.ins_count = w.consts_count = w.args_count = w.stop_count = 0;
	w.slots = 1;
	w.before = word(0);
}

static void finish(IRSB *in)
{
	if (in->next->tag == Iex_RdTmp)
		ins(I_NEXT, T_I64, IRTemp_INVALID)->a = ref(in->next);
	stop(NULL);
	w.code->ins_count = w.ins_count;
	w.code->ins = keep(w.ins, w.ins_count * sizeof *w.ins);
	w.code->consts = keep(w.consts, w.consts_count * sizeof *w.consts);
	w.code->args = keep(w.args, w.args_count * sizeof *w.args);
	w.code->stops = keep(w.stops, w.stop_count * sizeof *w.stops);
}

IRSB *as_vg_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
		       const VexGuestExtents *vge, const VexArchInfo *host, IRType guest_word,
		       IRType host_word)
{
	UInt instructions = 0;
	ULong bits = as_vg_block_registers(in, &instructions);
	Int i = 0;

	(void)host;
	tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
	tl_assert(layout->total_sizeB == sizeof(VexGuestAMD64State));
	as_vg_server_translated(closure->nraddr);
	w.out = deepCopyIRSBExceptStmts(in);
	/* What stands before the first instruction is Valgrind's own. */
	for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; i++)
		add(in->stmts[i]);
	if (!as_vg_cover_only) {
		begin(in, vge->base[0]);
		check_registers(bits | lengths(closure->readdr));
	}
	as_vg_cover_block(w.out, instructions);
	for (; i < in->stmts_used; i++) {
		IRStmt *st = in->stmts[i];

		if (!st)
			continue;
		if (st->tag == Ist_IMark) {
			w.at = st->Ist.IMark.addr;
			as_vg_cover_mark(w.out, st);
		}
		if (as_vg_cover_only)
			add(st);
		else
			statement(st);
		if (st->tag == Ist_Exit)
			as_vg_cover_exit();
	}
	if (!as_vg_cover_only)
		finish(in);
	return w.out;
}
