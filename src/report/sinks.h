/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sinks: where findings go: to a person at a terminal, to a program that reads JSON lines. Each is
 * made, put into a chain (sink->next) and freed by the caller. dossier/store.h keeps them.
 */
#ifndef AS_REPORT_SINKS_H
#define AS_REPORT_SINKS_H

#include "base/err.h"
#include "base/event.h"
#include "base/finding_json.h"
#include "os/dir.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* For people. Everything is flushed at once, so that no forked child prints it again. `folder`,
 * which the caller keeps: where `assay replay` has to look for findings; NULL: where it does. */
struct as_sink *as_term_sink_new(FILE *out, bool colour, const char *folder);
void as_term_sink_free(struct as_sink *sink); /* takes NULL */

/* One object a line: {"event":"finding",...}, {"event":"note",...}, {"event":"done",...}. */
struct as_sink *as_jsonl_sink_new(FILE *out);
void as_jsonl_sink_free(struct as_sink *sink); /* takes NULL */

#endif
