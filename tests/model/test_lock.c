/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks: what the model expects, and that it objects to each wrong answer. */
#include "tests/lib/model.h"

#include <errno.h>

/* Of $0, bytes 10 to 19. */
#define W0 TWO "ofd_setlk $0 F_WRLCK at=10 len=10\n"
#define R0 TWO "ofd_setlk $0 F_RDLCK at=10 len=10\n"
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
	/* ranges */
	{ "a range of no descriptor", "ofd_setlk $9 F_RDLCK at=0 len=1", EBADF, 0 },
	{ "a range of a path alone",
	  TWO "$2 = open /f O_RDONLY|O_PATH\nofd_getlk $2 F_RDLCK at=0 len=1", EBADF, 0 },
	{ "to write what is read", TWO "ofd_setlk $1 F_WRLCK at=0 len=1", EBADF, 0 },
	{ "to read what is written", TWO "$2 = open /f O_WRONLY\nsetlk $2 F_RDLCK at=0 len=1",
	  EBADF, 0 },
	{ "unlocked whatever the mode", TWO "ofd_setlk $1 F_UNLCK at=0 len=1", 0, EBADF },
	{ "before the start", TWO "ofd_setlk $1 F_RDLCK at=-1 len=1", EINVAL, 0 },
	{ "back before the start", TWO "ofd_setlk $1 F_RDLCK at=3 len=-4", EINVAL, 0 },
	{ "back to the start", TWO "ofd_setlk $1 F_RDLCK at=3 len=-3", 0, EINVAL },
	{ "beyond the end", TWO "ofd_setlk $1 F_RDLCK at=2 len=9223372036854775807", EOVERFLOW, 0 },
	{ "up to the end", TWO "ofd_setlk $1 F_RDLCK at=1 len=9223372036854775807", 0, EOVERFLOW },
	{ "no such type", TWO "ofd_setlk $1 3 at=0 len=1", EINVAL, 0 },
	{ "the same byte", W0 "ofd_setlk $1 F_RDLCK at=19 len=1", EAGAIN, 0 },
	{ "the byte before", W0 "ofd_setlk $1 F_RDLCK at=9 len=1", 0, EAGAIN },
	{ "the byte after", W0 "ofd_setlk $1 F_RDLCK at=20 len=0", 0, EAGAIN },
	{ "around", W0 "ofd_setlk $1 F_RDLCK at=0 len=0", EAGAIN, 0 },
	{ "read by two", R0 "ofd_setlk $1 F_RDLCK at=0 len=0", 0, EAGAIN },
	{ "flock does not count", W0 "flock $1 LOCK_EX", 0, EAGAIN },
	{ "from writing to reading",
	  W0 "ofd_setlk $0 F_RDLCK at=12 len=2\nofd_setlk $1 F_RDLCK at=12 len=2", 0, EAGAIN },
	{ "beside what is read now",
	  W0 "ofd_setlk $0 F_RDLCK at=12 len=2\nofd_setlk $1 F_RDLCK at=14 len=1", EAGAIN, 0 },
	{ "from reading to writing while another reads",
	  R0 "ofd_setlk $1 F_RDLCK at=15 len=1\nofd_setlk $0 F_WRLCK at=15 len=1", EAGAIN, 0 },
	{ "still read after that was refused",
	  R0 "ofd_setlk $1 F_RDLCK at=15 len=1\nofd_setlk $0 F_WRLCK at=15 len=1\n"
	     "$2 = open /f O_RDWR\nofd_setlk $2 F_WRLCK at=10 len=1",
	  EAGAIN, 0 },
	{ "unlocked in the middle",
	  W0 "ofd_setlk $0 F_UNLCK at=12 len=2\nofd_setlk $1 F_RDLCK at=12 len=2", 0, EAGAIN },
	{ "not unlocked on the left",
	  W0 "ofd_setlk $0 F_UNLCK at=12 len=2\nofd_setlk $1 F_RDLCK at=11 len=1", EAGAIN, 0 },
	{ "not unlocked on the right",
	  W0 "ofd_setlk $0 F_UNLCK at=12 len=2\nofd_setlk $1 F_RDLCK at=14 len=1", EAGAIN, 0 },
	{ "a range that is closed", W0 "close $0\nofd_setlk $1 F_RDLCK at=10 len=1", 0, EAGAIN },
	{ "another one that is closed",
	  W0 "$2 = open /f O_RDWR\nclose $2\nofd_setlk $1 F_RDLCK at=10 len=1", EAGAIN, 0 },
	{ "closed but mapped",
	  W0 "mmap $0 len=4096 at=0\nclose $0\nofd_setlk $1 F_RDLCK at=10 len=1", EAGAIN, 0 },
	{ "closed and no longer mapped",
	  W0 "mmap $0 len=4096 at=0\nclose $0\nmunmap $0\nofd_setlk $1 F_RDLCK at=10 len=1", 0,
	  EAGAIN },
	{ "the process and itself", TWO "setlk $0 F_WRLCK at=0 len=0\nsetlk $1 F_RDLCK at=5 len=1",
	  0, EAGAIN },
	{ "the process and a descriptor",
	  TWO "setlk $0 F_WRLCK at=0 len=0\nofd_setlk $0 F_RDLCK at=5 len=1", EAGAIN, 0 },
	{ "a descriptor and the process", W0 "setlk $0 F_RDLCK at=5 len=6", EAGAIN, 0 },
	{ "the process after any close",
	  TWO "setlk $0 F_WRLCK at=0 len=0\nclose $1\nofd_setlk $0 F_RDLCK at=5 len=1", 0, EAGAIN },
	{ "the process after the close of a path",
	  TWO "$2 = open /f O_RDONLY|O_PATH\nsetlk $0 F_WRLCK at=0 len=0\nclose $2\n"
	      "ofd_setlk $0 F_RDLCK at=5 len=1",
	  EAGAIN, 0 },
	{ "asked to unlock for the process", TWO "getlk $0 F_UNLCK at=0 len=1", EINVAL, 0 },
};

/* ofd_getlk and getlk: the lock that must be told of; `wrong` must be refused. */
static const struct {
	const char *name, *text, *told, *wrong;
} told[] = {
	{ "nothing", TWO "ofd_getlk $1 F_WRLCK at=0 len=0", "F_UNLCK",
	  "F_WRLCK at=0 len=1 of a descriptor" },
	{ "a lock", W0 "ofd_getlk $1 F_RDLCK at=0 len=0", "F_WRLCK at=10 len=10 of a descriptor",
	  "F_UNLCK" },
	{ "its type", R0 "ofd_getlk $1 F_WRLCK at=0 len=0", "F_RDLCK at=10 len=10 of a descriptor",
	  "F_WRLCK at=10 len=10 of a descriptor" },
	{ "its start", W0 "getlk $0 F_WRLCK at=0 len=11", "F_WRLCK at=10 len=10 of a descriptor",
	  "F_WRLCK at=0 len=11 of a descriptor" },
	{ "to the end", TWO "ofd_setlk $0 F_WRLCK at=7 len=0\ngetlk $0 F_RDLCK at=9 len=1",
	  "F_WRLCK at=7 len=0 of a descriptor",
	  "F_WRLCK at=7 len=9223372036854775801 of a descriptor" },
	{ "two that became one",
	  W0 "ofd_setlk $0 F_WRLCK at=20 len=5\nofd_getlk $1 F_RDLCK at=12 len=1",
	  "F_WRLCK at=10 len=15 of a descriptor", "F_WRLCK at=10 len=10 of a descriptor" },
	{ "one that became two",
	  W0 "ofd_setlk $0 F_RDLCK at=12 len=2\nofd_getlk $1 F_RDLCK at=0 len=0",
	  "F_WRLCK at=14 len=6 of a descriptor", "F_WRLCK at=10 len=10 of a descriptor" },
	{ "what reads beside what reads", R0 "ofd_getlk $1 F_RDLCK at=0 len=0", "F_UNLCK",
	  "F_RDLCK at=10 len=10 of a descriptor" },
	{ "of the process", TWO "setlk $0 F_WRLCK at=3 len=1\nofd_getlk $0 F_RDLCK at=0 len=0",
	  "F_WRLCK at=3 len=1 of the process", "F_WRLCK at=3 len=1 of a descriptor" },
	{ "its own", W0 "ofd_getlk $0 F_WRLCK at=0 len=0", "F_UNLCK",
	  "F_WRLCK at=10 len=10 of a descriptor" },
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

static bool judges_told(const char *text, const char *words)
{
	struct as_outcome got = { .ret = strcmp(words, "F_UNLCK") != 0,
				  .payload = AS_PAYLOAD_BYTES,
				  .data = words,
				  .len = strlen(words) };

	return t_judges_outcome(&t_full_traits, text, &got);
}

static void test_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		if (!judges_told(told[i].text, told[i].told))
			fail_msg("%s: the right lock is refused", told[i].name);
		if (judges_told(told[i].text, told[i].wrong))
			fail_msg("%s: a wrong lock is accepted", told[i].name);
	}
}

/* Whose names are inodes of their own: a lock may be seen through another slot, or not. */
static void test_apart(void **state)
{
	struct as_traits apart = t_full_traits;

	(void)state;
	apart.quirks |= AS_QUIRK_DIR_NLINK_ANY;
	assert_true(t_judges(&apart, W0 "ofd_setlk $1 F_RDLCK at=10 len=1", 0, 0));
	assert_true(t_judges(&apart, W0 "ofd_setlk $1 F_RDLCK at=10 len=1", -1, EAGAIN));
	assert_false(t_judges(&apart, W0 "ofd_setlk $1 F_RDLCK at=20 len=1", -1, EAGAIN));
	assert_true(t_judges(&apart, W0 "ofd_getlk $1 F_RDLCK at=10 len=1", 0, 0));
	assert_true(t_judges(&apart, W0 "ofd_getlk $1 F_RDLCK at=10 len=1", 1, 0));
	assert_false(t_judges(&apart, W0 "ofd_getlk $1 F_RDLCK at=20 len=1", 1, 0));
	assert_true(t_judges(&apart, TWO "flock $0 LOCK_EX\nflock $1 LOCK_SH", 0, 0));
	assert_true(t_judges(&apart, TWO "flock $0 LOCK_EX\nflock $1 LOCK_SH", -1, EAGAIN));
	assert_false(t_judges(&apart, TWO "flock $0 LOCK_SH\nflock $1 LOCK_SH", -1, EAGAIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers),
					    cmocka_unit_test(test_told),
					    cmocka_unit_test(test_apart) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
