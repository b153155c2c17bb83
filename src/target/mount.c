/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount: see mount.h.
 *
 * Method. A tmpfs of our own is mounted over a folder that nobody needs (nobody else sees it; what
 * a server or a checker may have to read must not be covered by it) and holds `disk` (the FUSE
 * mount with the file `0`), `fs` (the file system under test) and the copy that a checker works on.
 * The root of the machine and the working directory are kept as descriptors, so that we come back
 * from the chroot, and programs that are named by relative paths are found whenever they are
 * started.
 *
 * Memory. The server and the executor are threads of one process. While the executor faults in a
 * page of a mapped file, the kernel may hold the lock of the address space and wait for the server;
 * a server that then asked for more address space (brk, mmap) would wait for the executor. So there
 * is one arena, grown in large steps and never given back: the server's allocations find room.
 */
#include "target/mount.h"

#include "disk/log.h"
#include "disk/loop.h"
#include "disk/serve.h"
#include "os/spawn.h"
#include "target/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARENA_STEP_BYTES (16 << 20)
#define BUSY_ATTEMPTS 200
#define BUSY_WAIT_US 1000
#define LOST_ATTEMPTS 1000
#define SERVER_MS 10000 /* for a FUSE server to mount, or to end, if nobody says otherwise */

struct as_mount {
	const struct as_fstype *type;
	struct as_medium *medium;
	struct as_serve *serve;
	struct as_loop *loop; /* NULL: a FUSE server's */
	struct as_server *server; /* the last one started; NULL: none, or the kernel */
	unsigned server_ms;
	char *program; /* the server's; NULL: it was not found */
	char trouble[128]; /* of servers that are gone */
	bool hung; /* one of them had to be ended */
	char refusal[96]; /* why the last one could not be started */
	struct as_buf output;
	char base[40]; /* where our tmpfs is */
	char fs[48], disk[56], disk_folder[48], copy[48], src[48];
	int root_fd; /* of the machine */
	int cwd_fd; /* where we were when it was made */
	int home_fd; /* the mount namespace we come from */
	bool mounted, inside;
	void (*delay)(void *ctx); /* before each request; NULL: none */
	void *delay_ctx;
	struct as_medium_mark *cut; /* the moment of a power cut that is under way */
};

/* ---- Options ------------------------------------------------------------------------------- */

/* Those of mount(8) that are flags of mount(2); all others are the file system's own. */
static const struct {
	const char *name;
	unsigned long set, clear;
} flag_rows[] = {
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
	{ "nosuid", 0, 0 }, /* always */
	{ "nodev", 0, 0 }, /* always: nodes of a workload are never doors */
};

static bool is_flag(const char *word, size_t len, unsigned long *flags)
{
	for (size_t i = 0; i < sizeof(flag_rows) / sizeof(flag_rows[0]); i++)
		if (strlen(flag_rows[i].name) == len && !memcmp(flag_rows[i].name, word, len)) {
			*flags = (*flags | flag_rows[i].set) & ~flag_rows[i].clear;
			return true;
		}
	return false;
}

static void sort_options(const char *text, unsigned long *flags, struct as_buf *data)
{
	while (*text) {
		size_t len = strcspn(text, ",");

		if (len && !is_flag(text, len, flags))
			as_buf_addf(data, "%s%.*s", data->len ? "," : "", (int)len, text);
		text += len + (text[len] == ',');
	}
}

bool as_mount_is_readonly(const char *opts)
{
	struct as_buf data = { 0 };
	unsigned long flags = 0;

	sort_options(opts, &flags, &data);
	as_buf_free(&data);
	return flags & MS_RDONLY;
}

/* ---- Setting up ---------------------------------------------------------------------------- */

int as_mount_allowed(struct as_err *err)
{
	if (geteuid())
		return as_fail(err, AS_ELACK,
			       "the running kernel mounts file systems for root only: "
			       "run as root, or use --sandbox uml");
	return 0;
}

static int make_folders(struct as_mount *m, struct as_err *err)
{
	snprintf(m->fs, sizeof(m->fs), "%s/fs", m->base);
	snprintf(m->copy, sizeof(m->copy), "%s/copy", m->base);
	snprintf(m->disk_folder, sizeof(m->disk_folder), "%s/disk", m->base);
	snprintf(m->disk, sizeof(m->disk), "%s/0", m->disk_folder);
	snprintf(m->src, sizeof(m->src), "%s/src", m->base);
	if (mkdir(m->fs, 0700) || mkdir(m->disk_folder, 0700) || mkdir(m->src, 0755) ||
	    chmod(m->src, 0755))
		return as_fail_errno(err, errno, "%s", m->base);
	return 0;
}

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int n = 0;

	while (dir && n <= 2 && (entry = readdir(dir)))
		n++;
	if (dir)
		closedir(dir);
	return dir && n <= 2;
}

static bool cover(struct as_mount *m, const char *folder)
{
	if (mount("assay", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700"))
		return false;
	snprintf(m->base, sizeof(m->base), "%s", folder);
	return true;
}

/* Our tmpfs goes over the first of these folders that is there and has nothing in it; else over the
 * first that is there, of which the first ones are places that only the kernel writes to. */
static int make_base(struct as_mount *m, struct as_err *err)
{
	static const char *const empty[] = { "/mnt", "/media", "/srv", "/opt" };
	static const char *const any[] = { "/sys/kernel/debug",
					   "/sys/fs/fuse/connections",
					   "/proc/sys/fs/binfmt_misc",
					   "/tmp",
					   "/mnt",
					   "/run",
					   "/var" };

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		if (is_empty(empty[i]) && cover(m, empty[i]))
			return make_folders(m, err);
	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++)
		if (cover(m, any[i]))
			return make_folders(m, err);
	return as_fail_errno(err, errno, "cannot mount a tmpfs");
}

static int settle_namespace(struct as_mount *m, struct as_err *err)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return as_fail_errno(err, errno, "cannot make the mount namespace private");
	m->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->root_fd < 0)
		return as_fail_errno(err, errno, "/");
	m->cwd_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->cwd_fd < 0)
		return as_fail_errno(err, errno, "the working directory");
	return make_base(m, err);
}

static bool is_unprivileged(const struct as_mount *m)
{
	return m->type->server && geteuid();
}

static int make_namespace(struct as_mount *m, struct as_err *err)
{
	if (is_unprivileged(m)) {
		int rc = as_server_userns(err);

		return rc ? rc : settle_namespace(m, err);
	}
	m->home_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (m->home_fd < 0)
		return as_fail_errno(err, errno, "/proc/self/ns/mnt");
	if (unshare(CLONE_NEWNS))
		return as_fail(err, errno == EPERM ? AS_ELACK : AS_EIO,
			       "cannot have a mount namespace of our own: %s", strerror(errno));
	return settle_namespace(m, err);
}

static int share_namespace(struct as_mount *m, const struct as_mount *beside, struct as_err *err)
{
	snprintf(m->base, sizeof(m->base), "%.32s/beside", beside->base);
	m->root_fd = dup(beside->root_fd);
	m->home_fd = dup(beside->home_fd);
	m->cwd_fd = dup(beside->cwd_fd);
	if (m->root_fd < 0 || m->cwd_fd < 0 || m->home_fd < 0 || mkdir(m->base, 0700))
		return as_fail_errno(err, errno, "%s", m->base);
	return make_folders(m, err);
}

static void settle_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, ARENA_STEP_BYTES);
	mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

/* What it stands on: a device to serve, or else a disk to copy into memory. */
struct ground {
	struct as_bd *bd;
	struct as_disk *memory;
	struct as_reclog *log; /* may be NULL */
	/* Requests do not wait for each other. In a record they would stand in another order than
	 * they were issued in, where nobody waited for one before he issued the next. */
	bool direct;
};

static int attach(struct as_mount *m, const struct ground *ground, struct as_err *err)
{
	struct as_serve_disk disk = { .name = "0", .bd = ground->bd };
	int rc;

	if (!ground->bd)
		return as_loop_new_memory(ground->memory, &m->loop, err);
	rc = as_serve_new(m->disk_folder, &disk, 1, m->home_fd, &m->serve, err);
	/* Attaching flushes once: nobody's doing. */
	if (!rc && ground->log)
		as_reclog_pause(ground->log, true);
	if (!rc && !m->type->server)
		rc = as_loop_new(m->disk, AS_LOOP_NO_MERGES | (ground->direct ? AS_LOOP_DIRECT : 0),
				 &m->loop, err);
	if (!rc && ground->log)
		as_reclog_pause(ground->log, false);
	return rc;
}

/* Before anything is mounted or entered. */
static void find_program(struct as_mount *m)
{
	static const struct as_server_places any = { "", "", "" };
	char path[4096], **argv;

	if (as_server_argv(m->type->server, &any, &argv, NULL))
		return;
	if (as_spawn_which(argv[0], path, sizeof(path)))
		m->program = as_xstrdup(path);
	as_fstype_free_words(argv);
}

static int new_mount(const struct as_fstype *type, const struct ground *ground,
		     struct as_mount *beside, struct as_mount **out, struct as_err *err)
{
	struct as_mount *m = as_xcalloc(1, sizeof(*m));
	int rc = type->server ? 0 : as_mount_allowed(err);

	m->type = type;
	m->root_fd = m->home_fd = m->cwd_fd = -1;
	m->server_ms = SERVER_MS;
	settle_memory();
	if (!rc && type->server)
		find_program(m);
	if (!rc)
		rc = beside ? share_namespace(m, beside, err) : make_namespace(m, err);
	if (!rc)
		rc = attach(m, ground, err);
	if (rc) {
		as_mount_free(m);
		m = NULL;
	}
	*out = m;
	return rc;
}

int as_mount_new(const struct as_fstype *type, struct as_medium *medium, struct as_mount **out,
		 struct as_err *err)
{
	struct ground ground = { .bd = as_medium_bd(medium), .log = as_medium_log(medium) };
	int rc = new_mount(type, &ground, NULL, out, err);

	if (!rc)
		(*out)->medium = medium;
	return rc;
}

int as_mount_new_quick(const struct as_fstype *type, struct as_medium *medium,
		       struct as_mount **out, struct as_err *err)
{
	struct ground ground = { .memory = as_medium_disk(medium) };
	int rc = new_mount(type, &ground, NULL, out, err);

	if (!rc)
		(*out)->medium = medium;
	return rc;
}

int as_mount_new_served(const struct as_fstype *type, struct as_bd *bd, struct as_mount *beside,
			struct as_mount **out, struct as_err *err)
{
	return new_mount(type, &(struct ground){ .bd = bd, .direct = true }, beside, out, err);
}

int as_mount_new_memory(const struct as_fstype *type, struct as_disk *disk, struct as_mount *beside,
			struct as_mount **out, struct as_err *err)
{
	return new_mount(type, &(struct ground){ .memory = disk }, beside, out, err);
}

void as_mount_free(struct as_mount *m)
{
	if (!m)
		return;
	as_mount_abandon(m);
	if (m->mounted && as_mount_umount(m))
		umount2(m->fs, MNT_DETACH | MNT_FORCE);
	if (m->cut)
		as_medium_drop(m->medium, m->cut);
	as_server_free(m->server);
	as_buf_free(&m->output);
	free(m->program);
	as_loop_free(m->loop);
	as_serve_free(m->serve);
	if (m->root_fd >= 0)
		close(m->root_fd);
	if (m->home_fd >= 0)
		close(m->home_fd);
	if (m->cwd_fd >= 0)
		close(m->cwd_fd);
	free(m);
}

/* ---- In and out ---------------------------------------------------------------------------- */

int as_mount_enter(struct as_mount *m, struct as_err *err)
{
	as_assert(m->mounted && !m->inside);
	if (chroot(m->fs) || chdir("/"))
		return as_fail_errno(err, errno, "cannot enter the mounted file system");
	m->inside = true;
	return 0;
}

int as_mount_leave(struct as_mount *m, struct as_err *err)
{
	if (!m->inside)
		return 0;
	if (fchdir(m->root_fd) || chroot(".") || fchdir(m->cwd_fd))
		return as_fail_errno(err, errno, "cannot leave the mounted file system");
	m->inside = false;
	return 0;
}

/* ---- Mounting ------------------------------------------------------------------------------ */

/* What a server that is gone has left to say. */
static void bury(struct as_mount *m)
{
	const char *trouble;

	if (!m->server)
		return;
	trouble = as_server_trouble(m->server);
	m->hung |= as_server_hung(m->server);
	snprintf(m->refusal, sizeof(m->refusal), "%s",
		 as_server_refusal(m->server) ? as_server_refusal(m->server) : "");
	as_buf_clear(&m->output);
	as_server_output(m->server, &m->output);
	if (trouble && !m->trouble[0])
		snprintf(m->trouble, sizeof(m->trouble), "%s", trouble);
	as_server_free(m->server);
	m->server = NULL;
}

static void add_option(char ***argv, const char *opts)
{
	size_t n = 0;

	if (!*opts)
		return;
	while ((*argv)[n])
		n++;
	*argv = as_xrealloc(*argv, (n + 3) * sizeof(**argv));
	(*argv)[n] = as_xstrdup("-o");
	(*argv)[n + 1] = as_xstrdup(opts);
	(*argv)[n + 2] = NULL;
}

static int start_server(struct as_mount *m, const char *base, const char *opts)
{
	struct as_server_places places = { m->disk, m->fs, m->src };
	char **argv;
	int rc;

	if (as_server_argv(m->type->server, &places, &argv, NULL))
		return -EINVAL;
	add_option(&argv, base);
	add_option(&argv, opts);
	rc = as_server_start(m->program, argv, m->fs, m->server_ms, &m->server);
	/* Whatever it asked for: nodes are never doors. */
	if (!rc && mount(NULL, m->fs, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL))
		rc = -errno;
	if (rc) {
		as_server_kill(m->server);
		umount2(m->fs, MNT_DETACH | MNT_FORCE);
		bury(m);
		m->trouble[0] = '\0'; /* the errno is enough */
	}
	as_fstype_free_words(argv);
	return rc;
}

const char *as_mount_trouble(struct as_mount *m)
{
	if (m->trouble[0])
		return m->trouble;
	return m->server ? as_server_trouble(m->server) : NULL;
}

void as_mount_await_trouble(struct as_mount *m)
{
	for (int i = 0; i < LOST_ATTEMPTS && m->server && !as_server_trouble(m->server); i++)
		usleep(BUSY_WAIT_US);
}

bool as_mount_hung(const struct as_mount *m)
{
	return m->hung || (m->server && as_server_hung(m->server));
}

const char *as_mount_refusal(const struct as_mount *m)
{
	return m->refusal;
}

void as_mount_set_deadline(struct as_mount *m, unsigned ms)
{
	m->server_ms = ms;
}

void as_mount_abandon(struct as_mount *m)
{
	if (m->server)
		as_server_kill(m->server);
}

const char *as_mount_output(struct as_mount *m)
{
	if (m->server) {
		as_buf_clear(&m->output);
		as_server_output(m->server, &m->output);
	}
	return as_buf_str(&m->output);
}

const char *as_mount_source(const struct as_mount *m)
{
	return m->type->server && strstr(m->type->server, "{src}") ? m->src : NULL;
}

static int call_mount(struct as_mount *m, unsigned long flags, const char *base, const char *opts)
{
	struct as_buf data = { 0 };
	int rc;

	flags |= MS_NOSUID | MS_NODEV;
	/* Some types (ocfs2) take a remount without them for a wish to change them. */
	sort_options(m->type->mount, &flags, &data);
	sort_options(base, &flags, &data);
	sort_options(opts, &flags, &data);
	/* From inside, what is mounted is the root. */
	rc = mount(as_loop_path(m->loop), m->inside ? "/" : m->fs, m->type->type, flags,
		   as_buf_str(&data))
		     ? -errno
		     : 0;
	as_buf_free(&data);
	return rc;
}

int as_mount_mount(struct as_mount *m, const char *base, const char *opts)
{
	int rc;

	as_assert(!m->mounted);
	if (as_mount_leave(m, NULL))
		return -EIO;
	rc = m->type->server ? start_server(m, base, opts) : call_mount(m, 0, base, opts);
	m->mounted = !rc;
	return rc;
}

int as_mount_remount(struct as_mount *m, const char *base, const char *opts)
{
	as_assert(m->mounted);
	return call_mount(m, MS_REMOUNT, base, opts);
}

/* A program that looks at every new device (udev) may have it open for a moment. */
static int umount_patiently(const char *path)
{
	int rc = -EBUSY;

	for (int i = 0; i < BUSY_ATTEMPTS && rc == -EBUSY; i++) {
		if (i)
			usleep(BUSY_WAIT_US);
		rc = umount2(path, 0) ? -errno : 0;
	}
	return rc;
}

int as_mount_umount(struct as_mount *m)
{
	int rc;

	as_assert(m->mounted);
	if (as_mount_leave(m, NULL))
		return -EIO;
	rc = umount_patiently(m->fs);
	if (rc)
		return rc;
	m->mounted = false;
	if (m->server)
		as_server_stop(m->server, m->server_ms);
	bury(m);
	return 0;
}

void as_mount_cut(struct as_mount *m)
{
	as_assert(m->mounted && !m->cut && m->serve);
	as_serve_lock(m->serve);
	m->cut = as_medium_mark(m->medium);
	as_serve_unlock(m->serve);
}

int as_mount_cut_end(struct as_mount *m)
{
	int rc;

	as_assert(m->cut);
	/* What was written since, by the unmount above all, is taken back. */
	rc = as_mount_umount(m);
	as_serve_lock(m->serve);
	if (rc)
		as_medium_drop(m->medium, m->cut);
	else
		as_medium_back(m->medium, m->cut);
	m->cut = NULL;
	as_serve_unlock(m->serve);
	if (!rc && as_mount_forget(m, NULL))
		rc = -EIO;
	return rc;
}

const struct as_fstype *as_mount_type(const struct as_mount *m)
{
	return m->type;
}

const char *as_mount_device(const struct as_mount *m)
{
	const char *path = m->loop ? as_loop_path(m->loop) : "", *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool as_mount_mounted(const struct as_mount *m)
{
	return m->mounted;
}

/* ---- The disk ------------------------------------------------------------------------------ */

static void lock(struct as_mount *m)
{
	struct as_disk *now;

	if (m->serve) {
		as_serve_lock(m->serve);
	} else if (m->medium && !m->mounted && !as_loop_save(m->loop, &now, NULL)) {
		as_disk_restore(as_medium_disk(m->medium), now);
		as_disk_free(now);
	}
}

static void unlock(struct as_mount *m)
{
	if (m->serve)
		as_serve_unlock(m->serve);
}

int as_mount_renew(struct as_mount *m, const struct as_medium *from, struct as_err *err)
{
	as_disk_restore(as_medium_disk(m->medium), as_medium_disk(from));
	return as_mount_load(m, as_medium_disk(m->medium), err);
}

struct as_medium *as_mount_medium(struct as_mount *m)
{
	lock(m);
	return m->medium;
}

void as_mount_hold(struct as_mount *m)
{
	as_serve_lock(m->serve);
}

void as_mount_release(struct as_mount *m)
{
	unlock(m);
}

static void before_request(void *ctx, size_t disk, enum as_call call, uint64_t off, uint64_t len)
{
	const struct as_mount *m = ctx;

	(void)disk;
	(void)call;
	(void)off;
	(void)len;
	m->delay(m->delay_ctx);
}

void as_mount_set_delay(struct as_mount *m, void (*before)(void *ctx), void *ctx)
{
	struct as_serve_hook hook = { before_request, m };

	as_serve_set_hook(m->serve, NULL);
	if (!before)
		return;
	m->delay = before;
	m->delay_ctx = ctx;
	as_serve_set_hook(m->serve, &hook);
}

void as_mount_set_op(struct as_mount *m, uint32_t op)
{
	struct as_reclog *log = as_medium_log(m->medium);

	if (!log)
		return;
	as_serve_lock(m->serve);
	as_reclog_set_op(log, op);
	as_serve_unlock(m->serve);
}

void as_mount_flush(struct as_mount *m)
{
	as_serve_lock(m->serve);
	(void)as_bd_flush(as_medium_bd(m->medium));
	as_serve_unlock(m->serve);
}

int as_mount_forget(struct as_mount *m, struct as_err *err)
{
	return m->loop ? as_loop_forget(m->loop, err) : 0;
}

int as_mount_load(struct as_mount *m, struct as_disk *disk, struct as_err *err)
{
	as_assert(!m->mounted && !m->serve);
	return as_loop_load(m->loop, disk, err);
}

int as_mount_save(struct as_mount *m, struct as_disk **disk, struct as_err *err)
{
	as_assert(!m->mounted && !m->serve);
	return as_loop_save(m->loop, disk, err);
}

const char *as_mount_path(const struct as_mount *m)
{
	return m->fs;
}

static int copy_disk(struct as_mount *m, struct as_err *err)
{
	int fd = open(m->copy, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = 0;

	if (fd < 0 || ftruncate(fd, (off_t)as_medium_bd(m->medium)->size_bytes))
		rc = as_fail_errno(err, errno, "%s", m->copy);
	if (!rc) {
		lock(m);
		rc = as_medium_export(m->medium, fd, err);
		unlock(m);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static int take_copy(struct as_mount *m, struct as_err *err)
{
	int fd = open(m->copy, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return as_fail_errno(err, errno, "%s", m->copy);
	lock(m);
	rc = as_medium_import(m->medium, fd, err);
	unlock(m);
	close(fd);
	if (!rc && !m->serve)
		rc = as_mount_load(m, as_medium_disk(m->medium), err);
	return rc ? rc : as_mount_forget(m, err);
}

/* What the program could not say itself. */
static void say_cut(const struct as_ended *ended, unsigned deadline_ms, struct as_buf *output)
{
	if (ended->how == AS_END_DEADLINE)
		as_buf_addf(output, "\nthe checker did not end within %u ms and was killed\n",
			    deadline_ms);
	else if (ended->how == AS_END_SIGNAL)
		as_buf_addf(output, "\nthe checker died of %s\n", as_signal_name(ended->status));
}

int as_mount_check(struct as_mount *m, enum as_check_mode mode, bool keep, unsigned deadline_ms,
		   enum as_check_answer *answer, struct as_buf *output, struct as_err *err)
{
	const struct as_checker *checker = &m->type->check[mode];
	struct as_buf own = { 0 };
	struct as_spawn spawn = { .deadline_ms = deadline_ms,
				  .output = output ? output : &own,
				  .input = checker->input };
	struct as_ended ended;
	struct as_loop *loop = NULL;
	char **argv = NULL;
	int rc;

	as_assert(!m->mounted);
	*answer = AS_CHECK_CLEAN;
	if (!checker->command)
		return 0;
	rc = copy_disk(m, err);
	if (!rc && checker->direct)
		rc = as_loop_new(m->copy, 0, &loop, err);
	if (rc)
		goto out;
	argv = as_fstype_argv(checker->command, loop ? as_loop_path(loop) : m->copy,
			      as_medium_bd(m->medium)->size_bytes);
	spawn.argv = argv;
	rc = as_spawn_run(&spawn, &ended, err);
	as_loop_free(loop);
	if (!rc)
		say_cut(&ended, deadline_ms, spawn.output);
	if (!rc)
		*answer = ended.how == AS_END_EXIT
				  ? as_fstype_judge(checker, ended.status, as_buf_str(spawn.output))
				  : AS_CHECK_FAILED;
	if (!rc && keep)
		rc = take_copy(m, err);
out:
	as_fstype_free_words(argv);
	as_buf_free(&own);
	unlink(m->copy);
	return rc;
}
