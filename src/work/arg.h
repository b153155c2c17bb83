/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arg: the kinds of argument as data (arg.def), for the parser, the printer and the C emitter. */
#ifndef AS_WORK_ARG_H
#define AS_WORK_ARG_H

#include "work/op.h"

/* How a value is spelled, which range it has and how wide its field is. */
enum as_arg_type {
	AS_TYPE_STR, /* bare or quoted; const char * */
	AS_TYPE_SLOT, /* $0..$4095; int32_t */
	AS_TYPE_NUM, /* 0..2^64-1 */
	AS_TYPE_SNUM, /* any int64_t */
	AS_TYPE_LEN, /* 0..AS_DATA_MAX: the operation carries that many bytes */
	AS_TYPE_COUNT, /* 0..AS_COUNT_MAX */
	AS_TYPE_MEM, /* 0..AS_MEM_MAX: a place in a page of AS_MEM_PAGE bytes */
	AS_TYPE_OCT, /* 0..07777 in octal; uint32_t */
	AS_TYPE_OCT_OPT, /* the same, may be left out; only at the end of the bare ones */
	AS_TYPE_ID, /* -1..2^32-2 */
	AS_TYPE_DEVNO, /* major:minor */
	AS_TYPE_TIME, /* [-]seconds[.fraction], now, omit */
	AS_TYPE_BOOL, /* 0 or 1 */
	AS_TYPE_FLAGS, /* this and all after it: the tables of flags.def, in their order */
	AS_TYPE_BEFORE_TABLES = AS_TYPE_FLAGS - 1,
#define TABLE(name, exclusive) AS_TYPE_##name,
#define BIT(table, name, spelling, value)
#include "work/flags.def"
#undef TABLE
#undef BIT
	AS_TYPES
};

#define AS_DATA_MAX (64u << 20)
#define AS_COUNT_MAX 1000000
#define AS_MEM_PAGE 4096u
#define AS_MEM_MAX (AS_MEM_PAGE - 1)
#define AS_MODE_MAX 07777
#define AS_ID_MAX 4294967294
#define AS_FLAGS_MAX 0xffffffff
/* Times in nanoseconds fit an int64_t with room for AS_TIME_NOW and AS_TIME_OMIT. */
#define AS_TIME_SEC_MAX 9223372035

struct as_arg_info {
	const char *key; /* NULL: written bare */
	size_t key_len; /* of key; means nothing without one */
	size_t offset; /* of the field in struct as_op */
	enum as_arg_type type;
	int64_t def; /* AS_REQUIRED: none */
	const char *expected; /* for messages: "a path" */
};

extern const struct as_arg_info as_arg_table[AS_ARG_KINDS];

struct as_flag_word {
	const char *word;
	size_t len;
	int64_t value;
};

/* The words of one table; *exclusive is the field of which only one word can stand. */
const struct as_flag_word *as_flag_words(enum as_flag_table table, size_t *n, int64_t *exclusive);

/* A field that is 64 bits wide (every type but STR, SLOT and OCT). */
static inline int64_t as_arg_int(const struct as_op *op, const struct as_arg_info *arg)
{
	return *(const int64_t *)((const char *)op + arg->offset);
}

static inline int32_t as_arg_slot(const struct as_op *op, const struct as_arg_info *arg)
{
	return *(const int32_t *)((const char *)op + arg->offset);
}

static inline uint32_t as_arg_mode(const struct as_op *op, const struct as_arg_info *arg)
{
	return *(const uint32_t *)((const char *)op + arg->offset);
}

static inline const char *as_arg_str(const struct as_op *op, const struct as_arg_info *arg)
{
	return *(const char *const *)((const char *)op + arg->offset);
}

static inline void *as_arg_field(struct as_op *op, const struct as_arg_info *arg)
{
	return (char *)op + arg->offset;
}

/* An open that can make a file: only then is there a mode. */
static inline bool as_op_takes_mode(const struct as_op *op)
{
	return op->code != AS_OP_OPEN || (op->flags & (AS_O_CREAT | AS_O_TMPFILE_ONLY));
}

#endif
