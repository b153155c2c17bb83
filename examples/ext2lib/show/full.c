/* SPDX-License-Identifier: MIT */
/*
 * full: libext2fs alone. The disk has one free block, and a write needs two: what is left?
 *
 *	cc full.c -lext2fs -lcom_err -o full
 *	truncate -s 4M disk && mke2fs -q -t ext2 -b 4096 disk && ./full disk; e2fsck -fn disk
 *
 * A file is written up to the last block but one. Then a byte of another file is written where a
 * block of pointers comes before the data: the one is allocated, and there is none for the other.
 */
#include <ext2fs/ext2fs.h>
#include <stdio.h>
#include <stdlib.h>

static void check(errcode_t code, const char *what)
{
	if (!code)
		return;
	fprintf(stderr, "%s: %s\n", what, error_message(code));
	exit(2);
}

static ext2_file_t make(ext2_filsys fs, const char *name)
{
	struct ext2_inode inode = { .i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1 };
	ext2_file_t file;
	ext2_ino_t ino;

	check(ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFREG | 0644, 0, &ino), "inode");
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	check(ext2fs_write_new_inode(fs, ino, &inode), "new inode");
	check(ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE), "link");
	check(ext2fs_file_open(fs, ino, EXT2_FILE_WRITE, &file), "open");
	return file;
}

int main(int argc, char **argv)
{
	static char block[4096] = "data";
	ext2_file_t fill, other;
	errcode_t code;
	ext2_filsys fs;
	unsigned done;

	if (argc != 2)
		return 2;
	check(ext2fs_open(argv[1], EXT2_FLAG_RW, 0, 0, unix_io_manager, &fs), "open");
	check(ext2fs_read_bitmaps(fs), "bitmaps");
	other = make(fs, "other");
	fill = make(fs, "fill");
	while (ext2fs_free_blocks_count(fs->super) > 1)
		check(ext2fs_file_write(fill, block, sizeof(block), &done), "write");
	check(ext2fs_file_close(fill), "close");
	printf("free blocks: %llu\n", (unsigned long long)ext2fs_free_blocks_count(fs->super));
	check(ext2fs_file_llseek(other, 65536, EXT2_SEEK_SET, NULL), "seek");
	code = ext2fs_file_write(other, block, 1, &done);
	if (!code)
		code = ext2fs_file_flush(other);
	printf("write: %s; free blocks: %llu\n", code ? error_message(code) : "success",
	       (unsigned long long)ext2fs_free_blocks_count(fs->super));
	ext2fs_file_close(other);
	check(ext2fs_close(fs), "close");
	return 0;
}
