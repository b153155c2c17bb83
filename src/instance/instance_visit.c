/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instance_visit: a type of the running kernel that visits disks.
 *
 * Method. Two devices are kept for as long as disks have the same size and store. One is a file in
 * memory under a loop device: it is quick, and only those chunks are written in which the next disk
 * differs. The other is served (disk/serve.h) and sees every request: the socket beneath it passes
 * them on to the device that was inserted. Both live in one mount namespace of the process, and are
 * made when they are first needed.
 */
#include "instance/instance_priv.h"

#include "disk/cow.h"
#include "mount/mount.h"
#include "vfs/tree_cwd.h"

#include <errno.h>
#include <unistd.h>

#define BUSY_ATTEMPTS 200
#define BUSY_WAIT_US 500

/* A block device that passes its calls on to a disk that can be exchanged. */
struct visitor_socket {
	struct as_bd bd;
	struct as_bd *inner; /* NULL: EIO */
};

struct visitor {
	struct as_instance base;
	const struct as_fstype *type;
	/* Of the disks that the devices are for. */
	struct as_chunks *store;
	uint64_t size_bytes;
	struct as_mount *memory, *served;
	struct visitor_socket socket; /* beneath `served` */
	/* While a disk is inserted. */
	struct as_mount *mount;
	struct as_disk *disk;
};

static struct visitor *of(struct as_instance *i)
{
	return (struct visitor *)i;
}

/* ---- The socket ------------------------------------------------------------------------------ */

static struct as_bd *inner_of(struct as_bd *bd)
{
	return ((struct visitor_socket *)bd)->inner;
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

static int socket_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return inner_of(bd) ? as_bd_flush_part(inner_of(bd), off, len) : 0;
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
	.api = AS_BD_PARTS, /* without a queue */
	.name = "socket",
	.read = socket_read,
	.write = socket_write,
	.flush = socket_flush,
	.discard = socket_discard,
	.zero = socket_zero,
	.flush_part = socket_flush_part,
};

static void plug(struct visitor *v, struct as_bd *inner)
{
	as_mount_hold(v->served);
	v->socket.inner = inner;
	as_mount_release(v->served);
}

/* ---- Devices --------------------------------------------------------------------------------- */

static int visitor_open(struct as_instance *i, const struct as_instance_args *args,
			struct as_err *err)
{
	(void)err;
	of(i)->type = as_target_fstype(args->target);
	return 0;
}

static void free_devices(struct visitor *v)
{
	as_mount_free(v->served);
	as_mount_free(v->memory);
	v->served = v->memory = NULL;
}

static void visitor_close(struct as_instance *i)
{
	free_devices(of(i));
}

static int make_served(struct visitor *v, struct as_err *err)
{
	v->socket = (struct visitor_socket){ .bd = { .ops = &socket_ops,
						     .size_bytes = v->size_bytes,
						     .sector_bytes = AS_DISK_SECTOR_BYTES } };
	return as_mount_new_served(v->type, &v->socket.bd, v->memory, &v->served, err);
}

/* Makes the device for disks like this one. */
static int get_device(struct visitor *v, struct as_disk *disk, bool served, struct as_err *err)
{
	int rc = 0;

	if (v->store != as_disk_store(disk) || v->size_bytes != as_disk_size(disk))
		free_devices(v);
	v->store = as_disk_store(disk);
	v->size_bytes = as_disk_size(disk);
	if (!v->memory)
		rc = as_mount_new_memory(v->type, disk, NULL, &v->memory, err);
	if (!rc && served && !v->served)
		rc = make_served(v, err);
	v->mount = served ? v->served : v->memory;
	return rc;
}

static int visitor_insert(struct as_instance *i, struct as_disk *disk, struct as_bd *above,
			  struct as_err *err)
{
	struct visitor *v = of(i);
	int rc = get_device(v, disk, above, err);

	if (!rc)
		rc = above ? as_mount_forget(v->mount, err) : as_mount_load(v->mount, disk, err);
	if (rc)
		return rc;
	v->disk = disk;
	if (above)
		plug(v, above);
	return 0;
}

static void visitor_read_ahead(struct as_instance *i, uint64_t off, uint64_t len)
{
	/* In memory, one request costs as much as many. */
	if (of(i)->mount == of(i)->served)
		as_mount_read_ahead(of(i)->mount, off, len);
}

static int visitor_eject(struct as_instance *i, struct as_err *err)
{
	struct visitor *v = of(i);
	struct as_disk *left = NULL;
	int rc = 0;

	if (v->mount == v->served)
		plug(v, NULL);
	/* A device that cannot be unmounted is not used again. */
	if (as_mount_mounted(v->mount)) {
		free_devices(v);
		rc = -EBUSY;
	} else if (v->mount == v->memory) {
		rc = as_mount_save(v->mount, &left, err);
		if (!rc)
			as_disk_restore(v->disk, left);
		as_disk_free(left);
	}
	v->mount = NULL;
	v->disk = NULL;
	return rc;
}

static const char *visitor_device(const struct as_instance *i)
{
	return as_mount_device(((const struct visitor *)i)->mount);
}

static struct as_medium *visitor_hold(struct as_instance *i)
{
	if (of(i)->mount == of(i)->served)
		as_mount_hold(of(i)->served);
	return NULL;
}

static void visitor_release(struct as_instance *i)
{
	if (of(i)->mount == of(i)->served)
		as_mount_release(of(i)->served);
}

/* ---- Mounting -------------------------------------------------------------------------------- */

/* Programs that examine every new device may have it open for a short time. */
static int mount_patiently(struct visitor *v, const char *how)
{
	int rc = -EBUSY;

	for (int i = 0; i < BUSY_ATTEMPTS && rc == -EBUSY; i++) {
		if (i)
			usleep(BUSY_WAIT_US);
		rc = as_mount_mount(v->mount, as_target_opts(v->base.args.target), how);
	}
	return rc;
}

static int visitor_mount(struct as_instance *i)
{
	return mount_patiently(of(i), "ro,noatime");
}

static int visitor_mount_writable(struct as_instance *i)
{
	return mount_patiently(of(i), "noatime");
}

static int visitor_mount_unreplayed(struct as_instance *i)
{
	struct as_buf how = { 0 };
	int rc;

	as_buf_addf(&how, "ro,noatime,%s", of(i)->type->unreplayed);
	rc = mount_patiently(of(i), as_buf_str(&how));
	as_buf_free(&how);
	return rc;
}

static int visitor_unmount(struct as_instance *i)
{
	if (!as_mount_mounted(of(i)->mount))
		return 0;
	as_assert(!chdir("/"));
	return as_mount_umount(of(i)->mount);
}

/* ---- The tree -------------------------------------------------------------------------------- */

static int visitor_enter(struct as_instance *i, struct as_instance_reader *reader)
{
	*reader = (struct as_instance_reader){ &as_tree_cwd_ops, of(i)->type->projects ? i : NULL };
	return chdir(as_mount_path(of(i)->mount)) ? -errno : 0;
}

/* A full disk, or the limits of an owner, may refuse a new file. */
static int visitor_probe(struct as_instance *i, const char *directory, const char **doing)
{
	int rc = as_tree_cwd_probe(directory);

	(void)i;
	*doing = "making and removing a file in a directory";
	return rc == -ENOSPC || rc == -EDQUOT ? 0 : rc;
}

const struct as_instance_ops as_instance_visitor = {
	.name = "visitor",
	.size_bytes = sizeof(struct visitor),
	.open = visitor_open,
	.close = visitor_close,
	.mount = visitor_mount,
	.unmount = visitor_unmount,
	.give_up = visitor_unmount,
	.device = visitor_device,
	.hold = visitor_hold,
	.release = visitor_release,
	.insert = visitor_insert,
	.read_ahead = visitor_read_ahead,
	.eject = visitor_eject,
	.mount_writable = visitor_mount_writable,
	.mount_unreplayed = visitor_mount_unreplayed,
	.enter = visitor_enter,
	.probe = visitor_probe,
};
