/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_flush: every flush of the file system is needed. With any one left out, some power cut does
 * harm that is noticed; with all in place, the same workloads pass.
 */
#include "tests/lib/lab_cut.h"
#include "tests/lib/lab_workload.h"

static void run(struct crashlab *lab, unsigned steps, uint64_t seed)
{
	struct load w = { .r = &lab->r, .rng = seed * 0x2545f4914f6cdd1du + 7 };

	for (unsigned i = 0; i < steps; i++) {
		t_load_step(&w);
		t_crash_step(lab, w.synced);
	}
	t_load_end(&w);
	t_crash_step(lab, false);
}

/* Ends a workload as a power cut would: the disk keeps all that was written, the journal is full of
 * small transactions. Recording starts anew with the mount of what is left. */
static void cut_and_mount(struct crashlab *lab)
{
	size_t size = lab->r.disk.bd.size_bytes;
	uint8_t *disk = malloc(size);

	memcpy(disk, lab->r.disk.disk, size);
	lab->r.disk.recording = false;
	assert_int_equal(t_rig_unmount(&lab->r), 0);
	memcpy(lab->r.disk.disk, disk, size);
	free(disk);
	for (uint32_t i = 0; i < lab->nshots; i++)
		t_free_shot(&lab->shots[i]);
	lab->nshots = 0;
	lab->r.disk.mark = 0;
	t_mem_record(&lab->r.disk);
	assert_int_equal(t_rig_mount(&lab->r, false), 0);
	t_crash_step(lab, true);
	/* What the mount wrote may not be stable yet; the tree was the same before, too. */
	lab->synced_at[0] = 0;
}

/* Files that take over the blocks of removed ones. */
static void run_reuse(struct crashlab *lab, uint64_t seed)
{
	for (char i = 1; i < 10; i++) {
		char path[8], old[8], tag = i;

		snprintf(path, sizeof(path), "/f%d", i);
		snprintf(old, sizeof(old), "/f%d", i - 1);
		assert_int_equal(t_touch(&lab->r, path), 0);
		t_crash_step(lab, false);
		assert_int_equal(FS->setxattr(lab->r.fs, path, "user.tag", &tag, 1, 0), 0);
		t_crash_step(lab, false);
		assert_int_equal(t_put_at(&lab->r, path, 0, (uint8_t)i, 1000 * seed, 0),
				 1000 * seed);
		t_crash_step(lab, false);
		assert_int_equal(FS->sync(lab->r.fs), 0);
		t_crash_step(lab, true);
		(void)FS->unlink(lab->r.fs, old);
		t_crash_step(lab, false);
		assert_int_equal(FS->sync(lab->r.fs), 0);
		t_crash_step(lab, true);
	}
}

/* Small transactions, then one that is written over several of them. */
static void run_small_and_big(struct crashlab *lab, uint64_t seed)
{
	char path[16];

	for (unsigned i = 0; i < 14; i++) {
		struct as_stat st = { .uid = i };

		assert_int_equal(FS->setattr(lab->r.fs, "/", &st, AS_SET_UID), 0);
		t_crash_step(lab, false);
		assert_int_equal(FS->sync(lab->r.fs), 0);
		t_crash_step(lab, true);
	}
	for (unsigned i = 0; i < 4 + seed; i++) {
		snprintf(path, sizeof(path), "/d%u", i);
		assert_int_equal(FS->mkdir(lab->r.fs, path, 0755), 0);
		t_crash_step(lab, false);
	}
	assert_int_equal(FS->sync(lab->r.fs), 0);
	t_crash_step(lab, true);
}

static bool noticed(const char *opts, uint64_t seed, enum lab_flush site)
{
	bool second_mount = site == LAB_FLUSH_REPLAY_CLEAR;
	struct crashlab lab;
	bool found;

	t_crash_open(&lab, 256 * 1024, opts, seed);
	lab.singles = 30;
	lab.trials = site == LAB_FLUSH_CKPT_TAIL ? 100 : 24;
	lab.recovery_odds = 3;
	if (second_mount) {
		struct load w = { .r = &lab.r, .rng = seed * 77 + 1 };

		for (int i = 0; i < 30; i++) {
			t_load_step(&w);
			assert_int_equal(FS->sync(lab.r.fs), 0);
		}
		t_load_end(&w);
		cut_and_mount(&lab);
	}
	if (site == LAB_FLUSH_COMMIT_BODY)
		run_reuse(&lab, seed);
	else if (site == LAB_FLUSH_CKPT_TAIL)
		run_small_and_big(&lab, seed);
	else
		run(&lab, second_mount ? 60 : 150, seed);
	t_crash_judge(&lab);
	found = lab.verdict[0];
	if (found && !opts[0])
		print_message("seed %lu: %s\n", seed, lab.verdict);
	t_crash_close(&lab);
	return found;
}

static void test_each_needed(void **state)
{
	(void)state;
	for (enum lab_flush site = 0; site < LAB_FLUSH_UNMOUNT; site++) {
		const char *id = lab_flush_row(site)->id;
		uint64_t seed = 1;
		char opts[64];

		snprintf(opts, sizeof(opts), "noflush=%s", id);
		while (seed < 60 && !noticed(opts, seed, site))
			seed++;
		if (seed == 60)
			fail_msg("nobody misses flush %s", id);
		print_message("%s: seed %lu\n", id, seed);
		if (noticed("", seed, site))
			fail_msg("seed %lu fails with all flushes in place", seed);
	}
}

/* The last flush of all: what unmount wrote stays when the disk is taken away. */
static void test_unmount(void **state)
{
	struct rig r;

	(void)state;
	t_rig_open(&r, 256 * 1024, "");
	assert_int_equal(t_touch(&r, "/a"), 0);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_equal(r.disk.unflushed, 0);
	r.opts = "noflush=UNMOUNT";
	assert_int_equal(t_rig_mount(&r, false), 0);
	assert_int_equal(t_touch(&r, "/b"), 0);
	assert_int_equal(t_rig_unmount(&r), 0);
	assert_int_not_equal(r.disk.unflushed, 0);
	t_rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_needed),
		cmocka_unit_test(test_unmount),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
