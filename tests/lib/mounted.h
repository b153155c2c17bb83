/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounted: a fresh file system on a recorded disk, for tests that need the running kernel. All
 * of it happens in a forked child, whose namespace goes with it; checks in there are
 * child_check(), which end the child with a message.
 */
#ifndef AS_TESTS_LIB_MOUNTED_H
#define AS_TESTS_LIB_MOUNTED_H

#include "tests/lib/skip.h"

#include "disk/log.h"
#include "mount/mount.h"
#include "os/spawn.h"
#include "target/fresh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define child_check(cond)                                                                    \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: %s (errno %s)\n", __FILE__, __LINE__, #cond, \
				as_errno_name(errno));                                       \
			_exit(99);                                                           \
		}                                                                            \
	} while (0)
#define child_ok(call) t_child_check_rc((call), #call, __LINE__, &t_child_err)

extern struct as_err t_child_err;

void t_child_check_rc(int rc, const char *what, int line, const struct as_err *err);

/* Leaves the test where the running kernel cannot be used. */
void t_need_host(const char *name);

struct as_medium *t_fresh_medium(const struct as_fstype *type, struct as_err *err);

/* Runs fn(ctx) in a child; it must end with 0. */
void t_in_child(int (*fn)(void *), void *ctx);

#endif
