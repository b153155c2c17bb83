/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_parse: any bytes as a workload. Read at once and in pieces (whose sizes follow from the
 * bytes) they give the same operations or the same error, after the same operations; what was
 * read and written is read back equal and written the same.
 */
#include "base/hash.h"
#include "work/parse.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Everything the parser says, as text. */
static int say_op(void *ctx, const struct as_op *op, unsigned line)
{
	as_buf_addf(ctx, "%u ", line);
	as_print_op(op, ctx);
	as_buf_addc(ctx, '\n');
	return 0;
}

static int say_meta(void *ctx, const char *key, const char *value, unsigned line)
{
	as_buf_addf(ctx, "%u ", line);
	as_print_meta(key, value, ctx);
	as_buf_addc(ctx, '\n');
	return 0;
}

static void parse_in_pieces(const char *text, size_t len, uint64_t seed, size_t max,
			    struct as_buf *said)
{
	static const struct as_parse_fns fns = { say_op, say_meta };
	struct as_parser *parser = as_parser_new("fuzz", &fns, said);
	struct as_err err = { 0 };
	int rc = 0;

	for (size_t at = 0; at < len && !rc;) {
		size_t n = 1 + as_mix64(seed++) % max;

		n = n < len - at ? n : len - at;
		rc = as_parser_feed(parser, text + at, n, &err);
		at += n;
	}
	if (!rc)
		rc = as_parser_finish(parser, &err);
	if (rc)
		as_buf_adds(said, err.msg);
	as_assert(as_parser_finish(parser, NULL) == rc);
	as_parser_free(parser);
}

static void check_roundtrip(const struct as_seq *seq)
{
	struct as_buf text = { 0 }, text2 = { 0 };
	struct as_seq *again = NULL;
	struct as_err err = { 0 };
	int rc;

	as_print_seq(seq, &text);
	rc = as_parse_text("fuzz", as_buf_str(&text), text.len, &again, &err);
	as_assert(!rc && as_seq_equal(seq, again));
	as_print_seq(again, &text2);
	as_assert(!strcmp(as_buf_str(&text), as_buf_str(&text2)));
	as_buf_free(&text);
	as_buf_free(&text2);
	as_seq_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	struct as_buf whole = { 0 }, pieces = { 0 };
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	parse_in_pieces(text, len, 0, 1 << 30, &whole);
	parse_in_pieces(text, len, as_hash64(data, len), 1 + len % 40, &pieces);
	as_assert(whole.len == pieces.len && !strcmp(as_buf_str(&whole), as_buf_str(&pieces)));
	if (!as_parse_text("fuzz", text, len, &seq, &err))
		check_roundtrip(seq);
	else
		as_assert(!seq && !strncmp(err.msg, "fuzz:", 5));
	as_seq_free(seq);
	as_buf_free(&whole);
	as_buf_free(&pieces);
	return 0;
}
