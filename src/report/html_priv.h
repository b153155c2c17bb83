/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html_priv: what the parts of the report's data share. */
#ifndef AS_REPORT_HTML_PRIV_H
#define AS_REPORT_HTML_PRIV_H

#include "base/json.h"
#include "os/dir.h"

#include <stdbool.h>

/* Adds to the object of a run what it did (progress.json), its counters over time (history.csv),
 * the code that it reached, and the curves of checkers (fsck/NAME.csv). What is missing or broken
 * is left out. Returns how many of the first three are broken. */
size_t as_report_run(const struct as_dir *dir, struct as_json *json);
/* Adds the functions of the kernel that the run reached (code.csv). False: the file is broken. */
bool as_report_code(const struct as_dir *dir, struct as_json *json);
/* Of its text, which is changed: an object for each file, with a pair for each function. */
bool as_report_code_print(char *text, struct as_json *json);
/* Adds the runs that a joined folder was made of, in the order of their names, with what each says
 * of itself and which findings it met how often. Returns how many there are; *unread grows by the
 * files that are broken. */
size_t as_report_joined(const struct as_dir *dir, struct as_json *json, size_t *unread);

#endif
