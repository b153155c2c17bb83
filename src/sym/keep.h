/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep: what a search remembers for --resume: a file of records for each worker, which only grows.
 * A record is what exploring one disk gave: which values it had, which questions were asked, the
 * values that were found, the ways that were gone, the code that was new, what was counted.
 */
#ifndef AS_SYM_KEEP_H
#define AS_SYM_KEEP_H

#include "base/buf.h"
#include "base/err.h"
#include "os/dir.h"
#include "sym/path.h"

#define AS_KEEP_TALLIES 48u

/* Values that wait to be run. */
struct as_keep_values {
	uint64_t way, expect, expect_at;
	uint32_t generation, gain, round;
	uint32_t problems; /* if they are judged */
	uint16_t n;
	uint8_t class, concrete, judged, spare[3];
	unsigned char values[]; /* n */
};

enum as_keep_list {
	AS_KEEP_ASKED, /* uint64_t each */
	AS_KEEP_WAYS,
	AS_KEEP_COVER, /* struct as_path_cover */
	AS_KEEP_VALUES, /* struct as_keep_values, one after the other, unaligned */
	AS_KEEP_LISTS
};

struct as_keep_head {
	uint64_t place; /* which: a digest of its disk, its bytes, and the checker */
	uint64_t done; /* hash of the values that were run, and of the round */
	uint64_t path; /* its digest; 0: there is none */
	uint64_t spent_us;
	uint64_t tallies[AS_KEEP_TALLIES];
	uint32_t bytes[AS_KEEP_LISTS]; /* of each list */
};

/* A record. */
struct as_keep_record {
	struct as_keep_head head;
	const unsigned char *list[AS_KEEP_LISTS];
};

struct as_keep;

/*
 * Opens files NAME.search-N of a folder, one for each of `jobs` workers. `resume` false: what is
 * there is removed. A record at the end of a file that is not whole is cut off; one that makes no
 * sense is an error (AS_EUSE).
 */
AS_MUST_CHECK int as_keep_open(const struct as_dir *dir, const char *name, unsigned jobs,
			       bool resume, struct as_keep **out, struct as_err *err);
void as_keep_free(struct as_keep *keep); /* takes NULL */

/* Calls fn for each record of the sessions before this one. */
void as_keep_each(const struct as_keep *keep, void (*fn)(void *ctx, const struct as_keep_record *r),
		  void *ctx);
/* The values that begin at *at; *at is after them then. NULL: there are no more. The head is
 * copied to `head`, since it need not be aligned. */
const unsigned char *as_keep_next(const struct as_keep_record *record, size_t *at,
				  struct as_keep_values *head);

/* Makes a record ready, at the end of `out`. */
void as_keep_put(const struct as_keep_head *head, const struct as_buf lists[AS_KEEP_LISTS],
		 struct as_buf *out);
/* Writes records that are ready to the file of a worker. */
AS_MUST_CHECK int as_keep_write(const struct as_keep *keep, unsigned worker,
				const struct as_buf *records, struct as_err *err);

#endif
