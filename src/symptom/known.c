/* SPDX-License-Identifier: GPL-2.0-or-later */
/* known: see known.h. */
#include "symptom/known.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

struct as_known {
	char **signatures; /* in the order in which they came */
	size_t n, cap;
	struct as_table table;
};

struct known_signature {
	const struct as_known *known;
	const char *signature;
	size_t len;
};

static bool is_signature(const void *ctx, size_t index)
{
	const struct known_signature *key = ctx;
	const char *signature = key->known->signatures[index];

	return !strncmp(signature, key->signature, key->len) && !signature[key->len];
}

static bool add(struct as_known *known, const char *signature, size_t len)
{
	struct known_signature key = { known, signature, len };
	uint64_t hash = as_hash64(signature, len);

	if (as_table_find(&known->table, hash, is_signature, &key) != AS_TABLE_NONE)
		return false;
	as_table_add(&known->table, hash, known->n);
	AS_ARRAY_ROOM(known->signatures, known->n, known->cap);
	known->signatures[known->n++] = as_xstrndup(signature, len);
	return true;
}

bool as_known_add(struct as_known *known, const char *signature)
{
	return add(known, signature, strlen(signature));
}

/* ---- The filter ------------------------------------------------------------------------------ */

static void filter_again(struct as_sink *sink, const char *signature)
{
	const struct as_known_filter *f = (const struct as_known_filter *)sink;

	if (!f->alone)
		as_emit_again(f->to, signature);
	else if (f->to->again)
		f->to->again(f->to, signature);
}

static void filter_finding(struct as_sink *sink, const struct as_finding *finding)
{
	const struct as_known_filter *f = (const struct as_known_filter *)sink;

	if (!as_known_add(f->known, finding->signature))
		filter_again(sink, finding->signature);
	else if (!f->alone)
		as_emit_finding(f->to, finding);
	else if (f->to->finding)
		f->to->finding(f->to, finding);
}

static void filter_note(struct as_sink *sink, const char *line)
{
	as_emit_note(((struct as_known_filter *)sink)->to, "%s", line);
}

static void filter_told(struct as_sink *sink, const char *text)
{
	as_emit_told(((struct as_known_filter *)sink)->to, text);
}

struct as_known_filter as_known_filter(struct as_known *known, struct as_sink *to, bool alone)
{
	return (struct as_known_filter){ .sink = { .finding = filter_finding,
						   .again = filter_again,
						   .note = filter_note,
						   .told = filter_told },
					 .known = known,
					 .to = to,
					 .alone = alone };
}

/* ---- The set --------------------------------------------------------------------------------- */

struct as_known *as_known_new(void)
{
	return as_xcalloc(1, sizeof(struct as_known));
}

void as_known_forget(struct as_known *known)
{
	for (size_t i = 0; i < known->n; i++)
		free(known->signatures[i]);
	known->n = 0;
	as_table_clear(&known->table);
}

void as_known_free(struct as_known *known)
{
	if (!known)
		return;
	as_known_forget(known);
	free(known->signatures);
	as_table_free(&known->table);
	free(known);
}

void as_known_print(const struct as_known *known, struct as_buf *out)
{
	for (size_t i = 0; i < known->n; i++)
		as_buf_addf(out, "%s\n", known->signatures[i]);
}

/* Signatures of version 1: the kinds that have other words now, and "crash: RULE: RULE:". */
static bool is_old(const char *line, size_t len)
{
	static const char *const begins[] = { "data: ", "tree: ", "outcome: ", "checker: fsck: " };
	static const char without[] = "outcome: without a power cut: ", crash[] = "crash: ";

	if (len >= sizeof(without) - 1 && !memcmp(line, without, sizeof(without) - 1))
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (len >= strlen(begins[i]) && !memcmp(line, begins[i], strlen(begins[i])))
			return true;
	if (len > sizeof(crash) && !memcmp(line, crash, sizeof(crash) - 1)) {
		const char *rule = line + sizeof(crash) - 1;
		const char *colon = memmem(rule, len - (sizeof(crash) - 1), ": ", 2);
		size_t n = colon ? (size_t)(colon - rule) + 2 : 0;

		return n && (size_t)(rule - line) + 2 * n <= len && !memcmp(rule, rule + n, n);
	}
	return false;
}

int as_known_parse(struct as_known *known, const char *name, const char *text, struct as_err *err)
{
	for (unsigned n = 1; *text; n++) {
		size_t len = strcspn(text, "\n");

		if (is_old(text, len))
			return as_fail(
				err, AS_EUSE,
				"%s:%u: this signature is of an older assay and would never be "
				"met; a new run prints the new ones",
				name, n);
		if (len)
			add(known, text, len);
		text += len + (text[len] == '\n');
	}
	return 0;
}
