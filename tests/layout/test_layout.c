/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What blocks are called: on a fresh ext4 of mke2fs, and on one that libext2fs cannot make sense
 * of, and of types whose structures are only described; labfs's are in the goldens of
 * test_story.sh. */
#include "disk/cow.h"
#include "layout/layout.h"
#include "target/fresh.h"
#include "target/fstype.h"
#include "target/target.h"
#include "tests/lib/skip.h"

#include <stdlib.h>
#include <string.h>

#define DISK_BYTES (2u << 20)

static const char *say(struct as_layout *layout, uint64_t block, const void *data,
		       struct as_buf *out)
{
	as_buf_clear(out);
	return as_layout_say(layout, block * 1024, 1024, data, out) ? as_buf_str(out) : NULL;
}

/* Whether any block is called that. */
static bool any(struct as_layout *layout, const char *what)
{
	struct as_buf out = { 0 };
	bool found = false;

	for (uint64_t block = 0; block < DISK_BYTES / 1024 && !found; block++) {
		const char *said = say(layout, block, NULL, &out);

		found = said && strcmp(said, what) == 0;
	}
	as_buf_free(&out);
	return found;
}

static void check_ext(const char *name, bool journal)
{
	const struct as_fstype *type = as_fstype_find(name);
	struct as_target *target = NULL;
	struct as_medium *medium = NULL;
	struct as_layout *layout;
	struct as_err err = { 0 };
	struct as_buf out = { 0 };
	int rc;

	assert_int_equal(as_target_open(name, &target, &err), 0);
	assert_int_equal(as_medium_new(DISK_BYTES, &medium, &err), 0);
	rc = as_fresh_disk(type, NULL, medium, NULL, &err);
	if (rc == AS_ELACK) {
		as_medium_free(medium);
		as_target_free(target);
		skip_because("%s", err.msg);
	}
	assert_int_equal(rc, 0);
	layout = as_layout_new(target, (struct as_disk *)as_medium_disk(medium));
#ifndef AS_HAVE_ext2fs
	assert_non_null(layout);
	as_layout_free(layout);
	as_medium_free(medium);
	as_target_free(target);
	skip_because("assay was built without libext2fs");
#endif
	assert_non_null(layout);
	assert_string_equal(say(layout, 1, NULL, &out), "superblock");
	assert_string_equal(say(layout, 2, NULL, &out), "group descriptors");
	assert_true(any(layout, "block bitmap"));
	assert_true(any(layout, "inode bitmap"));
	assert_true(any(layout, "inode table (/)"));
	assert_true(any(layout, "inode table (/lost+found)"));
	assert_true(any(layout, "directory /"));
	assert_true(any(layout, "directory /lost+found"));
	assert_int_equal(any(layout, "journal: a block of it"), journal);
	as_layout_free(layout);
	as_medium_free(medium);
	as_target_free(target);
	as_buf_free(&out);
}

static void test_ext4(void **state)
{
	(void)state;
	check_ext("ext4", true);
}

static void test_ext2(void **state)
{
	(void)state;
	check_ext("ext2", false);
}

/* Types that are known by the description of their structures only. */
static void test_described(void **state)
{
	static const struct {
		const char *type, *block, *what;
		uint64_t size;
	} rows[] = {
		{ "minix3", "inode bitmap", "inode 1 of /", 1u << 20 },
		{ "xfs",
		  "superblock of group 0, free space header of group 0, inode header of "
		  "group 0, free list of group 0",
		  " of /", 16u << 20 },
	};
	struct as_err err = { 0 };
	struct as_buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_target *target = NULL;
		struct as_medium *medium = NULL;
		struct as_layout *layout;
		bool block = false, what = false;
		int rc;

		assert_int_equal(as_target_open(rows[i].type, &target, &err), 0);
		assert_int_equal(as_medium_new(rows[i].size, &medium, &err), 0);
		rc = as_fresh_disk(as_fstype_find(rows[i].type), NULL, medium, NULL, &err);
		if (rc == AS_ELACK) {
			print_message("SKIP: %s\n", err.msg);
			as_medium_free(medium);
			as_target_free(target);
			continue;
		}
		assert_int_equal(rc, 0);
		layout = as_layout_new(target, (struct as_disk *)as_medium_disk(medium));
		assert_non_null(layout);
		for (uint64_t off = 0; off < rows[i].size; off += 4096) {
			as_buf_clear(&out);
			if (!as_layout_say(layout, off, 4096, NULL, &out))
				continue;
			block |= strstr(as_buf_str(&out), rows[i].block) != NULL;
			what |= strstr(as_buf_str(&out), rows[i].what) != NULL;
		}
		if (!block || !what)
			fail_msg("%s: no block is called %s, or none %s", rows[i].type,
				 rows[i].block, rows[i].what);
		as_layout_free(layout);
		as_medium_free(medium);
		as_target_free(target);
	}
	as_buf_free(&out);
}

/* A disk of zeros, and one of noise. */
static void test_nonsense(void **state)
{
	static const char *const specs[] = { "lab", "ext4", "xfs" };
	struct as_chunks *chunks = as_chunks_new();
	unsigned char noise[4096];
	struct as_disk *disk = NULL;
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_disk_new(chunks, DISK_BYTES, &disk, &err), 0);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (unsigned char)(i * 2654435761u >> 13);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
			struct as_target *target = NULL;

			assert_int_equal(as_target_open(specs[i], &target, &err), 0);
			assert_null(as_layout_new(target, disk));
			as_target_free(target);
		}
		assert_int_equal(as_bd_write(as_disk_bd(disk), 0, noise, sizeof(noise)), 0);
	}
	as_disk_free(disk);
	as_chunks_free(chunks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ext4),
		cmocka_unit_test(test_ext2),
		cmocka_unit_test(test_described),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
