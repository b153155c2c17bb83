/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shim: the preloaded object. It makes one path, or two, a disk in shared memory for a program that
 * does not know of it. It is between the program and the C library:
 *
 *	start.c   stops before main, forks a child for each run
 *	filter.c  what the kernel is to refuse
 *	paths.c   calls that name a file
 *	calls.c   calls on a descriptor
 *	maps.c    mapped ranges of the disk
 *	stdio.c   streams
 *	clock.c   time, sleep, process id, random numbers
 *	disk.c    the disk, its open files, the record
 *	stop.c    where a run stops, to be forked
 *	rewind.c  a run that has ended goes back there
 *
 * Method. An open disk is a duplicate of the memfd's descriptor, so that a call that is not
 * interposed (fstat by another name, locks, closing by the C library) still works. Offsets are kept
 * here, because all duplicates share one. Every call that reaches the disk is added to the record
 * under one lock, which is recursive (a signal handler may do I/O) and robust (a process may die
 * while it holds it).
 *
 * A call inside the C library cannot be interposed: fopen() does not call our open(). That is why
 * fopen and statx are here beside open and stat.
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
/* A second name for a function. Its type may differ from the declaration in a header. */
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

/* Constructors of libraries may call these before our own constructor has run. */
static inline const struct shim_next *shim_next(void)
{
	if (__builtin_expect(!shim_next_table.open, 0))
		shim_resolve();
	return &shim_next_table;
}

/* ---- The disk ---- */

/* A disk is a part of the memfd: all of it, or there are two. */
struct shim_part {
	uint64_t off, len;
	ino_t ino;
};

struct shim_file {
	struct shim_part part;
	int64_t off;
	int flags; /* of open */
	int refs; /* descriptors */
};

extern struct as_shim_head *shim_head; /* NULL: no disk is served */
extern int shim_disk_fd; /* the memfd */
extern int shim_null_fd; /* /dev/null for reading and writing */

void shim_disk_setup(int disk_fd, int share_fd);
/* Called before each run, in the server. */
void shim_disk_reset(void);
/* Called in a run that was forked in its middle: its page tables do not have the mapped disk. */
void shim_disk_forked(void);
/* Called in a run that was brought back: they have it. */
void shim_disk_warm(void);
/* How much of the address space the shim's own view of the disk takes. */
uint64_t shim_disk_mapped(void);
extern bool shim_has_forked; /* the program has, once at least */
/* The disk's file of a descriptor, or NULL. */
struct shim_file *shim_file(int fd);
/* Finds the disk of that name; false: there is none. `part` may be NULL. */
bool shim_disk_of(const char *path, struct shim_part *part);
/* Returns a new descriptor of a disk, or -1 with errno. */
int shim_disk_open(const char *path, int flags);
/* The descriptor fd, which was made by dup or a similar call, gets the same file. */
void shim_file_share(struct shim_file *file, int fd);
void shim_file_drop(int fd);

/* Each of these answers like the call that it replaces. */
ssize_t shim_disk_read(struct shim_file *file, void *buf, size_t len, int64_t off);
ssize_t shim_disk_write(struct shim_file *file, const void *buf, size_t len, int64_t off);
int shim_disk_flush(const struct shim_part *part); /* NULL: all disks */
int shim_disk_zero(struct shim_file *file, int64_t off, int64_t len, bool discard);
void shim_disk_stat(const struct shim_part *part, struct stat *st);

/* Called before a range of the disk is read or changed, without the lock: where the run is to stop
 * there, it returns once in each process that is forked. */
void shim_stop_at(int64_t off, uint64_t len);
void shim_stop_setup(int control_fd);
/* Files that are open get the offsets that they had at the stop. */
void shim_stop_set_offsets(void);
/* From here on the run comes back when it ends, as often as the control socket says. False: it
 * cannot. It returns once for each run. */
bool shim_rewind_begin(int control_fd);
/* For on_exit(). */
void shim_rewind_at_exit(int status, void *ctx);
/* Whether a descriptor is one that must stay open. */
bool shim_rewind_is_ours(int fd);
/* For a server: waits for the end of a process and of its group, and gives its status. */
int shim_finish(pid_t pid);
/* For a process that was forked by `server`: it leads a group of its own and dies with it. */
void shim_begin_run(pid_t server);

/* Nobody else can touch the disk or the record: one thread, and no fork. */
bool shim_is_alone(void);
void shim_lock(void);
void shim_unlock(void);
/* Records a change of the disk that was made in another way (mapped memory); the lock is held. */
void shim_record_write(const void *data, uint64_t off, uint64_t len);
void shim_record_read(uint64_t off, uint64_t len);

/* ---- The rest ---- */

/* Counts and notes a call that would change something other than the disk. Returns -1, EACCES. */
int shim_refuse(const char *what, const char *path);
/* What to do with a path that is opened. 0: open it; -1 with errno: refuse it; else a descriptor to
 * return. */
#define SHIM_OPEN_DISK (-2)
int shim_vet_open(const char *path, int flags);
/* Adds everything to the record that has changed in mapped ranges since the last look. */
void shim_maps_look(void);
void shim_clock_start(int64_t now_s);
extern bool shim_clock_on;
pid_t shim_real_pid(void);
/* Installs the kernel's filter; false: the kernel has none. */
bool shim_filter_install(uint64_t secret);

#endif
