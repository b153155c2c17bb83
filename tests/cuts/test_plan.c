/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order in which crash states are looked at within a budget: every state comes exactly once, as
 * it does without a budget; view 1 comes first; and what is spent stays within the budget.
 */
#include "cuts/plan.h"
#include "cuts/spot.h"
#include "tests/lib/crash_rig.h"
#include "tests/lib/disk.h"

#define BYTES (64 * 1024)
#define STATES_MAX 20000

/* ---- Plans ----------------------------------------------------------------------------------- */

struct record {
	struct as_chunks *store;
	struct as_disk *start, *disk;
	struct as_reclog *log;
};

static void record_begin(struct record *r)
{
	r->store = as_chunks_new();
	r->disk = t_disk_new(r->store, BYTES);
	r->start = as_disk_snapshot(r->disk);
	r->log = as_reclog_new(as_disk_bd(r->disk), 0, 0);
}

/* Several writes of different lengths between flushes, and one write in many sectors. */
static void record_open(struct record *r)
{
	static unsigned char data[BYTES];

	record_begin(r);
	for (unsigned i = 0; i < 24; i++) {
		size_t len = i == 11 ? 20 * 512 : (1 + i % 3) * 512;

		as_reclog_set_op(r->log, i);
		t_fill(data, len, 100 + i);
		assert_int_equal(as_bd_write(as_reclog_bd(r->log), i * 1024, data, len), 0);
		if (i % 9 == 8)
			assert_int_equal(as_bd_flush(as_reclog_bd(r->log)), 0);
	}
}

static void record_close(struct record *r)
{
	as_reclog_free(r->log);
	as_disk_free(r->start);
	as_disk_free(r->disk);
	as_chunks_free(r->store);
}

static bool all_at_some(void *ctx, enum as_view view, size_t k)
{
	(void)ctx;
	(void)view;
	return !k || k % 7 == 5;
}

static bool all_at_start(void *ctx, enum as_view view, size_t k)
{
	(void)ctx;
	(void)view;
	return !k;
}

static bool skip_last(void *ctx, enum as_view view, size_t k)
{
	(void)view;
	return k + 1 == as_perm_cuts(ctx);
}

struct seen {
	unsigned view;
	size_t cut;
	uint64_t index;
};

static int by_place(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->view != y->view)
		return x->view < y->view ? -1 : 1;
	if (x->cut != y->cut)
		return x->cut < y->cut ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* All states of a plan, sorted. */
static size_t gather(struct as_perm *perm, uint64_t limit, struct seen *seen, uint64_t *count)
{
	struct as_crash_plan_of of = { .perm = perm,
				       .views = AS_VIEWS_ALL,
				       .limit = limit,
				       .cost = AS_COST_RECOVERY,
				       .all = all_at_some,
				       .skip = skip_last,
				       .ctx = perm };
	struct as_crash_plan *plan = as_crash_plan_new(&of);
	struct as_crash_turn turn;
	struct as_perm_state state;
	uint64_t number = 0;
	size_t n = 0;

	*count = as_crash_plan_count(plan);
	while (as_crash_plan_next(plan, &turn)) {
		assert_int_equal(turn.number, ++number);
		as_crash_turn_begin(&turn, perm);
		while (as_perm_next(perm, &state)) {
			assert_true(n < STATES_MAX);
			seen[n++] = (struct seen){ state.view, state.cut, state.index };
		}
		*count -= as_crash_turn_missing(&turn, perm);
	}
	as_crash_plan_free(plan);
	qsort(seen, n, sizeof(*seen), by_place);
	return n;
}

static void test_all_once(void **state)
{
	struct as_perm_options options = { .t = 5, .trials = 7, .sector_bytes = 512 };
	struct seen *plain = calloc(STATES_MAX, sizeof(*plain));
	struct seen *some = calloc(STATES_MAX, sizeof(*some));
	struct as_perm *perm;
	struct record r;
	uint64_t count;
	size_t n;

	(void)state;
	record_open(&r);
	perm = as_perm_new(r.log, r.start, &options);
	n = gather(perm, 0, plain, &count);
	assert_true(n > 500);
	assert_int_equal(count, n);
	for (uint64_t limit = 1; limit < (uint64_t)1 << 40; limit *= 37) {
		assert_int_equal(gather(perm, limit, some, &count), n);
		assert_int_equal(count, n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(by_place(&plain[i], &some[i]), 0);
	}
	as_perm_free(perm);
	record_close(&r);
	free(plain);
	free(some);
}

/* With half of the limit for all cuts, view 1 comes first, at every cut and in order. */
static void test_view_1_first(void **state)
{
	struct as_perm_options options = { .t = 5, .trials = 7, .sector_bytes = 512 };
	struct as_crash_plan_of of = { .views = AS_VIEWS_ALL,
				       .cost = AS_COST_RECOVERY,
				       .all = all_at_some };
	struct as_crash_plan *plan;
	struct as_crash_turn turn;
	struct record r;
	size_t last = 0;

	(void)state;
	record_open(&r);
	of.perm = as_perm_new(r.log, r.start, &options);
	of.limit = 2 * as_perm_cuts(of.perm) * of.cost;
	plan = as_crash_plan_new(&of);
	while (as_crash_plan_next(plan, &turn) && turn.view == AS_VIEW_SYNC_ATOMIC) {
		assert_true(!turn.cut || turn.cut > last);
		last = turn.cut;
	}
	assert_int_equal(last, as_perm_cuts(of.perm) - 1);
	while (as_crash_plan_next(plan, &turn))
		assert_int_not_equal(turn.view, AS_VIEW_SYNC_ATOMIC);
	as_crash_plan_free(plan);
	/* With less, the cuts that come first are those at promises. */
	of.limit = 2 * of.cost;
	plan = as_crash_plan_new(&of);
	assert_true(as_crash_plan_next(plan, &turn));
	assert_int_equal(turn.cut, 4);
	as_crash_plan_free(plan);
	as_perm_free((struct as_perm *)of.perm);
	record_close(&r);
}

/* A record of flash, with many steps of each program: cuts between programs come before most of
 * those within one. */
static void test_steps_later(void **state)
{
	enum { PROGRAMS = 16, STEPS = 64 };
	struct as_perm_options options = { .t = 5, .trials = 7, .sector_bytes = 512 };
	struct as_crash_plan_of of = { .views = 1u << AS_VIEW_SYNC_ATOMIC,
				       .limit = 1,
				       .cost = AS_COST_RECOVERY,
				       .all = all_at_start };
	unsigned char data[512];
	size_t n_steps = 0, n_whole = 0;
	struct as_crash_plan *plan;
	struct as_crash_turn turn;
	struct record r;

	(void)state;
	record_begin(&r);
	as_reclog_uncached(r.log);
	for (unsigned i = 0; i < PROGRAMS * STEPS; i++) {
		as_reclog_set_op(r.log, i / STEPS / 2);
		t_fill(data, sizeof(data), 100 + i);
		assert_int_equal(as_bd_write(as_reclog_bd(r.log), i / STEPS * 1024, data, 512), 0);
	}
	of.perm = as_perm_new(r.log, r.start, &options);
	plan = as_crash_plan_new(&of);
	/* Each write has two cuts, issued and stable; the second has no states of its own. */
	while (n_whole < PROGRAMS + 1 && as_crash_plan_next(plan, &turn)) {
		bool step = as_perm_cut(of.perm, turn.cut).step;

		assert_int_equal(step, turn.cut && (turn.cut + 1) / 2 % STEPS);
		n_steps += step;
		n_whole += !step;
	}
	assert_int_equal(n_whole, PROGRAMS + 1);
	assert_true(n_steps > 2 && n_steps < 2 * n_whole);
	while (as_crash_plan_next(plan, &turn))
		n_steps++;
	assert_int_equal(n_steps, PROGRAMS * (STEPS - 1));
	as_crash_plan_free(plan);
	as_perm_free((struct as_perm *)of.perm);
	record_close(&r);
}

static void test_rounds(void **state)
{
	unsigned met[8] = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		assert_true(as_perm_round(i, 100) <= as_perm_rounds(100));
		met[as_perm_round(i, 100)]++;
	}
	assert_int_equal(met[0], 1);
	assert_int_equal(met[1], 1);
	assert_int_equal(met[2], 2); /* 32 and 96 */
	assert_int_equal(as_perm_rounds(1), 0);
}

/* ---- Budgets --------------------------------------------------------------------------------- */

#define WORKLOAD                                                                       \
	"mkdir /a 0755\ncreate /a/f 0644\nsync\nrename /a/f /g\n$0 = open /g O_RDWR\n" \
	"pwrite $0 len=9000 at=0 fill=3\nfsync $0\n"

static void test_budget(void **state)
{
	static const unsigned budgets[] = { 1, 20, 100, 500 };
	struct as_crash_counts before = { 0 };
	struct crash_rig rig;
	char params[32];

	(void)state;
	for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		struct as_crash_counts *c = &rig.counts;

		snprintf(params, sizeof(params), "budget=%u", budgets[i]);
		t_crash_once(&rig, "lab", params, WORKLOAD);
		assert_int_equal(rig.n, 0);
		/* What is begun is ended: a state, by two ways. */
		assert_true(c->checked + c->again_checked <= budgets[i] + 2);
		assert_true(rig.result.looked < rig.result.possible);
		assert_true(c->generated > before.generated);
		assert_int_equal(rig.result.looked, c->generated + c->again);
		assert_int_equal(rig.result.possible, c->possible + c->again_possible);
		before = *c;
		/* Nothing but the workload and the budget decides. */
		t_crash_once(&rig, "lab", params, WORKLOAD);
		assert_memory_equal(&before, c, sizeof(before));
	}
}

/* A budget that is large enough changes nothing but the order. */
static void test_enough(void **state)
{
	struct crash_rig rig, all;

	(void)state;
	t_crash_once(&all, "lab", "again=0", WORKLOAD);
	t_crash_once(&rig, "lab", "again=0,budget=1000000", WORKLOAD);
	assert_int_equal(all.counts.generated, all.counts.possible);
	assert_int_equal(rig.counts.generated, rig.counts.possible);
	assert_int_equal(rig.counts.generated, all.counts.generated);
	t_crash_once(&all, "lab", "", WORKLOAD);
	assert_int_equal(all.counts.again, all.counts.again_possible);
	t_crash_once(&rig, "lab", "budget=10000000", WORKLOAD);
	assert_int_equal(rig.counts.generated, all.counts.generated);
	assert_int_equal(rig.counts.again, rig.counts.again_possible);
}

/* A disk that may say that it is clean and not be is judged by the full checker alone. */
static void test_ways(void **state)
{
	uint32_t mount = 1u << AS_WAY_MOUNT, usual = 1u << AS_WAY_DEFAULT, full = 1u << AS_WAY_FULL,
		 commit = 1u << AS_WAY_COMMIT;

	(void)state;
	assert_int_equal(as_crash_ways_left(mount | full | commit, false, false),
			 mount | full | commit);
	assert_int_equal(as_crash_ways_left(mount | full | commit, true, false), mount | full);
	assert_int_equal(as_crash_ways_left(usual | full, false, true), full);
	assert_int_equal(as_crash_ways_left(usual, false, true), usual);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_later), cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_all_once),    cmocka_unit_test(test_view_1_first),
		cmocka_unit_test(test_budget),	    cmocka_unit_test(test_enough),
		cmocka_unit_test(test_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
