/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the Valgrind tool share. No libc here: only Valgrind's own headers. */
#ifndef AS_SYM_VG_VG_H
#define AS_SYM_VG_VG_H

#include "log.h"
#include "pub_tool_basics.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"

typedef UInt Id; /* a node; 0: concrete */
typedef unsigned __int128 Wide;

/* ---- Expressions (expr.c, expr_bits.c, eval.c) --------------------------------------------- */

#define HASHY_MAX 250 /* how deep a checksum is: a step of it weighs WEIGHT_* */
#define WEIGHT_XOR 6
#define WEIGHT_TABLE 48

/* What the tool knows of a node and the log does not say. */
struct extra {
	ULong support; /* groups of input bytes it depends on; 0 once its value is fixed */
	UChar hashy; /* at HASHY_MAX: opaque, its value is not to be used */
	UChar is_length; /* an event says that it was one */
	UChar pad[6];
};

extern struct as_symlog_node *as_vg_nodes;
extern struct extra *as_vg_extra;
extern ULong as_vg_fixed; /* groups of input bytes that the path has fixed */

void as_vg_expr_start(void);
Id as_vg_input(ULong offset, UChar value, UInt index, UInt count);
Id as_vg_const(UInt width, Wide value);
Id as_vg_bin(UInt op, Id a, Id b);
Id as_vg_cmp(UInt op, Id a, Id b);
Id as_vg_un(UInt op, Id a); /* NOT NEG CLZ CTZ POPCNT */
Id as_vg_ext(UInt op, UInt width, Id a);
Id as_vg_extract(UInt width, UInt lo, Id a);
Id as_vg_concat(Id high, Id low);
Id as_vg_ite(Id c, Id a, Id b);
Id as_vg_table(UInt width, UInt number, Id offset, Wide value);
Id as_vg_opaque(UInt width, Id from, ULong support);
Id as_vg_raw(UInt op, UInt width, Id a, Id b, Id c, ULong imm);
Wide as_vg_eval(UInt op, UInt width, UInt width_a, Wide a, Wide b, Wide c, ULong imm);
/* The range of values that a node of at most 64 bits may have; false if nothing is known. */
Bool as_vg_range(Id n, UInt depth, ULong *min, ULong *max);

/* bounds.c */
void as_vg_bounds_start(void);
Bool as_vg_bounds_decide(UInt op, Id a, Id b, Bool *answer);
Id as_vg_bounds_learn(Id n, Bool taken, Bool *bound, Id *about);
void as_vg_bounds_narrow(Id n, ULong *min, ULong *max);
void as_vg_bounds_high(Id n, UInt from, UInt width, ULong bits);
Bool as_vg_bounds_hold(Id x);
void as_vg_bounds_flush(void (*f)(Id n));

static inline Wide as_vg_mask(UInt width)
{
	return width >= 128 ? ~(Wide)0 : ((Wide)1 << width) - 1;
}

static inline UInt as_vg_width(Id n)
{
	return as_vg_nodes[n].width;
}

static inline Wide as_vg_value(Id n)
{
	return (Wide)as_vg_nodes[n].value[1] << 64 | as_vg_nodes[n].value[0];
}

static inline Bool as_vg_is_const(Id n)
{
	return as_vg_nodes[n].op == AS_SYM_CONST;
}

/* Does the value still depend on a byte that may change? */
static inline Bool as_vg_live(Id n)
{
	return n && (as_vg_extra[n].support & ~as_vg_fixed) != 0;
}

static inline Bool as_vg_is_opaque(Id n)
{
	return as_vg_extra[n].hashy >= HASHY_MAX;
}

/* ---- The log and the path (path.c) --------------------------------------------------------- */

extern struct as_symlog_head *as_vg_head;

void as_vg_log_open(Int fd);
void as_vg_log_start(void); /* a run begins: the log is empty */
void as_vg_log_end(void);
Bool as_vg_log_full(void);
void as_vg_group_bytes(UInt count); /* how many inputs there are */
void as_vg_branch(Id n, Bool taken, ULong site, UInt flags);
void as_vg_pin(Id n, UInt why, ULong site);
void as_vg_length(Id n, ULong site);
void as_vg_drop(UInt name, UInt count);
UInt as_vg_drop_name(const HChar *name);
void as_vg_mismatch(const HChar *what, Id n, ULong site, Wide real);
void as_vg_event_cover(ULong addr, UInt size);
void as_vg_event_object(UInt index, Addr bias, Addr text, SizeT size, const HChar *path);
/* The number of the table with these bytes, logged if it is new; 0 if there is no room. */
UInt as_vg_log_table(Addr at, UInt bytes);

/* ---- Shadows (shadow.c) -------------------------------------------------------------------- */

#define TAG_SHIFT 5
#define TAG_COUNT (1u << 18)
#define DISK_BASE (1ull << 60) /* shadows of the disk's bytes live at these addresses */

extern UShort as_vg_tags[TAG_COUNT]; /* symbolic bytes that an access at this address may meet */
extern ULong as_vg_regs; /* which parts of the guest's state have a shadow */

void as_vg_shadow_start(void);
Id as_vg_mem_byte(ULong addr);
void as_vg_mem_set_byte(ULong addr, Id n);
Id as_vg_mem_load(ULong addr, UInt bytes, const UChar *real);
void as_vg_mem_store(ULong addr, UInt bytes, Id n);
void as_vg_mem_clear(ULong addr, ULong bytes);
Bool as_vg_mem_any(ULong addr, ULong bytes);
void as_vg_mem_copy(ULong from, ULong to, ULong bytes);

ULong as_vg_reg_bits(UInt offset, UInt bytes);
Id as_vg_reg_get(UInt offset, UInt bytes, ULong real); /* at most 8 bytes, within a word */
void as_vg_reg_put(UInt offset, UInt bytes, Id n);
void as_vg_reg_clear(UInt offset, UInt bytes);
void as_vg_reg_pin(UInt offset, UInt bytes, UInt why, ULong site);
void as_vg_reg_length(UInt offset, ULong site);
void as_vg_reg_forget(ULong site); /* pins and clears all */
void as_vg_reg_thread(ThreadId tid);

/* ---- Code (instrument.c, replay.c) --------------------------------------------------------- */

struct code;
extern Bool as_vg_cover_only;
void as_vg_code_cover(void); /* the COVER events of this run */
extern ULong as_vg_instructions;

/* ---- System calls and the server (io.c, server.c) ------------------------------------------ */

void as_vg_io_start(void);
void as_vg_io_open(const HChar *path);
void as_vg_io_inputs(void); /* makes the symbolic bytes of the disk symbolic */
extern struct as_symlog_range as_vg_ranges[AS_SYMLOG_RANGES_MAX];
extern UInt as_vg_range_count;
extern Bool as_vg_stand_early; /* where the disk is first named, not where a range is first read */
Bool as_vg_ranges_read(const HChar *path);

void as_vg_server_here(void); /* a range is about to be read: stand here, once */
void as_vg_server_open(Int cmd, Int answer);
Bool as_vg_serving(void);
void as_vg_server_start(void);
Bool as_vg_muted(void); /* in a process that the checker has forked */
void as_vg_server_unreached(void);
void as_vg_server_translated(Addr at);
void as_vg_server_notes(void *at, SizeT bytes); /* memory shared by parent and children */
Bool as_vg_run_covers(void);
extern Bool as_vg_in_run;
extern UInt as_vg_seen; /* AS_SYMLOG_F_* of what is not followed */
void as_vg_see(UInt flag);
void as_vg_objects(void); /* into the log */
void as_vg_finish(void); /* the end of the log */

#endif
