/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bug.h: the seeded bugs, the numbered flush sites, and the option text that chooses among them
 * ("bug=3,bug=7,noflush=COMMIT,commit=every"). With nothing chosen, every switch is off and labfs
 * is correct. "queue" lets several journal blocks be in flight at once and writes the commit block
 * with FUA, so that there is no flush after it. "nobarrier" leaves out all flushes, as such options
 * of other file systems do: labfs then promises nothing about power cuts.
 */
#ifndef LABFS_BUG_H
#define LABFS_BUG_H

#include <assay/target.h>

enum lab_bug_class {
	LAB_CLASS_SEMANTICS, /* wrong answers; no crash or fault needed */
	LAB_CLASS_DOGFOOD, /* the same, on big or deep trees */
	LAB_CLASS_LEAK, /* memory that is not freed */
	LAB_CLASS_FAULT, /* needs a failing read, write or allocation */
	LAB_CLASS_CRASH, /* needs a power cut */
	LAB_CLASS_RECOVERY, /* in mount's replay; needs a power cut */
	LAB_CLASS_CHECKER, /* in labfs-fsck */
	LAB_CLASS_LIMITS, /* more memory or stack than it should use */
	LAB_CLASS_RULES, /* in what it tells of itself, or in one of several ways to go */
};

enum lab_bug {
#define LAB_BUG(number, id, class, what, ancestor, command, budget_s) LAB_BUG_##id = number,
#include "bugs.def"
#undef LAB_BUG
	LAB_BUG_LIMIT = 192 /* numbers are below this */
};

enum lab_flush {
#define LAB_FLUSH_SITE(id, where, why) LAB_FLUSH_##id,
#include "flush.def"
#undef LAB_FLUSH_SITE
	LAB_FLUSH_COUNT
};

/* Why an inode changed: what the bugs of fsync look at. */
enum {
	LAB_WHY_OTHER = 1,
	LAB_WHY_LINK = 2,
	LAB_WHY_FALLOC = 4,
	LAB_WHY_XATTR = 8,
	LAB_WHY_PUNCH = 16,
	LAB_WHY_TIMES = 32, /* and nothing else */
	LAB_WHY_KEEP = 64, /* blocks after the end */
	LAB_WHY_GROWN = 128, /* a size that is larger, and needs no other block */
};

struct lab_bug_row {
	unsigned number;
	enum lab_bug_class class;
	const char *id, *what, *ancestor, *command;
	unsigned budget_s;
};

struct lab_flush_row {
	const char *id, *where, *why;
};

struct lab_opts {
	uint64_t bugs[LAB_BUG_LIMIT / 64];
	uint32_t noflush; /* bit per enum lab_flush */
	bool commit_every; /* a commit after every operation */
	bool queue; /* "queue" was given, or a bug that needs it */
	bool readonly; /* "ro" was given */
	bool writable; /* "rw" was given */
};

/* Row i of the table, or NULL after the last. */
const struct lab_bug_row *lab_bug_row(unsigned i);
const struct lab_flush_row *lab_flush_row(unsigned i);
const char *lab_bug_class_name(enum lab_bug_class class);

/* Adds the options of `text` (comma separated, NULL = none). -EINVAL for an unknown option, and for
 * a bug number or a flush site without a row. */
int lab_opts_parse(const char *text, struct lab_opts *opts);

static inline bool lab_bug_chosen(const struct lab_opts *opts, enum lab_bug bug)
{
	return __builtin_expect(opts->bugs[bug / 64] >> (bug % 64) & 1, 0);
}

/* For anything with a member `opts` of type struct lab_opts. */
#define LAB_BUG_ON(fs, ID) lab_bug_chosen(&(fs)->opts, LAB_BUG_##ID)

/* Flushes, unless the options say that this site forgets it. */
static inline int lab_flush(struct as_bd *bd, const struct lab_opts *opts, enum lab_flush site)
{
	if (opts->noflush >> site & 1)
		return 0;
	return as_bd_flush(bd);
}

/* For anything with the members `bd` and `opts`. */
#define LAB_FLUSH(fs, SITE) lab_flush((fs)->bd, &(fs)->opts, LAB_FLUSH_##SITE)

#endif
