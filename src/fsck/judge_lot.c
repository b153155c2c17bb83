/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge_lot: disks that differ in one place, whose runs begin together (tool/stop.h).
 *
 * Method. A run is forked from a place where the checker had stopped on another disk, if all that
 * it had touched there is the same on this one. The first runs of a lot are forked where the
 * checker first touches what is damaged. What they leave often differs from each other in the same
 * sectors only, but from the healthy disk also in what every run writes (a time, a mark "clean").
 * So one of these disks is stopped on as well.
 *
 * To stop costs about as much as what is saved each time. So places stay for lots that follow, and
 * a new one is made only if there are enough disks for it. A run on the undamaged disk tells when
 * each sector is touched, in reads of the disk so far, and so what is saved. Which of the places a
 * run takes makes no difference to what it does.
 */
#include "fsck/judge_priv.h"

#include <stdlib.h>

#define WORTH 4u /* fewer disks are not worth it */
#define EARLY 4u /* a stop within the first fourth of a run is not worth it either */
#define BEGUN_MAX 3u /* places for one lot: a damaged disk, and what its runs leave */

/* The sectors that any of the damages touches. False: they are too many. */
static bool find_ranges(const struct as_damage *damages, size_t n, struct as_tool_range *ranges,
			unsigned *n_ranges)
{
	*n_ranges = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < damages[i].n; k++) {
			uint64_t at = damages[i].bytes[k].off / AS_DISK_SECTOR_BYTES *
				      AS_DISK_SECTOR_BYTES;
			unsigned r = 0;

			while (r < *n_ranges && ranges[r].off != at)
				r++;
			if (r == AS_TOOL_STOPS_MAX)
				return false;
			ranges[r] = (struct as_tool_range){ at, AS_DISK_SECTOR_BYTES };
			*n_ranges += r == *n_ranges;
		}
	return *n_ranges;
}

void as_judge_lot_begin(struct as_judge *j, const struct as_fsck_base *base,
			const struct as_damage *damages, size_t n)
{
	if (n < WORTH || !find_ranges(damages, n, j->ranges, &j->n_ranges))
		j->n_ranges = 0;
	for (unsigned i = 0; i < AS_SUBJECT_MODES; i++)
		j->stops[i].begun = 0;
	j->lot_disk = base->disk;
	j->lot_n = n;
}

void as_judge_lot_end(struct as_judge *j)
{
	j->lot_disk = NULL;
	j->n_ranges = 0;
}

void as_judge_end_stops(struct as_judge *j)
{
	for (unsigned i = 0; i < AS_SUBJECT_MODES; i++) {
		for (unsigned k = 0; k < AS_SUBJECT_FORKS; k++)
			as_subject_fork_end(j->subject, k, (enum as_subject_mode)i);
		free(j->stops[i].order);
	}
}

/* When the first of the lot's sectors is touched; 0: never, or nobody knows. */
static int when_touched(struct as_judge *j, enum as_subject_mode mode, uint64_t *reads,
			struct as_err *err)
{
	struct stops *s = &j->stops[mode];
	uint64_t sectors = as_disk_size(j->lot_disk) / AS_DISK_SECTOR_BYTES;
	uint32_t first = UINT32_MAX;
	int rc = 0;

	*reads = 0;
	if (s->order && s->sectors != sectors) {
		free(s->order);
		s->order = NULL;
	}
	if (!s->order)
		rc = as_subject_order(j->subject, mode, j->lot_disk, &s->order, &s->reads, err);
	s->sectors = sectors;
	if (rc || !s->reads)
		return rc;
	for (unsigned i = 0; i < j->n_ranges; i++) {
		uint64_t at = j->ranges[i].off / AS_DISK_SECTOR_BYTES;

		if (at < sectors && s->order[at] < first)
			first = s->order[at];
	}
	*reads = first == UINT32_MAX ? 0 : first;
	return 0;
}

/* Whether another place would save more than it costs: `at` reads, where `have` are saved now. */
static bool is_worth(const struct as_judge *j, const struct stops *s, uint64_t at, uint64_t have)
{
	return at * EARLY >= s->reads && at > have && j->lot_n * (at - have) > 3 * at;
}

/* The place that is the latest of those that the disk fits; AS_SUBJECT_FORKS: it fits none. */
static unsigned latest(const struct as_judge *j, enum as_subject_mode mode,
		       const struct as_disk *disk, uint64_t *reads)
{
	unsigned best = AS_SUBJECT_FORKS;

	*reads = 0;
	for (unsigned i = 0; i < AS_SUBJECT_FORKS; i++) {
		uint64_t at = j->stops[mode].used[i]
				      ? as_subject_fork_fits(j->subject, i, mode, disk)
				      : 0;

		if (at <= *reads)
			continue;
		*reads = at;
		best = i;
	}
	return best;
}

/* Stops on this disk, in place of what was not used for longest. */
static int stop_here(struct as_judge *j, enum as_subject_mode mode, struct as_disk *disk,
		     unsigned *which, struct as_err *err)
{
	struct stops *s = &j->stops[mode];
	unsigned oldest = 0;
	bool forks;
	int rc;

	for (unsigned i = 1; i < AS_SUBJECT_FORKS; i++)
		if (s->used[i] < s->used[oldest])
			oldest = i;
	s->begun++;
	s->used[oldest] = 0;
	as_subject_fork_end(j->subject, oldest, mode);
	rc = as_subject_fork_begin(j->subject, oldest, mode, disk, j->ranges, j->n_ranges, &forks,
				   err);
	if (rc)
		return rc;
	if (forks) {
		s->used[oldest] = ++j->clock;
		*which = oldest;
	} else {
		s->begun = BEGUN_MAX;
	}
	return 0;
}

int as_judge_run(struct as_judge *j, enum as_subject_mode mode, struct as_disk *disk,
		 struct as_subject_run *run, struct as_err *err)
{
	struct stops *s = &j->stops[mode];
	uint64_t have, at = 0;
	unsigned which = latest(j, mode, disk, &have);
	int rc = 0;

	*run = (struct as_subject_run){ 0 };
	if (j->n_ranges && s->begun < BEGUN_MAX) {
		rc = when_touched(j, mode, &at, err);
		if (!rc && is_worth(j, s, at, have))
			rc = stop_here(j, mode, disk, &which, err);
	}
	if (rc)
		return rc;
	if (which == AS_SUBJECT_FORKS)
		return as_subject_run(j->subject, mode, disk, run, err);
	s->used[which] = ++j->clock;
	j->counts.forked++;
	return as_subject_run_forked(j->subject, which, mode, disk, run, err);
}
