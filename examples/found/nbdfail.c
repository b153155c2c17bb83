/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nbdfail.c: a disk that fails or is slow, as a file named DISK.fail says. It shows without assay
 * what a file system makes of that (docs/FOUND.md).
 *
 *   cc -o nbdfail nbdfail.c && ./nbdfail DISK /dev/nbd0 &
 *   echo flush > DISK.fail      flushes answer EIO
 *   echo write > DISK.fail      writes answer EIO
 *   echo hold > DISK.fail       each write is answered 200 ms later; a flush that comes before such
 *                               an answer does not cover the write, and is told on stdout
 *
 * What was written is in DISK at once, so a copy of DISK is the disk after a power cut that loses
 * nothing but what was never sent. The server ends with the device.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <fcntl.h>
#include <linux/nbd.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char buffer[32 << 20];

static bool all(int fd, void *data, size_t len, bool reading)
{
	char *at = data;
	while (len > 0) {
		ssize_t n = reading ? read(fd, at, len) : write(fd, at, len);
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool fails(const char *file, const char *what)
{
	char word[16] = "";
	FILE *f = fopen(file, "r");
	if (f == NULL)
		return false;
	bool is = fscanf(f, "%15s", word) == 1 && strcmp(word, what) == 0;
	fclose(f);
	return is;
}

static struct held {
	struct nbd_reply answer;
	off_t at;
	long due_ms;
} held[1024];
static int nheld;

static long now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Answers what is due, until a request comes. */
static bool wait_request(int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	for (;;) {
		while (nheld > 0 && held[0].due_ms <= now_ms()) {
			if (!all(sock, &held[0].answer, sizeof(held[0].answer), false))
				return false;
			memmove(held, held + 1, (size_t)--nheld * sizeof(*held));
		}
		int rc = poll(&p, 1, nheld > 0 ? 5 : -1);
		if (rc != 0)
			return rc > 0;
	}
}

static void tell_flush(void)
{
	if (nheld == 0)
		return;
	printf("a flush comes before the answers to %d writes, the first at %lld\n", nheld,
	       (long long)held[0].at);
	fflush(stdout);
}

static void serve(int sock, int disk, const char *file)
{
	struct nbd_request q;
	while (wait_request(sock) && all(sock, &q, sizeof(q), true)) {
		struct nbd_reply a = {.magic = htonl(NBD_REPLY_MAGIC)};
		memcpy(a.handle, q.handle, sizeof(a.handle));
		uint32_t type = ntohl(q.type) & 0xffff, len = ntohl(q.len);
		off_t at = (off_t)be64toh(q.from);
		if (type == NBD_CMD_DISC || len > sizeof(buffer))
			return;
		if (type == NBD_CMD_READ && pread(disk, buffer, len, at) != (ssize_t)len)
			a.error = htonl(5);
		if (type == NBD_CMD_WRITE) {
			if (!all(sock, buffer, len, true))
				return;
			if (fails(file, "write") || pwrite(disk, buffer, len, at) != (ssize_t)len)
				a.error = htonl(5);
			if (fails(file, "hold") && nheld < 1024) {
				held[nheld++] = (struct held){a, at, now_ms() + 200};
				continue;
			}
		}
		if (type == NBD_CMD_FLUSH)
			tell_flush();
		if (type == NBD_CMD_FLUSH && fails(file, "flush"))
			a.error = htonl(5);
		if (!all(sock, &a, sizeof(a), false))
			return;
		if (type == NBD_CMD_READ && a.error == 0 && !all(sock, buffer, len, false))
			return;
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: nbdfail DISK DEVICE");
	char file[4096];
	snprintf(file, sizeof(file), "%s.fail", argv[1]);
	int disk = open(argv[1], O_RDWR), dev = open(argv[2], O_RDWR), pair[2];
	struct stat st;
	if (disk < 0 || dev < 0 || fstat(disk, &st) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		err(2, "%s, %s", argv[1], argv[2]);
	pid_t server = fork();
	if (server == 0) {
		close(pair[0]);
		close(dev);
		serve(pair[1], disk, file);
		_exit(0);
	}
	close(pair[1]);
	if (ioctl(dev, NBD_SET_BLKSIZE, 512UL) != 0 ||
	    ioctl(dev, NBD_SET_SIZE_BLOCKS, (unsigned long)st.st_size / 512) != 0 ||
	    ioctl(dev, NBD_SET_SOCK, pair[0]) != 0 ||
	    ioctl(dev, NBD_SET_FLAGS, (unsigned long)(NBD_FLAG_HAS_FLAGS | NBD_FLAG_SEND_FLUSH)) != 0)
		err(2, "%s", argv[2]);
	ioctl(dev, NBD_DO_IT);
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
	return 0;
}
