/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disk: the disk, its open files, and the record of what is done to it.
 *
 * Method of reading. Checkers read small blocks, and many of them: a system call for each would be
 * most of what a run costs. So the disk is mapped once, in the server, and blocks are copied from
 * there. Each run has page tables of its own, and a page fault costs as much as some calls: a
 * window of the disk (what the kernel maps at one fault) is read by calls at first.
 *
 * Invariants
 *   1. A copy is made only to memory that is known to be writable: the program's variables, the
 *      heap, and the stack in use.
 *      Anywhere else the kernel copies, and answers EFAULT to a wrong pointer as it always does.
 *   2. The lock may be left out as long as the program has one thread and has not forked.
 */
#include "tool/shim/shim.h"

#include "disk/call.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

struct as_shim_head *shim_head;
int shim_disk_fd = -1, shim_null_fd = -1;
bool shim_has_forked;
/* Of the C library, since 2.32; an older one leaves its address 0. */
extern char __libc_single_threaded __attribute__((weak));
extern void *__libc_stack_end;

/* Files never move, and there are few of them. Slot 0 is unused, so that a table of zeros has no
 * disk in it. */
#define MAX_FILES 256
static struct shim_file files[MAX_FILES];
static unsigned char file_of[AS_SHIM_MAX_FD];

static pthread_mutex_t *mutex(void)
{
	_Static_assert(sizeof(pthread_mutex_t) <= sizeof(shim_head->lock), "no room for the lock");
	return (pthread_mutex_t *)(void *)shim_head->lock;
}

bool shim_is_alone(void)
{
	return &__libc_single_threaded && __libc_single_threaded && !shim_has_forked;
}

void shim_lock(void)
{
	if (shim_is_alone())
		return;
	if (pthread_mutex_lock(mutex()) == EOWNERDEAD)
		pthread_mutex_consistent(mutex());
}

void shim_unlock(void)
{
	if (shim_is_alone())
		return;
	pthread_mutex_unlock(mutex());
}

void shim_disk_setup(int disk_fd, int share_fd)
{
	struct stat st;
	void *map;

	if (shim_next()->fstat(share_fd, &st))
		_exit(127);
	map = shim_next()->mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
				share_fd, 0);
	if (map == MAP_FAILED)
		_exit(127);
	shim_disk_fd = disk_fd;
	shim_head = map;
	shim_null_fd = shim_next()->fcntl(shim_next()->open("/dev/null", O_RDWR | O_CLOEXEC),
					  F_DUPFD_CLOEXEC, AS_SHIM_MAX_FD - 8);
}

/* ---- The mapped disk ---- */

#define PAGE_BYTES 4096u
#define WINDOW_BYTES (64u << 10) /* the kernel maps so much at one page fault */
#define MAP_MAX_BYTES (256u << 20)
#define CALLS 3u /* reads of a window by calls */
#define STACK_BYTES ((uintptr_t)4 << 20) /* below its end there is nothing but the stack */

static const unsigned char *mapped; /* NULL: it is not */
static uint64_t mapped_bytes;
static unsigned char reads_of[MAP_MAX_BYTES / WINDOW_BYTES];
static uintptr_t heap; /* all from here to the break belongs to it; 0: not known */
static uintptr_t data_from, data_to; /* the variables of the program */

uint64_t shim_disk_mapped(void)
{
	return mapped_bytes;
}

void shim_disk_forked(void)
{
	memset(reads_of, 0, (mapped_bytes + WINDOW_BYTES - 1) / WINDOW_BYTES);
}

void shim_disk_warm(void)
{
	memset(reads_of, CALLS, (mapped_bytes + WINDOW_BYTES - 1) / WINDOW_BYTES);
}

static void map_disk(void)
{
	uint64_t size = shim_head->disk_bytes;
	void *map;

	if (size == mapped_bytes)
		return;
	if (mapped_bytes)
		shim_next()->munmap((void *)(uintptr_t)mapped, mapped_bytes);
	mapped = NULL;
	mapped_bytes = 0;
	if (!size || size > MAP_MAX_BYTES)
		return;
	map = shim_next()->mmap(NULL, size, PROT_READ, MAP_SHARED, shim_disk_fd, 0);
	if (map == MAP_FAILED)
		return;
	mapped = map;
	mapped_bytes = size;
}

static bool is_writable(const void *buf, size_t len)
{
	uintptr_t at = (uintptr_t)buf, end = (uintptr_t)sbrk(0);
	uintptr_t here = (uintptr_t)&at, top = (uintptr_t)__libc_stack_end;

	if (heap && at >= heap && at < end && len <= end - at)
		return true;
	if (at >= data_from && at < data_to && len <= data_to - at)
		return true;
	return here < top && top - here < STACK_BYTES && at > here && at < top && len <= top - at;
}

/* Whether a range is to be copied from the mapped disk. */
static bool is_near(const void *buf, uint64_t len, int64_t off)
{
	uint64_t first = (uint64_t)off / WINDOW_BYTES;

	if (!mapped || (uint64_t)off + len > mapped_bytes || len > WINDOW_BYTES || !shim_is_alone())
		return false;
	if (reads_of[first] < CALLS) {
		reads_of[first]++;
		return false;
	}
	return is_writable(buf, len);
}

static int64_t fetch(void *buf, uint64_t len, int64_t off)
{
	if (!is_near(buf, len, off))
		return shim_next()->pread(shim_disk_fd, buf, len, off);
	memcpy(buf, mapped + off, len);
	return (int64_t)len;
}

/* ---- Before a run ---- */

/* The first object is the program. What is made read-only after it was linked does not count. */
static int find_data(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uintptr_t fixed = 0;

	(void)size;
	(void)ctx;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO)
			fixed = from + p->p_memsz;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		data_from = from;
		data_to = from + p->p_memsz;
	}
	if (data_from < fixed)
		data_from = (fixed + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
	return 1;
}

/* What constructors have allocated may be below: it is read by calls. */
static void find_memory(void)
{
	uintptr_t at;
	void *some;

	if (heap)
		return;
	dl_iterate_phdr(find_data, NULL);
	some = malloc(1);
	at = (uintptr_t)some;
	if (some && at < (uintptr_t)sbrk(0))
		heap = at;
	free(some);
}

void shim_disk_reset(void)
{
	pthread_mutexattr_t attr;

	memset(files, 0, sizeof(files));
	memset(file_of, 0, sizeof(file_of));
	map_disk();
	find_memory();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex(), &attr);
}

/* ---- Files ---- */

struct shim_file *shim_file(int fd)
{
	unsigned slot;

	if ((unsigned)fd >= AS_SHIM_MAX_FD)
		return NULL;
	slot = __atomic_load_n(&file_of[fd], __ATOMIC_ACQUIRE);
	return slot ? &files[slot] : NULL;
}

bool shim_disk_of(const char *path, struct shim_part *part)
{
	struct shim_part found = { .ino = 2 };
	size_t len;

	if (!shim_head || !path)
		return false;
	len = strlen(shim_head->path);
	if (strncmp(path, shim_head->path, len))
		return false;
	found.len = shim_head->disk_bytes - shim_head->journal_bytes;
	if (shim_head->journal_bytes && !strcmp(path + len, AS_SHIM_JOURNAL)) {
		found.off = found.len;
		found.len = shim_head->journal_bytes;
		found.ino++;
	} else if (path[len]) {
		return false;
	}
	if (part)
		*part = found;
	return true;
}

int shim_disk_open(const char *path, int flags)
{
	int fd = shim_next()->fcntl(shim_disk_fd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 3);
	struct shim_part part = { 0 };
	unsigned slot = 1;

	if (fd < 0)
		return -1;
	shim_disk_of(path, &part);
	shim_lock();
	while (slot < MAX_FILES && files[slot].refs)
		slot++;
	if (slot < MAX_FILES && fd < AS_SHIM_MAX_FD) {
		files[slot] = (struct shim_file){ .part = part, .flags = flags, .refs = 1 };
		__atomic_store_n(&file_of[fd], (unsigned char)slot, __ATOMIC_RELEASE);
	}
	shim_unlock();
	if (slot == MAX_FILES || fd >= AS_SHIM_MAX_FD) {
		shim_next()->close(fd);
		errno = EMFILE;
		return -1;
	}
	return fd;
}

void shim_file_share(struct shim_file *file, int fd)
{
	if ((unsigned)fd >= AS_SHIM_MAX_FD)
		return;
	shim_lock();
	file->refs++;
	__atomic_store_n(&file_of[fd], (unsigned char)(file - files), __ATOMIC_RELEASE);
	shim_unlock();
}

void shim_file_drop(int fd)
{
	struct shim_file *file = shim_file(fd);

	if (!file)
		return;
	shim_lock();
	__atomic_store_n(&file_of[fd], 0, __ATOMIC_RELEASE);
	file->refs--;
	shim_unlock();
}

/* ---- The record ---- */

/* Adds a record with room for data_len bytes; NULL when there is no room. The lock is held. */
static struct as_shim_record *enter(uint32_t kind, uint64_t off, uint64_t len, uint64_t data_len)
{
	uint64_t need = sizeof(struct as_shim_record) + ((data_len + 7) & ~UINT64_C(7));
	struct as_shim_record *rec;

	if (shim_head->overflowed)
		return NULL;
	if (need > shim_head->record_cap - shim_head->used) {
		shim_head->overflowed = 1;
		return NULL;
	}
	rec = (void *)((char *)shim_head + AS_SHIM_HEAD_BYTES + shim_head->used);
	*rec = (struct as_shim_record){
		.kind = kind, .ret = AS_SHIM_BEGUN, .off = off, .len = len, .room = data_len
	};
	__atomic_store_n(&shim_head->used, shim_head->used + need, __ATOMIC_RELEASE);
	return rec;
}

static void complete(struct as_shim_record *rec, const void *data, int ret)
{
	if (!rec)
		return;
	if (data && !ret)
		memcpy(rec + 1, data, rec->len);
	__atomic_store_n(&rec->ret, ret, __ATOMIC_RELEASE);
}

void shim_record_write(const void *data, uint64_t off, uint64_t len)
{
	complete(enter(AS_CALL_WRITE, off, len, len), data, 0);
}

void shim_record_read(uint64_t off, uint64_t len)
{
	if (shim_head->flags & AS_SHIM_READS)
		complete(enter(AS_CALL_READ, off, len, 0), NULL, 0);
}

/* ---- I/O ---- */

static bool may(const struct shim_file *file, int not_this_mode)
{
	if (!(file->flags & O_PATH) && (file->flags & O_ACCMODE) != not_this_mode)
		return true;
	errno = EBADF;
	return false;
}

/* How much of a range is on the disk: 0 after its end, negative for a wrong offset. */
static int64_t clip(const struct shim_file *file, size_t len, int64_t off)
{
	uint64_t size = file->part.len;

	if (off < 0) {
		errno = EINVAL;
		return -1;
	}
	if ((uint64_t)off >= size)
		return 0;
	return (int64_t)(len < size - (uint64_t)off ? len : size - (uint64_t)off);
}

ssize_t shim_disk_read(struct shim_file *file, void *buf, size_t len, int64_t off)
{
	struct as_shim_record *rec = NULL;
	int64_t n = may(file, O_WRONLY) ? clip(file, len, off) : -1;
	int saved;

	if (n <= 0)
		return n;
	off += (int64_t)file->part.off;
	shim_stop_at(off, (uint64_t)n);
	shim_lock();
	if (shim_head->flags & AS_SHIM_READS)
		rec = enter(AS_CALL_READ, (uint64_t)off, (uint64_t)n, 0);
	if (++shim_head->reads == shim_head->fail_read) {
		n = -1;
		errno = EIO;
	} else {
		n = fetch(buf, (uint64_t)n, off);
	}
	saved = errno;
	if (rec && n > 0)
		rec->len = (uint64_t)n;
	complete(rec, NULL, n < 0 ? -saved : 0);
	shim_unlock();
	errno = saved;
	return n;
}

/* The lock is held. */
static void flush(const struct shim_part *part)
{
	bool all = !part || !shim_head->journal_bytes;

	complete(enter(AS_CALL_FLUSH, all ? 0 : part->off, all ? 0 : part->len, 0), NULL, 0);
}

ssize_t shim_disk_write(struct shim_file *file, const void *buf, size_t len, int64_t off)
{
	struct as_shim_record *rec;
	int64_t n = may(file, O_RDONLY) ? clip(file, len, off) : -1;
	int saved;

	if (n < 0 || !len)
		return n;
	if (!n) {
		errno = ENOSPC;
		return -1;
	}
	off += (int64_t)file->part.off;
	shim_stop_at(off, (uint64_t)n);
	shim_lock();
	rec = enter(AS_CALL_WRITE, (uint64_t)off, (uint64_t)n, (uint64_t)n);
	n = shim_next()->pwrite(shim_disk_fd, buf, (size_t)n, off);
	saved = errno;
	if (rec && n > 0)
		rec->len = (uint64_t)n;
	complete(rec, buf, n < 0 ? -saved : 0);
	if (n > 0 && file->flags & (O_SYNC | O_DSYNC))
		flush(&file->part);
	shim_unlock();
	errno = saved;
	return n;
}

int shim_disk_flush(const struct shim_part *part)
{
	shim_lock();
	shim_maps_look();
	flush(part);
	shim_unlock();
	return 0;
}

int shim_disk_zero(struct shim_file *file, int64_t off, int64_t len, bool discard)
{
	struct as_shim_record *rec;
	int64_t n = len <= 0 ? -1 : clip(file, (size_t)len, off);
	int rc = 0, saved;

	if (n < 0) {
		errno = EINVAL;
		return -1;
	}
	if (!n)
		return 0;
	off += (int64_t)file->part.off;
	shim_stop_at(off, (uint64_t)n);
	shim_lock();
	rec = enter(discard ? AS_CALL_DISCARD : AS_CALL_ZERO, (uint64_t)off, (uint64_t)n, 0);
	rc = shim_next()->fallocate(shim_disk_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off,
				    n);
	saved = errno;
	complete(rec, NULL, rc ? -saved : 0);
	shim_unlock();
	errno = saved;
	return rc;
}

/* Looks like a file of that size, or like a block device. Nothing in it depends on time or
 * machine. */
void shim_disk_stat(const struct shim_part *part, struct stat *st)
{
	bool block = shim_head->flags & AS_SHIM_BLOCK;

	memset(st, 0, sizeof(*st));
	st->st_dev = 0x4153;
	st->st_ino = part->ino;
	st->st_nlink = 1;
	st->st_mode = (block ? S_IFBLK : S_IFREG) | 0600;
	st->st_rdev = block ? 0x4152 + part->ino : 0;
	st->st_size = block ? 0 : (off_t)part->len;
	st->st_blksize = 4096;
	st->st_blocks = block ? 0 : (blkcnt_t)(part->len / 512);
	st->st_atim.tv_sec = st->st_mtim.tv_sec = st->st_ctim.tv_sec = shim_head->now_s;
}
