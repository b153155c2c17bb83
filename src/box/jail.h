/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jail: confines a program that may do anything: a kernel in a process that was taken over by the
 * file system under test. The layers do not depend on each other:
 *
 *	own uid		as root: a user and a group that nobody else has, no further groups
 *	no rights	no capabilities, and no way to get one by running a program
 *	namespaces	processes, mounts, network, IPC and names of its own; its root is a small
 *			file system in memory that holds what it may see and disappears with it
 *	files		Landlock, see confine.h
 *	calls		seccomp, see confine.h
 *	limits		processes, sizes of files, no core files; it is killed first when memory
 *			runs out
 *
 * A layer that the machine does not offer is left out and reported. No program in a jail runs as
 * root.
 */
#ifndef AS_BOX_JAIL_H
#define AS_BOX_JAIL_H

#include "base/buf.h"
#include "box/confine.h"
#include "os/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum as_jail_layer {
	AS_JAIL_UID = 1,
	AS_JAIL_RIGHTS = 2,
	AS_JAIL_SPACES = 4,
	AS_JAIL_FILES = 8,
	AS_JAIL_CALLS = 16,
	AS_JAIL_LIMITS = 32,
};

/* Paths in the root of a jail. Without namespaces they are below its folder. */
#define AS_JAIL_PROGRAM "/linux"
#define AS_JAIL_HOME AS_MEMORY_FOLDER /* for its own files; it may run programs from here */
#define AS_JAIL_SHARE "/share" /* shared with us */

struct as_jail {
	const char *program; /* its path outside */
	const struct as_confine_path *files; /* to be seen besides the program, read-only */
	uint64_t quota_bytes; /* limit of all its files together, if it has namespaces */
	uint64_t file_bytes; /* limit of one file */
	uint64_t memory_bytes; /* limit of its processes, without files; if it has namespaces */
	bool spaces; /* try to use namespaces */
	const char *folder; /* without namespaces: made by the caller, with HOME and SHARE */
};

/* How far the confinement went. */
struct as_jail_report {
	unsigned layers;
	int landlock; /* its version */
	uid_t uid;
	int error; /* an errno; 0: it went well */
	char what[64]; /* the step that failed */
};

/* The user that a jail runs as. `number` is the id of a process that lives as long as the jail.
 * 0: there is no user but root, so that a user namespace is needed. */
uid_t as_jail_uid(pid_t pid);

/* For children between fork() and exec(), in this order; 0, or -1 with the report filled in. */
/* 1. The process that is forked next is the first one of new namespaces. */
int as_jail_unshare(struct as_jail_report *report);
/* 2. In that process: makes its root. */
int as_jail_build(const struct as_jail *jail, struct as_jail_report *report);
/* 2. Or, without namespaces: gives the folder to the user of the jail. */
int as_jail_hand_over(const struct as_jail *jail, struct as_jail_report *report);
/* 3. In a child of it: drops all rights. Descriptors are left to the caller. */
int as_jail_drop(const struct as_jail *jail, struct as_jail_report *report);

/* "own uid, no rights, ..." and the layers that are missing. */
void as_jail_say(const struct as_jail_report *report, struct as_buf *out);

#endif
