/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_disks: see guest_disks.h. A guest keeps its fresh disks in the cache of its user, as this
 * program does everywhere: the disk is put there before the guest looks. */
#include "box/guest_disks.h"

#include "base/array.h"
#include "host/medium.h"
#include "target/cache.h"
#include "target/fresh.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

#define GUEST_CACHE "var/tmp/assay-0/images"

static int add_file(struct as_guest_disks *disks, const char *path, struct as_medium *disk,
		    struct as_err *err)
{
	struct as_buf image = { 0 }, to = { 0 };
	/* It is taken from memory and not from our cache, where somebody may have changed it
	 * meanwhile. */
	int rc = as_medium_encode(disk, &image, err);

	if (rc) {
		as_buf_free(&image);
		return rc;
	}
	as_buf_addf(&to, GUEST_CACHE "%s", strrchr(path, '/'));
	AS_ARRAY_ROOM_FOR(disks->files, disks->n, 2, disks->cap);
	disks->files[disks->n++] =
		(struct as_initramfs_file){ as_xstrdup(as_buf_str(&to)), image.data, image.len };
	disks->files[disks->n] = (struct as_initramfs_file){ 0 };
	as_buf_free(&to);
	return 0;
}

int as_guest_disks_add(struct as_guest_disks *disks, const char *spec, uint64_t size_bytes,
		       struct as_medium **fresh, struct as_err *err)
{
	struct as_buf folder = { 0 }, path = { 0 };
	struct as_target *target = NULL;
	int rc = as_target_open(spec, &target, err);

	*fresh = NULL;
	if (!rc)
		rc = as_target_disk_bytes(target, size_bytes, &size_bytes, err);
	if (!rc)
		rc = as_cache_folder("images", &folder, err);
	if (!rc)
		rc = as_medium_new(size_bytes, fresh, err);
	if (!rc)
		rc = as_fresh_of(target, as_buf_str(&folder), *fresh, &path, err);
	if (!rc)
		rc = add_file(disks, as_buf_str(&path), *fresh, err);
	as_target_free(target);
	as_buf_free(&folder);
	as_buf_free(&path);
	return rc;
}

void as_guest_disks_free(struct as_guest_disks *disks)
{
	for (size_t i = 0; i < disks->n; i++) {
		free((char *)disks->files[i].to);
		free((void *)disks->files[i].data);
	}
	free(disks->files);
	*disks = (struct as_guest_disks){ 0 };
}
