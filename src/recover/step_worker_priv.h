/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_worker_priv: the driver of steps: what step_worker.c and step_check.c share. */
#ifndef AS_RECOVER_STEP_WORKER_PRIV_H
#define AS_RECOVER_STEP_WORKER_PRIV_H

#include "instance/outside.h"
#include "recover/jbd2.h"
#include "recover/step_priv.h"
#include "target/facts.h"

struct as_checkers;
struct as_host_log;
struct as_instance;
struct as_kwatch;

/* A recoverer of a target. */
struct as_step_worker {
	struct as_recoverer base;
	struct as_recovery rules;
	struct as_instance *instance; /* which visits the disks */
	const struct as_host_log *log; /* what the file system printed; may be NULL */
	struct as_kwatch *watch; /* of the kernel's log; NULL: not yet, or there is no kernel */
	struct as_jbd2 jbd2;
	struct as_checkers *checkers; /* step_check.c; NULL: none was needed yet */
	bool hung; /* one of them hangs, and was not only slow */
	struct as_outside_link link; /* to those that run outside of the guest */
};

/* The step of a checker that is a program. It always keeps a log. */
AS_MUST_CHECK int as_step_worker_check(struct as_step_worker *worker, enum as_check_mode mode,
				       struct as_disk *disk, struct as_stepped *stepped,
				       struct as_err *err);
void as_step_worker_check_end(struct as_step_worker *worker);

#endif
