/* SPDX-License-Identifier: GPL-2.0-or-later */
/* window: see window.h. */
#include "disk/window.h"

#include "base/err.h"
#include "disk/call.h"

static struct as_window *of(struct as_bd *bd)
{
	return (struct as_window *)bd;
}

static int window_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	int rc = as_call_check(bd, off, len);

	return rc ? rc : as_bd_read(of(bd)->inner, of(bd)->off + off, buf, len);
}

static int window_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	int rc = as_call_check(bd, off, len);

	return rc ? rc : as_bd_write(of(bd)->inner, of(bd)->off + off, buf, len);
}

static int window_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	int rc = as_call_check(bd, off, len);

	return rc ? rc : as_bd_flush_part(of(bd)->inner, of(bd)->off + off, len);
}

static int window_flush(struct as_bd *bd)
{
	return window_flush_part(bd, 0, bd->size_bytes);
}

static int window_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	int rc = as_call_check(bd, off, len);

	return rc ? rc : as_bd_discard(of(bd)->inner, of(bd)->off + off, len);
}

static int window_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	int rc = as_call_check(bd, off, len);

	return rc ? rc : as_bd_zero(of(bd)->inner, of(bd)->off + off, len);
}

static int window_submit(struct as_bd *bd, uint64_t off, const void *buf, size_t len,
			 unsigned flags, uint64_t *ticket)
{
	int rc = as_call_check(bd, off, len);

	return rc ? rc : as_bd_submit(of(bd)->inner, of(bd)->off + off, buf, len, flags, ticket);
}

/* Who waits for everything waits for what went through other windows, too. */
static int window_wait(struct as_bd *bd, uint64_t ticket)
{
	return as_bd_wait(of(bd)->inner, ticket);
}

static void window_dirty(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	if (!as_call_check(bd, off, len))
		as_bd_dirty(of(bd)->inner, of(bd)->off + off, buf, len);
}

static const struct as_bd_ops window_ops = {
	.api = AS_BD_API,
	.name = "window",
	.read = window_read,
	.write = window_write,
	.flush = window_flush,
	.discard = window_discard,
	.zero = window_zero,
	.submit = window_submit,
	.wait = window_wait,
	.dirty = window_dirty,
	.flush_part = window_flush_part,
};

void as_window_init(struct as_window *window, struct as_bd *inner, uint64_t off, uint64_t len)
{
	as_assert(!as_call_check(inner, off, len) && len);
	*window = (struct as_window){ .bd = { &window_ops, len, inner->sector_bytes },
				      .inner = inner,
				      .off = off };
}
