/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: see server.h.
 *
 * Invariants
 *   1. Between two runs, the file of the disk is equal to the copy in memory. Only turning to
 *      another disk changes that copy.
 *   2. The process leads a group of its own, which is killed as a whole. If we are killed, each
 *      process of it dies with the one that started it.
 *   3. Under Valgrind there is no shim: the process may read the machine, and write only to the
 *      folder of its disk. Where the kernel cannot see to that, nothing is started.
 */
#include "sym/server.h"

#include "box/confine.h"
#include "os/spawn.h"
#include "os/temp.h"
#include "sym/vg/log.h"
#include "target/fstype.h"
#include "tool/shim/proto.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LOG_BYTES ((size_t)192 << 20) /* of a file that is as large as what was written */
#define PAGE 4096u
#define READY_MS 120000 /* until the checker first reads a range */
#define END_TRIES 100
#define GRACE_MS 20000 /* that an answer may be late */
#define TOOL "assaysym-amd64-linux"
#define PATH_BYTES 4200u

struct as_sym_server {
	struct as_temp *temp;
	uint64_t size;
	unsigned char *disk, *copy; /* the file, and what it must be */
	unsigned char *log;
	bool any; /* disk: the checker knows nothing of it yet */
	pid_t pid;
	int command, answer;
	bool silent; /* it did not answer in time */
};

/* ---- Where things are ------------------------------------------------------------------------ */

/* The folder of the tool: next to the program, or where it was installed. */
static bool tool_folder(char *path, size_t cap)
{
	static const char *const places[] = { "vg", "../lib/assay/vg" };
	char self[PATH_BYTES], file[PATH_BYTES + 64];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len <= 0)
		return false;
	self[len] = '\0';
	/* Programs of tests lie deeper. */
	while ((slash = strrchr(self, '/'))) {
		*slash = '\0';
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(path, cap, "%s/%s", self, places[i]);
			snprintf(file, sizeof(file), "%s/%s", path, TOOL);
			if (!access(file, X_OK))
				return true;
		}
	}
	return false;
}

int as_sym_server_look(struct as_err *err)
{
	char path[PATH_BYTES + 32];

	if (!as_spawn_which("valgrind", path, sizeof(path)))
		return as_fail(err, AS_ELACK, "valgrind is missing: install the package valgrind");
	if (!tool_folder(path, sizeof(path)))
		return as_fail(err, AS_ELACK,
			       "this assay was built without its Valgrind tool: install the "
			       "package valgrind and build it again");
	if (as_confine_version() < 1)
		return as_fail(err, AS_ELACK,
			       "the kernel has no Landlock: a checker under Valgrind could change "
			       "more than its disk");
	return 0;
}

/* ---- Starting -------------------------------------------------------------------------------- */

static int map_file(struct as_sym_server *s, const char *name, size_t len, unsigned char **at,
		    struct as_err *err)
{
	char path[PATH_BYTES];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", as_temp_path(s->temp), name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)len)) {
		if (fd >= 0)
			close(fd);
		return as_fail_errno(err, errno, "%s", path);
	}
	*at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (*at == MAP_FAILED) {
		*at = NULL;
		return as_fail_errno(err, errno, "%s", path);
	}
	return 0;
}

static int copy_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	struct as_sym_server *s = ctx;
	uint64_t at = index * AS_CHUNK_BYTES, n = s->size - at;

	memcpy(s->copy + at, data, n < AS_CHUNK_BYTES ? n : AS_CHUNK_BYTES);
	return 0;
}

/* The file of the disk becomes what it must be. */
static void restore(struct as_sym_server *s)
{
	for (uint64_t at = 0; at < s->size; at += PAGE) {
		size_t n = s->size - at < PAGE ? s->size - at : PAGE;

		if (memcmp(s->disk + at, s->copy + at, n))
			memcpy(s->disk + at, s->copy + at, n);
	}
}

static int write_ranges(struct as_sym_server *s, const struct as_sym_range *ranges, size_t n,
			struct as_err *err)
{
	char path[PATH_BYTES];
	FILE *f;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/ranges", as_temp_path(s->temp));
	f = fopen(path, "we");
	if (!f)
		return as_fail_errno(err, errno, "%s", path);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s %llu %llu\n", ranges[i].symbolic ? "symbolic" : "watched",
			(unsigned long long)ranges[i].off, (unsigned long long)ranges[i].len);
	if (fclose(f))
		rc = as_fail_errno(err, errno, "%s", path);
	return rc;
}

struct server_child {
	char **argv, **envp;
	const char *folder; /* all that it may change */
	int in; /* standard input */
};

_Noreturn static void be_child(const struct server_child *c)
{
	const struct as_confine_path files[] = { { "/", AS_CONFINE_RUN },
						 { "/dev/null", AS_CONFINE_WRITE },
						 { c->folder, AS_CONFINE_WRITE },
						 { NULL, 0 } };
	const struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDWR);

	dup2(c->in >= 0 ? c->in : null, 0);
	dup2(null, 1);
	dup2(null, 2);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	setrlimit(RLIMIT_CORE, &no_core);
	if (as_confine_files(files) < 1)
		_exit(127);
	execve(c->argv[0], c->argv, c->envp);
	_exit(127);
}

static int input_fd(const char *text)
{
	int fd = text ? memfd_create("input", 0) : -1;

	if (fd >= 0 && (write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET)))
		fd = -1;
	return fd;
}

static int spawn(struct as_sym_server *s, struct as_fsck_subject *subject, struct as_err *err)
{
	char valgrind[PATH_BYTES], lib[PATH_BYTES + 32], now[64], options[6][PATH_BYTES + 32];
	char temp[PATH_BYTES + 32];
	char folder[PATH_BYTES], disk[PATH_BYTES];
	/* glibc looks for characters in strings by instructions that are not followed, else. */
	char *env[] = { lib,
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"GLIBC_TUNABLES=glibc.cpu.hwcaps=-SSE4_2",
			"LC_ALL=C",
			"TZ=UTC",
			now,
			temp,
			NULL };
	char *argv[64] = { valgrind, "--tool=assaysym", "-q", "--vgdb=no", "--vex-guest-chase=no" };
	struct server_child c = { .argv = argv, .envp = env, .folder = as_temp_path(s->temp) };
	int command[2] = { -1, -1 }, answer[2] = { -1, -1 }, n = 5;
	char **words;

	if (!as_spawn_which("valgrind", valgrind, sizeof(valgrind)) ||
	    !tool_folder(folder, sizeof(folder)))
		return as_sym_server_look(err);
	/* The ends that the child needs are inherited. */
	if (pipe(command) || pipe(answer))
		return as_fail_errno(err, errno, "cannot make a pipe");
	(void)fcntl(command[1], F_SETFD, FD_CLOEXEC);
	(void)fcntl(answer[0], F_SETFD, FD_CLOEXEC);
	snprintf(lib, sizeof(lib), "VALGRIND_LIB=%s", folder);
	snprintf(temp, sizeof(temp), "TMPDIR=%s", as_temp_path(s->temp));
	snprintf(now, sizeof(now), "E2FSCK_TIME=%lld", (long long)AS_SHIM_NOW_S);
	snprintf(disk, sizeof(disk), "%s/disk", as_temp_path(s->temp));
	snprintf(options[0], sizeof(options[0]), "--symlog=%s/log", as_temp_path(s->temp));
	snprintf(options[1], sizeof(options[1]), "--disk=%s", disk);
	snprintf(options[2], sizeof(options[2]), "--ranges=%s/ranges", as_temp_path(s->temp));
	snprintf(options[3], sizeof(options[3]), "--cmd-fd=%d", command[0]);
	snprintf(options[4], sizeof(options[4]), "--answer-fd=%d", answer[1]);
	snprintf(options[5], sizeof(options[5]), "--stand-early=%s", s->any ? "yes" : "no");
	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		argv[n++] = options[i];
	words = as_fstype_argv(as_subject_command(subject, AS_SUBJECT_REPAIR),
			       &(struct as_fstype_disks){ .disk = disk });
	for (int i = 0; words[i] && n < 63; i++)
		argv[n++] = i ? words[i] : (char *)as_subject_program(subject);
	c.in = input_fd(as_subject_input(subject, AS_SUBJECT_REPAIR));
	s->pid = as_spawn_child(AS_BIRTH_GROUP);
	if (!s->pid)
		be_child(&c);
	if (c.in >= 0)
		close(c.in);
	as_fstype_free_words(words);
	close(command[0]);
	close(answer[1]);
	s->command = command[1];
	s->answer = answer[0];
	return s->pid < 0 ? as_fail_errno(err, errno, "cannot start valgrind") : 0;
}

/* One answer. AS_EIO: there is none. */
static int hear(struct as_sym_server *s, struct as_symlog_answer *a, int64_t within_ms,
		struct as_err *err)
{
	int64_t until = as_now_us() + within_ms * 1000;
	size_t done = 0;

	while (done < sizeof(*a)) {
		struct pollfd fd = { .fd = s->answer, .events = POLLIN };
		int64_t left = until - as_now_us();
		ssize_t n;

		if (left <= 0) {
			s->silent = true;
			return as_fail(err, AS_EIO, "the checker under Valgrind does not answer");
		}
		if (poll(&fd, 1, (int)(left / 1000) + 1) <= 0)
			continue;
		n = read(s->answer, (char *)a + done, sizeof(*a) - done);
		if (!n || (n < 0 && errno != EINTR))
			return as_fail(err, AS_EIO, "the checker under Valgrind has died");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void close_disk(struct as_sym_server *s)
{
	if (s->disk)
		munmap(s->disk, s->size);
	free(s->copy);
	s->disk = s->copy = NULL;
}

static int open_disk(struct as_sym_server *s, struct as_disk *disk, struct as_err *err)
{
	int rc;

	s->size = as_disk_size(disk);
	if (s->size > AS_SYM_DISK_MAX)
		return as_fail(err, AS_EUSE, "--symbolic: the disk is larger than %llu MiB",
			       (unsigned long long)(AS_SYM_DISK_MAX >> 20));
	rc = map_file(s, "disk", s->size, &s->disk, err);
	if (rc)
		return rc;
	s->copy = as_xcalloc(s->size, 1);
	as_disk_each(disk, copy_chunk, s);
	restore(s);
	return 0;
}

static int open_files(struct as_sym_server *s, struct as_disk *disk, struct as_err *err)
{
	int rc = as_temp_new(access("/dev/shm", W_OK) ? NULL : "/dev/shm", &s->temp, err);

	if (!rc)
		rc = open_disk(s, disk, err);
	if (!rc)
		rc = map_file(s, "log", LOG_BYTES, &s->log, err);
	return rc;
}

int as_sym_server_turn(struct as_sym_server *s, struct as_disk *disk, struct as_err *err)
{
	as_assert(s->any);
	close_disk(s);
	return open_disk(s, disk, err);
}

/* The signal that ends a process which is about to end; 0: none. It stays to be waited for. */
static int signal_of(pid_t pid)
{
	for (int i = 0; i < END_TRIES; i++) {
		siginfo_t info = { 0 };

		if (!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
			return info.si_code == CLD_EXITED ? 0 : info.si_status;
		usleep(10000);
	}
	return 0;
}

/* Whether Valgrind refuses a program, since others may run it with more rights than they have. */
static bool is_privileged(const char *program)
{
	struct stat st;

	return (!stat(program, &st) && st.st_mode & (S_ISUID | S_ISGID)) ||
	       getxattr(program, "security.capability", NULL, 0) > 0;
}

/* What is to be added where nothing was reached. */
static const char *script_hint(const char *program)
{
	char mark[2] = { 0 };
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	bool script = fd >= 0 && read(fd, mark, 2) == 2 && !memcmp(mark, "#!", 2);

	if (fd >= 0)
		close(fd);
	return script ? "; it is a script: name the program that it starts instead" : "";
}

static int say_unreached(struct as_sym_server *s, const struct as_fsck_subject *subject,
			 struct as_err *err)
{
	const char *spec = as_subject_spec(subject);
	struct as_symlog_head head;
	int sig = signal_of(s->pid);

	memcpy(&head, s->log, sizeof(head));
	if (sig && sig != SIGKILL)
		return as_fail(err, AS_EUSE,
			       "%s: under Valgrind it dies of %s before it reads any of these "
			       "bytes%s",
			       spec, as_signal_name(sig),
			       sig == SIGILL ? ": Valgrind does not know an instruction of it"
					     : "");
	return as_fail(err, AS_EUSE, "%s: it ends without reading any of these bytes%s%s%s", spec,
		       head.flags & AS_SYMLOG_F_ASYNC
			       ? "; it uses aio or io_uring, which are not followed"
			       : "",
		       head.flags & (AS_SYMLOG_F_FORKS | AS_SYMLOG_F_EXECS)
			       ? "; it starts processes, which are not followed"
			       : "",
		       script_hint(as_subject_program(subject)));
}

int as_sym_server_start(struct as_fsck_subject *subject, struct as_disk *disk,
			const struct as_sym_range *ranges, size_t n, struct as_sym_server **out,
			struct as_err *err)
{
	struct as_sym_server *s = as_xcalloc(1, sizeof(*s));
	struct as_symlog_answer a = { 0 };
	int rc;

	*out = NULL;
	s->command = s->answer = -1;
	s->any = !n;
	if (is_privileged(as_subject_program(subject)))
		rc = as_fail(err, AS_EUSE,
			     "%s is set-user-ID or set-group-ID or has capabilities, and Valgrind "
			     "does not run it: explore a copy without these",
			     as_subject_program(subject));
	else
		rc = open_files(s, disk, err);
	if (!rc)
		rc = write_ranges(s, ranges, n, err);
	if (!rc)
		rc = spawn(s, subject, err);
	if (!rc)
		rc = hear(s, &a, READY_MS, err);
	if (rc == AS_EIO && s->silent)
		rc = as_fail(err, AS_EUSE, "%s: it reads none of these bytes within %d s",
			     as_subject_spec(subject), READY_MS / 1000);
	else if (rc == AS_EIO)
		rc = as_fail(err, AS_EUSE,
			     "%s: it died before it read any of these bytes, or started another "
			     "program in its place%s",
			     as_subject_spec(subject), script_hint(as_subject_program(subject)));
	if (!rc && a.kind == AS_SYMLOG_UNFIT)
		rc = as_fail(err, AS_EUSE,
			     "%s: it has several threads, or has forked, where it first reads "
			     "these bytes: it cannot be explored",
			     as_subject_spec(subject));
	else if (!rc && a.kind != AS_SYMLOG_READY)
		rc = say_unreached(s, subject, err);
	if (rc)
		as_sym_server_free(s);
	else
		*out = s;
	return rc;
}

void as_sym_server_free(struct as_sym_server *s)
{
	if (!s)
		return;
	if (s->pid > 0) {
		kill(-s->pid, SIGKILL);
		kill(s->pid, SIGKILL);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (s->command >= 0)
		close(s->command);
	if (s->answer >= 0)
		close(s->answer);
	close_disk(s);
	if (s->log)
		munmap(s->log, LOG_BYTES);
	as_temp_free(s->temp);
	free(s);
}

/* ---- Running --------------------------------------------------------------------------------- */

static int put_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	struct as_sym_server *s = ctx;
	uint64_t at = index * AS_CHUNK_BYTES, n = s->size - at;

	memcpy(s->disk + at, data, n < AS_CHUNK_BYTES ? n : AS_CHUNK_BYTES);
	return 0;
}

void as_sym_server_put(struct as_sym_server *s, struct as_disk *disk)
{
	as_assert(as_disk_size(disk) == s->size);
	memset(s->disk, 0, s->size);
	as_disk_each(disk, put_chunk, s);
}

static int send_all(struct as_sym_server *s, const void *data, size_t len, struct as_err *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(s->command, (const char *)data + done, len - done);

		if (n < 0 && errno != EINTR)
			return as_fail_errno(err, errno, "the checker under Valgrind is gone");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int as_sym_server_run(struct as_sym_server *s, const struct as_damage *damage,
		      const struct as_sym_range *ranges, size_t n, unsigned deadline_ms,
		      struct as_sym_run *run, struct as_err *err)
{
	struct as_symlog_cmd cmd = { .kind = AS_SYMLOG_RUN,
				     .deadline_ms = deadline_ms,
				     .ranges = (uint32_t)n };
	struct as_symlog_range *list = as_xcalloc(n + 1, sizeof(*list));
	struct as_symlog_answer a = { 0 };
	int rc;

	for (size_t i = 0; i < n; i++)
		list[i] = (struct as_symlog_range){ ranges[i].off, ranges[i].len,
						    ranges[i].symbolic ? AS_SYMLOG_SYMBOLIC
								       : AS_SYMLOG_WATCHED };
	for (size_t i = 0; i < damage->n; i++)
		s->disk[damage->bytes[i].off] = damage->bytes[i].is;
	rc = send_all(s, &cmd, sizeof(cmd), err);
	if (!rc)
		rc = send_all(s, list, n * sizeof(*list), err);
	free(list);
	if (!rc)
		rc = hear(s, &a, (int64_t)deadline_ms + GRACE_MS, err);
	restore(s);
	if (!rc && a.kind != AS_SYMLOG_DONE && a.kind != AS_SYMLOG_LATE)
		rc = as_fail(err, AS_EIO, "the checker under Valgrind gives a wrong answer");
	*run = (struct as_sym_run){ .late = a.kind == AS_SYMLOG_LATE,
				    .status = a.status,
				    .log = s->log,
				    .log_bytes = LOG_BYTES,
				    .micros = a.micros,
				    .instructions = a.instructions };
	return rc;
}
