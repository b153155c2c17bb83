/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * padded: a workload hidden in a long random one. The padding works in folders and with slots of
 * its own, and sometimes in the folders of the hidden one (reading, creating files beside it), so
 * that the order of the hidden operations is all that matters.
 */
#ifndef AS_TESTS_LIB_PADDED_H
#define AS_TESTS_LIB_PADDED_H

#include "work/parse.h"

#include <assay/choice.h>
#include <stdio.h>
#include <string.h>

#define PADDED_FOLDERS 4
#define PADDED_FILES 6
#define PADDED_SLOT 100
#define PADDED_SLOTS 5

/* n operations, those of `hidden` among them, in their order, the last one near the end. */
struct as_seq *t_padded(struct as_choice *c, const struct as_seq *hidden, size_t n);

#endif
