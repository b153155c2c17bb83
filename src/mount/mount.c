/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount: see mount.h.
 *
 * Method. A tmpfs of our own is mounted over a folder that is not needed. Nobody else sees it, but
 * it must not cover what a server or a checker may have to read. It holds `disk` (the FUSE
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
#include "mount/mount_priv.h"

#include "disk/log.h"
#include "disk/loop.h"
#include "disk/serve.h"
#include "os/spawn.h"
#include "target/apart.h"
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
#include <sys/sysmacros.h>
#include <unistd.h>

#define ARENA_STEP_BYTES (16 << 20)
#define BUSY_ATTEMPTS 200
#define BUSY_WAIT_US 1000
#define SERVER_MS 10000 /* for a FUSE server to mount, or to end; the default */

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
	snprintf(m->journal_copy, sizeof(m->journal_copy), "%s/copy.journal", m->base);
	snprintf(m->disk, sizeof(m->disk), "%s/0", m->disk_folder);
	snprintf(m->journal, sizeof(m->journal), "%s/1", m->disk_folder);
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

/* Our tmpfs is mounted over the first of these folders that exists and is empty; otherwise over
 * the first that exists. Of those, the first ones are places that only the kernel writes to. */
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

static int make_private(struct as_mount *m, struct as_err *err)
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

/* Which mount namespace this process is in; 0: it cannot be seen. */
static ino_t this_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/mnt", &st) ? 0 : st.st_ino;
}

/* Back to where we were before the namespace of this mount, so that a process may have one after
 * the other. Where that cannot be, or others came later, it stays where it is. */
static void go_home(const struct as_mount *m)
{
	char *cwd;

	if (m->home_fd < 0 || !m->own_namespace || this_namespace() != m->own_namespace)
		return;
	cwd = getcwd(NULL, 0);
	if (!setns(m->home_fd, CLONE_NEWNS) && cwd && chdir(cwd))
		(void)!chdir("/");
	free(cwd);
}

static int make_namespace(struct as_mount *m, struct as_err *err)
{
	if (is_unprivileged(m)) {
		int rc = as_server_userns(err);

		return rc ? rc : make_private(m, err);
	}
	m->home_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (m->home_fd < 0)
		return as_fail_errno(err, errno, "/proc/self/ns/mnt");
	if (unshare(CLONE_NEWNS))
		return as_fail(err, errno == EPERM ? AS_ELACK : AS_EIO,
			       "cannot have a mount namespace of our own: %s", strerror(errno));
	m->own_namespace = this_namespace();
	return make_private(m, err);
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

static void keep_one_arena(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, ARENA_STEP_BYTES);
	mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

/* A write is held no longer than this if nothing else happens: who waits for it waits so long. */
#define HOLD_IDLE_MS 1

/* What it is mounted from: a device to serve, or else a disk to copy into memory. */
struct ground {
	struct as_bd *bd;
	struct as_disk *memory;
	struct as_reclog *log; /* may be NULL */
	/* Requests do not wait for each other. Then a record may not have them in the order in
	 * which they were issued, where the issuer did not wait for one before it issued the next.
	 * So a record is made this way only if writes are held. */
	bool direct;
};

/* The last bytes of the device are the journal's disk. */
static void divide(struct as_mount *m, struct as_bd *bd, struct as_serve_disk disks[2])
{
	uint64_t data_bytes = bd->size_bytes - m->type->journal_bytes;

	as_window_init(&m->windows[0], bd, 0, data_bytes);
	as_window_init(&m->windows[1], bd, data_bytes, m->type->journal_bytes);
	for (int i = 0; i < 2; i++)
		disks[i].bd = &m->windows[i].bd;
}

static int attach(struct as_mount *m, const struct ground *ground, struct as_err *err)
{
	struct as_serve_disk disks[2] = { { .name = "0", .bd = ground->bd }, { .name = "1" } };
	uint64_t journal_bytes = m->type->journal_bytes;
	/* A server of others writes to its file and waits each time: nothing is ever in flight. */
	unsigned hold = ground->log && !m->type->server ? as_reclog_held(ground->log) : 0;
	/* Otherwise the loop device waits for each request before it sends the next. */
	unsigned flags = AS_LOOP_NO_MERGES | (ground->direct || hold ? AS_LOOP_DIRECT : 0);
	int rc;

	if (!ground->bd)
		return as_loop_new_memory(ground->memory, journal_bytes, &m->loop, err);
	if (journal_bytes)
		divide(m, ground->bd, disks);
	rc = as_serve_new(m->disk_folder, disks, journal_bytes ? 2 : 1, m->home_fd, &m->serve, err);
	/* Attaching flushes once: that is not the file system's doing. */
	if (!rc && ground->log)
		as_reclog_pause(ground->log, true);
	if (!rc && !m->type->server)
		rc = as_loop_new(m->disk, flags, &m->loop, err);
	if (!rc && journal_bytes)
		rc = as_loop_add(m->loop, m->journal, flags, err);
	if (!rc && ground->log)
		as_reclog_pause(ground->log, false);
	if (!rc && hold) {
		as_serve_lock(m->serve);
		as_reclog_hold(ground->log, AS_RECLOG_UNTIL_WAIT);
		as_serve_unlock(m->serve);
		as_serve_hold(m->serve, hold, HOLD_IDLE_MS);
	}
	return rc;
}

static int new_mount(const struct as_fstype *type, const struct ground *ground,
		     struct as_mount *beside, struct as_mount **out, struct as_err *err)
{
	struct as_mount *m = as_xcalloc(1, sizeof(*m));
	int rc = type->server ? 0 : as_mount_allowed(err);

	m->type = type;
	m->root_fd = m->home_fd = m->cwd_fd = -1;
	m->server_ms = SERVER_MS;
	keep_one_arena();
	if (!rc && type->server)
		as_mount_find_program(m);
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
	if (m->type->over)
		umount2(m->src, MNT_DETACH | MNT_FORCE);
	if (m->cut)
		as_medium_drop(m->medium, m->cut);
	as_server_free(m->server);
	as_buf_free(&m->output);
	free(m->program);
	as_loop_free(m->loop);
	as_serve_free(m->serve);
	go_home(m);
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
	int rc;

	as_assert(m->mounted && !m->inside);
	if (chroot(m->fs))
		return as_fail_errno(err, errno, "cannot enter the mounted file system");
	m->inside = true;
	if (!chdir("/"))
		return 0;
	rc = as_fail_errno(err, errno, "cannot enter the mounted file system");
	/* What could be entered can be left. */
	(void)!as_mount_leave(m, NULL);
	return rc;
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

/* As the kernel writes the number of a device to a disk (new_encode_dev()). */
static unsigned number_of(dev_t dev)
{
	return (minor(dev) & 0xff) | major(dev) << 8 | (minor(dev) & ~0xffu) << 12;
}

/* Tells the file system where its journal is. */
static void add_journal(const struct as_mount *m, struct as_buf *data)
{
	const struct as_loop *journal = as_loop_second(m->loop);
	const char *s = m->type->journal_mount;
	struct stat st;

	as_buf_adds(data, data->len ? "," : "");
	while (*s) {
		if (!strncmp(s, "{journal}", 9)) {
			as_buf_adds(data, as_loop_path(journal));
			s += 9;
		} else if (!strncmp(s, "{number}", 8)) {
			as_assert(!fstat(as_loop_fd(journal), &st));
			as_apart_number_ext(as_loop_path(m->loop), number_of(st.st_rdev));
			as_buf_addf(data, "%u", number_of(st.st_rdev));
			s += 8;
		} else {
			as_buf_addc(data, *s++);
		}
	}
}

static int call_mount(struct as_mount *m, unsigned long flags, const char *base, const char *opts)
{
	struct as_buf data = { 0 };
	int rc;

	flags |= MS_NOSUID | MS_NODEV;
	/* Some types (ocfs2) take a remount that leaves them out for a request to change them. */
	as_mount_sort_options(m->type->mount, &flags, &data);
	as_mount_sort_options(base, &flags, &data);
	as_mount_sort_options(opts, &flags, &data);
	/* No type takes another journal while it is mounted; ext4 refuses its own, too. */
	if (m->type->journal_mount && !(flags & MS_REMOUNT))
		add_journal(m, &data);
	/* Inside of the chroot, what is mounted is the root. */
	if (m->type->over)
		rc = as_mount_over(m, as_loop_path(m->loop), flags, &data);
	else
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
	rc = m->type->server ? as_mount_start_server(m, base, opts) : call_mount(m, 0, base, opts);
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
	if (m->type->over && (rc = umount_patiently(m->src)))
		return rc;
	if (m->server)
		as_server_stop(m->server, m->server_ms);
	as_mount_bury(m);
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
	/* What was written since then, mostly by the unmount, is taken back. */
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

bool as_mount_mounted(const struct as_mount *m)
{
	return m->mounted;
}

const char *as_mount_path(const struct as_mount *m)
{
	return m->fs;
}
