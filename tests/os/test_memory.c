/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory: what is reserved takes no memory until it is used, also when all else is brought in; and
 * a child that the kernel kills because memory ran out is no child that died of what it did.
 */
#include "os/memory.h"
#include "os/spawn.h"
#include "tests/lib/skip.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVED_BYTES ((size_t)256 << 20)
#define PLAIN_BYTES ((size_t)1 << 20)
#define DEADLINE_MS 60000
#define PAGE 4096u

static size_t pages_of(void *at, size_t bytes)
{
	unsigned char *present = calloc(bytes / PAGE, 1);
	size_t n = 0;

	assert_non_null(present);
	assert_int_equal(mincore(at, bytes, present), 0);
	for (size_t i = 0; i < bytes / PAGE; i++)
		n += present[i] & 1;
	free(present);
	return n;
}

static void test_reserved(void **state)
{
	unsigned char *reserved = as_memory_reserve(RESERVED_BYTES, -1);

	(void)state;
	assert_non_null(reserved);
	reserved[0] = 1;
	reserved[RESERVED_BYTES - 1] = 2;
	as_memory_bring_in();
	assert_int_equal(pages_of(reserved, RESERVED_BYTES), 2);
	/* It is as it was, and can be used. */
	assert_int_equal(reserved[0] + reserved[RESERVED_BYTES - 1], 3);
	reserved[PAGE] = 1;
	as_memory_give_back(reserved, RESERVED_BYTES);
	as_memory_bring_in();
}

static void test_brought_in(void **state)
{
	unsigned char *plain = as_shared_alloc(PLAIN_BYTES);

	(void)state;
	if (mlock(plain, PAGE) || munlock(plain, PAGE))
		skip_because("memory may not be locked here");
#ifdef __SANITIZE_ADDRESS__
	skip_because("the sanitizer locks no memory");
#endif
	as_memory_bring_in();
	assert_int_equal(pages_of(plain, PLAIN_BYTES), PLAIN_BYTES / PAGE);
	as_shared_free(plain, PLAIN_BYTES);
}

/* ---- Killed ---------------------------------------------------------------------------------- */

static int kill_myself(void *ctx)
{
	(void)ctx;
	return raise(SIGKILL);
}

static void test_killed_by_hand(void **state)
{
	struct as_ended ended;
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_spawn_fork(kill_myself, NULL, DEADLINE_MS, NULL, &ended, &err), 0);
	assert_int_equal(ended.how, AS_END_SIGNAL);
	assert_int_equal(ended.status, SIGKILL);
}

static bool put(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	ok = file && fputs(text, file) >= 0;
	return file && !fclose(file) && ok;
}

/* In a group of processes that may have little memory. */
static int take_memory(void *ctx)
{
	const char *group = ctx;
	char pid[32];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (!put(group, "cgroup.procs", pid))
		return 1;
	for (int i = 0; i < 256; i++) {
		char *some = malloc(PLAIN_BYTES);

		if (some)
			memset(some, i + 1, PLAIN_BYTES);
	}
	return 2;
}

static bool make_group(const char *root, const char *limit, char *path, size_t cap)
{
	snprintf(path, cap, "%s/assay-test-%d", root, (int)getpid());
	if (mkdir(path, 0700))
		return false;
	if (put(path, limit, "33554432"))
		return true;
	rmdir(path);
	return false;
}

static void test_killed_for_memory(void **state)
{
	struct as_ended ended;
	struct as_err err = { 0 };
	char group[256];
	int rc;

	(void)state;
	if (!make_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", group, sizeof(group)) &&
	    !make_group("/sys/fs/cgroup", "memory.max", group, sizeof(group)))
		skip_because("no group of processes with a limit of memory can be made here");
	rc = as_spawn_fork(take_memory, group, DEADLINE_MS, NULL, &ended, &err);
	rmdir(group);
	if (!rc && ended.how == AS_END_EXIT)
		skip_because("the limit of such a group does not hold here");
	assert_int_equal(rc, AS_ENOMEM);
	assert_non_null(strstr(err.msg, "was killed because memory ran out"));
	/* The next one that is killed by hand is none of them. */
	test_killed_by_hand(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_brought_in),
		cmocka_unit_test(test_killed_by_hand),
		cmocka_unit_test(test_killed_for_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
