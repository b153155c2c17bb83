/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A labfs that leaves out one flush, whichever it is, is caught; the same run on one that leaves
 * out none finds nothing.
 *
 * Three flushes of the checker protect the repair of damage: of a disk that says that it is clean,
 * or of more than the journal holds. What a power cut leaves of a sound labfs is never that, so no
 * crash state can show them; tests/labfs/test_fsck_journal.c cuts the power during such repairs.
 */
#include "tests/lib/crash_rig.h"

#include <labfs/bug.h>

#define COMMITS "mkdir /a 0755\nmkdir /b 0755\nsync\nrename /a /b/c\nsync\n"
#define CHOWN_SYNC(id) "chown / " id " " id "\nsync\n"
/* Small transactions, then a big one that is written over several of them. */
#define SIX_SMALL       \
	CHOWN_SYNC("1") \
	CHOWN_SYNC("2") \
	CHOWN_SYNC("3") CHOWN_SYNC("4") CHOWN_SYNC("5") CHOWN_SYNC("6")
#define BIG                                                                                \
	"mkdir /d0 0755\nmkdir /d1 0755\nmkdir /d2 0755\nmkdir /d3 0755\nmkdir /d4 0755\n" \
	"mkdir /d5 0755\nsync\n"
/* A file that is removed while open: the checker has something to repair. */
#define ORPHANS                                               \
	"mkdir /a 0755\n$0 = open /a/f O_RDWR|O_CREAT 0644\n" \
	"pwrite $0 len=30000 at=0 fill=7\nsync\nunlink /a/f\nsync\nmkdir /b 0755\n"

/* A commit that is torn lies where the checker writes its own. */
#define AGED "mkdir /d 0755\nenlarge /d 20\numount\nmount\nchown /d/e1 1 1\nsync\n"

static const struct row {
	const char *site, *params, *workload; /* NULL: shown elsewhere */
} rows[] = {
	{ "COMMIT_BODY", "views=3,again=0", COMMITS },
	{ "COMMIT", "views=3,again=0", COMMITS },
	{ "CKPT_HOME", "views=3,again=0", COMMITS },
	{ "CKPT_TAIL", "views=3,again=0,ways=mount,trials=100",
	  SIX_SMALL CHOWN_SYNC("7") CHOWN_SYNC("8") CHOWN_SYNC("9") BIG },
	{ "REPLAY_HOME", "views=1+3,ways=mount", COMMITS },
	{ "REPLAY_CLEAR", "views=3,again=0,ways=mount,trials=100", SIX_SMALL "crash\n" BIG },
	{ "UNMOUNT", "views=3,again=0", COMMITS },
	{ "CK_REPLAY_HOME", "views=1+3,ways=full", COMMITS },
	{ "CK_REPLAY_CLEAR", "views=2+5,ways=full,prune=7", AGED },
	{ "CK_COMMIT", "views=1+3,ways=full", ORPHANS },
	{ "CK_HOME", "views=1+3,ways=full", ORPHANS },
	{ "CK_CLEAR", NULL, NULL },
	{ "CK_MARK", NULL, NULL },
	{ "CK_IN_PLACE", NULL, NULL },
	{ "CK_FINAL", "views=1+3,ways=full", "mkdir /a 0755\nsync\n" },
};

static const struct row *row_of(const char *site)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].site, site))
			return &rows[i];
	fail_msg("flush site %s has no row here", site);
	return NULL;
}

static void test_each(void **state)
{
	const struct lab_flush_row *site;

	(void)state;
	for (unsigned i = 0; (site = lab_flush_row(i)); i++) {
		const struct row *row = row_of(site->id);
		struct crash_rig rig;
		char spec[64];

		if (!row->workload)
			continue;
		snprintf(spec, sizeof(spec), "lab:noflush=%s", site->id);
		t_crash_once(&rig, spec, row->params, row->workload);
		if (!rig.n)
			fail_msg("nobody misses the flush %s (%s)", site->id, site->where);
		print_message("%s: %s\n", site->id, rig.caught[0].summary);
		t_crash_forget(&rig);
		t_crash_once(&rig, "lab", row->params, row->workload);
		if (rig.n)
			fail_msg("%s: with all flushes: %s", site->id, rig.caught[0].summary);
	}
}

/* On a disk that lies about its flushes, a sound file system cannot keep its promises either. */
static void test_lying(void **state)
{
	struct crash_rig rig;

	(void)state;
	t_crash_once(&rig, "lab", "views=3,again=0,lying=1", "mkdir /a 0755\nsync\n");
	assert_true(rig.n > 0);
	t_crash_forget(&rig);
	t_crash_once(&rig, "lab", "views=3,again=0", "mkdir /a 0755\nsync\n");
	assert_int_equal(rig.n, 0);
}

/* A file system that was told to leave out its flushes promises nothing: neither a tree, nor that a
 * checker has little to do, nor that its disk can be mounted. */
static void test_told_to(void **state)
{
	char all[1024] = "lab";
	struct crash_rig rig;
	unsigned found = 0;

	(void)state;
	for (unsigned i = 0; lab_flush_row(i); i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%cnoflush=%s",
			 i ? ',' : ':', lab_flush_row(i)->id);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].workload)
			continue;
		t_crash_once(&rig, all, rows[i].params, rows[i].workload);
		found += rig.n > 0;
		t_crash_forget(&rig);
		t_crash_once(&rig, "lab:nobarrier", rows[i].params, rows[i].workload);
		if (rig.n)
			fail_msg("nobarrier: %s", rig.caught[0].summary);
	}
	/* The same without the word is a bug. */
	assert_true(found > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_lying),
		cmocka_unit_test(test_told_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
