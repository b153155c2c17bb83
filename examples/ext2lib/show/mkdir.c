/* SPDX-License-Identifier: MIT */
/*
 * mkdir: libext2fs alone. ext2fs_mkdir() meets a write that fails: what has it left?
 *
 *	cc mkdir.c -lext2fs -lcom_err -o mkdir
 *	truncate -s 4M disk && mke2fs -q -t ext2 disk && ./mkdir disk
 *
 * Write 1, 2, 3, ... of an ext2fs_mkdir() of "a" fails in turn, each time on the disk as it is in
 * the file. Then "b" is made, and "c" in it, without a failure.
 */
#include <errno.h>
#include <ext2fs/ext2fs.h>
#include <stdio.h>
#include <stdlib.h>

static struct struct_io_manager failing;
static unsigned writes, fails_at;

static errcode_t write_or_fail(io_channel channel, unsigned long long block, int count,
			       const void *data)
{
	/* What is written is not needed any more when this program ends. */
	if (++writes == fails_at)
		return EIO;
	return unix_io_manager->write_blk64(channel, block, count, data);
}

static errcode_t open_failing(const char *name, int flags, io_channel *channel)
{
	errcode_t code = unix_io_manager->open(name, flags, channel);

	if (!code)
		(*channel)->manager = &failing;
	return code;
}

static void check(errcode_t code, const char *what)
{
	if (!code)
		return;
	fprintf(stderr, "%s: %s\n", what, error_message(code));
	exit(2);
}

/* False: no write failed. */
static int try(const char *path, unsigned n)
{
	ext2_ino_t a = 0, b = 0, c = 0;
	ext2_filsys fs;
	errcode_t made;

	check(ext2fs_open(path, EXT2_FLAG_RW, 0, 0, &failing, &fs), "open");
	check(ext2fs_read_bitmaps(fs), "bitmaps");
	writes = 0;
	fails_at = n;
	made = ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "a");
	fails_at = 0;
	if (!made) {
		printf("write %u: there is none\n", n);
		return 0;
	}
	check(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "b"), "mkdir b");
	check(ext2fs_lookup(fs, EXT2_ROOT_INO, "b", 1, NULL, &b), "lookup b");
	check(ext2fs_mkdir(fs, b, 0, "c"), "mkdir c");
	check(ext2fs_lookup(fs, b, "c", 1, NULL, &c), "lookup c");
	printf("write %u: mkdir a: %s; ", n, error_message(made));
	if (ext2fs_lookup(fs, EXT2_ROOT_INO, "a", 1, NULL, &a))
		printf("there is no a\n");
	else
		printf("a is there, inode %u; b made afterwards is inode %u, c in it %u%s\n", a, b,
		       c, a == b ? ": a and b are the same directory" : "");
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	failing = *unix_io_manager;
	failing.open = open_failing;
	failing.write_blk64 = write_or_fail;
	for (unsigned n = 1; n < 20 && try(argv[1], n); n++)
		;
	return 0;
}
