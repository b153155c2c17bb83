/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve_none: takes the place of serve_fuse.c in a build without libfuse3. */
#include "disk/serve.h"

#ifndef AS_HAVE_fuse3

int as_serve_new(const char *folder, const struct as_serve_disk *disks, size_t n, int home_fd,
		 struct as_serve **serve, struct as_err *err)
{
	(void)folder;
	(void)disks;
	(void)n;
	(void)home_fd;
	*serve = NULL;
	return as_fail(err, AS_ELACK,
		       "this assay was built without libfuse3 (install libfuse3-dev, make again)");
}

void as_serve_free(struct as_serve *serve)
{
	as_assert(!serve);
}

/* No server can exist here. */
void as_serve_lock(struct as_serve *serve)
{
	as_assert(!serve);
}

void as_serve_unlock(struct as_serve *serve)
{
	as_assert(!serve);
}

void as_serve_hold(struct as_serve *serve, unsigned after, unsigned idle_ms)
{
	(void)after;
	(void)idle_ms;
	as_assert(!serve);
}

void as_serve_set_hook(struct as_serve *serve, const struct as_serve_hook *hook)
{
	(void)hook;
	as_assert(!serve);
}

#endif
