/* SPDX-License-Identifier: GPL-2.0-or-later */
/* refine: the lower layers on a view that is there already; gen.h has them for one workload. */
#ifndef AS_GEN_REFINE_H
#define AS_GEN_REFINE_H

#include "gen/gen.h"

/* weight: of commands that are not of the core. *end: the state that it leads to, with plain
 * arguments; the caller frees it. */
struct as_seq *as_refine_extend(const struct as_seq *core, struct as_gen_view *view,
				const uint32_t weight[AS_OP_COUNT], const struct as_traits *traits,
				struct as_gen_stats *counts, struct as_model **end);
/* Weights without those of the core. */
void as_refine_weights(const struct as_profile *profile, const struct as_traits *traits,
		       uint32_t weight[AS_OP_COUNT]);
/* Draws every argument of a workload in place. */
void as_refine_fill(struct as_seq *seq, const struct as_draw_index *index,
		    const struct as_profile *profile, struct as_choice *choice);

#endif
