/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of VEX's operations (ops.def), by number. */
#include "code.h"
#include "simd.h"

#define OPS (Iop_LAST - Iop_INVALID)

static struct op table[OPS];

#define how_0 0
#define how_1 1
#define how_2 2
#define how_LOW B_LOW
#define how_KEEP B_KEEP
#define how_SETLOW B_SETLOW
#define how_JOIN B_JOIN
#define how_JOIN4 B_JOIN4
#define how_WEAVE_LOW B_WEAVE_LOW
#define how_WEAVE_HIGH B_WEAVE_HIGH
#define how_EVEN B_EVEN

static const struct {
	IROp vex;
	struct op op;
} rows[] = {
#define O(name, model, sym, lane, how) { Iop_##name, { M_##model, AS_SYM_##sym, lane, how_##how } },
#include "ops.def"
#undef O
};

void as_vg_ops_start(void)
{
	for (UInt i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct op *op = &table[rows[i].vex - Iop_INVALID];

		tl_assert(op->model == M_DROP); /* a row each */
		*op = rows[i].op;
	}
}

const struct op *as_vg_op(IROp op)
{
	static const struct op none = { M_DROP, AS_SYM_NONE, 0, 0 };

	return op > Iop_INVALID && op < Iop_LAST ? &table[op - Iop_INVALID] : &none;
}
