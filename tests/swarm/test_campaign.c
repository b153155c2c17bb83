/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Campaigns: the cells of a matrix, what is refused and where, who may have what without trust; the
 * lines of a ledger; how the time of a round is divided. */
#include "base/buf.h"
#include "swarm/allot.h"
#include "swarm/campaign.h"
#include "swarm/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct as_campaign *parse(const char *text)
{
	struct as_campaign *c;
	struct as_err err = { 0 };

	if (as_campaign_parse("c", text, strlen(text), &c, &err))
		fail_msg("%s", err.msg);
	return c;
}

static void words_of(const struct as_swarm_cell *cell, struct as_buf *out)
{
	as_buf_clear(out);
	for (size_t i = 0; cell->words[i]; i++)
		as_buf_addf(out, "%s[%s]", i ? " " : "", cell->words[i]);
}

/* ---- Cells ---- */

static const struct {
	const char *text;
	size_t n, doubles;
	const char *last; /* the words of the last cell */
} good[] = {
	{ "cells hunt --target lab\n", 1, 0, "[hunt] [--target] [lab]" },
	{ "cells hunt --target lab:bug={b}\n b 1 2 3\n", 3, 0, "[hunt] [--target] [lab:bug=3]" },
	{ "cells hunt -t {t} -s {s}\n t a b\n s 1..4\n", 8, 0, "[hunt] [-t] [b] [-s] [4]" },
	{ "cells hunt -t {t} -s {s}\n t a b\n s 1..4\n exclude t=b s=4\n", 7, 0,
	  "[hunt] [-t] [b] [-s] [3]" },
	{ "cells hunt -t {t} -s {s}\n t a b\n s 1..4\n exclude t=b\n include s=9 t=z\n", 5, 0,
	  "[hunt] [-t] [z] [-s] [9]" },
	{ "cells hunt -t {t}\n t a a b b\n", 2, 2, "[hunt] [-t] [b]" },
	{ "cells hunt {more} -t a\n more \"\" \"--faults --crash\"\n", 2, 0,
	  "[hunt] [--faults] [--crash] [-t] [a]" },
	{ "cells hunt -t x{v}y\n v \"a b\"\n", 1, 0, "[hunt] [-t] [xa by]" },
	{ "cells hunt -t a -s {s}\n s \"1..4\"\n", 1, 0, "[hunt] [-t] [a] [-s] [1..4]" },
	{ "cells check -t a\n shards 3\n", 3, 0, "[check] [-t] [a] [--shard] [3/3]" },
	{ "seed 2\ncells hunt -t a\n shards 2\n", 2, 0, "[hunt] [-t] [a] [--seed] [2000008]" },
	{ "# one\n\ncampaign x # two\ncells run w.txt\r\ncells crash w.txt\n", 2, 0,
	  "[crash] [w.txt]" },
};

static void test_cells(void **state)
{
	struct as_buf words = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct as_campaign *c = parse(good[i].text);

		assert_int_equal(c->n_cells, good[i].n);
		assert_int_equal(c->doubles, good[i].doubles);
		words_of(&c->cells[c->n_cells - 1], &words);
		assert_string_equal(as_buf_str(&words), good[i].last);
		for (size_t k = 0; k < c->n_cells; k++)
			assert_ptr_equal(as_campaign_find(c, c->cells[k].name), &c->cells[k]);
		assert_null(as_campaign_find(c, "c-0"));
		as_campaign_free(c);
	}
	as_buf_free(&words);
}

/* A cell keeps its name, and so its folder, if other cells come and go. */
static void test_names_stay(void **state)
{
	struct as_campaign *a = parse("cells hunt -t {t}\n t a b\n");
	struct as_campaign *b = parse("time 9s\ncells check -t x\ncells hunt -t {u}\n u z b\n");

	(void)state;
	assert_string_equal(a->cells[1].name, b->cells[2].name);
	assert_string_not_equal(a->cells[0].name, a->cells[1].name);
	as_campaign_free(a);
	as_campaign_free(b);
}

static const struct {
	const char *text, *message;
} bad[] = {
	{ "", "c: there is no line 'cells'" },
	{ "time 3s\n", "c: there is no line 'cells'" },
	{ "cells\n", "c:1:6: expected the command of the cells" },
	{ "cells frob\n", "c:1:7: expected hunt, check, fsck, crash, run or cov" },
	{ "cells hunt -o /etc\n", "c:1:12: a cell cannot have -o" },
	{ "cells hunt -o/etc\n", "c:1:12: a cell cannot have -o" },
	{ "cells hunt --out=/etc\n", "c:1:12: a cell cannot have --out" },
	{ "cells fsck e2fsck --export x\n", "c:1:19: a cell cannot have --export" },
	{ "cells hunt --for 3s\n", "c:1:12: a cell cannot have --for" },
	{ "cells hunt -t {x}\n", "c:1: there are no values for '{x}'" },
	{ "cells hunt -t {x\n x 1\n", "c:1: '{x' has no closing brace" },
	{ "cells hunt -t {x}\n x 1\n x 2\n", "c:3:2: 'x' is here twice" },
	{ "cells hunt -t {x}\n x 1\n priorty 2\n", "c:3:2: 'priorty' is no key here, and" },
	{ "cells hunt -t {x}\n x 1\n work 2\n", "c:3:2: 'work' is no key here" },
	{ "cells hunt -t {x}\n x\n", "c:2:3: expected one or more values of 'x'" },
	{ "cells hunt -t {x}\n x 9..3\n", "c:2:4: the range 9..3 has no value" },
	{ "cells hunt -t {x}\n x 1..999999\n", "c:2:4: the range 1..999999 has no value, or more" },
	{ "cells hunt -t {x}\n x 1\n exclude y=2\n", "c:3: there are no values for 'y'" },
	{ "cells hunt -t {x}\n x 1\n exclude x\n", "c:3:10: expected NAME=VALUE" },
	{ "cells hunt -t {x}\n x 1\n exclude x=1\n", "c: no cell is left" },
	{ "cells hunt -t {x}{y}\n x 1\n y 1\n include x=1\n", "c:4: an include line has a value" },
	{ "cells hunt -t {x}{y}\n x 1\n y 1\n include x=1 x=2\n", "c:4: 'y' has no value here" },
	{ "cells run w\n shards 2\n", "c:1: 'run' cannot be divided into shards" },
	{ "cells check -t a\n coverage\n", "c:2:1: only hunts count their system calls" },
	{ "cells hunt --cov x\n", "c:1:12: a cell cannot have --cov" },
	{ "time 0s\ncells hunt\n", "c:1:6: expected a time such as 90s, 10m or 1h" },
	{ "time 3x\ncells hunt\n", "c:1:6: expected a time such as" },
	{ "time 999999999999d\ncells hunt\n", "c:1:6: expected a time such as" },
	{ "memory 1\ncells hunt\n", "c:1:8: expected a size such as 512M" },
	{ "rounds 0\ncells hunt\n", "c:1:8: expected a number from 1 to 1000" },
	{ "priority 3\ncells hunt\n",
	  "c:1:1: unknown key 'priority' (no line 'cells' stands above" },
	{ "campaign ../x\ncells hunt\n", "c:1:10: expected a name of small letters" },
	{ "cells hunt\n X 1\n", "c:2:2: expected a key, or a name of small letters" },
	{ "scale 1/0\ncells hunt\n", "c:1:7: expected a factor such as 1/60 or 2" },
	{ "scale x\ncells hunt\n", "c:1:7: expected a factor such as 1/60 or 2" },
	{ "scale 9999999999\ncells hunt\n", "c:1:7: expected a factor such as 1/60 or 2" },
	{ "scale 60000\nscale 60000\ncells hunt\n", "c:2:7: expected a factor" },
	{ "work 0\ncells hunt\n", "c:1:6: expected a number" },
	{ "work 3\nbudget 9s\ncells hunt\n", "c:3: `work` does not go with a budget" },
	{ "work 3\ncells fsck e2fsck\n", "c:2: `work` does not go with fsck" },
	{ "cells hunt\n rows fs\n", "c:1: these cells have no line `table`" },
	{ "cells hunt\n table T\n", "c:2:9: expected columns, such as states" },
	{ "cells hunt\n table T kinds\n table U kinds\n", "c:3:1: these cells have a table" },
	{ "cells hunt\n table T kinds\n rows fs\n", "c:2: there are no values for 'fs'" },
	{ "cells hunt\n table T kinds\n then fs=3 \"x\"\n", "c:3: there are no values for 'fs'" },
	{ "cells hunt\n table T kinds\n then\n", "c:3:6: expected what the paper says" },
	{ "cells hunt -t {a}{b}{c}\n a 1..1000\n b 1..1000\n c 1..1000\n",
	  "c: there are more than 1000000 cells" },
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct as_err err = { 0 };
		struct as_campaign *c = NULL;

		if (as_campaign_parse("c", bad[i].text, strlen(bad[i].text), &c, &err) != AS_EUSE)
			fail_msg("accepted: %s", bad[i].text);
		assert_null(c);
		if (strncmp(err.msg, bad[i].message, strlen(bad[i].message)))
			fail_msg("%s\n got: %s\nwant: %s", bad[i].text, err.msg, bad[i].message);
	}
}

static void test_times(void **state)
{
	struct as_campaign *c = parse("time 60s\nbudget 100s\ncells hunt -t {t}\n t a b\n"
				      "cells check -t a\n time 80s\n");

	(void)state;
	/* 60 + 60 + 80 = 200 seconds do not fit: each has half. */
	assert_int_equal(as_cell_share(c, &c->cells[0]), 30);
	assert_int_equal(as_cell_share(c, &c->cells[2]), 40);
	as_campaign_free(c);
}

/* All times are multiplied; a slice of ten seconds is the shortest, unless there is one round. */
static void test_scale(void **state)
{
	static const struct {
		const char *text;
		uint64_t first, last, rounds;
	} rows[] = {
		{ "time 10m\nrounds 4\ncells hunt\ncells check\n time 5m\n", 600, 300, 4 },
		{ "scale 1/10\ntime 10m\nrounds 4\ncells hunt\ncells check\n time 5m\n", 60, 30,
		  3 },
		{ "scale 1/300\ntime 10m\nrounds 4\ncells hunt\ncells check\n time 5m\n", 2, 1, 1 },
		{ "scale 1/2\nscale 3\ntime 10m\nrounds 4\ncells hunt\n", 900, 900, 4 },
		{ "scale 1/2\ntime 10m\nbudget 10m\ncells hunt\ncells check\n", 150, 150, 1 },
		{ "scale 1/4\nwork 64\nrounds 8\ncells hunt\n", 16, 16, 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_campaign *c = parse(rows[i].text);

		assert_int_equal(as_cell_share(c, &c->cells[0]), rows[i].first);
		assert_int_equal(as_cell_share(c, &c->cells[c->n_cells - 1]), rows[i].last);
		assert_int_equal(c->rounds, rows[i].rounds);
		as_campaign_free(c);
	}
}

static const struct {
	const char *words;
	bool reaches;
} reach[] = {
	{ "hunt --target lab", false },
	{ "hunt --target ext4", false },
	{ "check --target ext4 --nodes 2", false },
	{ "fsck e2fsck", false },
	{ "hunt --target plugin:./x.so", true },
	{ "hunt --target=plugin:./x.so", true },
	{ "hunt -tplugin:./x.so", true },
	{ "hunt -t dir:/mnt", true },
	{ "hunt --diff lab,plugin:./x.so", true },
	{ "hunt --diff=lab,fuse:rm", true },
	{ "fsck \"checker:rm {{disk}}\"", true },
	{ "hunt -t ext4 --sandbox host", true },
	{ "hunt -t ext4 --sandbox=host", true },
	{ "hunt -t ext4 --sandbox uml", false },
	{ "hunt -t ext4 --uml ./linux", true },
	{ "run --trust w.txt", true },
	{ "cov record -- ls", true },
};

static void test_trust(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(reach) / sizeof(reach[0]); i++) {
		struct as_buf text = { 0 }, what = { 0 };
		struct as_campaign *c;

		if (strchr(reach[i].words, '{'))
			as_buf_adds(&text, "cells fsck {c}\n c \"checker:rm\"\n");
		else
			as_buf_addf(&text, "cells %s\n", reach[i].words);
		c = parse(as_buf_str(&text));
		if (as_cell_reaches(&c->cells[0], &what) != reach[i].reaches)
			fail_msg("%s", reach[i].words);
		assert_int_equal(what.len > 0, reach[i].reaches);
		as_campaign_free(c);
		as_buf_free(&text);
		as_buf_free(&what);
	}
}

/* ---- Lines of ledgers ---- */

static void test_slices(void **state)
{
	static const char *const refused[] = { "",    "{}",
					       "[1]", "{\"version\":2}",
					       "x",   "{\"version\":1,\"round\":-1}" };
	struct as_slice a = { .round = 3,
			      .planned_s = 10,
			      .wall_us = 12345678,
			      .status = 137,
			      .workloads = 1,
			      .ops = 2,
			      .states = 3,
			      .kinds = 4,
			      .met = 5,
			      .fresh = 6,
			      .work = 7,
			      .cpu_us = 8,
			      .load = 9,
			      .counts = { [AS_SLICE_paths] = 10 },
			      .complete = true,
			      .said = "no \"room\"" },
			b;
	struct as_buf line = { 0 };

	(void)state;
	as_slice_print(&a, &line);
	assert_true(as_slice_parse(as_buf_str(&line), line.len - 1, &b));
	assert_int_equal(a.round, b.round);
	assert_int_equal(a.planned_s, b.planned_s);
	assert_int_equal(a.wall_us, b.wall_us);
	assert_int_equal(a.status, b.status);
	assert_int_equal(a.workloads + a.ops * 10 + a.states * 100,
			 b.workloads + b.ops * 10 + b.states * 100);
	assert_int_equal(a.kinds + a.met * 10 + a.fresh * 100,
			 b.kinds + b.met * 10 + b.fresh * 100);
	assert_int_equal(a.work + a.cpu_us * 10 + a.load * 100,
			 b.work + b.cpu_us * 10 + b.load * 100);
	assert_memory_equal(a.counts, b.counts, sizeof(a.counts));
	assert_true(b.complete);
	assert_string_equal(a.said, b.said);
	for (size_t len = 0; len + 1 < line.len; len++)
		assert_false(as_slice_parse(as_buf_str(&line), len, &b));
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(as_slice_parse(refused[i], strlen(refused[i]), &b));
	as_buf_free(&line);
}

/* A hunt counts from its beginning, a check its states; garbage between lines is passed over. */
static void test_read(void **state)
{
	static const char hunt[] = "{\"event\":\"note\"}\nxx\n"
				   "{\"event\":\"done\",\"workloads\":9,\"ops\":100}\n{\"event\":";
	static const char check[] = "{\"event\":\"check\",\"states\":50,\"all\":true}\n"
				    "{\"event\":\"done\",\"workloads\":5,\"ops\":70}\n";
	struct as_swarm_tally before = { .workloads = 4, .ops = 30, .states = 20 };
	struct as_slice slice = { 0 };

	(void)state;
	as_slice_read(as_swarm_command("hunt"), &before, hunt, sizeof(hunt) - 1, &slice);
	assert_int_equal(slice.workloads, 5);
	assert_int_equal(slice.ops, 70);
	slice = (struct as_slice){ 0 };
	as_slice_read(as_swarm_command("check"), &before, check, sizeof(check) - 1, &slice);
	assert_int_equal(slice.states, 30);
	assert_int_equal(slice.ops, 70);
	assert_true(slice.complete);
}

/* ---- Time ---- */

static void test_allot(void **state)
{
	struct as_campaign *c = parse("time 40s\nrounds 4\ncells hunt -t {t}\n t a b c d\n");
	struct as_swarm_tally tallies[4] = { 0 };
	struct as_ledger ledger = { .campaign = c, .tallies = tallies };
	uint64_t slices[4], sum = 0;

	(void)state;
	assert_int_equal(as_allot(&ledger, 1, false, slices), 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(slices[i], 10);
		tallies[i].slices = 1;
		tallies[i].used_us = 10000000;
	}
	tallies[0].new_causes = 1; /* it still shows something new, */
	tallies[1].met_since = 500; /* it shows the same again and again, */
	tallies[2].complete = true; /* it is done, */
	assert_int_equal(as_allot(&ledger, 2, false, slices), 3);
	for (int i = 0; i < 4; i++)
		sum += slices[i];
	assert_in_range(sum, 36, 40);
	assert_true(slices[0] > slices[3] && slices[3] > slices[1] && slices[1] > 0);
	assert_int_equal(slices[2], 0);
	assert_int_equal(as_allot(&ledger, 2, true, slices), 3);
	assert_int_equal(slices[0], 10);
	assert_int_equal(slices[1], 10);
	tallies[0].given_up = true;
	assert_int_equal(as_allot(&ledger, 2, false, slices), 2);
	/* All of it is used: nothing is left to divide. */
	for (int i = 0; i < 4; i++)
		tallies[i].used_us = 40000000;
	assert_int_equal(as_allot(&ledger, 4, false, slices), 0);
	as_campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells), cmocka_unit_test(test_names_stay),
		cmocka_unit_test(test_bad),   cmocka_unit_test(test_times),
		cmocka_unit_test(test_trust), cmocka_unit_test(test_slices),
		cmocka_unit_test(test_read),  cmocka_unit_test(test_allot),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
