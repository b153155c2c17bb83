/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_text: puts the code of inside/ into processes, and leads the calls of their text to it.
 *
 *  1. Text is changed only when no other thread could be running it: while the address space has
 *     one task that runs, or when the text was mapped this moment. So when a process is about to
 *     get a second thread, all that can be led is led.
 *  2. Bytes are changed only where they are what the plan of the file expects.
 *  3. What is not changed, for whatever reason, is seen by the tracer: nothing depends on success.
 *
 * Which calls of a file were ever met is remembered: in the next process they are led at once, when
 * the file is mapped. The others are led when they are met, because each page of text that is
 * changed has to be copied.
 */
#include "cover/record_inside.h"
#include "cover/record_site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define AREAS_MAX 4
#define AREA_BYTES 0x8000
#define AREA_BELOW 0x10000000ul /* how far below the text its trampolines are */
#define LOW_TEXT 0x60000000ul /* text below reaches those behind the code */
#define TEXTS_MAX 256
#define FILES_MAX 1024
#define SITES_MAX 4096
#define SCAN_MAX (64ul << 20) /* larger text is not searched for calls */
#define VDSO_BYTES 4096

struct site {
	uint64_t offset; /* in the file */
	struct as_site plan;
	bool met;
};

struct key {
	uint64_t dev, ino;
};

struct as_text_file {
	struct key key;
	struct site *sites; /* by offset */
	unsigned n_sites;
	bool searched; /* all are there that can be found without running it */
	UT_hash_handle hh;
};

struct text {
	uint64_t start, end, offset;
	struct as_text_file *file;
};

struct area {
	uint64_t base, used, end;
};

struct as_inside_space {
	unsigned refs; /* tasks */
	unsigned running; /* of them, those that vfork has not suspended */
	bool complete; /* all texts were led in full */
	struct area areas[AREAS_MAX];
	unsigned n_areas;
	bool no_more; /* areas can be had */
	struct text *texts;
	unsigned n_texts;
	uint64_t vdso;
};

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

static void close_memory(struct as_inside *in)
{
	if (in->mem_fd >= 0)
		close(in->mem_fd);
	in->mem_fd = -1;
}

void as_text_free(struct as_inside *in)
{
	struct as_text_file *file, *next;

	HASH_ITER(hh, in->files, file, next) {
		HASH_DEL(in->files, file);
		free(file->sites);
		free(file);
	}
	close_memory(in);
}

/* ---- Address spaces -------------------------------------------------------------------------- */

static void drop_space(struct as_task *task)
{
	struct as_inside_space *space = task->space;

	task->space = NULL;
	if (!space)
		return;
	if (!task->vforked)
		space->running--;
	task->vforked = false;
	if (--space->refs)
		return;
	free(space->texts);
	free(space);
}

static struct as_inside_space *copy_space(const struct as_inside_space *from)
{
	struct as_inside_space *space = as_xmalloc(sizeof(*space));

	*space = *from;
	space->refs = space->running = 1;
	space->texts = as_xcalloc(TEXTS_MAX, sizeof(*space->texts));
	memcpy(space->texts, from->texts, from->n_texts * sizeof(*space->texts));
	return space;
}

static struct text *text_at(const struct as_inside_space *space, uint64_t address)
{
	for (unsigned i = space->n_texts; i-- > 0;)
		if (address >= space->texts[i].start && address < space->texts[i].end)
			return &space->texts[i];
	return NULL;
}

static struct as_text_file *get_file(struct as_inside *in, uint64_t dev, uint64_t ino)
{
	struct key key = { dev, ino };
	struct as_text_file *file;

	HASH_FIND(hh, in->files, &key, sizeof(key), file);
	if (file || HASH_COUNT(in->files) >= FILES_MAX)
		return file;
	file = as_xcalloc(1, sizeof(*file));
	file->key = key;
	HASH_ADD(hh, in->files, key, sizeof(file->key), file);
	return file;
}

static struct site *find_site(struct as_text_file *file, uint64_t offset)
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
	file->sites = as_xrealloc(file->sites, (file->n_sites + 1ul) * sizeof(*file->sites));
	while (at && file->sites[at - 1].offset > offset) {
		file->sites[at] = file->sites[at - 1];
		at--;
	}
	file->sites[at] = (struct site){ .offset = offset, .plan = *plan, .met = met };
	file->n_sites++;
}

/* ---- Memory of a task ------------------------------------------------------------------------ */

static bool write_memory(struct as_inside *in, pid_t tid, uint64_t address, const void *data,
			 size_t len)
{
	char path[64];

	if (in->mem_fd < 0 || in->mem_tid != tid) {
		close_memory(in);
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
		in->mem_fd = open(path, O_RDWR | O_CLOEXEC);
		in->mem_tid = tid;
	}
	return in->mem_fd >= 0 && pwrite(in->mem_fd, data, len, (off_t)address) == (ssize_t)len;
}

/* ---- Calls made by a task for us ------------------------------------------------------------- */

/* One step further; false: something else happened, see *status. */
static bool step(pid_t tid, int *status)
{
	if (ptrace(PTRACE_SINGLESTEP, tid, 0, 0))
		return false;
	if (waitpid(tid, status, __WALL) != tid)
		return false;
	return WIFSTOPPED(*status) && *status >> 8 == SIGTRAP;
}

/* Signals wait meanwhile; not SIGTRAP, by which the steps are told. */
static bool hold_signals(pid_t tid, uint64_t *before)
{
	uint64_t all = ~(1ull << (SIGTRAP - 1));

	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(*before), before) ||
	    *before & 1ull << (SIGTRAP - 1))
		return false;
	return !ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all);
}

/* The task is stopped before or after a call, or between two instructions: *regs is not changed,
 * and has to be set afterwards. *status is 0, or what happened instead. */
static int64_t call_there(const struct as_inside *in, const struct as_task *task,
			  const struct user_regs_struct *regs, const uint64_t call[7], int *status)
{
	struct user_regs_struct r = *regs;
	uint64_t at = task->space->vdso + in->vdso_call, before;
	int64_t result = -1;
	bool stopped = true;

	*status = 0;
	if (!task->space->vdso || !hold_signals(task->tid, &before))
		return -1;
	r.rip = at;
	r.orig_rax = (unsigned long long)-1;
	r.rdi = call[1];
	r.rsi = call[2];
	r.rdx = call[3];
	r.r10 = call[4];
	r.r8 = call[5];
	r.r9 = call[6];
	/* The first step may only end the call that the task is in, whose result goes to rax. */
	for (int i = 0; i < 2 && stopped && r.rip == at; i++) {
		r.rax = call[0];
		stopped = !ptrace(PTRACE_SETREGS, task->tid, 0, &r) && step(task->tid, status) &&
			  !ptrace(PTRACE_GETREGS, task->tid, 0, &r);
	}
	if (stopped && r.rip == at + 2)
		result = (int64_t)r.rax;
	if (stopped)
		*status = 0;
	ptrace(PTRACE_SETSIGMASK, task->tid, sizeof(before), &before);
	return result;
}

static bool map_there(const struct as_inside *in, const struct as_task *task,
		      const struct user_regs_struct *regs, uint64_t address, uint64_t len,
		      int *status)
{
	const uint64_t call[7] = { SYS_mmap,
				   address,
				   len,
				   PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
				   (uint64_t)-1,
				   0 };

	return call_there(in, task, regs, call, status) == (int64_t)address;
}

/* ---- Trampolines ----------------------------------------------------------------------------- */

static struct area *reach(struct as_inside_space *space, uint64_t text)
{
	unsigned char jump[AS_SITE_JUMP];

	for (unsigned i = 0; i < space->n_areas; i++) {
		struct area *area = &space->areas[i];

		if (area->used + AS_SITE_TRAMPOLINE <= area->end &&
		    as_site_jump(text, area->base, jump) && as_site_jump(text, area->end, jump))
			return area;
	}
	return NULL;
}

/* Room for trampolines near this text; NULL: there is none, or see *status. */
static struct area *get_area(const struct as_inside *in, const struct as_task *task,
			     const struct user_regs_struct *regs, uint64_t text, int *status)
{
	struct as_inside_space *space = task->space;
	struct area *area = reach(space, text);
	uint64_t base = (text & ~(AREA_BYTES - 1ul)) - AREA_BELOW;

	*status = 0;
	if (area || space->no_more || text < LOW_TEXT + AREA_BELOW || space->n_areas == AREAS_MAX)
		return area;
	if (!map_there(in, task, regs, base, AREA_BYTES, status)) {
		space->no_more = true;
		return NULL;
	}
	area = &space->areas[space->n_areas++];
	*area = (struct area){ .base = base, .used = base, .end = base + AREA_BYTES };
	return area;
}

/* Calls to be led, so many at a time: what is read and written of the task is one piece. */
#define JOBS 64

struct job {
	uint64_t call;
	const struct as_site *site;
	unsigned char call_bytes[2], bytes[AS_SITE_JUMP]; /* what is there: the call, its jump */
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
	/* What could not be read is not what is expected. */
	(void)!process_vm_readv(tid, here, 2ul * n, there, 2ul * n, 0);
}

/* Leads those whose bytes are those of the plan; how many. */
static unsigned lead(struct as_inside *in, pid_t tid, struct area *area, struct job *jobs,
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
		if (!write_memory(in, tid, job_jump(&jobs[i]), jump, sizeof(jump)) ||
		    (!site->from && !write_memory(in, tid, jobs[i].call, hop, sizeof(hop))))
			continue;
		led++;
	}
	/* The task stands still: the order does not matter. */
	if (led && !write_memory(in, tid, area->used, code, led * sizeof(code[0])))
		kill(tid, SIGKILL); /* it would jump into nothing */
	area->used += (uint64_t)led * AS_SITE_TRAMPOLINE;
	return led;
}

/* Those of the text that were met before, or all. */
static void lead_text(struct as_inside *in, const struct as_task *task, const struct text *text,
		      struct area *area, bool all)
{
	struct as_text_file *file = text->file;
	struct job jobs[JOBS];
	unsigned n = 0;

	for (unsigned i = 0; file && area && i < file->n_sites; i++) {
		const struct site *site = &file->sites[i];
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

/* A call that was found by its bytes alone, not by being run: only in company that leaves no doubt
 * that it is one, and of interest. */
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
	/* read is "xor %eax, %eax"; then all compare the result with -4095. */
	return text[at - 2] == 0x31 && text[at - 1] == 0xc0 && !memcmp(text + at + 2, compare, 2) &&
	       !memcmp(text + at + 5, rest, sizeof(rest));
}

static void search(struct as_inside *in, pid_t tid, const struct text *text)
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
			    find_site(text->file, text->offset + at) ||
			    !certain((void *)in->image, copy, len, at))
				continue;
			as_site_plan(copy, len, at, -1, &plan);
			if (plan.usable)
				add_site(text->file, text->offset + at, &plan, false);
		}
	free(copy);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void add_text(struct as_inside_space *space, uint64_t start, uint64_t end, uint64_t offset,
		     struct as_text_file *file)
{
	if (space->n_texts < TEXTS_MAX)
		space->texts[space->n_texts++] =
			(struct text){ .start = start, .end = end, .offset = offset, .file = file };
}

/* The texts that a program starts with: its own, and the loader's. */
static void read_maps(struct as_inside *in, const struct as_task *task)
{
	struct as_inside_space *space = task->space;
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)task->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end, offset, ino;
		unsigned major_nr, minor_nr;
		char mode[8];

		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &start, &end, mode, &offset,
			   &major_nr, &minor_nr, &ino) != 7)
			continue;
		if (strstr(line, "[vdso]"))
			space->vdso = start;
		else if (mode[2] == 'x' && ino)
			add_text(space, start, end, offset,
				 get_file(in, makedev(major_nr, minor_nr), ino));
	}
	if (f)
		fclose(f);
}

/* Its own code starts first, and goes on to where the program begins. */
static bool set_up(struct as_inside *in, struct as_task *task, struct user_regs_struct *regs)
{
	struct as_inside_image *image = (void *)in->image;

	image->entry = regs->rip;
	if (!write_memory(in, task->tid, AS_INSIDE_CODE, in->image, in->image_bytes))
		return false;
	task->slot = task->slot ? task->slot : as_inside_take_slot(in, task->tid, task->tgid);
	regs->rip = image->start;
	regs->gs_base = task->slot ? AS_INSIDE_POOL + (uint64_t)task->slot * AS_INSIDE_SLOT : 0;
	task->space->areas[0] = (struct area){
		.base = AS_INSIDE_CODE + AS_INSIDE_IMAGE_MAX,
		.used = AS_INSIDE_CODE + AS_INSIDE_IMAGE_MAX,
		.end = AS_INSIDE_CODE + AS_INSIDE_CODE_BYTES,
	};
	task->space->n_areas = 1;
	return true;
}

bool as_inside_exec(struct as_inside *in, struct as_task *task, int *status)
{
	struct user_regs_struct regs, first;
	bool there = false;

	*status = 0;
	drop_space(task);
	close_memory(in);
	as_inside_give_slot(in, task->slot);
	task->slot = 0;
	if (ptrace(PTRACE_GETREGS, task->tid, 0, &regs))
		return true;
	first = regs;
	/* 32-bit programs are not for us. */
	if (regs.cs != 0x33)
		return true;
	task->space = as_xcalloc(1, sizeof(*task->space));
	task->space->refs = task->space->running = 1;
	task->space->texts = as_xcalloc(TEXTS_MAX, sizeof(*task->space->texts));
	read_maps(in, task);
	if (map_there(in, task, &first, AS_INSIDE_CODE, AS_INSIDE_CODE_BYTES, status))
		there = set_up(in, task, &regs);
	/* The loader runs first, or the program if it has none: its calls will be met. */
	if (there)
		get_area(in, task, &first, first.rip, status);
	for (unsigned i = 0; there && !*status && i < task->space->n_texts; i++)
		lead_text(in, task, &task->space->texts[i],
			  reach(task->space, task->space->texts[i].start), false);
	if (!there)
		drop_space(task);
	/* Even if something else has happened: it goes on as if nothing had been done. */
	ptrace(PTRACE_SETREGS, task->tid, 0, &regs);
	return !*status;
}

void as_inside_born(struct as_inside *in, const struct as_task *parent, struct as_task *child,
		    uint64_t flags)
{
	struct as_inside_space *space = parent->space;

	if (!space || child->space)
		return;
	if (!(flags & CLONE_VM)) {
		child->space = copy_space(space);
		return;
	}
	child->space = space;
	space->refs++;
	/* The parent waits until the child has an address space of its own, or is gone. */
	child->vforked = flags & CLONE_VFORK;
	space->running += !child->vforked;
	if (space->running < 2 || space->complete)
		return;
	space->complete = true;
	for (unsigned i = 0; i < space->n_texts; i++) {
		search(in, parent->tid, &space->texts[i]);
		lead_text(in, parent, &space->texts[i], reach(space, space->texts[i].start), true);
	}
}

void as_inside_release(struct as_inside *in, struct as_task *child)
{
	const size_t at = offsetof(struct user_regs_struct, gs_base);
	uint64_t gs;

	if (!child->space)
		return;
	errno = 0;
	gs = (uint64_t)ptrace(PTRACE_PEEKUSER, child->tid, at, 0);
	/* Its parent has no pool, or has put something else there. */
	if (errno || gs - AS_INSIDE_POOL >= AS_INSIDE_POOL_BYTES)
		return;
	child->slot = as_inside_take_slot(in, child->tid, child->tgid);
	gs = child->slot ? AS_INSIDE_POOL + (uint64_t)child->slot * AS_INSIDE_SLOT : 0;
	ptrace(PTRACE_POKEUSER, child->tid, at, gs);
}

unsigned as_inside_gone(struct as_inside *in, struct as_task *task)
{
	unsigned open = as_inside_give_slot(in, task->slot);

	drop_space(task);
	task->slot = 0;
	if (in->mem_tid == task->tid)
		close_memory(in);
	return open;
}

static bool is_ours(const struct as_inside_space *space, uint64_t address)
{
	if (address - AS_INSIDE_CODE < AS_INSIDE_CODE_BYTES)
		return true;
	for (unsigned i = 0; i < space->n_areas; i++)
		if (address >= space->areas[i].base && address < space->areas[i].end)
			return true;
	return false;
}

/* The plan for a call that is made just now, by what is there now. */
static bool plan_here(pid_t tid, const struct text *text, uint64_t call, int nr,
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

static struct site *plan_site(pid_t tid, const struct text *text, uint64_t call, int nr)
{
	uint64_t offset = text->offset + (call - text->start);
	struct as_site plan;

	if (!plan_here(tid, text, call, nr, &plan))
		return NULL;
	add_site(text->file, offset, &plan, true);
	return find_site(text->file, offset);
}

/* Unused bytes may have been used for another call meanwhile: then there may be others. */
static bool lead_one(struct as_inside *in, pid_t tid, struct area *area, const struct text *text,
		     struct site *site, uint64_t call)
{
	struct job job = { .call = call, .site = &site->plan };

	if (lead(in, tid, area, &job, 1))
		return true;
	if (site->plan.from || !plan_here(tid, text, call, -1, &site->plan) || !site->plan.usable)
		return false;
	job = (struct job){ .call = call, .site = &site->plan };
	return lead(in, tid, area, &job, 1);
}

bool as_inside_hit(struct as_inside *in, struct as_task *task, struct user_regs_struct *regs,
		   int *status)
{
	const struct as_inside_image *image = (void *)in->image;
	struct as_inside_space *space = task->space;
	uint64_t call = regs->rip - 2;
	const struct text *text;
	struct area *area;
	struct site *site;
	bool had;

	*status = 0;
	if (is_ours(space, call)) {
		if (task->slot)
			as_inside_set_back(in, task->slot);
		return false;
	}
	text = text_at(space, call);
	if (!text || !text->file || space->running > 1 || regs->orig_rax >= AS_INSIDE_NRS ||
	    !image->row[regs->orig_rax])
		return false;
	site = find_site(text->file, text->offset + (call - text->start));
	if (!site)
		site = plan_site(task->tid, text, call, (int)regs->orig_rax);
	if (!site || !site->plan.usable)
		return false;
	site->met = true;
	had = space->no_more || reach(space, call);
	area = get_area(in, task, regs, call, status);
	regs->rip = call;
	if (area && lead_one(in, task->tid, area, text, site, call))
		regs->rip = call + (uint64_t)(int64_t)site->plan.from;
	else if (had)
		return false;
	/* Made again, from where the jump is, or as it was. */
	regs->rax = regs->orig_rax;
	regs->orig_rax = (unsigned long long)-1;
	return !ptrace(PTRACE_SETREGS, task->tid, 0, regs) || *status;
}

void as_inside_mapped(struct as_inside *in, struct as_task *task, uint64_t address, uint64_t len,
		      int fd, uint64_t offset)
{
	struct as_inside_space *space = task->space;
	struct text *text;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)task->tid, fd);
	if (!space || stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	/* What was there is gone. */
	for (unsigned i = 0; i < space->n_texts; i++)
		if (space->texts[i].start < address + len && address < space->texts[i].end)
			space->texts[i] = space->texts[--space->n_texts];
	add_text(space, address, address + ((len + 4095) & ~4095ull), offset,
		 get_file(in, st.st_dev, st.st_ino));
	text = text_at(space, address);
	if (!text || !text->file)
		return;
	if (space->complete)
		search(in, task->tid, text);
	lead_text(in, task, text, reach(space, address), space->complete);
}

bool as_inside_fault(struct as_inside *in, struct as_task *task)
{
	const struct as_inside_image *image = (void *)in->image;
	struct user_regs_struct regs;

	if (!task->space || ptrace(PTRACE_GETREGS, task->tid, 0, &regs) || regs.rip < image->copy ||
	    regs.rip >= image->copy_end)
		return false;
	regs.rip = image->copy_fault;
	return !ptrace(PTRACE_SETREGS, task->tid, 0, &regs);
}
