/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fresh disks: mkfs runs once, what is kept is what it made, and damaged images are made again. */
#include "tests/lib/skip.h"

#include "disk/cow.h"
#include "os/spawn.h"
#include "target/fresh.h"
#include "tests/lib/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;

static int make_folder(void **state)
{
	(void)state;
	folder = t_tmpdir();
	return 0;
}

static int each_file(int (*fn)(const char *path))
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		char path[PATH_MAX + NAME_MAX];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		n++;
		if (fn)
			assert_int_equal(fn(path), 0);
	}
	if (dir)
		closedir(dir);
	return n;
}

static const struct as_fstype *ext2(void)
{
	const struct as_fstype *type = as_fstype_find("ext2");
	struct as_buf why = { 0 };

	if (as_fstype_lacks_tools(type, &why))
		skip_because("ext2 lacks %s", as_buf_str(&why));
	return type;
}

static struct as_medium *make(const struct as_fstype *type, uint64_t size_bytes, bool want_made)
{
	struct as_medium *medium;
	struct as_err err;
	bool made;

	assert_int_equal(as_medium_new(size_bytes, &medium, &err), 0);
	if (as_fresh_disk(type, folder, medium, &made, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(made, want_made);
	return medium;
}

static struct as_digest digest_of(struct as_medium *medium)
{
	/* The digest is kept in the disk: a look that changes nothing anyone sees. */
	return as_disk_digest((struct as_disk *)(uintptr_t)as_medium_disk(medium));
}

static void test_once(void **state)
{
	const struct as_fstype *type = ext2();
	struct as_medium *first = make(type, 2 << 20, true), *second = make(type, 2 << 20, false);
	struct as_medium *larger = make(type, 3 << 20, true);

	(void)state;
	assert_true(as_digest_eq(digest_of(first), digest_of(second)));
	assert_false(as_digest_eq(digest_of(first), digest_of(larger)));
	assert_int_equal(each_file(NULL), 2);
	as_medium_free(first);
	as_medium_free(second);
	as_medium_free(larger);
}

/* What mkfs leaves alone is old data, and it is kept as another image. */
static void test_used(void **state)
{
	struct as_fstype used = *ext2();
	struct as_medium *medium, *again;
	unsigned char got[AS_CHUNK_BYTES], old[AS_CHUNK_BYTES], zeros[AS_CHUNK_BYTES] = { 0 };
	uint64_t free_at = 3 << 19; /* mke2fs clears the end */

	(void)state;
	memset(old, AS_FRESH_OLD, sizeof(old));
	each_file(unlink);
	medium = make(&used, 2 << 20, true);
	assert_int_equal(as_bd_read(as_medium_bd(medium), free_at, got, sizeof(got)), 0);
	assert_memory_equal(got, zeros, sizeof(got));
	as_medium_free(medium);

	used.used = true;
	used.mkfs = "mke2fs -q -F -t ext2 -m 0 -b 1024 -E nodiscard,lazy_itable_init=0 {disk}";
	medium = make(&used, 2 << 20, true);
	again = make(&used, 2 << 20, false);
	assert_true(as_digest_eq(digest_of(medium), digest_of(again)));
	assert_int_equal(as_bd_read(as_medium_bd(medium), free_at, got, sizeof(got)), 0);
	assert_memory_equal(got, old, sizeof(got));
	as_medium_free(medium);
	as_medium_free(again);

	used.used = false;
	as_medium_free(make(&used, 2 << 20, true));
}

static int damage(const char *path)
{
	int fd = open(path, O_RDWR);
	unsigned char byte = 0;
	int rc = fd < 0 || pread(fd, &byte, 1, 200) != 1;

	byte ^= 1;
	rc = rc || pwrite(fd, &byte, 1, 200) != 1;
	close(fd);
	return rc;
}

static int cut_short(const char *path)
{
	return truncate(path, 50);
}

static int empty(const char *path)
{
	return truncate(path, 0);
}

static void test_damaged(void **state)
{
	static int (*const ways[])(const char *) = { damage, cut_short, empty };
	const struct as_fstype *type = ext2();

	(void)state;
	each_file(unlink);
	as_medium_free(make(type, 2 << 20, true));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		assert_int_equal(each_file(ways[i]), 1);
		as_medium_free(make(type, 2 << 20, true));
		as_medium_free(make(type, 2 << 20, false));
	}
}

/* Another command line, or an environment that mkfs sees, is another disk. */
static void test_key(void **state)
{
	struct as_fstype other = *ext2(), env = other;

	(void)state;
	each_file(unlink);
	other.mkfs = "mke2fs -q -F -t ext2 -m 0 -b 2048 {disk}";
	env.env = "E2FSPROGS_FAKE_TIME=1000000000";
	as_medium_free(make(ext2(), 2 << 20, true));
	as_medium_free(make(&other, 2 << 20, true));
	as_medium_free(make(&env, 2 << 20, true));
	as_medium_free(make(&other, 2 << 20, false));
	assert_int_equal(each_file(NULL), 3);
}

static const struct {
	const char *name, *mkfs, *want;
	int rc;
} bad[] = {
	{ "no such program", "mkfs.of-nothing {disk}", "mkfs.of-nothing is not installed",
	  AS_ELACK },
	{ "it fails", "mke2fs -q -F -t ext2 -b 17 {disk}", "mke2fs failed (status 1)", AS_EUSE },
	{ "it is killed", "sh -c kill${IFS}-9${IFS}$$ {disk}", "failed (signal 9)", AS_EUSE },
};

static void test_bad(void **state)
{
	struct as_fstype type = *ext2();
	struct as_medium *medium;
	struct as_err err;

	(void)state;
	each_file(unlink);
	assert_int_equal(as_medium_new(2 << 20, &medium, &err), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		type.mkfs = bad[i].mkfs;
		assert_int_equal(as_fresh_disk(&type, folder, medium, NULL, &err), bad[i].rc);
		if (!strstr(err.msg, bad[i].want))
			fail_msg("%s: %s", bad[i].name, err.msg);
	}
	/* No half-made disk is left, kept or temporary. */
	assert_int_equal(each_file(NULL), 0);
	as_medium_free(medium);
}

/* Without a cache mkfs runs, and nothing is kept. */
static void test_no_cache(void **state)
{
	struct as_medium *medium;
	struct as_err err;
	bool made;

	(void)state;
	assert_int_equal(as_medium_new(2 << 20, &medium, &err), 0);
	assert_int_equal(as_fresh_disk(ext2(), NULL, medium, &made, &err), 0);
	assert_true(made);
	as_medium_free(medium);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),	cmocka_unit_test(test_used),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_key),
		cmocka_unit_test(test_bad),	cmocka_unit_test(test_no_cache),
	};

	return cmocka_run_group_tests(tests, make_folder, NULL);
}
