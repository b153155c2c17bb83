/* SPDX-License-Identifier: GPL-2.0-or-later */
/* build: one kernel, from its source to what the other commands use. */
#include "kernel/kernel_priv.h"
#include "os/dir.h"
#include "os/out.h"
#include "os/spawn.h"
#include "target/cache.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OBJECTS_BYTES ((uint64_t)1 << 30) /* of a whole build */
#define TREE_BYTES ((uint64_t)64 << 20) /* of its links and folders */

static const struct {
	const char *program, *package;
} tools[] = {
#define KERNEL_TOOL(program, package) { program, package },
#include "kernel/option.def"
};

static int check_tools(struct as_err *err)
{
	char path[4096];

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (!as_spawn_which(tools[i].program, path, sizeof(path)))
			return as_fail(err, AS_ELACK, "no `%s` to build a kernel with: package %s",
				       tools[i].program, tools[i].package);
	return 0;
}

static bool takes_path(const char *path)
{
	for (; *path; path++)
		if (!isalnum((unsigned char)*path) && !strchr("/._+@-", *path))
			return false;
	return true;
}

static void name_tree(struct as_kernel_job *job)
{
	const struct as_kernel_flavour *flavour;
	struct as_buf with = { 0 };
	bool own = as_kernel_own_patch(job->want->with, 0, &with);
	/* What makefiles, and the shells that they start, take in a path. */
	bool odd = !takes_path(as_buf_str(&job->pristine));
	bool copied = !job->users || job->want->n_patches || own || odd;
	uint32_t bits;

	as_buf_clear(&with);
	as_kernel_options_print(job->want->with, "+", &with);
	for (unsigned i = 0; (flavour = as_kernel_flavour(i)); i++)
		if (!as_kernel_options_parse(flavour->with, &bits, NULL) &&
		    bits == job->want->with) {
			as_buf_clear(&with);
			as_buf_adds(&with, flavour->name);
		}
	as_buf_addf(&job->tree, "%s/tree/%s+%s%s", as_buf_str(&job->root), as_buf_str(&job->id),
		    as_buf_str(&with), job->users && copied ? "+patched" : "");
	if (copied)
		as_buf_addf(&job->src, "%s/src", as_buf_str(&job->tree));
	else
		as_buf_adds(&job->src, as_buf_str(&job->pristine));
	as_buf_addf(&job->obj, "%s/obj", as_buf_str(&job->tree));
	as_buf_addf(&job->log, "%s/log", as_buf_str(&job->tree));
	as_buf_free(&with);
}

/* Before a source is unpacked for minutes. */
static int check_want(const struct as_kernel_want *want, const char *root, struct as_err *err)
{
	struct stat st;

	if (!takes_path(root))
		return as_fail(err, AS_EUSE,
			       "the kernel's makefiles do not take the path of the cache, %s: only "
			       "letters, digits and . _ + @ -",
			       root);
	if (want->n_patches > AS_KERNEL_PATCHES_MAX)
		return as_fail(err, AS_EUSE, "--patch: at most %d patches", AS_KERNEL_PATCHES_MAX);
	for (size_t i = 0; i < want->n_patches; i++)
		if (stat(want->patches[i], &st) || access(want->patches[i], R_OK))
			return as_fail(err, AS_EUSE, "--patch %s: %s", want->patches[i],
				       strerror(errno));
	return 0;
}

/* A flavour is always what its name says. */
static int check_name(const struct as_kernel_want *want, struct as_err *err)
{
	const struct as_kernel_flavour *flavour;
	uint32_t bits;

	if (!strcmp(want->name, AS_KERNEL_DEBIAN))
		return as_fail(err, AS_EUSE,
			       "--name " AS_KERNEL_DEBIAN
			       ": the kernel of the package user-mode-linux is called so");
	if (!as_kernel_name_ok(want->name))
		return as_fail(err, AS_EUSE,
			       "--name %s: expected letters, digits and . _ + - (at most %d)",
			       want->name, AS_KERNEL_NAME_MAX - 1);
	for (unsigned i = 0; (flavour = as_kernel_flavour(i)); i++)
		if (!strcmp(flavour->name, want->name) &&
		    (as_kernel_options_parse(flavour->with, &bits, NULL) || bits != want->with ||
		     want->n_patches))
			return as_fail(
				err, AS_EUSE,
				"--name %s: a flavour is called so, and this is another kernel",
				want->name);
	return 0;
}

/* Whoever met a full disk said so, in the words of the system. */
static int check_full(const struct as_kernel_job *job, int rc, struct as_err *err)
{
	if (!rc || rc == AS_ELACK || !err || !strstr(err->msg, strerror(ENOSPC)))
		return rc;
	as_fail_in(err, "no space left in %s for a build", as_buf_str(&job->root));
	err->code = AS_ELACK;
	return AS_ELACK;
}

/* A tree of another version of the same source is of no use. */
static int check_identity(const struct as_kernel_job *job, struct as_err *err)
{
	static const char *const old[] = { "src",     "obj",	 "complete",
					   "objects", "patched", "allconfig" };
	struct as_buf now = { 0 }, then = { 0 }, path = { 0 };
	int rc = 0;

	as_buf_addf(&path, "%s/.assay-source", as_buf_str(&job->pristine));
	if (!job->users && !as_buf_read_file(&now, as_buf_str(&path), 8192, NULL)) {
		as_buf_clear(&path);
		as_buf_addf(&path, "%s/identity", as_buf_str(&job->tree));
		if (as_buf_read_file(&then, as_buf_str(&path), 8192, NULL) ||
		    strcmp(as_buf_str(&then), as_buf_str(&now)) != 0) {
			struct as_buf gone = { 0 };

			for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
				as_buf_clear(&gone);
				as_buf_addf(&gone, "%s/%s", as_buf_str(&job->tree), old[i]);
				as_dir_remove_path(as_buf_str(&gone));
			}
			as_buf_free(&gone);
			rc = as_out_save(as_buf_str(&path), &now, err);
		}
	}
	as_buf_free(&now);
	as_buf_free(&then);
	as_buf_free(&path);
	return rc;
}

static int build_locked(struct as_kernel_job *job, struct as_err *err)
{
	struct as_buf complete = { 0 };
	int rc = check_identity(job, err);

	as_buf_addf(&complete, "%s/complete", as_buf_str(&job->tree));
	if (!rc)
		rc = as_kernel_space(as_buf_str(&job->tree),
				     access(as_buf_str(&complete), F_OK) ? OBJECTS_BYTES
									 : TREE_BYTES,
				     "a build", err);
	if (!rc)
		rc = as_kernel_tree_fill(job, err);
	if (!rc)
		rc = as_kernel_patch(job, err);
	if (!rc)
		rc = as_kernel_make(job, err);
	if (!rc)
		rc = as_kernel_keep(job, err);
	as_buf_free(&complete);
	return rc;
}

int as_kernel_build(const struct as_kernel_want *want, struct as_kernel *built, struct as_err *err)
{
	struct as_kernel_job job = { .want = want };
	int lock = -1, rc;

	*built = (struct as_kernel){ 0 };
	rc = check_name(want, err);
	if (!rc)
		rc = as_cache_folder("kernels", &job.root, err);
	if (!rc)
		rc = check_want(want, as_buf_str(&job.root), err);
	if (!rc)
		rc = check_tools(err);
	if (!rc)
		rc = as_kernel_source_open(&job, err);
	if (!rc) {
		name_tree(&job);
		rc = as_kernel_mkdirs(as_buf_str(&job.tree), err);
	}
	if (!rc)
		rc = as_kernel_lock(&job, as_buf_str(&job.tree), &lock, err);
	if (!rc)
		rc = build_locked(&job, err);
	if (!rc)
		rc = as_kernel_find(want->name, built, err);
	rc = check_full(&job, rc, err);
	if (lock >= 0)
		close(lock);
	as_buf_free(&job.root);
	as_buf_free(&job.id);
	as_buf_free(&job.pristine);
	as_buf_free(&job.tree);
	as_buf_free(&job.src);
	as_buf_free(&job.obj);
	as_buf_free(&job.log);
	as_buf_free(&job.config);
	as_buf_free(&job.lacks);
	as_buf_free(&job.patch_digest);
	return rc;
}
