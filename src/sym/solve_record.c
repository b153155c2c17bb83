/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solve_record: see solve_record.h. */
#include "sym/solve_record.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/table.h"
#include "sym/expr_priv.h"
#include "sym/solve_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "assay questions 1"

struct solve_record {
	FILE *file;
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
	FILE *file = fopen(path, "we");

	*out = NULL;
	if (!file)
		return as_fail(err, AS_EUSE, "%s: %s", path, strerror(errno));
	r = as_xcalloc(1, sizeof(*r));
	r->file = file;
	r->n = 1;
	AS_ARRAY_ROOM_FOR(r->digests, (size_t)0, 1, r->cap);
	r->digests[0] = AS_DIGEST_ZERO;
	fputs(FIRST_LINE "\n", file);
	*out = r;
	return 0;
}

void as_solve_record_free(struct solve_record *r)
{
	if (!r)
		return;
	fclose(r->file);
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
	fputs("table ", r->file);
	for (uint32_t i = 0; i < t->bytes; i++)
		fprintf(r->file, "%02x", t->data[i]);
	fputc('\n', r->file);
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
	fprintf(r->file, "%s %u", as_expr_op_name(x->op), x->width);
	for (unsigned k = 0; k < 3; k++)
		fprintf(r->file, " %u", k < as_expr_op_args(x->op) ? r->number[x->arg[k]] : 0);
	if (imm >> 64)
		fprintf(r->file, " %llx%016llx\n", (unsigned long long)(imm >> 64),
			(unsigned long long)imm);
	else
		fprintf(r->file, " %llx\n", (unsigned long long)imm);
	AS_ARRAY_ROOM(r->digests, r->n, r->cap);
	r->digests[r->n] = key.digest;
	as_table_add(&r->known, key.digest.lo, r->n);
	return (uint32_t)r->n++;
}

void as_solve_record_add(struct solve_record *r, const struct solve_slice *s)
{
	if (ferror(r->file))
		return;
	if (r->cap_number < (size_t)as_expr_n(s->expr) + 1) {
		r->cap_number = (size_t)as_expr_n(s->expr) + 1;
		r->number = as_xrealloc(r->number, r->cap_number * sizeof(*r->number));
	}
	for (size_t i = 0; i < s->nodes.n; i++)
		r->number[s->nodes.nodes[i]] = add_node(r, s->expr, s->nodes.nodes[i]);
	fputs("ask", r->file);
	for (size_t i = 0; i < s->n; i++)
		fprintf(r->file, " %u", r->number[s->terms[i]]);
	fputs(" :", r->file);
	for (uint32_t i = 0; i < s->n_inputs; i++)
		fprintf(r->file, " %llu=%02x",
			(unsigned long long)as_expr_input_off(s->expr, s->inputs[i]),
			s->hint[s->inputs[i]]);
	fputc('\n', r->file);
	/* Whoever is killed leaves whole questions. */
	fflush(r->file);
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct record_reading {
	struct solve_recorded *out;
	uint32_t *nodes; /* of the graph, for each in the file */
	size_t n, cap;
	uint32_t *tables;
	size_t n_tables, cap_tables;
};

static bool read_table(struct record_reading *r, const char *hex)
{
	size_t n = strlen(hex) / 2;
	unsigned char *data = as_xmalloc(n + 1);
	bool ok = strlen(hex) % 2 == 0 && n <= AS_EXPR_TABLE_BYTES_MAX;

	for (size_t i = 0; ok && i < n; i++) {
		int high = as_hex_digit(hex[2 * i]), low = as_hex_digit(hex[2 * i + 1]);

		ok = high >= 0 && low >= 0;
		data[i] = (unsigned char)(ok ? high << 4 | low : 0);
	}
	if (ok) {
		AS_ARRAY_ROOM(r->tables, r->n_tables, r->cap_tables);
		r->tables[r->n_tables++] = as_expr_add_table(r->out->expr, data, (uint32_t)n);
	}
	free(data);
	return ok;
}

static bool read_node(struct record_reading *r, const char *line)
{
	unsigned width, arg[3];
	struct as_expr_node x = { .op = AS_EXPR_OPS };
	char name[16], imm[40];
	uint32_t node;

	if (sscanf(line, "%15s %u %u %u %u %39s", name, &width, &arg[0], &arg[1], &arg[2], imm) !=
		    6 ||
	    width > AS_EXPR_WIDTH_MAX || strlen(imm) > 32)
		return false;
	for (unsigned op = 0; op < AS_EXPR_OPS; op++)
		if (!strcmp(as_expr_op_name(op), name))
			x.op = (uint8_t)op;
	if (x.op == AS_EXPR_OPS)
		return false;
	x.width = (uint8_t)width;
	for (unsigned i = 0; i < 3; i++) {
		if (arg[i] >= r->n)
			return false;
		x.arg[i] = arg[i] ? r->nodes[arg[i]] : 0;
	}
	for (const char *p = imm; *p; p++) {
		if (as_hex_digit(*p) < 0)
			return false;
		x.imm = x.imm << 4 | (unsigned)as_hex_digit(*p);
	}
	if (x.op == AS_EXPR_TABLE) {
		if (x.imm >= r->n_tables)
			return false;
		x.imm = r->tables[(size_t)x.imm];
	}
	node = as_expr_make(r->out->expr, &x);
	AS_ARRAY_ROOM(r->nodes, r->n, r->cap);
	r->nodes[r->n++] = node;
	return node;
}

static bool read_terms(struct record_reading *r, const char **at, struct solve_recorded_ask *ask)
{
	for (;;) {
		char *end;
		unsigned long number;

		*at += strspn(*at, " ");
		if (**at == ':') {
			++*at;
			return ask->n;
		}
		number = strtoul(*at, &end, 10);
		if (end == *at || !number || number >= r->n ||
		    as_expr_at(r->out->expr, r->nodes[number])->width != 1)
			return false;
		AS_ARRAY_ROOM(ask->terms, ask->n, ask->cap);
		ask->terms[ask->n++] = r->nodes[number];
		*at = end;
	}
}

static bool read_ask(struct record_reading *r, const char *line)
{
	struct solve_recorded *out = r->out;
	struct solve_recorded_ask ask = { .n_bytes = as_expr_inputs(out->expr) };

	ask.bytes = as_xcalloc((uint64_t)ask.n_bytes + 1, 1);
	AS_ARRAY_ROOM(out->asks, out->n, out->cap);
	out->asks[out->n++] = ask;
	if (!read_terms(r, &line, &out->asks[out->n - 1]))
		return false;
	for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
		unsigned long long off;
		unsigned value;
		uint32_t input;
		int used = 0;

		if (sscanf(line, "%llu=%2x%n", &off, &value, &used) != 2 || !used)
			return false;
		input = as_expr_input_of(out->expr, off);
		if (input == UINT32_MAX)
			return false;
		ask.bytes[input] = (unsigned char)value;
		line += used;
	}
	return true;
}

static bool read_line(struct record_reading *r, const char *line)
{
	if (!strncmp(line, "table ", 6) && !strchr(line + 6, ' '))
		return read_table(r, line + 6);
	if (!strncmp(line, "ask ", 4))
		return read_ask(r, line + 4);
	return read_node(r, line);
}

int as_solve_recorded_read(const char *text, size_t len, struct solve_recorded *out,
			   struct as_err *err)
{
	struct record_reading r = { .out = out };
	struct as_buf line = { 0 };
	unsigned lines = 0;
	bool ok = true;

	*out = (struct solve_recorded){ .expr = as_expr_new() };
	out->expr->depth = EXPR_DEPTH_MAX;
	AS_ARRAY_ROOM(r.nodes, r.n, r.cap);
	r.nodes[r.n++] = 0;
	while (ok && len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		as_buf_clear(&line);
		as_buf_add(&line, text, n);
		ok = end && (lines++ ? read_line(&r, as_buf_str(&line))
				     : !strcmp(as_buf_str(&line), FIRST_LINE));
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
	as_buf_free(&line);
	free(r.nodes);
	free(r.tables);
	if (ok && lines)
		return 0;
	as_solve_recorded_free(out);
	return as_fail(err, AS_EIO, "not recorded questions: line %u", lines ? lines : 1);
}

void as_solve_recorded_free(struct solve_recorded *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->asks[i].terms);
		free(r->asks[i].bytes);
	}
	free(r->asks);
	as_expr_free(r->expr);
	*r = (struct solve_recorded){ 0 };
}
