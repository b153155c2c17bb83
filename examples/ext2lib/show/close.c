/* SPDX-License-Identifier: MIT */
/*
 * close: libext2fs alone. A file is written over and everything is closed: is the disk flushed?
 *
 *	cc close.c -lext2fs -lcom_err -o close
 *	truncate -s 4M disk && mke2fs -q -t ext2 disk && ./close disk
 *
 * libext2fs 1.47.0: "ext2fs_close() of a file system whose file was written: 0 flushes, after
 * ext2fs_flush(): 2". ext2fs_close() flushes if the super block or a bitmap is dirty, and data is
 * neither; so what was written is stable only after an ext2fs_flush() of one's own.
 */
#include <ext2fs/ext2fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct struct_io_manager counting;
static unsigned flushes;

static errcode_t count_flush(io_channel channel)
{
	flushes++;
	return unix_io_manager->flush(channel);
}

static errcode_t open_counting(const char *name, int flags, io_channel *channel)
{
	errcode_t code = unix_io_manager->open(name, flags, channel);

	if (!code)
		(*channel)->manager = &counting;
	return code;
}

static void check(errcode_t code, const char *what)
{
	if (!code)
		return;
	fprintf(stderr, "%s: %s\n", what, error_message(code));
	exit(2);
}

static ext2_filsys open_disk(const char *path)
{
	ext2_filsys fs;

	check(ext2fs_open(path, EXT2_FLAG_RW, 0, 0, &counting, &fs), "open");
	check(ext2fs_read_bitmaps(fs), "bitmaps");
	return fs;
}

static ext2_ino_t make_file(ext2_filsys fs)
{
	struct ext2_inode inode;
	ext2_ino_t ino;

	check(ext2fs_new_inode(fs, EXT2_ROOT_INO, 0100644, NULL, &ino), "new inode");
	memset(&inode, 0, sizeof(inode));
	inode.i_mode = 0100644;
	inode.i_links_count = 1;
	check(ext2fs_write_new_inode(fs, ino, &inode), "write inode");
	ext2fs_inode_alloc_stats2(fs, ino, +1, 0);
	check(ext2fs_link(fs, EXT2_ROOT_INO, "file", ino, EXT2_FT_REG_FILE), "link");
	return ino;
}

static void write_file(ext2_filsys fs, ext2_ino_t ino, const char *text)
{
	ext2_file_t file;
	unsigned done;

	check(ext2fs_file_open(fs, ino, EXT2_FILE_WRITE, &file), "open file");
	check(ext2fs_file_write(file, text, (unsigned)strlen(text), &done), "write");
	check(ext2fs_file_close(file), "close file");
}

int main(int argc, char **argv)
{
	ext2_filsys fs;
	ext2_ino_t ino;
	unsigned closed;

	if (argc != 2)
		return 2;
	memcpy(&counting, unix_io_manager, sizeof(counting));
	counting.flush = count_flush;
	counting.open = open_counting;
	fs = open_disk(argv[1]);
	ino = make_file(fs);
	write_file(fs, ino, "first");
	check(ext2fs_close(fs), "close");

	fs = open_disk(argv[1]);
	flushes = 0;
	write_file(fs, ino, "again");
	check(ext2fs_close(fs), "close");
	closed = flushes;

	fs = open_disk(argv[1]);
	flushes = 0;
	write_file(fs, ino, "third");
	check(ext2fs_flush(fs), "flush");
	printf("ext2fs_close() of a file system whose file was written: %u flushes, after "
	       "ext2fs_flush(): %u\n",
	       closed, flushes);
	check(ext2fs_close(fs), "close");
	return closed ? 1 : 0;
}
