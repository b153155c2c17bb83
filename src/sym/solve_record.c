/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solve_record: see solve_record.h. */
#include "sym/solve_record.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/table.h"
#include "os/out.h"
#include "sym/expr_priv.h"
#include "sym/solve_priv.h"

#include <stdlib.h>
#include <string.h>

struct solve_record {
	struct as_out *file;
	const char *path;
	int failed; /* 0 or a negative errno */
	struct as_buf text; /* of this question, with what it needs */
	struct as_table known; /* what was written, by its digest */
	struct as_digest *digests; /* of nodes, from 1 on */
	size_t n, cap;
	struct as_digest *tables;
	size_t n_tables, cap_tables;
	uint32_t *number; /* in the file, of each node of the slice */
	size_t cap_number;
};

int as_solve_record_new(const char *path, struct solve_record **out, struct as_err *err)
{
	struct solve_record *r;
	struct as_out *file;
	int rc = as_out_open(path, &file, err), failed;

	*out = NULL;
	if (rc)
		return rc;
	/* Now, not with the first question: what takes nothing is known before the search. */
	failed = as_out_write(file, AS_RECORD_FIRST_LINE "\n", strlen(AS_RECORD_FIRST_LINE "\n"));
	if (failed)
		return as_out_end(file, failed, err);
	r = as_xcalloc(1, sizeof(*r));
	r->file = file;
	r->path = path;
	r->n = 1;
	AS_ARRAY_ROOM_FOR(r->digests, (size_t)0, 1, r->cap);
	r->digests[0] = AS_DIGEST_ZERO;
	*out = r;
	return 0;
}

static void write_text(struct solve_record *r)
{
	if (!r->failed)
		r->failed = as_out_write(r->file, r->text.data, r->text.len);
	as_buf_clear(&r->text);
}

int as_solve_record_check(const struct solve_record *r, struct as_err *err)
{
	return r && r->failed ? as_fail_errno(err, -r->failed, "%s: cannot write", r->path) : 0;
}

void as_solve_record_free(struct solve_record *r)
{
	struct as_err ignored;

	if (!r)
		return;
	(void)!as_out_end(r->file, r->failed, &ignored);
	as_buf_free(&r->text);
	as_table_free(&r->known);
	free(r->digests);
	free(r->tables);
	free(r->number);
	free(r);
}

struct record_key {
	const struct solve_record *r;
	struct as_digest digest;
};

static bool is_known(const void *ctx, size_t i)
{
	const struct record_key *k = ctx;

	return as_digest_eq(k->r->digests[i], k->digest);
}

static uint32_t add_table(struct solve_record *r, const struct as_expr *e, uint32_t table)
{
	const struct expr_table *t = &e->tables[table];

	for (size_t i = 0; i < r->n_tables; i++)
		if (as_digest_eq(r->tables[i], t->digest))
			return (uint32_t)i;
	as_buf_adds(&r->text, "table ");
	for (uint32_t i = 0; i < t->bytes; i++)
		as_buf_addf(&r->text, "%02x", t->data[i]);
	as_buf_addc(&r->text, '\n');
	AS_ARRAY_ROOM(r->tables, r->n_tables, r->cap_tables);
	r->tables[r->n_tables] = t->digest;
	return (uint32_t)r->n_tables++;
}

static uint32_t add_node(struct solve_record *r, const struct as_expr *e, uint32_t node)
{
	const struct as_expr_node *x = as_expr_at(e, node);
	struct record_key key = { r, as_expr_digest(e, node) };
	size_t i = as_table_find(&r->known, key.digest.lo, is_known, &key);
	as_u128 imm = x->imm;

	if (i != AS_TABLE_NONE)
		return (uint32_t)i;
	if (x->op == AS_EXPR_TABLE)
		imm = add_table(r, e, (uint32_t)imm);
	as_buf_addf(&r->text, "%s %u", as_expr_op_name(x->op), x->width);
	for (unsigned k = 0; k < 3; k++)
		as_buf_addf(&r->text, " %u", k < as_expr_op_args(x->op) ? r->number[x->arg[k]] : 0);
	if (imm >> 64)
		as_buf_addf(&r->text, " %llx%016llx\n", (unsigned long long)(imm >> 64),
			    (unsigned long long)imm);
	else
		as_buf_addf(&r->text, " %llx\n", (unsigned long long)imm);
	AS_ARRAY_ROOM(r->digests, r->n, r->cap);
	r->digests[r->n] = key.digest;
	as_table_add(&r->known, key.digest.lo, r->n);
	return (uint32_t)r->n++;
}

void as_solve_record_add(struct solve_record *r, const struct solve_slice *s)
{
	if (r->failed)
		return;
	if (r->cap_number < (size_t)as_expr_n(s->expr) + 1) {
		r->cap_number = (size_t)as_expr_n(s->expr) + 1;
		r->number = as_xrealloc(r->number, r->cap_number * sizeof(*r->number));
	}
	for (size_t i = 0; i < s->nodes.n; i++)
		r->number[s->nodes.nodes[i]] = add_node(r, s->expr, s->nodes.nodes[i]);
	as_buf_adds(&r->text, "ask");
	for (size_t i = 0; i < s->n; i++)
		as_buf_addf(&r->text, " %u", r->number[s->terms[i]]);
	as_buf_adds(&r->text, " :");
	for (uint32_t i = 0; i < s->n_inputs; i++)
		as_buf_addf(&r->text, " %llu=%02x",
			    (unsigned long long)as_expr_input_off(s->expr, s->inputs[i]),
			    s->hint[s->inputs[i]]);
	as_buf_addc(&r->text, '\n');
	write_text(r);
}
