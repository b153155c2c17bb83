/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_text: redirects the calls in the text of programs to the code of inside/.
 *
 *  1. Bytes are changed only where they are what the plan of the file expects.
 *  2. It is remembered which calls of a file were met: in the next process they are redirected at
 *     once, when the file is mapped. The others are redirected when they are met, because each page
 *     of text that is changed has to be copied.
 *
 * record_enter.c decides when this may be done.
 */
#include "base/array.h"
#include "base/hash.h"
#include "record/record_text_priv.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#define TEXTS_MAX 256
#define FILES_MAX 1024
#define SITES_MAX 4096
#define SCAN_MAX (64ul << 20) /* larger text is not searched for calls */
#define VDSO_BYTES 4096

int as_text_new(struct as_inside *in, struct as_err *err)
{
	const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);

	for (unsigned i = 0; vdso && i + 2 < VDSO_BYTES; i++)
		if (vdso[i] == 0x0f && vdso[i + 1] == 0x05 && i > 64) {
			in->vdso_call = i;
			return 0;
		}
	return as_fail(err, AS_ELACK, "the kernel's page has no call to borrow");
}

void as_text_close(struct as_inside *in)
{
	if (in->mem_fd >= 0)
		close(in->mem_fd);
	in->mem_fd = -1;
}

void as_text_free(struct as_inside *in)
{
	for (size_t i = 0; i < in->n_files; i++) {
		free(in->files[i]->sites);
		free(in->files[i]);
	}
	free(in->files);
	as_table_free(&in->file_table);
	as_text_close(in);
}

/* ---- Files and texts ------------------------------------------------------------------------- */

struct as_text *as_text_at(const struct as_inside_space *space, uint64_t address)
{
	for (unsigned i = space->n_texts; i-- > 0;)
		if (address >= space->texts[i].start && address < space->texts[i].end)
			return &space->texts[i];
	return NULL;
}

struct file_key {
	const struct as_inside *in;
	uint64_t dev, ino;
};

static bool is_file(const void *ctx, size_t index)
{
	const struct file_key *key = ctx;
	const struct as_text_file *file = key->in->files[index];

	return file->dev == key->dev && file->ino == key->ino;
}

struct as_text_file *as_text_file_of(struct as_inside *in, uint64_t dev, uint64_t ino)
{
	uint64_t hash = as_mix64(dev) ^ ino;
	struct file_key key = { in, dev, ino };
	size_t i = as_table_find(&in->file_table, hash, is_file, &key);
	struct as_text_file *file;

	if (i != AS_TABLE_NONE)
		return in->files[i];
	if (in->n_files >= FILES_MAX)
		return NULL;
	file = as_xcalloc(1, sizeof(*file));
	file->dev = dev;
	file->ino = ino;
	AS_ARRAY_ROOM(in->files, in->n_files, in->cap_files);
	as_table_add(&in->file_table, hash, in->n_files);
	in->files[in->n_files++] = file;
	return file;
}

struct as_text_site *as_text_site(struct as_text_file *file, uint64_t offset)
{
	unsigned lo = 0, hi = file->n_sites;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (file->sites[mid].offset == offset)
			return &file->sites[mid];
		if (file->sites[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static void add_site(struct as_text_file *file, uint64_t offset, const struct as_site *plan,
		     bool met)
{
	unsigned at = file->n_sites;

	if (file->n_sites >= SITES_MAX)
		return;
	AS_ARRAY_ROOM(file->sites, file->n_sites, file->cap_sites);
	while (at && file->sites[at - 1].offset > offset) {
		file->sites[at] = file->sites[at - 1];
		at--;
	}
	file->sites[at] = (struct as_text_site){ .offset = offset, .plan = *plan, .met = met };
	file->n_sites++;
}

void as_text_add(struct as_inside_space *space, uint64_t start, uint64_t end, uint64_t offset,
		 struct as_text_file *file, bool runs)
{
	if (space->n_texts == TEXTS_MAX)
		return;
	AS_ARRAY_ROOM(space->texts, space->n_texts, space->cap_texts);
	space->texts[space->n_texts++] = (struct as_text){
		.start = start, .end = end, .offset = offset, .file = file, .runs = runs
	};
}

/* ---- Memory of a task ------------------------------------------------------------------------ */

bool as_text_write(struct as_inside *in, pid_t tid, uint64_t address, const void *data, size_t len)
{
	char path[64];

	if (in->mem_fd < 0 || in->mem_tid != tid) {
		as_text_close(in);
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
		in->mem_fd = open(path, O_RDWR | O_CLOEXEC);
		in->mem_tid = tid;
	}
	return in->mem_fd >= 0 && pwrite(in->mem_fd, data, len, (off_t)address) == (ssize_t)len;
}

/* ---- Leading --------------------------------------------------------------------------------- */

/* Calls to be redirected. Several are collected, so that the memory of the task is read and written
 * in one call. */
#define JOBS 64

struct job {
	uint64_t call;
	const struct as_site *site;
	unsigned char call_bytes[2], bytes[AS_SITE_JUMP]; /* now at the call and at its jump */
};

static uint64_t job_jump(const struct job *job)
{
	return job->call + (uint64_t)(int64_t)job->site->pad;
}

static void read_jobs(pid_t tid, struct job *jobs, unsigned n)
{
	struct iovec here[2 * JOBS] = { 0 }, there[2 * JOBS] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		here[2 * i] = (struct iovec){ jobs[i].call_bytes, 2 };
		there[2 * i] = (struct iovec){ (void *)(uintptr_t)jobs[i].call, 2 };
		here[2 * i + 1] = (struct iovec){ jobs[i].bytes, AS_SITE_JUMP };
		there[2 * i + 1] =
			(struct iovec){ (void *)(uintptr_t)job_jump(&jobs[i]), AS_SITE_JUMP };
	}
	/* What could not be read does not match. */
	(void)!process_vm_readv(tid, here, 2ul * n, there, 2ul * n, 0);
}

/* Redirects those whose bytes are as the plan expects, and returns how many. */
static unsigned lead(struct as_inside *in, pid_t tid, struct as_area *area, struct job *jobs,
		     unsigned n)
{
	const struct as_inside_image *image = (void *)in->image;
	unsigned char code[JOBS][AS_SITE_TRAMPOLINE], jump[AS_SITE_JUMP];
	unsigned led = 0;

	read_jobs(tid, jobs, n);
	for (unsigned i = 0; i < n; i++) {
		const struct as_site *site = jobs[i].site;
		const unsigned char hop[2] = { 0xeb, (unsigned char)(site->pad - 2) };
		uint64_t here = area->used + (uint64_t)led * AS_SITE_TRAMPOLINE;

		if (here + AS_SITE_TRAMPOLINE > area->end ||
		    memcmp(jobs[i].call_bytes, "\x0f\x05", 2) ||
		    memcmp(jobs[i].bytes, site->displaced, AS_SITE_JUMP) ||
		    !as_site_jump(job_jump(&jobs[i]), here, jump))
			continue;
		as_site_trampoline(site, jobs[i].call, here, image->hook, code[led]);
		if (!as_text_write(in, tid, job_jump(&jobs[i]), jump, sizeof(jump)) ||
		    (!site->from && !as_text_write(in, tid, jobs[i].call, hop, sizeof(hop))))
			continue;
		led++;
	}
	/* The task is stopped, so the order does not matter. */
	if (led && !as_text_write(in, tid, area->used, code, led * sizeof(code[0])))
		kill(tid, SIGKILL); /* otherwise its jump would lead nowhere */
	area->used += (uint64_t)led * AS_SITE_TRAMPOLINE;
	return led;
}

void as_text_lead(struct as_inside *in, const struct as_task *task, const struct as_text *text,
		  struct as_area *area, bool all)
{
	struct as_text_file *file = text->file;
	struct job jobs[JOBS];
	unsigned n = 0;

	for (unsigned i = 0; file && area && i < file->n_sites; i++) {
		const struct as_text_site *site = &file->sites[i];
		uint64_t call = text->start + (site->offset - text->offset);

		if (!site->plan.usable || (!all && !site->met) || site->offset < text->offset ||
		    call + 2 > text->end)
			continue;
		jobs[n++] = (struct job){ .call = call, .site = &site->plan };
		if (n == JOBS) {
			lead(in, task->tid, area, jobs, n);
			n = 0;
		}
	}
	if (n)
		lead(in, task->tid, area, jobs, n);
}

/* ---- Searching ------------------------------------------------------------------------------- */

/* A call that was found by its bytes and has not run yet. The instructions around it must leave no
 * doubt that it is a call, and one of interest. */
static bool certain(const struct as_inside_image *image, const unsigned char *text, size_t len,
		    size_t at)
{
	static const unsigned char compare[] = { 0x48, 0x3d }, rest[] = { 0xf0, 0xff, 0xff };
	unsigned nr;

	if (at < AS_SITE_BEFORE || at + AS_SITE_BEHIND > len)
		return false;
	if (text[at - 5] == 0xb8) {
		memcpy(&nr, text + at - 4, sizeof(nr));
		return nr < AS_INSIDE_NRS && image->row[nr];
	}
	/* All compare the result with -4095. read is "xor %eax, %eax"; syscall() loads r9 last. */
	if (memcmp(text + at + 2, compare, 2) || memcmp(text + at + 5, rest, sizeof(rest)))
		return false;
	return !memcmp(text + at - 2, "\x31\xc0", 2) ||
	       !memcmp(text + at - 5, "\x4c\x8b\x4c\x24\x08", 5);
}

void as_text_search(struct as_inside *in, pid_t tid, const struct as_text *text)
{
	size_t len = text->end - text->start;
	unsigned char *copy;

	if (!text->file || text->file->searched || len > SCAN_MAX)
		return;
	copy = as_xmalloc(len);
	text->file->searched = true;
	if (as_tracer_read(tid, text->start, copy, len) == len)
		for (size_t at = 0; at + 1 < len; at++) {
			struct as_site plan;

			if (copy[at] != 0x0f || copy[at + 1] != 0x05 ||
			    as_text_site(text->file, text->offset + at) ||
			    !certain((void *)in->image, copy, len, at))
				continue;
			as_site_plan(copy, len, at, -1, &plan);
			if (plan.usable)
				add_site(text->file, text->offset + at, &plan, false);
		}
	free(copy);
}

/* The plan for a call that is being made, from the bytes that are there now. */
static bool plan_here(pid_t tid, const struct as_text *text, uint64_t call, int nr,
		      struct as_site *plan)
{
	unsigned char window[AS_SITE_BEFORE + AS_SITE_BEHIND];
	uint64_t from = call - text->start < AS_SITE_BEFORE ? text->start : call - AS_SITE_BEFORE;
	size_t len = sizeof(window);

	if (from + len > text->end)
		len = text->end - from;
	if (as_tracer_read(tid, from, window, len) != len)
		return false;
	as_site_plan(window, len, call - from, nr, plan);
	return true;
}

struct as_text_site *as_text_plan(pid_t tid, const struct as_text *text, uint64_t call, int nr)
{
	uint64_t offset = text->offset + (call - text->start);
	struct as_site plan;

	if (!plan_here(tid, text, call, nr, &plan))
		return NULL;
	add_site(text->file, offset, &plan, true);
	return as_text_site(text->file, offset);
}

/* The unused bytes may have been taken by another call meanwhile: then this looks for others. */
bool as_text_lead_one(struct as_inside *in, pid_t tid, struct as_area *area,
		      const struct as_text *text, struct as_text_site *site, uint64_t call)
{
	struct job job = { .call = call, .site = &site->plan };

	if (lead(in, tid, area, &job, 1))
		return true;
	if (site->plan.from || !plan_here(tid, text, call, -1, &site->plan) || !site->plan.usable)
		return false;
	job = (struct job){ .call = call, .site = &site->plan };
	return lead(in, tid, area, &job, 1);
}
