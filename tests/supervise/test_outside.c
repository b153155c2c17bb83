/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside: what the process that runs checkers outside of a guest may say to the supervisor, and
 * which question it is asked. tests/instance/test_outside.c has the process.
 */
#include "tests/lib/skip.h"

#include "supervise/boxed_priv.h"
#include "supervise/outside.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO "{\"event\":\"hello\",\"wire\":3}\n"
#define ANSWER(number) "{\"event\":\"answer\",\"number\":" number "}\n"

_Static_assert(AS_WIRE_VERSION == 3, "the version in HELLO");

struct rig {
	struct as_box box, outside;
	struct as_boxed_session b;
	int woken, asked; /* what the engine and the process hear */
};

static void open_rig(struct rig *rig)
{
	int engine[2], process[2];

	*rig = (struct rig){ .b.in_fd = -1 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, engine), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, process), 0);
	rig->box.input_fd = engine[0];
	rig->woken = engine[1];
	rig->outside.input_fd = process[0];
	rig->asked = process[1];
	rig->b.box = &rig->box;
	rig->b.outside = &rig->outside;
}

static void close_rig(struct rig *rig)
{
	rig->b.outside = NULL;
	as_boxed_outside_end(&rig->b);
	close(rig->box.input_fd);
	close(rig->woken);
	close(rig->outside.input_fd);
	close(rig->asked);
}

/* What was written there so far. */
static const char *heard(int fd)
{
	static char text[256];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Question 7 is asked. */
static const struct {
	const char *name, *says;
	bool sane, answered;
} rows[] = {
	{ "it answers", HELLO ANSWER("7"), true, true },
	{ "it has said nothing but hello", HELLO, true, false },
	{ "it has not come to the end of its line", HELLO "{\"event\":\"answer\"", true, false },
	{ "it does not say hello", ANSWER("7"), false, false },
	{ "it speaks another version", "{\"event\":\"hello\",\"wire\":2}\n" ANSWER("7"), false,
	  false },
	{ "it answers what was not asked", HELLO ANSWER("8"), false, false },
	{ "it answers nothing", HELLO "{\"event\":\"answer\"}\n", false, false },
	{ "it answers twice", HELLO ANSWER("7") ANSWER("7"), false, true },
	{ "it asks", HELLO "{\"event\":\"check\",\"number\":7}\n", false, false },
	{ "it has findings",
	  HELLO "{\"event\":\"finding\",\"form\":1,\"id\":\"a-1\",\"kind\":\"data\","
		"\"target\":\"lab\",\"summary\":\"s\",\"signature\":\"g\",\"options\":\"\","
		"\"workload\":\"\"}\n",
	  false, false },
	{ "it babbles", HELLO "e2fsck 1.47\n", false, false },
	{ "it says a byte", ".\n", false, false },
};

static void test_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t step = 1; step <= 64; step *= 8) {
			size_t len = strlen(rows[i].says);
			struct rig rig;
			bool sane = true;

			open_rig(&rig);
			as_boxed_outside_asked(&rig.b, 7);
			assert_string_equal(heard(rig.asked),
					    "{\"event\":\"check\",\"number\":7}\n");
			for (size_t at = 0; at < len && sane; at += step)
				sane = as_boxed_outside_take(&rig.b, rows[i].says + at,
							     at + step < len ? step : len - at);
			if (sane != rows[i].sane || !rig.b.outside_asked != rows[i].answered)
				fail_msg("%s, %zu bytes at a time: sane %d, waits for %d",
					 rows[i].name, step, sane, (int)rig.b.outside_asked);
			assert_string_equal(heard(rig.woken), rows[i].answered ? "." : "");
			close_rig(&rig);
		}
}

static void test_endless(void **state)
{
	static const char block[1024] = { [0 ... 1023] = 'x' };
	struct rig rig;
	unsigned n = 0;

	(void)state;
	open_rig(&rig);
	while (as_boxed_outside_take(&rig.b, block, sizeof(block)))
		assert_true(++n < 16);
	close_rig(&rig);
}

/* Whoever asked before does not wait any more. */
static void test_meanwhile(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig);
	as_boxed_outside_asked(&rig.b, 0); /* no question */
	assert_string_equal(heard(rig.asked), "");
	as_boxed_outside_asked(&rig.b, 7);
	as_boxed_outside_asked(&rig.b, 8);
	as_boxed_outside_asked(&rig.b, 9);
	assert_string_equal(heard(rig.asked), "{\"event\":\"check\",\"number\":7}\n");
	assert_true(as_boxed_outside_take(&rig.b, HELLO ANSWER("7"), strlen(HELLO ANSWER("7"))));
	assert_string_equal(heard(rig.asked), "{\"event\":\"check\",\"number\":9}\n");
	assert_true(as_boxed_outside_take(&rig.b, ANSWER("9"), strlen(ANSWER("9"))));
	assert_string_equal(heard(rig.asked), "");
	assert_string_equal(heard(rig.woken), "..");
	close_rig(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_said),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
