/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instance_folder: a folder of a file system that somebody else has mounted. It has no disk of
 * ours, is always mounted, and what a workload may write to it has bounds.
 */
#include "instance/instance_priv.h"

#include "vfs/sys_new.h"

static const char *folder_place(const struct as_target *target)
{
	return as_target_dir(target);
}

static int folder_open(struct as_instance *i, const struct as_instance_args *args,
		       struct as_err *err)
{
	int rc = as_vfs_sys_new(args->folder, &i->vfs, err);

	/* From now on the folder is the root. */
	if (!rc)
		as_instance_bind(i, "/");
	return rc;
}

static void folder_close(struct as_instance *i)
{
	as_vfs_free(i->vfs);
}

const struct as_instance_ops as_instance_folder = {
	.name = "folder",
	.size_bytes = sizeof(struct as_instance),
	.place = folder_place,
	.open = folder_open,
	.close = folder_close,
};
