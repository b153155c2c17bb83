/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tape: a recording (record.h) as text, so that it can leave the process, or the sandbox, in which
 * it was made: the disk that it began with, and every write, flush and discard with the number of
 * its operation. It is divided into pieces, since a line of the wire has a limit.
 *
 * A tape may come from a kernel under test, so nothing in it is believed: whatever the text is, it
 * is a valid tape or it is refused.
 */
#ifndef AS_RECORDING_TAPE_H
#define AS_RECORDING_TAPE_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"
#include "disk/log.h"
#include "recording/record.h"

#include <stddef.h>
#include <stdint.h>

#define AS_TAPE_MAX_BYTES ((size_t)256 << 20) /* of what a tape unpacks to */

/* One that is all zero is empty. */
struct as_tape {
	struct as_disk *start; /* before the first mount */
	struct as_disk *end; /* beneath the log */
	struct as_reclog *log; /* op: the index in the workload; AS_RECLOG_NO_OP: the first mount */
	size_t n_ops; /* that were done */
	struct as_buf wrong; /* why it ended early, in words; "": it did not */
};

/* Calls piece(ctx, text) for each piece. */
AS_MUST_CHECK int as_tape_print(const struct as_recording *recording,
				void (*piece)(void *ctx, const char *text), void *ctx,
				struct as_err *err);

/* Puts pieces together; one that is all zero is empty. */
struct as_tape_pieces {
	struct as_buf packed;
	size_t n, all;
};

/* Adds a piece. *whole: it was the last one. AS_EUSE: it is none, or not the next one. */
AS_MUST_CHECK int as_tape_add(struct as_tape_pieces *pieces, const char *text, bool *whole,
			      struct as_err *err);
/* Makes a tape of them, on disks of the store, and empties them. */
AS_MUST_CHECK int as_tape_read(struct as_tape_pieces *pieces, struct as_chunks *store,
			       struct as_tape *tape, struct as_err *err);
void as_tape_pieces_free(struct as_tape_pieces *pieces);
void as_tape_free(struct as_tape *tape);

#endif
