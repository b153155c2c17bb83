/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recorded: see recorded.h. */
#include "tests/lib/recorded.h"

#include "base/array.h"
#include "base/buf.h"
#include "sym/expr_priv.h"
#include "sym/solve_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record_reading {
	struct t_recorded *out;
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

static bool read_terms(struct record_reading *r, const char **at, struct t_recorded_ask *ask)
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
	struct t_recorded *out = r->out;
	struct t_recorded_ask ask = { .n_bytes = as_expr_inputs(out->expr) };

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

int t_recorded_read(const char *text, size_t len, struct t_recorded *out, struct as_err *err)
{
	struct record_reading r = { .out = out };
	struct as_buf line = { 0 };
	unsigned lines = 0;
	bool ok = true;

	*out = (struct t_recorded){ .expr = as_expr_new() };
	out->expr->depth = EXPR_DEPTH_MAX;
	AS_ARRAY_ROOM(r.nodes, r.n, r.cap);
	r.nodes[r.n++] = 0;
	while (ok && len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		as_buf_clear(&line);
		as_buf_add(&line, text, n);
		ok = end && (lines++ ? read_line(&r, as_buf_str(&line))
				     : !strcmp(as_buf_str(&line), AS_RECORD_FIRST_LINE));
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
	as_buf_free(&line);
	free(r.nodes);
	free(r.tables);
	if (ok && lines)
		return 0;
	t_recorded_free(out);
	return as_fail(err, AS_EIO, "not recorded questions: line %u", lines ? lines : 1);
}

void t_recorded_free(struct t_recorded *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->asks[i].terms);
		free(r->asks[i].bytes);
	}
	free(r->asks);
	as_expr_free(r->expr);
	*r = (struct t_recorded){ 0 };
}
