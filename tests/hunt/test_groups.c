/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups: kinds of findings by likely cause, case by case. */
#include "hunt/groups.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define KINDS_MAX 6

struct kind {
	const char *cause;
	const char *steps; /* "": not reduced */
	uint64_t ops; /* of the reduced workload */
	unsigned view; /* 0: no power cut */
	char group; /* kinds with the same letter are one group */
	uint64_t count; /* 0: 1 */
};

struct row {
	const char *name;
	struct kind kinds[KINDS_MAX]; /* each with a signature of its own, unless a cut's says it */
	const char *first; /* the name of the group with most findings; NULL: any */
};

#define NOT_KEPT "crash: persisted: a state from before "
#define UNTIDY \
	"crash: complained: the full check after recovery and unmount: finds something to repair: "
#define AGAIN_MOUNT "recovery: a power cut during recovery (mount): "
#define AGAIN_FULL "recovery: a power cut during recovery (full, then mount): "

static const struct row rows[] = {
	{ "one cause, two symptoms; most findings first",
	  { { "state: size of a file; after open O_TRUNC", "make,write,open O_TRUNC,", 5, 0, 'a',
	      3 },
	    { "state: stray bytes of a file; after open O_TRUNC", "make,truncate,open O_TRUNC,", 4,
	      0, 'a', 4 },
	    { "answer: rename: EEXIST, model says success", "make,make,", 3, 0, 'b', 9 } },
	  "answer: rename: EEXIST, model says success" },
	{ "what comes of it, and what does not need it",
	  { { "state: link count of a file; after hardlink", "make,hardlink,", 3, 0, 'a', 0 },
	    { "answer: a damaged object: EUCLEAN; after unlink", "make,hardlink,remove,chmod,", 5,
	      0, 'a', 0 },
	    { "state: type of a file; after mkdir", "make,hardlink,remove,make,", 6, 0, 'a', 0 },
	    { "state: mode of a file; after chmod", "make,chmod,", 3, 0, 'b', 0 },
	    { "state: size of a file; after write", "", 0, 0, 'c', 0 } },
	  "state: link count of a file; after hardlink" },
	{ "not reduced: known by its symptom alone",
	  { { "state: size of a file; after truncate", "make,truncate,", 2, 0, 'a', 0 },
	    { "state: size of a file; after chmod", "", 0, 0, 'a', 0 },
	    { "state: owner of a file; after write", "", 0, 0, 'b', 0 },
	    { "state: owner of a file; after make", "", 0, 0, 'b', 0 } },
	  NULL },
	{ "what nearly every workload does explains nothing",
	  { { "state: stray bytes of a file", "make,write,", 2, 0, 'a', 0 },
	    { "state: size of a file; after write O_APPEND", "make,write,write O_APPEND,", 4, 0,
	      'b', 0 } },
	  NULL },

	/* Power cuts. */
	{ "a promise: times, sizes and names are one; other changes are others",
	  { { "crash: times: another mtime after fsync; after fallocate, then fsync of a file",
	      "make,write,fsync,fallocate,fsync,", 5, 1, 'a', 0 },
	    { "crash: blocks: fewer blocks after fsync; after fallocate, then fsync of a file",
	      "make,truncate,fsync,fallocate,fsync,", 6, 1, 'a', 0 },
	    { NOT_KEPT "fsync; after fallocate PUNCH_HOLE, then fsync of a file",
	      "make,write,fsync,fallocate PUNCH_HOLE,fsync,", 5, 1, 'b', 0 } },
	  "crash: not kept: fsync; after fallocate, then fsync of a file" },
	{ "a longer workload that contains the promise",
	  { { NOT_KEPT "fsync; after hardlink, then fsync of a file", "make,hardlink,fsync,", 3, 1,
	      'a', 0 },
	    { NOT_KEPT "fsync; after unlink, then fsync of a file", "make,hardlink,remove,fsync,",
	      5, 1, 'a', 0 },
	    /* The promise is that of a directory. */
	    { NOT_KEPT "fsync; after link, then fsync of a directory", "make,hardlink,fsync_dir,",
	      4, 1, 'b', 0 },
	    /* Half of a link is no promise that was broken. */
	    { "crash: links: count of a file; after hardlink", "make,hardlink,", 2, 1, 'c', 0 } },
	  NULL },
	{ "what was promised before a rename is lost with it",
	  { { "crash: rename: neither name; after rename", "make,rename,", 2, 1, 'a', 0 },
	    { NOT_KEPT "sync; after create", "make,make,sync,rename,", 4, 1, 'a', 0 },
	    { "crash: atomic: half of rename2; after rename2 RENAME_WHITEOUT",
	      "make,make,rename RENAME_WHITEOUT,", 3, 1, 'a', 0 },
	    { UNTIDY "UNCONNECTED; after rename", "make,make,rename,remove,", 4, 1, 'a', 0 },
	    /* The other half of another rename. */
	    { "crash: rename: both names; after rename", "make,make,rename,", 3, 1, 'b', 0 },
	    { NOT_KEPT "fsync; after rename, then fsync of a file", "make,rename,fsync,", 3, 1, 'c',
	      0 } },
	  NULL },
	{ "the problem that a checker named says more than the operation",
	  { { UNTIDY "INODE_BITMAP; after make", "make,", 1, 1, 'a', 0 },
	    { UNTIDY "BLOCK_BITMAP; after write_xattr", "write_xattr,", 1, 1, 'a', 0 },
	    { UNTIDY "ZERO_LINKS; after open O_TMPFILE", "open O_TMPFILE,", 1, 1, 'b', 0 },
	    { UNTIDY "ZERO_LINKS; after write", "make,write,remove,", 4, 1, 'b', 0 },
	    /* A tree that is wrong is not explained by a bitmap that is. */
	    { "crash: rename: both names; after rename", "make,rename,", 2, 1, 'c', 0 } },
	  NULL },
	{ "if single changes of several kinds go wrong, none of them is to blame",
	  { { "crash: links: count of a directory; after mkdir", "make,", 1, 1, 'a', 0 },
	    { "crash: unreadable: reading the tree: listing it gives EUCLEAN; after write_xattr",
	      "write_xattr,", 1, 1, 'a', 0 },
	    { UNTIDY "FREE_BLOCKS; after write_xattr", "write_xattr,", 1, 1, 'a', 0 },
	    { NOT_KEPT "fsync; after create, then fsync of a file", "make,fsync,", 2, 1, 'a', 0 },
	    { "crash: rename: both names; after rename", "make,rename,", 2, 1, 'a', 0 } },
	  NULL },
	{ "half of a change explains what else shows at that change, however short that is",
	  { { "crash: rename: neither name; after rename", "make,make,make,rename,", 5, 1, 'a', 0 },
	    { UNTIDY "UNCONNECTED; after rename", "make,rename,", 2, 1, 'a', 0 },
	    { NOT_KEPT "sync; after create", "make,sync,rename,", 3, 1, 'a', 0 },
	    { "crash: links: count; after rename", "make,hardlink,rename,", 6, 1, 'a', 0 },
	    /* Another change, and a promise that came after it. */
	    { UNTIDY "ZERO_LINKS; after remove", "make,remove,", 2, 1, 'b', 0 },
	    { NOT_KEPT "sync; after rename", "make,rename,sync,", 3, 1, 'c', 0 } },
	  NULL },
	{ "a rare change and the promise after it, whatever came before",
	  { { NOT_KEPT "fsync; after hardlink, then fsync of a file", "make,rename,hardlink,fsync,",
	      4, 1, 'a', 0 },
	    { NOT_KEPT "fsync; after write, then fsync of a file", "make,hardlink,write,fsync,", 5,
	      1, 'a', 0 },
	    /* This change is one that nearly every workload has. */
	    { NOT_KEPT "fsync; after truncate, then fsync of a file", "make,write,truncate,fsync,",
	      5, 1, 'b', 0 },
	    { NOT_KEPT "sync; after hardlink", "make,hardlink,sync,", 3, 1, 'c', 0 } },
	  NULL },
	{ "where the simplest change is lost, all changes are",
	  { { NOT_KEPT "fsync; after create, then fsync of a directory", "make,fsync_dir,", 3, 1,
	      'a', 0 },
	    { NOT_KEPT "fsync; after write_xattr, then fsync of a directory",
	      "write_xattr,fsync_dir,", 4, 1, 'a', 0 },
	    /* Another promise. */
	    { NOT_KEPT "fsync; after write_xattr, then fsync of a file", "make,write_xattr,fsync,",
	      4, 1, 'b', 0 } },
	  NULL },
	{ "a note that something was wrong, and a checker after a second power cut",
	  { { UNTIDY "BLOCK_BITMAP; after write", "make,write,", 2, 1, 'a', 0 },
	    { UNTIDY "SUPER_ERRORS; after remove", "make,sync,remove,", 3, 1, 'a', 0 },
	    { AGAIN_FULL "the full check after recovery and unmount: finds something: ORPHAN", "",
	      0, 1, 'a', 0 },
	    { UNTIDY "ZERO_LINKS; after remove", "make,make,remove,", 4, 1, 'b', 0 } },
	  NULL },
	{ "a recovery that is wrong after one change explains all, reduced or not",
	  { { "recovery: mount and full do not agree; after create", "make,", 1, 1, 'a', 0 },
	    { NOT_KEPT "sync; after write_xattr", "write_xattr,sync,", 2, 1, 'a', 0 },
	    { "crash: prefix: no one moment", "", 0, 1, 'a', 0 },
	    { "crash: rename: both names; after rename", "make,make,rename,", 3, 3, 'a', 0 },
	    { AGAIN_MOUNT "it refuses the disk", "make,", 1, 1, 'b', 0 } },
	  NULL },
	{ "a directory that cannot be read breaks no promise about a file that can be",
	  { { "crash: unreadable: reading: asking for its attributes gives EIO; after make",
	      "make,", 1, 1, 'a', 0 },
	    { "crash: unreadable: reading: listing it gives EIO; after write", "", 0, 1, 'a', 0 },
	    { NOT_KEPT "fsync; after truncate, then fsync of a file", "", 0, 1, 'b', 0 },
	    { NOT_KEPT "sync; after write_xattr", "write_xattr,sync,", 2, 1, 'c', 0 } },
	  NULL },
	{ "what needs less freedom explains what needs more",
	  { { "crash: links: count of a file; after hardlink", "make,hardlink,", 2, 1, 'a', 0 },
	    { "crash: links: count of a file; after write", "make,hardlink,write,", 3, 3, 'a', 0 },
	    { "crash: rename: both names; after rename", "make,rename,", 2, 3, 'b', 0 },
	    { "crash: rename: both names; after remove", "make,make,rename,remove,", 4, 1, 'c',
	      0 } },
	  NULL },
	{ "a recovery that is not safe, by way",
	  { { AGAIN_MOUNT "reading the tree: listing it gives EUCLEAN; after make", "make,", 1, 3,
	      'a', 0 },
	    { AGAIN_MOUNT "the full check: finds something: XATTR_BAD", "", 0, 1, 'a', 0 },
	    { AGAIN_FULL "reading the tree: listing it gives EUCLEAN; after make", "make,", 1, 3,
	      'b', 0 },
	    { "recovery: mount and full do not agree; after make", "make,", 1, 3, 'c', 0 } },
	  NULL },
	{ "it is there without a second power cut, too",
	  { { UNTIDY "BLOCK_BITMAP; after make", "make,", 1, 1, 'a', 0 },
	    { AGAIN_FULL "the full check after recovery: finds something to repair: BLOCK_BITMAP",
	      "make,make,", 2, 3, 'a', 0 } },
	  NULL },
	{ "not reduced: in doubt it is no cause of its own",
	  { { NOT_KEPT "fsync; after hardlink, then fsync of a file", "make,hardlink,fsync,", 3, 1,
	      'a', 0 },
	    { NOT_KEPT "fdatasync; after write, then fdatasync of a file", "", 0, 1, 'a', 0 },
	    { "crash: rename: both names", "", 0, 1, 'b', 3 },
	    { "crash: foreign: bytes nobody wrote after sync", "", 0, 1, 'b', 3 },
	    /* Still long: what it contains shows nothing. */
	    { "crash: size: too long after sync; after write",
	      "make,make,hardlink,make,fsync,make,write,make,sync,", 12, 1, 'b', 3 } },
	  AS_HUNT_UNREDUCED_NAME },
	{ "not reduced, and two causes have its symptom",
	  { { NOT_KEPT "fsync; after hardlink, then fsync of a file", "make,hardlink,fsync,", 3, 1,
	      'a', 0 },
	    { NOT_KEPT "fsync; after write_xattr, then fsync of a file", "make,write_xattr,fsync,",
	      3, 1, 'b', 0 },
	    { NOT_KEPT "fsync; after write, then fsync of a file", "", 0, 1, 'c', 0 } },
	  NULL },
	{ "nothing is reduced: symptoms are all that is known",
	  { { "crash: rename: both names; after write", "", 0, 1, 'a', 0 },
	    { "crash: rename: both names; after rename", "", 0, 1, 'a', 0 },
	    { "crash: links: count of a file; after write", "", 0, 1, 'b', 0 } },
	  NULL },
};

static size_t build(const struct row *row, struct as_hunt_state *state)
{
	size_t n = 0;

	as_hunt_state_init(state, 1);
	for (; n < KINDS_MAX && row->kinds[n].cause; n++) {
		const struct kind *kind = &row->kinds[n];
		struct as_buf text = { 0 };
		struct as_hunt_sign *sign;

		as_buf_addf(&text, "%s; kind %zu", kind->cause, n);
		sign = as_hunt_state_add(state, as_buf_str(&text));
		as_buf_clear(&text);
		as_buf_addf(&text, "lab-tree-%zu", n);
		sign->id = as_xstrdup(as_buf_str(&text));
		as_buf_clear(&text);
		if (kind->view)
			as_buf_addf(&text, "power cut after op 1 (view %u), recovered by mount",
				    kind->view);
		sign->summary = as_xstrdup(as_buf_str(&text));
		sign->count = kind->count ? kind->count : 1;
		sign->ops = 100;
		sign->ops_reduced = kind->ops;
		sign->reduced = kind->ops ? AS_HUNT_REDUCED : AS_HUNT_UNREDUCED;
		as_hunt_sign_set_cause(sign, kind->cause, kind->steps);
		as_buf_free(&text);
	}
	return n;
}

/* How many pairs of kinds are together and should not be, or the other way round. */
static int check_pairs(const struct row *row, const struct as_hunt_groups *g, size_t n)
{
	int wrong = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++) {
			bool want = row->kinds[i].group == row->kinds[k].group;

			if ((g->of[i] == g->of[k]) == want)
				continue;
			print_error("%s: kinds %zu and %zu %s\n", row->name, i, k,
				    want ? "are apart" : "are together");
			wrong++;
		}
	return wrong;
}

/* The numbers of each group are those of its kinds, and the one with most findings comes first. */
static int check_counts(const struct row *row, const struct as_hunt_groups *g,
			const struct as_hunt_state *state)
{
	int wrong = 0;

	for (size_t i = 0; i < g->n; i++) {
		uint64_t kinds = 0, count = 0;

		for (size_t k = 0; k < state->n_signs; k++)
			if (g->of[k] == i) {
				kinds++;
				count += state->signs[k].count;
			}
		wrong += !kinds || kinds != g->groups[i].kinds || count != g->groups[i].count ||
			 (i && count > g->groups[i - 1].count) || g->of[g->groups[i].example] != i;
	}
	if (wrong)
		print_error("%s: %d groups with wrong numbers\n", row->name, wrong);
	return wrong;
}

static void test_rows(void **ctx)
{
	int wrong = 0;

	(void)ctx;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct as_hunt_state state;
		struct as_hunt_groups g;
		size_t n = build(&rows[i], &state);

		as_hunt_groups(&state, &g);
		wrong += check_pairs(&rows[i], &g, n) + check_counts(&rows[i], &g, &state);
		if (rows[i].first && strcmp(g.groups[0].name, rows[i].first)) {
			print_error("%s: it is called '%s'\n", rows[i].name, g.groups[0].name);
			wrong++;
		}
		as_hunt_groups_free(&g);
		as_hunt_state_free(&state);
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
