/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seq: a workload: operations in order, metadata (`@key value`), the memory of their strings. */
#ifndef AS_WORK_SEQ_H
#define AS_WORK_SEQ_H

#include "base/arena.h"
#include "base/hash.h"
#include "work/op.h"

struct as_meta {
	const char *key, *value;
};

struct as_seq {
	struct as_op *ops;
	size_t n, cap;
	struct as_meta *meta;
	size_t n_meta, cap_meta;
	struct as_arena strings;
};

struct as_seq *as_seq_new(void);
void as_seq_free(struct as_seq *seq);
/* Copies the operation and its strings; returns the copy in place. */
struct as_op *as_seq_add(struct as_seq *seq, const struct as_op *op);
/* The value of @key, or NULL. */
const char *as_seq_meta(const struct as_seq *seq, const char *key);
/* Sets or replaces. */
void as_seq_set_meta(struct as_seq *seq, const char *key, const char *value);
struct as_seq *as_seq_copy(const struct as_seq *seq);
/* Only the operations with keep[i]; metadata is kept. */
struct as_seq *as_seq_subset(const struct as_seq *seq, const bool *keep);
bool as_seq_equal(const struct as_seq *a, const struct as_seq *b);
/* Of the canonical text. */
struct as_digest as_seq_digest(const struct as_seq *seq);

#endif
