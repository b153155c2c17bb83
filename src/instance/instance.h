/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instance: one file system under test, alive in this process: it is opened, mounted, used,
 * unmounted, checked, set back to an earlier state and closed. There are four rows: a linked
 * library, a type of the kernel, a FUSE server, and a folder of a file system that somebody else
 * has mounted. What a row can do is said by flags; nobody outside of instance*.c asks which row it
 * is.
 *
 * Rules
 *   1. One at a time, in a child process that lives for it alone (mounting needs that: see
 *      mount/mount.h) and that has called as_target_load().
 *   2. The disk belongs to the caller and outlives the instance. While the instance lives it is
 *      touched only between as_instance_hold_disk() and as_instance_release_disk(): another thread
 *      may be serving it.
 *   3. What the file system answers comes as 0 or a negative errno. What goes wrong on our side
 *      comes as AS_E* with a message.
 *   4. What the target logs, and what its checker prints when it complains, goes to args.log.
 */
#ifndef AS_INSTANCE_INSTANCE_H
#define AS_INSTANCE_INSTANCE_H

#include "base/err.h"
#include "base/event.h"
#include "host/host.h"
#include "host/medium.h"
#include "target/fstype.h"
#include "target/target.h"
#include "vfs/vfs.h"

enum as_instance_cap {
	/* It is on a disk of ours, so it can be mounted and unmounted, and faults can be put in. */
	AS_INSTANCE_DISK = 1 << 0,
	AS_INSTANCE_REMOUNT = 1 << 1, /* also while it is in use */
	AS_INSTANCE_CHECK = 1 << 2, /* it has a checker */
	AS_INSTANCE_MARK = 1 << 3, /* it can be set back to an earlier state of its disk */
	/* as_instance_make() makes the file system. The others get a disk on which
	 * as_instance_make_disk() has made it. */
	AS_INSTANCE_MAKE = 1 << 4,
	AS_INSTANCE_MEMORY = 1 << 5, /* its memory is counted, and allocations can fail */
	AS_INSTANCE_KERNEL = 1 << 6, /* what goes wrong may be told by the kernel's log */
	AS_INSTANCE_DEVICE = 1 << 7, /* its disk has a name there: as_instance_device() */
	AS_INSTANCE_DELAY = 1 << 8, /* requests of its disk can be delayed */
	/* Several workloads may share a process. */
	AS_INSTANCE_BATCH = 1 << 9,
	/* It has a quick form, for batches (as_instance_args.quick). */
	AS_INSTANCE_QUICK = 1 << 10,
	/* All chance comes from the seed: the same calls get the same answers every time. */
	AS_INSTANCE_CERTAIN = 1 << 11,
	/* When a fault hits, an operation that fails has changed nothing, and its error says that
	 * the disk or the memory failed. The others may answer as they like, and turn read-only. */
	AS_INSTANCE_STRICT = 1 << 12,
	/* It runs in this process: when it dies, the process does. */
	AS_INSTANCE_IN_PROCESS = 1 << 13,
	/* It can visit disks (as_instance_args.visits). */
	AS_INSTANCE_VISIT = 1 << 14,
};

/* What its instances can do: a mask. */
uint32_t as_instance_caps(const struct as_target *target);

/* The directory below which each instance needs an empty folder of its own; NULL: it needs none. */
const char *as_instance_place(const struct as_target *target);
/* Before there is any instance: makes the file system on an empty disk, where a program does that.
 * Fails where this user may not have an instance. Nothing for rows with AS_INSTANCE_MAKE. */
AS_MUST_CHECK int as_instance_make_disk(const struct as_target *target, struct as_medium *disk,
					struct as_err *err);

/* Keeps a disk that must be the same every time where a sandbox looks for it (target/fresh.h).
 * Nothing for other disks. */
AS_MUST_CHECK int as_instance_keep_disk(const struct as_target *target, uint64_t size_bytes,
					struct as_err *err);

struct as_instance_args {
	const struct as_target *target;
	/* NULL: for rows without AS_INSTANCE_DISK, and for an instance that visits disks */
	struct as_medium *disk;
	const char *folder; /* for those: the empty folder to work in */
	struct as_host_log *log;
	uint64_t seed; /* of the choices that it asks for by as_choose() */
	/* Who answers as_ask(): as_chooser_parse() reads it, and it begins anew where choices do.
	 * NULL or "": the answer is 0. */
	const char *choices;
	struct as_choice *choice; /* in place of that: somebody who goes on; NULL: nobody */
	bool still; /* a clock of ours stands still; then times are not to be judged */
	uint64_t after_ns; /* a clock of ours tells later times than this; 0: from its beginning */
	uint32_t name_max; /* of struct as_traits */
	const struct as_plan *plan; /* the faults from the beginning on; NULL: none */
	unsigned deadline_ms; /* for a server to mount or to end; 0: its default */
	/* How much a workload may write to a disk that is not ours; 0: the defaults of
	 * vfs/bounds.h. */
	uint64_t max_bytes, max_entries;
	/* The disk is copied to a file in memory, where requests are neither recorded nor witnessed
	 * nor made to fail, and no power cut is possible: much faster. With AS_INSTANCE_QUICK. */
	bool quick;
	/* With `quick`: who may run the checker in our place (instance/outside.h); NULL: nobody. */
	struct as_outside *outside;
	/* It has no disk of its own: it visits the disks of others, see as_instance_insert(). With
	 * AS_INSTANCE_VISIT. */
	bool visits;
};

struct as_instance;

/* Ready to be mounted. Everything in args but args itself outlives the instance. */
AS_MUST_CHECK int as_instance_open(const struct as_instance_args *args,
				   struct as_instance **instance, struct as_err *err);
/* However it is: what is mounted is given up. Takes NULL. */
void as_instance_close(struct as_instance *instance);
/* Those of the target that this instance has, too. */
bool as_instance_can(const struct as_instance *instance, enum as_instance_cap cap);

/* Makes the file system. With AS_INSTANCE_MAKE; not while it is mounted. */
AS_MUST_CHECK int as_instance_make(struct as_instance *instance);
/* Without AS_INSTANCE_DISK it is always mounted, and neither may be called. */
AS_MUST_CHECK int as_instance_mount(struct as_instance *instance);
/* Closes what is open and unmounts; 0 when it is not mounted. */
AS_MUST_CHECK int as_instance_unmount(struct as_instance *instance);
/* Unmounts, no matter what is lost; 0 when it is not mounted. */
AS_MUST_CHECK int as_instance_give_up(struct as_instance *instance);
/* The words for a mount of a fresh file system that answered `rc`: returns AS_EUSE or, where
 * something is missing on this machine, AS_ELACK. */
AS_MUST_CHECK int as_instance_useless(struct as_instance *instance, int rc, struct as_err *err);

/* Carries out operation number i of a workload. */
void as_instance_do(struct as_instance *instance, uint32_t i, const struct as_op *op,
		    struct as_outcome *got);
/* Before an operation that maps a file: the disk can be served while that waits. as_instance_do()
 * does this, too, but what it needs of the kernel may fail then (child/kfault.h). */
void as_instance_before_map(struct as_instance *instance);
/* A clock of ours tells later times than this from now on, as if as_instance_args.after_ns were so
 * until the next as_instance_back(). */
void as_instance_clock_after(struct as_instance *instance, uint64_t after_ns);
/* Times of inodes that operations move from now on are at least this; those that were moved are at
 * most the second. In nanoseconds since 1970. */
int64_t as_instance_time_from(const struct as_instance *instance);
int64_t as_instance_time_until(struct as_instance *instance);
/* If its calls are trailed (host/trail.h): puts the tree on the trail. */
void as_instance_trail_tree(struct as_instance *instance);
/* In the record of the disk, what follows belongs to this operation. as_instance_do() does it. */
void as_instance_set_op(struct as_instance *instance, uint32_t op);
/* Calls of the file system that are no operation of the workload stand between these two: what they
 * leave behind is told and ended, as that of operations is. */
void as_instance_aside(struct as_instance *instance, bool begins);
/* The calls that follow are made for this thread of the workload. Only libraries are told. */
void as_instance_set_caller(struct as_instance *instance, uint32_t thread);
/* After an operation that must have made everything stable: flushes the disk for a type that does
 * not do it itself (AS_CRASH_NO_FLUSH). */
void as_instance_flush(struct as_instance *instance);
/* Carries out operations and reads the tree. It is another one after as_instance_back(). */
struct as_vfs *as_instance_vfs(struct as_instance *instance);

/* What reads a tree, from its root. */
struct as_instance_reader {
	const struct as_tree_ops *ops;
	void *ctx;
};
/* Of what is mounted. Not for an instance that visits disks: as_instance_enter(). */
struct as_instance_reader as_instance_reads(struct as_instance *instance);

/* What the target did wrong besides its answers (memory that it kept, a server that died), in
 * words, with the kind of finding that it is; NULL: nothing. */
const char *as_instance_trouble(struct as_instance *instance, enum as_finding_kind *kind);
/* If that is memory that was left: the number of the operation that allocated it; -1: none did, or
 * it is something else. */
int64_t as_instance_leak_op(const struct as_instance *instance);
/* Adds what it asked and was not answered 0, a line each. */
void as_instance_answers(const struct as_instance *instance, struct as_buf *out);
/* How much memory it has now. With AS_INSTANCE_MEMORY. */
struct as_host_leaks as_instance_memory(const struct as_instance *instance);
/* What the process of a server printed last; NULL: there is no such process. */
const char *as_instance_output(struct as_instance *instance);
/* The first call outside of the disk, of a target that calls it directly; NULL: none. */
const char *as_instance_misuse(const struct as_instance *instance);

/* The bytes of another disk, while it is unmounted; what was done with the one before is forgotten.
 * The disk given stays the caller's. */
AS_MUST_CHECK int as_instance_replace(struct as_instance *instance, struct as_disk *disk,
				      struct as_err *err);

/* Whether one of the faults has hit since they were set. */
bool as_instance_fault_hit(struct as_instance *instance);
/* How many calls they have hit. */
uint64_t as_instance_hits(struct as_instance *instance);
void as_instance_end_faults(struct as_instance *instance);
/* The next mount that follows as_instance_back() meets these faults, counted from there; NULL:
 * none. The plan outlives the instance, or the next call. With AS_INSTANCE_DISK, if it is not
 * quick. */
void as_instance_set_faults(struct as_instance *instance, const struct as_plan *plan);
/* Allocations since as_instance_back(); 0 without AS_INSTANCE_MEMORY. */
uint64_t as_instance_allocations(const struct as_instance *instance);
/* The nth allocation from now on fails; 0: none. Nothing happens without AS_INSTANCE_MEMORY. */
void as_instance_fail_allocation(struct as_instance *instance, uint64_t nth);
/* Before each request of its disk, in another thread: it may wait. NULL: nothing. Nothing happens
 * without AS_INSTANCE_DELAY. ctx outlives the instance. */
void as_instance_set_delay(struct as_instance *instance, void (*before)(void *ctx), void *ctx);

/* The disk as it is now. NULL: there is none, or it cannot be read while it is mounted (quick).
 * Released in both cases. */
struct as_medium *as_instance_hold_disk(struct as_instance *instance);
void as_instance_release_disk(struct as_instance *instance);
/* "loop7"; "" without AS_INSTANCE_DEVICE. */
const char *as_instance_device(const struct as_instance *instance);

/* The full checker on the unmounted disk, which stays as it is. */
struct as_instance_checked {
	bool clean;
	/* Otherwise: AS_FIND_CHECKER, or what it did wrong besides its answer. */
	enum as_finding_kind kind;
	char why[160];
	const char *command; /* of the checker; "": the library's own */
};
/* With AS_INSTANCE_CHECK. deadline_ms 0: none. */
AS_MUST_CHECK int as_instance_check(struct as_instance *instance, unsigned deadline_ms,
				    struct as_instance_checked *checked, struct as_err *err);

/*
 * A mark is the disk of an unmounted instance as it is now, at the cost of a snapshot. Any number
 * of marks may be there, and one may go back to each of them, in any order and as often as one
 * likes. Going back gives up what is mounted; then the disk is that of the mark, and choices, clock
 * and memory begin anew, as in a new instance. With AS_INSTANCE_MARK. A disk that is recorded or
 * witnessed has no marks.
 */
struct as_instance_mark;
struct as_instance_mark *as_instance_mark(struct as_instance *instance);
/* A mark as if it were made with this disk in it (same size and store). */
struct as_instance_mark *as_instance_mark_of(struct as_disk *disk);
AS_MUST_CHECK int as_instance_back(struct as_instance *instance,
				   const struct as_instance_mark *mark, struct as_err *err);
void as_instance_mark_free(struct as_instance_mark *mark); /* takes NULL */

/*
 * Visits: an instance that was opened with args.visits works on many disks, one after the other.
 * Each of them is inserted, mounted or checked, and ejected. What works on a medium (marks, faults,
 * as_instance_make(), as_instance_do(), as_instance_check()) is not for such an instance.
 * as_instance_mount() mounts a disk read-only where that is possible: then nothing is written to it
 * but what recovery writes, and no times of ours. as_instance_hold_disk() gives NULL; nobody calls
 * the device then until as_instance_release_disk().
 */

/* Choices, clock and memory begin anew, as in a new instance. `above` is a device above the disk
 * that is to see every request; NULL: nobody has to see them, which is faster. Both belong to the
 * caller; only the instance uses them until they are ejected. */
AS_MUST_CHECK int as_instance_insert(struct as_instance *instance, struct as_disk *disk,
				     struct as_bd *above, struct as_err *err);
/* Before a mount: the file system will read this range anyway, and may have it at once. It is only
 * a help. */
void as_instance_read_ahead(struct as_instance *instance, uint64_t off, uint64_t len);
/* From now on the disk has what the file system left on it. -EBUSY: it could not be unmounted, and
 * the disk may lack a part of that; it is ejected all the same. */
AS_MUST_CHECK int as_instance_eject(struct as_instance *instance, struct as_err *err);
/* Mounts it so that files can be made. */
AS_MUST_CHECK int as_instance_mount_writable(struct as_instance *instance);
/* Read-only, and nothing is replayed (target/fstype.h, unreplayed): only for types that can. */
AS_MUST_CHECK int as_instance_mount_unreplayed(struct as_instance *instance);
/* Read-only, and later writable: only for targets that can (target/facts.h, looks). */
AS_MUST_CHECK int as_instance_mount_look(struct as_instance *instance);
AS_MUST_CHECK int as_instance_turn_writable(struct as_instance *instance);

/* Goes to the root of what is mounted: 0 or a negative errno. It is left by the unmount. */
AS_MUST_CHECK int as_instance_enter(struct as_instance *instance,
				    struct as_instance_reader *reader);
/* Makes and removes a file in a directory ("/a/b"): 0, also where a file system in order may refuse
 * that, or a negative errno, and then *doing says at what it failed. */
AS_MUST_CHECK int as_instance_probe(struct as_instance *instance, const char *directory,
				    const char **doing);
/* With AS_INSTANCE_IN_PROCESS: its checker on the disk, which it may repair: an exit status of
 * fsck(8) (AS_FSCK_*) or a negative errno. The checkers of others are programs
 * (tool/checker.h). */
AS_MUST_CHECK int as_instance_fsck(struct as_instance *instance, enum as_check_mode mode);

#endif
