/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place: a place in source code that a text names, such as the log of a finding. */
#ifndef AS_REPORT_PLACE_H
#define AS_REPORT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct as_place {
	const char *file; /* in the text, `len` bytes */
	size_t len;
	unsigned line, column; /* from 1; column 0: unknown */
};

/* The first place that is not one of the C library's or of a sanitizer's: "fs.c:12",
 * "fs/ext4/inode.c:120!", "#1 0x55 in do_it /src/fs.c:12:3". */
bool as_place_find(const char *text, struct as_place *place);

#endif
