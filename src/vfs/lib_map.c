/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_map: mappings of a library's files. A library has none: what is stored is written at once
 * through the handle that was mapped, and what is loaded is read through it, with the checks of
 * mm/mmap.c in front. The handle is closed when neither a slot nor a mapping has it any more.
 */
#include "base/array.h"
#include "vfs/lib_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE 4096u

bool as_lib_map_holds(const struct as_lib *l, const struct as_handle *handle)
{
	for (size_t i = 0; i < l->n_maps; i++)
		if (l->maps[i].handle == handle)
			return true;
	return false;
}

static int unmap(struct as_lib *l, struct as_lib_map *map)
{
	struct as_handle *handle = map->handle;

	*map = (struct as_lib_map){ 0 };
	if (!handle || as_lib_map_holds(l, handle))
		return 0;
	for (size_t i = 0; i < l->n_slots; i++)
		if (l->slots[i].used && l->slots[i].handle == handle)
			return 0;
	return l->ops->close(l->fs, handle);
}

int as_lib_unmap_all(struct as_lib *l)
{
	int first = 0;

	for (size_t i = 0; i < l->n_maps; i++) {
		int rc = unmap(l, &l->maps[i]);

		first = first ? first : rc;
	}
	return first;
}

static struct as_lib_map *map_at(struct as_lib *l, int32_t number)
{
	if (number < 0 || (size_t)number >= l->n_maps || !l->maps[number].handle)
		return NULL;
	return &l->maps[number];
}

static uint64_t page_end(uint64_t n)
{
	return n + (PAGE - n % PAGE) % PAGE;
}

/* do_mmap(). */
static int mmap_check(const struct as_lib_slot *slot, const struct as_op *op)
{
	if (op->off % PAGE)
		return -EINVAL;
	if (!slot)
		return -EBADF;
	if (!op->len)
		return -EINVAL;
	if (S_ISREG(slot->type) && (uint64_t)op->off > (uint64_t)INT64_MAX - page_end(op->len))
		return -EOVERFLOW;
	if ((op->flags & AS_PROT_WRITE && (slot->flags & O_ACCMODE) == O_RDONLY) ||
	    (slot->flags & O_ACCMODE) == O_WRONLY)
		return -EACCES;
	return S_ISREG(slot->type) ? 0 : -ENODEV;
}

void as_lib_mmap(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	const struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	struct as_lib_map *old = map_at(l, op->fd);
	int rc;

	if (op->flags & ~(int64_t)AS_PROT_BOTH || !(op->flags & AS_PROT_READ)) {
		as_vfs_answer(out, -EINVAL);
		return;
	}
	rc = mmap_check(slot, op);
	/* A mapping knows no O_APPEND, but a library's handle does. */
	if (!rc && op->flags & AS_PROT_WRITE && slot->flags & O_APPEND) {
		as_vfs_answer(out, -AS_ERR_UNSUPPORTED);
		return;
	}
	if (old)
		(void)unmap(l, old);
	if (!rc) {
		AS_ARRAY_ROOM_FOR(l->maps, (size_t)op->fd, 1, l->cap_maps);
		while (l->n_maps <= (size_t)op->fd)
			l->maps[l->n_maps++] = (struct as_lib_map){ 0 };
		l->maps[op->fd] = (struct as_lib_map){ slot->handle, op->flags, op->off, op->len };
	}
	as_vfs_answer(out, rc);
}

/* What the format decides, and how far pages can be touched: that many bytes, *size is how many of
 * them the file has; or a negative errno. */
static int64_t reach(struct as_lib *l, const struct as_lib_map *map, const struct as_op *op,
		     int64_t prot, uint64_t *size)
{
	struct as_stat st;
	uint64_t at, end;
	int rc;

	if (!map)
		return -EINVAL;
	if (!(map->prot & prot) || op->off < 0 || (uint64_t)op->off > map->len ||
	    op->len > map->len - (uint64_t)op->off)
		return -EFAULT;
	rc = l->ops->fgetattr(l->fs, map->handle, &st);
	if (rc)
		return rc;
	at = (uint64_t)map->off + (uint64_t)op->off;
	end = page_end(st.size);
	*size = at < st.size ? st.size - at : 0;
	if (!op->len)
		return 0;
	if (at >= end)
		return -ENXIO;
	return (int64_t)(end - at < op->len ? end - at : op->len);
}

void as_lib_mstore(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	const struct as_lib_map *map = map_at(l, op->fd);
	uint64_t size = 0, done = 0, at;
	int64_t n = reach(l, map, op, AS_PROT_WRITE, &size), put = 0;

	if (n > 0) {
		at = (uint64_t)map->off + (uint64_t)op->off;
		size = size < (uint64_t)n ? size : (uint64_t)n;
		as_buf_clear(&l->vfs.data);
		as_pattern_fill(op->fill, at, as_buf_reserve(&l->vfs.data, op->len), op->len);
		while (done < size) {
			uint64_t to = at + done;

			put = l->ops->write(l->fs, map->handle, l->vfs.data.data + done,
					    size - done, &to);
			if (put <= 0)
				break;
			done += (uint64_t)put;
		}
		/* A page for which there is no space raises SIGBUS. */
		if (done < size)
			n = done ? (int64_t)done : put == -ENOSPC ? -ENXIO : put ? put : -EIO;
	}
	as_vfs_answer(out, n);
}

void as_lib_mload(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	const struct as_lib_map *map = map_at(l, op->fd);
	uint64_t size = 0, at;
	int64_t n = reach(l, map, op, AS_PROT_READ, &size), got = 0;

	if (n > 0) {
		at = (uint64_t)map->off + (uint64_t)op->off;
		size = size < (uint64_t)n ? size : (uint64_t)n;
		as_buf_clear(&l->vfs.data);
		memset(as_buf_reserve(&l->vfs.data, op->len), 0, op->len);
		if (size)
			got = as_vfs_fitting(
				l->ops->read(l->fs, map->handle, l->vfs.data.data, size, at), size);
		if (got < 0)
			n = got;
	}
	as_vfs_answer_bytes(&l->vfs, out, n);
}

void as_lib_msync(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	const struct as_lib_map *map = map_at(l, op->fd);
	int64_t all = AS_MS_BOTH | AS_MS_INVALIDATE;
	int rc = 0;

	if (!map || op->flags & ~all || (op->flags & AS_MS_BOTH) == AS_MS_BOTH)
		rc = -EINVAL;
	else if (op->flags & AS_MS_SYNC)
		rc = l->ops->fsync(l->fs, map->handle, true);
	as_vfs_answer(out, rc);
}

void as_lib_munmap(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_map *map = map_at(l, op->fd);

	as_vfs_answer(out, map ? unmap(l, map) : -EINVAL);
}
