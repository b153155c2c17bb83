/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_copy: copy_file_range and mmap_write, which a library does not have: done by reading and
 * writing through it, with the checks of fs/read_write.c and mm/mmap.c in front. Files of a library
 * share no blocks: clones are refused as the kernel refuses them for such a type.
 */
#include "vfs/lib_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define COPY_BYTES ((size_t)1 << 20)

/* fs/read_write.c, generic_file_rw_checks(). */
static int copy_check_files(const struct as_lib_slot *in, const struct as_lib_slot *out)
{
	if (!in || !out)
		return -EBADF;
	if (S_ISDIR(in->type) || S_ISDIR(out->type))
		return -EISDIR;
	if (!S_ISREG(in->type) || !S_ISREG(out->type))
		return -EINVAL;
	if ((in->flags & O_ACCMODE) == O_WRONLY || (out->flags & O_ACCMODE) == O_RDONLY ||
	    out->flags & O_APPEND)
		return -EBADF;
	return 0;
}

/* generic_copy_file_checks(): what is left to copy, or a negative errno. */
static int64_t copy_check_range(struct as_lib *l, struct as_lib_slot *in, struct as_lib_slot *out,
				int64_t from, int64_t to, uint64_t len)
{
	struct as_stat a, b;
	uint64_t left;
	int rc;

	if ((uint64_t)from + len < (uint64_t)from || (uint64_t)to + len < (uint64_t)to)
		return -EOVERFLOW;
	rc = l->ops->fgetattr(l->fs, in->handle, &a);
	if (!rc)
		rc = l->ops->fgetattr(l->fs, out->handle, &b);
	if (rc)
		return rc;
	if (from >= 0 && (uint64_t)from >= a.size)
		left = 0;
	else
		left = a.size - (uint64_t)from < len ? a.size - (uint64_t)from : len;
	/* The write's limit: pos >= s_maxbytes is EFBIG, a longer one is cut. */
	if (left && l->args.size_max_bytes && to >= 0) {
		if ((uint64_t)to >= l->args.size_max_bytes)
			return -EFBIG;
		if (left > l->args.size_max_bytes - (uint64_t)to)
			left = l->args.size_max_bytes - (uint64_t)to;
	}
	if (a.ino == b.ino && (uint64_t)to + left > (uint64_t)from &&
	    (uint64_t)to < (uint64_t)from + left)
		return -EINVAL;
	if (from < 0 || to < 0)
		return -EINVAL;
	return (int64_t)left;
}

static int64_t copy_bytes(struct as_lib *l, struct as_lib_slot *in, struct as_lib_slot *out,
			  uint64_t from, uint64_t to, uint64_t len)
{
	uint64_t done = 0;
	int64_t n = 0;

	as_buf_clear(&l->vfs.data);
	as_buf_reserve(&l->vfs.data, COPY_BYTES);
	while (done < len) {
		size_t step = len - done < COPY_BYTES ? (size_t)(len - done) : COPY_BYTES;
		uint64_t at = to + done;

		n = l->ops->read(l->fs, in->handle, l->vfs.data.data, step, from + done);
		if (n > 0)
			n = l->ops->write(l->fs, out->handle, l->vfs.data.data, (size_t)n, &at);
		if (n <= 0)
			break;
		done += (uint64_t)n;
	}
	return done ? (int64_t)done : n;
}

void as_lib_copy_file_range(struct as_lib *l, const struct as_op *op, struct as_outcome *outcome)
{
	struct as_lib_slot *in = as_lib_slot_get_file(l, op->fd),
			   *out = as_lib_slot_get_file(l, op->fd2);
	int64_t rc = copy_check_files(in, out), left;

	if (!rc) {
		left = copy_check_range(l, in, out, op->off, op->off2, op->len);
		rc = left > 0 ? copy_bytes(l, in, out, (uint64_t)op->off, (uint64_t)op->off2,
					   (uint64_t)left)
			      : left;
	}
	as_vfs_answer(outcome, rc);
}

static void refuse_clone(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	int rc =
		copy_check_files(as_lib_slot_get_file(l, op->fd2), as_lib_slot_get_file(l, op->fd));

	as_vfs_answer(out, rc ? rc : -EOPNOTSUPP);
}

void as_lib_clone(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	refuse_clone(l, op, out);
}

void as_lib_clone_range(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	refuse_clone(l, op, out);
}

/* vfs_dedupe_file_range() looks at the source alone before it asks whether the type can. */
void as_lib_dedupe_range(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	const struct as_lib_slot *in = as_lib_slot_get_file(l, op->fd2);

	if (!in)
		as_vfs_answer(out, -EBADF);
	else if ((in->flags & O_ACCMODE) == O_WRONLY)
		as_vfs_answer(out, -EINVAL);
	else
		as_vfs_answer(out, S_ISDIR(in->type) ? -EISDIR : -EOPNOTSUPP);
}

/* The descriptor, the format's own rules, what mmap(2) refuses, the end. */
static int mmap_check(struct as_lib *l, struct as_lib_slot *slot, const struct as_op *op)
{
	struct as_stat st;
	int rc;

	if (!slot)
		return -EBADF;
	if (!op->len || op->off < 0 || (op->flags & AS_MS_BOTH) == AS_MS_BOTH)
		return -EINVAL;
	if ((slot->flags & O_ACCMODE) != O_RDWR)
		return -EACCES;
	if (!S_ISREG(slot->type))
		return -ENODEV;
	rc = l->ops->fgetattr(l->fs, slot->handle, &st);
	if (rc)
		return rc;
	return op->len > st.size || (uint64_t)op->off > st.size - op->len ? -ENXIO : 0;
}

void as_lib_mmap_write(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	uint64_t done = 0;
	int64_t rc = mmap_check(l, slot, op);

	if (!rc) {
		as_buf_clear(&l->vfs.data);
		as_pattern_fill(op->fill, (uint64_t)op->off, as_buf_reserve(&l->vfs.data, op->len),
				op->len);
		/* A mapping knows no O_APPEND, but a library's handle does. */
		if (slot->flags & O_APPEND)
			rc = -AS_ERR_UNSUPPORTED;
	}
	while (!rc && done < op->len) {
		uint64_t at = (uint64_t)op->off + done;
		int64_t n = l->ops->write(l->fs, slot->handle, l->vfs.data.data + done,
					  op->len - done, &at);

		if (n <= 0)
			rc = n ? n : -EIO;
		else
			done += (uint64_t)n;
	}
	if (!rc && op->flags & AS_MS_SYNC)
		rc = l->ops->fsync(l->fs, slot->handle, true);
	/* A page for which there is no space raises SIGBUS; those before it are stored. */
	if (rc == -ENOSPC && done && done < op->len) {
		rc = -ENXIO;
		out->done = done;
	}
	as_vfs_answer(out, rc);
}

/* ---- Flags ----------------------------------------------------------------------------------- */

/* struct as_target_ops has no flags: the answer is that of a file without such a request. */
static int no_flags(struct as_lib *l, const struct as_op *op)
{
	return as_lib_slot_get_file(l, op->fd) ? -ENOTTY : -EBADF;
}

void as_lib_getflags(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, no_flags(l, op));
}

void as_lib_setflags(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, no_flags(l, op));
}

/* A library has no locks. */
void as_lib_flock(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	int64_t how = op->flags & (AS_LOCK_SH | AS_LOCK_EX | AS_LOCK_UN);
	int rc = as_lib_slot_get_file(l, op->fd) ? -EOPNOTSUPP : -EBADF;

	if (rc != -EBADF && how != AS_LOCK_SH && how != AS_LOCK_EX && how != AS_LOCK_UN)
		rc = -EINVAL;
	as_vfs_answer(out, rc);
}

static void refuse_record_lock(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, as_lib_slot_get_file(l, op->fd) ? -EOPNOTSUPP : -EBADF);
}

void as_lib_ofd_setlk(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	refuse_record_lock(l, op, out);
}

void as_lib_ofd_getlk(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	refuse_record_lock(l, op, out);
}

void as_lib_setlk(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	refuse_record_lock(l, op, out);
}

void as_lib_getlk(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	refuse_record_lock(l, op, out);
}

/* ---- sendfile and splice ---- */

/* MAX_RW_COUNT; what the kernel moves at a time; what a pipe holds. */
#define SEND_MAX 0x7ffff000u
#define SEND_PIECE 4096u
#define PIPE_BYTES 65536u

struct lib_send {
	struct as_lib_slot *in, *out; /* NULL: not open */
	int64_t from, to;
	uint64_t len;
	bool spliced;
};

/* What the format decides before the first call. */
static int send_check_itself(struct as_lib *l, const struct lib_send *x)
{
	struct as_stat a, b;
	int rc;

	if (!x->in || !x->out || !S_ISREG(x->in->type) || !S_ISREG(x->out->type) || x->from < 0 ||
	    x->to < 0)
		return 0;
	rc = l->ops->fgetattr(l->fs, x->in->handle, &a);
	if (!rc)
		rc = l->ops->fgetattr(l->fs, x->out->handle, &b);
	if (rc || a.ino != b.ino)
		return rc;
	return as_op_sends_into_itself((uint64_t)x->from, (uint64_t)x->to, x->len, a.size) ? -EINVAL
											   : 0;
}

static bool beyond(int64_t off, uint64_t len)
{
	return off < 0 || len > INT64_MAX || off > INT64_MAX - (int64_t)len;
}

static int send_check_in(const struct lib_send *x)
{
	if (!x->in || (x->in->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	if (beyond(x->from, x->len))
		return -EINVAL;
	/* Of sendfile that comes later. */
	return x->spliced && !S_ISREG(x->in->type) ? -EINVAL : 0;
}

static int send_check_out(struct as_lib *l, struct lib_send *x)
{
	uint64_t max = l->args.size_max_bytes;

	if (!x->out || (x->out->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	x->len = x->len < SEND_MAX ? x->len : SEND_MAX;
	if (!x->spliced && max && (uint64_t)x->from + x->len > max) {
		if ((uint64_t)x->from >= max)
			return -EOVERFLOW;
		x->len = max - (uint64_t)x->from;
	}
	if (x->out->flags & O_APPEND || beyond(x->to, x->len))
		return -EINVAL;
	return x->len && !S_ISREG(x->in->type) ? -EINVAL : 0;
}

/* What the source has, at most `len`; negative errno. */
static int64_t send_left(struct as_lib *l, const struct lib_send *x)
{
	struct as_stat st;
	uint64_t left;
	int rc;

	if (!x->len)
		return 0;
	rc = l->ops->fgetattr(l->fs, x->in->handle, &st);
	if (rc)
		return rc;
	left = (uint64_t)x->from < st.size ? st.size - (uint64_t)x->from : 0;
	return (int64_t)(left < x->len ? left : x->len);
}

/* One piece after the other, each read and then written. */
static int64_t send_pieces(struct as_lib *l, const struct lib_send *x)
{
	uint64_t done = 0, max = l->args.size_max_bytes;
	int64_t n = 0;

	while (done < x->len) {
		uint64_t from = (uint64_t)x->from + done, to = (uint64_t)x->to + done;
		uint64_t step = SEND_PIECE - from % SEND_PIECE;

		step = step < x->len - done ? step : x->len - done;
		if (max && step > max - (to < max ? to : max))
			step = max - (to < max ? to : max);
		n = step ? copy_bytes(l, x->in, x->out, from, to, step) : -EFBIG;
		if (n <= 0)
			break;
		done += (uint64_t)n;
	}
	return done ? (int64_t)done : n;
}

static int64_t send_now(struct as_lib *l, struct lib_send *x)
{
	int64_t rc = send_check_itself(l, x), left;

	if (!rc)
		rc = send_check_in(x);
	if (!rc && x->spliced) {
		left = send_left(l, x);
		if (left <= 0)
			return left;
		x->len = left < PIPE_BYTES ? (uint64_t)left : PIPE_BYTES;
	}
	if (!rc)
		rc = send_check_out(l, x);
	if (rc)
		return rc;
	left = send_left(l, x);
	if (left <= 0)
		return left;
	x->len = (uint64_t)left;
	return send_pieces(l, x);
}

static void send_op(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct lib_send x = { .in = as_lib_slot_get_file(l, op->fd),
			      .out = as_lib_slot_get_file(l, op->fd2),
			      .from = op->off,
			      .to = op->off2,
			      .len = op->len,
			      .spliced = op->code == AS_OP_SPLICE };
	int64_t rc;

	if (!x.spliced)
		x.to = -1;
	if (x.in && x.from == -1)
		x.from = x.in->off;
	if (x.out && x.to == -1)
		x.to = x.out->off;
	rc = x.spliced && !x.len ? 0 : send_now(l, &x);
	if (rc > 0 && (!x.spliced || op->off2 == -1))
		x.out->off = x.to + rc;
	if (rc > 0 && op->off == -1)
		x.in->off = x.from + rc;
	as_vfs_answer(out, rc);
}

void as_lib_sendfile(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	send_op(l, op, out);
}

void as_lib_splice(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	send_op(l, op, out);
}
