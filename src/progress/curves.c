/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curves: see curves.h. */
#include "progress/curves.h"

#include "base/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_EVERY_US 500000
#define COLUMNS_MAX 128
#define HEAD "wall_us"

static void thin(struct as_curves *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->n; i += 2)
		h->rows[kept++] = h->rows[i];
	h->n = kept;
	h->every_us *= 2;
}

bool as_curves_add(struct as_curves *h, const struct as_progress *p, bool last)
{
	struct as_sample *row;

	if (!h->every_us)
		h->every_us = FIRST_EVERY_US;
	if (h->n && p->wall_us < h->rows[h->n - 1].wall_us + (last ? 1 : h->every_us))
		return false;
	if (h->n >= AS_CURVES_ROWS)
		thin(h);
	AS_ARRAY_ROOM(h->rows, h->n, h->cap);
	row = &h->rows[h->n++];
	row->wall_us = p->wall_us;
	row->has = p->has;
	memcpy(row->n, p->n, sizeof(row->n));
	return true;
}

void as_curves_print(const struct as_curves *h, struct as_buf *out)
{
	uint64_t has = 0;

	for (size_t i = 0; i < h->n; i++)
		has |= h->rows[i].has;
	as_buf_adds(out, HEAD);
	for (unsigned c = 0; c < AS_COUNTERS; c++)
		if (has >> c & 1)
			as_buf_addf(out, ",%s", as_counter_names[c]);
	as_buf_addc(out, '\n');
	for (size_t i = 0; i < h->n; i++) {
		as_buf_addu(out, (unsigned long long)h->rows[i].wall_us);
		for (unsigned c = 0; c < AS_COUNTERS; c++) {
			if (!(has >> c & 1))
				continue;
			as_buf_addc(out, ',');
			if (h->rows[i].has >> c & 1)
				as_buf_addu(out, h->rows[i].n[c]);
		}
		as_buf_addc(out, '\n');
	}
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Which counter each column is; AS_COUNTERS: none that we know. */
static size_t parse_head(const char *line, const char *end, unsigned columns[COLUMNS_MAX])
{
	size_t n = 0;

	while (line < end && n < COLUMNS_MAX) {
		const char *comma = memchr(line, ',', (size_t)(end - line));
		size_t len = (size_t)((comma ? comma : end) - line);
		unsigned c = 0;

		while (c < AS_COUNTERS && (strlen(as_counter_names[c]) != len ||
					   memcmp(as_counter_names[c], line, len)))
			c++;
		columns[n++] = c;
		line += len + 1;
	}
	return n;
}

/* A number up to a comma or the end of the line; false: there is something else. */
static bool parse_cell(const char **at, const char *end, uint64_t *value, bool *there)
{
	const char *s = *at;

	*there = s < end && isdigit((unsigned char)*s);
	for (*value = 0; s < end && isdigit((unsigned char)*s); s++) {
		if (*value > (UINT64_MAX >> 1) / 10 - 9)
			return false;
		*value = *value * 10 + (uint64_t)(*s - '0');
	}
	*at = s + (s < end);
	return s == end || *s == ',';
}

static bool parse_row(const char *line, const char *end, const unsigned *columns, size_t n,
		      struct as_sample *row)
{
	*row = (struct as_sample){ 0 };
	for (size_t i = 0; i < n; i++) {
		uint64_t value;
		bool there;

		if (line > end || !parse_cell(&line, end, &value, &there))
			return false;
		if (!i && !there)
			return false;
		if (!i)
			row->wall_us = (int64_t)value;
		else if (there && columns[i] < AS_COUNTERS) {
			row->n[columns[i]] = value;
			row->has |= (uint64_t)1 << columns[i];
		}
	}
	return line >= end;
}

int as_curves_parse(const char *text, size_t len, struct as_curves *h, struct as_err *err)
{
	const char *end = text + len, *eol = memchr(text, '\n', len);
	unsigned columns[COLUMNS_MAX];
	struct as_sample row;
	size_t n;

	*h = (struct as_curves){ .every_us = FIRST_EVERY_US };
	if (!eol || len < strlen(HEAD) || memcmp(text, HEAD, strlen(HEAD)) ||
	    (text[strlen(HEAD)] != ',' && text[strlen(HEAD)] != '\n'))
		return as_fail(err, AS_EUSE, "it does not begin with the column " HEAD);
	n = parse_head(text, eol, columns);
	for (text = eol + 1; text < end && (eol = memchr(text, '\n', (size_t)(end - text)));
	     text = eol + 1) {
		if (!parse_row(text, eol, columns, n, &row) ||
		    (h->n && row.wall_us < h->rows[h->n - 1].wall_us))
			break;
		if (h->n >= AS_CURVES_ROWS)
			thin(h);
		AS_ARRAY_ROOM(h->rows, h->n, h->cap);
		h->rows[h->n++] = row;
	}
	/* The distance that the next samples keep. */
	while (h->n > 1 && h->every_us < INT64_MAX / 4 &&
	       (h->rows[h->n - 1].wall_us - h->rows[0].wall_us) / (int64_t)(h->n - 1) >
		       h->every_us * 3 / 2)
		h->every_us *= 2;
	return 0;
}

void as_curves_free(struct as_curves *h)
{
	free(h->rows);
	*h = (struct as_curves){ 0 };
}
