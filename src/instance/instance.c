/* SPDX-License-Identifier: GPL-2.0-or-later */
/* instance: see instance.h. The choice of the row, and what all rows share. */
#include "instance/instance.h"

#include "base/choice.h"
#include "disk/cow.h"
#include "instance/instance_priv.h"
#include "target/fstype.h"
#include "vfs/bounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

static const struct as_instance_ops *row_of(const struct as_target *target)
{
	const struct as_fstype *type = as_target_fstype(target);

	if (as_target_library(target))
		return &as_instance_library;
	if (type)
		return type->server ? &as_instance_server : &as_instance_kernel;
	return &as_instance_folder;
}

uint32_t as_instance_caps(const struct as_target *target)
{
	const struct as_instance_ops *ops = row_of(target);

	return ops->caps & ~(ops->lacks ? ops->lacks(target) : 0);
}

const char *as_instance_place(const struct as_target *target)
{
	const struct as_instance_ops *ops = row_of(target);

	return ops->place ? ops->place(target) : NULL;
}

int as_instance_make_disk(const struct as_target *target, struct as_medium *disk,
			  struct as_err *err)
{
	const struct as_instance_ops *ops = row_of(target);

	return ops->make_disk ? ops->make_disk(target, disk, err) : 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* What does not need a medium. */
#define VISITOR_CAPS                                                             \
	((uint32_t)(AS_INSTANCE_DISK | AS_INSTANCE_KERNEL | AS_INSTANCE_DEVICE | \
		    AS_INSTANCE_CERTAIN | AS_INSTANCE_IN_PROCESS | AS_INSTANCE_VISIT))

static void free_host(struct as_instance *i)
{
	as_host_free(i->host);
	as_chooser_free(i->chooser);
	as_chooser_free(i->answerer);
	i->answerer = NULL;
}

/* Chance, clock and memory as in the beginning. */
static void new_host(struct as_instance *i)
{
	const char *choices = i->args.choices;

	free_host(i);
	i->chooser = as_chooser_seeded(i->args.seed);
	i->host = as_host_new(as_chooser_choice(i->chooser), i->args.log);
	/* Whoever took the option has read it before. */
	if (!i->args.choice && choices && *choices)
		as_assert(!as_chooser_parse(choices, &i->answerer, NULL));
	as_host_set_choice(i->host, i->answerer ? as_chooser_choice(i->answerer) : i->args.choice);
	as_host_clock_after(i->host, i->args.after_ns);
	if (i->args.still)
		as_host_clock_still(i->host);
	if (i->args.plan) {
		unsigned n;
		const uint64_t *nth = as_plan_allocs(i->args.plan, &n);

		as_host_fail_several(i->host, nth, n);
	}
}

/* Whether all stamps of inodes are those of the last tick. Linux 6.13 began to give finer ones to
 * inodes whose stamps somebody has looked at (Documentation/filesystems/multigrain-ts.rst). */
static bool has_coarse_stamps(void)
{
	unsigned major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major < 6 || (major == 6 && minor < 13);
}

int as_instance_open(const struct as_instance_args *args, struct as_instance **out,
		     struct as_err *err)
{
	const struct as_instance_ops *row = row_of(args->target);
	const struct as_instance_ops *ops = args->visits ? row->visitor : row;
	struct as_instance *i = as_xcalloc(1, ops->size_bytes);
	int rc;

	i->ops = ops;
	i->args = *args;
	i->caps = as_instance_caps(args->target);
	as_assert(!args->disk == (args->visits || !(i->caps & AS_INSTANCE_DISK)));
	as_assert(!args->visits || !args->plan);
	as_assert(!args->quick || (i->caps & AS_INSTANCE_QUICK && !args->plan));
	if (args->visits)
		i->caps &= VISITOR_CAPS;
	if (args->disk && as_medium_is_watched(args->disk))
		i->caps &= ~(uint32_t)AS_INSTANCE_MARK;
	/* A server has a clock of its own. */
	i->coarse = i->caps & AS_INSTANCE_DEVICE && has_coarse_stamps();
	new_host(i);
	if (args->plan)
		as_medium_plan(args->disk, args->plan);
	rc = ops->open(i, args, err);
	if (rc) {
		as_instance_close(i);
		i = NULL;
	}
	*out = i;
	return rc;
}

void as_instance_close(struct as_instance *i)
{
	if (!i)
		return;
	i->ops->close(i);
	free_host(i);
	free(i);
}

bool as_instance_can(const struct as_instance *i, enum as_instance_cap cap)
{
	return i->caps & cap;
}

/* Whether a write to the disk is a mistake from now on. */
static void guard(struct as_instance *i, bool guarded)
{
	if (i->args.disk && i->guarded != guarded)
		as_medium_guard(i->args.disk, guarded);
	i->guarded = guarded;
}

int as_instance_make(struct as_instance *i)
{
	return i->ops->make(i);
}

int as_instance_mount(struct as_instance *i)
{
	i->tick_ns = 0;
	guard(i, false);
	return i->ops->mount(i);
}

int as_instance_unmount(struct as_instance *i)
{
	int rc;

	if (i->writes_at_umount)
		guard(i, false);
	rc = i->ops->unmount(i);
	guard(i, false);
	return rc;
}

int as_instance_give_up(struct as_instance *i)
{
	guard(i, false);
	return i->ops->give_up(i);
}

int as_instance_useless(struct as_instance *i, int rc, struct as_err *err)
{
	enum as_finding_kind kind;
	const char *why;

	if (i->ops->useless)
		return i->ops->useless(i, rc, err);
	if (rc > 0)
		return as_fail(err, AS_EUSE,
			       "a fresh disk cannot be mounted: mount returned %d, which is "
			       "neither 0 nor a negative errno",
			       rc);
	why = as_instance_trouble(i, &kind);
	return as_fail(err, AS_EUSE, "a fresh disk cannot be mounted: %s",
		       why && kind == AS_FIND_MISUSE ? why : as_errno_name(-rc));
}

void as_instance_bind(struct as_instance *i, const char *path)
{
	const struct as_instance_args *a = &i->args;

	i->bounds.bytes = a->max_bytes ? a->max_bytes : AS_BOUND_BYTES;
	i->bounds.entries = a->max_entries ? a->max_entries : AS_BOUND_ENTRIES;
	as_bounds_spare(&i->bounds, path);
	as_vfs_bind(i->vfs, &i->bounds);
}

/* ---- Operations ------------------------------------------------------------------------------ */

void as_instance_aside(struct as_instance *i, bool begins)
{
	if (i->ops->aside)
		i->ops->aside(i, begins);
}

void as_instance_set_op(struct as_instance *i, uint32_t op)
{
	if (i->ops->set_op)
		i->ops->set_op(i, op);
}

void as_instance_do(struct as_instance *i, uint32_t number, const struct as_op *op,
		    struct as_outcome *got)
{
	as_instance_set_op(i, number);
	/* What makes it writable again may write. */
	if (op->code == AS_OP_REMOUNT || op->code == AS_OP_CRASH ||
	    (op->code == AS_OP_UMOUNT && i->writes_at_umount))
		guard(i, false);
	as_vfs_exec(i->vfs, op, got);
	guard(i, i->vfs->readonly && !i->writes_below);
	if (i->ops->answered)
		i->ops->answered(i, got);
}

void as_instance_before_map(struct as_instance *i)
{
	if (i->ops->before_map)
		i->ops->before_map(i);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Where the clock is ours it moves only when it is asked. The kernel's stamps are at least as old
 * as its last tick, and never newer than the clock that everybody reads. Where stamps are coarse,
 * the tick that was read after one operation is at most that of the next one: one reading does for
 * both, which counts in a guest. */
void as_instance_clock_after(struct as_instance *i, uint64_t after_ns)
{
	if (i->host)
		as_host_clock_after(i->host, after_ns);
}

int64_t as_instance_time_from(const struct as_instance *i)
{
	if (i->caps & AS_INSTANCE_CERTAIN)
		return (int64_t)as_host_clock(i->host) + 1;
	return i->tick_ns ? i->tick_ns : clock_ns(CLOCK_REALTIME_COARSE);
}

int64_t as_instance_time_until(struct as_instance *i)
{
	if (i->caps & AS_INSTANCE_CERTAIN)
		return (int64_t)as_host_clock(i->host);
	if (!i->coarse)
		return clock_ns(CLOCK_REALTIME);
	i->tick_ns = clock_ns(CLOCK_REALTIME_COARSE);
	return i->tick_ns;
}

void as_instance_set_caller(struct as_instance *i, uint32_t thread)
{
	if (i->ops->set_caller)
		i->ops->set_caller(i, thread);
}

void as_instance_flush(struct as_instance *i)
{
	if (i->ops->flush)
		i->ops->flush(i);
}

struct as_vfs *as_instance_vfs(struct as_instance *i)
{
	return i->vfs;
}

struct as_instance_reader as_instance_reads(struct as_instance *i)
{
	return (struct as_instance_reader){ as_vfs_tree(i->vfs), i->vfs };
}

const char *as_instance_trouble(struct as_instance *i, enum as_finding_kind *kind)
{
	return i->ops->trouble ? i->ops->trouble(i, kind) : NULL;
}

int64_t as_instance_leak_op(const struct as_instance *i)
{
	return i->ops->leak_op ? i->ops->leak_op(i) : -1;
}

void as_instance_trail_tree(struct as_instance *i)
{
	if (i->ops->trail_tree)
		i->ops->trail_tree(i);
}

void as_instance_answers(const struct as_instance *i, struct as_buf *out)
{
	as_host_answers(i->host, out);
}

struct as_host_leaks as_instance_memory(const struct as_instance *i)
{
	as_assert(i->caps & AS_INSTANCE_MEMORY);
	return as_host_live(i->host);
}

const char *as_instance_output(struct as_instance *i)
{
	return i->ops->output ? i->ops->output(i) : NULL;
}

int as_instance_replace(struct as_instance *i, struct as_disk *disk, struct as_err *err)
{
	return i->ops->restore(i, disk, err);
}

const char *as_instance_misuse(const struct as_instance *i)
{
	return i->ops->misuse ? i->ops->misuse(i) : NULL;
}

/* ---- Faults and delays ----------------------------------------------------------------------- */

uint64_t as_instance_hits(struct as_instance *i)
{
	struct as_medium *disk;
	uint64_t hits;

	hits = i->ops->hits ? i->ops->hits(i) : 0;
	if (!i->args.plan)
		return hits;
	disk = as_instance_hold_disk(i);
	hits += as_medium_fired(disk) + as_host_failed(i->host);
	as_instance_release_disk(i);
	return hits;
}

bool as_instance_fault_hit(struct as_instance *i)
{
	return as_instance_hits(i);
}

void as_instance_end_faults(struct as_instance *i)
{
	if (!i->args.plan)
		return;
	i->args.plan = NULL;
	as_medium_plan(as_instance_hold_disk(i), NULL);
	as_instance_release_disk(i);
	as_host_fail_nth(i->host, 0);
}

void as_instance_set_faults(struct as_instance *i, const struct as_plan *plan)
{
	as_assert(i->caps & AS_INSTANCE_DISK && !i->args.quick);
	i->args.plan = plan;
	as_medium_plan(as_instance_hold_disk(i), plan);
	as_instance_release_disk(i);
}

uint64_t as_instance_allocations(const struct as_instance *i)
{
	return as_host_calls(i->host);
}

void as_instance_fail_allocation(struct as_instance *i, uint64_t nth)
{
	if (i->caps & AS_INSTANCE_MEMORY)
		as_host_fail_nth(i->host, nth);
}

void as_instance_set_delay(struct as_instance *i, void (*before)(void *ctx), void *ctx)
{
	if (i->caps & AS_INSTANCE_DELAY)
		i->ops->set_delay(i, before, ctx);
}

/* ---- The disk -------------------------------------------------------------------------------- */

struct as_medium *as_instance_hold_disk(struct as_instance *i)
{
	return i->ops->hold ? i->ops->hold(i) : i->args.disk;
}

void as_instance_release_disk(struct as_instance *i)
{
	if (i->ops->release)
		i->ops->release(i);
}

const char *as_instance_device(const struct as_instance *i)
{
	return i->ops->device ? i->ops->device(i) : "";
}

int as_instance_check(struct as_instance *i, unsigned deadline_ms,
		      struct as_instance_checked *checked, struct as_err *err)
{
	as_assert(i->caps & AS_INSTANCE_CHECK);
	*checked = (struct as_instance_checked){ .clean = true,
						 .kind = AS_FIND_CHECKER,
						 .command = "" };
	return i->ops->check(i, deadline_ms, checked, err);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

struct as_instance_mark {
	struct as_disk *disk;
};

struct as_instance_mark *as_instance_mark(struct as_instance *i)
{
	struct as_instance_mark *mark = as_xcalloc(1, sizeof(*mark));
	struct as_medium *disk;

	as_assert(i->caps & AS_INSTANCE_MARK);
	disk = as_instance_hold_disk(i);
	as_assert(disk);
	mark->disk = as_disk_snapshot(as_medium_disk(disk));
	as_instance_release_disk(i);
	return mark;
}

struct as_instance_mark *as_instance_mark_of(struct as_disk *disk)
{
	struct as_instance_mark *mark = as_xcalloc(1, sizeof(*mark));

	mark->disk = as_disk_snapshot(disk);
	return mark;
}

int as_instance_back(struct as_instance *i, const struct as_instance_mark *mark, struct as_err *err)
{
	int rc = i->ops->give_up(i);

	as_assert(i->caps & AS_INSTANCE_MARK);
	if (rc)
		return as_fail_errno(err, -rc, "cannot unmount between two workloads");
	as_vfs_free(i->vfs);
	i->vfs = NULL;
	new_host(i);
	rc = i->ops->restore(i, mark->disk, err);
	return rc ? rc : i->ops->new_vfs(i, err);
}

void as_instance_mark_free(struct as_instance_mark *mark)
{
	if (!mark)
		return;
	as_disk_free(mark->disk);
	free(mark);
}

/* ---- Visits ---------------------------------------------------------------------------------- */

int as_instance_insert(struct as_instance *i, struct as_disk *disk, struct as_bd *above,
		       struct as_err *err)
{
	as_assert(i->args.visits);
	new_host(i);
	return i->ops->insert(i, disk, above, err);
}

void as_instance_read_ahead(struct as_instance *i, uint64_t off, uint64_t len)
{
	if (i->ops->read_ahead)
		i->ops->read_ahead(i, off, len);
}

int as_instance_eject(struct as_instance *i, struct as_err *err)
{
	return i->ops->eject(i, err);
}

int as_instance_mount_writable(struct as_instance *i)
{
	return i->ops->mount_writable(i);
}

int as_instance_mount_unreplayed(struct as_instance *i)
{
	as_assert(i->ops->mount_unreplayed);
	return i->ops->mount_unreplayed(i);
}

int as_instance_mount_look(struct as_instance *i)
{
	as_assert(i->ops->mount_look);
	return i->ops->mount_look(i);
}

int as_instance_turn_writable(struct as_instance *i)
{
	return i->ops->turn_writable(i);
}

int as_instance_enter(struct as_instance *i, struct as_instance_reader *reader)
{
	return i->ops->enter(i, reader);
}

int as_instance_probe(struct as_instance *i, const char *directory, const char **doing)
{
	return i->ops->probe(i, directory, doing);
}

int as_instance_fsck(struct as_instance *i, enum as_check_mode mode)
{
	return i->ops->fsck(i, mode);
}
