/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Crash states. Records are written as words: wSECTOR.SECTORS a write, d a discard, z a zero, f a
 * flush. What must come out is worked out a second time, slowly, on plain arrays: for each cut the
 * list of units that the view speaks of, and every subset of it.
 */
#include "tests/lib/disk.h"

#include "base/buf.h"
#include "cuts/perm.h"

#include <stdio.h>
#include <stdlib.h>

#define SECTORS 32u
#define BYTES (SECTORS * 512u)

/* One call: what, where. */
struct call {
	char letter;
	unsigned first, n;
};

struct rig {
	struct as_chunks *store;
	struct as_disk *start, *disk;
	struct as_reclog *log;
	struct call call[64];
	unsigned n;
	unsigned char bytes[64][BYTES]; /* what each call writes, where it does */
};

static void play(struct rig *rig, struct call call)
{
	struct as_bd *bd = as_reclog_bd(rig->log);
	unsigned char *data = rig->bytes[rig->n] + call.first * 512;
	size_t len = call.n * 512;

	rig->call[rig->n] = call;
	as_reclog_set_op(rig->log, rig->n);
	if (call.letter == 'w') {
		t_fill(data, len, 1000 + rig->n);
		assert_int_equal(as_bd_write(bd, call.first * 512, data, len), 0);
	} else if (call.letter == 'd') {
		assert_int_equal(as_bd_discard(bd, call.first * 512, len), 0);
	} else if (call.letter == 'z') {
		assert_int_equal(as_bd_zero(bd, call.first * 512, len), 0);
	} else {
		assert_int_equal(as_bd_flush(bd), 0);
	}
	rig->n++;
}

static struct rig *rig_new(const char *words)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	unsigned char old[BYTES];

	rig->store = as_chunks_new();
	rig->disk = t_disk_new(rig->store, BYTES);
	t_fill(old, sizeof(old), 7);
	assert_int_equal(as_bd_write(as_disk_bd(rig->disk), 0, old, sizeof(old)), 0);
	rig->start = as_disk_snapshot(rig->disk);
	rig->log = as_reclog_new(as_disk_bd(rig->disk), 0, 0);
	while (*words) {
		struct call call = { .letter = *words };

		if (call.letter != 'f')
			assert_int_equal(sscanf(words + 1, "%u.%u", &call.first, &call.n), 2);
		play(rig, call);
		words += strcspn(words, " ");
		words += *words == ' ';
	}
	return rig;
}

static void rig_free(struct rig *rig)
{
	as_reclog_free(rig->log);
	as_disk_free(rig->disk);
	as_disk_free(rig->start);
	t_store_done(rig->store);
	free(rig);
}

/* ---- The slow way ---------------------------------------------------------------------------- */

struct piece {
	unsigned call, first, n;
};

struct slow {
	unsigned char base[BYTES];
	struct piece piece[64];
	unsigned n;
};

static void lay(const struct rig *rig, unsigned char *disk, struct piece p)
{
	memcpy(disk + p.first * 512, rig->bytes[p.call] + p.first * 512, p.n * 512);
}

static void add_pieces(struct slow *s, const struct rig *rig, unsigned c, bool torn,
		       unsigned sector)
{
	const struct call *call = &rig->call[c];

	if (!torn) {
		s->piece[s->n++] = (struct piece){ c, call->first, call->n };
		return;
	}
	for (unsigned at = call->first; at < call->first + call->n;) {
		unsigned end = (at / sector + 1) * sector;

		if (end > call->first + call->n)
			end = call->first + call->n;
		s->piece[s->n++] = (struct piece){ c, at, end - at };
		at = end;
	}
}

/* Of the cut after call c (0: before the first). */
static void slow_cut(struct slow *s, const struct rig *rig, enum as_view view, unsigned c,
		     const struct as_perm_options *o)
{
	bool sync = view != AS_VIEW_ATOMIC && view != AS_VIEW_SECTORS;
	bool torn = view == AS_VIEW_SYNC_LEFT || view == AS_VIEW_SYNC_SECTORS;
	unsigned base = sync ? c : 0;

	memset(s, 0, sizeof(*s));
	assert_int_equal(as_bd_read(as_disk_bd(rig->start), 0, s->base, BYTES), 0);
	for (unsigned i = 0; i < c && !sync; i++)
		if (rig->call[i].letter == 'f' && !o->lying_flush)
			base = i + 1;
	if (torn && c && rig->call[c - 1].letter != 'f')
		base = c - 1;
	for (unsigned i = 0; i < base; i++)
		if (rig->call[i].letter != 'f')
			lay(rig, s->base, (struct piece){ i, rig->call[i].first, rig->call[i].n });
	for (unsigned i = base; i < c; i++)
		if (rig->call[i].letter != 'f')
			add_pieces(s, rig, i, view != AS_VIEW_ATOMIC, o->sector_bytes / 512);
}

static void slow_disk(const struct slow *s, const struct rig *rig, uint64_t mask,
		      unsigned char *disk)
{
	memcpy(disk, s->base, BYTES);
	for (unsigned i = 0; i < s->n; i++)
		if (mask >> i & 1)
			lay(rig, disk, s->piece[i]);
}

/* ---- Sets of disks --------------------------------------------------------------------------- */

struct set {
	struct as_digest digest[1 << 16];
	unsigned n;
};

static bool has(const struct set *set, struct as_digest d)
{
	for (unsigned i = 0; i < set->n; i++)
		if (as_digest_eq(set->digest[i], d))
			return true;
	return false;
}

static void put(struct set *set, struct as_digest d)
{
	if (!has(set, d))
		set->digest[set->n++] = d;
}

static struct as_digest picture(struct as_disk *disk)
{
	unsigned char all[BYTES];

	assert_int_equal(as_bd_read(as_disk_bd(disk), 0, all, BYTES), 0);
	return as_hash(all, BYTES);
}

static void take_all(struct as_perm *perm, enum as_view view, size_t cut, bool all, struct set *set)
{
	struct as_perm_state state;
	uint64_t index = 0;

	as_perm_begin(perm, view, cut, all);
	while (as_perm_next(perm, &state)) {
		struct as_disk *disk = as_perm_disk(perm);

		assert_int_equal(state.index, index++);
		assert_int_equal(state.cut, cut);
		assert_int_equal(state.view, view);
		put(set, picture(disk));
		as_disk_free(disk);
	}
}

static const struct as_perm_options plain = { .t = 5, .trials = 7, .sector_bytes = 512 };

static const char *const records[] = {
	"w0.1 w1.1 f w2.1",
	"w0.2 w4.2 w1.2 f w0.1 w0.1 w3.1",
	"w0.1 d0.2 z1.1 w1.1 f f d3.2",
	"w0.4 f w0.4 f w2.4",
	"f w5.1",
	"",
};

/* As long as there are few enough units: exactly every subset. */
static void test_exhaustive(void **state)
{
	struct as_perm_options o = { .t = 12, .trials = 0, .sector_bytes = 512 };
	struct set *got = calloc(1, sizeof(*got)), *want = calloc(1, sizeof(*want));

	(void)state;
	for (size_t r = 0; r < sizeof(records) / sizeof(records[0]); r++) {
		struct rig *rig = rig_new(records[r]);
		struct as_perm *perm = as_perm_new(rig->log, rig->start, &o);
		static const enum as_view views[] = { AS_VIEW_SYNC_ATOMIC, AS_VIEW_ATOMIC,
						      AS_VIEW_SECTORS };

		assert_int_equal(as_perm_cuts(perm), rig->n + 1);
		for (unsigned v = 0; v < 3; v++) {
			for (unsigned c = 0; c <= rig->n; c++) {
				struct slow s;

				slow_cut(&s, rig, views[v], c, &o);
				got->n = want->n = 0;
				for (uint64_t mask = 0; mask < (uint64_t)1 << s.n; mask++) {
					unsigned char disk[BYTES];

					slow_disk(&s, rig, mask, disk);
					put(want, as_hash(disk, BYTES));
				}
				take_all(perm, views[v], c, true, got);
				assert_int_equal(got->n, want->n);
				for (unsigned i = 0; i < want->n; i++)
					assert_true(has(got, want->digest[i]));
			}
		}
		as_perm_free(perm);
		rig_free(rig);
	}
	free(got);
	free(want);
}

/* Every state that a cut leaves out is a state of an earlier cut. */
static void test_nothing_is_lost(void **state)
{
	struct as_perm_options o = { .t = 12, .trials = 0, .sector_bytes = 512 };
	struct set *some = calloc(1, sizeof(*some)), *all = calloc(1, sizeof(*all));

	(void)state;
	for (size_t r = 0; r < sizeof(records) / sizeof(records[0]); r++) {
		struct rig *rig = rig_new(records[r]);
		struct as_perm *perm = as_perm_new(rig->log, rig->start, &o);

		for (unsigned v = 1; v < AS_VIEWS; v++) {
			some->n = all->n = 0;
			for (size_t c = 0; c < as_perm_cuts(perm); c++) {
				take_all(perm, (enum as_view)v, c, false, some);
				take_all(perm, (enum as_view)v, c, true, all);
			}
			assert_int_equal(some->n, all->n);
		}
		as_perm_free(perm);
		rig_free(rig);
	}
	free(some);
	free(all);
}

/* In the torn views: parts of the last write over all before it. */
static void test_torn(void **state)
{
	struct rig *rig = rig_new("w0.1 w8.3 f w1.2");
	struct as_perm *perm = as_perm_new(rig->log, rig->start, &plain);
	struct set *left = calloc(1, sizeof(*left)), *any = calloc(1, sizeof(*any));
	unsigned char disk[BYTES];
	struct slow s;

	(void)state;
	take_all(perm, AS_VIEW_SYNC_LEFT, 2, true, left);
	take_all(perm, AS_VIEW_SYNC_SECTORS, 2, true, any);
	assert_int_equal(left->n, 3); /* one, two, three sectors */
	assert_int_equal(any->n, 7); /* but not none: that is the cut before */
	slow_cut(&s, rig, AS_VIEW_SYNC_LEFT, 2, &plain);
	for (uint64_t mask = 1; mask < 8; mask++) {
		slow_disk(&s, rig, mask, disk);
		assert_true(has(any, as_hash(disk, BYTES)));
		assert_int_equal(has(left, as_hash(disk, BYTES)), !(mask & (mask + 1)));
	}
	/* A flush cannot be torn. */
	left->n = 0;
	take_all(perm, AS_VIEW_SYNC_LEFT, 3, true, left);
	take_all(perm, AS_VIEW_SYNC_SECTORS, 3, true, left);
	assert_int_equal(left->n, 0);
	as_perm_free(perm);
	rig_free(rig);
	free(left);
	free(any);
}

/* Beyond t: none, all, prefixes, all but one, and the trials. */
static void test_many(void **state)
{
	struct rig *rig = rig_new("w0.1 w1.1 w2.1 w3.1 w4.1 w5.1 w6.1 w7.1");
	struct as_perm *perm = as_perm_new(rig->log, rig->start, &plain);
	struct set *got = calloc(1, sizeof(*got));
	unsigned char disk[BYTES];
	struct slow s;
	unsigned others = 0;

	(void)state;
	slow_cut(&s, rig, AS_VIEW_ATOMIC, 8, &plain);
	take_all(perm, AS_VIEW_ATOMIC, 8, true, got);
	for (uint64_t mask = 0; mask < 256; mask++) {
		bool prefix = !(mask & (mask + 1)), but_one = __builtin_popcountll(mask) == 7;

		slow_disk(&s, rig, mask, disk);
		if (prefix || but_one)
			assert_true(has(got, as_hash(disk, BYTES)));
		else
			others += has(got, as_hash(disk, BYTES));
	}
	assert_in_range(others, 1, 7);
	assert_int_equal(got->n, 9 + 7 + others);
	as_perm_free(perm);
	rig_free(rig);
	free(got);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

struct pair {
	struct as_digest key, picture;
};

static unsigned collect(struct as_perm *perm, struct pair *pair, unsigned max)
{
	struct as_perm_state state;
	unsigned n = 0;

	for (unsigned v = 1; v < AS_VIEWS; v++)
		for (size_t c = 0; c < as_perm_cuts(perm); c++) {
			as_perm_begin(perm, (enum as_view)v, c, true);
			while (as_perm_next(perm, &state) && n < max) {
				struct as_disk *disk = as_perm_disk(perm);

				pair[n++] = (struct pair){ state.key, picture(disk) };
				as_disk_free(disk);
			}
		}
	return n;
}

/* Equal keys are equal disks, across views, cuts and records. */
static void test_keys(void **state)
{
	static const char *const same_start[] = { "w0.2 w4.2 w1.2 f w0.1 w0.1 w3.1 d0.2 w0.4",
						  "w0.2 f w4.2 z0.1 w1.2 w3.1 w3.1" };
	struct pair *pair = calloc(20000, sizeof(*pair));
	unsigned n = 0, equal = 0;

	(void)state;
	for (size_t r = 0; r < 2; r++) {
		struct rig *rig = rig_new(same_start[r]);
		struct as_perm *perm = as_perm_new(rig->log, rig->start, &plain);

		n += collect(perm, pair + n, 4000);
		as_perm_free(perm);
		rig_free(rig);
	}
	assert_in_range(n, 300, 8000);
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < i; j++) {
			bool keys = as_digest_eq(pair[i].key, pair[j].key);

			equal += keys;
			if (keys != as_digest_eq(pair[i].picture, pair[j].picture))
				fail_msg("states %u and %u: keys are %s, disks are not", j, i,
					 keys ? "equal" : "different");
		}
	assert_in_range(equal, 100, UINT32_MAX);
	free(pair);
}

/* ---- By name, options ------------------------------------------------------------------------ */

static void test_pick(void **state)
{
	struct rig *rig = rig_new("w0.2 w4.2 w1.2 w6.3 w9.1 w10.1 f w0.1 w0.1 w3.1");
	struct as_perm *perm = as_perm_new(rig->log, rig->start, &plain);
	struct as_perm *other = as_perm_new(rig->log, rig->start, &plain);
	struct as_perm_state s, p;
	struct as_buf units = { 0 };
	unsigned n = 0;

	(void)state;
	for (unsigned v = 1; v < AS_VIEWS; v++)
		for (size_t c = 0; c < as_perm_cuts(perm); c++) {
			as_perm_begin(perm, (enum as_view)v, c, true);
			while (as_perm_next(perm, &s)) {
				as_buf_clear(&units);
				as_perm_print_units(perm, &units);
				assert_true(as_perm_pick(other, s.view, c, as_buf_str(&units), &p));
				assert_true(as_digest_eq(p.key, s.key));
				assert_int_equal(p.n_kept, s.n_kept);
				n++;
			}
		}
	assert_in_range(n, 200, 5000);
	assert_false(as_perm_pick(other, AS_VIEW_ATOMIC, 3, "4", &p));
	assert_false(as_perm_pick(other, AS_VIEW_ATOMIC, 3, "0", &p));
	assert_false(as_perm_pick(other, AS_VIEW_ATOMIC, 3, "2-1", &p));
	assert_false(as_perm_pick(other, AS_VIEW_ATOMIC, 3, "1;2", &p));
	assert_false(as_perm_pick(other, AS_VIEW_ATOMIC, 99, "1", &p));
	as_buf_free(&units);
	as_perm_free(perm);
	as_perm_free(other);
	rig_free(rig);
}

/* The trials are the same every time, and not the same for other sectors. */
static void test_trials_replay(void **state)
{
	static const char *const words[] = { "w0.1 w1.1 w2.1 w3.1 w4.1 w5.1 w6.1 w7.1 w8.1 w9.1",
					     "w10.1 w1.1 w2.1 w3.1 w4.1 w5.1 w6.1 w7.1 w8.1 w9.1" };
	struct as_buf got[3] = { { 0 } };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rig *rig = rig_new(words[i / 2]);
		struct as_perm *perm = as_perm_new(rig->log, rig->start, &plain);
		struct as_perm_state s;

		as_perm_begin(perm, AS_VIEW_ATOMIC, 10, true);
		while (as_perm_next(perm, &s)) {
			as_perm_print_units(perm, &got[i]);
			as_buf_addc(&got[i], '\n');
		}
		as_perm_free(perm);
		rig_free(rig);
	}
	assert_string_equal(as_buf_str(&got[0]), as_buf_str(&got[1]));
	assert_string_not_equal(as_buf_str(&got[0]), as_buf_str(&got[2]));
	for (unsigned i = 0; i < 3; i++)
		as_buf_free(&got[i]);
}

static void test_sector_size(void **state)
{
	struct as_perm_options o = { .t = 5, .trials = 7, .sector_bytes = 4096 };
	struct rig *rig = rig_new("w0.16 w20.6");
	struct as_perm *perm = as_perm_new(rig->log, rig->start, &o);
	struct as_perm_state s;

	(void)state;
	as_perm_begin(perm, AS_VIEW_SECTORS, 2, true);
	assert_true(as_perm_next(perm, &s));
	/* Two whole blocks; and one of six sectors that lies across two. */
	assert_int_equal(s.n_units, 4);
	assert_int_equal(as_perm_unit(perm, 2).len, 4 * 512);
	assert_int_equal(as_perm_unit(perm, 3).len, 2 * 512);
	as_perm_free(perm);
	rig_free(rig);
}

static void test_lying_flush(void **state)
{
	struct as_perm_options o = { 5, 7, 512, .lying_flush = true };
	struct rig *rig = rig_new("w0.1 f w1.1 f w2.1 f");
	struct as_perm *perm = as_perm_new(rig->log, rig->start, &o);
	struct as_perm *honest = as_perm_new(rig->log, rig->start, &plain);
	struct set *got = calloc(1, sizeof(*got));

	(void)state;
	assert_int_equal(as_perm_cut(honest, 6).n_pending, 0);
	assert_int_equal(as_perm_cut(perm, 6).n_pending, 3);
	take_all(perm, AS_VIEW_ATOMIC, 6, true, got);
	assert_int_equal(got->n, 8);
	got->n = 0;
	take_all(honest, AS_VIEW_ATOMIC, 6, true, got);
	assert_int_equal(got->n, 1);
	as_perm_free(perm);
	as_perm_free(honest);
	rig_free(rig);
	free(got);
}

static void test_views_parse(void **state)
{
	static const struct {
		const char *text;
		uint32_t views; /* 0: refused */
	} rows[] = { { "all", AS_VIEWS_ALL },
		     { "3", 8 },
		     { "1,5", 2 | 32 },
		     { "0", 0 },
		     { "6", 0 },
		     { "", 0 },
		     { "3,", 0 },
		     { "31", 0 },
		     { "many", 0 },
		     { ",3", 0 },
		     { "3,,4", 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_err err = { 0 };
		uint32_t views;
		int rc = as_views_parse(rows[i].text, &views, &err);

		assert_int_equal(!rc, rows[i].views != 0);
		if (!rc)
			assert_int_equal(views, rows[i].views);
		else
			assert_true(*err.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exhaustive),    cmocka_unit_test(test_nothing_is_lost),
		cmocka_unit_test(test_torn),	      cmocka_unit_test(test_many),
		cmocka_unit_test(test_keys),	      cmocka_unit_test(test_pick),
		cmocka_unit_test(test_trials_replay), cmocka_unit_test(test_sector_size),
		cmocka_unit_test(test_lying_flush),   cmocka_unit_test(test_views_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
