/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * defect_checker DEFECT -y|-n DISK: a checker of a small format of its own, with one defect of
 * each kind that a checker can have, or none ("clean"). The disk: "TOY1", the number of slots in
 * use, a byte that only some look at, a flag; and from sector 1 on 100 slots, a sector each, whose
 * first byte is 0xa5 if it is in use, else 0. A wrong mark is cleared, a wrong number is set.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIZE 65536
#define SLOTS 100
enum { COUNT = 4, EXTRA, FLAG };

static unsigned char disk[SIZE];
static const char *defect;
static int fd;

static int is(const char *name)
{
	return !strcmp(defect, name);
}

static void put(int off)
{
	if (pwrite(fd, disk + off, 1, off) != 1)
		_exit(8);
}

static int set_count(int value, int status)
{
	disk[COUNT] = (unsigned char)value;
	put(COUNT);
	return status;
}

/* What it does when it meets a bad mark; -1: it goes on. */
static int meet(int look)
{
	if (is("segv"))
		*(volatile int *)64 = 1;
	if (is("abort") || (is("look-dies") && look))
		raise(SIGABRT);
	if (is("hang") || (is("look-hangs") && look))
		for (;;)
			pause();
	if (is("status") || (is("look-status") && look))
		return 77;
	return is("shell") ? 139 : -1;
}

static int only_look(int bad, int wrong)
{
	if (is("look-writes") && wrong)
		return set_count(0, 4);
	if (is("look-blind"))
		wrong = 0;
	if ((is("look-more") && disk[EXTRA]) || (is("look-later") && disk[FLAG] == 9))
		return 4;
	return bad || wrong ? 4 : 0;
}

static int repair(int bad, int wrong, int real)
{
	int has = disk[COUNT];

	if (wrong && is("never"))
		return set_count(real + 1 + (has & 1), 1);
	if (wrong && is("left-changes"))
		return set_count(has + 2 == real ? has + 3 : has + 2, 4);
	if (wrong && is("failed-changes"))
		return set_count(has + 2 == real ? has + 3 : has + 2, 8);
	if (wrong && is("left-gone"))
		return set_count(real, 4);
	if (wrong && is("lies"))
		return 1;
	if (wrong && is("twice"))
		return set_count(has > real + 1 || has < real - 1 ? real + 1 : real, 1);
	if (wrong && is("look-later")) {
		disk[FLAG] = 9;
		put(FLAG);
	}
	if (wrong)
		set_count(real, 1);
	return (bad || wrong) && !is("silent");
}

int main(int argc, char **argv)
{
	int look, bad = 0, real = 0, status;

	if (argc != 4)
		return 16;
	defect = argv[1];
	look = !strcmp(argv[2], "-n");
	fd = open(is("ignores") ? "/dev/zero" : argv[3],
		  look && !is("look-writes") ? O_RDONLY : O_RDWR);
	if (fd < 0 || pread(fd, disk, SIZE, 0) != SIZE)
		return 8;
	if (memcmp(disk, "TOY1", 4))
		return is("content") && !look ? 0 : is("ignores") ? 0 : 8;
	for (int i = 1; i <= SLOTS; i++) {
		if (disk[512 * i] && disk[512 * i] != 0xa5) {
			status = meet(look);
			if (status >= 0)
				return status;
			bad = 1;
			disk[512 * i] = 0;
			if (!look)
				put(512 * i);
		}
		real += disk[512 * i] == 0xa5;
	}
	if (disk[COUNT] != real)
		printf("count is %d, should be %d\n", disk[COUNT], real);
	return look ? only_look(bad, disk[COUNT] != real) : repair(bad, disk[COUNT] != real, real);
}
