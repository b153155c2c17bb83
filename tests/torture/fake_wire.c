/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_wire: a "kernel" for `--uml` that does not boot anything but sends garbage, floods or lies.
 * Its own name says what: .../flood-console and so on. Descriptors as in box/sandbox.h: 1 is the
 * console, 3 the engine's lines, 4 the shared memory.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As far as we need it; see box/sandbox.h. */
struct head {
	uint64_t magic, size;
	volatile uint64_t beat;
	volatile int64_t job;
	volatile uint32_t stuck;
	uint32_t stuck_ms;
	volatile int64_t waited_us;
	volatile uint32_t ended;
	volatile int32_t status;
	volatile uint64_t faults;
	char error[1024];
	uint32_t n_args;
	char args[16384];
	volatile uint64_t progress __attribute__((aligned(64)));
};

static struct head *head;
static char share[4096] = "/share";

static void say(const char *text)
{
	if (write(3, text, strlen(text)) < 0)
		_exit(9);
}

/* A line of the engine as it should be, but for one member. */
static void finding(const char *id, const char *target, const char *options, const char *workload,
		    const char *rest)
{
	static char line[1 << 16];

	snprintf(line, sizeof(line),
		 "{\"event\":\"finding\",\"form\":1,\"id\":\"%s\",\"kind\":\"data\","
		 "\"target\":\"%s\",\"summary\":\"s\",\"signature\":\"g\","
		 "\"workload_name\":\"w\",\"options\":\"%s\","
		 "\"op\":1,\"line\":1,\"workload\":\"%s\"%s}\n",
		 id, target, options, workload, rest);
	say(line);
}

static void done(void)
{
	say("{\"event\":\"workload\",\"name\":\"w\",\"runs\":1,\"ops\":1,\"findings\":1}\n");
	head->ended = 1;
	head->status = 1 << 8;
	_exit(0);
}

/* The engine has ended, and not all that it said has come through. */
static void ends_early(bool killed)
{
	head->status = 0;
	head->ended = 1;
	if (killed)
		raise(SIGKILL);
	_exit(0);
}

/* An engine that takes long to begin, which the guest even reports. The time is the subject. */
static void begins_late(void)
{
	head->job = -1;
	head->stuck = 1;
	for (int i = 0; i < 50; i++) {
		head->beat++;
		usleep(100000);
	}
	head->stuck = 0;
	head->job = 0;
	say("{\"event\":\"workload\",\"name\":\"w\",\"runs\":1,\"ops\":1,\"findings\":0}\n");
	head->status = 0;
	head->ended = 1;
	_exit(0);
}

/* A call that came back after the guest had reported it, and then one that takes long. */
static void comes_back(void)
{
	head->job = 0;
	head->stuck = 1;
	for (int i = 0; i < 60; i++) {
		head->beat++;
		if (i < 5)
			head->progress++;
		usleep(100000);
	}
	say("{\"event\":\"workload\",\"name\":\"w\",\"runs\":1,\"ops\":1,\"findings\":0}\n");
	head->status = 0;
	head->ended = 1;
	_exit(0);
}

/* What an engine says first; see supervise/wire.h. */
static void hello(const char *version)
{
	char line[100];

	snprintf(line, sizeof(line), "{\"event\":\"hello\",\"wire\":%s}\n", version);
	say(line);
}

#define OPS "mkdir /a 0755\\n"

static void lies(void)
{
	static const char *const ids[] = { "../../../planted", "/tmp/planted", "..",
					   ".hidden",	       "a/b",	       "",
					   "a\\u001b[2J",      "a b",	       "x\\u0000y" };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		finding(ids[i], "lab", "check=end", OPS, "");
	finding("t-1", "plugin:/tmp/evil.so", "check=end", OPS, "");
	finding("t-2", "fuse:touch planted", "check=end", OPS, "");
	finding("t-3", "lab", "scenario=diff:plugin:/tmp/evil.so", OPS, "");
	finding("t-4", "lab", "no=such option", OPS, "");
	finding("t-5", "lab", "check=end", "@target plugin:/tmp/evil.so\\nmkdir /a 0755\\n", "");
	finding("t-6", "lab", "check=end", "this is no workload\\n", "");
	finding("t-7", "lab", "check=end", OPS, ",\"disk\":true,\"op\":-9223372036854775808");
	done();
}

static void disks(void)
{
	static const char *const names[] = { "d-garbage", "d-huge", "d-folder", "d-missing" };
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/out/findings", share);
	mkdir(path, 0755);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/out/findings/%s", share, names[i]);
		mkdir(path, 0755);
		snprintf(path, sizeof(path), "%s/out/findings/%s/disk.img.zst", share, names[i]);
		if (i == 2)
			mkdir(path, 0755);
		fd = i < 2 ? open(path, O_CREAT | O_WRONLY, 0644) : -1;
		if (i == 0 && write(fd, path, sizeof(path)) < 0)
			_exit(9);
		if (i == 1 && ftruncate(fd, 1 << 29))
			_exit(9);
		finding(names[i], "lab", "check=end", OPS, ",\"disk\":true");
	}
	done();
}

static void numbers(void)
{
	head->job = INT64_MAX;
	head->beat = UINT64_MAX;
	head->size = 1;
	head->magic = 0;
	say("{\"event\":\"batch\",\"done\":-1}\n");
	say("{\"event\":\"batch\",\"done\":9223372036854775807,\"ops\":-1}\n");
	say("{\"event\":\"workload\",\"ops\":9223372036854775807,\"findings\":-5,"
	    "\"wall_us\":-1,\"counts\":[-9223372036854775808,1e300,\"x\"]}\n");
	say("{\"event\":\"workload\"}\n{\"event\":\"workload\"}\n{\"event\":7}\n[]\n{}\n");
	memset(head->error, 'x', sizeof(head->error));
	_exit(0);
}

static void deep(void)
{
	for (int i = 0; i < 200000; i++)
		say("{\"a\":[");
	say("\n");
	_exit(0);
}

static void garbage(void)
{
	static unsigned char block[65536];
	uint64_t x = 88172645463325252ull;

	for (int n = 0; n < 200; n++) {
		for (size_t i = 0; i < sizeof(block); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			block[i] = (unsigned char)x;
		}
		if (write(3, block, sizeof(block)) < 0 || write(1, block, sizeof(block)) < 0)
			_exit(9);
	}
	_exit(0);
}

static void flood(int fd, const char *text)
{
	static char block[1 << 16];
	size_t len = strlen(text), at = 0;

	for (; at + len < sizeof(block); at += len)
		memcpy(block + at, text, len);
	for (;;) {
		head->beat++;
		if (write(fd, block, at) < 0)
			_exit(9);
	}
}

static void escapes(void)
{
	memcpy(head->error, "\033]0;x\007\nsecond line\n\033[2J", 24);
	say("{\"event\":\"note\",\"text\":\"a note\"}\n");
	_exit(1);
}

static void ends_somehow(const char *name)
{
	if (!strcmp(name, "begins-late"))
		begins_late();
	if (!strcmp(name, "comes-back"))
		comes_back();
	if (!strcmp(name, "killed-late"))
		ends_early(true);
	if (!strcmp(name, "ends-early"))
		ends_early(false);
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];

	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("6.1.0");
		return 0;
	}
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "hostfs=", 7))
			snprintf(share, sizeof(share), "%s", argv[i] + 7);
	head = mmap(NULL, sizeof(*head), PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0);
	if (head == MAP_FAILED)
		return 9;
	head->beat = 1;
	head->job = 0;
	if (!strcmp(name, "no-version"))
		done();
	if (!strcmp(name, "old-version")) {
		hello("0");
		done();
	}
	if (!strcmp(name, "new-version")) {
		hello("4294967297");
		done();
	}
	hello("3");
	if (!strcmp(name, "gives-up")) {
		say("{\"event\":\"error\",\"text\":\"no such \\u001b[2Jthing\",\"lacks\":true}\n");
		head->ended = 1;
		head->status = 3 << 8;
		_exit(0);
	}
	if (!strcmp(name, "flood-console"))
		flood(1, "[    0.000000] a line of the kernel\n");
	if (!strcmp(name, "flood-kmsg"))
		flood(1, "[    0.1] EXT4-fs error (device loop0): ext4_lookup:1855: inode #2\n");
	if (!strcmp(name, "flood-line"))
		flood(3, "no end of this line ");
	if (!strcmp(name, "flood-notes"))
		flood(3, "{\"event\":\"nothing\",\"text\":\"a note\"}\n");
	if (!strcmp(name, "garbage"))
		garbage();
	if (!strcmp(name, "half"))
		say("{\"event\":\"finding\",\"id\":\"x-data-1\",\"kin");
	if (!strcmp(name, "lies"))
		lies();
	if (!strcmp(name, "disks"))
		disks();
	if (!strcmp(name, "numbers"))
		numbers();
	if (!strcmp(name, "deep"))
		deep();
	if (!strcmp(name, "escapes"))
		escapes();
	if (!strcmp(name, "killed"))
		raise(SIGKILL);
	ends_somehow(name);
	if (!strcmp(name, "never-boots")) {
		head->beat = 0;
		head->job = -1;
		for (;;)
			pause();
	}
	return 1;
}
