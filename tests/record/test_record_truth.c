/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same known calls, counted in five ways: a program makes them and is traced by strace, by
 * record with ptrace, by record in the process itself and by record with eBPF; a workload makes
 * them, and the executor counts. All must come to the same counts, which must be those of the table
 * (known.def). The program is this one, started with --known.
 *
 * A second program (--tree) is about processes: forks, threads, dups, exec; four ways.
 */
#include "traced.h"

#include "cover/own.h"
#include "cover/read.h"
#include "cover/tally.h"
#include "os/spawn.h"
#include "record/record.h"
#include "run/run.h"
#include "tests/lib/counted.h"
#include "tests/lib/tmpdir.h"
#include "vfs/watch.h"
#include "work/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#define NAME_16 "nnnnnnnnnnnnnnnn"
#define NAME_64 NAME_16 NAME_16 NAME_16 NAME_16
#define NAME_256 NAME_64 NAME_64 NAME_64 NAME_64
#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static char self[4096];
extern char **environ;

/* ---- The programs ---------------------------------------------------------------------------- */

static char block[1 << 17];
#define B block
#define P(path) in(root, path)
#define C(name, ...) syscall(SYS_##name, __VA_ARGS__)

static const char *in(const char *root, const char *path)
{
	static char made[4][4096];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(made[turn], sizeof(made[turn]), "%s%s", root, path);
	return made[turn];
}

static int known_program(const char *root)
{
	long fd[10] = { 0 }, map = 0;

	memset(fd, 0xff, sizeof(fd));
	umask(0);
#define OP(text, ...) __VA_ARGS__;
#include "known.def"
#undef OP
	(void)map;
	return 7;
}

static void *in_thread(void *arg)
{
	/* Descriptors and directory are those of the whole process. */
	int fd = *(const int *)arg;

	C(write, fd, B, 300);
	C(chdir, "/");
	return (void *)C(openat, AT_FDCWD, "nowhere-in-root", O_RDONLY, 0);
}

/* A child with a table of its own; then what the parent has is as before. */
static void forks(const char *root, int fd)
{
	pid_t pid = fork();

	if (!pid) {
		C(close, fd);
		C(chdir, P("/sub"));
		fd = (int)C(openat, AT_FDCWD, "child", O_RDWR | O_CREAT, 0600);
		C(write, fd, B, 10);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	C(write, fd, B, 20);
	C(newfstatat, AT_FDCWD, "sub", B, 0);
}

static void execs(const char *root, int kept, int lost)
{
	char kept_text[16], lost_text[16];
	char *argv[] = { self, "--exec", (char *)root, kept_text, lost_text, NULL };
	pid_t pid;

	snprintf(kept_text, sizeof(kept_text), "%d", kept);
	snprintf(lost_text, sizeof(lost_text), "%d", lost);
	if (!posix_spawn(&pid, self, NULL, NULL, argv, environ))
		waitpid(pid, NULL, 0);
}

static int exec_program(const char *root, int kept, int lost)
{
	C(write, kept, B, 77);
	C(write, lost, B, 78); /* closed by exec */
	C(unlinkat, AT_FDCWD, P("/sub/child"), 0);
	return 0;
}

static int tree_program(const char *root)
{
	int fd, cloexec, copy;
	pthread_t thread;

	umask(0);
	C(mkdirat, AT_FDCWD, "sub", 0755);
	fd = (int)C(openat, AT_FDCWD, "shared", O_RDWR | O_CREAT, 0600);
	forks(root, fd);
	cloexec = (int)C(openat, AT_FDCWD, "cloexec", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	copy = (int)C(fcntl, cloexec, F_DUPFD, 40);
	C(dup2, copy, 50);
	C(dup3, copy, 51, O_CLOEXEC);
	execs(root, 50, 51);
	C(close_range, 50, 60, 0);
	C(write, 50, B, 1);
	if (!pthread_create(&thread, NULL, in_thread, &fd))
		pthread_join(thread, NULL);
	/* The thread has moved us. */
	C(mkdirat, AT_FDCWD, "not-below-the-root-of-the-test/x", 0755);
	C(mkdirat, AT_FDCWD, P("/sub/last"), 0755);
	return 0;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

/* What was counted, without where it is from and what was left out. */
static char *counted(const struct as_counts *counts)
{
	struct as_buf all = { 0 }, kept = { 0 };
	char *save = NULL;

	as_counts_print(counts, &all);
	for (char *line = strtok_r(all.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, "call ", 5) || !strncmp(line, "part ", 5) ||
		    !strncmp(line, "bits ", 5) || !strncmp(line, "out ", 4))
			as_buf_addf(&kept, "%s\n", line);
	as_buf_free(&all);
	assert_true(kept.len > 0);
	return kept.data;
}

/* The program starts in its root, as a workload does. */
static char *by_record(const struct as_source_ops *source, char *mode)
{
	const char *root = t_tmpdir();
	char *argv[] = { self, mode, (char *)root, NULL }, *text;
	struct as_world_options options = { .under = root };
	struct as_tally tally;
	int status = 0, here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct as_err err = { 0 };

	assert_int_equal(as_tally_open(&tally, t_spec, &options, as_counts_new(t_spec), NULL, &err),
			 0);
	assert_int_equal(chdir(root), 0);
	if (source->run(&(struct as_source_input){ .argv = argv, .exit_status = &status },
			&tally.to, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(fchdir(here), 0);
	close(here);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), strcmp(mode, "--known") ? 0 : 7);
	assert_int_equal(as_counts_noted(tally.counts, AS_NOTE_LOST), 0);
	assert_null(as_counts_is_partial(tally.counts));
	text = counted(tally.counts);
	as_tally_close(&tally);
	as_counts_free(tally.counts);
	t_tmpdir_remove(root);
	return text;
}

static char *by_strace(const char *mode)
{
	const char *root = t_tmpdir(), *trace = t_tmpdir();
	char *text;
	struct as_buf file = { 0 };
	struct as_read_options options = { .world = { .under = root, .cwd = root } };
	struct as_counts *counts = as_counts_new(t_spec);
	struct as_err err = { 0 }, why = { 0 };
	struct as_ended ended;

	as_buf_addf(&file, "%s/trace", trace);
	{
		char *argv[] = { "strace",  "-f", "-s",		"5000",	      "-o",
				 file.data, self, (char *)mode, (char *)root, NULL };
		struct as_spawn spawn = { .argv = argv, .cwd = root };

		if (as_spawn_run(&spawn, &ended, &err))
			fail_msg("%s", err.msg);
	}
	if (as_read_trace(t_spec, file.data, &options, counts, &why, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(why.code, 0);
	assert_int_equal(as_counts_noted(counts, AS_NOTE_NOT_UNDERSTOOD), 0);
	text = counted(counts);
	as_counts_free(counts);
	as_buf_free(&file);
	t_tmpdir_remove(root);
	t_tmpdir_remove(trace);
	return text;
}

static struct as_counts *own_counts(const char *target_text, bool ops)
{
	static const char workload[] =
#define OP(text, ...) text "\n"
#include "known.def"
#undef OP
		;
	struct as_own *own = NULL;
	struct as_run_options options = { 0 };
	struct as_watch watch = { as_own_open,	as_own_ended, as_own_close, as_own_begin,
				  as_own_holds, as_own_call,  as_own_op,    NULL };
	struct as_target *target = NULL;
	struct as_runner *runner = NULL;
	struct as_run_result result = { 0 };
	struct as_counts *counts = as_counts_new(t_spec);
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_own_new(t_spec, NULL, &own, &err) ||
	    as_parse_text("known", workload, strlen(workload), &seq, &err) ||
	    as_target_open(target_text, &target, &err))
		fail_msg("%s", err.msg);
	watch.ctx = own;
	options.watch = &watch;
	if (as_runner_new(target, &options, NULL, &runner, &err) ||
	    as_run_workload(runner, seq, "known", &result, &err))
		fail_msg("%s", err.msg);
	if (ops)
		assert_int_equal(result.findings, 0);
	as_runner_free(runner);
	as_target_free(target);
	as_seq_free(seq);
	as_counts_merge(counts, as_own_counts(own));
	as_own_free(own);
	return counts;
}

static char *by_executor(void)
{
	const char *root = t_tmpdir();
	char *text;
	struct as_buf name = { 0 };
	struct as_counts *counts;

	as_buf_addf(&name, "dir:%s", root);
	counts = own_counts(as_buf_str(&name), true);
	assert_int_equal(as_counts_noted(counts, AS_NOTE_LOST), 0);
	text = counted(counts);
	as_counts_free(counts);
	as_buf_free(&name);
	t_tmpdir_remove(root);
	return text;
}

/* ---- The tests ------------------------------------------------------------------------------- */

static bool strace_is_there(void)
{
	char path[4096];

	return as_spawn_which("strace", path, sizeof(path));
}

/* What the table says: each call as often as it stands there. */
static void assert_table(const char *text)
{
	static const char *const calls[] = {
#define OP(text, ...) #__VA_ARGS__
#include "known.def"
#undef OP
	};
	struct as_buf all = { 0 };
	unsigned total = 0, seen = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		as_buf_addf(&all, "%s;", calls[i]);
	for (unsigned i = 0; i < t_spec->n_calls; i++) {
		unsigned n = 0, told = 0;
		char find[64];

		snprintf(find, sizeof(find), "C(%s,", t_spec->calls[i].name);
		for (const char *s = all.data; (s = strstr(s, find)); s++)
			n++;
		snprintf(find, sizeof(find), "call %s ", t_spec->calls[i].name);
		if (strstr(text, find))
			told = (unsigned)atoi(strstr(text, find) + strlen(find));
		if (n != told)
			fail_msg("%s: made %u times, counted %u", t_spec->calls[i].name, n, told);
		total += n;
	}
	for (const char *s = all.data; (s = strstr(s, "C(")); s++)
		seen++;
	assert_int_equal(total, seen); /* all of the table are counted */
	as_buf_free(&all);
}

/* Lines of a that are not in b. */
static void print_missing(const char *a, const char *b, const char *sign)
{
	char *lines = as_xstrdup(a), *save = NULL;

	for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char whole[512];

		snprintf(whole, sizeof(whole), "%s\n", line);
		if (!strstr(b, whole))
			print_error("%s %s", sign, whole);
	}
	free(lines);
}

static void same(const char *what, const char *a, const char *b)
{
	if (!strcmp(a, b))
		return;
	print_missing(a, b, "-");
	print_missing(b, a, "+");
	fail_msg("%s differ", what);
}

static void executor_counts_the_table(void **state)
{
	char *text = by_executor();

	(void)state;
	assert_table(text);
	free(text);
}

/* Each way that can be used here must say what was said before. */
static void by_all(char *mode, const char *first)
{
	static const struct as_source_ops *const ways[] = { &as_source_ptrace, &as_source_inprocess,
							    &as_source_ebpf };
	struct as_err err;
	char *other;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i]->usable(&err)) {
			print_message("not by %s: %s\n", ways[i]->name, err.msg);
			continue;
		}
		other = by_record(ways[i], mode);
		same(ways[i]->name, first, other);
		free(other);
	}
	if (!strace_is_there()) {
		print_message("not by strace: it is not installed\n");
		return;
	}
	other = by_strace(mode);
	same("strace", first, other);
	free(other);
}

static void known_five_ways(void **state)
{
	char *own = by_executor();
	struct as_err err;

	(void)state;
	assert_int_equal(as_source_ptrace.usable(&err), 0);
	by_all("--known", own);
	free(own);
}

static void processes_four_ways(void **state)
{
	char *first = by_record(&as_source_ptrace, "--tree");

	(void)state;
	/* 300 from the thread, 20 from the parent, 10 from the child, 77 after exec; not 78. */
	assert_non_null(strstr(first, "call write 6\n"));
	assert_non_null(strstr(first, "out write OK=2^8 1\n"));
	assert_non_null(strstr(first, "out write OK=2^6 1\n"));
	assert_non_null(strstr(first, "out write EBADF 2\n"));
	by_all("--tree", first);
	free(first);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executor_counts_the_table),
		cmocka_unit_test(known_five_ways),
		cmocka_unit_test(processes_four_ways),
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int failed;

	if (n < 0)
		return 2;
	if (argc == 3 && !strcmp(argv[1], "--known"))
		return known_program(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "--tree"))
		return tree_program(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "--exec"))
		return exec_program(argv[2], atoi(argv[3]), atoi(argv[4]));
	t_spec = as_counts_spec();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	as_spec_free(t_spec);
	return failed;
}
