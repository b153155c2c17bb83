/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split: the counts of a suite, test by test: one .cov file for each, in a folder.
 *
 * What a test is follows from the tree of processes, so it works with every source of calls. A
 * process becomes a test by an exec. The calls of the process and of its descendants belong to the
 * test, also of those that outlive it. A test is recognised in one of three ways:
 *
 *  - by: an expression that the command line matches, or the path of the program. The test's name
 *    is the first group that took part in the match, or the whole match. A match inside of a test
 *    begins another test: the innermost counts. The command itself is a test only if nothing that
 *    it starts is one: runners have the names of their tests among their arguments.
 *  - runtest: a command of LTP's list of tests (runtest.h); the name is its tag. Else as above.
 *  - each: every program that the command starts itself is a test, or every program that is started
 *    by processes whose command line matches each_of. Its name is the path of the program or script
 *    as it was called.
 *
 * Tests with the same name are one test. What belongs to none goes to "_other", and all of it
 * together to "_total".
 */
#ifndef AS_COVER_SPLIT_H
#define AS_COVER_SPLIT_H

#include "cover/counts.h"

struct as_split;

struct as_split_options {
	const char *by; /* POSIX extended; NULL: not by this */
	const char *runtest; /* a list of LTP's; NULL: not by this */
	bool each;
	const char *each_of; /* the same kind of expression; NULL: the command */
	const char *folder; /* it is made, or must be empty */
};

#define AS_SPLIT_OTHER "_other"
#define AS_SPLIT_TOTAL "_total"

AS_MUST_CHECK int as_split_new(const struct as_spec *spec, const struct as_split_options *options,
			       struct as_split **out, struct as_err *err);
void as_split_free(struct as_split *split);
/* Another trace begins: its first process is another one. `source` is where the counts are from. */
void as_split_begin(struct as_split *split, const char *source, const char *under);
/* Where to count this call: the counts of its test, or `rest`. Follows each exec. */
struct as_counts *as_split_counts(struct as_split *split, struct as_world *world,
				  const struct as_syscall *call, struct as_counts *rest);
/* Writes what is not written yet. `rest` becomes the total. */
AS_MUST_CHECK int as_split_finish(struct as_split *split, struct as_counts *rest,
				  struct as_err *err);

/* After that: the number of tests, and of those that were beyond the limit. */
unsigned as_split_tests(const struct as_split *split);
uint64_t as_split_beyond(const struct as_split *split);
/* Command lines that the trace shows only in part, and that matched nothing. */
uint64_t as_split_cut(const struct as_split *split);

/* A name as a path below a folder: other letters than those that are safe become %XX (blanks '+'),
 * and no part of it is "..", hidden, too long, or one of our own names. */
void as_split_path(const char *name, size_t len, struct as_buf *out);

#endif
