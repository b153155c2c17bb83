/* SPDX-License-Identifier: GPL-2.0-or-later */
/* userns: makes a process that is not root the root of a user namespace. */
#ifndef AS_OS_USERNS_H
#define AS_OS_USERNS_H

#include "base/err.h"

/* Enters a user namespace in which the calling process, which has one thread, is root over its own
 * files, and a mount namespace. `what` begins the message if that is not allowed: "a directory can
 * be tested". */
AS_MUST_CHECK int as_userns_enter(const char *what, struct as_err *err);

#endif
