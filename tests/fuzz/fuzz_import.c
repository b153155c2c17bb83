/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_import: any bytes as each of the foreign kinds. Whatever is made of them can be written down
 * and read back equal, and what was told has a line of the text.
 */
#include "trace/import.h"
#include "work/parse.h"
#include "work/print.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct told {
	unsigned lines; /* that the text has */
	uint64_t n;
};

static void count(void *ctx, unsigned line, const char *what)
{
	struct told *told = ctx;

	as_assert(line >= 1 && line <= told->lines);
	as_assert(*what);
	for (const char *s = what; *s; s++)
		as_assert((unsigned char)*s >= ' ' && *s != 0x7f);
	told->n++;
}

static void check_roundtrip(const struct as_seq *seq)
{
	struct as_buf text = { 0 };
	struct as_seq *again = NULL;
	struct as_err err = { 0 };
	int rc;

	as_print_seq(seq, &text);
	rc = as_parse_text("fuzz", as_buf_str(&text), text.len, &again, &err);
	as_assert(!rc && as_seq_equal(seq, again));
	as_buf_free(&text);
	as_seq_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const roots[] = { NULL, "/t" };
	unsigned lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += data[i] == '\n';
	for (int from = 0; from < AS_IMPORTS; from++) {
		for (int r = 0; r < (from == AS_IMPORT_STRACE ? 2 : 1); r++) {
			struct told told = { .lines = lines };
			struct as_import import = { .from = (enum as_import_from)from,
						    .file = "fuzz",
						    .under = roots[r],
						    .left_out = count,
						    .ctx = &told };
			struct as_seq *seq = NULL;
			struct as_err err = { 0 };
			int rc = as_import_text(&import, (const char *)data, len, &seq, &err);

			as_assert(rc ? !seq && !strncmp(err.msg, "fuzz:", 5) : seq != NULL);
			as_assert(told.n == import.n_left_out);
			if (seq)
				check_roundtrip(seq);
			as_seq_free(seq);
		}
	}
	return 0;
}
