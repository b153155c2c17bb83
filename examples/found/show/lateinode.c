/* SPDX-License-Identifier: MIT */
/*
 * lateinode.c: does fsync write an inode that write-back has taken before? It shows without assay
 * that on ext2, minix and vfat it does not (docs/FOUND.md, "fsync after write-back").
 *
 *   cc -o lateinode lateinode.c && ./lateinode FILE IMAGE SIZE
 *
 * FILE is on a file system that is mounted from IMAGE, whose writes must be in IMAGE at once, as
 * those of a loop device or of a disk of User-Mode Linux are. It gets sizes from SIZE on, of 20000
 * at most; the cut must free no block (3001 shows it on ext2 and minix, 18900 on vfat). It needs
 * root, and it changes vm.dirty_* of the whole machine for a few seconds: use a virtual one.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 64, DELAYS = 8, FULL = 20000 };

static void write_back(const char *expire, const char *every)
{
	const char *const file[] = { "/proc/sys/vm/dirty_expire_centisecs",
				     "/proc/sys/vm/dirty_writeback_centisecs" };
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(file[i], "w");
		if (f == NULL || fputs(i ? every : expire, f) < 0 || fclose(f))
			err(2, "%s", file[i]);
	}
}

/* What a power cut would leave now. */
static bool has(const char *image, unsigned size)
{
	const unsigned char want[4] = { size & 255, size >> 8 & 255, size >> 16, size >> 24 };
	int fd = open(image, O_RDONLY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		err(2, "%s", image);
	char *all = malloc((size_t)st.st_size);
	if (all == NULL || pread(fd, all, (size_t)st.st_size, 0) != st.st_size)
		err(2, "%s", image);
	bool found = memmem(all, (size_t)st.st_size, want, sizeof(want)) != NULL;
	free(all);
	close(fd);
	return found;
}

int main(int argc, char **argv)
{
	static char data[FULL];
	int lost[DELAYS] = { 0 }, all = 0;

	if (argc != 4)
		errx(2, "usage: lateinode FILE IMAGE SIZE");
	int fd = open(argv[1], O_RDWR | O_CREAT, 0644);
	if (fd < 0 || write(fd, memset(data, 'x', FULL), FULL) != FULL)
		err(2, "%s", argv[1]);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned size = (unsigned)atoi(argv[3]) + 7 * (unsigned)i;
		if (ftruncate(fd, FULL) || fsync(fd))
			err(2, "%s", argv[1]);
		sync();
		usleep(50000);
		write_back("1", "1");
		if (ftruncate(fd, size))
			err(2, "ftruncate");
		usleep(10000 * (unsigned)(i % DELAYS));
		if (fsync(fd))
			err(2, "fsync");
		bool there = has(argv[2], size);
		write_back("3000", "500");
		sync();
		if (!has(argv[2], size))
			errx(2, "%s: not even after a sync: is it the image?", argv[2]);
		lost[i % DELAYS] += !there;
		all += !there;
	}
	printf("after fsync, the size was not on the disk in %d of %d rounds; by delay:", all,
	       ROUNDS);
	for (int i = 0; i < DELAYS; i++)
		printf(" %d ms: %d", 10 * i, lost[i]);
	printf("\n");
	return all > 0;
}
