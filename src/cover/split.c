/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split: see split.h.
 *
 * Method. A process carries the number of its test as its label (world.h), children inherit it, an
 * exec may change it. The counts of a test are in memory while it runs. When two others have begun
 * since it was last heard of, they are written to its file and freed; if the test goes on after
 * all, what comes is added to the file. So a suite of any length takes the memory of a few tests,
 * and a machine that dies in the middle of it leaves the files of the tests before.
 *
 *  1. Labels below FIRST_TEST are nobody's: their calls go to the rest.
 *  2. A test is found by its path below the folder: two names with the same path are one test.
 *  3. An error of a file that is written in between is kept, and told at the end.
 */
#include "cover/split.h"

#include "cover/runtest.h"

#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#define TESTS_MAX 100000u
#define OPEN_MAX 256u
#define GROUPS_MAX 10
#define TEXT_MAX 16384u

enum { NOBODY, RUNNER, COMMAND, FIRST_TEST };

struct test {
	char *path; /* below the folder, without .cov */
	unsigned label;
	struct as_counts *counts; /* NULL: not in memory */
	bool saved; /* there is a file */
	uint64_t heard; /* when a call of it came last */
	UT_hash_handle hh;
};

struct as_split {
	const struct as_spec *spec;
	char *folder, *source, *under;
	regex_t by, each_of;
	bool has_by, each, has_each_of;
	struct as_runtest *runtest; /* NULL: none */
	struct test *tests; /* by path */
	struct test **labels; /* label - FIRST_TEST */
	unsigned n, cap;
	struct test *open[OPEN_MAX]; /* those in memory */
	unsigned n_open;
	uint64_t clock; /* tests begun */
	unsigned latest;
	unsigned first; /* the first process of the trace */
	bool any;
	struct test command; /* the command itself, if it matches; its path is the name */
	uint64_t beyond, cut;
	struct as_err failed;
};

/* ---- Files ----------------------------------------------------------------------------------- */

static int make_folders(const char *folder, const char *path, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = 0;

	as_buf_addf(&text, "%s/%s", folder, path);
	for (char *s = text.data + strlen(folder) + 1; (s = strchr(s, '/')) && !rc; s++) {
		*s = 0;
		if (mkdir(text.data, 0777) && errno != EEXIST)
			rc = as_fail_errno(err, errno, "cannot make the folder %s", text.data);
		*s = '/';
	}
	as_buf_free(&text);
	return rc;
}

static int save(struct as_split *split, struct test *test, struct as_err *err)
{
	struct as_counts *before = NULL;
	struct as_buf path = { 0 }, source = { 0 };
	int rc = make_folders(split->folder, test->path, err);

	as_buf_addf(&path, "%s/%s.cov", split->folder, test->path);
	as_buf_addf(&source, "%s: test %s", split->source ? split->source : "", test->path);
	as_counts_source(test->counts, as_buf_str(&source));
	as_counts_under(test->counts, split->under);
	if (!rc && test->saved)
		rc = as_counts_load(split->spec, as_buf_str(&path), &before, err);
	if (!rc && before)
		as_counts_merge(test->counts, before);
	if (!rc)
		rc = as_counts_save(test->counts, as_buf_str(&path), err);
	test->saved = test->saved || !rc;
	as_counts_free(before);
	as_buf_free(&path);
	as_buf_free(&source);
	return rc;
}

/* Number i of the open ones is written and leaves the memory. */
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

static unsigned label_of(struct as_split *split, const char *name, size_t len)
{
	struct as_buf path = { 0 };
	struct test *test;

	as_split_path(name, len, &path);
	HASH_FIND_STR(split->tests, as_buf_str(&path), test);
	if (!test && split->n == TESTS_MAX) {
		split->beyond++;
		as_buf_free(&path);
		return NOBODY;
	}
	if (!test) {
		test = as_xcalloc(1, sizeof(*test));
		test->path = as_xstrdup(as_buf_str(&path));
		test->label = FIRST_TEST + split->n;
		if (split->n == split->cap) {
			split->cap = split->cap ? 2 * split->cap : 64;
			split->labels =
				as_xrealloc(split->labels, split->cap * sizeof(*split->labels));
		}
		split->labels[split->n++] = test;
		HASH_ADD_KEYPTR(hh, split->tests, test->path, strlen(test->path), test);
	}
	if (test->label != split->latest) {
		split->clock++;
		put_away_old(split);
	}
	split->latest = test->label;
	as_buf_free(&path);
	return test->label;
}

/* What an exec made of a process, as texts that end with a NUL. */
struct became {
	char program[TEXT_MAX];
	char line[TEXT_MAX]; /* the arguments with blanks between */
	char args[TEXT_MAX];
	unsigned args_len;
};

static void look_at(const struct as_syscall *call, struct became *out)
{
	unsigned len = 0;

	for (unsigned i = 0; i < call->spec->n_slots; i++)
		if (call->spec->slots[i].own == AS_OWN_PROGRAM &&
		    call->slots[i].state == AS_SLOT_TEXT) {
			len = call->slots[i].len < TEXT_MAX ? call->slots[i].len : TEXT_MAX - 1;
			memcpy(out->program, call->slots[i].text, len);
		}
	out->program[len] = 0;
	len = call->args ? call->args_len : 0;
	len = len < TEXT_MAX ? len : TEXT_MAX - 1;
	if (len)
		memcpy(out->args, call->args, len);
	while (len && !out->args[len - 1])
		len--;
	out->args[len] = 0;
	out->args_len = len;
	for (unsigned i = 0; i < len; i++)
		out->line[i] = out->args[i] ? out->args[i] : ' ';
	out->line[len] = 0;
}

/* The name in the text, or false. */
static bool match(const regex_t *regex, const char *text, const char **name, size_t *len)
{
	regmatch_t groups[GROUPS_MAX];
	unsigned g = 1;

	if (!*text || regexec(regex, text, GROUPS_MAX, groups, 0))
		return false;
	while (g < GROUPS_MAX && groups[g].rm_eo <= groups[g].rm_so)
		g++;
	g = g < GROUPS_MAX ? g : 0;
	*name = text + groups[g].rm_so;
	*len = (size_t)(groups[g].rm_eo - groups[g].rm_so);
	return true;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_interpreter(const char *path)
{
	static const char *const names[] = { "sh",  "bash", "dash", "ash",     "ksh",
					     "zsh", "perl", "ruby", "python3", "python" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(base_of(path), names[i]))
			return true;
	return false;
}

/* "open01", "tests/a.sh" of `bash -x tests/a.sh`, what stands after -c. */
static const char *program_name(const struct became *b)
{
	const char *arg = b->args, *end = b->args + b->args_len;
	bool script = b->args_len && is_interpreter(b->args);

	/* A script that was started by its own name. */
	if (*b->program && !is_interpreter(b->program))
		return script || !b->args_len || strcmp(base_of(b->program), base_of(b->args)) != 0
			       ? b->program
			       : b->args;
	for (arg += strlen(arg) + 1; script && arg < end; arg += strlen(arg) + 1)
		if (*arg && *arg != '-')
			return arg;
	return b->args_len ? b->args : b->program;
}

static unsigned by_name(struct as_split *split, const struct as_syscall *call,
			const struct became *b, unsigned label)
{
	const char *name = NULL;
	size_t len;

	if (split->runtest) {
		name = as_runtest_find(split->runtest, b->program, b->args, b->args_len);
		len = name ? strlen(name) : 0;
	} else if (!match(&split->by, b->line, &name, &len)) {
		match(&split->by, b->program, &name, &len);
	}
	if (!name) {
		split->cut += call->args && call->args_cut;
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
			const struct became *b, unsigned label)
{
	const char *name;
	size_t len;

	if (label >= FIRST_TEST)
		return label;
	if (split->has_each_of ? match(&split->each_of, b->line, &name, &len) ||
					 match(&split->each_of, b->program, &name, &len)
			       : call->tid == split->first)
		return RUNNER;
	if (label != RUNNER)
		return label;
	name = program_name(b);
	return label_of(split, name, strlen(name));
}

struct as_counts *as_split_counts(struct as_split *split, struct as_world *world,
				  const struct as_syscall *call, struct as_counts *rest)
{
	unsigned label;

	if (!split->any) {
		split->any = true;
		split->first = call->tid;
		/* A trace that begins later than its command. */
		if (split->each && !split->has_each_of)
			as_world_set_label(world, call->tid, RUNNER);
	}
	label = as_world_label(world, call->tid);
	if (call->spec->act == AS_ACT_EXEC && call->finished && !call->err) {
		struct became *b = as_xcalloc(1, sizeof(*b));
		unsigned now;

		look_at(call, b);
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

/* What is in it might be taken for tests later, and is not ours to remove. */
static int make_folder(const char *folder, struct as_err *err)
{
	const struct dirent *entry;
	bool empty = true;
	DIR *dir;

	if (!mkdir(folder, 0777))
		return 0;
	if (errno != EEXIST)
		return as_fail_errno(err, errno, "cannot make the folder %s", folder);
	dir = opendir(folder);
	if (!dir)
		return as_fail_errno(err, errno, "%s", folder);
	while ((entry = readdir(dir)))
		empty &= !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(dir);
	return empty ? 0
		     : as_fail(err, AS_EUSE,
			       "%s is not empty; the files of the tests need a folder of their own",
			       folder);
}

int as_split_new(const struct as_spec *spec, const struct as_split_options *options,
		 struct as_split **out, struct as_err *err)
{
	struct as_split *split = as_xcalloc(1, sizeof(*split));
	int rc;

	as_assert(!!options->by + !!options->runtest + (options->each || options->each_of) == 1);
	split->spec = spec;
	split->folder = as_xstrdup(options->folder);
	split->each = options->each;
	rc = compile(&split->by, options->by, "--split-by", &split->has_by, err);
	if (!rc)
		rc = compile(&split->each_of, options->each_of, "--each-of", &split->has_each_of,
			     err);
	if (!rc && options->runtest)
		rc = as_runtest_load(options->runtest, &split->runtest, err);
	if (!rc)
		rc = make_folder(options->folder, err);
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
	HASH_CLEAR(hh, split->tests);
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
	free(split->folder);
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

/* One of the files is read again: the total, and what is partial as a whole is so in each part. */
static int add_up(struct as_split *split, struct test *test, const char *partial,
		  struct as_counts *total, struct as_err *err)
{
	struct as_buf path = { 0 };
	struct as_counts *one = NULL;
	int rc;

	as_buf_addf(&path, "%s/%s.cov", split->folder, test->path);
	rc = as_counts_load(split->spec, as_buf_str(&path), &one, err);
	if (!rc && partial) {
		as_counts_partial(one, partial);
		rc = as_counts_save(one, as_buf_str(&path), err);
	}
	if (!rc) {
		/* The total has its own words. */
		as_counts_source(one, as_counts_get_source(total));
		as_counts_merge(total, one);
	}
	as_counts_free(one);
	as_buf_free(&path);
	return rc;
}

static int save_as(const struct as_split *split, const struct as_counts *counts, const char *name,
		   struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc;

	as_buf_addf(&path, "%s/%s.cov", split->folder, name);
	rc = as_counts_save(counts, as_buf_str(&path), err);
	as_buf_free(&path);
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
	/* One that never called anything is a test all the same. */
	for (unsigned i = 0; i < split->n; i++)
		if (!split->labels[i]->saved)
			counts_of(split, split->labels[i]);
	while (split->n_open)
		put_away(split, 0);
	if (split->failed.code) {
		*err = split->failed;
		return err->code;
	}
	rc = save_as(split, rest, AS_SPLIT_OTHER, err);
	for (unsigned i = 0; i < split->n && !rc; i++)
		rc = add_up(split, split->labels[i], partial, rest, err);
	return rc ? rc : save_as(split, rest, AS_SPLIT_TOTAL, err);
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
