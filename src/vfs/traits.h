/* SPDX-License-Identifier: GPL-2.0-or-later */
/* traits: what the model has to know about a target, from its capabilities and limits. */
#ifndef AS_VFS_TRAITS_H
#define AS_VFS_TRAITS_H

#include "model/traits.h"
#include "target/target.h"

/* The target must outlive the traits (its name is shared). For a directory the type of the file
 * system beneath and the caller's privileges are looked up. */
void as_run_traits(const struct as_target *target, struct as_traits *traits);

#endif
