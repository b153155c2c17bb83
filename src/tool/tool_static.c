/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool_static: programs that no shim can be loaded into. Each run is an exec, and the disk is a
 * file of a FUSE mount that nobody else sees.
 *
 * Method. A forked helper enters a mount namespace of its own, serves a block device there over the
 * same shared memory that the shim uses, and adds each request to the same record: what is done
 * after a run (tool_share.c) is the same for both. All other mounts are made read-only for the
 * program, and it has no network. The program sees the machine's clock, so two runs may differ.
 */
#include "tool/tool_priv.h"

#include "disk/call.h"
#include "disk/serve.h"
#include "disk/window.h"
#include "os/left.h"
#include "os/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GRACE_MS 20000 /* for the helper to start and to end */
#define DISK_FOLDER "/disk"
#define OTHER_FOLDER "/other"
#define REST_MAX 1000 /* rounds: a process that is killed may have made another one */

/* ---- The disk over the shared memory ---- */

struct shared_bd {
	struct as_bd bd;
	struct as_tool *tool;
};

static struct as_tool *tool_of(struct as_bd *bd)
{
	return ((struct shared_bd *)bd)->tool;
}

/* Does the same as enter() and complete() of shim/disk.c, for one thread that is not killed in
 * between. */
static void record(struct as_tool *tool, enum as_call kind, uint64_t off, uint64_t len,
		   const void *data)
{
	struct as_shim_head *head = tool->head;
	uint64_t room = data ? len : 0;
	uint64_t need = sizeof(struct as_shim_record) + ((room + 7) & ~UINT64_C(7));
	struct as_shim_record *rec = (void *)((char *)head + AS_SHIM_HEAD_BYTES + head->used);

	if (head->overflowed || need > head->record_cap - head->used) {
		head->overflowed = 1;
		return;
	}
	*rec = (struct as_shim_record){ .kind = kind, .off = off, .len = len, .room = room };
	if (data)
		memcpy(rec + 1, data, room);
	__atomic_store_n(&head->used, head->used + need, __ATOMIC_RELEASE);
}

static int shared_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	struct as_tool *tool = tool_of(bd);

	if (as_call_check(bd, off, len))
		return -EINVAL;
	if (tool->head->flags & AS_SHIM_READS)
		record(tool, AS_CALL_READ, off, len, NULL);
	tool->head->reads++;
	memcpy(buf, tool->bytes + off, len);
	return 0;
}

static int shared_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	struct as_tool *tool = tool_of(bd);

	if (as_call_check(bd, off, len))
		return -EINVAL;
	record(tool, AS_CALL_WRITE, off, len, buf);
	memcpy(tool->bytes + off, buf, len);
	return 0;
}

static int shared_flush(struct as_bd *bd)
{
	record(tool_of(bd), AS_CALL_FLUSH, 0, 0, NULL);
	return 0;
}

static int shared_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	record(tool_of(bd), AS_CALL_FLUSH, off, len, NULL);
	return 0;
}

static int shared_clear(struct as_bd *bd, enum as_call kind, uint64_t off, uint64_t len)
{
	struct as_tool *tool = tool_of(bd);

	if (as_call_check(bd, off, len))
		return -EINVAL;
	record(tool, kind, off, len, NULL);
	memset(tool->bytes + off, 0, len);
	return 0;
}

static int shared_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return shared_clear(bd, AS_CALL_DISCARD, off, len);
}

static int shared_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return shared_clear(bd, AS_CALL_ZERO, off, len);
}

static const struct as_bd_ops shared_ops = {
	.api = AS_BD_API,
	.name = "shared",
	.read = shared_read,
	.write = shared_write,
	.flush = shared_flush,
	.discard = shared_discard,
	.zero = shared_zero,
	.flush_part = shared_flush_part,
};

/* ---- The helper ---- */

/* Shared with the helper. */
struct helper_answer {
	int rc;
	struct as_err err;
	struct as_ended ended;
	bool read_only;
};

struct helper {
	struct as_tool *tool;
	const struct as_tool_job *job;
	struct helper_answer *answer;
	int output_fd; /* a memfd */
	char paths[2][80]; /* of the disk, and of its journal's if there is one */
	char place[32]; /* a tmpfs that has the disk, and what the program writes elsewhere */
	char other[64], clock[48]; /* of the environment */
	struct as_buf path; /* the same */
};

/* Becomes root of a namespace of our own: directly as root, else through a user namespace. */
static int leave_home(struct as_err *err)
{
	bool entered;

	if (geteuid() && as_userns_unshare(0, 0, 0, &entered))
		return as_fail(err, AS_ELACK, "a static checker needs root or user namespaces: %s",
			       strerror(errno));
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return as_fail(err, AS_ELACK, "cannot have a mount namespace of our own: %s",
			       strerror(errno));
	/* This is not allowed everywhere; then the program has the network of this machine. */
	if (unshare(CLONE_NEWNET))
		errno = 0;
	return 0;
}

/* Whether the command names something below a folder. */
static bool is_used(const struct helper *h, const char *folder)
{
	size_t len = strlen(folder);
	bool used = !strncmp(h->tool->path, folder, len);

	for (size_t i = 1; h->job->argv[i]; i++)
		used = used || !strncmp(h->job->argv[i], folder, len);
	return used;
}

/* Makes two empty folders in another place than the program: DISK_FOLDER, OTHER_FOLDER. */
static int make_folder(struct helper *h, char *folder, size_t cap, struct as_err *err)
{
	static const char *const places[] = { "/mnt", "/media", "/srv", "/tmp", "/run" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char other[64];

		if (is_used(h, places[i]) ||
		    mount("assay", places[i], "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=256m"))
			continue;
		snprintf(h->place, sizeof(h->place), "%s", places[i]);
		snprintf(other, sizeof(other), "%s" OTHER_FOLDER, places[i]);
		snprintf(folder, cap, "%s" DISK_FOLDER, places[i]);
		return mkdir(folder, 0700) || mkdir(other, 0700)
			       ? as_fail_errno(err, errno, "%s", folder)
			       : 0;
	}
	return as_fail_errno(err, errno, "cannot mount a tmpfs for a static checker");
}

static bool make_read_only(const char *place, const char *folder)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	struct mount_attr rw = { .attr_clr = MOUNT_ATTR_RDONLY };

	return !syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &ro, sizeof(ro)) &&
	       !syscall(SYS_mount_setattr, AT_FDCWD, place, 0, &rw, sizeof(rw)) &&
	       !syscall(SYS_mount_setattr, AT_FDCWD, folder, 0, &rw, sizeof(rw));
}

/* The word with the true paths of the disks of the caller, wherever they stand in it; to be
 * freed. */
static char *true_word(struct helper *h, const char *word)
{
	size_t len = strlen(h->tool->disk_path), journal = strlen(AS_TOOL_JOURNAL);
	struct as_buf out = { 0 };
	const char *at;
	char *text;

	for (; (at = strstr(word, h->tool->disk_path)); word = at) {
		bool second = !strncmp(at + len, AS_TOOL_JOURNAL, journal);

		as_buf_add(&out, word, (size_t)(at - word));
		as_buf_adds(&out, h->paths[second]);
		at += len + (second ? journal : 0);
	}
	as_buf_adds(&out, word);
	text = as_xstrdup(as_buf_str(&out));
	as_buf_free(&out);
	return text;
}

/* The words of prlimit and of the program; the disks' true paths replace those that the caller
 * knows. */
static char **make_argv(struct helper *h, char *limit, size_t cap)
{
	size_t n = 0;
	char **argv;

	while (h->job->argv[n])
		n++;
	argv = as_xcalloc(n + 4, sizeof(*argv));
	snprintf(limit, cap, "--as=%llu", (unsigned long long)h->tool->limits.memory_bytes);
	argv[0] = "prlimit";
	argv[1] = limit;
	argv[2] = h->tool->path;
	for (size_t i = 1; i < n; i++)
		argv[i + 2] = true_word(h, h->job->argv[i]);
	return argv;
}

/* What repro.sh sets, too; what the caller wants; the folder for other files. */
static char **make_env(struct helper *h)
{
	static char fixed[][96] = {
		"LC_ALL=C",
		"TZ=UTC",
		"HOME=/",
		"ASAN_OPTIONS=detect_leaks=0:abort_on_error=1",
		"UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1",
	};
	enum { N_FIXED = sizeof(fixed) / sizeof(fixed[0]) };
	size_t n = 0;
	char **env;

	while (h->tool->envp && h->tool->envp[n])
		n++;
	env = as_xcalloc(N_FIXED + n + 4, sizeof(*env));
	for (size_t i = 0; i < N_FIXED; i++)
		env[i] = fixed[i];
	for (size_t i = 0; i < n; i++)
		env[N_FIXED + i] = h->tool->envp[i];
	snprintf(h->clock, sizeof(h->clock), "E2FSCK_TIME=%lld", (long long)AS_SHIM_NOW_S);
	env[N_FIXED + n++] = h->clock;
	snprintf(h->other, sizeof(h->other), "TMPDIR=%s" OTHER_FOLDER, h->place);
	env[N_FIXED + n++] = h->other;
	as_buf_adds(&h->path, "PATH=");
	as_spawn_path(&h->path);
	env[N_FIXED + n] = h->path.data;
	return env;
}

/* A process that has left the group of the program, or whose parent has ended, is our child now. */
static void end_rest(const struct as_buf *before)
{
	for (int i = 0; i < REST_MAX && as_left_kill(before); i++)
		;
}

static int run_program(struct helper *h, struct as_err *err)
{
	struct as_buf output = { 0 }, before = { 0 };
	char limit[40], **argv = make_argv(h, limit, sizeof(limit));
	char **env = make_env(h);
	struct as_spawn spawn = {
		.argv = argv,
		.envp = env,
		.cwd = "/",
		.deadline_ms = h->tool->limits.deadline_ms,
		.output = &output,
		.output_max = h->tool->limits.output_bytes,
		.input = h->job->input,
	};
	int rc;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	as_left_list(&before);
	rc = as_spawn_run(&spawn, &h->answer->ended, err);
	end_rest(&before);
	if (!rc && pwrite(h->output_fd, as_buf_str(&output), output.len, 0) < 0)
		rc = as_fail_errno(err, errno, "cannot keep a checker's output");
	as_buf_free(&before);
	as_buf_free(&output);
	as_buf_free(&h->path);
	for (size_t i = 3; argv[i]; i++)
		free(argv[i]);
	free(argv);
	free(env);
	return rc;
}

static int help(void *ctx)
{
	struct helper *h = ctx;
	struct shared_bd shared = {
		{ &shared_ops, h->tool->head->disk_bytes, AS_DISK_SECTOR_BYTES }, h->tool
	};
	struct as_serve_disk disks[2] = { { .name = "0", .bd = &shared.bd }, { .name = "1" } };
	uint64_t journal_bytes = h->job->journal_bytes, size = shared.bd.size_bytes;
	struct as_window windows[2];
	struct as_err *err = &h->answer->err;
	struct as_serve *serve = NULL;
	char folder[64];
	bool is_root = !geteuid();
	/* A process that came through a user namespace may not go back to the outer one. */
	int home_fd = is_root ? open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC) : -1;
	int rc = leave_home(err);

	if (!rc)
		rc = make_folder(h, folder, sizeof(folder), err);
	for (int i = 0; journal_bytes && i < 2; i++) {
		as_window_init(&windows[i], &shared.bd, i ? size - journal_bytes : 0,
			       i ? journal_bytes : size - journal_bytes);
		disks[i].bd = &windows[i].bd;
	}
	if (!rc)
		rc = as_serve_new(folder, disks, journal_bytes ? 2 : 1, home_fd, &serve, err);
	if (!rc) {
		h->answer->read_only = make_read_only(h->place, folder);
		for (int i = 0; i < 2; i++)
			snprintf(h->paths[i], sizeof(h->paths[i]), "%s/%d", folder, i);
		rc = run_program(h, err);
	}
	as_serve_free(serve);
	h->answer->rc = rc;
	return 0;
}

int as_tool_go_static(struct as_tool *tool, const struct as_tool_job *job,
		      struct as_tool_result *result, struct as_err *err)
{
	struct helper h = { .tool = tool, .job = job };
	struct as_spawn_limits limits = { .deadline_ms = tool->limits.deadline_ms + GRACE_MS,
					  .halt = tool->limits.halt };
	struct as_ended ended;
	ssize_t n;
	int rc;

	h.answer = as_shared_alloc(sizeof(*h.answer));
	h.output_fd = memfd_create("assay-output", MFD_CLOEXEC);
	if (h.output_fd < 0) {
		rc = as_fail_errno(err, errno, "cannot keep a checker's output");
		goto out;
	}
	rc = as_spawn_fork_limited(help, &h, &limits, &ended, err);
	if (!rc && ended.how == AS_END_STOPPED)
		rc = as_fail(err, AS_ESTOP, "stopped");
	if (!rc && (ended.how != AS_END_EXIT || ended.status))
		rc = as_fail(err, AS_EIO, "%s: the server of its disk died", tool->path);
	if (!rc && h.answer->rc) {
		rc = h.answer->rc;
		if (err)
			*err = h.answer->err;
	}
	if (!rc) {
		char *to = as_buf_reserve(&result->output, tool->limits.output_bytes);

		n = pread(h.output_fd, to, tool->limits.output_bytes, 0);
		result->output.len += n > 0 ? (size_t)n : 0;
		to[n > 0 ? n : 0] = '\0';
		result->ended = h.answer->ended;
		tool->head->confined = h.answer->read_only;
	}
	close(h.output_fd);
out:
	as_shared_free(h.answer, sizeof(*h.answer));
	return rc;
}
