/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dying_plugin: labfs whose mount calls abort() on some crashed disks, or (HANGS) never ends.
 * test_command.sh builds it with LABFS_SO, the path of the plugin that it passes its calls to.
 */
#include <assay/target.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define STATE_AT 56 /* of struct lab_super: bit 0 is set when it was unmounted in peace */
#define JOURNAL_AT 44 /* of the same: the block where the journal begins */

struct as_target_ops as_target;
static int (*real_mount)(const struct as_mount_args *args, struct as_fs **fs);

static bool is_doomed(struct as_bd *bd)
{
	unsigned char super[1024], block[6 * 1024];
	uint32_t journal, sum = 0;

	if (bd->ops->read(bd, 0, super, sizeof(super)) || super[STATE_AT] & 1)
		return false;
	memcpy(&journal, super + JOURNAL_AT, sizeof(journal));
	if (bd->ops->read(bd, ((uint64_t)journal + 1) * 1024, block, sizeof(block)))
		return false;
	for (size_t i = 0; i < sizeof(block); i++)
		sum += block[i];
	return sum && sum % 3 == 0;
}

static int dying_mount(const struct as_mount_args *args, struct as_fs **fs)
{
	if (is_doomed(args->bd)) {
#ifdef HANGS
		volatile int forever = 1;

		while (forever)
			;
#endif
		abort();
	}
	return real_mount(args, fs);
}

__attribute__((constructor)) static void load(void)
{
	void *labfs = dlopen(LABFS_SO, RTLD_NOW | RTLD_LOCAL);
	const struct as_target_ops *ops = labfs ? dlsym(labfs, "as_target") : NULL;

	if (!ops)
		abort();
	as_target = *ops;
	as_target.name = "dying";
	real_mount = ops->mount;
	as_target.mount = dying_mount;
}
