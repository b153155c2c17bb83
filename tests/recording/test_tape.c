/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording as text and back, in pieces; and texts that are none, which a sandbox may send. */
#include "base/choice.h"
#include "recording/tape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DISK_BYTES ((uint64_t)4 << 20)
#define PIECES 64

struct written {
	char *piece[PIECES];
	size_t n;
};

static void keep(void *ctx, const char *text)
{
	struct written *w = ctx;

	assert_true(w->n < PIECES);
	w->piece[w->n++] = as_xstrdup(text);
}

/* Writes that no packer makes short, so that there are several pieces. */
static void record(struct as_chunks *store, struct as_disk **end, struct as_recording *r,
		   struct as_reclog **log)
{
	struct as_chooser *chooser = as_chooser_seeded(7);
	struct as_choice *choice = as_chooser_choice(chooser);
	unsigned char data[4096];
	struct as_err err;

	assert_int_equal(as_disk_new(store, DISK_BYTES, &r->start, &err), 0);
	*end = as_disk_snapshot(r->start);
	*log = as_reclog_new(as_disk_bd(*end), 0, 0);
	for (unsigned i = 0; i < 150; i++) {
		struct as_bd *bd = as_reclog_bd(*log);

		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (unsigned char)as_choose(choice, 256);
		as_reclog_set_op(*log, i / 3);
		assert_int_equal(as_bd_write(bd, i * 8192, data, sizeof(data)), 0);
		if (i % 5 == 4)
			assert_int_equal(as_bd_flush(bd), 0);
		if (i % 7 == 6)
			assert_int_equal(as_bd_discard(bd, i * 4096, 4096), 0);
	}
	assert_int_equal(as_bd_write_fua(as_reclog_bd(*log), 0, data, 512), 0);
	r->log = *log;
	r->n_ops = 50;
	as_buf_adds(&r->why, "it ended");
	as_chooser_free(chooser);
}

static int read_back(const struct written *w, struct as_chunks *store, struct as_tape *tape)
{
	struct as_tape_pieces pieces = { 0 };
	struct as_err err = { 0 };
	bool whole = false;
	int rc = 0;

	for (size_t i = 0; !rc && i < w->n; i++)
		rc = as_tape_add(&pieces, w->piece[i], &whole, &err);
	rc = rc ? rc : whole ? as_tape_read(&pieces, store, tape, &err) : AS_EUSE;
	as_tape_pieces_free(&pieces);
	return rc;
}

static void test_tape(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_recording r = { 0 };
	struct written w = { 0 };
	struct as_reclog *log;
	struct as_tape tape;
	struct as_disk *end;
	struct as_err err;

	(void)state;
	record(store, &end, &r, &log);
	assert_int_equal(as_tape_print(&r, keep, &w, &err), 0);
	assert_true(w.n > 1);
	assert_int_equal(read_back(&w, store, &tape), 0);
	assert_int_equal(as_reclog_len(tape.log), as_reclog_len(log));
	for (size_t i = 0; i < as_reclog_len(log); i++) {
		const struct as_log_entry *a = as_reclog_at(log, i), *b = as_reclog_at(tape.log, i);

		assert_int_equal(a->kind, b->kind);
		assert_int_equal(a->op, b->op);
		assert_int_equal(a->off, b->off);
		assert_int_equal(a->len, b->len);
		assert_int_equal(a->fua, b->fua);
	}
	assert_true(as_disk_eq(tape.start, r.start));
	assert_true(as_disk_eq(tape.end, end));
	assert_int_equal(tape.n_ops, 50);
	assert_string_equal(as_buf_str(&tape.wrong), "it ended");
	as_tape_free(&tape);
	/* One digit of a piece is another one, or is no digit. */
	for (size_t at = 0; at < 50; at++) {
		char *digit = &w.piece[at % w.n][at * strlen(w.piece[at % w.n]) / 400],
		     was = *digit;

		*digit = at % 3 ? (was == '0' ? '9' : '0') : 'x';
		if (!read_back(&w, store, &tape))
			as_tape_free(&tape);
		*digit = was;
	}
	/* A piece is missing, or comes twice. */
	w.n--;
	assert_int_equal(read_back(&w, store, &tape), AS_EUSE);
	free(w.piece[w.n]);
	w.piece[w.n++] = as_xstrdup(w.piece[0]);
	assert_int_equal(read_back(&w, store, &tape), AS_EUSE);
	for (size_t i = 0; i < w.n; i++)
		free(w.piece[i]);
	as_reclog_free(log);
	as_disk_free(end);
	as_disk_free(r.start);
	as_buf_free(&r.why);
	as_chunks_free(store);
}

static void test_no_tape(void **state)
{
	static const char *const texts[] = { "",
					     "tape",
					     "tape 0",
					     "tape 0 0 00",
					     "tape 1 2 00",
					     "tape 0 99999 00",
					     "tape 0 1 0",
					     "tape 0 1 zz",
					     "tape 0 1 ",
					     "tape 0 1 28b52ffd",
					     "tape 0 1 28b52ffd2000010000" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct as_chunks *store = as_chunks_new();
		struct as_tape_pieces pieces = { 0 };
		struct as_err err = { 0 };
		struct as_tape tape;
		bool whole = false;
		int rc = as_tape_add(&pieces, texts[i], &whole, &err);

		if (!rc)
			rc = as_tape_read(&pieces, store, &tape, &err);
		assert_int_equal(rc, AS_EUSE);
		assert_true(err.msg[0]);
		as_tape_pieces_free(&pieces);
		as_chunks_free(store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_tape),
					    cmocka_unit_test(test_no_tape) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
