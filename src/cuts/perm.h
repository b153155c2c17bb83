/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perm: the disks that a power cut can leave, made from a record (disk/log.h) and the disk it began
 * on. There is a cut after each write and each flush; the states of a cut are subsets of the writes
 * that were pending then.
 *
 * The view (FiSC section 6.3) says what a unit is, and which units may be missing. Views go from
 * the easiest to reason about to the strictest test. A write is one call of the file system to its
 * disk.
 *
 *   1 sync-atomic    writes happen in order, each whole or not at all
 *   2 sync-left      in order; the sectors of the last one from left to right
 *   3 atomic         any subset of the pending writes, each whole
 *   4 sync-sectors   in order; of the last one any subset of its sectors
 *   5 sectors        any subset of the sectors of the pending writes
 *
 * A flush covers the writes that were complete when it was issued, and if it is one of several
 * disks (as_bd_flush_part()), those to that disk. One that was in flight then, or that went to
 * another disk, stays pending, though others that were issued after it are stable. A FUA write is
 * stable when it is complete, whatever is pending; so there is one more cut then.
 *
 * Of up to t units, every subset is tried. Of more: none, all, every prefix, all but one, and some
 * random subsets; their seed comes from the sectors involved, so that they are the same every time.
 * Discards and zeroes are writes.
 *
 * A state is identified by (view, cut, index): the same record gives the same state. Equal disks
 * that began as the same disk have equal keys, whatever record, view or cut led there (but for
 * collisions of 128 bits). No disk is built to compute a key.
 */
#ifndef AS_CUTS_PERM_H
#define AS_CUTS_PERM_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "disk/cow.h"
#include "disk/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum as_view {
	AS_VIEW_SYNC_ATOMIC = 1,
	AS_VIEW_SYNC_LEFT,
	AS_VIEW_ATOMIC,
	AS_VIEW_SYNC_SECTORS,
	AS_VIEW_SECTORS,
	AS_VIEWS /* one more than the last */
};

#define AS_VIEWS_ALL (((1u << AS_VIEWS) - 1) & ~1u)

const char *as_view_name(enum as_view view); /* "reordered atomic writes" */
/* "all", "3", "1,3": a mask of 1 << enum as_view. */
AS_MUST_CHECK int as_views_parse(const char *text, uint32_t *views, struct as_err *err);

#define AS_PERM_T 5u
#define AS_PERM_T_MAX 16u
#define AS_PERM_TRIALS 7u
#define AS_PERM_TRIALS_MAX 100000u

struct as_perm_options {
	unsigned t, trials;
	uint32_t sector_bytes; /* 512 or 4096 */
	bool lying_flush; /* a disk whose flush does nothing: all since the start is pending */
	struct as_digest start_key; /* of the start disk; zero: its digest */
};

struct as_perm_cut {
	size_t at; /* entries 0..at-1 of the record were issued */
	size_t base_end; /* entries 0..base_end-1 are stable */
	size_t n_pending; /* writes that may be missing */
	uint32_t op; /* of entry at-1; AS_RECLOG_NO_OP for cut 0 */
	uint32_t next_op; /* of entry at; AS_RECLOG_NO_OP after the last */
	bool flushed; /* something has become stable here: by a flush, or by FUA */
	bool in_flight; /* the next cut is here, too: entry at-1 was issued, and no more is known */
	bool step; /* of one program of flash: the place is written again at once (disk/flash.c) */
};

struct as_perm_state {
	enum as_view view;
	size_t cut;
	uint64_t index; /* of the states of this view and cut */
	struct as_digest key;
	size_t n_units, n_kept;
	size_t n_fixed; /* units after these that are stable, and always kept */
};

struct as_perm;

/* The record and the start disk must outlive it and stay as they are. */
struct as_perm *as_perm_new(const struct as_reclog *log, struct as_disk *start,
			    const struct as_perm_options *options);
void as_perm_free(struct as_perm *perm); /* takes NULL */

size_t as_perm_cuts(const struct as_perm *perm); /* at least 1 */
struct as_perm_cut as_perm_cut(const struct as_perm *perm, size_t cut);

/* Begins with the states of a view at a cut. Without `all`, states without the last write are left
 * out: an earlier cut had them. That is right where no less is allowed now than at that cut. */
void as_perm_begin(struct as_perm *perm, enum as_view view, size_t cut, bool all);
/* The same, with a part of the states only: those with this as_perm_round() of `count`, which is
 * what as_perm_count() gives. Part 0 is one state: all but the first unit, or only the last one. */
void as_perm_begin_part(struct as_perm *perm, enum as_view view, size_t cut, bool all,
			unsigned part, uint64_t count);
/* The next state. False: there are no more. */
bool as_perm_next(struct as_perm *perm, struct as_perm_state *state);

/* How many states there are, of all parts, as far as next() has come. */
uint64_t as_perm_passed(const struct as_perm *perm);
/* How many states a view has at a cut. That is exact but for random subsets, of which some turn out
 * to be states of an earlier cut: they are counted. */
uint64_t as_perm_count(const struct as_perm *perm, enum as_view view, size_t cut, bool all);
/* How often 0..n-1 must be halved until i is met; 0: i is the first. as_perm_rounds(): how often
 * until all are met. */
unsigned as_perm_round(uint64_t i, uint64_t n);
unsigned as_perm_rounds(uint64_t n);

/* The disk of the state that next() or pick() gave last; the caller frees it. */
struct as_disk *as_perm_disk(struct as_perm *perm);

/* The units kept in that state, from 1: "none", "all", "1,3-5". */
void as_perm_print_units(const struct as_perm *perm, struct as_buf *out);
/* Goes to the state with these units, as printed, of a view at a cut. False: there are no such
 * units. */
bool as_perm_pick(struct as_perm *perm, enum as_view view, size_t cut, const char *units,
		  struct as_perm_state *state);

/* A unit of that state: a part of a write. Numbers from n_units on are those of the fixed ones. */
struct as_perm_unit {
	size_t entry; /* of the record */
	uint64_t off, len; /* bytes of the disk */
	bool kept;
};
size_t as_perm_units(const struct as_perm *perm); /* all of them */
struct as_perm_unit as_perm_unit(const struct as_perm *perm, size_t i);

#endif
