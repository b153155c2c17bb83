/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel file systems on a recorded disk: what an fsync writes, and in which order, known by the
 * magic numbers of journals and logs; power cuts; the kernel's cache of a disk that was restored
 * beneath it; checkers after a regular unmount.
 */
#include "tests/lib/mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "btrfs" };

#define NTYPES (sizeof(types) / sizeof(types[0]))

/* ---- Made, mounted, written, checked, mounted again ---------------------------------------- */

static void write_file(const char *path, size_t len)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *data = as_xmalloc(len);

	memset(data, 'x', len);
	child_check(fd >= 0);
	child_check(write(fd, data, len) == (ssize_t)len);
	child_check(!fsync(fd));
	child_check(!close(fd));
	free(data);
}

static int live_once(void *ctx)
{
	const struct as_fstype *type = as_fstype_find(ctx);
	struct as_medium *medium = t_fresh_medium(type, &t_child_err);
	enum as_check_answer answer;
	struct as_buf output = { 0 };
	struct as_mount *m;
	struct stat st;

	child_check(medium);
	child_ok(as_mount_new(type, medium, &m, &t_child_err));
	child_ok(as_mount_mount(m, "", ""));
	child_ok(as_mount_enter(m, &t_child_err));
	write_file("/f", 100000);
	child_check(!mkdir("/d", 0755) && !rename("/f", "/d/g"));
	child_ok(as_mount_remount(m, "", "noatime"));
	child_ok(as_mount_umount(m));
	child_ok(as_mount_check(m, AS_CHECK_FULL, false, 20000, &answer, &output, &t_child_err));
	if (answer != AS_CHECK_CLEAN)
		fprintf(stderr, "%s: %s\n", as_check_answer_name(answer), as_buf_str(&output));
	child_check(answer == AS_CHECK_CLEAN);
	/* Few checkers are that fast, and what cut off the others is said. */
	child_ok(as_mount_check(m, AS_CHECK_FULL, false, 1, &answer, &output, &t_child_err));
	child_check(answer == AS_CHECK_CLEAN ||
		    (answer == AS_CHECK_FAILED && strstr(as_buf_str(&output), "within 1 ms")));
	child_ok(as_mount_mount(m, "", ""));
	child_ok(as_mount_enter(m, &t_child_err));
	child_check(!stat("/d/g", &st) && st.st_size == 100000);
	as_mount_free(m);
	as_medium_free(medium);
	as_buf_free(&output);
	return 0;
}

static void test_life(void **state)
{
	t_need_host(*state);
	t_in_child(live_once, *state);
}

/* Options worth drawing must be real options: the kernel accepts them, except a few that some
 * versions do not know. */
static int try_options(void *ctx)
{
	const struct as_fstype *type = as_fstype_find(ctx);
	struct as_medium *medium = t_fresh_medium(type, &t_child_err);
	char **words = as_fstype_argv(type->draw, &(struct as_fstype_disks){ .disk = "" });
	unsigned taken = 0, refused = 0;
	struct as_mount *m;

	child_check(medium);
	child_ok(as_mount_new(type, medium, &m, &t_child_err));
	for (size_t i = 0; words[i]; i++) {
		int rc = as_mount_mount(m, "", words[i]);

		if (rc)
			fprintf(stderr, "%s: %s: %s\n", type->name, words[i], as_errno_name(-rc));
		else
			child_ok(as_mount_umount(m));
		rc ? refused++ : taken++;
	}
	child_check(taken >= 10 && refused <= 4);
	as_mount_free(m);
	as_medium_free(medium);
	as_fstype_free_words(words);
	return 0;
}

static void test_options(void **state)
{
	t_need_host(*state);
	t_in_child(try_options, *state);
}

/* ---- The order of an fsync ----------------------------------------------------------------- */

enum mark {
	MARK_FLUSH,
	MARK_JBD_COMMIT,
	MARK_JBD_DESC,
	MARK_XFS_LOG,
	MARK_BTRFS_SUPER,
	MARK_OTHER
};

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* What a block of 1 KiB or a sector begins with. A write may hold several blocks. */
static bool holds(const struct as_log_entry *entry, enum mark mark)
{
	if (mark == MARK_FLUSH)
		return entry->kind == AS_CALL_FLUSH;
	if (entry->kind != AS_CALL_WRITE)
		return false;
	for (uint64_t at = 0; at + 512 <= entry->len; at += 512) {
		const unsigned char *p = entry->data + at;

		if (mark == MARK_JBD_COMMIT && be32(p) == 0xc03b3998 && be32(p + 4) == 2)
			return true;
		if (mark == MARK_JBD_DESC && be32(p) == 0xc03b3998 && be32(p + 4) == 1)
			return true;
		if (mark == MARK_XFS_LOG && be32(p) == 0xfeedbabe)
			return true;
		/* The superblock is at 64 KiB, its magic 64 bytes in. */
		if (mark == MARK_BTRFS_SUPER && entry->off + at == 65536 &&
		    !memcmp(p + 64, "_BHRfS_M", 8))
			return true;
	}
	return false;
}

/* The first entry from `from` on that holds the mark; the log's length when there is none. */
static size_t find(const struct as_reclog *log, size_t from, enum mark mark)
{
	size_t n = as_reclog_len(log);

	while (from < n && !holds(as_reclog_at(log, from), mark))
		from++;
	return from;
}

struct order {
	const char *name, *opts;
	enum mark marks[5]; /* in this order, with others in between; MARK_OTHER ends it */
};

static const struct order orders[] = {
	/* ext4 (jbd2): descriptor and blocks, flush, commit block, flush. */
	{ "ext4", "", { MARK_JBD_DESC, MARK_FLUSH, MARK_JBD_COMMIT, MARK_FLUSH, MARK_OTHER } },
	{ "ext3", "", { MARK_JBD_DESC, MARK_FLUSH, MARK_JBD_COMMIT, MARK_FLUSH, MARK_OTHER } },
	/* xfs: the data is flushed, then the log record, then a flush (loop devices have no
	 * FUA). */
	{ "xfs", "", { MARK_FLUSH, MARK_XFS_LOG, MARK_FLUSH, MARK_OTHER } },
	/* btrfs: everything the superblock points to is flushed before it is written. */
	{ "btrfs", "notreelog", { MARK_FLUSH, MARK_BTRFS_SUPER, MARK_FLUSH, MARK_OTHER } },
	{ "btrfs", "", { MARK_FLUSH, MARK_BTRFS_SUPER, MARK_FLUSH, MARK_OTHER } },
};

#define NORDERS (sizeof(orders) / sizeof(orders[0]))

static void print_log(const struct as_reclog *log)
{
	for (size_t i = 0; i < as_reclog_len(log); i++) {
		const struct as_log_entry *entry = as_reclog_at(log, i);

		fprintf(stderr, "%4zu op %u %s %llu+%llu%s%s%s%s\n", i, entry->op,
			as_call_name(entry->kind), (unsigned long long)entry->off,
			(unsigned long long)entry->len, holds(entry, MARK_JBD_DESC) ? " desc" : "",
			holds(entry, MARK_JBD_COMMIT) ? " commit" : "",
			holds(entry, MARK_XFS_LOG) ? " log" : "",
			holds(entry, MARK_BTRFS_SUPER) ? " super" : "");
	}
}

static int fsync_in_order(void *ctx)
{
	const struct order *order = ctx;
	const struct as_fstype *type = as_fstype_find(order->name);
	struct as_medium *medium = t_fresh_medium(type, &t_child_err);
	struct as_reclog *log;
	struct as_mount *m;
	size_t at = 0;

	child_check(medium);
	as_medium_record(medium, 0);
	log = as_medium_log(medium);
	child_ok(as_mount_new(type, medium, &m, &t_child_err));
	child_check(as_reclog_len(log) == 0);
	child_ok(as_mount_mount(m, order->opts, ""));
	child_ok(as_mount_enter(m, &t_child_err));
	as_mount_medium(m);
	as_reclog_clear(log);
	as_reclog_set_op(log, 7);
	as_mount_release(m);
	write_file("/f", 5000);
	as_mount_medium(m);
	for (const enum mark *mark = order->marks; *mark != MARK_OTHER; mark++) {
		at = find(log, at, *mark);
		if (at >= as_reclog_len(log))
			print_log(log);
		child_check(at < as_reclog_len(log));
		child_check(as_reclog_at(log, at)->op == 7);
		at++;
	}
	as_mount_release(m);
	as_mount_free(m);
	as_medium_free(medium);
	return 0;
}

static void test_order(void **state)
{
	struct order *order = *state;

	t_need_host(order->name);
	t_in_child(fsync_in_order, order);
}

/* ---- Power cuts and restored disks --------------------------------------------------------- */

static int cut_power(void *ctx)
{
	const struct as_fstype *type = as_fstype_find(ctx);
	struct as_medium *medium = t_fresh_medium(type, &t_child_err);
	struct as_mount *m;
	struct stat st;

	child_check(medium);
	child_ok(as_mount_new(type, medium, &m, &t_child_err));
	child_ok(as_mount_mount(m, "", ""));
	child_ok(as_mount_enter(m, &t_child_err));
	write_file("/kept", 5000);
	child_check(!mkdir("/lost", 0755));
	as_mount_cut(m);
	child_ok(as_mount_cut_end(m));
	child_ok(as_mount_mount(m, "", ""));
	child_ok(as_mount_enter(m, &t_child_err));
	child_check(!stat("/kept", &st) && st.st_size == 5000);
	/* Nothing wrote it to the disk, so the unmount's writes must have been taken back. */
	child_check(stat("/lost", &st) && errno == ENOENT);
	as_mount_free(m);
	as_medium_free(medium);
	return 0;
}

static void test_cut(void **state)
{
	t_need_host(*state);
	t_in_child(cut_power, *state);
}

/* The trap: a descriptor on the loop device keeps its page cache across an unmount; a disk restored
 * beneath it is then not what the kernel reads, and a journal is not replayed. */
static int restore_beneath(void *ctx)
{
	const struct as_fstype *type = as_fstype_find(ctx);
	struct as_medium *medium = t_fresh_medium(type, &t_child_err);
	struct as_medium_mark *mark;
	struct as_mount *m;
	struct stat st;

	child_check(medium);
	child_ok(as_mount_new(type, medium, &m, &t_child_err));
	for (int i = 0; i < 20; i++) {
		child_ok(as_mount_mount(m, "", ""));
		child_ok(as_mount_enter(m, &t_child_err));
		child_check(stat("/f", &st) && errno == ENOENT);
		as_mount_medium(m);
		mark = as_medium_mark(medium);
		as_mount_release(m);
		write_file("/f", 3000);
		/* The state with a journal to replay is looked at, and left again. */
		as_mount_cut(m);
		child_ok(as_mount_cut_end(m));
		child_ok(as_mount_mount(m, "", ""));
		child_ok(as_mount_enter(m, &t_child_err));
		child_check(!stat("/f", &st) && st.st_size == 3000);
		child_ok(as_mount_umount(m));
		as_mount_medium(m);
		as_medium_back(medium, mark);
		as_mount_release(m);
		child_ok(as_mount_forget(m, &t_child_err));
	}
	as_mount_free(m);
	as_medium_free(medium);
	return 0;
}

static void test_restore(void **state)
{
	t_need_host(*state);
	t_in_child(restore_beneath, *state);
}

#define KINDS 4

int main(void)
{
	struct CMUnitTest tests[KINDS * NTYPES + NORDERS];
	static char names[KINDS * NTYPES + NORDERS][64];
	size_t n = 0;

	for (size_t i = 0; i < NTYPES; i++) {
		static const struct {
			const char *name;
			CMUnitTestFunction fn;
		} kinds[] = { { "life", test_life },
			      { "options", test_options },
			      { "cut", test_cut },
			      { "restore", test_restore } };

		for (size_t k = 0; k < KINDS; k++) {
			/* Without a journal nothing is promised after a cut. */
			if (k > 1 && !strcmp(types[i], "ext2"))
				continue;
			snprintf(names[n], sizeof(names[n]), "%s: %s", kinds[k].name, types[i]);
			tests[n] = (struct CMUnitTest){ names[n], kinds[k].fn, NULL, NULL,
							(void *)(uintptr_t)types[i] };
			n++;
		}
	}
	for (size_t i = 0; i < NORDERS; i++, n++) {
		snprintf(names[n], sizeof(names[n]), "order of an fsync: %s %s", orders[i].name,
			 orders[i].opts);
		tests[n] = (struct CMUnitTest){ names[n], test_order, NULL, NULL,
						(void *)(uintptr_t)&orders[i] };
	}
	return _cmocka_run_group_tests("mount", tests, n, NULL, NULL);
}
