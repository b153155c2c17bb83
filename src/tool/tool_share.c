/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool_share: the memory that a run shares with us: loading a disk into it, and turning the record
 * of a run into a log and a disk.
 *
 * Method. Each entry of the record is repeated, through a recorder, on a snapshot of the disk that
 * the run began with. Then every range that was written is compared with the memfd. Where they
 * differ, the memfd is right: a process was killed in the middle of a write, or a wild pointer hit
 * the record. If the record cannot be trusted at all, or the disk was mapped, the whole disk is
 * compared. So the resulting disk is always what the run left, and replaying the log always gives
 * it.
 */
#include "tool/tool_priv.h"

#include "disk/call.h"
#include "os/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pages of the record above this size are freed after a run. */
#define KEEP_BYTES (UINT64_C(8) << 20)
#define MOST_BYTES (UINT64_C(64) << 10) /* the largest piece that is read at a time */

static int make_shared(struct as_tool *tool, struct as_err *err)
{
	tool->share_fd = as_memory_file("assay-share");
	if (tool->share_fd >= 0 && !ftruncate(tool->share_fd, (off_t)tool->share_bytes))
		tool->head = as_memory_reserve(tool->share_bytes, tool->share_fd);
	return tool->head ? 0
			  : as_fail_errno(err, errno,
					  "cannot share %llu bytes of memory with a checker",
					  (unsigned long long)tool->share_bytes);
}

int as_tool_share_new(struct as_tool *tool, struct as_err *err)
{
	tool->disk_fd = as_memory_file("assay-disk");
	tool->in_fd = as_memory_file("assay-input");
	if (tool->disk_fd < 0 || tool->in_fd < 0)
		return as_fail_errno(err, errno, "cannot make a disk in memory");
	tool->share_bytes = AS_SHIM_HEAD_BYTES + (tool->limits.record_bytes & ~UINT64_C(7));
	return make_shared(tool, err);
}

void as_tool_share_free(struct as_tool *tool)
{
	as_tool_forget(tool);
	if (tool->bytes)
		munmap(tool->bytes, tool->map_bytes);
	as_memory_give_back(tool->head, tool->share_bytes);
	if (tool->disk_fd >= 0)
		close(tool->disk_fd);
	if (tool->share_fd >= 0)
		close(tool->share_fd);
	if (tool->in_fd >= 0)
		close(tool->in_fd);
}

void as_tool_forget(struct as_tool *tool)
{
	as_disk_free(tool->loaded);
	tool->loaded = NULL;
}

/* ---- Loading ---- */

/* For another size: makes a new mapping of zeros in the same memfd, which the server has open. */
static int resize(struct as_tool *tool, uint64_t size, struct as_err *err)
{
	uint64_t len = (size + AS_CHUNK_BYTES - 1) & ~(uint64_t)(AS_CHUNK_BYTES - 1);
	void *map = MAP_FAILED;

	as_tool_forget(tool);
	if (tool->bytes)
		munmap(tool->bytes, tool->map_bytes);
	tool->bytes = NULL;
	if (!ftruncate(tool->disk_fd, 0) && !ftruncate(tool->disk_fd, (off_t)size))
		map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, tool->disk_fd, 0);
	if (map == MAP_FAILED)
		return as_fail_errno(err, errno, "cannot hold a disk of %llu bytes in memory",
				     (unsigned long long)size);
	tool->bytes = map;
	tool->map_bytes = len;
	return 0;
}

static int copy_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	struct as_tool *tool = ctx;

	memcpy(tool->bytes + index * AS_CHUNK_BYTES, data, AS_CHUNK_BYTES);
	return 0;
}

static int copy_diff(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	(void)a;
	return copy_chunk(ctx, index, b);
}

static int load_input(struct as_tool *tool, const char *text, struct as_err *err)
{
	size_t len = strlen(text);

	if (ftruncate(tool->in_fd, 0) || pwrite(tool->in_fd, text, len, 0) != (ssize_t)len)
		return as_fail_errno(err, errno, "cannot give a checker its input");
	tool->has_input = len;
	return 0;
}

int as_tool_fill(struct as_tool *tool, struct as_disk *disk, struct as_err *err)
{
	uint64_t size = as_disk_size(disk);
	int rc;

	if (!tool->loaded || as_disk_size(tool->loaded) != size) {
		rc = resize(tool, size, err);
		if (rc)
			return rc;
		as_disk_each(disk, copy_chunk, tool);
	} else {
		as_disk_diff(tool->loaded, disk, copy_diff, tool);
	}
	as_tool_forget(tool);
	return 0;
}

int as_tool_load(struct as_tool *tool, struct as_disk *disk, const struct as_tool_job *job,
		 struct as_err *err)
{
	struct as_shim_head *head = tool->head;
	uint64_t size = as_disk_size(disk);
	int rc;

	if (job->input || tool->has_input) {
		rc = load_input(tool, job->input ? job->input : "", err);
		if (rc)
			return rc;
	}
	rc = as_tool_fill(tool, disk, err);
	if (rc)
		return rc;
	head->version = AS_SHIM_VERSION;
	head->flags = (job->flags & AS_TOOL_READS ? AS_SHIM_READS : 0u) |
		      (job->flags & AS_TOOL_BLOCK ? AS_SHIM_BLOCK : 0u);
	memcpy(head->path, tool->disk_path, strlen(tool->disk_path) + 1);
	as_assert(!strcmp(AS_TOOL_JOURNAL, AS_SHIM_JOURNAL) && job->journal_bytes <= size);
	head->disk_bytes = size;
	head->journal_bytes = job->journal_bytes;
	head->record_cap = tool->share_bytes - AS_SHIM_HEAD_BYTES;
	head->now_s = AS_SHIM_NOW_S;
	/* Shared memory counts as address space of the run, too. */
	head->memory_bytes = tool->limits.memory_bytes + tool->share_bytes;
	head->secret =
		(uint64_t)(uintptr_t)head * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)getpid();
	head->pid = 0;
	head->status = 0;
	head->used = head->reads = head->maps = 0;
	head->fail_read = job->fail_read;
	head->overflowed = head->mapped = head->refused = 0;
	head->n_stops = 0;
	head->note[0] = '\0';
	return 0;
}

/* ---- Harvesting ---- */

struct harvest {
	struct as_tool *tool;
	struct as_tool_result *result;
	struct as_bd *bd; /* of the recorder */
	bool reads; /* are asked for: else they are not repeated */
	uint64_t size;
	unsigned char *piece; /* MOST_BYTES */
};

static uint64_t sector_down(uint64_t at)
{
	return at & ~(uint64_t)(AS_DISK_SECTOR_BYTES - 1);
}

static uint64_t sector_up(uint64_t at)
{
	return sector_down(at + AS_DISK_SECTOR_BYTES - 1);
}

/* Writes whole sectors around [off, off + len), with the data in their middle. */
static void write_around(struct harvest *h, uint64_t off, uint64_t len, const unsigned char *data)
{
	uint64_t first = sector_down(off), end = sector_up(off + len);
	unsigned char *buf;

	if (first == off && end == off + len) {
		as_assert(!as_bd_write(h->bd, off, data, len));
		return;
	}
	buf = as_xmalloc(end - first);
	/* A device of whole sectors would first have to read the parts that stay, so the log says
	 * so. */
	if (first != off)
		as_assert(!as_bd_read(h->bd, first, buf, AS_DISK_SECTOR_BYTES));
	if (end != off + len)
		as_assert(!as_bd_read(h->bd, end - AS_DISK_SECTOR_BYTES,
				      buf + (end - first) - AS_DISK_SECTOR_BYTES,
				      AS_DISK_SECTOR_BYTES));
	memcpy(buf + (off - first), data, len);
	as_assert(!as_bd_write(h->bd, first, buf, end - first));
	free(buf);
}

static void zero_around(struct harvest *h, uint32_t kind, uint64_t off, uint64_t len)
{
	static const unsigned char zeros[AS_DISK_SECTOR_BYTES];
	uint64_t end = off + len, first = sector_up(off), last = sector_down(end);

	if (first > last) { /* inside one sector */
		write_around(h, off, len, zeros);
		return;
	}
	if (first > off)
		write_around(h, off, first - off, zeros);
	if (last > first)
		as_assert(!(kind == AS_CALL_ZERO ? as_bd_zero(h->bd, first, last - first)
						 : as_bd_discard(h->bd, first, last - first)));
	if (end > last)
		write_around(h, last, end - last, zeros);
}

static void read_around(struct harvest *h, uint64_t off, uint64_t len)
{
	uint64_t at = sector_down(off), end = sector_up(off + len);

	/* The recorder copies what is read, and a mapped range can be the whole disk: it is read in
	 * pieces. */
	while (at < end) {
		uint64_t n = end - at < MOST_BYTES ? end - at : MOST_BYTES;

		as_assert(!as_bd_read(h->bd, at, h->piece, n));
		at += n;
	}
}

/* False: the record makes no sense from here on. */
static bool apply(struct harvest *h, const struct as_shim_record *rec, const unsigned char *data,
		  uint64_t room)
{
	if (rec->kind >= AS_CALL_KINDS || rec->off > h->size || rec->len > h->size - rec->off)
		return false;
	if (rec->kind == AS_CALL_WRITE && rec->len > room)
		return false;
	/* it was killed during the write: the comparison finds what it did */
	if (rec->ret == AS_SHIM_BEGUN)
		return true;
	if (rec->ret || (rec->kind != AS_CALL_FLUSH && !rec->len))
		return true;
	switch (rec->kind) {
	case AS_CALL_READ:
		if (h->reads)
			read_around(h, rec->off, rec->len);
		break;
	case AS_CALL_WRITE:
		write_around(h, rec->off, rec->len, data);
		break;
	case AS_CALL_FLUSH:
		as_assert(!(rec->len ? as_bd_flush_part(h->bd, rec->off, rec->len)
				     : as_bd_flush(h->bd)));
		break;
	default:
		zero_around(h, rec->kind, rec->off, rec->len);
	}
	h->result->changed |= rec->kind != AS_CALL_READ && rec->kind != AS_CALL_FLUSH;
	return true;
}

/* Takes over what the memfd holds where it differs. */
static void compare(struct harvest *h, uint64_t off, uint64_t len)
{
	struct as_bd *disk = as_disk_bd(h->result->log_disk);
	uint64_t at = sector_down(off), end = sector_up(off + len);

	while (at < end) {
		uint64_t n = end - at < AS_CHUNK_BYTES ? end - at : AS_CHUNK_BYTES;

		as_assert(!as_bd_read(disk, at, h->piece, n));
		if (memcmp(h->piece, h->tool->bytes + at, n)) {
			as_assert(!as_bd_write(h->bd, at, h->tool->bytes + at, n));
			h->result->changed = true;
		}
		at += n;
	}
}

/* Copies the record at `at`; false after the last, or where the rest makes no sense. */
static bool record_at(const struct harvest *h, uint64_t at, uint64_t used,
		      struct as_shim_record *rec, const unsigned char **data)
{
	if (used - at < sizeof(*rec))
		return false;
	*data = (unsigned char *)h->tool->head + AS_SHIM_HEAD_BYTES + at;
	memcpy(rec, *data, sizeof(*rec));
	*data += sizeof(*rec);
	return true;
}

/* The distance to the next record. A short write still has the room that it asked for. */
static uint64_t record_bytes(const struct as_shim_record *rec)
{
	return sizeof(*rec) + ((rec->room + 7) & ~UINT64_C(7));
}

static void play(struct harvest *h)
{
	const struct as_shim_head *head = h->tool->head;
	uint64_t cap = h->tool->share_bytes - AS_SHIM_HEAD_BYTES;
	uint64_t used = head->used <= cap ? head->used : 0, at, stop;
	struct as_shim_record rec;
	const unsigned char *data;

	h->result->incomplete = head->overflowed || head->used > cap;
	for (at = 0; record_at(h, at, used, &rec, &data); at += record_bytes(&rec))
		if (rec.room > used - at - sizeof(rec) || !apply(h, &rec, data, rec.room)) {
			h->result->incomplete = true;
			break;
		}
	stop = at;
	if (head->mapped || h->result->incomplete) {
		compare(h, 0, h->size);
		return;
	}
	for (at = 0; at < stop && record_at(h, at, used, &rec, &data); at += record_bytes(&rec))
		if (rec.kind != AS_CALL_READ && rec.kind != AS_CALL_FLUSH)
			compare(h, rec.off, rec.len);
}

/* Frees the pages of a long record. */
static void trim(struct as_tool *tool)
{
	if (tool->head->used > KEEP_BYTES)
		madvise((char *)tool->head + AS_SHIM_HEAD_BYTES + KEEP_BYTES,
			tool->share_bytes - AS_SHIM_HEAD_BYTES - KEEP_BYTES, MADV_REMOVE);
}

void as_tool_harvest(struct as_tool *tool, struct as_disk *disk, unsigned flags,
		     struct as_tool_result *result)
{
	struct harvest h = { .tool = tool,
			     .result = result,
			     .reads = flags & AS_TOOL_READS,
			     .size = as_disk_size(disk) };

	result->log_disk = as_disk_snapshot(disk);
	result->log = as_reclog_new(as_disk_bd(result->log_disk),
				    flags & AS_TOOL_READS ? AS_RECLOG_READS : 0, 0);
	h.bd = as_reclog_bd(result->log);
	h.piece = as_xmalloc(MOST_BYTES);
	play(&h);
	free(h.piece);
	result->disk = as_disk_snapshot(result->log_disk);
	tool->loaded = as_disk_snapshot(result->log_disk);
	result->reads = tool->head->reads;
	result->maps = tool->head->maps;
	result->refused = tool->head->refused;
	memcpy(result->first_refused, tool->head->note, AS_SHIM_NOTE_BYTES);
	result->first_refused[sizeof(result->first_refused) - 1] = '\0';
	result->confined = tool->head->confined;
	trim(tool);
}
