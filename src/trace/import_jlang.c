/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_jlang: CrashMonkey's J-lang, as its ACE writes it. "# define" lists paths, which commands
 * then name without their slashes (ACfoo is A/C/foo; test is the root); "# setup" and "# run" are
 * the commands. The meaning of a command is what CrashMonkey's adapter makes of it in C: dwrite
 * opens the file once more with O_DIRECT, mmapwrite allocates first, attributes are called
 * user.xattr1. "checkpoint N" names a place for a crash: @checkpoints has the number of operations
 * before each.
 */
#include "base/array.h"
#include "trace/import_priv.h"

#include <stdlib.h>
#include <string.h>

#define XATTR_NAME "user.xattr1"
#define XATTR_BYTES 4
#define ARGS_MAX 4

enum import_jlang_section { NOWHERE, DEFINE, DECLARE, COMMANDS };

struct jlang {
	struct as_importing *x;
	char **paths; /* as defined: "A/foo" */
	char **open; /* by slot: the path, NULL: free */
	size_t n_paths, paths_cap, n_open, open_cap;
	struct as_buf checkpoints;
	struct as_span args[ARGS_MAX];
	size_t n_args;
};

/* ---- Names and slots ------------------------------------------------------------------------- */

static bool is_flat(const char *path, struct as_span name)
{
	for (; *path; path++) {
		if (*path == '/')
			continue;
		if (!name.len || *name.at != *path)
			return false;
		name.at++;
		name.len--;
	}
	return !name.len;
}

/* The path that a command calls `name`; NULL, after a report, if there is none. */
static const char *path_of(struct jlang *j, struct as_span name)
{
	struct as_buf path = { 0 };
	char *copy = NULL;

	if (as_span_is(name, "test"))
		return "/";
	for (size_t i = 0; i < j->n_paths && !copy; i++) {
		if (!is_flat(j->paths[i], name))
			continue;
		as_buf_addf(&path, "/%s", j->paths[i]);
		copy = as_importing_word(j->x, (struct as_span){ path.data, path.len });
	}
	as_buf_free(&path);
	if (!copy)
		as_importing_miss(j->x, "%.*s is not defined", (int)name.len, name.at);
	return copy;
}

static int slot_of(const struct jlang *j, const char *path)
{
	for (size_t i = 0; i < j->n_open; i++)
		if (j->open[i] && !strcmp(j->open[i], path))
			return (int)i;
	return AS_SLOT_NONE;
}

static int take_slot(struct jlang *j, const char *path)
{
	size_t slot = 0;

	while (slot < j->n_open && j->open[slot])
		slot++;
	if (slot == j->n_open) {
		AS_ARRAY_ROOM(j->open, j->n_open, j->open_cap);
		j->n_open++;
	}
	j->open[slot] = as_xstrdup(path);
	return (int)slot;
}

static void free_slot(struct jlang *j, int slot)
{
	free(j->open[slot]);
	j->open[slot] = NULL;
}

/* ---- Commands that are more than their row --------------------------------------------------- */

static void add_open(struct jlang *j, const struct as_op *op)
{
	struct as_op open = *op;

	/* A second open of the same name takes the first one's variable. */
	open.slot = slot_of(j, op->path);
	if (open.slot == AS_SLOT_NONE)
		open.slot = take_slot(j, op->path);
	if (!as_importing_add(j->x, &open))
		free_slot(j, open.slot);
}

static void add_opendir(struct jlang *j, const struct as_op *op)
{
	struct as_op open = *op;

	open.flags = 0200000; /* O_DIRECTORY */
	open.mode = 0;
	add_open(j, &open);
}

static void add_close(struct jlang *j, const struct as_op *op)
{
	if (as_importing_add(j->x, op))
		free_slot(j, op->fd);
}

static void add_dwrite(struct jlang *j, const struct as_op *op)
{
	struct as_op open = as_op_make(AS_OP_OPEN), write = *op, close = as_op_make(AS_OP_CLOSE);

	open.path = path_of(j, j->args[0]);
	open.flags = 02 | 040000 | 04010000; /* O_RDWR|O_DIRECT|O_SYNC */
	open.slot = take_slot(j, "");
	write.fd = close.fd = open.slot;
	if (as_importing_add(j->x, &open)) {
		as_importing_add(j->x, &write);
		as_importing_add(j->x, &close);
	}
	free_slot(j, open.slot);
}

static void add_mmapwrite(struct jlang *j, const struct as_op *op)
{
	struct as_op room = as_op_make(AS_OP_FALLOCATE);

	room.fd = op->fd;
	room.off = op->off;
	room.len = op->len;
	if (as_importing_add(j->x, &room))
		as_importing_add(j->x, op);
}

static void add_setxattr(struct jlang *j, const struct as_op *op)
{
	struct as_op set = *op;

	set.name = XATTR_NAME;
	if (set.code == AS_OP_WRITE_XATTR) {
		set.len = XATTR_BYTES;
		set.fill = ++j->x->fill;
	}
	as_importing_add(j->x, &set);
}

static void note_checkpoint(struct jlang *j, const struct as_op *op)
{
	(void)op;
	as_buf_addf(&j->checkpoints, "%s%zu", j->checkpoints.len ? " " : "", j->x->seq->n);
}

static void nothing(struct jlang *j, const struct as_op *op)
{
	(void)j, (void)op;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* Letters: p path, q second path, s what is open under a name, o offset, l length, z size, m mode
 * (0777 if it is missing), f flags, F flags of fallocate, n a number that is not used. */
static const struct command {
	const char *name, *letters;
	enum as_opcode code;
	void (*add)(struct jlang *j, const struct as_op *op); /* NULL: as it is */
} commands[] = {
	{ "mkdir", "pm", AS_OP_MKDIR, NULL },
	{ "rmdir", "p", AS_OP_RMDIR, NULL },
	{ "creat", "pm", AS_OP_CREATE, NULL },
	{ "open", "pfm", AS_OP_OPEN, add_open },
	{ "opendir", "pm", AS_OP_OPEN, add_opendir },
	{ "close", "s", AS_OP_CLOSE, add_close },
	{ "write", "sol", AS_OP_PWRITE, NULL },
	{ "dwrite", "sol", AS_OP_PWRITE, add_dwrite },
	{ "mmapwrite", "sol", AS_OP_MMAP_WRITE, add_mmapwrite },
	{ "read", "sol", AS_OP_PREAD, NULL },
	{ "falloc", "sFol", AS_OP_FALLOCATE, NULL },
	{ "truncate", "pz", AS_OP_TRUNCATE, NULL },
	{ "fsync", "s", AS_OP_FSYNC, NULL },
	{ "fdatasync", "s", AS_OP_FDATASYNC, NULL },
	{ "sync", "", AS_OP_SYNC, NULL },
	{ "rename", "pq", AS_OP_RENAME, NULL },
	{ "link", "pq", AS_OP_HARDLINK, NULL },
	{ "symlink", "pq", AS_OP_SYMLINK, NULL },
	{ "unlink", "p", AS_OP_UNLINK, NULL },
	{ "remove", "p", AS_OP_REMOVE, NULL },
	{ "fsetxattr", "p", AS_OP_WRITE_XATTR, add_setxattr },
	{ "setxattr", "p", AS_OP_WRITE_XATTR, add_setxattr },
	{ "removexattr", "p", AS_OP_REMOVEXATTR, add_setxattr },
	{ "checkpoint", "n", AS_OP_SYNC, note_checkpoint },
	{ "none", "", AS_OP_SYNC, nothing },
};

/* False: it was reported. */
static bool read_arg(struct jlang *j, char letter, struct as_span arg, struct as_op *op)
{
	const char *path;
	int64_t number = 0;
	bool ok = true;

	switch (letter) {
	case 'p':
		return (op->path = path_of(j, arg)) != NULL;
	case 'q':
		return (op->path2 = path_of(j, arg)) != NULL;
	case 's':
		path = path_of(j, arg);
		op->fd = path ? slot_of(j, path) : AS_SLOT_NONE;
		if (path && op->fd < 0)
			as_importing_miss(j->x, "%.*s is not open here", (int)arg.len, arg.at);
		return op->fd >= 0;
	case 'f':
		ok = as_span_flags(arg, AS_FLAGS_OPEN_FLAGS, NULL, &op->flags);
		break;
	case 'F':
		ok = as_span_flags(arg, AS_FLAGS_FALLOC_FLAGS, "FALLOC_FL_", &op->flags);
		break;
	default:
		ok = as_span_number(arg, &number);
	}
	if (letter == 'm')
		op->mode = ok && number >= 0 && number <= AS_MODE_MAX ? (uint32_t)number : 010000;
	if (letter == 'o')
		op->off = number;
	if (letter == 'l' || letter == 'z')
		op->len = (uint64_t)number;
	if (!ok)
		as_importing_miss(j->x, "'%.*s' cannot be read", (int)arg.len, arg.at);
	return ok;
}

static void read_command(struct jlang *j, const struct command *command)
{
	struct as_op op = as_op_make(command->code);
	size_t wanted = strlen(command->letters);

	op.mode = command->code == AS_OP_OPEN || strchr(command->letters, 'm') ? 0777 : 0;
	if (j->n_args > wanted ||
	    j->n_args + (wanted && command->letters[wanted - 1] == 'm') < wanted) {
		as_importing_miss(j->x, "%s: %zu arguments, expected %zu", command->name, j->n_args,
				  wanted);
		return;
	}
	for (size_t i = 0; i < j->n_args; i++)
		if (!read_arg(j, command->letters[i], j->args[i], &op))
			return;
	if (op.code == AS_OP_PWRITE || op.code == AS_OP_MMAP_WRITE)
		op.fill = ++j->x->fill;
	if (command->add)
		command->add(j, &op);
	else
		as_importing_add(j->x, &op);
}

static void read_line(struct jlang *j, struct as_span line)
{
	struct as_span name, more;

	if (!as_span_word(&line, &name))
		return;
	for (j->n_args = 0; j->n_args < ARGS_MAX; j->n_args++)
		if (!as_span_word(&line, &j->args[j->n_args]))
			break;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!as_span_is(name, commands[i].name))
			continue;
		j->x->understood++;
		if (as_span_word(&line, &more))
			as_importing_miss(j->x, "%s: too many arguments", commands[i].name);
		else
			read_command(j, &commands[i]);
		return;
	}
	as_importing_miss(j->x, "no operation for the command '%.*s'", (int)name.len, name.at);
}

static void define(struct jlang *j, struct as_span line)
{
	struct as_span path;

	if (!as_span_word(&line, &path))
		return;
	AS_ARRAY_ROOM(j->paths, j->n_paths, j->paths_cap);
	j->paths[j->n_paths++] = strndup(path.at, path.len);
}

static enum import_jlang_section heading(struct jlang *j, struct as_span line)
{
	struct as_span word = { 0 };

	as_span_word(&line, &word); /* the # */
	as_span_word(&line, &word);
	j->x->understood += as_span_is(word, "run") || as_span_is(word, "setup");
	return as_span_is(word, "define")			      ? DEFINE
	       : as_span_is(word, "declare")			      ? DECLARE
	       : as_span_is(word, "setup") || as_span_is(word, "run") ? COMMANDS
								      : NOWHERE;
}

int as_import_jlang(struct as_importing *x, struct as_span text, struct as_err *err)
{
	struct jlang j = { .x = x };
	enum import_jlang_section section = NOWHERE;
	struct as_span line;

	(void)err;
	while (as_importing_line(x, &text, &line)) {
		if (memchr(line.at, '\0', line.len))
			as_importing_miss(x, "a line with a NUL");
		else if (as_span_starts(line, "#"))
			section = heading(&j, line);
		else if (section == DEFINE)
			define(&j, line);
		else if (section == COMMANDS)
			read_line(&j, line);
		else if (section == NOWHERE && line.len)
			as_importing_miss(x, "a line in no section");
	}
	if (j.checkpoints.len)
		as_seq_set_meta(x->seq, "checkpoints", as_buf_str(&j.checkpoints));
	for (size_t i = 0; i < j.n_paths; i++)
		free(j.paths[i]);
	for (size_t i = 0; i < j.n_open; i++)
		free(j.open[i]);
	free(j.paths);
	free(j.open);
	as_buf_free(&j.checkpoints);
	return 0;
}
