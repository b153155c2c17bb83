/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recovery by the running kernel and by checkers: all ways come to the same tree, what is
 * remembered is true, a record of a recovery leads to the disk it left; and checkers that die, hang
 * or reach for other things have their own ends. What needs root is left out without it.
 */
#include "tests/lib/crashed.h"

#include "host/host.h"
#include "recover/jbd2.h"
#include "recover/step.h"
#include "snapshot/tree.h"
#include "target/target.h"
#include "tests/lib/tmpdir.h"

#include <limits.h>
#include <signal.h>

#define UNIT(name, fn)                     \
	{                                  \
		name, fn, NULL, NULL, NULL \
	}

static struct as_target *target; /* of the recoverer */

static struct as_recoverer *recoverer_of(const struct as_fstype *type,
					 const struct as_recover_options *options)
{
	static struct as_host_log log;
	struct as_recoverer *recoverer = NULL;
	struct as_err err = { 0 };

	if (as_target_open_type(type, "", &target, &err) ||
	    as_recoverer_new(target, 0, &log, options, &recoverer, &err))
		fprintf(stderr, "%s\n", err.msg);
	return recoverer;
}

static void free_recoverer(struct as_recoverer *recoverer)
{
	as_recoverer_free(recoverer);
	as_target_free(target);
}

/* ---- Ways ------------------------------------------------------------------------------------ */

struct ways {
	struct as_recoverer *recoverer;
	unsigned flags;
	unsigned trees; /* that were not those of the disk before */
	struct as_digest last;
};

static bool all_ways_agree(void *ctx, struct as_disk *disk, size_t cut)
{
	struct ways *w = ctx;
	struct as_tree *first = NULL;

	for (unsigned way = 0; way < AS_WAYS; way++) {
		struct as_recovered r;
		struct as_buf how = { 0 };

		/* The last commit may be older. */
		if (!(as_recoverer_ways(w->recoverer) >> way & 1) || way == AS_WAY_COMMIT)
			continue;
		child_ok(as_recover(w->recoverer, way, disk, w->flags, &r, &t_child_err));
		if (r.end != AS_RECOVERED)
			fprintf(stderr, "cut %zu, %s: %s\n", cut, as_way_name(way),
				as_buf_str(&r.why));
		child_check(r.end == AS_RECOVERED && r.tree && r.disk);
		if (first && as_tree_diff(first, "mount", r.tree, as_way_name(way), &how))
			fprintf(stderr, "cut %zu: %s\n", cut, as_buf_str(&how));
		child_check(!how.len);
		as_buf_free(&how);
		if (!first)
			first = as_tree_get(r.tree);
		as_recovered_free(&r);
	}
	w->trees += !as_digest_eq(w->last, as_tree_digest(first));
	w->last = as_tree_digest(first);
	as_tree_put(first);
	return true;
}

struct run {
	const char *type;
	enum as_memo_mode memo;
	unsigned step, trees; /* at least so many different ones */
};

static int child_ways(void *ctx)
{
	const struct run *run = ctx;
	struct crashed c = t_crash_type(run->type);
	const struct as_recover_options options = { .memo = run->memo, .verify_every = 1 };
	struct ways w = { .recoverer = recoverer_of(c.type, &options), .flags = AS_RECOVER_PROBE };
	struct as_step_stats stats;

	child_check(t_each_state(&c, AS_VIEW_ATOMIC, run->step, all_ways_agree, &w) > 5);
	child_check(w.trees >= run->trees);
	stats = as_recoverer_stats(w.recoverer);
	if (run->memo == AS_MEMO_VERIFY)
		child_check(stats.memo.asked && stats.memo.hits == stats.verified);
	else
		child_check(!stats.memo.asked && !stats.memoised[AS_STEP_MOUNT]);
	free_recoverer(w.recoverer);
	t_crashed_free(&c);
	return 0;
}

static void run_ways(struct run run)
{
	t_need_host(run.type);
	t_in_child(child_ways, &run);
}

static void test_ext4_verified(void **state)
{
	(void)state;
	run_ways((struct run){ "ext4", AS_MEMO_VERIFY, 5, 4 });
}

static void test_ext3_verified(void **state)
{
	(void)state;
	run_ways((struct run){ "ext3", AS_MEMO_VERIFY, 11, 4 });
}

static void test_ext4_without_memory(void **state)
{
	(void)state;
	run_ways((struct run){ "ext4", AS_MEMO_OFF, 23, 3 });
}

static void test_xfs(void **state)
{
	(void)state;
	run_ways((struct run){ "xfs", AS_MEMO_VERIFY, 3, 2 });
}

static void test_btrfs(void **state)
{
	(void)state;
	run_ways((struct run){ "btrfs", AS_MEMO_VERIFY, 3, 2 });
}

/* ---- Without replay -------------------------------------------------------------------------- */

struct unreplayed {
	struct as_recoverer *recoverer;
	unsigned same,
		other; /* crashed disks of which a mount without replay shows the same or not */
};

/* Before recovery, a mount without replay often shows something else: that is what a recovery would
 * be found by which leaves on the disk what the power cut left. After it, the same. */
static bool shows_the_same_after(void *ctx, struct as_disk *disk, size_t cut)
{
	struct unreplayed *u = ctx;
	struct as_stepped mounted, before, after;
	bool same;

	(void)cut;
	child_ok(as_step(u->recoverer, AS_STEP_MOUNT, disk, AS_STEP_WANT_DISK, &mounted,
			 &t_child_err));
	child_check(mounted.end == AS_RECOVERED);
	child_ok(as_step(u->recoverer, AS_STEP_REREAD, disk, 0, &before, &t_child_err));
	child_ok(as_step(u->recoverer, AS_STEP_REREAD, mounted.disk, 0, &after, &t_child_err));
	child_check(after.end == AS_RECOVERED);
	child_check(!as_tree_diff(mounted.tree, "", after.tree, "", NULL));
	same = before.end == AS_RECOVERED && !as_tree_diff(mounted.tree, "", before.tree, "", NULL);
	u->same += same;
	u->other += !same;
	as_stepped_free(&mounted);
	as_stepped_free(&before);
	as_stepped_free(&after);
	return true;
}

static int child_unreplayed(void *ctx)
{
	struct crashed c = t_crash_type(ctx);
	const struct as_recover_options options = { 0 };
	struct unreplayed u = { .recoverer = recoverer_of(c.type, &options) };

	child_check(t_each_state(&c, AS_VIEW_ATOMIC, 3, shows_the_same_after, &u) > 5);
	child_check(u.same && u.other);
	free_recoverer(u.recoverer);
	t_crashed_free(&c);
	return 0;
}

static void test_xfs_unreplayed(void **state)
{
	(void)state;
	t_need_host("xfs");
	t_in_child(child_unreplayed, "xfs");
}

static void test_btrfs_unreplayed(void **state)
{
	(void)state;
	t_need_host("btrfs");
	t_in_child(child_unreplayed, "btrfs");
}

/* ---- Records --------------------------------------------------------------------------------- */

struct records {
	struct as_recoverer *recoverer;
	unsigned writes, reads, memoised;
};

/* Doing again what the record says leads from the crashed disk to the recovered one. */
static bool record_leads_there(void *ctx, struct as_disk *disk, size_t cut)
{
	struct records *r = ctx;

	(void)cut;
	for (unsigned way = AS_WAY_MOUNT; way <= AS_WAY_QUICK; way++) {
		struct as_disk *again = as_disk_snapshot(disk);
		struct as_recovered got;

		child_ok(as_recover(r->recoverer, way, disk, AS_RECOVER_LOG, &got, &t_child_err));
		child_check(got.end == AS_RECOVERED && got.log);
		child_ok(as_reclog_replay(got.log, 0, as_reclog_len(got.log), as_disk_bd(again),
					  &t_child_err));
		child_check(as_disk_eq(again, got.disk));
		for (size_t i = 0; i < as_reclog_len(got.log); i++) {
			const struct as_log_entry *e = as_reclog_at(got.log, i);

			r->writes += as_log_entry_changes(e);
			r->reads += e->kind == AS_CALL_READ;
		}
		r->memoised += got.memoised;
		as_recovered_free(&got);
		as_disk_free(again);
	}
	return true;
}

static int child_records(void *ctx)
{
	struct crashed c = t_crash_type("ext4");
	const struct as_recover_options options = { 0 };
	struct records r = { .recoverer = recoverer_of(c.type, &options) };

	(void)ctx;
	child_check(t_each_state(&c, AS_VIEW_ATOMIC, 9, record_leads_there, &r) > 10);
	child_check(r.writes && r.reads && r.memoised);
	free_recoverer(r.recoverer);
	t_crashed_free(&c);
	return 0;
}

static void test_records(void **state)
{
	(void)state;
	t_need_host("ext4");
	t_in_child(child_records, NULL);
}

/* ---- What a replay looks at ------------------------------------------------------------------ */

struct scribbles {
	struct as_recoverer *recoverer;
	struct as_jbd2 jbd2;
	uint64_t journal_bytes;
	unsigned harmless, harmful; /* disks */
};

static void scribble(struct as_disk *disk, const struct as_sector_span *spans, size_t n)
{
	unsigned char junk[4096];

	memset(junk, 0xa5, sizeof(junk));
	for (size_t i = 0; i < n; i++)
		for (uint64_t at = 0; at < spans[i].len;) {
			uint64_t len =
				spans[i].len - at < sizeof(junk) ? spans[i].len - at : sizeof(junk);

			child_ok(as_bd_write(as_disk_bd(disk), spans[i].off + at, junk, len));
			at += len;
		}
}

static bool mounts_as(struct as_recoverer *recoverer, struct as_disk *a, struct as_disk *b)
{
	struct as_stepped x, y;
	bool same;

	child_ok(as_step(recoverer, AS_STEP_MOUNT, a, 0, &x, &t_child_err));
	child_ok(as_step(recoverer, AS_STEP_MOUNT, b, 0, &y, &t_child_err));
	same = x.end == y.end && x.end == AS_RECOVERED &&
	       !as_tree_diff(x.tree, "", y.tree, "", NULL);
	as_stepped_free(&x);
	as_stepped_free(&y);
	return same;
}

/* Junk in all blocks that nobody looks at changes nothing; in what the judgement rests on (but the
 * superblocks) it sometimes does. */
static bool junk_does_not_matter(void *ctx, struct as_disk *disk, size_t cut)
{
	struct scribbles *s = ctx;
	struct as_disk *other;

	(void)cut;
	if (!as_jbd2_look(&s->jbd2, disk, s->journal_bytes))
		return true;
	other = as_disk_snapshot(disk);
	scribble(other, s->jbd2.unseen, s->jbd2.n_unseen);
	child_check(mounts_as(s->recoverer, disk, other));
	s->harmless++;
	as_disk_restore(other, disk);
	scribble(other, s->jbd2.looked + s->jbd2.n_looked - 1, 1);
	s->harmful += !mounts_as(s->recoverer, disk, other);
	as_disk_free(other);
	return true;
}

static int child_scribbles(void *ctx)
{
	struct crashed c = t_crash_type(ctx);
	const struct as_recover_options options = { .memo = AS_MEMO_OFF };
	struct scribbles s = { .recoverer = recoverer_of(c.type, &options),
			       .journal_bytes = c.type->journal_bytes };
	unsigned states = t_each_state(&c, AS_VIEW_ATOMIC, 13, junk_does_not_matter, &s);

	child_check(s.harmless > states / 2);
	child_check(s.harmful);
	as_jbd2_free(&s.jbd2);
	free_recoverer(s.recoverer);
	t_crashed_free(&c);
	return 0;
}

static void test_unseen_ext4(void **state)
{
	(void)state;
	t_need_host("ext4");
	t_in_child(child_scribbles, "ext4");
}

static void test_unseen_ext3(void **state)
{
	(void)state;
	t_need_host("ext3");
	t_in_child(child_scribbles, "ext3");
}

/* The same of a journal that has a disk of its own. */
static void test_unseen_apart(void **state)
{
	(void)state;
	t_need_host("ext4");
	t_in_child(child_scribbles, "ext4:mkfs=journal_dev");
}

/* ---- Checkers -------------------------------------------------------------------------------- */

static char subject[PATH_MAX]; /* tests/tool/tool_subject.c, built */
static char canary[PATH_MAX]; /* what it reaches for */

static int build_subject(void **state)
{
	const char *folder = t_tmpdir();
	const char *const argv[] = {
		"cc", "-std=gnu11", "-D_GNU_SOURCE", "-pthread",
		"-w", "-o",	    subject,	     "tests/tool/tool_subject.c",
		NULL
	};
	struct as_spawn spawn = { .argv = (char *const *)argv };
	struct as_ended ended;

	(void)state;
	snprintf(subject, sizeof(subject), "%s/subject", folder);
	snprintf(canary, sizeof(canary), "%s/canary", folder);
	t_put_file(canary, 6, 'c', false);
	if (as_spawn_run(&spawn, &ended, NULL)) {
		subject[0] = '\0';
		return 0;
	}
	return ended.how == AS_END_EXIT && !ended.status ? 0 : -1;
}

/* What a checker that does `what` comes to. */
static void check_subject(const char *what, unsigned deadline_ms, struct as_stepped *stepped)
{
	char command[3 * PATH_MAX];
	struct as_fstype type = { .name = "subject",
				  .own = { .ways = { { .command = command } },
					   .exits = "0=clean 1=repaired" } };
	const struct as_recover_options options = { .deadline_ms = deadline_ms };
	struct as_recoverer *recoverer;
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_err err = { 0 };

	if (!subject[0])
		skip_because("no C compiler to build a checker with");
	recoverer = recoverer_of(&type, &options);
	store = as_chunks_new();
	snprintf(command, sizeof(command), "%s %s {disk} %s", subject, what, canary);
	assert_int_equal(as_disk_new(store, 1 << 20, &disk, &err), 0);
	if (as_step(recoverer, AS_STEP_QUICK, disk, 0, stepped, &err))
		fail_msg("%s", err.msg);
	as_disk_free(stepped->disk);
	stepped->disk = NULL;
	as_disk_free(disk);
	free_recoverer(recoverer);
	as_chunks_free(store);
}

static void test_checkers_that_go_wrong(void **state)
{
	static const struct {
		const char *what;
		unsigned deadline_ms;
		enum as_recovery_end end;
		const char *why;
	} rows[] = {
		{ "crash", 0, AS_DIED, "died of SIG" },
		{ "hang", 300, AS_HUNG, "did not come to an end and was killed" },
		{ "slow", 300, AS_RECOVERED, "" },
		/* It wants to read its canary afterwards, which is none: it fails. */
		{ "outside", 0, AS_REFUSED, "ended with failed" },
		{ "die", 0, AS_REFUSED, "ended with failed" },
		{ "nonsense", 0, AS_RECOVERED, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_stepped stepped;

		check_subject(rows[i].what, rows[i].deadline_ms, &stepped);
		if (stepped.end != rows[i].end || !strstr(as_buf_str(&stepped.why), rows[i].why))
			fail_msg("%s: %s: %s", rows[i].what, as_recovery_end_name(stepped.end),
				 as_buf_str(&stepped.why));
		as_stepped_free(&stepped);
	}
}

static void test_no_such_checker(void **state)
{
	static const struct as_fstype type = {
		.name = "none",
		.package = "none-utils",
		.own = { .ways = { { .command = "fsck.none {disk}" } }, .exits = "0=clean" }
	};
	const struct as_recover_options options = { 0 };
	struct as_recoverer *recoverer = recoverer_of(&type, &options);
	struct as_chunks *store = as_chunks_new();
	struct as_stepped stepped;
	struct as_disk *disk;
	struct as_err err;

	(void)state;
	assert_int_equal(as_disk_new(store, 1 << 20, &disk, &err), 0);
	assert_int_equal(as_step(recoverer, AS_STEP_QUICK, disk, 0, &stepped, &err), AS_ELACK);
	assert_non_null(strstr(err.msg, "none-utils"));
	as_stepped_free(&stepped);
	as_disk_free(disk);
	free_recoverer(recoverer);
	as_chunks_free(store);
}

/* ---- Which ways there are -------------------------------------------------------------------- */

static void test_ways_by_type(void **state)
{
	enum {
		M = 1 << AS_WAY_MOUNT,
		Q = 1 << AS_WAY_QUICK,
		D = 1 << AS_WAY_DEFAULT,
		F = 1 << AS_WAY_FULL,
		C = 1 << AS_WAY_COMMIT
	};
	static const struct {
		const char *type;
		uint32_t ways;
	} rows[] = {
		{ "ext4", M | Q | D | F }, { "ext3", M | Q | D | F },
		{ "ext2", D | F },	   { "xfs", M },
		{ "btrfs", M | C },	   { "f2fs", M | C },
		{ "jfs", Q | D | F },	   { "reiserfs", M },
		{ "nilfs2", M | C },	   { "udf", M },
		{ "vfat", D | F },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct as_recover_options options = { 0 };
		struct as_recoverer *recoverer =
			recoverer_of(as_fstype_find(rows[i].type), &options);

		assert_int_equal(as_recoverer_ways(recoverer), rows[i].ways);
		free_recoverer(recoverer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT("ways by type", test_ways_by_type),
		UNIT("checkers that go wrong", test_checkers_that_go_wrong),
		UNIT("no such checker", test_no_such_checker),
		UNIT("ext4: all ways agree, all that is remembered is true", test_ext4_verified),
		UNIT("ext3: the same", test_ext3_verified),
		UNIT("ext4: nothing is remembered when nothing is to be", test_ext4_without_memory),
		UNIT("xfs: recovered, and at peace", test_xfs),
		UNIT("btrfs: recovered, and at peace", test_btrfs),
		UNIT("xfs: the same without replay, once recovered", test_xfs_unreplayed),
		UNIT("btrfs: the same without replay, once recovered", test_btrfs_unreplayed),
		UNIT("records of recoveries", test_records),
		UNIT("ext4: junk where no replay looks", test_unseen_ext4),
		UNIT("ext3: junk where no replay looks", test_unseen_ext3),
		UNIT("ext4 with a disk for its journal: the same", test_unseen_apart),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, build_subject, NULL);
}
