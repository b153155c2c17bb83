/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kwatch: what of the real log is a finding: messages are put into it as a kernel would. */
#include "tests/lib/skip.h"

#include "klog/kwatch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each through a descriptor of its own: the log limits what one may write. */
static bool say(const char *message)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, message, strlen(message)) == (ssize_t)strlen(message);
	close(fd);
	return ok;
}

static const struct {
	const char *message;
	bool excused;
	const char *signature; /* NULL: no finding */
} rows[] = {
	{ "EXT4-fs (asy0): mounted filesystem\n", false, NULL },
	{ "EXT4-fs error (device asy0): f:12: broken\n", false,
	  "corruption: ext4-error: EXT4-fs error (device DEV): f:#: broken" },
	{ "EXT4-fs error (device asy0): f:12: broken\n", true, NULL },
	{ "EXT4-fs error (device asy1): f:12: broken\n", false, NULL },
	{ "XFS (asy0): Assertion failed: ip\n", true,
	  "crash: assertion: XFS (DEV): Assertion failed: ip" },
	{ "XFS (asy2): Assertion failed: ip\n", false, NULL },
};

static void news(void **state)
{
	struct as_kwatch *watch;
	struct as_kwatch_news said;

	(void)state;
	if (!say("assay: a test of the log begins\n"))
		skip_because("writing to /dev/kmsg takes root");
	watch = as_kwatch_new(NULL);
	if (!watch)
		skip_because("the kernel's log cannot be read");
	as_kwatch_name(watch, "asy0");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool found;

		assert_true(say(rows[i].message));
		found = as_kwatch_look(watch, rows[i].excused, &said);
		if (found != !!rows[i].signature)
			fail_msg("%s is %sa finding", rows[i].message, found ? "" : "not ");
		if (found)
			assert_string_equal(said.signature, rows[i].signature);
		/* Once. */
		assert_false(as_kwatch_look(watch, false, &said));
	}
	as_kwatch_free(watch);
}

/* Of several the gravest; without a log nothing. */
static void gravest(void **state)
{
	struct as_kwatch *watch = as_kwatch_new("asy0");
	struct as_kwatch_news said;

	(void)state;
	assert_false(as_kwatch_look(NULL, false, &said));
	if (!watch || !say("EXT4-fs error (device asy0): f:12: broken\n")) {
		as_kwatch_free(watch);
		skip_because("writing to /dev/kmsg takes root");
	}
	assert_true(say("XFS (asy0): Assertion failed: ip\n"));
	assert_true(say("Aborting journal on device asy0-8.\n"));
	assert_true(as_kwatch_look(watch, false, &said));
	assert_string_equal(said.title, "XFS (asy0): Assertion failed: ip");
	as_kwatch_free(watch);
}

/* What was said of a device before it was ours is about its last user, also if a child tells that
 * it is ours now. */
static void others(void **state)
{
	struct as_kwatch *watch = as_kwatch_new("asy0");
	struct as_kwatch_news said;
	pid_t child;

	(void)state;
	if (!watch || !say("EXT4-fs error (device asy3): f:12: broken\n")) {
		as_kwatch_free(watch);
		skip_because("writing to /dev/kmsg takes root");
	}
	as_kwatch_move(watch, "asy3");
	assert_false(as_kwatch_look(watch, false, &said));
	assert_true(say("EXT4-fs error (device asy3): f:12: broken\n"));
	as_kwatch_move(watch, "asy3"); /* the same: nothing is left out */
	child = fork();
	if (!child) {
		as_kwatch_skip(watch);
		_exit(!say("EXT4-fs error (device asy3): g:12: broken\n"));
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(as_kwatch_look(watch, false, &said));
	assert_string_equal(said.title, "EXT4-fs error (device asy3): g:12: broken");
	assert_true(say("EXT4-fs error (device asy3): f:12: broken\n"));
	as_kwatch_name(watch, "");
	assert_false(as_kwatch_look(watch, false, &said));
	as_kwatch_free(watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(news), cmocka_unit_test(gravest),
					    cmocka_unit_test(others) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
