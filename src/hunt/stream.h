/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream: the workloads of one job of a hunt, numbered from 0. Seed, job and number give the same
 * workload on every machine, whatever ran before. Each round of AS_STREAM_ROUND workloads begins
 * with a new generator, so that a seek to a number costs one round at most.
 */
#ifndef AS_HUNT_STREAM_H
#define AS_HUNT_STREAM_H

#include "base/err.h"
#include "gen/gen.h"
#include "model/traits.h"
#include "work/seq.h"

#define AS_STREAM_ROUND 1024

struct as_stream;

/* Profile and traits must outlive it. AS_EUSE when the profile has nothing that is possible. */
AS_MUST_CHECK int as_stream_new(const struct as_profile *profile, const struct as_traits *traits,
				uint64_t seed, unsigned job, struct as_stream **stream,
				struct as_err *err);
void as_stream_free(struct as_stream *stream); /* takes NULL */
/* The next workload will be the one with this number. */
void as_stream_seek(struct as_stream *stream, uint64_t number);
/* The caller frees it; NULL: there is none. @workload names it: profile, seed, job, number. */
struct as_seq *as_stream_next(struct as_stream *stream);

#endif
