/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_map: mappings through system calls. A load or a store goes page by page, from the first to
 * the last; a page that raises SIGBUS ends it there.
 *
 * The signal. Where a thread goes on is the thread's own (`faulted`); who handles the signal is
 * decided for the process. So the handler is installed by the first thread that touches pages and
 * taken away by the last one: while nobody does, it is that of somebody else. A signal of a thread
 * that touches none is not ours: it is passed on to the handler from before.
 *
 * A descriptor with O_PATH, kept beside the mapping, tells how long the file is now. It holds no
 * open file, so that closing the last descriptor is what it is without us.
 */
#include "vfs/sys_priv.h"

#include "mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u

struct as_sys_map {
	char *at; /* NULL: none */
	uint64_t len;
	int64_t off, prot;
	int file; /* with O_PATH */
};

static void expect_map(struct as_vfs *vfs)
{
	struct as_sys *s = (struct as_sys *)vfs;

	if (s->mount)
		as_mount_before_map(s->mount);
}

bool as_sys_mapped(const struct as_sys *s)
{
	for (size_t i = 0; s->maps && i <= AS_SLOT_MAX; i++)
		if (s->maps[i].at)
			return true;
	return false;
}

/* munmap(2) needs memory, and a mapping that stays keeps the mount busy. What fails in one
 * operation fails once, so the second call works. */
static void give_back(char *at, size_t len)
{
	if (munmap(at, len) && errno == ENOMEM)
		munmap(at, len);
}

static void unmap(struct as_sys_map *map)
{
	if (!map->at)
		return;
	give_back(map->at, map->len);
	close(map->file);
	map->at = NULL;
}

void as_sys_unmap_all(struct as_sys *s)
{
	for (size_t i = 0; s->maps && i <= AS_SLOT_MAX; i++)
		unmap(&s->maps[i]);
}

/* NULL: the slot has none. */
static struct as_sys_map *map_at(struct as_vfs *vfs, int32_t slot)
{
	struct as_sys *s = (struct as_sys *)vfs;

	if (slot < 0 || slot > AS_SLOT_MAX || !s->maps || !s->maps[slot].at)
		return NULL;
	return &s->maps[slot];
}

static int open_beside(const struct as_sys *s, int fd)
{
	char name[32];

	snprintf(name, sizeof(name), "%d", fd);
	return openat(s->proc_fd, name, O_PATH | O_CLOEXEC);
}

void as_sys_mmap(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_sys *s = (struct as_sys *)vfs;
	int fd = as_sys_fd(vfs, op->fd), beside;
	char *at;

	if (op->flags & ~(int64_t)AS_PROT_BOTH || !(op->flags & AS_PROT_READ)) {
		as_vfs_answer(out, -EINVAL);
		return;
	}
	if (!s->maps)
		s->maps = as_xcalloc(AS_SLOT_MAX + 1, sizeof(*s->maps));
	unmap(&s->maps[op->fd]);
	expect_map(vfs);
	at = (char *)as_sys_do(vfs, mmap, 0, op->len, (int)op->flags, MAP_SHARED, fd,
			       (uint64_t)op->off);
	if (at == MAP_FAILED) {
		as_sys_answer(out, -1);
		return;
	}
	beside = open_beside(s, fd);
	if (beside < 0) {
		as_sys_answer(out, -1);
		give_back(at, op->len);
		return;
	}
	s->maps[op->fd] = (struct as_sys_map){ at, op->len, op->off, op->flags, beside };
	as_vfs_answer(out, 0);
}

/* ---- Touching pages -------------------------------------------------------------------------- */

static _Thread_local sigjmp_buf faulted;
static _Thread_local volatile sig_atomic_t touching;
static pthread_mutex_t catching = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_catching;
static struct sigaction others;

/* Not ours: what was installed before decides. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };

	if (others.sa_flags & (int)SA_RESETHAND || others.sa_handler == SIG_DFL ||
	    others.sa_handler == SIG_IGN)
		sigaction(number, &usual, NULL);
	if (others.sa_flags & SA_SIGINFO)
		others.sa_sigaction(number, info, context);
	else if (others.sa_handler != SIG_DFL && others.sa_handler != SIG_IGN)
		others.sa_handler(number);
}

static void on_bus(int number, siginfo_t *info, void *context)
{
	if (touching)
		siglongjmp(faulted, 1);
	pass_on(number, info, context);
}

static void begin_catching(void)
{
	/* On the thread's own stack: a jump from another one would make AddressSanitizer read
	 * /proc, which a confined child cannot see. */
	struct sigaction catch = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	sigemptyset(&catch.sa_mask);
	pthread_mutex_lock(&catching);
	/* Known before ours is there: until then a fault of another thread is passed on to it. */
	if (!n_catching++) {
		sigaction(SIGBUS, NULL, &others);
		sigaction(SIGBUS, &catch, NULL);
	}
	pthread_mutex_unlock(&catching);
	touching = 1;
}

static void end_catching(void)
{
	touching = 0;
	pthread_mutex_lock(&catching);
	if (!--n_catching)
		sigaction(SIGBUS, &others, NULL);
	pthread_mutex_unlock(&catching);
}

struct map_touch {
	char *map; /* in the mapping */
	char *to; /* a load */
	const char *from; /* a store */
	uint64_t left; /* a store: bytes before the end of the file, from its beginning on */
};

/* One page of it: whether it could be touched. */
static bool touch_page(const struct map_touch *t, size_t done, size_t n)
{
	volatile char *byte = t->map + done;
	size_t stored = t->left > done ? t->left - done : 0;

	if (sigsetjmp(faulted, 1))
		return false;
	if (t->to) {
		memcpy(t->to + done, t->map + done, n);
		return true;
	}
	/* Also where nothing is stored, the page is touched. */
	(void)*byte;
	memcpy(t->map + done, t->from + done, stored < n ? stored : n);
	return true;
}

/* How many bytes could be touched. `start`: where in its page the first one lies. */
static size_t touch(const struct map_touch *t, uint64_t start, size_t len)
{
	volatile size_t done = 0;

	begin_catching();
	while (done < len) {
		size_t n = PAGE - (start + done) % PAGE;

		n = n < len - done ? n : len - done;
		if (!touch_page(t, done, n))
			break;
		done += n;
	}
	end_catching();
	return done;
}

static int64_t touched(const struct map_touch *t, uint64_t start, size_t len)
{
	size_t done = touch(t, start, len);

	return done || !len ? (int64_t)done : -ENXIO;
}

/* What the format decides before a page is touched. */
static int check(const struct as_sys_map *map, const struct as_op *op, int64_t prot)
{
	if (!map)
		return -EINVAL;
	if (!(map->prot & prot) || op->off < 0 || (uint64_t)op->off > map->len ||
	    op->len > map->len - (uint64_t)op->off)
		return -EFAULT;
	return 0;
}

void as_sys_mstore(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys_map *map = map_at(vfs, op->fd);
	int rc = check(map, op, AS_PROT_WRITE);
	struct map_touch t = { 0 };
	struct stat st;
	uint64_t at;

	if (!rc && as_sys_look(map->file, &st))
		rc = -errno;
	if (rc) {
		as_vfs_answer(out, rc);
		return;
	}
	at = (uint64_t)map->off + (uint64_t)op->off;
	as_buf_clear(&vfs->data);
	t.map = map->at + op->off;
	t.from = as_buf_reserve(&vfs->data, op->len + 1);
	t.left = (uint64_t)st.st_size > at ? (uint64_t)st.st_size - at : 0;
	as_pattern_fill(op->fill, at, (char *)(uintptr_t)t.from, op->len);
	as_vfs_answer(out, touched(&t, at % PAGE, op->len));
}

void as_sys_mload(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys_map *map = map_at(vfs, op->fd);
	int rc = check(map, op, AS_PROT_READ);
	struct map_touch t = { 0 };

	if (rc) {
		as_vfs_answer(out, rc);
		return;
	}
	as_buf_clear(&vfs->data);
	t.map = map->at + op->off;
	t.to = as_buf_reserve(&vfs->data, op->len + 1);
	as_vfs_answer_bytes(vfs, out,
			    touched(&t, ((uint64_t)map->off + (uint64_t)op->off) % PAGE, op->len));
}

void as_sys_msync(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys_map *map = map_at(vfs, op->fd);

	if (!map)
		as_vfs_answer(out, -EINVAL);
	else
		as_sys_answer(out, as_sys_do(vfs, msync, SYS_P(map->at), map->len, (int)op->flags));
}

void as_sys_munmap(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_sys_map *map = map_at(vfs, op->fd);

	as_vfs_answer(out, map ? 0 : -EINVAL);
	if (map)
		unmap(map);
}

/* ---- A mapping for one store ----------------------------------------------------------------- */

/* What the format decides before mmap(2): negative errno or 0. */
static int mmap_check(int fd, const struct as_op *op)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH)
		return -EBADF;
	if (!op->len || op->off < 0 || (op->flags & AS_MS_BOTH) == AS_MS_BOTH)
		return -EINVAL;
	if (as_sys_look(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode) && (flags & O_ACCMODE) == O_RDWR &&
	    (op->len > (uint64_t)st.st_size || op->off > st.st_size - (off_t)op->len))
		return -ENXIO;
	/* Some types check this flag when a page is first written; the store would get SIGBUS. */
	return as_sys_immutable(fd) ? -EPERM : 0;
}

void as_sys_mmap_write(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int fd = as_sys_fd(vfs, op->fd), rc = mmap_check(fd, op);
	long page = sysconf(_SC_PAGESIZE);
	off_t start = op->off - op->off % page;
	size_t head = (size_t)(op->off - start), len = head + op->len, done;
	struct map_touch t = { .left = op->len };
	char *map;

	if (rc) {
		as_vfs_answer(out, rc);
		return;
	}
	expect_map(vfs);
	map = (char *)as_sys_do(vfs, mmap, 0, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				(uint64_t)start);
	if (map == MAP_FAILED) {
		as_sys_answer(out, -1);
		return;
	}
	as_buf_clear(&vfs->data);
	t.map = map + head;
	t.from = as_buf_reserve(&vfs->data, op->len);
	as_pattern_fill(op->fill, (uint64_t)op->off, (char *)(uintptr_t)t.from, op->len);
	done = touch(&t, head, op->len);
	if (done < op->len)
		rc = -ENXIO;
	else if (op->flags && as_sys_do(vfs, msync, SYS_P(map), len, (int)op->flags))
		rc = -errno;
	give_back(map, len);
	as_vfs_answer(out, rc);
	if (rc == -ENXIO && done < op->len)
		out->done = done;
}
