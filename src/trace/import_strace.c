/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_strace: the log of strace, with the options that read_strace.c knows. Each call on the
 * tree becomes the operation that makes the same call, in the order in which the calls came back;
 * failed ones, too. Paths are made absolute (every process has its own working directory), and
 * descriptors become slots. Written bytes are patterns. What was found in the tree and nothing in
 * the log had made is made first: folders and empty files (import_tree.h).
 *
 * Symbolic links and mounts are not followed (a path is inside the tree by its name), and the umask
 * is not known. A call that a signal interrupted and that was made again is one operation.
 */
#include "base/array.h"
#include "trace/import_strace_priv.h"
#include "trace/trace.h"
#include "work/acl.h"

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

/* Without an offset it works at that of the descriptor, as the operation does with -1. */
static void effect_sendfile(struct as_tracing *t, struct as_op *op)
{
	op->off = -1;
	if (t->scan->n_args > 2 && !as_span_is(t->scan->args[2], "NULL"))
		as_tracing_number(t, t->scan->args[2], &op->off);
}

/* The value of an access control list; of other attributes, only the length counts. */
static void effect_setxattr(struct as_tracing *t, struct as_op *op)
{
	struct as_syscall_slot slot = { 0 };
	struct as_buf text = { 0 };
	struct as_acl acl;
	bool is_default;

	if (!op->name || !as_acl_is_attribute(op->name, &is_default) || t->scan->n_args < 4)
		return;
	as_scan_text(t->scan->args[2], &t->room, &slot);
	if (slot.state != AS_SLOT_TEXT || slot.cut || slot.len != op->len ||
	    !as_acl_decode(slot.text, slot.len, &acl)) {
		t->bad = "a list that is not whole (strace -s 512 prints more)";
		return;
	}
	as_acl_print(&acl, &text);
	op->code = AS_OP_SETACL;
	op->name = as_importing_word(t->x, (struct as_span){ text.data, text.len });
	op->flags = is_default;
	op->len = 0;
	as_buf_free(&text);
}

/* If the path is empty or missing, the path of the descriptor. */
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

/* ---- One operation --------------------------------------------------------------------------- */

static void before(struct as_tracing *t, const struct as_op *op)
{
	bool makes = op->code == AS_OP_MKDIR || op->code == AS_OP_MKNOD;

	if (t->failed)
		return;
	if (op->code != AS_OP_SYMLINK && op->path && *op->path) {
		if (makes)
			as_import_tree_needs_folder_of(&t->tree, op->path);
		else
			as_import_tree_needs(&t->tree, op->path,
					     op->code == AS_OP_RMDIR || op->code == AS_OP_CHCWD ||
						     op->code == AS_OP_READDIR ||
						     op->code == AS_OP_STATFS);
	}
	if (op->path2)
		as_import_tree_needs_folder_of(&t->tree, op->path2);
}

static void after(struct as_tracing *t, const struct as_op *op)
{
	enum { EXCHANGE = 2 };

	if (t->failed)
		return;
	switch (op->code) {
	case AS_OP_MKDIR:
	case AS_OP_MKNOD:
		as_import_tree_made(&t->tree, op->path);
		break;
	case AS_OP_HARDLINK:
	case AS_OP_SYMLINK:
		as_import_tree_made(&t->tree, op->path2);
		break;
	case AS_OP_UNLINK:
	case AS_OP_RMDIR:
		as_import_tree_gone(&t->tree, op->path);
		break;
	case AS_OP_RENAME:
		as_import_tree_renamed(&t->tree, op->path, op->path2);
		break;
	case AS_OP_RENAME2:
		if (!(op->flags & EXCHANGE))
			as_import_tree_renamed(&t->tree, op->path, op->path2);
		break;
	default:
		break;
	}
}

/* Adds the operation, or reports or counts why it is not in the workload. */
static void put_op(struct as_tracing *t, const struct as_op *op)
{
	const struct as_span name = t->scan->name;

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

	as_tracing_args(t, row->letters, &op);
	op.nofollow = row->nofollow || t->at_flags & AS_AT_NOFOLLOW;
	if (row->effect && !t->bad)
		row->effect(t, &op);
	if (op.code == AS_OP_WRITE || op.code == AS_OP_PWRITE || op.code == AS_OP_PWRITEV2 ||
	    op.code == AS_OP_WRITE_XATTR)
		op.fill = ++t->x->fill;
	if (op.code == AS_OP_READDIR && as_tracing_listed_again(t))
		return;
	put_op(t, &op);
	as_tracing_move_offset(t, op.code);
	if (op.code == AS_OP_SENDFILE ||
	    ((op.code == AS_OP_PREADV2 || op.code == AS_OP_PWRITEV2) && op.off == -1))
		as_tracing_forget_offsets(t);
	if (op.code == AS_OP_COPY_FILE_RANGE && t->scan->n_args > 3) {
		as_tracing_seek_after(t, 0);
		as_tracing_seek_after(t, 2);
	}
}

/* ---- Calls with rules of their own ----------------------------------------------------------- */

enum { O_WRONLY_BIT = 01, O_CREAT_BIT = 0100, O_TRUNC_BIT = 01000, O_APPEND_BIT = 02000 };
enum { O_DIRECTORY_BIT = 0200000 };

/* Arguments from `first` on: the path, the flags, the mode. Returns the slot. */
static int call_open(struct as_tracing *t, size_t first)
{
	const struct as_scan *call = t->scan;
	bool creat = as_span_is(call->name, "creat"), makes;
	const struct as_span *dirfd = first ? &call->args[0] : NULL;
	struct as_op op = as_op_make(AS_OP_OPEN);
	size_t mode = first + (creat ? 1 : 2);
	int64_t number;

	if (call->n_args < first + 2) {
		t->bad = "an argument that is missing";
		put_op(t, &op);
		return AS_SLOT_NONE;
	}
	op.path = as_tracing_path(t, dirfd, call->args[first]);
	if (creat)
		op.flags = O_WRONLY_BIT | O_CREAT_BIT | O_TRUNC_BIT;
	else if (!as_span_flags(call->args[first + 1], AS_FLAGS_OPEN_FLAGS, NULL, &op.flags))
		t->bad = "flags";
	if (call->n_args > mode && as_tracing_number(t, call->args[mode], &number))
		op.mode = (uint32_t)number;
	op.slot = t->outside ? AS_SLOT_NONE : as_tracing_free_slot(t);
	if (!t->outside && op.slot < 0)
		t->bad = "more files are open at once than there are slots";
	makes = op.flags & O_CREAT_BIT;
	if (!t->bad && t->inside && t->ret >= 0 && makes) {
		as_import_tree_needs_folder_of(&t->tree, op.path);
		as_import_tree_made(&t->tree, op.path);
	} else if (!t->bad && t->inside && t->ret >= 0) {
		as_import_tree_needs(&t->tree, op.path, op.flags & O_DIRECTORY_BIT);
	}
	put_op(t, &op);
	if (t->bad || !t->inside || t->ret < 0)
		return AS_SLOT_NONE;
	t->files[op.slot] = (struct as_tracing_file){ .appends = op.flags & O_APPEND_BIT };
	return op.slot;
}

static int call_openat(struct as_tracing *t)
{
	return call_open(t, 1);
}

static int call_open_path(struct as_tracing *t)
{
	return call_open(t, 0);
}

/* A call on a descriptor that is no operation: is it about the tree? */
static void count_fd(struct as_tracing *t, bool counts)
{
	int fd = as_tracing_fd_in(t, 0);
	bool known = false;

	if (counts)
		as_tracing_fd_path(t, fd, &known);
	t->x->import->n_other += !known;
	t->x->import->n_outside += known && as_tracing_slot(t, fd) < 0;
}

static int call_close(struct as_tracing *t)
{
	count_fd(t, true);
	return AS_SLOT_NONE;
}

static void put_lock(struct as_tracing *t, enum as_opcode code)
{
	struct as_op op = as_op_make(code);

	as_tracing_args(t, "f-k", &op);
	put_op(t, &op);
}

/* F_GETLK is no operation here: strace shows what it answered, not what it was asked. */
static bool is_lock(struct as_tracing *t)
{
	struct as_span cmd = { 0 };

	if (t->scan->n_args == 3)
		cmd = t->scan->args[1];
	if (as_span_is(cmd, "F_SETLK") || as_span_is(cmd, "F_SETLKW"))
		put_lock(t, AS_OP_SETLK);
	else if (as_span_is(cmd, "F_OFD_SETLK") || as_span_is(cmd, "F_OFD_SETLKW"))
		put_lock(t, AS_OP_OFD_SETLK);
	else
		return false;
	return true;
}

static int call_fcntl(struct as_tracing *t)
{
	if (!is_lock(t))
		count_fd(t, t->scan->n_args > 1 && as_span_starts(t->scan->args[1], "F_DUPFD"));
	return AS_SLOT_NONE;
}

static int call_dup(struct as_tracing *t)
{
	count_fd(t, true);
	return AS_SLOT_NONE;
}

static int call_process(struct as_tracing *t)
{
	t->x->import->n_other++;
	return AS_SLOT_NONE;
}

static int call_getcwd(struct as_tracing *t)
{
	const char *path =
		t->scan->n_args && t->ret > 0 ? as_tracing_text(t, t->scan->args[0]) : NULL;

	t->x->import->n_other++;
	if (path && *path == '/')
		as_world_cwd(t->to.world, t->tid, path, strlen(path));
	return AS_SLOT_NONE;
}

static void no_operation(struct as_tracing *t);

/* strace says "BTRFS_IOC_CLONE or FICLONE". Other requests are no operations. */
static int call_ioctl(struct as_tracing *t)
{
	static const char word[] = "FICLONE";
	const size_t len = sizeof(word) - 1;
	struct as_op op = as_op_make(AS_OP_CLONE);
	struct as_span request = { 0 };

	if (t->scan->n_args == 3)
		request = t->scan->args[1];
	if (request.len < len || memcmp(request.at + request.len - len, word, len)) {
		no_operation(t);
		return AS_SLOT_NONE;
	}
	as_tracing_args(t, "f-g", &op);
	put_op(t, &op);
	return AS_SLOT_NONE;
}

/* They return the slot of the file that was opened. */
static const struct special {
	const char *name;
	int (*call)(struct as_tracing *t);
} specials[] = {
	{ "open", call_open_path }, { "openat", call_openat }, { "creat", call_open_path },
	{ "close", call_close },    { "dup", call_dup },       { "dup2", call_dup },
	{ "dup3", call_dup },	    { "fcntl", call_fcntl },   { "clone", call_process },
	{ "clone3", call_process }, { "fork", call_process },  { "vfork", call_process },
	{ "execve", call_process }, { "getcwd", call_getcwd }, { "ioctl", call_ioctl },
};

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
static void no_operation(struct as_tracing *t)
{
	const struct as_scan *call = t->scan;
	bool about = as_tracing_slot(t, as_tracing_fd_in(t, 0)) >= 0;

	if (as_span_is(call->name, "splice"))
		as_tracing_forget_offsets(t);
	for (size_t i = 0; i < sizeof(pathed) / sizeof(pathed[0]); i++) {
		size_t arg = pathed[i].path;

		if (!as_span_is(call->name, pathed[i].name) || arg >= call->n_args)
			continue;
		about = as_tracing_path(t, pathed[i].at ? &call->args[0] : NULL, call->args[arg]) !=
			NULL;
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

/* ---- What the reader tells ------------------------------------------------------------------- */

static struct as_tracing *tracing_of(struct as_receiver *to)
{
	return (struct as_tracing *)(void *)to;
}

/* A label of a thread is its own number; a new one has that of its parent, or none. */
static void meet(struct as_tracing *t, unsigned tid)
{
	if (as_world_label(t->to.world, tid) == tid)
		return;
	as_world_set_label(t->to.world, tid, tid);
	AS_ARRAY_ROOM(t->tids, t->n_tids, t->tids_cap);
	t->tids[t->n_tids++] = tid;
}

/* The operation of the call at hand. Returns the slot of the file that it opened. */
static int take_call(struct as_tracing *t)
{
	const struct as_scan *scan = t->now.scan;

	as_tracing_close_files(t);
	as_arena_reset(&t->x->words);
	t->x->line = t->now.line;
	t->x->understood++;
	t->room.used = 0;
	t->scan = scan;
	t->tid = scan->tid;
	t->ret = scan->has_result ? (int64_t)scan->result : -1;
	t->failed = t->ret == -1 && scan->error.len;
	t->inside = t->outside = t->unknown = 0;
	t->bad = NULL;
	t->at_flags = 0;
	meet(t, t->tid);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (as_span_is(scan->name, rows[i].name)) {
			plain_call(t, &rows[i]);
			return AS_SLOT_NONE;
		}
	}
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
		if (as_span_is(scan->name, specials[i].name))
			return specials[i].call(t);
	no_operation(t);
	return AS_SLOT_NONE;
}

static void on_call(struct as_receiver *to, const struct as_syscall *call)
{
	struct as_tracing *t = tracing_of(to);
	enum as_spec_act act = (enum as_spec_act)call->spec->act;
	struct as_about about;
	bool known;
	int slot;

	if (as_syscall_interrupted(call)) {
		t->x->understood++;
		return;
	}
	slot = take_call(t);
	as_world_call(to->world, call, &about);
	if (act == AS_ACT_OPEN && t->ret >= 0 && slot >= 0)
		as_world_set_file(to->world, t->tid, (int)t->ret, (unsigned)slot + 1);
	else if (act == AS_ACT_OPEN && t->ret >= 0 && as_tracing_fd_path(t, (int)t->ret, &known))
		as_world_set_file(to->world, t->tid, (int)t->ret, AS_TRACING_LEFT_OUT);
	if ((act == AS_ACT_FORK || act == AS_ACT_VFORK || act == AS_ACT_CLONE) && t->ret > 0)
		meet(t, (unsigned)t->ret);
	as_tracing_close_files(t);
}

static void on_unknown_call(struct as_receiver *to, const char *name, size_t len)
{
	(void)name;
	(void)len;
	take_call(tracing_of(to));
}

static void on_not_understood(struct as_receiver *to, const char *text, size_t len)
{
	struct as_tracing *t = tracing_of(to);

	(void)text;
	(void)len;
	t->x->line = t->now.line;
	as_importing_miss(t->x, "not a line of strace");
}

static void on_remark(struct as_receiver *to, enum as_remark remark, uint64_t n)
{
	struct as_tracing *t = tracing_of(to);

	(void)n;
	if (remark != AS_REMARK_UNFINISHED || !t->now.scan || t->now.scan->kind != AS_SCAN_RESUME)
		return;
	t->x->line = t->now.line;
	as_importing_miss(t->x, "%.*s: its beginning is not in the log", (int)t->now.scan->name.len,
			  t->now.scan->name.at);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* First the operations that make what was there at the start, then those of the log. */
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

static int read_log(struct as_tracing *t, struct as_span text, struct as_err *err)
{
	struct as_source_input input = { .path = t->x->import->file };
	struct as_buf copy = { 0 }; /* with a NUL after it, which the reader wants */
	int rc;

	as_buf_add(&copy, text.at, text.len);
	input.trace = as_trace_on(as_buf_str(&copy), copy.len);
	rc = as_strace_read(&input, &t->to, &t->now, err);
	as_trace_free(input.trace);
	as_buf_free(&copy);
	as_tracing_close_files(t);
	/* Those that the log leaves running. */
	for (size_t i = 0; i < t->n_tids; i++) {
		as_world_exit(t->to.world, t->tids[i]);
		as_tracing_close_files(t);
	}
	return rc;
}

int as_import_strace(struct as_importing *x, struct as_span text, struct as_err *err)
{
	const char *under = x->import->under ? x->import->under : "/";
	struct as_world_options options = { .cwd = under };
	struct as_spec *spec;
	struct as_tracing *t;
	struct as_buf root = { 0 };
	int rc;

	if (*under != '/')
		return as_fail(err, AS_EUSE, "'%s' is not an absolute path", under);
	spec = as_spec_new();
	t = as_xcalloc(1, sizeof(*t));
	t->x = x;
	t->to = (struct as_receiver){ .spec = spec,
				      .call = on_call,
				      .remark = on_remark,
				      .unknown_call = on_unknown_call,
				      .not_understood = on_not_understood };
	rc = as_world_new(spec, &options, &t->to.world, err);
	as_assert(!rc);
	as_world_watch_files(t->to.world, as_tracing_file_changed, t);
	as_world_plain_path(t->to.world, under, strlen(under), &root);
	as_import_tree_open(&t->tree, x, as_buf_str(&root));
	t->room.at = as_xmalloc(2 * AS_LINE_MAX);
	rc = read_log(t, text, err);
	if (!rc && t->tree.first->n)
		put_first(x, t->tree.first);
	as_world_free(t->to.world);
	as_import_tree_close(&t->tree);
	as_spec_free(spec);
	as_buf_free(&root);
	free(t->room.at);
	free(t->closed);
	free(t->tids);
	free(t);
	return rc;
}
