/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_recover: power cuts of ext4 on a disk of 2 MiB.
 *
 *	crash.ext4         states judged a second on the running kernel, by two processes:
 *	                   recorded, recovered by mount and by the full checker, checked once more,
 *	                   probed; those answered from memory are counted
 *	crash.ext4.hits    how many of them were
 *	crash.ext4.plain   such disks by hand: written to a file, mounted, walked, unmounted; two
 *	                   processes, in turns with the first
 *	crash.ext4.ratio   the first by the second
 *	crash.memo         the three checkers on the same crashed disks: time without memory by time
 *	                   with it, what has to be worked out included
 *	crash.memo.hits    its hit rate
 *	crash.ext4.uml     states judged a second in User-Mode Linux, one process, without the boot
 *	crash.memory       resident memory at most, of the process that judges 10,000 and more
 *	                   states of a disk of 40 MiB
 *
 * What the machine has not is left out.
 */
#include "bench/bench.h"

#include "cli/boxes.h"
#include "crash/crash.h"
#include "disk/loop.h"
#include "host/host.h"
#include "mount/mount.h"
#include "os/spawn.h"
#include "recover/step.h"
#include "snapshot/tree.h"
#include "target/fresh.h"
#include "target/target.h"
#include "vfs/tree_cwd.h"
#include "work/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES ((uint64_t)2 << 20)
#define LARGE_BYTES ((uint64_t)40 << 20)
#define PROCESSES 2
#define TURNS 3
#define PLAIN_STATES 150
#define PLAIN "/tmp" /* covered, in a namespace of our own */
#define PLAIN_FS PLAIN "/fs"
#define MEMO_STATES 120
#define LARGE_STATES 10000

/* What an application does to files that must not be lost, in several directories. */
static void write_workload(struct as_buf *text, int from, int rounds)
{
	as_buf_adds(text, "mkdir /a 0755\nmkdir /b 0755\n");
	for (int i = from; i < from + rounds; i++) {
		as_buf_addf(text, "$0 = open /a/new%d O_RDWR|O_CREAT 0644\n", i);
		as_buf_addf(text, "pwrite $0 len=%d at=0 fill=%d\n", 700 + i * 900, i + 1);
		as_buf_adds(text, "fsync $0\nclose $0\n");
		as_buf_addf(text, "rename /a/new%d /b/file%d\n", i, i % 3);
		as_buf_adds(text, "$1 = open /b O_RDONLY|O_DIRECTORY\nfsync $1\nclose $1\n");
		as_buf_addf(text, "hardlink /b/file%d /a/link%d\n", i % 3, i);
	}
	as_buf_adds(text, "sync\nunlink /b/file0\n");
}

static struct as_seq *make_seq(int from, int rounds)
{
	struct as_buf text = { 0 };
	struct as_seq *seq;
	struct as_err err;

	write_workload(&text, from, rounds);
	as_assert(!as_parse_text("bench", as_buf_str(&text), text.len, &seq, &err));
	as_buf_free(&text);
	return seq;
}

static bool lacks_host(void)
{
	struct as_buf why = { 0 };
	bool lacks = as_fstype_lacks_host(as_fstype_find("ext4"), &why);

	as_buf_free(&why);
	return lacks;
}

/* ---- A crash run ----------------------------------------------------------------------------- */

struct crashing {
	int from;
	struct as_crash_counts counts;
	int64_t wall_us;
	long rss_kib;
};

static void crash_once(struct crashing *c, uint64_t size_bytes, int rounds, unsigned t)
{
	struct as_run_options run = { .size_bytes = size_bytes, .deadline_ms = 60000 };
	struct as_crash_options options = as_crash_options_default();
	struct as_seq *seq = make_seq(c->from, rounds);
	struct as_run_result result;
	struct as_crasher *crasher;
	struct as_target *target;
	struct rusage usage;
	struct as_err err;

	options.again = 0;
	options.perm.t = t;
	as_assert(!as_target_open("ext4", &target, &err));
	as_assert(!as_crasher_new(target, &run, &options, NULL, &crasher, &err));
	as_assert(!as_crash_workload(crasher, seq, "bench", &result, &c->counts, &err));
	/* A finding would have ended the run early. */
	as_assert(!result.findings);
	c->wall_us = result.wall_us;
	as_crasher_free(crasher);
	as_target_free(target);
	as_seq_free(seq);
	as_assert(!getrusage(RUSAGE_CHILDREN, &usage));
	c->rss_kib = usage.ru_maxrss;
}

static int crash_small(void *ctx)
{
	crash_once(ctx, DISK_BYTES, 4, AS_PERM_T);
	return 0;
}

/* Runs both at the same time; the time of the slower one counts. */
static int64_t together(int (*fn)(void *), void *const ctx[PROCESSES])
{
	int64_t start_us = as_now_us();
	pid_t pids[PROCESSES];
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		as_assert(pids[i] >= 0);
		if (!pids[i])
			_exit(fn(ctx[i]));
	}
	for (int i = 0; i < PROCESSES; i++) {
		as_assert(waitpid(pids[i], &status, 0) == pids[i]);
		as_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	}
	return as_now_us() - start_us;
}

/* ---- Crashed disks --------------------------------------------------------------------------- */

struct crashed {
	const struct as_fstype *type;
	struct as_medium *medium;
	struct as_disk *start;
	struct as_perm *perm;
};

static void put_file(const char *path, size_t len, int fill)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
	char *data = as_xmalloc(len);

	memset(data, fill, len);
	as_assert(fd >= 0 && write(fd, data, len) == (ssize_t)len && !fsync(fd) && !close(fd));
	free(data);
}

static void use_disk(void)
{
	char path[64];

	as_assert(!mkdir("/a", 0755) && !mkdir("/b", 0755));
	for (int i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "/a/new%d", i);
		put_file(path, 700 + (size_t)i * 900, i);
		as_assert(!rename(path, "/b/file") && !link("/b/file", path));
	}
}

static void crash_disk(struct crashed *c)
{
	const struct as_perm_options options = { .t = AS_PERM_T,
						 .trials = AS_PERM_TRIALS,
						 .sector_bytes = 4096 };
	struct as_mount *m;
	struct as_err err;

	c->type = as_fstype_find("ext4");
	as_assert(!as_medium_new(DISK_BYTES, &c->medium, &err));
	as_assert(!as_fresh_disk(c->type, NULL, c->medium, NULL, &err));
	c->start = as_disk_snapshot((struct as_disk *)as_medium_disk(c->medium));
	as_medium_record(c->medium, 0);
	as_assert(!as_mount_new(c->type, c->medium, &m, &err) && !as_mount_mount(m, "", ""));
	as_assert(!as_mount_enter(m, &err));
	use_disk();
	as_assert(!as_mount_leave(m, &err) && !as_mount_umount(m));
	as_mount_free(m);
	c->perm = as_perm_new(as_medium_log(c->medium), c->start, &options);
}

static void crashed_free(struct crashed *c)
{
	as_perm_free(c->perm);
	as_disk_free(c->start);
	as_medium_free(c->medium);
}

/* Picks different disks from the whole workload; fewer than n if there are not enough. */
static size_t pick_disks(struct crashed *c, struct as_disk **disks, size_t n)
{
	struct as_perm_state state;
	size_t found = 0;

	for (size_t cut = 0; cut < as_perm_cuts(c->perm); cut++) {
		as_perm_begin(c->perm, AS_VIEW_ATOMIC, cut, false);
		while (found < n && as_perm_next(c->perm, &state))
			disks[found++] = as_perm_disk(c->perm);
	}
	return found;
}

static void free_disks(struct as_disk **disks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		as_disk_free(disks[i]);
}

/* ---- By hand --------------------------------------------------------------------------------- */

struct plain {
	size_t states;
	int64_t wall_us;
};

static void restore_whole(struct as_disk *disk, int fd)
{
	char *data = as_xmalloc(DISK_BYTES);

	as_assert(!as_bd_read(as_disk_bd(disk), 0, data, DISK_BYTES));
	as_assert(pwrite(fd, data, DISK_BYTES, 0) == (ssize_t)DISK_BYTES);
	free(data);
}

/* In the mount namespace of this process, which nobody else sees, a folder with nothing in it.
 * Mounts of assay come home to it when they are gone. */
static void own_place(void)
{
	as_assert(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	as_assert(!mount("assay", PLAIN, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700"));
	as_assert(!mkdir(PLAIN_FS, 0700));
}

static void mount_and_walk(struct as_loop *loop)
{
	struct as_tree *tree = NULL;
	struct as_buf why = { 0 };

	as_assert(!mount(as_loop_path(loop), PLAIN_FS, "ext4", 0, ""));
	as_assert(!chdir(PLAIN_FS));
	as_assert(!as_tree_capture(&as_tree_cwd_ops, NULL, &tree, &why));
	as_tree_put(tree);
	as_assert(!chdir("/"));
	while (umount2(PLAIN_FS, 0))
		as_assert(errno == EBUSY);
}

static int plain_loop(void *ctx)
{
	struct plain *plain = ctx;
	struct as_disk *disks[PLAIN_STATES];
	struct crashed c;
	struct as_loop *loop;
	struct as_err err;
	int64_t start_us;
	int fd;

	own_place();
	crash_disk(&c);
	plain->states = pick_disks(&c, disks, PLAIN_STATES);
	fd = open(PLAIN "/disk", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	as_assert(fd >= 0 && !ftruncate(fd, (off_t)DISK_BYTES));
	as_assert(!as_loop_new(PLAIN "/disk", 0, &loop, &err));
	start_us = as_now_us();
	for (size_t i = 0; i < plain->states; i++) {
		restore_whole(disks[i], fd);
		as_assert(!as_loop_forget(loop, &err));
		mount_and_walk(loop);
	}
	plain->wall_us = as_now_us() - start_us;
	as_loop_free(loop);
	free_disks(disks, plain->states);
	crashed_free(&c);
	return 0;
}

/* ---- crash.ext4 ------------------------------------------------------------------------------ */

static double best_of(double best, double now)
{
	return now > best ? now : best;
}

static void bench_host(as_bench_report report)
{
	struct crashing *c = as_shared_alloc(PROCESSES * sizeof(*c));
	struct plain *p = as_shared_alloc(PROCESSES * sizeof(*p));
	double judged = 0, plain = 0, hits = 0;

	for (int turn = 0; turn < TURNS; turn++) {
		void *const crash_ctx[PROCESSES] = { &c[0], &c[1] };
		void *const plain_ctx[PROCESSES] = { &p[0], &p[1] };
		double states = 0, memoised = 0, by_hand = 0;
		int64_t wall_us;

		c[0].from = 0;
		c[1].from = 1;
		wall_us = together(crash_small, crash_ctx);
		together(plain_loop, plain_ctx);
		for (int i = 0; i < PROCESSES; i++) {
			states += (double)(c[i].counts.checked + c[i].counts.memoised);
			memoised += (double)c[i].counts.memoised;
			by_hand += (double)p[i].states / ((double)p[i].wall_us / 1e6);
		}
		judged = best_of(judged, states / ((double)wall_us / 1e6));
		plain = best_of(plain, by_hand);
		hits = memoised / states;
	}
	report("crash.ext4", judged, "state/s");
	report("crash.ext4.hits", 100 * hits, "%");
	report("crash.ext4.plain", plain, "state/s");
	report("crash.ext4.ratio", judged / plain, "x");
	as_shared_free(c, PROCESSES * sizeof(*c));
	as_shared_free(p, PROCESSES * sizeof(*p));
}

/* ---- crash.memo ------------------------------------------------------------------------------ */

struct memo_result {
	double on_us, off_us, hits;
};

/* Checks a disk with all three checkers. */
static double check_all(struct crashed *c, struct as_disk **disks, size_t n, enum as_memo_mode mode,
			struct as_step_stats *stats)
{
	const struct as_recover_options options = { .memo = mode };
	struct as_host_log log = { 0 };
	struct as_recoverer *recoverer;
	struct as_stepped stepped;
	struct as_target *target;
	struct as_err err;
	int64_t start_us;

	as_assert(!as_target_open_type(c->type, "", &target, &err));
	as_assert(!as_recoverer_new(target, 0, &log, &options, &recoverer, &err));

	/* The program is loaded before the clock starts. */
	as_assert(!as_step(recoverer, AS_STEP_FULL, c->start, AS_STEP_WANT_DISK, &stepped, &err));
	as_stepped_free(&stepped);
	start_us = as_now_us();
	for (size_t i = 0; i < n; i++)
		for (enum as_step step = AS_STEP_QUICK; step <= AS_STEP_FULL; step++) {
			as_assert(!as_step(recoverer, step, disks[i], AS_STEP_WANT_DISK, &stepped,
					   &err));
			as_assert(stepped.end == AS_RECOVERED);
			as_stepped_free(&stepped);
		}
	start_us = as_now_us() - start_us;
	*stats = as_recoverer_stats(recoverer);
	as_recoverer_free(recoverer);
	as_target_free(target);
	return (double)start_us / (double)n;
}

static int memo_inside(void *ctx)
{
	struct memo_result *r = ctx;
	struct as_disk *disks[4 * MEMO_STATES];
	struct as_step_stats stats;
	struct crashed c;
	size_t n;

	crash_disk(&c);
	n = pick_disks(&c, disks, 4 * MEMO_STATES);
	/* Without the memo, a part of them is enough. */
	r->off_us = check_all(&c, disks, n < MEMO_STATES ? n : MEMO_STATES, AS_MEMO_OFF, &stats);
	r->on_us = check_all(&c, disks, n, AS_MEMO_ON, &stats);
	r->hits = (double)stats.memo.hits / (double)stats.memo.asked;
	free_disks(disks, n);
	crashed_free(&c);
	return 0;
}

static void bench_memo(as_bench_report report)
{
	struct memo_result *r = as_shared_alloc(sizeof(*r));
	struct as_ended ended;
	struct as_err err;

	as_assert(!as_spawn_fork(memo_inside, r, 120000, NULL, &ended, &err));
	as_assert(ended.how == AS_END_EXIT && !ended.status);
	report("crash.memo", r->off_us / r->on_us, "x");
	report("crash.memo.hits", 100 * r->hits, "%");
	report("crash.memo.on", r->on_us, "us/state");
	report("crash.memo.off", r->off_us, "us/state");
	as_shared_free(r, sizeof(*r));
}

/* ---- crash.ext4.uml -------------------------------------------------------------------------- */

static void on_workload(void *ctx, const char *name, const struct as_run_result *result)
{
	(void)name;
	*(struct as_run_result *)ctx = *result;
}

static void bench_guest(as_bench_report report)
{
	struct as_args args = { 0 };
	struct as_seq *seq = make_seq(0, 4);
	const char *name = "bench";
	const struct as_work work = { (const struct as_seq *const *)&seq, &name, 1, NULL };
	struct as_run_result stats = { 0 };
	struct as_run_result result = { 0 };
	struct as_crash_counts counts;
	struct as_cli_box box;
	struct as_err err;
	int rc = as_cli_box_open(&args, "ext4", DISK_BYTES, &box, &err);

	if (!rc) {
		box.boxed.options.size_bytes = DISK_BYTES;
		box.boxed.options.deadline_ms = 60000;
		snprintf(box.boxed.options.scenario, sizeof(box.boxed.options.scenario),
			 "crash:again=0");
		box.boxed.workload = on_workload;
		box.boxed.ctx = &result;
		rc = as_boxed_run(&box.boxed, &work, &stats, &err);
		as_assert(rc == AS_ELACK || (!rc && !stats.findings));
		as_cli_box_close(&box);
	}
	as_seq_free(seq);
	if (rc)
		return;
	memcpy(&counts, result.counts, sizeof(counts));
	report("crash.ext4.uml",
	       (double)(counts.checked + counts.memoised) / ((double)result.wall_us / 1e6),
	       "state/s");
}

/* ---- crash.memory ---------------------------------------------------------------------------- */

/* Makes the workload longer until there are enough states. */
static int crash_large(void *ctx)
{
	struct crashing *c = ctx;

	for (int rounds = 8; c->counts.checked + c->counts.memoised < LARGE_STATES; rounds *= 2)
		crash_once(c, LARGE_BYTES, rounds, 8);
	return 0;
}

static void bench_memory(as_bench_report report)
{
	struct crashing *c = as_shared_alloc(sizeof(*c));
	struct as_ended ended;
	struct as_err err;

	as_assert(!as_spawn_fork(crash_large, c, 600000, NULL, &ended, &err));
	as_assert(ended.how == AS_END_EXIT && !ended.status);
	report("crash.memory", (double)c->rss_kib / 1024, "MiB");
	report("crash.memory.states", (double)(c->counts.checked + c->counts.memoised), "state");
	as_shared_free(c, sizeof(*c));
}

void bench_crash_kernel(as_bench_report report)
{
	static const struct {
		const char *prefix;
		void (*run)(as_bench_report report);
		bool guest;
	} parts[] = {
		{ "crash.ext4", bench_host, false },
		{ "crash.memo", bench_memo, false },
		{ "crash.memory", bench_memory, false },
		{ "crash.ext4.uml", bench_guest, true },
	};
	bool host = !lacks_host();

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((parts[i].guest || host) && as_bench_wants(parts[i].prefix))
			parts[i].run(report);
}
