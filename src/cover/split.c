/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split: see split.h.
 *
 * Method. A process carries the number of its test as its label (world.h), children inherit it, an
 * exec may change it. The counts of a test are in memory while it runs. When two other tests have
 * begun since its last call, they are written to its file and freed. If the test then makes further
 * calls, these are added to the file. So a suite of any length takes the memory of a few tests, and
 * a machine that dies in the middle of it leaves the files of the tests before.
 *
 *  1. Labels below FIRST_TEST belong to no test: their calls go to the rest.
 *  2. A test is found by its path below the folder: two names with the same path are one test.
 *  3. An error in writing a file is remembered, and reported at the end.
 */
#include "cover/split.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"

#include "calls/became.h"
#include "cover/runtest.h"
#include "os/dir.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define TESTS_MAX 100000u
#define OPEN_MAX 256u

enum { NOBODY, RUNNER, COMMAND, FIRST_TEST };

struct test {
	char *path; /* below the folder, without .cov */
	unsigned label;
	struct as_counts *counts; /* NULL: not in memory */
	bool saved; /* there is a file */
	uint64_t heard; /* when a call of it came last */
};

struct as_split {
	const struct as_spec *spec;
	struct as_dir dir;
	char *source, *under;
	regex_t by, each_of;
	bool has_by, each, has_each_of;
	struct as_runtest *runtest; /* NULL: none */
	struct test **labels; /* label - FIRST_TEST */
	unsigned n;
	size_t cap;
	struct as_table tests; /* of `labels`, by path */
	struct test *open[OPEN_MAX]; /* those in memory */
	unsigned n_open;
	uint64_t clock; /* how many tests have begun */
	unsigned latest;
	unsigned first; /* the first process of the trace */
	bool any;
	struct test command; /* the command itself, if it matches; its path is the name */
	uint64_t beyond, cut;
	struct as_err failed;
};

/* ---- Files ----------------------------------------------------------------------------------- */

#define FILE_MAX (64u << 20)

/* The folder of a test's file, and its name there. Links in the folder are not followed. */
static int open_place(const struct as_split *split, const char *path, struct as_dir *dir,
		      struct as_buf *file, struct as_err *err)
{
	int rc = as_dir_dup(&split->dir, dir, err);

	for (const char *slash; !rc && (slash = strchr(path, '/')); path = slash + 1) {
		struct as_dir below = AS_DIR_NONE;
		struct as_buf name = { 0 };

		as_buf_add(&name, path, (size_t)(slash - path));
		rc = as_dir_below(dir, as_buf_str(&name), true, &below, err);
		as_dir_close(dir);
		*dir = below;
		as_buf_free(&name);
	}
	as_buf_addf(file, "%s.cov", path);
	return rc;
}

static int load_from(const struct as_split *split, const struct as_dir *dir, const char *file,
		     struct as_counts **out, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_dir_read(dir, file, FILE_MAX, &text, err);

	if (!rc)
		rc = as_counts_parse(split->spec, file, as_buf_str(&text), text.len, out, err);
	as_buf_free(&text);
	return rc;
}

static int save_to(const struct as_dir *dir, const char *file, const struct as_counts *counts,
		   struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_counts_print(counts, &text);
	rc = as_dir_write(dir, file, &text, err);
	as_buf_free(&text);
	return rc;
}

static int save(struct as_split *split, struct test *test, struct as_err *err)
{
	struct as_counts *before = NULL;
	struct as_dir dir = AS_DIR_NONE;
	struct as_buf file = { 0 }, source = { 0 };
	int rc = open_place(split, test->path, &dir, &file, err);

	as_buf_addf(&source, "%s: test %s", split->source ? split->source : "", test->path);
	as_counts_source(test->counts, as_buf_str(&source));
	as_counts_under(test->counts, split->under);
	if (!rc && test->saved)
		rc = load_from(split, &dir, as_buf_str(&file), &before, err);
	if (!rc && before)
		as_counts_merge(test->counts, before);
	if (!rc)
		rc = save_to(&dir, as_buf_str(&file), test->counts, err);
	test->saved = test->saved || !rc;
	as_counts_free(before);
	as_dir_close(&dir);
	as_buf_free(&file);
	as_buf_free(&source);
	return rc;
}

/* Writes number i of the tests in memory to its file, and frees it. */
static void put_away(struct as_split *split, unsigned i)
{
	struct test *test = split->open[i];
	struct as_err err;

	if (save(split, test, &err) && !split->failed.code)
		split->failed = err;
	as_counts_free(test->counts);
	test->counts = NULL;
	split->open[i] = split->open[--split->n_open];
}

static void put_away_old(struct as_split *split)
{
	for (unsigned i = 0; i < split->n_open;)
		if (split->open[i]->heard + 2 <= split->clock)
			put_away(split, i);
		else
			i++;
}

static struct as_counts *counts_of(struct as_split *split, struct test *test)
{
	unsigned oldest = 0;

	test->heard = split->clock;
	if (test->counts)
		return test->counts;
	test->counts = as_counts_new(split->spec);
	if (test == &split->command)
		return test->counts;
	for (unsigned i = 1; i < split->n_open; i++)
		if (split->open[i]->heard < split->open[oldest]->heard)
			oldest = i;
	if (split->n_open == OPEN_MAX)
		put_away(split, oldest);
	split->open[split->n_open++] = test;
	return test->counts;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

struct test_key {
	struct test *const *labels;
	const char *path;
};

static bool is_test(const void *ctx, size_t index)
{
	const struct test_key *key = ctx;

	return !strcmp(key->labels[index]->path, key->path);
}

static unsigned label_of(struct as_split *split, const char *name, size_t len)
{
	struct as_buf path = { 0 };
	struct test_key key = { split->labels, NULL };
	struct test *test;
	uint64_t hash;
	size_t i;

	as_split_path(name, len, &path);
	key.path = as_buf_str(&path);
	hash = as_hash64(key.path, path.len);
	i = as_table_find(&split->tests, hash, is_test, &key);
	test = i == AS_TABLE_NONE ? NULL : split->labels[i];
	if (!test && split->n == TESTS_MAX) {
		split->beyond++;
		as_buf_free(&path);
		return NOBODY;
	}
	if (!test) {
		test = as_xcalloc(1, sizeof(*test));
		test->path = as_xstrdup(as_buf_str(&path));
		test->label = FIRST_TEST + split->n;
		AS_ARRAY_ROOM(split->labels, split->n, split->cap);
		as_table_add(&split->tests, hash, split->n);
		split->labels[split->n++] = test;
	}
	if (test->label != split->latest) {
		split->clock++;
		put_away_old(split);
	}
	split->latest = test->label;
	as_buf_free(&path);
	return test->label;
}

static unsigned by_name(struct as_split *split, const struct as_syscall *call,
			const struct as_became *b, unsigned label)
{
	const char *name = NULL;
	size_t len;

	if (split->runtest) {
		name = as_runtest_find(split->runtest, b->program, b->args, b->args_len);
		len = name ? strlen(name) : 0;
	} else if (!as_became_match(&split->by, b->line, b->cut, &name, &len)) {
		as_became_match(&split->by, b->program, false, &name, &len);
	}
	if (!name) {
		split->cut += b->cut;
		return label;
	}
	if (call->tid != split->first)
		return label_of(split, name, len);
	if (!split->command.path) {
		split->command.path = as_xcalloc(1, len + 1);
		memcpy(split->command.path, name, len);
	}
	return COMMAND;
}

static unsigned by_tree(struct as_split *split, const struct as_syscall *call,
			const struct as_became *b, unsigned label)
{
	const char *name;
	size_t len;

	if (label >= FIRST_TEST)
		return label;
	if (split->has_each_of
		    ? as_became_match(&split->each_of, b->line, b->cut, &name, &len) ||
			      as_became_match(&split->each_of, b->program, false, &name, &len)
		    : call->tid == split->first)
		return RUNNER;
	if (label != RUNNER)
		return label;
	name = as_became_name(b);
	return label_of(split, name, strlen(name));
}

struct as_counts *as_split_counts(struct as_split *split, struct as_world *world,
				  const struct as_syscall *call, struct as_counts *rest)
{
	unsigned label;

	if (!split->any) {
		split->any = true;
		split->first = call->tid;
		/* The trace begins later than its command. */
		if (split->each && !split->has_each_of)
			as_world_set_label(world, call->tid, RUNNER);
	}
	label = as_world_label(world, call->tid);
	if (call->spec->act == AS_ACT_EXEC && call->finished && !call->err) {
		struct as_became *b = as_xcalloc(1, sizeof(*b));
		unsigned now;

		as_became_look(call, b);
		now = split->has_by || split->runtest ? by_name(split, call, b, label)
						      : by_tree(split, call, b, label);
		if (now != label)
			as_world_set_label(world, call->tid, now);
		label = now;
		free(b);
	}
	if (label >= FIRST_TEST)
		return counts_of(split, split->labels[label - FIRST_TEST]);
	return label == COMMAND ? counts_of(split, &split->command) : rest;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int compile(regex_t *regex, const char *text, const char *option, bool *has,
		   struct as_err *err)
{
	char why[200];
	int rc = text ? regcomp(regex, text, REG_EXTENDED) : 0;

	*has = text && !rc;
	if (!rc)
		return 0;
	regerror(rc, regex, why, sizeof(why));
	return as_fail(err, AS_EUSE, "%s: '%s' is not a regular expression: %s", option, text, why);
}

static int any_entry(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return 1;
}

/* A folder that is not empty is refused: its files would be taken for tests, and we must not remove
 * them. */
static int make_folder(struct as_split *split, const char *folder, struct as_err *err)
{
	bool made = false;
	int rc = as_dir_open(folder, &made, &split->dir, err);

	if (!rc && !made && as_dir_each(&split->dir, any_entry, NULL))
		rc = as_fail(err, AS_EUSE,
			     "%s is not empty; the files of the tests need a folder of their own",
			     folder);
	return rc;
}

int as_split_new(const struct as_spec *spec, const struct as_split_options *options,
		 struct as_split **out, struct as_err *err)
{
	struct as_split *split = as_xcalloc(1, sizeof(*split));
	int rc;

	as_assert(!!options->by + !!options->runtest + (options->each || options->each_of) == 1);
	split->spec = spec;
	split->dir = AS_DIR_NONE;
	split->each = options->each;
	rc = compile(&split->by, options->by, "--split-by", &split->has_by, err);
	if (!rc)
		rc = compile(&split->each_of, options->each_of, "--each-of", &split->has_each_of,
			     err);
	if (!rc && options->runtest)
		rc = as_runtest_load(options->runtest, &split->runtest, err);
	if (!rc)
		rc = make_folder(split, options->folder, err);
	if (rc) {
		as_split_free(split);
		return rc;
	}
	*out = split;
	return 0;
}

void as_split_free(struct as_split *split)
{
	if (!split)
		return;
	as_table_free(&split->tests);
	for (unsigned i = 0; i < split->n; i++) {
		as_counts_free(split->labels[i]->counts);
		free(split->labels[i]->path);
		free(split->labels[i]);
	}
	as_runtest_free(split->runtest);
	if (split->has_by)
		regfree(&split->by);
	if (split->has_each_of)
		regfree(&split->each_of);
	as_counts_free(split->command.counts);
	free(split->command.path);
	free(split->labels);
	as_dir_close(&split->dir);
	free(split->source);
	free(split->under);
	free(split);
}

void as_split_begin(struct as_split *split, const char *source, const char *under)
{
	free(split->source);
	free(split->under);
	split->source = as_xstrdup(source);
	split->under = under ? as_xstrdup(under) : NULL;
	split->any = false;
}

/* Files are read again, to build the total; if the whole is partial, each part is partial, too. */
static int add_up(struct as_split *split, struct test *test, const char *partial,
		  struct as_counts *total, struct as_err *err)
{
	struct as_dir dir = AS_DIR_NONE;
	struct as_buf file = { 0 };
	struct as_counts *one = NULL;
	int rc = open_place(split, test->path, &dir, &file, err);

	if (!rc)
		rc = load_from(split, &dir, as_buf_str(&file), &one, err);
	if (!rc && partial) {
		as_counts_partial(one, partial);
		rc = save_to(&dir, as_buf_str(&file), one, err);
	}
	if (!rc) {
		/* The total has its own text about being partial. */
		as_counts_source(one, as_counts_get_source(total));
		as_counts_merge(total, one);
	}
	as_counts_free(one);
	as_dir_close(&dir);
	as_buf_free(&file);
	return rc;
}

int as_split_finish(struct as_split *split, struct as_counts *rest, struct as_err *err)
{
	const char *partial = as_counts_is_partial(rest);
	int rc;

	if (split->command.counts && !split->n) {
		unsigned label = label_of(split, split->command.path, strlen(split->command.path));

		as_counts_merge(counts_of(split, split->labels[label - FIRST_TEST]),
				split->command.counts);
	} else if (split->command.counts) {
		as_counts_merge(rest, split->command.counts);
	}
	/* A test without any calls is a test, too. */
	for (unsigned i = 0; i < split->n; i++)
		if (!split->labels[i]->saved)
			counts_of(split, split->labels[i]);
	while (split->n_open)
		put_away(split, 0);
	if (split->failed.code) {
		*err = split->failed;
		return err->code;
	}
	rc = save_to(&split->dir, AS_SPLIT_OTHER ".cov", rest, err);
	for (unsigned i = 0; i < split->n && !rc; i++)
		rc = add_up(split, split->labels[i], partial, rest, err);
	return rc ? rc : save_to(&split->dir, AS_SPLIT_TOTAL ".cov", rest, err);
}

unsigned as_split_tests(const struct as_split *split)
{
	return split->n;
}

uint64_t as_split_beyond(const struct as_split *split)
{
	return split->beyond;
}

uint64_t as_split_cut(const struct as_split *split)
{
	return split->cut;
}
