/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import: the table of importers, and what they share: lines, words, numbers, flags. */
#include "base/hash.h"
#include "trace/import_priv.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

static const struct importer {
	const char *name;
	int (*run)(struct as_importing *x, struct as_span text, struct as_err *err);
} importers[AS_IMPORTS] = {
	[AS_IMPORT_JLANG] = { "jlang", as_import_jlang },
	[AS_IMPORT_FSX] = { "fsx", as_import_fsx },
	[AS_IMPORT_STRACE] = { "strace", as_import_strace },
};

int as_import_find(const char *name)
{
	for (int i = 0; i < AS_IMPORTS; i++)
		if (!strcmp(name, importers[i].name))
			return i;
	return -1;
}

/* ---- What goes in and out -------------------------------------------------------------------- */

void as_importing_miss(struct as_importing *x, const char *fmt, ...)
{
	struct as_buf what = { 0 };
	va_list ap;

	va_start(ap, fmt);
	as_buf_vaddf(&what, fmt, ap);
	va_end(ap);
	/* The message is one line, whatever the text holds. */
	for (size_t i = 0; i < what.len; i++)
		if ((unsigned char)what.data[i] < ' ' || what.data[i] == 0x7f)
			what.data[i] = '?';
	x->import->n_left_out++;
	if (x->import->left_out)
		x->import->left_out(x->import->ctx, x->line, as_buf_str(&what));
	as_buf_free(&what);
}

static bool in_range(const struct as_op *op, const struct as_arg_info *arg)
{
	switch (arg->type) {
	case AS_TYPE_STR:
		return as_arg_str(op, arg) && strlen(as_arg_str(op, arg)) <= AS_STR_MAX;
	case AS_TYPE_SLOT:
		return as_arg_slot(op, arg) >= 0 && as_arg_slot(op, arg) <= AS_SLOT_MAX;
	case AS_TYPE_LEN:
		return (uint64_t)as_arg_int(op, arg) <= AS_DATA_MAX;
	case AS_TYPE_COUNT:
		return (uint64_t)as_arg_int(op, arg) <= AS_COUNT_MAX;
	case AS_TYPE_MEM:
		return (uint64_t)as_arg_int(op, arg) <= AS_MEM_MAX;
	case AS_TYPE_OCT:
	case AS_TYPE_OCT_OPT:
		return as_arg_mode(op, arg) <= AS_MODE_MAX;
	case AS_TYPE_ID:
		return as_arg_int(op, arg) >= -1 && as_arg_int(op, arg) <= AS_ID_MAX;
	case AS_TYPE_NUM:
	case AS_TYPE_SNUM:
	case AS_TYPE_DEVNO:
	case AS_TYPE_TIME:
	case AS_TYPE_BOOL:
		return true;
	default:
		return as_arg_int(op, arg) >= 0 && as_arg_int(op, arg) <= AS_FLAGS_MAX;
	}
}

/* A copy that has only the fields of the operation. */
static struct as_op trim(const struct as_op *op)
{
	struct as_op copy = as_op_make(op->code);

	copy.slot = op->slot;
	for (const enum as_arg_kind *kind = as_op_table[op->code].args; *kind; kind++) {
		const struct as_arg_info *arg = &as_arg_table[*kind];
		size_t len = arg->type == AS_TYPE_SLOT || arg->type == AS_TYPE_OCT ||
					     arg->type == AS_TYPE_OCT_OPT
				     ? sizeof(int32_t)
				     : sizeof(int64_t);

		memcpy(as_arg_field(&copy, arg), (const char *)op + arg->offset, len);
	}
	return copy;
}

bool as_importing_add(struct as_importing *x, const struct as_op *op)
{
	struct as_op copy = trim(op);

	if (!as_op_takes_mode(&copy))
		copy.mode = 0;
	for (const enum as_arg_kind *kind = as_op_table[op->code].args; *kind; kind++) {
		if (!in_range(&copy, &as_arg_table[*kind])) {
			as_importing_miss(x, "%s: out of range: expected %s",
					  as_op_table[op->code].name, as_arg_table[*kind].expected);
			return false;
		}
	}
	as_seq_add(x->seq, &copy);
	return true;
}

int as_import_text(struct as_import *import, const char *text, size_t len, struct as_seq **seq,
		   struct as_err *err)
{
	const char *slash = strrchr(import->file, '/');
	struct as_importing x = { .import = import, .seq = as_seq_new() };
	int rc;

	*seq = NULL;
	import->n_left_out = import->n_outside = import->n_other = 0;
	as_seq_set_meta(x.seq, "name", slash ? slash + 1 : import->file);
	as_seq_set_meta(x.seq, "from", importers[import->from].name);
	rc = importers[import->from].run(&x, (struct as_span){ text, len }, err);
	if (!rc && !x.understood)
		rc = as_fail(err, AS_EUSE, "%s: no line in it is of %s", import->file,
			     importers[import->from].name);
	if (rc)
		as_seq_free(x.seq);
	else
		*seq = x.seq;
	as_arena_free(&x.words);
	return rc;
}

/* ---- Pieces of text -------------------------------------------------------------------------- */

bool as_importing_line(struct as_importing *x, struct as_span *text, struct as_span *line)
{
	const char *end;

	if (!text->len)
		return false;
	end = memchr(text->at, '\n', text->len);
	line->at = text->at;
	line->len = end ? (size_t)(end - text->at) : text->len;
	text->at += line->len + (end != NULL);
	text->len -= line->len + (end != NULL);
	if (line->len && line->at[line->len - 1] == '\r')
		line->len--;
	x->line++;
	as_arena_reset(&x->words);
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool as_span_word(struct as_span *line, struct as_span *word)
{
	while (line->len && is_blank(*line->at)) {
		line->at++;
		line->len--;
	}
	*word = (struct as_span){ line->at, 0 };
	while (line->len && !is_blank(*line->at)) {
		line->at++;
		line->len--;
		word->len++;
	}
	return word->len != 0;
}

bool as_span_is(struct as_span piece, const char *text)
{
	return piece.len == strlen(text) && !memcmp(piece.at, text, piece.len);
}

bool as_span_starts(struct as_span piece, const char *text)
{
	return piece.len >= strlen(text) && !memcmp(piece.at, text, strlen(text));
}

char *as_importing_word(struct as_importing *x, struct as_span piece)
{
	return as_arena_strndup(&x->words, piece.at, piece.len);
}

bool as_span_number(struct as_span p, int64_t *number)
{
	bool minus = p.len && *p.at == '-';
	size_t at = minus;
	uint64_t value = 0;
	int base = 10;

	if (p.len - at > 2 && p.at[at] == '0' && (p.at[at + 1] | 32) == 'x') {
		base = 16;
		at += 2;
	} else if (p.len - at > 1 && p.at[at] == '0') {
		base = 8;
	}
	if (at >= p.len)
		return false;
	for (; at < p.len; at++) {
		int digit = as_hex_digit(p.at[at]);

		if (digit < 0 || digit >= base ||
		    __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	/* strace prints some negative numbers as unsigned 64-bit ones. */
	if (minus && value > (uint64_t)INT64_MAX + 1)
		return false;
	*number = minus ? (int64_t)-value : (int64_t)value;
	return true;
}

static bool find_flag(struct as_span word, enum as_flag_table table, const char *prefix,
		      int64_t *value)
{
	size_t n;
	int64_t exclusive;
	const struct as_flag_word *words = as_flag_words(table, &n, &exclusive);

	if (as_span_number(word, value))
		return true;
	if (prefix && as_span_starts(word, prefix)) {
		word.at += strlen(prefix);
		word.len -= strlen(prefix);
	}
	for (size_t i = 0; i < n; i++) {
		if (words[i].len == word.len && !memcmp(words[i].word, word.at, word.len)) {
			*value = words[i].value;
			return true;
		}
	}
	return false;
}

bool as_span_flags(struct as_span p, enum as_flag_table table, const char *prefix, int64_t *flags)
{
	*flags = 0;
	while (p.len) {
		const char *bar = memchr(p.at, '|', p.len);
		struct as_span word = { p.at, bar ? (size_t)(bar - p.at) : p.len };
		int64_t value;

		if (!find_flag(word, table, prefix, &value))
			return false;
		*flags |= value;
		p.at += word.len + (bar != NULL);
		p.len -= word.len + (bar != NULL);
		if (bar && !p.len)
			return false;
	}
	return true;
}
