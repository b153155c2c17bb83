/* SPDX-License-Identifier: GPL-2.0-or-later */
/* err: names of errno values, messages that keep their context and never overrun. */
#include "base/advise.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The C library has its own list (strerrorname_np): ours must agree with all of it. */
static void test_names_agree_with_libc(void **state)
{
	(void)state;
	for (int e = 1; e < 600; e++) {
		const char *libc = strerrorname_np(e);

		if (!libc)
			continue;
		assert_string_equal(as_errno_name(e), libc);
		assert_int_equal(as_errno_value(libc), e);
	}
}

static void test_names_round_trip(void **state)
{
	static const struct {
		const char *name;
		int value;
	} rows[] = {
		{ "EPERM", 1 },		 { "EDQUOT", 122 },
		{ "EHWPOISON", 133 },	 { "ENOTSUPP", 524 },
		{ "ENOTSUP", 95 },	 { "EWOULDBLOCK", 11 },
		{ "EFSCORRUPTED", 117 }, { "EDEADLOCK", 35 },
		{ "enoent", 0 },	 { "", 0 },
		{ "EXYZ", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(as_errno_value(rows[i].name), rows[i].value);
	/* An alias is read, never printed. */
	assert_string_equal(as_errno_name(11), "EAGAIN");
	assert_string_equal(as_errno_name(95), "EOPNOTSUPP");
	assert_string_equal(as_errno_name(117), "EUCLEAN");
	assert_string_equal(as_errno_name(4711), "errno 4711");
	assert_string_equal(as_errno_name(0), "errno 0");
	assert_string_equal(as_errno_name(-2), "errno -2");
}

static void test_messages(void **state)
{
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_fail(&err, AS_EUSE, "line %d", 7), AS_EUSE);
	assert_string_equal(err.msg, "line 7");
	assert_int_equal(as_fail_in(&err, "file %s", "w"), AS_EUSE);
	assert_string_equal(err.msg, "file w: line 7");
	assert_int_equal(err.code, AS_EUSE);
	assert_int_equal(as_fail_errno(&err, ENOENT, "%s", "/x"), AS_EIO);
	assert_string_equal(err.msg, "/x: No such file or directory");
	assert_int_equal(as_fail_advise(&err, "try %s", "/y"), AS_EIO);
	assert_string_equal(err.msg, "/x: No such file or directory: try /y");
	assert_int_equal(as_fail_advise(NULL, "nobody listens"), AS_EIO);
	assert_int_equal(as_fail_errno(&err, ENOMEM, "x"), AS_ENOMEM);
	assert_int_equal(as_fail(NULL, AS_ELACK, "nobody listens"), AS_ELACK);
	assert_int_equal(as_fail_errno(NULL, EIO, "nobody listens"), AS_EIO);
}

static void test_long_messages_are_cut(void **state)
{
	struct as_err err;
	char *big = as_xmalloc(5000);

	(void)state;
	memset(big, 'a', 4999);
	big[4999] = 0;
	as_fail(&err, AS_EUSE, "%s", big);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	as_fail_in(&err, "context %s", big);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_int_equal(strncmp(err.msg, "context ", 8), 0);
	as_fail_advise(&err, "%s", big);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	as_fail_errno(&err, EIO, "%s", big);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	free(big);
}

static void test_assert_aborts(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		close(2);
		signal(SIGABRT, SIG_DFL);
		as_assert(1 + 1 == 3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_agree_with_libc),
		cmocka_unit_test(test_names_round_trip),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_long_messages_are_cut),
		cmocka_unit_test(test_assert_aborts),
	};

	return cmocka_run_group_tests_name("base/err", tests, NULL, NULL);
}
