/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hang: disks on which a checker seems not to end. Whether it does takes long to find out, so that
 * a process of its own waits for it, for one disk after the other.
 */
#ifndef AS_FSCK_HANG_H
#define AS_FSCK_HANG_H

#include "fsck/judge.h"

struct as_hangs;

/* What is asked, and what came out. */
struct as_hang {
	unsigned worker; /* who found it */
	enum as_fsck_problem problem;
	struct as_damage damage;
	char *signature;
	bool confirmed;
};

void as_hang_free(struct as_hang *hang);

/* The setup and the bases must outlive it. */
struct as_hangs *as_hangs_new(const struct as_subject_setup *setup,
			      const struct as_fsck_base *bases);
void as_hangs_free(struct as_hangs *hangs); /* takes NULL; ends the process */
/* Takes over what is in *hang. */
void as_hangs_add(struct as_hangs *hangs, const struct as_hang *hang);
/* From now on one is asked about after the other; before, they take a part of the time only. */
void as_hangs_hurry(struct as_hangs *hangs);
/* Whether anything is not decided yet. */
bool as_hangs_wait(const struct as_hangs *hangs);
/* Whether one is decided: the caller frees it. */
bool as_hangs_next(struct as_hangs *hangs, struct as_hang *out);

#endif
