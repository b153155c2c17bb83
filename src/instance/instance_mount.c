/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instance_mount: what we mount ourselves (mount/mount.h): a type of the running kernel on a loop
 * device, or a FUSE server, which is a process of its own. These are two rows.
 */
#include "instance/instance_priv.h"

#include "instance/outside.h"
#include "mount/mount.h"
#include "target/cache.h"
#include "target/fresh.h"
#include "tool/checker.h"
#include "tool/steady.h"
#include "vfs/sys_new.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct mount_instance {
	struct as_instance base;
	const struct as_fstype *type;
	struct as_mount *mount;
	struct as_checkers *checkers; /* of a quick one: its checker, loaded; NULL: not yet */
	bool unprivileged; /* before it had a user namespace of its own */
};

static struct mount_instance *of(struct as_instance *i)
{
	return (struct mount_instance *)i;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static uint32_t mount_lacks(const struct as_target *target)
{
	const struct as_fstype *type = as_target_fstype(target);

	return as_fstype_check(type, as_fstype_strictest(type))->command ? 0 : AS_INSTANCE_CHECK;
}

/* mkfs is a program, so no child of ours is needed. Without a place for a cache it runs each
 * time. */
static int mount_make_disk(const struct as_target *target, struct as_medium *disk,
			   struct as_err *err)
{
	const struct as_fstype *type = as_target_fstype(target);
	struct as_buf folder = { 0 };
	int rc = type->server ? 0 : as_mount_allowed(err);

	if (!rc && type->mkfs) {
		bool cached = !as_cache_folder("images", &folder, NULL);

		rc = type->steady
			     ? as_steady_disk(type, cached ? as_buf_str(&folder) : NULL, disk, err)
			     : as_fresh_disk(type, cached ? as_buf_str(&folder) : NULL, disk, NULL,
					     err);
	}
	as_buf_free(&folder);
	return rc ? as_fail_in(err, "target %s", as_target_spec(target)) : 0;
}

int as_instance_keep_disk(const struct as_target *target, uint64_t size_bytes, struct as_err *err)
{
	const struct as_fstype *type = as_target_fstype(target);
	struct as_buf folder = { 0 };
	struct as_medium *disk = NULL;
	int rc;

	if (!type || !type->steady || as_cache_folder("images", &folder, NULL))
		return 0;
	rc = as_target_disk_bytes(target, size_bytes, &size_bytes, err);
	if (!rc)
		rc = as_medium_new(size_bytes, &disk, err);
	if (!rc)
		rc = as_steady_disk(type, as_buf_str(&folder), disk, err);
	as_medium_free(disk);
	as_buf_free(&folder);
	return rc;
}

static int mount_new_vfs(struct as_instance *i, struct as_err *err)
{
	const char *source = as_mount_source(of(i)->mount);
	int rc = as_vfs_sys_mounted_new(of(i)->mount, as_target_opts(i->args.target), &i->vfs, err);

	/* What a server passes on is written to the machine's memory. */
	if (!rc && source)
		as_instance_bind(i, source);
	return rc;
}

static int mount_open(struct as_instance *i, const struct as_instance_args *args,
		      struct as_err *err)
{
	struct mount_instance *m = of(i);
	int rc;

	m->type = as_target_fstype(args->target);
	m->unprivileged = geteuid();
	i->writes_at_umount = m->type->readonly_writes;
	i->writes_below = m->type->over;
	rc = args->quick ? as_mount_new_quick(m->type, args->disk, &m->mount, err)
			 : as_mount_new(m->type, args->disk, &m->mount, err);
	if (rc)
		return rc;
	if (args->deadline_ms)
		as_mount_set_deadline(m->mount, args->deadline_ms);
	/* Its state is in that directory, not on the disk. */
	if (as_mount_source(m->mount))
		i->caps &= ~(uint32_t)AS_INSTANCE_MARK;
	return mount_new_vfs(i, err);
}

static void mount_close(struct as_instance *i)
{
	struct mount_instance *m = of(i);

	if (m->mount)
		as_mount_abandon(m->mount);
	as_checkers_free(m->checkers);
	as_vfs_free(i->vfs);
	as_mount_free(m->mount);
}

static int mount_mount(struct as_instance *i)
{
	return as_vfs_sys_mount(i->vfs, "");
}

static int mount_unmount(struct as_instance *i)
{
	return as_vfs_sys_unmount(i->vfs);
}

/* ---- Operations ------------------------------------------------------------------------------ */

static void mount_set_op(struct as_instance *i, uint32_t op)
{
	as_mount_set_op(of(i)->mount, op);
}

static void mount_before_map(struct as_instance *i)
{
	as_mount_before_map(of(i)->mount);
}

static void mount_flush(struct as_instance *i)
{
	if (of(i)->type->crash & AS_CRASH_NO_FLUSH)
		as_mount_flush(of(i)->mount);
}

static void mount_set_delay(struct as_instance *i, void (*before)(void *ctx), void *ctx)
{
	as_mount_set_delay(of(i)->mount, before, ctx);
}

/* ---- The disk -------------------------------------------------------------------------------- */

static const char *mount_device(const struct as_instance *i)
{
	return as_mount_device(((const struct mount_instance *)i)->mount);
}

static struct as_medium *mount_hold(struct as_instance *i)
{
	if (i->args.quick && as_mount_mounted(of(i)->mount))
		return NULL;
	return as_mount_medium(of(i)->mount);
}

static void mount_release(struct as_instance *i)
{
	as_mount_release(of(i)->mount);
}

static int mount_restore(struct as_instance *i, struct as_disk *disk, struct as_err *err)
{
	as_medium_forget_misuse(i->args.disk);
	return as_mount_restore(of(i)->mount, disk, err);
}

/* What a program printed, line by line, to where the target's own words go. */
static void log_output(struct as_instance *i, struct as_buf *output)
{
	const struct as_host *host = as_host_seam(i->host);
	char *save = NULL;

	if (!output->len)
		return;
	for (char *line = strtok_r(output->data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		host->log(host->ctx, line);
}

/* The program is loaded once for all workloads: see tool/checker.h. The disk is the one that
 * as_mount_check() copies. */
static int check_quickly(struct as_instance *i, enum as_check_mode mode, unsigned deadline_ms,
			 enum as_check_answer *answer, struct as_buf *output, struct as_err *err)
{
	struct mount_instance *m = of(i);
	struct as_tool_setup setup = { .deadline_ms = deadline_ms };
	struct as_medium *medium = as_mount_medium(m->mount);
	int rc;

	if (!m->checkers)
		m->checkers = as_checkers_new(&setup);
	rc = as_outside_run(m->checkers, m->type, mode, as_medium_disk(medium), answer, output,
			    err);
	as_mount_release(m->mount);
	return rc;
}

/* A disk that nobody watches is checked quickly, unless the program wants a device or cannot be
 * loaded that way. */
static int check_somehow(struct as_instance *i, enum as_check_mode mode, unsigned deadline_ms,
			 enum as_check_answer *answer, struct as_buf *output, struct as_err *err)
{
	const struct mount_instance *m = of(i);
	const struct as_checker *checker = as_fstype_checker(m->type);
	bool quick = i->args.quick && !(checker && checker->direct);
	int rc = AS_ELACK;

	if (quick && i->args.outside && as_outside_is_clean(i->args.outside, m->mount, mode)) {
		*answer = AS_CHECK_CLEAN;
		return 0;
	}
	if (quick)
		rc = check_quickly(i, mode, deadline_ms, answer, output, err);
	if (quick && i->args.outside && !rc)
		as_outside_compare(i->args.outside, *answer);
	if (rc != AS_ELACK)
		return rc;
	return as_mount_check(m->mount, mode, false, deadline_ms, answer, output, err);
}

static int mount_check(struct as_instance *i, unsigned deadline_ms,
		       struct as_instance_checked *checked, struct as_err *err)
{
	enum as_check_mode mode = as_fstype_strictest(of(i)->type);
	struct as_buf output = { 0 };
	enum as_check_answer answer;
	int rc = check_somehow(i, mode, deadline_ms, &answer, &output, err);

	if (!rc && answer != AS_CHECK_CLEAN) {
		checked->clean = false;
		checked->command = as_fstype_check(of(i)->type, mode)->command;
		log_output(i, &output);
		snprintf(checked->why, sizeof(checked->why),
			 "`%s` of an unmounted disk ended with: %s", checked->command,
			 as_check_answer_name(answer));
	}
	as_buf_free(&output);
	return rc;
}

/* ---- The process of a server ----------------------------------------------------------------- */

static const char *mount_misuse(const struct as_instance *i)
{
	return i->args.disk ? as_medium_misuse(i->args.disk) : NULL;
}

static const char *mount_trouble(struct as_instance *i, enum as_finding_kind *kind)
{
	*kind = AS_FIND_MISUSE;
	return mount_misuse(i);
}

static const char *server_trouble(struct as_instance *i, enum as_finding_kind *kind)
{
	const char *why = as_mount_trouble(of(i)->mount);

	if (!why)
		return mount_trouble(i, kind);
	*kind = as_mount_hung(of(i)->mount) ? AS_FIND_HANG : AS_FIND_SIGNAL;
	return why;
}

static const char *server_output(struct as_instance *i)
{
	return as_mount_output(of(i)->mount);
}

/* A mount that has lost its server: that the process has ended will be seen in a moment. The
 * kernel says so plainly, or, in the middle of a walk, by an error that has other causes, too. */
static void server_answered(struct as_instance *i, const struct as_outcome *got)
{
	if (got->ret >= 0)
		return;
	if (got->err == ENOTCONN || got->err == ECONNABORTED ||
	    ((got->err == EIO || got->err == ESTALE) && as_mount_lost(of(i)->mount)))
		as_mount_await_trouble(of(i)->mount);
}

/* A server that does not even serve a fresh disk. */
static int server_useless(struct as_instance *i, int rc, struct as_err *err)
{
	const struct mount_instance *m = of(i);
	const char *package = m->type->package, *output = as_mount_output(m->mount);
	bool lacks = rc == -ENOEXEC || m->unprivileged;

	if (rc == -ENOEXEC)
		return as_fail(err, AS_ELACK, "its program cannot be started: %s%s%s%s",
			       as_mount_refusal(m->mount), package ? " (package " : "",
			       package ? package : "", package ? ")" : "");
	return as_fail(err, lacks ? AS_ELACK : AS_EUSE, "the server %s%s; it said: %.400s",
		       rc == -ETIMEDOUT ? "mounted nothing in time"
					: "ended before it served anything (it must stay in the "
					  "foreground)",
		       lacks ? ", without root's rights" : "", *output ? output : "nothing");
}

/* ---- The rows -------------------------------------------------------------------------------- */

/* clang-format off */
#define MOUNT_FUNCTIONS \
	.size_bytes = sizeof(struct mount_instance), \
	.lacks = mount_lacks, \
	.make_disk = mount_make_disk, \
	.open = mount_open, \
	.close = mount_close, \
	.new_vfs = mount_new_vfs, \
	.mount = mount_mount, \
	.unmount = mount_unmount, \
	.give_up = mount_unmount, \
	.set_op = mount_set_op, \
	.before_map = mount_before_map, \
	.flush = mount_flush, \
	.set_delay = mount_set_delay, \
	.device = mount_device, \
	.hold = mount_hold, \
	.release = mount_release, \
	.restore = mount_restore, \
	.misuse = mount_misuse, \
	.check = mount_check
/* clang-format on */

const struct as_instance_ops as_instance_kernel = {
	.name = "kernel",
	.caps = AS_INSTANCE_DISK | AS_INSTANCE_REMOUNT | AS_INSTANCE_CHECK | AS_INSTANCE_MARK |
		AS_INSTANCE_KERNEL | AS_INSTANCE_DEVICE | AS_INSTANCE_DELAY | AS_INSTANCE_BATCH |
		AS_INSTANCE_QUICK | AS_INSTANCE_VISIT,
	MOUNT_FUNCTIONS,
	.trouble = mount_trouble,
	.visitor = &as_instance_visitor,
};

/* A server may remember more than its disk, so each workload has one of its own. */
const struct as_instance_ops as_instance_server = {
	.name = "server",
	.caps = AS_INSTANCE_DISK | AS_INSTANCE_CHECK | AS_INSTANCE_MARK | AS_INSTANCE_KERNEL |
		AS_INSTANCE_DELAY,
	MOUNT_FUNCTIONS,
	.useless = server_useless,
	.answered = server_answered,
	.trouble = server_trouble,
	.output = server_output,
};
