/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_damage: labfs on damaged disks. It need not do anything useful there, but it answers with
 * errors: it does not crash, hang or leak (builds with a sanitizer find more).
 */
#include "tests/lib/lab_workload.h"

#include <labfs/crc.h>
#include <labfs/format.h>

#define DISK (256 * 1024)

static uint64_t rng;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 20) % n;
}

/* A disk with some of everything; dirty = the journal is full, orphans are listed. */
static void populate(uint8_t *clean, uint8_t *dirty)
{
	struct as_handle *h;
	struct load w = { .rng = 4711 };
	struct rig r;

	t_rig_open(&r, DISK, "");
	w.r = &r;
	for (int i = 0; i < 400; i++)
		t_load_step(&w);
	t_load_end(&w);
	assert_int_equal(t_put_at(&r, "/large", O_CREAT, 'l', 20000, 280000), 20000);
	assert_int_equal(FS->open(r.fs, "/gone", O_CREAT | O_RDWR, 0644, &h), 0);
	assert_int_equal(FS->unlink(r.fs, "/gone"), 0);
	assert_int_equal(FS->sync(r.fs), 0);
	memcpy(dirty, r.disk.disk, DISK);
	assert_int_equal(FS->close(r.fs, h), 0);
	assert_int_equal(t_rig_unmount(&r), 0);
	memcpy(clean, r.disk.disk, DISK);
	t_rig_close(&r);
}

/* Makes the checksums of inodes right again, so that the code after the check meets the damage. */
static void bless(uint8_t *disk)
{
	const struct lab_super *sb = (const struct lab_super *)disk;
	struct lab_inode *in =
		(struct lab_inode *)(disk + (size_t)sb->inode_table_start * LAB_BLOCK);

	for (uint32_t i = 0; i < sb->inode_count; i++, in++)
		in->csum = lab_crc_without(in, sizeof(*in), offsetof(struct lab_inode, csum));
}

static void damage(uint8_t *disk)
{
	static const uint32_t values[] = { 0, 1, 2, 255, 1024, 65535, 0x7fffffff, UINT32_MAX };
	uint32_t hits = 1 + rnd(8);

	while (hits--) {
		/* past the superblock: test_persist lies there */
		uint32_t at = LAB_BLOCK + rnd(DISK - LAB_BLOCK - 4);
		uint32_t value = values[rnd(8)];

		if (rnd(2))
			disk[at] ^= (uint8_t)(1u << rnd(8));
		else
			memcpy(disk + at / 4 * 4, &value, 4);
	}
}

/* Damages inodes, directories, pointer blocks and attributes more often, where it matters most. */
static void damage_metadata(uint8_t *disk)
{
	const struct lab_super *sb = (const struct lab_super *)disk;
	uint32_t hits = 1 + rnd(4);

	while (hits--) {
		struct lab_inode *in =
			(struct lab_inode *)(disk + (size_t)sb->inode_table_start * LAB_BLOCK) +
			rnd(24);

		if (rnd(3) && in->ptr[0] && in->ptr[0] < sb->block_count)
			disk[(size_t)in->ptr[0] * LAB_BLOCK + rnd(200)] = (uint8_t)rnd(256);
		else
			((uint8_t *)in)[rnd(sizeof(*in))] ^= (uint8_t)(1u << rnd(8));
	}
}

static void live_on(struct rig *r)
{
	struct load w = { .r = r, .rng = rng | 1 };

	if (t_rig_mount(r, false)) {
		assert_int_equal(r->host.live, 0);
		return;
	}
	free(t_picture(r));
	for (int i = 0; i < 40; i++)
		t_load_step(&w);
	t_load_end(&w);
	(void)t_rig_unmount(r);
	assert_int_equal(r->host.live, 0);
}

static void test_damaged(void **state)
{
	uint8_t *clean = malloc(DISK), *dirty = malloc(DISK);
	unsigned mounted = 0;

	(void)state;
	populate(clean, dirty);
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		struct rig r = { .opts = "" };

		rng = seed * 0x9e3779b97f4a7c15u;
		t_mem_open(&r.disk, DISK);
		t_memhost_init(&r.host);
		memcpy(r.disk.disk, seed % 2 ? clean : dirty, DISK);
		if (seed % 3)
			damage_metadata(r.disk.disk);
		else
			damage(r.disk.disk);
		if (seed % 5)
			bless(r.disk.disk);
		live_on(&r);
		mounted += r.host.clock > 1000;
		t_mem_close(&r.disk);
	}
	assert_in_range(mounted, 500, 1500); /* most damage does not prevent a mount */
	free(clean);
	free(dirty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
