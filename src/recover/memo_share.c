/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memo_share: answers of a memo as bytes: the questions that led to one, with their values, and the
 * answer. They stay on this machine, so numbers are as the machine has them. Whoever wrote them ran
 * a file system in its own process, which may have written to any memory: so they have a digest,
 * and what cannot be right is refused.
 */
#include "recover/memo_priv.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct share_head {
	struct as_digest digest; /* of all that follows it */
	uint64_t size_bytes; /* of the disk */
	uint64_t mark, data_bytes;
	uint32_t kind, n_questions, n_changes, why_bytes;
	int32_t end;
	uint32_t flag;
};

/* In the order from the answer to the root. */
struct share_question {
	uint64_t off, len;
	struct as_digest value;
};

static const struct root *root_of(const struct as_memo *m, const struct memo_node *n)
{
	for (size_t i = 0; i < m->n_roots; i++)
		if (&m->roots[i]->node == n)
			return m->roots[i];
	return NULL;
}

void as_memo_export(const struct as_memo *m, struct as_buf *out)
{
	const struct memo_answer *a = m->newest;
	const struct memo_node *n = a ? a->node : NULL;
	struct share_head head = { 0 };
	size_t from = out->len;

	if (!a || a->said.tree)
		return;
	head.mark = a->said.mark;
	head.end = a->said.end;
	head.flag = a->said.flag;
	head.n_changes = (uint32_t)a->n_changes;
	head.why_bytes = (uint32_t)strlen(a->why);
	as_buf_add(out, &head, sizeof(head));
	for (size_t i = a->n_tail; i > a->tail_at; i--, head.n_questions++)
		as_buf_add(out,
			   &(struct share_question){ a->tail[i - 1].off, a->tail[i - 1].len,
						     a->tail[i - 1].value },
			   sizeof(struct share_question));
	for (; n->follows; n = n->follows->node, head.n_questions++)
		as_buf_add(out,
			   &(struct share_question){ n->follows->off, n->follows->len, n->value },
			   sizeof(struct share_question));
	for (size_t i = 0; i < a->n_changes; i++) {
		as_buf_add(out, &a->changes[i], sizeof(a->changes[i]));
		if (a->changes[i].kind == AS_CALL_WRITE)
			head.data_bytes += a->changes[i].len;
	}
	as_buf_add(out, a->data, head.data_bytes);
	as_buf_add(out, a->why, head.why_bytes);
	head.kind = root_of(m, n)->kind;
	head.size_bytes = root_of(m, n)->size_bytes;
	memcpy(out->data + from, &head, sizeof(head));
	head.digest = as_hash(out->data + from + sizeof(head.digest),
			      out->len - from - sizeof(head.digest));
	memcpy(out->data + from, &head, sizeof(head));
}

/* ---- Taking up ------------------------------------------------------------------------------- */

static bool read_head(const void *data, size_t len, struct share_head *head)
{
	uint64_t bytes = sizeof(*head);
	struct as_digest digest;

	if (len < sizeof(*head))
		return false;
	memcpy(head, data, sizeof(*head));
	digest = as_hash((const char *)data + sizeof(digest), len - sizeof(digest));
	bytes += (uint64_t)head->n_questions * sizeof(struct share_question);
	bytes += (uint64_t)head->n_changes * sizeof(struct memo_change);
	return as_digest_eq(digest, head->digest) && head->data_bytes <= len &&
	       bytes + head->data_bytes + head->why_bytes == len;
}

static struct memo_answer *read_answer(const struct share_head *head, const char *at)
{
	struct memo_answer *a = as_xcalloc(1, sizeof(*a) + head->why_bytes + 1);
	size_t changes_bytes = head->n_changes * sizeof(*a->changes);

	a->n_changes = head->n_changes;
	a->changes = as_xcalloc(a->n_changes + 1, sizeof(*a->changes));
	memcpy(a->changes, at, changes_bytes);
	a->data = as_xmalloc(head->data_bytes + 1);
	memcpy(a->data, at + changes_bytes, head->data_bytes);
	memcpy(a->why, at + changes_bytes + head->data_bytes, head->why_bytes);
	a->said = (struct as_memo_answer){ .end = head->end,
					   .flag = head->flag,
					   .mark = head->mark,
					   .why = a->why,
					   .told = true };
	a->bytes = sizeof(*a) + head->why_bytes + 1 + (a->n_changes + 1) * sizeof(*a->changes) +
		   head->data_bytes + 1;
	return a;
}

bool as_memo_import(struct as_memo *m, const void *data, size_t len)
{
	const char *at = (const char *)data + sizeof(struct share_head);
	struct share_question q;
	struct share_head head;

	if (!read_head(data, len, &head) || !head.n_questions)
		return false;
	m->n_asks = 0;
	for (uint32_t i = head.n_questions; i--;) {
		memcpy(&q, at + i * sizeof(q), sizeof(q));
		AS_ARRAY_ROOM(m->asks, m->n_asks, m->asks_cap);
		m->asks[m->n_asks++] = (struct memo_ask){ q.off, (uint32_t)q.len, q.value };
	}
	return as_memo_keep(m, as_memo_root(m, head.kind, head.size_bytes),
			    read_answer(&head, at + head.n_questions * sizeof(q)));
}
