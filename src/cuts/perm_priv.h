/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perm_priv: what the files of perm share; see perm.c. */
#ifndef AS_CUTS_PERM_PRIV_H
#define AS_CUTS_PERM_PRIV_H

#include "base/choice.h"
#include "cuts/perm.h"

#define KEY_SECTOR 512u

struct as_perm_window {
	size_t at;
	size_t first, end; /* writes[first..end-1] are pending, but for those that are stable */
	size_t n_pending, n_sectors; /* of these: writes, and the units that they are in view 5 */
	uint32_t op, next_op;
	size_t base; /* the cut whose disk is stable here */
	bool flushed;
};

struct as_perm_write {
	size_t write; /* of writes[] */
	uint64_t off, len;
	struct as_digest delta; /* what it adds to a key by sectors that no other unit touches */
};

/* A unit that touches a slot, and the one before it that does. */
struct as_perm_touch {
	struct as_digest sum;
	uint32_t unit, before; /* UINT32_MAX: none */
};

struct as_perm_slot {
	uint64_t sector;
	struct as_digest base; /* of what the base disk holds there */
	uint32_t last; /* of touches[], UINT32_MAX: none */
	uint32_t count;
};

enum as_perm_stage { STAGE_MASKS, STAGE_SEVERAL, STAGE_TRIALS, STAGE_END };

struct as_perm {
	const struct as_reclog *log;
	struct as_perm_options options;
	size_t *writes, n_writes;
	size_t *stable_from; /* by write: the cut from which on it is stable; SIZE_MAX: none */
	size_t *units_at; /* how many sectors the writes before it touch: units of view 5 */
	size_t *sum_at; /* where the digests of a write begin */
	struct as_digest *sums;
	uint32_t *slot_of;
	struct as_perm_window *cuts;
	size_t n_cuts;
	struct as_disk **disks; /* by cut: with all writes before it */
	struct as_digest *keys;
	size_t n_made;

	struct as_perm_slot *slots;
	size_t n_slots, slots_cap;
	size_t span_base, span_first, span_end; /* what the slots are of */
	struct as_perm_touch *touches;
	size_t touches_cap;
	uint32_t *shared; /* slots that several units touch */
	size_t n_shared, shared_cap;

	/* The current view, cut and state. */
	enum as_view view;
	size_t cut, base;
	bool all;
	/* First come n_units that may be kept or not, then n_fixed that are stable though something
	 * before them is not; these are always kept. Each part is in the order of issue. */
	struct as_perm_write *units;
	size_t n_units, n_fixed, units_cap;
	size_t last_first; /* the first unit of the last write */
	bool *keep;
	size_t keep_cap;
	enum as_perm_stage stage;
	uint64_t step, index;
	unsigned part; /* of the states; see as_perm_begin_part() */
	uint64_t count; /* 0: all of them */
	uint64_t turned; /* so many come after all others */
	struct as_chooser *chooser;
};

/* ---- perm.c ---- */

/* The disk at a cut, with all writes before it. */
struct as_disk *as_perm_disk_at(struct as_perm *perm, size_t cut);
bool as_perm_is_synchronous(enum as_view view);
/* The units of a view at a cut, none kept. */
void as_perm_make_units(struct as_perm *perm, enum as_view view, size_t cut);
/* Goes through all units in the order of issue: both numbers begin with 0 and n_units. */
static inline size_t as_perm_in_order(const struct as_perm *p, size_t *unit, size_t *fixed)
{
	size_t end = p->n_units + p->n_fixed;

	if (*fixed == end || (*unit < p->n_units && p->units[*unit].write < p->units[*fixed].write))
		return (*unit)++;
	return (*fixed)++;
}
/* What is kept, as a state. */
void as_perm_fill_state(const struct as_perm *perm, struct as_perm_state *state);

/* ---- perm_keys.c ---- */

/* The bound digest of a sector's bytes; of those on a disk; of each sector of writes[w]. */
struct as_digest as_perm_sum_on_disk(struct as_disk *disk, uint64_t sector);
void as_perm_sum_write(struct as_perm *perm, size_t w);
/* Of writes first..end-1 over the disk at cut `base`. */
void as_perm_make_slots(struct as_perm *perm, size_t base, size_t first, size_t end);
/* Finds out which units touch which slots; sectors that only one unit touches are summed up in it.
 */
void as_perm_make_touches(struct as_perm *perm);
struct as_digest as_perm_key(const struct as_perm *perm);

#endif
