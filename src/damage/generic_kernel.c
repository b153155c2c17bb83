/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generic_kernel: the generic disk of a type that only a kernel can fill. The workload runs on it
 * in a sandbox, once: the disk is kept in the user's cache with the fresh disk that it began with,
 * since some of them get another id each time that they are made.
 */
#include "damage/generic_priv.h"

#include "base/hash.h"
#include "damage/kernel.h"
#include "disk/image.h"
#include "target/cache.h"
#include "target/fstype.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOM "generic"
#define KEEP 64u
#define VERSION "1" /* of how they are made */
#define IMAGE_MAX ((uint64_t)1 << 30)

/* Of the type, its mkfs, the size and the workload. */
static void add_name(const struct as_fstype *type, uint64_t size, const char *workload,
		     struct as_buf *out)
{
	char hex[AS_DIGEST_HEX_LEN + 1];
	struct as_buf key = { 0 };

	as_buf_addf(&key, VERSION "\n%s\n%s\n%s\n%llu\n%s", type->name, type->mkfs,
		    type->env ? type->env : "", (unsigned long long)size, workload);
	as_digest_hex(as_hash(as_buf_str(&key), key.len), hex);
	as_buf_addf(out, "%s-%.16s", type->name, hex);
	as_buf_free(&key);
}

static bool load(struct as_chunks *store, const char *folder, const char *name, const char *end,
		 struct as_disk **disk)
{
	struct as_buf file = { 0 };
	struct as_err ignored;
	char path[64];
	int fd;

	as_buf_addf(&file, "%s.%s", name, end);
	fd = as_cache_open(folder, as_buf_str(&file), IMAGE_MAX);
	as_buf_free(&file);
	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* One that is damaged is made again. */
	if (as_image_load(store, path, disk, &ignored))
		*disk = NULL;
	close(fd);
	return *disk;
}

static void save(struct as_disk *disk, const char *folder, const char *name, const char *end)
{
	struct as_buf file = { 0 }, image = { 0 }, path = { 0 };
	struct as_err ignored;

	/* What cannot be kept is made again. */
	as_buf_addf(&file, "%s.%s", name, end);
	if (!as_image_encode(disk, &image, &ignored))
		(void)!as_cache_put(folder, as_buf_str(&file), &image, KEEP, &path, &ignored);
	as_buf_free(&file);
	as_buf_free(&image);
	as_buf_free(&path);
}

static int make(struct as_chunks *store, const struct as_fstype *type, struct as_disk *fresh,
		const char *workload, struct as_disk **disk, struct as_err *err)
{
	struct as_fsck_kernel_setup setup = { .target = type->name, .box.core = AS_CORE_HERE };
	struct as_fsck_kernel *kernel = NULL;
	int rc = as_fsck_kernel_open(&setup, &kernel, err);

	if (!rc)
		rc = as_fsck_kernel_make(kernel, fresh, workload, store, disk, err);
	as_fsck_kernel_free(kernel);
	return rc;
}

int as_generic_by_kernel(struct as_chunks *store, const struct as_fstype *type,
			 struct as_disk **fresh, struct as_disk **disk, struct as_buf *note,
			 struct as_err *err)
{
	struct as_buf workload = { 0 }, folder = { 0 }, name = { 0 };
	struct as_disk *kept_fresh = NULL;
	struct as_err why;
	bool kept;
	int rc;

	as_generic_tree_work(&workload);
	add_name(type, as_disk_size(*fresh), as_buf_str(&workload), &name);
	kept = !as_cache_folder(ROOM, &folder, err);
	if (kept && load(store, as_buf_str(&folder), as_buf_str(&name), "fresh", &kept_fresh) &&
	    load(store, as_buf_str(&folder), as_buf_str(&name), "disk", disk) &&
	    as_disk_size(*disk) == as_disk_size(*fresh)) {
		as_disk_free(*fresh);
		*fresh = kept_fresh;
		kept_fresh = NULL;
	} else {
		as_disk_free(*disk);
		*disk = NULL;
		rc = make(store, type, *fresh, as_buf_str(&workload), disk, &why);
		if (rc) {
			as_buf_addf(note, "the disk has only what mkfs makes: %s", why.msg);
			*disk = as_disk_snapshot(*fresh);
		} else if (kept) {
			save(*fresh, as_buf_str(&folder), as_buf_str(&name), "fresh");
			save(*disk, as_buf_str(&folder), as_buf_str(&name), "disk");
		}
	}
	as_disk_free(kept_fresh);
	as_buf_free(&workload);
	as_buf_free(&folder);
	as_buf_free(&name);
	return 0;
}
