/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_session: one checker under test, with its disks and what is known of them. */
#ifndef AS_CMD_FSCK_FSCK_SESSION_H
#define AS_CMD_FSCK_FSCK_SESSION_H

#include "cli/cli.h"
#include "cli/output.h"
#include "cmd/fsck/fsck_cover.h"
#include "cmd/fsck/fsck_crash.h"
#include "cmd/fsck/fsck_symbolic.h"
#include "cmd/fsck/fsck_word.h"
#include "damage/generic.h"
#include "damage/suite.h"
#include "fsck/lead.h"
#include "fsck/state.h"
#include "os/rundir.h"

/* Disks that a power cut left, and how each differs from a sound one. All zero: there are none. */
struct as_fsck_crashed {
	struct as_damage *differs;
	struct as_buf *names;
	size_t n;
};

struct as_fsck_session {
	const struct as_args *args;
	struct as_halt halt; /* of the runs of this process */
	struct as_subject_setup setup;
	struct as_fsck_subject *subject;
	struct as_judge *judge;
	struct as_chunks *store;
	struct as_generic generic;
	struct as_fsck_suite suite;
	struct as_fsck_crashes crashes;
	struct as_fsck_base *bases;
	size_t n_bases;
	const char *model;
	struct as_corrupt *corrupt; /* NULL: symbolic */
	struct as_symbolic symbolic;
	struct as_fsck_crashed crashed; /* with --symbolic: disks that a power cut left */
	struct as_fsck_state state;
	struct as_cli_output out;
	struct as_rundir folder;
	struct as_dir below, export;
	struct as_fsck_kernel_setup word;
	struct as_fsck_kernel *kernel;
	bool asks; /* the kernel about repaired disks */
	struct as_fsck_covering covering;
};

/* The name of its file in the folder of sessions. */
void as_fsck_state_name(const struct as_fsck_session *s, struct as_buf *name);

/* fsck_disks.c: the name of the model, by the options or by what is known of the disks. */
const char *as_fsck_model(const struct as_args *args, const char *type);
/* The healthy disks, then the model that damages them. */
AS_MUST_CHECK int as_fsck_open_disks(struct as_fsck_session *s, struct as_err *err);
AS_MUST_CHECK int as_fsck_open_model(struct as_fsck_session *s, struct as_err *err);
/* How long it takes, 0: until all is done. What it took to look at a checker and its disk is a part
 * of --for. */
AS_MUST_CHECK int as_fsck_time(const struct as_fsck_session *s, int64_t *for_us,
			       struct as_err *err);
AS_MUST_CHECK int as_fsck_load_disk(struct as_fsck_session *s, const char *path,
				    struct as_disk **disk, struct as_err *err);

/* fsck_crashed.c: the disks of the session become those that power cuts leave of them. */
AS_MUST_CHECK int as_fsck_crashed_make(struct as_fsck_session *s, struct as_err *err);
/* The disk of the session is one that a power cut left, and the file has a sound one. */
AS_MUST_CHECK int as_fsck_crashed_given(struct as_fsck_session *s, const char *sound,
					struct as_err *err);
void as_fsck_crashed_free(struct as_fsck_crashed *crashed);

#endif
