/* SPDX-License-Identifier: GPL-2.0-or-later */
/* direct: what a finished workload reads and writes through descriptors with O_DIRECT. */
#ifndef AS_GEN_DIRECT_H
#define AS_GEN_DIRECT_H

#include "gen/profile.h"
#include "work/seq.h"

void as_direct_align(struct as_seq *seq, const struct as_profile *profile,
		     struct as_choice *choice);

#endif
