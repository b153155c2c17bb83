/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event: kinds by name, and every sink of the chain hears everything that it asked for. */
#include "base/event.h"
#include "progress/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

struct listener {
	struct as_sink sink;
	int findings, notes, dones;
	char last[64];
};

static void on_finding(struct as_sink *sink, const struct as_finding *finding)
{
	struct listener *l = (struct listener *)sink;

	l->findings++;
	snprintf(l->last, sizeof(l->last), "%s %s", finding->id, finding->summary);
}

static void on_note(struct as_sink *sink, const char *line)
{
	struct listener *l = (struct listener *)sink;

	l->notes++;
	snprintf(l->last, sizeof(l->last), "%s", line);
}

static void on_done(struct as_sink *sink, const struct as_run_result *stats)
{
	((struct listener *)sink)->dones += (int)stats->workloads;
}

static void test_chain(void **state)
{
	struct listener last = {
		.sink = { .finding = on_finding, .note = on_note, .done = on_done }
	};
	struct listener deaf = { .sink = { .next = &last.sink } };
	struct listener first = {
		.sink = { .finding = on_finding, .done = on_done, .next = &deaf.sink }
	};
	struct as_finding finding = { .id = "id1", .kind = AS_FIND_DATA, .summary = "wrong bytes" };
	struct as_run_result stats = { .workloads = 3 };

	(void)state;
	as_emit_finding(&first.sink, &finding);
	assert_string_equal(first.last, "id1 wrong bytes");
	assert_string_equal(last.last, "id1 wrong bytes");
	as_emit_note(&first.sink, "%d of %d", 1, 2);
	assert_string_equal(last.last, "1 of 2");
	as_emit_done(&first.sink, &stats);
	assert_int_equal(first.findings * 100 + first.notes * 10 + first.dones, 103);
	assert_int_equal(last.findings * 100 + last.notes * 10 + last.dones, 113);
	as_emit_finding(NULL, &finding);
	as_emit_note(NULL, "nobody");
	as_emit_done(NULL, &stats);
}

static void test_kind_names(void **state)
{
	/* Written out: these are part of ids and files. */
	static const char *const names[AS_FIND_KINDS] = {
		"outcome", "data",   "tree",	  "signal", "hang",	"leak", "checker",
		"mount",   "misuse", "kernel",	  "crash",  "recovery", "race", "diff",
		"lock",	   "pair",   "invariant", "silent", "limit",	"fsck",
	};

	(void)state;
	for (int i = 0; i < AS_FIND_KINDS; i++) {
		assert_string_equal(as_finding_kind_name((enum as_finding_kind)i), names[i]);
		assert_int_equal(as_finding_kind_parse(names[i]), i);
	}
	assert_int_equal(as_finding_kind_parse("nothing"), -1);
	assert_int_equal(as_finding_kind_parse(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_kind_names),
	};

	return cmocka_run_group_tests_name("base/event", tests, NULL, NULL);
}
