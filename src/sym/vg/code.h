/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of translated code, as the tool remembers them: one small instruction for each statement
 * of VEX that matters. instrument.c writes them when a block is translated, replay.c reads them
 * when a symbolic value may have passed through a block. */
#ifndef AS_SYM_VG_CODE_H
#define AS_SYM_VG_CODE_H

#include "libvex.h"
#include "libvex_guest_amd64.h"
#include "libvex_ir.h"
#include "pub_tool_tooliface.h"
#include "vg.h"

/* Types of temporaries. */
enum type { T_I1, T_I8, T_I16, T_I32, T_I64, T_I128, T_V128, T_V256, T_COUNT };

static inline UInt as_vg_type_bits(UInt t)
{
	static const UShort bits[T_COUNT] = { 1, 8, 16, 32, 64, 128, 128, 256 };

	return bits[t];
}

static inline UInt as_vg_type_bytes(UInt t)
{
	return t == T_I1 ? 1 : as_vg_type_bits(t) / 8;
}

static inline Bool as_vg_type_is_vec(UInt t)
{
	return t == T_V128 || t == T_V256;
}

/* How an operation is modelled: the kinds of ops.def. */
enum model {
	M_DROP, /* not at all: its operands are pinned */
	M_FLOAT,
#define M(name) M_##name,
#include "models.def"
#undef M
};

struct op {
	UChar model;
	UChar sym; /* enum as_symlog_op */
	UChar lane; /* bits of a lane; what it means else, the model says */
	UChar how;
};

const struct op *as_vg_op(IROp op);
void as_vg_ops_start(void);

enum ins_kind {
	I_GET, /* dst = state[x] */
	I_PUT, /* state[x] = a */
	I_GETI, /* dst = an element of the array at x; recorded */
	I_PUTI, /* an element of the array at x of `b` bytes = a */
	I_LOAD, /* dst = memory[a] */
	I_LOADG, /* dst = c ? widened memory[a] : b; x: how it is widened */
	I_STORE, /* memory[a] = b, if c */
	I_OP, /* dst = op(a, b, c); x: the index of the operation */
	I_DROP, /* dst = what is not modelled; args; x: its name */
	I_MOVE, /* dst = a */
	I_ITE, /* dst = a ? b : c */
	I_CCALL, /* dst = helper x (enum flag_helper) of args */
	I_DIRTY, /* dst = helper; a: address of memory, b: bytes; args */
	I_CAS, /* dst = memory[a]; if it is b then memory[a] = c */
	I_EXIT, /* leave if a */
	I_NEXT, /* go to a */
	I_LENGTH, /* state[x] is a length: concrete from here on, without a constraint */
	I_CLEAR, /* state[x], b bytes, is read, and if c written, by a helper */
};

enum flag_helper { H_NONE, H_CONDITION, H_RFLAGS_C, H_RFLAGS_ALL, H_CRC };

#define CONST_REF 0x8000u /* operand: the constant with that number; else: a temporary */
#define NO_REF 0x7fffu

struct ins {
	UChar kind;
	UChar type; /* of dst, or of what is stored */
	UShort dst; /* NO_REF: none */
	UShort a, b, c, d; /* operands */
	UShort rec; /* where the real value of dst was recorded; 0: nowhere */
	UShort args, nargs; /* for CCALL, DIRTY, DROP: from code->args */
	UInt x;
	Int at; /* the guest's instruction, from code->base */
};

struct constant {
	ULong word[4];
	UChar type;
};

struct code {
	ULong base;
	UShort temps, ins_count, consts_count, args_count;
	struct ins *ins;
	struct constant *consts;
	UShort *args;
	UShort *defs; /* of each temporary: the number of its instruction + 1 */
	UChar *types; /* of each temporary */
	UShort *stops; /* of each segment: one past its last instruction */
};

/* Where real values are recorded: slots of 8 bytes in the shadow areas of the guest's state, and
 * what does not fit there. Slot 0 is not used. */
#define STATE_SLOTS (2 * sizeof(VexGuestAMD64State) / 8)
#define MORE_SLOTS 8192
extern ULong as_vg_more[MORE_SLOTS];

void as_vg_replay(VexGuestAMD64State *state, struct code *code, UWord segment, UWord before);
IRSB *as_vg_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
		       const VexGuestExtents *vge, const VexArchInfo *host, IRType word,
		       IRType host_word);

/* lengths.c: the registers that are lengths if a function begins there; NULL: none. */
const UShort *as_vg_lengths_at(Addr at);

/* cover.c */
void as_vg_cover_block(IRSB *out, UInt instructions);
void as_vg_cover_exit(void);
void as_vg_cover_mark(IRSB *out, const IRStmt *mark);
ULong as_vg_block_registers(const IRSB *in, UInt *instructions);

/* ---- Values during a replay (replay.c), for the models --------------------------------------- */

struct vec {
	Id id[32];
	UChar real[32];
};

/* An operand as a number: its node if it is symbolic, else 0; its real value. */
Wide as_vg_ref_value(UInt ref);
Id as_vg_ref_id(UInt ref); /* live, or 0 */
Id as_vg_ref_node(UInt ref); /* always a node */
UInt as_vg_ref_type(UInt ref);
Bool as_vg_ref_symbolic(UInt ref);
void as_vg_ref_vec(UInt ref, struct vec *v); /* of any type */
ULong as_vg_replay_site(void);
Bool as_vg_replay_rewritten(Addr at, SizeT bytes);
/* index.c */
Id as_vg_by_index(Id address, UInt bytes, Wide real);

/* models.c: the node of a scalar operation that has a symbolic operand. */
Id as_vg_model(const struct op *op, const struct ins *in);
Wide as_vg_model_value(const struct op *op, const struct ins *in);
/* simd.c */
Bool as_vg_model_is_vec(const struct op *op);
void as_vg_model_vec(const struct op *op, const struct ins *in, struct vec *out);
/* flags.c: the node of a helper that reads the thunk; 0: it is not modelled. */
Id as_vg_flags(UInt helper, const UShort *args);
UInt as_vg_flag_helper(const HChar *name);

#endif
