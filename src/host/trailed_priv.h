/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trailed_priv: what trailed.c and trailed_io.c share. */
#ifndef AS_HOST_TRAILED_PRIV_H
#define AS_HOST_TRAILED_PRIV_H

#include "host/trail.h"

struct as_trailed {
	struct as_target_ops ops;
	const struct as_target_ops *inner;
	struct as_trail *trail;
	struct as_host_mem *const *host;
	struct as_medium *medium;
	struct as_bd bd, *inner_bd;
	struct as_flash flash, *inner_flash;
	struct as_fs *fs; /* NULL: not mounted */
	struct as_handle **handles; /* by number; NULL: closed */
	size_t n_handles, cap_handles;
};

/* The device around the one that the library works on (trailed_io.c). */
extern const struct as_bd_ops as_trailed_bd_ops;
extern const struct as_flash_ops as_trailed_flash_ops;

static inline struct as_trailed *as_trailed_of_bd(struct as_bd *bd)
{
	return (struct as_trailed *)(void *)((char *)bd - offsetof(struct as_trailed, bd));
}

static inline struct as_trailed *as_trailed_of_flash(struct as_flash *flash)
{
	return (struct as_trailed *)(void *)((char *)flash - offsetof(struct as_trailed, flash));
}

#endif
