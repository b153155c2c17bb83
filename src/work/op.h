/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op: one operation of a workload, and the tables that describe all of them (op.def, arg.def,
 * flags.def). Whoever walks operations walks these tables.
 */
#ifndef AS_WORK_OP_H
#define AS_WORK_OP_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum as_opcode {
#define OP(id, ...) AS_OP_##id,
#include "work/op.def"
#undef OP
	AS_OP_COUNT
};

/* The columns of op.def, which says what the words mean. */
enum as_layer { AS_LAYER_CORE, AS_LAYER_EXT, AS_LAYER_MORE };
enum as_calls { AS_CALLS_ONE, AS_CALLS_MANY };
enum as_needs { AS_NEEDS_TREE, AS_NEEDS_MOUNT };
enum as_persists {
	AS_PERSISTS_NOTHING,
	AS_PERSISTS_FILE,
	AS_PERSISTS_DATA,
	AS_PERSISTS_ALL,
	AS_PERSISTS_RANGE,
};
enum as_paths {
	AS_PATHS_NONE,
	AS_PATHS_USE,
	AS_PATHS_LINK,
	AS_PATHS_DEFINE,
	AS_PATHS_ENSURE,
	AS_PATHS_ALIAS,
	AS_PATHS_FROM,
	AS_PATHS_TO,
	AS_PATHS_KILL,
	AS_PATHS_EMPTY,
	AS_PATHS_DEEPEN,
	AS_PATHS_ENLARGE,
	AS_PATHS_ENTER,
};
/* Bits; the words of the column that stand for several come last. */
enum as_changes {
	AS_CHANGES_NOTHING = 0,
	AS_CHANGES_NAMES = 1,
	AS_CHANGES_DATA = 2,
	AS_CHANGES_ATTRS = 4,
	AS_CHANGES_XATTRS = 8,
	AS_CHANGES_BY_PAGE = 16, /* of DATA: page by page, and on the disk only later */
	AS_CHANGES_AS_OPENED = 32, /* of DATA: O_SYNC and O_DSYNC make it stable at once */
	AS_CHANGES_ACL = AS_CHANGES_ATTRS | AS_CHANGES_XATTRS,
	AS_CHANGES_EITHER = AS_CHANGES_NAMES | AS_CHANGES_DATA,
	AS_CHANGES_PAGES = AS_CHANGES_DATA | AS_CHANGES_BY_PAGE,
	AS_CHANGES_WRITTEN = AS_CHANGES_PAGES | AS_CHANGES_AS_OPENED,
};
enum as_reads { AS_READS_NOTHING, AS_READS_DATA, AS_READS_ATTRS, AS_READS_NAMES };
enum as_moves { AS_MOVES_NOTHING, AS_MOVES_PLAIN, AS_MOVES_COPY, AS_MOVES_MAPPED };
enum as_cost_entries { AS_COST_ENTRIES_NONE, AS_COST_ENTRIES_ONE, AS_COST_ENTRIES_COUNT };
enum as_cost_bytes {
	AS_COST_BYTES_NONE,
	AS_COST_BYTES_LEN,
	AS_COST_BYTES_SPAN,
	AS_COST_BYTES_SOURCE,
	AS_COST_BYTES_GROWTH,
};

enum as_arg_kind {
	AS_ARG_END,
#define ARG(kind, ...) AS_ARG_##kind,
#include "work/arg.def"
#undef ARG
	AS_ARG_KINDS
};

#define AS_OP_ARGS_MAX 6
#define AS_SLOT_NONE (-1)
#define AS_SLOT_MAX 4095 /* largest slot number */
#define AS_REQUIRED INT64_MIN
#define AS_TIME_NOW INT64_MAX
#define AS_TIME_OMIT (INT64_MAX - 1)

/* Fields an operation does not have are zero (slots: AS_SLOT_NONE; strings: NULL; opts: ""). */
struct as_op {
	enum as_opcode code;
	int32_t slot; /* "$N = open ...": where the descriptor goes */
	int32_t fd, fd2; /* slots used */
	const char *path, *path2, *name, *opts;
	int64_t off, off2;
	uint64_t len; /* sizes and spans may be negative: as the int64_t of the same bits */
	uint64_t fill;
	uint64_t mem; /* bytes from the start of a page to the buffer, for O_DIRECT */
	int64_t flags;
	uint32_t mode;
	int64_t uid, gid; /* -1: leave as it is */
	uint64_t dev; /* major << 32 | minor */
	int64_t atime, mtime; /* nanoseconds, AS_TIME_NOW, AS_TIME_OMIT */
	int64_t nofollow;
};

#define AS_DEV(major, minor) ((uint64_t)(major) << 32 | (uint32_t)(minor))
#define AS_DEV_MAJOR(dev) ((uint32_t)((dev) >> 32))
#define AS_DEV_MINOR(dev) ((uint32_t)(dev))

struct as_op_info {
	const char *name;
	enum as_layer layer;
	enum as_arg_kind args[AS_OP_ARGS_MAX + 1]; /* ends with AS_ARG_END */
	enum as_calls calls;
	enum as_needs needs;
	enum as_persists persists;
	enum as_paths path[2]; /* of path and path2 */
	enum as_changes changes;
	enum as_reads reads;
	enum as_moves moves;
	struct {
		enum as_cost_entries entries;
		enum as_cost_bytes bytes;
	} cost;
	const char *syscalls, *help;
};

extern const struct as_op_info as_op_table[AS_OP_COUNT];

/* AS_OP_COUNT when there is no such operation. */
enum as_opcode as_op_find(const char *name, size_t len);

/* The same through a hash table that the caller keeps (the parser asks once a line). */
#define AS_OP_INDEX_SIZE 256
struct as_op_index {
	uint8_t code[AS_OP_INDEX_SIZE]; /* AS_OP_COUNT: empty */
};
void as_op_index_init(struct as_op_index *index);
enum as_opcode as_op_index_find(const struct as_op_index *index, const char *name, size_t len);

const char *as_layer_name(enum as_layer layer);
const char *as_persists_name(enum as_persists persists);

/* An operation with every field at "not there" or its argument's default. */
struct as_op as_op_make(enum as_opcode code);
bool as_op_equal(const struct as_op *a, const struct as_op *b);

/* Where the range of an operation ends; INT64_MAX where it would end after that. */
int64_t as_op_end(const struct as_op *op);

/* What `remove` answers without a call: EINVAL for a last component that is "." or "..", EBUSY for
 * nothing but slashes, else 0. */
int as_op_remove_refused(const char *path);
/* What mknod(2) answers before it looks at the path: EPERM for a directory, EINVAL for an
 * unknown type (fs/namei.c, may_mknod()), else 0. */
int as_op_mknod_refused(const struct as_op *op);
/* The type of the node that a mknod makes; no type at all means a regular file. */
uint32_t as_op_node_type(const struct as_op *op);
/* Of sendfile and splice within one file of `size` bytes: whether the ranges overlap, or the source
 * passes the end, which the transfer may move. They are refused without a call (EINVAL). */
bool as_op_sends_into_itself(uint64_t from, uint64_t to, uint64_t len, uint64_t size);
/* Whether a library is called twice: to write, and to make that stable. If it failed, the bytes may
 * be there all the same. */
bool as_op_writes_then_syncs(const struct as_op *op);
/* Whether it wrote less than it was to. A library gets such an operation piece by piece: the answer
 * tells how many were done, and not whether the one that failed is on the disk all the same. */
bool as_op_fell_short(const struct as_op *op, int64_t ret);
/* Whether it gives up a descriptor or a mapping, whatever it answers. */
bool as_op_closes(enum as_opcode code);
/* Whether its slot is that of a mapping, and not that of a descriptor. */
bool as_op_maps(enum as_opcode code);
/* Whether it makes everything stable: sync and its like, and a remount that is read-only. */
bool as_op_makes_all_stable(const struct as_op *op);
/* Whether mount options make the mount read-only: of `ro` and `rw`, the last one counts. */
bool as_opts_read_only(const char *opts);
/* Whether they say anything else. */
bool as_opts_say_more(const char *opts);
/* A time of utimens as utimensat(2) takes it. */
struct timespec as_op_timespec(int64_t ns);

/* How flag words are spelled (flags.def), and what they mean: AS_O_CREAT is the bit of O_CREAT. */
enum as_flag_table {
#define TABLE(name, exclusive) AS_FLAGS_##name,
#define BIT(table, name, spelling, value)
#include "work/flags.def"
#undef TABLE
#undef BIT
	AS_FLAG_TABLES
};
enum as_flag {
#define TABLE(name, exclusive)
#define BIT(table, name, spelling, value) AS_##name = value,
#include "work/flags.def"
#undef TABLE
#undef BIT
	/* The access mode; what O_TMPFILE has beyond O_DIRECTORY, and O_SYNC beyond O_DSYNC. */
	AS_O_ACCMODE = AS_O_RDONLY | AS_O_WRONLY | AS_O_RDWR,
	AS_O_TMPFILE_ONLY = AS_O_TMPFILE & ~AS_O_DIRECTORY,
	AS_O_SYNC_ONLY = AS_O_SYNC & ~AS_O_DSYNC,
	/* Words that exclude each other; all words there are. */
	AS_MS_BOTH = AS_MS_ASYNC | AS_MS_SYNC,
	AS_PROT_BOTH = AS_PROT_READ | AS_PROT_WRITE,
	AS_XATTR_ALL = AS_XATTR_CREATE | AS_XATTR_REPLACE,
	AS_SYNC_FILE_RANGE_ALL = AS_SYNC_FILE_RANGE_WAIT_BEFORE | AS_SYNC_FILE_RANGE_WRITE |
				 AS_SYNC_FILE_RANGE_WAIT_AFTER,
};
/* Words joined by '|', then the bits without a word as one hexadecimal number; "0" for none. */
void as_flags_print(enum as_flag_table table, int64_t value, struct as_buf *out);

/*
 * The data patterns. Byte i of pattern n is a function of n and i alone: an operation that writes
 * at file offset o with fill n writes bytes o, o+1, ... of pattern n (an attribute's value starts
 * at byte 0). Pattern 0 is zeros. Part of the workload format: docs/FORMAT.md defines it, emit_c
 * repeats it.
 */
void as_pattern_fill(uint64_t pattern, uint64_t off, void *buf, size_t len);
/* Where buf first differs from the pattern, or len. */
size_t as_pattern_check(uint64_t pattern, uint64_t off, const void *buf, size_t len);

/*
 * Finding patterns in data. From a word and its place in the file a key is computed, which is the
 * same for all words of one run of a pattern. Data that is where it was written has the key of its
 * pattern.
 */
uint64_t as_pattern_word_key(const void *word, uint64_t word_index);
/* The key of a pattern's data that was moved by so many words towards the file's beginning
 * (copied, collapsed). */
uint64_t as_pattern_key(uint64_t pattern, uint64_t moved_words);
uint64_t as_pattern_of_key(uint64_t key); /* if the data is where it was written */
void as_pattern_key_fill(uint64_t key, uint64_t off, void *buf, size_t len);

/* A time of an operation as utimensat(2) takes it. */
struct timespec as_op_timespec(int64_t ns);

#endif
