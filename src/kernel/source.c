/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source: where the source of a kernel comes from.
 *
 *	a package	/usr/src/NAME.tar.xz, which Debian's package of that name installs
 *	a tarball	any that tar(1) unpacks
 *	a folder	a source tree of the user's, which is never changed
 *
 * A folder that was built in cannot be built out of tree: its makefiles refuse it, and say so late.
 *
 * A tarball is unpacked once, into a folder beside its place, which gets its name when it is
 * complete: so a build that was killed leaves nothing that looks complete. When the tarball changes
 * (a new version of the package), it is unpacked again.
 */
#include "base/hash.h"
#include "kernel/kernel_priv.h"
#include "os/dir.h"
#include "os/out.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKAGES "/usr/src/"
#define IDENTITY ".assay-source"
#define UNPACKS_TO 11 /* times the size of its tarball */

static bool looks_like_source(const char *folder)
{
	struct as_buf path = { 0 };
	bool yes;

	as_buf_addf(&path, "%s/arch/um", folder);
	yes = as_kernel_is_dir(as_buf_str(&path));
	as_buf_clear(&path);
	as_buf_addf(&path, "%s/Makefile", folder);
	yes = yes && !access(as_buf_str(&path), R_OK);
	as_buf_free(&path);
	return yes;
}

/* What the kernel's makefiles look at (outputmakefile). */
static bool was_built_in(const char *folder)
{
	static const char *const marks[] = { ".config", "include/config",
					     "arch/um/include/generated" };
	struct as_buf path = { 0 };
	bool yes = false;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		as_buf_clear(&path);
		as_buf_addf(&path, "%s/%s", folder, marks[i]);
		yes = yes || !access(as_buf_str(&path), F_OK);
	}
	as_buf_free(&path);
	return yes;
}

/* A name for folders: the last part of the path, and a number that tells equal names apart. */
static void name_path(const char *path, struct as_buf *id)
{
	const char *base = strrchr(path, '/') + 1, *end = strstr(base, ".tar");
	size_t len = end && end > base ? (size_t)(end - base) : strlen(base);

	for (size_t i = 0; i < len && i < 64; i++)
		as_buf_addc(id, isalnum((unsigned char)base[i]) || strchr(".-_", base[i]) ? base[i]
											  : '_');
	as_buf_addf(id, "-%08x", (unsigned)as_hash64(path, strlen(path)));
}

static bool is_package(const char *name)
{
	return !strncmp(name, "linux-source-", 13) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == strlen(name);
}

static int find_package(const char *name, struct as_buf *tarball, struct as_err *err)
{
	static const char *const ends[] = { ".tar.xz", ".tar.zst", ".tar.gz", ".tar.bz2" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		as_buf_clear(tarball);
		as_buf_addf(tarball, PACKAGES "%s%s", name, ends[i]);
		if (!access(as_buf_str(tarball), R_OK))
			return 0;
	}
	return as_fail(err, AS_ELACK, "no source in " PACKAGES "%s.tar.xz: package %s", name, name);
}

/* ---- Unpacking ------------------------------------------------------------------------------- */

/* What tar(1) says first is what is wrong; its last line is the same after any error. What it says
 * of the program that unpacks comes first, too. */
struct tar_words {
	struct as_buf first;
	bool no_space;
};

static void hear(void *ctx, const char *line)
{
	struct tar_words *w = ctx;

	if (!w->first.len)
		as_buf_adds(&w->first, line);
	/* Of a disk that is full in the midst of a block, tar(1) says the second. */
	w->no_space =
		w->no_space || strstr(line, strerror(ENOSPC)) || strstr(line, ": Wrote only ");
}

static int run_tar(const struct as_kernel_job *job, const char *tarball, const char *into,
		   struct as_err *err)
{
	const char *const argv[] = {
		"tar", "-xf", tarball, "-C", into, "--strip-components=1", "--no-same-owner", NULL
	};
	struct tar_words words = { .no_space = false };
	const struct as_kernel_program tar = {
		.argv = argv, .line = hear, .ctx = &words, .stop = job->want->stop
	};
	int status, rc = as_kernel_program(&tar, &status, err);

	if (!rc && status)
		rc = as_fail(err, AS_EUSE, "%s cannot be unpacked into %s: %s", tarball, into,
			     words.no_space ? strerror(ENOSPC) : as_buf_str(&words.first));
	if (!rc && !looks_like_source(into))
		rc = as_fail(err, AS_EUSE,
			     "%s holds no source of Linux: no Makefile and arch/um in its folder",
			     tarball);
	as_buf_free(&words.first);
	return rc;
}

static int unpack(const struct as_kernel_job *job, const char *tarball, const struct stat *st,
		  const struct as_buf *identity, struct as_err *err)
{
	struct as_buf part = { 0 }, mark = { 0 };
	const char *to = as_buf_str(&job->pristine);
	int rc;

	as_buf_addf(&part, "%s.part", to);
	as_dir_remove_path(as_buf_str(&part));
	as_kernel_say(job, "unpacks the source", 0, 0);
	rc = as_kernel_mkdirs(as_buf_str(&part), err);
	if (!rc)
		rc = as_kernel_space(as_buf_str(&part), (uint64_t)st->st_size * UNPACKS_TO,
				     "the source", err);
	if (!rc)
		rc = run_tar(job, tarball, as_buf_str(&part), err);
	as_buf_addf(&mark, "%s/" IDENTITY, as_buf_str(&part));
	if (!rc)
		rc = as_out_save(as_buf_str(&mark), identity, err);
	if (!rc)
		as_dir_remove_path(to);
	if (!rc && rename(as_buf_str(&part), to))
		rc = as_fail_errno(err, errno, "%s", to);
	if (rc)
		as_dir_remove_path(as_buf_str(&part));
	as_buf_free(&part);
	as_buf_free(&mark);
	return rc;
}

static int open_tarball(struct as_kernel_job *job, const char *tarball, struct as_err *err)
{
	struct as_buf folder = { 0 }, mark = { 0 }, identity = { 0 }, there = { 0 };
	struct stat st;
	int lock = -1, rc = 0;

	as_buf_addf(&folder, "%s/source", as_buf_str(&job->root));
	as_buf_addf(&job->pristine, "%s/%s", as_buf_str(&folder), as_buf_str(&job->id));
	as_buf_addf(&mark, "%s/" IDENTITY, as_buf_str(&job->pristine));
	if (stat(tarball, &st))
		rc = as_fail_errno(err, errno, "%s", tarball);
	if (!rc)
		rc = as_kernel_mkdirs(as_buf_str(&folder), err);
	if (!rc)
		rc = as_kernel_lock(job, as_buf_str(&folder), &lock, err);
	if (!rc) {
		as_buf_addf(&identity, "%s %lld %lld.%09ld\n", tarball, (long long)st.st_size,
			    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
		if (as_buf_read_file(&there, as_buf_str(&mark), 8192, NULL) ||
		    strcmp(as_buf_str(&there), as_buf_str(&identity)) != 0)
			rc = unpack(job, tarball, &st, &identity, err);
	}
	if (lock >= 0)
		close(lock);
	as_buf_free(&folder);
	as_buf_free(&mark);
	as_buf_free(&identity);
	as_buf_free(&there);
	return rc;
}

int as_kernel_source_open(struct as_kernel_job *job, struct as_err *err)
{
	const char *source = job->want->source ? job->want->source : AS_KERNEL_SOURCE;
	char *real = realpath(source, NULL);
	struct as_buf tarball = { 0 };
	struct stat st;
	int rc = 0;

	if (is_package(source) && (!real || !strchr(source, '/'))) {
		as_buf_adds(&job->id, source);
		rc = find_package(source, &tarball, err);
	} else if (!real || stat(real, &st)) {
		rc = as_fail_errno(err, errno, "--source %s: no package, tarball or folder",
				   source);
		rc = AS_EUSE;
	} else if (S_ISDIR(st.st_mode)) {
		job->users = true;
		as_buf_adds(&job->pristine, real);
		name_path(real, &job->id);
		if (!looks_like_source(real))
			rc = as_fail(err, AS_EUSE,
				     "--source %s: no source of Linux: no Makefile and arch/um in "
				     "it",
				     source);
		else if (was_built_in(real))
			rc = as_fail(err, AS_EUSE,
				     "--source %s was built in: `make ARCH=um mrproper` in it "
				     "cleans it",
				     source);
	} else if (!S_ISREG(st.st_mode)) {
		rc = as_fail(err, AS_EUSE, "--source %s: no package, tarball or folder", source);
	} else {
		as_buf_adds(&tarball, real);
		name_path(real, &job->id);
	}
	if (!rc && tarball.len)
		rc = open_tarball(job, as_buf_str(&tarball), err);
	as_buf_free(&tarball);
	free(real);
	return rc;
}
