/* SPDX-License-Identifier: MIT */
/*
 * olddata: reads what was on the disk before mkfs, from files that nobody wrote it to. The first
 * process of a User-Mode Linux: olddata.c is linked statically and is all of the initramfs.
 *
 *   head -c 64M /dev/zero | tr '\0' '\327' >disk; mkfs.f2fs -q -f -t 0 disk   (or mkfs.exfat)
 *   cc -static -o init olddata.c; echo init | cpio -o -H newc >initrd
 *   linux mem=256M ubda=disk initrd=initrd -- f2fs
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

static void look(const char *what, const char *path)
{
	unsigned char got[16] = { 0 };
	int fd = open(path, O_RDONLY);
	int n = (int)pread(fd, got, sizeof(got), 0);

	printf("%s: read %d: ", what, n);
	for (int i = 0; i < n; i++)
		printf(" %02x", got[i]);
	printf("\n");
	close(fd);
}

int main(int argc, char **argv)
{
	const char *type = argc > 1 ? argv[1] : NULL;
	static char page[4096] __attribute__((aligned(4096)));
	int fd, n;

	mkdir("/dev", 0755);
	mkdir("/m", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	if (!type || mount("/dev/ubda", "/m", type, 0, NULL))
		printf("mount: %s\n", strerror(errno));
	memset(page, 1, sizeof(page));

	fd = open("/m/direct", O_RDWR | O_CREAT | O_DIRECT, 0644);
	if (ftruncate(fd, 16384))
		perror("ftruncate");
	n = (int)pwrite(fd, page, 1, 0);
	printf("direct write of one byte: %d %s\n", n, n < 0 ? strerror(errno) : "");
	close(fd);
	look("after it", "/m/direct");

	fd = open("/m/append", O_RDWR | O_CREAT | O_APPEND, 0644);
	if (ftruncate(fd, 512))
		perror("ftruncate");
	printf("append of one byte: %d\n", (int)write(fd, page, 1));
	close(fd);
	look("after it", "/m/append");
	fflush(stdout);
	umount("/m");
	reboot(RB_POWER_OFF);
	return 0;
}
