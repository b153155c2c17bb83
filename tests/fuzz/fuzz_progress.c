/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run keeps of its progress, read from a folder that may be anybody's: what is read can be
 * written and read again, and what is shown of it fits and obeys nothing. */
#include "base/err.h"
#include "progress/curves.h"
#include "progress/progress.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_block(const struct as_progress *p, unsigned columns)
{
	struct as_buf out = { 0 };
	unsigned width = 0, lines = 0;

	as_progress_block(p, columns, false, &out);
	for (size_t i = 0; i < out.len; i++) {
		unsigned char c = (unsigned char)out.data[i];

		as_assert(c == '\n' || c >= ' ');
		lines += c == '\n';
		width = c == '\n' ? 0 : width + ((c & 0xc0) != 0x80);
		as_assert(width <= columns);
	}
	as_assert(lines && lines <= 8);
	as_buf_free(&out);
}

static void check_progress(const char *text, size_t len)
{
	struct as_progress p, again;
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);
	struct as_err err;

	if (as_progress_parse(text, len, &p, &err))
		return;
	as_json_object(&json);
	as_progress_print(&p, true, &json);
	as_json_end(&json);
	as_assert(!as_progress_parse(as_buf_str(&out), out.len, &again, &err));
	as_assert(again.state == p.state && again.has == p.has && again.pid == p.pid);
	as_assert(!memcmp(again.n, p.n, sizeof(p.n)) && !strcmp(again.target, p.target));
	for (unsigned columns = 20; columns <= 200; columns += 60)
		check_block(&p, columns);
	as_buf_clear(&out);
	as_progress_line(&p, &out);
	as_progress_end_words(&p, &out);
	as_assert(!memchr(as_buf_str(&out), '\033', out.len));
	as_buf_free(&out);
}

static void check_curves(const char *text, size_t len)
{
	struct as_curves curves, again;
	struct as_buf out = { 0 };
	struct as_err err;

	if (as_curves_parse(text, len, &curves, &err))
		return;
	as_assert(curves.n <= AS_CURVES_ROWS);
	as_curves_print(&curves, &out);
	as_assert(!as_curves_parse(as_buf_str(&out), out.len, &again, &err));
	as_assert(again.n == curves.n);
	as_curves_free(&again);
	as_curves_free(&curves);
	as_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *text = malloc(size + 1);

	as_assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	check_progress(text, size);
	check_curves(text, size);
	free(text);
	return 0;
}
