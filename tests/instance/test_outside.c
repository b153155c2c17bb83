/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside: the process that checks the disks of a guest. It tells clean disks from damaged ones, in
 * its cell; no question, however wrong, stops it; and it can neither see nor do more than a guest.
 * This program is also what runs in the cell.
 */
#include "tests/lib/skip.h"

#include "disk/chunk.h"
#include "disk/dump.h"
#include "disk/log.h"
#include "instance/outside.h"
#include "os/spawn.h"
#include "run/run.h"
#include "supervise/outside.h"
#include "supervise/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES ((uint64_t)16 << 20)
#define DEADLINE_MS 60000

/* ---- In the cell ----------------------------------------------------------------------------- */

static int serve(void)
{
	struct stat st;
	struct as_box_state *state = MAP_FAILED;
	struct as_err err = { 0 };

	if (!fstat(AS_OUTSIDE_STATE_FD, &st))
		state = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			     AS_OUTSIDE_STATE_FD, 0);
	if (state == MAP_FAILED)
		return 3;
	return as_outside_serve(state, (size_t)st.st_size, as_fstype_find("ext4"), DISK_BYTES,
				DEADLINE_MS, 0, AS_OUTSIDE_EVENTS_FD, &err);
}

/* Each that succeeds is a hole. */
static int peek(const char *pid)
{
	static const char *const paths[] = { "/etc/passwd", "/root", "/home", "/tmp",	 "/usr/bin",
					     "/var",	    "/sys",  "/run",  "/dev/mem" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (open(paths[i], O_RDONLY | O_CLOEXEC) >= 0)
			printf("opened %s\n", paths[i]);
	if (open("/x", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0)
		printf("wrote to its root\n");
	if (!kill(atoi(pid), 0))
		printf("reached a process outside\n");
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		printf("got a socket\n");
	if (!geteuid())
		printf("is root\n");
	if (open("/proc/1/mem", O_RDWR | O_CLOEXEC) >= 0)
		printf("opened the memory of its first process\n");
	printf("done\n");
	fflush(stdout);
	_exit(0); /* a sanitizer cannot look for leaks there */
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static struct {
	struct as_box_state *state;
	int fd;
	struct as_box *box;
	struct as_chunks *store;
} rig;

static void start(const char *const *args)
{
	char e2fsck[4096];
	const char *programs[] = { e2fsck, NULL };
	struct as_err err = { 0 };
	int rc;

	if (!as_spawn_which("e2fsck", e2fsck, sizeof(e2fsck)))
		skip_because("no e2fsck: package e2fsprogs");
	rc = as_box_start_confined(args, programs, rig.fd, &rig.box, &err);
	if (rc == AS_ELACK)
		skip_because("%s", err.msg);
	if (rc)
		fail_msg("%s", err.msg);
}

/* The next event of the process; 0: it has ended. */
static uint64_t next_event(enum as_wire_kind *kind)
{
	struct pollfd ready = { .fd = rig.box->events_fd, .events = POLLIN };
	struct as_wire_event event;
	uint64_t number;
	char line[256];
	size_t len = 0;
	ssize_t n = 1;

	*kind = AS_WIRE_KINDS;
	do {
		assert_int_equal(poll(&ready, 1, 4 * DEADLINE_MS), 1);
		n = read(rig.box->events_fd, line + len, 1);
	} while (n == 1 && line[len] != '\n' && ++len < sizeof(line));
	if (n != 1)
		return 0;
	assert_int_equal(as_wire_event_parse(line, len, &event), AS_WIRE_EVENT);
	*kind = event.kind;
	number = event.kind == AS_WIRE_HELLO ? event.version : event.number;
	as_wire_event_free(&event);
	return number;
}

/* Its first event says our version. */
static void greet(void)
{
	enum as_wire_kind kind;

	assert_int_equal(next_event(&kind), AS_WIRE_VERSION);
	assert_int_equal(kind, AS_WIRE_HELLO);
}

static void begin(void)
{
	static const char *const args[] = { "--serve", NULL };

	start(args);
	as_outside_offer(as_outside_of(rig.state), true);
	greet();
}

/* The line that an engine prints. */
static const char *question(uint64_t number)
{
	static char line[64];

	snprintf(line, sizeof(line), AS_OUTSIDE_ASK, (unsigned long long)number);
	return line;
}

/* The rc of the answer. */
static int ask(uint64_t number)
{
	struct as_outside *o = as_outside_of(rig.state);
	enum as_wire_kind kind;

	o->rc = 77;
	assert_true(as_box_say(rig.box, question(number)));
	assert_int_equal(next_event(&kind), number);
	assert_int_equal(kind, AS_WIRE_ANSWER);
	assert_int_equal(o->answered, number);
	return o->rc;
}

static int write_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	assert_int_equal(pwrite(*(int *)ctx, data, AS_CHUNK_BYTES, (off_t)(index * AS_CHUNK_BYTES)),
			 AS_CHUNK_BYTES);
	return 0;
}

static void put_disk(struct as_disk *disk)
{
	struct as_outside *o = as_outside_of(rig.state);
	int fd = memfd_create("disk", MFD_CLOEXEC);
	size_t room, len;
	void *dump = as_outside_dump(rig.state, &room);

	assert_int_equal(ftruncate(fd, (off_t)DISK_BYTES), 0);
	as_disk_each(disk, write_chunk, &fd);
	assert_int_equal(as_dump_file(fd, dump, room, &len, NULL), 0);
	o->dump_bytes = len;
	o->mode = AS_CHECK_FULL;
	close(fd);
}

static struct as_disk *make_disk(void)
{
	struct as_checkers *checkers = as_checkers_new(NULL);
	struct as_tool_result made;
	struct as_disk *zeros, *disk;
	struct as_err err = { 0 };
	int rc;

	assert_int_equal(as_disk_new(rig.store, DISK_BYTES, &zeros, NULL), 0);
	rc = as_checker_mkfs(checkers, as_fstype_find("ext4"), zeros, &made, &err);
	if (rc == AS_ELACK)
		skip_because("%s", err.msg);
	assert_int_equal(rc, 0);
	disk = as_disk_snapshot(made.disk);
	as_tool_result_free(&made);
	as_disk_free(zeros);
	as_checkers_free(checkers);
	return disk;
}

/* Clears the bits of the used inodes of the first group: "Inode bitmap differences". */
static struct as_disk *damage(struct as_disk *disk)
{
	struct as_disk *damaged = as_disk_snapshot(disk);
	struct as_bd *bd = as_disk_bd(damaged);
	unsigned char group[1024] = { 0 };
	uint32_t bitmap;

	/* Blocks of 1 KiB: the table of groups is block 2. */
	assert_int_equal(as_bd_read(bd, 2048, group, sizeof(group)), 0);
	memcpy(&bitmap, group + 4, sizeof(bitmap));
	assert_int_equal(as_bd_zero(bd, (uint64_t)bitmap * 1024, 512), 0);
	return damaged;
}

static void test_answers(void **state)
{
	struct as_outside *o = as_outside_of(rig.state);
	struct as_disk *clean = make_disk(), *damaged = damage(clean);

	(void)state;
	begin();
	for (unsigned i = 0; i < 3; i++) {
		put_disk(clean);
		assert_int_equal(ask(3 * i + 1), 0);
		assert_int_equal(o->answer, AS_CHECK_CLEAN);
		put_disk(damaged);
		assert_int_equal(ask(3 * i + 2), 0);
		assert_int_not_equal(o->answer, AS_CHECK_CLEAN);
	}
	as_disk_free(damaged);
	as_disk_free(clean);
}

static void test_nonsense(void **state)
{
	struct as_outside *o = as_outside_of(rig.state);
	struct as_disk *clean = make_disk();
	size_t room;
	char *dump = as_outside_dump(rig.state, &room);
	uint64_t number = 0;

	(void)state;
	begin();
	for (unsigned i = 0; i < 5; i++) {
		put_disk(clean);
		/* Of another layout, or of nobody. */
		o->offered = i == 4 ? AS_OUTSIDE_MARK - 1 : AS_OUTSIDE_MARK;
		if (i == 0)
			o->mode = 99;
		if (i == 1)
			o->dump_bytes = UINT64_MAX;
		if (i == 2)
			o->dump_bytes -= 8;
		if (i == 3)
			memset(dump, 0xff, 4096);
		assert_int_equal(ask(++number), AS_ELACK);
	}
	put_disk(clean);
	as_outside_offer(o, true);
	assert_int_equal(ask(++number), 0);
	assert_int_equal(o->answer, AS_CHECK_CLEAN);
	as_disk_free(clean);
}

/* What is no question of this version of the wire ends it. */
static void test_no_question(void **state)
{
	static const char *const lines[] = { ".\n",
					     "go\n",
					     "{\"event\":\"check\"}\n",
					     "{\"event\":\"check\",\"number\":0}\n",
					     "{\"event\":\"check\",\"number\":-1}\n",
					     "{\"event\":\"hello\",\"wire\":3}\n",
					     "{\"event\":\"answer\",\"number\":1}\n" };
	struct as_wire_event event;
	enum as_wire_kind kind;
	size_t len = strlen(question(7));

	(void)state;
	assert_int_equal(as_wire_event_parse(question(7), len - 1, &event), AS_WIRE_EVENT);
	assert_int_equal(event.kind, AS_WIRE_CHECK);
	assert_int_equal(event.number, 7);
	as_wire_event_free(&event);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		begin();
		assert_true(as_box_say(rig.box, lines[i]));
		assert_int_equal(next_event(&kind), 0);
		assert_int_equal(kind, AS_WIRE_KINDS);
		as_box_free(rig.box);
		rig.box = NULL;
	}
}

/* ---- Crashed disks --------------------------------------------------------------------------- */

/* What a supervisor does: passes questions and answers on. */
static struct {
	pthread_t thread;
	int asks[2], answers[2];
} relay;

static void *pass_on(void *ctx)
{
	char block[256];
	ssize_t n;

	(void)ctx;
	while ((n = read(relay.asks[0], block, sizeof(block) - 1)) > 0) {
		enum as_wire_kind kind;

		block[n] = '\0';
		if (!as_box_say(rig.box, block) || !next_event(&kind) || kind != AS_WIRE_ANSWER ||
		    write(relay.answers[1], ".", 1) != 1)
			as_outside_offer(as_outside_of(rig.state), false);
	}
	return NULL;
}

static struct as_outside_link open_link(void)
{
	struct as_outside *o = as_outside_of(rig.state);

	assert_int_equal(pipe2(relay.asks, O_CLOEXEC), 0);
	assert_int_equal(pipe2(relay.answers, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&relay.thread, NULL, pass_on, NULL), 0);
	as_outside_offer(o, true);
	return (struct as_outside_link){ .outside = o,
					 .in_fd = relay.answers[0],
					 .out_fd = relay.asks[1] };
}

static void close_link(struct as_outside_link *link)
{
	as_outside_link_end(link);
	close(relay.asks[1]);
	pthread_join(relay.thread, NULL);
	close(relay.asks[0]);
	close(relay.answers[0]);
	close(relay.answers[1]);
}

static void assert_same_log(const struct as_reclog *a, const struct as_reclog *b)
{
	assert_int_equal(as_reclog_len(a), as_reclog_len(b));
	for (size_t i = 0; i < as_reclog_len(a); i++) {
		const struct as_log_entry *x = as_reclog_at(a, i), *y = as_reclog_at(b, i);

		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->off, y->off);
		assert_int_equal(x->len, y->len);
		assert_int_equal(x->ret, y->ret);
		if (x->kind == AS_CALL_WRITE)
			assert_memory_equal(x->data, y->data, x->len);
	}
}

/* The answer from outside is what the checker says and does here. */
static void assert_same_run(struct as_outside_link *link, struct as_checkers *checkers,
			    uint64_t fail_read, struct as_disk *disk)
{
	const struct as_fstype *ext4 = as_fstype_find("ext4");
	struct as_tool_result there;
	struct as_checked here;

	for (unsigned mode = 0; mode < AS_CHECK_MODES; mode++) {
		enum as_check_mode m = (enum as_check_mode)mode;

		as_checkers_fail_read(checkers, fail_read);
		assert_int_equal(
			as_checker_run(checkers, ext4, m, disk, AS_TOOL_READS, &here, NULL), 0);
		assert_int_equal(as_outside_check(link, m, fail_read, disk, &there), 0);
		assert_int_equal(there.ended.how, here.run.ended.how);
		assert_int_equal(there.ended.status, here.run.ended.status);
		assert_string_equal(as_buf_str(&there.output), as_buf_str(&here.run.output));
		assert_int_equal(there.reads, here.run.reads);
		assert_int_equal(there.changed, here.run.changed);
		assert_int_equal(there.incomplete, here.run.incomplete);
		assert_int_equal(there.refused, here.run.refused);
		assert_true(as_disk_eq(there.disk, here.run.disk));
		assert_same_log(there.log, here.run.log);
		as_tool_result_free(&there);
		as_checked_free(&here);
	}
}

static void test_crashed(void **state)
{
	struct as_checkers *checkers = as_checkers_new(NULL);
	struct as_disk *clean = make_disk(), *damaged = damage(clean);
	struct as_outside_link link;

	(void)state;
	begin();
	link = open_link();
	for (unsigned i = 0; i < 2; i++) {
		assert_same_run(&link, checkers, 0, clean);
		assert_same_run(&link, checkers, 0, damaged);
		assert_same_run(&link, checkers, 3, damaged);
		/* Another process, which knows no disk. */
		as_box_free(rig.box);
		begin();
	}
	/* One that a chunk of nobody makes forget its disk, too. */
	link.there_as++;
	assert_same_run(&link, checkers, 0, damaged);
	close_link(&link);
	as_checkers_free(checkers);
	as_disk_free(damaged);
	as_disk_free(clean);
}

static void test_crashed_nonsense(void **state)
{
	struct as_outside *o = as_outside_of(rig.state);
	uint64_t number = 1;

	(void)state;
	begin();
	for (unsigned i = 0; i < 6; i++) {
		o->mode = i == 0 ? 99 : AS_CHECK_FULL;
		o->dump_bytes = 0;
		o->base = i == 1 ? 12345 : 0;
		o->size_bytes = i == 2 ? DISK_BYTES * 2 : DISK_BYTES - (i == 1);
		o->delta_bytes = i == 3	  ? UINT64_MAX
				 : i == 4 ? AS_OUTSIDE_AREA_BYTES
				 : i == 5 ? sizeof(uint64_t) + AS_CHUNK_BYTES
					  : 0;
		memset(o->area, 0xff, sizeof(uint64_t));
		assert_int_equal(ask(++number), AS_ELACK);
	}
	/* It goes on: this is a disk of zeros. */
	o->delta_bytes = 0;
	assert_int_equal(ask(++number), 0);
	assert_true(o->log_bytes > 0);
}

static void test_walls(void **state)
{
	char pid[16];
	const char *const args[] = { "--peek", pid, NULL };
	struct as_buf said = { 0 };
	char block[512];
	ssize_t n;

	(void)state;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	start(args);
	/* To its end. */
	assert_int_equal(fcntl(rig.box->events_fd, F_SETFL, 0), 0);
	while ((n = read(rig.box->events_fd, block, sizeof(block))) > 0)
		as_buf_add(&said, block, (size_t)n);
	assert_string_equal(as_buf_str(&said), "done\n");
	as_buf_free(&said);
}

static int set_up(void **state)
{
	size_t size = sizeof(struct as_box_state) + as_run_state_bytes();

	(void)state;
	rig.fd = memfd_create("state", MFD_CLOEXEC);
	if (rig.fd < 0 || ftruncate(rig.fd, (off_t)size))
		return -1;
	rig.state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, rig.fd, 0);
	rig.store = as_chunks_new();
	return rig.state == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	as_box_free(rig.box);
	rig.box = NULL;
	as_chunks_free(rig.store);
	munmap(rig.state, sizeof(struct as_box_state) + as_run_state_bytes());
	close(rig.fd);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_question, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_crashed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_crashed_nonsense, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_walls, set_up, tear_down),
	};

	if (argc > 1 && !strcmp(argv[1], "--serve"))
		return serve();
	if (argc > 2 && !strcmp(argv[1], "--peek"))
		return peek(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
