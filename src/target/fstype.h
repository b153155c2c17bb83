/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fstype: the file system types of the Linux kernel that we know, one row each in fstype.def: how
 * they are made, mounted and checked. What the model has to know about them is in the same rows and
 * is read by vfs/traits.c.
 */
#ifndef AS_TARGET_FSTYPE_H
#define AS_TARGET_FSTYPE_H

#include "base/buf.h"
#include "base/err.h"
#include "target/checkers.h"

#include <stdbool.h>
#include <stdint.h>

/* What a type promises about the tree after a power cut when nothing was synced. */
enum as_guarantee {
	AS_GUARANTEE_PREFIX, /* metadata as it was after some operation, in order */
	AS_GUARANTEE_OBJECT, /* each file and directory as it was at some moment of its own */
	AS_GUARANTEE_REPAIR, /* whatever its checker makes of the disk */
};

/* Journals whose layout we know: of one we can say which blocks a replay looks at (recover/jbd2.h),
 * of the other what in it was drawn at random (recover/xfs_log.h). */
enum as_journal { AS_JOURNAL_OTHER, AS_JOURNAL_JBD2, AS_JOURNAL_XFS };
/* Layouts of disks that we can read (layout/layout.h). */
enum as_disk_layout { AS_DISK_OTHER, AS_DISK_LAB, AS_DISK_EXT, AS_DISK_LAYOUTS };
/* What else a type promises after a power cut, or does not promise. */
enum as_crash_trait {
	/* fsync of a file makes its names stable, too: the names that it got, and the loss of
	 * others. POSIX does not ask for that (fsync(2), NOTES: "does not necessarily ensure that
	 * the entry in the directory ... has also reached disk"). */
	AS_CRASH_NAMES = 1,
	/* Data need not be on the disk before the metadata that leads to it: a file may show what
	 * was in its blocks before. */
	AS_CRASH_STALE = 2,
	/* Its checker puts what it finds without a name into lost+found. */
	AS_CRASH_RESCUES = 4,
	/* sync(2) and umount(2) wait until all is written, but send no flush. Their promise holds
	 * only on a disk without a cache, so we give them such a disk. fsync(2) sends a flush. */
	AS_CRASH_NO_FLUSH = 8,
	/* Its checker makes /lost+found if there is none, whether it needs it or not. */
	AS_CRASH_MAKES_FOUND = 16,
	/* fdatasync of a file makes its data stable and no name. Only if there is data that could
	 * not be read otherwise, the file has a name afterwards (fdatasync(2)). */
	AS_CRASH_DATA_ALONE = 32,
	/* fsync of a file writes this file only, and not what became of another one that had its
	 * name before; nor need its data be on the disk before the inode is, until it returns. */
	AS_CRASH_LIGHT_FSYNC = 64,
	/* The size of a file that a rename put in the place of another one is committed with the
	 * rename; that of a file that was emptied and written, with its close. */
	AS_CRASH_REPLACES = 128,
	/* fsync of a file makes its times stable (POSIX: "all data and attributes"). */
	AS_CRASH_TIMES = 256,
	/* ... and the blocks that it has, also those after its end (FALLOC_FL_KEEP_SIZE). */
	AS_CRASH_BLOCKS = 512,
	/* A recovery that was interrupted may come to another state than one that was not, if that
	 * state is allowed, too: it is no transaction. */
	AS_CRASH_REDO_DIFFERS = 1024,
	/* Writes go to their places in any order, and no checker repairs what that leaves. */
	AS_CRASH_NOTHING = 2048,
	/* The mark that tells a checker that there is nothing to do is there also if something
	 * could not be written. */
	AS_CRASH_MARK_UNSURE = 4096,
	/* Data and size of a file are stable when a descriptor of it is closed, and at fsync and
	 * sync; until then the disk may have the old ones, whatever else has reached it. */
	AS_CRASH_AT_CLOSE = 8192,
	/* What makes, renames and removes names is stable when it returns. */
	AS_CRASH_NAMES_NOW = 16384,
	/* Contents and size of a file are those of one moment. */
	AS_CRASH_WHOLE_FILES = 32768,
	/* It is not told of the options of a remount. */
	AS_CRASH_NO_REMOUNT = 65536,
	/* With AS_GUARANTEE_OBJECT: objects are of moments of their own, also after a sync. */
	AS_CRASH_APART = 131072,
	/* "sync" of a remount is for data alone; that of a mount is for names, too. */
	AS_CRASH_LATE_SYNC = 262144,
	/* Its checker may write the map of a file's blocks anew, with fewer blocks. */
	AS_CRASH_MAP_ANEW = 524288,
	/* Of a file with shared blocks, stat(2) also counts those that wait in memory for a copy on
	 * write. */
	AS_CRASH_COPIES_AHEAD = 1048576,
};

struct as_fstype {
	const char *name; /* what a person types */
	const char *help; /* a few words */
	const char *type; /* for mount(2) */
	/* The type that is on the disk, if `type` is mounted over folders of it
	 * (mount/mount_over.c). */
	const char *over;
	/* of the kernel, in the order of loading, where they are not built in; NAME? may lack */
	const char *modules;
	const char *mkfs; /* as a checker's command; {size} is the disk's size in bytes */
	const char *env; /* of mkfs: "A=1 B=2", may be NULL */
	const char *package; /* Debian's, of mkfs and the checkers */
	bool steady; /* its disks are to be the same every time (tool/steady.h) */
	bool used; /* what mkfs leaves alone on a disk is not zeros, but old data */
	uint64_t min_bytes, default_bytes;
	uint64_t guest_bytes; /* memory that its guest needs; 0: what any guest has */
	uint32_t block_bytes; /* the smallest unit of data as mkfs above makes it */
	/* The last bytes of a disk are a second disk, which has the journal (apart.h); 0: they are
	 * not. Then {journal} in the commands is its path, and {size} does not count it. */
	uint64_t journal_bytes;
	const char *journal_mkfs; /* run before mkfs; NULL: mkfs makes both */
	/* Of every mount but a remount: {journal} is the path of its device, {number} its
	 * number. */
	const char *journal_mount;
	/* Why it writes to its disk when a read-only mount is unmounted; NULL: it does not. */
	const char *readonly_writes;
	/* The row of checker.def that examines it; NULL: nobody does, or `own`. */
	const char *checker;
	/* In place of that row, if it has statuses: a variant's, or a user's. */
	struct as_checker own;
	/* After a power cut the quick checker replays the log; the kernel does not. */
	bool replayed_by_checker;
	/* All of them can be run on a disk as a power cut left it: they replay the log as the
	 * kernel does, and the tree must be the same afterwards. */
	bool checker_replays;
	/* Options of a mount that replays nothing, may be NULL. It must show of a disk that a mount
	 * has recovered what that mount showed. */
	const char *unreplayed;
	/* Of a disk that nobody has recovered, it shows the last commit: what it was at one moment,
	 * not before the last sync. What fsync wrote since is missing. */
	bool shows_commit;
	enum as_journal journal;
	enum as_disk_layout layout;
	const char *mount; /* options of every mount, "" for none */
	bool projects; /* inodes belong to projects (a variant's) */
	const char *draw; /* options worth trying, separated by blanks */
	enum as_guarantee guarantee;
	unsigned crash; /* enum as_crash_trait */
	/* A FUSE server that serves it in place of the kernel (target/server.h): {disk} is the
	 * disk's path, {src} an empty directory for a server that passes calls on, {mnt} where it
	 * mounts. */
	const char *server;
	const char *impossible; /* why it cannot be mounted from a disk of ours; NULL: it can */
};

/* NULL: there is no such type. */
const struct as_fstype *as_fstype_find(const char *name);
/* Row i, or NULL after the last. */
const struct as_fstype *as_fstype_at(unsigned i);
/* The number of its row; a number after the last for a type that is not in the table. */
unsigned as_fstype_index(const struct as_fstype *type);

/* Who examines its disks; NULL: nobody does. */
const struct as_checker *as_fstype_checker(const struct as_fstype *type);
/* How; the command is NULL if nobody does. */
const struct as_checker_way *as_fstype_check(const struct as_fstype *type, enum as_check_mode mode);
/* The mode that says whether a disk is in order. */
enum as_check_mode as_fstype_strictest(const struct as_fstype *type);
/* What a run in that mode came to: as_checker_judge(). */
enum as_check_answer as_fstype_judge(const struct as_fstype *type, enum as_check_mode mode,
				     int exit_status, const char *output);

/* What a command of the table works on. `journal` is NULL if the type has no second disk. */
struct as_fstype_disks {
	const char *disk, *journal;
	uint64_t size_bytes;
};
/* The words of a command of the table for execvp(3), each allocated, with a NULL at the end. */
char **as_fstype_argv(const char *command, const struct as_fstype_disks *disks);
/* The environment for mkfs in the same form, with PATH and a fixed locale. */
char **as_fstype_envp(const struct as_fstype *type);
void as_fstype_free_words(char **words); /* takes NULL */

const char *as_guarantee_name(enum as_guarantee guarantee);

/* Whether something is missing to make such a disk, such as a package, or whether it can never be
 * mounted; *why then says what. False: nothing is missing. */
bool as_fstype_lacks_tools(const struct as_fstype *type, struct as_buf *why);
/* The same for this build: whether it can serve disks. */
bool as_fstype_lacks_build(struct as_buf *why);
/* The same for the kernel that runs us: the driver, the permissions, FUSE and loop devices. */
bool as_fstype_lacks_host(const struct as_fstype *type, struct as_buf *why);

#endif
