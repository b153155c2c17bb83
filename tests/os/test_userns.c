/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User namespaces: an ordinary user becomes whom he wants to be in one, and only there. */
#include "tests/lib/skip.h"

#include "os/spawn.h"
#include "os/userns.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOBODY 65534u
#define NOT_ALLOWED 77

/* Of a child: it must not be root, and may write to its own files in /proc. */
static void become_ordinary(void)
{
	if (!geteuid() && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			   setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
}

static int as_whom(void *ctx)
{
	const unsigned *wanted = ctx;
	bool entered = false;

	become_ordinary();
	if (as_userns_unshare(CLONE_NEWNS, wanted[0], wanted[1], &entered))
		return entered ? 2 : NOT_ALLOWED;
	if (!entered || geteuid() != wanted[0] || getegid() != wanted[1])
		return 3;
	/* Rights over what is our own: we may mount there. */
	return mount("assay", "/tmp", "tmpfs", 0, NULL) ? 4 : 0;
}

static int as_root(void *ctx)
{
	struct as_err err = { 0 };

	(void)ctx;
	become_ordinary();
	if (as_userns_enter("a test can be made", &err))
		return err.code == AS_ELACK && strstr(err.msg, "a test can be made by root, or ")
			       ? NOT_ALLOWED
			       : 2;
	return geteuid() || getegid() ? 3 : 0;
}

static void in_child(int (*fn)(void *), void *ctx)
{
	struct as_ended ended;

	assert_int_equal(as_spawn_fork(fn, ctx, 60000, NULL, &ended, NULL), 0);
	assert_int_equal(ended.how, AS_END_EXIT);
	if (ended.status == NOT_ALLOWED)
		skip_because("user namespaces are not allowed here");
	assert_int_equal(ended.status, 0);
}

static void root_and_others(void **state)
{
	unsigned wanted[][2] = { { 0, 0 }, { 60600, 60600 }, { 5, 6 } };

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		in_child(as_whom, wanted[i]);
}

static void root_with_mounts(void **state)
{
	(void)state;
	in_child(as_root, NULL);
}

/* What has no such flag is refused, and the caller knows that he is where he was. */
static int bad_flags(void *ctx)
{
	bool entered = true;

	(void)ctx;
	become_ordinary();
	if (!as_userns_unshare(CLONE_VM | CLONE_SIGHAND | 0x1, 0, 0, &entered))
		return 1;
	return entered ? 2 : 0;
}

static void refused(void **state)
{
	(void)state;
	in_child(bad_flags, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_others),
		cmocka_unit_test(root_with_mounts),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
