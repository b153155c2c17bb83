/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crash_work: workloads whose power cuts give the disks of the model `crash`. Each first makes the
 * tree of the generic disk, unmounts and mounts again: all that is stable. Then it changes some of
 * it. Power cuts are tried from that mount on; files that the second part does not name must
 * survive all of them.
 */
#ifndef AS_DAMAGE_CRASH_WORK_H
#define AS_DAMAGE_CRASH_WORK_H

#include "base/buf.h"
#include "work/seq.h"

#include <stddef.h>
#include <stdint.h>

/* Adds workload number `number` of a seed, as text. */
void as_crash_work(uint64_t seed, uint64_t number, struct as_buf *out);

/* The index of the last `mount` of a workload; SIZE_MAX: it has none. */
size_t as_crash_work_mount(const struct as_seq *seq);
/* The paths that it names from there on, to be freed; they are those of the workload. */
const char **as_crash_work_names(const struct as_seq *seq, size_t *n);

#endif
