/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place_priv: what place*.c share. */
#ifndef AS_SYM_PLACE_PRIV_H
#define AS_SYM_PLACE_PRIV_H

#include "sym/place.h"

struct as_place *as_place_add(struct as_places *places, uint32_t base);
/* Its bytes are known: finds its checksums. */
void as_place_finish(struct as_place *place, const struct as_places_setup *setup);
/* Adds bytes to what the server is told of. */
void as_place_add_range(struct as_place *place, uint64_t off, uint64_t len, bool symbolic);

/* place_suite.c: places of bytes that are no fields. */
void as_place_add_bytes(struct as_places *places, const struct as_places_setup *setup,
			uint32_t base, const struct as_damage *bytes, const char *how);
/* What lies next to bytes that a repair changes: the rest of these structures. */
void as_place_add_near(struct as_places *places, const struct as_places_setup *setup,
		       uint32_t base);

#endif
