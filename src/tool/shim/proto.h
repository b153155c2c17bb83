/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proto: the protocol between assay and the preloaded shim. Three descriptors are inherited:
 *
 *	disk     a memfd with the bytes of the disk
 *	share    a memfd: this head, then the record of what was done to the disk
 *	control  a socket: one byte comes when the program is loaded; then one byte starts a run,
 *	         and one comes back when it has ended
 *
 * A run may be told to stop before it first touches one of some ranges of the disk. Then it sends
 * AS_SHIM_STOPPED, and is a server itself: AS_SHIM_GO forks a run that goes on from there, and is
 * sent back when that has ended; AS_SHIM_QUIT ends it.
 *
 * Their numbers are in the environment variable AS_SHIM_ENV as "disk,share,control". With the value
 * AS_SHIM_CLOCK instead, the shim serves no disk and only sets the clock: the same program on a
 * plain file then sees the same time.
 *
 * The record is a sequence of struct as_shim_record, each followed by the bytes of its write. A
 * record is added with AS_SHIM_BEGUN before the disk is changed and completed afterwards: if the
 * process is killed in between, the record has the range, and the disk has the bytes. A reader must
 * not trust the record: the program under test could write to it.
 */
#ifndef AS_TOOL_SHIM_PROTO_H
#define AS_TOOL_SHIM_PROTO_H

#include "os/stack.h"

#include <stdint.h>

#define AS_SHIM_ENV "ASSAY_SHIM"
#define AS_SHIM_CLOCK "clock"
#define AS_SHIM_VERSION 6u
#define AS_SHIM_JOURNAL "-journal"
#define AS_SHIM_BEGUN INT32_MIN
#define AS_SHIM_ARGS_BYTES 4096u
#define AS_SHIM_PATH_BYTES 1024u
#define AS_SHIM_HEAD_BYTES 32768u
#define AS_SHIM_NOTE_BYTES 160u
#define AS_SHIM_MAX_FD 256
#define AS_SHIM_STOPS 16u /* ranges at which a run stops */
#define AS_SHIM_GO 'g'
#define AS_SHIM_STOPPED 's'
#define AS_SHIM_QUIT 'q'
/* The time in seconds since 1970 that every program sees unless the caller says otherwise. It is
 * later than the time at which any disk is made, and still fits into 31 bits. */
#define AS_SHIM_NOW_S INT64_C(2145916800) /* 2038-01-01 */
#define AS_SHIM_PID 4711

enum as_shim_flags {
	AS_SHIM_READS = 1, /* record reads */
	AS_SHIM_BLOCK = 2, /* the disk looks like a block device, not like a file */
};

struct as_shim_record {
	uint32_t kind; /* enum as_call */
	int32_t ret; /* 0, a negative errno, or AS_SHIM_BEGUN */
	uint64_t off, len; /* of a flush: the disk that it is of; 0, 0: all */
	uint64_t room; /* for the bytes of a write as it was asked for; they follow, padded to 8 */
};

struct as_shim_head {
	/* Written by assay before a run. */
	uint32_t version, flags;
	uint64_t disk_bytes;
	/* The last bytes are a second disk, called path + AS_SHIM_JOURNAL; 0: there is none */
	uint64_t journal_bytes;
	uint64_t record_cap; /* bytes after the head */
	int64_t now_s;
	uint64_t memory_bytes; /* RLIMIT_AS of a run, 0: none */
	/* the number of the read of the disk that fails with EIO, counted from 1; 0: none */
	uint64_t fail_read;
	uint64_t secret; /* see filter.c */
	/* The run stops before it touches one of these; n_stops 0: it does not. */
	uint32_t n_stops;
	struct {
		uint64_t off, len;
	} stops[AS_SHIM_STOPS];
	char path[AS_SHIM_PATH_BYTES]; /* of the disk */
	uint32_t argc;
	char args[AS_SHIM_ARGS_BYTES]; /* argc strings, each with its NUL */
	/* Written by the shim. */
	uint32_t confined; /* the kernel's filter is in place */
	int32_t pid; /* of the run, and of its process group; 0: none */
	int32_t status; /* as waitpid() gave it */
	/* Of a run that goes back to its beginning: it has begun and not ended; it was told to
	 * quit; how often one came back. */
	uint32_t active, quits, returns;
	uint64_t used; /* bytes of the record */
	uint64_t reads; /* of the disk so far */
	uint64_t maps; /* of the disk so far */
	uint32_t overflowed; /* the record is not complete */
	uint32_t mapped; /* the disk was mapped for writing: compare all of it */
	uint32_t refused; /* calls that would have changed something else */
	char note[AS_SHIM_NOTE_BYTES]; /* the first of these calls */
	struct as_stack stack; /* where the run died */
	/* A pthread mutex of the shim's C library. */
	char lock[64] __attribute__((aligned(16)));
};

_Static_assert(sizeof(struct as_shim_head) <= AS_SHIM_HEAD_BYTES, "the head has outgrown its room");

#endif
