/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own: see own.h. */
#include "cover/own.h"

#include "cover/own_priv.h"
#include "os/dir.h"
#include "os/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define AREA_BYTES ((size_t)128 << 20) /* address space; memory is allocated when it is used */
#define FILES_MAX 100000
#define SAVE_US 2000000 /* how often a process saves its counts */

enum own_kind { CALL, BEGIN, HOLDS };

/* Pieces of memory, or a path, follow. */
struct own_entry {
	_Atomic uint32_t bytes; /* length of the record; set last */
	uint32_t kind, workload;
	int32_t nr; /* kind HOLDS: the descriptor */
	int64_t raw; /* kind HOLDS: it is a directory */
	uint64_t regs[6];
};

struct area {
	_Atomic uint64_t used, lost, hidden;
	_Atomic uint32_t workloads;
	_Alignas(8) char data[];
};

/* ---- In a child ------------------------------------------------------------------------------ */

static void put(struct as_own *own, const struct own_entry *head, const void *rest, size_t len)
{
	size_t bytes = (sizeof(*head) + len + 7) & ~(size_t)7;
	struct area *area = own->area;
	uint64_t at = atomic_fetch_add(&area->used, bytes);
	struct own_entry *to;

	if (at + bytes > AREA_BYTES - sizeof(*area)) {
		atomic_fetch_add(&area->lost, 1);
		return;
	}
	to = (struct own_entry *)(void *)(area->data + at);
	memcpy((char *)to + sizeof(to->bytes), (const char *)head + sizeof(head->bytes),
	       sizeof(*head) - sizeof(head->bytes));
	if (len)
		memcpy(to + 1, rest, len);
	atomic_store_explicit(&to->bytes, (uint32_t)bytes, memory_order_release);
}

void as_own_begin(void *ctx)
{
	struct as_own *own = ctx;
	struct own_entry head = { .kind = BEGIN };

	memset(own->slots, 0, sizeof(own->slots));
	own->told = false;
	own->workload = atomic_fetch_add(&own->area->workloads, 1) + 1;
	head.workload = own->workload;
	put(own, &head, NULL, 0);
}

void as_own_holds(void *ctx, int fd, const char *path, bool directory)
{
	struct as_own *own = ctx;
	struct own_entry head = { .kind = HOLDS, .workload = own->workload, .nr = fd };

	head.raw = directory;
	put(own, &head, path, strlen(path) + 1);
}

void as_own_call(void *ctx, long nr, const uint64_t args[6], int64_t raw)
{
	struct as_own *own = ctx;
	struct own_entry head = {
		.kind = CALL, .workload = own->workload, .nr = (int)nr, .raw = raw
	};
	const struct as_spec_call *spec =
		nr >= 0 && nr < AS_SPEC_NR_MAX ? own->tally.to.spec->by_nr[nr] : NULL;
	struct as_bpf_want want;
	_Alignas(8) char room[AS_PIECES_ROOM]; /* several threads may call */

	if (!spec)
		return;
	memcpy(head.regs, args, sizeof(head.regs));
	want = as_pieces_wanted(spec);
	put(own, &head, room, as_pieces_cut(&want, args, room));
}

void as_own_hidden(struct as_own *own)
{
	atomic_fetch_add(&own->area->hidden, 1);
}

/* ---- In the process that started it ---------------------------------------------------------- */

static void count_call(struct as_own *own, const struct own_entry *e, size_t bytes)
{
	const struct as_spec_call *spec = own->tally.to.spec->by_nr[e->nr];
	struct as_pieces pieces = { .data = (const char *)(e + 1), .len = 0 };
	struct as_memory memory = { .read = as_pieces_read, .sum = as_pieces_sum, .ctx = &pieces };
	struct as_syscall call;

	pieces.len = bytes - sizeof(*e);
	as_syscall_fill(&call, spec, e->regs, &memory, own->text);
	as_syscall_return(&call, e->raw, e->regs, &memory);
	as_syscall_undo_offset(&call, e->raw);
	call.pid = call.tid = e->workload;
	own->tally.to.call(&own->tally.to, &call);
}

static void count_entry(struct as_own *own, const struct own_entry *e, size_t bytes)
{
	const char *path = (const char *)(e + 1);

	switch (e->kind) {
	case CALL:
		count_call(own, e, bytes);
		break;
	case BEGIN:
		as_world_exit(own->tally.to.world, own->last);
		own->last = e->workload;
		as_world_cwd(own->tally.to.world, e->workload, "/", 1);
		break;
	case HOLDS:
		as_world_fd(own->tally.to.world, e->workload, e->nr, path, strlen(path), e->raw);
		break;
	}
}

/* A file for this process alone. Its process id is no unique name, because each sandbox begins its
 * numbers anew. */
static int make_file(struct as_own *own, const struct as_dir *dir, struct as_err *err)
{
	int fd = -1;

	for (unsigned i = 0; i < FILES_MAX && fd < 0; i++) {
		as_buf_clear(&own->file);
		as_buf_addf(&own->file, "%u.cov", i);
		fd = openat(dir->fd, as_buf_str(&own->file),
			    O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd >= 0)
		return close(fd) ? as_fail_errno(err, errno, "%s", dir->path) : 0;
	as_buf_clear(&own->file);
	return as_fail_errno(err, errno, "%s: cannot create a file", dir->path);
}

static int save_in_file(struct as_own *own, struct as_err *err)
{
	struct as_dir dir;
	struct as_buf path = { 0 };
	int rc = as_dir_open(own->folder, NULL, &dir, err);

	if (!rc && !own->file.len)
		rc = make_file(own, &dir, err);
	as_dir_close(&dir);
	as_buf_addf(&path, "%s/%s", own->folder, as_buf_str(&own->file));
	if (!rc)
		rc = as_counts_save(own->tally.counts, as_buf_str(&path), err);
	as_buf_free(&path);
	return rc;
}

static void save(struct as_own *own)
{
	struct as_err err;

	if (!own->folder)
		return;
	if (save_in_file(own, &err)) {
		as_counts_note(own->tally.counts, AS_NOTE_LOST, 1);
		*own->failed = err;
	}
	own->saved_us = as_now_us();
}

void as_own_keep(struct as_own *own)
{
	save(own);
}

void as_own_ended(void *ctx)
{
	struct as_own *own = ctx;
	struct area *area = own->area;
	uint64_t used = area->used, at = 0, lost = area->lost;

	if (used > AREA_BYTES - sizeof(*area))
		used = AREA_BYTES - sizeof(*area);
	while (at + sizeof(struct own_entry) <= used) {
		const struct own_entry *e = (const void *)(area->data + at);
		uint32_t bytes = atomic_load_explicit(&e->bytes, memory_order_acquire);

		/* A child died while it wrote the record, or there was no room for it. */
		if (!bytes) {
			lost += !lost;
			break;
		}
		count_entry(own, e, bytes);
		at += bytes;
	}
	if (lost)
		own->tally.to.lost(&own->tally.to, lost);
	as_counts_note(own->tally.counts, AS_NOTE_NOT_VISIBLE, area->hidden);
	if (used)
		madvise(area, AREA_BYTES, MADV_REMOVE);
	area->used = area->lost = area->hidden = 0;
	area->workloads = own->last;
	if (own->folder && as_now_us() - own->saved_us > SAVE_US)
		save(own);
}

void as_own_open(void *ctx)
{
	struct as_own *own = ctx;

	as_assert(!own->area);
	own->area = as_shared_alloc(AREA_BYTES);
	own->saved_us = as_now_us();
}

void as_own_close(void *ctx)
{
	struct as_own *own = ctx;

	if (!own->area)
		return;
	as_shared_free(own->area, AREA_BYTES);
	own->area = NULL;
	save(own);
}

/* ---- All of it ------------------------------------------------------------------------------- */

int as_own_new(const struct as_spec *spec, const char *folder, struct as_own **out,
	       struct as_err *err)
{
	struct as_world_options everything = { .cwd = "/" };
	struct as_own *own = as_xcalloc(1, sizeof(*own));
	int rc = as_tally_open(&own->tally, spec, &everything, as_counts_new(spec), NULL, err);

	own->folder = folder ? as_xstrdup(folder) : NULL;
	own->failed = as_shared_alloc(sizeof(*own->failed));
	if (rc) {
		as_own_free(own);
		own = NULL;
	}
	*out = own;
	return rc;
}

void as_own_free(struct as_own *own)
{
	if (!own)
		return;
	if (own->area)
		as_shared_free(own->area, AREA_BYTES);
	as_tally_close(&own->tally);
	as_counts_free(own->tally.counts);
	as_buf_free(&own->file);
	as_shared_free(own->failed, sizeof(*own->failed));
	free(own->folder);
	free(own);
}

struct as_counts *as_own_counts(struct as_own *own)
{
	return own->tally.counts;
}

int as_own_failed(const struct as_own *own, struct as_err *err)
{
	if (own->failed->code && err)
		*err = *own->failed;
	return own->failed->code;
}

static int gather_one(struct as_own *own, const char *path, struct as_err *err)
{
	struct as_counts *counts = NULL;
	int rc = as_counts_load(own->tally.to.spec, path, &counts, err);

	if (!rc)
		as_counts_merge(own->tally.counts, counts);
	as_counts_free(counts);
	if (!rc)
		unlink(path);
	return rc;
}

int as_own_gather(struct as_own *own, const char *folder, struct as_err *err)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int rc = 0;

	while (!rc && dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		struct as_buf path = { 0 };
		struct stat st;

		/* Guests write there, too: a link of theirs is not followed. */
		if (len < 5 || strcmp(entry->d_name + len - 4, ".cov") ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		/* The process was killed before it had counted anything. */
		if (!st.st_size) {
			unlinkat(dirfd(dir), entry->d_name, 0);
			continue;
		}
		as_buf_addf(&path, "%s/%s", folder, entry->d_name);
		rc = gather_one(own, as_buf_str(&path), err);
		as_buf_free(&path);
	}
	if (dir)
		closedir(dir);
	return rc;
}
