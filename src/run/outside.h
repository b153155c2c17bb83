/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside: a checker that runs outside of the sandbox whose kernel wrote the disk. In a guest each
 * system call and each page fault of a program is expensive, and a checker makes hundreds of them.
 * So an engine in a guest puts the disk into the memory that it shares with its supervisor, asks,
 * and waits. The supervisor passes the question on to one more process of this program (as_outside_
 * serve()), which is confined like the guest itself.
 *
 * What the memory holds comes from a kernel under test: the process outside believes nothing of it.
 * Only the answer that a disk is clean is believed: whatever else the checker says outside, it runs
 * once more in the guest, and that is what counts.
 */
#ifndef AS_RUN_OUTSIDE_H
#define AS_RUN_OUTSIDE_H

#include "base/buf.h"
#include "base/err.h"
#include "box/sandbox.h"
#include "target/fstype.h"
#include "target/mount.h"
#include "tool/checker.h"

/* What an engine prints to ask; an event of supervise/wire.h. */
#define AS_OUTSIDE_ASK "{\"event\":\"check\"}\n"
/* The command that is the process outside. */
#define AS_OUTSIDE_COMMAND "check-outside"
#define AS_OUTSIDE_STATE_FD 5 /* its descriptor for the shared memory */

/* In the shared memory, after the witness of the disk. */
struct as_outside {
	volatile uint32_t offered;
	uint32_t mode;
	uint64_t dump_bytes;
	volatile uint64_t asked, answered; /* numbers of the question and of the answer */
	/* The answer. */
	int32_t rc; /* AS_ELACK: it cannot be run there */
	uint32_t answer;
	uint32_t doubted; /* by the engine: the last answer was not "clean" */
};

struct as_outside *as_outside_of(struct as_box_state *state);
size_t as_outside_bytes(void);
/* Where the dump of the disk (disk/dump.h) is. */
void *as_outside_dump(struct as_box_state *state, size_t *room_bytes);

/* By the supervisor: whether somebody answers. */
void as_outside_offer(struct as_outside *outside, bool offered);

/* By the engine: whether the checker finds nothing on the disk of the mount, which is not mounted.
 * False also if nobody answers, the disk is too large, or the checker cannot be run there. */
bool as_outside_is_clean(struct as_outside *outside, struct as_mount *mount,
			 enum as_check_mode mode);
/* After it was not: what the checker in the guest said of the same disk. If that one is clean, the
 * checker does not work outside, and is not asked again. */
void as_outside_compare(struct as_outside *outside, enum as_check_answer answer);

/* Runs the checker and judges its end. `output` gets what it printed, or how it ended. */
AS_MUST_CHECK int as_outside_run(struct as_checkers *checkers, const struct as_fstype *type,
				 enum as_check_mode mode, struct as_disk *disk,
				 enum as_check_answer *answer, struct as_buf *output,
				 struct as_err *err);

/* The process outside: answers questions about disks of this type and size, until there is nobody
 * to ask. A byte on in_fd is a question; a byte on out_fd says that it is answered. */
AS_MUST_CHECK int as_outside_serve(struct as_box_state *state, size_t state_bytes,
				   const struct as_fstype *type, uint64_t size_bytes,
				   unsigned deadline_ms, int in_fd, int out_fd, struct as_err *err);

#endif
