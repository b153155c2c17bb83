/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: sandboxes whose kernel panics, complains, falls silent or is killed, and what becomes of
 * the workloads. This program is what runs in the guest, too: as its first process, and as its
 * engine, which is assay's own with a mischief-maker beside it. A workload's name says what the
 * mischief is.
 */
#include "tests/lib/skip.h"

#include "base/prng.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "disk/cow.h"
#include "dossier/store.h"
#include "dossier/stored.h"
#include "os/spawn.h"
#include "supervise/boxed.h"
#include "supervise/wire.h"
#include "tests/lib/tmpdir.h"
#include "vfs/sys_new.h"
#include "work/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define HOGS 11 /* that share a processor with a sandbox */
#define BURN UINT64_C(2000000000)
#define JOBS_MAX 256 /* also of findings: a workload that is run again may tell them again */

/* ---- In the guest ---------------------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		_exit(1);
	close(fd);
}

/* Takes the one processor there is, for good. */
static void spin(void)
{
	struct sched_param param = { .sched_priority = 99 };

	put("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	if (!sched_setscheduler(0, SCHED_FIFO, &param))
		for (;;)
			;
}

static void complain(void)
{
	put("/dev/kmsg", "<2>EXT4-fs error (device loop0): ext4_lookup:1855: inode #2: comm "
			 "assay: deleted inode referenced: 12\n");
}

/* A task that waits in the kernel, for as long as its child does not end. */
static void block(void)
{
	if (fork())
		return;
	if (!vfork())
		for (;;)
			pause();
	_exit(0);
}

/* So much work that it takes about a second of a processor, whatever a clock says. */
static void burn(void)
{
	for (uint64_t i = 0; i < BURN; i++)
		__asm__ volatile("" : : : "memory");
}

static void make_mischief(const char *what, pid_t engine, struct as_box_state *state)
{
	if (!strcmp(what, "panic"))
		put("/proc/sysrq-trigger", "c");
	else if (!strcmp(what, "complain"))
		complain();
	else if (!strcmp(what, "expected")) {
		/* As the engine does around a workload whose disk fails. */
		state->faults++;
		complain();
		state->faults++;
	} else if (!strcmp(what, "stop")) {
		block();
		kill(engine, SIGSTOP);
	} else if (!strcmp(what, "slow")) {
		kill(engine, SIGSTOP);
		burn();
		kill(engine, SIGCONT);
	} else if (!strcmp(what, "crash"))
		kill(engine, SIGSEGV);
	else if (!strcmp(what, "spin"))
		spin();
}

/* Waits for the workload that asks for it. */
static void lurk(const char *state_path, const char *call_path, pid_t engine)
{
	struct as_box_state *state = NULL;
	struct as_buf text = { 0 };
	struct as_wire_call call;

	if (as_buf_read_file(&text, call_path, 1 << 24, NULL) ||
	    as_wire_call_parse(as_buf_str(&text), text.len, &call, NULL) ||
	    as_box_state_open(state_path, &state, NULL))
		_exit(1);
	for (int64_t job = 0; job < (int64_t)call.work.n; job++) {
		const char *name = call.work.names[job];

		if (strncmp(name, "mischief:", 9))
			continue;
		while (state->job < job || (state->job == job && as_box_progress(state) < 60))
			poll(NULL, 0, 1);
		if (state->job == job)
			make_mischief(name + 9, engine, state);
	}
	_exit(0);
}

extern const struct as_command as_cmd_engine;

static int engine_main(int argc, char **argv)
{
	static const struct as_command *const commands[] = { &as_cmd_engine, NULL };
	pid_t engine = getpid(), lurker = fork();

	if (!lurker)
		lurk(argv[2], argv[3], engine);
	return as_cli_main(commands, argc, argv);
}

/* ---- Outside --------------------------------------------------------------------------------- */

struct heard {
	struct as_sink sink;
	unsigned n;
	enum as_finding_kind kind[JOBS_MAX];
	char name[JOBS_MAX][64], summary[JOBS_MAX][256], signature[JOBS_MAX][256];
	long op[JOBS_MAX];
	bool has_log[JOBS_MAX], has_detail[JOBS_MAX], has_stack[JOBS_MAX];
	unsigned workloads;
	int signal_after_first; /* what the kernel is sent then */
	bool busy_after_first; /* the machine is, from then on */
	pid_t hogs[HOGS];
	const char *raw; /* where to put the disk of a finding */
	char options[256]; /* of the last */
};

static void write_raw(const void *disk, const char *path)
{
	struct as_bd *bd = as_disk_bd((struct as_disk *)disk);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char block[65536];

	for (uint64_t off = 0; off < bd->size_bytes; off += sizeof(block)) {
		assert_int_equal(as_bd_read(bd, off, block, sizeof(block)), 0);
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	}
	assert_int_equal(close(fd), 0);
}

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	struct heard *h = (struct heard *)sink;
	unsigned i = h->n++;

	assert_true(i < JOBS_MAX);
	h->kind[i] = f->kind;
	if (h->raw && f->disk)
		write_raw(f->disk, h->raw);
	snprintf(h->options, sizeof(h->options), "%s", f->options);
	h->op[i] = f->op_index;
	h->has_log[i] = f->log && strlen(f->log) > 200;
	h->has_stack[i] = f->log && strstr(f->log, "task:") && strstr(f->log, "Call Trace:");
	h->has_detail[i] = f->detail && *f->detail;
	snprintf(h->name[i], sizeof(h->name[i]), "%s", f->workload_name);
	snprintf(h->summary[i], sizeof(h->summary[i]), "%s", f->summary);
	snprintf(h->signature[i], sizeof(h->signature[i]), "%s", f->signature);
}

/* The kernel of a guest that this process has started, 0: there is none. */
static pid_t find_kernel(pid_t owner)
{
	char want[4096], path[64], line[8192];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	snprintf(want, sizeof(want), AS_UML_OWNER_WORD "%d", owner);
	while (!found && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		ssize_t len;
		int fd;

		if (pid <= 0 || getpgid(pid) != pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		len = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;
		close(fd);
		for (ssize_t at = 0; at < len && !found; at += (ssize_t)strlen(line + at) + 1) {
			line[len] = '\0';
			found = !strcmp(line + at, want) ? pid : 0;
		}
	}
	closedir(proc);
	return found;
}

static void hear_workload(void *ctx, const char *name, const struct as_run_result *result)
{
	struct heard *h = ctx;

	(void)name;
	(void)result;
	if (!h->workloads++ && h->signal_after_first)
		assert_int_equal(kill(find_kernel(getpid()), h->signal_after_first), 0);
	for (int i = 0; h->workloads == 1 && h->busy_after_first && i < HOGS; i++) {
		h->hogs[i] = fork();
		if (!h->hogs[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
		assert_true(h->hogs[i] > 0);
	}
}

static void need_uml(void)
{
	struct as_box_options o = { .core = AS_CORE_HERE };
	struct as_err err;

	if (as_sandbox_uml.ready(&o, &err))
		skip_because("%s", err.msg);
}

struct jobs {
	struct as_seq *seqs[JOBS_MAX];
	const char *names[JOBS_MAX];
	char name[JOBS_MAX][64];
	size_t n;
};

static void add_job(struct jobs *all, const char *name, const char *text)
{
	struct as_seq *seq;

	assert_true(all->n < JOBS_MAX);
	assert_int_equal(as_parse_text(name, text, strlen(text), &seq, NULL), 0);
	snprintf(all->name[all->n], sizeof(all->name[0]), "%s", name);
	all->seqs[all->n] = seq;
	all->names[all->n] = all->name[all->n];
	all->n++;
}

/* Long enough for someone to do harm on the way. */
static void add_long(struct jobs *all, const char *name)
{
	struct as_buf text = { 0 };

	for (int i = 0; i < 1500; i++)
		as_buf_addf(&text, "create /f%d 0644\nstat /f%d\n", i, i);
	add_job(all, name, as_buf_str(&text));
	as_buf_free(&text);
}

static void free_jobs(struct jobs *all)
{
	for (size_t i = 0; i < all->n; i++)
		as_seq_free(all->seqs[i]);
	free(all);
}

static int run_all(const struct jobs *all, const char *target, const char *out,
		   unsigned deadline_ms, unsigned silence_ms, struct heard *heard,
		   struct as_sink *found, struct as_run_result *stats, struct as_err *err)
{
	struct as_boxed boxed = { .sandbox = &as_sandbox_uml,
				  .box = { .core = AS_CORE_HERE },
				  .target = target,
				  .options = { .deadline_ms = deadline_ms },
				  .out = out,
				  .notes = &heard->sink,
				  .findings = found ? found : &heard->sink,
				  .workload = hear_workload,
				  .ctx = heard,
				  .silence_ms = silence_ms };
	const struct as_work work = { (const struct as_seq *const *)all->seqs, all->names, all->n,
				      NULL };

	heard->sink.finding = hear;
	return as_boxed_run(&boxed, &work, stats, err);
}

/* ---- Kernels that die ------------------------------------------------------------------------ */

static const struct {
	const char *mischief;
	enum as_finding_kind kind;
	const char *summary; /* part of it */
	bool in_flight; /* the operation is known */
} harms[] = {
	{ "panic", AS_FIND_KERNEL, "Kernel panic - not syncing: sysrq triggered crash", true },
	{ "complain", AS_FIND_KERNEL, "EXT4-fs error (device loop0): ext4_lookup", false },
	{ "crash", AS_FIND_SIGNAL, "the engine died of SIGSEGV", true },
	{ "stop", AS_FIND_HANG, "did not come back", false },
};

static void test_harms(void **state)
{
	struct jobs *all;
	struct heard *heard;
	struct as_run_result stats = { 0 };
	struct as_err err = { 0 };
	char name[64];
	unsigned n = sizeof(harms) / sizeof(harms[0]);

	(void)state;
	need_uml();
	all = as_xcalloc(1, sizeof(*all));
	heard = as_xcalloc(1, sizeof(*heard));
	add_job(all, "first", "mkdir /a 0755\n");
	/* No harm: the kernel may complain of a disk that is made to fail. */
	add_long(all, "mischief:expected");
	add_job(all, "between", "mkdir /a 0755\nrmdir /a\n");
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "mischief:%s", harms[i].mischief);
		add_long(all, name);
		add_job(all, "between", "mkdir /a 0755\nrmdir /a\n");
	}
	if (run_all(all, "dir:/tmp", NULL, 3000, 0, heard, NULL, &stats, &err))
		fail_msg("%s", err.msg);
	for (unsigned i = 0; i < heard->n; i++)
		print_message("%s: %s [%s]\n", heard->name[i], heard->summary[i],
			      heard->signature[i]);
	assert_int_equal(heard->n, n);
	assert_int_equal(heard->workloads, all->n);
	assert_int_equal(stats.workloads, all->n);
	assert_int_equal(stats.findings, n);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "mischief:%s", harms[i].mischief);
		assert_string_equal(heard->name[i], name);
		assert_int_equal(heard->kind[i], harms[i].kind);
		if (!strstr(heard->summary[i], harms[i].summary))
			fail_msg("%s: %s", name, heard->summary[i]);
		if (harms[i].in_flight && heard->op[i] < 0)
			fail_msg("%s: no operation: %s", name, heard->summary[i]);
		assert_true(heard->has_log[i]);
		assert_true(heard->has_stack[i] || harms[i].kind != AS_FIND_HANG);
		assert_true(heard->has_detail[i] || !harms[i].in_flight);
	}
	free(heard);
	free_jobs(all);
}

static int run_tool(char *const *argv, struct as_buf *output)
{
	struct as_spawn spawn = { .argv = argv, .deadline_ms = 20000, .output = output };
	struct as_ended ended;

	if (as_spawn_run(&spawn, &ended, NULL))
		return -1;
	return ended.how == AS_END_EXIT ? ended.status : 128;
}

/* The disk at the moment of a panic: what was synced is on it, and ext4's own tools agree. */
static void test_disk(void **state)
{
	struct as_args args = { 0 };
	struct heard *heard;
	char raw[PATH_MAX], debugfs[] = "debugfs", opt[] = "-R", ls[] = "stat /kept/f7",
			    e2fsck[] = "e2fsck", fy[] = "-fy";
	char *const check[] = { e2fsck, fy, raw, NULL }, *const look[] = { debugfs, opt, ls, raw,
									   NULL };
	struct as_buf text = { 0 }, output = { 0 };
	struct as_run_result stats = { 0 };
	struct as_seq *seq;
	const char *const name = "mischief:panic";
	const struct as_work work = { (const struct as_seq *const *)&seq, &name, 1, NULL };
	struct as_cli_box box;
	struct as_err err;
	int rc;

	(void)state;
	need_uml();
	heard = as_xcalloc(1, sizeof(*heard));
	if (as_cli_box_open(&args, "ext4", 0, &box, &err))
		skip_because("%s", err.msg);
	as_buf_adds(&text, "mkdir /kept 0755\n");
	for (int i = 0; i < 10; i++)
		as_buf_addf(&text, "create /kept/f%d 0644\n", i);
	as_buf_adds(&text, "sync\n");
	for (int i = 0; i < 3000; i++)
		as_buf_addf(&text, "create /f%d 0644\nstat /f%d\n", i, i);
	assert_int_equal(as_parse_text("w", as_buf_str(&text), text.len, &seq, &err), 0);
	snprintf(raw, sizeof(raw), "%s/raw", t_tmpdir());
	heard->raw = raw;
	heard->sink.finding = hear;
	box.boxed.notes = box.boxed.findings = &heard->sink;
	rc = as_boxed_run(&box.boxed, &work, &stats, &err);
	if (rc)
		fail_msg("%s", err.msg);
	assert_int_equal(heard->n, 1);
	if (heard->op[0] < 12)
		fail_msg("too early: %s", heard->summary[0]);
	rc = run_tool(check, &output);
	if (rc != 0 && rc != 1)
		fail_msg("e2fsck: %d: %s", rc, as_buf_str(&output));
	as_buf_clear(&output);
	assert_int_equal(run_tool(look, &output), 0);
	assert_non_null(strstr(as_buf_str(&output), "Type: regular"));
	as_cli_box_close(&box);
	as_seq_free(seq);
	as_buf_free(&text);
	as_buf_free(&output);
	free(heard);
}

/* A panic in the middle of a recovery: the state that was being recovered is known, and its disk,
 * and the workload after it is done. */
static void test_crash_run(void **state)
{
	static const char text[] = "mkdir /d 0755\n$0 = open /d/f O_RDWR|O_CREAT 0644\n"
				   "pwrite $0 len=5000 at=0 fill=1\nfsync $0\nclose $0\n"
				   "rename /d/f /d/g\nsync\n";
	struct as_args args = { 0 };
	struct heard *heard;
	char raw[PATH_MAX], e2fsck[] = "e2fsck", fy[] = "-fy";
	char *const check[] = { e2fsck, fy, raw, NULL };
	struct as_buf output = { 0 };
	struct as_run_result stats = { 0 };
	const char *const names[] = { "mischief:panic", "in peace" };
	const struct as_seq *seqs[2];
	const struct as_work work = { seqs, names, 2, NULL };
	struct as_seq *seq;
	struct as_cli_box box;
	struct as_err err;
	int rc;

	(void)state;
	need_uml();
	heard = as_xcalloc(1, sizeof(*heard));
	if (as_cli_box_open(&args, "ext4", 2 << 20, &box, &err))
		skip_because("%s", err.msg);
	assert_int_equal(as_parse_text("w", text, strlen(text), &seq, &err), 0);
	snprintf(raw, sizeof(raw), "%s/raw", t_tmpdir());
	heard->raw = raw;
	heard->sink.finding = hear;
	box.boxed.notes = box.boxed.findings = &heard->sink;
	box.boxed.workload = hear_workload;
	box.boxed.ctx = heard;
	box.boxed.options.size_bytes = 2 << 20;
	snprintf(box.boxed.options.scenario, sizeof(box.boxed.options.scenario),
		 "crash:views=1,again=0");
	seqs[0] = seqs[1] = seq;
	rc = as_boxed_run(&box.boxed, &work, &stats, &err);
	if (rc)
		fail_msg("%s", err.msg);
	assert_int_equal(heard->n, 1);
	assert_int_equal(heard->kind[0], AS_FIND_KERNEL);
	assert_int_equal(heard->workloads, 2);
	if (!strstr(heard->summary[0], "recovery by ") || !strstr(heard->options, "crash:view=1,"))
		fail_msg("%s; %s", heard->summary[0], heard->options);
	rc = run_tool(check, &output);
	if (rc != 0 && rc != 1)
		fail_msg("e2fsck: %d: %s", rc, as_buf_str(&output));
	as_cli_box_close(&box);
	as_seq_free(seq);
	as_buf_free(&output);
	free(heard);
}

/* ---- Kernels that are killed ----------------------------------------------------------------- */

/* Kills `times` kernels: every other one whenever it is, booting or not, the rest after it has
 * finished something, so that there is an end. */
static int killer(pid_t owner, unsigned times, uint64_t seed, const struct heard *heard)
{
	struct as_prng prng = as_prng_seed(seed);
	pid_t last = 0;

	while (times) {
		pid_t pid = find_kernel(owner);
		unsigned before = *(const volatile unsigned *)&heard->workloads;

		if (!pid || pid == last) {
			poll(NULL, 0, 2);
			continue;
		}
		last = pid;
		while (times % 2 && *(const volatile unsigned *)&heard->workloads == before)
			poll(NULL, 0, 1);
		poll(NULL, 0, (int)as_prng_below(&prng, times % 2 ? 4 : 500));
		/* One that the kernel in there catches, and one that nobody does. */
		if (!kill(pid, times % 3 ? SIGKILL : SIGTERM))
			times--;
	}
	return 0;
}

static pid_t start_killer(unsigned times, uint64_t seed, const struct heard *heard)
{
	pid_t owner = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(killer(owner, times, seed, heard));
	}
	return pid;
}

static void test_silence(void **state)
{
	struct jobs *all;
	struct heard *heard;
	struct as_run_result stats = { 0 };
	struct as_err err = { 0 };
	const char *out = t_tmpdir();

	(void)state;
	need_uml();
	all = as_xcalloc(1, sizeof(*all));
	heard = as_xcalloc(1, sizeof(*heard));
	add_long(all, "long");
	add_long(all, "mischief:spin");
	add_long(all, "long");
	if (run_all(all, "dir:/tmp", out, 0, 5000, heard, NULL, &stats, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(heard->n, 1);
	assert_int_equal(heard->kind[0], AS_FIND_HANG);
	assert_non_null(strstr(heard->summary[0], "the kernel fell silent"));
	assert_int_equal(heard->workloads, all->n);
	free(heard);
	free_jobs(all);
}

/* A sandbox that hardly gets a processor does not hang, although its kernel cannot know why an
 * operation takes so long. */
static void test_busy_machine(void **state)
{
	struct jobs *all;
	struct heard *heard;
	struct as_run_result stats = { 0 };
	struct as_err err = { 0 };
	cpu_set_t before, one;
	int rc;

	(void)state;
	need_uml();
	all = as_xcalloc(1, sizeof(*all));
	heard = as_xcalloc(1, sizeof(*heard));
	add_job(all, "first", "mkdir /a 0755\n");
	add_long(all, "mischief:slow");
	heard->busy_after_first = true;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	rc = run_all(all, "dir:/tmp", NULL, 1000, 0, heard, NULL, &stats, &err);
	for (int i = 0; i < HOGS && heard->hogs[i]; i++) {
		kill(heard->hogs[i], SIGKILL);
		waitpid(heard->hogs[i], NULL, 0);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	if (rc)
		fail_msg("%s", err.msg);
	if (heard->n)
		fail_msg("%s", heard->summary[0]);
	assert_int_equal(heard->workloads, all->n);
	free(heard);
	free_jobs(all);
}

/* Somebody stops the kernel, or tells it to end: that is no finding. */
static void test_signals(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGKILL };

	(void)state;
	need_uml();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct jobs *all = as_xcalloc(1, sizeof(*all));
		struct heard *heard = as_xcalloc(1, sizeof(*heard));
		struct as_run_result stats = { 0 };
		struct as_err err = { 0 };

		for (int j = 0; j < 2; j++)
			add_long(all, "long");
		heard->signal_after_first = signals[i];
		if (run_all(all, "dir:/tmp", NULL, 0, 0, heard, NULL, &stats, &err))
			fail_msg("%s: %s", as_signal_name(signals[i]), err.msg);
		if (heard->n)
			fail_msg("%s: %s", as_signal_name(signals[i]), heard->summary[0]);
		assert_int_equal(heard->workloads, all->n);
		free(heard);
		free_jobs(all);
	}
}

static unsigned count_findings(const char *out, const char *than)
{
	char path[4096];
	unsigned n = 0;
	DIR *dir;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/findings", out);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct as_stored stored;
		struct as_dir folder;
		struct as_err err;
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		n++;
		snprintf(path, sizeof(path), "%s/findings/%s", out, entry->d_name);
		if (as_dir_open(path, NULL, &folder, &err) ||
		    as_stored_load(&folder, &stored, &err))
			fail_msg("%s", err.msg);
		as_dir_close(&folder);
		as_stored_free(&stored);
		snprintf(path, sizeof(path), "%s/findings/%s", than, entry->d_name);
		if (stat(path, &st))
			fail_msg("%s is not there", path);
	}
	closedir(dir);
	return n;
}

/* Whatever moment a guest is killed at, nothing is lost and nothing is made up. */
static void test_kills(void **state)
{
	enum { KILLS = 16, WORKLOADS = 120 };
	struct jobs *all;
	struct heard *heard;
	const char *out[2] = { t_tmpdir(), t_tmpdir() };
	struct as_err err = { 0 };
	int status;

	(void)state;
	need_uml();
	all = as_xcalloc(1, sizeof(*all));
	heard = as_shared_alloc(2 * sizeof(*heard));
	for (int i = 0; i < WORKLOADS; i++) {
		struct as_buf text = { 0 };
		char name[32];

		/* It takes its time: the killer is to come in between. */
		for (int j = 0; j < 100; j++)
			as_buf_addf(&text, "create /f%d 0644\n", j);
		as_buf_addf(&text, "create /a%d 0644\ncreate /b 0644\nrename /a%d /b\n", i, i);
		snprintf(name, sizeof(name), "w%d", i);
		add_job(all, name, as_buf_str(&text));
		as_buf_free(&text);
	}
	for (int i = 0; i < 2; i++) {
		struct as_run_result stats = { 0 };
		struct as_sink *store;
		pid_t pid = -1;

		assert_int_equal(as_store_sink_new(out[i], &store, &err), 0);
		if (i)
			pid = start_killer(KILLS, 7, &heard[i]);
		if (run_all(all, "lab:bug=1", out[i], 0, 0, &heard[i], store, &stats, &err))
			fail_msg("%s", err.msg);
		as_store_sink_free(store);
		assert_int_equal(heard[i].workloads, WORKLOADS);
		if (i) {
			/* It must have been at work all the time. */
			kill(pid, SIGTERM);
			assert_int_equal(waitpid(pid, &status, 0), pid);
			assert_true(WIFEXITED(status));
		}
	}
	assert_int_equal(count_findings(out[0], out[1]), WORKLOADS);
	assert_int_equal(count_findings(out[1], out[0]), WORKLOADS);
	as_shared_free(heard, 2 * sizeof(*heard));
	free_jobs(all);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_harms),	     cmocka_unit_test(test_disk),
		cmocka_unit_test(test_crash_run),    cmocka_unit_test(test_silence),
		cmocka_unit_test(test_busy_machine), cmocka_unit_test(test_signals),
		cmocka_unit_test(test_kills),
	};

	if (getpid() == 1 && !strcmp(argv[0], "/init"))
		as_guest_main();
	if (argc > 2 && !strcmp(argv[1], AS_WIRE_ENGINE))
		return engine_main(argc, argv);
	/* All of this is for ordinary users. */
	if (!geteuid() && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
