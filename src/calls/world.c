/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world: see world.h. Here: the processes. What a call is about is in world_about.c, what it does
 * in world_act.c, descriptors in world_files.c, names in world_names.c.
 *
 * 1. A thread that is seen for the first time while others are in fork or clone is taken as the
 *    child of the one that entered last. When a parent comes back, its result decides.
 * 2. A tracer sees a call begin before the kernel does anything about it, and sees it come back
 *    afterwards; a program knows a descriptor when the call that made it has come back. So a call
 *    that makes a descriptor takes effect when it comes back, and one that closes a descriptor when
 *    it begins. Then a number that is used again is never mistaken for the descriptor before. If
 *    the source does not show beginnings, a close that comes after the number was used again is
 *    taken as a late one.
 * 3. Nothing grows with the length of the trace: processes, descriptors and names are bounded, and
 *    what had to be forgotten is counted. The cost of a call is bounded by the tables of its own
 *    process.
 */
#include "base/hash.h"
#include "calls/world_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Processes ------------------------------------------------------------------------------- */

/* NULL: there is none. */
static struct as_process *find(const struct as_world *w, unsigned tid)
{
	if (w->last && w->last->tid == tid)
		return w->last;
	return as_table_ptr(as_table_get(&w->processes, tid));
}

static void drop_now(struct as_world *w, struct as_where_now *now)
{
	if (--now->refs)
		return;
	as_dentry_drop(&w->names, now->cwd);
	as_dentry_drop(&w->names, now->root);
	free(now);
}

static void forget_entry(struct as_world *w, struct as_process *p)
{
	for (unsigned i = 0; p->entered && i < p->entered->n_slots; i++)
		as_dentry_drop(&w->names, p->was[i].dentry);
	p->entered = NULL;
}

static void not_forking(struct as_world *w, struct as_process *p)
{
	if (!p->forking)
		return;
	*(p->forking_after ? &p->forking_after->forking_before : &w->forking) = p->forking_before;
	if (p->forking_before)
		p->forking_before->forking_after = p->forking_after;
	p->forking = false;
}

static void take_out(struct as_world *w, const struct as_process *p)
{
	as_table_remove_ptr(&w->processes, p->tid, p);
	w->last = NULL;
}

void as_world_drop(struct as_world *w, struct as_process *p)
{
	take_out(w, p);
	not_forking(w, p);
	forget_entry(w, p);
	as_world_no_interrupted(w, p);
	p->peer->peer_before = p->peer_before;
	p->peer_before->peer = p->peer;
	as_files_drop(w, p->files);
	drop_now(w, p->now);
	free(p);
}

void as_world_alone(struct as_world *w, struct as_process *p)
{
	struct as_process *there;

	while (p->peer != p)
		as_world_drop(w, p->peer);
	if (p->tid == p->group)
		return;
	take_out(w, p);
	there = find(w, p->group);
	if (there)
		as_world_drop(w, there);
	p->tid = p->group;
	as_table_add_ptr(&w->processes, p->tid, p);
}

static struct as_where_now *new_now(struct as_world *w, struct as_dentry *cwd,
				    struct as_dentry *root)
{
	struct as_where_now *now = as_xcalloc(1, sizeof(*now));

	now->refs = 1;
	now->cwd = as_dentry_share(&w->names, cwd);
	now->root = as_dentry_share(&w->names, root);
	return now;
}

void as_world_unshare(struct as_world *w, struct as_process *p, bool files, bool now)
{
	if (files && p->files->refs > 1) {
		struct as_files *own = as_files_copy(w, p->files);

		own->touched = p->files->touched;
		as_files_drop(w, p->files);
		p->files = own;
	}
	if (now && p->now->refs > 1) {
		struct as_where_now *own = new_now(w, p->now->cwd, p->now->root);

		drop_now(w, p->now);
		p->now = own;
	}
}

enum { CLONE_FS_BIT = 0x200, CLONE_FILES_BIT = 0x400, CLONE_THREAD_BIT = 0x10000 };

/* Forgets one process or another, but not this one. */
static void make_room(struct as_world *w, unsigned tid, const struct as_process *but)
{
	size_t at = as_mix64(tid);
	struct as_process *p = as_table_ptr(as_table_next(&w->processes, &at));

	if (p == but)
		p = as_table_ptr(as_table_next(&w->processes, &at));
	as_world_drop(w, p);
	w->forgotten++;
}

static void join(struct as_process *p, struct as_process *group)
{
	p->group = group->group;
	p->peer = group->peer;
	p->peer_before = group;
	group->peer->peer_before = p;
	group->peer = p;
}

/* parent NULL: nothing is known of it. */
static struct as_process *add(struct as_world *w, struct as_process *parent, unsigned tid,
			      uint64_t flags)
{
	struct as_process *p;

	if (w->processes.n >= AS_WORLD_PROCESSES)
		make_room(w, tid, parent);
	p = as_xcalloc(1, sizeof(*p));
	p->tid = p->group = tid;
	p->peer = p->peer_before = p;
	p->label = parent ? parent->label : 0;
	if (parent && (flags & CLONE_THREAD_BIT))
		join(p, parent);
	if (parent && (flags & CLONE_FILES_BIT)) {
		p->files = parent->files;
		p->files->refs++;
	} else {
		p->files = parent ? as_files_copy(w, parent->files) : as_files_new();
	}
	if (parent && (flags & CLONE_FS_BIT)) {
		p->now = parent->now;
		p->now->refs++;
	} else {
		p->now = parent ? new_now(w, parent->now->cwd, parent->now->root)
				: new_now(w, w->first_cwd, NULL);
	}
	as_table_add_ptr(&w->processes, tid, p);
	return p;
}

struct as_process *as_world_process(struct as_world *w, unsigned tid)
{
	struct as_process *p = find(w, tid);

	if (!p) {
		struct as_process *parent = w->forking;

		p = add(w, parent, tid, parent ? parent->forking_flags : 0);
		p->adopted = parent ? parent->tid : 0;
	}
	w->last = p;
	return p;
}

void as_world_forking(struct as_world *w, unsigned tid, uint64_t flags)
{
	struct as_process *p = as_world_process(w, tid);

	not_forking(w, p);
	p->forking = true;
	p->forking_flags = flags;
	p->forking_before = w->forking;
	p->forking_after = NULL;
	if (w->forking)
		w->forking->forking_after = p;
	w->forking = p;
}

void as_world_fork(struct as_world *w, unsigned parent, unsigned child, uint64_t flags)
{
	struct as_process *p, *there;
	unsigned label = 0;
	bool adopted, labelled;

	if (parent == child)
		return;
	p = as_world_process(w, parent);
	there = find(w, child);
	/* It was seen before its parent came back. If it was made as the child of another one, it
	 * must be made again. */
	adopted = there && there->adopted == parent;
	not_forking(w, p);
	if (adopted) {
		there->adopted = 0;
		return;
	}
	/* A label that it got by an exec of its own stays. */
	labelled = there && there->adopted && there->labelled;
	if (labelled)
		label = there->label;
	if (there)
		as_world_drop(w, there);
	there = add(w, p, child, flags);
	if (labelled) {
		there->label = label;
		there->labelled = true;
	}
	w->last = NULL;
}

unsigned as_world_label(struct as_world *w, unsigned tid)
{
	return as_world_process(w, tid)->label;
}

void as_world_set_label(struct as_world *w, unsigned tid, unsigned label)
{
	struct as_process *p = as_world_process(w, tid);

	p->label = label;
	p->labelled = true;
}

void as_world_exit(struct as_world *w, unsigned tid)
{
	struct as_process *p = find(w, tid);

	if (p)
		as_world_drop(w, p);
}

void as_world_takes_over(struct as_world *w, unsigned former, unsigned tid)
{
	struct as_process *p = find(w, former);

	if (!p || former == tid)
		return;
	p->group = tid;
	as_world_alone(w, p);
}

bool as_world_forks(const struct as_world *w)
{
	return w->forking;
}

bool as_world_knows(const struct as_world *w, unsigned tid)
{
	return find(w, tid);
}

bool as_world_shares(struct as_world *w, unsigned tid)
{
	const struct as_process *p = find(w, tid);

	return p && p->files->refs > 1;
}

/* ---- What a live source says ----------------------------------------------------------------- */

void as_world_cwd(struct as_world *w, unsigned tid, const char *path, size_t len)
{
	struct as_process *p = as_world_process(w, tid);
	struct as_dentry *cwd = as_dentry_new(w, path, (unsigned)len);

	as_dentry_drop(&w->names, p->now->cwd);
	p->now->cwd = cwd;
}

void as_world_fd(struct as_world *w, unsigned tid, int fd, const char *path, size_t len,
		 bool directory)
{
	struct as_process *p = as_world_process(w, tid);
	bool has_path = path && len && *path == '/';

	as_files_put(w, p->files, fd, has_path ? as_dentry_new(w, path, (unsigned)len) : NULL,
		     !has_path	 ? AS_FD_OTHER
		     : directory ? AS_FD_DIRECTORY
				 : AS_FD_REGULAR,
		     false);
}

bool as_world_closes(const struct as_spec_call *call)
{
	return call->act == AS_ACT_CLOSE || call->act == AS_ACT_CLOSE_RANGE;
}

/* ---- Calls that begin ------------------------------------------------------------------------ */

/* From now on the descriptor counts as closed. It stays in the table until the close has come back:
 * a child that is made meanwhile may still have it. */
static void closing(struct as_process *p, const struct as_call_plan *plan,
		    const struct as_syscall *call)
{
	uint64_t first = 0, last = 0, flags = 0;
	struct as_fd *at;

	if (call->spec->act == AS_ACT_CLOSE) {
		at = as_files_at(p->files, (int)call->slots[plan->fd].value);
		if (at && call->slots[plan->fd].state == AS_SLOT_VALUE)
			at->closing = true;
		return;
	}
	if (plan->flags >= 0 && call->slots[plan->flags].state == AS_SLOT_VALUE)
		flags = call->slots[plan->flags].value;
	if (flags || plan->old < 0 || plan->last < 0)
		return;
	first = call->slots[plan->old].value & 0xffffffff;
	last = call->slots[plan->last].value & 0xffffffff;
	for (size_t i = 0; i < p->files->n; i++) {
		at = &p->files->at[i];
		at->closing |= (unsigned)at->fd >= first && (unsigned)at->fd <= last;
	}
}

void as_world_enter(struct as_world *w, const struct as_syscall *call)
{
	struct as_process *p = as_world_process(w, call->tid);

	forget_entry(w, p);
	if (p->files->refs < 2)
		return;
	p->entered = call->spec;
	for (unsigned i = 0; i < call->spec->n_slots; i++) {
		const struct as_spec_slot *spec = &call->spec->slots[i];
		const struct as_syscall_slot *slot = &call->slots[i];
		struct as_fd *at = NULL;

		if ((spec->class == AS_CLASS_FD || spec->class == AS_CLASS_DIRFD) &&
		    slot->state == AS_SLOT_VALUE && (int)slot->value >= 0) {
			at = as_world_get(p, (int)slot->value);
			if (slot->text && slot->len)
				at = as_world_told(w, p, (int)slot->value, at, slot);
		}
		p->was[i] = at ? *at : (struct as_fd){ 0 };
		as_dentry_share(&w->names, p->was[i].dentry);
	}
	if (as_world_closes(call->spec))
		closing(p, &w->plans[call->spec->index], call);
}

struct as_fd *as_world_used(struct as_process *p, const struct as_syscall *call, int slot)
{
	struct as_fd *at;
	int fd;

	if (slot < 0 || call->slots[slot].state != AS_SLOT_VALUE)
		return NULL;
	fd = (int)call->slots[slot].value;
	if (p->entered == call->spec)
		return p->was[slot].used && p->was[slot].fd == fd ? &p->was[slot] : NULL;
	at = as_files_at(p->files, fd);
	if (!at || !at->closing)
		return at;
	/* Another thread's close was under way when this table was made. It was not done yet if the
	 * kernel has just used the descriptor. */
	return p->files->refs == 1 && call->err != EBADF ? at : NULL;
}

void as_world_call(struct as_world *w, const struct as_syscall *call, struct as_about *about)
{
	struct as_process *p = as_world_process(w, call->tid);
	struct as_resolved paths[2] = { 0 };

	if (p->entered && p->entered != call->spec)
		forget_entry(w, p);
	as_world_about(w, p, call, about, paths);
	if (call->spec->act == AS_ACT_EXIT || call->spec->act == AS_ACT_EXIT_GROUP ||
	    (call->finished && (!call->err || call->spec->act == AS_ACT_CLOSE)))
		as_world_act(w, p, call, paths);
	for (unsigned i = 0; i < 2; i++)
		as_dentry_drop(&w->names, paths[i].dentry);
	p = find(w, call->tid);
	if (p)
		forget_entry(w, p);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static bool has_words(const struct as_spec_slot *slot, const char *name)
{
	return slot->class == AS_CLASS_BITS && slot->words && !strcmp(slot->words->name, name);
}

static struct as_call_plan plan_of(const struct as_spec_call *call)
{
	struct as_call_plan plan;

	memset(&plan, -1, sizeof(plan));
	plan.n_fds = 0;
	for (signed char i = (signed char)(call->n_slots - 1); i >= 0; i--) {
		const struct as_spec_slot *slot = &call->slots[i];
		signed char *own[] = { [AS_OWN_OLD] = &plan.old,      [AS_OWN_NEW] = &plan.new_fd,
				       [AS_OWN_LAST] = &plan.last,    [AS_OWN_FLAGS] = &plan.flags,
				       [AS_OWN_CLONE] = &plan.clone,  [AS_OWN_ARG] = &plan.arg,
				       [AS_OWN_SOURCE] = &plan.source };

		if (slot->own == AS_OWN_CLONE && plan.clone >= 0)
			plan.clone2 = plan.clone;
		if (slot->own != AS_OWN_NOT && slot->own != AS_OWN_PAIR &&
		    slot->own != AS_OWN_PROGRAM)
			*own[slot->own] = i;
		if (slot->own == AS_OWN_NOT && slot->class == AS_CLASS_FD) {
			plan.fd = i;
			plan.n_fds++;
		}
		if (slot->class == AS_CLASS_WORD)
			plan.word = i;
		if (slot->own == AS_OWN_NOT && slot->class == AS_CLASS_BITS)
			plan.any_flags = i;
		if (has_words(slot, "open_flags"))
			plan.open_flags = i;
		if (has_words(slot, "map_flags"))
			plan.map_flags = i;
	}
	return plan;
}

int as_world_new(const struct as_spec *spec, const struct as_world_options *options,
		 struct as_world **out, struct as_err *err)
{
	struct as_world *w = as_xcalloc(1, sizeof(*w));
	int rc;

	w->spec = spec;
	w->plans = as_xcalloc(spec->n_calls, sizeof(*w->plans));
	for (unsigned i = 0; i < spec->n_calls; i++)
		w->plans[i] = plan_of(&spec->calls[i]);
	as_names_open(&w->names);
	rc = as_filter_open(&w->filter, options, err);
	if (rc) {
		as_world_free(w);
		return rc;
	}
	if (options->cwd)
		w->first_cwd = as_dentry_new(w, options->cwd, (unsigned)strlen(options->cwd));
	*out = w;
	return 0;
}

void as_world_free(struct as_world *w)
{
	if (!w)
		return;
	for (size_t at = 0; w->processes.n;)
		as_world_drop(w, as_table_ptr(as_table_next(&w->processes, &at)));
	as_dentry_drop(&w->names, w->first_cwd);
	as_names_close(&w->names);
	as_filter_close(&w->filter);
	free(w->plans);
	as_table_free(&w->processes);
	free(w);
}

uint64_t as_world_forgotten(const struct as_world *w)
{
	return w->forgotten;
}

uint64_t as_world_names_forgotten(const struct as_world *w)
{
	return w->names.forgotten;
}
