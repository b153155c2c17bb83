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
 * 4. Each name in an expression is a field before it or a variable of the walker.
 */
#include "base/array.h"
#include "base/embed.h"
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
	bool big_endian;
	int rc;
};

struct desc_word {
	const char *text;
	size_t len;
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

static bool is(struct desc_word word, const char *text)
{
	return word.len == strlen(text) && memcmp(word.text, text, word.len) == 0;
}

/* Whether the word is KEY=..., of which the value is kept. */
static bool is_key(struct desc_word word, const char *key, struct desc_word *value)
{
	size_t len = strlen(key);

	if (word.len <= len || memcmp(word.text, key, len) != 0 || word.text[len] != '=')
		return false;
	value->text = word.text + len + 1;
	value->len = word.len - len - 1;
	return true;
}

static bool is_name(struct desc_word word)
{
	if (!word.len || word.len > 64 ||
	    !(isalpha((unsigned char)word.text[0]) || word.text[0] == '_'))
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!isalnum((unsigned char)word.text[i]) && !strchr("_.-", word.text[i]))
			return false;
	return true;
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

static int on_magic(struct desc_file *f)
{
	struct as_desc *desc = f->desc;
	struct as_desc_magic magic = { .big_endian = f->big_endian };
	uint64_t bytes;
	struct desc_word word;

	if (constant_of(f, next_word(f), AS_DISK_MAX_BYTES, &magic.off))
		return f->rc;
	word = next_word(f);
	if (constant_of(f, word, 8, &bytes) ||
	    constant_of(f, next_word(f), UINT64_MAX, &magic.value))
		return f->rc;
	if (!bytes)
		return fail_at(f, word.text, "a magic has 1 to 8 bytes");
	magic.bytes = (uint32_t)bytes;
	AS_ARRAY_ROOM(desc->magics, desc->n_magics, desc->cap_magics);
	desc->magics[desc->n_magics++] = magic;
	return 0;
}

static bool walker_finds(const struct as_desc *desc, const char *name)
{
	for (size_t i = 0; desc->walker && desc->walker->structures[i]; i++)
		if (strcmp(desc->walker->structures[i], name) == 0)
			return true;
	return false;
}

static int struct_options(struct desc_file *f, struct as_desc_struct *s)
{
	struct desc_word word, value;
	uint64_t number;

	for (word = next_word(f); word.len; word = next_word(f)) {
		if (is_key(word, "size", &value)) {
			if (expr_of(f, value, false, &s->size))
				return f->rc;
		} else if (is_key(word, "at", &value)) {
			if (expr_of(f, value, false, &s->at))
				return f->rc;
		} else if (is_key(word, "times", &value)) {
			if (expr_of(f, value, false, &s->times))
				return f->rc;
		} else if (is_key(word, "step", &value)) {
			if (constant_of(f, value, DESC_FIELD_BYTES_MAX, &number))
				return f->rc;
			s->step = (uint32_t)number;
		} else {
			return fail_at(f, word.text, "expected size=, at=, times= or step=");
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
				    .first = desc->n_fields };
	const char *at;

	while (f->at < f->end && isspace((unsigned char)*f->at))
		f->at++;
	at = f->at;
	s.col = (uint32_t)(at - f->start) + 1;
	if (name_of(f, "expected a name after 'structure'", &s.name) || struct_options(f, &s))
		return f->rc;
	for (size_t i = 0; i < desc->n_structs; i++)
		if (strcmp(desc->structs[i].name, s.name) == 0)
			return fail_at(f, at, "there is a structure of this name already");
	if (s.at == DESC_NONE && !walker_finds(desc, s.name))
		return fail_at(f, at,
			       "no walker finds this structure, and at= does not say "
			       "where it is");
	if (s.times != DESC_NONE && s.at == DESC_NONE)
		return fail_at(f, at, "times= needs at=");
	if (s.times != DESC_NONE && !s.step)
		return fail_at(f, at, "times= needs step=");
	AS_ARRAY_ROOM(desc->structs, desc->n_structs, desc->cap_structs);
	desc->structs[desc->n_structs++] = s;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct desc_file *f);
} keywords[] = {
	{ "layout", on_layout }, { "types", on_types }, { "walker", on_walker },
	{ "order", on_order },	 { "magic", on_magic }, { "structure", on_structure },
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
	return fail_at(f, word.text,
		       "expected layout, types, walker, order, magic or structure; a field begins "
		       "with a blank");
}

/* ---- Fields ---- */

static int bits_of(struct desc_file *f, struct desc_word value, struct as_desc_field *field)
{
	const char *colon = memchr(value.text, ':', value.len);
	struct desc_word first = value, second;
	uint64_t shift, bits;

	if (!colon)
		return fail_at(f, value.text, "expected bits=SHIFT:NUMBER");
	first.len = (size_t)(colon - value.text);
	second.text = colon + 1;
	second.len = value.len - first.len - 1;
	if (constant_of(f, first, 63, &shift) || constant_of(f, second, 63, &bits))
		return f->rc;
	if (!bits)
		return fail_at(f, second.text, "a bit field has at least one bit");
	field->shift = (uint8_t)shift;
	field->bits = (uint8_t)bits;
	return 0;
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
		} else if (is(word, "big") || is(word, "little")) {
			field->big_endian = is(word, "big");
		} else if (is(word, "if")) {
			word.text = f->at;
			word.len = (size_t)(f->end - f->at);
			f->at = f->end;
			return expr_of(f, word, true, &field->cond);
		} else {
			return fail_at(f, word.text,
				       "expected role=, to=, times=, step=, bits=, big, little "
				       "or if");
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

static bool is_number(enum as_field_kind kind)
{
	return kind != AS_FIELD_NAME && kind != AS_FIELD_ID && kind != AS_FIELD_OTHER &&
	       kind != AS_FIELD_MAGIC && kind != AS_FIELD_BITMAP && kind != AS_FIELD_CHECKSUM;
}

/* What can be told without a disk. */
struct desc_span {
	bool known;
	uint64_t off, end;
};

static struct desc_span span_of(const struct as_desc *desc, const struct as_desc_field *field)
{
	struct desc_span span = { .known = false };
	uint64_t bytes, times = 1, step;

	if (field->off == DESC_NONE || !as_desc_is_constant(desc, field->off) ||
	    !as_desc_is_constant(desc, field->bytes) ||
	    (field->times != DESC_NONE && !as_desc_is_constant(desc, field->times)))
		return span;
	span.off = as_desc_eval(desc, field->off, NULL, NULL, NULL);
	bytes = as_desc_eval(desc, field->bytes, NULL, NULL, NULL);
	if (field->times != DESC_NONE)
		times = as_desc_eval(desc, field->times, NULL, NULL, NULL);
	step = field->step ? field->step : bytes;
	if (span.off > AS_DISK_MAX_BYTES || bytes > DESC_FIELD_BYTES_MAX || times > DESC_TIMES_MAX)
		return span;
	span.known = true;
	span.end = span.off + (times ? (times - 1) * step + bytes : 0);
	return span;
}

static bool bits_meet(const struct as_desc_field *a, struct desc_span at_a,
		      const struct as_desc_field *b, struct desc_span at_b)
{
	if (at_a.off >= at_b.end || at_b.off >= at_a.end)
		return false;
	/* Bit fields of the same bytes. */
	if (a->bits && b->bits && at_a.off == at_b.off && at_a.end == at_b.end)
		return a->shift < b->shift + b->bits && b->shift < a->shift + a->bits;
	/* Fields with steps may lie between each other. */
	return !(a->step && b->step);
}

static int check_field(struct desc_file *f, const struct as_desc_field *field, const char *at)
{
	const struct as_desc *desc = f->desc;
	const struct as_desc_struct *s = &desc->structs[desc->n_structs - 1];
	struct desc_span span = span_of(desc, field);
	uint64_t bytes;

	if (as_desc_is_constant(desc, field->bytes)) {
		bytes = as_desc_eval(desc, field->bytes, NULL, NULL, NULL);
		if (!bytes)
			return fail_at(f, at, "the field has no bytes");
		if (bytes > DESC_FIELD_BYTES_MAX)
			return fail_at(f, at, "the field is too large");
		if (bytes > 8 && (is_number(field->kind) || field->bits))
			return fail_at(f, at, "a number has at most 8 bytes");
		if (field->bits && field->shift + field->bits > bytes * 8)
			return fail_at(f, at, "the bit field does not lie within its bytes");
	} else if (field->bits) {
		return fail_at(f, at, "a bit field has a fixed number of bytes");
	}
	if (!span.known)
		return 0;
	if (s->size != DESC_NONE && as_desc_is_constant(desc, s->size) &&
	    span.end > as_desc_eval(desc, s->size, NULL, NULL, NULL))
		return fail_at(f, at, "the field lies outside of its structure");
	for (size_t i = s->first; i < desc->n_fields; i++) {
		const struct as_desc_field *other = &desc->fields[i];
		struct desc_span there = span_of(desc, other);

		if (there.known && bits_meet(field, span, other, there) &&
		    (field->cond == DESC_NONE || other->cond == DESC_NONE))
			return as_fail(f->err, AS_EUSE,
				       "%s:%u:%u: the field overlaps %s of line %u", f->path,
				       field->line, field->col, other->name, other->line);
	}
	return 0;
}

/* "." is right after the field before it; if that can be told already, it is now. */
static int offset_of(struct desc_file *f, struct desc_word word, struct as_desc_field *field)
{
	struct as_desc *desc = f->desc;
	const struct as_desc_struct *s = &desc->structs[desc->n_structs - 1];
	struct desc_span before;

	if (!is(word, "."))
		return expr_of(f, word, true, &field->off);
	field->off = DESC_NONE;
	before = (struct desc_span){ .known = true };
	if (desc->n_fields > s->first)
		before = span_of(desc, &desc->fields[desc->n_fields - 1]);
	if (!before.known)
		return 0;
	AS_ARRAY_ROOM(desc->nodes, desc->n_nodes, desc->cap_nodes);
	desc->nodes[desc->n_nodes] =
		(struct as_desc_node){ .op = DESC_NUMBER, .number = before.end };
	field->off = (int)desc->n_nodes++;
	return 0;
}

static int on_field(struct desc_file *f)
{
	struct as_desc *desc = f->desc;
	struct as_desc_field field = {
		.line = f->line, .times = DESC_NONE, .cond = DESC_NONE, .big_endian = f->big_endian
	};
	struct desc_word name = next_word(f), word;

	if (!desc->n_structs)
		return fail_at(f, name.text, "expected 'structure' before the first field");
	if (!is_name(name))
		return fail_at(f, name.text, "expected the name of a field");
	field.name = keep(f, name);
	field.col = (uint32_t)(name.text - f->start) + 1;
	word = next_word(f);
	if (offset_of(f, word, &field) || expr_of(f, next_word(f), true, &field.bytes) ||
	    kind_of(f, next_word(f), &field.kind) || field_options(f, &field))
		return f->rc;
	if (check_field(f, &field, word.text))
		return f->err->code;
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
	const char *end = text + len;
	int rc = 0;

	*out = NULL;
	f.desc = as_xcalloc(1, sizeof(*f.desc));
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
	if (!rc && !f.desc->n_structs)
		rc = as_fail(err, AS_EUSE, "%s:%u:1: no structure is described", path, f.line + 1);
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
	as_arena_free(&desc->arena);
	free(desc);
}
