/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rule: how an operation's rules are written, and what they may use: this header, the state
 * (state.h) and path resolution (walk.h). One function per operation, as_rule_NAME(), works in
 * three modes with the same code; apply.c calls it through a table made from op.def:
 *   query   what is allowed?            as_rule_accept() is always false: nothing is changed
 *   apply   take the first choice       as_rule_accept() is true
 *   judge   an outcome was seen         as_rule_accept() is true when it is the success described
 * A rule reads: find what is wrong, `return as_rule_refuse(s, ERRNO)`; say what else may happen
 * with as_rule_allow(s, ERRNO); then `if (!as_rule_accept(s, ret)) return;` and make the change.
 * Payloads are compared between as_rule_accept() and the change, with as_rule_wrong().
 */
#ifndef AS_MODEL_RULES_RULE_H
#define AS_MODEL_RULES_RULE_H

#include "model/stamp.h"
#include "model/state.h"
#include "model/walk.h"
#include "work/handed.h"

#include <errno.h>

struct as_rule_step {
	struct as_model *m;
	const struct as_op *op;
	const struct as_outcome *got; /* judge only */
	bool applying;
	bool said_wrong;
	bool barred; /* it changes something, and the mount is read-only */
	bool one_call; /* of a composite operation, only the next of its calls */
	unsigned bare; /* what that call makes gets no access list (1), no list at all (2) */
	struct as_allowed allowed;
	struct as_verdict *verdict; /* judge only */
	struct as_handed *told; /* apply: who asks what it hands over; or NULL */
};

typedef void (*step_fn)(struct as_rule_step *s);

#define OP(id, name, ...) void as_rule_##name(struct as_rule_step *s);
#include "work/op.def"
#undef OP

/* The rules while nothing is mounted. */
void as_rule_unmounted(struct as_rule_step *s);

/* Only this errno (and those allowed before or after). */
void as_rule_refuse(struct as_rule_step *s, int err);
/* This errno too. */
void as_rule_allow(struct as_rule_step *s, int err);
/* Running out of space or quota, where the file system can (open(2), write(2): ENOSPC, EDQUOT). */
void as_rule_allow_full(struct as_rule_step *s);
/* A library may refuse a number that it cannot hold, if it is wider than 16 bits (owners), 8 and 8
 * (devices) or 31 (seconds). */
void as_rule_allow_wide(struct as_rule_step *s, bool wide);
/* The removal of what is open, or has something open below it (AS_QUIRK_NO_OPEN_UNLINKED). */
/* What makes a file stable may be refused where nothing can be written: AS_QUIRK_FSYNC_EROFS. */
void as_rule_allow_no_fsync(struct as_rule_step *s);
void as_rule_allow_busy(struct as_rule_step *s, uint32_t ino);
/* It is about to change something (mnt_want_write()). True: the mount is read-only, and it was
 * refused with EROFS. A library is asked in an order of its own: what else is wrong it may tell,
 * too, so the rule goes on, but it is not accepted. */
bool as_rule_read_only(struct as_rule_step *s);
/* Success with this value (-1: any); true when the change is to be made. */
bool as_rule_accept(struct as_rule_step *s, int64_t ret);
/* The answer was of the right kind but its payload is not: "byte 7 is 0x01, model says 0x00". */
void as_rule_wrong(struct as_rule_step *s, const char *fmt, ...) AS_PRINTF(2, 3);
/* What it has to hand over, to who asks: the bytes of a file from `off` on, zeros after its end; a
 * pattern; bytes as they are; names (letter: of the type, or 0), and then that these are all, or
 * that there may be others. */
void as_rule_tell_content(struct as_rule_step *s, const struct as_inode *inode, uint64_t off,
			  uint64_t len);
void as_rule_tell_pattern(struct as_rule_step *s, uint64_t len, uint64_t pattern);
void as_rule_tell_text(struct as_rule_step *s, const void *text, size_t len);
void as_rule_tell_name(struct as_rule_step *s, char letter, const char *name);
void as_rule_tell_names(struct as_rule_step *s, bool others);
/* The change is about to be made: the state is no longer all stable. */
void as_rule_changes(struct as_rule_step *s);
/* A privileged process keeps set-id bits when it writes or truncates, O_TRUNC included; another
 * loses them (write(2), file_remove_privs(); do_truncate()). */
void as_rule_drop_setid(struct as_rule_step *s, struct as_inode *inode);
/* An operation that was refused may have done that: file_modified() of Linux comes first. */
void as_rule_doubt_setid(struct as_rule_step *s, uint32_t ino);
/* The bytes that were read are those from `off` on, `want` of them; zeros after the end. */
void as_rule_check_bytes(struct as_rule_step *s, const struct as_inode *inode, uint64_t off,
			 uint64_t want);
/* How much of a write fits below the type's largest file; 0: EFBIG (write(2)). */
uint64_t as_rule_fits(const struct as_rule_step *s, uint64_t off, uint64_t len);
/* A write that was refused may have moved the times of its file all the same. */
void as_rule_touch_refused(struct as_rule_step *s, const struct as_file *file);
/* By a descriptor that is older than the flag: ext4_generic_write_checks() and f2fs' like refuse,
 * others do not ask. */
void as_rule_allow_immutable(struct as_rule_step *s, const struct as_inode *inode);
void as_model_use(struct as_model *m, uint32_t ino);

/* Number of sub-calls a composite operation may make: what the file system says it did when it
 * failed half-way, else all. */
uint64_t as_rule_composite_limit(const struct as_rule_step *s);

/* An open descriptor's file, or EBADF (close(2)); O_PATH ones count only where said. */
struct as_file *as_rule_fd_file(struct as_rule_step *s, int32_t slot, bool path_ok);
/* Whether a descriptor was opened for reading, for writing. */
static inline bool as_file_reads(const struct as_file *file)
{
	return (file->flags & AS_O_ACCMODE) != AS_O_WRONLY;
}

static inline bool as_file_writes(const struct as_file *file)
{
	return (file->flags & AS_O_ACCMODE) != 0;
}

/* Whether a range ends beyond the largest offset (rw_verify_area()). */
static inline bool as_range_overflows(int64_t off, uint64_t len)
{
	return len > (uint64_t)INT64_MAX || off > INT64_MAX - (int64_t)len;
}

/* Listing a removed directory: getdents(2) answers ENOENT, which readdir(3) turns into the end, as
 * POSIX wants it. Either may come. */
void as_rule_allow_removed_list(struct as_rule_step *s);
bool as_rule_has(const struct as_rule_step *s, uint64_t feature);
/* A new inode with the caller's credentials (root), linked at w. */
struct as_inode *as_rule_make_node(struct as_rule_step *s, const struct as_walk *w, uint32_t mode);
/* What was told by stat(2) or its like is so. */
void as_rule_check_stat(struct as_rule_step *s, const struct as_inode *inode);
/* op_handle.c; both take NULL. */
struct as_handles *as_handles_get(struct as_handles *handles);
void as_handles_put(struct as_handles *handles);
/* Of a name that is an access control list's, all of the rule for reading, writing or removing it;
 * false: it is another attribute's. */
bool as_rule_acl_attribute(struct as_rule_step *s, uint32_t ino);
/* truncate(2) of a regular file, also as a part of prune and enlarge. */
void as_rule_truncate_path(struct as_rule_step *s, uint32_t ino, uint64_t size);
/* may_create() and may_delete() of fs/namei.c: what flags forbid is EPERM. */
bool as_rule_may_create(const struct as_rule_step *s, uint32_t dir);
bool as_model_may_delete(const struct as_model *m, uint32_t dir, uint32_t ino);
/* Whether a directory takes in only inodes of its own project, of which this is none: EXDEV. */
bool as_rule_crosses(const struct as_rule_step *s, uint32_t dir, uint32_t ino);
/* filename_create(): 0 when `w` may be created, else the errno. */
int as_rule_can_create(struct as_rule_step *s, struct as_walk *w, bool want_dir);

#endif
