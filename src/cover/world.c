/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world: see world.h. What a call was about is decided from the tables as they were before it, with
 * what the call itself gives away (a getdents that went well was on a directory).
 *
 * 1. A descriptor that is not in the table of its process and that the kernel did not refuse
 *    (EBADF) is unknown, never closed: it was open before the trace began, or came through a
 *    socket.
 * 2. Descriptors that name nothing (closed, negative) and calls about no file at all (sync) go with
 *    the process: they count if it has met files that the filter has.
 * 3. A thread seen for the first time while others are in fork or clone is the child of the one
 *    that entered last; when a parent comes back, what it says is right.
 * 4. Nothing grows with the length of the trace: processes, descriptors and what is remembered of
 *    names are bounded; what had to be forgotten is counted.
 */
#include "base/hash.h"
#include "cover/world_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Processes ------------------------------------------------------------------------------- */

static unsigned slot_of(const struct as_world *w, unsigned tid)
{
	unsigned i = (unsigned)as_mix64(tid) & (w->table_size - 1);

	while (w->table[i] && w->table[i]->tid != tid)
		i = (i + 1) & (w->table_size - 1);
	return i;
}

static void drop_files(struct as_world *w, struct as_files *files)
{
	if (--files->refs)
		return;
	for (unsigned i = 0; i < files->n; i++) {
		w->n_fds -= files->at[i].kind != AS_FD_CLOSED;
		as_place_drop(files->at[i].place);
	}
	free(files->at);
	free(files);
}

static void drop_now(struct as_where_now *now)
{
	if (--now->refs)
		return;
	as_place_drop(now->cwd);
	as_place_drop(now->root);
	free(now);
}

/* Takes one out of the table; those behind it move up. */
void as_world_drop(struct as_world *w, struct as_process *p)
{
	unsigned i = slot_of(w, p->tid);

	w->table[i] = NULL;
	w->n_processes--;
	w->n_forking -= p->forking;
	if (w->last == p)
		w->last = NULL;
	drop_files(w, p->files);
	drop_now(p->now);
	free(p);
	for (;;) {
		struct as_process *moved;

		i = (i + 1) % w->table_size;
		moved = w->table[i];
		if (!moved)
			return;
		w->table[i] = NULL;
		w->table[slot_of(w, moved->tid)] = moved;
	}
}

static struct as_files *copy_files(struct as_world *w, const struct as_files *from)
{
	struct as_files *files = as_xcalloc(1, sizeof(*files));

	files->refs = 1;
	files->n = from->n;
	files->n_in = from->n_in;
	files->at = as_xcalloc(from->n ? from->n : 1, sizeof(*files->at));
	for (unsigned i = 0; i < from->n; i++) {
		files->at[i] = from->at[i];
		as_place_share(files->at[i].place);
		w->n_fds += files->at[i].kind != AS_FD_CLOSED;
	}
	return files;
}

static struct as_where_now *new_now(struct as_place *cwd, struct as_place *root)
{
	struct as_where_now *now = as_xcalloc(1, sizeof(*now));

	now->refs = 1;
	now->cwd = as_place_share(cwd);
	now->root = as_place_share(root);
	return now;
}

void as_world_unshare(struct as_world *w, struct as_process *p, bool files, bool now)
{
	if (files && p->files->refs > 1) {
		struct as_files *own = copy_files(w, p->files);

		own->touched = p->files->touched;
		drop_files(w, p->files);
		p->files = own;
	}
	if (now && p->now->refs > 1) {
		struct as_where_now *own = new_now(p->now->cwd, p->now->root);

		drop_now(p->now);
		p->now = own;
	}
}

enum { CLONE_FS_BIT = 0x200, CLONE_FILES_BIT = 0x400, CLONE_THREAD_BIT = 0x10000 };

/* parent NULL: nothing is known of it. */
static struct as_process *add(struct as_world *w, struct as_process *parent, unsigned tid,
			      uint64_t flags)
{
	struct as_process *p;
	unsigned i;

	if (w->n_processes >= AS_WORLD_PROCESSES) {
		/* Whoever is at the place where the new one would be. */
		for (i = (unsigned)(as_mix64(tid) % w->table_size);
		     !w->table[i] || w->table[i] == parent; i = (i + 1) % w->table_size)
			;
		as_world_drop(w, w->table[i]);
		w->forgotten++;
	}
	p = as_xcalloc(1, sizeof(*p));
	p->tid = p->group = tid;
	p->label = parent ? parent->label : 0;
	if (parent && (flags & CLONE_THREAD_BIT)) {
		p->group = parent->group;
		p->threads = parent->threads = true;
	}
	if (parent && (flags & CLONE_FILES_BIT)) {
		p->files = parent->files;
		p->files->refs++;
	} else if (parent) {
		p->files = copy_files(w, parent->files);
	} else {
		p->files = as_xcalloc(1, sizeof(*p->files));
		p->files->refs = 1;
	}
	if (parent && (flags & CLONE_FS_BIT)) {
		p->now = parent->now;
		p->now->refs++;
	} else {
		p->now = parent ? new_now(parent->now->cwd, parent->now->root)
				: new_now(w->first_cwd, NULL);
	}
	w->table[slot_of(w, tid)] = p;
	w->n_processes++;
	return p;
}

static struct as_process *last_forking(const struct as_world *w)
{
	struct as_process *found = NULL;

	for (unsigned i = 0; w->n_forking && i < w->table_size; i++) {
		struct as_process *p = w->table[i];

		if (p && p->forking && (!found || p->forking_since > found->forking_since))
			found = p;
	}
	return found;
}

struct as_process *as_world_process(struct as_world *w, unsigned tid)
{
	struct as_process *p = w->last;

	if (p && p->tid == tid)
		return p;
	p = w->table[slot_of(w, tid)];
	if (!p) {
		struct as_process *parent = last_forking(w);

		p = add(w, parent, tid, parent ? parent->forking_flags : 0);
		p->adopted = parent ? parent->tid : 0;
	}
	w->last = p;
	return p;
}

void as_world_forking(struct as_world *w, unsigned tid, uint64_t flags)
{
	struct as_process *p = as_world_process(w, tid);

	w->n_forking += !p->forking;
	p->forking = true;
	p->forking_flags = flags;
	p->forking_since = ++w->clock;
}

void as_world_fork(struct as_world *w, unsigned parent, unsigned child, uint64_t flags)
{
	struct as_process *p, *there;
	unsigned label = 0;
	bool adopted, labelled;

	if (parent == child)
		return;
	p = as_world_process(w, parent);
	there = w->table[slot_of(w, child)];
	/* Seen before its parent came back; made from another one, it must be made again. */
	adopted = there && there->adopted == parent;
	w->n_forking -= p->forking;
	p->forking = false;
	if (adopted) {
		there->adopted = 0;
		return;
	}
	/* What an exec of its own has said stays. */
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
	struct as_process *p = w->table[slot_of(w, tid)];

	if (p)
		as_world_drop(w, p);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static void empty(struct as_world *w, struct as_files *files, struct as_fd *at)
{
	bool in = at->place && at->place->in;

	files->n_in -= in;
	w->n_fds--;
	as_place_drop(at->place);
	*at = (struct as_fd){ .kind = AS_FD_CLOSED, .was_in = in };
}

void as_world_close(struct as_world *w, struct as_process *p, int fd)
{
	struct as_fd *at = as_world_get(p, fd);

	if (at)
		empty(w, p->files, at);
}

void as_world_put(struct as_world *w, struct as_process *p, int fd, struct as_place *place,
		  enum as_fd_kind kind, bool cloexec)
{
	struct as_files *files = p->files;

	as_world_close(w, p, fd);
	if (fd < 0 || fd >= AS_WORLD_FDS || w->n_fds >= AS_WORLD_FDS_ALL) {
		w->forgotten++;
		as_place_drop(place);
		return;
	}
	if ((unsigned)fd >= files->n) {
		unsigned n = files->n ? files->n : 16;

		while (n <= (unsigned)fd)
			n *= 2;
		files->at = as_xrealloc(files->at, n * sizeof(*files->at));
		for (unsigned i = files->n; i < n; i++)
			files->at[i] = (struct as_fd){ .kind = AS_FD_CLOSED };
		files->n = n;
	}
	files->at[fd] =
		(struct as_fd){ .place = place, .kind = (unsigned char)kind, .cloexec = cloexec };
	files->n_in += place && place->in;
	w->n_fds++;
}

void as_world_cwd(struct as_world *w, unsigned tid, const char *path, size_t len)
{
	struct as_process *p = as_world_process(w, tid);
	struct as_place *cwd = as_place_new(w, path, (unsigned)len);

	as_place_drop(p->now->cwd);
	p->now->cwd = cwd;
}

void as_world_fd(struct as_world *w, unsigned tid, int fd, const char *path, size_t len,
		 bool directory)
{
	struct as_process *p = as_world_process(w, tid);
	bool has_path = path && len && *path == '/';

	as_world_put(w, p, fd, has_path ? as_place_new(w, path, (unsigned)len) : NULL,
		     !has_path	 ? AS_FD_OTHER
		     : directory ? AS_FD_DIRECTORY
				 : AS_FD_REGULAR,
		     false);
}

/* ---- What a call is about -------------------------------------------------------------------- */

/* As it adds up over the slots of a call. */
struct finding {
	bool in, out, unknown;
};

static void find_place(struct finding *f, const struct as_place *place)
{
	f->in |= place->in;
	f->out |= !place->in;
}

/* What -y printed behind a descriptor is right. */
static struct as_fd *told(struct as_world *w, struct as_process *p, int fd, struct as_fd *at,
			  const struct as_syscall_slot *slot)
{
	static const char deleted[] = " (deleted)";
	unsigned len = slot->len, tail = sizeof(deleted) - 1;

	if (*slot->text != '/') {
		if (!at && fd >= 0)
			as_world_put(w, p, fd, NULL, AS_FD_OTHER, false);
		return as_world_get(p, fd);
	}
	if (len > tail && !memcmp(slot->text + len - tail, deleted, tail))
		len -= tail;
	if (at && at->place && at->place->len == len && !memcmp(at->place->text, slot->text, len))
		return at;
	as_world_put(w, p, fd, as_place_new(w, slot->text, len),
		     at && at->kind != AS_FD_OTHER ? (enum as_fd_kind)at->kind : AS_FD_UNKNOWN,
		     at && at->cloexec);
	return as_world_get(p, fd);
}

static enum as_fd_kind look_at_fd(struct as_world *w, struct as_process *p,
				  const struct as_syscall *call, const struct as_syscall_slot *slot,
				  struct finding *f, bool only_kind)
{
	int fd = (int)slot->value;
	struct as_fd *at = as_world_get(p, fd);

	if (fd < 0)
		return AS_FD_NEGATIVE;
	if (slot->text && slot->len)
		at = told(w, p, fd, at, slot);
	if (!at && call->err == EBADF)
		return AS_FD_CLOSED;
	if (!at) {
		f->unknown |= !only_kind;
		return AS_FD_UNKNOWN;
	}
	if (call->spec->act == AS_ACT_READDIR || call->spec->act == AS_ACT_FCHDIR) {
		if (!call->err)
			at->kind = AS_FD_DIRECTORY;
	} else if (call->err == EISDIR && at->kind == AS_FD_REGULAR) {
		at->kind = AS_FD_DIRECTORY;
	}
	if (only_kind)
		return (enum as_fd_kind)at->kind;
	if (at->place)
		find_place(f, at->place);
	else
		f->out |= at->kind == AS_FD_OTHER;
	f->unknown |= !at->place && at->kind != AS_FD_OTHER;
	return (enum as_fd_kind)at->kind;
}

/* Limits of Linux: at them, or beyond. */
enum { LONG_PATH = 4095, LONG_NAME = 255 };

static unsigned char path_bits(const struct as_syscall_slot *slot)
{
	const char *s = slot->text, *end;
	unsigned bits;

	if (slot->state != AS_SLOT_TEXT)
		return slot->state == AS_SLOT_UNSEEN ? 0 : AS_PATH_FAULT;
	if (!slot->len)
		return AS_PATH_EMPTY;
	end = s + slot->len;
	bits = *s == '/' ? AS_PATH_ABSOLUTE : AS_PATH_RELATIVE;
	if (slot->len > 1 && end[-1] == '/' && !slot->cut)
		bits |= AS_PATH_SLASH;
	if (slot->cut || slot->len >= LONG_PATH)
		bits |= AS_PATH_LONG;
	while (slot->len >= LONG_NAME && s < end) {
		const char *slash = memchr(s, '/', (size_t)(end - s));

		if (!slash)
			slash = end;
		if (slash - s >= LONG_NAME)
			bits |= AS_PATH_LONG;
		s = slash + 1;
	}
	return (unsigned char)bits;
}

/* The directory that a path is relative to. */
static const struct as_place *base_of(struct as_world *w, struct as_process *p,
				      const struct as_syscall *call, int dir, bool relative,
				      struct as_about *about)
{
	const struct as_syscall_slot *slot = dir < 0 ? NULL : &call->slots[dir];
	struct finding unused = { 0 };
	struct as_fd *at;

	if (!slot || (slot->state == AS_SLOT_VALUE && (int)slot->value == -100)) {
		if (slot) {
			about->fd[dir] = AS_FD_CWD;
			if (slot->text && slot->len && *slot->text == '/' &&
			    (!p->now->cwd || p->now->cwd->len != slot->len ||
			     memcmp(p->now->cwd->text, slot->text, slot->len) != 0))
				as_world_cwd(w, p->tid, slot->text, slot->len);
		}
		return p->now->cwd;
	}
	if (slot->state != AS_SLOT_VALUE)
		return NULL;
	about->fd[dir] = (unsigned char)look_at_fd(w, p, call, slot, &unused, true);
	at = as_world_get(p, (int)slot->value);
	if (at && relative && !call->err && call->slots[dir + 1].len && at->kind != AS_FD_OTHER) {
		at->kind = AS_FD_DIRECTORY;
		about->fd[dir] = AS_FD_DIRECTORY;
	}
	return at ? at->place : NULL;
}

static void look_at_path(struct as_world *w, struct as_process *p, const struct as_syscall *call,
			 int i, struct finding *f, struct as_about *about, struct as_resolved *out,
			 unsigned which)
{
	const struct as_syscall_slot *slot = &call->slots[i];
	int dir = i && call->spec->slots[i - 1].class == AS_CLASS_DIRFD ? i - 1 : -1;
	bool relative = slot->state != AS_SLOT_TEXT || !slot->len || *slot->text != '/';
	const struct as_place *base = base_of(w, p, call, dir, relative, about);
	bool nothing = dir >= 0 && relative && !base &&
		       (about->fd[dir] == AS_FD_CLOSED || about->fd[dir] == AS_FD_NEGATIVE);

	about->path[i] = path_bits(slot);
	if (slot->state == AS_SLOT_TEXT || dir >= 0)
		as_world_resolve(w, p, base, slot->text,
				 slot->state == AS_SLOT_TEXT ? slot->len : 0, which, out);
	if (slot->state != AS_SLOT_TEXT && dir < 0)
		return;
	f->in |= out->known && out->in;
	f->out |= out->known && !out->in;
	f->unknown |= !out->known && !nothing;
	if (!out->known)
		return;
	if (call->spec->act == AS_ACT_READLINK && !call->err)
		as_world_learn(w, out->hash, AS_KNOWN_SYMLINK);
	if (as_world_known(w, out->hash) == AS_KNOWN_SYMLINK && slot->len)
		about->path[i] |= AS_PATH_SYMLINK;
}

static enum as_where decide(const struct as_world *w, struct as_process *p,
			    const struct as_syscall *call, const struct finding *f)
{
	bool touches = p->files->touched || p->files->n_in || (p->now->cwd && p->now->cwd->in);

	if (call->spec->family < 0)
		return AS_WHERE_NONE;
	if (w->filter.any)
		return AS_WHERE_IN;
	if (f->in) {
		p->files->touched = true;
		return AS_WHERE_IN;
	}
	if (f->unknown)
		return AS_WHERE_UNKNOWN;
	if (f->out)
		return AS_WHERE_OUT;
	return touches ? AS_WHERE_IN : AS_WHERE_NONE;
}

static bool is_anonymous(const struct as_world *w, const struct as_syscall *call)
{
	int i = w->plans[call->spec->index].map_flags;

	return i >= 0 && (call->slots[i].value & 0x20);
}

void as_world_call(struct as_world *w, const struct as_syscall *call, struct as_about *about)
{
	struct as_process *p = as_world_process(w, call->tid);
	struct as_resolved paths[2] = { 0 };
	struct finding f = { 0 };
	unsigned n_paths = 0;

	*about = (struct as_about){ 0 };
	for (int i = 0; i < call->spec->n_slots; i++) {
		const struct as_syscall_slot *slot = &call->slots[i];

		switch (call->spec->slots[i].class) {
		case AS_CLASS_FD:
			if (slot->state == AS_SLOT_VALUE)
				about->fd[i] =
					(unsigned char)look_at_fd(w, p, call, slot, &f, false);
			break;
		case AS_CLASS_PATH:
			look_at_path(w, p, call, i, &f, about, &paths[n_paths % 2], n_paths % 2);
			n_paths++;
			break;
		case AS_CLASS_TARGET:
			about->path[i] = path_bits(slot);
			break;
		default:
			break;
		}
	}
	about->where = decide(w, p, call, &f);
	if (is_anonymous(w, call))
		about->where = AS_WHERE_OUT;
	if (call->spec->act == AS_ACT_EXIT || call->spec->act == AS_ACT_EXIT_GROUP ||
	    (call->finished && (!call->err || call->spec->act == AS_ACT_CLOSE)))
		as_world_act(w, p, call, paths);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static struct as_plan plan_of(const struct as_spec_call *call)
{
	struct as_plan plan;

	memset(&plan, -1, sizeof(plan));
	for (signed char i = (signed char)(call->n_slots - 1); i >= 0; i--) {
		const struct as_spec_slot *slot = &call->slots[i];
		signed char *own[] = { [AS_OWN_OLD] = &plan.old,     [AS_OWN_NEW] = &plan.new_fd,
				       [AS_OWN_LAST] = &plan.last,   [AS_OWN_FLAGS] = &plan.flags,
				       [AS_OWN_CLONE] = &plan.clone, [AS_OWN_ARG] = &plan.arg };

		if (slot->own == AS_OWN_CLONE && plan.clone >= 0)
			plan.clone2 = plan.clone;
		if (slot->own != AS_OWN_NOT && slot->own != AS_OWN_PAIR &&
		    slot->own != AS_OWN_PROGRAM)
			*own[slot->own] = i;
		if (slot->own == AS_OWN_NOT && slot->class == AS_CLASS_FD)
			plan.fd = i;
		if (slot->class == AS_CLASS_WORD)
			plan.word = i;
		if (slot->class == AS_CLASS_BITS && slot->words &&
		    !strcmp(slot->words->name, "open_flags"))
			plan.open_flags = i;
		if (slot->class == AS_CLASS_BITS && slot->words &&
		    !strcmp(slot->words->name, "map_flags"))
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
	w->table_size = 2 * AS_WORLD_PROCESSES; /* a power of two */
	w->table = as_xcalloc(w->table_size, sizeof(struct as_process *));
	w->plans = as_xcalloc(spec->n_calls, sizeof(*w->plans));
	for (unsigned i = 0; i < spec->n_calls; i++)
		w->plans[i] = plan_of(&spec->calls[i]);
	rc = as_filter_open(&w->filter, options->under, err);
	if (rc) {
		as_world_free(w);
		return rc;
	}
	if (options->cwd)
		w->first_cwd = as_place_new(w, options->cwd, (unsigned)strlen(options->cwd));
	*out = w;
	return 0;
}

void as_world_free(struct as_world *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->table_size; i++) {
		if (!w->table[i])
			continue;
		drop_files(w, w->table[i]->files);
		drop_now(w->table[i]->now);
		free(w->table[i]);
	}
	as_place_drop(w->first_cwd);
	as_filter_close(&w->filter);
	free(w->plans);
	free(w->table);
	free(w);
}

uint64_t as_world_forgotten(const struct as_world *w)
{
	return w->forgotten;
}
