/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash_words: what `assay crash` says of the states that it counted, for people and as JSON. */
#ifndef AS_CMD_CRASH_WORDS_H
#define AS_CMD_CRASH_WORDS_H

#include "base/json.h"
#include "crash/crash.h"

/* Adds "12 crash states, 9 distinct, ...". */
void as_crash_words(struct as_buf *line, const struct as_crash_counts *counts);
/* Adds the members, without the braces. */
void as_crash_words_json(struct as_json *json, const struct as_crash_counts *counts);

#endif
