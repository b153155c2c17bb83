/* SPDX-License-Identifier: MIT */
/*
 * program: the C text that emit_c copies into the programs it writes; MIT, because people attach
 * those to bug reports under any licence. It is ordinary C and compiles by itself.
 *
 * The text is cut into sections. A section begins with a line "@ NAME: NEEDS" in a comment and goes
 * to the next such line; a program gets the sections its operations need, those they need in turn,
 * in this order. do_NAME carries out the operation NAME; it takes its arguments in the order of
 * op.def. An operation without a section needs assay (steps.def), which is printed. What stands
 * before the first section takes the place of what the emitter writes itself.
 */
#define SLOTS 4096
#define _GNU_SOURCE
static const char *const errno_names[1];

/*@ base: */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What an operation answered. done: how many calls of several changed something. */
struct result {
	long long ret;
	int err;
	unsigned long long done;
};

/*@ begin: base */
/* Says what comes before it is done: the last line printed is the one that crashed the machine. */
static void begin(const char *line)
{
	printf("%s ", line);
	fflush(stdout);
}

/*@ end: base */
static void print_answer(long long ret, int err, unsigned long long done)
{
	int known = sizeof(errno_names) / sizeof(errno_names[0]);

	printf("%lld", ret);
	if (ret >= 0)
		return;
	if (err > 0 && err < known && errno_names[err])
		printf(" %s", errno_names[err]);
	else
		printf(" errno %d", err);
	if (done)
		printf(" done=%llu", done);
}

static void end(struct result got)
{
	printf("= ");
	print_answer(got.ret, got.err, got.done);
	printf("\n");
}

/*@ unsure: base */
static int unsure; /* a call answered otherwise than was assumed: no answer is compared any more */

/*@ assume: end unsure */
static void assume(int number, struct result got, int fails)
{
	end(got);
	if ((got.ret < 0) == fails || unsure)
		return;
	unsure = 1;
	printf("op %d: this may answer so; what follows is not compared\n", number);
}

/*@ differing: base */
static int differing; /* operations that did not answer as expected */

/*@ check_done: end unsure differing */
static void check_done(int number, struct result got, long long ret, int err,
		       unsigned long long done)
{
	end(got);
	if ((got.ret == ret && got.err == err && got.done == done) || unsure)
		return;
	differing++;
	printf("op %d: expected ", number);
	print_answer(ret, err, done);
	printf(", got ");
	print_answer(got.ret, got.err, got.done);
	if (got.ret == ret && got.err == err)
		printf(" (done: expected %llu, got %llu)", done, got.done);
	printf("\n");
}

/*@ must: end unsure differing */
static void must(int number, struct result got, int fails)
{
	end(got);
	if ((got.ret < 0) == fails || unsure)
		return;
	differing++;
	printf("op %d: expected %s\n", number, fails ? "a failure" : "success");
}

/*@ check: check_done */
static void check(int number, struct result got, long long ret, int err)
{
	check_done(number, got, ret, err, 0);
}

/*@ skip: base */
static void skip(void)
{
	printf("skipped\n");
}

/*@ left_out: base */
static int left_out; /* a step was not done: that nothing is wrong says nothing */

/*@ needs_assay: left_out */
static void needs_assay(const char *why)
{
	left_out = 1;
	printf("not done: this step needs assay: %s\n", why);
}

/*@ answer: base */
/* A system call's return value, with errno where it failed. */
static struct result answer(long long ret)
{
	return (struct result){ ret, ret < 0 ? errno : 0, 0 };
}

/*@ told: answer */
/* What the last call handed over that hands anything over. */
static const void *told;
static long long told_len;

static struct result tell(const void *data, long long len)
{
	told = data;
	told_len = len;
	return answer(len);
}

/*@ told_stat: told unsure differing */
/* What is -1 is not compared. */
struct attributes {
	unsigned type;
	long long mode, uid, gid, links, size, device;
};

static void told_field(int number, const char *what, long long got, long long want)
{
	if (want == -1 || got == want)
		return;
	differing++;
	printf("op %d: expected %s %lld, got %lld\n", number, what, want, got);
}

static void told_stat(int number, struct attributes want)
{
	const struct stat *st = told;

	if (unsure || told_len < 0)
		return;
	if ((st->st_mode & S_IFMT) != want.type) {
		differing++;
		printf("op %d: expected type 0%o, got 0%o\n", number, want.type,
		       st->st_mode & S_IFMT);
		return;
	}
	if (want.mode != -1 && (st->st_mode & 07777) != (mode_t)want.mode) {
		differing++;
		printf("op %d: expected mode %04o, got %04o\n", number, (unsigned)want.mode,
		       st->st_mode & 07777);
	}
	told_field(number, "uid", st->st_uid, want.uid);
	told_field(number, "gid", st->st_gid, want.gid);
	told_field(number, "link count", (long long)st->st_nlink, want.links);
	told_field(number, "size", st->st_size, want.size);
	told_field(number, "device number", (long long)st->st_rdev, want.device);
}

/*@ print_text: base */
static void print_text(const unsigned char *text, long long len)
{
	putchar('"');
	for (long long i = 0; i < len; i++)
		printf(text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\'
			       ? "\\%03o"
			       : "%c",
		       text[i]);
	putchar('"');
}

/*@ told_text: told unsure differing print_text */
static void told_text(int number, const char *want, long long len)
{
	if (unsure || told_len < 0 || (told_len == len && !memcmp(told, want, (size_t)len)))
		return;
	differing++;
	printf("op %d: expected ", number);
	print_text((const unsigned char *)want, len);
	printf(", got ");
	print_text(told, told_len);
	printf("\n");
}

/*@ told_names: told unsure differing print_text */
static void print_name(const char *name)
{
	if (name)
		print_text((const unsigned char *)name, (long long)strlen(name));
	else
		printf("no more");
}

/* Both are sorted strings, one after the other. others: there may be names besides these. */
static void told_names(int number, const char *want, long long len, int others)
{
	const char *got = told, *want_end = want + len, *got_end = got + told_len;

	if (unsure || told_len < 0)
		return;
	while (want < want_end || got < got_end) {
		int order = want == want_end ? 1 : got == got_end ? -1 : strcmp(want, got);

		if (order < 0 || (order > 0 && !others)) {
			differing++;
			printf("op %d: expected ", number);
			print_name(want < want_end ? want : NULL);
			printf(", got ");
			print_name(got < got_end ? got : NULL);
			printf("\n");
			return;
		}
		want += order == 0 ? strlen(want) + 1 : 0;
		got += strlen(got) + 1;
	}
}

/*@ fail: base */
static struct result fail(int err, unsigned long long done)
{
	return (struct result){ -1, err, done };
}

/*@ enter: base */
/* Without confinement: what absolute paths get put in front of them. */
static const char *prefix;

static void stop(const char *what, const char *name)
{
	fprintf(stderr, "%s %s: %s\n", what, name, strerror(errno));
	exit(2);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	int good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Become able to chroot without being root: in a user namespace in which we are who we were. */
static int enter_namespace(void)
{
	char uids[64], gids[64];

	snprintf(uids, sizeof(uids), "%u %u 1", (unsigned)getuid(), (unsigned)getuid());
	snprintf(gids, sizeof(gids), "%u %u 1", (unsigned)getgid(), (unsigned)getgid());
	return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/gid_map", gids) && write_text("/proc/self/uid_map", uids);
}

/* The namespace made us privileged over our own files: give that up again. */
static void drop_privileges(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	if (syscall(SYS_capset, &header, none))
		stop("cannot give up", "privileges");
}

/* Makes the directory the root of all paths. */
static void enter(int argc, char **argv)
{
	int unconfined = argc == 3 && !strcmp(argv[2], "--unconfined");

	if (argc < 2 || argc > 3 || (argc == 3 && !unconfined)) {
		fprintf(stderr, "usage: %s DIRECTORY [--unconfined]\n", argv[0]);
		exit(2);
	}
	umask(0);
	if (chdir(argv[1]))
		stop("cannot enter", argv[1]);
	if (unconfined) {
		prefix = realpath(".", NULL);
		if (!prefix)
			stop("cannot find the path of", argv[1]);
		return;
	}
	if (chroot(".")) {
		if (!enter_namespace() || chroot(".")) {
			fprintf(stderr,
				"cannot confine myself to %s (chroot needs root or a user "
				"namespace): %s; add --unconfined to run all the same: an absolute "
				"symbolic link or a .. in the workload can then lead outside\n",
				argv[1], strerror(errno));
			exit(2);
		}
		drop_privileges();
	}
	if (chdir("/"))
		stop("cannot enter", argv[1]);
}

/*@ at: enter */
/* The path to hand to a system call; good until the second call from now. */
static const char *at(const char *path)
{
	static char *made[2];
	static int turn;

	if (!prefix || path[0] != '/')
		return path;
	turn = !turn;
	free(made[turn]);
	if (asprintf(&made[turn], "%s%s", prefix, path) < 0)
		abort();
	return made[turn];
}

/*@ slots: base */
static int slots[SLOTS]; /* the descriptors of $0, $1, ... */

static void empty_slots(void)
{
	for (int i = 0; i < SLOTS; i++)
		slots[i] = -1;
}

/*@ memory: base */
/* Memory that begins `mem` bytes after the start of a page; good until the next call. With mem 0
 * O_DIRECT is content with it. */
static void *memory(size_t len, size_t mem)
{
	static void *page;

	free(page);
	if (posix_memalign(&page, 4096, mem + len + 1))
		abort();
	return (char *)page + mem;
}

/*@ pattern_byte: base */
/* Byte `at` of data pattern n. */
static unsigned char pattern_byte(uint64_t n, uint64_t at)
{
	uint64_t x = n * 0x9e3779b97f4a7c15u + at / 8 * 0xd1342543de82ef95u;

	x ^= 0x61737361792e6f6bu;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return n ? (unsigned char)(x >> at % 8 * 8) : 0;
}

/*@ told_bytes: told unsure differing pattern_byte */
/* Bytes at, at + 1, ... of what is read are bytes from, from + 1, ... of a data pattern. */
struct run {
	unsigned long long at, len, pattern, from;
};

/* From offset off of the file on; what is in no run is 0. */
static void told_bytes(int number, unsigned long long off, unsigned long long len,
		       const struct run *run, unsigned long long runs)
{
	const unsigned char *got = told;

	for (unsigned long long i = 0; i < len && (long long)i < told_len && !unsure; i++) {
		unsigned char want = 0;

		for (; runs && i >= run->at + run->len; run++)
			runs--;
		if (runs && i >= run->at)
			want = pattern_byte(run->pattern, run->from + (i - run->at));
		if (got[i] == want)
			continue;
		differing++;
		printf("op %d: expected 0x%02x at offset %llu, got 0x%02x\n", number, want, off + i,
		       got[i]);
		return;
	}
}

/*@ pattern: memory pattern_byte */
/* Bytes off, off + 1, ... of data pattern n. */
static void *pattern(uint64_t n, uint64_t off, size_t len, size_t mem)
{
	unsigned char *data = memory(len, mem);

	for (size_t i = 0; i < len; i++)
		data[i] = pattern_byte(n, off + i);
	return data;
}

/*@ landing: base */
/* Where bytes written at off will lie: with O_APPEND always at the end. */
static uint64_t landing(int fd, off_t off)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags >= 0 && (flags & O_APPEND) && !fstat(fd, &st))
		return (uint64_t)st.st_size;
	return off < 0 ? 0 : (uint64_t)off;
}

/*@ names: base */
struct names {
	char **name;
	size_t n, next; /* next: for who goes through them */
	char *self; /* the directory's own name in its parent */
};

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_name(struct names *names, const char *name)
{
	names->name = realloc(names->name, (names->n + 1) * sizeof(*names->name));
	if (!names->name || !(names->name[names->n++] = strdup(name)))
		abort();
}

static void sort_names(struct names *names)
{
	if (names->n)
		qsort(names->name, names->n, sizeof(*names->name), by_bytes);
}

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names->name);
	free(names->self);
}

/*@ list: names */
/* The names in a directory, in the order of their bytes; 0 or an errno. Closes nothing. */
static int list(int dir_fd, struct names *names)
{
	int fd = dup(dir_fd), err;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	*names = (struct names){ 0 };
	if (!dir)
		return errno;
	rewinddir(dir);
	while (errno = 0, (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		add_name(names, entry->d_name);
	}
	err = errno;
	closedir(dir);
	sort_names(names);
	return err;
}

/*@ tell_names: told names */
/* Hands them over, sorted, one after the other, and answers how many they are. */
static struct result tell_names(struct names *names)
{
	static char *all;
	long long n = (long long)names->n;
	size_t len = 0;

	sort_names(names);
	for (size_t i = 0; i < names->n; i++)
		len += strlen(names->name[i]) + 1;
	free(all);
	all = malloc(len + 1);
	if (!all)
		abort();
	len = 0;
	for (size_t i = 0; i < names->n; i++) {
		size_t size = strlen(names->name[i]) + 1;

		memcpy(all + len, names->name[i], size);
		len += size;
	}
	free_names(names);
	tell(all, (long long)len);
	return answer(n);
}

/*@ empty: list */
/* A directory on the way down; parents are found again through "..", so that depth costs no
 * descriptors. */
struct descent {
	struct names *level;
	size_t depth;
	int fd; /* the directory at the bottom */
};

/* Goes into a directory, or removes it when there is nothing in it. */
static int go_down(struct descent *descent, const char *name, unsigned long long *done)
{
	int fd = openat(descent->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), err;
	struct names names;

	if (fd < 0)
		return errno;
	err = list(fd, &names);
	if (err || !names.n) {
		free_names(&names);
		close(fd);
		if (!err && unlinkat(descent->fd, name, AT_REMOVEDIR))
			err = errno;
		*done += !err;
		return err;
	}
	names.self = strdup(name);
	descent->level = realloc(descent->level, (descent->depth + 1) * sizeof(names));
	if (!descent->level || !names.self)
		abort();
	descent->level[descent->depth++] = names;
	close(descent->fd);
	descent->fd = fd;
	return 0;
}

/* Leaves a directory that was emptied and removes it. */
static int go_up(struct descent *descent, unsigned long long *done)
{
	struct names *names = &descent->level[descent->depth - 1];
	int fd = openat(descent->fd, "..", O_RDONLY | O_DIRECTORY), err = 0;

	if (fd < 0)
		return errno;
	close(descent->fd);
	descent->fd = fd;
	if (unlinkat(fd, names->self, AT_REMOVEDIR))
		err = errno;
	*done += !err;
	free_names(names);
	descent->depth--;
	return err;
}

/* Removes all below the directory of fd, depth first, and closes fd; 0 or an errno. */
static int empty(int fd, unsigned long long *done)
{
	struct descent descent = { NULL, 0, fd };
	struct names top;
	int err = list(fd, &top);

	top.self = NULL;
	for (;;) {
		struct names *names = descent.depth ? &descent.level[descent.depth - 1] : &top;
		const char *name = names->next < names->n ? names->name[names->next++] : NULL;
		struct stat st;

		if (err || (!name && !descent.depth))
			break;
		if (!name)
			err = go_up(&descent, done);
		else if (fstatat(descent.fd, name, &st, AT_SYMLINK_NOFOLLOW))
			err = errno;
		else if (S_ISDIR(st.st_mode))
			err = go_down(&descent, name, done);
		else if (unlinkat(descent.fd, name, 0))
			err = errno;
		else
			++*done;
	}
	while (descent.depth)
		free_names(&descent.level[--descent.depth]);
	free(descent.level);
	free_names(&top);
	close(descent.fd);
	return err;
}

/*@ mkdir: answer at */
static struct result do_mkdir(const char *path, mode_t mode)
{
	return answer(mkdirat(AT_FDCWD, at(path), mode));
}

/*@ create: answer fail at */
static struct result do_create(const char *path, mode_t mode)
{
	int fd = openat(AT_FDCWD, at(path), O_CREAT | O_EXCL | O_WRONLY, mode);

	return fd < 0 ? fail(errno, 0) : answer(close(fd));
}

/*@ mknod: answer at */
static struct result do_mknod(const char *path, mode_t type, mode_t mode, dev_t dev)
{
	return answer(mknodat(AT_FDCWD, at(path), type | mode, dev));
}

/*@ hardlink: answer at */
static struct result do_hardlink(const char *path, const char *path2)
{
	return answer(linkat(AT_FDCWD, at(path), AT_FDCWD, at(path2), 0));
}

/*@ symlink: answer at */
static struct result do_symlink(const char *target, const char *path)
{
	return answer(symlinkat(target, AT_FDCWD, at(path)));
}

/*@ rename: answer at */
static struct result do_rename(const char *path, const char *path2)
{
	return answer(renameat(AT_FDCWD, at(path), AT_FDCWD, at(path2)));
}

/*@ remove: empty fail at */
/* Is the last component "." or ".."? */
static int ends_in_dots(const char *path)
{
	size_t len = strlen(path), start;

	while (len && path[len - 1] == '/')
		len--;
	for (start = len; start && path[start - 1] != '/'; start--)
		;
	return (len - start == 1 && path[start] == '.') ||
	       (len - start == 2 && path[start] == '.' && path[start + 1] == '.');
}

static struct result do_remove(const char *path)
{
	struct result result = { 0, 0, 0 };
	struct stat st;
	int fd;

	if (ends_in_dots(path))
		return fail(EINVAL, 0);
	if (*path && path[strspn(path, "/")] == 0)
		return fail(EBUSY, 0);
	if (fstatat(AT_FDCWD, at(path), &st, AT_SYMLINK_NOFOLLOW))
		return fail(errno, 0);
	if (S_ISDIR(st.st_mode)) {
		fd = openat(AT_FDCWD, at(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
		result.err = fd < 0 ? errno : empty(fd, &result.done);
	}
	if (result.err)
		return fail(result.err, result.done);
	if (unlinkat(AT_FDCWD, at(path), S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0))
		return fail(errno, result.done);
	result.done++;
	return result;
}

/*@ open: answer fail at slots */
/* Opening a fifo waits for ever, opening a device can do anything: such a node is not opened. */
static int is_dangerous(const char *path, int flags)
{
	struct stat st;

	if ((flags & O_PATH) ||
	    fstatat(AT_FDCWD, at(path), &st, (flags & O_NOFOLLOW) ? AT_SYMLINK_NOFOLLOW : 0))
		return 0;
	return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode) ||
	       S_ISBLK(st.st_mode);
}

static struct result do_open(int slot, const char *path, int flags, mode_t mode)
{
	int fd;

	if (slots[slot] >= 0)
		close(slots[slot]);
	slots[slot] = -1;
	if (is_dangerous(path, flags))
		return fail((flags & O_CREAT) && (flags & O_EXCL) ? EEXIST
			    : (flags & O_DIRECTORY)		  ? ENOTDIR
								  : ENXIO,
			    0);
	fd = openat(AT_FDCWD, at(path), flags, mode);
	if (fd < 0)
		return fail(errno, 0);
	slots[slot] = fd;
	return answer(0);
}

/*@ close: answer slots */
static struct result do_close(int slot)
{
	struct result result = answer(close(slots[slot]));

	slots[slot] = -1;
	return result;
}

/*@ chcwd: answer at */
static struct result do_chcwd(const char *path)
{
	return answer(chdir(at(path)));
}

/*@ read: told slots memory */
static struct result do_read(int slot, size_t len, size_t mem)
{
	void *to = memory(len, mem);

	return tell(to, read(slots[slot], to, len));
}

/*@ write: answer slots pattern landing */
static struct result do_write(int slot, size_t len, uint64_t fill, size_t mem)
{
	int fd = slots[slot];
	void *data = pattern(fill, landing(fd, lseek(fd, 0, SEEK_CUR)), len, mem);

	return answer(write(fd, data, len));
}

/*@ fsync: answer slots */
static struct result do_fsync(int slot)
{
	return answer(fsync(slots[slot]));
}

/*@ sync: answer fail at */
/* Only the file system under test: sync(2) would write out every disk of the machine. */
static struct result do_sync(void)
{
	int fd = openat(AT_FDCWD, at("/"), O_RDONLY | O_DIRECTORY);
	struct result result = fd < 0 ? fail(errno, 0) : answer(syncfs(fd));

	if (fd >= 0)
		close(fd);
	return result;
}

/*@ statfs: answer at */
static struct result do_statfs(const char *path)
{
	struct statfs fs;

	return answer(statfs(at(path), &fs));
}

/*@ remount: answer at unsure */
/* Turns the mount whose root the directory is read-only, or writable again; its other flags stay.
 * The words are "ro" and "rw", and the last one counts. */
static struct result do_remount(const char *opts)
{
	const unsigned long kept =
		MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_SYNCHRONOUS | MS_NOATIME | MS_NODIRATIME;
	unsigned long flags = 0;
	struct result result;
	struct statfs fs;

	if (statfs(at("/"), &fs))
		return answer(-1);
	for (; *opts; opts++) {
		if (!strncmp(opts, "ro", 2))
			flags = MS_RDONLY;
		else if (!strncmp(opts, "rw", 2))
			flags = 0;
	}
	flags |= MS_REMOUNT | ((unsigned long)fs.f_flags & kept);
	result = answer(syscall(SYS_mount, NULL, at("/"), NULL, flags, NULL));
	if (result.err == EINVAL || result.err == EPERM) {
		printf("(nothing is remounted: root has to, and the directory has to be a mount) ");
		unsure = 1;
	}
	return result;
}

/*@ whole: base at */
/* Whether the directory is the root of a mount: what is about to be done is done to all of it. */
static int is_mount(void)
{
	struct statx st;

	if (!statx(AT_FDCWD, at("/"), 0, 0, &st) && st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return 1;
	printf("(not done: the directory is not a mount) ");
	errno = EINVAL;
	return 0;
}

/*@ freeze: answer fail whole */
/* A process that is killed while the file system is frozen leaves it so: another one does it. */
static struct result do_freeze(void)
{
	int root = is_mount() ? open(at("/"), O_RDONLY | O_DIRECTORY) : -1, err = errno, status;
	pid_t pid;

	if (root < 0)
		return fail(err, 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setsid();
		if (ioctl(root, FIFREEZE, 0) || ioctl(root, FITHAW, 0))
			_exit(errno);
		_exit(0);
	}
	close(root);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return fail(EINTR, 0);
	return WEXITSTATUS(status) ? fail(WEXITSTATUS(status), 0) : answer(0);
}

/*@ trim: answer whole */
static struct result do_trim(unsigned long long len, long long at_bytes)
{
	struct fstrim_range range = { (unsigned long long)at_bytes, len, 0 };
	int root = is_mount() ? open(at("/"), O_RDONLY | O_DIRECTORY) : -1;
	struct result result = answer(root < 0 ? -1 : ioctl(root, FITRIM, &range));

	if (root >= 0)
		close(root);
	return result;
}

/*@ read_xattr: told at */
static struct result do_read_xattr(const char *path, const char *name, int nofollow)
{
	static char value[65536];

	return tell(value, nofollow ? lgetxattr(at(path), name, value, sizeof(value))
				    : getxattr(at(path), name, value, sizeof(value)));
}

/*@ write_xattr: answer at pattern */
static struct result do_write_xattr(const char *path, const char *name, size_t len, uint64_t fill,
				    int flags, int nofollow)
{
	void *value = pattern(fill, 0, len, 0);

	return answer(nofollow ? lsetxattr(at(path), name, value, len, flags)
			       : setxattr(at(path), name, value, len, flags));
}

/*@ handles: base */
/* Under the path that each was asked for. */
struct remembered {
	struct remembered *next;
	const char *path;
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle;
};

static struct remembered *remembered;

static struct remembered *find_handle(const char *path)
{
	struct remembered *r = remembered;

	while (r && strcmp(r->path, path))
		r = r->next;
	return r;
}

/*@ handle: answer fail at handles */
static struct result do_handle(const char *path, int nofollow)
{
	struct remembered *old = find_handle(path), *r = calloc(1, sizeof(*r));
	int mount, rc;

	if (!r)
		return fail(ENOMEM, 0);
	r->handle.head.handle_bytes = MAX_HANDLE_SZ;
	rc = name_to_handle_at(AT_FDCWD, at(path), &r->handle.head, &mount,
			       nofollow ? 0 : AT_SYMLINK_FOLLOW);
	if (!rc && old)
		old->handle = r->handle;
	if (rc || old) {
		int saved = errno;

		free(r);
		errno = saved;
		return answer(rc);
	}
	r->path = path;
	r->next = remembered;
	remembered = r;
	return answer(0);
}

/*@ openhandle: told fail at handles */
static struct result do_openhandle(const char *path)
{
	struct remembered *r = find_handle(path);
	static struct stat st;
	struct result result;
	int root, fd;

	if (!r)
		return fail(EBADF, 0);
	root = open(at("/"), O_RDONLY | O_DIRECTORY);
	fd = open_by_handle_at(root, &r->handle.head, O_PATH);
	result = tell(&st, fd < 0 ? -1 : fstat(fd, &st));
	if (fd >= 0)
		close(fd);
	close(root);
	return result;
}

/*@ getacl: answer at read_xattr */
static struct result do_getacl(const char *path, int is_default, int nofollow)
{
	return do_read_xattr(path,
			     is_default ? "system.posix_acl_default" : "system.posix_acl_access",
			     nofollow);
}

/*@ setacl: answer fail at */
/* One entry, as in u:1000:rw-, into 8 bytes of the kernel's form: tag, permissions, id. 0: it is
 * no entry. */
static int put_acl_entry(const char **text, unsigned char *to)
{
	static const char kinds[] = "ugmo", letters[] = "rwx";
	static const unsigned char tags[] = { 0x01, 0x04, 0x10, 0x20 };
	const char *kind = **text ? strchr(kinds, **text) : NULL;
	unsigned long long id = 0xffffffff;
	char *end = (char *)*text + 2;
	int named = kind && (*text)[1] == ':' && *end != ':';

	if (!kind || (*text)[1] != ':' || (named && (kind - kinds > 1 || *end < '0' || *end > '9')))
		return 0;
	if (named)
		id = strtoull(end, &end, 10);
	memset(to, 0, 8);
	to[0] = (unsigned char)(tags[kind - kinds] << named);
	for (int i = 0; i < 4; i++)
		to[4 + i] = (unsigned char)(id >> (8 * i));
	if (*end++ != ':' || (named && id > 0xfffffffe))
		return 0;
	for (int i = 0; i < 3; i++, end++) {
		if (*end != letters[i] && *end != '-')
			return 0;
		to[2] |= (unsigned char)(*end == '-' ? 0 : 4 >> i);
	}
	*text = end;
	return 1;
}

static struct result do_setacl(const char *path, const char *acl, int is_default, int nofollow)
{
	const char *name = is_default ? "system.posix_acl_default" : "system.posix_acl_access";
	unsigned char value[4 + 8 * 32] = { 2 };
	size_t len = 4;

	if (!strcmp(acl, "none"))
		return answer(nofollow ? lremovexattr(at(path), name)
				       : removexattr(at(path), name));
	do {
		if (len == sizeof(value) || !put_acl_entry(&acl, value + len))
			return fail(EINVAL, 0);
		len += 8;
	} while (*acl++ == ',');
	if (acl[-1])
		return fail(EINVAL, 0);
	return answer(nofollow ? lsetxattr(at(path), name, value, len, 0)
			       : setxattr(at(path), name, value, len, 0));
}

/*@ deepen: fail at */
/* Makes d in the directory unless it is there, and goes into it; 0 or an errno. */
static int make_level(int *fd, unsigned long long *done)
{
	int next;

	if (mkdirat(*fd, "d", 0755) == 0)
		++*done;
	else if (errno != EEXIST)
		return errno;
	next = openat(*fd, "d", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (next < 0)
		return errno;
	close(*fd);
	*fd = next;
	return 0;
}

static struct result do_deepen(const char *path, unsigned long long count)
{
	int fd = openat(AT_FDCWD, at(path), O_RDONLY | O_DIRECTORY), err = 0;
	unsigned long long done = 0;

	if (fd < 0)
		return fail(errno, 0);
	while (done < count && !err)
		err = make_level(&fd, &done);
	close(fd);
	return err ? fail(err, done) : (struct result){ (long long)count, 0, done };
}

/*@ enlarge: answer fail at */
/* e0, e1, ... in a directory, as many as are asked for beside those that are there. */
static struct result make_entries(int fd, unsigned long long count)
{
	unsigned long long done = 0;
	char name[32];

	for (unsigned long long i = 0; done < count; i++) {
		snprintf(name, sizeof(name), "e%llu", i);
		if (mkdirat(fd, name, 0755) == 0)
			done++;
		else if (errno != EEXIST)
			return fail(errno, done);
	}
	return (struct result){ (long long)count, 0, done };
}

static struct result do_enlarge(const char *path, unsigned long long count)
{
	struct result result;
	struct stat st;
	int fd;

	if (fstatat(AT_FDCWD, at(path), &st, 0))
		return fail(errno, 0);
	if (S_ISREG(st.st_mode))
		return answer(truncate(at(path), (off_t)((uint64_t)st.st_size + count)));
	if (!S_ISDIR(st.st_mode))
		return fail(EINVAL, 0);
	fd = openat(AT_FDCWD, at(path), O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fail(errno, 0);
	result = make_entries(fd, count);
	close(fd);
	return result;
}

/*@ prune: answer fail at empty */
static struct result do_prune(const char *path)
{
	struct result result = { 0, 0, 0 };
	struct stat st;
	int fd, err;

	if (fstatat(AT_FDCWD, at(path), &st, 0))
		return fail(errno, 0);
	if (S_ISREG(st.st_mode))
		return answer(truncate(at(path), 0));
	if (!S_ISDIR(st.st_mode))
		return fail(EINVAL, 0);
	fd = openat(AT_FDCWD, at(path), O_RDONLY | O_DIRECTORY);
	err = fd < 0 ? errno : empty(fd, &result.done);
	return err ? fail(err, result.done) : result;
}

/*@ rmdir: answer at */
static struct result do_rmdir(const char *path)
{
	return answer(unlinkat(AT_FDCWD, at(path), AT_REMOVEDIR));
}

/*@ unlink: answer at */
static struct result do_unlink(const char *path)
{
	return answer(unlinkat(AT_FDCWD, at(path), 0));
}

/*@ pread: told slots memory */
static struct result do_pread(int slot, size_t len, off_t off, size_t mem)
{
	void *to = memory(len, mem);

	return tell(to, pread(slots[slot], to, len, off));
}

/*@ pwrite: answer slots pattern landing */
static struct result do_pwrite(int slot, size_t len, off_t off, uint64_t fill, size_t mem)
{
	void *data = pattern(fill, landing(slots[slot], off), len, mem);

	return answer(pwrite(slots[slot], data, len, off));
}

/*@ preadv2: told slots memory */
static struct result do_preadv2(int slot, size_t len, off_t off, int flags, size_t mem)
{
	struct iovec vec = { memory(len, mem), len };

	return tell(vec.iov_base, syscall(SYS_preadv2, slots[slot], &vec, 1, off, 0, flags));
}

/*@ pwritev2: answer slots pattern landing */
static struct result do_pwritev2(int slot, size_t len, off_t off, uint64_t fill, int flags,
				 size_t mem)
{
	int fd = slots[slot];
	uint64_t at = (uint64_t)(off == -1 ? lseek(fd, 0, SEEK_CUR) : off);
	struct iovec vec = { NULL, len };
	struct stat st;

	if (flags & 0x10 && !fstat(fd, &st)) /* RWF_APPEND */
		at = (uint64_t)st.st_size;
	else if (!(flags & 0x20)) /* RWF_NOAPPEND */
		at = landing(fd, (off_t)at);
	vec.iov_base = pattern(fill, at, len, mem);
	return answer(syscall(SYS_pwritev2, fd, &vec, 1, off, 0, flags));
}

/*@ lseek: answer slots */
static struct result do_lseek(int slot, off_t off, int whence)
{
	return answer(lseek(slots[slot], off, whence));
}

/*@ truncate: answer at */
static struct result do_truncate(const char *path, off_t size)
{
	return answer(truncate(at(path), size));
}

/*@ ftruncate: answer slots */
static struct result do_ftruncate(int slot, off_t size)
{
	return answer(ftruncate(slots[slot], size));
}

/*@ fallocate: answer fail slots */
static struct result do_fallocate(int slot, int flags, off_t off, off_t len)
{
	struct stat before = { .st_size = 0 }, after = { .st_size = 0 };
	int err;

	fstat(slots[slot], &before);
	if (!fallocate(slots[slot], flags, off, len))
		return answer(0);
	err = errno;
	fstat(slots[slot], &after);
	return fail(err, (unsigned long)(after.st_size - before.st_size));
}

/*@ fdatasync: answer slots */
static struct result do_fdatasync(int slot)
{
	return answer(fdatasync(slots[slot]));
}

/*@ syncfs: answer slots */
static struct result do_syncfs(int slot)
{
	return answer(syncfs(slots[slot]));
}

/*@ sync_file_range: answer slots */
static struct result do_sync_file_range(int slot, off_t off, off_t len, unsigned flags)
{
	return answer(sync_file_range(slots[slot], off, len, flags));
}

/*@ chmod: answer at */
static struct result do_chmod(const char *path, mode_t mode)
{
	return answer(fchmodat(AT_FDCWD, at(path), mode, 0));
}

/*@ fchmod: answer slots */
static struct result do_fchmod(int slot, mode_t mode)
{
	return answer(fchmod(slots[slot], mode));
}

/*@ chown: answer at */
static struct result do_chown(const char *path, uid_t uid, gid_t gid, int nofollow)
{
	return answer(fchownat(AT_FDCWD, at(path), uid, gid, nofollow ? AT_SYMLINK_NOFOLLOW : 0));
}

/*@ utimens: answer at */
#define TIME_NOW INT64_MAX
#define TIME_OMIT (INT64_MAX - 1)

static struct timespec timespec(int64_t time_ns)
{
	struct timespec ts = { time_ns / 1000000000, time_ns % 1000000000 };

	if (ts.tv_nsec < 0) {
		ts.tv_sec--;
		ts.tv_nsec += 1000000000;
	}
	if (time_ns == TIME_NOW)
		ts.tv_nsec = UTIME_NOW;
	if (time_ns == TIME_OMIT)
		ts.tv_nsec = UTIME_OMIT;
	return ts;
}

static struct result do_utimens(const char *path, int64_t atime_ns, int64_t mtime_ns, int nofollow)
{
	struct timespec times[2] = { timespec(atime_ns), timespec(mtime_ns) };

	return answer(utimensat(AT_FDCWD, at(path), times, nofollow ? AT_SYMLINK_NOFOLLOW : 0));
}

/*@ rename2: answer at */
#ifndef RENAME_WHITEOUT
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#define RENAME_WHITEOUT 4
#endif

static struct result do_rename2(const char *path, const char *path2, unsigned flags)
{
	return answer(syscall(SYS_renameat2, AT_FDCWD, at(path), AT_FDCWD, at(path2), flags));
}

/*@ proc: base */
static int proc_fds; /* /proc/self/fd, opened while it can still be reached */

/*@ sought: end unsure differing slots proc */
/* SEEK_DATA may find a hole, but it skips no data, and SEEK_HOLE finds no data. What is not 0 is
 * data. */
static void sought(int number, struct result got, int slot, off_t from, int whence)
{
	static char bytes[65536];
	char name[32];
	struct stat st;
	off_t to = got.ret, n = 0, at = 0;
	int fd;

	end(got);
	snprintf(name, sizeof(name), "%d", slots[slot]);
	fd = openat(proc_fds, name, O_RDONLY);
	if (unsure || fd < 0 || fstat(fd, &st)) {
		close(fd);
		return;
	}
	if (got.ret < 0 && got.err != ENXIO) {
		differing++;
		printf("op %d: expected an offset, or ENXIO\n", number);
	}
	if (to < 0)
		to = got.err == ENXIO ? st.st_size : from;
	if (to > st.st_size) {
		differing++;
		printf("op %d: the file has %lld bytes\n", number, (long long)st.st_size);
	}
	if (whence == SEEK_HOLE) {
		from = to;
		to += to < st.st_size;
	}
	for (; from < to && at == n; from += n) {
		n = to - from < (off_t)sizeof(bytes) ? to - from : (off_t)sizeof(bytes);
		n = pread(fd, bytes, (size_t)n, from);
		if (n <= 0)
			break;
		for (at = 0; at < n && !bytes[at]; at++)
			;
		if (at < n) {
			differing++;
			printf("op %d: there is data at %lld\n", number, (long long)(from + at));
		}
	}
	close(fd);
}

/*@ link_tmpfile: answer fail at slots proc */
static struct result do_link_tmpfile(int slot, const char *path)
{
	char name[32];

	if (slots[slot] < 0)
		return fail(EBADF, 0);
	snprintf(name, sizeof(name), "%d", slots[slot]);
	return answer(linkat(proc_fds, name, AT_FDCWD, at(path), AT_SYMLINK_FOLLOW));
}

/*@ copy_file_range: answer slots */
static struct result do_copy_file_range(int slot, int slot2, size_t len, off_t off, off_t off2)
{
	loff_t from = off, to = off2;

	return answer(copy_file_range(slots[slot], &from, slots[slot2], &to, len, 0));
}

/*@ clone: answer slots */
static struct result do_clone(int slot, int slot2)
{
	return answer(ioctl(slots[slot], FICLONE, slots[slot2]));
}

/*@ clone_range: answer slots */
static struct result do_clone_range(int slot, int slot2, size_t len, off_t off, off_t off2)
{
	struct file_clone_range range = { slots[slot2], (uint64_t)off, len, (uint64_t)off2 };

	return answer(ioctl(slots[slot], FICLONERANGE, &range));
}

/*@ dedupe_range: answer fail slots */
static struct result do_dedupe_range(int slot, int slot2, size_t len, off_t off, off_t off2)
{
	union {
		struct file_dedupe_range head;
		char room[sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info)];
	} ask = { .head = { .src_offset = (uint64_t)off, .src_length = len, .dest_count = 1 } };
	struct file_dedupe_range_info *info = ask.head.info;

	info->dest_fd = slots[slot];
	info->dest_offset = (uint64_t)off2;
	if (ioctl(slots[slot2], FIDEDUPERANGE, &ask) < 0)
		return fail(errno, 0);
	if (info->status == FILE_DEDUPE_RANGE_DIFFERS)
		return fail(EBADE, 0);
	return info->status < 0 ? fail(-info->status, 0) : answer((long)info->bytes_deduped);
}

/*@ sends: slots */
/* Whether both are one file, and the ranges overlap or the source passes the end. */
static int sends_into_itself(int slot, int slot2, off_t off, off_t off2, size_t len)
{
	int in = slots[slot], out = slots[slot2];
	off_t from = off == -1 ? lseek(in, 0, SEEK_CUR) : off,
	      to = off2 == -1 ? lseek(out, 0, SEEK_CUR) : off2,
	      apart = from < to ? to - from : from - to;
	struct stat a, b;

	if (from < 0 || to < 0 || fcntl(in, F_GETFL) & O_PATH || fcntl(out, F_GETFL) & O_PATH ||
	    fstat(in, &a) || fstat(out, &b) || !S_ISREG(a.st_mode) || a.st_ino != b.st_ino ||
	    a.st_dev != b.st_dev)
		return 0;
	return len &&
	       ((size_t)apart < len || (from < a.st_size && len > (size_t)(a.st_size - from)));
}

/*@ sendfile: answer fail slots sends */
static struct result do_sendfile(int slot, int slot2, size_t len, off_t off)
{
	off_t from = off;

	if (sends_into_itself(slot, slot2, off, -1, len))
		return fail(EINVAL, 0); /* which bytes would come out, nobody says */
	return answer(sendfile(slots[slot2], slots[slot], off == -1 ? NULL : &from, len));
}

/*@ splice: answer fail slots sends */
static struct result do_splice(int slot, int slot2, size_t len, off_t off, off_t off2)
{
	loff_t from = off, to = off2;
	ssize_t n, done;
	int ends[2], err;

	if (sends_into_itself(slot, slot2, off, off2, len))
		return fail(EINVAL, 0);
	if (pipe2(ends, O_CLOEXEC))
		return fail(errno, 0);
	done = n = splice(slots[slot], off == -1 ? NULL : &from, ends[1], NULL, len, 0);
	if (n > 0)
		done = splice(ends[0], NULL, slots[slot2], off2 == -1 ? NULL : &to, (size_t)n, 0);
	err = errno;
	if (off == -1 && n > 0 && done < n) /* what is left in the pipe counts as not read */
		lseek(slots[slot], -(n - (done > 0 ? done : 0)), SEEK_CUR);
	close(ends[0]);
	close(ends[1]);
	errno = err;
	return answer(done);
}

/*@ maps: base slots */
static struct map { /* the mappings of $0, $1, ... */
	char *at;
	size_t len;
	off_t off;
	int prot, file; /* file: with O_PATH, tells the size */
} maps[SLOTS];

/*@ unmap: maps */
static void drop_map(int slot)
{
	if (!maps[slot].at)
		return;
	munmap(maps[slot].at, maps[slot].len);
	close(maps[slot].file);
	maps[slot].at = NULL;
}

/*@ pages: */
static sigjmp_buf faulted;

static void on_bus(int number)
{
	(void)number;
	siglongjmp(faulted, 1);
}

/* Page by page, up to the first that raises SIGBUS: how many bytes. A store leaves out what is
 * after the end of the file, `left` bytes from here. */
static size_t touch_pages(char *map, size_t len, char *to, const char *from, size_t left)
{
	struct sigaction catch = { .sa_handler = on_bus }, before;
	volatile size_t done = 0;

	sigaction(SIGBUS, &catch, &before);
	while (done < len) {
		char *at = map + done;
		size_t n = 4096 - (uintptr_t)at % 4096, stored;

		n = n < len - done ? n : len - done;
		stored = left < done ? 0 : left - done;
		if (sigsetjmp(faulted, 1))
			break;
		(void)*(volatile char *)at;
		if (to)
			memcpy(to + done, at, n);
		else
			memcpy(at, from + done, stored < n ? stored : n);
		done += n;
	}
	sigaction(SIGBUS, &before, NULL);
	return done;
}

/*@ touch: answer fail maps pages */
static struct result touch(int slot, size_t len, off_t off, char *to, const char *from, size_t left)
{
	size_t done = touch_pages(maps[slot].at + off, len, to, from, left);

	return done || !len ? answer((long)done) : fail(ENXIO, 0);
}

static int bad_touch(int slot, size_t len, off_t off, int prot)
{
	const struct map *map = &maps[slot];

	if (!map->at)
		return EINVAL;
	if (!(map->prot & prot) || off < 0 || (size_t)off > map->len ||
	    len > map->len - (size_t)off)
		return EFAULT;
	return 0;
}

/*@ mmap: answer fail maps unmap proc */
static struct result do_mmap(int slot, size_t len, off_t off, int prot)
{
	char name[32], *at;

	if ((prot & ~(PROT_READ | PROT_WRITE)) || !(prot & PROT_READ))
		return fail(EINVAL, 0);
	drop_map(slot);
	at = mmap(NULL, len, prot, MAP_SHARED, slots[slot], off);
	if (at == MAP_FAILED)
		return fail(errno, 0);
	snprintf(name, sizeof(name), "%d", slots[slot]);
	maps[slot] = (struct map){ at, len, off, prot, openat(proc_fds, name, O_PATH) };
	return answer(0);
}

/*@ mstore: answer fail maps touch pattern */
static struct result do_mstore(int slot, size_t len, off_t off, uint64_t fill)
{
	int err = bad_touch(slot, len, off, PROT_WRITE);
	off_t at = maps[slot].off + off;
	struct stat st;

	if (!err && fstat(maps[slot].file, &st))
		err = errno;
	if (err)
		return fail(err, 0);
	return touch(slot, len, off, NULL, pattern(fill, (uint64_t)at, len, 0),
		     st.st_size > at ? (size_t)(st.st_size - at) : 0);
}

/*@ mload: told fail maps touch memory */
static struct result do_mload(int slot, size_t len, off_t off)
{
	int err = bad_touch(slot, len, off, PROT_READ);
	char *to = memory(len, 0);
	struct result result = err ? fail(err, 0) : touch(slot, len, off, to, NULL, 0);

	tell(to, result.ret);
	return result;
}

/*@ msync: answer fail maps */
static struct result do_msync(int slot, int flags)
{
	if (!maps[slot].at)
		return fail(EINVAL, 0);
	return answer(msync(maps[slot].at, maps[slot].len, flags));
}

/*@ munmap: answer fail maps unmap */
static struct result do_munmap(int slot)
{
	if (!maps[slot].at)
		return fail(EINVAL, 0);
	drop_map(slot);
	return answer(0);
}

/*@ mmap_write: answer fail slots pattern pages */
static struct result do_mmap_write(int slot, size_t len, off_t off, uint64_t fill, int flags)
{
	off_t page = sysconf(_SC_PAGESIZE), start = off / page * page;
	size_t span = (size_t)(off - start) + len;
	struct result result = { 0, 0, 0 };
	struct stat st;
	size_t done;
	char *map;

	if (fstat(slots[slot], &st))
		return fail(errno, 0);
	if (fcntl(slots[slot], F_GETFL) & O_PATH)
		return fail(EBADF, 0);
	if (len == 0 || off < 0 || (uint64_t)off + len > INT64_MAX)
		return fail(EINVAL, 0);
	if (S_ISREG(st.st_mode) && off + (off_t)len > st.st_size)
		return fail(ENXIO, 0);
	map = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_SHARED, slots[slot], start);
	if (map == MAP_FAILED)
		return fail(errno, 0);
	done = touch_pages(map + (off - start), len, NULL, pattern(fill, (uint64_t)off, len, 0),
			   len);
	if (done < len)
		result = fail(ENXIO, done);
	else if (flags)
		result = answer(msync(map, span, flags));
	munmap(map, span);
	return result;
}

/*@ mounter: enter */
/* The last words may be "--mounter PROGRAM": that one unmounts the directory and mounts it again,
 * which this one cannot do by itself. It is called from outside of the directory, as PROGRAM umount
 * and as PROGRAM mount OPTIONS. Without it, the directory stays mounted, and is only left alone for
 * a while. */
static const char *mounter;
static char *directory;
static int outside = -1;

/* Before the directory is entered; takes its words away. */
static void find_mounter(int *argc, char **argv)
{
	if (*argc < 4 || strcmp(argv[*argc - 2], "--mounter"))
		return;
	mounter = argv[*argc - 1];
	*argc -= 2;
	directory = realpath(argv[1], NULL);
	outside = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!directory || outside < 0)
		stop("cannot find the path of", argv[1]);
}

/*@ mounts: mounter */
static int unmounted;

/* What comes next would be done elsewhere if this failed. */
static void come_back(void)
{
	if (chdir(directory) || (!prefix && chroot(".")))
		stop("cannot enter", directory);
}

static int call_mounter(const char *verb, const char *opts)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execl(mounter, mounter, verb, opts, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/*@ umount: answer fail slots maps mounts */
static int is_used(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (slots[i] >= 0 || maps[i].at)
			return 1;
	return 0;
}

static void leave(void)
{
	if (fchdir(outside) || (!prefix && chroot(".")))
		stop("cannot leave", directory);
}

static struct result do_umount(void)
{
	if (is_used())
		return fail(EBUSY, 0);
	if (mounter) {
		leave();
		if (!call_mounter("umount", "")) {
			come_back();
			return fail(EBUSY, 0);
		}
	}
	unmounted = 1;
	return answer(0);
}

/*@ mount: answer fail unsure mounts */
static struct result do_mount(const char *opts)
{
	if (!unmounted)
		return fail(EBUSY, 0);
	if (mounter && !call_mounter("mount", opts)) {
		printf("= -1\nit cannot be mounted again\n");
		exit(1);
	}
	if (mounter)
		come_back();
	else if (*opts)
		unsure = 1;
	if (!mounter)
		printf("(it was mounted all the time: see --mounter in this program) ");
	unmounted = 0;
	return answer(chdir(prefix ? prefix : "/"));
}

/*@ remount_options: answer unsure left_out mounter */
/* Mount options that are flags of mount(2); the others are the file system's own. */
static const struct {
	const char *word;
	unsigned long set, clear;
} mount_words[] = {
	{ "defaults", 0, 0 },
	{ "rw", 0, MS_RDONLY },
	{ "ro", MS_RDONLY, 0 },
	{ "sync", MS_SYNCHRONOUS, 0 },
	{ "async", 0, MS_SYNCHRONOUS },
	{ "dirsync", MS_DIRSYNC, 0 },
	{ "noatime", MS_NOATIME, 0 },
	{ "atime", 0, MS_NOATIME },
	{ "nodiratime", MS_NODIRATIME, 0 },
	{ "diratime", 0, MS_NODIRATIME },
	{ "relatime", MS_RELATIME, MS_STRICTATIME },
	{ "strictatime", MS_STRICTATIME, MS_RELATIME },
	{ "lazytime", MS_LAZYTIME, 0 },
	{ "nolazytime", 0, MS_LAZYTIME },
	{ "noexec", MS_NOEXEC, 0 },
	{ "nosuid", MS_NOSUID, 0 },
	{ "nodev", MS_NODEV, 0 },
};

/* The options with which the mounter mounts: PROGRAM options prints them, a line. */
static int ask_mounter(char *options, size_t size)
{
	int ends[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (!mounter || pipe(ends))
		return 0;
	pid = fork();
	if (pid == 0) {
		if (dup2(ends[1], 1) < 0 || fchdir(outside) || (!prefix && chroot(".")))
			_exit(127);
		close(ends[0]);
		execl(mounter, mounter, "options", "", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while (len + 1 < size && (n = read(ends[0], options + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(ends[0]);
	options[len] = '\0';
	options[strcspn(options, "\n")] = '\0';
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void sort_options(char *text, unsigned long *flags, char *own, size_t size)
{
	const size_t n = sizeof(mount_words) / sizeof(mount_words[0]);
	char *rest = NULL;
	size_t i;

	for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		for (i = 0; i < n && strcmp(word, mount_words[i].word) != 0; i++)
			;
		if (i < n)
			*flags = (*flags | mount_words[i].set) & ~mount_words[i].clear;
		else
			snprintf(own + strlen(own), size - strlen(own), "%s%s", *own ? "," : "",
				 word);
	}
}

/* A remount says all options again, those of the first mount, too. */
static struct result do_remount_options(const char *opts)
{
	char first[4096], own[8192] = "", *more = strdup(opts);
	unsigned long flags = MS_REMOUNT;
	struct result result = { -1, EINVAL, 0 };
	struct statfs fs;

	if (more && strlen(more) < sizeof(first) && ask_mounter(first, sizeof(first)) &&
	    !statfs(prefix ? prefix : "/", &fs)) {
		flags |= (unsigned long)fs.f_flags & (MS_NOSUID | MS_NODEV);
		sort_options(first, &flags, own, sizeof(own));
		sort_options(more, &flags, own, sizeof(own));
		result = answer(syscall(SYS_mount, NULL, prefix ? prefix : "/", NULL, flags, own));
	} else {
		printf("(not done: this step needs assay: without --mounter, "
		       "the options of the mount are not known) ");
		left_out = unsure = 1;
	}
	free(more);
	return result;
}

/*@ listxattr: fail at tell_names */
static struct result do_listxattr(const char *path, int nofollow)
{
	static char list[65536];
	ssize_t len = nofollow ? llistxattr(at(path), list, sizeof(list))
			       : listxattr(at(path), list, sizeof(list));
	struct names names = { 0 };

	if (len < 0)
		return fail(errno, 0);
	for (char *name = list; name < list + len; name += strlen(name) + 1)
		add_name(&names, name);
	return tell_names(&names);
}

/*@ removexattr: answer at */
static struct result do_removexattr(const char *path, const char *name, int nofollow)
{
	return answer(nofollow ? lremovexattr(at(path), name) : removexattr(at(path), name));
}

/*@ readdir: fail at tell_names */
/* "name (directory)" */
static void add_typed(struct names *names, int fd, const struct dirent *entry)
{
	static const struct {
		unsigned char type;
		const char *word;
	} types[] = {
		{ DT_DIR, "directory" }, { DT_LNK, "symbolic link" },	 { DT_FIFO, "fifo" },
		{ DT_SOCK, "socket" },	 { DT_CHR, "character device" }, { DT_BLK, "block device" },
		{ DT_REG, "file" },
	};
	unsigned char type = entry->d_type;
	const char *word = "unknown";
	struct stat st;
	char *typed;

	if (type == DT_UNKNOWN && !fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
		type = IFTODT(st.st_mode);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type)
			word = types[i].word;
	if (asprintf(&typed, "%s (%s)", entry->d_name, word) < 0)
		abort();
	add_name(names, typed);
	free(typed);
}

static struct result do_readdir(const char *path)
{
	int fd = openat(AT_FDCWD, at(path), O_RDONLY | O_DIRECTORY), err;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct names names = { 0 };
	struct dirent *entry;

	if (!dir)
		return fail(errno, 0);
	while (errno = 0, (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			add_typed(&names, fd, entry);
	err = errno;
	closedir(dir);
	if (!err)
		return tell_names(&names);
	free_names(&names);
	return fail(err, 0);
}

/*@ readlink: told at */
static struct result do_readlink(const char *path)
{
	static char target[65536];

	return tell(target, readlinkat(AT_FDCWD, at(path), target, sizeof(target)));
}

/*@ stat: told at */
static struct result do_stat(const char *path, int nofollow)
{
	static struct stat st;

	return tell(&st, fstatat(AT_FDCWD, at(path), &st, nofollow ? AT_SYMLINK_NOFOLLOW : 0));
}

/*@ statx: told at */
static struct result do_statx(const char *path, unsigned mask, int nofollow)
{
	static struct stat st;
	struct statx got = { 0 };
	long rc = syscall(SYS_statx, AT_FDCWD, at(path), nofollow ? AT_SYMLINK_NOFOLLOW : 0, mask,
			  &got);

	st.st_mode = got.stx_mode;
	st.st_uid = got.stx_uid;
	st.st_gid = got.stx_gid;
	st.st_nlink = got.stx_nlink;
	st.st_size = (off_t)got.stx_size;
	st.st_rdev = makedev(got.stx_rdev_major, got.stx_rdev_minor);
	return tell(&st, rc);
}

/*@ flock: answer slots */
static struct result do_flock(int slot, int how)
{
	return answer(flock(slots[slot], (how & (LOCK_SH | LOCK_EX | LOCK_UN)) | LOCK_NB));
}

/*@ record_lock: answer slots */
static struct result record_lock(int slot, int cmd, int type, off_t at, off_t len)
{
	struct flock lock = {
		.l_type = (short)type, .l_whence = SEEK_SET, .l_start = at, .l_len = len
	};
	int rc = fcntl(slots[slot], cmd, &lock);

	if (rc || (cmd != F_GETLK && cmd != F_OFD_GETLK))
		return answer(rc);
	return answer(lock.l_type != F_UNLCK);
}

/*@ ofd_setlk: record_lock */
static struct result do_ofd_setlk(int slot, int type, off_t at, off_t len)
{
	return record_lock(slot, F_OFD_SETLK, type, at, len);
}

/*@ ofd_getlk: record_lock */
static struct result do_ofd_getlk(int slot, int type, off_t at, off_t len)
{
	return record_lock(slot, F_OFD_GETLK, type, at, len);
}

/*@ setlk: record_lock */
static struct result do_setlk(int slot, int type, off_t at, off_t len)
{
	return record_lock(slot, F_SETLK, type, at, len);
}

/*@ getlk: record_lock */
static struct result do_getlk(int slot, int type, off_t at, off_t len)
{
	return record_lock(slot, F_GETLK, type, at, len);
}

/*@ iflags: base */
#define IFLAGS (FS_APPEND_FL | FS_IMMUTABLE_FL | FS_NODUMP_FL | FS_NOATIME_FL)

/*@ getflags: answer slots iflags */
static struct result do_getflags(int slot)
{
	int flags = 0, rc = ioctl(slots[slot], FS_IOC_GETFLAGS, &flags);

	return answer(rc < 0 ? rc : flags & IFLAGS);
}

/*@ setflags: answer slots iflags */
static struct result do_setflags(int slot, int want)
{
	int flags = 0, rc = ioctl(slots[slot], FS_IOC_GETFLAGS, &flags);

	flags = (flags & ~IFLAGS) | (want & IFLAGS);
	return answer(rc < 0 ? rc : ioctl(slots[slot], FS_IOC_SETFLAGS, &flags));
}

/*@ fstat: told slots */
static struct result do_fstat(int slot)
{
	static struct stat st;

	return tell(&st, fstat(slots[slot], &st));
}
