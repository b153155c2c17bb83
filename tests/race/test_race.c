/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Races on a directory in memory, thousands of them: a kernel that keeps its word passes, executors
 * that do in two steps what has to be one do not. Also the form of a workload, its split, and the
 * parameters.
 */
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"

#include "os/spawn.h"
#include "race/race.h"
#include "vfs/sys_new.h"
#include "vfs/traits.h"
#include "work/parse.h"
#include "work/print.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define CLEAN_RUNS 1500
#define MUTANT_RUNS 3000 /* at most: it ends with the first that is found out */

/* ---- Executors with a mistake ---------------------------------------------------------------- */

enum mistake {
	NONE,
	RENAME_IN_TWO, /* both names are there for a moment */
	LOST_APPEND, /* the size is read, and then written at */
	STALE_STAT, /* what was answered last time, once more */
	CHECK_THEN_RENAME, /* RENAME_NOREPLACE as a look and a rename */
	MKDIR_TWICE, /* a directory that was made meanwhile is taken for one's own */
	/* While another thread writes another file or works in another directory: */
	SIZE_BESIDE, /* stat answers an old size */
	BYTES_BESIDE, /* a read finds zeros */
	NAME_BESIDE, /* a list lacks a name */
};

struct mutant {
	struct as_vfs vfs;
	struct as_vfs *inner;
	enum mistake mistake;
	bool appends[16];
	struct as_outcome last; /* of a stat; payload none: there was none */
	char last_path[64];
};

static void inner_exec(struct mutant *m, const struct as_op *op, struct as_outcome *out)
{
	memset(out, 0, sizeof(*out));
	m->inner->ops->op[op->code](m->inner, op, out);
}

/* Time for another thread to come between: the error that is to be found. */
static void window(void)
{
	struct timespec ts = { 0, 50000 };

	nanosleep(&ts, NULL);
}

static void rename_in_two(struct mutant *m, const struct as_op *op, struct as_outcome *out)
{
	struct as_op link = *op, unlink = as_op_make(AS_OP_UNLINK);

	link.code = AS_OP_HARDLINK;
	unlink.path = op->path;
	inner_exec(m, &link, out);
	if (out->ret < 0) {
		inner_exec(m, op, out);
		return;
	}
	window();
	inner_exec(m, &unlink, out);
}

static void write_at_size(struct mutant *m, const struct as_op *op, struct as_outcome *out)
{
	struct as_op stat = as_op_make(AS_OP_FSTAT), write = *op;

	stat.fd = op->fd;
	inner_exec(m, &stat, out);
	write.code = AS_OP_PWRITE;
	write.off = (int64_t)out->st.size;
	window();
	inner_exec(m, &write, out);
}

static void stat_stale(struct mutant *m, const struct as_op *op, struct as_outcome *out)
{
	bool again = m->last.payload == AS_PAYLOAD_STAT && !strcmp(m->last_path, op->path);

	if (again) {
		*out = m->last;
		m->last.payload = AS_PAYLOAD_NONE;
		return;
	}
	inner_exec(m, op, out);
	m->last = *out;
	snprintf(m->last_path, sizeof(m->last_path), "%s", op->path);
}

static void look_then_rename(struct mutant *m, const struct as_op *op, struct as_outcome *out)
{
	struct as_op stat = as_op_make(AS_OP_STAT), rename = *op;

	stat.path = op->path2;
	stat.nofollow = 1;
	inner_exec(m, &stat, out);
	if (out->ret >= 0) {
		inner_exec(m, op, out);
		return;
	}
	rename.code = AS_OP_RENAME;
	window();
	inner_exec(m, &rename, out);
}

static void mkdir_twice(struct mutant *m, const struct as_op *op, struct as_outcome *out)
{
	struct as_op stat = as_op_make(AS_OP_STAT);

	stat.path = op->path;
	inner_exec(m, &stat, out);
	if (out->ret >= 0) {
		inner_exec(m, op, out);
		return;
	}
	window();
	inner_exec(m, op, out);
	if (out->ret < 0 && out->err == EEXIST)
		as_vfs_answer(out, 0);
}

/* Calls that are under way, in all threads, and change something of the kind that the wrong answer
 * is about. */
static atomic_uint changing;

static void change_slowly(struct mutant *m, const struct as_op *op, struct as_outcome *out)
{
	enum as_changes kind = m->mistake == NAME_BESIDE ? AS_CHANGES_NAMES : AS_CHANGES_DATA;
	bool changes = op->code != AS_OP_OPEN && as_op_table[op->code].changes & kind;

	inner_exec(m, op, out);
	changes = changes && out->ret >= 0;
	atomic_fetch_add(&changing, changes);
	window();
	atomic_fetch_sub(&changing, changes);
}

/* A wrong answer, but only while somebody else changes something. */
static void answer_beside(struct mutant *m, const struct as_op *op, struct as_outcome *out)
{
	inner_exec(m, op, out);
	if (!atomic_load(&changing) || out->ret < 0)
		return;
	if (m->mistake == SIZE_BESIDE && out->payload == AS_PAYLOAD_STAT) {
		out->st.size /= 2;
	} else if (m->mistake == BYTES_BESIDE && out->payload == AS_PAYLOAD_BYTES && out->len) {
		memset((void *)out->data, 0, out->len);
	} else if (m->mistake == NAME_BESIDE && out->payload == AS_PAYLOAD_NAMES && out->ret) {
		out->len -= strlen((const char *)out->data + out->len - 2) + 2;
		out->ret--;
	}
}

static void mutant_op(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct mutant *m = (struct mutant *)vfs;
	struct as_op open = *op;

	if (m->mistake == RENAME_IN_TWO && op->code == AS_OP_RENAME)
		return rename_in_two(m, op, out);
	if (m->mistake == LOST_APPEND && op->code == AS_OP_OPEN && op->slot >= 0) {
		m->appends[op->slot] = op->flags & O_APPEND;
		open.flags &= ~(int64_t)O_APPEND;
		return inner_exec(m, &open, out);
	}
	if (m->mistake == LOST_APPEND && op->code == AS_OP_WRITE && m->appends[op->fd])
		return write_at_size(m, op, out);
	if (m->mistake == STALE_STAT && op->code == AS_OP_STAT)
		return stat_stale(m, op, out);
	if (m->mistake == CHECK_THEN_RENAME && op->code == AS_OP_RENAME2)
		return look_then_rename(m, op, out);
	if (m->mistake == MKDIR_TWICE && op->code == AS_OP_MKDIR)
		return mkdir_twice(m, op, out);
	if (m->mistake < SIZE_BESIDE)
		return inner_exec(m, op, out);
	if (as_op_table[op->code].reads != AS_READS_NOTHING)
		return answer_beside(m, op, out);
	change_slowly(m, op, out);
}

static void mutant_free(struct as_vfs *vfs)
{
	as_vfs_free(((struct mutant *)vfs)->inner);
	free(vfs);
}

static struct as_vfs *mutant_another(const struct as_vfs *vfs);

static const struct as_vfs_ops mutant_ops = {
	.api = AS_VFS_API,
	.name = "a mutant",
	.op = {
#define OP(id, ...) [AS_OP_##id] = mutant_op,
#include "work/op.def"
#undef OP
	},
	.free = mutant_free,
	.another = mutant_another,
};

static struct as_vfs *mutant_new(struct as_vfs *inner, enum mistake mistake)
{
	struct mutant *m = as_xcalloc(1, sizeof(*m));

	m->vfs.ops = &mutant_ops;
	m->inner = inner;
	m->mistake = mistake;
	return &m->vfs;
}

static struct as_vfs *mutant_another(const struct as_vfs *vfs)
{
	const struct mutant *m = (const struct mutant *)vfs;

	return mutant_new(m->inner->ops->another(m->inner), m->mistake);
}

/* ---- Many runs in a confined child ----------------------------------------------------------- */

struct trial {
	const char *folder, *text;
	enum mistake mistake;
	unsigned threads, max_runs;
	struct as_traits traits;
	struct told {
		unsigned runs, found, gave_up, overlaps;
		char signature[256], why[1024], detail[8192];
	} * told; /* shared */
};

static unsigned count_overlaps(const struct as_race_history *h)
{
	unsigned n = 0;

	for (size_t i = 0; i < h->n; i++)
		for (size_t k = i + 1; k < h->n; k++)
			n += h->calls[i].begin < h->calls[k].end &&
			     h->calls[k].begin < h->calls[i].end;
	return n;
}

static void race_once(struct trial *t, struct as_vfs *inner, const struct as_model *first,
		      const struct as_seq *form, unsigned i)
{
	struct as_race_options options = { .threads = t->threads, .delay_us = 60 };
	struct as_op prune = as_op_make(AS_OP_PRUNE);
	struct as_vfs *mutant = mutant_new(inner, t->mistake);
	struct as_race_run run = { .form = form,
				   .options = &options,
				   .seed = as_race_seed(&options, 1, i),
				   .delays = i,
				   .vfs = t->mistake ? mutant : inner };
	struct as_race_history history;
	struct as_race_verdict verdict;
	struct as_outcome got;
	struct as_err err = { 0 };

	prune.path = "/";
	as_vfs_exec(inner, &prune, &got);
	as_assert(got.ret >= 0);
	as_assert(!as_race_run(&run, &history, &err));
	as_race_judge(&history, first, inner, NULL, &verdict);
	t->told->runs++;
	t->told->overlaps += count_overlaps(&history);
	t->told->gave_up += verdict.gave_up;
	if (!verdict.last && !verdict.gave_up && !t->told->found++) {
		struct as_buf detail = { 0 };

		as_race_describe(&history, verdict.guilty, 60, &detail);
		snprintf(t->told->signature, sizeof(t->told->signature), "%s",
			 as_buf_str(&verdict.signature));
		snprintf(t->told->why, sizeof(t->told->why), "%s: %s", verdict.about,
			 as_buf_str(&verdict.why));
		snprintf(t->told->detail, sizeof(t->told->detail), "%s", as_buf_str(&detail));
		as_buf_free(&detail);
	}
	as_race_verdict_free(&verdict);
	as_race_history_free(&history);
	free(mutant);
}

static int race_many(void *ctx)
{
	struct trial *t = ctx;
	struct as_seq *seq, *form;
	struct as_vfs *inner;
	struct as_model *first = as_model_new(&t->traits);
	struct as_err err = { 0 };
	struct as_stat st;

	if (as_parse_text("race", t->text, strlen(t->text), &seq, &err) ||
	    as_vfs_sys_new(t->folder, &inner, &err)) {
		snprintf(t->told->why, sizeof(t->told->why), "%s", err.msg);
		return 77;
	}
	as_assert(!as_vfs_tree(inner)->stat(inner, "/", &st));
	as_model_adopt(first, "/", &st);
	form = as_race_form(seq, first, false, NULL);
	for (unsigned i = 0; i < t->max_runs && !t->told->found; i++)
		race_once(t, inner, first, form, i);
	as_vfs_free(inner);
	as_seq_free(form);
	as_seq_free(seq);
	as_model_free(first);
	return 0;
}

static void try_many(struct trial *t)
{
	const char *folder = t_tmpdir_in("/dev/shm");
	char spec[64];
	struct as_target *target;
	struct as_ended ended;
	struct as_err err = { 0 };
	struct statfs sfs;

	if (!folder)
		skip_because("no folder in /dev/shm: %s", strerror(errno));
	assert_int_equal(statfs(folder, &sfs), 0);
	snprintf(spec, sizeof(spec), "dir:%s", folder);
	assert_int_equal(as_target_open(spec, &target, &err), 0);
	as_run_traits(target, &t->traits);
	t->folder = folder;
	t->told = as_shared_alloc(sizeof(*t->told));
	assert_int_equal(as_spawn_fork(race_many, t, 120000, NULL, &ended, &err), 0);
	as_target_free(target);
	t_tmpdir_remove(folder);
	if (ended.how == AS_END_EXIT && ended.status == 77)
		skip_because("%s", t->told->why);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 0);
}

static void end_trial(struct trial *t)
{
	as_shared_free(t->told, sizeof(*t->told));
}

/* ---- The subjects ---------------------------------------------------------------------------- */

#define RENAMES                                                                            \
	"create /a 0644\nstat /a\nrename /a /b\nstat /b\nstat /a\nstat /b\nrename /b /c\n" \
	"stat /c\nstat /b\nstat /a\nrename /c /a\nstat /a\n"
#define APPENDS                                                                           \
	"$0 = open /a O_WRONLY|O_CREAT|O_APPEND 0644\nwrite $0 len=7\nwrite $0 len=5\n"   \
	"$1 = open /a O_WRONLY|O_CREAT|O_APPEND 0644\nwrite $1 len=11\nwrite $1 len=3\n"  \
	"$2 = open /a O_WRONLY|O_CREAT|O_APPEND 0644\nwrite $2 len=13\nwrite $2 len=17\n" \
	"$3 = open /a O_WRONLY|O_CREAT|O_APPEND 0644\nwrite $3 len=19\nwrite $3 len=23\n" \
	"$4 = open /a O_WRONLY|O_CREAT|O_APPEND 0644\nwrite $4 len=29\nwrite $4 len=31\n"
#define STATS                                                                                 \
	"create /a 0644\nstat /a\nstat /a\nchmod /a 0600\nstat /a\nhardlink /a /b\nstat /a\n" \
	"unlink /a\nstat /a\nstat /b\ncreate /a 0640\nstat /a\nstat /b\nunlink /b\nstat /b\n"
#define NOREPLACE                                                                          \
	"create /a 0600\ncreate /b 0640\ncreate /c 0644\nrename2 /a /d RENAME_NOREPLACE\n" \
	"rename2 /b /d RENAME_NOREPLACE\nrename2 /c /d RENAME_NOREPLACE\nstat /d\n"
#define MKDIRS                                                                                  \
	"mkdir /a 0755\nmkdir /a 0755\nrmdir /a\nmkdir /a 0755\nmkdir /b 0755\nmkdir /b 0755\n" \
	"mkdir /b 0755\nstat /a\nmkdir /a 0755\nmkdir /a 0755\nrmdir /b\n"
/* Directories that move beneath those who walk through them. */
#define WALKS                                                                                   \
	"mkdir /a 0755\nmkdir /b 0755\ncreate /a/x 0644\nrename /a /c\nstat /a/x\nstat /c/x\n"  \
	"rename /b /a\ncreate /a/x 0600\nhardlink /a/x /c/y\nrename /a/x /c/x\nrmdir /a\n"      \
	"$0 = open /c/x O_RDWR|O_CREAT|O_TRUNC 0644\nwrite $0 len=100 fill=3\nunlink /c/x\n"    \
	"symlink /c /l\nstat /l/x\n$1 = open /l/x O_RDWR|O_CREAT 0644\nread $1 len=4096\n"      \
	"rename /c /b\nrename /b /c\ntruncate /c/x 50\nfstat $0\nreaddir /c\nchmod /l/y 0600\n" \
	"mkdir /c/d 0755\nrename /c/d /a\nwrite $1 len=5000 fill=4\nfstat $1\nrmdir /a\n"

/* Each file has one thread, and each directory one that changes it. */
#define BESIDES                                                                                 \
	"mkdir /d 0755\ncreate /d/x 0644\ncreate /d/y 0644\nmkdir /e 0755\n"                    \
	"$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=5000 at=0 fill=1\nfstat $0\n"          \
	"$1 = open /b O_RDWR|O_CREAT 0644\npwrite $1 len=9000 at=0 fill=2\nfstat $1\n"          \
	"pread $0 len=5000 at=0\npwrite $1 len=9000 at=9000 fill=3\npread $0 len=300 at=40\n"   \
	"readdir /d\ncreate /e/1 0644\nreaddir /d\ncreate /e/2 0644\nreaddir /d\nunlink /e/1\n" \
	"fstat $0\npwrite $1 len=400 at=70 fill=4\nfstat $0\npread $1 len=9000 at=100\n"        \
	"readdir /d\nftruncate $1 10\nfstat $1\nreaddir /e\nfstat $0\nunlink /e/2\n"

static void kernels_pass(void **state)
{
	static const char *const texts[] = { RENAMES, APPENDS, STATS,  NOREPLACE,
					     MKDIRS,  WALKS,   BESIDES };
	unsigned overlaps = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct trial t = { .text = texts[i],
				   .threads = 2 + (unsigned)(i % 3),
				   .max_runs = CLEAN_RUNS };

		try_many(&t);
		if (t.told->found)
			fail_msg("%zu: %s\n%s", i, t.told->why, t.told->detail);
		assert_int_equal(t.told->runs, CLEAN_RUNS);
		assert_int_equal(t.told->gave_up, 0);
		overlaps += t.told->overlaps;
		print_message("%zu: %u runs, %u pairs of calls overlapped\n", i, t.told->runs,
			      t.told->overlaps);
		end_trial(&t);
	}
	/* They were races. */
	assert_true(overlaps > CLEAN_RUNS / 10);
}

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *name, *text;
		enum mistake mistake;
	} rows[] = {
		{ "rename in two steps", RENAMES, RENAME_IN_TWO },
		{ "a lost append", APPENDS, LOST_APPEND },
		{ "a stale stat", STATS, STALE_STAT },
		{ "look, then rename", NOREPLACE, CHECK_THEN_RENAME },
		{ "two who made one directory", MKDIRS, MKDIR_TWICE },
		{ "a wrong size beside a change elsewhere", BESIDES, SIZE_BESIDE },
		{ "wrong bytes beside a change elsewhere", BESIDES, BYTES_BESIDE },
		{ "a name missing beside a change elsewhere", BESIDES, NAME_BESIDE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct trial t = { .text = rows[i].text,
				   .mistake = rows[i].mistake,
				   .threads = 3,
				   .max_runs = MUTANT_RUNS };

		try_many(&t);
		if (!t.told->found)
			fail_msg("%s: not found in %u runs", rows[i].name, t.told->runs);
		print_message("%s: found in run %u: %s\n", rows[i].name, t.told->runs, t.told->why);
		assert_memory_equal(t.told->signature, "race: ", 6);
		end_trial(&t);
	}
}

/* ---- Forms, splits, parameters --------------------------------------------------------------- */

static const struct as_traits plain = {
	.name = "test",
	.features = ~(uint64_t)(AS_FEAT_UNPRIVILEGED | AS_FEAT_LIBRARY),
	.name_max = 255,
	.symlink_max = 4095,
	.size_max = INT64_MAX,
	.time_granularity_ns = 1,
};

static struct as_seq *form_of(const char *text, uint64_t *left_out)
{
	struct as_model *first = as_model_new(&plain);
	struct as_seq *seq, *form, *again;
	struct as_err err;

	assert_int_equal(as_parse_text("form", text, strlen(text), &seq, &err), 0);
	form = as_race_form(seq, first, false, left_out);
	again = as_race_form(form, first, false, NULL);
	assert_true(as_seq_equal(form, again));
	as_seq_free(again);
	as_seq_free(seq);
	as_model_free(first);
	return form;
}

static void forms(void **state)
{
	static const struct {
		const char *text, *want;
		uint64_t left_out;
	} rows[] = {
		{ "mkdir a 0755\nchcwd a\ncreate ../b 0644\ncreate ./x//y/ 0644\nsymlink ../b l\n",
		  "mkdir /a 0755\ncreate /b 0644\ncreate /a/x/y 0644\nsymlink ../b /a/l\n", 1 },
		{ "sync\nremount\numount\nmount\ncrash\nmkdir /a 0755\n", "mkdir /a 0755\n", 5 },
		{ "mkdir /a 0755\ncreate /a/f 0644\nmkdir /a/d 0755\n"
		  "mkdir /a/d/e 0755\nremove /a\n",
		  "mkdir /a 0755\ncreate /a/f 0644\nmkdir /a/d 0755\nmkdir /a/d/e 0755\n"
		  "unlink /a/f\nrmdir /a/d/e\nrmdir /a/d\nrmdir /a\n",
		  0 },
		{ "create /f 0644\nremove /f\nprune /f\nremove /g\n",
		  "create /f 0644\nunlink /f\ntruncate /f 0\nunlink /g\n", 0 },
		/* Nothing is in it that could be sorted. */
		{ "mkdir /a 0755\nprune /a\nremove /a\n", "mkdir /a 0755\nrmdir /a\n", 0 },
		{ "mkdir /a 0755\nmkdir /a/e1 0755\nenlarge /a 2\ndeepen /a 2\n",
		  "mkdir /a 0755\nmkdir /a/e1 0755\nmkdir /a/e0 0755\nmkdir /a/e2 0755\n"
		  "mkdir /a/d 0755\nmkdir /a/d/d 0755\n",
		  0 },
		{ "create /f 0644\nenlarge /f 100\n", "create /f 0644\ntruncate /f 100\n", 0 },
		{ "$0 = open /f O_RDWR|O_CREAT|O_DIRECT|O_APPEND 0644\nwrite $0 len=9 fill=7\n"
		  "mmap_write $0 len=4 at=1 fill=7\nmmap $0 len=4096 at=0\n",
		  "$0 = open /f O_RDWR|O_CREAT|O_APPEND 0644\nwrite $0 len=9\n"
		  "mmap_write $0 len=4 at=1 fill=7\nmmap $0 len=4096 at=0\n",
		  0 },
		{ "mknod /p fifo 0644\nmknod /c chr 0600 dev=1:3\nutimens /p atime=5 mtime=omit\n",
		  "mknod /p sock 0644\nmknod /c sock 0600\nutimens /p mtime=omit\n", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf text = { 0 };
		uint64_t left_out;
		struct as_seq *form = form_of(rows[i].text, &left_out);

		as_print_seq(form, &text);
		assert_string_equal(as_buf_str(&text), rows[i].want);
		assert_int_equal(left_out, rows[i].left_out);
		as_buf_free(&text);
		as_seq_free(form);
	}
}

/* Who does what depends on the operation, not on its neighbours, and slots stay with one. */
static void splits(void **state)
{
	struct as_seq *form = form_of(WALKS APPENDS WALKS, NULL);
	uint8_t *whole = as_xcalloc(form->n, 1), *part = as_xcalloc(form->n, 1);
	bool *keep = as_xcalloc(form->n, sizeof(*keep));
	unsigned seen = 0;

	(void)state;
	for (uint64_t seed = 1; seed < 50; seed++) {
		int owner[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
		size_t before = as_race_split(form, 3, seed, whole), kept = 0;
		struct as_seq *half;

		assert_true(before <= form->n / 3);
		/* The first half of each pair of equal texts must stay for the second to stay. */
		for (size_t i = 0; i < form->n; i++)
			keep[i] = i < form->n / 2;
		half = as_seq_subset(form, keep);
		as_race_split(half, 3, seed, part);
		for (size_t i = 0; i < form->n; i++) {
			const struct as_op *op = &form->ops[i];
			int32_t slot = op->code == AS_OP_OPEN ? op->slot : op->fd;

			assert_true(whole[i] < 3);
			seen |= 1u << whole[i];
			if (keep[i])
				assert_int_equal(whole[i], part[kept++]);
			if (slot < 0)
				continue;
			assert_true(owner[slot] < 0 || owner[slot] == whole[i]);
			owner[slot] = whole[i];
		}
		as_seq_free(half);
	}
	assert_int_equal(seen, 7);
	free(whole);
	free(part);
	free(keep);
	as_seq_free(form);
}

static void parameters(void **state)
{
	static const char *const bad[] = { "threads=1",	 "threads=99", "threads=", "thread=3",
					   "repeat=0",	 "delay=-1",   "seed=x",   "3",
					   "threads=3x", "seed=1e3" };
	struct as_race_options o;
	struct as_buf text = { 0 };
	struct as_err err;

	(void)state;
	assert_int_equal(as_race_parse("", &o, &err), 0);
	assert_int_equal(o.threads, AS_RACE_THREADS);
	assert_int_equal(o.repeat, AS_RACE_REPEAT);
	assert_int_equal(o.seed, 0);
	assert_int_equal(as_race_parse("seed=77,threads=5,delay=0", &o, &err), 0);
	as_race_print(&o, &text);
	assert_string_equal(as_buf_str(&text), "threads=5,repeat=10,delay=0,seed=77");
	assert_int_equal(as_race_seed(&o, 1, 3), 77);
	as_buf_free(&text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(as_race_parse(bad[i], &o, &err), AS_EUSE);
		assert_non_null(strstr(err.msg, "race: "));
	}
	o.seed = 0;
	assert_int_not_equal(as_race_seed(&o, 1, 3), as_race_seed(&o, 1, 4));
	assert_int_equal(as_race_seed(&o, 1, 3), as_race_seed(&o, 1, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(splits),
		cmocka_unit_test(parameters),
		cmocka_unit_test(kernels_pass),
		cmocka_unit_test(mutants_are_caught),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
