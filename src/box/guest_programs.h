/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_programs: which programs and kernel modules a guest gets, and how much memory: what the
 * file system types under test need, as their rows in target/fstype.def say.
 */
#ifndef AS_BOX_GUEST_PROGRAMS_H
#define AS_BOX_GUEST_PROGRAMS_H

#include "box/sandbox.h"

struct as_fstype;

/* Names, with a NULL after the last. All zero is an empty list. */
struct as_guest_names {
	char **names;
	size_t n, cap;
};

struct as_guest_programs {
	struct as_guest_names programs; /* that the guest must have */
	struct as_guest_names optional; /* that it gets if this machine has them */
	struct as_guest_names modules;
	uint64_t mem_bytes; /* that the guest needs; 0: the sandbox's default is enough */
	uint64_t mem_set; /* that the options of the box have from here */
};

/* Adds what a type needs. */
void as_guest_programs_add(struct as_guest_programs *programs, const struct as_fstype *type);
/* Puts them into the options of a box, the memory if nobody has said how much. The lists are good
 * until the next is added. */
void as_guest_programs_set(struct as_guest_programs *programs, struct as_box_options *options);
void as_guest_programs_free(struct as_guest_programs *programs);

#endif
