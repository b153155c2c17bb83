/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a hunt divides the budget of a workload: every kind of state has a part, what finds more has
 * more, the same comes again, a state is not tried beyond the part of its kind, and a finding keeps
 * the share of its workload.
 */
#include "cuts/plan.h"
#include "cuts/share.h"
#include "tests/lib/crash_rig.h"

#define WORKLOADS 400

static struct as_seq *workload(unsigned i)
{
	struct as_seq *seq = NULL;
	char text[64];

	snprintf(text, sizeof(text), "mkdir /d%u 0755\nsync\n", i);
	assert_int_equal(as_parse_text("workload", text, strlen(text), &seq, NULL), 0);
	return seq;
}

/* The parts of many workloads, summed up. */
static void sum_parts(const struct as_shares *so_far, uint64_t seed, unsigned *sum)
{
	memset(sum, 0, AS_SHARE_DIVIDED * sizeof(*sum));
	for (unsigned i = 0; i < WORKLOADS; i++) {
		struct as_seq *seq = workload(i);
		struct as_share share = as_share_draw(seq, seed, so_far);
		struct as_share again = as_share_draw(seq, seed, so_far);
		unsigned all = 0;

		assert_memory_equal(&share, &again, sizeof(share));
		for (unsigned r = 0; r < AS_SHARE_DIVIDED; r++) {
			assert_true(share.part[r] >= 1);
			all += share.part[r];
			sum[r] += share.part[r];
		}
		assert_int_equal(all, AS_SHARE_PARTS);
		as_seq_free(seq);
	}
}

/* Every row has cost the same, and gave as many disks as recoveries. */
static struct as_shares even(void)
{
	struct as_shares shares = { 0 };

	for (unsigned r = 0; r < AS_SHARE_ROWS; r++) {
		shares.n[r][AS_SHARE_COST] = 1000 * AS_COST_RECOVERY;
		shares.n[r][AS_SHARE_DISKS] = 1000;
	}
	return shares;
}

static void test_worth(void **state)
{
	unsigned usual[AS_SHARE_DIVIDED], other[AS_SHARE_DIVIDED], now[AS_SHARE_DIVIDED];
	struct as_shares nothing = { 0 }, shares = even();

	(void)state;
	sum_parts(&nothing, 1, usual);
	sum_parts(&nothing, 2, other);
	assert_memory_not_equal(usual, other, sizeof(usual));
	/* What is worth as much as all others has what is usual. */
	sum_parts(&shares, 1, now);
	assert_memory_equal(usual, now, sizeof(usual));
	for (unsigned r = 0; r < AS_SHARE_DIVIDED; r++) {
		for (unsigned column = AS_SHARE_DISKS; column < AS_SHARE_COLUMNS; column++) {
			shares = even();
			shares.n[r][column] += 4000;
			sum_parts(&shares, 1, now);
			assert_true(now[r] > usual[r] * 12 / 10);
		}
		/* It finds nothing: it has less, but it has something. */
		shares = even();
		shares.n[r][AS_SHARE_DISKS] = 0;
		sum_parts(&shares, 1, now);
		assert_true(now[r] < usual[r] * 9 / 10 && now[r] >= WORKLOADS);
	}
}

static void test_chances(void **state)
{
	struct as_shares nothing = { 0 }, shares = even();
	struct as_share_chances usual = as_share_chances(&nothing), now;

	(void)state;
	assert_int_equal(usual.hold, AS_SHARE_OF / 4);
	assert_int_equal(usual.early, AS_SHARE_OF / 4);
	assert_int_equal(usual.rounds, AS_SHARE_OF / 4);
	shares.n[AS_SHARE_HOLD][AS_SHARE_DISKS] = 0;
	shares.n[AS_SHARE_EARLY][AS_SHARE_TREES] = 1000000;
	now = as_share_chances(&shares);
	assert_int_equal(now.rounds, usual.rounds);
	assert_in_range(now.hold, 1, usual.hold - 1);
	assert_in_range(now.early, usual.early + 1, AS_SHARE_OF / 2);
}

static void test_text(void **state)
{
	static const char *const wrong[] = {
		"",	      "1",	     "1.2.3.4.5",    "1.2.3.4.5.6.7",
		"1.2.3.4.5.", "0.2.3.4.5.6", "33.2.3.4.5.6", "-1.2.3.4.5.6"
	};
	struct as_crash_options options, back;
	struct as_shares shares = even();
	unsigned before[AS_SHARE_DIVIDED], after[AS_SHARE_DIVIDED];
	struct as_buf text = { 0 };

	(void)state;
	assert_int_equal(as_crash_options_parse("share=9.4.3.2.4.10", &options, NULL), 0);
	assert_int_equal(options.share.part[AS_SHARE_AGAIN], 10);
	as_crash_options_print(&options, &text);
	assert_non_null(strstr(as_buf_str(&text), ",share=9.4.3.2.4.10"));
	assert_int_equal(as_crash_options_parse(as_buf_str(&text), &back, NULL), 0);
	assert_memory_equal(&options.share, &back.share, sizeof(back.share));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(as_share_parse("share", wrong[i], &back.share, NULL), AS_EUSE);
	/* What was counted before decides the same when it was text in between. */
	shares.n[AS_SHARE_VIEW_1 + 2][AS_SHARE_TREES] = 77;
	shares.n[AS_SHARE_AGAIN][AS_SHARE_FOUND] = 9;
	as_buf_clear(&text);
	as_buf_adds(&text, "tally=");
	as_share_print_tally(&shares, &text);
	assert_int_equal(as_crash_options_parse(as_buf_str(&text), &options, NULL), 0);
	sum_parts(&shares, 5, before);
	sum_parts(&options.so_far, 5, after);
	assert_memory_equal(before, after, sizeof(before));
	as_buf_free(&text);
}

#define WORKLOAD                                                                       \
	"mkdir /a 0755\ncreate /a/f 0644\nsync\nrename /a/f /g\n$0 = open /g O_RDWR\n" \
	"pwrite $0 len=9000 at=0 fill=3\nfsync $0\n"

/* No row takes more than its part, but for the state with which it ends; all states are counted. */
static void test_limits(void **state)
{
	static const char *const shares[] = { "27.1.1.1.1.1", "1.27.1.1.1.1", "1.1.27.1.1.1",
					      "1.1.1.27.1.1", "1.1.1.1.27.1", "1.1.1.1.1.27" };
	uint64_t cost[AS_SHARE_DIVIDED][AS_SHARE_DIVIDED];
	struct crash_rig rig;
	char params[64];

	(void)state;
	for (unsigned i = 0; i < AS_SHARE_DIVIDED; i++) {
		const struct as_shares *s = &rig.result.shares;
		uint64_t states = 0;

		snprintf(params, sizeof(params), "budget=64,share=%s", shares[i]);
		t_crash_once(&rig, "lab", params, WORKLOAD);
		assert_int_equal(rig.n, 0);
		for (unsigned r = 0; r < AS_SHARE_DIVIDED; r++) {
			uint64_t part = 64 * AS_COST_RECOVERY * (r == i ? 27 : 1) / AS_SHARE_PARTS;

			cost[i][r] = s->n[r][AS_SHARE_COST];
			if (r != AS_SHARE_AGAIN) {
				assert_in_range(cost[i][r], 1, part + 4 * AS_COST_RECOVERY);
				states += s->n[r][AS_SHARE_STATES];
			}
		}
		assert_int_equal(states, rig.counts.generated);
		assert_int_equal(s->n[AS_SHARE_AGAIN][AS_SHARE_STATES], rig.counts.again);
		assert_true(s->n[AS_SHARE_VIEW_1][AS_SHARE_TREES] > (i == 0));
		assert_int_equal(s->n[AS_SHARE_ROUNDS][AS_SHARE_STATES], 0);
	}
	for (unsigned r = 0; r < AS_SHARE_DIVIDED; r++)
		assert_true(cost[r][r] > cost[(r + 1) % AS_SHARE_DIVIDED][r]);
}

/* A finding has the share of its workload, and comes again with it. */
static void test_kept(void **state)
{
	struct crash_rig rig, again;

	(void)state;
	t_crash_once(&rig, "lab:bug=35", "budget=96,share=4.1.20.1.1.5", WORKLOAD);
	assert_true(rig.n > 0);
	assert_non_null(strstr(rig.caught[0].options, ",share=4.1.20.1.1.5"));
	assert_true(rig.result.shares.n[AS_SHARE_VIEW_1 + 2][AS_SHARE_FOUND] > 0);
	t_crash_once(&again, "lab:bug=35", t_crash_params(&rig.caught[0]), WORKLOAD);
	assert_int_equal(again.n, 1);
	assert_string_equal(again.caught[0].signature, rig.caught[0].signature);
	assert_string_equal(again.caught[0].options, rig.caught[0].options);
	t_crash_forget(&again);
	t_crash_forget(&rig);
}

/* Rows that count states again by how they came about. */
static void test_modes(void **state)
{
	struct crash_rig rig;

	(void)state;
	t_crash_once(&rig, "lab", "budget=64,rounds=2,hold=4", WORKLOAD);
	assert_int_equal(rig.n, 0);
	assert_true(rig.result.shares.n[AS_SHARE_ROUNDS][AS_SHARE_STATES] > 0);
	assert_int_equal(rig.result.shares.n[AS_SHARE_HOLD][AS_SHARE_STATES],
			 rig.counts.generated + rig.counts.again);
	assert_int_equal(rig.result.shares.n[AS_SHARE_EARLY][AS_SHARE_STATES], 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worth), cmocka_unit_test(test_chances),
		cmocka_unit_test(test_text),  cmocka_unit_test(test_limits),
		cmocka_unit_test(test_kept),  cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
