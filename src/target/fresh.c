/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fresh: see fresh.h. */
#include "target/fresh.h"

#include "base/buf.h"
#include "base/hash.h"
#include "disk/chunk.h"
#include "os/spawn.h"
#include "os/temp.h"
#include "target/apart.h"
#include "target/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MKFS_DEADLINE_MS 60000
#define IMAGES_KEPT 100
#define IMAGE_MAX_BYTES ((uint64_t)16 << 30)
#define PROGRAM_MAX_BYTES (64u << 20)

/* The name of the image consists of the type, for people, and of what the image is made from. The
 * program is known by its bytes, not by its version: two builds of one version may differ. */
static int name_image(const struct as_fstype *type, uint64_t size_bytes, struct as_buf *name,
		      struct as_err *err)
{
	struct as_buf all = { 0 };
	char program[64], path[4096];
	char hex[AS_DIGEST_HEX_LEN + 1];
	int rc;

	snprintf(program, sizeof(program), "%.*s", (int)strcspn(type->mkfs, " "), type->mkfs);
	if (!as_spawn_which(program, path, sizeof(path)))
		return as_fail(err, AS_ELACK, "%s is not installed (package %s)", program,
			       type->package);
	rc = as_buf_read_file(&all, path, PROGRAM_MAX_BYTES, err);
	if (!rc) {
		as_buf_addf(&all, "\n%s\n%s\n%llu", type->mkfs, type->env ? type->env : "",
			    (unsigned long long)size_bytes);
		if (type->used)
			as_buf_adds(&all, "\nused");
		if (type->journal_bytes)
			as_buf_addf(&all, "\n%s\n%llu",
				    type->journal_mkfs ? type->journal_mkfs : "",
				    (unsigned long long)type->journal_bytes);
		as_digest_hex(as_hash(all.data, all.len), hex);
		as_buf_addf(name, "%s-%s.img.zst", type->name, hex);
	}
	as_buf_free(&all);
	return rc;
}

static int run_mkfs(const struct as_fstype *type, const char *command,
		    const struct as_fstype_disks *disks, struct as_err *err)
{
	char **argv = as_fstype_argv(command, disks), **envp = as_fstype_envp(type);
	struct as_buf output = { 0 };
	struct as_spawn spawn = {
		.argv = argv, .envp = envp, .deadline_ms = MKFS_DEADLINE_MS, .output = &output
	};
	struct as_ended ended;
	int rc = as_spawn_run(&spawn, &ended, err);

	if (!rc && (ended.how != AS_END_EXIT || ended.status)) {
		/* The last line usually says why. */
		while (output.len && output.data[output.len - 1] == '\n')
			output.data[--output.len] = '\0';
		const char *last = strrchr(as_buf_str(&output), '\n');

		rc = as_fail(err, AS_EUSE, "%s failed (%s %d): %.200s", argv[0],
			     ended.how == AS_END_EXIT ? "status" : "signal", ended.status,
			     last ? last + 1 : as_buf_str(&output));
	}
	as_buf_free(&output);
	as_fstype_free_words(argv);
	as_fstype_free_words(envp);
	return rc;
}

/* Both disks: the journal's becomes the end of the other. */
static int run_mkfs_apart(const struct as_fstype *type, struct as_fstype_disks *disks, int fd,
			  struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc;

	as_buf_addf(&path, "%s.journal", disks->disk);
	disks->journal = as_buf_str(&path);
	disks->size_bytes -= type->journal_bytes;
	rc = as_apart_split(fd, disks->journal, type->journal_bytes, err);
	if (!rc && type->journal_mkfs)
		rc = run_mkfs(type, type->journal_mkfs, disks, err);
	if (!rc)
		rc = run_mkfs(type, type->mkfs, disks, err);
	/* mke2fs joins them only if the journal is a block device. */
	if (!rc && type->journal_mkfs)
		rc = as_apart_join_ext(fd, disks->journal, err);
	if (!rc)
		rc = as_apart_unite(fd, disks->journal, err);
	as_buf_free(&path);
	return rc;
}

/* The same everywhere, so that a store keeps it once, and nothing that a workload writes. */
static int fill_used(int fd, uint64_t size_bytes, struct as_err *err)
{
	unsigned char old[AS_CHUNK_BYTES];

	memset(old, AS_FRESH_OLD, sizeof(old));
	for (uint64_t at = 0; at < size_bytes; at += sizeof(old)) {
		uint64_t len = size_bytes - at < sizeof(old) ? size_bytes - at : sizeof(old);

		if (pwrite(fd, old, len, (off_t)at) != (ssize_t)len)
			return as_fail_errno(err, errno, "cannot fill a disk with old data");
	}
	return 0;
}

static int make(const struct as_fstype *type, const char *folder, struct as_medium *medium,
		struct as_err *err)
{
	uint64_t size_bytes = as_medium_bd(medium)->size_bytes;
	struct as_fstype_disks disks = { .size_bytes = size_bytes };
	struct as_buf path = { 0 };
	struct as_temp *temp;
	int fd, rc;

	rc = as_temp_new(folder, &temp, err);
	if (rc)
		return rc;
	as_buf_addf(&path, "%s/disk", as_temp_path(temp));
	fd = open(as_buf_str(&path), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size_bytes))
		rc = as_fail_errno(err, errno, "%s", as_buf_str(&path));
	disks.disk = as_buf_str(&path);
	if (!rc && type->used)
		rc = fill_used(fd, size_bytes, err);
	if (!rc)
		rc = type->journal_bytes ? run_mkfs_apart(type, &disks, fd, err)
					 : run_mkfs(type, type->mkfs, &disks, err);
	if (!rc)
		rc = as_medium_import(medium, fd, err);
	if (fd >= 0)
		close(fd);
	as_temp_free(temp);
	as_buf_free(&path);
	return rc;
}

/* A cache that cannot be written costs only time. */
static void keep(struct as_medium *medium, const char *folder, const char *name)
{
	struct as_buf data = { 0 }, where = { 0 };

	if (!as_medium_encode(medium, &data, NULL) &&
	    as_cache_put(folder, name, &data, IMAGES_KEPT, &where, NULL))
		unlink(as_buf_str(&where));
	as_buf_free(&data);
	as_buf_free(&where);
}

/* What is kept can be trusted: an image has a digest of every part. */
static bool load(struct as_medium *medium, const char *folder, const char *name)
{
	int fd = as_cache_open(folder, name, IMAGE_MAX_BYTES);
	char path[64];
	bool loaded;

	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	loaded = !as_medium_load(medium, path, NULL);
	close(fd);
	return loaded;
}

int as_fresh_disk(const struct as_fstype *type, const char *folder, struct as_medium *medium,
		  bool *made, struct as_err *err)
{
	struct as_buf name = { 0 };
	int rc;

	if (made)
		*made = false;
	if (type->impossible)
		return as_fail(err, AS_ELACK, "%s: %s", type->name, type->impossible);
	rc = name_image(type, as_medium_bd(medium)->size_bytes, &name, err);
	if (!rc && folder && load(medium, folder, as_buf_str(&name)))
		goto out;
	if (!rc) {
		rc = make(type, folder, medium, err);
		if (made)
			*made = true;
	}
	if (!rc && folder)
		keep(medium, folder, as_buf_str(&name));
out:
	as_buf_free(&name);
	return rc;
}

bool as_fresh_find(const struct as_fstype *type, const char *folder, struct as_medium *medium)
{
	struct as_buf name = { 0 };
	bool found = !name_image(type, as_medium_bd(medium)->size_bytes, &name, NULL) &&
		     load(medium, folder, as_buf_str(&name));

	as_buf_free(&name);
	return found;
}

void as_fresh_keep(const struct as_fstype *type, const char *folder, struct as_medium *medium)
{
	struct as_buf name = { 0 };

	if (!name_image(type, as_medium_bd(medium)->size_bytes, &name, NULL))
		keep(medium, folder, as_buf_str(&name));
	as_buf_free(&name);
}

int as_fresh_path(const struct as_fstype *type, const char *folder, uint64_t size_bytes,
		  struct as_buf *path, struct as_err *err)
{
	as_buf_addf(path, "%s/", folder);
	return name_image(type, size_bytes, path, err);
}

int as_fresh_of(const struct as_target *target, const char *folder, struct as_medium *medium,
		struct as_buf *path, struct as_err *err)
{
	const struct as_fstype *type = as_target_fstype(target);
	int rc = as_fresh_disk(type, folder, medium, NULL, err);

	return rc ? rc : as_fresh_path(type, folder, as_medium_bd(medium)->size_bytes, path, err);
}
