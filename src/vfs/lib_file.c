/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_file: descriptors. A slot holds what a struct file holds in Linux: the handle, the flags it
 * was opened with, the offset. Checks and their order follow fs/open.c and fs/read_write.c.
 */
#include "base/array.h"
#include "vfs/lib_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* open(2) with O_PATH keeps these and drops the rest: fs/open.c, build_open_how(). */
#define O_PATH_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)
/* What a library is told; the rest is the executor's business. */
#define SEAM_FLAGS                                                                              \
	(O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_DIRECTORY | O_TMPFILE | O_SYNC | \
	 O_DSYNC)

/* ---- Slots ----------------------------------------------------------------------------------- */

struct as_lib_slot *as_lib_slot_get(struct as_lib *l, int32_t number)
{
	if (number < 0 || (size_t)number >= l->n_slots || !l->slots[number].used)
		return NULL;
	return &l->slots[number];
}

struct as_lib_slot *as_lib_slot_get_file(struct as_lib *l, int32_t number)
{
	struct as_lib_slot *slot = as_lib_slot_get(l, number);

	return slot && !slot->path_only ? slot : NULL;
}

int as_lib_slot_close(struct as_lib *l, struct as_lib_slot *slot)
{
	bool held = slot->handle && as_lib_map_holds(l, slot->handle);
	int rc = slot->handle && !held ? l->ops->close(l->fs, slot->handle) : 0;

	free(slot->path);
	*slot = (struct as_lib_slot){ 0 };
	return rc;
}

int as_lib_slot_stat(struct as_lib *l, struct as_lib_slot *slot, struct as_stat *st)
{
	int rc;

	if (slot->handle)
		return as_lib_fgetattr(l, slot->handle, st);
	if (!slot->path)
		return -AS_ERR_UNSUPPORTED;
	rc = as_lib_getattr(l, slot->path, st);
	return !rc && st->ino != slot->ino ? -AS_ERR_UNSUPPORTED : rc;
}

bool as_lib_slots_open(const struct as_lib *l)
{
	for (size_t i = 0; i < l->n_slots; i++)
		if (l->slots[i].used)
			return true;
	for (size_t i = 0; i < l->n_maps; i++)
		if (l->maps[i].handle)
			return true;
	return false;
}

static struct as_lib_slot *slot_at(struct as_lib *l, size_t number)
{
	AS_ARRAY_ROOM_FOR(l->slots, number, 1, l->cap_slots);
	while (l->n_slots <= number)
		l->slots[l->n_slots++] = (struct as_lib_slot){ 0 };
	return &l->slots[number];
}

/* ---- open ------------------------------------------------------------------------------------ */

static bool writes(unsigned flags)
{
	return (flags & O_ACCMODE) != O_RDONLY;
}

static bool reads(unsigned flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

/* fs/open.c, build_open_flags(). */
static int check_flags(unsigned flags)
{
	if ((flags & (O_DIRECTORY | O_CREAT)) == (O_DIRECTORY | O_CREAT))
		return -EINVAL;
	if (flags & TMPFILE_BIT && (!(flags & O_DIRECTORY) || !writes(flags)))
		return -EINVAL;
	return 0;
}

static enum as_lib_walk open_walk(unsigned flags)
{
	bool nofollow = flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL);

	if (flags & O_CREAT)
		return nofollow ? WALK_CREATE_NOFOLLOW : WALK_CREATE;
	return nofollow ? WALK_NOFOLLOW : WALK_FOLLOW;
}

/* What is there and cannot be opened through the library: fs/namei.c, do_open(), may_open(). */
static int refuse_node(const struct as_lib_place *p, unsigned flags)
{
	if (!p->there || S_ISREG(p->st.mode) || S_ISDIR(p->st.mode))
		return 0;
	if (flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	return S_ISLNK(p->st.mode) ? -ELOOP : -ENXIO;
}

/* A removed directory, which is still the working directory. It cannot be opened by a path. */
static int refuse_removed(unsigned flags)
{
	if (flags & TMPFILE_BIT)
		return -AS_ERR_UNSUPPORTED;
	if (flags & O_CREAT)
		return flags & O_EXCL ? -EEXIST : -EISDIR;
	return writes(flags) || flags & O_TRUNC ? -EISDIR : -AS_ERR_UNSUPPORTED;
}

static int open_path_only(struct as_lib *l, const struct as_lib_place *p, struct as_lib_slot *slot)
{
	bool plain = S_ISREG(p->st.mode) || S_ISDIR(p->st.mode);
	int rc = 0;

	slot->path_only = true;
	if (plain)
		rc = l->ops->open(l->fs, as_lib_place_path(p),
				  S_ISDIR(p->st.mode) ? O_RDONLY | O_DIRECTORY : O_RDONLY, 0,
				  &slot->handle);
	else
		slot->path = as_xstrdup(as_lib_place_path(p));
	return rc;
}

static int open_place(struct as_lib *l, const struct as_lib_place *p, unsigned flags, uint32_t mode,
		      struct as_lib_slot *slot)
{
	int rc;

	if (flags & O_PATH) {
		if (flags & O_DIRECTORY && !S_ISDIR(p->st.mode))
			return -ENOTDIR;
		return p->gone ? -AS_ERR_UNSUPPORTED : open_path_only(l, p, slot);
	}
	rc = refuse_node(p, flags);
	if (rc)
		return rc;
	if (p->gone)
		return refuse_removed(flags);
	if (flags & TMPFILE_BIT && !(l->ops->caps & AS_CAP_TMPFILE))
		return S_ISDIR(p->st.mode) ? -EOPNOTSUPP : -ENOTDIR;
	return l->ops->open(l->fs, as_lib_place_path(p), flags & SEAM_FLAGS, mode & 07777,
			    &slot->handle);
}

int as_lib_open_at(struct as_lib *l, const char *text, unsigned flags, uint32_t mode,
		   struct as_lib_slot *slot)
{
	struct as_lib_place p = { 0 };
	int rc;

	if (flags & O_PATH)
		flags &= O_PATH_FLAGS;
	rc = check_flags(flags);
	if (!rc)
		rc = as_lib_walk(l, text, open_walk(flags), &p);
	if (!rc)
		rc = open_place(l, &p, flags, mode, slot);
	if (!rc) {
		slot->used = true;
		slot->flags = flags;
		slot->ino = p.st.ino;
		slot->type = p.there && !(flags & TMPFILE_BIT) ? p.st.mode & S_IFMT : S_IFREG;
	}
	as_lib_place_free(&p);
	return rc;
}

void as_lib_open(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot made = { 0 }, *slot = NULL;
	int rc;

	/* What the slot held is closed first, whatever comes of the open. */
	if (op->slot != AS_SLOT_NONE)
		slot = slot_at(l, (size_t)op->slot);
	if (slot && slot->used)
		as_lib_slot_close(l, slot);
	rc = as_lib_open_at(l, op->path, (unsigned)op->flags, op->mode, &made);
	as_vfs_answer(out, rc);
	if (!rc && slot)
		*slot = made;
	else if (!rc)
		as_lib_slot_close(l, &made);
}

void as_lib_close(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get(l, op->fd);

	as_vfs_answer(out, slot ? as_lib_slot_close(l, slot) : -EBADF);
}

/* ---- Data ------------------------------------------------------------------------------------ */

/* fs/read_write.c, rw_verify_area(): the end must not wrap. */
static bool wraps(int64_t at, uint64_t len)
{
	return at < 0 || len > (uint64_t)INT64_MAX - (uint64_t)at;
}

void as_lib_guard(char *end)
{
	for (unsigned i = 0; i < AS_LIB_GUARD; i++)
		end[i] = (char)(0xa5 ^ i);
}

void as_lib_look_at_guard(struct as_lib *l, const char *end)
{
	char wanted[AS_LIB_GUARD];

	as_lib_guard(wanted);
	if (memcmp(end, wanted, AS_LIB_GUARD))
		as_host_blame(l->args.host, "wrote past the end of the buffer that it was given");
}

static int64_t read_at(struct as_lib *l, struct as_lib_slot *slot, uint64_t len, int64_t at)
{
	char *buf;
	int64_t n;

	if (!slot || !reads(slot->flags))
		return -EBADF;
	if (wraps(at, len))
		return -EINVAL;
	if (S_ISDIR(slot->type))
		return -EISDIR;
	as_buf_clear(&l->vfs.data);
	buf = as_buf_reserve(&l->vfs.data, len + AS_LIB_GUARD);
	as_lib_guard(buf + len);
	n = l->ops->read(l->fs, slot->handle, buf, len, (uint64_t)at);
	as_lib_look_at_guard(l, buf + len);
	if (n > 0 && (uint64_t)n > len)
		as_host_blame(l->args.host, "returned more bytes than it was asked for");
	n = as_vfs_fitting(n, len);
	l->vfs.data.len = n > 0 ? (size_t)n : 0;
	return n;
}

void as_lib_read(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	int64_t n = read_at(l, slot, op->len, slot ? slot->off : 0);

	if (n > 0)
		slot->off += n;
	as_vfs_answer_bytes(&l->vfs, out, n);
}

void as_lib_pread(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	/* A negative offset is looked at before the descriptor. */
	int64_t n = op->off < 0 ? -EINVAL
				: read_at(l, as_lib_slot_get_file(l, op->fd), op->len, op->off);

	as_vfs_answer_bytes(&l->vfs, out, n);
}

/* Writes the pattern of the offset where it will be stored; *at moves to its end. */
static int64_t write_at(struct as_lib *l, struct as_lib_slot *slot, const struct as_op *op,
			int64_t *at)
{
	struct as_stat st;
	uint64_t off = (uint64_t)*at;
	int64_t n;
	int rc;

	if (!slot || !writes(slot->flags))
		return -EBADF;
	if (wraps(*at, op->len))
		return -EINVAL;
	if (slot->flags & O_APPEND) {
		rc = l->ops->fgetattr(l->fs, slot->handle, &st);
		if (rc)
			return rc;
		off = st.size;
	}
	as_buf_clear(&l->vfs.data);
	as_pattern_fill(op->fill, off, as_buf_reserve(&l->vfs.data, op->len), op->len);
	/* For the library it is a plain offset: where it appends, it finds the end itself. */
	off = (uint64_t)*at;
	n = l->ops->write(l->fs, slot->handle, l->vfs.data.data, op->len, &off);
	if (n >= 0 && op->len)
		*at = (int64_t)off;
	return n;
}

void as_lib_write(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	int64_t at = slot ? slot->off : 0, n = write_at(l, slot, op, &at);

	if (n >= 0)
		slot->off = at;
	as_vfs_answer(out, n);
}

void as_lib_pwrite(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	int64_t at = op->off;

	as_vfs_answer(out,
		      at < 0 ? -EINVAL : write_at(l, as_lib_slot_get_file(l, op->fd), op, &at));
}

/* ---- With flags ---- */

/* vfs_readv() and kiocb_set_rw_flags(), for a type that knows nothing newer than RWF_APPEND. 1: go
 * on; 0 or a negative errno: the answer. */
static int check_rwf(const struct as_lib_slot *slot, const struct as_op *op, int64_t at)
{
	int64_t known = AS_RWF_HIPRI | AS_RWF_DSYNC | AS_RWF_SYNC | AS_RWF_APPEND;
	bool open = slot && (op->code == AS_OP_PREADV2 ? reads(slot->flags) : writes(slot->flags));

	if (op->off < -1)
		return -EINVAL;
	if (!open)
		return -EBADF;
	if (!op->len)
		return 0;
	if (wraps(at, op->len))
		return -EINVAL;
	if (S_ISDIR(slot->type))
		known = AS_RWF_HIPRI;
	return op->flags & ~known ? -EOPNOTSUPP : 1;
}

void as_lib_preadv2(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	int64_t at = op->off == -1 && slot ? slot->off : op->off, n;

	n = check_rwf(slot, op, at);
	if (n > 0)
		n = read_at(l, slot, op->len, at);
	else
		as_buf_clear(&l->vfs.data);
	if (n > 0 && op->off == -1)
		slot->off += n;
	as_vfs_answer_bytes(&l->vfs, out, n);
}

void as_lib_pwritev2(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	int64_t at = op->off == -1 && slot ? slot->off : op->off, n;
	struct as_stat st;

	n = check_rwf(slot, op, at);
	if (n > 0 && op->flags & AS_RWF_APPEND) {
		int rc = l->ops->fgetattr(l->fs, slot->handle, &st);

		n = rc ? rc : n;
		at = (int64_t)st.size;
	}
	if (n > 0) {
		n = write_at(l, slot, op, &at);
		if (n > 0 && op->off == -1)
			slot->off = at;
		if (n > 0 && op->flags & (AS_RWF_DSYNC | AS_RWF_SYNC)) {
			int rc = l->ops->fsync(l->fs, slot->handle, !(op->flags & AS_RWF_SYNC));

			n = rc ? rc : n;
		}
	}
	as_vfs_answer(out, n);
}

/* A library does not say where its holes are: all up to the end is data. */
static int64_t seek_data_hole(int64_t off, int64_t size, bool hole)
{
	if (off < 0 || off >= size)
		return -ENXIO;
	return hole ? size : off;
}

static int64_t seek_to(struct as_lib *l, struct as_lib_slot *slot, int64_t off, int64_t whence)
{
	int64_t max = l->args.size_max_bytes ? (int64_t)l->args.size_max_bytes : INT64_MAX,
		to = off;
	struct as_stat st;
	int rc;

	rc = l->ops->fgetattr(l->fs, slot->handle, &st);
	if (rc)
		return rc;
	if (whence == SEEK_DATA || whence == SEEK_HOLE) {
		if (S_ISDIR(slot->type))
			return -EINVAL;
		to = seek_data_hole(off, (int64_t)st.size, whence == SEEK_HOLE);
		if (to < 0)
			return to;
	} else if (whence == SEEK_CUR || whence == SEEK_END) {
		int64_t from = whence == SEEK_CUR ? slot->off : (int64_t)st.size;

		if (__builtin_add_overflow(from, off, &to))
			return -EINVAL;
	}
	return to < 0 || to > max ? -EINVAL : to;
}

void as_lib_lseek(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	int64_t to = slot ? seek_to(l, slot, op->off, op->flags) : -EBADF;

	if (to >= 0)
		slot->off = to;
	as_vfs_answer(out, to);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static bool too_large(const struct as_lib *l, uint64_t size)
{
	return l->args.size_max_bytes && size > l->args.size_max_bytes;
}

int as_lib_truncate_at(struct as_lib *l, const char *text, uint64_t size)
{
	struct as_stat st = { .size = size };
	struct as_lib_place p = { 0 };
	int rc = 0;

	if (size > INT64_MAX)
		return -EINVAL;
	rc = as_lib_walk(l, text, WALK_FOLLOW, &p);
	if (!rc && S_ISDIR(p.st.mode))
		rc = -EISDIR;
	else if (!rc && !S_ISREG(p.st.mode))
		rc = -EINVAL;
	if (!rc)
		rc = l->ops->setattr(l->fs, as_lib_place_path(&p), &st, AS_SET_SIZE);
	as_lib_place_free(&p);
	return rc;
}

void as_lib_truncate(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, as_lib_truncate_at(l, op->path, op->len));
}

void as_lib_ftruncate(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	struct as_stat st = { .size = op->len };
	int rc;

	if (op->len > INT64_MAX)
		rc = -EINVAL;
	else if (!slot)
		rc = -EBADF;
	else if (!S_ISREG(slot->type) || !writes(slot->flags))
		rc = -EINVAL;
	else
		rc = l->ops->fsetattr(l->fs, slot->handle, &st, AS_SET_SIZE);
	as_vfs_answer(out, rc);
}

static uint32_t fallocate_cap(int64_t mode)
{
	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
		return AS_CAP_SHIFT;
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		return AS_CAP_PUNCH;
	return mode & ~(int64_t)FALLOC_FL_KEEP_SIZE ? 0 : AS_CAP_FALLOCATE;
}

/* fs/open.c, vfs_fallocate(). */
static int fallocate_check(const struct as_lib *l, const struct as_lib_slot *slot,
			   const struct as_op *op)
{
	int rc;

	if (!slot)
		return -EBADF;
	if (op->off < 0 || !op->len || op->len > INT64_MAX)
		return -EINVAL;
	rc = as_vfs_fallocate_mode(op->flags);
	if (rc)
		return rc;
	if (!writes(slot->flags))
		return -EBADF;
	if (S_ISDIR(slot->type))
		return -EISDIR;
	if (wraps(op->off, op->len) || too_large(l, (uint64_t)op->off + op->len))
		return -EFBIG;
	return l->ops->caps & fallocate_cap(op->flags) ? 0 : -EOPNOTSUPP;
}

void as_lib_fallocate(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	int rc = fallocate_check(l, slot, op);

	if (!rc)
		rc = l->ops->fallocate(l->fs, slot->handle, (unsigned)op->flags, (uint64_t)op->off,
				       op->len);
	as_vfs_answer(out, rc);
}
