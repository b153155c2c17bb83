/* SPDX-License-Identifier: GPL-2.0-or-later */
/* places: where in files the operations of a finished workload begin and end. */
#ifndef AS_GEN_PLACES_H
#define AS_GEN_PLACES_H

#include "gen/profile.h"
#include "model/traits.h"
#include "work/seq.h"

void as_places_move(struct as_seq *seq, const struct as_profile *profile,
		    const struct as_traits *traits, struct as_choice *choice);

#endif
