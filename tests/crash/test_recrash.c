/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Power cuts during recovery: what each of the three rules leaves out; that what they leave out
 * does not matter; and recoveries that are interrupted twice.
 */
#include "tests/lib/crash_rig.h"
#include "tests/lib/disk.h"

#include "crash/recrash.h"

#define BYTES (64 * 512u)

/* ---- The rules ------------------------------------------------------------------------------- */

/* A recovery as words: rN reads sector N, wN writes it with new bytes, sN with those that are
 * there, f flushes. */
static struct as_reclog *play(struct as_disk *disk, const char *words)
{
	struct as_reclog *log = as_reclog_new(as_disk_bd(disk), AS_RECLOG_READS, 0);
	struct as_bd *bd = as_reclog_bd(log);
	unsigned char buf[512];

	for (unsigned i = 0; *words; i++) {
		uint64_t off = strtoul(words + 1, NULL, 10) * 512;

		if (*words == 'r') {
			assert_int_equal(as_bd_read(bd, off, buf, 512), 0);
		} else if (*words == 'f') {
			assert_int_equal(as_bd_flush(bd), 0);
		} else {
			if (*words == 's')
				assert_int_equal(as_bd_read(as_disk_bd(disk), off, buf, 512), 0);
			else
				t_fill(buf, sizeof(buf), 100 + i);
			assert_int_equal(as_bd_write(bd, off, buf, 512), 0);
		}
		words += strcspn(words, " ");
		words += *words == ' ';
	}
	return log;
}

static const struct {
	const char *name, *words, *units; /* kept, at the last cut, writes reordered */
	unsigned rules; /* 0: it must be tried */
} rules[] = {
	{ "nothing read", "w1 w2", "all", AS_PRUNE_UNREAD },
	{ "read elsewhere", "r5 r6 w1 w2", "1", AS_PRUNE_UNREAD },
	{ "read before it is written", "r1 w1", "all", 0 },
	{ "read, but not what is kept", "r1 w1 w2", "2", AS_PRUNE_UNREAD },
	{ "written with what was there", "r1 s1", "all", AS_PRUNE_SAME },
	{ "the same and unread", "r1 s1 w2", "all", AS_PRUNE_SAME | AS_PRUNE_UNREAD },
	{ "read only after its own write", "w1 r1 w1", "all", AS_PRUNE_OWN | AS_PRUNE_UNREAD },
	{ "the second write of what it wrote", "w1 r1 w1", "2", AS_PRUNE_OWN },
	{ "one that matters among many", "r3 w1 w2 w3", "all", 0 },
	{ "stable, and it matters", "r1 w1 f w2", "all", 0 },
	{ "stable, and it does not", "w1 f r1 w2", "all", AS_PRUNE_UNREAD },
	{ "none kept", "r1 w1", "none", AS_PRUNE_SAME },
};

static void test_rules(void **state)
{
	static const struct as_perm_options plain = { .t = 5, .trials = 7, .sector_bytes = 512 };

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct as_chunks *store = as_chunks_new();
		struct as_disk *disk = t_disk_new(store, BYTES), *start, *crashed;
		unsigned char old[BYTES];
		struct as_perm_state s;
		struct as_readset *set;
		struct as_reclog *log;
		struct as_perm *perm;
		unsigned got;

		t_fill(old, sizeof(old), 7);
		assert_int_equal(as_bd_write(as_disk_bd(disk), 0, old, sizeof(old)), 0);
		start = as_disk_snapshot(disk);
		log = play(disk, rules[i].words);
		perm = as_perm_new(log, start, &plain);
		set = as_readset_new(log, start);
		assert_true(as_perm_pick(perm, AS_VIEW_ATOMIC, as_perm_cuts(perm) - 1,
					 rules[i].units, &s));
		crashed = as_perm_disk(perm);
		got = as_readset_prunes(set, perm, &s, crashed);
		if (got != rules[i].rules)
			fail_msg("%s: rules %u, not %u", rules[i].name, got, rules[i].rules);
		as_disk_free(crashed);
		as_readset_free(set);
		as_perm_free(perm);
		as_reclog_free(log);
		as_disk_free(start);
		as_disk_free(disk);
		t_store_done(store);
	}
}

/* ---- On labfs -------------------------------------------------------------------------------- */

#define COMMITS "mkdir /a 0755\nmkdir /b 0755\nsync\nrename /a /b/c\nsync\n"
#define ORPHANS                                               \
	"mkdir /a 0755\n$0 = open /a/f O_RDWR|O_CREAT 0644\n" \
	"pwrite $0 len=30000 at=0 fill=7\nsync\nunlink /a/f\nsync\n"

static void params_of(unsigned prune, unsigned again, char *params, size_t cap)
{
	snprintf(params, cap, "views=1+3,prune=%u,again=%u", prune, again);
}

/* What is left out does not matter: tried all the same, it changes nothing. */
static void test_verify(void **state)
{
	static const char *const workloads[] = { COMMITS, ORPHANS };
	struct crash_rig rig;
	char params[64];

	(void)state;
	params_of(AS_PRUNE_ALL | AS_PRUNE_VERIFY, 1, params, sizeof(params));
	for (size_t i = 0; i < 2; i++) {
		t_crash_once(&rig, "lab", params, workloads[i]);
		if (rig.n)
			fail_msg("%s", rig.caught[0].summary);
		assert_true(rig.counts.pruned[0] > 0 && rig.counts.pruned[1] > 0);
		assert_true(rig.counts.twins > 0);
		assert_true(rig.counts.again_checked + rig.counts.again_memoised > 500);
	}
}

/* Fewer are tried, and the same is found. */
static void test_same_findings(void **state)
{
	static const char *const specs[] = { "lab:bug=37", "lab:bug=59",
					     "lab:noflush=CK_REPLAY_HOME", "lab" };

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct crash_rig all, none;
		uint64_t tried[2];
		char params[64];

		params_of(0, 1, params, sizeof(params));
		t_crash_once(&none, specs[i], params, COMMITS);
		params_of(AS_PRUNE_ALL, 1, params, sizeof(params));
		t_crash_once(&all, specs[i], params, COMMITS);
		tried[0] = none.counts.again_checked + none.counts.again_memoised;
		tried[1] = all.counts.again_checked + all.counts.again_memoised;
		assert_int_equal(none.counts.pruned[0] + none.counts.pruned[1], 0);
		assert_true(tried[1] * 2 < tried[0]);
		assert_int_equal(!all.n, !none.n);
		assert_int_equal(!all.n, !strcmp(specs[i], "lab"));
		for (size_t k = 0; k < all.n; k++) {
			bool there = false;

			for (size_t m = 0; m < none.n; m++)
				there |= !strcmp(all.caught[k].signature, none.caught[m].signature);
			assert_true(there);
		}
		t_crash_forget(&all);
		t_crash_forget(&none);
	}
}

/* A recovery that is interrupted, begun again, and interrupted again. */
static void test_twice(void **state)
{
	struct crash_rig once, twice;

	(void)state;
	t_crash_once(&once, "lab", "views=1,ways=mount,again=1", COMMITS);
	t_crash_once(&twice, "lab", "views=1,ways=mount,again=2", COMMITS);
	assert_int_equal(once.n + twice.n, 0);
	assert_true(twice.counts.again > once.counts.again);
	t_crash_once(&once, "lab", "views=1,ways=mount,again=0", COMMITS);
	assert_int_equal(once.counts.again, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_same_findings),
		cmocka_unit_test(test_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
