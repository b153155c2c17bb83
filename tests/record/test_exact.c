/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is hard to count exactly. Threads that share descriptors: the same numbers are freed and
 * given again all the time, on files that are asked for and on others (--threads). Calls that
 * signals interrupt, with handlers of all kinds (--signals). The program (this one) keeps count of
 * its own calls; strace, ptrace and eBPF must come to exactly that.
 *
 * TORTURE_SECONDS=N: goes on with other seeds for that long.
 */
#include "tests/lib/counted.h"
#include "tests/lib/tmpdir.h"
#include "traced.h"

#include "cover/read.h"
#include "cover/tally.h"
#include "os/spawn.h"
#include "record/record.h"
#include "tests/lib/skip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 400, SHELF = 4 };

/* What is counted, of files that are asked for. */
enum what {
	OPEN,
	WRITE,
	CLOSE_FILE,
	CLOSE_DIRECTORY,
	FCNTL,
	SYNC,
	GETDENTS,
	READ,
	READ_EINTR,
	WHATS
};
static const char *const names[WHATS] = { "open",	"write", "close regular", "close directory",
					  "fcntl",	"fsync", "getdents",	  "read",
					  "read: EINTR" };

static char self[4096];

/* ---- The program ----------------------------------------------------------------------------- */

static uint64_t truth[WHATS];
static const char *root;

struct one {
	int fd;
	bool in, dir;
};

/* Descriptors that one thread leaves for another to close. */
static struct one shelf[SHELF];
static unsigned on_shelf;
static pthread_mutex_t shelf_lock = PTHREAD_MUTEX_INITIALIZER;

static void did(enum what what, bool in)
{
	if (in)
		__atomic_fetch_add(&truth[what], 1, __ATOMIC_RELAXED);
}

static void must(long rc, const char *what)
{
	if (rc >= 0)
		return;
	perror(what);
	_exit(9);
}

static void close_one(struct one one)
{
	must(syscall(SYS_close, one.fd), "close");
	did(one.dir ? CLOSE_DIRECTORY : CLOSE_FILE, one.in);
}

/* Puts one there and takes another, or itself. */
static struct one swap(struct one mine, unsigned r)
{
	pthread_mutex_lock(&shelf_lock);
	if (on_shelf < SHELF) {
		shelf[on_shelf++] = mine;
		mine.fd = -1;
	} else {
		struct one other = shelf[r % SHELF];

		shelf[r % SHELF] = mine;
		mine = other;
	}
	pthread_mutex_unlock(&shelf_lock);
	return mine;
}

static struct one open_one(unsigned r, long thread)
{
	struct one one = { .in = r & 1, .dir = (r & 6) == 6 };
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s/%s%ld", root, one.in ? "in" : "out",
		 one.dir ? "d" : "f", thread);
	one.fd = (int)syscall(SYS_openat, AT_FDCWD, path,
			      one.dir ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT, 0600);
	must(one.fd, path);
	did(OPEN, one.in);
	return one;
}

static struct one copy_one(struct one one, unsigned r, long thread)
{
	struct one copy = one;

	switch (r % 3) {
	case 0:
		copy.fd = (int)syscall(SYS_dup, one.fd);
		break;
	case 1:
		/* Its own number, beyond what the kernel chooses. */
		copy.fd = (int)syscall(SYS_dup2, one.fd, 500 + thread);
		break;
	default:
		copy.fd = (int)syscall(SYS_fcntl, one.fd, F_DUPFD_CLOEXEC, 3);
		did(FCNTL, one.in);
	}
	must(copy.fd, "dup");
	return copy;
}

static void use_one(struct one one)
{
	char list[512];

	if (one.dir) {
		must(syscall(SYS_getdents64, one.fd, list, sizeof(list)), "getdents");
		did(GETDENTS, one.in);
	} else {
		must(syscall(SYS_write, one.fd, "x", 1), "write");
		did(WRITE, one.in);
	}
}

/* A child has the descriptors, too, in a table of its own; it counts what it calls by its status,
 * as memory is not shared. */
static void child_uses(struct one one)
{
	int status;
	pid_t child = fork();

	must(child, "fork");
	if (!child) {
		bool ok = syscall(SYS_fsync, one.fd) == 0 && syscall(SYS_close, one.fd) == 0;

		_exit(ok ? 0 : 9);
	}
	must(waitpid(child, &status, 0), "waitpid");
	must(status ? -1 : 0, "child");
	did(SYNC, one.in);
	did(one.dir ? CLOSE_DIRECTORY : CLOSE_FILE, one.in);
}

static void *rounds(void *arg)
{
	long thread = (long)arg % 100;
	unsigned r = (unsigned)(long)arg * 2654435761u;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct one one, copy;
		bool first;

		r = r * 1664525u + 1013904223u;
		one = open_one(r >> 8, thread);
		copy = copy_one(one, r >> 12, thread);
		use_one(r & 0x40000 ? one : copy);
		if (i % 100 == 99)
			child_uses(one);
		/* What has a number of its own stays with its thread. */
		first = r & 0x80000 && copy.fd < 500;
		close_one(first ? one : copy);
		one = swap(first ? copy : one, r >> 21);
		if (one.fd >= 0) {
			use_one(one);
			close_one(one);
		}
		if (thread == 7 && i == ROUNDS / 2) {
			pthread_mutex_lock(&shelf_lock);
			while (on_shelf)
				close_one(shelf[--on_shelf]);
			pthread_mutex_unlock(&shelf_lock);
		}
	}
	return NULL;
}

static int tell(void)
{
	char path[4200];
	FILE *out;

	snprintf(path, sizeof(path), "%s/truth", root);
	out = fopen(path, "w");
	for (unsigned i = 0; i < WHATS; i++)
		fprintf(out, "%s %llu\n", names[i], (unsigned long long)truth[i]);
	return fclose(out) ? 9 : 0;
}

static int threads_program(long seed)
{
	pthread_t threads[THREADS];
	char path[4200];

	for (long t = 0; t < 2 * THREADS; t++) {
		snprintf(path, sizeof(path), "%s/%s/d%ld", root, t & 1 ? "in" : "out", t / 2);
		must(mkdir(path, 0700), path);
	}
	for (long t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, rounds, (void *)(seed * 100 + t));
	for (long t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	while (on_shelf)
		close_one(shelf[--on_shelf]);
	return tell();
}

/* ---- Signals --------------------------------------------------------------------------------- */

static int fifo = -1;

/* Handlers make calls of their own, and may be interrupted. */
static void writes(int sig)
{
	int before = errno;

	(void)sig;
	must(syscall(SYS_write, fifo, "x", 1), "write");
	did(WRITE, true);
	errno = before;
}

static void reads(int sig)
{
	int before = errno;

	(void)sig;
	must(syscall(SYS_lseek, fifo, 0, SEEK_SET) < 0 ? 0 : -1, "lseek");
	errno = before;
}

static void catch (int sig, void (*handler)(int), int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };

	must(sigaction(sig, &act, NULL), "sigaction");
}

/* Shared with the child: the parent is out of its read. */
static volatile bool *is_out;

/* A child sends signals, with some time between them so that the parent can begin to read. The
 * last one comes again and again until the parent is out of its read: it may have begun late. */
static pid_t sender(const int *signals, int n, int ends_with_byte)
{
	pid_t parent = getpid(), child;

	*is_out = false;
	child = fork();
	must(child, "fork");
	if (child)
		return child;
	for (int i = 0; i < n; i++) {
		usleep(20000);
		kill(parent, signals[i]);
	}
	usleep(20000);
	if (ends_with_byte) {
		syscall(SYS_write, fifo, "y", 1);
		_exit(1);
	}
	while (!*is_out) {
		usleep(20000);
		kill(parent, signals[n - 1]);
	}
	_exit(0);
}

static void one_read(const int *signals, int n, bool byte)
{
	pid_t child = sender(signals, n, byte);
	char buffer[8];
	long rc = syscall(SYS_read, fifo, buffer, 1);
	int status, error = errno;

	*is_out = true;
	did(READ, true);
	if (rc < 0 && error == EINTR)
		did(READ_EINTR, true);
	else
		must(rc, "read");
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WEXITSTATUS(status))
		did(WRITE, true);
	/* What nobody has read. */
	must(fcntl(fifo, F_SETFL, O_NONBLOCK), "fcntl");
	did(FCNTL, true);
	while (syscall(SYS_read, fifo, buffer, 1) == 1)
		did(READ, true);
	did(READ, true);
}

static int signals_program(long seed)
{
	const int alarm_one[] = { SIGALRM }, two[] = { SIGUSR1, SIGALRM },
		  stop[] = { SIGSTOP, SIGCONT }, many[] = { SIGUSR1, SIGWINCH, SIGUSR1 };
	char path[4200];

	(void)seed;
	snprintf(path, sizeof(path), "%s/in/fifo", root);
	is_out = mmap(NULL, sizeof(*is_out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(is_out == MAP_FAILED ? -1 : 0, "mmap");
	must(mkfifo(path, 0600), path);
	fifo = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
	must(fifo, path);
	did(OPEN, true);
	/* Reads that find nothing must not wait; those that a signal is to interrupt must. */
	for (int round = 0; round < 6; round++) {
		must(fcntl(fifo, F_SETFL, 0), "fcntl");
		did(FCNTL, true);
		catch (SIGALRM, reads, 0);
		catch (SIGUSR1, round & 1 ? writes : reads, SA_RESTART);
		/* Nothing is interrupted for good, or the handler writes what is read. */
		if (round == 0)
			one_read(stop, 2, true);
		else if (round == 1)
			one_read(many, 3, false);
		else if (round == 2)
			one_read(alarm_one, 1, false);
		else if (round == 3)
			one_read(many, 1, false);
		else if (round == 4)
			one_read(two, 2, false);
		else
			one_read(alarm_one, 1, true);
	}
	return tell();
}

/* ---- The tests ------------------------------------------------------------------------------- */

struct rig {
	const char *root;
	char under[PATH_MAX], seed[16];
};

static void make_rig(struct rig *rig, unsigned seed)
{
	char path[PATH_MAX];

	rig->root = t_tmpdir();
	snprintf(rig->under, sizeof(rig->under), "%s/in", rig->root);
	snprintf(rig->seed, sizeof(rig->seed), "%u", seed);
	assert_int_equal(mkdir(rig->under, 0700), 0);
	snprintf(path, sizeof(path), "%s/out", rig->root);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void drop_rig(const struct rig *rig)
{
	t_tmpdir_remove(rig->root);
}

static uint64_t made(const struct as_counts *counts, const char *family)
{
	return as_counts_family(counts, as_spec_family(t_spec, family));
}

static void compare(const struct rig *rig, const struct as_counts *counts, const char *how)
{
	uint64_t got[WHATS] = { made(counts, "open"),
				made(counts, "write"),
				t_count(counts, "close", "fd", "regular"),
				t_count(counts, "close", "fd", "directory"),
				made(counts, "fcntl"),
				made(counts, "fsync"),
				made(counts, "getdents"),
				made(counts, "read"),
				t_count(counts, "read", NULL, "EINTR") };
	unsigned long long want;
	char path[128], line[128];
	bool same = true;
	FILE *in;

	snprintf(path, sizeof(path), "%s/truth", rig->root);
	in = fopen(path, "r");
	assert_non_null(in);
	for (unsigned i = 0; i < WHATS; i++) {
		assert_non_null(fgets(line, sizeof(line), in));
		want = strtoull(strrchr(line, ' '), NULL, 10);
		if (want == got[i])
			continue;
		print_error("%s, seed %s: %s: %llu were made, %llu counted\n", how, rig->seed,
			    names[i], want, (unsigned long long)got[i]);
		same = false;
	}
	fclose(in);
	assert_int_equal(made(counts, "close"), got[CLOSE_FILE] + got[CLOSE_DIRECTORY]);
	assert_int_equal(as_counts_noted(counts, AS_NOTE_LOST), 0);
	assert_true(same);
}

static void by_record(const struct as_source_ops *source, const char *what, unsigned seed)
{
	struct rig rig;
	struct as_world_options options = { .under = rig.under };
	struct as_tally tally;
	struct as_err err = { 0 };
	int status = 0;

	make_rig(&rig, seed);
	assert_int_equal(as_tally_open(&tally, t_spec, &options, as_counts_new(t_spec), NULL, &err),
			 0);
	{
		char *argv[] = { self, (char *)what, (char *)rig.root, rig.seed, NULL };
		struct as_source_input input = { .argv = argv, .exit_status = &status };

		if (source->run(&input, &tally.to, &err))
			fail_msg("%s", err.msg);
	}
	assert_int_equal(status, 0);
	compare(&rig, tally.counts, source->name);
	as_tally_close(&tally);
	as_counts_free(tally.counts);
	drop_rig(&rig);
}

static void by_strace(const char *what, unsigned seed, const char *option)
{
	struct rig rig;
	char trace[128];
	struct as_read_options options = { .world = { .under = rig.under } };
	struct as_counts *counts = as_counts_new(t_spec);
	struct as_err err = { 0 }, why = { 0 };
	struct as_ended ended;

	make_rig(&rig, seed);
	snprintf(trace, sizeof(trace), "%s/trace", rig.root);
	{
		char *argv[] = { "strace", "-f",	 (char *)option,   "-o",     trace,
				 self,	   (char *)what, (char *)rig.root, rig.seed, NULL };
		struct as_spawn spawn = { .argv = argv };

		if (as_spawn_run(&spawn, &ended, &err))
			fail_msg("%s", err.msg);
	}
	if (as_read_trace(t_spec, trace, &options, counts, &why, &err))
		fail_msg("%s", err.msg);
	compare(&rig, counts, "strace");
	as_counts_free(counts);
	drop_rig(&rig);
}

static void exact_by_ptrace(void **state)
{
	struct as_err err;

	(void)state;
	if (as_source_ptrace.usable(&err))
		skip_because("%s", err.msg);
	by_record(&as_source_ptrace, "--threads", 1);
	by_record(&as_source_ptrace, "--signals", 1);
}

static void exact_in_the_process(void **state)
{
	struct as_err err;

	(void)state;
	if (as_source_inprocess.usable(&err))
		skip_because("%s", err.msg);
	by_record(&as_source_inprocess, "--threads", 1);
	by_record(&as_source_inprocess, "--threads", 5);
	by_record(&as_source_inprocess, "--signals", 1);
}

static void exact_by_ebpf(void **state)
{
	struct as_err err;

	(void)state;
	if (as_source_ebpf.usable(&err))
		skip_because("%s", err.msg);
	by_record(&as_source_ebpf, "--threads", 2);
	by_record(&as_source_ebpf, "--signals", 1);
}

static bool strace_is_there(void)
{
	char path[4096];

	return as_spawn_which("strace", path, sizeof(path));
}

static void exact_by_strace(void **state)
{
	(void)state;
	if (!strace_is_there())
		skip_because("strace is not installed");
	by_strace("--threads", 3, "-q");
	by_strace("--threads", 4, "-y");
	by_strace("--signals", 1, "-q");
}

/* Longer, with other seeds, if that is asked for. */
static void long_run(void **state)
{
	const char *seconds = getenv("TORTURE_SECONDS");
	int64_t end = as_now_us() + (seconds ? atoll(seconds) * 1000000 : 0);
	struct as_err err;

	(void)state;
	for (unsigned seed = 10; as_now_us() < end; seed++) {
		by_record(&as_source_ptrace, "--threads", seed);
		if (!as_source_inprocess.usable(&err))
			by_record(&as_source_inprocess, "--threads", seed);
		if (!as_source_ebpf.usable(&err))
			by_record(&as_source_ebpf, "--threads", seed);
		if (strace_is_there())
			by_strace("--threads", seed, seed & 1 ? "-y" : "-q");
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_by_ptrace), cmocka_unit_test(exact_in_the_process),
		cmocka_unit_test(exact_by_ebpf),   cmocka_unit_test(exact_by_strace),
		cmocka_unit_test(long_run),
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = 0;
	if (argc == 4) {
		root = argv[2];
		return strcmp(argv[1], "--threads") ? signals_program(atol(argv[3]))
						    : threads_program(atol(argv[3]));
	}
	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
