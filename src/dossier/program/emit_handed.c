/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * emit_handed: what a call has to hand over, as an argument in a program of emit_c. Bytes are there
 * as runs of patterns; of names, there may be so many that the program would be hard to read: then
 * it does not compare them.
 */
#include "dossier/program/emit_c.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_MAX_BYTES 65536u
#define RUNS_MAX 4096u
/* Of STATX_BASIC_STATS, all but the times (statx(2)). */
#define ATTRIBUTES (AS_STATX_BASIC_STATS & ~(AS_STATX_ATIME | AS_STATX_MTIME | AS_STATX_CTIME))

const char *as_emit_c_handed_section(const struct as_op *op, const struct as_handed *told)
{
	switch (told->payload) {
	case AS_PAYLOAD_BYTES:
		if (told->is_text)
			return "told_text";
		return told->n_runs <= RUNS_MAX ? "told_bytes" : NULL;
	case AS_PAYLOAD_NAMES:
		return told->text.len <= NAMES_MAX_BYTES ? "told_names" : NULL;
	case AS_PAYLOAD_STAT:
		/* What nobody has asked for may be told or not. */
		if (op->code == AS_OP_STATX && (op->flags & ATTRIBUTES) != ATTRIBUTES)
			return NULL;
		return "told_stat";
	default:
		return NULL;
	}
}

static void put_runs(const struct as_handed *told, struct as_buf *out)
{
	as_buf_addf(out, "%llu, %llu, ", (unsigned long long)told->off,
		    (unsigned long long)told->len);
	if (!told->n_runs) {
		as_buf_adds(out, "NULL, 0");
		return;
	}
	as_buf_adds(out, "(const struct run[]){\n");
	for (size_t i = 0; i < told->n_runs; i++) {
		const struct as_handed_run *run = &told->run[i];

		as_buf_addf(out, "\t\t{ %llu, %llu, %lluu, %llu },\n", (unsigned long long)run->at,
			    (unsigned long long)run->len, (unsigned long long)run->pattern,
			    (unsigned long long)run->from);
	}
	as_buf_addf(out, "\t}, %zu", told->n_runs);
}

/* As the program's readdir has it: "name (directory)". */
static char *typed(const char *name)
{
	static const char *const words[] = { "ddirectory", "lsymbolic link",	"pfifo",
					     "ssocket",	   "ccharacter device", "bblock device",
					     "-file" };
	struct as_buf text = { 0 };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i][0] == name[0])
			as_buf_addf(&text, "%s (%s)", name + 1, words[i] + 1);
	return text.data ? text.data : as_xstrdup(name);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_names(const struct as_handed *told, struct as_buf *out)
{
	char **name = NULL;
	size_t n = 0, cap = 0, len = 0;

	for (size_t at = 0; at < told->text.len; at += strlen(told->text.data + at) + 1) {
		AS_ARRAY_ROOM(name, n, cap);
		name[n++] = told->typed ? typed(told->text.data + at)
					: as_xstrdup(told->text.data + at);
	}
	if (n)
		qsort(name, n, sizeof(*name), by_bytes);
	as_buf_adds(out, n ? "" : "\"\"");
	for (size_t i = 0; i < n; i++) {
		as_buf_adds(out, "\n\t\t");
		as_emit_c_literal(name[i], strlen(name[i]) + 1, out);
		len += strlen(name[i]) + 1;
		free(name[i]);
	}
	as_buf_addf(out, ", %zu, %d", len, told->others);
	free(name);
}

static void put_stat(const struct as_handed_stat *st, struct as_buf *out)
{
	as_buf_addf(out, "(struct attributes){ .type = 0%o, .mode = ", st->type);
	as_buf_addf(out, st->mode < 0 ? "%lld" : "0%llo", (long long)st->mode);
	as_buf_addf(out,
		    ", .uid = %lld, .gid = %lld, .links = %lld, .size = %lld, .device = %lld }",
		    (long long)st->uid, (long long)st->gid, (long long)st->nlink,
		    (long long)st->size, (long long)st->rdev);
}

void as_emit_c_handed(size_t number, const struct as_handed *told, struct as_buf *out)
{
	if (told->payload == AS_PAYLOAD_STAT) {
		as_buf_addf(out, "\ttold_stat(%zu, ", number);
		put_stat(&told->st, out);
	} else if (told->payload == AS_PAYLOAD_NAMES) {
		as_buf_addf(out, "\ttold_names(%zu, ", number);
		put_names(told, out);
	} else if (told->is_text) {
		as_buf_addf(out, "\ttold_text(%zu, ", number);
		as_emit_c_literal(as_buf_str(&told->text), told->text.len, out);
		as_buf_addf(out, ", %zu", told->text.len);
	} else {
		as_buf_addf(out, "\ttold_bytes(%zu, ", number);
		put_runs(told, out);
	}
	as_buf_adds(out, ");\n");
}
