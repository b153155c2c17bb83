/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the exit statuses of checkers mean, asked of the checkers that are here: each is run, in
 * each of its ways, on a sound disk, on damaged ones, on one of which a read fails, on one of
 * zeros, and with an option that there is not. The table below says what that gives, by the
 * programs' sources: a status, and what it means. assay has to say the same of the run, and each
 * status that comes has to be one that checker.def lists. A checker with a row there and none here
 * fails the test.
 *
 * Damage is drawn from a seed: a bit among the bytes in use. How many disks or reads it takes until
 * one gives the status depends on the program; that none does is a failure.
 */
#include "tests/lib/skip.h"

#include "base/array.h"
#include "base/prng.h"
#include "disk/cow.h"
#include "target/fstype.h"
#include "tool/checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_MS 20000
#define NO_SUCH_OPTION "--there-is-no-such-option"

enum provocation { SOUND, DAMAGED, UNREADABLE, EMPTY, MISUSED, PROVOCATIONS };

static const char *const provocations[PROVOCATIONS] = { "a sound disk", "a damaged disk",
							"a read that fails", "zeros",
							"no such option" };
static const unsigned tries[PROVOCATIONS] = { 1, 60, 60, 1, 1 };

#define QUICK AS_CHECK_QUICK
#define DEFAULT AS_CHECK_DEFAULT
#define FULL AS_CHECK_FULL
#define LOOK AS_CHECK_LOOK
#define OTHER AS_CHECK_OTHER

static const struct row {
	const char *checker;
	unsigned way;
	enum provocation how;
	int status;
	enum as_check_answer answer;
} rows[] = {
	{ "e2fsck", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "e2fsck", QUICK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "e2fsck", QUICK, EMPTY, 8, AS_CHECK_FAILED },
	{ "e2fsck", QUICK, MISUSED, 16, AS_CHECK_FAILED },
	{ "e2fsck", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "e2fsck", DEFAULT, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "e2fsck", DEFAULT, EMPTY, 8, AS_CHECK_FAILED },
	{ "e2fsck", DEFAULT, MISUSED, 16, AS_CHECK_FAILED },
	{ "e2fsck", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "e2fsck", FULL, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "e2fsck", FULL, EMPTY, 8, AS_CHECK_FAILED },
	{ "e2fsck", FULL, MISUSED, 16, AS_CHECK_FAILED },
	/* 12: it gives up on what it has found. */
	{ "e2fsck", LOOK, SOUND, 0, AS_CHECK_CLEAN },
	{ "e2fsck", LOOK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "e2fsck", LOOK, DAMAGED, 12, AS_CHECK_FAILED },
	{ "e2fsck", LOOK, EMPTY, 8, AS_CHECK_FAILED },
	{ "e2fsck", LOOK, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.minix", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.minix", QUICK, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.minix", QUICK, EMPTY, 8, AS_CHECK_FAILED },
	{ "fsck.minix", QUICK, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.minix", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.minix", DEFAULT, DAMAGED, 3, AS_CHECK_REPAIRED },
	{ "fsck.minix", DEFAULT, DAMAGED, 7, AS_CHECK_REPAIRED_LEFT },
	{ "fsck.minix", DEFAULT, UNREADABLE, 4, AS_CHECK_LEFT },
	{ "fsck.minix", DEFAULT, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.minix", DEFAULT, EMPTY, 8, AS_CHECK_FAILED },
	{ "fsck.minix", DEFAULT, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.minix", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.minix", FULL, DAMAGED, 3, AS_CHECK_REPAIRED },
	{ "fsck.minix", FULL, DAMAGED, 7, AS_CHECK_REPAIRED_LEFT },
	{ "fsck.minix", FULL, UNREADABLE, 4, AS_CHECK_LEFT },
	{ "fsck.minix", FULL, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.minix", FULL, EMPTY, 8, AS_CHECK_FAILED },
	{ "fsck.minix", FULL, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.minix", LOOK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.minix", LOOK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "fsck.minix", LOOK, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.minix", LOOK, EMPTY, 8, AS_CHECK_FAILED },
	{ "fsck.minix", LOOK, MISUSED, 16, AS_CHECK_FAILED },
	/* Its status says nothing of an option that it does not know; of a sound disk, 1. */
	{ "reiserfsck", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "reiserfsck", QUICK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "reiserfsck", QUICK, DAMAGED, 6, AS_CHECK_LEFT },
	{ "reiserfsck", QUICK, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "reiserfsck", QUICK, EMPTY, 8, AS_CHECK_FAILED },
	{ "reiserfsck", QUICK, MISUSED, 0, AS_CHECK_CLEAN },
	{ "reiserfsck", DEFAULT, SOUND, 1, AS_CHECK_REPAIRED },
	{ "reiserfsck", DEFAULT, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "reiserfsck", DEFAULT, DAMAGED, 4, AS_CHECK_LEFT },
	{ "reiserfsck", DEFAULT, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "reiserfsck", DEFAULT, EMPTY, 8, AS_CHECK_FAILED },
	{ "reiserfsck", DEFAULT, MISUSED, 0, AS_CHECK_CLEAN },
	{ "reiserfsck", FULL, SOUND, 1, AS_CHECK_REPAIRED },
	{ "reiserfsck", FULL, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "reiserfsck", FULL, DAMAGED, 4, AS_CHECK_LEFT },
	{ "reiserfsck", FULL, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "reiserfsck", FULL, EMPTY, 8, AS_CHECK_FAILED },
	{ "reiserfsck", FULL, MISUSED, 0, AS_CHECK_CLEAN },
	{ "reiserfsck", OTHER, SOUND, 0, AS_CHECK_CLEAN },
	{ "reiserfsck", OTHER, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "reiserfsck", OTHER, DAMAGED, 16, AS_CHECK_FAILED },
	{ "reiserfsck", OTHER, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "reiserfsck", OTHER, EMPTY, 8, AS_CHECK_FAILED },
	{ "reiserfsck", OTHER, MISUSED, 16, AS_CHECK_FAILED },
	/* It says 0 of what it has repaired. */
	{ "jfs_fsck", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "jfs_fsck", QUICK, UNREADABLE, 4, AS_CHECK_LEFT },
	{ "jfs_fsck", QUICK, EMPTY, 8, AS_CHECK_FAILED },
	{ "jfs_fsck", QUICK, MISUSED, 16, AS_CHECK_FAILED },
	{ "jfs_fsck", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "jfs_fsck", DEFAULT, EMPTY, 8, AS_CHECK_FAILED },
	{ "jfs_fsck", DEFAULT, MISUSED, 16, AS_CHECK_FAILED },
	{ "jfs_fsck", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "jfs_fsck", FULL, DAMAGED, 4, AS_CHECK_LEFT },
	{ "jfs_fsck", FULL, EMPTY, 8, AS_CHECK_FAILED },
	{ "jfs_fsck", FULL, MISUSED, 16, AS_CHECK_FAILED },
	{ "jfs_fsck", LOOK, SOUND, 0, AS_CHECK_CLEAN },
	{ "jfs_fsck", LOOK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "jfs_fsck", LOOK, UNREADABLE, 4, AS_CHECK_LEFT },
	{ "jfs_fsck", LOOK, EMPTY, 8, AS_CHECK_FAILED },
	{ "jfs_fsck", LOOK, MISUSED, 16, AS_CHECK_FAILED },
	/* fsck_usage() ends with 1, which no command of a row meets. */
	{ "fsck.f2fs", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.f2fs", QUICK, UNREADABLE, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", QUICK, EMPTY, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.f2fs", DEFAULT, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.f2fs", DEFAULT, UNREADABLE, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", DEFAULT, EMPTY, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.f2fs", FULL, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.f2fs", FULL, UNREADABLE, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", FULL, EMPTY, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", OTHER, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.f2fs", OTHER, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.f2fs", OTHER, UNREADABLE, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", OTHER, EMPTY, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", LOOK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.f2fs", LOOK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "fsck.f2fs", LOOK, DAMAGED, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", LOOK, UNREADABLE, 255, AS_CHECK_FAILED },
	{ "fsck.f2fs", LOOK, EMPTY, 255, AS_CHECK_FAILED },
	{ "fsck.fat", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.fat", QUICK, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.fat", QUICK, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "fsck.fat", QUICK, EMPTY, 1, AS_CHECK_FAILED },
	{ "fsck.fat", QUICK, MISUSED, 2, AS_CHECK_FAILED },
	{ "fsck.fat", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.fat", DEFAULT, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.fat", DEFAULT, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "fsck.fat", DEFAULT, EMPTY, 1, AS_CHECK_FAILED },
	{ "fsck.fat", DEFAULT, MISUSED, 2, AS_CHECK_FAILED },
	{ "fsck.fat", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.fat", FULL, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.fat", FULL, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "fsck.fat", FULL, EMPTY, 1, AS_CHECK_FAILED },
	{ "fsck.fat", FULL, MISUSED, 2, AS_CHECK_FAILED },
	{ "fsck.fat", LOOK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.fat", LOOK, DAMAGED, 1, AS_CHECK_LEFT },
	{ "fsck.fat", LOOK, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "fsck.fat", LOOK, EMPTY, 1, AS_CHECK_FAILED },
	{ "fsck.fat", LOOK, MISUSED, 2, AS_CHECK_FAILED },
	{ "fsck.exfat", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.exfat", QUICK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "fsck.exfat", QUICK, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.exfat", QUICK, EMPTY, 8, AS_CHECK_FAILED },
	{ "fsck.exfat", QUICK, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.exfat", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.exfat", DEFAULT, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.exfat", DEFAULT, DAMAGED, 4, AS_CHECK_LEFT },
	{ "fsck.exfat", DEFAULT, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.exfat", DEFAULT, EMPTY, 8, AS_CHECK_FAILED },
	{ "fsck.exfat", DEFAULT, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.exfat", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.exfat", FULL, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.exfat", FULL, DAMAGED, 4, AS_CHECK_LEFT },
	{ "fsck.exfat", FULL, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.exfat", FULL, EMPTY, 8, AS_CHECK_FAILED },
	{ "fsck.exfat", FULL, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.exfat", LOOK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.exfat", LOOK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "fsck.exfat", LOOK, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.exfat", LOOK, EMPTY, 8, AS_CHECK_FAILED },
	{ "fsck.exfat", LOOK, MISUSED, 16, AS_CHECK_FAILED },
	/* With -n, that it cannot work and that it has found something is one status. */
	{ "xfs_repair", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "xfs_repair", QUICK, DAMAGED, 1, AS_CHECK_LEFT },
	{ "xfs_repair", QUICK, UNREADABLE, 1, AS_CHECK_LEFT },
	{ "xfs_repair", QUICK, EMPTY, 1, AS_CHECK_LEFT },
	{ "xfs_repair", QUICK, MISUSED, 1, AS_CHECK_LEFT },
	{ "xfs_repair", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "xfs_repair", DEFAULT, DAMAGED, 4, AS_CHECK_REPAIRED },
	{ "xfs_repair", DEFAULT, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "xfs_repair", DEFAULT, UNREADABLE, 2, AS_CHECK_FAILED },
	{ "xfs_repair", DEFAULT, EMPTY, 1, AS_CHECK_FAILED },
	{ "xfs_repair", DEFAULT, MISUSED, 1, AS_CHECK_FAILED },
	{ "xfs_repair", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "xfs_repair", FULL, DAMAGED, 4, AS_CHECK_REPAIRED },
	{ "xfs_repair", FULL, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "xfs_repair", FULL, UNREADABLE, 2, AS_CHECK_FAILED },
	{ "xfs_repair", FULL, EMPTY, 1, AS_CHECK_FAILED },
	{ "xfs_repair", FULL, MISUSED, 1, AS_CHECK_FAILED },
	/* What a flipped bit does to a block, its other copy mends, or nothing can be opened: for
	 * damage that it leaves, and says so, checksums have to be computed anew. */
	{ "btrfs", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "btrfs", QUICK, DAMAGED, 1, AS_CHECK_FAILED },
	{ "btrfs", QUICK, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "btrfs", QUICK, EMPTY, 1, AS_CHECK_FAILED },
	{ "btrfs", QUICK, MISUSED, 0, AS_CHECK_FAILED },
	{ "btrfs", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "btrfs", FULL, DAMAGED, 1, AS_CHECK_FAILED },
	{ "btrfs", FULL, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "btrfs", FULL, EMPTY, 1, AS_CHECK_FAILED },
	{ "btrfs", FULL, MISUSED, 0, AS_CHECK_FAILED },
	{ "btrfs", LOOK, SOUND, 0, AS_CHECK_CLEAN },
	{ "btrfs", LOOK, DAMAGED, 1, AS_CHECK_FAILED },
	{ "btrfs", LOOK, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "btrfs", LOOK, EMPTY, 1, AS_CHECK_FAILED },
	{ "btrfs", LOOK, MISUSED, 0, AS_CHECK_FAILED },
	{ "btrfs", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "btrfs", DEFAULT, DAMAGED, 1, AS_CHECK_FAILED },
	{ "btrfs", DEFAULT, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "btrfs", DEFAULT, EMPTY, 1, AS_CHECK_FAILED },
	{ "btrfs", DEFAULT, MISUSED, 0, AS_CHECK_FAILED },
	{ "btrfs", OTHER, SOUND, 0, AS_CHECK_CLEAN },
	{ "btrfs", OTHER, DAMAGED, 1, AS_CHECK_FAILED },
	{ "btrfs", OTHER, UNREADABLE, 1, AS_CHECK_FAILED },
	{ "btrfs", OTHER, EMPTY, 1, AS_CHECK_FAILED },
	{ "btrfs", OTHER, MISUSED, 0, AS_CHECK_FAILED },
	{ "fsck.gfs2", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.gfs2", QUICK, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.gfs2", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.gfs2", DEFAULT, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.gfs2", DEFAULT, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.gfs2", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.gfs2", FULL, DAMAGED, 1, AS_CHECK_REPAIRED },
	{ "fsck.gfs2", FULL, MISUSED, 16, AS_CHECK_FAILED },
	{ "fsck.gfs2", LOOK, SOUND, 0, AS_CHECK_CLEAN },
	{ "fsck.gfs2", LOOK, DAMAGED, 4, AS_CHECK_LEFT },
	{ "fsck.gfs2", LOOK, UNREADABLE, 8, AS_CHECK_FAILED },
	{ "fsck.gfs2", LOOK, MISUSED, 16, AS_CHECK_FAILED },
	{ "ntfsfix", QUICK, SOUND, 0, AS_CHECK_CLEAN },
	{ "ntfsfix", QUICK, EMPTY, 1, AS_CHECK_LEFT },
	{ "ntfsfix", QUICK, MISUSED, 1, AS_CHECK_LEFT },
	{ "ntfsfix", DEFAULT, SOUND, 0, AS_CHECK_CLEAN },
	{ "ntfsfix", DEFAULT, EMPTY, 1, AS_CHECK_LEFT },
	{ "ntfsfix", DEFAULT, MISUSED, 1, AS_CHECK_LEFT },
	{ "ntfsfix", FULL, SOUND, 0, AS_CHECK_CLEAN },
	{ "ntfsfix", FULL, EMPTY, 1, AS_CHECK_LEFT },
	{ "ntfsfix", FULL, MISUSED, 1, AS_CHECK_LEFT },
};

/* Whom this test does not ask, and why. */
static const struct {
	const char *checker, *why;
} others[] = {
	{ "labfs-fsck", "tests/fsck asks it, with each of its bugs" },
	{ "", "a library's is called and has no status" },
	{ "fsck.ocfs2", "it wants a device: by hand 0 if sound, 8 of zeros, 16 if misused" },
	{ "fsck.hfsplus", "Debian 12 does not have it" },
};

static const char *why_not(const struct as_checker *checker)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(others[i].checker, checker->name))
			return others[i].why;
	return NULL;
}

struct rig {
	const struct as_checker *checker;
	const struct as_fstype *type;
	struct as_chunks *store;
	struct as_disk *sound;
	uint32_t *used; /* sectors that are not zero */
	size_t n_used, cap_used;
};

static const struct as_fstype *type_of(const struct as_checker *checker)
{
	const struct as_fstype *type;
	struct as_buf why = { 0 };

	for (unsigned i = 0; (type = as_fstype_at(i)); i++)
		if (type->checker && !type->server && !strcmp(type->checker, checker->name) &&
		    !as_fstype_lacks_tools(type, &why))
			break;
	as_buf_free(&why);
	return type;
}

static void note_used(struct rig *rig)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];

	for (uint64_t at = 0; at < as_disk_size(rig->sound); at += sizeof(sector)) {
		bool zero = true;

		assert_int_equal(as_bd_read(as_disk_bd(rig->sound), at, sector, sizeof(sector)), 0);
		for (size_t i = 0; zero && i < sizeof(sector); i++)
			zero = !sector[i];
		if (zero)
			continue;
		AS_ARRAY_ROOM(rig->used, rig->n_used, rig->cap_used);
		rig->used[rig->n_used++] = (uint32_t)(at / sizeof(sector));
	}
}

static void make_sound(struct rig *rig)
{
	struct as_checkers *checkers = as_checkers_new(NULL);
	struct as_tool_result made;
	struct as_disk *disk;
	struct as_err err = { 0 };

	rig->store = as_chunks_new();
	assert_int_equal(as_disk_new(rig->store, rig->type->default_bytes, &disk, &err), 0);
	if (as_checker_mkfs(checkers, rig->type, disk, &made, &err))
		fail_msg("%s: %s", rig->type->name, err.msg);
	rig->sound = as_disk_snapshot(made.disk);
	note_used(rig);
	as_tool_result_free(&made);
	as_disk_free(disk);
	as_checkers_free(checkers);
}

static struct as_disk *damage(struct rig *rig, uint64_t seed)
{
	struct as_disk *disk = as_disk_snapshot(rig->sound);
	struct as_prng prng = as_prng_seed(seed);
	unsigned char sector[AS_DISK_SECTOR_BYTES];
	uint64_t at = (uint64_t)rig->used[as_prng_below(&prng, rig->n_used)] * sizeof(sector);
	size_t byte = as_prng_below(&prng, sizeof(sector));

	assert_int_equal(as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)), 0);
	while (!sector[byte])
		byte = (byte + 1) % sizeof(sector);
	sector[byte] ^= (unsigned char)(1u << as_prng_below(&prng, 8));
	assert_int_equal(as_bd_write(as_disk_bd(disk), at, sector, sizeof(sector)), 0);
	return disk;
}

static struct as_disk *disk_for(struct rig *rig, enum provocation how, unsigned nth)
{
	struct as_disk *disk = NULL;

	if (how == DAMAGED)
		return damage(rig, nth);
	if (how != EMPTY)
		return as_disk_snapshot(rig->sound);
	assert_int_equal(as_disk_new(rig->store, as_disk_size(rig->sound), &disk, NULL), 0);
	return disk;
}

static void run(struct rig *rig, struct as_tool *tool, const struct row *row, unsigned nth,
		struct as_tool_result *result)
{
	const struct as_checker_way *way = &rig->checker->ways[row->way];
	struct as_disk *disk = disk_for(rig, row->how, nth);
	struct as_buf command = { 0 };
	struct as_tool_job job = { .input = way->input,
				   .flags = rig->checker->block ? AS_TOOL_BLOCK : 0,
				   .fail_read = row->how == UNREADABLE ? nth : 0 };
	struct as_err err = { 0 };
	char **argv;

	if (row->how == MISUSED)
		as_buf_addf(&command, "%.*s " NO_SUCH_OPTION " {disk}",
			    (int)(strstr(way->command, " {disk}") - way->command), way->command);
	else
		as_buf_adds(&command, way->command);
	argv = as_fstype_argv(as_buf_str(&command),
			      &(struct as_fstype_disks){ .disk = AS_TOOL_DISK });
	job.argv = argv;
	if (as_tool_run(tool, &job, disk, result, &err))
		fail_msg("%s: %s", way->command, err.msg);
	as_fstype_free_words(argv);
	as_buf_free(&command);
	as_disk_free(disk);
}

/* Whether a run gives what the row says. What another one gives must be listed, too. */
static bool fits(const struct rig *rig, const struct row *row, const struct as_tool_result *result)
{
	bool looks = rig->checker->ways[row->way].looks, listed;
	enum as_check_answer answer;

	if (result->ended.how != AS_END_EXIT)
		return false;
	answer = as_checker_answer(rig->checker, looks, result->ended.status,
				   as_buf_str(&result->output), &listed);
	if (!listed)
		fail_msg("`%s`, %s: status %d is not listed: %s",
			 rig->checker->ways[row->way].command, provocations[row->how],
			 result->ended.status, as_buf_str(&result->output));
	/* What only looks leaves a disk alone that it finds damaged, but for its notes. */
	if (looks && answer == AS_CHECK_LEFT && !rig->checker->tests->check_books)
		assert_false(result->changed);
	return result->ended.status == row->status && answer == row->answer;
}

static void provoke(struct rig *rig, struct as_tool *tool, const struct row *row)
{
	struct as_buf others = { 0 };
	bool done = false;

	for (unsigned nth = 1; !done && nth <= tries[row->how]; nth++) {
		struct as_tool_result result = { 0 };

		run(rig, tool, row, nth, &result);
		done = fits(rig, row, &result);
		as_buf_addf(&others, " %d", result.ended.status);
		as_tool_result_free(&result);
	}
	if (!done)
		fail_msg("`%s`, %s: %d (%s) does not come, but%s",
			 rig->checker->ways[row->way].command, provocations[row->how], row->status,
			 as_check_answer_name(row->answer), as_buf_str(&others));
	as_buf_free(&others);
}

static void provoke_all(struct rig *rig)
{
	char **envp = as_fstype_envp(rig->type);
	const struct as_tool_setup setup = { .envp = envp, .deadline_ms = DEADLINE_MS };
	struct as_tool *tool;
	struct as_err err;

	if (as_tool_start(rig->checker->name, &setup, &tool, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].checker, rig->checker->name))
			provoke(rig, tool, &rows[i]);
	as_tool_free(tool);
	as_fstype_free_words(envp);
}

static void test_provoked(void **state)
{
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; as_checker_at(i); i++) {
		struct rig rig = { .checker = as_checker_at(i) };

		if (why_not(rig.checker))
			continue;
		rig.type = type_of(rig.checker);
		if (!rig.type) {
			print_message("%s is not here\n", rig.checker->name);
			continue;
		}
		make_sound(&rig);
		provoke_all(&rig);
		n++;
		as_disk_free(rig.sound);
		as_chunks_free(rig.store);
		free(rig.used);
	}
	if (!n)
		skip_because("no checker is here");
}

static bool has_row(const struct as_checker *checker, unsigned way, bool sound)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].checker, checker->name) && rows[i].way == way &&
		    (sound ? rows[i].how == SOUND : rows[i].how >= UNREADABLE))
			return true;
	return false;
}

/* No way of a checker is forgotten: each has a sound disk, and what it does if it cannot work. */
static void test_table(void **state)
{
	const struct as_checker *checker;

	(void)state;
	for (unsigned i = 0; (checker = as_checker_at(i)); i++)
		for (unsigned way = 0; way < AS_CHECK_WAYS && !why_not(checker); way++)
			if (checker->ways[way].command &&
			    (!has_row(checker, way, true) || !has_row(checker, way, false)))
				fail_msg("`%s` is not provoked", checker->ways[way].command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_provoked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
