/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_mount: the steps that the kernel takes: mounting a crashed disk, and trying to write to a
 * recovered one.
 *
 * Method. Two devices are kept for as long as disks have the same size and store. One is a file in
 * memory under a loop device: it is quick, and only those chunks are written in which the next disk
 * differs. The other is served (disk/serve.h) and sees every request, for steps that are to be
 * remembered or recorded. Both live in one mount namespace of the process.
 *
 * The kernel's messages are read after every step. That it recovers is expected (klog/kmsg.def); a
 * complaint is an end of its own.
 */
#include "recover/kernel_priv.h"

#include "disk/fault.h"
#include "klog/kwatch.h"
#include "snapshot/tree.h"
#include "snapshot/tree_cwd.h"
#include "target/mount.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_ATTEMPTS 200
#define BUSY_WAIT_US 500

/* ---- The socket ------------------------------------------------------------------------------ */

static struct as_bd *inner_of(struct as_bd *bd)
{
	return ((struct as_kernel_socket *)bd)->inner;
}

static int socket_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	return inner_of(bd) ? as_bd_read(inner_of(bd), off, buf, len) : -EIO;
}

static int socket_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	return inner_of(bd) ? as_bd_write(inner_of(bd), off, buf, len) : -EIO;
}

static int socket_flush(struct as_bd *bd)
{
	/* Without a disk no write was accepted, so there is nothing to flush. */
	return inner_of(bd) ? as_bd_flush(inner_of(bd)) : 0;
}

static int socket_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return inner_of(bd) ? as_bd_discard(inner_of(bd), off, len) : -EIO;
}

static int socket_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return inner_of(bd) ? as_bd_zero(inner_of(bd), off, len) : -EIO;
}

static const struct as_bd_ops socket_ops = {
	.api = AS_TARGET_API,
	.name = "socket",
	.read = socket_read,
	.write = socket_write,
	.flush = socket_flush,
	.discard = socket_discard,
	.zero = socket_zero,
};

/* ---- Devices --------------------------------------------------------------------------------- */

void as_kernel_mount_end(struct as_kernel *k)
{
	as_mount_free(k->served);
	as_mount_free(k->memory);
	as_kwatch_free(k->watch);
	k->served = k->memory = NULL;
	k->watch = NULL;
}

/* Makes the device for disks like this one. */
static int get_device(struct as_kernel *k, struct as_disk *disk, bool served, struct as_mount **m,
		      struct as_err *err)
{
	int rc = 0;

	if (k->store != as_disk_store(disk) || k->size_bytes != as_disk_size(disk))
		as_kernel_mount_end(k);
	k->store = as_disk_store(disk);
	k->size_bytes = as_disk_size(disk);
	if (!k->memory)
		rc = as_mount_new_memory(k->type, disk, NULL, &k->memory, err);
	if (!rc && served && !k->served) {
		k->socket =
			(struct as_kernel_socket){ .bd = { .ops = &socket_ops,
							   .size_bytes = k->size_bytes,
							   .sector_bytes = AS_DISK_SECTOR_BYTES } };
		rc = as_mount_new_served(k->type, &k->socket.bd, k->memory, &k->served, err);
	}
	if (rc)
		return rc;
	*m = served ? k->served : k->memory;
	if (!k->watch)
		k->watch = as_kwatch_new(as_mount_device(*m));
	as_kwatch_name(k->watch, as_mount_device(*m));
	return 0;
}

static void plug(struct as_kernel *k, struct as_bd *inner)
{
	as_mount_hold(k->served);
	k->socket.inner = inner;
	as_mount_release(k->served);
}

/* ---- What is done with a mounted disk -------------------------------------------------------- */

struct work {
	struct as_kernel *kernel;
	struct as_mount *mount;
	struct as_stepped *stepped;
};

static void end_with(struct work *w, enum as_recovery_end end, const char *what, int rc)
{
	if (w->stepped->end != AS_RECOVERED)
		return;
	w->stepped->end = end;
	as_buf_addf(&w->stepped->why, "%s answers %s", what, as_errno_name(-rc));
}

/* Programs that examine every new device may have it open for a short time. */
static int mount_patiently(struct work *w, const char *how)
{
	int rc = -EBUSY;

	for (int i = 0; i < BUSY_ATTEMPTS && rc == -EBUSY; i++) {
		if (i)
			usleep(BUSY_WAIT_US);
		rc = as_mount_mount(w->mount, w->kernel->mount_opts, how);
	}
	return rc;
}

static void read_tree(struct work *w)
{
	struct as_buf why = { 0 };

	if (as_tree_capture(&as_tree_cwd_ops, NULL, &w->stepped->tree, &why)) {
		w->stepped->end = AS_UNREADABLE;
		as_buf_addf(&w->stepped->why, "reading: %s", as_buf_str(&why));
	}
	as_buf_free(&why);
}

/* A full disk may refuse a new file. */
static void probe_all(struct work *w)
{
	struct as_tree *tree = NULL;
	struct as_buf path = { 0 };

	read_tree(w);
	tree = w->stepped->tree;
	w->stepped->tree = NULL;
	for (uint32_t i = 0; tree && i < as_tree_len(tree); i++) {
		int rc;

		if (!S_ISDIR(as_tree_at(tree, i)->mode))
			continue;
		as_buf_clear(&path);
		as_tree_path(tree, i, &path);
		rc = as_tree_cwd_probe(as_buf_str(&path));
		if (rc && rc != -ENOSPC) {
			as_buf_clear(&w->stepped->why);
			end_with(w, AS_COMPLAINED, "making and removing a file in a directory", rc);
			as_buf_addf(&w->stepped->why, ": %s", as_buf_str(&path));
			break;
		}
	}
	as_buf_free(&path);
	as_tree_put(tree);
}

static void use(struct work *w, enum as_step step, size_t *tree_at, const struct as_reclog *log)
{
	int rc = mount_patiently(w, step == AS_STEP_PROBE ? "noatime" : "ro,noatime");

	if (log) {
		as_mount_hold(w->mount);
		*tree_at = as_reclog_len(log);
		as_mount_release(w->mount);
	}
	if (rc) {
		end_with(w, AS_REFUSED, "mount", rc);
		return;
	}
	if (chdir(as_mount_path(w->mount)))
		end_with(w, AS_UNREADABLE, "entering the root", -errno);
	else if (step == AS_STEP_PROBE)
		probe_all(w);
	else
		read_tree(w);
	as_assert(!chdir("/"));
	rc = as_mount_umount(w->mount);
	if (rc)
		end_with(w, AS_COMPLAINED, "unmount", rc);
}

static void listen(struct work *w)
{
	struct as_kwatch_news news;

	/* On a disk that fails, the kernel may complain of what it cannot read. */
	if (!as_kwatch_look(w->kernel->watch, w->kernel->base.failing, &news))
		return;
	if (w->stepped->end == AS_RECOVERED)
		w->stepped->end = AS_COMPLAINED;
	as_buf_addf(&w->stepped->why, "%sthe kernel says: %s", w->stepped->why.len ? "; " : "",
		    news.title);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static int in_memory(struct work *w, enum as_step step, struct as_disk *disk, struct as_err *err)
{
	int rc = as_mount_load(w->mount, disk, err);

	if (rc)
		return rc;
	use(w, step, NULL, NULL);
	listen(w);
	return as_mount_mounted(w->mount) ? 0 : as_mount_save(w->mount, &w->stepped->disk, err);
}

static int on_served(struct work *w, enum as_step step, struct as_disk *disk, struct as_err *err)
{
	struct as_stepped *stepped = w->stepped;
	struct as_faulty *faulty;
	int rc = as_mount_forget(w->mount, err);

	if (rc)
		return rc;
	stepped->disk = as_disk_snapshot(disk);
	stepped->log = as_reclog_new(as_disk_bd(stepped->disk), AS_RECLOG_READS, 0);
	faulty = as_step_faulty(&w->kernel->base, as_reclog_bd(stepped->log));
	plug(w->kernel, faulty ? as_faulty_bd(faulty) : as_reclog_bd(stepped->log));
	use(w, step, &stepped->tree_at, stepped->log);
	plug(w->kernel, NULL);
	as_step_faulty_end(&w->kernel->base, faulty);
	listen(w);
	return 0;
}

int as_kernel_mount(struct as_kernel *k, enum as_step step, struct as_disk *disk, bool want_log,
		    struct as_stepped *stepped, struct as_err *err)
{
	struct work w = { .kernel = k, .stepped = stepped };
	int rc = get_device(k, disk, want_log, &w.mount, err);

	if (rc)
		return rc;
	rc = want_log ? on_served(&w, step, disk, err) : in_memory(&w, step, disk, err);
	/* A device that cannot be unmounted is not used again. */
	if (as_mount_mounted(w.mount))
		as_kernel_mount_end(k);
	return rc;
}
