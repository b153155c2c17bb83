/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testset: see testset.h. A partition gets a number when the first test meets it; a test is the
 * sorted list of those it meets. Files are read one after another, so that memory holds one of them
 * and the table.
 */
#include "cover/testset.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/show.h"
#include "base/table.h"
#include "cover/split.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 32

/* ---- Files ----------------------------------------------------------------------------------- */

static bool is_cov(const char *name, size_t *stem)
{
	size_t len = strlen(name);

	*stem = len > 4 && !strcmp(name + len - 4, ".cov") ? len - 4 : len;
	return *stem < len;
}

static void add_file(struct as_testset_files *files, const char *name, const char *path)
{
	struct as_buf shown = { 0 };
	size_t stem;

	is_cov(name, &stem);
	/* The name is one word of a line, whatever the file is called. */
	as_shown(&shown, name, stem);
	AS_ARRAY_ROOM(files->at, files->n, files->cap);
	files->at[files->n].name = as_xstrdup(as_buf_str(&shown));
	files->at[files->n++].path = as_xstrdup(path);
	as_buf_free(&shown);
}

static int add_folder(struct as_testset_files *files, const char *folder, size_t root, bool other,
		      unsigned depth, struct as_err *err)
{
	const struct dirent *entry;
	DIR *dir = opendir(folder);
	int rc = 0;

	if (!dir)
		return as_fail_errno(err, errno, "%s", folder);
	while (!rc && (entry = readdir(dir))) {
		struct as_buf path = { 0 };
		struct stat st;
		size_t stem;

		if (entry->d_name[0] == '.')
			continue;
		as_buf_addf(&path, "%s/%s", folder, entry->d_name);
		/* Links to folders are not followed: there may be rings of them. */
		if (!lstat(as_buf_str(&path), &st) && S_ISDIR(st.st_mode)) {
			rc = depth < DEPTH_MAX
				     ? add_folder(files, as_buf_str(&path), root, other, depth + 1,
						  err)
				     : as_fail(err, AS_EUSE, "%s: too deep", as_buf_str(&path));
		} else if (is_cov(entry->d_name, &stem) &&
			   strcmp(as_buf_str(&path) + root, AS_SPLIT_TOTAL ".cov") != 0 &&
			   (other ||
			    strcmp(as_buf_str(&path) + root, AS_SPLIT_OTHER ".cov") != 0)) {
			add_file(files, as_buf_str(&path) + root, as_buf_str(&path));
		}
		as_buf_free(&path);
	}
	closedir(dir);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct as_testset_file *)a)->name,
		      ((const struct as_testset_file *)b)->name);
}

int as_testset_find(const char *path, bool other, struct as_testset_files *files,
		    struct as_err *err)
{
	unsigned before = files->n;
	struct stat st;
	size_t len = strlen(path);
	char *folder;
	int rc;

	if (stat(path, &st))
		return as_fail_errno(err, errno, "%s", path);
	if (!S_ISDIR(st.st_mode)) {
		add_file(files, path, path);
		return 0;
	}
	folder = as_xstrdup(path);
	while (len > 1 && folder[len - 1] == '/')
		folder[--len] = 0;
	rc = add_folder(files, folder, len + 1, other, 0, err);
	if (!rc && files->n == before)
		rc = as_fail(err, AS_EUSE, "%s: no .cov files of tests in this folder", path);
	free(folder);
	if (!rc && files->n)
		qsort(files->at, files->n, sizeof(*files->at), by_name);
	return rc;
}

void as_testset_files_free(struct as_testset_files *files)
{
	for (unsigned i = 0; i < files->n; i++) {
		free(files->at[i].name);
		free(files->at[i].path);
	}
	free(files->at);
	*files = (struct as_testset_files){ 0 };
}

/* ---- The table ------------------------------------------------------------------------------- */

struct loading {
	struct as_testset *set;
	unsigned *space_of; /* of each partition of the set */
	size_t cap_parts, cap_spaces;
	struct as_table numbers; /* of the partitions, by space and name */
	as_testset_want want;
	void *ctx;
};

struct part_key {
	const struct loading *l;
	unsigned space;
	const char *name;
};

static bool is_part(const void *ctx, size_t index)
{
	const struct part_key *key = ctx;

	return key->l->space_of[index] == key->space &&
	       !strcmp(key->l->set->parts[index].name, key->name);
}

static unsigned number_of(struct loading *l, unsigned space_number, const struct as_space *space,
			  const struct as_part *part)
{
	uint64_t hash = as_mix64(as_hash64(part->name, strlen(part->name)) + space_number);
	struct part_key key = { l, space_number, part->name };
	size_t found = as_table_find(&l->numbers, hash, is_part, &key);
	struct as_testset *set = l->set;

	if (found != AS_TABLE_NONE)
		return (unsigned)found;
	as_table_add(&l->numbers, hash, set->n_parts);
	AS_ARRAY_ROOM(l->space_of, set->n_parts, l->cap_spaces);
	l->space_of[set->n_parts] = space_number;
	AS_ARRAY_ROOM(set->parts, set->n_parts, l->cap_parts);
	set->parts[set->n_parts] = (struct as_testset_part){ .family = space->family,
							     .arg = space->arg,
							     .kind = space->kind,
							     .expected = part->expected };
	memcpy(set->parts[set->n_parts].name, part->name, sizeof(part->name));
	return set->n_parts++;
}

static int by_part(const void *a, const void *b)
{
	unsigned x = ((const struct as_testset_met *)a)->part;
	unsigned y = ((const struct as_testset_met *)b)->part;

	return x < y ? -1 : x > y;
}

static void take(struct loading *l, const struct as_counts *counts, struct as_testset_test *test)
{
	size_t cap = 0;

	test->calls = as_counts_noted(counts, AS_NOTE_COUNTED);
	test->partial = as_counts_is_partial(counts) != NULL;
	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;

		as_counts_space(counts, i, &space);
		for (unsigned p = 0; p < space.n; p++) {
			if (!space.parts[p].count || !l->want(l->ctx, &space, &space.parts[p]))
				continue;
			AS_ARRAY_ROOM(test->met, test->n_met, cap);
			test->met[test->n_met++] =
				(struct as_testset_met){ number_of(l, i, &space, &space.parts[p]),
							 space.parts[p].count };
		}
		as_space_free(&space);
	}
	if (test->n_met)
		qsort(test->met, test->n_met, sizeof(*test->met), by_part);
	for (unsigned i = 0; i < test->n_met; i++)
		l->set->parts[test->met[i].part].tests++;
}

int as_testset_load(const struct as_spec *spec, const struct as_testset_files *files,
		    as_testset_want want, void *ctx, struct as_testset **out, struct as_err *err)
{
	struct as_testset *set = as_xcalloc(1, sizeof(*set));
	struct loading l = { .set = set, .want = want, .ctx = ctx };
	int rc = 0;

	set->spec = spec;
	set->tests = as_xcalloc(files->n + 1, sizeof(*set->tests));
	for (unsigned i = 0; i < files->n && !rc; i++) {
		struct as_testset_test *test = &set->tests[set->n_tests];
		struct as_counts *counts = NULL;

		rc = as_counts_load(spec, files->at[i].path, &counts, err);
		if (rc)
			break;
		set->n_tests++;
		test->name = as_xstrdup(files->at[i].name);
		test->path = as_xstrdup(files->at[i].path);
		take(&l, counts, test);
		as_counts_free(counts);
	}
	as_table_free(&l.numbers);
	free(l.space_of);
	if (rc)
		as_testset_free(set);
	else
		*out = set;
	return rc;
}

void as_testset_free(struct as_testset *set)
{
	if (!set)
		return;
	for (unsigned i = 0; i < set->n_tests; i++) {
		free(set->tests[i].name);
		free(set->tests[i].path);
		free(set->tests[i].met);
	}
	free(set->tests);
	free(set->parts);
	free(set);
}

int as_testset_test(const struct as_testset *set, const char *name)
{
	for (unsigned i = 0; i < set->n_tests; i++)
		if (!strcmp(set->tests[i].name, name))
			return (int)i;
	return -1;
}

uint64_t as_testset_count(const struct as_testset *set, unsigned test, unsigned part)
{
	const struct as_testset_test *t = &set->tests[test];
	const struct as_testset_met key = { .part = part }, *met = NULL;

	if (t->n_met)
		met = bsearch(&key, t->met, t->n_met, sizeof(key), by_part);
	return met ? met->count : 0;
}

unsigned as_testset_alone(const struct as_testset *set, unsigned test)
{
	unsigned n = 0;

	for (unsigned i = 0; i < set->tests[test].n_met; i++)
		n += set->parts[set->tests[test].met[i].part].tests == 1;
	return n;
}

/* ---- The order ------------------------------------------------------------------------------- */

static unsigned adds(const struct as_testset_test *test, const bool *have)
{
	unsigned n = 0;

	for (unsigned i = 0; i < test->n_met; i++)
		n += !have[test->met[i].part];
	return n;
}

static bool is_better(const struct as_testset *set, unsigned a, unsigned a_new, unsigned b,
		      unsigned b_new)
{
	if (a_new != b_new)
		return a_new > b_new;
	if (set->tests[a].calls != set->tests[b].calls)
		return set->tests[a].calls < set->tests[b].calls;
	return a < b;
}

/* What a test adds can only shrink while others are chosen. So a value from before is an upper
 * bound, and most tests need not be looked at again. */
unsigned as_testset_rank(const struct as_testset *set, unsigned *order, unsigned *news)
{
	unsigned n = set->n_tests, taken = 0, useful = 0;
	unsigned *bound = as_xcalloc(n + 1, sizeof(*bound));
	bool *have = as_xcalloc(set->n_parts + 1, sizeof(*have));
	bool *used = as_xcalloc(n + 1, sizeof(*used));

	for (unsigned i = 0; i < n; i++)
		bound[i] = set->tests[i].n_met;
	for (; taken < n; taken++) {
		unsigned best = n;

		for (unsigned i = 0; i < n; i++) {
			if (used[i] ||
			    (best < n && !is_better(set, i, bound[i], best, bound[best])))
				continue;
			bound[i] = adds(&set->tests[i], have);
			if (best == n || is_better(set, i, bound[i], best, bound[best]))
				best = i;
		}
		used[best] = true;
		order[taken] = best;
		news[taken] = bound[best];
		useful += bound[best] > 0;
		for (unsigned i = 0; i < set->tests[best].n_met; i++)
			have[set->tests[best].met[i].part] = true;
	}
	free(bound);
	free(have);
	free(used);
	return useful;
}
