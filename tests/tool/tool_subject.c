/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool_subject WHAT DISK [MORE]: a program that does to a disk all that checkers do, and some that
 * they should not. test_tool.c compiles it and runs it through the shim and on a plain file. Exit
 * status 0: all answers were as expected; else the line of the first that was not, modulo 200.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define HEAD_BYTES 32768 /* AS_SHIM_HEAD_BYTES; test_tool.c compares them */
#define WANT(cond)                                                                 \
	do {                                                                       \
		if (!(cond)) {                                                     \
			printf("line %d: %s: errno %d\n", __LINE__, #cond, errno); \
			exit(__LINE__ % 200 + 1);                                  \
		}                                                                  \
	} while (0)

static char buf[8192];

static int descriptors(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK };
	struct iovec iov[2] = { { buf, 100 }, { buf + 200, 300 } };
	int fd = open(path, O_RDWR), ro = open(path, O_RDONLY | O_CLOEXEC), other;
	struct statx stx;
	struct stat st;

	WANT(fd >= 0 && ro >= 0);
	WANT(!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == 1 << 20);
	WANT(!stat(path, &st) && st.st_size == 1 << 20 && !lstat(path, &st));
	WANT(!statx(AT_FDCWD, path, 0, STATX_SIZE, &stx) && stx.stx_size == 1 << 20);
	WANT(!access(path, R_OK | W_OK) && access(path, X_OK));
	memset(buf, 'a', sizeof(buf));
	WANT(write(fd, buf, 1000) == 1000 && lseek(fd, 0, SEEK_CUR) == 1000);
	WANT(pwrite(fd, buf, 10, 5000) == 10 && lseek(fd, 0, SEEK_CUR) == 1000);
	/* Duplicates share the offset, other opens do not. */
	other = dup(fd);
	WANT(other >= 0 && lseek(other, 24, SEEK_CUR) == 1024 && lseek(fd, 0, SEEK_CUR) == 1024);
	WANT(lseek(ro, 0, SEEK_CUR) == 0 && read(ro, buf, 10) == 10 && buf[9] == 'a');
	WANT(fcntl(other, F_DUPFD, 50) == 50 && write(50, "dup", 3) == 3 && !close(50));
	WANT(lseek(fd, 0, SEEK_CUR) == 1027 && !close(other));
	errno = 0;
	WANT(write(ro, buf, 1) == -1 && errno == EBADF);
	WANT(lseek(fd, -1, SEEK_SET) == -1 && errno == EINVAL);
	WANT(lseek(fd, 0, SEEK_END) == 1 << 20 && read(fd, buf, 1) == 0);
	WANT(pread(fd, buf, 100, (1 << 20) - 10) == 10);
	WANT(pread(fd, (void *)8, 100, 0) == -1 && errno == EFAULT);
	WANT(pwrite(fd, (void *)8, 100, 0) == -1 && errno == EFAULT);
	WANT(pwrite(fd, buf, 0, 0) == 0 && pread(fd, buf, 10, -5) == -1 && errno == EINVAL);
	memset(buf, 'v', 100);
	memset(buf + 200, 'w', 300);
	WANT(lseek(fd, 30000, SEEK_SET) == 30000 && writev(fd, iov, 2) == 400);
	WANT(pwritev(fd, iov, 2, 40000) == 400 && lseek(fd, 0, SEEK_CUR) == 30400);
	memset(buf, 0, sizeof(buf));
	WANT(preadv(fd, iov, 2, 40000) == 400 && buf[0] == 'v' && buf[200] == 'w' && !buf[100]);
	WANT(!fsync(fd) && !fdatasync(fd) && !flock(fd, LOCK_EX) && !fcntl(fd, F_SETLK, &lock));
	WANT((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR && fcntl(ro, F_GETFD) == FD_CLOEXEC);
	WANT(!ftruncate(fd, 1 << 20) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	WANT(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 5000));
	WANT(ioctl(fd, BLKGETSIZE64, buf) == -1 && errno == ENOTTY);
	WANT(!close(fd) && !close(ro) && close(fd) == -1 && errno == EBADF);
	WANT(open(path, O_CREAT | O_EXCL | O_RDWR, 0600) == -1 && errno == EEXIST);
	fd = open(path, O_RDWR | O_SYNC);
	WANT(fd >= 0 && pwrite(fd, "sync", 4, 70000) == 4 && !close(fd));
	return 0;
}

static int streams(const char *path)
{
	FILE *f = fopen(path, "r+");
	char text[16] = "";

	WANT(f && fileno(f) >= 0);
	WANT(!fseeko(f, 100000, SEEK_SET) && fwrite("stream", 1, 6, f) == 6);
	WANT(ftello(f) == 100006 && !fseeko(f, 100000, SEEK_SET));
	WANT(fread(text, 1, 6, f) == 6 && !strcmp(text, "stream"));
	WANT(!fseeko(f, 8191, SEEK_SET) && fwrite("over the edge", 1, 13, f) == 13);
	WANT(!fflush(f) && !fsync(fileno(f)));
	WANT(!fseeko(f, 0, SEEK_END) && ftello(f) == 1 << 20 && fgetc(f) == EOF && feof(f));
	WANT(!fclose(f));
	f = fdopen(open(path, O_RDONLY), "r");
	WANT(f && !fseek(f, 8191, SEEK_SET) && fgetc(f) == 'o' && fputc('x', f) == EOF);
	fclose(f);
	return 0;
}

static int maps(const char *path)
{
	int fd = open(path, O_RDWR);
	char *shared = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *private = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);

	WANT(fd >= 0 && shared != MAP_FAILED && private != MAP_FAILED);
	memcpy(private, "never seen", 11);
	memcpy(shared + 20000, "first", 6);
	WANT(!msync(shared, 1 << 20, MS_SYNC));
	WANT(pread(fd, buf, 6, 20000) == 6 && !strcmp(buf, "first"));
	memcpy(shared + 600000, "second", 7);
	WANT(!munmap(shared, 1 << 20));
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 900 << 10);
	WANT(shared != MAP_FAILED);
	memcpy(shared, "left to the end", 16);
	return 0;
}

static void *write_many(void *arg)
{
	int fd = *(int *)arg, me = __atomic_fetch_add((int *)arg + 1, 1, __ATOMIC_RELAXED);
	char block[512];

	for (int i = 0; i < 200; i++) {
		memset(block, 'A' + me, sizeof(block));
		if (pwrite(fd, block, 512, (me * 200 + i) * 512) != 512 ||
		    pread(fd, block, 512, (me * 200 + i) * 512) != 512 || block[9] != 'A' + me)
			abort();
	}
	return NULL;
}

static int threads(const char *path)
{
	int shared[2] = { open(path, O_RDWR), 0 };
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		WANT(!pthread_create(&t[i], NULL, write_many, shared));
	for (int i = 0; i < 8; i++)
		WANT(!pthread_join(t[i], NULL));
	return 0;
}

/* Everything that must be refused; `outside` is a file that must stay as it is. */
static int outside(const char *path, const char *outside)
{
	char *argv[] = { "/bin/true", NULL }, name[PATH_MAX];
	int fd;

	(void)path;
	snprintf(name, sizeof(name), "%s.new", outside);
	WANT(open(outside, O_RDWR) == -1 && errno == EACCES);
	WANT(open(name, O_WRONLY | O_CREAT, 0600) == -1 && errno == EACCES);
	WANT(!fopen(name, "w") && !fopen(outside, "r+") && !fopen(outside, "a"));
	WANT(unlink(outside) == -1 && rename(outside, name) == -1 && mkdir(name, 0700) == -1);
	WANT(truncate(outside, 0) == -1 && creat(name, 0600) == -1);
	/* The same by a direct system call. */
	WANT(syscall(SYS_open, outside, O_RDWR) == -1 && errno == EACCES);
	WANT(syscall(SYS_openat, AT_FDCWD, name, O_CREAT | O_RDONLY, 0600) == -1);
	WANT(syscall(SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600) == -1);
	WANT(syscall(SYS_unlink, outside) == -1 && syscall(SYS_chmod, outside, 0) == -1);
	WANT(symlink("x", name) == -1 && link(outside, name) == -1);
	WANT(socket(AF_INET, SOCK_STREAM, 0) == -1 && socket(AF_UNIX, SOCK_STREAM, 0) == -1);
	WANT(execv(argv[0], argv) == -1 && setsid() == -1 && setpgid(0, 0) == -1);
	WANT(syscall(SYS_io_uring_setup, 1, NULL) == -1 && errno == ENOSYS);
	/* Reading is allowed, and so is /dev/null. */
	fd = open(outside, O_RDONLY);
	WANT(fd >= 0 && read(fd, buf, 6) == 6 && !memcmp(buf, "canary", 6));
	fd = open("/dev/null", O_RDWR);
	WANT(fd >= 0 && write(fd, "x", 1) == 1);
	WANT(kill(syscall(SYS_getppid), 0) == -1 && kill(1, 0) == -1 && !kill(getpid(), 0));
	WANT(open("/dev/sda", O_RDONLY) == -1 && open("/dev/mem", O_RDONLY) == -1);
	return 0;
}

/* Hangs with a child that hangs, too, and tells who it is. */
static int hang(const char *path)
{
	int fd = open(path, O_RDWR);
	pid_t child = fork();

	WANT(fd >= 0 && pwrite(fd, "before", 6, 0) == 6);
	if (child) {
		printf("child %d\n", (int)child);
		fflush(stdout);
	}
	signal(SIGTERM, SIG_IGN);
	for (;;)
		sched_yield();
}

static int hog(void)
{
	size_t got = 0;

	for (char *p; (p = malloc(1 << 20)); got++)
		memset(p, 1, 1 << 20);
	printf("%zu MiB\n", got);
	return 3;
}

static int clocks(void)
{
	unsigned char random[4];
	struct timeval tv;

	sleep(100000);
	gettimeofday(&tv, NULL);
	WANT(getrandom(random, sizeof(random), 0) == sizeof(random));
	printf("%ld %ld %d %02x%02x%02x%02x\n", (long)time(NULL), (long)tv.tv_usec, (int)getpid(),
	       random[0], random[1], random[2], random[3]);
	return 0;
}

/* Breaks the record in its own memory, and then the disk. */
static int scribble(const char *path)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from = 0, to;
	int fd = open(path, O_RDWR);
	char line[4096];

	WANT(f && fd >= 0 && pwrite(fd, "one", 3, 0) == 3 && pwrite(fd, "two", 3, 300000) == 3);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "assay-share") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			break;
	WANT(from);
	memset((char *)from + HEAD_BYTES, 0xee, 4096);
	WANT(pwrite(fd, "three", 5, 600000) == 5);
	return 0;
}

/* Leaves a process behind that is in another session, and whose parent has ended. */
static int leave(void)
{
	int ready[2];
	char byte;

	WANT(!pipe(ready));
	if (!fork()) {
		if (!fork()) {
			setsid();
			write(ready[1], "xx", 2);
			for (;;)
				pause();
		}
		close(ready[1]);
		_exit(read(ready[0], &byte, 1) != 1);
	}
	close(ready[1]);
	return read(ready[0], &byte, 1) == 1 ? 0 : 9;
}

int main(int argc, char **argv);

/* The same few blocks, to good memory of every kind and to bad memory: the kernel says EFAULT. */
static int pointers(const char *path)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *heap = malloc(4096), *big = malloc(1 << 20), stack[4096];
	char *const good[] = { heap, big, stack, buf, pages };
	char *const bad[] = {
		NULL, (char *)8, pages + 4096, (char *)main, (char *)sbrk(0) + 8192, pages + 4090
	};
	int fd = open(path, O_RDWR);

	WANT(fd >= 0 && pages != MAP_FAILED && !mprotect(pages + 4096, 4096, PROT_READ));
	for (int i = 0; i < 200; i++) {
		char *to = good[i % 5];
		int at = i % 16 * 4096;

		snprintf(buf + 5000, 100, "round %d", i);
		WANT(pwrite(fd, buf + 5000, 16, at) == 16);
		memset(to, 0xee, 4096);
		WANT(pread(fd, to, 4096, at) == 4096 && !strcmp(to, buf + 5000));
		WANT(pread(fd, bad[i % 6], 4096, at) < 4096);
		printf("%d: errno %d, last byte %d\n", i, errno, to[4095]);
		WANT(pread(fd, bad[2], 100, at) == -1 && errno == EFAULT);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";
	int fd;

	if (!strcmp(what, "descriptors"))
		return descriptors(path);
	if (!strcmp(what, "streams"))
		return streams(path);
	if (!strcmp(what, "leave"))
		return leave();
	if (!strcmp(what, "pointers"))
		return pointers(path);
	if (!strcmp(what, "maps"))
		return maps(path);
	if (!strcmp(what, "threads"))
		return threads(path);
	if (!strcmp(what, "outside"))
		return outside(path, argv[3]);
	if (!strcmp(what, "slow"))
		return syscall(SYS_poll, NULL, 0, 400) != 0; /* sleep() does not take time */
	if (!strcmp(what, "hang"))
		return hang(path);
	if (!strcmp(what, "hog"))
		return hog();
	if (!strcmp(what, "clock"))
		return clocks();
	if (!strcmp(what, "scribble"))
		return scribble(path);
	fd = open(path, O_RDWR);
	WANT(fd >= 0 && pwrite(fd, "written", 7, 512) == 7);
	if (!strcmp(what, "crash"))
		raise(SIGSEGV);
	if (!strcmp(what, "die"))
		_exit(42);
	if (!strcmp(what, "parent"))
		return printf("%d\n", (int)syscall(SYS_getppid)) < 0;
	if (!strcmp(what, "echo"))
		return fgets(buf, sizeof(buf), stdin) ? (fputs(buf, stdout), 0) : 7;
	for (int i = 0; !strcmp(what, "shout") && i < 200000; i++)
		puts("0123456789012345678901234567890123456789");
	return 0;
}
