/* SPDX-License-Identifier: GPL-2.0-or-later */
/* traits: targets that can do everything Linux can do. */
#ifndef AS_TESTS_LIB_TRAITS_H
#define AS_TESTS_LIB_TRAITS_H

#include "model/traits.h"

extern const struct as_traits t_any_traits; /* without limits */
extern const struct as_traits t_full_traits; /* with limits that tests meet */

#endif
