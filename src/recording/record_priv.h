/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_priv: a recording that is being made. Only recording/record*.c include it. */
#ifndef AS_RECORDING_RECORD_PRIV_H
#define AS_RECORDING_RECORD_PRIV_H

#include "recording/orders.h"
#include "recording/record.h"
#include "trial/trial.h"

struct rec {
	const struct as_record_args *args;
	struct as_recording *out;
	struct as_instance *instance;
	struct as_trial trial; /* what is known of the workload, and its model */
	struct as_policy policy;
	struct as_buf text;
	size_t answers_cap, upto_cap;
	bool strict; /* AS_INSTANCE_STRICT */
	bool logs; /* the type has a log */
	int64_t op; /* in flight; -1: the mount */
	struct as_chooser *early; /* NULL: nothing is written early */
	struct as_race_delay *delay; /* of the disk; NULL: there is no race */
};

/* Returns false. Only the first thing that went wrong is kept. */
bool as_record_went_wrong(struct rec *r, enum as_finding_kind kind, const char *why);
/* Adds the operations that end a workload. */
void as_record_add_end(struct rec *r);

/* record_race.c */
AS_MUST_CHECK int as_record_race(struct rec *r, struct as_err *err);

#endif
