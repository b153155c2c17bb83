/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * built: the kernels that are built: kernels/built/NAME/{linux,kernel.json}. kernel.json gets its
 * name last and goes first: a folder without it is no kernel.
 */
#include "base/array.h"
#include "base/json.h"
#include "kernel/kernel_priv.h"
#include "os/out.h"
#include "os/spawn.h"
#include "target/cache.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JSON_MAX_BYTES ((size_t)1 << 20)

void as_kernel_free(struct as_kernel *kernel)
{
	free(kernel->name);
	free(kernel->path);
	free(kernel->version);
	free(kernel->source);
	free(kernel->lacks);
	for (size_t i = 0; i < kernel->n_patches; i++)
		free(kernel->patches[i]);
	free(kernel->patches);
	*kernel = (struct as_kernel){ 0 };
}

/* ---- Keeping --------------------------------------------------------------------------------- */

static void hear(void *ctx, const char *line)
{
	as_buf_addf(ctx, "%s ", line);
}

static int strip(const struct as_kernel_job *job, const char *folder, struct as_err *err)
{
	struct as_buf from = { 0 }, part = { 0 }, to = { 0 }, said = { 0 };
	int status = 0, rc;

	as_buf_addf(&from, "%s/linux", as_buf_str(&job->obj));
	as_buf_addf(&part, "%s/linux.part", folder);
	as_buf_addf(&to, "%s/linux", folder);
	{
		const char *const argv[] = { "strip", "-o", as_buf_str(&part), as_buf_str(&from),
					     NULL };
		const struct as_kernel_program program = {
			.argv = argv, .line = hear, .ctx = &said, .stop = job->want->stop
		};

		rc = as_kernel_program(&program, &status, err);
	}
	if (!rc && status)
		rc = as_fail(err, AS_EIO, "strip of %s: %s", as_buf_str(&from), as_buf_str(&said));
	if (!rc && rename(as_buf_str(&part), as_buf_str(&to)))
		rc = as_fail_errno(err, errno, "%s", as_buf_str(&to));
	if (rc)
		unlink(as_buf_str(&part));
	as_buf_free(&from);
	as_buf_free(&part);
	as_buf_free(&to);
	as_buf_free(&said);
	return rc;
}

static void write_json(const struct as_kernel_job *job, const char *version, struct as_buf *out)
{
	const struct as_kernel_want *want = job->want;
	struct as_json json = as_json_on(out);
	struct as_buf with = { 0 };

	as_kernel_options_print(want->with, ",", &with);
	as_json_object(&json);
	as_json_kstr(&json, "name", want->name);
	as_json_kstr(&json, "version", version);
	as_json_kstr(&json, "source", as_buf_str(&job->id));
	as_json_kstr(&json, "with", as_buf_str(&with));
	as_json_key(&json, "patches");
	as_json_array(&json);
	for (size_t i = 0; i < want->n_patches; i++) {
		const char *slash = strrchr(want->patches[i], '/');

		as_json_str(&json, slash ? slash + 1 : want->patches[i]);
	}
	as_json_end(&json);
	as_json_kstr(&json, "lacks", as_buf_str(&job->lacks));
	as_json_end(&json);
	as_buf_addc(out, '\n');
	as_buf_free(&with);
}

static int keep_functions(const struct as_kernel_job *job, const char *folder, struct as_err *err)
{
	struct as_buf path = { 0 }, text = { 0 };
	int rc = 0;

	as_kernel_functions(job, &text);
	as_buf_addf(&path, "%s/" AS_KERNEL_FUNCTIONS, folder);
	if (text.len)
		rc = as_out_save(as_buf_str(&path), &text, err);
	else
		unlink(as_buf_str(&path));
	as_buf_free(&path);
	as_buf_free(&text);
	return rc;
}

int as_kernel_keep(struct as_kernel_job *job, struct as_err *err)
{
	struct as_buf folder = { 0 }, path = { 0 }, version = { 0 }, text = { 0 };
	int lock = -1, rc;

	as_buf_addf(&folder, "%s/built/%s", as_buf_str(&job->root), job->want->name);
	as_buf_addf(&path, "%s/include/config/kernel.release", as_buf_str(&job->obj));
	/* Of two builds with the same name, in two trees, the result is that of one. */
	rc = as_kernel_lock(job, as_buf_str(&job->root), &lock, err);
	if (!rc)
		rc = as_kernel_mkdirs(as_buf_str(&folder), err);
	if (!rc)
		rc = as_buf_read_file(&version, as_buf_str(&path), 256, err);
	as_buf_clear(&path);
	as_buf_addf(&path, "%s/kernel.json", as_buf_str(&folder));
	if (!rc) {
		version.data[strcspn(version.data, "\n")] = '\0';
		unlink(as_buf_str(&path));
		rc = strip(job, as_buf_str(&folder), err);
	}
	if (!rc)
		rc = keep_functions(job, as_buf_str(&folder), err);
	if (!rc) {
		write_json(job, version.data, &text);
		rc = as_out_save(as_buf_str(&path), &text, err);
	}
	if (lock >= 0)
		close(lock);
	as_buf_free(&folder);
	as_buf_free(&path);
	as_buf_free(&version);
	as_buf_free(&text);
	return rc;
}

/* ---- Finding --------------------------------------------------------------------------------- */

static char *member(const json_t *root, const char *key)
{
	const char *text = json_string_value(json_object_get(root, key));

	return as_xstrdup(text ? text : "");
}

static bool fill(const json_t *root, const char *name, struct as_kernel *kernel)
{
	const char *with = json_string_value(json_object_get(root, "with"));
	const json_t *patches = json_object_get(root, "patches");

	if (!with || as_kernel_options_parse(with, &kernel->with, NULL))
		return false;
	kernel->name = as_xstrdup(name);
	kernel->version = member(root, "version");
	kernel->source = member(root, "source");
	kernel->lacks = member(root, "lacks");
	kernel->patches = as_xcalloc(json_array_size(patches) + 1, sizeof(char *));
	for (size_t i = 0; i < json_array_size(patches); i++) {
		const char *text = json_string_value(json_array_get(patches, i));

		kernel->patches[kernel->n_patches++] = as_xstrdup(text ? text : "");
	}
	return true;
}

/* False: there is no such kernel, or its files are damaged. */
static bool load(const char *root, const char *name, struct as_kernel *kernel)
{
	struct as_buf path = { 0 }, text = { 0 };
	json_t *json = NULL;
	struct stat st;
	bool ok = as_kernel_name_ok(name);

	*kernel = (struct as_kernel){ 0 };
	as_buf_addf(&path, "%s/built/%s/kernel.json", root, name);
	ok = ok && !as_buf_read_file(&text, as_buf_str(&path), JSON_MAX_BYTES, NULL);
	if (ok)
		json = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	as_buf_clear(&path);
	as_buf_addf(&path, "%s/built/%s/linux", root, name);
	ok = ok && json && fill(json, name, kernel) && !stat(as_buf_str(&path), &st) &&
	     S_ISREG(st.st_mode) && st.st_size && !access(as_buf_str(&path), X_OK);
	if (ok) {
		kernel->path = as_xstrdup(as_buf_str(&path));
		kernel->size_bytes = (uint64_t)st.st_size;
	} else {
		as_kernel_free(kernel);
	}
	json_decref(json);
	as_buf_free(&path);
	as_buf_free(&text);
	return ok;
}

static int names_of(const char *root, char ***names, size_t *n, struct as_err *err)
{
	struct as_buf path = { 0 };
	struct dirent **found = NULL;
	int count;

	as_buf_addf(&path, "%s/built", root);
	count = scandir(as_buf_str(&path), &found, NULL, alphasort);
	if (count < 0 && errno != ENOENT)
		as_fail_errno(err, errno, "%s", as_buf_str(&path));
	else
		errno = 0;
	as_buf_free(&path);
	*names = as_xcalloc((uint64_t)(count > 0 ? count : 0) + 1, sizeof(char *));
	*n = 0;
	for (int i = 0; i < count; i++) {
		if (found[i]->d_name[0] != '.')
			(*names)[(*n)++] = as_xstrdup(found[i]->d_name);
		free(found[i]);
	}
	free(found);
	return errno ? AS_EIO : 0;
}

int as_kernel_each(void (*fn)(void *ctx, const struct as_kernel *kernel), void *ctx,
		   struct as_err *err)
{
	struct as_buf root = { 0 };
	struct as_kernel kernel;
	char **names = NULL;
	size_t n = 0;
	int rc = as_cache_folder("kernels", &root, err);

	if (!rc)
		rc = names_of(as_buf_str(&root), &names, &n, err);
	for (size_t i = 0; i < n; i++) {
		if (!rc && load(as_buf_str(&root), names[i], &kernel)) {
			fn(ctx, &kernel);
			as_kernel_free(&kernel);
		}
		free(names[i]);
	}
	free(names);
	as_buf_free(&root);
	return rc;
}

static void add_name(void *ctx, const struct as_kernel *kernel)
{
	struct as_buf *names = ctx;

	as_buf_addf(names, "%s%s", names->len ? ", " : "", kernel->name);
}

static int find_debian(struct as_kernel *kernel, struct as_err *err)
{
	char path[4096];

	*kernel = (struct as_kernel){ 0 };
	if (!as_spawn_which("linux", path, sizeof(path)))
		return as_fail(err, AS_ELACK,
			       "the kernel " AS_KERNEL_DEBIAN
			       " is `linux` of the package user-mode-linux, which is not here");
	kernel->name = as_xstrdup(AS_KERNEL_DEBIAN);
	kernel->path = as_xstrdup(path);
	return 0;
}

int as_kernel_find(const char *name, struct as_kernel *kernel, struct as_err *err)
{
	struct as_buf root = { 0 }, names = { 0 }, folder = { 0 };
	int rc;

	if (!strcmp(name, AS_KERNEL_DEBIAN))
		return find_debian(kernel, err);
	rc = as_cache_folder("kernels", &root, err);
	as_buf_addf(&folder, "%s/built/%s", as_buf_str(&root), name);
	if (!rc && !load(as_buf_str(&root), name, kernel)) {
		rc = as_kernel_each(add_name, &names, err);
		if (!rc && as_kernel_name_ok(name) && as_kernel_is_dir(as_buf_str(&folder)))
			rc = as_fail(
				err, AS_ELACK,
				"the kernel '%s' is half built, or damaged: build it again (its "
				"folder is %s)",
				name, as_buf_str(&folder));
		else if (!rc)
			rc = as_fail(err, AS_ELACK,
				     "no kernel called '%s' is built; `assay kernel build` builds "
				     "one; there %s%s, and " AS_KERNEL_DEBIAN
				     " is that of the package",
				     name, names.len ? "are: " : "is none", as_buf_str(&names));
	}
	as_buf_free(&root);
	as_buf_free(&names);
	as_buf_free(&folder);
	return rc;
}
