/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This is include/assay/bd.h of version 3 of the interface, kept as it was. */
/*
 * bd.h: the disk under a file system, a block device. target.h includes it.
 */
#ifndef ASSAY_BD_H
#define ASSAY_BD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_bd;

/* The version of struct as_bd_ops that has submit, wait and dirty. In a table of version 1 they are
 * missing; the functions below look. */
#define AS_BD_QUEUE 2u
/* The version that has flush_part. */
#define AS_BD_PARTS 3u

enum as_bd_flags {
	AS_BD_FUA = 1, /* the write is stable when it is complete; that says nothing of others */
};

/* Each function returns 0 or a negative errno. Offsets and lengths are in bytes, multiples of
 * sector_bytes, and inside the device; anything else is -EINVAL. */
struct as_bd_ops {
	uint32_t api;
	const char *name;
	int (*read)(struct as_bd *bd, uint64_t off, void *buf, size_t len);
	int (*write)(struct as_bd *bd, uint64_t off, const void *buf, size_t len);
	/* Everything that was written before, and was complete, is stable when this returns 0. */
	int (*flush)(struct as_bd *bd);
	/* The contents of the range become undefined (here: zeros). */
	int (*discard)(struct as_bd *bd, uint64_t off, uint64_t len);
	/* The range reads as zeros afterwards. */
	int (*zero)(struct as_bd *bd, uint64_t off, uint64_t len);

	/* Since AS_BD_QUEUE; each may be NULL. Call them by the functions below. */
	int (*submit)(struct as_bd *bd, uint64_t off, const void *buf, size_t len, unsigned flags,
		      uint64_t *ticket);
	int (*wait)(struct as_bd *bd, uint64_t ticket);
	void (*dirty)(struct as_bd *bd, uint64_t off, const void *buf, size_t len);

	/* Since AS_BD_PARTS; may be NULL. Call it by as_bd_flush_part(). */
	int (*flush_part)(struct as_bd *bd, uint64_t off, uint64_t len);
};

/* Implementations embed this as their first member. */
struct as_bd {
	const struct as_bd_ops *ops;
	uint64_t size_bytes;
	uint32_t sector_bytes;
};

static inline int as_bd_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	return bd->ops->read(bd, off, buf, len);
}

static inline int as_bd_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	return bd->ops->write(bd, off, buf, len);
}

static inline int as_bd_flush(struct as_bd *bd)
{
	return bd->ops->flush(bd);
}

static inline int as_bd_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return bd->ops->discard(bd, off, len);
}

static inline int as_bd_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return bd->ops->zero(bd, off, len);
}

/* ---- What a file system need not use ---- */

static inline bool as_bd_has_queue(const struct as_bd *bd)
{
	return bd->ops->api >= AS_BD_QUEUE;
}

/* Begins a write and does not wait for it: it is complete when as_bd_wait() of its ticket has
 * returned, and may be complete earlier. `flags` are AS_BD_*. The buffer may be used again at once,
 * and a read returns the new bytes. A disk without a queue writes at once. */
static inline int as_bd_submit(struct as_bd *bd, uint64_t off, const void *buf, size_t len,
			       unsigned flags, uint64_t *ticket)
{
	int rc;

	*ticket = 0;
	if (as_bd_has_queue(bd) && bd->ops->submit)
		return bd->ops->submit(bd, off, buf, len, flags, ticket);
	rc = as_bd_write(bd, off, buf, len);
	return !rc && (flags & AS_BD_FUA) ? as_bd_flush(bd) : rc;
}

/* Waits for the write with this ticket. 0: for all. */
static inline int as_bd_wait(struct as_bd *bd, uint64_t ticket)
{
	return as_bd_has_queue(bd) && bd->ops->wait ? bd->ops->wait(bd, ticket) : 0;
}

/* A write that is stable when this returns 0. */
static inline int as_bd_write_fua(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	uint64_t ticket;
	int rc = as_bd_submit(bd, off, buf, len, AS_BD_FUA, &ticket);

	return rc ? rc : as_bd_wait(bd, ticket);
}

/* A flush that covers only what was written to this range. It is for a device that stands for
 * several disks, each of which has a cache of its own. A device that does not know parts flushes
 * everything. */
static inline int as_bd_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	if (bd->ops->api >= AS_BD_PARTS && bd->ops->flush_part)
		return bd->ops->flush_part(bd, off, len);
	return as_bd_flush(bd);
}

/* A hint: your cache has these bytes for this place, and nothing but chance has kept it from
 * writing them. assay may write them for you during this call, so that power cuts meet a disk on
 * which that has happened. Do not hint what must not be written yet. */
static inline void as_bd_dirty(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	if (as_bd_has_queue(bd) && bd->ops->dirty)
		bd->ops->dirty(bd, off, buf, len);
}

#endif
