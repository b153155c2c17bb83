/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expect_tree: the model's tree as lines that plain programs print, too (expect.h). expected.tree
 * is what find(1) prints in repro.sh; expected.data and expected.attrs are what look.c prints, the
 * check sums of POSIX (cksum(1)), so that a person can look at one file without any of this.
 */
#include "dossier/program/expect_priv.h"

#include "base/array.h"
#include "dossier/script.h"
#include "model/persist.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WHOLE_BYTES ((uint64_t)64 << 20) /* as look.c has it */
#define PIECE_BYTES 65536u

/* What is in one inode. */
struct expect_inside {
	uint32_t ino;
	bool has_data;
	uint32_t crc;
	uint64_t len;
	struct as_buf attrs; /* "CRC LEN NAME" lines, each ended by a NUL */
};

struct expect_lines {
	struct as_buf *line;
	size_t n, cap;
};

struct expect_look {
	const struct as_model *model;
	struct expect_inside *inside;
	size_t n, cap;
	struct expect_lines tree, data, attrs;
};

/* ---- Check sums ------------------------------------------------------------------------------ */

static uint32_t add_byte(uint32_t crc, uint8_t byte)
{
	crc ^= (uint32_t)byte << 24;
	for (int bit = 0; bit < 8; bit++)
		crc = crc & 0x80000000u ? crc << 1 ^ 0x04c11db7u : crc << 1;
	return crc;
}

static void fill_table(uint32_t table[static 256])
{
	for (unsigned byte = 0; byte < 256; byte++)
		table[byte] = add_byte(0, (uint8_t)byte);
}

static uint32_t add(const uint32_t table[static 256], uint32_t crc, const void *data, size_t len)
{
	for (const uint8_t *p = data, *end = p + len; p < end; p++)
		crc = crc << 8 ^ table[crc >> 24 ^ *p];
	return crc;
}

static uint32_t finish(uint32_t crc, uint64_t len)
{
	for (; len; len >>= 8)
		crc = add_byte(crc, (uint8_t)len);
	return ~crc;
}

/* The bytes of a run are those of its pattern; between runs are zeros. */
static uint32_t sum_runs(const struct as_node_run *run, uint32_t n, uint64_t size)
{
	uint32_t table[256], crc = 0, i = 0;
	uint8_t *piece = as_xmalloc(PIECE_BYTES);

	fill_table(table);
	for (uint64_t at = 0, len; at < size; at += len) {
		while (i < n && run[i].start + run[i].len <= at)
			i++;
		len = size - at;
		if (i < n && run[i].start > at && run[i].start - at < len)
			len = run[i].start - at;
		else if (i < n && run[i].start <= at && run[i].start + run[i].len - at < len)
			len = run[i].start + run[i].len - at;
		len = len < PIECE_BYTES ? len : PIECE_BYTES;
		if (i < n && run[i].start <= at)
			as_pattern_fill(run[i].pattern, at - run[i].start + run[i].from, piece,
					(size_t)len);
		else
			memset(piece, 0, (size_t)len);
		crc = add(table, crc, piece, (size_t)len);
	}
	free(piece);
	return finish(crc, size);
}

static uint32_t sum_text(const char *text)
{
	uint32_t table[256];

	fill_table(table);
	return finish(add(table, 0, text, strlen(text)), strlen(text));
}

static void look_inside(void *ctx, const struct as_node *before, const struct as_node *node,
			unsigned what)
{
	struct expect_look *x = ctx;
	struct expect_inside in = { .ino = node ? node->ino : 0 };

	(void)before;
	(void)what;
	if (!node)
		return;
	if (S_ISREG(node->mode) && node->size <= WHOLE_BYTES) {
		in.has_data = true;
		in.len = node->size;
		in.crc = sum_runs(node->run, node->n_runs, node->size);
	} else if (S_ISLNK(node->mode) && node->text) {
		in.has_data = true;
		in.len = strlen(node->text);
		in.crc = sum_text(node->text);
	}
	for (uint32_t i = 0; i < node->n_xattrs; i++) {
		const struct as_node_xattr *attr = &node->xattr[i];
		const struct as_node_run value = { .len = attr->len, .pattern = attr->pattern };

		if (strncmp(attr->name, "user.", 5) != 0)
			continue;
		as_buf_addf(&in.attrs, "%u %llu %s", sum_runs(&value, 1, attr->len),
			    (unsigned long long)attr->len, attr->name);
		as_buf_addc(&in.attrs, '\0');
	}
	AS_ARRAY_ROOM(x->inside, x->n, x->cap);
	x->inside[x->n++] = in;
}

static void ignore_edge(void *ctx, uint32_t dir, const char *name, uint32_t before, uint32_t after)
{
	(void)ctx;
	(void)dir;
	(void)name;
	(void)before;
	(void)after;
}

static int by_ino(const void *a, const void *b)
{
	const struct expect_inside *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static struct as_buf *new_line(struct expect_lines *lines)
{
	AS_ARRAY_ROOM(lines->line, lines->n, lines->cap);
	lines->line[lines->n] = (struct as_buf){ 0 };
	return &lines->line[lines->n++];
}

/* As find(1) has it. */
static char type_letter(uint32_t mode)
{
	return S_ISDIR(mode)	? 'd'
	       : S_ISLNK(mode)	? 'l'
	       : S_ISREG(mode)	? 'f'
	       : S_ISFIFO(mode) ? 'p'
	       : S_ISSOCK(mode) ? 's'
	       : S_ISCHR(mode)	? 'c'
				: 'b';
}

static void add_tree(struct expect_look *x, const char *path, const struct as_stat *st)
{
	struct as_buf *line = new_line(&x->tree);

	as_buf_addf(line, "%c ", type_letter(st->mode));
	if (S_ISLNK(st->mode))
		as_buf_addf(line, "- %u:%u ", st->uid, st->gid);
	else
		as_buf_addf(line, "%o %u:%u ", st->mode & 07777, st->uid, st->gid);
	if (S_ISDIR(st->mode))
		as_buf_adds(line, "- - ");
	else if (S_ISLNK(st->mode) || S_ISREG(st->mode))
		as_buf_addf(line, "%u %llu ", (unsigned)st->nlink, (unsigned long long)st->size);
	else
		as_buf_addf(line, "%u - ", (unsigned)st->nlink);
	as_buf_adds(line, path);
}

static int add_name(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct expect_look *x = ctx;
	const struct expect_inside key = { .ino = attrs->ino }, *in;
	struct as_stat st;

	if (!strncmp(path, "/lost+found", 11) || !as_model_stat(x->model, path, true, &st))
		return 0;
	add_tree(x, path, &st);
	in = x->n ? bsearch(&key, x->inside, x->n, sizeof(key), by_ino) : NULL;
	if (!in)
		return 0;
	if (in->has_data)
		as_buf_addf(new_line(&x->data), "%u %llu %s", in->crc, (unsigned long long)in->len,
			    path);
	for (size_t at = 0; at < in->attrs.len; at += strlen(in->attrs.data + at) + 1)
		as_buf_addf(new_line(&x->attrs), "%s %s", in->attrs.data + at, path);
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(as_buf_str(a), as_buf_str(b));
}

static int write_lines(const struct as_dir *folder, const char *name, struct expect_lines *lines,
		       struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	if (lines->n)
		qsort(lines->line, lines->n, sizeof(lines->line[0]), by_bytes);
	for (size_t i = 0; i < lines->n; i++) {
		for (const char *s = as_buf_str(&lines->line[i]); *s; s++)
			as_buf_addc(&text, *s == '\n' ? '?' : *s);
		as_buf_addc(&text, '\n');
	}
	rc = as_dir_write(folder, name, &text, err);
	as_buf_free(&text);
	return rc;
}

static void free_lines(struct expect_lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		as_buf_free(&lines->line[i]);
	free(lines->line);
}

int as_expect_tree(const struct as_model *model, bool inside, const struct as_dir *folder,
		   struct as_err *err)
{
	static const struct as_changes_ops ops = { look_inside, ignore_edge };
	struct expect_look x = { .model = model };
	int rc;

	if (inside)
		as_model_changes(NULL, model, &ops, &x);
	if (x.n)
		qsort(x.inside, x.n, sizeof(x.inside[0]), by_ino);
	as_model_each_name(model, false, add_name, &x);
	rc = write_lines(folder, AS_SCRIPT_TREE, &x.tree, err);
	if (!rc && inside)
		rc = write_lines(folder, AS_SCRIPT_DATA, &x.data, err);
	if (!rc && inside)
		rc = write_lines(folder, AS_SCRIPT_ATTRS, &x.attrs, err);
	if (!rc && inside)
		rc = as_script_write_look(folder, err);
	for (size_t i = 0; i < x.n; i++)
		as_buf_free(&x.inside[i].attrs);
	free(x.inside);
	free_lines(&x.tree);
	free_lines(&x.data);
	free_lines(&x.attrs);
	return rc;
}
