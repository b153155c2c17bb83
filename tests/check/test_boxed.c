/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: a check in a sandbox whose kernel panics. This program is what runs in the guest, too: as
 * its first process, and as its engine, which is assay's own with somebody beside it who waits for
 * an operation and brings the kernel down. It costs that one transition.
 */
#include "tests/lib/skip.h"

#include "check/check_priv.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "supervise/wire.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY 65534
#define MISCHIEF_SEED 77u
#define SLOW_SEED 78u /* the same, and what is to confirm it does not come back */

/* ---- In the guest ---------------------------------------------------------------------------- */

static void panic(void)
{
	int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "c", 1) != 1)
		_exit(1);
}

/* Waits until crash states after a mkdir are judged, which takes a while. */
static void lurk(const char *state_path, const char *call_path)
{
	const struct as_check_lane *lane;
	struct as_box_state *state = NULL;
	struct as_buf text = { 0 };
	struct as_wire_call wire;
	const char *params;

	if (as_buf_read_file(&text, call_path, 1 << 24, NULL) ||
	    as_wire_call_parse(as_buf_str(&text), text.len, &wire, NULL) ||
	    as_box_state_open(state_path, &state, NULL))
		_exit(1);
	if (wire.options.seed != MISCHIEF_SEED && wire.options.seed != SLOW_SEED)
		_exit(0);
	if (!as_scenario_is_check(wire.options.scenario, &params)) {
		if (wire.options.seed == SLOW_SEED)
			kill(getppid(), SIGSTOP);
		_exit(0);
	}
	lane = (const struct as_check_lane *)(const void *)state->engine;
	while (lane->phase != AS_CHECK_CRASH || strcmp(lane->tried.line, "mkdir /a 0755"))
		poll(NULL, 0, 1);
	panic();
	_exit(0);
}

extern const struct as_command as_cmd_engine;

static int engine_main(int argc, char **argv)
{
	static const struct as_command *const commands[] = { &as_cmd_engine, NULL };

	if (!fork())
		lurk(argv[2], argv[3]);
	return as_cli_main(commands, argc, argv);
}

/* ---- Outside --------------------------------------------------------------------------------- */

#define DEADLINE_MS 300000
#define CONFIRM_US 4000000

static struct as_buf notes; /* what the last check has said */

static void keep_note(struct as_sink *sink, const char *text)
{
	(void)sink;
	as_buf_addf(&notes, "%s\n", text);
}

static int explore(uint64_t seed, const char *ops, struct as_check_status *status,
		   struct as_err *err)
{
	struct as_sink sink = { .note = keep_note };
	struct as_run_options run = { .deadline_ms = DEADLINE_MS, .seed = seed };
	struct as_check_options options = { .nodes = 1,
					    .depth = 1,
					    .ops = ops,
					    .crash = true,
					    .crashes = as_crash_options_default(),
					    .jobs = 1,
					    .max_states = 1000,
					    .confirm_us = seed == SLOW_SEED ? CONFIRM_US : 0,
					    .fd = -1 };
	struct as_check_args args = { .run = &run, .options = &options, .sinks = &sink };
	struct as_args none = { 0 };
	struct as_target *target = NULL;
	struct as_cli_box box = { 0 };
	int rc = as_target_open("ext4", &target, err);

	as_buf_clear(&notes);
	options.crashes.budget = 4;
	args.target = target;
	if (!rc) {
		run.size_bytes = as_target_small_bytes(target);
		rc = as_cli_box_open(&none, "ext4", run.size_bytes, &box, err);
	}
	if (!rc) {
		box.boxed.options = run;
		args.box = &box.boxed;
		rc = as_check(&args, status, err);
		as_cli_box_close(&box);
	}
	as_target_free(target);
	return rc;
}

static void explore_or_skip(uint64_t seed, const char *ops, struct as_check_status *status)
{
	struct as_err err = { 0 };
	int rc = explore(seed, ops, status, &err);

	if (rc == AS_ELACK)
		skip_because("%s", err.msg);
	if (rc)
		fail_msg("%s", err.msg);
}

static void test_panic(void **state)
{
	struct as_check_status sound, harmed;

	(void)state;
	explore_or_skip(1, "mkdir,create", &sound);
	/* But for what the budget leaves out. */
	assert_int_equal(sound.frontier, 0);
	assert_int_equal(sound.gaps, sound.counts.unlooked > 0);
	assert_int_equal(sound.counts.deaths, 0);
	assert_int_equal(sound.counts.suspects, 0);
	assert_int_equal(sound.counts.expanded, 1);
	assert_true(sound.counts.crash.generated > 0);
	assert_true(sound.states >= 3);
	explore_or_skip(MISCHIEF_SEED, "mkdir,create", &harmed);
	assert_int_equal(harmed.counts.deaths, 1);
	/* It goes on without that operation, and tries all others. */
	assert_int_equal(harmed.counts.expanded, 1);
	assert_int_equal(harmed.counts.transitions, sound.counts.transitions - 1);
	assert_int_equal(harmed.states, sound.states - 1);
	assert_false(harmed.all);
	assert_true(harmed.gaps > 0);
	/* It was not the file system. */
	assert_int_equal(harmed.counts.suspects, 1);
	assert_int_equal(harmed.counts.unconfirmed, 1);
	assert_int_equal(harmed.counts.findings, 0);
	assert_non_null(strstr(as_buf_str(&notes), "not confirmed when it was run alone: "));
	assert_null(strstr(as_buf_str(&notes), "for want of time"));
	assert_non_null(strstr(as_buf_str(&notes), "    mkdir /a 0755"));
}

/* A sandbox that does not come back when something is to be confirmed costs its time only. */
static void test_slow(void **state)
{
	struct as_check_status status;

	(void)state;
	explore_or_skip(SLOW_SEED, "mkdir,create", &status);
	assert_int_equal(status.counts.deaths, 1);
	assert_int_equal(status.counts.unconfirmed, 1);
	assert_int_equal(status.counts.findings, 0);
	/* Its own deadline is longer. */
	assert_true(status.wall_us >= CONFIRM_US);
	assert_true(status.wall_us < DEADLINE_MS * 1000LL);
	/* And it is said that it was not the file system's answer, but the time. */
	assert_non_null(strstr(as_buf_str(&notes), "not confirmed for want of time: "));
	assert_null(strstr(as_buf_str(&notes), "when it was run alone"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_panic),
					    cmocka_unit_test(test_slow) };
	int failed;

	if (getpid() == 1 && !strcmp(argv[0], "/init"))
		as_guest_main();
	if (argc > 2 && !strcmp(argv[1], AS_WIRE_ENGINE))
		return engine_main(argc, argv);
	/* All of this is for ordinary users. */
	if (!geteuid() && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return 2;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	as_buf_free(&notes);
	return failed;
}
