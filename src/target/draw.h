/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draw: a type as it is made and mounted by chance: variants of mkfs (variant.def) and mount
 * options (`draw` of its row) at the first mount. What is drawn is a target as a person could
 * have typed it. */
#ifndef AS_TARGET_DRAW_H
#define AS_TARGET_DRAW_H

#include "base/buf.h"
#include "target/target.h"

#include <assay/choice.h>

/* Whether there is anything to draw: it is of a type, and named without options. */
bool as_draw_can(const struct as_target *target);
/* Adds "ext4:mkfs=4k+inline_data,data=journal" or the like. */
void as_draw_spec(const struct as_target *target, struct as_choice *choice, struct as_buf *spec);

#endif
