/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live recording where it is hard: many threads and processes at once, signals in the middle of
 * calls, calls that never come back, a buffer that is too small, commands that cannot be run. The
 * traced program is this one (--MODE).
 */
#include "record_test.h"
#include "tests/lib/skip.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#define THREADS 4
#define PROCESSES 4
#define ROUNDS 200

/* ---- The programs ---------------------------------------------------------------------------- */

static void *rounds(void *arg)
{
	char name[32];

	snprintf(name, sizeof(name), "f%d-%ld", (int)getpid(), (long)arg);
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open(name, O_RDWR | O_CREAT, 0600);

		if (write(fd, "x", 1) != 1)
			return (void *)1;
		close(fd);
	}
	return NULL;
}

static int many_program(void)
{
	int status = 0, failed = 0;

	for (int i = 0; i < PROCESSES; i++) {
		if (!fork()) {
			pthread_t threads[THREADS];

			for (long t = 0; t < THREADS; t++)
				pthread_create(&threads[t], NULL, rounds, (void *)t);
			for (int t = 0; t < THREADS; t++)
				pthread_join(threads[t], NULL);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed ? 1 : 0;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Signals all the time, some of which interrupt a read that waits. */
static int signals_program(void)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
	int fd = open("f", O_RDWR | O_CREAT, 0600), ends[2];
	pid_t pid;
	char c;

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 2000; i++)
		if (pwrite(fd, "abc", 3, i) != 3)
			return 1;
	setitimer(ITIMER_REAL, &never, NULL);
	/* Killed in a call: it never comes back. */
	if (pipe(ends))
		return 1;
	pid = fork();
	if (!pid)
		_exit((int)read(ends[0], &c, 1));
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

static int burst_program(void)
{
	int fd = open("f", O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < 100000; i++)
		if (pwrite(fd, "x", 1, 0) != 1)
			return 1;
	return 0;
}

/* A path at the end of readable memory, one that is too long, one that cannot be read. */
static int edges_program(void)
{
	char *map =
		mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *longest = malloc(6000);

	memset(longest, 'y', 5999);
	longest[5999] = '\0';
	munmap(map + 2 * 4096, 4096);
	memcpy(map + 2 * 4096 - 2, "f", 2);
	close(open(map + 2 * 4096 - 2, O_RDWR | O_CREAT, 0600));
	open(longest, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, map + 2 * 4096, O_RDONLY, 0);
	syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY, 0);
	return 0;
}

/* ---- The tests ------------------------------------------------------------------------------- */

static void check_many(const struct recorded *r)
{
	uint64_t each = (uint64_t)THREADS * PROCESSES * ROUNDS;

	assert_int_equal(made(r, "openat"), each);
	assert_int_equal(made(r, "write"), each);
	assert_int_equal(made(r, "close"), each);
	assert_int_equal(met(r, "write", NULL, "OK=2^0"), each);
	assert_int_equal(met(r, "close", "fd", "regular"), each);
	assert_int_equal(as_counts_noted(r->counts, AS_NOTE_LOST), 0);
}

static void many_threads_and_processes(void **state)
{
	(void)state;
	all_ways("--many", check_many);
}

static void check_signals(const struct recorded *r)
{
	/* What is interrupted and made again is one call. */
	assert_int_equal(met(r, "write", NULL, "OK=2^1"), 2000);
	assert_int_equal(as_counts_noted(r->counts, AS_NOTE_OTHER_ARCH), 0);
}

static void signals_in_the_middle(void **state)
{
	(void)state;
	all_ways("--signals", check_signals);
}

static void check_edges(const struct recorded *r)
{
	assert_int_equal(met(r, "open", NULL, "OK"), 1);
	assert_int_equal(met(r, "open", NULL, "ENAMETOOLONG"), 1);
	assert_int_equal(met(r, "open", "path", "long"), 1);
}

static void paths_at_the_edge(void **state)
{
	(void)state;
	all_ways("--edges", check_edges);
}

static void lost_events_are_counted(void **state)
{
	struct recorded r = { 0 };
	uint64_t lost = 0, seen;
	struct as_err err;

	(void)state;
	if (as_source_ebpf.usable(&err))
		skip_because("%s", err.msg);
	/* A reader that is fast enough loses nothing even then. */
	for (unsigned i = 0; i < 10 && !lost; i++) {
		as_counts_free(r.counts);
		r = (struct recorded){ .control = { .ring_bytes = 4096 } };
		record(&as_source_ebpf, "--burst", &r);
		lost = as_counts_noted(r.counts, AS_NOTE_LOST);
	}
	assert_true(lost > 0);
	assert_non_null(as_counts_is_partial(r.counts));
	/* None is missing that was not counted as lost, and none is counted twice; the calls of the
	 * loader, a few dozen, may be lost, too. */
	seen = as_counts_noted(r.counts, AS_NOTE_CALLS);
	assert_true(seen + lost >= 100000 && seen + lost < 101000);
	as_counts_free(r.counts);
}

static void nothing_is_lost_with_the_usual_buffer(void **state)
{
	struct recorded r = { 0 };
	struct as_err err;

	(void)state;
	if (as_source_ebpf.usable(&err))
		skip_because("%s", err.msg);
	record(&as_source_ebpf, "--burst", &r);
	assert_int_equal(as_counts_noted(r.counts, AS_NOTE_LOST), 0);
	assert_int_equal(made(&r, "pwrite64"), 100000);
	assert_null(as_counts_is_partial(r.counts));
	as_counts_free(r.counts);
}

static void commands_that_cannot_be_run(void **state)
{
	char *argv[] = { "/nonexistent/program", NULL };

	(void)state;
	for (size_t i = 0; i < N_WAYS; i++) {
		struct as_world_options options = { 0 };
		struct as_tally tally;
		struct as_err err = { 0 };

		if (ways[i]->usable(&err))
			continue;
		assert_int_equal(as_tally_open(&tally, t_spec, &options, as_counts_new(t_spec),
					       NULL, &err),
				 0);
		assert_int_not_equal(ways[i]->run(&(struct as_source_input){ .argv = argv },
						  &tally.to, &err),
				     0);
		assert_string_equal(err.msg, "cannot run /nonexistent/program: No such "
					     "file or directory");
		as_tally_close(&tally);
		as_counts_free(tally.counts);
	}
}

/* ---- The filter ------------------------------------------------------------------------------ */

/* Runs the program of the filter as the kernel does. */
static uint32_t run_filter(const struct sock_filter *filter, unsigned n,
			   const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (unsigned pc = 0; pc < n; pc++) {
		const struct sock_filter *f = &filter[pc];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)data + f->k, sizeof(a));
			break;
		case BPF_JMP | BPF_JA:
			pc += f->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & f->k ? f->jt : f->jf;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		default:
			fail_msg("instruction %u: code %x", pc, f->code);
		}
	}
	fail_msg("ran off the end");
	return 0;
}

static void filter_asks_about_the_table(void **state)
{
	struct sock_filter filter[1024];
	unsigned n = as_record_filter(t_spec, 0, filter, 1024);

	(void)state;
	for (int nr = 0; nr < 2000; nr++) {
		const struct as_spec_call *call = nr < AS_SPEC_NR_MAX ? t_spec->by_nr[nr] : NULL;
		struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64 };
		bool want = call && !as_record_by_event(call);
		bool asks = run_filter(filter, n, &data) == SECCOMP_RET_TRACE;

		if (asks != want)
			fail_msg("call %d: %s", nr, asks ? "asked about" : "let through");
		data.arch = AUDIT_ARCH_I386;
		assert_int_equal(run_filter(filter, n, &data),
				 SECCOMP_RET_TRACE | AS_RECORD_OTHER_ARCH);
	}
	{
		struct seccomp_data map = { .nr = SYS_mmap, .arch = AUDIT_ARCH_X86_64 };

		map.args[3] = MAP_PRIVATE | MAP_ANONYMOUS;
		assert_int_equal(run_filter(filter, n, &map), SECCOMP_RET_ALLOW);
		map.args[3] = MAP_SHARED;
		assert_int_equal(run_filter(filter, n, &map), SECCOMP_RET_TRACE);
	}
}

int main(int argc, char **argv)
{
	static const struct program programs[] = {
		{ "--many", many_program },
		{ "--signals", signals_program },
		{ "--burst", burst_program },
		{ "--edges", edges_program },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_asks_about_the_table),
		cmocka_unit_test(many_threads_and_processes),
		cmocka_unit_test(signals_in_the_middle),
		cmocka_unit_test(paths_at_the_edge),
		cmocka_unit_test(lost_events_are_counted),
		cmocka_unit_test(nothing_is_lost_with_the_usual_buffer),
		cmocka_unit_test(commands_that_cannot_be_run),
	};

	return RUN_OR_TEST(argc, argv, programs, tests);
}
