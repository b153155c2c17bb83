/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding: something that the file system under test did wrong. Its signature tells whether two
 * findings are the same mistake, its id names it. run/finding.h puts findings together,
 * base/finding_json.h writes and reads them.
 */
#ifndef AS_BASE_FINDING_H
#define AS_BASE_FINDING_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_disk;
struct json_t; /* of jansson */

/* What kind of mistake. Names (as_finding_kind_name) are part of ids and files. */
enum as_finding_kind {
	AS_FIND_OUTCOME, /* an operation answered what the model does not allow */
	AS_FIND_DATA, /* right answer, wrong bytes (or names, or attributes) */
	AS_FIND_TREE, /* the tree differs from the model's */
	AS_FIND_SIGNAL, /* the target died */
	AS_FIND_HANG, /* the target stopped answering */
	AS_FIND_LEAK, /* memory or handles left after unmount */
	AS_FIND_CHECKER, /* the full checker reports errors of an unmounted disk */
	AS_FIND_MOUNT, /* mkfs, mount or unmount failed without a reason */
	AS_FIND_MISUSE, /* the target broke the seam's rules: I/O outside the disk, bad free */
	AS_FIND_KERNEL, /* the kernel crashed, warned, or complained of corruption */
	AS_FIND_CRASH, /* after a power cut the tree is not an allowed one, or cannot be read */
	AS_FIND_RECOVERY, /* two recoveries of one disk end differently */
	AS_FIND_RACE, /* no order of calls that overlapped explains their answers, or the tree */
	AS_FIND_DIFF, /* one file system answers differently from the others */
	/* What a library tells of itself (include/assay/host.h). */
	AS_FIND_LOCK, /* locks in an order that can end in a deadlock, or not given back */
	AS_FIND_PAIR, /* something that was taken was not given back */
	AS_FIND_INVARIANT, /* a rule of its own that it broke */
	AS_FIND_SILENT, /* success, although something that it asked for had failed */
	AS_FIND_LIMIT, /* more memory or stack than it was allowed */
	AS_FIND_FSCK, /* a checker contradicts itself, or loses what it was to save */
	AS_FIND_KINDS
};

/* In the detail of a finding, the line before what a file system was answered that had asked what
 * to do (choice.h). */
#define AS_DETAIL_ANSWERS "with these answers to its questions"

/* A file that stands in the folder of a finding. */
struct as_finding_file {
	const char *name, *text;
	bool program; /* it can be run */
};

/*
 * Who owns the texts: a finding that was read (base/finding_json.h) holds them, and its files, by
 * `own`, and as_finding_free() frees both. Where `own` is NULL, they belong to whoever made it, and
 * live as long as its sinks look at it. Disks are never its own.
 */
struct as_finding {
	struct json_t *own;
	const char *id; /* NULL: it has none yet */
	enum as_finding_kind kind;
	const char *target; /* as typed: "lab:bug=3" */
	const char *summary; /* one line: "op 7: pwrite $0 ... returned 4096, model says 8192" */
	const char *detail; /* more lines, may be NULL */
	const char *signature; /* equal for the same mistake: it holds no numbers and no paths */
	/* Its likely cause in words, by which findings are grouped; NULL: as_signature_group(). */
	const char *group;
	const char *workload; /* the whole of it, as canonical text */
	const char *workload_name; /* name of the file it was read from */
	const char *options; /* how to run it again: "check=op fault=read:3" */
	long op_index; /* number of the operation that failed, from 0; -1: none */
	int op_line; /* its line in the canonical text, from 1; 0: none */
	const char *log; /* what the target logged, may be NULL */
	const char *layout; /* the text of the disk's description that it needs, may be NULL */
	const char *kernel; /* that it ran on: "Linux 6.1.0 x86_64"; NULL, "": unknown */
	uint64_t count; /* how often it was met; 0: unknown */
	bool has_disk; /* it was read, and what wrote it had a disk */
	struct as_disk *disk; /* as it was at that moment, may be NULL */
	struct as_disk *healthy; /* as it was before it was damaged, may be NULL */
	/* In place of a workload and what is made of it, the page included; NULL: there is a
	 * workload. */
	const struct as_finding_file *files;
	size_t n_files;
};

/* The word of `options` for a kernel type that ran on the running kernel, not in a sandbox. */
#define AS_FINDING_ON_HOST "sandbox=host"
bool as_finding_is_on_host(const struct as_finding *finding);
/* The kernel of `assay kernel` that it ran in: the word "kernel=NAME" of `options`. False: it was
 * given none, or the word is damaged. */
#define AS_FINDING_KERNEL "kernel="
#define AS_KERNEL_NAME_MAX 65
bool as_finding_kernel(const struct as_finding *finding, char name[AS_KERNEL_NAME_MAX]);
/* What may be the name of one; it is the name of a folder. */
bool as_kernel_name_ok(const char *name);

const char *as_finding_kind_name(enum as_finding_kind kind);
/* The kind of a name, or -1. */
int as_finding_kind_parse(const char *name);

/* "lab-outcome-3f9a1c20": made from the target, the signature and the workload. */
#define AS_FINDING_ID_MAX 80
void as_finding_id(const struct as_finding *finding, const char *target_name,
		   char id[AS_FINDING_ID_MAX]);
/* Whether as_finding_id() could have made it: the name of one file, and not hidden. */
bool as_finding_is_id(const char *text);

/* ---- Signatures (signature.c) ---- */

/* Adds a text to a signature without what belongs to one run: what is left is the same for the same
 * mistake. Signatures are made in symptom/symptom.c. */
void as_signature_add(struct as_buf *out, const char *text);

/*
 * A signature is a symptom, and where one is known the operation that the symptom followed:
 * "state: size of a file; after open O_TRUNC". A reduced workload has the same symptom; the
 * operation may change, because what stood between the cause and the symptom is gone.
 */
/* How signatures begin that take a second power cut; then the way of recovery, and a bracket. */
#define AS_SIGNATURE_AGAIN "recovery: a power cut during recovery ("
#define AS_SIGNATURE_AFTER "; after "
/* Of the finding of a checker: after it comes the field that was damaged. */
#define AS_SIGNATURE_FIELD "; field "
/* The same whichever operation came last: the descriptor did not notice. */
#define AS_SIGNATURE_OLDER " through an older descriptor"
bool as_signature_same_symptom(const char *a, const char *b);
/* Adds the likely cause, by which signatures are grouped: the same words for operations that do the
 * same ("pwrite", "write") and for two sides of one thing (size and content). */
void as_signature_group(struct as_buf *out, const char *signature);

#endif
