/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding: something the file system under test did wrong, by what it is known again (its
 * signature) and by what it is called (its id).
 */
#ifndef AS_BASE_FINDING_H
#define AS_BASE_FINDING_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_disk;

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
	struct as_disk *disk; /* of the moment, may be NULL */
};

const char *as_finding_kind_name(enum as_finding_kind kind);
/* The kind of a name, or -1. */
int as_finding_kind_parse(const char *name);

/* "lab-outcome-3f9a1c20": made of the target, the signature and the workload. */
#define AS_FINDING_ID_MAX 80
void as_finding_id(const struct as_finding *finding, const char *target_name,
		   char id[AS_FINDING_ID_MAX]);

/* Adds a text to a signature. Numbers become '#': what is left is the same for the same mistake. */
void as_signature_add(struct as_buf *out, const char *text);

#endif
