/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * race_form: a workload in a form that several threads can run, and which thread runs what.
 *
 * The form. What a thread does has to be one call that the kernel carries out as race/linear.h
 * knows it, and threads must not share what the workload took to be its own.
 *   - Paths become absolute and free of dots: threads of a process share a working directory.
 *     chcwd is left out.
 *   - remove, prune, enlarge and deepen become the calls that they would be in a run by one thread
 *     (at most MANY_MAX of them), as the model says.
 *   - sync and remount are left out if an additional thread does nothing else. So are umount,
 *     mount and crash, which need the file system for themselves.
 *   - Nodes become sockets: if a fifo replaced a file, opening it could block forever. O_DIRECT is
 *     removed: the kernel warns if it is mixed with cached reads.
 *   - The flags append-only and immutable are not set. getacl is left out: chmod(2) sets the mode
 *     first and then the list, and reading takes no lock.
 *   - What is written through O_APPEND is zeros: the bytes of a pattern depend on the offset, which
 *     only the kernel knows. utimens sets times to now: reads change them at an unknown moment.
 *
 * The split. Descriptors belong to the thread that opened them, so a slot has one thread, and slots
 * that one operation uses have the same. An operation without a slot goes to a thread by its text,
 * not by its place: when a reducer removes others, it stays where it was.
 */
#include "base/array.h"
#include "base/hash.h"
#include "race/race.h"
#include "work/print.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MANY_MAX 16
#define SLOT_SALT 0x9e3779b97f4a7c15u

struct forming {
	struct as_seq *out;
	struct as_model *model; /* the state in a run by one thread */
	struct as_buf cwd, path[2];
	bool appends[AS_SLOT_MAX + 1];
	bool syncs; /* `sync` is an operation like others */
	uint64_t left_out;
};

/* ---- Paths ---- */

/* Appends the components of `path` to *out, which is "" for the root. */
static void add_components(struct as_buf *out, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !memcmp(path, "..", 2)) {
			while (out->len && out->data[out->len - 1] != '/')
				out->data[--out->len] = '\0';
			if (out->len)
				out->data[--out->len] = '\0';
		} else if (len && !(len == 1 && *path == '.')) {
			as_buf_addc(out, '/');
			as_buf_add(out, path, len);
		}
		path += len;
		path += strspn(path, "/");
	}
}

static const char *absolute(struct forming *f, int k, const char *path)
{
	struct as_buf *out = &f->path[k];

	as_buf_clear(out);
	/* An empty path names nothing, whatever the working directory is. */
	if (!*path)
		return "";
	if (*path != '/')
		as_buf_adds(out, as_buf_str(&f->cwd));
	add_components(out, path);
	return out->len ? as_buf_str(out) : "/";
}

/* ---- Operations ---- */

static void emit(struct forming *f, const struct as_op *op)
{
	as_model_apply(f->model, as_seq_add(f->out, op));
}

static void emit_path(struct forming *f, enum as_opcode code, const char *path, uint32_t mode)
{
	struct as_op op = as_op_make(code);

	op.path = path;
	op.mode = mode;
	emit(f, &op);
}

struct race_form_names {
	const char *below; /* with a slash at the end */
	char **path;
	size_t n, cap;
};

static int collect(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct race_form_names *names = ctx;

	(void)attrs;
	if (strncmp(path, names->below, strlen(names->below)) != 0)
		return 0;
	AS_ARRAY_ROOM(names->path, names->n, names->cap);
	names->path[names->n++] = as_xstrdup(path);
	return 0;
}

/* In this order the contents of a directory come before the directory. */
static int backwards(const void *a, const void *b)
{
	return -strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_directory(const struct forming *f, const char *path)
{
	struct as_stat st;

	return as_model_stat(f->model, path, true, &st) && S_ISDIR(st.mode);
}

static void emit_removal(struct forming *f, const char *path)
{
	emit_path(f, is_directory(f, path) ? AS_OP_RMDIR : AS_OP_UNLINK, path, 0);
}

static void empty_out(struct forming *f, const char *path)
{
	struct as_buf below = { 0 };
	struct race_form_names names = { 0 };

	as_buf_addf(&below, "%s/", strcmp(path, "/") ? path : "");
	names.below = as_buf_str(&below);
	as_model_each_name(f->model, false, collect, &names);
	if (names.n)
		qsort(names.path, names.n, sizeof(*names.path), backwards);
	for (size_t i = 0; i < names.n; i++) {
		if (i < MANY_MAX)
			emit_removal(f, names.path[i]);
		else
			f->left_out++;
		free(names.path[i]);
	}
	free(names.path);
	as_buf_free(&below);
}

static void emit_truncate(struct forming *f, const char *path, uint64_t size)
{
	struct as_op op = as_op_make(AS_OP_TRUNCATE);

	op.path = path;
	op.len = size;
	emit(f, &op);
}

static void form_remove(struct forming *f, struct as_op *op)
{
	if (op->code == AS_OP_PRUNE) {
		if (is_directory(f, op->path))
			empty_out(f, op->path);
		else
			emit_truncate(f, op->path, 0);
		return;
	}
	if (is_directory(f, op->path))
		empty_out(f, op->path);
	emit_removal(f, op->path);
}

static void form_enlarge(struct forming *f, struct as_op *op)
{
	struct as_buf path = { 0 };
	struct as_stat st = { 0 };
	uint64_t made = 0;

	as_model_stat(f->model, op->path, false, &st);
	if (!S_ISDIR(st.mode)) {
		emit_truncate(f, op->path, st.size + op->len);
		return;
	}
	for (unsigned i = 0; made < op->len && made < MANY_MAX; i++) {
		as_buf_clear(&path);
		as_buf_addf(&path, "%s/e%u", strcmp(op->path, "/") ? op->path : "", i);
		if (as_model_stat(f->model, as_buf_str(&path), true, &st))
			continue;
		emit_path(f, AS_OP_MKDIR, as_buf_str(&path), 0755);
		made++;
	}
	as_buf_free(&path);
}

static void form_deepen(struct forming *f, struct as_op *op)
{
	struct as_buf path = { 0 };

	as_buf_adds(&path, strcmp(op->path, "/") ? op->path : "");
	for (unsigned i = 0; i < op->len && i < MANY_MAX / 2; i++) {
		as_buf_adds(&path, "/d");
		emit_path(f, AS_OP_MKDIR, as_buf_str(&path), 0755);
	}
	as_buf_free(&path);
}

static void form_open(struct forming *f, struct as_op *op)
{
	op->flags &= ~(int64_t)O_DIRECT;
	if (op->slot >= 0)
		f->appends[op->slot] = op->flags & O_APPEND;
	emit(f, op);
}

static void form_write(struct forming *f, struct as_op *op)
{
	if ((op->fd >= 0 && f->appends[op->fd]) ||
	    (op->code == AS_OP_PWRITEV2 && op->flags & AS_RWF_APPEND))
		op->fill = 0;
	emit(f, op);
}

/* What the kernel asks before it takes the lock under which it acts (may_delete(), may_open())
 * would make one call of others two. */
static void form_flags(struct forming *f, struct as_op *op)
{
	op->flags &= ~(int64_t)(AS_FS_APPEND_FL | AS_FS_IMMUTABLE_FL);
	emit(f, op);
}

static void form_node(struct forming *f, struct as_op *op)
{
	if ((op->flags & S_IFMT) != S_IFREG)
		op->flags = S_IFSOCK;
	op->dev = 0;
	emit(f, op);
}

static void form_times(struct forming *f, struct as_op *op)
{
	if (op->atime != AS_TIME_OMIT)
		op->atime = AS_TIME_NOW;
	if (op->mtime != AS_TIME_OMIT)
		op->mtime = AS_TIME_NOW;
	emit(f, op);
}

static void form_entered(struct forming *f, struct as_op *op)
{
	as_buf_clear(&f->cwd);
	as_buf_adds(&f->cwd, strcmp(op->path, "/") ? op->path : "");
	f->left_out++;
}

static void form_left_out(struct forming *f, struct as_op *op)
{
	(void)op;
	f->left_out++;
}

static void form_sync(struct forming *f, struct as_op *op)
{
	if (f->syncs)
		emit(f, op);
	else
		f->left_out++;
}

static void form_kept(struct forming *f, struct as_op *op)
{
	emit(f, op);
}

/* The column `race` of op.def. */
static void (*const forms[AS_OP_COUNT])(struct forming *f, struct as_op *op) = {
#define OP(id, name, layer, args, calls, needs, persists, paths, changes, reads, moves, cost, \
	   race, ...)                                                                         \
	[AS_OP_##id] = form_##race,
#include "work/op.def"
#undef OP
};

static void form_op(struct forming *f, struct as_op *op)
{
	if (op->path && as_op_table[op->code].path[0] != AS_PATHS_NONE)
		op->path = absolute(f, 0, op->path);
	if (op->path2)
		op->path2 = absolute(f, 1, op->path2);
	forms[op->code](f, op);
}

struct as_seq *as_race_form(const struct as_seq *seq, const struct as_model *first, bool syncs,
			    uint64_t *left_out)
{
	struct forming *f = as_xcalloc(1, sizeof(*f));
	struct as_seq *out = as_seq_new();

	f->out = out;
	f->model = as_model_copy(first);
	f->syncs = syncs;
	for (size_t i = 0; i < seq->n_meta; i++)
		as_seq_set_meta(out, seq->meta[i].key, seq->meta[i].value);
	for (size_t i = 0; i < seq->n; i++) {
		struct as_op op = seq->ops[i];

		form_op(f, &op);
	}
	if (left_out)
		*left_out = f->left_out;
	as_model_free(f->model);
	as_buf_free(&f->cwd);
	as_buf_free(&f->path[0]);
	as_buf_free(&f->path[1]);
	free(f);
	return out;
}

/* ---- The split ---- */

/* How often each text came before, so that equal operations go to different threads. */
static unsigned count_before(const uint64_t *texts, size_t i)
{
	unsigned n = 0;

	for (size_t k = 0; k < i; k++)
		n += texts[k] == texts[i];
	return n;
}

/* The least slot that is used together with this one, by one operation or by several. */
static void join_slots(const struct as_seq *form, int32_t slot[AS_SLOT_MAX + 1])
{
	for (int32_t i = 0; i <= AS_SLOT_MAX; i++)
		slot[i] = i;
	for (size_t i = 0; i < form->n; i++) {
		int32_t a = form->ops[i].fd, b = form->ops[i].fd2, low, high;

		if (a < 0 || b < 0 || slot[a] == slot[b])
			continue;
		low = slot[a] < slot[b] ? slot[a] : slot[b];
		high = slot[a] < slot[b] ? slot[b] : slot[a];
		for (int32_t k = 0; k <= AS_SLOT_MAX; k++)
			slot[k] = slot[k] == high ? low : slot[k];
	}
}

size_t as_race_split(const struct as_seq *form, unsigned threads, uint64_t seed, uint8_t *thread)
{
	uint64_t *texts = as_xcalloc(form->n + 1, sizeof(*texts));
	int32_t together[AS_SLOT_MAX + 1];
	struct as_buf text = { 0 };

	join_slots(form, together);
	for (size_t i = 0; i < form->n; i++) {
		as_buf_clear(&text);
		as_print_op(&form->ops[i], &text);
		texts[i] = as_hash64(as_buf_str(&text), text.len);
	}
	for (size_t i = 0; i < form->n; i++) {
		const struct as_op *op = &form->ops[i];
		int32_t slot = op->code == AS_OP_OPEN ? op->slot : op->fd;
		uint64_t key = slot >= 0 ? SLOT_SALT * (uint64_t)(together[slot] + 1)
					 : texts[i] + count_before(texts, i);

		thread[i] = (uint8_t)(as_mix64(as_mix64(seed) ^ as_mix64(key)) % threads);
	}
	as_buf_free(&text);
	free(texts);
	/* With half of the seeds, a part of the workload is done before the threads start, so that
	 * they find files to work on. */
	return as_mix64(seed ^ SLOT_SALT) % 2 ? form->n / 3 : 0;
}

uint64_t as_race_seed(const struct as_race_options *options, uint64_t seed, unsigned i)
{
	if (options->seed && (!i || !options->vary))
		return options->seed;
	/* Short enough to be typed, and never 0. */
	return as_mix64(as_mix64(options->seed ? options->seed : seed + 1) + i) % 1000000000 + 1;
}

uint64_t as_race_delays(const struct as_race_options *options, uint64_t race_seed, unsigned i)
{
	return as_mix64(race_seed + (options->seed && !options->vary ? i : 0));
}
