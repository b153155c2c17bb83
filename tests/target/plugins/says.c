/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * says: labfs, as the plugin that was built of it, with a contract of its own. Compiled with:
 *   -DLABFS="..."   the plugin
 *   -DPROMISES=...  the flags of the contract
 *   -DFOUND=N       fsck makes /lost+found where there is none; from 2 on it does so wrongly:
 *                   2 removes the one that is there before it makes one, 3 makes another name,
 *                   too
 */
#include <assay/target.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static const struct as_contract contract = { .after_cut = AS_CUT_PREFIX,
					     .promises = PROMISES,
					     .semantics = AS_MEANS_FAILED_READ_ONLY };

__attribute__((visibility("default"))) extern struct as_target_ops as_target;
struct as_target_ops as_target;
static struct as_target_ops lab;

#ifdef FOUND
static int add(struct as_fs *fs, const char *path)
{
	int rc = lab.mkdir(fs, path, 0700);

	return rc == -EEXIST ? 0 : rc;
}

/* As the e2fsck of Linux does: it is made whether it is needed or not. */
static int make_found(const struct as_mount_args *args)
{
	struct as_fs *fs;
	int rc = lab.mount(args, &fs), end;

	if (rc)
		return rc;
	if (FOUND == 2 && lab.rmdir(fs, "/lost+found") == 0)
		rc = lab.sync(fs);
	if (!rc)
		rc = add(fs, "/lost+found");
	if (!rc && FOUND == 3)
		rc = add(fs, "/found");
	end = lab.unmount(fs);
	return rc ? rc : end;
}

static int fsck(const struct as_mount_args *args, enum as_fsck_mode mode)
{
	int bits = lab.fsck(args, mode);
	int rc = bits < 0 || bits & ~AS_FSCK_REPAIRED ? bits : make_found(args);

	return rc ? rc : bits;
}
#endif

__attribute__((constructor)) static void load(void)
{
	void *library = dlopen(LABFS, RTLD_NOW | RTLD_LOCAL);
	const struct as_target_ops *ops = library ? dlsym(library, "as_target") : NULL;

	if (!ops)
		return;
	lab = as_target = *ops;
	as_target.contract = &contract;
#ifdef FOUND
	as_target.fsck = fsck;
#endif
}
