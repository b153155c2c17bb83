/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_strace_args: what the arguments of a call say. t->bad names one that cannot be read. */
#include "trace/import_strace_priv.h"

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

static bool read_at_flags(struct as_span p, int64_t *flags)
{
	*flags = 0;
	while (p.len) {
		const char *bar = memchr(p.at, '|', p.len);
		struct as_span word = { p.at, bar ? (size_t)(bar - p.at) : p.len };
		int64_t value = -1;

		for (size_t i = 0; i < sizeof(at_words) / sizeof(at_words[0]); i++)
			if (as_span_is(word, at_words[i].name))
				value = at_words[i].value;
		if (value < 0 && !as_span_number(word, &value))
			return false;
		*flags |= value;
		p.at += word.len + (bar != NULL);
		p.len -= word.len + (bar != NULL);
	}
	return true;
}

/* ---- Texts, descriptors, paths --------------------------------------------------------------- */

const char *as_tracing_text(struct as_tracing *t, struct as_span arg)
{
	struct as_syscall_slot slot = { 0 };

	as_scan_text(arg, &t->room, &slot);
	if (slot.state != AS_SLOT_TEXT || slot.cut || memchr(slot.text, 0, slot.len))
		return NULL;
	return as_importing_word(t->x, (struct as_span){ slot.text, slot.len });
}

bool as_tracing_fd(struct as_tracing *t, struct as_span arg, int *fd, struct as_span *said)
{
	struct as_syscall_slot slot = { 0 };

	as_scan_fd(arg, &t->room, &slot);
	*fd = (int)slot.value;
	*said = (struct as_span){ slot.text, slot.len && *slot.text == '/' ? slot.len : 0 };
	return slot.state == AS_SLOT_VALUE && (*fd >= 0 || *fd == AS_WORLD_CWD);
}

/* The absolute path of what a path leads to; false: it is not known. */
static bool find_path(struct as_tracing *t, const struct as_span *dirfd, const char *text,
		      struct as_buf *out)
{
	struct as_span said = { NULL, 0 };
	struct as_buf joined = { 0 };
	int dir = AS_WORLD_CWD;
	bool known;

	if (dirfd && !as_tracing_fd(t, *dirfd, &dir, &said) && *text != '/')
		return false;
	if (said.len && dir == AS_WORLD_CWD)
		as_world_cwd(t->to.world, t->tid, said.at, said.len);
	/* The path that -y printed after the descriptor decides. */
	if (said.len && dir != AS_WORLD_CWD && *text != '/')
		as_buf_addf(&joined, "%.*s/", (int)said.len, said.at);
	as_buf_adds(&joined, text);
	known = as_world_path(t->to.world, t->tid, dir, as_buf_str(&joined), joined.len, out);
	as_buf_free(&joined);
	return known;
}

const char *as_tracing_path(struct as_tracing *t, const struct as_span *dirfd, struct as_span arg)
{
	const char *text = as_tracing_text(t, arg), *path;
	struct as_buf absolute = { 0 };

	if (!text) {
		t->bad = "a path";
		return NULL;
	}
	if (!*text && !dirfd) {
		t->inside++;
		return "";
	}
	/* Below a descriptor that the log does not know, or deeper than can be followed. */
	if (!find_path(t, dirfd, text, &absolute)) {
		as_buf_free(&absolute);
		t->unknown++;
		return NULL;
	}
	/* An empty path is about the descriptor itself (AT_EMPTY_PATH). */
	if (!*text && absolute.len > 1 && absolute.data[absolute.len - 1] == '/')
		absolute.len--;
	path = as_import_tree_path(&t->tree, &absolute);
	as_buf_free(&absolute);
	t->inside += path != NULL;
	t->outside += !path;
	return path;
}

const char *as_tracing_fd_path(struct as_tracing *t, int fd, bool *known)
{
	struct as_buf absolute = { 0 };
	const char *path = NULL;

	*known = as_world_path(t->to.world, t->tid, fd, "", 0, &absolute);
	if (*known)
		path = as_import_tree_path(&t->tree, &absolute);
	as_buf_free(&absolute);
	return path;
}

int as_tracing_slot(struct as_tracing *t, int fd)
{
	unsigned file = as_world_file(t->to.world, t->tid, fd);

	return file && file != AS_TRACING_LEFT_OUT ? (int)file - 1 : AS_SLOT_NONE;
}

/* The log has not opened this descriptor in the tree. */
static void judge_unopened(struct as_tracing *t, int fd, struct as_span said)
{
	struct as_buf absolute = { 0 };
	bool known, inside = as_tracing_fd_path(t, fd, &known) != NULL;

	if (!known && said.len) {
		as_buf_add(&absolute, said.at, said.len);
		inside = as_import_tree_path(&t->tree, &absolute) != NULL;
		as_buf_free(&absolute);
	}
	if (as_world_file(t->to.world, t->tid, fd) == AS_TRACING_LEFT_OUT)
		t->bad = "a descriptor whose open was left out";
	else if (inside)
		t->bad = "a descriptor that was open before the log began";
	else if (known)
		t->outside++;
	else
		t->unknown++;
}

static int read_slot(struct as_tracing *t, struct as_span arg, const char **path)
{
	struct as_span said;
	bool known;
	int fd, slot;

	if (!as_tracing_fd(t, arg, &fd, &said) || fd == AS_WORLD_CWD) {
		/* A descriptor of -1 is one that is not open. */
		t->bad = "a descriptor";
		return AS_SLOT_NONE;
	}
	slot = as_tracing_slot(t, fd);
	if (slot < 0) {
		judge_unopened(t, fd, said);
		return AS_SLOT_NONE;
	}
	t->inside++;
	*path = as_tracing_fd_path(t, fd, &known);
	if (!*path)
		t->bad = "a descriptor of a file that left the tree";
	return slot;
}

/* ---- Numbers and flags ----------------------------------------------------------------------- */

bool as_tracing_number(struct as_tracing *t, struct as_span arg, int64_t *number)
{
	const char *end = arg.len ? memchr(arg.at, ']', arg.len) : NULL;

	/* "[4096]", "[4096] => [8192]": what a pointer points at, before the call. */
	if (end && *arg.at == '[' && end > arg.at + 1) {
		arg.at++;
		arg.len = (size_t)(end - arg.at);
	}
	if (as_span_number(arg, number))
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

static void read_node_mode(struct as_tracing *t, struct as_span arg, struct as_op *op)
{
	static const struct word types[] = { { "S_IFIFO", 0010000 },
					     { "S_IFCHR", 0020000 },
					     { "S_IFBLK", 0060000 },
					     { "S_IFREG", 0100000 },
					     { "S_IFSOCK", 0140000 } };
	const char *bar = memchr(arg.at, '|', arg.len);
	struct as_span type = { arg.at, bar ? (size_t)(bar - arg.at) : arg.len }, mode = arg;
	int64_t number = 0;

	op->flags = 0100000;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!as_span_is(type, types[i].name))
			continue;
		op->flags = types[i].value;
		mode = bar ? (struct as_span){ bar + 1, arg.len - type.len - 1 }
			   : (struct as_span){ "0", 1 };
	}
	if (as_tracing_number(t, mode, &number))
		op->mode = (uint32_t)number;
}

static void read_dev(struct as_tracing *t, struct as_span arg, struct as_op *op)
{
	unsigned major, minor;
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)(arg.len < 60 ? arg.len : 60), arg.at);
	if (sscanf(text, "makedev(%x, %x)", &major, &minor) == 2)
		op->dev = AS_DEV(major, minor);
	else if (strcmp(text, "0"))
		t->bad = "a device number";
}

static void read_id(struct as_tracing *t, struct as_span arg, int64_t *id)
{
	if (as_tracing_number(t, arg, id) && *id == UINT32_MAX)
		*id = -1;
}

static void read_text(struct as_tracing *t, struct as_span arg, const char **text)
{
	*text = as_tracing_text(t, arg);
	if (!*text)
		t->bad = "a string";
}

/* One of "[{tv_sec=1, tv_nsec=2}, UTIME_OMIT]"; NULL is now. */
static bool read_time(struct as_span arg, unsigned which, int64_t *time)
{
	enum { NSEC_NOW = (1 << 30) - 1, NSEC_OMIT = (1 << 30) - 2 };
	struct as_syscall_slot slot = { 0 };
	int64_t sec;

	as_scan_time(arg, AS_HOW_TIMESPEC, which, &slot);
	if (slot.state != AS_SLOT_NULL && slot.state != AS_SLOT_TIME)
		return false;
	sec = (int64_t)slot.value;
	if (slot.state == AS_SLOT_NULL || slot.nsec == NSEC_NOW)
		*time = AS_TIME_NOW;
	else if (slot.nsec == NSEC_OMIT)
		*time = AS_TIME_OMIT;
	else
		*time = sec * 1000000000 + slot.nsec;
	return *time >= AS_TIME_OMIT || (sec <= AS_TIME_SEC_MAX && sec >= -AS_TIME_SEC_MAX &&
					 slot.nsec >= 0 && slot.nsec < 1000000000);
}

/* "{l_type=F_WRLCK, l_whence=SEEK_SET, l_start=0, l_len=10}". */
static bool read_lock(struct as_tracing *t, struct as_span arg, struct as_op *op)
{
	struct as_span type = as_scan_member(arg, "l_type="),
		       whence = as_scan_member(arg, "l_whence="),
		       start = as_scan_member(arg, "l_start="), len = as_scan_member(arg, "l_len=");
	int64_t number;

	if (!as_span_is(whence, "SEEK_SET") || !as_tracing_number(t, start, &op->off) ||
	    !as_tracing_number(t, len, &number))
		return false;
	op->len = (uint64_t)number;
	return as_span_flags(type, AS_FLAGS_LOCK_TYPES, NULL, &op->flags);
}

static void read_plain(struct as_tracing *t, char letter, struct as_span arg, struct as_op *op)
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

/* "[4096]", or NULL: the offset of the descriptor before it. */
static void read_offset(struct as_tracing *t, char letter, struct as_span arg, struct as_op *op)
{
	int slot = letter == 'O' ? op->fd : op->fd2;
	int64_t number = -1;

	if (as_span_is(arg, "NULL") && slot >= 0) {
		number = t->files[slot].at;
		if (number < 0)
			t->bad = "the offset of a descriptor is not known";
	} else if (!as_span_is(arg, "NULL")) {
		as_tracing_number(t, arg, &number);
	}
	*(letter == 'O' ? &op->off : &op->off2) = number;
}

static void read_arg(struct as_tracing *t, char letter, const struct as_span *dirfd,
		     struct as_span arg, struct as_op *op)
{
	const char *unused;

	switch (letter) {
	case 'p':
		/* utimensat(fd, NULL, ...) is about the descriptor. */
		if (dirfd && as_span_is(arg, "NULL"))
			read_slot(t, *dirfd, &op->path);
		else
			op->path = as_tracing_path(t, dirfd, arg);
		break;
	case 'q':
		op->path2 = as_tracing_path(t, dirfd, arg);
		break;
	case 's':
		read_text(t, arg, &op->path);
		break;
	case 'x':
		read_text(t, arg, &op->name);
		break;
	case 'f':
		op->fd = read_slot(t, arg, &unused);
		break;
	case 'g':
		op->fd2 = read_slot(t, arg, &unused);
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
		if (!read_time(arg, 0, &op->atime) || !read_time(arg, 1, &op->mtime))
			t->bad = "times";
		break;
	case 'k':
		if (!read_lock(t, arg, op))
			t->bad = "a lock";
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
		if (!as_span_flags(arg, flags_of(op->code),
				   op->code == AS_OP_FALLOCATE ? "FALLOC_FL_" : NULL, &op->flags))
			t->bad = "flags";
		break;
	default:
		read_plain(t, letter, arg, op);
	}
}

void as_tracing_args(struct as_tracing *t, const char *letters, struct as_op *op)
{
	const struct as_span *dirfd = NULL;
	size_t i = 0;

	for (const char *l = letters; *l && !t->bad; l++, i++) {
		if (*l == 'L') {
			op->len = t->ret > 0 ? (uint64_t)t->ret : 0;
		} else if (i >= t->scan->n_args) {
			/* Arguments that older calls do not have are optional; a path is
			 * required. */
			if (strchr("pqsxfgF", *l))
				t->bad = "an argument that is missing";
		} else if (*l == 'd') {
			dirfd = &t->scan->args[i];
		} else {
			read_arg(t, *l, dirfd, t->scan->args[i], op);
			dirfd = strchr("pq", *l) ? NULL : dirfd;
		}
	}
}
