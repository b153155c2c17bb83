/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees as they are kept: contents in pieces, order, digests, differences in words, bytes. */
#include "tests/lib/chance.h"
#include "tests/lib/mutate.h"
#include "tests/lib/told.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- Contents ---- */

struct part {
	char kind; /* z: zeros, p: pattern, b: bytes; 0: the end */
	size_t len;
	uint64_t pattern;
	size_t from; /* byte of the pattern that stands first; 0: where it was written */
};

static const struct {
	const char *name;
	struct part parts[6];
	const char *want; /* pieces: kind, length */
} contents[] = {
	{ "nothing", { { 0 } }, "" },
	{ "zeros", { { 'z', 5000, 0, 0 } }, "z5000 " },
	{ "a pattern", { { 'p', 4096, 7, 0 } }, "p4096 " },
	{ "bytes", { { 'b', 100, 0, 0 } }, "b100 " },
	{ "less than two words", { { 'p', 12, 7, 0 } }, "b12 " },
	{ "a word and a half", { { 'p', 17, 7, 0 } }, "p17 " },
	{ "two patterns", { { 'p', 1000, 7, 0 }, { 'p', 1000, 8, 0 } }, "p1000 p1000 " },
	{ "off the words", { { 'p', 1003, 7, 0 }, { 'p', 1002, 8, 0 } }, "p1003 p1002 " },
	{ "with a hole",
	  { { 'p', 100, 7, 0 }, { 'z', 333, 0, 0 }, { 'p', 101, 7, 0 } },
	  "p100 z333 p101 " },
	{ "moved by words", { { 'p', 512, 7, 800 } }, "p512 " },
	{ "moved by bytes", { { 'p', 512, 7, 803 } }, "b512 " },
	{ "with noise",
	  { { 'p', 4096, 3, 0 }, { 'b', 40, 0, 0 }, { 'z', 24, 0, 0 } },
	  "p4096 b40 z24 " },
	{ "two reads", { { 'p', 200000, 3, 0 }, { 'z', 70000, 0, 0 } }, "p200000 z70000 " },
};

static size_t put_parts(const struct part *part, unsigned char *buf)
{
	size_t len = 0;

	for (; part->kind; part++) {
		if (part->kind == 'p')
			as_pattern_fill(part->pattern, part->from ? part->from : len, buf + len,
					part->len);
		else
			for (size_t i = 0; i < part->len; i++)
				buf[len + i] =
					part->kind == 'z' ? 0 : (unsigned char)(1 + i * 7 % 250);
		len += part->len;
	}
	return len;
}

static struct as_content *content_of(const unsigned char *buf, size_t len)
{
	struct as_content_maker *maker = as_content_maker_new();
	struct as_content *content;

	for (size_t off = 0; off < len; off += 65536)
		as_content_maker_add(maker, buf + off, len - off < 65536 ? len - off : 65536);
	content = as_content_maker_done(maker);
	as_content_maker_free(maker);
	return content;
}

static void check_bytes(const struct as_content *content, const unsigned char *buf, size_t len)
{
	unsigned char *back = as_xmalloc(len + 1);
	uint64_t at = 0;

	assert_int_equal(content->size, len);
	for (uint32_t i = 0; i < content->n; i++) {
		const struct as_content_piece *piece = &content->piece[i];

		assert_int_equal(piece->start, at);
		assert_true(piece->len > 0);
		as_piece_bytes(piece, at, back + at, piece->len);
		assert_ptr_equal(as_content_at(content, at + piece->len / 2), piece);
		at += piece->len;
	}
	assert_int_equal(at, len);
	assert_memory_equal(back, buf, len);
	free(back);
}

static void test_contents(void **state)
{
	static unsigned char buf[300000];

	(void)state;
	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		size_t len = put_parts(contents[i].parts, buf);
		struct as_content *content = content_of(buf, len);
		struct as_buf got = { 0 };

		for (uint32_t k = 0; k < content->n; k++)
			as_buf_addf(&got, "%c%llu ", "zpb"[content->piece[k].kind],
				    (unsigned long long)content -> piece[k].len);
		if (strcmp(as_buf_str(&got), contents[i].want) != 0)
			fail_msg("%s: %s", contents[i].name, as_buf_str(&got));
		check_bytes(content, buf, len);
		as_buf_free(&got);
		as_content_put(content);
	}
}

/* A pattern where it was written is known by its number. */
static void test_keys(void **state)
{
	unsigned char buf[512];
	struct as_content *content;
	uint64_t key = 0;

	(void)state;
	as_pattern_fill(4711, 0, buf, sizeof(buf));
	content = content_of(buf, sizeof(buf));
	assert_true(as_content_key(4711, 0, 0, &key));
	assert_int_equal(content->piece[0].key, key);
	assert_int_equal(as_content_pattern(key), 4711);
	assert_true(as_content_key(4711, 800, 0, &key));
	assert_false(as_content_key(4711, 801, 0, &key));
	as_content_put(content);
}

/* Random mixtures: always the same bytes back, and equal only where the bytes are. */
static void test_random_contents(void **state)
{
	struct as_chooser *chance = as_chooser_seeded(3);
	struct as_choice *c = as_chooser_choice(chance);
	unsigned char buf[2048], other[2048];

	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t len = as_choose(c, 2000), at = 0;
		struct as_content *content, *changed;

		while (at < len) {
			size_t n = 1 + as_choose(c, 100);

			n = n < len - at ? n : len - at;
			if (as_choose(c, 3) == 0)
				memset(buf + at, 0, n);
			else
				as_pattern_fill(as_choose(c, 3), at + 8 * as_choose(c, 2), buf + at,
						n);
			at += n;
		}
		content = content_of(buf, len);
		check_bytes(content, buf, len);
		memcpy(other, buf, len);
		changed = content_of(other, len);
		assert_true(as_content_eq(content, changed));
		as_content_put(changed);
		if (len) {
			other[as_choose(c, (unsigned)len)] ^=
				(unsigned char)(1 + as_choose(c, 255));
			changed = content_of(other, len);
			assert_false(as_content_eq(content, changed));
			as_content_put(changed);
		}
		as_content_put(content);
	}
	as_chooser_free(chance);
}

/* ---- Trees ---- */

#define SAMPLE                                 \
	"mkdir /a 0755\n"                      \
	"$0 = open /a/f O_RDWR|O_CREAT 0644\n" \
	"pwrite $0 len=5000 at=100 fill=1\n"   \
	"hardlink /a/f /g\n"                   \
	"symlink a/f /l\n"                     \
	"mkdir /a/b 0700\n"                    \
	"create /a/b/x 0600\n"                 \
	"create /a.b 0600\n"                   \
	"mknod /n chr 0600 dev=5:1\n"          \
	"write_xattr /a user.k len=10 fill=2\n"

static struct as_tree *sample(struct told *t)
{
	struct as_policy policy = { .guarantee = AS_GUARANTEE_PREFIX };

	t_told_text(t, &policy, SAMPLE);
	return as_history_tree(t->history, as_history_len(t->history));
}

static void test_order(void **state)
{
	struct told told;
	struct as_tree *tree = sample(&told), *same = t_mutate(tree, "");
	uint32_t f, g;

	(void)state;
	assert_int_equal(as_tree_len(tree), 9);
	assert_true(as_digest_eq(as_tree_digest(tree), as_tree_digest(same)));
	assert_false(as_tree_diff(tree, "here", same, "there", NULL));
	for (uint32_t i = 1; i < as_tree_len(tree); i++) {
		const struct as_tree_node *node = as_tree_at(tree, i);
		struct as_buf path = { 0 };

		assert_true(node->parent < i);
		assert_true(as_tree_at(tree, node->parent)->end >= node->end);
		as_tree_path(tree, i, &path);
		assert_int_equal(as_tree_find(tree, as_buf_str(&path)), i);
		as_buf_free(&path);
	}
	f = as_tree_find(tree, "/a/f");
	g = as_tree_find(tree, "/g");
	assert_int_equal(as_tree_at(tree, g)->twin, f);
	assert_int_equal(as_tree_at(tree, f)->names, 2);
	assert_int_equal(as_tree_at(tree, f)->nlink, 2);
	assert_int_equal(as_tree_find(tree, "/a/b/x/y"), AS_TREE_NONE);
	assert_int_equal(as_tree_find(tree, "/a/bb"), AS_TREE_NONE);
	assert_int_equal(as_tree_find(tree, "/"), 0);
	as_tree_put(tree);
	as_tree_put(same);
	t_told_end(&told);
}

/* What is changed, and how it must be said. */
static const struct {
	const char *how, *words;
} diffs[] = {
	{ "drop /a/b/x", "/a/b/x: only here" },
	{ "drop /a/b", "/a/b: only here" },
	{ "file /a/c 0644", "/a/c: only there" },
	{ "file /a/b/a 0644", "/a/b/a: only there" },
	{ "file /zz 0644", "/zz: only there" },
	{ "drop /n", "/n: only here" },
	{ "mode /a/f 0600; mode /g 0600", "/a/f: mode 0644 here, 0600 there" },
	{ "drop /l; file /l 0777", "/l: is a symbolic link here, a regular file there" },
	{ "uid /a 3", "/a: uid 0 here, 3 there" },
	{ "size /a/f 7; size /g 7", "/a/f: size 5100 here, 7 there" },
	{ "bytes /a/f 4000 1 0; bytes /g 4000 1 0", "/a/f: byte 4000 of its contents is 0x" },
	{ "nlink /a/f 3; nlink /g 3", "/a/f: link count 2 here, 3 there" },
	{ "noxattr /a user.k", "/a: attribute user.k only here" },
	{ "xattr /a user.z 3 3", "/a: attribute user.z only there" },
	{ "xattr /a user.k 11 2", "/a: attribute user.k 10 here, 11 there" },
	{ "drop /g; file /g 0644; nlink /g 2; fill /g 100 5000 1",
	  "/g: is a link to another file here than there" },
};

static void test_diffs(void **state)
{
	struct told told;
	struct as_tree *tree = sample(&told);

	(void)state;
	for (size_t i = 0; i < sizeof(diffs) / sizeof(diffs[0]); i++) {
		struct as_tree *other = t_mutate(tree, diffs[i].how);
		struct as_buf how = { 0 };

		assert_false(as_digest_eq(as_tree_digest(tree), as_tree_digest(other)));
		assert_true(as_tree_diff(tree, "here", other, "there", &how));
		if (strncmp(as_buf_str(&how), diffs[i].words, strlen(diffs[i].words)) != 0)
			fail_msg("%s: %s", diffs[i].how, as_buf_str(&how));
		as_buf_free(&how);
		as_tree_put(other);
	}
	as_tree_put(tree);
	t_told_end(&told);
}

/* Without the directory /m, the tree is what it was before it was made. */
static void test_without(void **state)
{
	static const struct {
		const char *made, *litter;
		bool is;
	} rows[] = {
		{ "dir /m 0700", NULL, true },
		{ "dir /m 0700; dir /m/#1 0700; dir /m/#2 0700", "#", true },
		{ "dir /m 0700; dir /m/#1 0700; dir /m/#1/#2 0700", "#", true },
		{ "dir /m 0700; dir /m/#1 0700", NULL, false },
		{ "dir /m 0700; dir /m/x 0700", "#", false },
		{ "dir /m 0700; dir /m/#1 0700; dir /m/#1/x 0700", "#", false },
		{ "dir /m 0700; file /m/#1 0600", "#", false },
		{ "dir /m 0700; dir /m/#1 0700; file /m/#1/#2 0600", "#", false },
		{ "file /m 0700", "#", false },
		{ "", "#", false },
	};
	struct told told;
	struct as_tree *tree = sample(&told);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_tree *more = t_mutate(tree, rows[i].made);
		struct as_tree *without = as_tree_without(more, "m", rows[i].litter);

		assert_int_equal(without != NULL, rows[i].is);
		if (without)
			assert_false(as_tree_diff(tree, "", without, "", NULL));
		as_tree_put(more);
		as_tree_put(without);
	}
	as_tree_put(tree);
	t_told_end(&told);
}

/* ---- Bytes ---- */

static void test_bytes(void **state)
{
	struct told told;
	struct as_tree *tree = sample(&told), *back = NULL;
	struct as_buf bytes = { 0 }, again = { 0 };
	struct as_err err = { 0 };

	(void)state;
	as_tree_write(tree, &bytes);
	assert_int_equal(as_tree_read(bytes.data, bytes.len, &back, &err), 0);
	assert_true(as_digest_eq(as_tree_digest(tree), as_tree_digest(back)));
	as_tree_write(back, &again);
	assert_int_equal(bytes.len, again.len);
	assert_memory_equal(bytes.data, again.data, bytes.len);
	as_tree_put(back);
	/* Cut anywhere, it is refused. */
	for (size_t len = 0; len < bytes.len; len++) {
		assert_int_equal(as_tree_read(bytes.data, len, &back, &err), AS_EUSE);
		assert_null(back);
	}
	/* Changed anywhere, it is refused or another tree, never a crash. */
	for (size_t i = 0; i < bytes.len * 8; i++) {
		bytes.data[i / 8] ^= (char)(1 << i % 8);
		if (as_tree_read(bytes.data, bytes.len, &back, &err) == 0)
			as_tree_put(back);
		bytes.data[i / 8] ^= (char)(1 << i % 8);
	}
	as_buf_free(&bytes);
	as_buf_free(&again);
	as_tree_put(tree);
	t_told_end(&told);
}

/* ---- Reading one ---- */

/* A tree that is read through the seam; the path "bad" cannot be. */
struct source {
	const struct as_tree *tree;
	const char *bad_path, *bad_call;
	bool twice; /* lists a name twice */
};

static int refused(const struct source *s, const char *call, const char *path)
{
	return s->bad_path && strcmp(s->bad_path, path) == 0 && strcmp(s->bad_call, call) == 0;
}

static int source_stat(void *ctx, const char *path, struct as_stat *st)
{
	const struct source *s = ctx;
	uint32_t i = as_tree_find(s->tree, path);
	const struct as_tree_node *node = as_tree_at(s->tree, i);

	if (refused(s, "stat", path))
		return -EIO;
	*st = (struct as_stat){ .ino = node->twin + 10,
				.mode = node->mode,
				.nlink = node->nlink,
				.uid = node->uid,
				.gid = node->gid,
				.rdev = node->rdev,
				.size = node->size };
	return 0;
}

static int source_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	const struct source *s = ctx;
	uint32_t dir = as_tree_find(s->tree, path);

	if (refused(s, "list", path))
		return -EIO;
	/* From the last to the first: order must not matter. */
	for (uint32_t i = as_tree_at(s->tree, dir)->end; i-- > dir + 1;) {
		if (as_tree_at(s->tree, i)->parent != dir)
			continue;
		fill(fill_ctx, as_tree_at(s->tree, i)->name, 1, 0);
		if (s->twice)
			fill(fill_ctx, as_tree_at(s->tree, i)->name, 1, 0);
	}
	return 0;
}

static int64_t source_readlink(void *ctx, const char *path, char *buf, size_t len)
{
	const struct source *s = ctx;
	const char *text = as_tree_at(s->tree, as_tree_find(s->tree, path))->text;

	assert_true(strlen(text) < len);
	memcpy(buf, text, strlen(text));
	return refused(s, "readlink", path) ? -EIO : (int64_t)strlen(text);
}

static int64_t source_read(void *ctx, const char *path, void *buf, size_t len, uint64_t off)
{
	const struct source *s = ctx;
	const struct as_tree_node *node = as_tree_at(s->tree, as_tree_find(s->tree, path));

	if (refused(s, "read", path))
		return -EIO;
	for (size_t i = 0; i < len; i++)
		as_piece_bytes(as_content_at(node->content, off + i), off + i, (char *)buf + i, 1);
	return refused(s, "short read", path) ? (int64_t)len - 1 : (int64_t)len;
}

static int64_t source_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	const struct source *s = ctx;
	const struct as_tree_node *node = as_tree_at(s->tree, as_tree_find(s->tree, path));
	size_t n = 0;

	if (refused(s, "listxattr", path))
		return -EIO;
	for (uint32_t i = 0; i < node->n_xattrs; i++) {
		assert_true(n + strlen(node->xattr[i].name) < len);
		memcpy(buf + n, node->xattr[i].name, strlen(node->xattr[i].name) + 1);
		n += strlen(node->xattr[i].name) + 1;
	}
	return (int64_t)n;
}

static int64_t source_getxattr(void *ctx, const char *path, const char *name, void *buf, size_t len)
{
	const struct source *s = ctx;
	const struct as_tree_node *node = as_tree_at(s->tree, as_tree_find(s->tree, path));

	for (uint32_t i = 0; i < node->n_xattrs; i++) {
		const struct as_content *value = node->xattr[i].value;

		if (strcmp(node->xattr[i].name, name) != 0)
			continue;
		assert_true(value->size <= len);
		for (size_t k = 0; k < value->size; k++)
			as_piece_bytes(as_content_at(value, k), k, (char *)buf + k, 1);
		return refused(s, "getxattr", path) ? -EIO : (int64_t)value->size;
	}
	return -ENODATA;
}

static const struct as_tree_ops source_ops = {
	.stat = source_stat,
	.list = source_list,
	.readlink = source_readlink,
	.read = source_read,
	.listxattr = source_listxattr,
	.getxattr = source_getxattr,
};

static struct as_hole told_hole; /* the only one, of every file */

static int64_t told_holes(void *ctx, const char *path, struct as_hole *hole, size_t max)
{
	const struct source *s = ctx;

	if (refused(s, "holes", path))
		return -EIO;
	assert_true(max > 0);
	*hole = told_hole;
	return 1;
}

/* What SEEK_HOLE says is looked at, and is in the second digest and not in the first. */
static void test_holes(void **state)
{
	static const struct {
		struct as_hole hole;
		bool refused;
		uint64_t from, to; /* where the first byte that is hidden is; 0, 0: nowhere */
	} rows[] = {
		{ { 4096, 8192 }, false, 0, 0 },
		{ { 4000, 8192 }, false, 4000, 4096 },
		{ { 0, 8292 }, false, 0, 100 },
		{ { 5000, 8292 }, false, 8192, 8292 },
		{ { 0, 8292 }, true, 0, 0 },
		{ { 8292, 9999 }, false, 0, 0 },
		{ { 4096, 99999 }, false, 8192, 8292 },
	};
	struct as_policy policy = { .guarantee = AS_GUARANTEE_PREFIX };
	struct as_tree_ops ops = source_ops;
	struct as_tree *tree, *plain = NULL;
	struct as_buf why = { 0 };
	struct told told;
	struct source source = { 0 };

	(void)state;
	t_told_text(&told, &policy,
		    "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\n"
		    "pwrite $0 len=100 at=8192 fill=2\n");
	source.tree = tree = as_history_tree(told.history, 3);
	assert_int_equal(as_tree_capture(&ops, &source, &plain, &why), 0);
	ops.holes = told_holes;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_tree *got = NULL;
		uint64_t hidden;

		told_hole = rows[i].hole;
		source.bad_path = rows[i].refused ? "/f" : NULL;
		source.bad_call = "holes";
		assert_int_equal(as_tree_capture(&ops, &source, &got, &why), 0);
		hidden = as_tree_at(got, as_tree_find(got, "/f"))->hidden;
		if (rows[i].to)
			assert_in_range(hidden, rows[i].from + 1, rows[i].to);
		else
			assert_int_equal(hidden, 0);
		assert_true(as_digest_eq(as_tree_digest(plain), as_tree_digest(got)));
		assert_int_equal(as_digest_eq(as_tree_digest_of_rest(plain),
					      as_tree_digest_of_rest(got)),
				 !rows[i].to);
		as_tree_put(got);
	}
	as_buf_free(&why);
	as_tree_put(plain);
	as_tree_put(tree);
	t_told_end(&told);
}

static const struct {
	const char *path, *call, *words;
} refusals[] = {
	{ "/a", "stat", "/a: asking for its attributes gives EIO" },
	{ "/a/b", "list", "/a/b: listing it gives EIO" },
	{ "/l", "readlink", "/l: reading the link gives EIO" },
	{ "/a/f", "read", "/a/f: reading at 0 gives EIO" },
	{ "/a/f", "short read", "/a/f: reading at 0 gives 5099 bytes of 5100" },
	{ "/a", "listxattr", "/a: listing its attributes gives EIO" },
	{ "/a", "getxattr", "/a: attribute user.k: reading it gives EIO" },
};

static void test_capture(void **state)
{
	struct told told;
	struct as_tree *tree = sample(&told), *got = NULL;
	struct source source = { .tree = tree };
	struct as_buf why = { 0 };

	(void)state;
	assert_int_equal(as_tree_capture(&source_ops, &source, &got, &why), 0);
	if (as_tree_diff(tree, "there", got, "captured", &why))
		fail_msg("%s", as_buf_str(&why));
	as_tree_put(got);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		source.bad_path = refusals[i].path;
		source.bad_call = refusals[i].call;
		as_buf_clear(&why);
		assert_int_equal(as_tree_capture(&source_ops, &source, &got, &why), 1);
		assert_null(got);
		assert_string_equal(as_buf_str(&why), refusals[i].words);
	}
	source.bad_path = NULL;
	source.twice = true;
	as_buf_clear(&why);
	assert_int_equal(as_tree_capture(&source_ops, &source, &got, &why), 1);
	assert_string_equal(as_buf_str(&why), "/: lists \"a\" twice");
	as_buf_free(&why);
	as_tree_put(tree);
	t_told_end(&told);
}

/* A tree without an end: every entry is a directory. */
static int maze_stat(void *ctx, const char *path, struct as_stat *st)
{
	(void)ctx;
	(void)path;
	*st = (struct as_stat){ .mode = S_IFDIR | 0755, .nlink = 2, .ino = 1 };
	return 0;
}

/* One name, or as many as are taken. */
static int maze_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	const bool *wide = ctx;
	char name[24];
	int rc = 0;

	(void)path;
	for (unsigned i = 0; !rc && (*wide || !i); i++) {
		snprintf(name, sizeof(name), "%u", i);
		rc = fill(fill_ctx, name, 1, S_IFDIR);
	}
	return rc;
}

static int64_t maze_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	(void)ctx;
	(void)path;
	(void)buf;
	(void)len;
	return 0;
}

struct maze {
	bool wide;
	int rc;
	struct as_tree *got;
	struct as_buf why;
};

static void *capture_maze(void *arg)
{
	static const struct as_tree_ops ops = { .stat = maze_stat,
						.list = maze_list,
						.listxattr = maze_listxattr };
	struct maze *maze = arg;

	maze->rc = as_tree_capture(&ops, &maze->wide, &maze->got, &maze->why);
	return NULL;
}

/* On a small stack: how deep a tree is must not decide how much of it is needed. */
static void test_capture_ends(void **state)
{
	static const char *const words[] = { "directories deep", "/: listing it does not end" };
	pthread_attr_t small;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_attr_init(&small), 0);
	assert_int_equal(pthread_attr_setstacksize(&small, 256 << 10), 0);
	for (int wide = 0; wide < 2; wide++) {
		struct maze maze = { .wide = wide };

		assert_int_equal(pthread_create(&thread, &small, capture_maze, &maze), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(maze.rc, 1);
		assert_null(maze.got);
		assert_non_null(strstr(as_buf_str(&maze.why), words[wide]));
		as_buf_free(&maze.why);
	}
	pthread_attr_destroy(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),	cmocka_unit_test(test_keys),
		cmocka_unit_test(test_random_contents), cmocka_unit_test(test_order),
		cmocka_unit_test(test_diffs),		cmocka_unit_test(test_without),
		cmocka_unit_test(test_bytes),		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_holes),		cmocka_unit_test(test_capture_ends),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
