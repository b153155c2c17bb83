/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * breed: workloads of a job that reached new code of the kernel, and new ones that are made of them
 * (hunt --kcov).
 */
#ifndef AS_HUNT_BREED_H
#define AS_HUNT_BREED_H

#include "work/seq.h"

struct as_breed;

struct as_breed *as_breed_new(void);
void as_breed_free(struct as_breed *breed); /* takes NULL */
/* Keeps a copy. */
void as_breed_keep(struct as_breed *breed, const struct as_seq *seq);
/* A workload made of one that was kept and of `fresh`, which is freed; metadata is that of `fresh`.
 * Every second time, and when nothing is kept yet, `fresh` itself. The same kept workloads and seed
 * give the same. */
struct as_seq *as_breed_next(struct as_breed *breed, struct as_seq *fresh, uint64_t seed);

#endif
