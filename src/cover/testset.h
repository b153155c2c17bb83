/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testset: the .cov files of many tests as one table: which test meets which partition, how often.
 * It answers the questions of a maintainer: which tests cover this, what does this test add, and
 * which few tests are enough.
 */
#ifndef AS_COVER_TESTSET_H
#define AS_COVER_TESTSET_H

#include "cover/counts.h"

/* One partition that at least one test meets. */
struct as_testset_part {
	const struct as_spec_family *family;
	const struct as_spec_arg *arg; /* NULL: the output, the variants */
	enum as_space_kind kind;
	char name[64];
	bool expected;
	unsigned tests; /* how many meet it */
};

struct as_testset_met {
	unsigned part;
	uint64_t count;
};

struct as_testset_test {
	char *name, *path;
	uint64_t calls; /* calls that were counted */
	bool partial;
	struct as_testset_met *met;
	unsigned n_met;
};

struct as_testset {
	const struct as_spec *spec;
	struct as_testset_part *parts;
	unsigned n_parts;
	struct as_testset_test *tests; /* in the order of their names */
	unsigned n_tests;
};

/* Whether this partition is wanted; called for each that was met. */
typedef bool (*as_testset_want)(void *ctx, const struct as_space *space,
				const struct as_part *part);

/* The paths of .cov files: a folder stands for all in it and below, but for the total and (unless
 * `other`) for what belongs to no test. A test's name is its path below the folder. */
struct as_testset_files {
	struct as_testset_file {
		char *name, *path;
	} * at;
	unsigned n;
	size_t cap;
};
AS_MUST_CHECK int as_testset_find(const char *path, bool other, struct as_testset_files *files,
				  struct as_err *err);
void as_testset_files_free(struct as_testset_files *files);

AS_MUST_CHECK int as_testset_load(const struct as_spec *spec, const struct as_testset_files *files,
				  as_testset_want want, void *ctx, struct as_testset **out,
				  struct as_err *err);
void as_testset_free(struct as_testset *set);
/* Number of the test, -1: there is none of this name. */
int as_testset_test(const struct as_testset *set, const char *name);
/* How often the test meets it. */
uint64_t as_testset_count(const struct as_testset *set, unsigned test, unsigned part);

/* Partitions that this test meets and no other does. */
unsigned as_testset_alone(const struct as_testset *set, unsigned test);

/* Orders the tests: each one adds the most to those before it; among tests that add the same, the
 * one with fewer calls comes first. order and news have room for all tests. Returns how many tests
 * add something. */
unsigned as_testset_rank(const struct as_testset *set, unsigned *order, unsigned *news);

#endif
