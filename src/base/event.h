/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event: what the rooms have to say, and who listens. A finding is something the file system under
 * test did wrong; it goes to every sink. Nobody includes the rooms that listen.
 */
#ifndef AS_BASE_EVENT_H
#define AS_BASE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What kind of wrong. Names (as_finding_kind_name) are part of ids and files: do not reorder. */
enum as_finding_kind {
	AS_FIND_OUTCOME, /* an operation answered what the model does not allow */
	AS_FIND_DATA, /* right answer, wrong bytes (or names, or attributes) */
	AS_FIND_TREE, /* the tree differs from the model's */
	AS_FIND_SIGNAL, /* the target died */
	AS_FIND_HANG, /* the target stopped answering */
	AS_FIND_LEAK, /* memory or handles left after unmount */
	AS_FIND_CHECKER, /* the full checker is not content with an unmounted disk */
	AS_FIND_MOUNT, /* mkfs, mount or unmount failed though nothing was wrong */
	AS_FIND_MISUSE, /* the target broke the seam's rules: I/O outside the disk, bad free */
	AS_FIND_KERNEL, /* the kernel crashed, warned, or complained of corruption */
	AS_FIND_CRASH, /* after a power cut the tree is not an allowed one, or not to be had */
	AS_FIND_RECOVERY, /* two recoveries of one disk end differently */
	AS_FIND_RACE, /* no order of calls that overlapped explains what they answered, or left */
	AS_FIND_DIFF, /* one file system answers what others do not */
	AS_FIND_KINDS
};

struct as_finding {
	enum as_finding_kind kind;
	const char *target; /* as typed: "lab:bug=3" */
	const char *summary; /* one line: "op 7: pwrite $0 ... returned 4096, model says 8192" */
	const char *detail; /* more lines, may be NULL */
	const char *signature; /* what makes two findings the same: stable, no numbers of ops */
	const char *workload; /* canonical text, whole */
	const char *workload_name; /* file it came from */
	const char *options; /* how to run it again: "check=op fault=read:3" */
	long op_index; /* 0-based index of the guilty op, -1 for none */
	int op_line; /* its line in the canonical text, 1-based, 0 for none */
	const char *log; /* what the target logged, may be NULL */
	const void *disk; /* struct as_disk of the moment, may be NULL */
};

const char *as_finding_kind_name(enum as_finding_kind kind);
/* The kind of a name, or -1. */
int as_finding_kind_parse(const char *name);

struct as_run_stats {
	uint64_t workloads, ops, findings, skipped;
	uint64_t unjudged, excused; /* as in struct as_run_result */
	int64_t wall_us;
};

/* Implementations embed this as their first member; unused functions are NULL. */
struct as_sink {
	void (*finding)(struct as_sink *sink, const struct as_finding *finding, const char *id);
	/* A finding whose signature was heard of before: told by that alone. */
	void (*again)(struct as_sink *sink, const char *signature);
	void (*note)(struct as_sink *sink, const char *line); /* progress, for people */
	void (*done)(struct as_sink *sink, const struct as_run_stats *stats);
	struct as_sink *next; /* a chain: everyone hears everything */
};

void as_emit_finding(struct as_sink *chain, const struct as_finding *finding, const char *id);
void as_emit_again(struct as_sink *chain, const char *signature);
void as_emit_note(struct as_sink *chain, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void as_emit_done(struct as_sink *chain, const struct as_run_stats *stats);

#endif
