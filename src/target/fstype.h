/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fstype: the file system types of the Linux kernel that we know, one row each in fstype.def: how
 * they are made, mounted and checked. What the model has to know about them stands in the same rows
 * and is read by vfs/traits.c.
 */
#ifndef AS_TARGET_FSTYPE_H
#define AS_TARGET_FSTYPE_H

#include "base/buf.h"
#include "base/err.h"
#include "target/checker_exits.h"

#include <stdbool.h>
#include <stdint.h>

/* What a type promises of a tree after a power cut, when nothing was synced. */
enum as_guarantee {
	AS_GUARANTEE_PREFIX, /* metadata as it was after some operation, in order */
	AS_GUARANTEE_OBJECT, /* each file and directory as it was at some moment of its own */
	AS_GUARANTEE_REPAIR, /* whatever its checker makes of the disk */
};

/* Journals whose layout is known: what of it a replay looks at can be told (recover/jbd2.h). */
enum as_journal { AS_JOURNAL_OTHER, AS_JOURNAL_JBD2 };
/* What else it promises after a power cut, or does not. */
enum as_crash_trait {
	/* fsync of a file makes its names stable too: those it got, and that it lost others. POSIX
	 * does not ask for that (fsync(2), NOTES: "does not necessarily ensure that the entry in
	 * the directory ... has also reached disk"). */
	AS_CRASH_NAMES = 1,
	/* Data need not be on the disk before the metadata that leads to it: a file may show what
	 * lay in its blocks before. */
	AS_CRASH_STALE = 2,
	/* Its checker puts what it finds without a name into lost+found. */
	AS_CRASH_RESCUES = 4,
	/* sync(2) and umount(2) wait until all is written, but send no flush: what they promise
	 * holds only on a disk without a cache, so that is what they get. fsync(2) sends one. */
	AS_CRASH_NO_FLUSH = 8,
};

/* quick: what a machine does when it boots, default: repair what shows, full: look at
 * everything. */
enum as_check_mode { AS_CHECK_QUICK, AS_CHECK_DEFAULT, AS_CHECK_FULL, AS_CHECK_MODES };

struct as_checker {
	/* Words separated by blanks; {disk} is the disk's path. NULL: there is none. */
	const char *command;
	/* "0=clean 1=repaired 4=left 5=repaired+left"; all else means that it failed. */
	const char *exits;
	const char *input; /* what it must be told on standard input; NULL: nothing */
	/* Where every repair (a line with "? yes") has these words, nothing was wrong; or NULL. */
	const char *harmless;
	bool direct; /* opens with O_DIRECT, which a file on tmpfs may refuse: it gets a device */
};

struct as_fstype {
	const char *name; /* what a person types */
	const char *help; /* a few words */
	const char *type; /* for mount(2) */
	const char *modules; /* of the kernel, in the order to load them, where not built in */
	const char *mkfs; /* as a checker's command; {size} is the disk's size in bytes */
	const char *env; /* of mkfs: "A=1 B=2", may be NULL */
	const char *package; /* Debian's, of mkfs and the checkers */
	uint64_t min_bytes, default_bytes;
	uint32_t block_bytes; /* of its smallest unit of data as mkfs above makes it */
	struct as_checker check[AS_CHECK_MODES];
	/* The full one rewrites the disk whatever it finds: the quick one judges. */
	bool full_rebuilds;
	/* After a power cut the quick one replays the log; the kernel does not. */
	bool replayed_by_checker;
	/* All of them can be run on a disk as a power cut left it: they replay the log as the
	 * kernel does, and must come to the same tree. */
	bool checker_replays;
	enum as_journal journal;
	const char *mount; /* options of every mount, "" for none */
	const char *draw; /* options worth trying, separated by blanks */
	enum as_guarantee guarantee;
	unsigned crash; /* enum as_crash_trait */
	/* A FUSE server that serves it, in place of the kernel (target/server.h): {disk} is the
	 * disk's path, {src} an empty directory for one that passes on, {mnt} where it mounts. */
	const char *server;
	const char *impossible; /* why it cannot be mounted from a disk of ours; NULL: it can */
};

/* NULL: not there. */
const struct as_fstype *as_fstype_find(const char *name);
/* Row i, or NULL behind the last. */
const struct as_fstype *as_fstype_at(unsigned i);
/* Its row's number; behind the last for one that is not of the table. */
unsigned as_fstype_index(const struct as_fstype *type);

/* The words of a command of the table for execvp(3), each allocated, with a NULL at the end. */
char **as_fstype_argv(const char *command, const char *disk, uint64_t size_bytes);
/* The environment that mkfs wants, in the same form; PATH and a fixed locale are in it. */
char **as_fstype_envp(const struct as_fstype *type);
void as_fstype_free_words(char **words); /* takes NULL */

const char *as_check_mode_name(enum as_check_mode mode);
const char *as_guarantee_name(enum as_guarantee guarantee);

/* What is missing to make such a disk (a package), or ever to mount one: false and nothing in *why
 * when all is there. */
bool as_fstype_lacks_tools(const struct as_fstype *type, struct as_buf *why);
/* The same for this program: whether disks can be served at all. */
bool as_fstype_lacks_build(struct as_buf *why);
/* The same for the kernel that runs us: the driver, the rights, FUSE and loop devices. */
bool as_fstype_lacks_host(const struct as_fstype *type, struct as_buf *why);

#endif
