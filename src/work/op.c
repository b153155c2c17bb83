/* SPDX-License-Identifier: GPL-2.0-or-later */
/* op: the tables of op.def, arg.def and flags.def as data, and what can be done by walking them. */
#include "work/op.h"

#include "base/hash.h"
#include "work/arg.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define KINDS_1(a) AS_ARG_##a,
#define KINDS_2(a, ...) AS_ARG_##a, KINDS_1(__VA_ARGS__)
#define KINDS_3(a, ...) AS_ARG_##a, KINDS_2(__VA_ARGS__)
#define KINDS_4(a, ...) AS_ARG_##a, KINDS_3(__VA_ARGS__)
#define KINDS_5(a, ...) AS_ARG_##a, KINDS_4(__VA_ARGS__)
#define KINDS_6(a, ...) AS_ARG_##a, KINDS_5(__VA_ARGS__)
#define KINDS_N(_1, _2, _3, _4, _5, _6, n, ...) KINDS_##n
#define ARGS(...)                                                                 \
	{                                                                         \
		KINDS_N(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__) AS_ARG_END \
	}
#define ARGS_NONE          \
	{                  \
		AS_ARG_END \
	}

const struct as_op_info as_op_table[AS_OP_COUNT] = {
#define PATHS(first, second)                        \
	{                                           \
		AS_PATHS_##first, AS_PATHS_##second \
	}
#define COST(entries, bytes)                                     \
	{                                                        \
		AS_COST_ENTRIES_##entries, AS_COST_BYTES_##bytes \
	}
#define OP(id, name, layer, args, calls, needs, persists, paths, changes, reads, moves, cost, \
	   race, syscalls, help, ...)                                                         \
	[AS_OP_##id] = { #name,                                                               \
			 AS_LAYER_##layer,                                                    \
			 args,                                                                \
			 AS_CALLS_##calls,                                                    \
			 AS_NEEDS_##needs,                                                    \
			 AS_PERSISTS_##persists,                                              \
			 paths,                                                               \
			 AS_CHANGES_##changes,                                                \
			 AS_READS_##reads,                                                    \
			 AS_MOVES_##moves,                                                    \
			 cost,                                                                \
			 syscalls,                                                            \
			 help },
#include "work/op.def"
#undef OP
};

const struct as_arg_info as_arg_table[AS_ARG_KINDS] = {
#define ARG(kind, field, key, type, def, expected)                                               \
	[AS_ARG_##kind] = { key, sizeof(key) - 1, offsetof(struct as_op, field), AS_TYPE_##type, \
			    def, expected },
#include "work/arg.def"
#undef ARG
};

/* The words of all tables, one table after the other; a table's words are those between two
 * marks. */
enum flag_mark {
#define TABLE(name, exclusive) MARK_##name, MARK_BACK_##name = MARK_##name - 1,
#define BIT(table, name, spelling, value) MARK_##table##_##name,
#include "work/flags.def"
#undef TABLE
#undef BIT
	MARK_END
};

static const struct as_flag_word flag_words[] = {
#define TABLE(name, exclusive)
#define BIT(table, name, spelling, value) { spelling, sizeof(spelling) - 1, value },
#include "work/flags.def"
#undef TABLE
#undef BIT
};

static const struct {
	int first;
	int64_t exclusive;
} flag_tables[AS_FLAG_TABLES + 1] = {
#define TABLE(name, exclusive) [AS_FLAGS_##name] = { MARK_##name, exclusive },
#define BIT(table, name, spelling, value)
#include "work/flags.def"
#undef TABLE
#undef BIT
	[AS_FLAG_TABLES] = { MARK_END, 0 },
};

const struct as_flag_word *as_flag_words(enum as_flag_table table, size_t *n, int64_t *exclusive)
{
	*n = (size_t)(flag_tables[table + 1].first - flag_tables[table].first);
	*exclusive = flag_tables[table].exclusive;
	return flag_words + flag_tables[table].first;
}

void as_flags_print(enum as_flag_table table, int64_t value, struct as_buf *out)
{
	size_t n;
	int64_t exclusive;
	const struct as_flag_word *words = as_flag_words(table, &n, &exclusive);
	uint64_t left = (uint64_t)value;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		int64_t bits = words[i].value;
		bool alone = exclusive && (bits & ~exclusive) == 0;

		if (alone ? (value & exclusive) != bits : !bits || (left & bits) != (uint64_t)bits)
			continue;
		if (any)
			as_buf_addc(out, '|');
		as_buf_add(out, words[i].word, words[i].len);
		left &= ~(uint64_t)bits;
		any = true;
	}
	if (left)
		as_buf_addf(out, "%s0x%llx", any ? "|" : "", (unsigned long long)left);
	else if (!any)
		as_buf_addc(out, '0');
}

enum as_opcode as_op_find(const char *name, size_t len)
{
	for (int code = 0; code < AS_OP_COUNT; code++) {
		const char *have = as_op_table[code].name;

		if (!strncmp(have, name, len) && !have[len])
			return (enum as_opcode)code;
	}
	return AS_OP_COUNT;
}

/* Length and the first, middle and last letters tell nearly all names apart. */
static unsigned name_hash(const char *name, size_t len)
{
	unsigned a = (unsigned char)name[0], b = (unsigned char)name[len / 2];
	unsigned c = (unsigned char)name[len - 1];

	return (unsigned)len * 31 + a * 5 + b * 17 + c;
}

void as_op_index_init(struct as_op_index *index)
{
	memset(index->code, AS_OP_COUNT, sizeof(index->code));
	for (int code = 0; code < AS_OP_COUNT; code++) {
		unsigned at = name_hash(as_op_table[code].name, strlen(as_op_table[code].name));

		while (index->code[at % AS_OP_INDEX_SIZE] != AS_OP_COUNT)
			at++;
		index->code[at % AS_OP_INDEX_SIZE] = (uint8_t)code;
	}
}

enum as_opcode as_op_index_find(const struct as_op_index *index, const char *name, size_t len)
{
	if (len == 0)
		return AS_OP_COUNT;
	for (unsigned at = name_hash(name, len);; at++) {
		unsigned code = index->code[at % AS_OP_INDEX_SIZE];

		if (code == AS_OP_COUNT)
			return AS_OP_COUNT;
		if (!memcmp(as_op_table[code].name, name, 1) &&
		    !strncmp(as_op_table[code].name, name, len) && !as_op_table[code].name[len])
			return (enum as_opcode)code;
	}
}

const char *as_layer_name(enum as_layer layer)
{
	static const char *const names[] = { "core", "ext", "more" };

	as_assert((unsigned)layer < sizeof(names) / sizeof(names[0]));
	return names[layer];
}

const char *as_persists_name(enum as_persists persists)
{
	static const char *const names[] = { "nothing", "file", "data", "all", "range" };

	as_assert((unsigned)persists < sizeof(names) / sizeof(names[0]));
	return names[persists];
}

static void set_default(struct as_op *op, const struct as_arg_info *arg)
{
	switch (arg->type) {
	case AS_TYPE_STR: /* required ones stay NULL, opts is "" already */
	case AS_TYPE_SLOT:
	case AS_TYPE_OCT:
	case AS_TYPE_OCT_OPT:
		break;
	default:
		*(int64_t *)as_arg_field(op, arg) = arg->def;
	}
}

struct as_op as_op_make(enum as_opcode code)
{
	struct as_op op = {
		.code = code,
		.slot = AS_SLOT_NONE,
		.fd = AS_SLOT_NONE,
		.fd2 = AS_SLOT_NONE,
		.opts = "",
	};

	as_assert((unsigned)code < AS_OP_COUNT);
	for (const enum as_arg_kind *kind = as_op_table[code].args; *kind != AS_ARG_END; kind++) {
		if (as_arg_table[*kind].def != AS_REQUIRED)
			set_default(&op, &as_arg_table[*kind]);
	}
	return op;
}

static bool str_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool arg_equal(const struct as_op *a, const struct as_op *b, const struct as_arg_info *arg)
{
	switch (arg->type) {
	case AS_TYPE_STR:
		return str_equal(as_arg_str(a, arg), as_arg_str(b, arg));
	case AS_TYPE_SLOT:
		return as_arg_slot(a, arg) == as_arg_slot(b, arg);
	case AS_TYPE_OCT:
	case AS_TYPE_OCT_OPT:
		return as_arg_mode(a, arg) == as_arg_mode(b, arg);
	default:
		return as_arg_int(a, arg) == as_arg_int(b, arg);
	}
}

int64_t as_op_end(const struct as_op *op)
{
	int64_t end;

	return __builtin_add_overflow(op->off, op->len, &end) ? INT64_MAX : end;
}

bool as_op_equal(const struct as_op *a, const struct as_op *b)
{
	if (a->code != b->code || (a->code == AS_OP_OPEN && a->slot != b->slot))
		return false;
	for (const enum as_arg_kind *kind = as_op_table[a->code].args; *kind != AS_ARG_END;
	     kind++) {
		if (!arg_equal(a, b, &as_arg_table[*kind]))
			return false;
	}
	return true;
}

int as_op_remove_refused(const char *path)
{
	size_t end = strlen(path), start;

	if (!end)
		return 0;
	while (end && path[end - 1] == '/')
		end--;
	if (!end)
		return EBUSY;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	if (path[start] == '.' &&
	    (end - start == 1 || (end - start == 2 && path[start + 1] == '.')))
		return EINVAL;
	return 0;
}

uint32_t as_op_node_type(const struct as_op *op)
{
	uint32_t type = (uint32_t)op->flags & S_IFMT;

	return type ? type : S_IFREG;
}

bool as_op_sends_into_itself(uint64_t from, uint64_t to, uint64_t len, uint64_t size)
{
	uint64_t apart = from < to ? to - from : from - to;

	return len && (apart < len || (from < size && len > size - from));
}

bool as_op_writes_then_syncs(const struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];

	return (info->moves == AS_MOVES_MAPPED && info->changes & AS_CHANGES_DATA) ||
	       (op->code == AS_OP_PWRITEV2 && op->len && op->flags & (AS_RWF_DSYNC | AS_RWF_SYNC));
}

bool as_op_fell_short(const struct as_op *op, int64_t ret)
{
	const struct as_op_info *info = &as_op_table[op->code];

	return info->changes & AS_CHANGES_DATA &&
	       (info->moves == AS_MOVES_PLAIN || info->moves == AS_MOVES_COPY) && ret >= 0 &&
	       (uint64_t)ret < op->len;
}

bool as_op_closes(enum as_opcode code)
{
	return code == AS_OP_CLOSE || code == AS_OP_MUNMAP;
}

bool as_op_maps(enum as_opcode code)
{
	return code == AS_OP_MSTORE || code == AS_OP_MLOAD || code == AS_OP_MSYNC ||
	       code == AS_OP_MUNMAP;
}

int as_op_mknod_refused(const struct as_op *op)
{
	switch (as_op_node_type(op)) {
	case S_IFREG:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	case S_IFDIR:
		return EPERM;
	default:
		return EINVAL;
	}
}

struct timespec as_op_timespec(int64_t ns)
{
	int64_t rest = ns % 1000000000;

	if (ns == AS_TIME_NOW)
		return (struct timespec){ 0, UTIME_NOW };
	if (ns == AS_TIME_OMIT)
		return (struct timespec){ 0, UTIME_OMIT };
	if (rest < 0)
		rest += 1000000000;
	return (struct timespec){ (ns - rest) / 1000000000, rest };
}

/* Whether the first word of options separated by commas is this one. */
static bool begins_with(const char *opts, const char *word)
{
	size_t len = strlen(word);

	return strcspn(opts, ",") == len && !memcmp(opts, word, len);
}

static const char *after_word(const char *opts)
{
	opts += strcspn(opts, ",");
	return opts + (*opts == ',');
}

bool as_opts_read_only(const char *opts)
{
	bool read_only = false;

	for (; opts && *opts; opts = after_word(opts))
		read_only = begins_with(opts, "ro") || (read_only && !begins_with(opts, "rw"));
	return read_only;
}

bool as_opts_say_more(const char *opts)
{
	for (; opts && *opts; opts = after_word(opts))
		if (*opts != ',' && !begins_with(opts, "ro") && !begins_with(opts, "rw"))
			return true;
	return false;
}

bool as_op_makes_all_stable(const struct as_op *op)
{
	return as_op_table[op->code].persists == AS_PERSISTS_ALL ||
	       (op->code == AS_OP_REMOUNT && as_opts_read_only(op->opts));
}
