/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generic: see generic.h. What is on the disk is said once, as rows (tree[]). How it gets there
 * depends on the type:
 *   - a library runs the workload that the rows make, in a child, as it runs any other;
 *   - ext2, ext3 and ext4: debugfs(8) gets it as commands, on a disk of ours, so that neither root
 *     nor a mount is needed;
 *   - minix: generic_minix.c writes it;
 *   - the others are mounted, and the workload runs there (generic_kernel.c). Where that is not
 *     possible, they have what their mkfs makes.
 * The tree is the same in all of them, as far as the type can represent it: the same names, data,
 * permissions and owners.
 */
#include "damage/generic.h"

#include "damage/generic_priv.h"
#include "disk/image.h"
#include "host/host.h"
#include "host/medium.h"
#include "instance/instance.h"
#include "os/out.h"
#include "os/spawn.h"
#include "os/temp.h"
#include "target/fstype.h"
#include "target/target.h"
#include "tool/checker.h"
#include "work/op.h"
#include "work/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIBRARY_BYTES (UINT64_C(1) << 20)

/* Table 4, and a tree that is deep enough for loops, a small file, and a long link. */
const struct as_generic_row as_generic_tree[] = {
	{ 'b', "/bdev", NULL, 0 },	 { 'd', "/d", NULL, 0 },
	{ 'c', "/cdev", NULL, 0 },	 { 'p', "/fdev", NULL, 0 },
	{ 'f', "/f", NULL, 278 * 1024 }, { 'l', "/d/slink", "/", 0 },
	{ 'h', "/d/hlink", "/f", 0 },	 { 'd', "/d/d2", NULL, 0 },
	{ 'd', "/d/d2/d3", NULL, 0 },	 { 'f', "/d/d2/g", NULL, 10 },
	{ 'f', "/d/small", NULL, 1000 }, { 'l', "/d/long", AS_GENERIC_LONG, 0 },
	{ 'n', "/d/f", NULL, 100 },	 { 0, NULL, NULL, 0 },
};

/* The number of the pattern with which a workload writes the file of a row. */
static unsigned fill_of(const struct as_generic_row *r)
{
	return 1 + (unsigned)(r - as_generic_tree);
}

void as_generic_data(const struct as_generic_row *r, uint64_t at, void *out, size_t len)
{
	as_pattern_fill(fill_of(r), at, out, len);
}

/* ---- A library ------------------------------------------------------------------------------- */

static void add_file(struct as_buf *w, const char *path, uint64_t bytes, unsigned fill)
{
	as_buf_addf(w, "$0 = open %s O_WRONLY|O_CREAT 0644\n", path);
	if (bytes)
		as_buf_addf(w, "write $0 len=%llu fill=%u\n", (unsigned long long)bytes, fill);
	as_buf_adds(w, "close $0\n");
}

void as_generic_tree_work(struct as_buf *w)
{
	for (const struct as_generic_row *r = as_generic_tree; r->kind; r++)
		switch (r->kind) {
		case 'd':
			as_buf_addf(w, "mkdir %s 0755\n", r->path);
			break;
		case 'l':
			as_buf_addf(w, "symlink %s %s\n", r->to, r->path);
			break;
		case 'h':
			as_buf_addf(w, "hardlink %s %s\n", r->to, r->path);
			break;
		case 'f':
			add_file(w, r->path, r->n, fill_of(r));
			break;
		case 'n':
			for (uint64_t i = 1; i <= r->n; i++)
				as_buf_addf(w, "create %s%llu 0644\n", r->path,
					    (unsigned long long)i);
			break;
		default:
			as_buf_addf(w, "mknod %s %s 0644%s\n", r->path,
				    r->kind == 'p'   ? "fifo"
				    : r->kind == 'b' ? "blk"
						     : "chr",
				    r->kind == 'p' ? "" : " dev=1:2");
		}
}

void as_generic_workload(struct as_buf *w)
{
	/* Names that a checker would give to inodes that it finds without one. */
	for (unsigned i = 3; i < 12; i++)
		as_buf_addf(w, "create /lost+found/#%u 0600\n", i);
	as_generic_tree_work(w);
}

struct generic_work {
	const struct as_target *target;
	const struct as_seq *seq;
	struct as_medium *medium;
	bool open_end;
	int fresh_fd, disk_fd;
	struct as_err *err; /* shared */
};

static int do_all(struct as_instance *instance, const struct generic_work *w)
{
	struct as_outcome got;
	int rc = as_instance_mount(instance);

	if (rc)
		return as_fail(w->err, AS_EIO, "cannot mount the fresh disk: %s",
			       as_errno_name(-rc));
	for (uint32_t i = 0; i < w->seq->n; i++) {
		as_instance_do(instance, i, &w->seq->ops[i], &got);
		if (got.err)
			return as_fail(w->err, AS_EIO, "line %u of the workload failed: %s", i + 1,
				       as_outcome_err_name(got.err));
	}
	if (w->open_end)
		return 0;
	rc = as_instance_unmount(instance);
	return rc ? as_fail(w->err, AS_EIO, "cannot unmount: %s", as_errno_name(-rc)) : 0;
}

/* In a child. */
static int work(void *ctx)
{
	const struct generic_work *w = ctx;
	struct as_host_log log = { 0 };
	struct as_instance_args args = { .target = w->target,
					 .disk = w->medium,
					 .log = &log,
					 .name_max = as_target_limits(w->target).name_max };
	struct as_instance *instance = NULL;
	int rc = as_target_load(w->target, w->err);

	if (!rc)
		rc = as_instance_open(&args, &instance, w->err);
	if (!rc && as_instance_make(instance))
		rc = as_fail(w->err, AS_EIO, "mkfs failed");
	if (!rc)
		rc = as_medium_export(w->medium, w->fresh_fd, w->err);
	if (!rc)
		rc = do_all(instance, w);
	/* What closing it writes is not on a disk that is left open. */
	if (!rc && w->open_end)
		rc = as_medium_export(w->medium, w->disk_fd, w->err);
	as_instance_close(instance);
	if (!rc && !w->open_end)
		rc = as_medium_export(w->medium, w->disk_fd, w->err);
	return rc ? 1 : 0;
}

static int load_fd(struct as_chunks *store, int fd, struct as_disk **disk, struct as_err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return as_image_import_raw(store, path, disk, err);
}

int as_generic_by_library(struct as_chunks *store, const char *type, uint64_t size,
			  const char *workload, bool open_end, struct as_generic *out,
			  struct as_err *err)
{
	struct generic_work w = { .open_end = open_end,
				  .fresh_fd = memfd_create("fresh", MFD_CLOEXEC),
				  .disk_fd = memfd_create("generic", MFD_CLOEXEC),
				  .err = as_shared_alloc(sizeof(*w.err)) };
	struct as_target *target = NULL;
	struct as_seq *seq = NULL;
	struct as_ended ended;
	int rc = as_target_open(type, &target, err);

	if (!rc)
		rc = as_parse_text("generic", workload, strlen(workload), &seq, err);
	if (!rc)
		rc = as_medium_new(size, &w.medium, err);
	w.target = target;
	w.seq = seq;
	if (!rc)
		rc = as_spawn_fork(work, &w, 60000, NULL, &ended, err);
	if (!rc && (ended.how != AS_END_EXIT || ended.status))
		rc = as_fail(err, AS_EIO, "%s: cannot make the generic disk: %s", type, w.err->msg);
	if (!rc)
		rc = load_fd(store, w.fresh_fd, &out->fresh, err);
	if (!rc)
		rc = load_fd(store, w.disk_fd, &out->disk, err);
	close(w.fresh_fd);
	close(w.disk_fd);
	as_shared_free(w.err, sizeof(*w.err));
	as_medium_free(w.medium);
	as_seq_free(seq);
	as_target_free(target);
	return rc;
}

static int by_library(struct as_chunks *store, const char *type, uint64_t size,
		      struct as_generic *out, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_generic_workload(&text);
	rc = as_generic_by_library(store, type, size, as_buf_str(&text), false, out, err);
	as_buf_free(&text);
	return rc;
}

/* ---- ext ------------------------------------------------------------------------------------- */

/* debugfs copies a file of the machine. */
static int add_source(const struct as_temp *temp, const struct as_generic_row *r,
		      struct as_buf *path, struct as_err *err)
{
	struct as_buf data = { 0 };
	char *bytes = as_xmalloc(r->n + 1);
	int rc;

	as_buf_addf(path, "%s/%llu", as_temp_path(temp), (unsigned long long)r->n);
	as_generic_data(r, 0, bytes, r->n);
	as_buf_add(&data, bytes, r->n);
	rc = as_out_save(as_buf_str(path), &data, err);
	as_buf_free(&data);
	free(bytes);
	return rc;
}

/* debugfs takes owner and permissions of what it copies. */
static void add_owner(struct as_buf *c, const char *path, const char *mode)
{
	as_buf_addf(c, "sif %s mode %s\nsif %s uid 0\nsif %s gid 0\n", path, mode, path, path);
}

static void add_many(struct as_buf *c, const struct as_generic_row *r)
{
	struct as_buf path = { 0 };

	for (uint64_t i = 1; i <= r->n; i++) {
		as_buf_clear(&path);
		as_buf_addf(&path, "%s%llu", r->path, (unsigned long long)i);
		as_buf_addf(c, "write /dev/null %s\n", as_buf_str(&path) + 1);
		add_owner(c, as_buf_str(&path), "0100644");
	}
	as_buf_free(&path);
}

/* Its last names must not begin with a slash. */
static int add_commands(const struct as_temp *temp, struct as_buf *c, struct as_err *err)
{
	struct as_buf source = { 0 };
	int rc = 0;

	for (const struct as_generic_row *r = as_generic_tree; !rc && r->kind; r++)
		switch (r->kind) {
		case 'd':
			as_buf_addf(c, "mkdir %s\n", r->path + 1);
			add_owner(c, r->path, "040755");
			break;
		case 'l':
			as_buf_addf(c, "symlink %s %s\n", r->path + 1, r->to);
			break;
		case 'h':
			as_buf_addf(c, "ln %s %s\nsif %s links_count 2\n", r->to + 1, r->path + 1,
				    r->to);
			break;
		case 'f':
			as_buf_clear(&source);
			rc = add_source(temp, r, &source, err);
			as_buf_addf(c, "write %s %s\n", as_buf_str(&source), r->path + 1);
			add_owner(c, r->path, "0100644");
			break;
		case 'n':
			add_many(c, r);
			break;
		default:
			as_buf_addf(c, r->kind == 'p' ? "mknod %s p\n" : "mknod %s %c 1 2\n",
				    r->path + 1, r->kind);
			add_owner(c, r->path,
				  r->kind == 'p'   ? "010644"
				  : r->kind == 'b' ? "060644"
						   : "020644");
		}
	as_buf_free(&source);
	return rc;
}

static int by_debugfs(const struct as_fstype *type, struct as_disk *fresh, struct as_disk **disk,
		      struct as_err *err)
{
	char *argv[] = { "debugfs", "-w", AS_TOOL_DISK, NULL };
	struct as_tool_result got = { 0 };
	struct as_buf commands = { 0 };
	struct as_tool_job job = { .argv = argv };
	struct as_tool *tool = NULL;
	struct as_temp *temp = NULL;
	int rc = as_tool_start(argv[0], NULL, &tool, err);

	if (rc == AS_ELACK)
		rc = as_fail_in(err, "%s (package e2fsprogs)", type->name);
	if (!rc)
		rc = as_temp_new(NULL, &temp, err);
	if (!rc)
		rc = add_commands(temp, &commands, err);
	job.input = as_buf_str(&commands);
	if (!rc)
		rc = as_tool_run(tool, &job, fresh, &got, err);
	if (!rc && (got.ended.how != AS_END_EXIT || got.ended.status))
		rc = as_fail(err, AS_EIO, "debugfs failed: %.300s", as_buf_str(&got.output));
	if (!rc)
		*disk = as_disk_snapshot(got.disk);
	as_tool_result_free(&got);
	as_tool_free(tool);
	as_temp_free(temp);
	as_buf_free(&commands);
	return rc;
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Types that are no targets, since the kernel of the sandbox does not have them. */
static const struct as_fstype unmountable[] = {
	{ .name = "exfat",
	  .type = "exfat",
	  .mkfs = "mkfs.exfat -c 4096 {disk}",
	  .package = "exfatprogs",
	  .min_bytes = UINT64_C(4) << 20 },
};

static const struct as_fstype *find_type(const char *name)
{
	for (size_t i = 0; i < sizeof(unmountable) / sizeof(unmountable[0]); i++)
		if (!strcmp(unmountable[i].name, name))
			return &unmountable[i];
	return as_fstype_find(name);
}

static int fill(struct as_chunks *store, const struct as_fstype *type, struct as_generic *out,
		struct as_err *err)
{
	if (type->layout == AS_DISK_EXT)
		return by_debugfs(type, out->fresh, &out->disk, err);
	if (!as_fstype_find(type->name)) {
		out->disk = as_disk_snapshot(out->fresh);
		as_buf_addf(&out->note,
			    "the disk has only what mkfs makes: the kernel of the sandbox does not "
			    "know %s",
			    type->name);
		return 0;
	}
	if (strncmp(type->name, "minix", 5))
		return as_generic_by_kernel(store, type, &out->fresh, &out->disk, &out->note, err);
	out->disk = as_disk_snapshot(out->fresh);
	return as_generic_fill_minix(out->disk, err);
}

static int by_mkfs(struct as_chunks *store, const struct as_fstype *type, uint64_t size,
		   struct as_generic *out, struct as_err *err)
{
	struct as_checkers *checkers = as_checkers_new(NULL);
	struct as_tool_result made = { 0 };
	struct as_disk *empty = NULL;
	int rc = as_disk_new(store, size < type->min_bytes ? type->min_bytes : size, &empty, err);

	if (!rc)
		rc = as_checker_mkfs(checkers, type, empty, &made, err);
	if (!rc) {
		out->fresh = as_disk_snapshot(made.disk);
		rc = fill(store, type, out, err);
	}
	as_tool_result_free(&made);
	as_checkers_free(checkers);
	as_disk_free(empty);
	return rc;
}

int as_generic_make(struct as_chunks *store, const char *type, uint64_t size_bytes,
		    struct as_generic *out, struct as_err *err)
{
	const struct as_fstype *row = find_type(type);
	int rc;

	*out = (struct as_generic){ 0 };
	if (row)
		rc = by_mkfs(store, row, size_bytes, out, err);
	else if (!strncmp(type, "lab", 3))
		rc = by_library(store, type, size_bytes ? size_bytes : LIBRARY_BYTES, out, err);
	else
		rc = as_fail(err, AS_EUSE, "%s: no disk of that type can be made here: --disk FILE",
			     type);
	if (rc)
		as_generic_free(out);
	return rc;
}

void as_generic_free(struct as_generic *generic)
{
	as_disk_free(generic->disk);
	as_disk_free(generic->fresh);
	as_buf_free(&generic->note);
	*generic = (struct as_generic){ 0 };
}
