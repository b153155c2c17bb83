/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every row of run/instance.h goes through its life: made, mounted, used, unmounted, checked, set
 * back to marks in any order, closed. The flags say what rows can do, and agree with what they do.
 */
#include "tests/lib/mounted.h"

#include "run/instance.h"
#include "tests/lib/tmpdir.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

/* ---- Flags ----------------------------------------------------------------------------------- */

#define ON_DISK (AS_INSTANCE_DISK | AS_INSTANCE_MARK)

static const struct {
	const char *spec;
	uint32_t has, lacks;
} rows[] = {
	{ "lab", ON_DISK | AS_INSTANCE_MAKE | AS_INSTANCE_CHECK | AS_INSTANCE_CERTAIN,
	  AS_INSTANCE_QUICK | AS_INSTANCE_KERNEL },
	{ "ext4", ON_DISK | AS_INSTANCE_CHECK | AS_INSTANCE_QUICK | AS_INSTANCE_DEVICE,
	  AS_INSTANCE_MAKE | AS_INSTANCE_STRICT },
	{ "fuse:server {disk} {mnt}", ON_DISK | AS_INSTANCE_KERNEL,
	  AS_INSTANCE_CHECK | AS_INSTANCE_BATCH | AS_INSTANCE_DEVICE },
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
		cmocka_unit_test(flags),  cmocka_unit_test(library),  cmocka_unit_test(kernel),
		cmocka_unit_test(server), cmocka_unit_test(recorded), cmocka_unit_test(faults),
		cmocka_unit_test(folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
