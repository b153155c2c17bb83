/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_strace_args: see import_strace_args.h. An argument that cannot be read is named in t->bad. */
#include "trace/import_strace_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arguments ------------------------------------------------------------------------------- */

static const struct word {
	const char *name;
	int64_t value;
} at_words[] = {
	{ "AT_SYMLINK_NOFOLLOW", 0x100 }, { "AT_REMOVEDIR", 0x200 },
	{ "AT_SYMLINK_FOLLOW", 0x400 },	  { "AT_EMPTY_PATH", 0x1000 },
	{ "AT_NO_AUTOMOUNT", 0 },	  { "AT_STATX_SYNC_AS_STAT", 0 },
	{ "AT_STATX_FORCE_SYNC", 0 },	  { "AT_STATX_DONT_SYNC", 0 },
};

static bool read_at_flags(struct as_piece p, int64_t *flags)
{
	*flags = 0;
	while (p.len) {
		const char *bar = memchr(p.at, '|', p.len);
		struct as_piece word = { p.at, bar ? (size_t)(bar - p.at) : p.len };
		int64_t value = -1;

		for (size_t i = 0; i < sizeof(at_words) / sizeof(at_words[0]); i++)
			if (as_piece_is(word, at_words[i].name))
				value = at_words[i].value;
		if (value < 0 && !as_piece_number(word, &value))
			return false;
		*flags |= value;
		p.at += word.len + (bar != NULL);
		p.len -= word.len + (bar != NULL);
	}
	return true;
}

/* The directory that a relative path begins at; NULL: not known. */
static const char *base_of(struct as_tracing *t, const struct as_piece *dirfd)
{
	const char *said = NULL;
	struct as_tr_file *file;
	int64_t fd = AS_STRACE_CWD;

	if (dirfd && !as_strace_fd(t->x, *dirfd, &fd, &said))
		return NULL;
	if (fd == AS_STRACE_CWD) {
		if (said)
			as_tr_chdir(t->p, said);
		return t->p->place->cwd;
	}
	file = as_tr_file(t->p, fd);
	return said ? said : file ? file->path : NULL;
}

const char *as_tracing_path(struct as_tracing *t, const struct as_piece *dirfd, struct as_piece arg,
			    const char **machine)
{
	const char *text = as_strace_string(t->x, arg), *base = base_of(t, dirfd), *path = NULL;

	*machine = NULL;
	if (text && *text != '/' && !base) {
		/* Below a descriptor that the log does not know. */
		t->unknown++;
		return NULL;
	}
	if (!text) {
		t->bad = "a path";
		return NULL;
	}
	if (!*text && dirfd) {
		/* AT_EMPTY_PATH: about the descriptor itself. */
		*machine = base;
		path = as_tr_inside(&t->world, base);
	} else if (!*text) {
		t->inside++;
		return "";
	} else {
		*machine = as_tr_join(&t->world, base ? base : "/", text);
		path = as_tr_inside(&t->world, *machine);
	}
	t->inside += path != NULL;
	t->outside += !path;
	return path;
}

static int read_slot(struct as_tracing *t, struct as_piece arg, const char **path)
{
	const char *said;
	struct as_tr_file *file;
	int64_t fd;

	if (!as_strace_fd(t->x, arg, &fd, &said)) {
		/* A descriptor of -1 is one that is not open. */
		t->bad = "a descriptor";
		return AS_SLOT_NONE;
	}
	file = as_tr_file(t->p, fd);
	if (!file) {
		t->unknown += !said || !as_tr_inside(&t->world, said);
		if (said && as_tr_inside(&t->world, said))
			t->bad = "a descriptor that was open before the log began";
		return AS_SLOT_NONE;
	}
	t->inside += file->slot >= 0;
	t->outside += file->slot < 0;
	*path = file->slot >= 0 ? as_tr_inside(&t->world, file->path) : NULL;
	if (file->slot >= 0 && !*path)
		t->bad = "a descriptor of a file that left the tree";
	return file->slot;
}

bool as_tracing_number(struct as_tracing *t, struct as_piece arg, int64_t *number)
{
	/* "[4096]": what a pointer points at. */
	if (arg.len > 2 && *arg.at == '[' && arg.at[arg.len - 1] == ']') {
		arg.at++;
		arg.len -= 2;
	}
	if (as_piece_number(arg, number))
		return true;
	t->bad = "a number";
	return false;
}

static enum as_flag_table flags_of(enum as_opcode code)
{
	for (const enum as_arg_kind *kind = as_op_table[code].args; *kind; kind++)
		if (as_arg_table[*kind].type >= AS_TYPE_FLAGS)
			return (enum as_flag_table)(as_arg_table[*kind].type - AS_TYPE_FLAGS);
	return AS_FLAGS_OPEN_FLAGS;
}

static void read_node_mode(struct as_tracing *t, struct as_piece arg, struct as_op *op)
{
	static const struct word types[] = { { "S_IFIFO", 0010000 },
					     { "S_IFCHR", 0020000 },
					     { "S_IFBLK", 0060000 },
					     { "S_IFREG", 0100000 },
					     { "S_IFSOCK", 0140000 } };
	const char *bar = memchr(arg.at, '|', arg.len);
	struct as_piece type = { arg.at, bar ? (size_t)(bar - arg.at) : arg.len }, mode = arg;
	int64_t number = 0;

	op->flags = 0100000;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!as_piece_is(type, types[i].name))
			continue;
		op->flags = types[i].value;
		mode = bar ? (struct as_piece){ bar + 1, arg.len - type.len - 1 }
			   : (struct as_piece){ "0", 1 };
	}
	if (as_tracing_number(t, mode, &number))
		op->mode = (uint32_t)number;
}

static void read_dev(struct as_tracing *t, struct as_piece arg, struct as_op *op)
{
	unsigned major, minor;
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)(arg.len < 60 ? arg.len : 60), arg.at);
	if (sscanf(text, "makedev(%x, %x)", &major, &minor) == 2)
		op->dev = AS_DEV(major, minor);
	else if (strcmp(text, "0"))
		t->bad = "a device number";
}

static void read_id(struct as_tracing *t, struct as_piece arg, int64_t *id)
{
	if (as_tracing_number(t, arg, id) && *id == UINT32_MAX)
		*id = -1;
}

static void read_text(struct as_tracing *t, struct as_piece arg, const char **text)
{
	*text = as_strace_string(t->x, arg);
	if (!*text)
		t->bad = "a string";
}

static void read_plain(struct as_tracing *t, char letter, struct as_piece arg, struct as_op *op)
{
	int64_t number = 0;

	if (!strchr("molz", letter) || !as_tracing_number(t, arg, &number))
		return;
	if (letter == 'm')
		op->mode = number < 0 || number > AS_MODE_MAX ? UINT32_MAX : (uint32_t)number;
	else if (letter == 'l' || letter == 'z')
		op->len = (uint64_t)number;
	else
		op->off = number;
}

/* "[4096]", or NULL: where the descriptor before it stands. */
static void read_offset(struct as_tracing *t, char letter, struct as_piece arg, struct as_op *op)
{
	int slot = letter == 'O' ? op->fd : op->fd2;
	int64_t number = -1;

	if (as_piece_is(arg, "NULL") && slot >= 0) {
		for (size_t i = 0; i < t->p->files->n; i++)
			if (t->p->files->at[i].file && t->p->files->at[i].file->slot == slot)
				number = t->p->files->at[i].file->at;
		if (number < 0)
			t->bad = "the offset of a descriptor is not known";
	} else if (!as_piece_is(arg, "NULL")) {
		as_tracing_number(t, arg, &number);
	}
	*(letter == 'O' ? &op->off : &op->off2) = number;
}

static void read_arg(struct as_tracing *t, char letter, const struct as_piece *dirfd,
		     struct as_piece arg, struct as_op *op)
{
	switch (letter) {
	case 'p':
		/* utimensat(fd, NULL, ...) is about the descriptor. */
		if (dirfd && as_piece_is(arg, "NULL"))
			read_slot(t, *dirfd, &op->path);
		else
			op->path = as_tracing_path(t, dirfd, arg, &t->from);
		break;
	case 'q':
		op->path2 = as_tracing_path(t, dirfd, arg, &t->to);
		break;
	case 's':
		read_text(t, arg, &op->path);
		break;
	case 'x':
		read_text(t, arg, &op->name);
		break;
	case 'f':
		op->fd = read_slot(t, arg, &t->about);
		break;
	case 'g':
		op->fd2 = read_slot(t, arg, &t->about);
		break;
	case 'F':
		read_slot(t, arg, &op->path);
		break;
	case 'M':
		read_node_mode(t, arg, op);
		break;
	case 'D':
		read_dev(t, arg, op);
		break;
	case 'u':
		read_id(t, arg, &op->uid);
		break;
	case 'v':
		read_id(t, arg, &op->gid);
		break;
	case 't':
		if (!as_strace_times(arg, &op->atime, &op->mtime))
			t->bad = "times";
		break;
	case 'n':
		if (!read_at_flags(arg, &t->at_flags))
			t->bad = "flags";
		break;
	case 'O':
	case 'P':
		read_offset(t, letter, arg, op);
		break;
	case 'w':
		if (!as_piece_flags(arg, flags_of(op->code),
				    op->code == AS_OP_FALLOCATE ? "FALLOC_FL_" : NULL, &op->flags))
			t->bad = "flags";
		break;
	default:
		read_plain(t, letter, arg, op);
	}
}

void as_tracing_args(struct as_tracing *t, const char *letters, struct as_op *op)
{
	const struct as_piece *dirfd = NULL;
	size_t i = 0;

	for (const char *l = letters; *l && !t->bad; l++, i++) {
		if (*l == 'L') {
			op->len = t->call->ret > 0 ? (uint64_t)t->call->ret : 0;
		} else if (i >= t->call->n_args || i >= AS_STRACE_ARGS_MAX) {
			/* What older calls do not have is not needed; a path is. */
			if (strchr("pqsxfgF", *l))
				t->bad = "an argument that is missing";
		} else if (*l == 'd') {
			dirfd = &t->call->args[i];
		} else {
			read_arg(t, *l, dirfd, t->call->args[i], op);
			dirfd = strchr("pq", *l) ? NULL : dirfd;
		}
	}
}
