/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written is read back the same, for workloads from the whole of the language, in whatever
 * pieces it is fed; and what was read is written the same again. */
#include "base/choice.h"
#include "work/parse.h"
#include "work/print.h"

#include "tests/lib/random_seq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#define WORKLOADS 1000
#define OPS_EACH 250 /* together 250,000 operations */

static int add_op(void *ctx, const struct as_op *op, unsigned line)
{
	(void)line;
	as_seq_add(ctx, op);
	return 0;
}

static int add_meta(void *ctx, const char *key, const char *value, unsigned line)
{
	(void)line;
	as_seq_set_meta(ctx, key, value);
	return 0;
}

static struct as_seq *parse_in_pieces(struct as_choice *c, const char *text, size_t len)
{
	static const struct as_parse_fns fns = { add_op, add_meta };
	struct as_seq *seq = as_seq_new();
	struct as_parser *parser = as_parser_new("pieces", &fns, seq);
	struct as_err err = { 0 };

	while (len) {
		size_t n = 1 + as_choose(c, as_choose(c, 2) ? 8 : 5000);

		n = n < len ? n : len;
		if (as_parser_feed(parser, text, n, &err))
			fail_msg("%s", err.msg);
		text += n;
		len -= n;
	}
	if (as_parser_finish(parser, &err))
		fail_msg("%s", err.msg);
	as_parser_free(parser);
	return seq;
}

/* The first operation that came back different, for the message. */
static void explain(const struct as_seq *a, const struct as_seq *b)
{
	struct as_buf text = { 0 };
	size_t i = 0;

	while (i < a->n && i < b->n && as_op_equal(&a->ops[i], &b->ops[i]))
		i++;
	if (i < a->n)
		as_print_op(&a->ops[i], &text);
	as_buf_adds(&text, " came back as ");
	if (i < b->n)
		as_print_op(&b->ops[i], &text);
	fail_msg("operation %zu: %s", i, as_buf_str(&text));
}

static void test_roundtrip(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_choice *c = as_chooser_choice(chooser);
	size_t seen[AS_OP_COUNT] = { 0 };

	(void)state;
	for (int i = 0; i < WORKLOADS; i++) {
		struct as_seq *seq = t_random_seq(c, OPS_EACH), *again, *pieces;
		struct as_buf text = { 0 }, text2 = { 0 };
		struct as_err err = { 0 };

		for (size_t j = 0; j < seq->n; j++)
			seen[seq->ops[j].code]++;
		as_print_seq(seq, &text);
		if (as_parse_text("random", as_buf_str(&text), text.len, &again, &err))
			fail_msg("workload %d: %s", i, err.msg);
		if (!as_seq_equal(seq, again))
			explain(seq, again);
		as_print_seq(again, &text2);
		assert_string_equal(as_buf_str(&text), as_buf_str(&text2));
		pieces = parse_in_pieces(c, as_buf_str(&text), text.len);
		assert_true(as_seq_equal(seq, pieces));
		as_chooser_next(chooser); /* forget the record */
		as_buf_free(&text);
		as_buf_free(&text2);
		as_seq_free(seq);
		as_seq_free(again);
		as_seq_free(pieces);
	}
	for (int code = 0; code < AS_OP_COUNT; code++)
		assert_true(seen[code] > 1000);
	as_chooser_free(chooser);
}

/* The longest strings there are, all in escapes, two in a line. */
static void test_longest_line(void **state)
{
	struct as_seq *seq = as_seq_new(), *again;
	struct as_op op = as_op_make(AS_OP_RENAME);
	char *path = as_xmalloc(AS_STR_MAX + 1);
	struct as_buf text = { 0 };
	struct as_err err = { 0 };

	(void)state;
	memset(path, 1, AS_STR_MAX);
	path[AS_STR_MAX] = 0;
	op.path = op.path2 = path;
	as_seq_add(seq, &op);
	as_print_seq(seq, &text);
	if (as_parse_text("long", as_buf_str(&text), text.len, &again, &err))
		fail_msg("%s", err.msg);
	assert_true(as_seq_equal(seq, again));
	as_buf_free(&text);
	as_seq_free(seq);
	as_seq_free(again);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roundtrip),
		cmocka_unit_test(test_longest_line),
	};

	return cmocka_run_group_tests_name("work roundtrip", tests, NULL, NULL);
}
