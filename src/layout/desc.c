/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desc: reads a description of on-disk structures. docs/LAYOUT.md is the manual.
 *
 * A line is a list of words. The first word of a line that begins in the first column is a keyword
 * (rows of `keywords`); a line that begins with a blank is a field of the structure above it. An
 * expression is one word, so it has no blanks; only that of `if` goes on to the end of the line.
 *
 * Invariants of what is accepted:
 * 1. A field lies within its structure, if both can be told without a disk.
 * 2. Two fields of a structure do not overlap, if that can be told without a disk, unless both have
 *    an `if`: then they are different readings of the same bytes.
 * 3. A number has 1 to 8 bytes, and a bit field lies within its bytes.
 * 4. Each name in an expression is a field before it or a variable of the walker; in the size of a
 *    structure, any field of it.
 * 5. Each structure has a place: at=, a walker, or a structure that holds it.
 */
#include "base/array.h"
#include "base/embed.h"
#include "layout/desc_word_priv.h"
#include "layout/walk/walk_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LINE_WORDS_MAX 64

struct desc_file {
	struct as_desc *desc;
	struct as_err *err;
	const char *path;
	uint32_t line;
	const char *start, *at, *end; /* of the line */
	struct desc_word size; /* of the structure, which names its fields */
	const char *size_line; /* where its line starts; NULL: there is no such size */
	bool big_endian;
	int rc;
};

static int fail_at(struct desc_file *f, const char *at, const char *what)
{
	f->rc = as_fail(f->err, AS_EUSE, "%s:%u:%u: %s", f->path, f->line,
			(unsigned)(at - f->start) + 1, what);
	return f->rc;
}

static struct desc_word next_word(struct desc_file *f)
{
	struct desc_word word;

	while (f->at < f->end && isspace((unsigned char)*f->at))
		f->at++;
	word.text = f->at;
	while (f->at < f->end && !isspace((unsigned char)*f->at))
		f->at++;
	word.len = (size_t)(f->at - word.text);
	return word;
}

static const char *keep(struct desc_file *f, struct desc_word word)
{
	return as_arena_strndup(&f->desc->arena, word.text, word.len);
}

static int name_of(struct desc_file *f, const char *what, const char **name)
{
	struct desc_word word = next_word(f);

	if (!is_name(word))
		return fail_at(f, word.text, what);
	*name = keep(f, word);
	return 0;
}

/* An expression that is all of the word. */
static int expr_of(struct desc_file *f, struct desc_word word, bool with_fields, int *node)
{
	struct as_desc *desc = f->desc;
	struct as_desc_scope scope = { .desc = desc, .has_fields = with_fields };
	const char *at = word.text, *what;

	if (desc->n_structs)
		scope.first_field = desc->structs[desc->n_structs - 1].first;
	what = as_desc_expr(&scope, &at, word.text + word.len, node);
	if (!what && at != word.text + word.len)
		what = "this does not belong to the expression";
	return what ? fail_at(f, at, what) : 0;
}

static int constant_of(struct desc_file *f, struct desc_word word, uint64_t max, uint64_t *value)
{
	int node;

	if (expr_of(f, word, false, &node))
		return f->rc;
	if (!as_desc_is_constant(f->desc, node))
		return fail_at(f, word.text, "expected a number");
	*value = as_desc_eval(f->desc, node, NULL, NULL, NULL);
	return *value <= max ? 0 : fail_at(f, word.text, "the number is too large");
}

static int line_ends(struct desc_file *f)
{
	struct desc_word word = next_word(f);

	return word.len ? fail_at(f, word.text, "this word is one too many") : 0;
}

/* ---- Keywords ---- */

static int on_layout(struct desc_file *f)
{
	return name_of(f, "expected a name after 'layout'", &f->desc->name);
}

static int on_types(struct desc_file *f)
{
	struct as_desc *desc = f->desc;
	const char *name;

	do {
		if (name_of(f, "expected a name of a type", &name))
			return f->rc;
		AS_ARRAY_ROOM(desc->types, desc->n_types, desc->cap_types);
		desc->types[desc->n_types++] = name;
		while (f->at < f->end && isspace((unsigned char)*f->at))
			f->at++;
	} while (f->at < f->end);
	return 0;
}

static int on_walker(struct desc_file *f)
{
	const char *at = f->at, *name;

	if (name_of(f, "expected a name after 'walker'", &name))
		return f->rc;
	f->desc->walker = as_walker_find(name);
	if (!f->desc->walker)
		return fail_at(f, at, "there is no walker of this name");
	return 0;
}

static int endian_of(struct desc_file *f, struct desc_word word)
{
	if (!is(word, "little") && !is(word, "big"))
		return fail_at(f, word.text, "expected 'little' or 'big'");
	f->big_endian = is(word, "big");
	return 0;
}

static int on_order(struct desc_file *f)
{
	return endian_of(f, next_word(f));
}

static int magic_of(struct desc_file *f, struct as_desc_magic *magic)
{
	struct desc_word word = next_word(f);
	uint64_t bytes;

	if (constant_of(f, word, 8, &bytes) ||
	    constant_of(f, next_word(f), UINT64_MAX, &magic->value))
		return f->rc;
	if (!bytes)
		return fail_at(f, word.text, "a magic has 1 to 8 bytes");
	magic->bytes = (uint32_t)bytes;
	magic->big_endian = f->big_endian;
	return 0;
}

static int on_journal(struct desc_file *f)
{
	return magic_of(f, &f->desc->journal);
}

static int on_magic(struct desc_file *f)
{
	struct as_desc *desc = f->desc;
	struct as_desc_magic magic = { 0 };

	if (constant_of(f, next_word(f), AS_DISK_MAX_BYTES, &magic.off) || magic_of(f, &magic))
		return f->rc;
	AS_ARRAY_ROOM(desc->magics, desc->n_magics, desc->cap_magics);
	desc->magics[desc->n_magics++] = magic;
	return 0;
}

/* A size may name fields, which are not known yet: then it is read after them. */
static void size_of(struct desc_file *f, struct desc_word word, struct as_desc_struct *s)
{
	struct as_desc_scope scope = { .desc = f->desc };
	const char *at = word.text;

	if (!as_desc_expr(&scope, &at, word.text + word.len, &s->size) &&
	    at == word.text + word.len)
		return;
	s->size = DESC_NONE;
	f->size = word;
	f->size_line = f->start;
}

/* The fields of the last structure are all known now. */
static int end_structure(struct desc_file *f)
{
	struct as_desc *desc = f->desc;
	const char *start = f->start;
	uint32_t line = f->line;

	if (!f->size_line)
		return 0;
	f->start = f->size_line;
	f->line = desc->structs[desc->n_structs - 1].line;
	f->size_line = NULL;
	if (expr_of(f, f->size, true, &desc->structs[desc->n_structs - 1].size))
		return f->rc;
	f->start = start;
	f->line = line;
	return 0;
}

static int struct_options(struct desc_file *f, struct as_desc_struct *s)
{
	struct desc_word word, value;

	for (word = next_word(f); word.len; word = next_word(f)) {
		if (is_key(word, "size", &value)) {
			size_of(f, value, s);
		} else if (is_key(word, "align", &value)) {
			if (expr_of(f, value, false, &s->align))
				return f->rc;
		} else if (is_key(word, "at", &value)) {
			if (expr_of(f, value, false, &s->at))
				return f->rc;
		} else if (is_key(word, "times", &value)) {
			if (expr_of(f, value, false, &s->times))
				return f->rc;
		} else if (is_key(word, "step", &value)) {
			if (expr_of(f, value, false, &s->step))
				return f->rc;
		} else {
			return fail_at(f, word.text,
				       "expected size=, at=, times=, step= or align=");
		}
	}
	return 0;
}

static int on_structure(struct desc_file *f)
{
	struct as_desc *desc = f->desc;
	struct as_desc_struct s = { .line = f->line,
				    .size = DESC_NONE,
				    .at = DESC_NONE,
				    .times = DESC_NONE,
				    .step = DESC_NONE,
				    .align = DESC_NONE,
				    .first = desc->n_fields,
				    .first_hold = desc->n_holds };
	const char *at;

	if (end_structure(f))
		return f->rc;

	while (f->at < f->end && isspace((unsigned char)*f->at))
		f->at++;
	at = f->at;
	s.col = (uint32_t)(at - f->start) + 1;
	if (name_of(f, "expected a name after 'structure'", &s.name) || struct_options(f, &s))
		return f->rc;
	for (size_t i = 0; i < desc->n_structs; i++)
		if (strcmp(desc->structs[i].name, s.name) == 0)
			return fail_at(f, at, "there is a structure of this name already");
	if (s.times != DESC_NONE && s.at == DESC_NONE)
		return fail_at(f, at, "times= needs at=");
	if (s.times != DESC_NONE && s.step == DESC_NONE)
		return fail_at(f, at, "times= needs step=");
	AS_ARRAY_ROOM(desc->structs, desc->n_structs, desc->cap_structs);
	desc->structs[desc->n_structs++] = s;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct desc_file *f);
} keywords[] = {
	{ "layout", on_layout },   { "types", on_types }, { "walker", on_walker },
	{ "order", on_order },	   { "magic", on_magic }, { "structure", on_structure },
	{ "journal", on_journal },
};

static int on_keyword(struct desc_file *f)
{
	struct desc_word word = next_word(f);

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (!is(word, keywords[i].name))
			continue;
		if (!f->desc->name && i != 0)
			return fail_at(f, word.text, "expected 'layout NAME' first");
		return keywords[i].read(f) ? f->rc : line_ends(f);
	}
	return fail_at(
		f, word.text,
		"expected layout, types, walker, order, magic, journal or structure; a field "
		"begins with a blank");
}

/* ---- Fields ---- */

static int bits_of(struct desc_file *f, struct desc_word value, struct as_desc_field *field)
{
	struct desc_word first, second;
	uint64_t shift, bits;

	if (!split(value, &first, &second))
		return fail_at(f, value.text, "expected bits=SHIFT:NUMBER");
	if (constant_of(f, first, 63, &shift) || constant_of(f, second, 63, &bits))
		return f->rc;
	if (!bits)
		return fail_at(f, second.text, "a bit field has at least one bit");
	field->shift = (uint8_t)shift;
	field->bits = (uint8_t)bits;
	return 0;
}

/* FROM:LEN, both counted from the beginning of the structure. */
static int over_of(struct desc_file *f, struct desc_word value, struct as_desc_field *field)
{
	struct desc_word from, len;

	if (!split(value, &from, &len))
		return fail_at(f, value.text, "expected over=FROM:LENGTH");
	return expr_of(f, from, true, &field->from) ? f->rc : expr_of(f, len, true, &field->len);
}

static bool is_sum(struct desc_word word)
{
	struct desc_word value;

	return is_key(word, "sum", &value) || is_key(word, "over", &value) ||
	       is_key(word, "init", &value) || is_key(word, "xor", &value);
}

static int sum_option(struct desc_file *f, struct desc_word word, struct as_desc_field *field)
{
	struct desc_word value;
	uint64_t number;

	if (field->kind != AS_FIELD_CHECKSUM)
		return fail_at(f, word.text, "this belongs to a checksum");
	if (is_key(word, "over", &value))
		return over_of(f, value, field);
	if (is_key(word, "sum", &value)) {
		field->sum = as_seal_named(value.text, value.len, &field->init, &field->final);
		return field->sum == DESC_NONE
			       ? fail_at(f, value.text, "expected crc32, crc32c or crc16")
			       : 0;
	}
	if (field->sum == DESC_NONE)
		return fail_at(f, word.text, "expected sum= before it");
	(void)(is_key(word, "init", &value) || is_key(word, "xor", &value));
	if (constant_of(f, value, UINT32_MAX, &number))
		return f->rc;
	*(word.text[0] == 'i' ? &field->init : &field->final) = (uint32_t)number;
	return 0;
}

/* The expression that goes to the end of the line. */
static int rest_of(struct desc_file *f, int *node)
{
	struct desc_word word = { f->at, (size_t)(f->end - f->at) };

	f->at = f->end;
	return expr_of(f, word, true, node);
}

static int field_options(struct desc_file *f, struct as_desc_field *field)
{
	struct desc_word word, value;
	uint64_t number;

	for (word = next_word(f); word.len; word = next_word(f)) {
		if (is_key(word, "role", &value) || is_key(word, "to", &value)) {
			if (!is_name(value))
				return fail_at(f, value.text, "expected a name");
			*(word.text[0] == 'r' ? &field->role : &field->points) = keep(f, value);
		} else if (is_key(word, "times", &value)) {
			if (expr_of(f, value, true, &field->times))
				return f->rc;
		} else if (is_key(word, "step", &value)) {
			if (constant_of(f, value, DESC_FIELD_BYTES_MAX, &number))
				return f->rc;
			field->step = (uint32_t)number;
		} else if (is_key(word, "bits", &value)) {
			if (bits_of(f, value, field))
				return f->rc;
		} else if (is_key(word, "is", &value)) {
			if (expr_of(f, value, true, &field->is))
				return f->rc;
		} else if (is_sum(word)) {
			if (sum_option(f, word, field))
				return f->rc;
		} else if (is(word, "big") || is(word, "little")) {
			field->big_endian = is(word, "big");
		} else if (is(word, "if")) {
			return rest_of(f, &field->cond);
		} else {
			return fail_at(f, word.text,
				       "expected role=, to=, times=, step=, bits=, is=, sum=, "
				       "over=, init=, xor=, big, little or if");
		}
	}
	return 0;
}

static int kind_of(struct desc_file *f, struct desc_word word, enum as_field_kind *kind)
{
	for (int i = 0; i < AS_FIELD_KINDS; i++)
		if (is(word, as_field_kind_name((enum as_field_kind)i))) {
			*kind = (enum as_field_kind)i;
			return 0;
		}
	return fail_at(f, word.text,
		       "expected a kind: count, pointer, magic, checksum, flags, time, name, "
		       "bitmap, size, mode, id or other");
}

static int check_field(struct desc_file *f, const struct as_desc_field *field, const char *at)
{
	const struct as_desc_field *other = NULL;
	const char *what = as_desc_check_field(f->desc, field, &other);

	if (other)
		f->rc = as_fail(f->err, AS_EUSE, "%s:%u:%u: the field overlaps %s of line %u",
				f->path, field->line, field->col, other->name, other->line);
	return what ? fail_at(f, at, what) : f->rc;
}

/* "." is right after the field before it; if that can be told already, it is now. */
static int offset_of(struct desc_file *f, struct desc_word word, struct as_desc_field *field)
{
	struct as_desc *desc = f->desc;
	const struct as_desc_struct *s = &desc->structs[desc->n_structs - 1];
	struct as_desc_span before;

	if (!is(word, "."))
		return expr_of(f, word, true, &field->off);
	field->off = DESC_NONE;
	before = (struct as_desc_span){ .known = true };
	if (desc->n_fields > s->first)
		before = as_desc_span(desc, &desc->fields[desc->n_fields - 1]);
	if (!before.known)
		return 0;
	AS_ARRAY_ROOM(desc->nodes, desc->n_nodes, desc->cap_nodes);
	desc->nodes[desc->n_nodes] =
		(struct as_desc_node){ .op = DESC_NUMBER, .number = before.end };
	field->off = (int)desc->n_nodes++;
	return 0;
}

/* holds NAME OFFSET TIMES [if E] */
static int on_holds(struct desc_file *f)
{
	struct as_desc *desc = f->desc;
	struct as_desc_hold hold = { .line = f->line, .cond = DESC_NONE };
	struct desc_word word;

	while (f->at < f->end && isspace((unsigned char)*f->at))
		f->at++;
	hold.col = (uint32_t)(f->at - f->start) + 1;
	if (name_of(f, "expected the name of a structure after 'holds'", &hold.name) ||
	    expr_of(f, next_word(f), true, &hold.off) ||
	    expr_of(f, next_word(f), true, &hold.times))
		return f->rc;
	word = next_word(f);
	if (word.len && !is(word, "if"))
		return fail_at(f, word.text, "expected if");
	if (word.len && rest_of(f, &hold.cond))
		return f->rc;
	AS_ARRAY_ROOM(desc->holds, desc->n_holds, desc->cap_holds);
	desc->holds[desc->n_holds++] = hold;
	desc->structs[desc->n_structs - 1].n_holds++;
	return 0;
}

static int on_field(struct desc_file *f)
{
	struct as_desc *desc = f->desc;
	struct as_desc_field field = { .line = f->line,
				       .times = DESC_NONE,
				       .cond = DESC_NONE,
				       .big_endian = f->big_endian,
				       .is = DESC_NONE,
				       .sum = DESC_NONE,
				       .from = DESC_NONE,
				       .len = DESC_NONE };
	struct desc_word name = next_word(f), word;

	if (!desc->n_structs)
		return fail_at(f, name.text, "expected 'structure' before the first field");
	if (is(name, "holds"))
		return on_holds(f);
	if (!is_name(name))
		return fail_at(f, name.text, "expected the name of a field");
	field.name = keep(f, name);
	field.col = (uint32_t)(name.text - f->start) + 1;
	word = next_word(f);
	if (offset_of(f, word, &field) || expr_of(f, next_word(f), true, &field.bytes) ||
	    kind_of(f, next_word(f), &field.kind) || field_options(f, &field))
		return f->rc;
	if (check_field(f, &field, word.text))
		return f->rc;
	AS_ARRAY_ROOM(desc->fields, desc->n_fields, desc->cap_fields);
	desc->fields[desc->n_fields++] = field;
	desc->structs[desc->n_structs - 1].n++;
	return 0;
}

/* ---- The whole ---- */

static int on_line(struct desc_file *f)
{
	const char *hash = memchr(f->start, '#', (size_t)(f->end - f->start));
	const char *first;

	if (hash)
		f->end = hash;
	while (f->end > f->start && isspace((unsigned char)f->end[-1]))
		f->end--;
	for (first = f->start; first < f->end; first++)
		if (!isprint((unsigned char)*first) && *first != '\t')
			return fail_at(f, first, "this character is neither printable nor a tab");
	f->at = f->start;
	if (f->start == f->end)
		return 0;
	return *f->start == ' ' || *f->start == '\t' ? on_field(f) : on_keyword(f);
}

int as_desc_parse(const char *path, const char *text, size_t len, struct as_desc **out,
		  struct as_err *err)
{
	struct as_err ignored = { 0 };
	struct desc_file f = { .path = path, .err = err ? err : &ignored };
	const char *end = text + len, *what;
	uint32_t line = 0, col = 0;
	int rc = 0;

	*out = NULL;
	f.desc = as_xcalloc(1, sizeof(*f.desc));
	f.desc->walker = &as_walker_plain;
	f.desc->path = as_arena_strndup(&f.desc->arena, path, strlen(path));
	for (const char *at = text; !rc && at < end; at = f.end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = next ? next : end;

		f.line++;
		f.start = at;
		f.end = line_end;
		rc = on_line(&f);
		f.end = line_end + (next != NULL);
	}
	if (!rc)
		rc = end_structure(&f);
	if (!rc && !f.desc->n_structs)
		rc = as_fail(err, AS_EUSE, "%s:%u:1: no structure is described", path, f.line + 1);
	what = rc ? NULL : as_desc_check_whole(f.desc, &line, &col);
	if (what)
		rc = as_fail(err, AS_EUSE, "%s:%u:%u: %s", path, line, col, what);
	if (rc) {
		as_desc_free(f.desc);
		return rc;
	}
	*out = f.desc;
	return 0;
}

void as_desc_free(struct as_desc *desc)
{
	if (!desc)
		return;
	free(desc->types);
	free(desc->magics);
	free(desc->nodes);
	free(desc->structs);
	free(desc->fields);
	free(desc->holds);
	as_arena_free(&desc->arena);
	free(desc);
}
