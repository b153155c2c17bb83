/* SPDX-License-Identifier: GPL-2.0-or-later */
/* judge_lot: disks that differ in one place, whose runs begin together (tool/stop.h). */
#include "fsck/judge_priv.h"

#define WORTH 4u /* fewer disks are not worth it */

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

int as_judge_lot_begin(struct as_judge *j, const struct as_fsck_base *base,
		       const struct as_damage *damages, size_t n, struct as_err *err)
{
	static const enum as_subject_mode modes[] = { AS_SUBJECT_REPAIR, AS_SUBJECT_CHECK };
	struct as_tool_range ranges[AS_TOOL_STOPS_MAX];
	unsigned n_ranges;
	int rc = 0;

	if (n < WORTH || !find_ranges(damages, n, ranges, &n_ranges))
		return 0;
	for (size_t i = 0; !rc && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (as_subject_has(j->subject, modes[i]) &&
		    !(j->repairs_only && modes[i] == AS_SUBJECT_CHECK))
			rc = as_subject_fork_begin(j->subject, modes[i], base->disk, ranges,
						   n_ranges, &j->forks[modes[i]], err);
	return rc;
}

void as_judge_lot_end(struct as_judge *j)
{
	for (unsigned i = 0; i < AS_SUBJECT_MODES; i++) {
		if (j->forks[i])
			as_subject_fork_end(j->subject, (enum as_subject_mode)i);
		j->forks[i] = false;
	}
}
