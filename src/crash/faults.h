/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults: recoveries during which one call fails: the first read, then the second, and so on, until
 * a recovery ends without having made so many; then writes, flushes and allocations, if they were
 * asked for. A recovery may give up, and it may say that something is lost. It may not die or hang,
 * and it may not end well with another tree than without the error: then data would be lost and
 * nobody would be told.
 *
 * A library is then recovered once more, with nothing that fails. Unless its checker has said that
 * it repaired something, it must come to the tree that it comes to without the error.
 */
#ifndef AS_CRASH_FAULTS_H
#define AS_CRASH_FAULTS_H

#include "crash/judge.h"

struct as_faults_args {
	struct as_recoverer *recoverer;
	unsigned what; /* a mask of enum as_crash_fault */
	/* What is legal. */
	const struct as_recording *recording;
	struct as_moment moment;
	enum as_way way;
	struct as_flight *flight;
	struct as_crash_counts *counts;
};

/* `tree` is where recovery of `crashed` ends when nothing fails. True: all is well. */
bool as_faults(const struct as_faults_args *args, struct as_disk *crashed,
	       const struct as_tree *tree, struct as_problem *problem, int *rc, struct as_err *err);

#endif
