/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world_about: what a call is about. It is decided from the tables as they were before it, and
 * from its result (a successful getdents was on a directory, a successful write was not).
 *
 * 1. A descriptor that is not in the table of its process and that the kernel did not refuse
 *    (EBADF) is unknown, never closed: it was open before the trace began, or came through a
 *    socket.
 * 2. Descriptors that name nothing (closed, negative) and calls about no file at all (sync) are
 *    judged by the process: they count if it has used files that the filter has.
 */
#include "calls/world_priv.h"

#include <errno.h>
#include <string.h>

/* What all slots of a call together say. */
struct place_sum {
	bool in, out, unknown;
};

static void find_place(struct as_world *w, struct place_sum *f, struct as_dentry *dentry)
{
	bool in = as_dentry_in(w, dentry);

	f->in |= in;
	f->out |= !in;
}

/* If strace -y printed a path after the descriptor, that path decides. */
struct as_fd *as_world_told(struct as_world *w, struct as_process *p, int fd, struct as_fd *at,
			    const struct as_syscall_slot *slot)
{
	static const char deleted[] = " (deleted)";
	unsigned len = slot->len, tail = sizeof(deleted) - 1;
	unsigned short was;

	if (*slot->text != '/') {
		if (!at && fd >= 0)
			as_files_put(w, p->files, fd, NULL, AS_FD_OTHER, false);
		return at ? at : as_world_get(p, fd);
	}
	if (len > tail && !memcmp(slot->text + len - tail, deleted, tail))
		len -= tail;
	if (at && at->dentry && as_dentry_is(at->dentry, slot->text, len))
		return at;
	was = at && at->file ? at->file : 0;
	if (was) /* it is still the same open file */
		at->file = 0;
	as_files_put(w, p->files, fd, as_dentry_new(w, slot->text, len),
		     at && at->kind != AS_FD_OTHER ? (enum as_fd_kind)at->kind : AS_FD_UNKNOWN,
		     at && at->cloexec);
	at = as_world_get(p, fd);
	if (at)
		at->file = was;
	return at;
}

/* Learns the kind of a descriptor from the result of a call. */
static void learn_kind(struct as_world *w, struct as_process *p, const struct as_syscall *call,
		       struct as_fd *at)
{
	enum as_spec_act act = (enum as_spec_act)call->spec->act;
	bool lists = act == AS_ACT_READDIR || act == AS_ACT_FCHDIR;
	unsigned kind = at->kind;
	struct as_fd *live;

	if (!call->finished || at->kind == AS_FD_OTHER || at->kind == AS_FD_CLOSED)
		return;
	if ((lists && !call->err) ||
	    (call->err == EISDIR && w->plans[call->spec->index].n_fds == 1))
		kind = AS_FD_DIRECTORY;
	else if ((lists && call->err == ENOTDIR) ||
		 (act == AS_ACT_DATA && !call->err && !call->no_result))
		kind = AS_FD_REGULAR;
	if (kind == at->kind)
		return;
	at->kind = (unsigned char)kind & 15;
	/* `at` may be a copy from when the call began. */
	live = as_world_get(p, at->fd);
	if (live && live->dentry == at->dentry)
		live->kind = at->kind;
	if (at->dentry && at->dentry->parent)
		at->dentry->dir = kind == AS_FD_DIRECTORY;
}

static enum as_fd_kind look_at_fd(struct as_world *w, struct as_process *p,
				  const struct as_syscall *call, int i, struct place_sum *f,
				  bool only_kind)
{
	const struct as_syscall_slot *slot = &call->slots[i];
	int fd = (int)slot->value;
	struct as_fd *at = as_world_used(p, call, i);

	if (fd < 0)
		return AS_FD_NEGATIVE;
	if (slot->text && slot->len && p->entered != call->spec)
		at = as_world_told(w, p, fd, at, slot);
	if (call->err == EBADF && !at)
		return AS_FD_CLOSED;
	if (!at) {
		f->unknown |= !only_kind;
		return AS_FD_UNKNOWN;
	}
	learn_kind(w, p, call, at);
	if (only_kind)
		return (enum as_fd_kind)at->kind;
	if (at->dentry)
		find_place(w, f, at->dentry);
	else
		f->out |= at->kind == AS_FD_OTHER;
	f->unknown |= !at->dentry && at->kind != AS_FD_OTHER;
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
static struct as_dentry *base_of(struct as_world *w, struct as_process *p,
				 const struct as_syscall *call, int dir, bool relative,
				 struct as_about *about)
{
	const struct as_syscall_slot *slot = dir < 0 ? NULL : &call->slots[dir];
	struct place_sum unused = { 0 };
	struct as_fd *at;

	if (!slot || (slot->state == AS_SLOT_VALUE && (int)slot->value == -100)) {
		if (slot) {
			about->fd[dir] = AS_FD_CWD;
			if (slot->text && slot->len && *slot->text == '/' &&
			    (!p->now->cwd || !as_dentry_is(p->now->cwd, slot->text, slot->len)))
				as_world_cwd(w, p->tid, slot->text, slot->len);
		}
		return p->now->cwd;
	}
	if (slot->state != AS_SLOT_VALUE)
		return NULL;
	about->fd[dir] = (unsigned char)look_at_fd(w, p, call, dir, &unused, true);
	at = as_world_used(p, call, dir);
	if (at && relative && call->finished && !call->err && call->slots[dir + 1].len &&
	    at->kind != AS_FD_OTHER) {
		at->kind = AS_FD_DIRECTORY;
		about->fd[dir] = AS_FD_DIRECTORY;
	}
	return at ? at->dentry : NULL;
}

static void look_at_path(struct as_world *w, struct as_process *p, const struct as_syscall *call,
			 int i, struct place_sum *f, struct as_about *about,
			 struct as_resolved *out)
{
	const struct as_syscall_slot *slot = &call->slots[i];
	int dir = i && call->spec->slots[i - 1].class == AS_CLASS_DIRFD ? i - 1 : -1;
	bool relative = slot->state != AS_SLOT_TEXT || !slot->len || *slot->text != '/';
	struct as_dentry *base = base_of(w, p, call, dir, relative, about);
	bool nothing = dir >= 0 && relative && !base &&
		       (about->fd[dir] == AS_FD_CLOSED || about->fd[dir] == AS_FD_NEGATIVE);

	about->path[i] = path_bits(slot);
	if (slot->state == AS_SLOT_TEXT || dir >= 0)
		as_world_resolve(w, p, base, slot->text,
				 slot->state == AS_SLOT_TEXT ? slot->len : 0, out);
	if (slot->state != AS_SLOT_TEXT && dir < 0)
		return;
	f->in |= out->known && out->in;
	f->out |= out->known && !out->in;
	f->unknown |= !out->known && !nothing;
	if (!out->known)
		return;
	if (slot->len)
		as_world_learn(call, out);
	if (out->dentry->link && !out->vague && slot->len)
		about->path[i] |= AS_PATH_SYMLINK;
}

static enum as_where decide(struct as_world *w, struct as_process *p, const struct as_syscall *call,
			    const struct place_sum *f)
{
	bool touches = p->files->touched || p->files->n_in ||
		       (p->now->cwd && as_dentry_in(w, p->now->cwd));

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

void as_world_about(struct as_world *w, struct as_process *p, const struct as_syscall *call,
		    struct as_about *about, struct as_resolved paths[2])
{
	struct place_sum f = { 0 };
	unsigned n_paths = 0;

	*about = (struct as_about){ 0 };
	for (int i = 0; i < call->spec->n_slots; i++) {
		const struct as_syscall_slot *slot = &call->slots[i];

		switch (call->spec->slots[i].class) {
		case AS_CLASS_FD:
			if (slot->state == AS_SLOT_VALUE)
				about->fd[i] = (unsigned char)look_at_fd(w, p, call, i, &f, false);
			break;
		case AS_CLASS_PATH:
			as_assert(n_paths < 2);
			look_at_path(w, p, call, i, &f, about, &paths[n_paths]);
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
}
