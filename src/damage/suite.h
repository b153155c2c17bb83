/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suite: a folder of images: e2fsprogs' test suite (a folder for each case, with image.gz), or
 * plain files (NAME.img, NAME.img.gz, NAME.img.zst).
 */
#ifndef AS_DAMAGE_SUITE_H
#define AS_DAMAGE_SUITE_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"

#include <stddef.h>

#define AS_SUITE_IMAGE_MAX ((uint64_t)512 << 20)

struct as_fsck_suite {
	struct as_suite_image {
		char *name;
		struct as_disk *disk;
	} * images; /* in the order of their names */
	size_t n, cap;
	/* Images that are larger than AS_SUITE_IMAGE_MAX, empty, or cannot be unpacked: a line
	 * each, with the reason. */
	struct as_buf left_out;
};

/* AS_EUSE: there is no image in it that can be used. */
AS_MUST_CHECK int as_suite_load(struct as_chunks *store, const char *path,
				struct as_fsck_suite *out, struct as_err *err);
void as_suite_free(struct as_fsck_suite *suite);

#endif
