/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memo_priv: the trie of a memo (memo.c), for those who take answers out of it and into it. */
#ifndef AS_RECOVER_MEMO_PRIV_H
#define AS_RECOVER_MEMO_PRIV_H

#include "recover/memo.h"

#include "base/hash.h"
#include "base/table.h"

#define QUESTIONS_MAX 4 /* of a node; and so many about windows */
#define WINDOW_CHUNKS 16u
#define WINDOW (WINDOW_CHUNKS * AS_CHUNK_BYTES)
#define SECTOR AS_DISK_SECTOR_BYTES
#define VALUES 4096u

struct question {
	uint64_t off;
	uint32_t len, values;
	struct memo_node *node; /* the one that asks it */
	struct memo_node *likely; /* the node of the value met last */
	struct question *next;
};

struct memo_node {
	struct question *follows; /* NULL: a root */
	struct as_digest value; /* the answer to that question */
	struct question *ask;
	struct memo_answer *answer;
};

/* What stands in a part of a chunk. len 0: nothing is known. */
struct memo_value {
	struct as_digest chunk, value;
	uint32_t at, len;
};

/* A question and the answer to it. */
struct memo_ask {
	uint64_t off;
	uint32_t len;
	struct as_digest value;
};

struct memo_change {
	uint64_t off, len;
	size_t data; /* of a write: where its bytes begin in the answer's data */
	enum as_call kind;
};

struct memo_answer {
	struct as_memo_answer said;
	struct memo_node *node;
	/* What must hold beside what led to the node: tail[tail_at] and those after it. */
	struct memo_ask *tail;
	size_t n_tail, tail_at;
	struct memo_answer *newer, *older;
	uint64_t bytes; /* memory that it takes */
	struct memo_change *changes;
	size_t n_changes;
	unsigned char *data;
	char why[];
};

struct root {
	uint32_t kind;
	uint64_t size_bytes;
	struct memo_node node;
};

struct as_memo {
	struct root **roots;
	size_t n_roots, roots_cap;
	struct as_table nodes; /* all but the roots */
	uint64_t tails; /* questions in the tails of all answers */
	struct memo_answer *newest, *oldest, *last;
	uint64_t limit_bytes, bytes;
	unsigned char *buf; /* scratch: sectors to be digested */
	size_t buf_cap;
	unsigned char *known; /* scratch of as_memo_add(): a bit for each sector */
	size_t known_cap;
	struct memo_ask *asks; /* scratch: the questions of a step */
	size_t n_asks, asks_cap;
	struct as_memo_stats stats;
	struct memo_value values[VALUES]; /* each has one place; not counted in bytes */
};

struct memo_node *as_memo_root(struct as_memo *memo, uint32_t kind, uint64_t size_bytes);
/* The answer, which the memo owns now, becomes that of memo->asks from this root on. The oldest
 * ones are dropped where that is too much. False: it was not kept. */
bool as_memo_keep(struct as_memo *memo, struct memo_node *root, struct memo_answer *answer);

#endif
