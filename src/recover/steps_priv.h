/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps_priv: what the steps know of each other. Only steps.c, recover_mount.c and
 * recover_check.c include it. */
#ifndef AS_RECOVER_STEPS_PRIV_H
#define AS_RECOVER_STEPS_PRIV_H

#include "recover/jbd2.h"
#include "recover/steps.h"

struct as_checkers;
struct as_kwatch;
struct as_mount;

/* A device that can be stood on one disk after the other. */
struct as_steps_disk {
	struct as_bd bd;
	struct as_bd *inner; /* NULL: EIO */
};

struct as_steps {
	const struct as_fstype *type;
	struct as_steps_options options;
	char *mount_opts;
	struct as_memo *memo; /* NULL: off */
	struct as_jbd2 jbd2;
	struct as_steps_stats stats;
	uint64_t fail_read; /* 0: none does, or it has */
	bool failing, failed;

	/* recover_mount.c: devices for disks of one size and store. */
	struct as_chunks *store;
	uint64_t size_bytes;
	struct as_mount *memory, *served;
	struct as_steps_disk socket; /* beneath `served` */
	struct as_kwatch *watch;

	struct as_checkers *checkers; /* recover_check.c */
};

/* Neither looks into the memo. The mount keeps a log where asked to; the checkers always do. */
AS_MUST_CHECK int as_step_mount(struct as_steps *steps, enum as_step step, struct as_disk *disk,
				bool want_log, struct as_stepped *stepped, struct as_err *err);
AS_MUST_CHECK int as_step_check(struct as_steps *steps, enum as_check_mode mode,
				struct as_disk *disk, struct as_stepped *stepped,
				struct as_err *err);
/* A step has done so many reads. */
void as_step_count_reads(struct as_steps *steps, uint64_t reads);
void as_step_mount_end(struct as_steps *steps);
void as_step_check_end(struct as_steps *steps);

#endif
