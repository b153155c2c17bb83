/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every checker that is here, through the shim and on a plain file: 50 damaged disks each, and the
 * recovered disks must be equal byte for byte, and so must the exit status.
 *
 * The plain run is the program as it is on a file in memory. Programs that write the time of day, a
 * process id or random numbers to the disk differ from one plain run to the next; these run once
 * more with the shim in the program but without a disk (AS_SHIM_CLOCK): all I/O is the kernel's
 * own, and only the clock stands still. What even then is not the same in two plain runs (memory
 * that the program forgot to clear) is left out byte by byte, and counted.
 *
 * Disks are made by the type's own mkfs and filled where it can do that; damage is drawn from a
 * seed: flipped bits, zeroed and exchanged blocks among those in use.
 */
#include "base/choice.h"
#include "disk/image.h"
#include "os/spawn.h"
#include "tests/lib/fill_raw.h"
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"
#include "tool/checker.h"
#include "tool/shim/proto.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_DISKS 50u
#define N_FILES 24u
#define DEADLINE_MS 2000 /* ten times what any of them takes */
#define PATIENCE 20 /* on a busy machine a plain run that should end may take longer */
#define MIB *(UINT64_C(1) << 20)

struct row {
	const char *type;
	uint64_t size_bytes;
	/* mkfs and what fills the disk, run one after the other; {tree} is a folder, {disk} the
	 * file. NULL: the row of the table makes it. */
	const char *make, *fill;
};

static const struct row rows[] = {
	{ "ext2", 1 MIB, "mke2fs -q -F -t ext2 -d {tree} {disk}", NULL },
	{ "ext3", 4 MIB, "mke2fs -q -F -t ext3 -d {tree} {disk}", NULL },
	{ "ext4", 4 MIB, "mke2fs -q -F -t ext4 -d {tree} {disk}", NULL },
	{ "xfs", 16 MIB, "mkfs.xfs -q -f -p {tree}.proto {disk}", NULL },
	{ "btrfs", 16 MIB, "mkfs.btrfs -q -f --mixed --rootdir {tree} {disk}", NULL },
	{ "f2fs", 64 MIB, NULL, "sload.f2fs -f {tree} {disk}" },
	{ "jfs", 16 MIB, NULL, NULL },
	{ "reiserfs", 4 MIB, NULL, NULL },
	{ "gfs2", 24 MIB, NULL, NULL },
	{ "minix", 1 MIB, NULL, NULL },
	{ "minix2", 1 MIB, NULL, NULL },
	{ "minix3", 1 MIB, NULL, NULL },
	{ "vfat", 1 MIB, NULL, NULL },
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

struct rig {
	const char *dir;
	char tree[PATH_MAX], path[PATH_MAX];
	int shim_fd;
	struct as_chunks *store;
};

static struct rig rig;

static void check(int rc, const struct as_err *err)
{
	if (rc)
		fail_msg("%s", err->msg);
}

/* ---- A tree to fill disks with ---- */

static void write_file(const char *path, size_t len, unsigned seed)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < len; i++)
		fputc((int)((i * 31 + seed) & 0xff), f);
	assert_int_equal(fclose(f), 0);
}

static void make_tree(void)
{
	char path[PATH_MAX + 64];
	FILE *proto;

	assert_int_equal(mkdir(rig.tree, 0755), 0);
	for (unsigned d = 0; d < 3; d++) {
		snprintf(path, sizeof(path), "%s/d%u", rig.tree, d);
		assert_int_equal(mkdir(path, 0755), 0);
		for (unsigned i = 0; i < N_FILES / 3; i++) {
			snprintf(path, sizeof(path), "%s/d%u/file-%u", rig.tree, d, i);
			write_file(path, i * i * 97, i);
		}
		snprintf(path, sizeof(path), "%s/d%u/link", rig.tree, d);
		assert_int_equal(symlink("file-1", path), 0);
	}
	/* The same for mkfs.xfs, which takes a description. */
	snprintf(path, sizeof(path), "%s.proto", rig.tree);
	proto = fopen(path, "w");
	assert_non_null(proto);
	fprintf(proto, "/\n0 0\nd--755 0 0\n");
	for (unsigned d = 0; d < 3; d++) {
		fprintf(proto, "d%u d--755 0 0\n", d);
		for (unsigned i = 0; i < N_FILES / 3; i++)
			fprintf(proto, "file-%u ---644 0 0 %s/d%u/file-%u\n", i, rig.tree, d, i);
		fprintf(proto, "link l--777 0 0 file-1\n$\n");
	}
	fprintf(proto, "$\n");
	assert_int_equal(fclose(proto), 0);
}

static int set_up(void **state)
{
	struct as_err err = { 0 };

	(void)state;
	/* jfs_fsck writes pointers to the disk: let them be the same in all runs. */
	personality(ADDR_NO_RANDOMIZE);
	/* In memory where there is such a place: the plain runs are most of the time. */
	rig.dir = t_tmpdir_in("/dev/shm");
	if (!rig.dir)
		rig.dir = t_tmpdir();
	snprintf(rig.tree, sizeof(rig.tree), "%s/tree", rig.dir);
	snprintf(rig.path, sizeof(rig.path), "%s/disk", rig.dir);
	make_tree();
	check(as_tool_shim_fd(&rig.shim_fd, &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(rig.shim_fd);
	return 0;
}

/* ---- Plain runs ---- */

/* The command on the plain file; clock: with the standing clock in it. */
static struct as_ended run_plain(const struct as_fstype *type, const char *command,
				 const char *input, bool clock, unsigned deadline_ms,
				 struct as_buf *output)
{
	char **argv = as_fstype_argv(command, &(struct as_fstype_disks){ .disk = rig.path }),
	     **envp = as_fstype_envp(type);
	struct as_spawn spawn = {
		.argv = argv, .input = input, .output = output, .deadline_ms = deadline_ms
	};
	struct as_err err = { 0 };
	struct as_ended ended;
	char preload[64];
	size_t n = 0;

	while (envp[n])
		n++;
	envp = as_xrealloc(envp, (n + 4) * sizeof(*envp));
	if (clock) {
		snprintf(preload, sizeof(preload), "LD_PRELOAD=/proc/%d/fd/%d", (int)getpid(),
			 rig.shim_fd);
		envp[n++] = as_xstrdup(preload);
		envp[n++] = as_xstrdup(AS_SHIM_ENV "=" AS_SHIM_CLOCK);
		envp[n] = NULL;
	}
	spawn.envp = envp;
	check(as_spawn_run(&spawn, &ended, &err), &err);
	as_fstype_free_words(argv);
	as_fstype_free_words(envp);
	return ended;
}

static void put_plain(struct as_disk *disk)
{
	struct as_err err = { 0 };

	check(as_image_export_raw(disk, rig.path, &err), &err);
}

static struct as_disk *get_plain(uint64_t size)
{
	struct as_err err = { 0 };
	struct as_disk *disk = NULL;

	/* A checker may make a file longer than the disk it is. */
	assert_int_equal(truncate(rig.path, (off_t)size), 0);
	check(as_image_import_raw(rig.store, rig.path, &disk, &err), &err);
	unlink(rig.path);
	return disk;
}

/* ---- Making and damaging disks ---- */

static void run_or_skip(const struct as_fstype *type, const char *command)
{
	struct as_buf words = { 0 }, output = { 0 };
	char program[64], found[4096];
	struct as_ended ended;

	snprintf(program, sizeof(program), "%.*s", (int)strcspn(command, " "), command);
	if (!as_spawn_which(program, found, sizeof(found)))
		skip_because("%s is not here (package %s)", program, type->package);
	for (const char *s = command; *s; s++)
		if (!strncmp(s, "{tree}", 6)) {
			as_buf_adds(&words, rig.tree);
			s += 5;
		} else {
			as_buf_addc(&words, *s);
		}
	ended = run_plain(type, as_buf_str(&words), NULL, true, PATIENCE * DEADLINE_MS, &output);
	if (ended.how != AS_END_EXIT || ended.status)
		fail_msg("%s: status %d: %s", as_buf_str(&words), ended.status,
			 as_buf_str(&output));
	as_buf_free(&words);
	as_buf_free(&output);
}

/* Types whose tools cannot copy files in, but are simple enough to do it here. */
static void fill_by_hand(const struct as_fstype *type, struct as_disk *disk)
{
	struct as_bd *bd = as_disk_bd(disk);
	unsigned char *bytes = as_xmalloc(bd->size_bytes);

	assert_int_equal(as_bd_read(bd, 0, bytes, bd->size_bytes), 0);
	if (!strncmp(type->name, "minix", 5))
		t_fill_minix(bytes, type->name[5] ? (unsigned)type->name[5] - '0' : 1);
	else if (!strcmp(type->name, "vfat"))
		t_fill_fat(bytes);
	assert_int_equal(as_bd_write(bd, 0, bytes, bd->size_bytes), 0);
	free(bytes);
}

/* The disks that the tests start with must be sound. (quick: when reiserfsck is told to repair, it
 * says that it did, whatever it found.) */
static void assert_clean(const struct as_fstype *type, struct as_disk *disk,
			 struct as_checkers *checkers)
{
	struct as_checked checked;
	struct as_err err = { 0 };

	check(as_checker_run(checkers, type, AS_CHECK_QUICK, disk, 0, &checked, &err), &err);
	if (checked.answer != AS_CHECK_CLEAN)
		fail_msg("%s: not clean before any damage: %s", type->name,
			 as_buf_str(&checked.run.output));
	as_checked_free(&checked);
}

static struct as_disk *fresh_disk(const struct row *row, const struct as_fstype *type)
{
	struct as_err err = { 0 };
	struct as_disk *disk;

	check(as_disk_new(rig.store, row->size_bytes, &disk, &err), &err);
	put_plain(disk);
	as_disk_free(disk);
	run_or_skip(type, row->make ? row->make : type->mkfs);
	if (row->fill)
		run_or_skip(type, row->fill);
	disk = get_plain(row->size_bytes);
	fill_by_hand(type, disk);
	return disk;
}

struct used {
	uint64_t index[1 << 14];
	unsigned n;
};

static int note_used(void *ctx, uint64_t index, const unsigned char *data)
{
	struct used *used = ctx;

	(void)data;
	if (used->n < sizeof(used->index) / sizeof(used->index[0]))
		used->index[used->n++] = index;
	return 0;
}

static uint64_t draw_block(struct as_choice *choice, const struct used *used, unsigned block)
{
	/* What is near the front is more often metadata. */
	static const unsigned fronts[] = { 4, 16, 16, UINT32_MAX };
	unsigned front = fronts[as_choose(choice, 4)], n = front < used->n ? front : used->n;

	return used->index[as_choose(choice, n)] * AS_CHUNK_BYTES +
	       as_choose(choice, AS_CHUNK_BYTES / block) * block;
}

static void damage_once(struct as_choice *choice, const struct used *used, struct as_disk *disk)
{
	static const unsigned blocks[] = { 512, 1024, 4096 };
	unsigned block = blocks[as_choose(choice, 3)], kind = as_choose(choice, 4);
	struct as_bd *bd = as_disk_bd(disk);
	uint64_t a = draw_block(choice, used, block), b;
	unsigned char one[4096], two[4096];

	if (a + block > bd->size_bytes)
		return;
	assert_int_equal(as_bd_read(bd, a, one, block), 0);
	if (kind <= 1) {
		for (unsigned i = as_choose(choice, 8) + 1; i; i--) {
			unsigned bit = as_choose(choice, block * 8);

			one[bit / 8] ^= (unsigned char)(1u << bit % 8);
		}
		assert_int_equal(as_bd_write(bd, a, one, block), 0);
	} else if (kind == 2) {
		assert_int_equal(as_bd_zero(bd, a, block), 0);
	} else {
		b = draw_block(choice, used, block);
		if (b + block > bd->size_bytes)
			return;
		assert_int_equal(as_bd_read(bd, b, two, block), 0);
		assert_int_equal(as_bd_write(bd, a, two, block), 0);
		assert_int_equal(as_bd_write(bd, b, one, block), 0);
	}
}

/* ---- The comparison ---- */

struct tally {
	unsigned as_is, with_clock, unstable, hung, repaired, answers[AS_CHECK_ANSWERS];
};

struct triple {
	struct as_disk *ours;
	uint64_t bytes; /* that two plain runs do not agree on */
};

static int compare_stable(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	struct triple *t = ctx;
	unsigned char ours[AS_CHUNK_BYTES] = { 0 };
	uint64_t off = index * AS_CHUNK_BYTES, left = as_disk_size(t->ours) - off;

	assert_int_equal(as_bd_read(as_disk_bd(t->ours), off, ours,
				    left < sizeof(ours) ? left : sizeof(ours)),
			 0);
	for (unsigned i = 0; i < AS_CHUNK_BYTES; i++) {
		if (a[i] != b[i])
			t->bytes++;
		else if (a[i] != ours[i])
			return 1;
	}
	return 0;
}

static int first_diff(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	unsigned i = 0;

	while (a[i] == b[i])
		i++;
	*(uint64_t *)ctx = index * AS_CHUNK_BYTES + i;
	return 1;
}

static struct as_disk *plain_result(const struct as_fstype *type, const struct as_checker_way *row,
				    struct as_disk *disk, bool clock, unsigned deadline_ms,
				    struct as_ended *ended)
{
	struct as_buf output = { 0 };

	put_plain(disk);
	*ended = run_plain(type, row->command, row->input, clock, deadline_ms, &output);
	as_buf_free(&output);
	return get_plain(as_disk_size(disk));
}

/* Equal in all that two plain runs agree on. */
static bool equal_where_stable(struct as_disk *ours, struct as_disk *one, struct as_disk *two,
			       uint64_t *unstable)
{
	struct triple t = { .ours = ours };
	uint64_t at;

	if (as_disk_diff(one, two, compare_stable, &t) || !t.bytes)
		return false;
	*unstable = t.bytes;
	/* Chunks in which the two agree: ours must, too. Copy ours over what they disagree on. */
	for (at = 0; at < as_disk_size(one); at += AS_CHUNK_BYTES) {
		unsigned char a[AS_CHUNK_BYTES], b[AS_CHUNK_BYTES], c[AS_CHUNK_BYTES];
		uint64_t left = as_disk_size(one) - at;
		size_t n = left < AS_CHUNK_BYTES ? left : AS_CHUNK_BYTES;

		assert_int_equal(as_bd_read(as_disk_bd(one), at, a, n), 0);
		assert_int_equal(as_bd_read(as_disk_bd(two), at, b, n), 0);
		assert_int_equal(as_bd_read(as_disk_bd(ours), at, c, n), 0);
		if (!memcmp(a, b, n) && memcmp(a, c, n))
			return false;
	}
	return true;
}

/* A run that hangs, while the plain one does not: the machine is busy, or the shim is at fault. */
static void run_patiently(const struct as_fstype *type, enum as_check_mode mode,
			  struct as_disk *disk, struct as_checked *checked)
{
	struct as_tool_setup setup = { .disk_path = rig.path,
				       .deadline_ms = PATIENCE * DEADLINE_MS };
	struct as_checkers *checkers = as_checkers_new(&setup);
	struct as_err err = { 0 };

	check(as_checker_run(checkers, type, mode, disk, 0, checked, &err), &err);
	assert_int_not_equal(checked->run.ended.how, AS_END_DEADLINE);
	as_checkers_free(checkers);
}

static void compare_one(const struct as_fstype *type, enum as_check_mode mode, struct as_disk *disk,
			struct as_checkers *checkers, unsigned number, struct tally *tally)
{
	const struct as_checker_way *row = as_fstype_check(type, mode);
	const unsigned patience_ms = PATIENCE * DEADLINE_MS;
	struct as_disk *plain, *again;
	struct as_checked checked;
	struct as_err err = { 0 };
	struct as_ended ended;
	uint64_t at = 0;

	check(as_checker_run(checkers, type, mode, disk, 0, &checked, &err), &err);
	assert_false(checked.run.incomplete);
	tally->answers[checked.answer]++;
	tally->repaired += checked.run.changed;
	if (checked.run.ended.how == AS_END_DEADLINE) {
		/* How far it gets before it is killed depends on chance. */
		as_disk_free(plain_result(type, row, disk, true, DEADLINE_MS, &ended));
		as_checked_free(&checked);
		if (ended.how == AS_END_DEADLINE) {
			tally->hung++;
			return;
		}
		run_patiently(type, mode, disk, &checked);
	}
	plain = plain_result(type, row, disk, false, patience_ms, &ended);
	if (as_disk_eq(plain, checked.run.disk)) {
		tally->as_is++;
	} else {
		as_disk_free(plain);
		plain = plain_result(type, row, disk, true, patience_ms, &ended);
		if (as_disk_eq(plain, checked.run.disk)) {
			tally->with_clock++;
		} else {
			again = plain_result(type, row, disk, true, patience_ms, &ended);
			if (!equal_where_stable(checked.run.disk, plain, again, &at)) {
				as_disk_diff(checked.run.disk, plain, first_diff, &at);
				fail_msg("disk %u, %s: byte %llu differs; through the shim: %s",
					 number, row->command, (unsigned long long)at,
					 as_buf_str(&checked.run.output));
			}
			tally->unstable++;
			as_disk_free(again);
		}
	}
	assert_int_equal(checked.run.ended.how, ended.how);
	assert_int_equal(checked.run.ended.status, ended.status);
	as_disk_free(plain);
	as_checked_free(&checked);
}

static void test_type(void **state)
{
	const struct row *row = *state;
	const struct as_fstype *type = as_fstype_find(row->type);
	struct as_tool_setup setup = { .disk_path = rig.path, .deadline_ms = DEADLINE_MS };
	struct as_checkers *checkers = as_checkers_new(&setup);
	struct as_chooser *chooser = as_chooser_seeded(20260);
	struct used *used = as_xcalloc(1, sizeof(*used));
	struct tally tally = { 0 };
	struct as_disk *fresh;

	rig.store = as_chunks_new();
	fresh = fresh_disk(row, type);
	assert_clean(type, fresh, checkers);
	as_disk_each(fresh, note_used, used);
	for (unsigned i = 0; i < N_DISKS; i++) {
		struct as_choice *choice = as_chooser_choice(chooser);
		struct as_disk *disk = as_disk_snapshot(fresh);

		for (unsigned k = as_choose(choice, 5) + 1; k; k--)
			damage_once(choice, used, disk);
		compare_one(type, (enum as_check_mode)(i % AS_CHECK_MODES), disk, checkers, i,
			    &tally);
		as_disk_free(disk);
	}
	print_message("# %s: %u disks: %u equal as they are, %u with the clock stopped, %u but "
		      "for bytes that differ between plain runs, %u hang; clean %u, repaired %u, "
		      "repaired+left %u, left %u, failed %u\n",
		      row->type, N_DISKS, tally.as_is, tally.with_clock, tally.unstable, tally.hung,
		      tally.answers[AS_CHECK_CLEAN], tally.answers[AS_CHECK_REPAIRED],
		      tally.answers[AS_CHECK_REPAIRED_LEFT], tally.answers[AS_CHECK_LEFT],
		      tally.answers[AS_CHECK_FAILED]);
	/* A test in which no checker ever changes a disk would prove little. */
	assert_true(tally.repaired > N_DISKS / 20);
	assert_true(tally.unstable < N_DISKS / 2);
	as_checkers_free(checkers);
	as_disk_free(fresh);
	as_chooser_free(chooser);
	free(used);
	as_chunks_free(rig.store);
}

/* ---- mkfs ---- */

static void make_both(const struct as_fstype *type, struct as_checkers *checkers)
{
	struct as_tool_result made;
	struct as_disk *zeros, *plain;
	struct as_err err = { 0 };
	uint64_t at = 0;

	check(as_disk_new(rig.store, type->default_bytes, &zeros, &err), &err);
	check(as_checker_mkfs(checkers, type, zeros, &made, &err), &err);
	put_plain(zeros);
	run_or_skip(type, type->mkfs);
	plain = get_plain(type->default_bytes);
	if (as_disk_diff(made.disk, plain, first_diff, &at))
		fail_msg("%s: byte %llu differs", type->mkfs, (unsigned long long)at);
	as_tool_result_free(&made);
	as_disk_free(plain);
	as_disk_free(zeros);
}

/* Two that write memory they never set: jfs the log's uuid, gfs2 addresses of its stack. */
static bool writes_garbage(const struct as_fstype *type)
{
	return !strcmp(type->name, "jfs") || !strcmp(type->name, "gfs2");
}

/* The disks that mkfs makes are the same, too, random numbers and all. */
static void test_mkfs(void **state)
{
	struct as_tool_setup setup = { .disk_path = rig.path };
	struct as_checkers *checkers = as_checkers_new(&setup);
	const struct as_fstype *type;
	unsigned n = 0;

	(void)state;
	rig.store = as_chunks_new();
	for (unsigned i = 0; (type = as_fstype_at(i)); i++) {
		struct as_buf why = { 0 };

		if (!writes_garbage(type) && !as_fstype_lacks_tools(type, &why)) {
			make_both(type, checkers);
			n++;
		}
		as_buf_free(&why);
	}
	as_checkers_free(checkers);
	as_chunks_free(rig.store);
	if (!n)
		skip_because("no mkfs is here");
}

/* ---- e2fsprogs' own suite, where it is at hand ---- */

#define SUITE "../shared/data/e2fsck-suite"

/* The image of a case; NULL where it has none, or one of an odd size. */
static struct as_disk *suite_disk(const char *name)
{
	char path[PATH_MAX];
	char *const argv[] = { "gzip", "-dc", path, NULL };
	struct as_buf data = { 0 };
	struct as_spawn spawn = { .argv = argv, .output = &data, .output_max = 256 << 20 };
	struct as_disk *disk = NULL;
	struct as_err err = { 0 };
	struct as_ended ended;

	snprintf(path, sizeof(path), SUITE "/%s/image.gz", name);
	if (access(path, R_OK))
		return NULL;
	check(as_spawn_run(&spawn, &ended, &err), &err);
	if (ended.how == AS_END_EXIT && !ended.status && data.len &&
	    !(data.len % AS_DISK_SECTOR_BYTES)) {
		check(as_disk_new(rig.store, data.len, &disk, &err), &err);
		assert_int_equal(as_bd_write(as_disk_bd(disk), 0, data.data, data.len), 0);
	}
	as_buf_free(&data);
	return disk;
}

static void test_suite(void **state)
{
	const struct as_fstype *type = as_fstype_find("ext4");
	struct as_tool_setup setup = { .disk_path = rig.path, .deadline_ms = DEADLINE_MS };
	struct as_checkers *checkers;
	struct tally tally = { 0 };
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	(void)state;
	dir = opendir(SUITE);
	if (!dir)
		skip_because("the images of e2fsprogs' test suite are not in " SUITE);
	checkers = as_checkers_new(&setup);
	rig.store = as_chunks_new();
	while ((entry = readdir(dir))) {
		struct as_disk *disk = suite_disk(entry->d_name);

		if (disk)
			compare_one(type, AS_CHECK_FULL, disk, checkers, n++, &tally);
		as_disk_free(disk);
	}
	closedir(dir);
	print_message("# %u cases: %u equal as they are, %u with the clock stopped, %u but for "
		      "bytes that differ between plain runs, %u hang\n",
		      n, tally.as_is, tally.with_clock, tally.unstable, tally.hung);
	assert_true(tally.repaired > n / 2 && !tally.unstable);
	as_checkers_free(checkers);
	as_chunks_free(rig.store);
}

int main(void)
{
	struct CMUnitTest tests[N_ROWS + 2] = {
		[N_ROWS] = { .name = "mkfs", .test_func = test_mkfs },
		[N_ROWS + 1] = { .name = "e2fsprogs' suite", .test_func = test_suite },
	};

	for (size_t i = 0; i < N_ROWS; i++)
		tests[i] = (struct CMUnitTest){ .name = rows[i].type,
						.test_func = test_type,
						.initial_state = (void *)&rows[i] };
	return cmocka_run_group_tests_name("target/checkers", tests, set_up, tear_down);
}
