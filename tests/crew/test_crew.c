/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crew: whatever a mate does, the leader hears all that it said before, gets its end in words, and
 * is left with no process; and no mate is left when the leader dies.
 */
#include "crew/crew.h"
#include "tests/lib/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEATS 4
#define SOON_MS 300
#define LONG_MS 60000
#define GONE_MS 60000

static const struct as_crew_plan plan = { .who = "a mate", .how = AS_BIRTH_DEAF };

/* ---- What mates do --------------------------------------------------------------------------- */

_Noreturn static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static int do_nothing(struct as_mate *m, void *ctx, struct as_err *err)
{
	(void)m;
	(void)ctx;
	(void)err;
	return 0;
}

static int say_and_end(struct as_mate *m, void *ctx, struct as_err *err)
{
	(void)err;
	return as_mate_say(m, ctx, strlen(ctx));
}

static int fail_in_words(struct as_mate *m, void *ctx, struct as_err *err)
{
	if (as_mate_say(m, "before", 6))
		_exit(9);
	return as_fail(err, AS_ELACK, "no %s here", (const char *)ctx);
}

static int die(struct as_mate *m, void *ctx, struct as_err *err)
{
	(void)err;
	if (as_mate_say(m, "before", 6))
		_exit(9);
	signal(*(int *)ctx, SIG_DFL);
	raise(*(int *)ctx);
	return 0;
}

static int call_exit(struct as_mate *m, void *ctx, struct as_err *err)
{
	(void)err;
	if (as_mate_say(m, "before", 6))
		_exit(9);
	exit(*(int *)ctx);
}

__attribute__((unused)) static int want_all_memory(struct as_mate *m, void *ctx, struct as_err *err)
{
	(void)m;
	(void)ctx;
	(void)err;
	(void)as_xmalloc(SIZE_MAX / 4);
	return 0;
}

static int hang(struct as_mate *m, void *ctx, struct as_err *err)
{
	(void)ctx;
	(void)err;
	if (as_mate_say(m, "before", 6))
		_exit(9);
	sleep_for_ever();
}

/* Not even by its socket does it see that the leader is gone. */
static int hang_in_silence(struct as_mate *m, void *ctx, struct as_err *err)
{
	(void)m;
	(void)ctx;
	(void)err;
	sleep_for_ever();
}

/* Its socket is the only one that it has. */
static int socket_of(void)
{
	int type;
	socklen_t len = sizeof(type);

	for (int fd = 0; fd < 1024; fd++)
		if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len))
			return fd;
	_exit(8);
}

static int write_half(struct as_mate *m, void *ctx, struct as_err *err)
{
	char all[64] = { 0 };
	int fd = socket_of();

	(void)err;
	/* A whole one shows what one looks like; then the beginning of another. */
	if (as_mate_say(m, "before", 6))
		_exit(9);
	memcpy(all, "crew", 4);
	all[16] = 40;
	if (write(fd, all, *(int *)ctx) != *(int *)ctx)
		_exit(9);
	raise(SIGKILL);
	return 0;
}

static int write_garbage(struct as_mate *m, void *ctx, struct as_err *err)
{
	char all[64];

	(void)m;
	(void)ctx;
	(void)err;
	memset(all, 'x', sizeof(all));
	if (write(socket_of(), all, sizeof(all)) < 0)
		_exit(9);
	sleep_for_ever();
}

static int flood(struct as_mate *m, void *ctx, struct as_err *err)
{
	char block[10000];

	(void)ctx;
	(void)err;
	memset(block, 'f', sizeof(block));
	while (!as_mate_say(m, block, sizeof(block)))
		;
	return 0;
}

static int echo(struct as_mate *m, void *ctx, struct as_err *err)
{
	struct as_buf got = { 0 };

	(void)ctx;
	(void)err;
	while (as_mate_hear(m, &got))
		if (as_mate_say(m, got.data, got.len))
			_exit(9);
	as_buf_free(&got);
	return 0;
}

/* ---- Helpers --------------------------------------------------------------------------------- */

static void start(struct as_crew *c, unsigned seat, as_mate_work *work, void *ctx)
{
	struct as_err err = { 0 };

	if (as_crew_start(c, seat, work, ctx, &err))
		fail_msg("%s", err.msg);
}

/* All that the mate says until it has ended, with a comma after each message; and its end. */
static int hear_all(struct as_crew *c, unsigned seat, struct as_buf *said, struct as_err *err)
{
	const char *data;
	size_t len;

	for (;;) {
		while ((data = as_crew_next(c, seat, &len))) {
			assert_int_equal(data[len], 0);
			as_buf_add(said, data, len);
			as_buf_addc(said, ',');
		}
		if (as_crew_is_over(c, seat))
			return as_crew_ended(c, seat, err);
		as_crew_wait(c, LONG_MS);
	}
}

static void assert_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void test_ends(void **state)
{
	static int segv = SIGSEGV, sigkill = SIGKILL, three = 3, zero = 0;
	static int head = 24, half = 10, most = 50;
	static const struct {
		as_mate_work *work;
		void *ctx;
		unsigned within_ms;
		int rc;
		const char *said, *words;
	} rows[] = {
		{ do_nothing, NULL, 0, 0, "", "" },
		{ say_and_end, "hello", 0, 0, "hello,", "" },
		{ fail_in_words, "luck", 0, AS_ELACK, "before,", "no luck here" },
		{ die, &segv, 0, AS_EIO, "before,", "a mate died of SIGSEGV" },
		{ die, &sigkill, 0, AS_EIO, "before,",
		  "a mate died of SIGKILL, as when the machine has no memory left" },
		{ call_exit, &three, 0, AS_EIO, "before,", "a mate called exit(3)" },
		/* Of one that has not come to its end, a status of 0 is no success. */
		{ call_exit, &zero, 0, AS_EIO, "before,", "a mate called exit(0)" },
#ifndef __SANITIZE_ADDRESS__ /* which ends who asks for so much */
		{ want_all_memory, NULL, 0, AS_ENOMEM, "", NULL },
#endif
		{ hang, NULL, SOON_MS, AS_EIO, "before,", "a mate did not come back" },
		{ write_half, &half, 0, AS_EIO, "before,", NULL },
		{ write_half, &head, 0, AS_EIO, "before,", NULL },
		{ write_half, &most, 0, AS_EIO, "before,", NULL },
		{ write_garbage, NULL, SOON_MS, AS_EIO, "", "a mate sent a wrong message" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_crew *c = as_crew_new(&plan, 1);
		struct as_err err = { 0 };
		struct as_buf said = { 0 };
		int rc;

		start(c, 0, rows[i].work, rows[i].ctx);
		as_crew_within(c, 0, rows[i].within_ms);
		rc = hear_all(c, 0, &said, &err);
		if (rc != rows[i].rc)
			fail_msg("row %zu: %d, not %d: %s", i, rc, rows[i].rc, err.msg);
		assert_string_equal(as_buf_str(&said), rows[i].said);
		if (rows[i].words)
			assert_string_equal(err.msg, rows[i].words);
		if (rows[i].work == write_half)
			assert_non_null(strstr(err.msg, "in the middle of a message"));
		assert_false(as_crew_sits(c, 0));
		assert_no_child();
		as_buf_free(&said);
		as_crew_free(c);
	}
}

/* One that ignores all that can be ignored is ended at its time, and by a halt. */
static void test_ended_here(void **state)
{
	volatile int stop = 1;
	const struct as_halt halts[] = { { .stop = &stop }, { .until_us = 1 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct as_crew *c = as_crew_new(&plan, SEATS);
		struct as_buf said = { 0 };
		struct as_err err;

		for (unsigned k = 0; k < SEATS; k++)
			start(c, k, hang, NULL);
		if (i < 2)
			as_crew_await(c, &halts[i], SOON_MS);
		else
			as_crew_end(c, 0);
		assert_no_child();
		for (unsigned k = 0; k < SEATS; k++) {
			as_buf_clear(&said);
			assert_int_equal(hear_all(c, k, &said, &err), AS_ESTOP);
		}
		as_buf_free(&said);
		as_crew_free(c);
	}
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Neither side waits for the other: both pipes are full, and nothing is lost. */
static void test_full_pipes(void **state)
{
	enum { MESSAGES = 400, BYTES = 20000 };
	struct as_crew *c = as_crew_new(&plan, 1);
	char block[BYTES];
	unsigned heard = 0;
	const char *data;
	size_t len;
	struct as_err err;

	(void)state;
	start(c, 0, echo, NULL);
	for (unsigned i = 0; i < MESSAGES; i++) {
		memset(block, 'a' + (int)(i % 26), sizeof(block));
		as_crew_tell(c, 0, block, sizeof(block));
	}
	as_crew_hush(c, 0);
	while (!as_crew_is_over(c, 0)) {
		as_crew_wait(c, LONG_MS);
		while ((data = as_crew_next(c, 0, &len))) {
			memset(block, 'a' + (int)(heard++ % 26), sizeof(block));
			assert_int_equal(len, BYTES);
			assert_memory_equal(data, block, len);
		}
	}
	assert_int_equal(heard, MESSAGES);
	assert_int_equal(as_crew_ended(c, 0, &err), 0);
	as_crew_free(c);
}

/* One that floods keeps nobody else from being heard, and the leader does not hold its flood. */
static void test_flood(void **state)
{
	struct as_crew *c = as_crew_new(&plan, 3);
	struct as_buf said = { 0 };
	struct as_err err;
	size_t len;

	(void)state;
	start(c, 0, flood, NULL);
	start(c, 1, flood, NULL);
	start(c, 2, say_and_end, "hello");
	assert_int_equal(hear_all(c, 2, &said, &err), 0);
	assert_string_equal(as_buf_str(&said), "hello,");
	/* Both have begun; for some looks, nobody takes what they say. */
	while (!as_crew_next(c, 0, &len) || !as_crew_next(c, 1, &len))
		as_crew_wait(c, 1);
	for (int i = 0; i < 200; i++)
		as_crew_wait(c, 1);
	as_crew_end(c, 0);
	as_buf_clear(&said);
	assert_int_equal(hear_all(c, 0, &said, &err), AS_ESTOP);
	assert_true(said.len < (4 << 20));
	as_buf_free(&said);
	as_crew_free(c);
	assert_no_child();
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Signals that interrupt every call of the leader change nothing. */
static void test_interrupts(void **state)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };

	(void)state;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	test_full_pipes(NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_no_child();
}

/* ---- In turns -------------------------------------------------------------------------------- */

/* Each says as many as its row has, with its name before: the first of them late. */
static int say_some(struct as_mate *m, void *ctx, struct as_err *err)
{
	unsigned n = ((const unsigned *)ctx)[as_mate_seat(m)];
	char text[2] = { (char)('a' + (int)as_mate_seat(m)), '0' };

	(void)err;
	usleep((SEATS - as_mate_seat(m)) * 20000);
	for (unsigned i = 0; i < n; i++, text[1]++)
		if (as_mate_say(m, text, 2))
			_exit(9);
	return 0;
}

static bool any_sits(const struct as_crew *c)
{
	for (unsigned i = 0; i < SEATS; i++)
		if (as_crew_sits(c, i))
			return true;
	return false;
}

/* Takes all that comes until nobody works; those that have said all have no turn any more. */
static void take_all(struct as_crew *c, const unsigned *most, struct as_buf *order)
{
	unsigned taken[SEATS] = { 0 };
	const char *text;
	size_t lane, len;

	while (any_sits(c)) {
		as_crew_wait(c, -1);
		for (;;) {
			assert_int_equal(as_crew_take(c, false, &lane, &text, &len, NULL), 0);
			if (!text)
				break;
			as_buf_add(order, text, len);
			taken[lane]++;
			as_crew_set_turn(c, lane,
					 taken[lane] == most[lane] ? AS_CREW_NO_TURN : taken[lane]);
		}
		for (unsigned i = 0; i < SEATS; i++)
			if (as_crew_sits(c, i) && as_crew_is_over(c, i))
				assert_int_equal(as_crew_ended(c, i, NULL), 0);
	}
}

/* Nobody takes what one said whose turn never comes; it is taken when nobody says more. */
static void test_turns(void **state)
{
	static const struct {
		unsigned says[SEATS], most[SEATS];
		const char *want, *rest;
	} rows[] = {
		{ { 3, 1, 2, 1 }, { 3, 1, 2, 1 }, "a0b0c0d0a1c1a2", "" },
		{ { 1, 0, 3, 1 }, { 1, 1, 3, 1 }, "a0", "c0d0c1c2" },
		{ { 1, 3, 1, 1 }, { 1, 1, 1, 1 }, "a0b0c0d0", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_crew *c = as_crew_new(&plan, SEATS);
		struct as_buf order = { 0 };
		unsigned taken[SEATS] = { 0 };
		const char *text;
		size_t lane, len;

		as_crew_in_turns(c, &(struct as_crew_lanes){ .n = SEATS });
		for (unsigned k = 0; k < SEATS; k++)
			start(c, k, say_some, (void *)rows[i].says);
		take_all(c, rows[i].most, &order);
		assert_string_equal(as_buf_str(&order), rows[i].want);
		as_buf_clear(&order);
		while (!as_crew_take(c, true, &lane, &text, &len, NULL) && text) {
			as_buf_add(&order, text, len);
			as_crew_set_turn(c, lane, ++taken[lane]);
		}
		assert_string_equal(as_buf_str(&order), rows[i].rest);
		as_buf_free(&order);
		as_crew_free(c);
	}
	assert_no_child();
}

/* The lane that a message names, which any mate may say; "z" is refused. */
static int lane_of(void *ctx, const char *data, size_t len, size_t *lane, struct as_err *err)
{
	(void)ctx;
	*lane = (size_t)(data[0] - '0');
	return len == 1 && *lane < SEATS ? 0 : as_fail(err, AS_EIO, "no lane");
}

static void test_lanes(void **state)
{
	struct as_crew *c = as_crew_new(&plan, 2);
	struct as_err err;
	const char *text;
	size_t lane, len;

	(void)state;
	as_crew_in_turns(c, &(struct as_crew_lanes){ SEATS, lane_of, NULL });
	for (size_t i = 0; i < SEATS; i++)
		as_crew_set_turn(c, i, SEATS - i);
	as_crew_recall(c, 3, "old", 3);
	as_crew_recall(c, 3, "3", 1);
	assert_true(as_crew_waits(c, 3));
	assert_false(as_crew_waits(c, 2));
	start(c, 0, say_and_end, "2");
	start(c, 1, say_and_end, "z");
	assert_int_equal(as_crew_take(c, false, &lane, &text, &len, &err), 0);
	assert_int_equal(lane, 3);
	assert_string_equal(text, "3");
	as_crew_set_turn(c, lane, AS_CREW_NO_TURN);
	/* It is taken, whoever of the two says something first. */
	for (bool refused = false, taken = false; !refused || !taken;) {
		as_crew_wait(c, 100);
		if (as_crew_take(c, false, &lane, &text, &len, &err)) {
			assert_string_equal(err.msg, "no lane");
			refused = true;
		} else if (text) {
			assert_string_equal(text, "2");
			as_crew_set_turn(c, lane, AS_CREW_NO_TURN);
			taken = true;
		}
	}
	as_crew_free(c);
	assert_no_child();
}

/* ---- No mate without a leader ---------------------------------------------------------------- */

static int lasting[2]; /* every mate has its end of the pipe */
static pid_t kill_between; /* the leader that is to be killed; 0: none is */

/* In the child, before fork(2) returns there: before it could ask to die with its parent. */
static void between(void)
{
	if (!kill_between)
		return;
	kill(kill_between, SIGKILL);
	while (getppid() == kill_between)
		usleep(100);
}

static bool all_gone(void *ctx)
{
	struct pollfd p = { .fd = lasting[0] };

	(void)ctx;
	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

static void lead_until_killed(bool in_fork, bool busy)
{
	static const struct as_crew_plan plans[] = {
		{ .who = "a mate", .how = AS_BIRTH_DEAF },
		{ .who = "a mate", .how = AS_BIRTH_GROUP | AS_BIRTH_PLAIN },
		{ .who = "a mate", .limited = true },
	};

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		pid_t leader;

		assert_int_equal(pipe(lasting), 0);
		leader = fork();
		if (!leader) {
			struct as_crew *c = as_crew_new(&plans[i], SEATS);

			close(lasting[0]);
			kill_between = in_fork ? getpid() : 0;
			for (unsigned k = 0; k < SEATS; k++)
				start(c, k, busy ? flood : hang_in_silence, NULL);
			for (unsigned k = 0; k < 3; k++)
				as_crew_wait(c, 10);
			raise(SIGKILL);
		}
		close(lasting[1]);
		waitpid(leader, NULL, 0);
		assert_true(t_wait_until(all_gone, NULL, GONE_MS));
		close(lasting[0]);
	}
}

static void test_leader_dies_in_fork(void **state)
{
	(void)state;
	lead_until_killed(true, false);
}

static void test_leader_dies_later(void **state)
{
	(void)state;
	lead_until_killed(false, false);
	lead_until_killed(false, true);
}

/* ---- Signals --------------------------------------------------------------------------------- */

static int tell_signals(struct as_mate *m, void *ctx, struct as_err *err)
{
	struct sigaction act;
	char text[4] = { 0 };
	const int sigs[] = { SIGINT, SIGTERM, SIGHUP };

	(void)ctx;
	(void)err;
	for (int i = 0; i < 3; i++) {
		sigaction(sigs[i], NULL, &act);
		text[i] = act.sa_handler == SIG_IGN ? 'i' : act.sa_handler == SIG_DFL ? 'd' : 'h';
	}
	return as_mate_say(m, text, 3);
}

static void test_signals(void **state)
{
	static const struct {
		unsigned how;
		const char *want;
	} rows[] = { { AS_BIRTH_DEAF, "iii," }, { AS_BIRTH_PLAIN, "ddi," }, { 0, "hhi," } };
	struct sigaction old[3], act = { .sa_handler = on_alarm };

	(void)state;
	sigaction(SIGINT, &act, &old[0]);
	sigaction(SIGTERM, &act, &old[1]);
	act.sa_handler = SIG_IGN; /* as after nohup(1) */
	sigaction(SIGHUP, &act, &old[2]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct as_crew_plan how = { .who = "a mate", .how = rows[i].how };
		struct as_crew *c = as_crew_new(&how, 1);
		struct as_buf said = { 0 };
		struct as_err err;

		start(c, 0, tell_signals, NULL);
		assert_int_equal(hear_all(c, 0, &said, &err), 0);
		assert_string_equal(as_buf_str(&said), rows[i].want);
		as_buf_free(&said);
		as_crew_free(c);
	}
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGTERM, &old[1], NULL);
	sigaction(SIGHUP, &old[2], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_ended_here),
		cmocka_unit_test(test_full_pipes),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_leader_dies_in_fork),
		cmocka_unit_test(test_leader_dies_later),
		cmocka_unit_test(test_signals),
	};

	pthread_atfork(NULL, NULL, between);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
