/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups: the kinds of findings of a hunt by their likely cause. */
#ifndef AS_HUNT_GROUPS_H
#define AS_HUNT_GROUPS_H

#include "hunt/state.h"

/* The name of a group of kinds whose cause is not known yet. */
#define AS_HUNT_UNREDUCED_NAME "not reduced yet"

struct as_hunt_group {
	char *name; /* the cause in words: that of its smallest example */
	size_t example; /* index of the kind with the smallest workload */
	size_t kinds; /* of findings */
	uint64_t count; /* of findings */
};

struct as_hunt_groups {
	struct as_hunt_group *groups; /* with most findings first */
	size_t n;
	size_t *of; /* by kind: the index of its group */
};

void as_hunt_groups(const struct as_hunt_state *state, struct as_hunt_groups *groups);
void as_hunt_groups_free(struct as_hunt_groups *groups);

#endif
