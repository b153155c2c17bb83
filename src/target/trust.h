/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trust: what a target makes assay do outside of itself and of its sandbox. A user who types a
 * target wants that. But a file that names a target (a workload's @target, finding.json, the state
 * of a hunt) may come from somebody else: to read it must not run code, start commands or work in
 * folders.
 *
 * What the user typed himself is remembered, with the folder he typed it in, in a file that is his
 * alone (trust/typed in the cache), so that his own findings are replayed without a question.
 */
#ifndef AS_TARGET_TRUST_H
#define AS_TARGET_TRUST_H

#include "base/buf.h"

#include <stdbool.h>

/*
 * Whether the target reaches outside: a plugin, a command, a folder; or a file system of the kernel
 * or a FUSE server, not `boxed` (in a sandbox), with options that its row does not list. *what (may
 * be NULL) then says it in words that can be shown: "load and run the plugin ./x.so".
 */
bool as_trust_reaches(const char *spec, bool boxed, struct as_buf *what);
/* The same for the options of a mount operation on that target. */
bool as_trust_options_reach(const char *spec, bool boxed, const char *opts, struct as_buf *what);

/* `what` is any text, such as a target: it is remembered as typed here, or looked up. If there is
 * no folder for it, that is no error: nothing is remembered. */
void as_trust_remember(const char *what);
bool as_trust_remembers(const char *what);

#endif
