/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every row of instance/instance.h goes through its life: made, mounted, used, unmounted, checked,
 * set back to marks in any order, closed. Those that can visit the disks of others. The flags say what
 * rows can do, and agree with what they do.
 */
#include "tests/lib/mounted.h"

#include "disk/cow.h"
#include "disk/log.h"
#include "instance/instance.h"
#include "tests/lib/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* ---- Flags ----------------------------------------------------------------------------------- */

#define ON_DISK (AS_INSTANCE_DISK | AS_INSTANCE_MARK)

static const struct {
	const char *spec;
	uint32_t has, lacks;
} rows[] = {
	{ "lab",
	  ON_DISK | AS_INSTANCE_MAKE | AS_INSTANCE_CHECK | AS_INSTANCE_CERTAIN |
		  AS_INSTANCE_IN_PROCESS | AS_INSTANCE_VISIT,
	  AS_INSTANCE_QUICK | AS_INSTANCE_KERNEL },
	{ "ext4",
	  ON_DISK | AS_INSTANCE_CHECK | AS_INSTANCE_QUICK | AS_INSTANCE_DEVICE | AS_INSTANCE_VISIT,
	  AS_INSTANCE_MAKE | AS_INSTANCE_STRICT | AS_INSTANCE_IN_PROCESS },
	{ "fuse:server {disk} {mnt}", ON_DISK | AS_INSTANCE_KERNEL,
	  AS_INSTANCE_CHECK | AS_INSTANCE_BATCH | AS_INSTANCE_DEVICE | AS_INSTANCE_VISIT },
	{ "fuse:server {disk} {mnt};fsck=check {disk}", ON_DISK | AS_INSTANCE_CHECK, 0 },
	{ "dir:/tmp", 0, ~UINT32_C(0) },
};

static void flags(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_target *target;
		struct as_err err = { 0 };
		uint32_t caps;

		if (as_target_open(rows[i].spec, &target, &err))
			fail_msg("%s: %s", rows[i].spec, err.msg);
		caps = as_instance_caps(target);
		if ((caps & rows[i].has) != rows[i].has || caps & rows[i].lacks)
			fail_msg("%s: 0x%x", rows[i].spec, caps);
		assert_int_equal(!as_instance_place(target), !!(caps & AS_INSTANCE_DISK));
		as_target_free(target);
	}
}

/* ---- A life ---------------------------------------------------------------------------------- */

struct life {
	const char *spec;
	bool quick;
	struct as_target *target;
	struct as_medium *disk;
	struct as_instance *instance;
	struct as_host_log log;
};

static void create(struct life *l, const char *path)
{
	struct as_op op = as_op_make(AS_OP_CREATE);
	struct as_outcome got;

	op.path = path;
	op.mode = 0644;
	as_instance_do(l->instance, 0, &op, &got);
	child_check(!got.ret);
}

static bool has(struct life *l, const char *path)
{
	struct as_vfs *vfs = as_instance_vfs(l->instance);
	struct as_stat st;

	return !as_vfs_tree(vfs)->stat(vfs, path, &st);
}

static void check(struct life *l, bool clean)
{
	struct as_instance_checked checked;

	child_ok(as_instance_check(l->instance, 60000, &checked, &t_child_err));
	child_check(checked.clean == clean);
	child_check(clean || (checked.kind == AS_FIND_CHECKER && checked.why[0]));
}

/* Mounts, creates a file and unmounts. */
static struct as_instance_mark *grow(struct life *l, const char *path)
{
	child_check(!as_instance_mount(l->instance));
	create(l, path);
	child_check(!as_instance_unmount(l->instance));
	check(l, true);
	return as_instance_mark(l->instance);
}

static void back(struct life *l, const struct as_instance_mark *mark, bool a, bool b, bool c)
{
	enum as_finding_kind kind;

	child_ok(as_instance_back(l->instance, mark, &t_child_err));
	child_check(!as_instance_mount(l->instance));
	child_check(has(l, "/a") == a && has(l, "/b") == b && has(l, "/c") == c);
	child_check(!as_instance_trouble(l->instance, &kind));
}

static void spoil(struct life *l)
{
	unsigned char junk[4096];
	struct as_bd *bd = as_medium_bd(as_instance_hold_disk(l->instance));

	memset(junk, 0x77, sizeof(junk));
	for (uint64_t i = 1; i < 300 && (i + 1) * sizeof(junk) <= bd->size_bytes; i++)
		child_check(!as_bd_write(bd, i * sizeof(junk), junk, sizeof(junk)));
	as_instance_release_disk(l->instance);
}

static int live(void *ctx)
{
	struct life *l = ctx;
	struct as_instance_mark *marks[4];
	struct as_instance_args args = { .target = l->target,
					 .disk = l->disk,
					 .log = &l->log,
					 .name_max = 255,
					 .quick = l->quick };

	child_ok(as_instance_open(&args, &l->instance, &t_child_err));
	child_check(as_instance_can(l->instance, AS_INSTANCE_MARK));
	if (as_instance_can(l->instance, AS_INSTANCE_MAKE))
		child_check(!as_instance_make(l->instance));
	child_check(!as_instance_device(l->instance)[0] ==
		    !as_instance_can(l->instance, AS_INSTANCE_DEVICE));
	marks[0] = as_instance_mark(l->instance);
	marks[1] = grow(l, "/a");
	marks[2] = grow(l, "/b");
	/* Down to the first, up to the last, and to another branch; each one mounted, and not
	 * unmounted before it goes on. */
	back(l, marks[0], false, false, false);
	back(l, marks[2], true, true, false);
	back(l, marks[1], true, false, false);
	create(l, "/c");
	back(l, marks[1], true, false, false);
	child_check(!as_instance_unmount(l->instance));
	marks[3] = grow(l, "/c");
	back(l, marks[2], true, true, false);
	back(l, marks[3], true, false, true);
	child_check(!as_instance_unmount(l->instance));
	check(l, true);
	if (!l->quick) {
		spoil(l);
		check(l, false);
	}
	for (size_t i = 0; i < 4; i++)
		as_instance_mark_free(marks[i]);
	as_instance_close(l->instance);
	return 0;
}

static void begin_life(struct life *l, const char *spec, bool quick)
{
	struct as_err err = { 0 };
	uint64_t bytes;

	*l = (struct life){ .spec = spec, .quick = quick };
	if (as_target_open(spec, &l->target, &err) ||
	    as_target_disk_bytes(l->target, 0, &bytes, &err) ||
	    as_medium_new(bytes, &l->disk, &err) || as_instance_make_disk(l->target, l->disk, &err))
		fail_msg("%s: %s", spec, err.msg);
}

static void end_life(struct life *l)
{
	as_medium_free(l->disk);
	as_target_free(l->target);
}

static void library(void **state)
{
	struct life l;

	(void)state;
	begin_life(&l, "lab", false);
	t_in_child(live, &l);
	end_life(&l);
}

static void kernel(void **state)
{
	struct life l;

	(void)state;
	t_need_host("ext4");
	for (int quick = 0; quick < 2; quick++) {
		begin_life(&l, "ext4", quick);
		t_in_child(live, &l);
		end_life(&l);
	}
}

/* Going back ends the server, and the next mount starts another one. */
static void server(void **state)
{
	struct life l;

	(void)state;
	t_need_host("fuse2fs");
	begin_life(&l, "fuse2fs", false);
	t_in_child(live, &l);
	end_life(&l);
}

/* ---- What cannot be set back ----------------------------------------------------------------- */

static int live_recorded(void *ctx)
{
	struct life *l = ctx;
	struct as_instance_args args = {
		.target = l->target, .disk = l->disk, .log = &l->log, .name_max = 255
	};

	as_medium_record(l->disk, 0);
	child_ok(as_instance_open(&args, &l->instance, &t_child_err));
	child_check(!as_instance_can(l->instance, AS_INSTANCE_MARK));
	child_check(!as_instance_make(l->instance) && !as_instance_mount(l->instance));
	as_instance_do(l->instance, 7, &(struct as_op){ .code = AS_OP_SYNC },
		       &(struct as_outcome){ 0 });
	child_check(as_reclog_len(as_medium_log(l->disk)) > 0);
	as_instance_close(l->instance);
	return 0;
}

static void recorded(void **state)
{
	struct life l;

	(void)state;
	begin_life(&l, "lab", false);
	t_in_child(live_recorded, &l);
	end_life(&l);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static int live_with_faults(void *ctx)
{
	struct life *l = ctx;
	struct as_plan *plan;
	struct as_instance_args args = {
		.target = l->target, .disk = l->disk, .log = &l->log, .name_max = 255
	};

	child_ok(as_instance_open(&args, &l->instance, &t_child_err));
	child_check(!as_instance_make(l->instance));
	as_instance_close(l->instance);
	child_ok(as_plan_parse("alloc:1", &plan, &t_child_err));
	args.plan = plan;
	child_ok(as_instance_open(&args, &l->instance, &t_child_err));
	child_check(!as_instance_fault_hit(l->instance));
	child_check(as_instance_mount(l->instance) == -ENOMEM);
	child_check(as_instance_fault_hit(l->instance));
	as_instance_end_faults(l->instance);
	child_check(!as_instance_mount(l->instance));
	as_instance_close(l->instance);
	as_plan_free(plan);
	return 0;
}

static void faults(void **state)
{
	struct life l;

	(void)state;
	begin_life(&l, "lab", false);
	t_in_child(live_with_faults, &l);
	end_life(&l);
}

/* ---- Visits ---------------------------------------------------------------------------------- */

/* A disk with the file /a. */
static void fill(struct life *l)
{
	struct as_instance_args args = {
		.target = l->target, .disk = l->disk, .log = &l->log, .name_max = 255
	};

	child_ok(as_instance_open(&args, &l->instance, &t_child_err));
	if (as_instance_can(l->instance, AS_INSTANCE_MAKE))
		child_check(!as_instance_make(l->instance));
	child_check(!as_instance_mount(l->instance));
	create(l, "/a");
	child_check(!as_instance_unmount(l->instance));
	as_instance_close(l->instance);
}

enum visit { UNUSED, LOOK, WRITE, GIVE_UP };

static void use(struct as_instance *visitor, enum visit what)
{
	struct as_instance_reader reader;
	const char *doing;
	struct as_stat st;

	if (what == UNUSED)
		return;
	child_check(!(what == WRITE ? as_instance_mount_writable(visitor)
				    : as_instance_mount(visitor)));
	child_check(!as_instance_enter(visitor, &reader));
	child_check(!reader.ops->stat(reader.ctx, "/a", &st) && S_ISREG(st.mode));
	child_check(reader.ops->stat(reader.ctx, "/b", &st) == -ENOENT);
	if (what == WRITE)
		child_check(!as_instance_probe(visitor, "/", &doing));
	child_check(
		!(what == GIVE_UP ? as_instance_give_up(visitor) : as_instance_unmount(visitor)));
}

/* What a probe wrote is on the ejected disk, with or without a device above that sees every
 * request, and nothing else changes a disk in order. */
static void visit(struct life *l, struct as_instance *visitor, enum visit what, bool seen)
{
	struct as_disk *disk = as_disk_snapshot(as_medium_disk(l->disk));
	struct as_reclog *log = seen ? as_reclog_new(as_disk_bd(disk), AS_RECLOG_READS, 0) : NULL;

	child_ok(as_instance_insert(visitor, disk, log ? as_reclog_bd(log) : NULL, &t_child_err));
	child_check(!as_instance_device(visitor)[0] ==
		    !as_instance_can(visitor, AS_INSTANCE_DEVICE));
	use(visitor, what);
	child_check(!as_instance_eject(visitor, &t_child_err));
	/* A library has no mount that only reads. */
	if (what == UNUSED || what == WRITE || !as_instance_can(visitor, AS_INSTANCE_IN_PROCESS))
		child_check(as_disk_eq(disk, as_medium_disk(l->disk)) == (what != WRITE));
	child_check(!log || what == UNUSED || as_reclog_len(log) > 0);
	as_reclog_free(log);
	as_disk_free(disk);
}

/* Its own checker, on a disk in order and on one whose middle is junk. */
static void visit_and_check(struct life *l, struct as_instance *visitor)
{
	static const unsigned char junk[4096] = { 1, 2, 3 };
	struct as_disk *disk = as_disk_snapshot(as_medium_disk(l->disk));

	for (int mode = 0; mode < AS_CHECK_MODES; mode++) {
		child_ok(as_instance_insert(visitor, disk, NULL, &t_child_err));
		child_check(as_instance_fsck(visitor, mode) == AS_FSCK_CLEAN);
		child_check(!as_instance_eject(visitor, &t_child_err));
	}
	for (uint64_t off = 4096; off < 64 * 4096; off += 4096)
		child_check(!as_bd_write(as_disk_bd(disk), off, junk, sizeof(junk)));
	child_ok(as_instance_insert(visitor, disk, NULL, &t_child_err));
	child_check(as_instance_fsck(visitor, AS_CHECK_FULL) != AS_FSCK_CLEAN);
	child_check(!as_instance_eject(visitor, &t_child_err));
	as_disk_free(disk);
}

/* What somebody holds cannot be unmounted. The next visit has another device. */
static void visit_busy(struct life *l, struct as_instance *visitor)
{
	struct as_disk *disk = as_disk_snapshot(as_medium_disk(l->disk));
	struct as_instance_reader reader;
	int fd;

	child_ok(as_instance_insert(visitor, disk, NULL, &t_child_err));
	child_check(!as_instance_mount(visitor) && !as_instance_enter(visitor, &reader));
	fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	child_check(fd >= 0);
	child_check(as_instance_unmount(visitor) == -EBUSY);
	child_check(as_instance_eject(visitor, &t_child_err) == -EBUSY);
	close(fd);
	as_disk_free(disk);
	visit(l, visitor, LOOK, true);
}

static int live_visiting(void *ctx)
{
	struct life *l = ctx;
	struct as_instance_args args = {
		.target = l->target, .log = &l->log, .name_max = 255, .visits = true
	};
	struct as_instance *visitor;

	fill(l);
	child_ok(as_instance_open(&args, &visitor, &t_child_err));
	child_check(as_instance_can(visitor, AS_INSTANCE_VISIT));
	child_check(!as_instance_can(visitor, AS_INSTANCE_MARK));
	for (int seen = 0; seen < 2; seen++)
		for (int what = UNUSED; what <= GIVE_UP; what++)
			visit(l, visitor, what, seen);
	visit(l, visitor, LOOK, false); /* after those with a device above */
	if (as_instance_can(visitor, AS_INSTANCE_IN_PROCESS))
		visit_and_check(l, visitor);
	else
		visit_busy(l, visitor);
	as_instance_close(visitor);
	return 0;
}

static void visits(void **state)
{
	struct life l;

	(void)state;
	begin_life(&l, "lab", false);
	t_in_child(live_visiting, &l);
	end_life(&l);
}

static void visits_of_kernel(void **state)
{
	struct life l;

	(void)state;
	t_need_host("ext4");
	begin_life(&l, "ext4", false);
	t_in_child(live_visiting, &l);
	end_life(&l);
}

/* ---- A folder -------------------------------------------------------------------------------- */

static int live_in_folder(void *ctx)
{
	struct life *l = ctx;
	struct as_instance_args args = {
		.target = l->target, .folder = l->spec, .log = &l->log, .max_entries = 1
	};
	struct as_op op = as_op_make(AS_OP_MKDIR);
	struct as_outcome got;

	child_ok(as_instance_open(&args, &l->instance, &t_child_err));
	child_check(!as_instance_can(l->instance, AS_INSTANCE_DISK));
	child_check(!as_instance_hold_disk(l->instance));
	as_instance_release_disk(l->instance);
	create(l, "/a");
	child_check(has(l, "/a"));
	/* That was all that it may make. */
	op.path = "/b";
	as_instance_do(l->instance, 1, &op, &got);
	child_check(got.ret < 0 && got.err == AS_ERR_LIMIT);
	as_instance_close(l->instance);
	return 0;
}

static void folder(void **state)
{
	const char *path = t_tmpdir();
	char spec[PATH_MAX], file[PATH_MAX];
	struct life l = { .spec = path };
	struct as_err err = { 0 };

	(void)state;
	if (geteuid())
		skip_because("a folder without a namespace of its own needs root");
	snprintf(spec, sizeof(spec), "dir:%s", path);
	if (as_target_open(spec, &l.target, &err))
		fail_msg("%s", err.msg);
	t_in_child(live_in_folder, &l);
	as_target_free(l.target);
	snprintf(file, sizeof(file), "%s/a", path);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags),    cmocka_unit_test(library),
		cmocka_unit_test(kernel),   cmocka_unit_test(server),
		cmocka_unit_test(recorded), cmocka_unit_test(faults),
		cmocka_unit_test(visits),   cmocka_unit_test(visits_of_kernel),
		cmocka_unit_test(folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
