/* SPDX-License-Identifier: GPL-2.0-or-later */
/* against: the bouts of fight.h as cmocka tests, for one file system. */
#ifndef AS_TESTS_LIB_AGAINST_H
#define AS_TESTS_LIB_AGAINST_H

#include "tests/lib/fight.h"

int t_run_against(const char *where, long magic, bool slow);

#endif
