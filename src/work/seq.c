/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seq: a workload in memory. Its strings live in its arena and are never freed one by one. */
#include "work/seq.h"

#include "base/array.h"
#include "base/err.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

struct as_seq *as_seq_new(void)
{
	return as_xcalloc(1, sizeof(struct as_seq));
}

void as_seq_free(struct as_seq *seq)
{
	if (!seq)
		return;
	as_arena_free(&seq->strings);
	free(seq->ops);
	free(seq->meta);
	free(seq);
}

static const char *keep_str(struct as_seq *seq, const char *s)
{
	if (!s)
		return NULL;
	return *s ? as_arena_strndup(&seq->strings, s, strlen(s)) : "";
}

struct as_op *as_seq_add(struct as_seq *seq, const struct as_op *op)
{
	struct as_op *copy;

	AS_ARRAY_ROOM(seq->ops, seq->n, seq->cap);
	copy = &seq->ops[seq->n++];
	*copy = *op;
	copy->path = keep_str(seq, op->path);
	copy->path2 = keep_str(seq, op->path2);
	copy->name = keep_str(seq, op->name);
	copy->opts = op->opts ? keep_str(seq, op->opts) : "";
	return copy;
}

static struct as_meta *find_meta(const struct as_seq *seq, const char *key)
{
	for (size_t i = 0; i < seq->n_meta; i++) {
		if (!strcmp(seq->meta[i].key, key))
			return &seq->meta[i];
	}
	return NULL;
}

const char *as_seq_meta(const struct as_seq *seq, const char *key)
{
	const struct as_meta *meta = find_meta(seq, key);

	return meta ? meta->value : NULL;
}

void as_seq_set_meta(struct as_seq *seq, const char *key, const char *value)
{
	struct as_meta *meta = find_meta(seq, key);

	if (!meta) {
		AS_ARRAY_ROOM(seq->meta, seq->n_meta, seq->cap_meta);
		meta = &seq->meta[seq->n_meta++];
		meta->key = keep_str(seq, key);
	}
	meta->value = keep_str(seq, value);
}

struct as_seq *as_seq_subset(const struct as_seq *seq, const bool *keep)
{
	struct as_seq *copy = as_seq_new();

	for (size_t i = 0; i < seq->n_meta; i++)
		as_seq_set_meta(copy, seq->meta[i].key, seq->meta[i].value);
	for (size_t i = 0; i < seq->n; i++) {
		if (!keep || keep[i])
			as_seq_add(copy, &seq->ops[i]);
	}
	return copy;
}

struct as_seq *as_seq_copy(const struct as_seq *seq)
{
	return as_seq_subset(seq, NULL);
}

bool as_seq_equal(const struct as_seq *a, const struct as_seq *b)
{
	if (a->n != b->n || a->n_meta != b->n_meta)
		return false;
	for (size_t i = 0; i < a->n_meta; i++) {
		if (strcmp(a->meta[i].key, b->meta[i].key) ||
		    strcmp(a->meta[i].value, b->meta[i].value))
			return false;
	}
	for (size_t i = 0; i < a->n; i++) {
		if (!as_op_equal(&a->ops[i], &b->ops[i]))
			return false;
	}
	return true;
}

struct as_digest as_seq_digest(const struct as_seq *seq)
{
	struct as_buf text = { 0 };
	struct as_digest digest;

	as_print_seq(seq, &text);
	digest = as_hash(as_buf_str(&text), text.len);
	as_buf_free(&text);
	return digest;
}
