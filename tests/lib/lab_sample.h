/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_sample: a small labfs image with at least one of everything, and what tests of the
 * checker do with it.
 */
#ifndef AS_TESTS_LIB_LAB_SAMPLE_H
#define AS_TESTS_LIB_LAB_SAMPLE_H

#include "labfs/fsck.h"
#include "tests/lib/lab_membd.h"
#include "tests/lib/lab_verify.h"

#define SAMPLE_BLOCKS 512u
#define SAMPLE_BYTES (SAMPLE_BLOCKS * LAB_BLOCK)
#define SAMPLE_INODES 64u
#define SAMPLE_JOURNAL 32u
#define SAMPLE_NAMES 120 /* of /many, enough for an indirect block */

/* Inode numbers, in the order in which t_sample_build() makes them. */
enum sample_ino {
	I_ROOT = 1,
	I_LOST,
	I_A,
	I_F, /* /a/f, 3 blocks */
	I_B, /* /a/b */
	I_C, /* /a/b/c */
	I_DEEP, /* /a/b/c/deep */
	I_BIG, /* /big, 30 blocks, one indirect */
	I_SPARSE, /* /sparse, blocks 3 and 300 */
	I_SHORT, /* /short, a symbolic link inside its inode */
	I_LONG, /* /long, one with a block */
	I_FIFO,
	I_CHR,
	I_HARD, /* /h1 and /h2 */
	I_ATTR, /* /attr, with two attributes */
	I_MANY,
	I_NAMED, /* what all of /many is */
	I_EMPTY, /* /empty, a directory */
	I_FREE, /* the first inode not in use */
};

struct img t_sample_build(uint8_t *data);

/* The record of a name in a directory. */
struct lab_dirent *t_sample_rec(struct img *img, uint32_t dir, const char *name);

/* " -/gone +/new ~/changed", in the order of names; where that would be long, numbers. */
void t_tree_diff(const struct tree *old, const struct tree *now, char *text, size_t len);

struct sample_run {
	int code; /* what the checker answered */
	char codes[256]; /* " 102 106": the problems in the order found, each once in a row */
	char *log;
	long leaked;
	size_t calls; /* writes and flushes */
};

/* A host that keeps the log. */
struct sample_host {
	struct memhost mem;
	char *log; /* lines with newlines */
	size_t len;
};

void t_sample_host_init(struct sample_host *host);

/* A disk around an image. */
struct membd t_sample_disk(const struct img *img);

/* Runs the checker on the image; the caller frees run->log. */
void t_sample_check(struct img *img, enum as_fsck_mode mode, const char *opts, bool readonly,
		    struct sample_run *run);

#endif
