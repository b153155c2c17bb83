/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notice: see notice.h. */
#include "base/notice.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct said_row {
	size_t at, bytes, in_finding;
} rows[] = {
#define SAID(name, bytes, ...) \
	{ offsetof(struct as_notice, name), bytes, offsetof(struct as_finding, name) },
#define ADDED(name, ...)
#include "base/notice.def"
#undef SAID
#undef ADDED
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

static char *text_of(struct as_notice *l, const struct said_row *row)
{
	return (char *)l + row->at;
}

static const char **text_in(struct as_finding *f, const struct said_row *row)
{
	return (const char **)(void *)((char *)f + row->in_finding);
}

void as_notice_begin(struct as_notice *l, enum as_finding_kind kind, int64_t op)
{
	l->is = false;
	l->kind = kind;
	l->op = op;
	l->disk_at = l->disk_len = 0;
	for (size_t i = 0; i < NROWS; i++)
		text_of(l, &rows[i])[0] = '\0';
}

void as_notice_close(struct as_notice *l)
{
	/* Who watches may look at any moment: the texts come first. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	l->is = true;
}

void as_notice_text(char *text, size_t bytes, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, bytes, fmt, ap);
	va_end(ap);
}

bool as_notice_mend(struct as_notice *l)
{
	volatile unsigned char *is = (volatile unsigned char *)&l->is;
	bool fine = *is <= 1;

	*is = *is != 0;
	if ((unsigned)l->kind >= AS_FIND_KINDS) {
		l->kind = AS_FIND_SIGNAL;
		fine = false;
	}
	if (l->op < -1 || l->op > INT32_MAX) {
		l->op = -1;
		fine = false;
	}
	if (l->disk_at > INT64_MAX || l->disk_len > INT64_MAX - l->disk_at) {
		l->disk_at = l->disk_len = 0;
		fine = false;
	}
	for (size_t i = 0; i < NROWS; i++) {
		char *text = text_of(l, &rows[i]);

		if (memchr(text, '\0', rows[i].bytes))
			continue;
		text[rows[i].bytes - 1] = '\0';
		fine = false;
	}
	return fine;
}

void as_notice_copy(struct as_notice *to, const struct as_notice *from)
{
	as_notice_begin(to, from->kind, from->op);
	to->disk_at = from->disk_at;
	to->disk_len = from->disk_len;
	for (size_t i = 0; i < NROWS; i++)
		as_notice_text(text_of(to, &rows[i]), rows[i].bytes, "%s",
			       (const char *)from + rows[i].at);
	if (from->is)
		as_notice_close(to);
}

struct as_finding as_notice_open(const struct as_notice *l)
{
	struct as_finding f = { .kind = l->kind, .op_index = (long)l->op };

	for (size_t i = 0; i < NROWS; i++)
		*text_in(&f, &rows[i]) = (const char *)l + rows[i].at;
	return f;
}

bool as_notice_of(const struct as_finding *finding, struct as_notice *l)
{
	struct as_finding f = *finding;

	as_notice_begin(l, f.kind, f.op_index);
	for (size_t i = 0; i < NROWS; i++) {
		const char *text = *text_in(&f, &rows[i]);

		if (text && strlen(text) >= rows[i].bytes) {
			as_notice_begin(l, f.kind, -1);
			return false;
		}
		as_notice_text(text_of(l, &rows[i]), rows[i].bytes, "%s", text ? text : "");
	}
	as_notice_close(l);
	return true;
}
