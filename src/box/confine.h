/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine: what a process takes from itself, and from all it starts, for good. No rights are needed
 * for it. For use between fork() and exec(): nothing is allocated.
 */
#ifndef AS_BOX_CONFINE_H
#define AS_BOX_CONFINE_H

enum as_confine_right {
	AS_CONFINE_READ = 1,
	AS_CONFINE_RUN = 2, /* and read */
	AS_CONFINE_WRITE = 4, /* read, and make, change and remove files and folders */
};

/* A file, or a folder with all below it; one that is not there is passed over. */
struct as_confine_path {
	const char *path; /* NULL ends a list */
	unsigned rights;
};

/*
 * Every file but those that are named, device nodes, pipes, sockets and links that are to be made,
 * files that are to be moved to another folder, TCP, and signals and abstract sockets of processes
 * outside: as far as the kernel's Landlock goes (Linux 5.13 and later). Descriptors that are open
 * stay open. Returns Landlock's version, 0 where there is none, or a negative errno.
 */
int as_confine_files(const struct as_confine_path *paths);

/*
 * All system calls but those in confine_calls.def (seccomp). 0, or a negative errno: ENOSYS or
 * EINVAL where the kernel cannot.
 */
int as_confine_calls(void);

#endif
