/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fsck_random: thousands of damaged images. Whatever the damage: the checker ends; the disk is
 * then sound by a second reading of the format; a second run finds nothing and writes nothing; the
 * file system mounts, and everything in it can be read. And files that the damage did not touch
 * are as they were.
 */
#include "harness.h"
#include "random_damage.h"

#define SEEDS 4000

static int see_entry(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	char(*list)[LAB_NAME_MAX + 1] = ctx;
	unsigned i = 0;

	(void)ino;
	(void)type;
	while (i < 256 && list[i][0])
		i++;
	if (i < 256)
		snprintf(list[i], LAB_NAME_MAX + 1, "%s", name);
	return 0;
}

static int read_all(struct as_fs *fs, const char *path, unsigned depth);

static int read_dir(struct as_fs *fs, const char *path, unsigned depth)
{
	char(*list)[LAB_NAME_MAX + 1] = calloc(257, sizeof(*list));
	char below[1024];
	int rc = FS->readdir(fs, path, see_entry, list);

	for (unsigned i = 0; !rc && list[i][0] && depth < 20; i++) {
		if (snprintf(below, sizeof(below), "%s/%s", path[1] ? path : "", list[i]) < 900)
			rc = read_all(fs, below, depth + 1);
	}
	free(list);
	return rc;
}

static int read_file(struct as_fs *fs, const char *path, uint64_t size)
{
	struct as_handle *handle;
	uint8_t buf[8192];
	int64_t n = 0;
	int rc = FS->open(fs, path, O_RDONLY, 0, &handle);

	if (rc)
		return rc;
	for (uint64_t off = 0; off < size && off < 1 << 20 && n >= 0; off += sizeof(buf))
		n = FS->read(fs, handle, buf, sizeof(buf), off);
	rc = FS->close(fs, handle);
	return n < 0 ? (int)n : rc;
}

static int read_all(struct as_fs *fs, const char *path, unsigned depth)
{
	char buf[2048];
	struct as_stat st;
	int64_t n;
	int rc = FS->getattr(fs, path, &st);

	if (rc)
		return rc;
	n = FS->listxattr(fs, path, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	if (S_ISDIR(st.mode))
		return read_dir(fs, path, depth);
	if (S_ISREG(st.mode))
		return read_file(fs, path, st.size);
	if (!S_ISLNK(st.mode))
		return 0;
	n = FS->readlink(fs, path, buf, sizeof(buf));
	return n < 0 ? (int)n : 0;
}

static int mount_and_read(struct img *img)
{
	struct membd disk = sample_disk(img);
	struct memhost host;
	struct as_mount_args args = { &host.host, &disk.bd, "", false };
	struct as_fs *fs;
	int rc, un;

	memhost_init(&host);
	rc = FS->mount(&args, &fs);
	if (rc)
		return rc;
	rc = read_all(fs, "/", 0);
	un = FS->unmount(fs);
	return rc ? rc : un;
}

/* Are both superblocks beyond use? Then nobody can say where anything is. */
static bool hopeless(const struct sample_run *run)
{
	return run->code == AS_FSCK_OPERATIONAL && strstr(run->log, "no usable superblock");
}

static const char *trial(struct img *img, struct tree *tree, struct sample_run *first)
{
	struct sample_run second;
	const char *why = NULL;

	sample_check(img, AS_FSCK_FULL, "", false, first);
	if (first->leaked)
		return "memory left";
	if (hopeless(first) || first->code & AS_FSCK_LEFT)
		return NULL;
	if (first->code != AS_FSCK_CLEAN && first->code != AS_FSCK_REPAIRED)
		return "exit status";
	sample_check(img, AS_FSCK_FULL, "", false, &second);
	if (second.code || second.codes[0] || second.calls)
		why = second.codes[0] ? "the second run finds something" : "the second run writes";
	free(second.log);
	if (why)
		return why;
	tree_walk(tree, img);
	if (tree->wrong)
		return tree->wrong;
	return mount_and_read(img) ? "cannot be mounted and read" : NULL;
}

static void test_random(void **state)
{
	struct tree *tree = malloc(sizeof(*tree));
	uint8_t *data = malloc(SAMPLE_BYTES), *sound_data = malloc(SAMPLE_BYTES);
	struct img sound = sample_build(sound_data), img = sound;
	unsigned failed = 0, repaired = 0, given_up = 0;

	(void)state;
	img.data = data;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sample_run run;
		const char *why;

		damage_randomly(&img, &sound, seed);
		why = trial(&img, tree, &run);
		if (why && failed++ < 10)
			fprintf(stderr, "seed %lu: %s\n%s", (unsigned long)seed, why, run.log);
		repaired += run.code == AS_FSCK_REPAIRED;
		given_up += run.code > AS_FSCK_REPAIRED;
		free(run.log);
	}
	free(tree);
	free(data);
	free(sound_data);
	assert_int_equal(failed, 0);
	/* The damage must be neither too light nor too heavy to tell anything. */
	assert_in_range(repaired, SEEDS / 2, SEEDS - 1);
	assert_in_range(given_up, 0, SEEDS / 50);
}

/* Damage below /a and to the bitmaps: all else stays. */
static void test_others_survive(void **state)
{
	static const uint32_t inos[] = { I_A, I_F, I_B, I_C, I_DEEP };
	struct tree *sound = malloc(sizeof(*sound)), *tree = malloc(sizeof(*tree));
	uint8_t *data = malloc(SAMPLE_BYTES), *sound_data = malloc(SAMPLE_BYTES);
	struct img before = sample_build(sound_data), img = sample_build(data);

	(void)state;
	tree_walk(sound, &before);
	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct dice d = dice(seed);
		struct sample_run run;

		memcpy(data, sound_data, SAMPLE_BYTES);
		for (int n = 0; n < 3; n++) {
			uint32_t ino = inos[roll(&d, 5)], word = pick_number(&img, &d);
			uint8_t *at = (uint8_t *)img_inode(&img, ino);

			if (roll(&d, 2))
				at = img_block(&img, img_inode(&before, ino)->ptr[0]);
			memcpy(at + roll(&d, LAB_INODE_BYTES / 4) * 4, &word, 4);
			img_seal_inode(&img, ino);
		}
		sample_check(&img, AS_FSCK_FULL, "", false, &run);
		tree_walk(tree, &img);
		for (unsigned i = 0, t = 0; i < sound->count; i++) {
			const struct tree_entry *e = &sound->entry[i];

			if (!strncmp(e->path, "/a", 2) && strcmp(e->path, "/attr"))
				continue;
			while (t < tree->count && tree_order(&tree->entry[t], e) < 0)
				t++;
			if (t == tree->count || tree_order(&tree->entry[t], e) ||
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
		cmocka_unit_test(test_others_survive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
