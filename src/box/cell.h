/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cell: the walls around a program that may do its worst: a kernel in a process whose file system
 * under test has taken it over. Layers, each of which holds without the others:
 *
 *	own uid		as root: the numbers of a user that nobody else is, no groups
 *	no rights	no capabilities, none to be had again, nothing gained by running a program
 *	namespaces	processes, mounts, network, IPC and names of its own; its root is a small
 *			file system in memory that has what it may see and goes away with it
 *	files		Landlock, see confine.h
 *	calls		seccomp, see confine.h
 *	limits		processes, sizes of files, no core files; the first to go when memory is out
 *
 * What the machine does not offer is left out and said; but nothing runs here as root.
 */
#ifndef AS_BOX_CELL_H
#define AS_BOX_CELL_H

#include "base/buf.h"
#include "box/confine.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum as_cell_layer {
	AS_CELL_UID = 1,
	AS_CELL_RIGHTS = 2,
	AS_CELL_SPACES = 4,
	AS_CELL_FILES = 8,
	AS_CELL_CALLS = 16,
	AS_CELL_LIMITS = 32,
};

/* Where things are in the root of a cell with namespaces; without, below its folder. */
#define AS_CELL_PROGRAM "/linux"
#define AS_CELL_HOME "/mem" /* for its own files; programs may be run from it */
#define AS_CELL_SHARE "/share" /* what it shares with us */

struct as_cell {
	const char *program; /* path out here */
	const struct as_confine_path *files; /* besides it, read-only */
	uint64_t quota_bytes; /* of all its files together, where it has namespaces */
	uint64_t file_bytes; /* of one file */
	uint64_t memory_bytes; /* of its processes, besides files; where it has namespaces */
	bool spaces; /* namespaces are to be tried */
	const char *folder; /* without: made by the caller, with both folders in it */
};

/* What came of it. */
struct as_cell_report {
	unsigned layers;
	int landlock; /* its version */
	uid_t uid;
	int error; /* an errno; 0: it went well */
	char what[64]; /* that failed */
};

/* The user that a cell runs as; the number is that of a process that is there as long as it. 0:
 * there is no other than root, and it takes a user namespace. */
uid_t as_cell_uid(pid_t pid);

/* For children between fork() and exec(), in this order; 0, or -1 with the report filled in. */
/* 1. Whoever is forked next is the first process of new namespaces. */
int as_cell_unshare(struct as_cell_report *report);
/* 2. In that process: its root. */
int as_cell_build(const struct as_cell *cell, struct as_cell_report *report);
/* 2. Or, where there are no namespaces: gives it its folder. */
int as_cell_hand_over(const struct as_cell *cell, struct as_cell_report *report);
/* 3. In a child of it: drops all there is to drop. Descriptors are the caller's business. */
int as_cell_drop(const struct as_cell *cell, struct as_cell_report *report);

/* "own uid, no rights, ..." and what does not hold. */
void as_cell_say(const struct as_cell_report *report, struct as_buf *out);

#endif
