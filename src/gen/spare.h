/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spare: how much of the disk a finished workload takes, and how its names are spelled. */
#ifndef AS_GEN_SPARE_H
#define AS_GEN_SPARE_H

#include "gen/profile.h"
#include "model/traits.h"
#include "work/seq.h"

void as_spare_space(struct as_seq *seq, const struct as_profile *profile, struct as_choice *choice);
/* Names that a file system could take for others, in the workload with this number. */
void as_spell_names(struct as_seq *seq, const struct as_profile *profile,
		    const struct as_traits *traits, uint64_t number);

#endif
