/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse: workload text to operations.
 *
 * Method: text is cut into lines with memchr; a line that lies whole in what was fed is read where
 * it lies, one that was cut is first put together in `carry`. A line is read left to right by lex
 * into a copy of its operation's blank form; only string arguments are copied, into a scratch that
 * is as long as the longest line so far. Nothing is allocated for a line once both are big enough.
 *
 * Invariants
 * 1. How the text is cut into feeds changes neither the calls made nor the error reported.
 * 2. After an error nothing more is read: every later call answers the same error.
 */
#include "work/parse.h"

#include "base/array.h"
#include "work/lex.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE 65536
#define SUGGEST_MAX 32 /* longest misspelling a suggestion is looked for */

struct as_parser {
	char *file;
	struct as_parse_fns fns;
	void *ctx;
	unsigned line;
	int failed; /* what the first failure returned */
	struct as_err error;
	char *carry;
	size_t carry_len, carry_cap;
	char *scratch;
	size_t scratch_cap;
	struct as_op_index index;
	struct as_op blank[AS_OP_COUNT];
};

struct as_parser *as_parser_new(const char *file_name, const struct as_parse_fns *fns, void *ctx)
{
	struct as_parser *parser = as_xcalloc(1, sizeof(*parser));

	parser->file = as_xstrdup(file_name);
	parser->fns = *fns;
	parser->ctx = ctx;
	as_op_index_init(&parser->index);
	for (int code = 0; code < AS_OP_COUNT; code++)
		parser->blank[code] = as_op_make((enum as_opcode)code);
	return parser;
}

void as_parser_free(struct as_parser *parser)
{
	if (!parser)
		return;
	free(parser->file);
	free(parser->carry);
	free(parser->scratch);
	free(parser);
}

/* Levenshtein distance of a known name and what was written. */
static unsigned distance(const char *known, const char *word, size_t len)
{
	unsigned row[SUGGEST_MAX + 1];

	for (unsigned j = 0; j <= len; j++)
		row[j] = j;
	for (unsigned i = 1; known[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= len; j++) {
			unsigned best = diagonal + (known[i - 1] != word[j - 1]);

			diagonal = row[j];
			best = row[j] + 1 < best ? row[j] + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
		}
	}
	return row[len];
}

static const char *nearest_name(const char *word, size_t len)
{
	unsigned best = len < 4 ? 2 : 3; /* a name with this distance or more is not suggested */
	const char *name = NULL;

	for (int code = 0; code < AS_OP_COUNT && len <= SUGGEST_MAX; code++) {
		unsigned d = distance(as_op_table[code].name, word, len);

		if (d < best) {
			best = d;
			name = as_op_table[code].name;
		}
	}
	return name;
}

static int unknown_op(struct as_lex *lex, const char *name, size_t len)
{
	const char *nearest = nearest_name(name, len);

	if (nearest)
		return as_lex_expected(lex, name, "an operation (%s?)", nearest);
	return as_lex_expected(lex, name, "an operation");
}

/* Which keys this operation knows, for the message. */
static int unknown_key(struct as_lex *lex, const struct as_op_info *info)
{
	struct as_buf keys = { 0 };
	int rc;

	for (const enum as_arg_kind *kind = info->args; *kind != AS_ARG_END; kind++) {
		if (as_arg_table[*kind].key)
			as_buf_addf(&keys, "%s%s=", keys.len ? " or " : "",
				    as_arg_table[*kind].key);
	}
	rc = keys.len ? as_lex_expected(lex, lex->p, "%s", as_buf_str(&keys))
		      : as_lex_expected(lex, lex->p, "end of line");
	as_buf_free(&keys);
	return rc;
}

/* The KEY=value arguments, in any order; seen is a bit for each argument of the row. */
static int read_keyed(struct as_lex *lex, const struct as_op_info *info, unsigned first,
		      struct as_op *op)
{
	unsigned seen = 0, next = first;

	while (!as_lex_at_end(lex)) {
		size_t left = (size_t)(lex->end - lex->p);
		const struct as_arg_info *arg = NULL;
		unsigned i = next;
		int rc;

		/* Mostly they come in the row's order: the search begins after the last one. */
		do {
			if (info->args[i] == AS_ARG_END) {
				i = first;
				continue;
			}
			arg = &as_arg_table[info->args[i]];
			if (left > arg->key_len && lex->p[arg->key_len] == '=' &&
			    !memcmp(lex->p, arg->key, arg->key_len))
				break;
			arg = NULL;
			i++;
		} while (i != next);
		if (!arg)
			return unknown_key(lex, info);
		if (seen & 1u << i)
			return as_lex_fail(lex, lex->p, "expected %s= once, found it a second time",
					   arg->key);
		seen |= 1u << i;
		lex->p += arg->key_len + 1;
		rc = as_lex_value(lex, arg, op);
		if (rc)
			return rc;
		next = info->args[i + 1] == AS_ARG_END ? first : i + 1;
	}
	for (unsigned i = first; info->args[i] != AS_ARG_END; i++) {
		const struct as_arg_info *arg = &as_arg_table[info->args[i]];

		if (arg->def == AS_REQUIRED && !(seen & 1u << i))
			return as_lex_expected(lex, lex->p, "%s= and %s", arg->key, arg->expected);
	}
	return 0;
}

static int read_args(struct as_lex *lex, struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];
	unsigned i = 0;

	for (; info->args[i] != AS_ARG_END; i++) {
		const struct as_arg_info *arg = &as_arg_table[info->args[i]];
		int rc;

		if (arg->key) {
			rc = read_keyed(lex, info, i, op);
			return rc ? rc : as_lex_finish(lex);
		}
		if (as_lex_at_end(lex)) {
			if (arg->type == AS_TYPE_OCT_OPT)
				break;
			return as_lex_expected(lex, lex->p, "%s", arg->expected);
		}
		if (arg->type == AS_TYPE_OCT_OPT && !as_op_takes_mode(op))
			return as_lex_expected(lex, lex->p, "no mode without O_CREAT or O_TMPFILE");
		rc = as_lex_value(lex, arg, op);
		if (rc)
			return rc;
	}
	return as_lex_finish(lex);
}

static size_t word_len(const struct as_lex *lex)
{
	const char *p = lex->p;

	while (p < lex->end && as_byte_class[(unsigned char)*p] == AS_BYTE_BARE)
		p++;
	return (size_t)(p - lex->p);
}

static int parse_op(struct as_parser *parser, struct as_lex *lex)
{
	struct as_op op;
	enum as_opcode code;
	int32_t slot = AS_SLOT_NONE;
	const char *name;
	size_t len;
	int rc;

	if (*lex->p == '$') {
		rc = as_lex_slot(lex, "$N = open ...", &slot);
		if (rc)
			return rc;
		if (as_lex_at_end(lex) || *lex->p != '=')
			return as_lex_expected(lex, lex->p, "= after the slot");
		lex->p++;
		(void)as_lex_at_end(lex);
	}
	name = lex->p;
	len = word_len(lex);
	code = as_op_index_find(&parser->index, name, len);
	lex->p += len;
	if (slot != AS_SLOT_NONE && code != AS_OP_OPEN)
		return as_lex_expected(lex, name, "open after $%d =", slot);
	if (code == AS_OP_COUNT)
		return unknown_op(lex, name, len);
	if (!as_lex_at_gap(lex))
		return as_lex_expected(lex, lex->p, "a blank after %s", as_op_table[code].name);
	if (slot == AS_SLOT_NONE && code == AS_OP_OPEN)
		return as_lex_expected(lex, name, "$N = in front of open");
	op = parser->blank[code];
	op.slot = slot;
	rc = read_args(lex, &op);
	if (rc)
		return rc;
	return parser->fns.op ? parser->fns.op(parser->ctx, &op, parser->line) : 0;
}

static bool is_key_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* A value that is not quoted: to the end of the line or a comment, trailing blanks cut off. */
static int read_plain_value(struct as_lex *lex, const char **value)
{
	char *out = lex->scratch, *last = out;

	while (lex->p < lex->end) {
		unsigned char c = (unsigned char)*lex->p;

		if (as_byte_class[c] == AS_BYTE_CONTROL)
			return as_lex_expected(lex, lex->p, "text");
		if (c == '#' && as_byte_class[(unsigned char)lex->p[-1]] == AS_BYTE_BLANK)
			break;
		*out++ = (char)c;
		if (as_byte_class[c] != AS_BYTE_BLANK)
			last = out;
		lex->p++;
	}
	*value = lex->scratch;
	*last = 0;
	return 0;
}

static int parse_meta(struct as_parser *parser, struct as_lex *lex)
{
	const char *key = lex->scratch, *value = "", *start = ++lex->p;
	int rc = 0;

	while (lex->p < lex->end && is_key_byte(*lex->p))
		*lex->scratch++ = *lex->p++;
	*lex->scratch++ = 0;
	if (lex->p == start || !as_lex_at_gap(lex))
		return as_lex_expected(lex, lex->p, "a key of letters, digits and _ - .");
	if (!as_lex_at_end(lex)) {
		rc = *lex->p == '"' ? as_lex_string(lex, "a value", AS_LINE_MAX, &value)
				    : read_plain_value(lex, &value);
		if (rc)
			return rc;
	}
	rc = as_lex_finish(lex);
	if (rc)
		return rc;
	return parser->fns.meta ? parser->fns.meta(parser->ctx, key, value, parser->line) : 0;
}

static int parse_line(struct as_parser *parser, const char *text, size_t len, struct as_err *err)
{
	struct as_lex lex = { .p = text, .start = text, .file = parser->file, .err = err };

	lex.line = ++parser->line;
	if (len && text[len - 1] == '\r')
		len--;
	lex.end = text + len;
	if (parser->scratch_cap < len + AS_OP_ARGS_MAX + 1) {
		parser->scratch_cap = (len + AS_OP_ARGS_MAX + 1) * 2;
		free(parser->scratch);
		parser->scratch = as_xmalloc(parser->scratch_cap);
	}
	lex.scratch = parser->scratch;
	if (as_lex_at_end(&lex))
		return as_lex_finish(&lex);
	return *lex.p == '@' ? parse_meta(parser, &lex) : parse_op(parser, &lex);
}

static int too_long(struct as_parser *parser, struct as_err *err)
{
	return as_fail(err, AS_EUSE, "%s:%u:%d: expected at most %d bytes in a line, found more",
		       parser->file, parser->line + 1, AS_LINE_MAX + 1, AS_LINE_MAX);
}

static int carry_add(struct as_parser *parser, const char *text, size_t len, struct as_err *err)
{
	size_t need = parser->carry_len + len;

	if (need > AS_LINE_MAX)
		return too_long(parser, err);
	AS_ARRAY_ROOM_FOR(parser->carry, parser->carry_len, len, parser->carry_cap);
	memcpy(parser->carry + parser->carry_len, text, len);
	parser->carry_len = need;
	return 0;
}

static int feed(struct as_parser *parser, const char *text, size_t len, struct as_err *err)
{
	const char *end = text + len;
	int rc = 0;

	while (text < end && !rc) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((newline ? newline : end) - text);

		if (!newline || parser->carry_len) {
			rc = carry_add(parser, text, n, err);
			if (rc || !newline)
				return rc;
			rc = parse_line(parser, parser->carry, parser->carry_len, err);
			parser->carry_len = 0;
		} else if (n > AS_LINE_MAX) {
			rc = too_long(parser, err);
		} else {
			rc = parse_line(parser, text, n, err);
		}
		text = newline + 1;
	}
	return rc;
}

/* Keeps a failure: every later call answers with it, too. */
static int keep_failure(struct as_parser *parser, int rc, struct as_err *err)
{
	if (rc >= 0)
		return 0;
	parser->failed = rc;
	if (err && parser->error.code) /* else it was a callback's, which has filled err itself */
		*err = parser->error;
	return rc;
}

int as_parser_feed(struct as_parser *parser, const char *text, size_t len, struct as_err *err)
{
	if (parser->failed)
		return keep_failure(parser, parser->failed, err);
	return keep_failure(parser, feed(parser, text, len, &parser->error), err);
}

int as_parser_finish(struct as_parser *parser, struct as_err *err)
{
	int rc = 0;

	if (parser->failed)
		return keep_failure(parser, parser->failed, err);
	if (parser->carry_len)
		rc = parse_line(parser, parser->carry, parser->carry_len, &parser->error);
	parser->carry_len = 0;
	return keep_failure(parser, rc, err);
}

/* Building a workload in memory. */
struct builder {
	struct as_seq *seq;
	struct as_parser *parser;
};

static int build_op(void *ctx, const struct as_op *op, unsigned line)
{
	struct builder *builder = ctx;

	(void)line;
	as_seq_add(builder->seq, op);
	return 0;
}

static int build_meta(void *ctx, const char *key, const char *value, unsigned line)
{
	struct builder *builder = ctx;

	if (as_seq_meta(builder->seq, key))
		return as_fail(&builder->parser->error, AS_EUSE,
			       "%s:%u:1: expected @%s once, found it a second time",
			       builder->parser->file, line, key);
	as_seq_set_meta(builder->seq, key, value);
	return 0;
}

static const struct as_parse_fns build_fns = { build_op, build_meta };

int as_parse_text(const char *file_name, const char *text, size_t len, struct as_seq **seq,
		  struct as_err *err)
{
	struct builder builder = { as_seq_new(), NULL };
	int rc;

	builder.parser = as_parser_new(file_name, &build_fns, &builder);
	rc = as_parser_feed(builder.parser, text, len, err);
	if (!rc)
		rc = as_parser_finish(builder.parser, err);
	as_parser_free(builder.parser);
	if (rc)
		as_seq_free(builder.seq);
	*seq = rc ? NULL : builder.seq;
	return rc;
}

static int feed_file(struct as_parser *parser, const char *path, struct as_err *err)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	char *text;

	if (fd < 0)
		return as_fail_errno(err, errno, "cannot open %s", path);
	text = as_xmalloc(READ_SIZE);
	while (!rc) {
		ssize_t n = read(fd, text, READ_SIZE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = as_fail_errno(err, errno, "cannot read %s", path);
		if (n <= 0)
			break;
		rc = as_parser_feed(parser, text, (size_t)n, err);
	}
	free(text);
	if (!standard)
		close(fd);
	return rc ? rc : as_parser_finish(parser, err);
}

/* What messages call a file. */
static const char *file_label(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

int as_parse_file(const char *path, struct as_seq **seq, struct as_err *err)
{
	struct builder builder = { as_seq_new(), NULL };
	int rc;

	builder.parser = as_parser_new(file_label(path), &build_fns, &builder);
	rc = feed_file(builder.parser, path, err);
	as_parser_free(builder.parser);
	if (rc)
		as_seq_free(builder.seq);
	*seq = rc ? NULL : builder.seq;
	return rc;
}

/* Several workloads in one file. */
struct splitter {
	struct builder builder; /* first: its functions are used */
	int (*fn)(void *ctx, struct as_seq *seq);
	void *ctx;
};

static int hand_over(struct splitter *split)
{
	struct as_seq *seq = split->builder.seq;

	split->builder.seq = as_seq_new();
	return split->fn(split->ctx, seq);
}

static int split_meta(void *ctx, const char *key, const char *value, unsigned line)
{
	struct splitter *split = ctx;
	const struct as_seq *seq = split->builder.seq;

	if (!strcmp(key, "workload") && (seq->n || as_seq_meta(seq, key))) {
		int rc = hand_over(split);

		if (rc)
			return rc;
	}
	return build_meta(&split->builder, key, value, line);
}

static const struct as_parse_fns split_fns = { build_op, split_meta };

int as_parse_many(const char *path, int (*fn)(void *ctx, struct as_seq *seq), void *ctx,
		  struct as_err *err)
{
	struct splitter split = { { as_seq_new(), NULL }, fn, ctx };
	int rc;

	split.builder.parser = as_parser_new(file_label(path), &split_fns, &split);
	rc = feed_file(split.builder.parser, path, err);
	as_parser_free(split.builder.parser);
	if (!rc)
		rc = hand_over(&split);
	as_seq_free(split.builder.seq);
	return rc;
}
