/* SPDX-License-Identifier: GPL-2.0-or-later */
/* op_seek: offsets of descriptors. Order of errors as in Linux's fs/read_write.c. */
#include "model/rules/rule.h"

/* lseek(2): SEEK_DATA and SEEK_HOLE are hints: a file system may call holes data, but never data a
 * hole, and the end of the file is one. */
static bool seek_sparse(struct as_rule_step *s, const struct as_inode *inode, int64_t off,
			bool data)
{
	uint64_t at = (uint64_t)off, size = inode->reg.size, next;
	int64_t got = s->got ? s->got->ret : -1;

	if (off < 0 && s->m->traits->quirks & AS_QUIRK_SEEK_NEGATIVE) {
		as_rule_refuse(s, ENXIO);
		as_rule_allow(s, EINVAL);
		return got >= 0 && (uint64_t)got <= size && as_rule_accept(s, -1);
	}
	if (off < 0 && s->m->traits->quirks & AS_QUIRK_SEEK_FROM_START) {
		/* Not always: data that is not on the disk yet is not found this way. */
		as_rule_allow(s, ENXIO);
		at = 0;
	} else if (off < 0) {
		at = size;
	}
	if (at >= size) {
		as_rule_refuse(s, ENXIO);
		return false;
	}
	next = as_content_next_data(inode, at);
	if (data && next >= size)
		as_rule_allow(s, ENXIO);
	if (!s->got || got < 0)
		return as_rule_accept(s, -1);
	if ((uint64_t)got < at || (uint64_t)got > size - data)
		as_rule_wrong(s, "found %s at %lld, outside the file", data ? "data" : "a hole",
			      (long long)got);
	else if (data && (uint64_t)got > next)
		as_rule_wrong(s, "found data at %lld, model has some at %llu", (long long)got,
			      (unsigned long long)next);
	else if (!data && (uint64_t)got < size && as_content_is_data(inode, (uint64_t)got))
		as_rule_wrong(s, "found a hole at %lld, model has data there", (long long)got);
	return as_rule_accept(s, -1) && !s->said_wrong;
}

void as_rule_lseek(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);
	const struct as_inode *inode;
	int64_t off = s->op->off, base = 0;

	if (!file)
		return;
	inode = inode_at(s->m, file->ino);
	if (is_dir(inode)) {
		/* What offsets of a directory mean is the file system's own affair. */
		as_rule_allow(s, EINVAL);
		as_rule_allow(s, ENXIO);
		as_rule_allow(s, EOVERFLOW);
		/* ext4 has its holes at INT64_MAX: a read there overflows before the kernel sees
		 * that it is a directory. */
		if (as_rule_accept(s, -1) && s->got && s->got->ret >= 0)
			as_file_seek(s->m, s->op->fd, s->got->ret);
		return;
	}
	if (s->op->flags >= AS_SEEK_DATA) {
		if (seek_sparse(s, inode, off, s->op->flags == AS_SEEK_DATA) && s->got)
			as_file_seek(s->m, s->op->fd, s->got->ret);
		return;
	}
	if (s->op->flags == AS_SEEK_CUR)
		base = file->off;
	else if (s->op->flags == AS_SEEK_END)
		base = (int64_t)inode->reg.size;
	/* lseek(2): a negative result or one beyond the type's largest file is EINVAL. */
	if (__builtin_add_overflow(base, off, &off) || off < 0 ||
	    (uint64_t)off > s->m->traits->size_max)
		return as_rule_refuse(s, EINVAL);
	if (as_rule_accept(s, off))
		as_file_seek(s->m, s->op->fd, off);
}
