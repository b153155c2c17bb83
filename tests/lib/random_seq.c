/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random_seq: see random_seq.h. */
#include "tests/lib/random_seq.h"

static uint64_t random_u64(struct as_choice *c)
{
	uint64_t high = as_choose(c, 1u << 31), low = as_choose(c, 1u << 31);

	return high << 33 ^ low << 2 ^ as_choose(c, 4);
}

/* Between min and max; often one of the ends, or small. */
static int64_t random_between(struct as_choice *c, int64_t min, int64_t max)
{
	uint64_t span = (uint64_t)max - (uint64_t)min;

	switch (as_choose(c, 4)) {
	case 0:
		return as_choose(c, 2) ? min : max;
	case 1:
		return (int64_t)((uint64_t)min +
				 as_choose(c, span < 99 ? (unsigned)span + 1 : 100));
	case 2:
		return min <= 0 && max >= 4096 ? as_choose(c, 4097) : max;
	default:
		return (int64_t)((uint64_t)min +
				 (span + 1 ? random_u64(c) % (span + 1) : random_u64(c)));
	}
}

/* The string lives until the next call with the same buffer. */
static const char *random_string(struct as_choice *c, char buf[static RANDOM_STR_MAX + 1])
{
	static const char *const odd[] = { "",	    "/",  "#",	  "a#b",  "$0",	 "=",
					   "len=4", "\"", "\\",	  " ",	  "a b", "\t",
					   "\n",    "\r", "@x",	  "\x7f", "a\r", "\"\"",
					   "..",    "é",  "\xff", "???",  "now", "*/" };
	unsigned len;

	switch (as_choose(c, 4)) {
	case 0:
		return odd[as_choose(c, sizeof(odd) / sizeof(odd[0]))];
	case 1: /* any bytes but NUL */
		len = as_choose(c, as_choose(c, 20) ? 12 : RANDOM_STR_MAX + 1);
		for (unsigned i = 0; i < len; i++)
			buf[i] = (char)(1 + as_choose(c, 255));
		break;
	default: /* what paths mostly look like */
		len = 1 + as_choose(c, 12);
		for (unsigned i = 0; i < len; i++)
			buf[i] = "/abcdef"[as_choose(c, 7)];
	}
	buf[len] = 0;
	return buf;
}

static int64_t random_flags(struct as_choice *c, enum as_flag_table table)
{
	size_t n;
	int64_t exclusive, value = 0;
	const struct as_flag_word *words = as_flag_words(table, &n, &exclusive);

	if (!as_choose(c, 8))
		return random_between(c, 0, AS_FLAGS_MAX); /* bits without a name */
	for (unsigned i = as_choose(c, 4); i > 0; i--)
		value |= words[as_choose(c, (unsigned)n)].value & ~exclusive;
	if (exclusive)
		value |= words[as_choose(c, (unsigned)n)].value & exclusive;
	return value;
}

static int64_t random_time(struct as_choice *c)
{
	switch (as_choose(c, 4)) {
	case 0:
		return AS_TIME_NOW;
	case 1:
		return AS_TIME_OMIT;
	default:
		return random_between(c, -AS_TIME_SEC_MAX * 1000000000 - 999999999,
				      AS_TIME_SEC_MAX * 1000000000 + 999999999);
	}
}

static int64_t random_number(struct as_choice *c, enum as_arg_type type)
{
	switch (type) {
	case AS_TYPE_NUM:
		return as_choose(c, 2) ? (int64_t)random_u64(c) : as_choose(c, 10);
	case AS_TYPE_SNUM:
		return random_between(c, INT64_MIN, INT64_MAX);
	case AS_TYPE_LEN:
		return random_between(c, 0, AS_DATA_MAX);
	case AS_TYPE_COUNT:
		return random_between(c, 0, AS_COUNT_MAX);
	case AS_TYPE_MEM:
		return random_between(c, 0, AS_MEM_MAX);
	case AS_TYPE_ID:
		return random_between(c, -1, AS_ID_MAX);
	case AS_TYPE_DEVNO:
		return (int64_t)AS_DEV(random_between(c, 0, UINT32_MAX),
				       random_between(c, 0, UINT32_MAX));
	case AS_TYPE_TIME:
		return random_time(c);
	case AS_TYPE_BOOL:
		return as_choose(c, 2);
	default:
		return random_flags(c, (enum as_flag_table)(type - AS_TYPE_FLAGS));
	}
}

const struct as_op *t_random_op(struct as_choice *c, struct as_seq *seq)
{
	struct as_op op = as_op_make((enum as_opcode)as_choose(c, AS_OP_COUNT));
	const enum as_arg_kind *kind = as_op_table[op.code].args;
	char strings[AS_OP_ARGS_MAX][RANDOM_STR_MAX + 1];
	char(*string)[RANDOM_STR_MAX + 1] = strings;

	if (op.code == AS_OP_OPEN)
		op.slot = (int32_t)random_between(c, 0, AS_SLOT_MAX);
	for (; *kind != AS_ARG_END; kind++) {
		const struct as_arg_info *arg = &as_arg_table[*kind];
		void *field = as_arg_field(&op, arg);

		if (arg->def != AS_REQUIRED && !as_choose(c, 3))
			continue;
		if (arg->type == AS_TYPE_STR)
			*(const char **)field = random_string(c, *string++);
		else if (arg->type == AS_TYPE_SLOT)
			*(int32_t *)field = (int32_t)random_between(c, 0, AS_SLOT_MAX);
		else if (arg->type == AS_TYPE_OCT || arg->type == AS_TYPE_OCT_OPT)
			*(uint32_t *)field =
				as_op_takes_mode(&op) ? as_choose(c, AS_MODE_MAX + 1) : 0;
		else
			*(int64_t *)field = random_number(c, arg->type);
	}
	return as_seq_add(seq, &op);
}

struct as_seq *t_random_seq(struct as_choice *c, size_t n)
{
	static const char *const keys[] = { "seed", "target", "a.b-c_D", "9" };
	struct as_seq *seq = as_seq_new();
	char value[RANDOM_STR_MAX + 1];

	for (unsigned i = as_choose(c, 4); i > 0; i--)
		as_seq_set_meta(seq, keys[as_choose(c, 4)], random_string(c, value));
	while (n--)
		t_random_op(c, seq);
	return seq;
}
