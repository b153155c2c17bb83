/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpio: writes archives in the "newc" format, the one the kernel unpacks as its first root. Times,
 * owners and inode numbers are fixed: the same content gives the same bytes.
 */
#ifndef AS_BOX_CPIO_H
#define AS_BOX_CPIO_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct as_cpio {
	struct as_buf out; /* the archive so far; the caller frees it */
	uint32_t entries;
};

/* Names are relative ("dev/null"). Folders come before what is in them. */
void as_cpio_folder(struct as_cpio *cpio, const char *name, uint32_t perm);
void as_cpio_file(struct as_cpio *cpio, const char *name, uint32_t perm, const void *data,
		  size_t len);
void as_cpio_link(struct as_cpio *cpio, const char *name, const char *to);
void as_cpio_char_device(struct as_cpio *cpio, const char *name, uint32_t perm, uint32_t major,
			 uint32_t minor);
/* Nothing may be added after it. */
void as_cpio_finish(struct as_cpio *cpio);

#endif
