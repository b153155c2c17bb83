/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_priv: what kernel*.c share. */
#ifndef AS_DAMAGE_KERNEL_PRIV_H
#define AS_DAMAGE_KERNEL_PRIV_H

#include "damage/kernel.h"

struct as_target;
struct as_kernel_host;

/* kernel_inside.c: in the process that has the file system. One at a time. */
AS_MUST_CHECK int as_kernel_host_open(const char *target, struct as_kernel_host **host,
				      struct as_err *err);
void as_kernel_host_free(struct as_kernel_host *host); /* takes NULL */
/* Asks it about a disk, which is changed. */
AS_MUST_CHECK int as_kernel_host_ask(struct as_kernel_host *host, struct as_disk *disk,
				     struct as_word *word, struct as_err *err);
/* Carries out a workload; `image` gets the disk. */
AS_MUST_CHECK int as_kernel_host_make(const char *target, const void *fresh, size_t len,
				      const char *workload, struct as_buf *image,
				      struct as_err *err);

/* kernel_word.c: a word as bytes, and back. The second believes nothing. */
void as_word_print(const struct as_word *word, struct as_buf *out);
AS_MUST_CHECK int as_word_parse(const void *data, size_t len, struct as_word *word,
				struct as_err *err);

/* kernel_box.c: a sandbox that is up. A request is a word and up to two files. */
struct as_kernel_box;

struct as_kernel_request {
	const char *what; /* "ask" or "make" */
	const struct as_buf *image;
	const char *text; /* of "make" */
};

AS_MUST_CHECK int as_kernel_box_open(const struct as_fsck_kernel_setup *setup,
				     struct as_kernel_box **box, struct as_err *err);
void as_kernel_box_free(struct as_kernel_box *box); /* takes NULL */
/* *end FINE: `answer` is what the sandbox wrote. Otherwise its kernel died or hangs, and *word
 * says how. */
AS_MUST_CHECK int as_kernel_box_give(struct as_kernel_box *box,
				     const struct as_kernel_request *request, struct as_buf *answer,
				     struct as_word *word, struct as_err *err);

#define AS_KERNEL_IN "in"
#define AS_KERNEL_OUT "out"
#define AS_KERNEL_IMAGE "image"
#define AS_KERNEL_TEXT "text"
#define AS_KERNEL_ANSWER "answer"

#endif
