/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recover_mount: the steps that the kernel takes: mounting a crashed disk, and trying to write to a
 * recovered one.
 *
 * Method. Two devices are kept for as long as disks have the same size and store: a file in memory
 * under a loop device, which is quick and of which only the chunks are written in which the next
 * disk differs; and a served one (disk/serve.h), which sees every request, for steps that are to be
 * remembered or recorded. Both live in one mount namespace of the process.
 *
 * What the kernel says meanwhile is looked at behind every step; that it recovers is expected
 * (run/kmsg.def), that it complains is an end of its own.
 */
#include "recover/steps_priv.h"

#include "disk/fault.h"
#include "run/kwatch.h"
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
	return ((struct as_steps_disk *)bd)->inner;
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
	/* Nothing was written that nobody holds. */
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

void as_step_mount_end(struct as_steps *s)
{
	as_mount_free(s->served);
	as_mount_free(s->memory);
	as_kwatch_free(s->watch);
	s->served = s->memory = NULL;
	s->watch = NULL;
}

/* Makes the device for disks like this one. */
static int get_device(struct as_steps *s, struct as_disk *disk, bool served, struct as_mount **m,
		      struct as_err *err)
{
	int rc = 0;

	if (s->store != as_disk_store(disk) || s->size_bytes != as_disk_size(disk))
		as_step_mount_end(s);
	s->store = as_disk_store(disk);
	s->size_bytes = as_disk_size(disk);
	if (!s->memory)
		rc = as_mount_new_memory(s->type, disk, NULL, &s->memory, err);
	if (!rc && served && !s->served) {
		s->socket =
			(struct as_steps_disk){ .bd = { .ops = &socket_ops,
							.size_bytes = s->size_bytes,
							.sector_bytes = AS_DISK_SECTOR_BYTES } };
		rc = as_mount_new_served(s->type, &s->socket.bd, s->memory, &s->served, err);
	}
	if (rc)
		return rc;
	*m = served ? s->served : s->memory;
	if (!s->watch)
		s->watch = as_kwatch_new(as_mount_device(*m));
	as_kwatch_name(s->watch, as_mount_device(*m));
	return 0;
}

static void plug(struct as_steps *s, struct as_bd *inner)
{
	as_mount_hold(s->served);
	s->socket.inner = inner;
	as_mount_release(s->served);
}

/* ---- What is done with a mounted disk -------------------------------------------------------- */

struct work {
	struct as_steps *steps;
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

/* Programs that look at every new device may have it open for a moment. */
static int mount_patiently(struct work *w, const char *how)
{
	int rc = -EBUSY;

	for (int i = 0; i < BUSY_ATTEMPTS && rc == -EBUSY; i++) {
		if (i)
			usleep(BUSY_WAIT_US);
		rc = as_mount_mount(w->mount, w->steps->mount_opts, how);
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

/* A full disk is nobody's fault. */
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

	/* With a disk that fails, it may complain of what it cannot read. */
	if (!as_kwatch_look(w->steps->watch, w->steps->failing, &news))
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

static struct as_faulty *new_faulty(struct as_steps *s, struct as_bd *inner)
{
	struct as_fault_rule rule = { .kind = AS_CALL_READ,
				      .actions = AS_FAULT_ERROR,
				      .first = s->fail_read,
				      .last = s->fail_read,
				      .errnum = EIO };

	return as_faulty_new(inner, &rule, s->fail_read ? 1 : 0);
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
	faulty = new_faulty(w->steps, as_reclog_bd(stepped->log));
	plug(w->steps, as_faulty_bd(faulty));
	use(w, step, &stepped->tree_at, stepped->log);
	plug(w->steps, NULL);
	as_step_count_reads(w->steps, as_faulty_calls(faulty, AS_CALL_READ));
	as_faulty_free(faulty);
	listen(w);
	return 0;
}

int as_step_mount(struct as_steps *s, enum as_step step, struct as_disk *disk, bool want_log,
		  struct as_stepped *stepped, struct as_err *err)
{
	struct work w = { .steps = s, .stepped = stepped };
	int rc = get_device(s, disk, want_log, &w.mount, err);

	if (rc)
		return rc;
	rc = want_log ? on_served(&w, step, disk, err) : in_memory(&w, step, disk, err);
	/* What cannot be unmounted is not used again. */
	if (as_mount_mounted(w.mount))
		as_step_mount_end(s);
	return rc;
}
