/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swapon: which files cannot be swapped to, which must be, and what is said of a hole. */
#include "tests/lib/model.h"

#include <errno.h>

#define WRITTEN "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=65536 at=0 fill=1\n"

#define LOCKED WRITTEN "setlk $0 F_RDLCK at=0 len=8\n"

static const struct {
	const char *name, *text;
	int64_t ret;
	int err;
	uint64_t blocks; /* that it has on the disk */
	bool right;
} rows[] = {
	{ "written", WRITTEN "swapon /f", 0, 0, 128, true },
	{ "written, refused", WRITTEN "swapon /f", -1, EINVAL, 0, false },
	{ "a change went through", WRITTEN "swapon /f", 1, 0, 128, false },
	{ "no swap in this kernel", WRITTEN "swapon /f", -1, ENOSYS, 0, true },
	{ "a hole", WRITTEN "truncate /f 131072\nswapon /f", -1, EINVAL, 0, true },
	{ "a hole that nobody saw", WRITTEN "truncate /f 131072\nswapon /f", 0, 0, 128, false },
	{ "allocated", WRITTEN "fallocate $0 0 at=0 len=131072\nswapon /f", 0, 0, 256, true },
	{ "short", WRITTEN "truncate /f 40000\nswapon /f", -1, EINVAL, 0, true },
	{ "short, accepted", WRITTEN "truncate /f 40000\nswapon /f", 0, 0, 128, false },
	{ "a directory", "mkdir /d 0755\nswapon /d", -1, EISDIR, 0, true },
	{ "nothing", "swapon /n", -1, ENOENT, 0, true },
	{ "immutable", WRITTEN "setflags $0 FS_IMMUTABLE_FL\nswapon /f", -1, EPERM, 0, true },
	{ "immutable, accepted", WRITTEN "setflags $0 FS_IMMUTABLE_FL\nswapon /f", 0, 0, 128,
	  false },
};

static void test_rows(void **state)
{
	struct as_traits traits = t_full_traits;

	(void)state;
	traits.features &= ~(uint64_t)AS_FEAT_CLONE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_outcome got = { .ret = rows[i].ret,
					  .err = rows[i].err,
					  .payload = rows[i].ret < 0 ? AS_PAYLOAD_NONE
								     : AS_PAYLOAD_STAT,
					  .st = { .blocks = rows[i].blocks } };

		if (t_judges_outcome(&traits, rows[i].text, &got) != rows[i].right)
			fail_msg("%s: it is %s", rows[i].name,
				 rows[i].right ? "refused" : "accepted");
	}
	/* The executor closes a descriptor, so a lock of the process may be gone. */
	assert_true(t_judges(&traits, LOCKED "ofd_getlk $0 F_WRLCK at=0 len=8", 1, 0));
	assert_false(t_judges(&traits, LOCKED "ofd_getlk $0 F_WRLCK at=0 len=8", 0, 0));
	assert_true(t_judges(&traits, LOCKED "swapon /f\nofd_getlk $0 F_WRLCK at=0 len=8", 0, 0));
	/* Blocks may be shared. */
	assert_true(t_judges(&t_full_traits, WRITTEN "swapon /f", -1, EINVAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
