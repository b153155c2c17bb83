/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames: a file of records that only grows, so that work which is killed at any moment can go on.
 * Its first record is a text that says what the others belong to. Each record stands in a frame: a
 * magic number, its length and a checksum come before it. Whoever is killed while appending leaves
 * a frame that is not whole, and no reader takes it for one.
 */
#ifndef AS_OS_FRAMES_H
#define AS_OS_FRAMES_H

#include "base/buf.h"
#include "os/dir.h"

#include <stddef.h>
#include <stdint.h>

#define AS_FRAME_HEAD_BYTES 16u

/* Single frames, for files that are laid out otherwise. */
void as_frame_put(struct as_buf *out, uint32_t magic, const void *data, size_t len);
/* Bytes of the whole frame at `at`, with its record; 0: there is none. */
size_t as_frame_take(const struct as_buf *file, size_t at, uint32_t magic, const char **data,
		     size_t *len);

struct as_frames;

/*
 * Opens a file of the folder. `resume` false: it is made anew. Otherwise its records are read, and
 * what is not whole at its end is cut off. AS_EUSE: there is none, or it is no such file. One
 * process, with those that it forks, has it at a time; another one waits for some seconds.
 */
AS_MUST_CHECK int as_frames_open(const struct as_dir *dir, const char *name, const char *head,
				 bool resume, struct as_frames **frames, struct as_err *err);
void as_frames_close(struct as_frames *frames); /* takes NULL */

/* The first record, and the path, for messages. */
const char *as_frames_head(const struct as_frames *frames);
const char *as_frames_path(const struct as_frames *frames);
/* Calls fn for each other record that was there when it was opened, in the order in which they were
 * written, until it does not return 0, which is the result. */
int as_frames_each(const struct as_frames *frames,
		   int (*fn)(void *ctx, const void *data, size_t len), void *ctx);
/* Adds a record. Several processes may do so at a time. NULL frames: nothing is done. */
AS_MUST_CHECK int as_frames_add(const struct as_frames *frames, const void *data, size_t len,
				struct as_err *err);

#endif
