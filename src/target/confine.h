/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine: takes from the calling process, and all it starts, every file but those that are named
 * (Landlock, Linux 5.13 and later; no rights are needed). Descriptors that are open stay open.
 */
#ifndef AS_TARGET_CONFINE_H
#define AS_TARGET_CONFINE_H

enum as_confine_right {
	AS_CONFINE_READ = 1,
	AS_CONFINE_RUN = 2, /* and read */
	AS_CONFINE_WRITE = 4, /* everything but running */
};

/* A file, or a folder with all below it; one that is not there is passed over. */
struct as_confine_path {
	const char *path; /* NULL ends a list */
	unsigned rights;
};

/* 0; 1 where the kernel cannot; or a negative errno. For use between fork() and exec(). */
int as_confine(const struct as_confine_path *paths);

#endif
