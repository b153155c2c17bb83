/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disks served as files: what a program does to the file arrives as calls, whole and in order;
 * what a disk answers goes back; the owner's lock and hook. Loop devices: on a served disk, in
 * memory, and from many processes at a time.
 */
#include "tests/lib/skip.h"
#include "tests/lib/wait.h"

#include "base/buf.h"
#include "base/prng.h"
#include "disk/cow.h"
#include "disk/fault.h"
#include "disk/log.h"
#include "disk/loop.h"
#include "disk/serve.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES (8u << 20)

#define child_check(cond)                                                              \
	do {                                                                           \
		if (!(cond)) {                                                         \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #cond, \
				as_errno_name(errno));                                 \
			_exit(99);                                                     \
		}                                                                      \
	} while (0)

/* Two recorded disks, the second one faulty, in a namespace of the child's own. */
struct setup {
	struct as_chunks *store;
	struct as_disk *disks[2];
	struct as_reclog *logs[2];
	struct as_faulty *faulty;
	struct as_serve *serve;
	int fd[2];
};

static void set_up(struct setup *s)
{
	struct as_fault_rule *rules;
	struct as_serve_disk disks[2];
	struct as_err err;
	size_t n;
	int home_fd = open("/proc/self/ns/mnt", O_RDONLY);

	child_check(!unshare(CLONE_NEWNS));
	child_check(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	child_check(!mount("assay", "/tmp", "tmpfs", 0, NULL));
	child_check(!mkdir("/tmp/disks", 0700));
	s->store = as_chunks_new();
	for (int i = 0; i < 2; i++) {
		child_check(!as_disk_new(s->store, DISK_BYTES, &s->disks[i], &err));
		s->logs[i] = as_reclog_new(as_disk_bd(s->disks[i]), AS_RECLOG_READS, 0);
	}
	child_check(!as_fault_parse("write:2:eio read:2:enomem flush:1:eio", &rules, &n, &err));
	s->faulty = as_faulty_new(as_reclog_bd(s->logs[1]), rules, n);
	free(rules);
	disks[0] = (struct as_serve_disk){ "one", as_reclog_bd(s->logs[0]) };
	disks[1] = (struct as_serve_disk){ "two", as_faulty_bd(s->faulty) };
	if (as_serve_new("/tmp/disks", disks, 2, home_fd, &s->serve, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		_exit(98);
	}
	close(home_fd);
	s->fd[0] = open("/tmp/disks/one", O_RDWR);
	s->fd[1] = open("/tmp/disks/two", O_RDWR);
	child_check(s->fd[0] >= 0 && s->fd[1] >= 0);
}

static void tear_down(struct setup *s)
{
	close(s->fd[0]);
	close(s->fd[1]);
	as_serve_free(s->serve);
	/* The folder is an empty one again. */
	child_check(access("/tmp/disks/one", F_OK) && errno == ENOENT);
	as_faulty_free(s->faulty);
	for (int i = 0; i < 2; i++) {
		as_reclog_free(s->logs[i]);
		as_disk_free(s->disks[i]);
	}
	as_chunks_free(s->store);
}

static void expect_entry(struct setup *s, int disk, size_t i, enum as_call kind, uint64_t off,
			 uint64_t len)
{
	const struct as_log_entry *entry;

	as_serve_lock(s->serve);
	child_check(as_reclog_len(s->logs[disk]) > i);
	entry = as_reclog_at(s->logs[disk], i);
	child_check(entry->kind == kind && entry->off == off && entry->len == len);
	as_serve_unlock(s->serve);
}

/* Parts of sectors are read and written together with the rest of the sectors. */
static void part_of_sectors(struct setup *s, char *data, char *back)
{
	memset(data, 'c', 8192);
	child_check(pwrite(s->fd[0], data, 8192, 16384) == 8192);
	memset(data, 'd', 1000);
	child_check(pwrite(s->fd[0], data, 1000, 16384 + 300) == 1000);
	child_check(pread(s->fd[0], back, 2000, 16384 + 100) == 2000);
	for (int i = 0; i < 2000; i++)
		child_check(back[i] == (i >= 200 && i < 1200 ? 'd' : 'c'));
	child_check(pwrite(s->fd[0], data, 1, DISK_BYTES) < 0 && errno == EINVAL);
	child_check(pwrite(s->fd[0], data, 1000, DISK_BYTES - 100) < 0 && errno == EINVAL);
}

static int calls_arrive(void *ctx)
{
	struct setup s;
	char *data = aligned_alloc(4096, 3 << 20), *back = aligned_alloc(4096, 3 << 20);
	struct stat st;

	(void)ctx;
	set_up(&s);
	memset(data, 'a', 3 << 20);
	child_check(!stat("/tmp/disks/one", &st) && st.st_size == DISK_BYTES);
	child_check(stat("/tmp/disks/three", &st) && errno == ENOENT);
	/* One write is one call, up to 1 MiB. */
	child_check(pwrite(s.fd[0], data, 5120, 1024) == 5120);
	expect_entry(&s, 0, 0, AS_CALL_WRITE, 1024, 5120);
	child_check(!fsync(s.fd[0]));
	expect_entry(&s, 0, 1, AS_CALL_FLUSH, 0, 0);
	child_check(!fallocate(s.fd[0], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1024, 512));
	expect_entry(&s, 0, 2, AS_CALL_DISCARD, 1024, 512);
	child_check(!fallocate(s.fd[0], FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 2048, 512));
	expect_entry(&s, 0, 3, AS_CALL_ZERO, 2048, 512);
	child_check(pwrite(s.fd[0], data, 3 << 20, 1 << 20) == 3 << 20);
	for (unsigned i = 0; i < 3; i++)
		expect_entry(&s, 0, 4 + i, AS_CALL_WRITE, (1 + i) << 20, 1 << 20);
	/* No cache in between: each read comes to us, and sees what the owner did. */
	for (size_t i = 0; i < 2; i++) {
		child_check(pread(s.fd[0], back, 512, 1024) == 512);
		expect_entry(&s, 0, 7 + i, AS_CALL_READ, 1024, 512);
		child_check(back[0] == (i ? 'b' : 0));
		as_serve_lock(s.serve);
		memset(data, 'b', 512);
		child_check(!as_bd_write(as_disk_bd(s.disks[0]), 1024, data, 512));
		as_serve_unlock(s.serve);
	}
	/* The end of the disk, and what is after it. */
	child_check(pread(s.fd[0], back, 4096, DISK_BYTES - 512) == 512);
	child_check(pread(s.fd[0], back, 4096, DISK_BYTES) == 0);
	child_check(ftruncate(s.fd[0], 512) && errno == EPERM);
	child_check(!ftruncate(s.fd[0], DISK_BYTES));
	part_of_sectors(&s, data, back);
	tear_down(&s);
	free(data);
	free(back);
	return 0;
}

static int errors_go_back(void *ctx)
{
	char data[512] = "x";
	struct setup s;

	(void)ctx;
	set_up(&s);
	child_check(pwrite(s.fd[1], data, 512, 0) == 512);
	child_check(pwrite(s.fd[1], data, 512, 0) < 0 && errno == EIO);
	child_check(pwrite(s.fd[1], data, 512, 0) == 512);
	child_check(pread(s.fd[1], data, 512, 0) == 512);
	child_check(pread(s.fd[1], data, 512, 0) < 0 && errno == ENOMEM);
	child_check(fsync(s.fd[1]) && errno == EIO);
	child_check(!fsync(s.fd[1]));
	/* The other disk is not affected. */
	child_check(pwrite(s.fd[0], data, 512, 0) == 512 && !fsync(s.fd[0]));
	as_serve_lock(s.serve);
	child_check(as_reclog_len(s.logs[0]) == 2);
	as_serve_unlock(s.serve);
	tear_down(&s);
	return 0;
}

struct seen {
	atomic_uint calls;
	size_t disk;
	enum as_call call;
	uint64_t off, len;
	struct setup *setup;
};

static void note(void *ctx, size_t disk, enum as_call call, uint64_t off, uint64_t len)
{
	struct seen *seen = ctx;

	/* It is called without the lock: the owner can take it meanwhile. */
	as_serve_lock(seen->setup->serve);
	seen->disk = disk;
	seen->call = call;
	seen->off = off;
	seen->len = len;
	as_serve_unlock(seen->setup->serve);
	atomic_fetch_add(&seen->calls, 1);
}

static int hook_is_called(void *ctx)
{
	char data[1024] = "x";
	struct setup s;
	struct seen seen = { .setup = &s };
	struct as_serve_hook hook = { note, &seen };

	(void)ctx;
	set_up(&s);
	as_serve_set_hook(s.serve, &hook);
	child_check(pwrite(s.fd[1], data, 1024, 512) == 1024);
	child_check(atomic_load(&seen.calls) == 1 && seen.disk == 1);
	child_check(seen.call == AS_CALL_WRITE && seen.off == 512 && seen.len == 1024);
	child_check(!fsync(s.fd[0]));
	child_check(atomic_load(&seen.calls) == 2 && seen.disk == 0 && seen.call == AS_CALL_FLUSH);
	as_serve_set_hook(s.serve, NULL);
	child_check(!fsync(s.fd[0]) && atomic_load(&seen.calls) == 2);
	tear_down(&s);
	return 0;
}

/* ---- Loop devices -------------------------------------------------------------------------- */

static int loop_on_served(void *ctx)
{
	char *data = aligned_alloc(4096, 4096);
	struct as_loop *loop;
	struct as_err err;
	struct setup s;
	int fd;

	(void)ctx;
	set_up(&s);
	child_check(!as_loop_new("/tmp/disks/one", AS_LOOP_NO_MERGES, &loop, &err));
	fd = open(as_loop_path(loop), O_RDWR | O_DIRECT);
	child_check(fd >= 0 && lseek(fd, 0, SEEK_END) == DISK_BYTES);
	as_serve_lock(s.serve);
	as_reclog_clear(s.logs[0]);
	as_serve_unlock(s.serve);
	memset(data, 7, 4096);
	child_check(pwrite(fd, data, 4096, 8192) == 4096 && !fsync(fd));
	expect_entry(&s, 0, 0, AS_CALL_WRITE, 8192, 4096);
	expect_entry(&s, 0, 1, AS_CALL_FLUSH, 0, 0);
	close(fd);
	as_loop_free(loop);
	tear_down(&s);
	free(data);
	return 0;
}

/* ---- Held writes ---- */

struct writer {
	pthread_t thread;
	int fd;
	off_t off;
	atomic_bool answered;
};

static void *write_block(void *ctx)
{
	char *data = aligned_alloc(4096, 4096);
	struct writer *w = ctx;

	memset(data, 9, 4096);
	child_check(pwrite(w->fd, data, 4096, w->off) == 4096);
	atomic_store(&w->answered, true);
	free(data);
	return NULL;
}

struct entries {
	struct setup *setup;
	size_t n;
};

static bool has_entries(void *ctx)
{
	const struct entries *want = ctx;
	bool has;

	as_serve_lock(want->setup->serve);
	has = as_reclog_len(want->setup->logs[0]) >= want->n;
	as_serve_unlock(want->setup->serve);
	return has;
}

/* Begins a write, and waits until it has come to the disk. */
static void begin_write(struct setup *s, struct writer *w, int fd, off_t off)
{
	struct entries want = { s, 0 };

	as_serve_lock(s->serve);
	want.n = as_reclog_len(s->logs[0]) + 1;
	as_serve_unlock(s->serve);
	w->fd = fd;
	w->off = off;
	atomic_init(&w->answered, false);
	child_check(!pthread_create(&w->thread, NULL, write_block, w));
	child_check(t_wait_until(has_entries, &want, 30000));
}

static void expect_done(struct setup *s, size_t i, size_t done)
{
	as_serve_lock(s->serve);
	child_check(as_reclog_at(s->logs[0], i)->done == done);
	as_serve_unlock(s->serve);
}

static int held_device(struct setup *s, unsigned after, unsigned idle_ms, struct as_loop **loop)
{
	struct as_err err;
	int fd;

	set_up(s);
	child_check(!as_loop_new("/tmp/disks/one", AS_LOOP_NO_MERGES | AS_LOOP_DIRECT, loop, &err));
	fd = open(as_loop_path(*loop), O_RDWR | O_DIRECT);
	child_check(fd >= 0);
	as_serve_lock(s->serve);
	as_reclog_clear(s->logs[0]);
	as_reclog_hold(s->logs[0], AS_RECLOG_UNTIL_WAIT);
	as_serve_unlock(s->serve);
	as_serve_hold(s->serve, after, idle_ms);
	return fd;
}

static void no_more_held(struct setup *s, struct as_loop *loop, int fd)
{
	as_serve_hold(s->serve, 0, 0);
	close(fd);
	as_loop_free(loop);
	tear_down(s);
}

#define FOREVER_MS 1000000u

/* Two writes are in flight at once, and a flush that comes then covers neither; nor is either
 * answered before it. */
static int held_until_a_flush(void *ctx)
{
	struct writer a, b;
	struct as_loop *loop;
	struct setup s;
	int fd;

	(void)ctx;
	fd = held_device(&s, 100, FOREVER_MS, &loop);
	begin_write(&s, &a, fd, 0);
	begin_write(&s, &b, fd, 8192);
	child_check(!atomic_load(&a.answered) && !atomic_load(&b.answered));
	expect_done(&s, 0, AS_RECLOG_IN_FLIGHT);
	expect_done(&s, 1, AS_RECLOG_IN_FLIGHT);
	child_check(!fsync(fd));
	expect_entry(&s, 0, 2, AS_CALL_FLUSH, 0, 0);
	pthread_join(a.thread, NULL);
	pthread_join(b.thread, NULL);
	expect_done(&s, 0, 3);
	expect_done(&s, 1, 3);
	no_more_held(&s, loop, fd);
	return 0;
}

/* With so many requests after it, a write is answered. */
static int held_for_some_requests(void *ctx)
{
	struct writer a, b, c;
	struct as_loop *loop;
	struct setup s;
	int fd;

	(void)ctx;
	fd = held_device(&s, 1, FOREVER_MS, &loop);
	begin_write(&s, &a, fd, 0);
	begin_write(&s, &b, fd, 8192);
	expect_done(&s, 0, AS_RECLOG_IN_FLIGHT);
	begin_write(&s, &c, fd, 16384);
	pthread_join(a.thread, NULL);
	expect_done(&s, 0, 2);
	expect_done(&s, 1, AS_RECLOG_IN_FLIGHT);
	/* The flush is the second request after b and the first after c. */
	child_check(!fsync(fd));
	pthread_join(b.thread, NULL);
	pthread_join(c.thread, NULL);
	expect_done(&s, 1, 3);
	expect_done(&s, 2, 4);
	no_more_held(&s, loop, fd);
	return 0;
}

/* Who waits for its write, as file systems do, gets its answer though nothing else happens. */
static int held_until_idle(void *ctx)
{
	struct writer a;
	struct as_loop *loop;
	struct setup s;
	int fd;

	(void)ctx;
	fd = held_device(&s, 100, 1, &loop);
	for (unsigned i = 0; i < 20; i++) {
		a = (struct writer){ .fd = fd, .off = (off_t)i * 4096 };
		write_block(&a);
		expect_done(&s, i, i + 1);
	}
	no_more_held(&s, loop, fd);
	return 0;
}

/* When writes are held no longer, the next request of any kind lets go of them. */
static int held_no_longer(void *ctx)
{
	struct writer a;
	struct as_loop *loop;
	struct setup s;
	int fd;

	(void)ctx;
	fd = held_device(&s, 100, FOREVER_MS, &loop);
	begin_write(&s, &a, fd, 0);
	as_serve_hold(s.serve, 0, 0);
	child_check(access("/tmp/disks/nothing", F_OK) && errno == ENOENT);
	pthread_join(a.thread, NULL);
	no_more_held(&s, loop, fd);
	return 0;
}

static uint64_t read_at(const struct as_loop *loop, uint64_t chunk)
{
	uint64_t value = 0;

	child_check(pread(as_loop_fd(loop), &value, 8, (off_t)(chunk * AS_CHUNK_BYTES)) == 8);
	return value;
}

static void put(struct as_disk *disk, uint64_t chunk, uint64_t value)
{
	unsigned char data[AS_CHUNK_BYTES] = { 0 };

	memcpy(data, &value, 8);
	child_check(!as_bd_write(as_disk_bd(disk), chunk * AS_CHUNK_BYTES, data, sizeof(data)));
}

/* Writes through the device, around its cache. */
static void scribble(const struct as_loop *loop, uint64_t chunk)
{
	char *data = aligned_alloc(4096, 4096);
	int fd = open(as_loop_path(loop), O_RDWR | O_DIRECT);

	memset(data, 0x5a, 4096);
	child_check(fd >= 0 && pwrite(fd, data, 4096, (off_t)(chunk * AS_CHUNK_BYTES)) == 4096);
	close(fd);
	free(data);
}

static int loop_in_memory(void *ctx)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk *a, *b;
	struct as_prng prng = as_prng_seed(1);
	struct as_loop *loop;
	struct as_err err;

	(void)ctx;
	child_check(!as_disk_new(store, DISK_BYTES, &a, &err));
	for (uint64_t i = 0; i < 100; i++)
		put(a, i * 3, i + 1);
	b = as_disk_snapshot(a);
	put(b, 5, 55);
	put(b, 6, 0);
	child_check(!as_loop_new_memory(a, 0, &loop, &err));
	child_check(read_at(loop, 6) == 3 && read_at(loop, 5) == 0);
	/* Two chunks differ: two are written, and the device's cache does not hide them. */
	child_check(!as_loop_load(loop, b, &err) && as_loop_loaded(loop) == 2);
	child_check(read_at(loop, 6) == 0 && read_at(loop, 5) == 55);
	child_check(!as_loop_load(loop, b, &err) && as_loop_loaded(loop) == 0);
	/* What was written to the device is taken back, on data and on zeros. */
	scribble(loop, 9);
	scribble(loop, 1000);
	child_check(read_at(loop, 1000) == UINT64_C(0x5a5a5a5a5a5a5a5a));
	child_check(!as_loop_load(loop, b, &err) && as_loop_loaded(loop) == 2);
	child_check(read_at(loop, 9) == 4 && read_at(loop, 1000) == 0);
	for (int round = 0; round < 200; round++) {
		struct as_disk *disk = round % 2 ? a : b;
		uint64_t chunk = as_prng_below(&prng, DISK_BYTES / AS_CHUNK_BYTES), value = 0;

		put(disk, as_prng_below(&prng, 300), as_prng_next(&prng));
		if (round % 3)
			scribble(loop, chunk);
		child_check(!as_loop_load(loop, disk, &err));
		for (uint64_t i = 0; i < 300; i += 7) {
			unsigned char data[512];

			child_check(!as_bd_read(as_disk_bd(disk), i * AS_CHUNK_BYTES, data, 512));
			memcpy(&value, data, 8);
			child_check(read_at(loop, i) == value);
		}
		child_check(read_at(loop, chunk) != UINT64_C(0x5a5a5a5a5a5a5a5a));
	}
	as_loop_free(loop);
	as_disk_free(a);
	as_disk_free(b);
	as_chunks_free(store);
	return 0;
}

/* The last chunks are a second device: what is written to it is saved and taken back, too. */
static int two_in_memory(void *ctx)
{
	const uint64_t first = DISK_BYTES / AS_CHUNK_BYTES - 8; /* chunks of the first device */
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk, *saved;
	struct as_loop *loop;
	unsigned char data[512];
	struct as_err err;

	(void)ctx;
	child_check(!as_disk_new(store, DISK_BYTES, &disk, &err));
	put(disk, 3, 33);
	put(disk, first + 2, 22);
	child_check(!as_loop_new_memory(disk, 8 * AS_CHUNK_BYTES, &loop, &err));
	child_check(read_at(loop, 3) == 33 && read_at(as_loop_second(loop), 2) == 22);
	scribble(as_loop_second(loop), 5);
	child_check(!as_loop_save(loop, &saved, &err));
	child_check(!as_bd_read(as_disk_bd(saved), (first + 5) * AS_CHUNK_BYTES, data, 512));
	child_check(data[0] == 0x5a);
	as_disk_free(saved);
	scribble(as_loop_second(loop), 2);
	child_check(!as_loop_load(loop, disk, &err));
	child_check(read_at(as_loop_second(loop), 2) == 22 && !read_at(as_loop_second(loop), 5));
	as_loop_free(loop);
	as_disk_free(disk);
	as_chunks_free(store);
	return 0;
}

/* Every process gets a device of its own, though all ask at the same time. */
static int attach_many(void *ctx)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk;
	struct as_err err;

	child_check(!as_disk_new(store, 1 << 20, &disk, &err));
	for (int i = 0; i < 20; i++) {
		struct as_loop *loop;
		uint64_t mark = (uint64_t)getpid() << 16 | (unsigned)i;

		put(disk, 3, mark);
		if (as_loop_new_memory(disk, 0, &loop, &err)) {
			fprintf(stderr, "%s\n", err.msg);
			_exit(97);
		}
		child_check(read_at(loop, 3) == mark);
		as_loop_free(loop);
	}
	as_disk_free(disk);
	as_chunks_free(store);
	(void)ctx;
	return 0;
}

static int race(void *ctx)
{
	pid_t pids[6];
	int status, failed = 0;

	for (size_t i = 0; i < 6; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(attach_many(ctx));
	}
	for (size_t i = 0; i < 6; i++)
		failed += waitpid(pids[i], &status, 0) != pids[i] || status;
	return failed;
}

/* ---- All of them --------------------------------------------------------------------------- */

struct test {
	const char *name;
	int (*fn)(void *ctx);
	bool loop;
};

static const struct test table[] = {
	{ "calls arrive", calls_arrive, false },
	{ "errors go back", errors_go_back, false },
	{ "the hook", hook_is_called, false },
	{ "a loop on a served disk", loop_on_served, true },
	{ "writes held until a flush", held_until_a_flush, true },
	{ "writes held for some requests", held_for_some_requests, true },
	{ "writes held until nothing happens", held_until_idle, true },
	{ "writes no longer held", held_no_longer, true },
	{ "a loop in memory", loop_in_memory, true },
	{ "two loops on one file in memory", two_in_memory, true },
	{ "many attach at once", race, true },
};

#define NTESTS (sizeof(table) / sizeof(table[0]))

static void test_row(void **state)
{
	const struct test *test = *state;
	struct as_ended ended;
	struct as_err err;

	if (geteuid())
		skip_because("mounting takes root's rights");
	if (access("/dev/fuse", F_OK) || (test->loop && access("/dev/loop-control", F_OK)))
		skip_because("there is no /dev/fuse, or no /dev/loop-control");
#ifndef AS_HAVE_fuse3
	skip_because("built without libfuse3");
#endif
	assert_int_equal(as_spawn_fork(test->fn, NULL, 60000, NULL, &ended, &err), 0);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 0);
}

int main(void)
{
	struct CMUnitTest tests[NTESTS];

	for (size_t i = 0; i < NTESTS; i++)
		tests[i] = (struct CMUnitTest){ table[i].name, test_row, NULL, NULL,
						(void *)(uintptr_t)&table[i] };
	return _cmocka_run_group_tests("serve", tests, NTESTS, NULL, NULL);
}
