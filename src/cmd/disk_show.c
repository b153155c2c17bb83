/* SPDX-License-Identifier: GPL-2.0-or-later */
/* disk_show: the structures of a disk, and the difference of two. */
#include "cmd/disk_show.h"

#include "disk/image.h"
#include "layout/alter.h"
#include "layout/show.h"

/* Saved by assay, or raw. */
static int load(struct as_chunks *store, const char *path, struct as_disk **disk,
		struct as_err *err)
{
	return as_image_disk_size(path) ? as_image_load(store, path, disk, err)
					: as_image_import_raw(store, path, disk, err);
}

static int read_fields(const struct as_args *args, const char *path, struct as_disk *disk,
		       struct as_fields **fields, struct as_err *err)
{
	const char *layout = as_args_text(args, "layout", NULL);
	unsigned char erased = (unsigned char)as_args_number(args, "erased", 0);
	struct as_geometry geometry = { (uint32_t)as_args_number(args, "block", 0),
					(uint32_t)as_args_number(args, "unit", 0) };
	int rc;

	as_disk_turn_over(disk, erased);
	rc = layout ? as_fields_read_by(layout, &geometry, disk, fields, err)
		    : as_fields_read(as_args_text(args, "type", NULL), disk, fields, err);

	if (rc && !layout)
		return as_fail_in(err, "%s", path);
	if (!rc && as_fields_complaint(*fields)[0] && !as_args_has(args, "json"))
		fprintf(stderr, "assay: %s: %s\n", path, as_fields_complaint(*fields));
	return rc;
}

static int nothing(const struct as_fields_filter *filter, struct as_err *err)
{
	if (filter->path)
		return as_fail(err, AS_EUSE, "disk show: nothing on the disk belongs to '%s'",
			       filter->path);
	return as_fail(err, AS_EUSE, "disk show: the disk has no structure '%s'",
		       filter->structure ? filter->structure : "");
}

/* A disk whose superblock is damaged: its fields are looked for where the first disk has them. */
static bool borrow_fields(const struct as_args *args, const struct as_fielded *a,
			  const struct as_disk *disk, const struct as_err *err)
{
	if (as_args_has(args, "layout") || as_disk_size(a->disk) != as_disk_size(disk))
		return false;
	if (!as_args_has(args, "json"))
		fprintf(stderr, "assay: %s; its fields are those of the first disk\n", err->msg);
	return true;
}

static int show_two(const struct as_args *args, struct as_fielded a, struct as_chunks *store,
		    const struct as_fields_filter *filter, struct as_buf *out, struct as_err *err)
{
	const char *path = as_args_text(args, "diff", NULL);
	struct as_disk *disk = NULL;
	struct as_fields *fields = NULL;
	bool json = as_args_has(args, "json");
	int rc = load(store, path, &disk, err);
	size_t lines;

	if (!rc)
		rc = read_fields(args, path, disk, &fields, err);
	if (rc && disk && borrow_fields(args, &a, disk, err))
		rc = 0;
	if (!rc && fields && strcmp(as_fields_layout(a.fields), as_fields_layout(fields)))
		rc = as_fail(err, AS_EUSE, "disk show: the first disk is of %s, %s is of %s",
			     as_fields_layout(a.fields), path, as_fields_layout(fields));
	if (!rc) {
		lines = as_fields_diff(a, (struct as_fielded){ fields ? fields : a.fields, disk },
				       filter, json, out);
		if (as_disk_size(a.disk) != as_disk_size(disk) && !json)
			as_buf_addf(out, "the disks have %llu and %llu bytes\n",
				    (unsigned long long)as_disk_size(a.disk),
				    (unsigned long long)as_disk_size(disk));
		else if (!lines && !json)
			as_buf_adds(out, "no difference\n");
	}
	as_fields_free(fields);
	as_disk_free(disk);
	return rc;
}

int as_disk_show(const struct as_args *args, struct as_err *err)
{
	struct as_fields_filter filter = { .structure = as_args_text(args, "structure", NULL),
					   .path = as_args_text(args, "path", NULL) };
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = NULL;
	struct as_fields *fields = NULL;
	struct as_buf out = { 0 };
	int rc = load(store, args->operands[1], &disk, err);

	if (!rc)
		rc = read_fields(args, args->operands[1], disk, &fields, err);
	if (!rc && filter.path && as_fields_path(fields, filter.path))
		filter.path = as_fields_path(fields, filter.path);
	if (!rc && as_args_has(args, "diff"))
		rc = show_two(args, (struct as_fielded){ fields, disk }, store, &filter, &out, err);
	else if (!rc && !as_fields_show(fields, disk, &filter, as_args_has(args, "json"), &out))
		rc = nothing(&filter, err);
	if (!rc)
		fwrite(as_buf_str(&out), 1, out.len, stdout);
	as_buf_free(&out);
	as_fields_free(fields);
	as_disk_free(disk);
	as_chunks_free(store);
	return rc;
}
