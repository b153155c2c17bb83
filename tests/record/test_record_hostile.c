/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that turn against their recorder: they fill the memory they share with it with rubbish,
 * take it away, lie about what they called, start more than there is room for. The recorder must
 * end with them, in bounded time and memory.
 *
 * With TORTURE_SECONDS=N it goes on for about so long, with other seeds.
 */
#include "record_test.h"

#include "os/spawn.h"
#include "record/inside/layout.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define FORKS 6 /* 2^6 processes */
#define THREADS 1500

static uint64_t seed = 1;

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 16;
}

/* ---- The programs ---------------------------------------------------------------------------- */

/* Is there memory that is shared? Not where recording is done in another way. */
static bool shared_is_here(void)
{
	unsigned char there;

	return !mincore((void *)AS_INSIDE_POOL, 4096, &there);
}

static int some_calls(int n)
{
	int fd = open("f", O_RDWR | O_CREAT, 0600), failed = fd < 0;

	for (int i = 0; i < n; i++)
		failed |= pwrite(fd, "x", 1, 0) != 1;
	close(fd);
	return failed;
}

static void *spoil(void *arg)
{
	char *pool = (char *)(uintptr_t)AS_INSIDE_POOL;
	uint64_t rounds = 40000;

	seed = (uint64_t)(uintptr_t)arg;
	while (rounds--) {
		uint64_t at = next_random() % AS_INSIDE_POOL_BYTES & ~7ull;
		uint64_t value = next_random() % 4 ? next_random() % 5000 : next_random() << 20;

		/* Mostly where somebody writes. */
		if (next_random() % 2)
			at = next_random() % 4 * AS_INSIDE_SLOT + next_random() % 4096;
		memcpy(pool + (at & ~7ull), &value, sizeof(value));
	}
	return NULL;
}

/* Rubbish, while calls are made. */
static int rubbish_program(void)
{
	pthread_t thread;

	some_calls(100);
	if (!shared_is_here())
		return 0;
	if (pthread_create(&thread, NULL, spoil, (void *)(uintptr_t)(getpid() | 1)))
		return 1;
	for (int i = 0; i < 50; i++) {
		struct stat st;

		some_calls(20);
		stat("f", &st);
		if (!fork())
			_exit(some_calls(10));
		while (wait(NULL) > 0)
			;
	}
	pthread_join(thread, NULL);
	return 0;
}

/* Takes the shared memory, and the code, away. What comes of it is its own affair. */
static int unmap_program(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			some_calls(10);
			munmap((void *)AS_INSIDE_POOL, i == 0 ? AS_INSIDE_POOL_BYTES : 0);
			munmap((void *)AS_INSIDE_CODE, i == 1 ? AS_INSIDE_CODE_BYTES : 0);
			if (i == 2)
				mprotect((void *)AS_INSIDE_POOL, AS_INSIDE_POOL_BYTES, PROT_READ);
			some_calls(10);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return some_calls(50);
}

/* One call that names a thousand moments: nobody else's may wait for it. */
static int moment_program(void)
{
	if (shared_is_here())
		*(volatile uint64_t *)(uintptr_t)AS_INSIDE_POOL += 1ull << 40;
	return some_calls(50);
}

static int forks_program(void)
{
	for (int i = 0; i < FORKS; i++)
		fork();
	some_calls(5);
	while (wait(NULL) > 0)
		;
	return 0;
}

static void *one_call(void *arg)
{
	return (void *)(intptr_t)(mkdirat(AT_FDCWD, arg, 0700) + 1);
}

static int threads_program(void)
{
	static pthread_t threads[THREADS];
	pthread_attr_t small;
	int n = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < THREADS; i++)
		n += !pthread_create(&threads[n], &small, one_call, "d");
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return n == THREADS ? 0 : 1;
}

/* Killed at any moment, together with its threads. */
static void *until_killed(void *arg)
{
	for (;;)
		some_calls(10);
	return arg;
}

static int kills_program(void)
{
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (!pid) {
			pthread_t threads[3];

			for (int t = 0; t < 3; t++)
				pthread_create(&threads[t], NULL, until_killed, NULL);
			until_killed(NULL);
		}
		usleep((unsigned)(next_random() % 5000)); /* the moment is what is tested */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return some_calls(50);
}

static void *fork_on(void *arg)
{
	for (;;)
		if (!fork())
			_exit(0);
	return arg;
}

/* Ends while its threads are making processes: the tracer is not told of the last ones. */
static int exits_program(void)
{
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();

		if (!pid) {
			pthread_t threads[3];

			signal(SIGCHLD, SIG_IGN); /* they need not be waited for */
			for (int t = 0; t < 3; t++)
				pthread_create(&threads[t], NULL, fork_on, NULL);
			usleep((unsigned)(next_random() % 3000)); /* the moment is what is tested */
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return some_calls(50);
}

/* Executes another program, itself, while its threads are making processes. */
static int execs_program(void)
{
	const char *left = getenv("EXECS_LEFT");
	int n = left ? atoi(left) : 12;
	char *argv[] = { "execs", "--execs", NULL }, number[16];
	pthread_t threads[3];

	if (!n) {
		while (wait(NULL) > 0)
			;
		return some_calls(50);
	}
	for (int t = 0; t < 3; t++)
		pthread_create(&threads[t], NULL, fork_on, NULL);
	usleep((unsigned)(300 + n * 137 % 2000)); /* the moment is what is tested */
	snprintf(number, sizeof(number), "%d", n - 1);
	setenv("EXECS_LEFT", number, 1);
	execv("/proc/self/exe", argv);
	return 1;
}

/* ---- The tests ------------------------------------------------------------------------------- */

static void check_ended(const struct recorded *r)
{
	assert_true(as_counts_noted(r->counts, AS_NOTE_CALLS) > 0);
}

static void check_own(const struct recorded *r)
{
	assert_true(made(r, "pwrite64") >= 50);
}

static void check_forks(const struct recorded *r)
{
	assert_int_equal(made(r, "pwrite64"), 5 << FORKS);
	assert_int_equal(as_counts_noted(r->counts, AS_NOTE_LOST), 0);
}

static void check_threads(const struct recorded *r)
{
	assert_int_equal(made(r, "mkdirat"), THREADS);
	assert_int_equal(met(r, "mkdir", NULL, "OK"), 1);
	assert_int_equal(met(r, "mkdir", NULL, "EEXIST"), THREADS - 1);
}

/* Nothing of ours grows with what they do. */
static void assert_small(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
#ifdef __SANITIZE_ADDRESS__
	assert_true(u.ru_maxrss < 1200 << 10); /* it keeps what was freed for a while */
#else
	assert_true(u.ru_maxrss < 300 << 10);
#endif
}

static void hostile_programs(void **state)
{
	const char *seconds = getenv("TORTURE_SECONDS");
	int64_t end = as_now_us() + (seconds ? atoll(seconds) * 1000000 : 0);

	(void)state;
	do {
		all_ways("--rubbish", check_ended);
		all_ways("--unmap", check_own);
		all_ways("--moment", check_own);
		all_ways("--kills", check_own);
		all_ways("--exits", check_own);
		all_ways("--execs", check_own);
		all_ways("--forks", check_forks);
		all_ways("--threads", check_threads);
		assert_small();
	} while (as_now_us() < end);
}

int main(int argc, char **argv)
{
	static const struct program programs[] = {
		{ "--rubbish", rubbish_program }, { "--unmap", unmap_program },
		{ "--moment", moment_program },	  { "--forks", forks_program },
		{ "--threads", threads_program }, { "--kills", kills_program },
		{ "--exits", exits_program },	  { "--execs", execs_program },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_programs),
	};

	return RUN_OR_TEST(argc, argv, programs, tests);
}
