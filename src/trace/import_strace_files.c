/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_strace_files: the open files of an imported log: slots, offsets, and when they close. */
#include "base/array.h"
#include "trace/import_strace_priv.h"

#include <stdlib.h>

void as_tracing_file_changed(void *ctx, unsigned file, int fd, int by)
{
	struct as_tracing *t = ctx;

	if (file == AS_TRACING_LEFT_OUT)
		return;
	if (by > 0) {
		t->files[file - 1].refs++;
		return;
	}
	AS_ARRAY_ROOM(t->closed, t->n_closed, t->closed_cap);
	t->closed[t->n_closed++] = (struct as_tracing_closed){ fd, (int)file - 1 };
}

static int by_fd(const void *a, const void *b)
{
	const struct as_tracing_closed *one = a, *other = b;

	return (one->fd > other->fd) - (one->fd < other->fd);
}

/* The last descriptor closes the file, in the order of their numbers. */
void as_tracing_close_files(struct as_tracing *t)
{
	if (t->n_closed > 1)
		qsort(t->closed, t->n_closed, sizeof(*t->closed), by_fd);
	for (size_t i = 0; i < t->n_closed; i++) {
		struct as_op op = as_op_make(AS_OP_CLOSE);

		op.fd = t->closed[i].slot;
		if (!--t->files[op.fd].refs)
			as_importing_add(t->x, &op);
	}
	t->n_closed = 0;
}

int as_tracing_free_slot(const struct as_tracing *t)
{
	for (int i = 0; i <= AS_SLOT_MAX; i++)
		if (!t->files[i].refs)
			return i;
	return AS_SLOT_NONE;
}

int as_tracing_fd_in(struct as_tracing *t, size_t arg)
{
	struct as_span said;
	int fd;

	return arg < t->scan->n_args && as_tracing_fd(t, t->scan->args[arg], &fd, &said) ? fd : -1;
}

/* The open file of the descriptor in an argument; NULL: it is in no slot. */
static struct as_tracing_file *file_in(struct as_tracing *t, size_t arg, int *slot)
{
	*slot = as_tracing_slot(t, as_tracing_fd_in(t, arg));
	return *slot >= 0 ? &t->files[*slot] : NULL;
}

void as_tracing_move_offset(struct as_tracing *t, enum as_opcode code)
{
	int slot;
	struct as_tracing_file *file = file_in(t, 0, &slot);

	if (!file || t->ret < 0)
		return;
	if (code == AS_OP_LSEEK)
		file->at = t->ret;
	else if (code == AS_OP_WRITE && file->appends)
		file->at = -1;
	else if ((code == AS_OP_READ || code == AS_OP_WRITE) && file->at >= 0)
		file->at = t->ret > INT64_MAX - file->at ? -1 : file->at + t->ret;
}

void as_tracing_seek_after(struct as_tracing *t, size_t arg)
{
	struct as_op seek = as_op_make(AS_OP_LSEEK);
	int slot;
	struct as_tracing_file *file = file_in(t, arg, &slot);

	if (t->bad || t->ret <= 0 || !file || file->at < 0 ||
	    !as_span_is(t->scan->args[arg + 1], "NULL"))
		return;
	file->at += t->ret;
	seek.fd = slot;
	seek.off = file->at;
	as_importing_add(t->x, &seek);
}

/* They move any of their descriptors. */
void as_tracing_forget_offsets(struct as_tracing *t)
{
	for (size_t i = 0; i < 3; i++) {
		int slot;
		struct as_tracing_file *file = file_in(t, i, &slot);

		if (file)
			file->at = -1;
	}
}

bool as_tracing_listed_again(struct as_tracing *t)
{
	int slot;
	struct as_tracing_file *file = file_in(t, 0, &slot);
	bool again = file && file->listed;

	if (file)
		file->listed = true;
	return again;
}
