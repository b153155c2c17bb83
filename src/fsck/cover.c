/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cover: see cover.h.
 *
 * gcov: a checker that was built with --coverage writes its counters when it ends, and adds them to
 * those that are there. It does so in a plain process, on a file: a run that is judged may write to
 * nothing but its disk. What is counted are arcs between basic blocks, as gcc counts them.
 */
#include "fsck/cover.h"

#include "disk/image.h"
#include "os/spawn.h"
#include "target/fstype.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEADLINE_MS 10000u
#define FILE_MAX_BYTES ((size_t)16 << 20)
#define MAGIC 0x67636461u /* "gcda" */
#define TAG_ARCS 0x01a10000u
#define HEAD_BYTES 16u

static int run_gcov(const struct as_fsck_cover *cover, struct as_fsck_subject *subject,
		    struct as_disk *disk, struct as_err *err)
{
	struct as_buf path = { 0 }, prefix = { 0 };
	char *env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "GCOV_PREFIX_STRIP=99",
			NULL, NULL };
	struct as_spawn spawn = { .envp = env, .deadline_ms = DEADLINE_MS };
	struct as_ended ended;
	char **argv, *word;
	int rc;

	as_buf_addf(&path, "%s/disk-%d", cover->folder, (int)getpid());
	as_buf_addf(&prefix, "GCOV_PREFIX=%s", cover->folder);
	env[3] = as_xstrdup(as_buf_str(&prefix));
	argv = as_fstype_argv(as_subject_command(subject, AS_SUBJECT_REPAIR),
			      &(struct as_fstype_disks){ .disk = as_buf_str(&path) });
	word = argv[0];
	argv[0] = as_xstrdup(as_subject_program(subject));
	free(word);
	spawn.argv = argv;
	rc = as_image_export_raw(disk, as_buf_str(&path), err);
	if (!rc)
		rc = as_spawn_run(&spawn, &ended, err);
	as_fstype_free_words(argv);
	free(env[3]);
	as_buf_free(&path);
	as_buf_free(&prefix);
	return rc;
}

static uint32_t word_at(const unsigned char *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* Counters that are not 0. Each record has a tag and a length in bytes, which is negative for
 * counters that are all 0 and left out. */
static uint64_t count_arcs(const unsigned char *data, size_t len)
{
	static const unsigned char zeros[8];
	uint64_t sum = 0;
	size_t at = HEAD_BYTES;

	if (len < HEAD_BYTES || word_at(data) != MAGIC)
		return 0;
	while (len - at >= 8) {
		uint32_t tag = word_at(data + at), n = word_at(data + at + 4);

		at += 8;
		if ((int32_t)n < 0)
			n = 0;
		if (n > len - at)
			break;
		for (uint32_t i = 0; tag == TAG_ARCS && n - i >= 8; i += 8)
			sum += memcmp(data + at + i, zeros, 8) != 0;
		at += n;
	}
	return sum;
}

static uint64_t count_gcov(const struct as_fsck_cover *cover)
{
	DIR *dir = opendir(cover->folder);
	struct dirent *entry;
	uint64_t sum = 0;

	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		struct as_buf path = { 0 }, data = { 0 };
		struct as_err ignored;

		if (len < 5 || strcmp(entry->d_name + len - 5, ".gcda"))
			continue;
		as_buf_addf(&path, "%s/%s", cover->folder, entry->d_name);
		if (!as_buf_read_file(&data, as_buf_str(&path), FILE_MAX_BYTES, &ignored))
			sum += count_arcs((const unsigned char *)as_buf_str(&data), data.len);
		as_buf_free(&path);
		as_buf_free(&data);
	}
	if (dir)
		closedir(dir);
	return sum;
}

static const struct as_fsck_cover_row rows[] = {
	{ .name = "gcov", .run = run_gcov, .count = count_gcov },
};

const struct as_fsck_cover_row *as_fsck_cover_row(unsigned i)
{
	return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i] : NULL;
}
