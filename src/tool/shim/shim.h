/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shim: the inside of the preloaded object, which makes one path a disk in shared memory for a
 * program that knows nothing of it. It stands between the program and the C library:
 *
 *	start.c   stops before main, forks a child for each run
 *	filter.c  what the kernel is to refuse
 *	paths.c   calls that name a file
 *	calls.c   calls on a descriptor
 *	maps.c    mapped ranges of the disk
 *	stdio.c   streams
 *	clock.c   time, sleep, process id, random numbers
 *	disk.c    the disk, its open files, the record
 *
 * Method. An open disk is a duplicate of the memfd's descriptor, so that whatever is not interposed
 * (fstat by another name, locks, closing by the C library) still does something sensible; offsets
 * are kept here, because all duplicates share one. Every call that reaches the disk is entered into
 * the record under one lock, which is recursive (a signal handler may do I/O) and robust (a process
 * may die in it).
 *
 * Only functions that the C library itself does not call internally can be interposed; that is why
 * fopen and statx stand here beside open and stat.
 */
#ifndef AS_TOOL_SHIM_SHIM_H
#define AS_TOOL_SHIM_SHIM_H

#include "tool/shim/proto.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SHIM_EXPORT __attribute__((visibility("default")))
/* A second name for a function; the types of the headers' declarations need not agree. */
#define SHIM_ALIAS(new, old) \
	__asm__(".globl " #new "\n.type " #new ",@function\n.set " #new ", " #old "\n")

/* ---- The C library's own functions, looked up once ---- */

struct shim_next {
#define NEXT(name) __typeof__(&name) name;
#include "tool/shim/next.def"
#undef NEXT
};

extern struct shim_next shim_next_table;
void shim_resolve(void);

/* Libraries may call before our own constructor has run. */
static inline const struct shim_next *shim_next(void)
{
	if (__builtin_expect(!shim_next_table.open, 0))
		shim_resolve();
	return &shim_next_table;
}

/* ---- The disk ---- */

struct shim_file {
	int64_t off;
	int flags; /* of open */
	int refs; /* descriptors */
};

extern struct as_shim_head *shim_head; /* NULL: no disk is served */
extern int shim_disk_fd; /* the memfd */
extern int shim_null_fd; /* /dev/null for reading and writing */

void shim_disk_setup(int disk_fd, int share_fd);
/* Before each run, in the server. */
void shim_disk_reset(void);
/* The disk's file behind a descriptor, or NULL. */
struct shim_file *shim_file(int fd);
/* A new descriptor of the disk; -1 and errno. */
int shim_disk_open(int flags);
/* fd, made by dup and the like, shares the file. */
void shim_file_share(struct shim_file *file, int fd);
void shim_file_drop(int fd);

/* All of these answer like the calls they stand for. */
ssize_t shim_disk_read(struct shim_file *file, void *buf, size_t len, int64_t off);
ssize_t shim_disk_write(struct shim_file *file, const void *buf, size_t len, int64_t off);
int shim_disk_flush(void);
int shim_disk_zero(int64_t off, int64_t len, bool discard);
void shim_disk_stat(struct stat *st);

void shim_lock(void);
void shim_unlock(void);
/* Enters what was done to the disk by other ways (mapped memory); the lock is held. */
void shim_record_write(const void *data, uint64_t off, uint64_t len);
void shim_record_read(uint64_t off, uint64_t len);

/* ---- The rest ---- */

bool shim_is_disk_path(const char *path);
/* A call that would change something but the disk: counts and notes it. Returns -1, EACCES. */
int shim_refuse(const char *what, const char *path);
/* A path to be opened: 0 as it is; -1 with errno refused; else a descriptor in its place. */
#define SHIM_OPEN_DISK (-2)
int shim_vet_open(const char *path, int flags);
/* Mapped ranges: whatever changed since the last look is entered into the record. */
void shim_maps_look(void);
void shim_clock_start(int64_t now_s);
extern bool shim_clock_on;
pid_t shim_real_pid(void);
/* Asks the kernel to refuse; false where it cannot. */
bool shim_filter_install(uint64_t secret);

#endif
