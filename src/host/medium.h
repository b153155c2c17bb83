/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * medium: the disk that a linked file system works on, with the faults that it is to meet. Copies
 * are cheap (see disk/cow.h), so each workload gets its own. The bytes can be passed to another
 * process through a file, which need not have a name.
 */
#ifndef AS_HOST_MEDIUM_H
#define AS_HOST_MEDIUM_H

#include "base/buf.h"
#include "base/err.h"

#include "host/kfail.h"

#include <assay/target.h>
#include <stddef.h>
#include <stdint.h>

/* What is to fail: rules of disk/fault.h, and `alloc:N` for the Nth allocation, several times
 * perhaps; or one rule for the inside of a kernel. */
struct as_plan;

/* Rules separated by blanks or semicolons; "" is no fault at all. */
AS_MUST_CHECK int as_plan_parse(const char *text, struct as_plan **plan, struct as_err *err);
void as_plan_free(struct as_plan *plan); /* takes NULL */
/* Prints the canonical form. */
void as_plan_print(const struct as_plan *plan, struct as_buf *out);
uint64_t as_plan_alloc(const struct as_plan *plan); /* the first of them; 0: none */
/* The *n allocations that fail, the first one first; valid as long as the plan. */
const uint64_t *as_plan_allocs(const struct as_plan *plan, unsigned *n);
/* What fails inside the kernel; of kind AS_KFAIL_NONE: nothing does. NULL is a plan, too. */
struct as_kfail_rules as_plan_kernel(const struct as_plan *plan);
/* Whether some call is answered with this error (positive). */
bool as_plan_gives(const struct as_plan *plan, int err);
/* Whether the plan can lose or change what is written. */
bool as_plan_hits_writes(const struct as_plan *plan);
/* Whether it can do so, or change what is read, without reporting an error. */
bool as_plan_is_silent(const struct as_plan *plan);

struct as_medium;
struct as_witness_area;
struct as_reclog;

AS_MUST_CHECK int as_medium_new(uint64_t size_bytes, struct as_medium **medium, struct as_err *err);
/* An independent copy without faults. The original must outlive it. */
struct as_medium *as_medium_copy(struct as_medium *medium);
void as_medium_free(struct as_medium *medium); /* takes NULL */

/* The block device for the file system; it stays the same for the medium's whole life. */
struct as_bd *as_medium_bd(struct as_medium *medium);
/* The same bytes, without faults and without a record of what is read. */
struct as_bd *as_medium_base(struct as_medium *medium);
/* Sets the faults from now on, NULL: none; the counts start again. */
void as_medium_plan(struct as_medium *medium, const struct as_plan *plan);
/* From now on every change is also written to this memory (disk/witness.h), which must outlive the
 * medium. This must be called before as_medium_plan() and as_medium_record(). */
void as_medium_witness(struct as_medium *medium, struct as_witness_area *area, size_t room_bytes);
/* See as_witness_expect(). */
void as_medium_expect_writes(struct as_medium *medium);
/* Marks the contents as useless: nobody will write to them. */
void as_medium_unwitnessed(struct as_witness_area *area);
/* Applies the changes that a witness has written for another disk. False: they are not complete. */
bool as_medium_repeat(struct as_medium *medium, const struct as_witness_area *area,
		      size_t room_bytes);
/* How many calls met a fault since then; how many calls of a kind (disk/call.h) there were, which
 * are counted only where there is a rule for the disk. */
uint64_t as_medium_fired(const struct as_medium *medium);
uint64_t as_medium_calls(const struct as_medium *medium, unsigned kind);
/* How many calls were answered with an error, and the name of the last kind that was ("write"). */
uint64_t as_medium_failed(const struct as_medium *medium, const char **kind);
/* Keeps a record of what reaches the disk from now on (disk/log.h), of at most limit_bytes; 0: no
 * limit. */
void as_medium_record(struct as_medium *medium, uint64_t limit_bytes);
/* From now on each sector that is read has its bit set, of which there must be one for each sector.
 * NULL: no longer. */
void as_medium_note_reads(struct as_medium *medium, unsigned char *bits);
/* NULL: none is kept. */
struct as_reclog *as_medium_log(const struct as_medium *medium);

/* Whether it is recorded or witnessed. */
bool as_medium_is_watched(const struct as_medium *medium);

/* Keeps the disk and its record as they are now, and goes back to them later. A mark can be used
 * once. */
struct as_medium_mark;
struct as_medium_mark *as_medium_mark(struct as_medium *medium);
void as_medium_back(struct as_medium *medium, struct as_medium_mark *mark);
/* Drops the mark and changes nothing else. */
void as_medium_drop(struct as_medium *medium, struct as_medium_mark *mark);

/* While it is guarded, every write is a mistake: the file system is mounted read-only. */
void as_medium_guard(struct as_medium *medium, bool guarded);
/* The first mistake, in words: a call outside the disk, or a write while it was guarded; NULL:
 * there was none. */
const char *as_medium_misuse(const struct as_medium *medium);
/* There was none: another workload begins. */
void as_medium_forget_misuse(struct as_medium *medium);

/* Its disk. */
struct as_disk *as_medium_disk(const struct as_medium *medium);
/* Writes all bytes to an open, empty file, or reads them from one. */
AS_MUST_CHECK int as_medium_export(struct as_medium *medium, int fd, struct as_err *err);
AS_MUST_CHECK int as_medium_import(struct as_medium *medium, int fd, struct as_err *err);
/* Writes an image (disk/image.h), or reads one from a file; an image of another size is refused. */
AS_MUST_CHECK int as_medium_encode(struct as_medium *medium, struct as_buf *out,
				   struct as_err *err);
AS_MUST_CHECK int as_medium_load(struct as_medium *medium, const char *path, struct as_err *err);
/* Makes a medium as large as the image says; one of more than max_bytes is refused. */
AS_MUST_CHECK int as_medium_open_image(const char *path, uint64_t max_bytes,
				       struct as_medium **medium, struct as_err *err);

#endif
