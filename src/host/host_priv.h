/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host_priv: what host.c and host_checks.c share. */
#ifndef AS_HOST_HOST_PRIV_H
#define AS_HOST_HOST_PRIV_H

#include "base/table.h"
#include "host/host.h"
#include "os/paint.h"

#define HOST_CLASSES 64u /* names of locks: one bit each */
#define HOST_HELD 64u /* locks at a time */
#define HOST_PAIRS 64u
#define HOST_INVARIANTS 64u

struct host_block {
	unsigned char *ptr; /* NULL: it is free */
	size_t len; /* of a free one: the index of the next free one */
	uint32_t op; /* that allocated it */
};

/* What the file system has told of itself. */
struct host_told {
	const char *classes[HOST_CLASSES];
	/* Bit b of after[a]: a lock of class b was taken while one of class a was held. */
	uint64_t after[HOST_CLASSES];
	unsigned n_classes;
	struct host_lock {
		unsigned class;
		uint64_t which;
	} held[HOST_HELD];
	unsigned n_held;

	struct host_pair {
		const char *name;
		enum as_pair_until until;
		int64_t taken;
	} pairs[HOST_PAIRS];
	unsigned n_pairs;
	unsigned n_open; /* of those with AS_PAIR_OPERATION: not balanced now */

	struct host_invariant {
		const char *name;
		as_invariant_fn fn;
		void *ctx;
	} invariants[HOST_INVARIANTS];
	unsigned n_invariants;

	struct as_choice *choice; /* NULL: the answer is 0 */
	struct host_answer {
		const char *why;
		unsigned n, answer;
		uint32_t op;
	} * answers; /* other than 0 */
	size_t n_answers, answers_cap;

	const struct as_medium *disk; /* whose failed calls count; NULL: none */
	uint64_t failed_allocs;
	uint64_t failed_before; /* all that had failed when the call began, or was forgiven */

	enum as_finding_kind kind;
	char trouble[240]; /* the first, or "" */
};

struct as_host_mem {
	struct as_host seam;
	struct as_host_log *log;
	struct host_block *blocks; /* live ones and free ones */
	size_t n_blocks, cap;
	size_t free_block; /* the index of a free one, or AS_TABLE_NONE */
	struct as_table table; /* the indexes of the live ones, by address */
	uint64_t live_bytes, calls, now_ns;
	uint64_t peak_bytes; /* since as_host_enter() */
	struct as_usage *usage; /* NULL: nobody wants to know what it uses */
	struct as_paint paint;
	uint64_t fail_at[AS_HOST_FAILS + 1]; /* ends with 0 */
	unsigned failed; /* of these */
	bool still; /* the clock */
	uint32_t op; /* in flight, or AS_HOST_NO_OP */
	uint32_t caller; /* the thread for which calls are made */
	char misuse[160]; /* the first, or "" */
	struct host_told told;
};

extern const struct as_checks as_host_checks;

/* The first trouble is kept. */
void as_host_note(struct as_host_mem *host, enum as_finding_kind kind, const char *fmt, ...)
	AS_PRINTF(3, 4);
/* The file system has ended, no matter how: what it holds says nothing any more. */
void as_host_forget(struct as_host_mem *host);

#endif
