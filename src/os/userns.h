/* SPDX-License-Identifier: GPL-2.0-or-later */
/* userns: user namespaces, which give a process that is not root rights over what is its own. The
 * calling process has one thread. */
#ifndef AS_OS_USERNS_H
#define AS_OS_USERNS_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Enters a user namespace in which our user and group have these numbers, and the namespaces of
 * `spaces` (CLONE_NEW*). 0, or -1 with errno; *entered tells whether it was the numbers. */
AS_MUST_CHECK int as_userns_unshare(int spaces, uid_t uid, gid_t gid, bool *entered);

/* Enters a user namespace in which we are root over our own files, and a mount namespace. `what`
 * begins the message where that is not allowed: "a directory can be tested". */
AS_MUST_CHECK int as_userns_enter(const char *what, struct as_err *err);

#endif
