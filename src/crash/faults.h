/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults: a recovery on a disk that fails to read: once for each of its reads, in order, until a
 * recovery ends in which none failed. It may give up, and it may say that something is lost; it may
 * not die, hang, or end well with another tree than it would have come to: that would be a loss
 * that nobody is told of.
 */
#ifndef AS_CRASH_FAULTS_H
#define AS_CRASH_FAULTS_H

#include "crash/judge.h"

struct as_faults_args {
	struct as_recoverer *recoverer;
	enum as_way way;
	struct as_flight *flight;
	struct as_crash_counts *counts;
};

/* `tree` is where recovery of `crashed` ends when nothing fails. True: all is well. */
bool as_faults(const struct as_faults_args *args, struct as_disk *crashed,
	       const struct as_tree *tree, struct as_problem *problem, int *rc, struct as_err *err);

#endif
