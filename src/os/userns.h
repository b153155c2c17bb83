/* SPDX-License-Identifier: GPL-2.0-or-later */
/* userns: what needs root, for a process that is not root. */
#ifndef AS_OS_USERNS_H
#define AS_OS_USERNS_H

#include "base/err.h"

/* From now on this process is in a user namespace and a mount namespace of its own, in which it is
 * root over what is its user's. AS_ELACK where that is not allowed; the message begins with `what`
 * ("a directory can be tested"). The process has one thread. */
AS_MUST_CHECK int as_userns_enter(const char *what, struct as_err *err);

#endif
