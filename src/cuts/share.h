/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share: how a hunt divides the budget of a workload among the views and power cuts during
 * recovery, and how often writes are held or early and rounds go on: by what each still finds.
 *
 * Method. What a kind of state is worth is what it gave for what it cost: disks that are new, trees
 * that are new, problems that are new (progress/shares.h). A workload has AS_SHARE_PARTS parts.
 * Each kind has one, so that none starves; the others are drawn, a kind that is worth twice as much
 * twice as often, within bounds. What a kind cannot use is not given to others: then the next
 * workload comes the sooner.
 *
 * A share depends on the workload, the seed and what was counted before, and never on times. So
 * hunts with equal seeds do the same. A finding keeps the share of its workload.
 */
#ifndef AS_CUTS_SHARE_H
#define AS_CUTS_SHARE_H

#include "base/buf.h"
#include "base/err.h"
#include "progress/shares.h"
#include "work/seq.h"

#define AS_SHARE_PARTS 32u
#define AS_SHARE_OF 64u /* chances are so many in AS_SHARE_OF */

struct as_share {
	uint8_t part[AS_SHARE_DIVIDED]; /* of AS_SHARE_PARTS; all 0: as plan.h divides */
};

struct as_share_chances {
	unsigned rounds, hold, early;
};

/* so_far: what the workloads before it came to. */
struct as_share as_share_draw(const struct as_seq *seq, uint64_t seed,
			      const struct as_shares *so_far);
struct as_share_chances as_share_chances(const struct as_shares *so_far);

bool as_share_is(const struct as_share *share); /* not all are 0 */
/* The same, but `planned` if there is no share. */
uint64_t as_share_part(const struct as_share *share, enum as_share_row row, uint64_t limit,
		       uint64_t planned);

/* "10.4.3.2.4.9", and back. */
void as_share_print(const struct as_share *share, struct as_buf *out);
AS_MUST_CHECK int as_share_parse(const char *word, const char *value, struct as_share *share,
				 struct as_err *err);
/* What was counted before, as far as it decides: "GAIN.COST" of each row, with dots between. */
void as_share_print_tally(const struct as_shares *so_far, struct as_buf *out);
AS_MUST_CHECK int as_share_parse_tally(const char *word, const char *value,
				       struct as_shares *so_far, struct as_err *err);

#endif
