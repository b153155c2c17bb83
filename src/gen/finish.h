/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finish: what is changed in a workload when all of its operations are drawn. `number`: that of the
 * workload; what comes in every so many workloads makes no choice of the generator's, so that the
 * others are what they were. */
#ifndef AS_GEN_FINISH_H
#define AS_GEN_FINISH_H

#include "gen/profile.h"
#include "model/traits.h"
#include "work/seq.h"

/* direct.c: what is read and written through descriptors with O_DIRECT. */
void as_direct_align(struct as_seq *seq, const struct as_profile *profile,
		     struct as_choice *choice);
/* places.c: where in files operations begin and end. */
void as_places_move(struct as_seq *seq, const struct as_profile *profile,
		    const struct as_traits *traits, struct as_choice *choice);
/* spare.c: how much of the disk it takes. */
void as_spare_space(struct as_seq *seq, const struct as_profile *profile, struct as_choice *choice);
/* Names that a file system could take for others. */
void as_spell_names(struct as_seq *seq, const struct as_profile *profile,
		    const struct as_traits *traits, uint64_t number);
/* reuse.c: the workload, or a longer one in its place, in which the blocks of a file are used
 * again. */
struct as_seq *as_reuse_blocks(struct as_seq *seq, const struct as_profile *profile,
			       const struct as_traits *traits, uint64_t number);
/* mark.c: data, attributes and texts of links that begin as a block of the journal does. */
void as_mark_data(struct as_seq *seq, const struct as_profile *profile,
		  const struct as_traits *traits, uint64_t number);

#endif
