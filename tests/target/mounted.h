/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounted: a fresh file system on a recorded disk, for tests that need the running kernel. All
 * of it happens in a forked child, whose namespace goes with it; checks in there are
 * child_check(), which end the child with a message.
 */
#ifndef AS_TESTS_TARGET_MOUNTED_H
#define AS_TESTS_TARGET_MOUNTED_H

#include "tests/skip.h"

#include "disk/log.h"
#include "os/spawn.h"
#include "target/fresh.h"
#include "target/mount.h"

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
#define child_ok(call) child_check_rc((call), #call, __LINE__, &child_err)

static struct as_err child_err;

static inline void child_check_rc(int rc, const char *what, int line, const struct as_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "line %d: %s: %d %s: %s\n", line, what, rc,
		rc < 0 ? as_errno_name(-rc) : "", err->msg);
	_exit(99);
}

/* Leaves the test where the running kernel cannot be used. */
static inline void need_host(const char *name)
{
	struct as_buf why = { 0 };

	if (as_fstype_lacks_host(as_fstype_find(name), &why)) {
		char text[256];

		snprintf(text, sizeof(text), "%s", as_buf_str(&why));
		as_buf_free(&why);
		skip_because("%s on the running kernel lacks %s", name, text);
	}
}

static inline struct as_medium *fresh_medium(const struct as_fstype *type, struct as_err *err)
{
	struct as_medium *medium;

	if (as_medium_new(type->default_bytes, &medium, err))
		return NULL;
	if (as_fresh_disk(type, NULL, medium, NULL, err)) {
		as_medium_free(medium);
		return NULL;
	}
	return medium;
}

/* Runs fn(ctx) in a child; it must end with 0. */
static inline void in_child(int (*fn)(void *), void *ctx)
{
	struct as_ended ended;
	struct as_err err;

	assert_int_equal(as_spawn_fork(fn, ctx, 300000, NULL, &ended, &err), 0);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 0);
}

#endif
