/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_cut: which disks a power cut can leave: everything before some flush, and any subset of
 * the writes from there to the next (lab_crash.h judges each).
 */
#ifndef AS_TESTS_LIB_LAB_CUT_H
#define AS_TESTS_LIB_LAB_CUT_H

#include "tests/lib/lab_crash.h"

/* Judges power cuts in every epoch; stops at the first complaint. */
void t_crash_judge(struct crashlab *lab);

#endif
