/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions of xfs get new numbers: two recoveries of the same disk leave the same bytes, and a
 * log with new numbers is replayed as before. It needs root.
 */
#include "tests/lib/crashed.h"

#include "host/host.h"
#include "recover/step.h"
#include "recover/xfs_log.h"
#include "snapshot/tree.h"
#include "target/target.h"

#include <signal.h>

typedef bool (*state_fn)(void *ctx, struct as_disk *disk, size_t cut);

struct subject {
	struct as_recoverer *recoverer;
	struct as_disk *start;
	unsigned replayed, renumbered;
};

static struct as_stepped mount_of(struct subject *s, struct as_disk *disk, bool logged)
{
	unsigned wants = AS_STEP_WANT_DISK | (logged ? AS_STEP_WANT_LOG : 0);
	struct as_stepped stepped;

	child_ok(as_step(s->recoverer, AS_STEP_MOUNT, disk, wants, &stepped, &t_child_err));
	if (stepped.end != AS_RECOVERED)
		fprintf(stderr, "%s\n", as_buf_str(&stepped.why));
	child_check(stepped.end == AS_RECOVERED && stepped.disk && stepped.tree);
	return stepped;
}

/* On a file in memory, and on a served disk, whose record leads to the same bytes. */
static bool leaves_the_same(void *ctx, struct as_disk *disk, size_t cut)
{
	struct subject *s = ctx;
	struct as_stepped a = mount_of(s, disk, false), b = mount_of(s, disk, true);
	struct as_disk *again = as_disk_snapshot(disk);

	(void)cut;
	child_check(as_disk_eq(a.disk, b.disk));
	child_ok(as_reclog_replay(b.log, 0, as_reclog_len(b.log), as_disk_bd(again), &t_child_err));
	child_check(as_disk_eq(again, b.disk));
	s->replayed += !as_disk_eq(a.disk, disk);
	as_disk_free(again);
	as_stepped_free(&a);
	as_stepped_free(&b);
	return true;
}

/* The workload's own transactions get new numbers: a mount finds the same tree. */
static bool is_replayed_the_same(void *ctx, struct as_disk *disk, size_t cut)
{
	struct subject *s = ctx;
	struct as_disk *other = as_disk_snapshot(disk);
	struct as_stepped a, b;
	struct as_buf how = { 0 };

	as_xfs_log_settle(s->start, other, NULL, 0);
	s->renumbered += !as_disk_eq(disk, other);
	a = mount_of(s, disk, false);
	b = mount_of(s, other, false);
	if (as_tree_diff(a.tree, "as it was", b.tree, "with new numbers", &how))
		fprintf(stderr, "cut %zu: %s\n", cut, as_buf_str(&how));
	child_check(!how.len);
	s->replayed += !as_disk_eq(a.disk, disk);
	as_buf_free(&how);
	as_disk_free(other);
	as_stepped_free(&a);
	as_stepped_free(&b);
	return true;
}

static int child(void *ctx)
{
	state_fn fn = *(const state_fn *)ctx;
	const struct as_recover_options options = { .memo = AS_MEMO_OFF };
	struct crashed c = t_crash_type("xfs");
	static struct as_host_log log;
	struct as_target *target;
	struct subject s = { .start = c.start };

	child_ok(as_target_open_type(c.type, "", &target, &t_child_err));
	child_ok(as_recoverer_new(target, 0, &log, &options, &s.recoverer, &t_child_err));
	child_check(t_each_state(&c, AS_VIEW_ATOMIC, 7, fn, &s) > 5);
	child_check(s.replayed);
	child_check(fn == leaves_the_same || s.renumbered);
	as_recoverer_free(s.recoverer);
	as_target_free(target);
	t_crashed_free(&c);
	return 0;
}

static void run(state_fn fn)
{
	t_need_host("xfs");
	t_in_child(child, &fn);
}

static void test_same_bytes(void **state)
{
	(void)state;
	run(leaves_the_same);
}

static void test_same_tree(void **state)
{
	(void)state;
	run(is_replayed_the_same);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_same_tree),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
