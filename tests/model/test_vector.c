/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preadv2 and pwritev2: what the flags mean, and that the model objects to each wrong answer. */
#include "tests/lib/model.h"

#include "model/persist.h"

#include <errno.h>

#define FILE_OF_10 "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=10 fill=1\n"
#define APPENDS FILE_OF_10 "$1 = open /f O_WRONLY|O_APPEND\n"

/* The last operation must answer `ret`, or -1 with `err`; `wrong` is another answer. */
static const struct {
	const char *name, *text;
	int64_t ret;
	int err, wrong; /* wrong: an errno, 0: success with 0 */
} rows[] = {
	{ "read", FILE_OF_10 "preadv2 $0 len=20 at=4", 6, 0, 0 },
	{ "read at the end", FILE_OF_10 "preadv2 $0 len=20 at=-1", 0, 0, EINVAL },
	{ "negative offset", FILE_OF_10 "preadv2 $0 len=20 at=-2", -1, EINVAL, 0 },
	{ "negative offset, no file", "preadv2 $0 len=20 at=-2", -1, EINVAL, EBADF },
	{ "no file", "preadv2 $0 len=0 at=0", -1, EBADF, 0 },
	{ "unknown flag", FILE_OF_10 "preadv2 $0 len=1 at=0 flags=0x40000000", -1, EOPNOTSUPP, 0 },
	{ "unknown flag, nothing to do", FILE_OF_10 "preadv2 $0 len=0 at=0 flags=0x40000000", 0, 0,
	  EOPNOTSUPP },
	{ "not for reading", APPENDS "preadv2 $1 len=1 at=0 flags=0x40000000", -1, EBADF,
	  EOPNOTSUPP },
	{ "a read that cannot wait", FILE_OF_10 "preadv2 $0 len=9 at=0 flags=RWF_NOWAIT", -1,
	  EAGAIN, EINVAL },
	{ "a part of it", FILE_OF_10 "preadv2 $0 len=9 at=0 flags=RWF_NOWAIT", 5, 0, EINVAL },
	{ "a read that can", FILE_OF_10 "preadv2 $0 len=9 at=0 flags=RWF_DSYNC", 9, 0, EAGAIN },
	{ "atomic read", FILE_OF_10 "preadv2 $0 len=9 at=0 flags=0x40", -1, EOPNOTSUPP, 0 },
	{ "append and not", FILE_OF_10 "pwritev2 $0 len=9 at=0 flags=RWF_APPEND|RWF_NOAPPEND", -1,
	  EINVAL, 0 },
	{ "a directory", "$0 = open / O_RDONLY\npreadv2 $0 len=9 at=0", -1, EISDIR, 0 },
	{ "a directory, with a flag", "$0 = open / O_RDONLY\npreadv2 $0 len=9 at=0 flags=RWF_SYNC",
	  -1, EOPNOTSUPP, 0 },
	{ "the descriptor moves", FILE_OF_10 "pwritev2 $0 len=5 at=-1\nlseek $0 0 SEEK_CUR", 15, 0,
	  EINVAL },
	{ "it stays", FILE_OF_10 "pwritev2 $0 len=5 at=3\nlseek $0 0 SEEK_CUR", 10, 0, EINVAL },
	{ "appended", FILE_OF_10 "pwritev2 $0 len=5 at=3 flags=RWF_APPEND\nlseek $0 0 SEEK_END", 15,
	  0, EINVAL },
	{ "appended at the descriptor",
	  FILE_OF_10 "lseek $0 2 SEEK_SET\npwritev2 $0 len=5 at=-1 flags=RWF_APPEND\n"
		     "lseek $0 0 SEEK_CUR",
	  15, 0, EINVAL },
	{ "not appended", APPENDS "pwritev2 $1 len=5 at=3 flags=RWF_NOAPPEND\nlseek $1 0 SEEK_END",
	  10, 0, EINVAL },
	{ "appended as opened", APPENDS "pwritev2 $1 len=5 at=3\nlseek $1 0 SEEK_END", 15, 0,
	  EINVAL },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int wrong = rows[i].wrong;

		if (!t_judges(&t_full_traits, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if (t_judges(&t_full_traits, rows[i].text, wrong ? -1 : 0, wrong))
			fail_msg("%s: a wrong answer is accepted", rows[i].name);
	}
}

/* What a write of five bytes makes stable, and where they are. */
static struct as_persist promised(const char *before, const char *write)
{
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_seq *seq = t_parse(write);
	struct as_outcome got = { .ret = 5 };
	struct as_persist p;

	(void)t_apply_text(m, before);
	p = as_model_persists(m, &seq->ops[0], &got, 0);
	as_seq_free(seq);
	as_model_free(m);
	return p;
}

static void test_stable(void **state)
{
	struct as_persist p = promised(FILE_OF_10, "pwritev2 $0 len=5 at=3 flags=RWF_DSYNC");

	(void)state;
	assert_int_equal(p.kind, AS_PERSIST_DATA);
	assert_int_equal(p.off, 3);
	p = promised(FILE_OF_10, "pwritev2 $0 len=5 at=-1 flags=RWF_SYNC");
	assert_int_equal(p.kind, AS_PERSIST_INODE);
	assert_int_equal(p.off, 10);
	p = promised(FILE_OF_10, "pwritev2 $0 len=5 at=3 flags=RWF_DSYNC|RWF_APPEND");
	assert_int_equal(p.off, 10);
	p = promised(APPENDS, "pwritev2 $1 len=5 at=3 flags=RWF_DSYNC|RWF_NOAPPEND");
	assert_int_equal(p.off, 3);
	p = promised(FILE_OF_10, "pwritev2 $0 len=5 at=3");
	assert_int_equal(p.kind, AS_PERSIST_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
