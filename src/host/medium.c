/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * medium: see medium.h. There are up to five layers: the disk, the witness, the recorder, the
 * faulty wrapper above them, and on top a guard that notes calls outside the disk. Such a call is a
 * mistake of the file system, whatever it does with the answer.
 */
#include "host/medium.h"

#include "host/host.h"

#include "disk/call.h"
#include "disk/cow.h"
#include "disk/fault.h"
#include "disk/image.h"
#include "disk/log.h"
#include "disk/witness.h"
#include "os/paint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Plans ----------------------------------------------------------------------------------- */

struct as_plan {
	struct as_fault_rule *rules;
	size_t n;
	uint64_t alloc[AS_HOST_FAILS]; /* the first one first */
	unsigned n_alloc;
	struct as_kfail_rules kernel;
};

static void add_alloc(struct as_plan *plan, uint64_t nth)
{
	unsigned i = plan->n_alloc++;

	for (; i && plan->alloc[i - 1] > nth; i--)
		plan->alloc[i] = plan->alloc[i - 1];
	plan->alloc[i] = nth;
}

static int parse_alloc(const char *rule, struct as_plan *plan, struct as_err *err)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(rule + 6, &end, 10);
	if (!isdigit((unsigned char)rule[6]) || *end || errno || !n)
		return as_fail(err, AS_EUSE, "fault '%s': expected alloc:N with N from 1", rule);
	for (unsigned i = 0; i < plan->n_alloc; i++)
		if (plan->alloc[i] == n)
			return 0;
	if (plan->n_alloc == AS_HOST_FAILS)
		return as_fail(err, AS_EUSE, "fault '%s': at most %u allocations can fail", rule,
			       AS_HOST_FAILS);
	add_alloc(plan, n);
	return 0;
}

int as_plan_parse(const char *text, struct as_plan **out, struct as_err *err)
{
	char *copy = as_xstrdup(text), *save = NULL, *word;
	struct as_plan *plan = as_xcalloc(1, sizeof(*plan));
	struct as_buf rest = { 0 };
	int rc = 0;

	for (word = strtok_r(copy, " \t;", &save); word && !rc;
	     word = strtok_r(NULL, " \t;", &save)) {
		if (!strncmp(word, "alloc:", 6))
			rc = parse_alloc(word, plan, err);
		else if (as_kfail_kind(word))
			rc = as_kfail_parse(word, &plan->kernel, err);
		else
			as_buf_addf(&rest, "%s%s", rest.len ? " " : "", word);
	}
	if (!rc)
		rc = as_fault_parse(as_buf_str(&rest), &plan->rules, &plan->n, err);
	as_buf_free(&rest);
	free(copy);
	if (rc) {
		as_plan_free(plan);
		plan = NULL;
	}
	*out = plan;
	return rc;
}

void as_plan_free(struct as_plan *plan)
{
	if (!plan)
		return;
	free(plan->rules);
	free(plan);
}

void as_plan_print(const struct as_plan *plan, struct as_buf *out)
{
	as_fault_print(plan->rules, plan->n, out);
	for (unsigned i = 0; i < plan->n_alloc; i++)
		as_buf_addf(out, "%salloc:%llu", plan->n || i ? " " : "",
			    (unsigned long long)plan->alloc[i]);
	if (plan->kernel.n && (plan->n || plan->n_alloc))
		as_buf_addc(out, ' ');
	as_kfail_print(&plan->kernel, out);
}

struct as_kfail_rules as_plan_kernel(const struct as_plan *plan)
{
	return plan ? plan->kernel : (struct as_kfail_rules){ 0 };
}

uint64_t as_plan_alloc(const struct as_plan *plan)
{
	return plan->n_alloc ? plan->alloc[0] : 0;
}

const uint64_t *as_plan_allocs(const struct as_plan *plan, unsigned *n)
{
	*n = plan->n_alloc;
	return plan->alloc;
}

bool as_plan_gives(const struct as_plan *plan, int err)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->rules[i].actions & AS_FAULT_ERROR && plan->rules[i].errnum == err)
			return true;
	return false;
}

bool as_plan_hits_writes(const struct as_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->rules[i].kind != AS_CALL_READ)
			return true;
	return false;
}

bool as_plan_is_silent(const struct as_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->rules[i].actions & (AS_FAULT_TEAR | AS_FAULT_DROP | AS_FAULT_FLIP))
			return true;
	return false;
}

/* ---- The doorman ----------------------------------------------------------------------------- */

struct as_medium {
	struct as_bd bd; /* first: a medium is a block device */
	struct as_chunks *store; /* NULL: it uses the original's */
	struct as_disk *disk;
	struct as_witness *witness; /* NULL: none */
	struct as_reclog *log; /* NULL: not recorded */
	const struct as_plan *plan; /* of what is faulty */
	struct as_faulty *faulty;
	struct as_bd *inner;
	unsigned char *noted; /* bits of sectors that were read; NULL: nobody wants to know */
	bool guarded; /* nothing may be written */
	char misuse[160];
};

static void note(struct as_medium *s, const char *what, uint64_t off, uint64_t len, const char *why)
{
	snprintf(s->misuse, sizeof(s->misuse), "%s of %llu bytes at %llu of %llu%s", what,
		 (unsigned long long)len, (unsigned long long)off,
		 (unsigned long long)s->bd.size_bytes, why);
}

static int check(struct as_bd *bd, const char *what, uint64_t off, uint64_t len)
{
	struct as_medium *s = (struct as_medium *)bd;

	/* The write is carried out: what comes of it may show, too. */
	if (__atomic_load_n(&s->guarded, __ATOMIC_RELAXED) && !s->misuse[0] &&
	    (!strcmp(what, "write") || !strcmp(what, "zero")))
		note(s, what, off, len, ", while it is mounted read-only");
	if (!as_call_check(bd, off, len))
		return 0;
	/* The first is kept; but a read, which may be forgiven, does not hide a write. */
	if (!s->misuse[0] || (!strncmp(s->misuse, "read", 4) && strcmp(what, "read")))
		note(s, what, off, len, ": outside the disk, or not whole sectors");
	return -EINVAL;
}

static struct as_bd *inner_of(struct as_bd *bd)
{
	return ((struct as_medium *)bd)->inner;
}

/* The stack that the disk needs is not the file system's. */
#define OURS(call)                  \
	({                          \
		int answer;         \
                                    \
		as_paint_hold();    \
		answer = (call);    \
		as_paint_release(); \
		answer;             \
	})

static int medium_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	unsigned char *noted = ((struct as_medium *)bd)->noted;
	int rc = check(bd, "read", off, len);

	for (uint64_t at = off; noted && !rc && at < off + len; at += bd->sector_bytes)
		noted[at / bd->sector_bytes / 8] |=
			(unsigned char)(1u << at / bd->sector_bytes % 8);
	return rc ? rc : OURS(as_bd_read(inner_of(bd), off, buf, len));
}

static int medium_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	int rc = check(bd, "write", off, len);

	return rc ? rc : OURS(as_bd_write(inner_of(bd), off, buf, len));
}

static int medium_flush(struct as_bd *bd)
{
	return OURS(as_bd_flush(inner_of(bd)));
}

static int medium_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	int rc = check(bd, "flush", off, len);

	return rc ? rc : OURS(as_bd_flush_part(inner_of(bd), off, len));
}

static int medium_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	int rc = check(bd, "discard", off, len);

	return rc ? rc : OURS(as_bd_discard(inner_of(bd), off, len));
}

static int medium_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	int rc = check(bd, "zero", off, len);

	return rc ? rc : OURS(as_bd_zero(inner_of(bd), off, len));
}

static int medium_submit(struct as_bd *bd, uint64_t off, const void *buf, size_t len,
			 unsigned flags, uint64_t *ticket)
{
	int rc = check(bd, "write", off, len);

	return rc ? rc : OURS(as_bd_submit(inner_of(bd), off, buf, len, flags, ticket));
}

static int medium_wait(struct as_bd *bd, uint64_t ticket)
{
	return OURS(as_bd_wait(inner_of(bd), ticket));
}

static void medium_dirty(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	if (!check(bd, "hint of a write", off, len))
		as_bd_dirty(inner_of(bd), off, buf, len);
}

static const struct as_bd_ops medium_ops = {
	.api = AS_BD_API,
	.name = "medium",
	.read = medium_read,
	.write = medium_write,
	.flush = medium_flush,
	.discard = medium_discard,
	.zero = medium_zero,
	.submit = medium_submit,
	.wait = medium_wait,
	.dirty = medium_dirty,
	.flush_part = medium_flush_part,
};

/* ---- Life ------------------------------------------------------------------------------------ */

static struct as_medium *wrap(struct as_disk *disk)
{
	struct as_medium *s = as_xcalloc(1, sizeof(*s));

	s->disk = disk;
	s->inner = as_disk_bd(disk);
	s->bd = (struct as_bd){ .ops = &medium_ops,
				.size_bytes = s->inner->size_bytes,
				.sector_bytes = s->inner->sector_bytes };
	return s;
}

int as_medium_new(uint64_t size_bytes, struct as_medium **medium, struct as_err *err)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk;
	int rc = as_disk_new(store, size_bytes, &disk, err);

	*medium = NULL;
	if (rc) {
		as_chunks_free(store);
		return rc;
	}
	*medium = wrap(disk);
	(*medium)->store = store;
	return 0;
}

struct as_medium *as_medium_copy(struct as_medium *medium)
{
	return wrap(as_disk_snapshot(medium->disk));
}

void as_medium_free(struct as_medium *s)
{
	if (!s)
		return;
	as_faulty_free(s->faulty);
	as_reclog_free(s->log);
	as_witness_free(s->witness);
	as_disk_free(s->disk);
	as_chunks_free(s->store);
	free(s);
}

struct as_bd *as_medium_bd(struct as_medium *s)
{
	return &s->bd;
}

/* The lowest layer: what comes here changes the disk. */
struct as_bd *as_medium_base(struct as_medium *s)
{
	return s->witness ? as_witness_bd(s->witness) : as_disk_bd(s->disk);
}

void as_medium_witness(struct as_medium *s, struct as_witness_area *area, size_t room_bytes)
{
	as_assert(!s->witness && !s->log && !s->faulty);
	s->witness = as_witness_new(as_disk_bd(s->disk), area, room_bytes);
	s->inner = as_medium_base(s);
}

void as_medium_expect_writes(struct as_medium *s)
{
	if (s->witness)
		as_witness_expect(s->witness);
}

void as_medium_unwitnessed(struct as_witness_area *area)
{
	area->full = 1;
}

bool as_medium_repeat(struct as_medium *s, const struct as_witness_area *area, size_t room_bytes)
{
	return as_witness_apply(area, room_bytes, as_disk_bd(s->disk));
}

void as_medium_plan(struct as_medium *s, const struct as_plan *plan)
{
	as_faulty_free(s->faulty);
	s->faulty = NULL;
	s->inner = s->log ? as_reclog_bd(s->log) : as_medium_base(s);
	if (!plan || !plan->n)
		return;
	s->plan = plan;
	s->faulty = as_faulty_new(s->inner, plan->rules, plan->n);
	s->inner = as_faulty_bd(s->faulty);
}

void as_medium_record(struct as_medium *s, uint64_t limit_bytes)
{
	as_assert(!s->log && !s->faulty);
	s->log = as_reclog_new(as_medium_base(s), 0, limit_bytes);
	s->inner = as_reclog_bd(s->log);
}

void as_medium_note_reads(struct as_medium *s, unsigned char *bits)
{
	s->noted = bits;
}

struct as_reclog *as_medium_log(const struct as_medium *s)
{
	return s->log;
}

bool as_medium_is_watched(const struct as_medium *s)
{
	return s->log || s->witness;
}

struct as_medium_mark {
	struct as_disk *disk;
	size_t log_len;
	uint64_t witness_len;
};

struct as_medium_mark *as_medium_mark(struct as_medium *s)
{
	struct as_medium_mark *mark = as_xcalloc(1, sizeof(*mark));

	mark->disk = as_disk_snapshot(s->disk);
	mark->log_len = s->log ? as_reclog_len(s->log) : 0;
	mark->witness_len = s->witness ? as_witness_len(s->witness) : 0;
	return mark;
}

void as_medium_drop(struct as_medium *s, struct as_medium_mark *mark)
{
	(void)s;
	as_disk_free(mark->disk);
	free(mark);
}

void as_medium_back(struct as_medium *s, struct as_medium_mark *mark)
{
	as_disk_restore(s->disk, mark->disk);
	if (s->log)
		as_reclog_truncate(s->log, mark->log_len);
	if (s->witness)
		as_witness_truncate(s->witness, mark->witness_len);
	as_medium_drop(s, mark);
}

uint64_t as_medium_fired(const struct as_medium *s)
{
	return s->faulty ? as_faulty_fired_any(s->faulty) : 0;
}

uint64_t as_medium_calls(const struct as_medium *s, unsigned kind)
{
	return s->faulty ? as_faulty_calls(s->faulty, (enum as_call)kind) : 0;
}

uint64_t as_medium_failed(const struct as_medium *s, const char **kind)
{
	const struct as_plan *plan = s->plan;
	uint64_t failed = 0;

	for (size_t i = 0; s->faulty && i < plan->n; i++) {
		uint64_t fired = as_faulty_fired(s->faulty, i);

		if (!fired || !(plan->rules[i].actions & AS_FAULT_ERROR))
			continue;
		failed += fired;
		*kind = as_call_name(plan->rules[i].kind);
	}
	return failed;
}

void as_medium_guard(struct as_medium *s, bool guarded)
{
	__atomic_store_n(&s->guarded, guarded, __ATOMIC_RELAXED);
}

const char *as_medium_misuse(const struct as_medium *s)
{
	return s->misuse[0] ? s->misuse : NULL;
}

void as_medium_forget_misuse(struct as_medium *s)
{
	s->misuse[0] = '\0';
}

struct as_disk *as_medium_disk(const struct as_medium *s)
{
	return s->disk;
}

/* ---- Between processes ----------------------------------------------------------------------- */

/* Adjacent chunks are written in one call, because the calls are what costs time. */
struct gather {
	int fd;
	uint64_t first; /* the first chunk */
	struct iovec chunks[64];
	int n;
};

static int write_gathered(struct gather *g)
{
	struct iovec *at = g->chunks;
	off_t off = (off_t)(g->first * AS_CHUNK_BYTES);

	while (g->n) {
		ssize_t n = pwritev(g->fd, at, g->n, off);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (off += n > 0 ? n : 0; g->n && n >= (ssize_t)at->iov_len; g->n--, at++)
			n -= (ssize_t)at->iov_len;
		if (g->n && n > 0) {
			at->iov_base = (char *)at->iov_base + n;
			at->iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int write_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	struct gather *g = ctx;
	int rc = 0;

	if (g->n == sizeof(g->chunks) / sizeof(g->chunks[0]) ||
	    (g->n && index != g->first + (uint64_t)g->n))
		rc = write_gathered(g);
	if (!g->n)
		g->first = index;
	g->chunks[g->n++] = (struct iovec){ (void *)data, AS_CHUNK_BYTES };
	return rc;
}

int as_medium_export(struct as_medium *s, int fd, struct as_err *err)
{
	struct gather g = { .fd = fd };
	int rc = as_disk_each(s->disk, write_chunk, &g);

	if (!rc)
		rc = write_gathered(&g);
	return rc ? as_fail_errno(err, -rc, "cannot hand over a disk") : 0;
}

int as_medium_import(struct as_medium *s, int fd, struct as_err *err)
{
	unsigned char chunk[AS_CHUNK_BYTES];
	struct as_bd *bd = as_disk_bd(s->disk);
	off_t at = 0;

	if (as_bd_zero(bd, 0, bd->size_bytes))
		return as_fail(err, AS_EIO, "cannot take over a disk");
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		ssize_t n;
		uint64_t len;

		at -= at % (off_t)AS_CHUNK_BYTES;
		n = pread(fd, chunk, sizeof(chunk), at);
		if (n < 0)
			return as_fail_errno(err, errno, "cannot take over a disk");
		memset(chunk + n, 0, sizeof(chunk) - (size_t)n);
		if ((uint64_t)at >= bd->size_bytes)
			break;
		len = bd->size_bytes - (uint64_t)at;
		if (len > sizeof(chunk))
			len = sizeof(chunk);
		if (as_bd_write(bd, (uint64_t)at, chunk, len))
			return as_fail(err, AS_EIO, "cannot take over a disk");
		at += (off_t)sizeof(chunk);
	}
	return 0;
}

int as_medium_encode(struct as_medium *s, struct as_buf *out, struct as_err *err)
{
	return as_image_encode(s->disk, out, err);
}

int as_medium_load(struct as_medium *s, const char *path, struct as_err *err)
{
	struct as_disk *disk;
	int rc = as_image_load(as_disk_store(s->disk), path, &disk, err);

	if (rc)
		return rc;
	if (as_disk_size(disk) == as_disk_size(s->disk))
		as_disk_restore(s->disk, disk);
	else
		rc = as_fail(err, AS_EUSE, "%s: is of another size", path);
	as_disk_free(disk);
	return rc;
}

int as_medium_open_image(const char *path, uint64_t max_bytes, struct as_medium **out,
			 struct as_err *err)
{
	uint64_t size = as_image_disk_size(path);
	struct as_medium *medium = NULL;
	int rc;

	*out = NULL;
	if (!size || size > max_bytes)
		return as_fail(err, AS_EUSE, "%s: not the image of a disk of at most %llu MiB",
			       path, (unsigned long long)max_bytes >> 20);
	rc = as_medium_new(size, &medium, err);
	if (!rc)
		rc = as_medium_load(medium, path, err);
	if (rc)
		as_medium_free(medium);
	else
		*out = medium;
	return rc;
}
