/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fsck_random: thousands of damaged images. Whatever the damage: the checker ends; the disk is
 * then sound by a second reading of the format; a second run finds nothing and writes nothing; the
 * file system mounts, and everything in it can be read. And files that the damage did not touch
 * are as they were.
 */
#include "tests/lib/lab_damage.h"
#include "tests/lib/lab_read.h"

#define SEEDS 4000

/* Whether both superblocks are unusable: then the layout is not known. */
static bool hopeless(const struct sample_run *run)
{
	return run->code == AS_FSCK_OPERATIONAL && strstr(run->log, "no usable superblock");
}

static const char *trial(struct img *img, struct tree *tree, struct sample_run *first)
{
	struct sample_run second;
	const char *why = NULL;

	t_sample_check(img, AS_FSCK_FULL, "", false, first);
	if (first->leaked)
		return "memory left";
	if (hopeless(first) || first->code & AS_FSCK_LEFT)
		return NULL;
	if (first->code != AS_FSCK_CLEAN && first->code != AS_FSCK_REPAIRED)
		return "exit status";
	t_sample_check(img, AS_FSCK_FULL, "", false, &second);
	if (second.code || second.codes[0] || second.calls)
		why = second.codes[0] ? "the second run finds something" : "the second run writes";
	free(second.log);
	if (why)
		return why;
	t_tree_walk(tree, img);
	if (tree->wrong)
		return tree->wrong;
	return t_mount_and_read(img) ? "cannot be mounted and read" : NULL;
}

/* Damages copies of an image; returns how many were repaired. */
static unsigned try_seeds(const struct img *sound, uint64_t seeds, unsigned *given_up)
{
	struct tree *tree = malloc(sizeof(*tree));
	struct img img = *sound;
	unsigned failed = 0, repaired = 0;

	img.data = malloc(SAMPLE_BYTES);
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct sample_run run;
		const char *why;

		t_damage_randomly(&img, sound, seed);
		why = trial(&img, tree, &run);
		if (why && failed++ < 10)
			fprintf(stderr, "seed %lu: %s\n%s", (unsigned long)seed, why, run.log);
		repaired += run.code == AS_FSCK_REPAIRED;
		*given_up += run.code > AS_FSCK_REPAIRED;
		free(run.log);
	}
	free(img.data);
	free(tree);
	assert_int_equal(failed, 0);
	return repaired;
}

static void test_random(void **state)
{
	uint8_t *data = malloc(SAMPLE_BYTES);
	struct img sound = t_sample_build(data);
	unsigned repaired, given_up = 0;

	(void)state;
	repaired = try_seeds(&sound, SEEDS, &given_up);
	free(data);
	/* The damage must be neither too light nor too heavy to tell anything. */
	assert_in_range(repaired, SEEDS / 2, SEEDS - 1);
	assert_in_range(given_up, 0, SEEDS / 50);
}

/* The same on a disk without a free block, where a repair may have to be left. */
static void test_random_full(void **state)
{
	uint8_t *data = malloc(SAMPLE_BYTES);
	struct img sound = t_sample_build(data);
	uint32_t fill = t_img_node(&sound, I_ROOT, "fill", S_IFREG | 0600);
	unsigned repaired, given_up = 0;

	(void)state;
	t_img_inode(&sound, fill)->size = 1;
	for (uint32_t i = 0; sound.next_block < SAMPLE_BLOCKS - 1; i++)
		t_img_fill(&sound, fill, i == 266 ? 266 + LAB_PTRS - 1 : i);
	t_img_seal(&sound);
	repaired = try_seeds(&sound, SEEDS / 4, &given_up);
	free(data);
	assert_in_range(repaired, SEEDS / 8, SEEDS / 4);
	assert_in_range(given_up, 1, SEEDS / 16);
}

/* Only noise after a sound superblock: bytes, or numbers that could mean something. */
static void test_noise(void **state)
{
	struct tree *tree = malloc(sizeof(*tree));
	uint8_t *data = malloc(SAMPLE_BYTES);
	struct img img = t_sample_build(data);

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct dice d = t_dice(seed);
		struct sample_run run;
		const char *why;

		img = t_sample_build(data);
		for (size_t i = LAB_BLOCK; i < SAMPLE_BYTES - LAB_BLOCK; i += 4) {
			uint32_t word = seed % 2 ? t_roll(&d, UINT32_MAX) : t_pick_number(&img, &d);

			memcpy(data + i, &word, 4);
		}
		/* Inodes of any kind, with right checksums. */
		for (uint32_t ino = 1; seed % 3 && ino <= SAMPLE_INODES; ino++) {
			t_img_inode(&img, ino)->mode = t_roll(&d, 16) << 12 | t_roll(&d, 4096);
			t_img_inode(&img, ino)->size &= 0xfffff;
			t_img_seal_inode(&img, ino);
		}
		why = trial(&img, tree, &run);
		if (why)
			fail_msg("seed %lu: %s\n%.2000s", (unsigned long)seed, why, run.log);
		free(run.log);
	}
	free(data);
	free(tree);
}

/* Damage below /a and to the bitmaps: all else stays. */
static void test_others_survive(void **state)
{
	static const uint32_t inos[] = { I_A, I_F, I_B, I_C, I_DEEP };
	struct tree *sound = malloc(sizeof(*sound)), *tree = malloc(sizeof(*tree));
	uint8_t *data = malloc(SAMPLE_BYTES), *sound_data = malloc(SAMPLE_BYTES);
	struct img before = t_sample_build(sound_data), img = t_sample_build(data);

	(void)state;
	t_tree_walk(sound, &before);
	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct dice d = t_dice(seed);
		struct sample_run run;

		memcpy(data, sound_data, SAMPLE_BYTES);
		for (int n = 0; n < 3; n++) {
			uint32_t ino = inos[t_roll(&d, 5)], word = t_pick_number(&img, &d);
			uint8_t *at = (uint8_t *)t_img_inode(&img, ino);

			if (t_roll(&d, 2))
				at = t_img_block(&img, t_img_inode(&before, ino)->ptr[0]);
			memcpy(at + t_roll(&d, LAB_INODE_BYTES / 4) * 4, &word, 4);
			t_img_seal_inode(&img, ino);
		}
		t_sample_check(&img, AS_FSCK_FULL, "", false, &run);
		t_tree_walk(tree, &img);
		for (unsigned i = 0, t = 0; i < sound->count; i++) {
			const struct tree_entry *e = &sound->entry[i];

			if (!strncmp(e->path, "/a", 2) && strcmp(e->path, "/attr"))
				continue;
			while (t < tree->count && t_tree_order(&tree->entry[t], e) < 0)
				t++;
			if (t == tree->count || t_tree_order(&tree->entry[t], e) ||
			    strcmp(tree->entry[t].what, e->what))
				fail_msg("seed %lu: %s is lost or changed", (unsigned long)seed,
					 e->path);
		}
		free(run.log);
	}
	free(data);
	free(sound_data);
	free(tree);
	free(sound);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_random_full),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_others_survive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
