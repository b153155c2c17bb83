/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_send: bytes that the kernel moves from one open file to another: sendfile(2), and splice(2)
 * into a pipe and out of it again. Order of errors as in Linux's do_sendfile() of fs/read_write.c
 * and do_splice() of fs/splice.c. The first descriptor is the source; an offset of -1 stands for
 * that of the descriptor, which then moves.
 *
 * 1. The pipe holds pages of the source, not copies of them. So of ranges of one file that overlap
 *    nobody says which bytes come out: the executor refuses them (EINVAL), and also a source range
 *    that passes the end of the file, which the transfer itself may move.
 * 2. sendfile goes on until all is moved. splice moves no more than the pipe holds, which may be
 *    less than was asked for, but is more than nothing.
 * 3. Offsets move by what was answered.
 */
#include "model/footprint.h"
#include "model/rules/rule.h"

/* MAX_RW_COUNT of include/linux/fs.h. */
#define COUNT_MAX 0x7ffff000u

struct sending {
	struct as_file *in, *out; /* NULL: not open */
	int64_t from, to;
	uint64_t len;
};

static int64_t offset_of(const struct as_file *file, int64_t given)
{
	return given == -1 && file ? file->off : given;
}

static struct sending sending_of(const struct as_rule_step *s)
{
	bool spliced = s->op->code == AS_OP_SPLICE;
	struct sending x = { .in = as_file_at(s->m, s->op->fd),
			     .out = as_file_at(s->m, s->op->fd2) };

	if (x.in && x.in->flags & AS_O_PATH)
		x.in = NULL;
	if (x.out && x.out->flags & AS_O_PATH)
		x.out = NULL;
	x.from = offset_of(x.in, s->op->off);
	x.to = offset_of(x.out, spliced ? s->op->off2 : -1);
	x.len = s->op->len;
	return x;
}

/* Invariant 1. */
static bool meets_itself(const struct as_rule_step *s, const struct sending *x)
{
	uint64_t size;

	if (!x->in || !x->out || x->in->ino != x->out->ino || x->from < 0 || x->to < 0 ||
	    !is_reg(inode_at(s->m, x->in->ino)))
		return false;
	size = inode_at(s->m, x->in->ino)->reg.size;
	return as_op_sends_into_itself((uint64_t)x->from, (uint64_t)x->to, x->len, size);
}

/* What the source has to give: an errno, or 0 and *n. */
static int source_error(struct as_rule_step *s, const struct sending *x, uint64_t *n)
{
	const struct as_inode *from = inode_at(s->m, x->in->ino);

	*n = 0;
	if (x->len == 0)
		return 0;
	/* Directories have no splice_read(). */
	if (is_dir(from))
		return EINVAL;
	if ((uint64_t)x->from < from->reg.size)
		*n = from->reg.size - (uint64_t)x->from;
	*n = *n < x->len ? *n : x->len;
	return 0;
}

/* Whether an answer may say less than the model: what ran out of space, what the kernel does with
 * buffers of its own, and what a pipe holds. */
static bool may_be_short(const struct as_rule_step *s, const struct sending *x)
{
	return s->op->code == AS_OP_SPLICE || s->m->traits->may_fill ||
	       (x->in->flags | x->out->flags) & AS_O_DIRECT;
}

static void move(struct as_rule_step *s, const struct sending *x, uint64_t n)
{
	uint32_t in = x->in->ino, out = x->out->ino;
	bool to_moves = s->op->code == AS_OP_SENDFILE || s->op->off2 == -1;
	struct as_ino_pair before;
	struct as_inode *to;

	as_rule_changes(s);
	to = as_node_edit(s->m, out, &before);
	as_footprint_grow(s->m, to, (uint64_t)x->to);
	as_content_copy(inode_at(s->m, in), (uint64_t)x->from, to, (uint64_t)x->to, n);
	as_rule_drop_setid(s, to);
	to->used = s->m->clock;
	as_node_finish(s->m, to, &before);
	as_node_forget_times(s->m, out, false, true);
	as_node_forget_times(s->m, in, true, false);
	as_stamp(s->m, out, AS_EVENT_WRITTEN);
	/* do_sendfile() sets the offset of the target first. */
	if (to_moves)
		as_file_seek(s->m, s->op->fd2, x->to + (int64_t)n);
	if (s->op->off == -1)
		as_file_seek(s->m, s->op->fd, x->from + (int64_t)n);
}

/* The checks are done: the source is read, then the target written. */
static void transfer(struct as_rule_step *s, const struct sending *x, uint64_t n)
{
	/* splice_direct_to_actor() and filemap_splice_read(): file_accessed(), whatever comes. */
	if (s->applying || s->got)
		as_stamp(s->m, x->in->ino, AS_EVENT_READ_OTHERWISE);
	/* As for copy_file_range: a type without splice_write(), buffers of the kernel's. */
	if (s->m->traits->quirks & AS_QUIRK_COPY_MAYBE_REFUSED ||
	    (x->in->flags | (x->out ? x->out->flags : 0)) & AS_O_DIRECT)
		as_rule_allow(s, EINVAL);
	if (n == 0) {
		(void)as_rule_accept(s, 0);
		return;
	}
	as_rule_touch_refused(s, x->out);
	as_rule_allow_immutable(s, inode_at(s->m, x->out->ino));
	n = as_rule_fits(s, (uint64_t)x->to, n);
	if (n == 0)
		return as_rule_refuse(s, EFBIG);
	as_rule_allow_full(s);
	if (may_be_short(s, x) && s->got && s->got->ret > 0 && (uint64_t)s->got->ret < n)
		n = (uint64_t)s->got->ret;
	if (as_rule_accept(s, (int64_t)n))
		move(s, x, n);
}

void as_rule_sendfile(struct as_rule_step *s)
{
	struct sending x = sending_of(s);
	uint64_t max = s->m->traits->size_max, n;
	int err;

	if (meets_itself(s, &x))
		return as_rule_refuse(s, EINVAL);
	if (!x.in || !as_file_reads(x.in))
		return as_rule_refuse(s, EBADF);
	/* Where lseek left a directory's offset is the file system's own affair. */
	if (is_dir(inode_at(s->m, x.in->ino)) && s->op->off == -1) {
		as_rule_allow(s, EINVAL);
		as_rule_allow(s, EOVERFLOW);
	}
	if (x.from < 0 || as_range_overflows(x.from, x.len))
		return as_rule_refuse(s, EINVAL);
	x.len = x.len < COUNT_MAX ? x.len : COUNT_MAX;
	if (!x.out || !as_file_writes(x.out))
		return as_rule_refuse(s, EBADF);
	if ((uint64_t)x.from + x.len > max) {
		if ((uint64_t)x.from >= max) {
			as_rule_refuse(s, EOVERFLOW);
			return;
		}
		x.len = max - (uint64_t)x.from;
	}
	if (as_range_overflows(x.to, x.len) || x.out->flags & AS_O_APPEND)
		return as_rule_refuse(s, EINVAL);
	err = source_error(s, &x, &n);
	if (err)
		return as_rule_refuse(s, err);
	transfer(s, &x, n);
}

void as_rule_splice(struct as_rule_step *s)
{
	struct sending x = sending_of(s);
	uint64_t n;
	int err;

	/* splice(2): the descriptors are not looked at for 0 bytes. */
	if (x.len == 0) {
		(void)as_rule_accept(s, 0);
		return;
	}
	if (meets_itself(s, &x))
		return as_rule_refuse(s, EINVAL);
	/* The first call, into the pipe. */
	if (!x.in || !as_file_reads(x.in))
		return as_rule_refuse(s, EBADF);
	if (x.from < 0 || as_range_overflows(x.from, x.len))
		return as_rule_refuse(s, EINVAL);
	err = source_error(s, &x, &n);
	if (err)
		return as_rule_refuse(s, err);
	if (n == 0)
		return transfer(s, &x, 0);
	/* The second call, out of it; the source was read whatever comes of this. */
	if (s->applying || s->got)
		as_stamp(s->m, x.in->ino, AS_EVENT_READ_OTHERWISE);
	if (x.in->flags & AS_O_DIRECT)
		as_rule_allow(s, EINVAL);
	if (!x.out || !as_file_writes(x.out))
		return as_rule_refuse(s, EBADF);
	if (x.to < 0 || as_range_overflows(x.to, 1) || x.out->flags & AS_O_APPEND)
		return as_rule_refuse(s, EINVAL);
	/* How much was in the pipe decides whether the end is beyond the largest offset. */
	if (as_range_overflows(x.to, n))
		as_rule_allow(s, EINVAL);
	transfer(s, &x, n);
}
