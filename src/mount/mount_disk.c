/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount_disk: the disk of a mount: a medium that a thread of ours serves, or a file in memory that
 * the medium is brought up to date from.
 */
#include "mount/mount_priv.h"

#include "disk/log.h"
#include "disk/loop.h"
#include "disk/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void as_mount_lock(struct as_mount *m)
{
	struct as_disk *now;

	if (m->serve) {
		as_serve_lock(m->serve);
	} else if (m->medium && !m->mounted && !as_loop_save(m->loop, &now, NULL)) {
		as_disk_restore(as_medium_disk(m->medium), now);
		as_disk_free(now);
	}
}

void as_mount_unlock(struct as_mount *m)
{
	if (m->serve)
		as_serve_unlock(m->serve);
}

int as_mount_restore(struct as_mount *m, struct as_disk *disk, struct as_err *err)
{
	as_assert(!m->mounted);
	if (!m->serve) {
		as_disk_restore(as_medium_disk(m->medium), disk);
		return as_mount_load(m, as_medium_disk(m->medium), err);
	}
	as_serve_lock(m->serve);
	as_disk_restore(as_medium_disk(m->medium), disk);
	as_serve_unlock(m->serve);
	return as_mount_forget(m, err);
}

struct as_medium *as_mount_medium(struct as_mount *m)
{
	as_mount_lock(m);
	return m->medium;
}

void as_mount_hold(struct as_mount *m)
{
	as_serve_lock(m->serve);
}

void as_mount_release(struct as_mount *m)
{
	as_mount_unlock(m);
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

void as_mount_write_back(struct as_mount *m, bool flush)
{
	for (const struct as_loop *loop = m->loop; loop; loop = as_loop_second(loop)) {
		int fd = as_loop_fd(loop);

		/* What fails here is told to the file system, too, or to nobody. */
		if (flush)
			(void)fsync(fd);
		else
			(void)sync_file_range(fd, 0, 0,
					      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
						      SYNC_FILE_RANGE_WAIT_AFTER);
	}
}

/* By /proc/cpuinfo, which names the machine that User-Mode Linux is. */
static bool look_for_guest(void)
{
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, "User Mode Linux");
}

bool as_mount_is_guest(void)
{
	static int known = -1;

	if (known < 0)
		known = look_for_guest();
	return known;
}

void as_mount_write_soon(bool soon)
{
	static const struct {
		const char *file, *soon, *usual; /* hundredths of a second */
	} limits[] = {
		{ "/proc/sys/vm/dirty_expire_centisecs", "1", "3000" },
		{ "/proc/sys/vm/dirty_writeback_centisecs", "1", "500" },
	};

	if (!as_mount_is_guest())
		return;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const char *value = soon ? limits[i].soon : limits[i].usual;
		int fd = open(limits[i].file, O_WRONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (write(fd, value, strlen(value)) < 0)
			as_assert(errno != EBADF);
		close(fd);
	}
}

void as_mount_flush(struct as_mount *m)
{
	as_serve_lock(m->serve);
	(void)as_bd_flush(as_medium_bd(m->medium));
	as_serve_unlock(m->serve);
}

void as_mount_read_ahead(struct as_mount *m, uint64_t off, uint64_t len)
{
	if (m->loop)
		as_loop_read_ahead(m->loop, off, len);
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

int as_mount_dump(struct as_mount *m, void *area, size_t room_bytes, size_t *len_bytes,
		  struct as_err *err)
{
	as_assert(!m->mounted && !m->serve);
	return as_loop_dump(m->loop, area, room_bytes, len_bytes, err);
}

const char *as_mount_device(const struct as_mount *m)
{
	const char *path = m->loop ? as_loop_path(m->loop) : "", *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void as_mount_before_map(struct as_mount *m)
{
	if (!m->serve)
		return;
	as_serve_settle(m->serve);
	if (m->medium)
		as_medium_expect_writes(m->medium);
}
