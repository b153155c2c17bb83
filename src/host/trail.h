/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trail: what was called of a library, and what it asked of its host, in order. It is in memory
 * that processes share, so that the calls of a child that dies are on it. A finding of a library is
 * played once more with a trail, and the trail is then written as a C program
 * (dossier/solo/solo.h).
 *
 * The trail belongs to a target (as_target_set_trail()): every instance of the target uses it.
 */
#ifndef AS_HOST_TRAIL_H
#define AS_HOST_TRAIL_H

#include "base/err.h"

#include <assay/target.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_host_mem;
struct as_medium;

enum as_trail_what {
	AS_TRAIL_CALL, /* of the library; fn says which */
	/* Of its host, within a call; fn is an enum as_solo_ask of assay/solo.h. n: offset, length,
	 * entries of the record before it, and in n[4] after it. The bytes are those that a write
	 * writes, and then what was spoiled: from n[3] on. */
	AS_TRAIL_IO,
	AS_TRAIL_OP, /* operation n[0] of the workload begins */
	AS_TRAIL_END, /* it has ended: what follows looks at the tree */
	AS_TRAIL_HOST, /* a new instance: memory and clock as in the beginning */
	AS_TRAIL_DISK, /* it has another disk: one that a power cut has left */
	AS_TRAIL_LEFT, /* what that disk has at n[0]; zeros are left out */
	AS_TRAIL_CUT, /* the power cut: n[0] entries of the record were begun */
	AS_TRAIL_LOST, /* of those, entry n[0] is missing, or a part of it */
	AS_TRAIL_TREE, /* the tree as text */
	AS_TRAIL_FOUND, /* something is wrong: what follows is for people */
};

/* clang-format off */
/* The functions of struct as_target_ops. */
#define AS_TRAIL_FNS(X)                                                                           \
	X(mkfs)                                                                                   \
	X(mount)                                                                                  \
	X(unmount) X(sync) X(getattr) X(setattr) X(mkdir) X(rmdir) X(unlink) X(rename) X(readdir) \
		X(open) X(close) X(read) X(write) X(fgetattr) X(fsetattr) X(fsync) X(link)        \
			X(link_handle) X(symlink) X(readlink) X(mknod) X(fallocate) X(setxattr)   \
				X(getxattr) X(listxattr) X(removexattr) X(statfs) X(remount)      \
					X(fsck)

enum as_trail_fn {
#define X(name) AS_TRAIL_##name,
	AS_TRAIL_FNS(X)
#undef X
		AS_TRAIL_FN_COUNT
};

const char *as_trail_fn_name(enum as_trail_fn fn);

struct as_trail_event {
	uint32_t bytes; /* of this event, with its texts */
	uint8_t what, fn;
	bool done; /* the call has come back */
	int32_t handle; /* the number of the handle, from 0; -1: none */
	int64_t ret;
	uint64_t n[5]; /* numbers among the arguments, in their order; statfs: free blocks, blocks,
			* free inodes, inodes */
	uint64_t before_ns, after_ns; /* the host's clock */
	uint32_t sum; /* as_solo_sum() of what the call filled in */
	uint32_t text_len[2], data_len;
	struct as_stat st; /* what setattr was told, or getattr has filled in */
};

/* Its texts, "" for none, and its bytes. */
const char *as_trail_text(const struct as_trail_event *event, unsigned i);
const unsigned char *as_trail_data(const struct as_trail_event *event);

struct as_trail;

/* NULL: there is no memory. */
struct as_trail *as_trail_new(void);
void as_trail_free(struct as_trail *trail); /* takes NULL */
/* The first event, and the one after; NULL: there are no more. */
const struct as_trail_event *as_trail_next(const struct as_trail *trail,
					   const struct as_trail_event *event);
/* It was too short for everything. */
bool as_trail_is_full(const struct as_trail *trail);
/* Adds an event with up to two texts (NULL: none) and bytes; NULL: there is no room. The trail may
 * be NULL, too. */
struct as_trail_event *as_trail_add(struct as_trail *trail, const struct as_trail_event *event,
				    const char *text, const char *text2, const void *data,
				    size_t len);
/* The same, for an event with one number. */
void as_trail_mark(struct as_trail *trail, enum as_trail_what what, uint64_t n, const void *data,
		   size_t len);

/* How long it is, and back to an earlier length: what came later is forgotten. */
size_t as_trail_len(const struct as_trail *trail);
void as_trail_rewind(struct as_trail *trail, size_t len);

/* ---- A library that is trailed (trailed.c) ---- */

struct as_trailed;

/* Either bd or flash is what it works on. The medium is below it, or NULL. All outlive this. */
struct as_trailed *as_trailed_new(const struct as_target_ops *inner, struct as_trail *trail,
				  struct as_host_mem *const *host, struct as_medium *medium,
				  struct as_bd *bd, struct as_flash *flash);
void as_trailed_free(struct as_trailed *trailed); /* takes NULL */
/* To be used in place of the library's, and of what it works on. */
const struct as_target_ops *as_trailed_ops(const struct as_trailed *trailed);
struct as_bd *as_trailed_bd(struct as_trailed *trailed);
struct as_flash *as_trailed_flash(struct as_trailed *trailed);
/* Reads the tree of what is mounted, and puts it on the trail. */
void as_trailed_tree(struct as_trailed *trailed);

#endif
