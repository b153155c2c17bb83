/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_persist: what is there after a remount, after a replay, and on a read-only mount; what mount
 * refuses; and files so scattered that freeing them takes several transactions.
 */
#include "tests/lib/lab_cut.h"
#include "tests/lib/lab_workload.h"

#include <labfs/crc.h>
#include <labfs/format.h>
#include <labfs/fs.h>

#define DISK (1024 * 1024)

/* A second disk with what a power cut would leave of the first: all that was written. */
static void cut_power(struct rig *r, struct rig *after)
{
	memset(after, 0, sizeof(*after));
	t_mem_open(&after->disk, r->disk.bd.size_bytes);
	t_memhost_init(&after->host);
	memcpy(after->disk.disk, r->disk.disk, r->disk.bd.size_bytes);
	after->opts = "";
}

static void random_steps(struct rig *r, uint64_t seed, unsigned n)
{
	struct load w = { .r = r, .rng = seed * 999 + 5 };

	while (n--)
		t_load_step(&w);
	t_load_end(&w);
}

static void test_remount(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct rig r;
		char *before, *after;

		t_rig_open(&r, DISK, "");
		random_steps(&r, seed, 300);
		before = t_picture(&r);
		t_rig_again(&r);
		after = t_picture(&r);
		assert_string_equal(before, after);
		free(before);
		free(after);
		assert_int_equal(t_rig_unmount(&r), 0);
		assert_int_equal(t_rig_fsck(&r), 0);
		t_rig_close(&r);
	}
}

static void test_replay(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct rig r, again;
		char *before, *ro, *rw;
		uint8_t *image = malloc(DISK);

		t_rig_open(&r, DISK, "");
		random_steps(&r, seed, 200);
		assert_int_equal(FS->sync(r.fs), 0);
		before = t_picture(&r);
		cut_power(&r, &again);
		memcpy(image, again.disk.disk, DISK);
		/* A read-only mount shows it and writes nothing. */
		assert_int_equal(t_rig_mount(&again, true), 0);
		ro = t_picture(&again);
		assert_string_equal(before, ro);
		assert_int_equal(FS->mkdir(again.fs, "/new", 0755), -EROFS);
		assert_int_equal(t_rig_unmount(&again), 0);
		assert_memory_equal(image, again.disk.disk, DISK);
		/* Made writable, it is the same. */
		assert_int_equal(t_rig_mount(&again, true), 0);
		assert_int_equal(FS->remount(again.fs, "rw"), 0);
		rw = t_picture(&again);
		assert_string_equal(before, rw);
		t_rig_again(&again);
		free(rw);
		rw = t_picture(&again);
		assert_string_equal(before, rw);
		assert_int_equal(t_rig_unmount(&again), 0);
		assert_int_equal(t_rig_fsck(&again), 0);
		free(before);
		free(ro);
		free(rw);
		free(image);
		t_rig_close(&again);
		t_rig_close(&r);
	}
}

static void test_remount_flags(void **state)
{
	struct as_handle *h;
	struct rig r;

	(void)state;
	t_rig_open(&r, DISK, "");
	assert_int_equal(FS->open(r.fs, "/f", O_CREAT | O_RDWR, 0644, &h), 0);
	assert_int_equal(FS->remount(r.fs, ""), 0);
	assert_int_equal(FS->remount(r.fs, "nonsense"), -EINVAL);
	assert_int_equal(FS->remount(r.fs, "ro"), -EBUSY);
	assert_int_equal(FS->close(r.fs, h), 0);
	assert_int_equal(FS->remount(r.fs, "ro"), 0);
	assert_int_equal(r.disk.unflushed, 0);
	assert_int_equal(t_rig_fsck(&r), 0);
	assert_int_equal(t_touch(&r, "/g"), -EROFS);
	assert_int_equal(t_touch(&r, "/f"), -EROFS);
	assert_int_equal(FS->unlink(r.fs, "/f"), -EROFS);
	assert_int_equal(FS->open(r.fs, "/f", O_RDONLY, 0, &h), 0);
	assert_int_equal(FS->close(r.fs, h), 0);
	assert_int_equal(FS->remount(r.fs, "rw"), 0);
	assert_int_equal(t_touch(&r, "/g"), 0);
	t_rig_close(&r);
}

static void test_options(void **state)
{
	static const struct {
		const char *opts;
		int want;
	} rows[] = {
		{ "", 0 },
		{ "commit=every", 0 },
		{ "nobarrier", 0 },
		{ "bug=1,bug=2,noflush=COMMIT,commit=every", 0 },
		{ "bug=0", -EINVAL },
		{ "bug=127", -EINVAL },
		{ "bug=x", -EINVAL },
		{ "bug=", -EINVAL },
		{ "noflush=NOWHERE", -EINVAL },
		{ "data=journal", -EINVAL },
	};
	struct rig r;

	(void)state;
	t_rig_open(&r, DISK, "");
	assert_int_equal(t_rig_unmount(&r), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r.opts = rows[i].opts;
		assert_int_equal(t_rig_mount(&r, false), rows[i].want);
		if (!rows[i].want)
			assert_int_equal(t_rig_unmount(&r), 0);
		assert_int_equal(r.host.live, 0);
	}
	t_rig_close(&r);
}

/* Every bit of the superblock's structure matters; a flipped one is refused. */
static void test_bad_super(void **state)
{
	struct rig r;

	(void)state;
	t_rig_open(&r, DISK, "");
	assert_int_equal(t_rig_unmount(&r), 0);
	for (unsigned bit = 0; bit < sizeof(struct lab_super) * 8; bit += 5) {
		r.disk.disk[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(t_rig_mount(&r, false), -EUCLEAN);
		assert_int_equal(r.host.live, 0);
		r.disk.disk[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	t_rig_close(&r);
}

/* A superblock with wrong values and a right checksum must do no harm, either. */
static void test_lying_super(void **state)
{
	struct lab_super *sb, good;
	struct rig r;

	(void)state;
	t_rig_open(&r, DISK, "");
	assert_int_equal(t_rig_unmount(&r), 0);
	sb = (struct lab_super *)r.disk.disk;
	good = *sb;
	for (unsigned field = 2; field < 15; field++) {
		static const uint32_t lies[] = { 0,	     1,		 31,	    1 << 20,
						 0x7fffffff, 0x80000000, UINT32_MAX };

		for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			*sb = good;
			((uint32_t *)sb)[field] = lies[i];
			sb->csum =
				lab_crc_without(sb, sizeof(*sb), offsetof(struct lab_super, csum));
			if (!t_rig_mount(&r, true)) {
				free(t_picture(&r));
				(void)t_rig_unmount(&r);
			}
			assert_int_equal(r.host.live, 0);
		}
	}
	*sb = good;
	t_rig_close(&r);
}

/* A damaged inode or attribute block answers EUCLEAN and is remembered in the superblock. */
static void test_bad_blocks(void **state)
{
	struct lab_super *sb;
	struct lab_inode *in;
	struct as_stat st;
	struct rig r;
	char buf[8];

	(void)state;
	t_rig_open(&r, DISK, "");
	assert_int_equal(t_touch(&r, "/f"), 0);
	assert_int_equal(FS->setxattr(r.fs, "/f", "user.a", "1", 1, 0), 0);
	assert_int_equal(t_touch(&r, "/g"), 0);
	assert_int_equal(t_rig_unmount(&r), 0);
	sb = (struct lab_super *)r.disk.disk;
	in = (struct lab_inode *)(r.disk.disk + (size_t)sb->inode_table_start * LAB_BLOCK);
	in[3].uid ^= 1; /* /g is inode 4 */
	r.disk.disk[(size_t)in[2].xattr_block * LAB_BLOCK + 20] ^= 1;
	assert_int_equal(t_rig_mount(&r, false), 0);
	assert_int_equal(FS->getattr(r.fs, "/f", &st), 0);
	assert_int_equal(FS->getxattr(r.fs, "/f", "user.a", buf, 8), -EUCLEAN);
	assert_int_equal(FS->getattr(r.fs, "/g", &st), -EUCLEAN);
	assert_int_equal(FS->unlink(r.fs, "/g"), -EUCLEAN);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(sb->state & LAB_ERRORS, LAB_ERRORS);
	t_rig_close(&r);
}

/* ---- Freeing over several transactions ---- */

/* A file of `n` blocks; as many others; a journal that takes only a few blocks at a time. */
static void big_file(struct crashlab *lab, const char *path)
{
	uint8_t *data = calloc(1, 2048);
	struct as_handle *h;
	char tag = 'b';

	assert_int_equal(FS->open(lab->r.fs, path, O_CREAT | O_RDWR, 0644, &h), 0);
	t_crash_step(lab, false);
	assert_int_equal(FS->setxattr(lab->r.fs, path, "user.tag", &tag, 1, 0), 0);
	t_crash_step(lab, false);
	memset(data, 'b', 2048);
	for (uint64_t i = 0; i < 14; i++) {
		uint64_t off = i * 300 * 1024; /* each with a pointer block of its own */

		assert_int_equal(FS->write(lab->r.fs, h, data, 2048, &off), 2048);
		t_crash_step(lab, false);
	}
	assert_int_equal(FS->close(lab->r.fs, h), 0);
	free(data);
}

static void cut_down(struct crashlab *lab, const char *path)
{
	assert_int_equal(t_set_size(&lab->r, path, 1500), 0);
	t_crash_step(lab, false);
	assert_int_equal(t_set_size(&lab->r, path, 300 * 1024), 0);
	t_crash_step(lab, false);
}

static void remove_it(struct crashlab *lab, const char *path)
{
	assert_int_equal(FS->unlink(lab->r.fs, path), 0);
	t_crash_step(lab, false);
}

static void test_split(void **state)
{
	void (*const ends[])(struct crashlab *, const char *) = { cut_down, remove_it };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct as_statfs before, after;
		struct crashlab lab;
		uint32_t seq;
		uint8_t byte;

		t_crash_open(&lab, 512 * 1024, "", 3);
		assert_int_equal(FS->statfs(lab.r.fs, &before), 0);
		lab.r.fs->tx_limit = 15; /* as if the bitmaps were many */
		big_file(&lab, "/big");
		assert_int_equal(FS->sync(lab.r.fs), 0);
		t_crash_step(&lab, true);
		seq = lab.r.fs->seq;
		ends[i](&lab, "/big");
		assert_true(lab.r.fs->seq >= seq + 2); /* it did take several */
		assert_int_equal(lab.r.fs->sb->orphan_head, 0);
		if (i == 0) {
			assert_int_equal(t_get_at(&lab.r, "/big", &byte, 1, 1499), 1);
			assert_int_equal(byte, 'b');
			assert_int_equal(t_get_at(&lab.r, "/big", &byte, 1, 1500), 1);
			assert_int_equal(byte, 0);
			assert_int_equal(t_stat_of(&lab.r, "/big").blocks, 6);
			remove_it(&lab, "/big");
		}
		assert_int_equal(FS->statfs(lab.r.fs, &after), 0);
		assert_memory_equal(&before, &after, sizeof(before));
		lab.trials = 8;
		t_crash_judge(&lab);
		if (lab.verdict[0])
			fail_msg("%s", lab.verdict);
		t_crash_close(&lab);
	}
}

/* The size of the disk decides on the layout; all of them work. */
static void test_sizes(void **state)
{
	static const uint64_t sizes[] = { 256 << 10, 300 << 10, 1 << 20, 8 << 20, 64 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct rig r;

		t_rig_open(&r, sizes[i], "");
		random_steps(&r, i + 1, 100);
		t_rig_again(&r);
		assert_int_equal(t_rig_unmount(&r), 0);
		assert_int_equal(t_rig_fsck(&r), 0);
		t_rig_close(&r);
	}
}

static void test_mkfs_refuses(void **state)
{
	struct as_mount_args args;
	struct memhost host;
	struct membd disk;

	(void)state;
	t_memhost_init(&host);
	t_mem_open(&disk, 255 * 1024);
	args = (struct as_mount_args){ .host = &host.host, .bd = &disk.bd, .opts = "" };
	assert_int_equal(FS->mkfs(&args), -ENOSPC);
	t_mem_close(&disk);
	t_mem_open(&disk, 256 * 1024);
	args.opts = "nonsense";
	assert_int_equal(FS->mkfs(&args), -EINVAL);
	args.opts = "bug=3";
	for (uint64_t n = 1; n < 3; n++) {
		disk.fail_write = n * 3;
		assert_int_equal(FS->mkfs(&args), -EIO);
	}
	assert_int_equal(FS->mkfs(&args), 0);
	assert_int_equal(host.live, 0);
	assert_int_equal(disk.unflushed, 0);
	t_mem_close(&disk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remount),	      cmocka_unit_test(test_replay),
		cmocka_unit_test(test_remount_flags), cmocka_unit_test(test_options),
		cmocka_unit_test(test_bad_super),     cmocka_unit_test(test_lying_super),
		cmocka_unit_test(test_bad_blocks),    cmocka_unit_test(test_split),
		cmocka_unit_test(test_sizes),	      cmocka_unit_test(test_mkfs_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
