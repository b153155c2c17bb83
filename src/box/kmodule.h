/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kmodule: which files of a kernel's modules must be loaded, and in which order, from modules.dep
 * and modules.builtin of its folder. */
#ifndef AS_BOX_KMODULE_H
#define AS_BOX_KMODULE_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Adds the files of the modules `names` (NULL-terminated), and of all modules that they need, to
 * `files`: paths below `folder`, one on each line, each once; a module stands after those that it
 * needs. A module that is built into the kernel adds nothing. AS_ELACK: the kernel does not have
 * it.
 */
AS_MUST_CHECK int as_kmodule_order(const char *folder, const char *const *names,
				   struct as_buf *files, struct as_err *err);
/* The same on the texts themselves. `dep` and `builtin` are as depmod(8) writes them. */
AS_MUST_CHECK int as_kmodule_order_text(const char *dep, const char *builtin, const char *name,
					struct as_buf *files, struct as_err *err);

#endif
