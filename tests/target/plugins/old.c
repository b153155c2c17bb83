/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * old: the example plugin as it was built for an older version of the interface. The headers of
 * version 2 are kept in v2/, which is first in the path of includes.
 */
#include <assay/target.h>
#undef AS_TARGET_API
#define AS_TARGET_API AS_OLD_API
#include "../../../examples/plugin_skeleton/skeleton.c"
