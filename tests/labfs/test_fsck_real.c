/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fsck_real: the checker and the file system, each written from format.h, about one disk. What
 * mkfs and the file system write is sound. What a power cut leaves is repaired without a sign of
 * damage (only with problems that problem.def says to expect), and is sound afterwards. Damage to
 * such disks is repaired in one run. The last test fills the disk.
 */
#include "tests/lib/lab_damage.h"
#include "tests/lib/lab_read.h"
#include "tests/lib/lab_workload.h"

#define DISK_BLOCKS 512u
#define DISK_BYTES (DISK_BLOCKS * (uint64_t)LAB_BLOCK)

/* Runs a workload on a recorded disk and unmounts it. */
static void run_load(struct rig *r, uint64_t seed, unsigned steps)
{
	struct load w = { .r = r, .rng = seed * 0x2545f4914f6cdd1du + 7 };

	t_rig_open(r, DISK_BYTES, "");
	t_mem_record(&r->disk);
	for (unsigned i = 0; i < steps; i++)
		t_load_step(&w);
	t_load_end(&w);
	assert_int_equal(t_rig_unmount(r), 0);
}

/* The first problem in a log that is not to be expected after a power cut. */
static const char *find_damage(const char *log)
{
	for (; *log; log = strchr(log, '\n') + 1)
		for (unsigned i = 0; *log == '[' && i < lab_problem_count; i++)
			if (lab_problem[i].code == atoi(log + 1) && !lab_problem[i].preen)
				return log;
	return NULL;
}

static void check_sound(struct img *img, struct tree *tree, const char *when)
{
	struct sample_run run;

	t_tree_walk(tree, img);
	if (tree->wrong)
		fail_msg("%s: %s (%u)", when, tree->wrong, tree->wrong_at);
	t_sample_check(img, AS_FSCK_FULL, "", false, &run);
	if (run.code || run.calls)
		fail_msg("%s: %s", when, run.log);
	free(run.log);
}

static void check_cut(struct img *img, struct tree *tree, const char *when)
{
	struct sample_run run;
	const char *damage;

	t_sample_check(img, AS_FSCK_DEFAULT, "", false, &run);
	damage = find_damage(run.log);
	if (damage || run.code & ~AS_FSCK_REPAIRED)
		fail_msg("%s: %s", when, run.log);
	free(run.log);
	check_sound(img, tree, when);
}

static void test_power_cuts(void **state)
{
	struct tree *tree = malloc(sizeof(*tree));
	uint8_t *data = malloc(DISK_BYTES), *copy = malloc(DISK_BYTES);
	struct img img = { .data = copy, .blocks = DISK_BLOCKS };
	unsigned cuts = 0;
	char when[64];

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct rig r;

		run_load(&r, seed, 150);
		memcpy(data, r.disk.base, DISK_BYTES);
		for (size_t i = 0; i < r.disk.nlog; i++) {
			t_mem_apply(data, &r.disk.log[i]);
			if (r.disk.log[i].off != UINT64_MAX && i % 7)
				continue;
			memcpy(copy, data, DISK_BYTES);
			snprintf(when, sizeof(when), "seed %lu, after write %zu", seed, i);
			check_cut(&img, tree, when);
			cuts++;
		}
		memcpy(copy, r.disk.disk, DISK_BYTES);
		check_sound(&img, tree, "unmounted");
		t_rig_close(&r);
	}
	free(data);
	free(copy);
	free(tree);
	assert_in_range(cuts, 100, 100000);
}

/* Numbers and garbage into the part of the disk that is in use. */
static void damage_real(struct img *img, struct dice *d)
{
	const struct lab_super sb = *t_img_super(img);

	for (uint32_t n = 1 + t_roll(d, 5); n; n--) {
		uint32_t block = 1 + t_roll(d, sb.data_start + 100), word = t_pick_number(img, d);
		uint8_t *at = t_img_block(img, block % img->blocks);

		if (t_roll(d, 8))
			memcpy(at + t_roll(d, LAB_BLOCK / 4) * 4, &word, 4);
		else
			memset(at, (int)t_roll(d, 256), LAB_BLOCK);
	}
}

static void test_damage(void **state)
{
	struct tree *tree = malloc(sizeof(*tree));
	uint8_t *data = malloc(DISK_BYTES);
	struct img img = { .data = data, .blocks = DISK_BLOCKS };
	struct rig r;

	(void)state;
	run_load(&r, 77, 400);
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct dice d = t_dice(seed);
		struct sample_run run;
		char when[32];

		snprintf(when, sizeof(when), "seed %lu", seed);
		memcpy(data, r.disk.disk, DISK_BYTES);
		damage_real(&img, &d);
		t_sample_check(&img, AS_FSCK_FULL, "", false, &run);
		if (run.code & ~AS_FSCK_REPAIRED || run.leaked)
			fail_msg("%s: exit %d\n%s", when, run.code, run.log);
		free(run.log);
		check_sound(&img, tree, when);
		assert_int_equal(t_mount_and_read(&img), 0);
	}
	t_rig_close(&r);
	free(data);
	free(tree);
}

/* A sample without a free block, where /lost+found is a file and /victim has lost its name. */
static struct img full_disk(uint8_t *data, uint32_t *victim, uint32_t *last)
{
	struct img img = t_img_new(data, SAMPLE_BLOCKS, SAMPLE_INODES, SAMPLE_JOURNAL);
	uint32_t fill[2], i = 0;

	*victim = t_img_file(&img, LAB_ROOT_INO, "victim", 100);
	t_img_inode(&img, LAB_LOST_INO)->mode = S_IFREG | 0600;
	t_img_inode(&img, LAB_LOST_INO)->nlink = 1;
	t_img_inode(&img, LAB_ROOT_INO)->nlink--;
	t_sample_rec(&img, LAB_ROOT_INO, "lost+found")->type = S_IFREG >> 12;
	fill[0] = t_img_file(&img, LAB_ROOT_INO, "fill0", 0);
	fill[1] = t_img_file(&img, LAB_ROOT_INO, "fill1", 0);
	for (; img.next_block < SAMPLE_BLOCKS - 1; i++)
		t_img_fill(&img, fill[i / 250], i % 250);
	t_img_seal(&img);
	t_sample_rec(&img, LAB_ROOT_INO, "victim")->ino = 0;
	*last = fill[1];
	return img;
}

static void test_full_disk(void **state)
{
	uint8_t *data = malloc(SAMPLE_BYTES);
	uint32_t victim, last, *ptr;
	struct img img = full_disk(data, &victim, &last);
	struct tree *tree = malloc(sizeof(*tree));
	struct sample_run run;

	(void)state;
	for (int again = 0; again < 2; again++) {
		t_sample_check(&img, AS_FSCK_FULL, "", false, &run);
		assert_int_equal(run.code & AS_FSCK_LEFT, AS_FSCK_LEFT);
		assert_non_null(strstr(run.log, "NO_ROOM"));
		assert_int_equal(t_img_super(&img)->state, LAB_ERRORS);
		assert_int_equal(t_img_inode(&img, victim)->nlink, 1);
		free(run.log);
	}
	/* With two blocks less in use, it is connected. */
	for (unsigned i = 0; i < 2; i++) {
		ptr = t_img_ptr(&img, last, 100 + i);
		*ptr = 0;
		t_img_inode(&img, last)->blocks--;
	}
	t_img_seal_inode(&img, last);
	t_sample_check(&img, AS_FSCK_DEFAULT, "", false, &run);
	assert_int_equal(run.code, AS_FSCK_REPAIRED);
	assert_non_null(strstr(run.log, "UNCONNECTED"));
	free(run.log);
	check_sound(&img, tree, "with room");
	free(tree);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power_cuts),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
