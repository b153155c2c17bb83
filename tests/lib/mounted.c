/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mounted: see mounted.h. */
#include "tests/lib/mounted.h"

struct as_err t_child_err;

void t_child_check_rc(int rc, const char *what, int line, const struct as_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "line %d: %s: %d %s: %s\n", line, what, rc,
		rc < 0 ? as_errno_name(-rc) : "", err->msg);
	_exit(99);
}

void t_need_host(const char *name)
{
	struct as_buf why = { 0 };

	if (as_fstype_lacks_host(as_fstype_find(name), &why)) {
		char text[256];

		snprintf(text, sizeof(text), "%s", as_buf_str(&why));
		as_buf_free(&why);
		skip_because("%s on the running kernel lacks %s", name, text);
	}
}

struct as_medium *t_fresh_medium(const struct as_fstype *type, struct as_err *err)
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

void t_in_child(int (*fn)(void *), void *ctx)
{
	struct as_ended ended;
	struct as_err err;

	assert_int_equal(as_spawn_fork(fn, ctx, 300000, NULL, &ended, &err), 0);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 0);
}
