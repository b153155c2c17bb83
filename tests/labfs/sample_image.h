/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample_image.h: a small labfs image with at least one of everything, and what tests of the
 * checker do with it.
 */
#ifndef TESTS_LABFS_SAMPLE_IMAGE_H
#define TESTS_LABFS_SAMPLE_IMAGE_H

#include "labfs/fsck.h"
#include "membd.h"
#include "verify_image.h"

#define SAMPLE_BLOCKS 512u
#define SAMPLE_BYTES (SAMPLE_BLOCKS * LAB_BLOCK)
#define SAMPLE_INODES 64u
#define SAMPLE_JOURNAL 32u
#define SAMPLE_NAMES 120 /* of /many, enough for an indirect block */

/* Inode numbers, in the order in which sample_build() makes them. */
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

static inline void sample_names(struct img *img)
{
	char name[128];

	img_dir(img, I_ROOT, "many");
	img_node(img, 0, NULL, S_IFREG | 0600);
	img_inode(img, I_NAMED)->nlink = SAMPLE_NAMES;
	for (int i = 0; i < SAMPLE_NAMES; i++) {
		snprintf(name, sizeof(name), "%03d%0*d", i, 94, 0);
		img_entry(img, I_MANY, name, I_NAMED);
	}
}

static inline struct img sample_build(uint8_t *data)
{
	struct img img = img_new(data, SAMPLE_BLOCKS, SAMPLE_INODES, SAMPLE_JOURNAL);
	char text[201];

	memset(text, 't', 200);
	text[200] = '\0';
	img_dir(&img, I_ROOT, "a");
	img_file(&img, I_A, "f", 3000);
	img_dir(&img, I_A, "b");
	img_dir(&img, I_B, "c");
	img_file(&img, I_C, "deep", 100);
	img_file(&img, I_ROOT, "big", 30 * LAB_BLOCK - 1);
	img_node(&img, I_ROOT, "sparse", S_IFREG | 0640);
	img_inode(&img, I_SPARSE)->size = 400 * LAB_BLOCK;
	img_fill(&img, I_SPARSE, 3);
	img_fill(&img, I_SPARSE, 300);
	img_symlink(&img, I_ROOT, "short", "a/f");
	img_symlink(&img, I_ROOT, "long", text);
	img_node(&img, I_ROOT, "fifo", S_IFIFO | 0600);
	img_node(&img, I_ROOT, "chr", S_IFCHR | 0600);
	img_inode(&img, I_CHR)->rdev = 0x103;
	img_file(&img, I_ROOT, "h1", 50);
	img_entry(&img, I_ROOT, "h2", I_HARD);
	img_inode(&img, I_HARD)->nlink = 2;
	img_file(&img, I_ROOT, "attr", 10);
	img_xattr(&img, I_ATTR, "user.one", "first");
	img_xattr(&img, I_ATTR, "user.two", "second value");
	sample_names(&img);
	img_dir(&img, I_ROOT, "empty");
	assert(img.next_ino == I_FREE);
	img_seal(&img);
	return img;
}

/* The record of a name in a directory. */
static inline struct lab_dirent *sample_rec(struct img *img, uint32_t dir, const char *name)
{
	for (uint32_t i = 0; i < img_inode(img, dir)->size / LAB_BLOCK; i++) {
		uint8_t *block = img_block(img, *img_ptr(img, dir, i));
		struct lab_dirent *rec;

		for (unsigned off = 0; off < LAB_BLOCK; off += rec->rec_len) {
			rec = (struct lab_dirent *)(block + off);
			if (rec->name_len == strlen(name) &&
			    !memcmp(rec->name, name, rec->name_len))
				return rec;
		}
	}
	abort();
}

/* " -/gone +/new ~/changed", in the order of names; where that would be long, numbers. */
static inline void tree_diff(const struct tree *old, const struct tree *now, char *text, size_t len)
{
	unsigned a = 0, b = 0, gone = 0, added = 0, changed = 0;
	size_t used = 0;

	text[0] = '\0';
	while (a < old->count || b < now->count) {
		int order = a == old->count   ? 1
			    : b == now->count ? -1
					      : tree_order(&old->entry[a], &now->entry[b]);
		const char *path = order > 0 ? now->entry[b].path : old->entry[a].path;
		char sign = order < 0 ? '-' : order > 0 ? '+' : '~';

		gone += order < 0;
		added += order > 0;
		if (order || strcmp(old->entry[a].what, now->entry[b].what)) {
			changed += !order;
			if (used < len)
				used += (size_t)snprintf(text + used, len - used, " %c%.24s", sign,
							 path);
		}
		a += order <= 0;
		b += order >= 0;
	}
	if (gone + added + changed > 8)
		snprintf(text, len, " %u gone, %u new, %u changed", gone, added, changed);
}

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

static inline void sample_log(void *ctx, const char *line)
{
	struct sample_host *host = ctx;
	size_t len = strlen(line);

	host->log = realloc(host->log, host->len + len + 2);
	memcpy(host->log + host->len, line, len);
	memcpy(host->log + host->len + len, "\n", 2);
	host->len += len + 1;
}

static inline void sample_host_init(struct sample_host *host)
{
	memhost_init(&host->mem);
	host->mem.host.log = sample_log;
	host->log = calloc(1, 1);
	host->len = 0;
}

/* A disk around an image. */
static inline struct membd sample_disk(const struct img *img)
{
	return (struct membd){ .bd = { &mem_ops, (uint64_t)img->blocks * LAB_BLOCK, 512 },
			       .disk = img->data };
}

static inline void sample_codes(const char *log, char *codes, size_t len)
{
	int last = -1;
	size_t used = 0;

	codes[0] = '\0';
	for (; *log && used < len; log = strchr(log, '\n') + 1) {
		int code = *log == '[' ? atoi(log + 1) : -1;

		if (code >= 0 && code != last)
			used += (size_t)snprintf(codes + used, len - used, " %d", code);
		last = code;
	}
}

/* Runs the checker on the image; the caller frees run->log. */
static inline void sample_check(struct img *img, enum as_fsck_mode mode, const char *opts,
				bool readonly, struct sample_run *run)
{
	struct membd disk = sample_disk(img);
	struct as_mount_args args = { .bd = &disk.bd, .opts = opts, .readonly = readonly };
	struct sample_host host;

	sample_host_init(&host);
	args.host = &host.mem.host;
	mem_record(&disk);
	run->code = lab_fsck(&args, mode);
	run->calls = disk.nlog;
	mem_forget_log(&disk);
	run->leaked = host.mem.live;
	run->log = host.log;
	sample_codes(host.log, run->codes, sizeof(run->codes));
}

#endif
