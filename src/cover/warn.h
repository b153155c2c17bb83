/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * warn: what a person should know before believing the numbers: a filter that matches nothing,
 * calls that could not be attributed, lines that were not understood, tables that were too small.
 */
#ifndef AS_COVER_WARN_H
#define AS_COVER_WARN_H

#include "cover/counts.h"

#define AS_WARNING_BYTES 1400

/* Warning number i about these counts: one sentence without a full stop. False: there is none. */
bool as_counts_warning(const struct as_counts *counts, unsigned i, char out[AS_WARNING_BYTES]);

#endif
