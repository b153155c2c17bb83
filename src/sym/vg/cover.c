/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coverage: which pieces of code have run, and how many instructions. A piece of code is what runs
 * as a whole: it ends where a block may be left, or jumps. Each has a byte that translated code
 * sets. */
#include "code.h"

#define PIECES_MAX (1u << 18)

Bool as_vg_cover_only;
ULong as_vg_instructions;

static UChar covered[PIECES_MAX];
static struct {
	ULong addr;
	UInt size;
} pieces[PIECES_MAX];
static UInt piece_count;

/* Of the block in work. */
static UInt piece; /* number + 1 of the last piece */
static ULong piece_end;
static Bool left; /* an exit since the piece began */

static IRExpr *word(ULong v)
{
	return IRExpr_Const(IRConst_U64(v));
}

static IRExpr *tmp(IRSB *out, IRExpr *e)
{
	IRTemp t = newIRTemp(out->tyenv, Ity_I64);

	addStmtToIRSB(out, IRStmt_WrTmp(t, e));
	return IRExpr_RdTmp(t);
}

/* A block begins: its instructions are counted at once. */
void as_vg_cover_block(IRSB *out, UInt instructions)
{
	IRExpr *c = tmp(out, IRExpr_Load(Iend_LE, Ity_I64, word((Addr)&as_vg_instructions)));

	c = tmp(out, IRExpr_Binop(Iop_Add64, c, word(instructions)));
	addStmtToIRSB(out, IRStmt_Store(Iend_LE, word((Addr)&as_vg_instructions), c));
	piece = 0;
	left = False;
}

void as_vg_cover_exit(void)
{
	left = True;
}

void as_vg_cover_mark(IRSB *out, const IRStmt *mark)
{
	ULong at = mark->Ist.IMark.addr;

	if (piece && !left && at == piece_end) {
		pieces[piece - 1].size += mark->Ist.IMark.len;
	} else if (piece_count < PIECES_MAX) {
		pieces[piece_count].addr = at;
		pieces[piece_count].size = mark->Ist.IMark.len;
		addStmtToIRSB(out, IRStmt_Store(Iend_LE, word((Addr)&covered[piece_count]),
						IRExpr_Const(IRConst_U8(1))));
		piece = ++piece_count;
		left = False;
	}
	piece_end = at + mark->Ist.IMark.len;
}

void as_vg_code_cover(void)
{
	for (UInt i = 0; i < piece_count; i++)
		if (covered[i])
			as_vg_event_cover(pieces[i].addr, pieces[i].size);
}

/* Which registers the block names, and how many instructions it has. */
ULong as_vg_block_registers(const IRSB *in, UInt *instructions)
{
	ULong bits = 0;

	for (Int i = 0; i < in->stmts_used; i++) {
		const IRStmt *st = in->stmts[i];
		const IRExpr *e = st->tag == Ist_WrTmp ? st->Ist.WrTmp.data : NULL;

		if (st->tag == Ist_IMark)
			++*instructions;
		else if (st->tag == Ist_Put &&
			 st->Ist.Put.offset != offsetof(VexGuestAMD64State, guest_RIP))
			bits |= as_vg_reg_bits(
				st->Ist.Put.offset,
				sizeofIRType(typeOfIRExpr(in->tyenv, st->Ist.Put.data)));
		else if (e && e->tag == Iex_Get)
			bits |= as_vg_reg_bits(e->Iex.Get.offset, sizeofIRType(e->Iex.Get.ty));
		else if (st->tag == Ist_Dirty)
			for (Int k = 0; k < st->Ist.Dirty.details->nFxState; k++)
				bits |= as_vg_reg_bits(st->Ist.Dirty.details->fxState[k].offset,
						       st->Ist.Dirty.details->fxState[k].size);
	}
	return bits;
}
