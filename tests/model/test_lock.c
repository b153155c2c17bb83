/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flock: what the model expects, and that it objects to each wrong answer. */
#include "tests/lib/model.h"

#include <errno.h>

#define TWO "$0 = open /f O_RDWR|O_CREAT 0644\n$1 = open /f O_RDONLY\n"

/* The last operation must answer 0, or -1 with `err`; `wrong` is another answer. */
static const struct {
	const char *name, *text;
	int err, wrong; /* wrong: an errno, 0: success */
} rows[] = {
	{ "no descriptor", "flock $9 LOCK_SH", EBADF, 0 },
	{ "a path alone", TWO "$2 = open /f O_RDONLY|O_PATH\nflock $2 LOCK_SH", EBADF, 0 },
	{ "nothing asked for", TWO "flock $0 0", EINVAL, 0 },
	{ "two at once", TWO "flock $0 LOCK_SH|LOCK_EX", EINVAL, 0 },
	{ "shared", TWO "flock $0 LOCK_SH\nflock $1 LOCK_SH", 0, EAGAIN },
	{ "alone, then shared", TWO "flock $0 LOCK_EX\nflock $1 LOCK_SH", EAGAIN, 0 },
	{ "shared, then alone", TWO "flock $0 LOCK_SH\nflock $1 LOCK_EX", EAGAIN, 0 },
	{ "another file",
	  TWO "$2 = open /g O_RDWR|O_CREAT 0644\nflock $0 LOCK_EX\nflock $2 LOCK_EX", 0, EAGAIN },
	{ "another name",
	  TWO "hardlink /f /g\n$2 = open /g O_RDWR\nflock $0 LOCK_EX\nflock $2 LOCK_EX", EAGAIN,
	  0 },
	{ "again", TWO "flock $0 LOCK_EX\nflock $0 LOCK_EX", 0, EAGAIN },
	{ "unlocked", TWO "flock $0 LOCK_EX\nflock $0 LOCK_UN\nflock $1 LOCK_EX", 0, EAGAIN },
	{ "closed", TWO "flock $0 LOCK_EX\nclose $0\nflock $1 LOCK_EX", 0, EAGAIN },
	{ "another one closed",
	  TWO "flock $0 LOCK_EX\n$2 = open /f O_RDONLY\nclose $2\nflock $1 LOCK_EX", EAGAIN, 0 },
	{ "opened anew", TWO "flock $0 LOCK_EX\n$0 = open /f O_RDWR\nflock $1 LOCK_EX", 0, EAGAIN },
	{ "from alone to shared", TWO "flock $0 LOCK_EX\nflock $0 LOCK_SH\nflock $1 LOCK_SH", 0,
	  EAGAIN },
	{ "lost by a change that is refused",
	  TWO "flock $0 LOCK_SH\nflock $1 LOCK_SH\nflock $0 LOCK_EX\nflock $1 LOCK_EX", 0, EAGAIN },
	{ "a folder",
	  "$0 = open / O_RDONLY\n$1 = open / O_RDONLY\nflock $0 LOCK_EX\nflock $1 LOCK_EX", EAGAIN,
	  0 },
	{ "nothing to unlock", TWO "flock $0 LOCK_UN", 0, EAGAIN },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = rows[i].err, wrong = rows[i].wrong;

		if (!t_judges(&t_full_traits, rows[i].text, err ? -1 : 0, err))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if (t_judges(&t_full_traits, rows[i].text, wrong ? -1 : 0, wrong))
			fail_msg("%s: a wrong answer is accepted", rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
