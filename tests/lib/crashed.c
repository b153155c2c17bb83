/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crashed: see crashed.h. */
#include "tests/lib/crashed.h"

void t_put_file(const char *path, size_t len, int fill, bool sync)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
	char *data = malloc(len + 1);

	child_check(fd >= 0 && data);
	memset(data, fill, len);
	child_check(write(fd, data, len) == (ssize_t)len);
	child_check(!sync || !fsync(fd));
	child_check(!close(fd));
	free(data);
}

static void sync_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	child_check(fd >= 0 && !fsync(fd) && !close(fd));
}

static void work_in_cwd(void)
{
	child_check(!mkdir("a", 0755) && !mkdir("b", 0755));
	t_put_file("a/one", 1000, 1, true);
	t_put_file("a/two", 5000, 2, true);
	child_check(!rename("a/one", "b/one"));
	sync_dir("b");
	child_check(!link("a/two", "b/link") && !symlink("a/two", "b/text"));
	t_put_file("b/three", 3000, 3, true);
	child_check(!unlink("a/two"));
	t_put_file("a/four", 100, 4, true);
	sync_dir("a");
}

struct crashed t_crash_type(const char *spec)
{
	struct crashed c = { 0 };
	const struct as_perm_options options = { .t = AS_PERM_T,
						 .trials = AS_PERM_TRIALS,
						 .sector_bytes = 512 };
	struct as_mount *m;

	child_ok(as_target_open(spec, &c.target, &t_child_err));
	c.type = as_target_fstype(c.target);
	child_ok(as_medium_new(c.type->min_bytes, &c.medium, &t_child_err));
	child_ok(as_fresh_disk(c.type, NULL, c.medium, NULL, &t_child_err));
	c.start = as_disk_snapshot((struct as_disk *)as_medium_disk(c.medium));
	as_medium_record(c.medium, 0);
	child_ok(as_mount_new(c.type, c.medium, &m, &t_child_err));
	child_ok(as_mount_mount(m, "", ""));
	child_ok(as_mount_enter(m, &t_child_err));
	work_in_cwd();
	child_ok(as_mount_leave(m, &t_child_err));
	child_ok(as_mount_umount(m));
	as_mount_free(m);
	c.perm = as_perm_new(as_medium_log(c.medium), c.start, &options);
	return c;
}

void t_crashed_free(struct crashed *c)
{
	as_perm_free(c->perm);
	as_disk_free(c->start);
	as_medium_free(c->medium);
	as_target_free(c->target);
}

unsigned t_each_state(struct crashed *c, enum as_view view, unsigned step,
		      bool (*fn)(void *ctx, struct as_disk *disk, size_t cut), void *ctx)
{
	struct as_perm_state state;
	unsigned n = 0, used = 0;

	for (size_t cut = 0; cut < as_perm_cuts(c->perm); cut++) {
		as_perm_begin(c->perm, view, cut, false);
		while (as_perm_next(c->perm, &state)) {
			struct as_disk *disk;
			bool more;

			if (n++ % step)
				continue;
			disk = as_perm_disk(c->perm);
			more = fn(ctx, disk, cut);
			as_disk_free(disk);
			used++;
			if (!more)
				return used;
		}
	}
	return used;
}
