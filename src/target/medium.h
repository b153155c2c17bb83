/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * medium: the disk that a linked file system stands on, with the faults it is to meet. Copies are
 * free (see disk/cow.h), so each workload gets its own; the bytes can be handed to another process
 * through a file that need not have a name.
 */
#ifndef AS_TARGET_MEDIUM_H
#define AS_TARGET_MEDIUM_H

#include "base/buf.h"
#include "base/err.h"

#include <assay/target.h>
#include <stddef.h>
#include <stdint.h>

/* What is to go wrong: rules of disk/fault.h, and `alloc:N` for the Nth allocation. */
struct as_plan;

/* Rules separated by blanks or semicolons; "" is no fault at all. */
AS_MUST_CHECK int as_plan_parse(const char *text, struct as_plan **plan, struct as_err *err);
void as_plan_free(struct as_plan *plan); /* takes NULL */
/* Canonically. */
void as_plan_print(const struct as_plan *plan, struct as_buf *out);
uint64_t as_plan_alloc(const struct as_plan *plan); /* 0: none */
/* Whether the plan can lose or change what is written. */
bool as_plan_hits_writes(const struct as_plan *plan);
/* Whether it can do so, or change what is read, without saying so. */
bool as_plan_is_silent(const struct as_plan *plan);

struct as_medium;
struct as_witness_area;
struct as_reclog;

AS_MUST_CHECK int as_medium_new(uint64_t size_bytes, struct as_medium **medium, struct as_err *err);
/* An independent copy without faults. The original must outlive it. */
struct as_medium *as_medium_copy(struct as_medium *medium);
void as_medium_free(struct as_medium *medium); /* takes NULL */

/* To be given to the file system; the same for the medium's whole life. */
struct as_bd *as_medium_bd(struct as_medium *medium);
/* The faults from now on, NULL: none; counting starts again. */
void as_medium_plan(struct as_medium *medium, const struct as_plan *plan);
/* From now on what changes is also written to this memory (disk/witness.h), which must outlive it.
 * Before plans and records. */
void as_medium_witness(struct as_medium *medium, struct as_witness_area *area, size_t room_bytes);
/* What stands there is of no use: nobody will write to it. */
void as_medium_unwitnessed(struct as_witness_area *area);
/* Does to this disk what a witness wrote of another. False: what it wrote is not complete. */
bool as_medium_repeat(struct as_medium *medium, const struct as_witness_area *area,
		      size_t room_bytes);
/* How many calls were hit since. */
uint64_t as_medium_fired(const struct as_medium *medium);
/* Keeps a record of what reaches the disk from now on (disk/log.h), of at most limit_bytes; 0: no
 * limit. */
void as_medium_record(struct as_medium *medium, uint64_t limit_bytes);
/* NULL: none is kept. */
struct as_reclog *as_medium_log(const struct as_medium *medium);

/* The disk and its record as they are now, and back to them: what happened since never did. The
 * mark is used up. */
struct as_medium_mark;
struct as_medium_mark *as_medium_mark(struct as_medium *medium);
void as_medium_back(struct as_medium *medium, struct as_medium_mark *mark);
/* Forgets the mark; nothing else. */
void as_medium_drop(struct as_medium *medium, struct as_medium_mark *mark);

/* The first call outside the disk, in words; NULL: none so far. */
const char *as_medium_misuse(const struct as_medium *medium);

/* The struct as_disk. */
struct as_disk *as_medium_disk(const struct as_medium *medium);
/* All bytes to an open, empty file, and from one. */
AS_MUST_CHECK int as_medium_export(struct as_medium *medium, int fd, struct as_err *err);
AS_MUST_CHECK int as_medium_import(struct as_medium *medium, int fd, struct as_err *err);
/* As an image (disk/image.h), and from one in a file; one of another size is refused. */
AS_MUST_CHECK int as_medium_encode(struct as_medium *medium, struct as_buf *out,
				   struct as_err *err);
AS_MUST_CHECK int as_medium_load(struct as_medium *medium, const char *path, struct as_err *err);
/* A medium as large as the image says; one of more than max_bytes is refused. */
AS_MUST_CHECK int as_medium_open_image(const char *path, uint64_t max_bytes,
				       struct as_medium **medium, struct as_err *err);

#endif
