/* SPDX-License-Identifier: GPL-2.0-or-later */
/* instance_library: a linked file system, called in this process. */
#include "instance/instance_priv.h"

#include "disk/cow.h"
#include "disk/flash.h"
#include "disk/log.h"
#include "host/trail.h"
#include "os/left.h"
#include "target/facts.h"
#include "vfs/lib_new.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PROBE_NAME "assay-probe"

static uint32_t library_lacks(const struct as_target *target)
{
	uint32_t lacks = as_target_library(target)->caps & AS_CAP_FSCK ? 0 : AS_INSTANCE_CHECK;

	if (as_target_contract(target).semantics & AS_MEANS_FAILED_MAYBE_DONE)
		lacks |= AS_INSTANCE_STRICT;
	return lacks;
}

#define LOOKS 16u

struct library_instance {
	struct as_instance base;
	struct as_bd *bd; /* NULL: it visits disks, and none is inserted */
	struct as_emuflash *flash; /* on it; NULL: it works on a block device */
	struct as_trailed *trailed; /* around the library; NULL: its calls are not trailed */
	struct as_left left; /* of the operation that runs */
	/* For processes that are left; not our own library, and not several threads: then it is not
	 * known whose process it is. */
	bool watched;
	struct as_left_state before; /* before its first call */
	unsigned looks; /* after it */
};

static void call_begins(struct as_instance *i)
{
	struct library_instance *l = (struct library_instance *)i;

	if (__atomic_load_n(&l->watched, __ATOMIC_RELAXED))
		as_left_begin(&l->left);
}

static void call_ends(struct as_instance *i)
{
	struct library_instance *l = (struct library_instance *)i;

	if (__atomic_load_n(&l->watched, __ATOMIC_RELAXED) && as_left_end(&l->left))
		as_host_blame(i->host, "left a process behind");
}

static struct as_flash *flash_of(const struct as_instance *i)
{
	const struct library_instance *l = (const struct library_instance *)i;

	if (l->trailed)
		return as_trailed_flash(l->trailed);
	return l->flash ? as_emuflash_seam(l->flash) : NULL;
}

/* Its calls are put on the trail of the target. */
static void trail(struct as_instance *i, struct as_bd *bd)
{
	struct library_instance *l = (struct library_instance *)i;
	struct as_trail *to = as_target_trail(i->args.target);

	as_trailed_free(l->trailed);
	l->trailed = NULL;
	if (!to || !bd)
		return;
	l->trailed = as_trailed_new(as_target_library(i->args.target), to, &i->host, i->args.disk,
				    bd, l->flash ? as_emuflash_seam(l->flash) : NULL);
	as_trail_mark(to, i->args.disk ? AS_TRAIL_HOST : AS_TRAIL_DISK, 0, NULL, 0);
}

/* From now on it works on this device, or on a flash on it. */
static void put_on(struct as_instance *i, struct as_bd *bd)
{
	struct library_instance *l = (struct library_instance *)i;
	const struct as_flash_setup *setup = as_target_flash(i->args.target);

	as_emuflash_free(l->flash);
	l->flash = setup && bd ? as_emuflash_new(setup, bd) : NULL;
	if (l->flash)
		as_emuflash_tells(l->flash, as_target_wear(i->args.target));
	if (l->flash && i->args.disk && bd == as_medium_bd(i->args.disk)) {
		as_emuflash_asks(l->flash, as_medium_base(i->args.disk));
		if (as_medium_log(i->args.disk))
			as_emuflash_tears(l->flash);
	}
	l->bd = bd;
	trail(i, bd);
}

static struct as_bd *bd_of(const struct as_instance *i)
{
	const struct library_instance *l = (const struct library_instance *)i;

	return l->trailed ? as_trailed_bd(l->trailed) : l->bd;
}

static const struct as_target_ops *ops_of(const struct as_instance *i)
{
	const struct library_instance *l = (const struct library_instance *)i;

	return l->trailed ? as_trailed_ops(l->trailed) : as_target_library(i->args.target);
}

static struct as_mount_args mount_args(struct as_instance *i)
{
	return (struct as_mount_args){ .host = as_host_seam(i->host),
				       .bd = flash_of(i) ? NULL : bd_of(i),
				       .flash = flash_of(i),
				       .opts = as_target_opts(i->args.target) };
}

/* Whether it is held to the rule that success hides no failure: it must be able to say that one
 * does not matter. */
static bool owns_up(const struct as_instance *i)
{
	return i->args.plan && ops_of(i)->api >= AS_HOST_CHECKS;
}

static bool is_measured(const struct as_instance *i)
{
	const struct as_usage *usage = as_target_usage(i->args.target);

	return usage->measured[AS_RESOURCE_HEAP] || usage->measured[AS_RESOURCE_STACK];
}

static int library_new_vfs(struct as_instance *i, struct as_err *err)
{
	(void)err;
	if (owns_up(i))
		as_host_watch_disk(i->host, i->args.disk);
	if (is_measured(i))
		as_host_measure(i->host, as_target_usage(i->args.target));
	i->vfs = as_vfs_lib_new(&(struct as_lib_args){
		.ops = ops_of(i),
		.host = i->host,
		.bd = flash_of(i) ? NULL : bd_of(i),
		.flash = flash_of(i),
		.semantics = as_target_contract(i->args.target).semantics,
		.opts = as_target_opts(i->args.target),
		.name_max = i->args.name_max,
		.size_max_bytes = as_target_limits(i->args.target).file_bytes,
		.check_first = !as_target_recovery(i->args.target).by_mount,
		.faulty = owns_up(i),
		.measured = is_measured(i),
	});
	return 0;
}

/* The wear is shown with a finding, as what it has logged is. */
static void tell_wear(struct as_instance *i)
{
	const struct as_flash_setup *setup = as_target_flash(i->args.target);
	struct as_buf text = { 0 };

	if (!setup || !(setup->wear || setup->spread || setup->show) || !i->args.log ||
	    !i->args.disk)
		return;
	as_emuflash_print_wear(((struct library_instance *)i)->flash, &text);
	as_buf_addc(&text, '\n');
	as_host_log_add(i->args.log, as_buf_str(&text));
	as_buf_free(&text);
}

static int library_open(struct as_instance *i, const struct as_instance_args *args,
			struct as_err *err)
{
	((struct library_instance *)i)->watched = as_target_is_foreign(args->target);
	as_left_note(&((struct library_instance *)i)->before);
	if (args->visits)
		return 0;
	put_on(i, as_medium_bd(args->disk));
	return library_new_vfs(i, err);
}

static void library_close(struct as_instance *i)
{
	const struct as_flash_setup *setup = as_target_flash(i->args.target);
	const struct library_instance *l = (const struct library_instance *)i;

	if (i->vfs)
		as_vfs_lib_abandon(i->vfs);
	as_vfs_free(i->vfs);
	if (setup && setup->show && l->flash && !as_emuflash_misuse(l->flash))
		tell_wear(i);
	put_on(i, NULL);
}

static int library_make(struct as_instance *i)
{
	struct as_emuflash *flash = ((struct library_instance *)i)->flash;
	struct as_mount_args args = mount_args(i);
	int rc;

	/* The erases of mkfs are none of a run's. */
	if (flash)
		as_emuflash_tells(flash, NULL);
	call_begins(i);
	rc = ops_of(i)->mkfs(&args);
	call_ends(i);
	if (flash)
		as_emuflash_tells(flash, as_target_wear(i->args.target));
	as_host_drop(i->host);
	return rc;
}

static int mount_with(struct as_instance *i, const char *opts)
{
	int rc;

	call_begins(i);
	rc = as_vfs_lib_mount(i->vfs, opts);
	call_ends(i);
	return rc;
}

static int library_mount(struct as_instance *i)
{
	return mount_with(i, "");
}

static int library_mount_look(struct as_instance *i)
{
	return mount_with(i, "ro");
}

static int library_turn_writable(struct as_instance *i)
{
	struct as_op op = as_op_make(AS_OP_REMOUNT);
	struct as_outcome got;

	call_begins(i);
	as_vfs_exec(i->vfs, &op, &got);
	call_ends(i);
	return got.ret < 0 ? -got.err : 0;
}

static int library_unmount(struct as_instance *i)
{
	struct library_instance *l = (struct library_instance *)i;
	const char *why;
	int rc;

	call_begins(i);
	rc = as_vfs_lib_unmount(i->vfs);
	call_ends(i);
	/* One that recovers crash states does so by the thousand: the first ones tell. */
	why = l->watched && (!i->args.visits || l->looks++ < LOOKS) ? as_left_changed(&l->before)
								    : NULL;
	if (why)
		as_host_blame(i->host, why);
	return rc;
}

static int library_give_up(struct as_instance *i)
{
	as_vfs_lib_abandon(i->vfs);
	return 0;
}

static void library_set_op(struct as_instance *i, uint32_t op)
{
	struct as_reclog *log = as_medium_log(i->args.disk);

	if (log)
		as_reclog_set_op(log, op);
	as_trail_mark(as_target_trail(i->args.target), AS_TRAIL_OP, op, NULL, 0);
	as_host_begin_op(i->host, op);
	call_begins(i);
}

static void library_answered(struct as_instance *i, const struct as_outcome *got)
{
	(void)got;
	call_ends(i);
	as_trail_mark(as_target_trail(i->args.target), AS_TRAIL_END, 0, NULL, 0);
	as_host_end_op(i->host);
}

static void library_aside(struct as_instance *i, bool begins)
{
	if (begins)
		call_begins(i);
	else
		call_ends(i);
}

static void library_set_caller(struct as_instance *i, uint32_t thread)
{
	__atomic_store_n(&((struct library_instance *)i)->watched, false, __ATOMIC_RELAXED);
	as_host_set_caller(i->host, thread);
}

static void library_trail_tree(struct as_instance *i)
{
	struct as_trailed *trailed = ((struct library_instance *)i)->trailed;

	if (trailed)
		as_trailed_tree(trailed);
}

static int64_t library_leak_op(const struct as_instance *i)
{
	uint32_t op = as_vfs_lib_leak_op(i->vfs);

	return op == AS_HOST_NO_OP ? -1 : (int64_t)op;
}

static const char *library_misuse(const struct as_instance *i)
{
	const struct as_emuflash *flash = ((const struct library_instance *)i)->flash;
	const char *why = flash ? as_emuflash_misuse(flash) : NULL;

	return why || !i->args.disk ? why : as_medium_misuse(i->args.disk);
}

static uint64_t library_hits(const struct as_instance *i)
{
	const struct as_emuflash *flash = ((const struct library_instance *)i)->flash;

	return flash ? as_emuflash_hits(flash) : 0;
}

static const char *library_trouble(struct as_instance *i, enum as_finding_kind *kind)
{
	const struct as_emuflash *flash = ((const struct library_instance *)i)->flash;
	const char *why = as_vfs_lib_trouble(i->vfs, kind);

	if (!why && flash && (why = as_emuflash_misuse(flash))) {
		*kind = AS_FIND_MISUSE;
		tell_wear(i);
	}
	if (!why && i->args.disk && (why = as_medium_misuse(i->args.disk)))
		*kind = AS_FIND_MISUSE;
	return why;
}

static int library_restore(struct as_instance *i, struct as_disk *disk, struct as_err *err)
{
	(void)err;
	as_disk_restore(as_medium_disk(i->args.disk), disk);
	as_medium_forget_misuse(i->args.disk);
	if (((struct library_instance *)i)->flash)
		as_emuflash_replaced(((struct library_instance *)i)->flash);
	return 0;
}

static int library_check(struct as_instance *i, unsigned deadline_ms,
			 struct as_instance_checked *checked, struct as_err *err)
{
	struct as_mount_args args = mount_args(i);
	enum as_finding_kind kind;
	const char *why;
	int rc;

	(void)deadline_ms; /* it is this process that would have to end */
	(void)err;
	call_begins(i);
	rc = ops_of(i)->fsck(&args, AS_FSCK_FULL);
	call_ends(i);
	why = library_trouble(i, &kind);
	if (!why) {
		kind = AS_FIND_MISUSE;
		why = library_misuse(i);
	}
	checked->clean = !why && rc == AS_FSCK_CLEAN;
	if (why) {
		checked->kind = kind;
		snprintf(checked->why, sizeof(checked->why), "%s", why);
	} else if (rc < 0) {
		snprintf(checked->why, sizeof(checked->why), "failed with %s on an unmounted disk",
			 as_errno_name(-rc));
	} else if (rc) {
		snprintf(checked->why, sizeof(checked->why),
			 "found errors on an unmounted disk (status %d)", rc);
	}
	return 0;
}

/* ---- Visits ---------------------------------------------------------------------------------- */

static int trail_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	as_trail_mark(ctx, AS_TRAIL_LEFT, index * AS_CHUNK_BYTES, data, AS_CHUNK_BYTES);
	return 0;
}

static int library_insert(struct as_instance *i, struct as_disk *disk, struct as_bd *above,
			  struct as_err *err)
{
	struct library_instance *l = (struct library_instance *)i;

	put_on(i, above ? above : as_disk_bd(disk));
	/* What is done to the disk may be recorded, for power cuts during a recovery. */
	if (l->flash && above)
		as_emuflash_tears(l->flash);
	if (as_target_trail(i->args.target))
		(void)as_disk_each(disk, trail_chunk, as_target_trail(i->args.target));
	return library_new_vfs(i, err);
}

static int library_eject(struct as_instance *i, struct as_err *err)
{
	(void)err;
	as_vfs_lib_abandon(i->vfs);
	as_vfs_free(i->vfs);
	i->vfs = NULL;
	put_on(i, NULL);
	return 0;
}

static int library_enter(struct as_instance *i, struct as_instance_reader *reader)
{
	*reader = (struct as_instance_reader){ as_vfs_tree(i->vfs), i->vfs };
	return 0;
}

/* Errors of a file system that is full, or of a path at its limit. */
static int unless_allowed(const struct as_outcome *got)
{
	static const int allowed[] = {
		ENOSPC, EDQUOT, ENAMETOOLONG, EEXIST, AS_ERR_UNSUPPORTED, AS_ERR_LIMIT, EROFS
	};

	for (size_t k = 0; k < sizeof(allowed) / sizeof(allowed[0]); k++)
		if (got->err == allowed[k])
			return 0;
	return -got->err;
}

static int library_probe(struct as_instance *i, const char *directory, const char **doing)
{
	struct as_op create = as_op_make(AS_OP_CREATE), unlink = as_op_make(AS_OP_UNLINK);
	bool root = !strcmp(directory, "/");
	char path[AS_VFS_PATH_MAX];
	struct as_outcome got;

	if (snprintf(path, sizeof(path), "%s/" PROBE_NAME, root ? "" : directory) >=
	    (int)sizeof(path))
		return 0;
	create.path = unlink.path = path;
	create.mode = 0644;
	*doing = "creating a file in a recovered directory";
	as_vfs_exec(i->vfs, &create, &got);
	if (got.ret < 0)
		return unless_allowed(&got);
	*doing = "deleting a file in a recovered directory";
	as_vfs_exec(i->vfs, &unlink, &got);
	return got.ret < 0 ? unless_allowed(&got) : 0;
}

static int library_fsck(struct as_instance *i, enum as_check_mode mode)
{
	static const enum as_fsck_mode modes[AS_CHECK_MODES] = {
		[AS_CHECK_QUICK] = AS_FSCK_REPLAY,
		[AS_CHECK_DEFAULT] = AS_FSCK_DEFAULT,
		[AS_CHECK_FULL] = AS_FSCK_FULL,
	};
	struct as_mount_args args = mount_args(i);
	int rc;

	call_begins(i);
	rc = ops_of(i)->fsck(&args, modes[mode]);
	call_ends(i);
	as_host_drop(i->host);
	return rc;
}

const struct as_instance_ops as_instance_library = {
	.name = "library",
	.caps = AS_INSTANCE_DISK | AS_INSTANCE_REMOUNT | AS_INSTANCE_CHECK | AS_INSTANCE_MARK |
		AS_INSTANCE_MAKE | AS_INSTANCE_MEMORY | AS_INSTANCE_BATCH | AS_INSTANCE_CERTAIN |
		AS_INSTANCE_STRICT | AS_INSTANCE_IN_PROCESS | AS_INSTANCE_VISIT,
	.size_bytes = sizeof(struct library_instance),
	.lacks = library_lacks,
	.open = library_open,
	.close = library_close,
	.new_vfs = library_new_vfs,
	.make = library_make,
	.mount = library_mount,
	.unmount = library_unmount,
	.give_up = library_give_up,
	.set_op = library_set_op,
	.answered = library_answered,
	.aside = library_aside,
	.set_caller = library_set_caller,
	.trouble = library_trouble,
	.trail_tree = library_trail_tree,
	.leak_op = library_leak_op,
	.hits = library_hits,
	.misuse = library_misuse,
	.restore = library_restore,
	.check = library_check,
	.visitor = &as_instance_library,
	.insert = library_insert,
	.eject = library_eject,
	.mount_writable = library_mount,
	.mount_look = library_mount_look,
	.turn_writable = library_turn_writable,
	.enter = library_enter,
	.probe = library_probe,
	.fsck = library_fsck,
};
