/* SPDX-License-Identifier: GPL-2.0-or-later */
/* known: see known.h. */
#include "hunt/known.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct known_entry {
	UT_hash_handle hh;
	char signature[];
};

struct as_known {
	struct known_entry *entries;
};

static bool add(struct as_known *known, const char *signature, size_t len)
{
	struct known_entry *e;

	HASH_FIND(hh, known->entries, signature, len, e);
	if (e)
		return false;
	e = as_xcalloc(1, sizeof(*e) + len + 1);
	memcpy(e->signature, signature, len);
	HASH_ADD_KEYPTR(hh, known->entries, e->signature, len, e);
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

static void filter_finding(struct as_sink *sink, const struct as_finding *finding, const char *id)
{
	const struct as_known_filter *f = (const struct as_known_filter *)sink;

	if (!as_known_add(f->known, finding->signature))
		filter_again(sink, finding->signature);
	else if (!f->alone)
		as_emit_finding(f->to, finding, id);
	else if (f->to->finding)
		f->to->finding(f->to, finding, id);
}

static void filter_note(struct as_sink *sink, const char *line)
{
	as_emit_note(((struct as_known_filter *)sink)->to, "%s", line);
}

struct as_known_filter as_known_filter(struct as_known *known, struct as_sink *to, bool alone)
{
	return (struct as_known_filter){
		.sink = { .finding = filter_finding, .again = filter_again, .note = filter_note },
		.known = known,
		.to = to,
		.alone = alone
	};
}

/* ---- The set --------------------------------------------------------------------------------- */

struct as_known *as_known_new(void)
{
	return as_xcalloc(1, sizeof(struct as_known));
}

void as_known_free(struct as_known *known)
{
	struct known_entry *e, *next;

	if (!known)
		return;
	HASH_ITER(hh, known->entries, e, next) {
		HASH_DEL(known->entries, e);
		free(e);
	}
	free(known);
}

void as_known_print(const struct as_known *known, struct as_buf *out)
{
	for (const struct known_entry *e = known->entries; e; e = e->hh.next)
		as_buf_addf(out, "%s\n", e->signature);
}

void as_known_parse(struct as_known *known, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len)
			add(known, text, len);
		text += len + (text[len] == '\n');
	}
}
