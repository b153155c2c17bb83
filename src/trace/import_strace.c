/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_strace: the log of strace, with or without -f, -y and times. Each call on the tree becomes
 * the operation that makes the same call, in the order in which the calls came back; failed ones,
 * too. Paths are made absolute (every process has its own working directory), descriptors become
 * slots. Written bytes are patterns. What was found in the tree and nobody in the log had made is
 * made first: folders and empty files.
 *
 * Not followed: symbolic links and mounts (a path is inside the tree by its name), the umask.
 */
#include "trace/import_strace_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------- */

static void effect_unlinkat(struct as_tracing *t, struct as_op *op)
{
	if (t->at_flags & AS_AT_REMOVEDIR)
		op->code = AS_OP_RMDIR;
}

static void effect_linkat(struct as_tracing *t, struct as_op *op)
{
	if (t->at_flags & (AS_AT_FOLLOW | AS_AT_EMPTY))
		t->bad = "a link through a descriptor or a symbolic link";
	(void)op;
}

static void effect_renameat2(struct as_tracing *t, struct as_op *op)
{
	(void)t;
	if (!op->flags)
		op->code = AS_OP_RENAME;
}

/* Of a path that is empty, or of none at all: the descriptor's own. */
static void effect_stat(struct as_tracing *t, struct as_op *op)
{
	(void)t;
	if (!op->path)
		op->path = "";
}

static const struct import_strace_row {
	const char *name, *letters;
	enum as_opcode code;
	int nofollow;
	void (*effect)(struct as_tracing *t, struct as_op *op);
} rows[] = {
#define CALL(name, letters, id, nofollow, effect) { #name, letters, AS_OP_##id, nofollow, effect },
#include "trace/import_strace.def"
#undef CALL
};

/* ---- What a call leaves behind --------------------------------------------------------------- */

static void before(struct as_tracing *t, const struct as_op *op)
{
	struct as_tr_world *w = &t->world;
	bool makes = op->code == AS_OP_MKDIR || op->code == AS_OP_MKNOD;

	if (t->call->failed)
		return;
	if (op->code != AS_OP_SYMLINK && op->path && *op->path) {
		if (makes)
			as_tr_needs_folder_of(w, op->path);
		else
			as_tr_needs(w, op->path,
				    op->code == AS_OP_RMDIR || op->code == AS_OP_CHCWD ||
					    op->code == AS_OP_READDIR || op->code == AS_OP_STATFS);
	}
	if (op->path2)
		as_tr_needs_folder_of(w, op->path2);
}

static void after(struct as_tracing *t, const struct as_op *op)
{
	struct as_tr_world *w = &t->world;

	if (t->call->failed)
		return;
	switch (op->code) {
	case AS_OP_MKDIR:
	case AS_OP_MKNOD:
		as_tr_made(w, op->path);
		break;
	case AS_OP_HARDLINK:
	case AS_OP_SYMLINK:
		as_tr_made(w, op->path2);
		break;
	case AS_OP_UNLINK:
	case AS_OP_RMDIR:
		as_tr_gone(w, op->path);
		break;
	case AS_OP_RENAME:
		as_tr_renamed(w, op->path, op->path2);
		break;
	case AS_OP_RENAME2:
		if (!(op->flags & 2))
			as_tr_renamed(w, op->path, op->path2);
		break;
	default:
		break;
	}
}

static struct as_tr_file *file_of(struct as_tracing *t, size_t arg)
{
	const char *said;
	int64_t fd;

	if (arg >= t->call->n_args || !as_strace_fd(t->x, t->call->args[arg], &fd, &said))
		return NULL;
	return as_tr_file(t->p, fd);
}

/* Where descriptors stand, as far as the log tells. */
static void move_offset(struct as_tracing *t, enum as_opcode code)
{
	struct as_tr_file *file = file_of(t, 0);
	int64_t ret = t->call->ret;

	if (!file || ret < 0)
		return;
	if (code == AS_OP_LSEEK)
		file->at = ret;
	else if (code == AS_OP_WRITE && file->appends)
		file->at = -1;
	else if ((code == AS_OP_READ || code == AS_OP_WRITE) && file->at >= 0)
		file->at = ret > INT64_MAX - file->at ? -1 : file->at + ret;
}

/* copy_file_range without offsets works at those of the descriptors and moves them; with them it
 * does not: a seek follows. */
static void seek_behind(struct as_tracing *t, size_t arg)
{
	struct as_tr_file *file = file_of(t, arg);
	struct as_op seek = as_op_make(AS_OP_LSEEK);

	if (t->bad || t->call->ret <= 0 || !file || file->slot < 0 || file->at < 0 ||
	    !as_piece_is(t->call->args[arg + 1], "NULL"))
		return;
	file->at += t->call->ret;
	seek.fd = file->slot;
	seek.off = file->at;
	as_importing_add(t->x, &seek);
}

/* Listing a directory takes several calls; the operation is all of them. */
static bool is_listed_again(struct as_tracing *t)
{
	const char *said;
	struct as_tr_file *file;
	int64_t fd;
	bool again;

	if (!as_strace_fd(t->x, t->call->args[0], &fd, &said) || !(file = as_tr_file(t->p, fd)))
		return false;
	again = file->listed;
	file->listed = true;
	return again;
}

static void settle(struct as_tracing *t, struct as_op *op)
{
	const struct as_piece name = t->call->name;

	if (t->bad)
		as_importing_miss(t->x, "%.*s: %s", (int)name.len, name.at, t->bad);
	else if (t->outside && t->inside)
		as_importing_miss(t->x, "%.*s: one of its paths is outside the tree", (int)name.len,
				  name.at);
	else if (t->unknown)
		t->x->import->n_other++;
	else if (t->outside)
		t->x->import->n_outside++;
	else {
		before(t, op);
		if (as_importing_add(t->x, op))
			after(t, op);
	}
}

static void plain_call(struct as_tracing *t, const struct import_strace_row *row)
{
	struct as_op op = as_op_make(row->code);

	t->from = t->to = NULL;
	as_tracing_args(t, row->letters, &op);
	op.nofollow = row->nofollow || t->at_flags & AS_AT_NOFOLLOW;
	if (row->effect && !t->bad)
		row->effect(t, &op);
	if (op.code == AS_OP_WRITE || op.code == AS_OP_PWRITE || op.code == AS_OP_WRITE_XATTR)
		op.fill = ++t->x->fill;
	if (op.code == AS_OP_CHCWD && !t->call->failed && !t->bad) {
		const char *path = NULL;

		if (row->letters[0] == 'F') {
			struct as_tr_file *file;
			int64_t fd;

			if (as_strace_fd(t->x, t->call->args[0], &fd, &path) && !path)
				path = (file = as_tr_file(t->p, fd)) ? file->path : NULL;
		}
		path = path ? path : t->from;
		if (path)
			as_tr_chdir(t->p, as_importing_word(
						  t->x, (struct as_piece){ path, strlen(path) }));
	}
	if (op.code == AS_OP_READDIR && t->call->n_args && is_listed_again(t))
		return;
	settle(t, &op);
	move_offset(t, op.code);
	if (op.code == AS_OP_COPY_FILE_RANGE && t->call->n_args > 3) {
		seek_behind(t, 0);
		seek_behind(t, 2);
	}
}

/* ---- Calls with rules of their own ----------------------------------------------------------- */

static void call_open(struct as_tracing *t, size_t first)
{
	const struct as_strace_call *call = t->call;
	bool creat = as_piece_is(call->name, "creat");
	const struct as_piece *dirfd = first ? &call->args[0] : NULL;
	struct as_op op = as_op_make(AS_OP_OPEN);
	size_t mode = first + (creat ? 1 : 2);
	int64_t number;

	if (call->n_args < first + 2) {
		t->bad = "an argument that is missing";
		settle(t, &op);
		return;
	}
	op.path = as_tracing_path(t, dirfd, call->args[first], &t->from);
	if (creat)
		op.flags = 01 | 0100 | 01000;
	else if (!as_piece_flags(call->args[first + 1], AS_FLAGS_OPEN_FLAGS, NULL, &op.flags))
		t->bad = "flags";
	if (call->n_args > mode && as_tracing_number(t, call->args[mode], &number))
		op.mode = (uint32_t)number;
	op.slot = t->outside ? AS_SLOT_NONE : as_tr_slot(&t->world);
	if (!t->outside && op.slot < 0)
		t->bad = "more files are open at once than there are slots";
	if (!t->bad && t->inside && !call->failed && call->ret >= 0) {
		bool makes = op.flags & 0100;

		if (makes)
			as_tr_needs_folder_of(&t->world, op.path);
		else
			as_tr_needs(&t->world, op.path, op.flags & 0200000);
		if (makes)
			as_tr_made(&t->world, op.path);
	}
	settle(t, &op);
	if (!t->bad && call->ret >= 0 && t->from)
		as_tr_put(&t->world, t->p, call->ret, as_tr_file_new(&t->world, t->from, op.slot),
			  op.flags & 02000000);
}

static void call_openat(struct as_tracing *t)
{
	call_open(t, 1);
}

static void call_open_path(struct as_tracing *t)
{
	call_open(t, 0);
}

static struct as_tr_file *first_file(struct as_tracing *t, int64_t *fd)
{
	const char *said;

	if (!t->call->n_args || !as_strace_fd(t->x, t->call->args[0], fd, &said))
		return NULL;
	return as_tr_file(t->p, *fd);
}

static void call_close(struct as_tracing *t)
{
	int64_t fd = -1;
	struct as_tr_file *file = first_file(t, &fd);

	t->x->import->n_other += !file;
	t->x->import->n_outside += file && file->slot < 0;
	if (file)
		as_tr_put(&t->world, t->p, fd, NULL, false);
}

static void call_dup(struct as_tracing *t)
{
	int64_t fd = -1;
	struct as_tr_file *file = first_file(t, &fd);
	bool is_fcntl = as_piece_is(t->call->name, "fcntl");
	bool dups =
		!is_fcntl || (t->call->n_args > 1 && as_piece_starts(t->call->args[1], "F_DUPFD"));
	bool cloexec =
		t->call->n_args > 1 &&
		memmem(t->call->args[t->call->n_args > 2 && !is_fcntl ? 2 : 1].at,
		       t->call->args[t->call->n_args > 2 && !is_fcntl ? 2 : 1].len, "CLOEXEC", 7);

	t->x->import->n_other += !file || !dups;
	t->x->import->n_outside += file && dups && file->slot < 0;
	/* One that the log does not know takes the place of one that it does, too. */
	if (dups && t->call->ret >= 0 && t->call->ret != fd)
		as_tr_put(&t->world, t->p, t->call->ret, file, cloexec);
}

static void call_clone(struct as_tracing *t)
{
	bool files = false, place = false;

	t->x->import->n_other++;
	for (size_t i = 0; i < t->call->n_args && i < AS_STRACE_ARGS_MAX; i++) {
		files |= memmem(t->call->args[i].at, t->call->args[i].len, "CLONE_FILES", 11) !=
			 NULL;
		place |= memmem(t->call->args[i].at, t->call->args[i].len, "CLONE_FS", 8) != NULL;
	}
	if (t->call->ret > 0)
		as_tr_clone(&t->world, t->p, (unsigned)t->call->ret, files, place);
}

static void call_exec(struct as_tracing *t)
{
	t->x->import->n_other++;
	if (!t->call->failed)
		as_tr_exec(&t->world, t->p);
}

static void call_getcwd(struct as_tracing *t)
{
	const char *path = t->call->n_args && t->call->ret > 0
				   ? as_strace_string(t->x, t->call->args[0])
				   : NULL;

	t->x->import->n_other++;
	if (path && *path == '/')
		as_tr_chdir(t->p, path);
}

static const struct special {
	const char *name;
	void (*call)(struct as_tracing *t);
} specials[] = {
	{ "open", call_open_path }, { "openat", call_openat }, { "creat", call_open_path },
	{ "close", call_close },    { "dup", call_dup },       { "dup2", call_dup },
	{ "dup3", call_dup },	    { "fcntl", call_dup },     { "clone", call_clone },
	{ "clone3", call_clone },   { "fork", call_clone },    { "vfork", call_clone },
	{ "execve", call_exec },    { "getcwd", call_getcwd },
};

/* They move any of their descriptors. */
static void forget_offsets(struct as_tracing *t)
{
	for (size_t i = 0; i < 3; i++) {
		struct as_tr_file *file = file_of(t, i);

		if (file)
			file->at = -1;
	}
}

/* Calls on paths that no operation does: in which argument the path is. */
static const struct pathed {
	const char *name;
	size_t path;
	bool at; /* the argument before is its directory */
} pathed[] = {
	{ "access", 0, false },
	{ "faccessat", 1, true },
	{ "faccessat2", 1, true },
	{ "openat2", 1, true },
	{ "utime", 0, false },
	{ "utimes", 0, false },
	{ "futimesat", 1, true },
	{ "chroot", 0, false },
	{ "mount", 1, false },
	{ "umount2", 0, false },
	{ "name_to_handle_at", 1, true },
	{ "inotify_add_watch", 1, false },
	{ "swapon", 0, false },
	{ "acct", 0, false },
	{ "open_tree", 1, true },
	{ "fchmodat2", 1, true },
};

/* No operation does it: is it about the tree at all? */
static void unknown_call(struct as_tracing *t)
{
	const struct as_strace_call *call = t->call;
	int64_t fd;
	struct as_tr_file *file = first_file(t, &fd);
	bool about = file && file->slot >= 0;

	if (as_piece_is(call->name, "sendfile") || as_piece_is(call->name, "splice"))
		forget_offsets(t);
	for (size_t i = 0; i < sizeof(pathed) / sizeof(pathed[0]); i++) {
		size_t arg = pathed[i].path;

		if (!as_piece_is(call->name, pathed[i].name) || arg >= call->n_args)
			continue;
		about = as_tracing_path(t, pathed[i].at ? &call->args[0] : NULL, call->args[arg],
					&t->from) != NULL;
		t->x->import->n_outside += !about && t->outside;
		if (t->outside)
			return;
	}
	if (about)
		as_importing_miss(t->x, "no operation for the call %.*s", (int)call->name.len,
				  call->name.at);
	else
		t->x->import->n_other++;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void one_call(struct as_tracing *t, struct as_piece text)
{
	struct as_strace_call call;

	if (!as_strace_parse(text, &call)) {
		as_importing_miss(t->x, "not a line of strace");
		return;
	}
	t->x->understood++;
	t->call = &call;
	t->inside = t->outside = t->unknown = 0;
	t->bad = NULL;
	t->from = t->to = t->about = NULL;
	t->at_flags = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (as_piece_is(call.name, rows[i].name)) {
			plain_call(t, &rows[i]);
			return;
		}
	}
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		if (as_piece_is(call.name, specials[i].name)) {
			specials[i].call(t);
			return;
		}
	}
	unknown_call(t);
}

#define UNFINISHED "<unfinished ...>"
#define RESUMED " resumed>"

static void one_line(struct as_tracing *t, struct as_piece line)
{
	unsigned pid = as_strace_prefix(&line);
	const char *at;

	if (!line.len)
		return;
	if (as_piece_starts(line, "strace: ")) /* "Process 12 attached" */
		return;
	t->p = as_tr_process(&t->world, pid);
	if (as_piece_starts(line, "---")) /* a signal */
		return;
	if (as_piece_starts(line, "+++")) {
		as_tr_exit(&t->world, t->p);
		return;
	}
	at = memmem(line.at, line.len, RESUMED, strlen(RESUMED));
	if (as_piece_starts(line, "<... ") && at) {
		struct as_buf whole = { 0 };

		at += strlen(RESUMED);
		as_buf_add(&whole, as_buf_str(&t->p->pending), t->p->pending.len);
		as_buf_add(&whole, at, line.len - (size_t)(at - line.at));
		as_buf_clear(&t->p->pending);
		one_call(t, (struct as_piece){ as_buf_str(&whole), whole.len });
		as_buf_free(&whole);
		return;
	}
	if (line.len > strlen(UNFINISHED) &&
	    !memcmp(line.at + line.len - strlen(UNFINISHED), UNFINISHED, strlen(UNFINISHED))) {
		as_buf_clear(&t->p->pending);
		as_buf_add(&t->p->pending, line.at, line.len - strlen(UNFINISHED));
		return;
	}
	one_call(t, line);
}

/* What was there first, then what was done. */
static void put_first(struct as_importing *x, const struct as_seq *first)
{
	struct as_seq *whole = as_seq_new();

	for (size_t i = 0; i < x->seq->n_meta; i++)
		as_seq_set_meta(whole, x->seq->meta[i].key, x->seq->meta[i].value);
	for (size_t i = 0; i < first->n; i++)
		as_seq_add(whole, &first->ops[i]);
	for (size_t i = 0; i < x->seq->n; i++)
		as_seq_add(whole, &x->seq->ops[i]);
	as_seq_free(x->seq);
	x->seq = whole;
}

int as_import_strace(struct as_importing *x, struct as_piece text, struct as_err *err)
{
	struct as_tracing t = { .x = x };
	struct as_piece line;

	if (x->import->under && x->import->under[0] != '/')
		return as_fail(err, AS_EUSE, "'%s' is not an absolute path", x->import->under);
	as_tr_open(&t.world, x, x->import->under);
	while (as_importing_line(x, &text, &line)) {
		if (memchr(line.at, '\0', line.len))
			as_importing_miss(x, "a line with a NUL");
		else
			one_line(&t, line);
	}
	if (t.world.first->n)
		put_first(x, t.world.first);
	as_tr_close(&t.world);
	return 0;
}
