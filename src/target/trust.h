/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trust: what a target makes assay do outside of itself and of its sandbox. Whoever types a target
 * means it; a file that names one (a workload's @target, finding.json, the state of a hunt) may be
 * somebody else's, and must not run code, start commands or work in folders by being read.
 *
 * What the user typed himself is remembered, with the folder he typed it in, in a file that is his
 * alone (trust/typed in the cache), so that his own findings come back without a question.
 */
#ifndef AS_TARGET_TRUST_H
#define AS_TARGET_TRUST_H

#include "base/buf.h"

#include <stdbool.h>

/*
 * Whether the target reaches outside: a plugin, a command, a folder; or a file system of the kernel
 * or a FUSE server, not `boxed` (in a sandbox), with options that its row does not list. *what
 * (may be NULL) then says it in words, fit to be shown: "load and run the plugin ./x.so".
 */
bool as_trust_reaches(const char *spec, bool boxed, struct as_buf *what);
/* The same for the options of a mount operation on that target. */
bool as_trust_options_reach(const char *spec, bool boxed, const char *opts, struct as_buf *what);

/* `what` is any text, such as a target: remembered as typed here, and asked for. A folder for it
 * that cannot be had is no error: then nothing is remembered. */
void as_trust_remember(const char *what);
bool as_trust_remembers(const char *what);

#endif
