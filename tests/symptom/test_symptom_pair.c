/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A broken promise is known by the pair of the last change of the file and the promise: the change
 * may come through another descriptor or another name. */
#include "symptom/symptom.h"
#include "work/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the above: cmocka wants them first */
#include <cmocka.h>

#define MAKE "$0 = open /a O_RDWR|O_CREAT 0644\n"

static const struct {
	const char *workload; /* the last operation is the promise */
	const char *want;
} rows[] = {
	{ MAKE "fsync $0\n", "; after open O_CREAT, then fsync of a file" },
	{ MAKE "fallocate $0 0 at=0 len=1\nfsync $0\n", "; after fallocate, then fsync of a file" },
	/* Another descriptor. */
	{ MAKE "fallocate $0 0 at=0 len=1\n$1 = open /a O_RDWR\nfdatasync $1\n",
	  "; after fallocate, then fdatasync of a file" },
	/* That of another file. */
	{ MAKE "$1 = open /b O_RDWR|O_CREAT 0644\nfallocate $1 0 at=0 len=1\nfsync $0\n",
	  "; after open O_CREAT, then fsync of a file" },
	/* Another name, older or newer. */
	{ MAKE "rename /a /c\nfallocate $0 0 at=0 len=1\n$1 = open /c O_RDWR\nfsync $1\n",
	  "; after fallocate, then fsync of a file" },
	{ MAKE "hardlink /a /c\n$1 = open /c O_RDWR\nfallocate $1 0 at=0 len=1\nfsync $0\n",
	  "; after fallocate, then fsync of a file" },
	{ MAKE "rename /a /c\n$1 = open /c O_RDWR\nfsync $1\n",
	  "; after rename, then fsync of a file" },
	{ "mkdir /d 0755\n$0 = open /d O_RDONLY|O_DIRECTORY\ncreate /d/f 0644\nfsync $0\n",
	  "; after create, then fsync of a directory" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf text = { 0 };
		struct as_seq *seq = NULL;
		bool failed[8] = { 0 };

		assert_int_equal(as_parse_text("workload", rows[i].workload,
					       strlen(rows[i].workload), &seq, NULL),
				 0);
		assert_true(seq->n <= sizeof(failed));
		as_symptom_pair(seq, failed, seq->n - 1, &text);
		assert_string_equal(as_buf_str(&text), rows[i].want);
		as_buf_free(&text);
		as_seq_free(seq);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
