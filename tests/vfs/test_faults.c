/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of mapped pages: each thread catches its own, and only where it touches pages. Threads
 * load and store at once after the end of their files and before it; another one raises a SIGBUS
 * that is not theirs, which has to come to its own handler.
 */
#include "tests/lib/tmpdir.h"

#include "os/spawn.h"
#include "vfs/sys_new.h"
#include "work/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define TURNS 3000
#define THREADS 3u

static const char *const texts[THREADS] = {
	/* Faults at once, after a page, and in a store. */
	"mload $0 len=100 at=8192\nmload $0 len=9000 at=0\nmstore $0 len=9000 at=100 fill=3\n",
	"mload $0 len=8192 at=0\nmload $0 len=1 at=20000\n",
	"mstore $0 len=8192 at=0 fill=1\nmload $0 len=8192 at=0\n",
};
static const int64_t wanted[THREADS][3] = { { -ENXIO, 8192, 8092 },
					    { 8192, -ENXIO },
					    { 8192, 8192 } };

struct party {
	struct as_vfs *vfs;
	struct as_seq *seq;
	const int64_t *want;
	atomic_uint *running;
	unsigned wrong;
};

static void *run_party(void *ctx)
{
	struct party *p = ctx;

	for (unsigned turn = 0; turn < TURNS; turn++)
		for (size_t i = 0; i < p->seq->n; i++) {
			struct as_outcome got;

			as_vfs_exec(p->vfs, &p->seq->ops[i], &got);
			p->wrong += (got.ret < 0 ? -got.err : got.ret) != p->want[i];
		}
	atomic_fetch_sub(p->running, 1);
	return NULL;
}

/* The handler of somebody else. */
static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t expected;

static void on_other(int number)
{
	(void)number;
	if (expected)
		siglongjmp(back, 1);
	_exit(9);
}

static void install(void)
{
	struct sigaction other = { .sa_handler = on_other };

	sigaction(SIGBUS, &other, NULL);
}

/* Faults of its own, caught by its own handler. */
static void *run_other(void *ctx)
{
	atomic_uint *running = ctx;
	int fd = open("/empty", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	while (atomic_load(running)) {
		expected = 1;
		if (!sigsetjmp(back, 1)) {
			(void)*map;
			return (void *)1;
		}
		expected = 0;
		usleep(100);
	}
	return NULL;
}

static struct as_seq *parsed(const char *text)
{
	struct as_err err = { 0 };
	struct as_seq *seq;

	as_assert(!as_parse_text("test", text, strlen(text), &seq, &err));
	return seq;
}

static void prepare(struct as_vfs *vfs, unsigned i)
{
	char text[128];
	struct as_seq *seq;

	snprintf(text, sizeof(text),
		 "$0 = open /f%u O_RDWR|O_CREAT 0644\nftruncate $0 8192\nmmap $0 len=40960 at=0\n",
		 i);
	seq = parsed(text);
	for (size_t k = 0; k < seq->n; k++) {
		struct as_outcome got;

		as_vfs_exec(vfs, &seq->ops[k], &got);
		as_assert(got.ret >= 0);
	}
	as_seq_free(seq);
}

/* 0, or which of its expectations did not come true. */
static int race(const char *folder, bool other)
{
	pthread_t threads[THREADS], fourth;
	struct party parties[THREADS];
	struct as_err err = { 0 };
	struct sigaction after;
	atomic_uint running = THREADS;
	struct as_vfs *vfs;
	void *quiet = NULL;
	unsigned wrong = 0;

	if (as_vfs_sys_new(folder, &vfs, &err))
		return 1;
	install();
	for (unsigned i = 0; i < THREADS; i++) {
		parties[i] = (struct party){ vfs->ops->another(vfs), parsed(texts[i]), wanted[i],
					     &running, 0 };
		prepare(parties[i].vfs, i);
	}
	for (unsigned i = 0; i < THREADS; i++)
		as_assert(!pthread_create(&threads[i], NULL, run_party, &parties[i]));
	if (other)
		as_assert(!pthread_create(&fourth, NULL, run_other, &running));
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		wrong += parties[i].wrong;
		as_vfs_free(parties[i].vfs);
		as_seq_free(parties[i].seq);
	}
	if (other)
		pthread_join(fourth, &quiet);
	sigaction(SIGBUS, NULL, &after);
	as_vfs_free(vfs);
	return wrong ? 2 : quiet ? 3 : after.sa_handler != on_other ? 4 : 0;
}

static int child_alone(void *ctx)
{
	return race(ctx, false);
}

static int child_with_other(void *ctx)
{
	return race(ctx, true);
}

/* A fault outside of the executor, which nobody expects, still ends the process. */
static int child_unexpected(void *ctx)
{
	struct as_err err = { 0 };
	struct as_vfs *vfs;
	volatile char *map;

	/* cmocka has one of its own. */
	signal(SIGBUS, SIG_DFL);
	if (as_vfs_sys_new(ctx, &vfs, &err))
		return 1;
	prepare(vfs, 9);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, open("/none", O_RDWR | O_CREAT, 0600), 0);
	return *map;
}

static void run_in_child(int (*fn)(void *ctx), struct as_ended *ended)
{
	struct as_err err = { 0 };
	char folder[256];

	snprintf(folder, sizeof(folder), "%s", t_tmpdir_in("/dev/shm"));
	assert_int_equal(as_spawn_fork(fn, folder, 60000, NULL, ended, &err), 0);
}

static void test_threads(void **state)
{
	struct as_ended ended;

	(void)state;
	run_in_child(child_alone, &ended);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 0);
}

static void test_faults_of_others(void **state)
{
	struct as_ended ended;

	(void)state;
	run_in_child(child_with_other, &ended);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 0);
	run_in_child(child_unexpected, &ended);
	assert_int_equal(ended.how, AS_END_SIGNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads),
					    cmocka_unit_test(test_faults_of_others) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
