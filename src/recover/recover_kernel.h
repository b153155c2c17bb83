/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recover_kernel: see recover.h; the recoverer of a kernel's file systems. */
#ifndef AS_RECOVER_RECOVER_KERNEL_H
#define AS_RECOVER_RECOVER_KERNEL_H

#include "recover/recover.h"
#include "recover/steps.h"

/* The ways that make sense for a type, by its row: 1 << enum as_way. */
uint32_t as_recover_kernel_ways(const struct as_fstype *type);

/* A process has one of these. The type must outlive it. */
struct as_recoverer *as_recoverer_kernel(const struct as_fstype *type,
					 const struct as_steps_options *options);
/* Its steps, for their numbers. */
struct as_steps *as_recoverer_kernel_steps(struct as_recoverer *recoverer);

#endif
