/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_fsx: the operation log of xfstests' fsx (--record-ops, or what it leaves as .fsxops):
 *
 *	[skip] NAME OFFSET LENGTH SIZE [keep_size] [close_open] [unshare] [*]
 *	[skip] NAME OFFSET LENGTH TO SIZE ...		copy_range and its like
 *
 * SIZE is the file's before the operation. Everything happens to one file, /fsx, in slot 0. A log
 * holds the last 10,000 operations only: one that does not begin with an empty file is given a file
 * of that size. Written bytes are patterns; which ones fsx wrote is not in the log.
 */
#include "trace/import_priv.h"

#include <string.h>

#define FILE_PATH "/fsx"
#define NUMBERS_MAX 4

enum { KEEP_SIZE = 1, PUNCH_HOLE = 2, COLLAPSE = 8, ZERO = 16, INSERT = 32, UNSHARE = 64 };

struct fsx {
	struct as_importing *x;
	bool began;
	int64_t size; /* of the file, as far as the log tells */
	int64_t at, len, to;
	bool keep_size, close_open, unshare;
};

static struct as_op make(const struct fsx *f, enum as_opcode code)
{
	struct as_op op = as_op_make(code);

	op.fd = 0;
	op.off = f->at;
	op.len = (uint64_t)f->len;
	return op;
}

static void add_open(struct fsx *f, int64_t flags)
{
	struct as_op op = as_op_make(AS_OP_OPEN);

	op.slot = 0;
	op.path = FILE_PATH;
	op.flags = 02 | flags;
	op.mode = 0666;
	as_importing_add(f->x, &op);
}

static void set_size(struct fsx *f, int64_t size)
{
	struct as_op op = as_op_make(AS_OP_FTRUNCATE);

	op.fd = 0;
	op.len = (uint64_t)size;
	if (as_importing_add(f->x, &op))
		f->size = size;
}

/* ---- The operations -------------------------------------------------------------------------- */

static void do_plain(struct fsx *f, enum as_opcode code, int64_t flags)
{
	struct as_op op = make(f, code);

	op.flags = flags;
	if (code == AS_OP_PWRITE)
		op.fill = ++f->x->fill;
	if (as_importing_add(f->x, &op) && code == AS_OP_PWRITE && f->at + f->len > f->size)
		f->size = f->at + f->len;
}

/* fsx makes the file long enough first. */
static void do_mapwrite(struct fsx *f, enum as_opcode code, int64_t flags)
{
	struct as_op op = make(f, code);

	op.flags = flags;
	op.fill = ++f->x->fill;
	if (f->at + f->len > f->size)
		set_size(f, f->at + f->len);
	as_importing_add(f->x, &op);
}

static void do_mapread(struct fsx *f, enum as_opcode code, int64_t flags)
{
	as_importing_miss(f->x, "mapread: read with pread instead");
	do_plain(f, code, flags);
}

/* The size is in the place of the length. */
static void do_truncate(struct fsx *f, enum as_opcode code, int64_t flags)
{
	(void)code, (void)flags;
	set_size(f, f->len);
}

static void do_fallocate(struct fsx *f, enum as_opcode code, int64_t flags)
{
	if (flags == 0 && f->keep_size)
		flags |= KEEP_SIZE;
	if (flags == 0 && f->unshare)
		flags |= UNSHARE;
	if (flags == ZERO && f->keep_size)
		flags |= KEEP_SIZE;
	do_plain(f, code, flags);
	if (flags == COLLAPSE)
		f->size -= f->len;
	else if (flags == INSERT)
		f->size += f->len;
	else if (!(flags & KEEP_SIZE) && f->at + f->len > f->size)
		f->size = f->at + f->len;
}

static void do_copy(struct fsx *f, enum as_opcode code, int64_t flags)
{
	struct as_op op = make(f, code);

	(void)flags;
	op.fd2 = 0;
	op.off2 = f->to;
	if (as_importing_add(f->x, &op) && f->to + f->len > f->size)
		f->size = f->to + f->len;
}

/* fsx counts a dedupe of what is the same, which makes nothing longer. */
static void do_dedupe(struct fsx *f, enum as_opcode code, int64_t flags)
{
	int64_t size = f->size;

	do_copy(f, code, flags);
	f->size = size;
}

static void do_nothing(struct fsx *f, enum as_opcode code, int64_t flags)
{
	(void)code, (void)flags;
	as_importing_miss(f->x, "no operation does the same");
}

static const struct import_fsx_row {
	const char *name;
	unsigned numbers; /* numbers before the flags */
	enum as_opcode code;
	int64_t flags;
	void (*add)(struct fsx *f, enum as_opcode code, int64_t flags);
} rows[] = {
	{ "read", 3, AS_OP_PREAD, 0, do_plain },
	{ "write", 3, AS_OP_PWRITE, 0, do_plain },
	{ "read_dontcache", 3, AS_OP_PREAD, 0, do_plain },
	{ "write_dontcache", 3, AS_OP_PWRITE, 0, do_plain },
	{ "write_atomic", 3, AS_OP_PWRITE, 0, do_plain },
	{ "mapread", 3, AS_OP_PREAD, 0, do_mapread },
	{ "mapwrite", 3, AS_OP_MMAP_WRITE, AS_MS_SYNC, do_mapwrite },
	{ "truncate", 3, AS_OP_FTRUNCATE, 0, do_truncate },
	{ "fallocate", 3, AS_OP_FALLOCATE, 0, do_fallocate },
	{ "punch_hole", 3, AS_OP_FALLOCATE, PUNCH_HOLE | KEEP_SIZE, do_fallocate },
	{ "zero_range", 3, AS_OP_FALLOCATE, ZERO, do_fallocate },
	{ "collapse_range", 3, AS_OP_FALLOCATE, COLLAPSE, do_fallocate },
	{ "insert_range", 3, AS_OP_FALLOCATE, INSERT, do_fallocate },
	{ "fsync", 3, AS_OP_FSYNC, 0, do_plain },
	{ "copy_range", 4, AS_OP_COPY_FILE_RANGE, 0, do_copy },
	{ "clone_range", 4, AS_OP_CLONE_RANGE, 0, do_copy },
	{ "dedupe_range", 4, AS_OP_DEDUPE_RANGE, 0, do_dedupe },
	{ "exchange_range", 4, AS_OP_SYNC, 0, do_nothing },
};

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool read_flags(struct fsx *f, struct as_span line)
{
	struct as_span word;

	f->keep_size = f->close_open = f->unshare = false;
	while (as_span_word(&line, &word)) {
		if (as_span_is(word, "keep_size"))
			f->keep_size = true;
		else if (as_span_is(word, "close_open"))
			f->close_open = true;
		else if (as_span_is(word, "unshare"))
			f->unshare = true;
		else if (!as_span_is(word, "*")) {
			as_importing_miss(f->x, "unknown flag '%.*s'", (int)word.len, word.at);
			return false;
		}
	}
	return true;
}

/* Reads the numbers of a row; false, after a report, if some are missing. */
static bool read_numbers(struct fsx *f, const struct import_fsx_row *row, struct as_span *line,
			 int64_t *size)
{
	int64_t numbers[NUMBERS_MAX] = { 0 };
	struct as_span word;

	for (unsigned i = 0; i < row->numbers; i++) {
		if (!as_span_word(line, &word) || !as_span_number(word, &numbers[i]) ||
		    numbers[i] < 0 || numbers[i] > UINT32_MAX) {
			as_importing_miss(f->x, "%s: expected %u numbers", row->name, row->numbers);
			return false;
		}
	}
	f->at = numbers[0];
	f->len = numbers[1];
	f->to = numbers[2];
	*size = numbers[row->numbers - 1];
	return true;
}

static void begin(struct fsx *f, int64_t size)
{
	if (f->began)
		return;
	f->began = true;
	add_open(f, 0100 | 01000); /* O_CREAT|O_TRUNC */
	if (!size)
		return;
	as_importing_miss(f->x,
			  "the log begins with a file of %lld bytes; what they are is unknown",
			  (long long)size);
	set_size(f, size);
}

static void read_op(struct fsx *f, const struct import_fsx_row *row, struct as_span line,
		    bool skipped)
{
	int64_t size;

	if (!read_numbers(f, row, &line, &size) || !read_flags(f, line))
		return;
	f->x->understood++;
	begin(f, size);
	if (!skipped)
		row->add(f, row->code, row->flags);
	if (f->close_open) {
		struct as_op close = as_op_make(AS_OP_CLOSE);

		close.fd = 0;
		as_importing_add(f->x, &close);
		add_open(f, 0);
	}
}

int as_import_fsx(struct as_importing *x, struct as_span text, struct as_err *err)
{
	struct fsx f = { .x = x };
	struct as_span line, word;

	(void)err;
	while (as_importing_line(x, &text, &line)) {
		const struct import_fsx_row *row = NULL;
		bool skipped;

		if (!as_span_word(&line, &word) || *word.at == '#')
			continue;
		skipped = as_span_is(word, "skip");
		if (skipped)
			as_span_word(&line, &word);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (as_span_is(word, rows[i].name))
				row = &rows[i];
		if (row)
			read_op(&f, row, line, skipped);
		else
			as_importing_miss(x, "unknown operation '%.*s'", (int)word.len, word.at);
	}
	return 0;
}
