/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_enter: puts the code of inside/ into processes, and decides when the calls of their
 * text are redirected to it.
 *
 *  1. Text is changed only when no other thread could be running it: while the address space has
 *     one task that runs, or when the text was mapped this moment. So when a process is about to
 *     get a second thread, all calls that can be redirected are redirected.
 *  2. Text that has not been run yet is changed only if the program itself or its loader will run
 *     it: what the program starts with, and what the loader maps. Valgrind and other emulators map
 *     text to read it, and could not follow a jump that was put into it.
 *  3. The tracer sees every call that is not redirected: nothing depends on success.
 */
#include "record/record_text_priv.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/user.h>
#include <sys/wait.h>

#define AREA_BYTES 0x8000
#define AREA_BELOW 0x10000000ul /* distance from a text to its trampolines below it */
#define FAILED_MAX 64 /* attempts to redirect calls of one text */
#define LOW_TEXT 0x60000000ul /* texts below this address can use the trampolines after the code */

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
	space->cap_texts = from->n_texts;
	space->texts = as_xcalloc(from->n_texts + 1ul, sizeof(*space->texts));
	memcpy(space->texts, from->texts, from->n_texts * sizeof(*space->texts));
	return space;
}

/* ---- Calls made by a task for us ------------------------------------------------------------- */

/* Makes one step; false: something else happened, see *status. */
static bool step(pid_t tid, int *status)
{
	if (ptrace(PTRACE_SINGLESTEP, tid, 0, 0))
		return false;
	if (waitpid(tid, status, __WALL) != tid)
		return false;
	return WIFSTOPPED(*status) && *status >> 8 == SIGTRAP;
}

/* Signals are blocked meanwhile, all but SIGTRAP, which ends each step. */
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
	/* The first step may only end the call that the task is in; its result is then in rax. */
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

static struct as_area *reach(struct as_inside_space *space, uint64_t text)
{
	unsigned char jump[AS_SITE_JUMP];

	for (unsigned i = 0; i < space->n_areas; i++) {
		struct as_area *area = &space->areas[i];

		if (area->used + AS_SITE_TRAMPOLINE <= area->end &&
		    as_site_jump(text, area->base, jump) && as_site_jump(text, area->end, jump))
			return area;
	}
	return NULL;
}

/* Room for trampolines near this text; NULL: there is none, or see *status. */
static struct as_area *get_area(const struct as_inside *in, const struct as_task *task,
				const struct user_regs_struct *regs, uint64_t text, int *status)
{
	struct as_inside_space *space = task->space;
	struct as_area *area = reach(space, text);
	uint64_t base = (text & ~(AREA_BYTES - 1ul)) - AREA_BELOW;

	*status = 0;
	if (area || space->no_more || text < LOW_TEXT + AREA_BELOW ||
	    space->n_areas == AS_AREAS_MAX)
		return area;
	if (!map_there(in, task, regs, base, AREA_BYTES, status)) {
		space->no_more = true;
		return NULL;
	}
	area = &space->areas[space->n_areas++];
	*area = (struct as_area){ .base = base, .used = base, .end = base + AREA_BYTES };
	return area;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static FILE *open_maps(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)tid);
	return fopen(path, "re");
}

struct map {
	unsigned long start, end, offset, ino;
	unsigned major_nr, minor_nr;
	char mode[8];
	bool vdso;
};

static bool next_map(FILE *f, struct map *map)
{
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		map->vdso = strstr(line, "[vdso]");
		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &map->start, &map->end, map->mode,
			   &map->offset, &map->major_nr, &map->minor_nr, &map->ino) == 7)
			return true;
	}
	if (f)
		fclose(f);
	return false;
}

/* The texts that a program starts with: its own, and the loader's. */
static void read_maps(struct as_inside *in, const struct as_task *task)
{
	struct as_inside_space *space = task->space;
	FILE *f = open_maps(task->tid);
	struct map map;

	while (next_map(f, &map)) {
		dev_t dev = makedev(map.major_nr, map.minor_nr);

		if (map.vdso)
			space->vdso = map.start;
		else if (map.mode[2] == 'x' && map.ino)
			as_text_add(space, map.start, map.end, map.offset,
				    as_text_file_of(in, dev, map.ino), true);
	}
}

/* Is the memory still the text of the file? If not, the text is forgotten: we do not see text being
 * unmapped, and what is mapped there later must not be changed. */
static bool still_there(struct as_inside_space *space, pid_t tid, struct as_text *text,
			uint64_t call)
{
	FILE *f = open_maps(tid);
	bool there = false;
	struct map map;

	while (next_map(f, &map))
		there |= call >= map.start && call < map.end && map.ino &&
			 map.offset - map.start == text->offset - text->start;
	if (!there)
		*text = space->texts[--space->n_texts];
	return there;
}

/* The program begins in its loader, if it has one: then there is text of another file as well. */
static void find_loader(struct as_inside_space *space, uint64_t entry)
{
	const struct as_text *first = as_text_at(space, entry);

	for (unsigned i = 0; first && i < space->n_texts; i++)
		if (space->texts[i].file != first->file) {
			space->loader = first->start;
			space->loader_end = first->end;
		}
}

/* The code of inside/ runs first, and then jumps to where the program begins. */
static bool set_up(struct as_inside *in, struct as_task *task, struct user_regs_struct *regs)
{
	struct as_inside_image *image = (void *)in->image;

	image->entry = regs->rip;
	if (!as_text_write(in, task->tid, AS_INSIDE_CODE, in->image, in->image_bytes))
		return false;
	task->slot = task->slot ? task->slot : as_inside_take_slot(in, task->tid, task->tgid);
	regs->rip = image->start;
	regs->gs_base = task->slot ? AS_INSIDE_POOL + (uint64_t)task->slot * AS_INSIDE_SLOT : 0;
	task->space->areas[0] = (struct as_area){
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
	as_text_close(in);
	as_inside_give_slot(in, task->slot);
	task->slot = 0;
	if (ptrace(PTRACE_GETREGS, task->tid, 0, &regs))
		return true;
	first = regs;
	/* The code cannot run in 32-bit programs. */
	if (regs.cs != 0x33)
		return true;
	task->space = as_xcalloc(1, sizeof(*task->space));
	task->space->refs = task->space->running = 1;
	read_maps(in, task);
	find_loader(task->space, regs.rip);
	if (map_there(in, task, &first, AS_INSIDE_CODE, AS_INSIDE_CODE_BYTES, status))
		there = set_up(in, task, &regs);
	/* The loader runs first, or the program if it has none: its calls will be met. */
	if (there)
		get_area(in, task, &first, first.rip, status);
	for (unsigned i = 0; there && !*status && i < task->space->n_texts; i++)
		as_text_lead(in, task, &task->space->texts[i],
			     reach(task->space, task->space->texts[i].start), false);
	if (!there)
		drop_space(task);
	/* Whatever happened, the task goes on as if nothing had been done. */
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
		if (!space->texts[i].runs)
			continue;
		as_text_search(in, parent->tid, &space->texts[i]);
		as_text_lead(in, parent, &space->texts[i], reach(space, space->texts[i].start),
			     true);
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
		as_text_close(in);
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

bool as_inside_hit(struct as_inside *in, struct as_task *task, struct user_regs_struct *regs,
		   int *status)
{
	const struct as_inside_image *image = (void *)in->image;
	struct as_inside_space *space = task->space;
	uint64_t call = regs->rip - 2;
	struct as_text *text;
	struct as_area *area;
	struct as_text_site *site;
	bool had;

	*status = 0;
	if (is_ours(space, call)) {
		if (task->slot)
			as_inside_set_back(in, task->slot);
		return false;
	}
	text = as_text_at(space, call);
	if (!text || !text->file || space->running > 1 || regs->orig_rax >= AS_INSIDE_NRS ||
	    !image->row[regs->orig_rax])
		return false;
	site = as_text_site(text->file, text->offset + (call - text->start));
	if (!site)
		site = as_text_plan(task->tid, text, call, (int)regs->orig_rax);
	if (!site || !site->plan.usable || text->failed >= FAILED_MAX ||
	    !still_there(space, task->tid, text, call))
		return false;
	site->met = true;
	text->runs = true;
	had = space->no_more || reach(space, call);
	area = get_area(in, task, regs, call, status);
	regs->rip = call;
	if (area && as_text_lead_one(in, task->tid, area, text, site, call))
		regs->rip = call + (uint64_t)(int64_t)site->plan.from;
	else {
		text->failed++;
		if (had)
			return false;
	}
	/* The task makes the call again, either through the new jump or as before. */
	regs->rax = regs->orig_rax;
	regs->orig_rax = (unsigned long long)-1;
	return !ptrace(PTRACE_SETREGS, task->tid, 0, regs) || *status;
}

void as_inside_mapped(struct as_inside *in, struct as_task *task, uint64_t address, uint64_t len,
		      int fd, uint64_t offset, uint64_t caller)
{
	struct as_inside_space *space = task->space;
	bool runs = space && caller >= space->loader && caller < space->loader_end;
	struct as_text *text;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)task->tid, fd);
	if (!space || stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	/* The old address space is gone. */
	for (unsigned i = space->n_texts; i-- > 0;)
		if (space->texts[i].start < address + len && address < space->texts[i].end)
			space->texts[i] = space->texts[--space->n_texts];
	as_text_add(space, address, address + ((len + 4095) & ~4095ull), offset,
		    as_text_file_of(in, st.st_dev, st.st_ino), runs);
	text = as_text_at(space, address);
	if (!text || !text->file || !runs)
		return;
	if (space->complete)
		as_text_search(in, task->tid, text);
	as_text_lead(in, task, text, reach(space, address), space->complete);
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
