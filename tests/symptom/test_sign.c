/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sign: how a finding is signed by its kind, with what is known of it and without. */
#include "tests/lib/skip.h"

#include "base/err.h"
#include "symptom/symptom.h"
#include "work/parse.h"

#include <string.h>

#define TEXT "create /a 0644\ntruncate /a 10\n"

struct row {
	enum as_finding_kind kind;
	bool seq;
	int64_t op, made;
	const char *about, *why, *want;
};

static const struct row rows[] = {
	/* Without a model, and without operations: where, and the words. */
	{ AS_FIND_OUTCOME, false, -1, -1, "pwrite", "returned 4096, 0x7f at 12",
	  "outcome: pwrite: returned # at #" },
	{ AS_FIND_HANG, false, -1, -1, "mount", "the kernel fell silent",
	  "hang: mount: the kernel fell silent" },
	{ AS_FIND_DIFF, false, 1, -1, "truncate", "returned 0, others returned 12",
	  "diff: truncate: returned #, others returned #" },
	/* Of the workload as a whole, the last operation is named; of one of them, it is not. */
	{ AS_FIND_MOUNT, true, -1, -1, "unmount", "answered EIO",
	  "mount: unmount: answered EIO; after truncate" },
	{ AS_FIND_MOUNT, true, 1, -1, "truncate", "answered EIO", "mount: truncate: answered EIO" },
	/* What is left was asked for by one operation, or nobody knows. */
	{ AS_FIND_LEAK, true, -1, 0, "unmount", "3 allocations",
	  "leak: memory left after unmount; after create" },
	{ AS_FIND_LEAK, true, -1, -1, "unmount", "3 allocations",
	  "leak: memory left after unmount; after truncate" },
	{ AS_FIND_LEAK, true, 1, -1, "umount", "3 allocations",
	  "leak: memory left after unmount; after create" },
	/* A library's own words come without a place. */
	{ AS_FIND_LOCK, true, 1, -1, "truncate", "lock 'a' is held",
	  "lock: lock NAME is held; after truncate" },
	{ AS_FIND_INVARIANT, true, -1, -1, "unmount", "free is 12",
	  "invariant: free is #; after truncate" },
};

static void test_by_kind(void **state)
{
	struct as_seq *seq = NULL;
	struct as_err err;

	(void)state;
	assert_int_equal(as_parse_text("w", TEXT, strlen(TEXT), &seq, &err), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct as_symptom symptom = { .kind = row->kind,
					      .seq = row->seq ? seq : NULL,
					      .op = row->op,
					      .made = row->made,
					      .about = row->about,
					      .why = row->why };
		struct as_buf text = { 0 };

		as_symptom_sign(&symptom, &text);
		assert_string_equal(as_buf_str(&text), row->want);
		as_buf_free(&text);
	}
	as_seq_free(seq);
}

static void test_plain(void **state)
{
	struct as_buf text = { 0 };

	(void)state;
	as_symptom_sign_plain(AS_FIND_SIGNAL, NULL, "SIGSEGV in f+0x12", &text);
	assert_string_equal(as_buf_str(&text), "signal: SIGSEGV in f+0x12");
	as_buf_clear(&text);
	as_symptom_sign_plain(AS_FIND_CRASH, "reading the tree", "/a: 12", &text);
	assert_string_equal(as_buf_str(&text), "crash: reading the tree: /a: 12");
	as_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_kind),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
