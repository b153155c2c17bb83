/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_build: makes labfs images in memory straight from format.h, without a line of the file
 * system or mkfs: a second reading of the format, and images of any shape for tests.
 *
 * t_img_new() makes an empty file system, the other functions add to it, t_img_seal() computes
 * checksums, bitmaps and counts. Between, csum fields are not kept.
 */
#ifndef AS_TESTS_LIB_LAB_BUILD_H
#define AS_TESTS_LIB_LAB_BUILD_H

#include "labfs/crc.h"
#include "labfs/format.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct img {
	uint8_t *data;
	uint32_t blocks;
	uint32_t next_block, next_ino;
};

void *t_img_block(const struct img *img, uint32_t block);

struct lab_super *t_img_super(const struct img *img);

struct lab_inode *t_img_inode(const struct img *img, uint32_t ino);

/* Where the pointer to block `index` of an inode is kept; missing indirect blocks are made. */
uint32_t *t_img_ptr(struct img *img, uint32_t ino, uint32_t index);

/* Adds an entry after the last one of the directory; counts no links. */
void t_img_entry(struct img *img, uint32_t dir, const char *name, uint32_t ino);

uint32_t t_img_node(struct img *img, uint32_t dir, const char *name, uint32_t mode);

uint32_t t_img_dir(struct img *img, uint32_t dir, const char *name);

/* Block `index` of a file, filled with a pattern that tells file and place. */
void t_img_fill(struct img *img, uint32_t ino, uint32_t index);

uint32_t t_img_file(struct img *img, uint32_t dir, const char *name, uint32_t size);

uint32_t t_img_symlink(struct img *img, uint32_t dir, const char *name, const char *text);

void t_img_xattr(struct img *img, uint32_t ino, const char *name, const char *value);

/* ---- Checksums ---- */

void t_img_seal_inode(const struct img *img, uint32_t ino);

void t_img_seal_super(const struct img *img, uint32_t block);

/* Any journal block, with its head. */
void t_img_seal_j(const struct img *img, uint32_t block);

void t_img_seal(struct img *img);

/* An empty file system of up to 8192 blocks around memory of the caller. */
struct img t_img_new(uint8_t *data, uint32_t blocks, uint32_t inodes, uint32_t journal);

#endif
