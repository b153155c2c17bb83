/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vfs: dispatch, and what the implementations share. */
#include "vfs/vfs.h"

#include "base/array.h"
#include "vfs/bounds.h"
#include "vfs/watch.h"

#include <errno.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void exec_bounded(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_watch *watch = vfs->watch;
	struct as_bounds_cost cost;

	/* The questions below are not calls of the workload. */
	vfs->watch = NULL;
	cost = as_bounds_cost(vfs, vfs->bounds, op);
	vfs->watch = watch;
	if (!as_bounds_allow(vfs->bounds, &cost)) {
		as_vfs_answer(out, -AS_ERR_LIMIT);
		return;
	}
	vfs->ops->op[op->code](vfs, op, out);
	as_bounds_charge(vfs->bounds, &cost, op, out);
}

void as_vfs_exec(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	as_assert((unsigned)op->code < AS_OP_COUNT);
	memset(out, 0, sizeof(*out));
	if (vfs->bounds)
		exec_bounded(vfs, op, out);
	else
		vfs->ops->op[op->code](vfs, op, out);
	if (vfs->watch && vfs->ops->caps & AS_VFS_LIBRARY)
		vfs->watch->op(vfs->watch->ctx, op, out);
}

void as_vfs_watch(struct as_vfs *vfs, const struct as_watch *watch)
{
	vfs->watch = watch;
	if (!watch)
		return;
	watch->begin(watch->ctx);
	if (vfs->ops->begin)
		vfs->ops->begin(vfs);
}

void as_vfs_write_back(struct as_vfs *vfs, struct as_choice *choice)
{
	if (vfs->ops->write_back)
		vfs->ops->write_back(vfs, choice);
}

const struct as_tree_ops *as_vfs_tree(const struct as_vfs *vfs)
{
	return vfs->ops->tree;
}

void as_vfs_tree_rest(struct as_vfs *vfs)
{
	if (as_vfs_tree(vfs)->rest)
		as_vfs_tree(vfs)->rest(vfs);
}

void as_vfs_free(struct as_vfs *vfs)
{
	if (!vfs)
		return;
	as_buf_free(&vfs->data);
	vfs->ops->free(vfs);
}

void as_vfs_answer(struct as_outcome *out, int64_t rc)
{
	out->ret = rc < 0 ? -1 : rc;
	/* A library may answer anything. */
	out->err = rc >= 0 ? 0 : rc < -INT_MAX ? INT_MAX : (int)-rc;
}

void as_vfs_answer_bytes(struct as_vfs *vfs, struct as_outcome *out, int64_t rc)
{
	as_vfs_answer(out, rc);
	if (rc < 0)
		return;
	out->payload = AS_PAYLOAD_BYTES;
	out->data = as_buf_str(&vfs->data);
	out->len = (size_t)rc;
}

int64_t as_vfs_cramped(int64_t n, int64_t again)
{
	if (again == -ERANGE)
		return n;
	return again < 0 ? again : again >= n ? -AS_ERR_TOO_MUCH : n;
}

int64_t as_vfs_exact(int64_t n, int64_t again)
{
	return again > n ? -AS_ERR_TOO_MUCH : again;
}

int64_t as_vfs_fitting(int64_t rc, size_t room_bytes)
{
	return rc > (int64_t)room_bytes ? -AS_ERR_TOO_MUCH : rc;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static const char type_letters[] = "?pc?d?b?-?l?s???";

char as_vfs_type_letter(uint32_t mode)
{
	return type_letters[(mode & S_IFMT) >> 12];
}

/* The type of a letter, the other way round. */
static uint32_t vfs_letter_type(char letter)
{
	return (uint32_t)(strchr(type_letters, letter) - type_letters) << 12;
}

int as_vfs_names_add(struct as_vfs_names *names, char letter, const char *name)
{
	if (names->text.len + strlen(name) > AS_VFS_NAMES_MAX_BYTES)
		return -AS_ERR_TOO_MUCH;
	AS_ARRAY_ROOM(names->start, names->n, names->cap);
	names->start[names->n++] = (uint32_t)names->text.len;
	if (letter)
		as_buf_addc(&names->text, letter);
	as_buf_add(&names->text, name, strlen(name) + 1);
	return 0;
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const char *text = ctx, *x = text + *(const uint32_t *)a, *y = text + *(const uint32_t *)b;

	return strcmp(x, y);
}

static int by_name_behind_letter(const void *a, const void *b, void *ctx)
{
	const char *text = ctx, *x = text + *(const uint32_t *)a, *y = text + *(const uint32_t *)b;

	return strcmp(x + 1, y + 1);
}

static void sort_names(struct as_vfs_names *names, bool letters)
{
	if (names->n)
		qsort_r(names->start, names->n, sizeof(*names->start),
			letters ? by_name_behind_letter : by_name, names->text.data);
}

void as_vfs_names_sort(struct as_vfs_names *names)
{
	sort_names(names, true);
}

const char *as_vfs_names_at(const struct as_vfs_names *names, size_t i)
{
	return names->text.data + names->start[i];
}

void as_vfs_answer_names(struct as_vfs *vfs, struct as_outcome *out, struct as_vfs_names *names,
			 bool letters)
{
	sort_names(names, letters);
	as_buf_clear(&vfs->data);
	for (size_t i = 0; i < names->n; i++) {
		const char *name = as_vfs_names_at(names, i);

		as_buf_add(&vfs->data, name, strlen(name) + 1);
	}
	as_vfs_answer(out, (int64_t)names->n);
	out->payload = AS_PAYLOAD_NAMES;
	out->data = as_buf_str(&vfs->data);
	out->len = vfs->data.len;
}

int as_vfs_names_pass(struct as_vfs_names *names, int rc, as_fill_fn fill, void *fill_ctx)
{
	for (size_t i = 0; !rc && i < names->n; i++) {
		const char *name = as_vfs_names_at(names, i);

		rc = fill(fill_ctx, name + 1, 0, vfs_letter_type(name[0]));
	}
	as_vfs_names_free(names);
	return rc;
}

void as_vfs_names_free(struct as_vfs_names *names)
{
	as_buf_free(&names->text);
	free(names->start);
	*names = (struct as_vfs_names){ 0 };
}

/* ---- Rules ----------------------------------------------------------------------------------- */

int as_vfs_fallocate_mode(int64_t mode)
{
	int64_t kind = mode & ~(int64_t)FALLOC_FL_KEEP_SIZE;
	bool keep = mode & FALLOC_FL_KEEP_SIZE;

	switch (kind) {
	case 0:
	case FALLOC_FL_UNSHARE_RANGE:
	case FALLOC_FL_ZERO_RANGE:
		return 0;
	case FALLOC_FL_PUNCH_HOLE:
		return keep ? 0 : -EOPNOTSUPP;
	case FALLOC_FL_COLLAPSE_RANGE:
	case FALLOC_FL_INSERT_RANGE:
		return keep ? -EOPNOTSUPP : 0;
	default:
		return -EOPNOTSUPP;
	}
}
