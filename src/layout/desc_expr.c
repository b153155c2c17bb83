/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desc_expr: the expressions of a description: numbers, names of fields that stand before it in the
 * same structure, names of the walker's variables, and the operators of C. A name that is neither
 * is refused when the description is read, so that an evaluation cannot fail.
 */
#include "base/array.h"
#include "layout/walk/walk_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NESTING_MAX 32u

struct desc_reader {
	const struct as_desc_scope *scope;
	const char *at, *end;
	const char *wrong; /* NULL: nothing yet */
	unsigned nesting;
};

/* By how tightly they bind: longer spellings of the same beginning come first. */
static const struct {
	const char *text;
	unsigned level;
} operators[] = {
	{ "||", 1 }, { "&&", 2 }, { "==", 6 }, { "!=", 6 }, { "<<", 8 }, { ">>", 8 },
	{ "<=", 7 }, { ">=", 7 }, { "<", 7 },  { ">", 7 },  { "|", 3 },	 { "^", 4 },
	{ "&", 5 },  { "+", 9 },  { "-", 9 },  { "*", 10 }, { "/", 10 }, { "%", 10 },
};
#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

static int add_node(struct desc_reader *r, struct as_desc_node node)
{
	struct as_desc *desc = r->scope->desc;

	AS_ARRAY_ROOM(desc->nodes, desc->n_nodes, desc->cap_nodes);
	desc->nodes[desc->n_nodes] = node;
	return (int)desc->n_nodes++;
}

static void skip_blanks(struct desc_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
}

static int wrong(struct desc_reader *r, const char *what)
{
	if (!r->wrong)
		r->wrong = what;
	return 0;
}

static int read_number(struct desc_reader *r)
{
	bool hex = r->at + 1 < r->end && r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X');
	const char *start = r->at + (hex ? 2 : 0);
	uint64_t value = 0, base = hex ? 16 : 10;

	for (r->at = start; r->at < r->end && isalnum((unsigned char)*r->at); r->at++) {
		unsigned char c = (unsigned char)*r->at;
		uint64_t digit = isdigit(c)	      ? (uint64_t)(c - '0')
				 : hex && isxdigit(c) ? (uint64_t)(tolower(c) - 'a' + 10)
						      : 16;

		if (digit >= base)
			return wrong(r, "this is no digit of a number");
		if (value > (UINT64_MAX - digit) / base)
			return wrong(r, "the number does not fit into 64 bits");
		value = value * base + digit;
	}
	if (r->at == start)
		return wrong(r, "a number is missing after 0x");
	return add_node(r, (struct as_desc_node){ .op = DESC_NUMBER, .number = value });
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static int read_name(struct desc_reader *r)
{
	const struct as_desc_scope *scope = r->scope;
	const struct as_desc *desc = scope->desc;
	const char *start = r->at;
	size_t len;

	while (r->at < r->end && is_word(*r->at))
		r->at++;
	len = (size_t)(r->at - start);
	for (size_t i = desc->n_fields; scope->has_fields && i > scope->first_field; i--)
		if (strlen(desc->fields[i - 1].name) == len &&
		    memcmp(desc->fields[i - 1].name, start, len) == 0)
			return add_node(r,
					(struct as_desc_node){ .op = DESC_FIELD, .number = i - 1 });
	for (size_t i = 0; desc->walker && desc->walker->vars[i]; i++)
		if (strlen(desc->walker->vars[i]) == len &&
		    memcmp(desc->walker->vars[i], start, len) == 0)
			return add_node(r, (struct as_desc_node){ .op = DESC_VAR, .number = i });
	r->at = start;
	return wrong(r, "this name is neither a field before it nor a variable of the walker");
}

static int read_level(struct desc_reader *r, unsigned level);

static int read_one(struct desc_reader *r)
{
	int node;

	skip_blanks(r);
	if (r->at == r->end)
		return wrong(r, "a value is missing");
	if (isdigit((unsigned char)*r->at))
		return read_number(r);
	if (is_word(*r->at))
		return read_name(r);
	if (*r->at == '-')
		return wrong(r, "a negative number makes no sense here");
	if (*r->at != '!' && *r->at != '(')
		return wrong(r, "expected a number, a name, '!' or '('");
	if (++r->nesting > NESTING_MAX)
		return wrong(r, "too many parentheses");
	if (*r->at == '!') {
		r->at++;
		node = read_one(r);
		node = add_node(r, (struct as_desc_node){ .op = DESC_NOT, .left = node });
	} else {
		r->at++;
		node = read_level(r, 1);
		skip_blanks(r);
		if (!r->wrong && (r->at == r->end || *r->at != ')'))
			return wrong(r, "a ')' is missing");
		r->at += r->at < r->end;
	}
	r->nesting--;
	return node;
}

static size_t operator_at(const struct desc_reader *r)
{
	for (size_t i = 0; i < N_OPERATORS; i++) {
		size_t len = strlen(operators[i].text);

		if ((size_t)(r->end - r->at) >= len && memcmp(r->at, operators[i].text, len) == 0)
			return i;
	}
	return N_OPERATORS;
}

static int read_level(struct desc_reader *r, unsigned level)
{
	int left = read_one(r);

	while (!r->wrong) {
		const char *before = r->at;
		size_t op;
		int right;

		skip_blanks(r);
		op = operator_at(r);
		if (op == N_OPERATORS || operators[op].level < level) {
			r->at = before;
			break;
		}
		r->at += strlen(operators[op].text);
		right = read_level(r, operators[op].level + 1);
		left = add_node(r, (struct as_desc_node){ .op = DESC_BINARY,
							  .binary = (uint8_t)op,
							  .left = left,
							  .right = right });
	}
	return left;
}

const char *as_desc_expr(const struct as_desc_scope *scope, const char **text, const char *end,
			 int *node)
{
	struct desc_reader r = { .scope = scope, .at = *text, .end = end };

	*node = read_level(&r, 1);
	*text = r.at;
	return r.wrong;
}

bool as_desc_is_constant(const struct as_desc *desc, int node)
{
	const struct as_desc_node *n = &desc->nodes[node];

	switch (n->op) {
	case DESC_NUMBER:
		return true;
	case DESC_NOT:
		return as_desc_is_constant(desc, n->left);
	case DESC_BINARY:
		return as_desc_is_constant(desc, n->left) && as_desc_is_constant(desc, n->right);
	default:
		return false;
	}
}

bool as_desc_names_fields(const struct as_desc *desc, int node)
{
	const struct as_desc_node *n = &desc->nodes[node];

	return n->op == DESC_FIELD || (n->op == DESC_NOT && as_desc_names_fields(desc, n->left)) ||
	       (n->op == DESC_BINARY &&
		(as_desc_names_fields(desc, n->left) || as_desc_names_fields(desc, n->right)));
}

static uint64_t apply(const char *op, uint64_t a, uint64_t b)
{
	switch (op[0]) {
	case '|':
		return op[1] ? a || b : (a | b);
	case '&':
		return op[1] ? a && b : (a & b);
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '<':
		return op[1] == '<' ? (b < 64 ? a << b : 0) : op[1] ? a <= b : a < b;
	case '>':
		return op[1] == '>' ? (b < 64 ? a >> b : 0) : op[1] ? a >= b : a > b;
	case '^':
		return a ^ b;
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return b ? a / b : 0;
	default:
		return b ? a % b : 0;
	}
}

uint64_t as_desc_eval(const struct as_desc *desc, int node, const uint64_t *vars,
		      as_desc_field_fn field, const void *ctx)
{
	const struct as_desc_node *n = &desc->nodes[node];

	switch (n->op) {
	case DESC_NUMBER:
		return n->number;
	case DESC_FIELD:
		return field ? field(ctx, n->number) : 0;
	case DESC_VAR:
		return vars[n->number];
	case DESC_NOT:
		return !as_desc_eval(desc, n->left, vars, field, ctx);
	default:
		return apply(operators[n->binary].text,
			     as_desc_eval(desc, n->left, vars, field, ctx),
			     as_desc_eval(desc, n->right, vars, field, ctx));
	}
}
