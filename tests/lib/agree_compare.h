/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree_compare: the ways of agree.h against each other. Each is compared with the run, an
 * operation at a time, up to its own end. Where a way differs on purpose, a row of `differs` says
 * so, and why.
 */
#ifndef AS_TESTS_LIB_AGREE_COMPARE_H
#define AS_TESTS_LIB_AGREE_COMPARE_H

#include "tests/lib/agree.h"

/* Reads the workload. The sweep has no plans yet. */
struct t_sweep *t_sweep_new(struct t_agree *on, const char *name, const char *workload);
void t_sweep_free(struct t_sweep *sweep);
/* text NULL: nothing fails. */
void t_sweep_add(struct t_sweep *sweep, const char *text);

/* Carries it out by each way, and notes where they do not agree. *run is what the run came to with
 * the first plan; it may be NULL. Returns how many plans have hit something. */
unsigned t_sweep_try(struct t_sweep *sweep, const char *target, struct t_steps *run);

/* Tells what was noted since the last time, and fails the test if that is anything. */
void t_agree_tell(void);

/* Which rows of trial/excuse.def have decided something in that way. */
struct as_decided t_agree_met(unsigned way);
/* They have, in another process. */
void t_agree_meet(unsigned way, const struct as_decided *decided);

#endif
