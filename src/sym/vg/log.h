/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the Valgrind tool and its driver say to each other: commands and answers over two pipes, and
 * one log in shared memory for each run. docs/SYMBOLIC-FORMAT.md explains it.
 *
 * The log is a file that the driver makes (tmpfs or memfd) and gives its size; both map it. It has
 * two areas: an array of nodes, and a stream of events. The header's counts are true at any moment,
 * also when the run was killed.
 *
 * Invariants
 *  1. A node's arguments have smaller ids than the node. Id 0 is no node.
 *  2. A node's value is what the expression gives for the bytes that INPUT nodes had in this run.
 *  3. Two nodes of one log differ in op, width, arguments or immediates.
 *  4. BRANCH, PIN and BOUND events, in order, are the constraint of the path: any disk that
 *     satisfies them takes the same path, except for what SEAL events, PIN events with the reasons
 *     OPAQUE and LENGTH, and a full log say.
 */
#ifndef AS_SYM_VG_LOG_H
#define AS_SYM_VG_LOG_H

#include <stdint.h>

#define AS_SYMLOG_MAGIC 0x474f4c4d59535341ull /* "ASSYMLOG" */
#define AS_SYMLOG_VERSION 1

/* ---- The log ------------------------------------------------------------------------------- */

struct as_symlog_head {
	uint64_t magic;
	uint32_t version;
	uint32_t flags; /* AS_SYMLOG_F_* */
	uint64_t nodes_offset; /* of nodes[0] from the file's start; nodes[0] is not used */
	uint64_t nodes_count; /* ids are 1 .. nodes_count - 1 */
	uint64_t nodes_room; /* how many fit */
	uint64_t events_offset; /* from the file's start */
	uint64_t events_bytes; /* written so far */
	uint64_t events_room; /* how many fit */
	uint64_t instructions; /* of the blocks entered, since the start of the checker */
	uint64_t mismatches; /* must be 0 */
};

enum {
	AS_SYMLOG_F_ENDED = 1, /* the END event is there: the run was not killed */
	AS_SYMLOG_F_FULL = 2, /* no room: from there on, all bytes were pinned */
	/* What the checker did that is not followed. */
	AS_SYMLOG_F_ASYNC = 4, /* aio or io_uring */
	AS_SYMLOG_F_THREADS = 8, /* several threads; they run one at a time */
	AS_SYMLOG_F_FORKS = 16, /* processes of its own */
	AS_SYMLOG_F_EXECS = 32, /* another program in its place; the log ends there */
};

/* Operations. Widths are bits: 1 .. 64, and 128 for products and dividends. Arithmetic is modulo
 * 2^width. Arguments have the node's width where nothing else is said. */
enum as_symlog_op {
	AS_SYM_NONE,
	AS_SYM_INPUT, /* imm[0]: byte offset on the disk; width 8 */
	AS_SYM_CONST, /* imm: the value */
	AS_SYM_ADD,
	AS_SYM_SUB,
	AS_SYM_MUL,
	AS_SYM_UDIV, /* the divisor is not 0: a BRANCH event says so */
	AS_SYM_UREM,
	AS_SYM_SDIV, /* towards zero */
	AS_SYM_SREM, /* sign of the dividend */
	AS_SYM_AND,
	AS_SYM_OR,
	AS_SYM_XOR,
	AS_SYM_NOT,
	AS_SYM_NEG,
	AS_SYM_SHL, /* b has the node's width; >= width gives 0 */
	AS_SYM_LSHR, /* the same */
	AS_SYM_ASHR, /* >= width gives copies of the sign */
	AS_SYM_CONCAT, /* a is the high part; width = width(a) + width(b) */
	AS_SYM_EXTRACT, /* bits imm[0] .. imm[0] + width - 1 of a */
	AS_SYM_ZEXT, /* a is narrower */
	AS_SYM_SEXT,
	AS_SYM_EQ, /* compares: width 1, a and b of one width */
	AS_SYM_ULT,
	AS_SYM_ULE,
	AS_SYM_SLT,
	AS_SYM_SLE,
	AS_SYM_ITE, /* a: width 1; b if it is 1, else c */
	AS_SYM_CLZ, /* of 0: the width */
	AS_SYM_CTZ, /* of 0: the width */
	AS_SYM_POPCNT,
	AS_SYM_TABLE, /* width / 8 bytes, little-endian, from byte offset a (64 bits) of the table
	                 * with number imm[0] (a TABLE event that comes before any use) */
	AS_SYM_OPAQUE, /* a checksum-like function of the inputs that is not spelled out; a: one of
	                 * the operands it came from, to find inputs; imm[0]: a number of its own */
	AS_SYM_OP_COUNT
};

struct as_symlog_node {
	uint8_t op;
	uint8_t width; /* bits */
	uint8_t pad[2];
	uint32_t a, b, c; /* ids; 0 where the operation takes none */
	uint64_t imm[2]; /* low, high */
	uint64_t value[2];
};

/* Events: a byte with the kind, fixed sizes, multiples of 8; only TABLE has bytes after it. */
enum as_symlog_kind {
	AS_SYMLOG_OBJ = 1,
	AS_SYMLOG_BRANCH,
	AS_SYMLOG_PIN,
	AS_SYMLOG_SEAL,
	AS_SYMLOG_COVER,
	AS_SYMLOG_DROP,
	AS_SYMLOG_TABLE,
	AS_SYMLOG_END,
};

/* A mapped file with code. Addresses in [base, base + size) are base-relative offsets of it. */
struct as_symlog_obj {
	uint8_t kind;
	uint8_t pad[3];
	uint32_t index;
	uint64_t base; /* what to subtract from an address to get the file's own address (bias) */
	uint64_t text, text_size;
	char path[224]; /* ends with 0; cut off if longer */
};

enum {
	AS_SYMLOG_B_BOUND = 1, /* no jump: an index stays within a table, a divisor is not zero */
	AS_SYMLOG_B_CAPPED = 2, /* the site has had its share: holds, but is not to be negated */
};

/* The node (width 1) had the value `taken` at the guest's address `site`. */
struct as_symlog_branch {
	uint8_t kind; /* BRANCH or SEAL: that depends on an OPAQUE node; not to be negated */
	uint8_t taken;
	uint8_t flags; /* AS_SYMLOG_B_* */
	uint8_t pad;
	uint32_t node;
	uint64_t site;
};

enum as_symlog_why {
	AS_SYMLOG_WHY_ADDRESS = 1, /* load or store */
	AS_SYMLOG_WHY_JUMP, /* jump target */
	AS_SYMLOG_WHY_DROPPED, /* operation that is not modelled */
	AS_SYMLOG_WHY_FLOAT,
	AS_SYMLOG_WHY_SYSCALL, /* argument of a system call */
	AS_SYMLOG_WHY_CAP, /* log or node room used up */
	AS_SYMLOG_WHY_OPAQUE, /* like SEAL: no constraint that could be solved */
	AS_SYMLOG_WHY_LENGTH, /* given to malloc or memcpy: concrete in there, no constraint */
	AS_SYMLOG_WHY_COUNT
};

/* The node had this value, and the path depends on it in a way that is not spelled out. */
struct as_symlog_pin {
	uint8_t kind;
	uint8_t why; /* enum as_symlog_why */
	uint8_t pad[2];
	uint32_t node;
	uint64_t site;
	uint64_t value[2];
};

/* Code that ran in this run, each piece once, at its end: [addr, addr + size). */
struct as_symlog_cover {
	uint8_t kind;
	uint8_t pad[3];
	uint32_t size;
	uint64_t addr;
};

/* An operation that is not modelled met a symbolic operand `count` times. */
struct as_symlog_drop {
	uint8_t kind;
	uint8_t pad[3];
	uint32_t count;
	char name[24];
};

/* Bytes that were read by a symbolic index, as they were then. `bytes` follow, rounded up to 8. */
struct as_symlog_table {
	uint8_t kind;
	uint8_t pad[3];
	uint32_t number;
	uint64_t address;
	uint32_t bytes;
	uint32_t pad2;
};

struct as_symlog_end {
	uint8_t kind;
	uint8_t pad[7];
	uint64_t branches; /* events BRANCH */
	uint64_t mismatches; /* must be 0 */
	uint64_t nodes;
	uint64_t pins;
	uint64_t seals;
	uint64_t capped; /* sites that reached their cap */
	uint64_t drops; /* sum of the counts of DROP events */
};

/* The bytes of an event of which `left` are there, with what follows it; 0 if it is none. */
static inline uint64_t as_symlog_event_bytes(const void *event, uint64_t left)
{
	struct as_symlog_table table;

	switch (*(const uint8_t *)event) {
	case AS_SYMLOG_OBJ:
		return sizeof(struct as_symlog_obj);
	case AS_SYMLOG_BRANCH:
	case AS_SYMLOG_SEAL:
		return sizeof(struct as_symlog_branch);
	case AS_SYMLOG_PIN:
		return sizeof(struct as_symlog_pin);
	case AS_SYMLOG_COVER:
		return sizeof(struct as_symlog_cover);
	case AS_SYMLOG_DROP:
		return sizeof(struct as_symlog_drop);
	case AS_SYMLOG_END:
		return sizeof(struct as_symlog_end);
	case AS_SYMLOG_TABLE:
		if (left < sizeof(table))
			return 0;
		__builtin_memcpy(&table, event, sizeof(table));
		return sizeof(table) + ((uint64_t)table.bytes + 7) / 8 * 8;
	default:
		return 0;
	}
}

/* ---- Pipes --------------------------------------------------------------------------------- */

enum as_symlog_range_kind {
	AS_SYMLOG_SYMBOLIC = 1,
	AS_SYMLOG_WATCHED, /* a checksum of them: OPAQUE */
};

/* In the file of --ranges, the same as text: "symbolic OFFSET LENGTH" or "watched OFFSET LENGTH".
 */
struct as_symlog_range {
	uint64_t offset, length;
	uint64_t kind;
};

#define AS_SYMLOG_RANGES_MAX 4096

enum as_symlog_cmd_kind {
	AS_SYMLOG_RUN = 1,
	AS_SYMLOG_QUIT,
};

/* `ranges` of struct as_symlog_range follow; with 0 of them, those of --ranges hold. A run may have
 * other ranges than those at the start: the server stands at the first read of one of those. */
struct as_symlog_cmd {
	uint32_t kind;
	uint32_t deadline_ms; /* 0: none */
	uint32_t ranges;
	uint32_t flags; /* AS_SYMLOG_C_* */
};

enum {
	AS_SYMLOG_C_NO_COVER = 1, /* no COVER events */
};

enum as_symlog_answer_kind {
	AS_SYMLOG_READY = 1, /* once: the server stands at the first read of a range */
	AS_SYMLOG_DONE, /* a run has ended; status says how */
	AS_SYMLOG_LATE, /* a run missed its deadline and was killed */
	AS_SYMLOG_UNREACHED, /* once, instead of READY: the checker ended without such a read;
	                      * the log has its COVER events */
	AS_SYMLOG_UNFIT, /* once, instead of READY: the checker has several threads here, or has
	                      * forked, so that the server cannot stand here */
};

struct as_symlog_answer {
	uint32_t kind;
	int32_t status; /* as waitpid gives it */
	uint64_t nodes; /* of the log's header */
	uint64_t events_bytes;
	uint64_t instructions; /* of this run */
	uint64_t micros; /* wall time of this run */
};

#endif
