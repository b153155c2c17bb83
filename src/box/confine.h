/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine: a process gives up rights for itself and for all programs that it starts, for good. It
 * needs no rights to do so. It may be called between fork() and exec(): it allocates nothing.
 */
#ifndef AS_BOX_CONFINE_H
#define AS_BOX_CONFINE_H

enum as_confine_right {
	AS_CONFINE_READ = 1,
	AS_CONFINE_RUN = 2, /* run programs, and read */
	AS_CONFINE_WRITE = 4, /* read, and make, change and remove files and folders */
};

/* A file, or a folder with all below it. One that does not exist is skipped. */
struct as_confine_path {
	const char *path; /* NULL ends a list */
	unsigned rights;
};

/*
 * Gives up: every file but those that are named; making device nodes, pipes, sockets and links;
 * moving files to another folder; TCP; and signals to, and abstract sockets of, processes outside.
 * It does so as far as the kernel's Landlock can (Linux 5.13 and later). Open descriptors stay
 * open. Returns Landlock's version, 0 where there is none, or a negative errno.
 */
int as_confine_files(const struct as_confine_path *paths);
/* Landlock's version; less than 1: there is none. */
int as_confine_version(void);

/*
 * Gives up all system calls but those in confine_calls.def (seccomp). Returns 0 or a negative
 * errno: ENOSYS or EINVAL if the kernel has no seccomp.
 */
int as_confine_calls(void);

#endif
