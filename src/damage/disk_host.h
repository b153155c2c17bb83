/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disk_host: the part of kernel.h that runs where the file system is: in a sandbox, whose service
 * (guest/service.h) calls it, or in a child of ours for a library.
 */
#ifndef AS_DAMAGE_DISK_HOST_H
#define AS_DAMAGE_DISK_HOST_H

#include "damage/kernel.h"
#include "disk/image.h"

struct as_disk_host;

/* One at a time in a process. */
AS_MUST_CHECK int as_disk_host_open(const char *target, struct as_disk_host **host,
				    struct as_err *err);
void as_disk_host_free(struct as_disk_host *host); /* takes NULL */
/* Asks it about a disk, which is changed. */
AS_MUST_CHECK int as_disk_host_ask(struct as_disk_host *host, struct as_disk *disk,
				   struct as_word *word, struct as_err *err);
/* Carries out a workload on the disk of an image; `image` gets what it leaves. */
AS_MUST_CHECK int as_disk_host_make(const char *target, const void *fresh, size_t len,
				    const char *workload, struct as_buf *image, struct as_err *err);

/* kernel_word.c: a word as bytes, and back. The second believes nothing. */
void as_word_print(const struct as_word *word, struct as_buf *out);
AS_MUST_CHECK int as_word_parse(const void *data, size_t len, struct as_word *word,
				struct as_err *err);

#endif
