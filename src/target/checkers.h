/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkers: what is known of the programs that examine and repair disks, one row each in
 * checker.def: how they are run, what their exit status and their lines mean, what of what they do
 * is in order. Types (fstype.h) name their checker, and `assay fsck` tests it.
 */
#ifndef AS_TARGET_CHECKERS_H
#define AS_TARGET_CHECKERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum as_check_answer {
	AS_CHECK_CLEAN,
	AS_CHECK_REPAIRED,
	AS_CHECK_REPAIRED_LEFT, /* some problems were repaired, some were left */
	AS_CHECK_LEFT, /* problems were found and left */
	AS_CHECK_FAILED, /* it could not do its work */
	AS_CHECK_ANSWERS
};

/* quick: what a machine does when it boots, default: repair what shows, full: look at
 * everything. */
enum as_check_mode { AS_CHECK_QUICK, AS_CHECK_DEFAULT, AS_CHECK_FULL, AS_CHECK_MODES };

/* The ways to run a checker: the modes, and two more in which it is tested. */
#define AS_CHECK_LOOK ((unsigned)AS_CHECK_MODES) /* it examines everything and writes nothing */
#define AS_CHECK_OTHER (AS_CHECK_LOOK + 1) /* another way to repair */
#define AS_CHECK_WAYS (AS_CHECK_LOOK + 2) /* also: no way */

/* The statuses of fsck(8), of which each is a sum; with an option that only looks, nothing is
 * repaired. 128 is added to nothing: 129 and more is what a shell answers for a program that
 * died. */
#define AS_FSCK_EXITS "0=clean 1-3=repaired 4=left 5-7=repaired+left 8-63=failed 128=failed"
#define AS_FSCK_LOOK_EXITS "0=clean 1-7=left 8-63=failed 128=failed"

struct as_checker_way {
	/* Words separated by blanks; {disk} is the disk's path, {opts} options of a test. NULL:
	 * there is no such way. */
	const char *command;
	const char *input; /* what it reads on standard input; NULL: nothing */
	bool looks; /* it repairs nothing */
};

/* How `assay fsck` tests a checker. */
struct as_checker_test {
	const char *name; /* NULL: there are no more */
	unsigned repair, again, look; /* ways; AS_CHECK_WAYS: there is none */
	/* Bytes FIRST-LAST, separated by blanks, in which it keeps times, counts of mounts and past
	 * errors: it may change them on a disk that it calls clean. The same of `look`. */
	const char *books, *check_books;
	/* Texts, separated by '|', by which it tells that it changed the disk although its status
	 * is `clean`; by which `look` tells of an error that does not count in its status; that
	 * name a repair that only a run that repairs looks for. */
	const char *tells, *notices, *unseen;
	bool rewrites; /* it writes to the disk and tells of repairs also if nothing is wrong */
	/* It builds structures anew, whatever is in them: what is in the sectors that it writes to
	 * on the healthy disk may change without a word. */
	bool rebuilds;
	bool trusts; /* `clean` only says that the disk is marked so: nothing follows from it */
	bool quiet; /* its status is `clean` after repairs, too */
	bool partial; /* it repairs one structure: after it, only `failed` is wrong */
	bool drops; /* it has no lost+found: what has lost its names is freed */
	bool drops_empty; /* so are empty files */
};

/* checker.def explains them. */
enum as_line_meaning {
	AS_LINE_NOISE,
	AS_LINE_HAS_NOISE,
	AS_LINE_DID,
	AS_LINE_FOLLOWS,
	AS_LINE_HAS_FOLLOWS,
	AS_LINE_TELLS,
	AS_LINE_HAS_MILD,
	AS_LINE_HARMLESS,
	AS_LINE_NAME
};

struct as_checker_line {
	enum as_line_meaning meaning;
	const char *text; /* NULL: there are no more */
};

struct as_checker {
	const char *name; /* the program, without its path */
	const char *package; /* Debian's; NULL: it comes with assay, or is a user's */
	const char *types; /* that it is tested on, the first if none is named; NULL: none */
	uint64_t bytes; /* of the generic disk of a test */
	struct as_checker_way ways[AS_CHECK_WAYS];
	const char *exits, *look_exits, *done, *asks, *caught; /* checker.def explains them */
	bool full_rebuilds; /* FULL writes to the disk whatever it finds, so that QUICK judges */
	bool direct; /* opens with O_DIRECT, which a file on tmpfs may refuse: it gets a device */
	bool block; /* a test shows it a block device, not a file */
	bool beside; /* the program comes with assay, and is where assay is */
	const struct as_checker_test *tests; /* NULL: it is not tested */
	const struct as_checker_line *lines; /* NULL: nothing is known of them */
};

/* Row i, or NULL after the last. */
const struct as_checker *as_checker_at(unsigned i);
/* The row of the program of a command, "/sbin/e2fsck -f {disk}"; NULL: there is none. */
const struct as_checker *as_checker_find(const char *command);
/* Test i of all, and its checker; NULL after the last. `checker` may be NULL. */
const struct as_checker_test *as_checker_test_at(unsigned i, const struct as_checker **checker);

/* What a status of such a run means, by the table and by what the run printed. *documented, which
 * may be NULL: the table has the status. */
enum as_check_answer as_checker_answer(const struct as_checker *checker, bool looks,
				       int exit_status, const char *output, bool *documented);
/* Does the same, and takes every line into account: where it repaired only what is harmless, the
 * disk was clean. */
enum as_check_answer as_checker_judge(const struct as_checker *checker, bool looks, int exit_status,
				      const char *output);
/* Whether a line of the output, without the blanks before it, is what a row means. */
bool as_checker_line_fits(const struct as_checker_line *row, const char *output, const char *line,
			  size_t len);

const char *as_check_mode_name(enum as_check_mode mode);
/* "repaired+left", as in the tables of statuses. */
const char *as_check_answer_name(enum as_check_answer answer);
/* The first words of "NUMBER=MEANING NUMBER-NUMBER=MEANING" that fit a status. False: none does. */
bool as_exits_find(const char *exits, int status, enum as_check_answer *answer);
/* AS_EUSE, and the message says what is wrong, unless all of it makes sense. */
AS_MUST_CHECK int as_exits_vet(const char *exits, struct as_err *err);

#endif
