/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules against a file system that keeps them: random workloads on labfs, cut at every point,
 * with any subset of what was pending; every tree that a mount then shows must be legal. And labfs
 * with a flush left out, or a bug, is not.
 */
#include "tests/lib/chance.h"

#include "disk/cow.h"
#include "disk/log.h"
#include "host/medium.h"
#include "legal/legal.h"
#include "target/target.h"
#include "vfs/lib_new.h"
#include "vfs/traits.h"
#include "work/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define DISK_BYTES (1u << 20)

struct lab {
	struct as_target *target;
	struct as_traits traits;
	struct as_policy policy;
	struct as_chooser *chance; /* of the library */
	struct as_choice *c; /* ours */
	struct as_host_log log;
	struct as_host_mem *host;
	struct as_chunks *chunks;
	struct as_disk *fresh;
	struct as_model *model;
	unsigned states, illegal;
	struct as_buf first; /* complaint */
};

static struct as_vfs *vfs_on(struct lab *lab, struct as_bd *bd)
{
	return as_vfs_lib_new(&(struct as_lib_args){ .ops = as_target_library(lab->target),
						     .host = lab->host,
						     .bd = bd,
						     .opts = as_target_opts(lab->target),
						     .name_max = lab->traits.name_max,
						     .size_max_bytes = lab->traits.size_max });
}

static void lab_open(struct lab *lab, const char *spec)
{
	struct as_err err = { 0 };
	struct as_mount_args args = { .opts = "" };
	struct as_vfs *vfs;
	struct as_stat st;

	memset(lab, 0, sizeof(*lab));
	assert_int_equal(as_target_open(spec, &lab->target, &err), 0);
	as_run_traits(lab->target, &lab->traits);
	lab->policy = as_policy_of(lab->target);
	lab->chance = as_chooser_seeded(1);
	lab->host = as_host_new(as_chooser_choice(lab->chance), &lab->log);
	lab->chunks = as_chunks_new();
	assert_int_equal(as_disk_new(lab->chunks, DISK_BYTES, &lab->fresh, &err), 0);
	args.host = as_host_seam(lab->host);
	args.bd = as_disk_bd(lab->fresh);
	assert_int_equal(as_target_library(lab->target)->mkfs(&args), 0);
	/* The model learns what a fresh one holds. */
	lab->model = as_model_new(&lab->traits);
	vfs = vfs_on(lab, as_disk_bd(lab->fresh));
	assert_int_equal(as_vfs_lib_mount(vfs, ""), 0);
	assert_int_equal(as_vfs_tree(vfs)->stat(vfs, "/", &st), 0);
	as_model_adopt(lab->model, "/", &st);
	assert_int_equal(as_vfs_tree(vfs)->stat(vfs, "/lost+found", &st), 0);
	as_model_adopt(lab->model, "/lost+found", &st);
	assert_int_equal(as_vfs_lib_unmount(vfs), 0);
	as_vfs_free(vfs);
}

static void lab_close(struct lab *lab)
{
	as_model_free(lab->model);
	as_disk_free(lab->fresh);
	as_chunks_free(lab->chunks);
	as_host_free(lab->host);
	as_chooser_free(lab->chance);
	as_target_free(lab->target);
	as_buf_free(&lab->first);
}

/* ---- One crash state ---- */

static void judge_disk(struct lab *lab, struct as_history *h, struct as_moment moment,
		       struct as_disk *disk)
{
	struct as_legal verdict = { 0 };
	struct as_buf why = { 0 };
	struct as_tree *tree = NULL;
	struct as_vfs *vfs = vfs_on(lab, as_disk_bd(disk));

	lab->states++;
	if (as_vfs_lib_mount(vfs, "") != 0) {
		as_buf_adds(&why, "mount failed");
	} else if (as_tree_capture(as_vfs_tree(vfs), vfs, &tree, &why) == 0 &&
		   !as_legal_judge(h, moment, tree, &verdict)) {
		as_buf_addf(&why, "%s: %s", as_rule_name(verdict.rule), as_buf_str(&verdict.why));
	}
	assert_false(verdict.unjudged);
	if (why.len) {
		lab->illegal++;
		if (!lab->first.len) {
			as_buf_addf(&lab->first, "crash after %zu operations: %s\n", moment.done,
				    as_buf_str(&why));
			if (tree)
				as_tree_print(tree, &lab->first);
		}
	}
	as_vfs_lib_abandon(vfs);
	as_vfs_free(vfs);
	as_tree_put(tree);
	as_legal_free(&verdict);
	as_buf_free(&why);
}

/* Which of n pending ones arrive, in the trial'th state; false: no more. */
static bool choose(struct lab *lab, size_t n, unsigned trial, bool *keep)
{
	if (n <= 4) {
		for (size_t i = 0; i < n; i++)
			keep[i] = trial >> i & 1;
		return trial < 1u << n;
	}
	for (size_t i = 0; i < n; i++)
		keep[i] = trial == 0 ? false : trial == 1 ? true : as_choose(lab->c, 2);
	return trial < 8;
}

#define PENDING_MAX 4096

/* A power cut after a write or a flush: what a flush covers is there, the writes since may be. */
struct lab_cut {
	size_t at; /* entries 0..at-1 were issued */
	size_t base_end; /* the writes among entries 0..base_end-1 are stable */
	size_t pending[PENDING_MAX], n_pending;
	uint32_t op; /* of entry at-1 */
};

/* The next one; `cut` begins as zeros, which is the cut before the first write. */
static bool next_cut(const struct as_reclog *log, struct lab_cut *cut)
{
	while (cut->at < as_reclog_len(log)) {
		size_t i = cut->at++;
		const struct as_log_entry *entry = as_reclog_at(log, i);

		cut->op = entry->op;
		if (as_log_entry_changes(entry)) {
			assert_true(cut->n_pending < PENDING_MAX);
			cut->pending[cut->n_pending++] = i;
			return true;
		}
		if (entry->kind == AS_CALL_FLUSH && !entry->ret) {
			cut->base_end = i + 1;
			cut->n_pending = 0;
			return true;
		}
	}
	return false;
}

static struct as_moment moment_of(const struct as_reclog *log, const struct lab_cut *cut, size_t n)
{
	uint32_t op = cut->at ? cut->op : AS_RECLOG_NO_OP, next;

	if (cut->at == as_reclog_len(log))
		return (struct as_moment){ n, n, 0 };
	next = as_reclog_at(log, cut->at)->op;
	if (next == AS_RECLOG_NO_OP)
		return (struct as_moment){ 0, 0, 0 };
	if (op == next)
		return (struct as_moment){ op, op + 1, 0 };
	return (struct as_moment){ next, next, 0 };
}

static void crash_all(struct lab *lab, struct as_history *h, const struct as_reclog *log)
{
	struct lab_cut *cut = as_xcalloc(1, sizeof(*cut));
	struct as_disk *base = as_disk_snapshot(lab->fresh);
	struct as_err err = { 0 };
	size_t based = 0;

	do {
		struct as_moment moment = moment_of(log, cut, as_history_len(h));
		bool keep[PENDING_MAX];

		assert_int_equal(
			as_reclog_replay(log, based, cut->base_end, as_disk_bd(base), &err), 0);
		based = cut->base_end;
		for (unsigned trial = 0; choose(lab, cut->n_pending, trial, keep); trial++) {
			struct as_disk *disk = as_disk_snapshot(base);

			for (size_t i = 0; i < cut->n_pending; i++)
				if (keep[i])
					assert_int_equal(as_log_entry_apply(
								 as_reclog_at(log, cut->pending[i]),
								 as_disk_bd(disk)),
							 0);
			judge_disk(lab, h, moment, disk);
			as_disk_free(disk);
		}
	} while (next_cut(log, cut));
	as_disk_free(base);
	free(cut);
}

/* Runs a workload, as it is or `random` operations drawn from it, and crashes it. */
static void one_workload(struct lab *lab, const struct as_seq *letters, size_t random, size_t len)
{
	struct as_disk *disk = as_disk_snapshot(lab->fresh);
	struct as_reclog *log = as_reclog_new(as_disk_bd(disk), 0, 0);
	struct as_vfs *vfs = vfs_on(lab, as_reclog_bd(log));
	struct as_history *h = as_history_new(lab->model, &lab->policy);
	struct as_buf text = { 0 };
	unsigned before = lab->illegal;

	as_reclog_set_op(log, AS_RECLOG_NO_OP);
	assert_int_equal(as_vfs_lib_mount(vfs, ""), 0);
	for (size_t i = 0; i < (random ? random : len); i++) {
		const struct as_op *op =
			&letters->ops[random ? as_choose(lab->c, (unsigned)letters->n) : i];
		struct as_outcome out;

		as_reclog_set_op(log, (uint32_t)i);
		as_vfs_exec(vfs, op, &out);
		as_buf_addf(&text, "%zu ", i);
		as_print_op(op, &text);
		as_buf_addc(&text, ' ');
		as_outcome_print(&out, &text);
		as_buf_addc(&text, '\n');
		if (!as_history_add(h, op, &out))
			fail_msg("the model does not agree:\n%s", as_buf_str(&text));
	}
	crash_all(lab, h, log);
	if (lab->illegal && !before)
		as_buf_adds(&lab->first, as_buf_str(&text));
	as_vfs_lib_abandon(vfs);
	as_vfs_free(vfs);
	as_reclog_free(log);
	as_disk_free(disk);
	as_history_free(h);
	as_buf_free(&text);
}

/* Until something is found, or `most` workloads. */
static void hunt(struct lab *lab, uint64_t seed, unsigned most, size_t len)
{
	struct as_seq *letters = t_chance_letters();
	struct as_chooser *chance = as_chooser_seeded(seed);

	lab->c = as_chooser_choice(chance);
	for (unsigned i = 0; i < most && !lab->illegal; i++)
		one_workload(lab, letters, len, 0);
	as_chooser_free(chance);
	as_seq_free(letters);
}

static void test_clean(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "lab");
	hunt(&lab, 1, 3000, 30);
	if (lab.illegal)
		fail_msg("%u states: %s", lab.states, as_buf_str(&lab.first));
	print_message("%u crash states\n", lab.states);
	lab_close(&lab);
}

/* What a crash shows of a bug: the words that the first report must have. */
static const struct {
	const char *spec, *workload, *words;
} bugs[] = {
	{ "lab:bug=26", "mkdir /a 0755\ncreate /f 0644\nsync\nrename /f /a/g\nsync\n",
	  "rename: op 4 (rename /f /a/g) is half done: recovered tree has the same file as /f and "
	  "as /a/g" },
	{ "lab:bug=27", "create /f 0644\nmkdir /a 0755\nsync\nrename /f /a/g\nsync\n",
	  "rename: op 4 (rename /f /a/g) is half done: recovered tree has neither /f nor /a/g" },
	{ "lab:bug=28", "create /f 0644\nsync\nhardlink /f /g\nsync\n",
	  "links: /f has link count 1, but 2 names" },
	/* Both names of the rename are there, since the old one was made again. */
	{ "lab:bug=28", "create /g 0644\nsync\nrename /g /h\nhardlink /h /g\nsync\n",
	  "links: /g has link count 1, but 2 names" },
	{ "lab:bug=29", "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nhardlink /f /g\nfsync $0\n",
	  "persisted: after fsync of /f at op 4, /f must have 2 links; recovered tree has 1" },
	{ "lab:bug=30",
	  "mkdir /a 0755\n$0 = open /a O_RDONLY|O_DIRECTORY\ncreate /a/f 0644\nfsync $0\n",
	  "persisted: after fsync of /a at op 4, /a must exist; recovered tree has no /a" },
	{ "lab:bug=31",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nfallocate $0 0 at=0 len=8192\nfsync $0\n",
	  "size: after fsync of /f at op 4, /f must have at least 8192 bytes; recovered tree has "
	  "0" },
	{ "lab:bug=32",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nwrite_xattr /f user.k len=9 fill=1\nfsync $0\n",
	  "persisted: after fsync of /f at op 4, /f must have the attribute user.k" },
	{ "lab:bug=33",
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=1\nsync\n"
	  "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=1024 len=2048\nfsync $0\n",
	  "data: after fsync of /f at op 5, byte 1024 of /f must be what it was then or became "
	  "since; recovered tree has what was there before" },
	{ "lab:bug=34",
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=1\nsync\nclose $0\n"
	  "unlink /f\n$0 = open /g O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=2\nsync\n",
	  "foreign: byte 0 of /f was never written there: recovered tree has data of /g" },
	{ "lab:noflush=COMMIT", "create /f 0644\nsync\n",
	  "persisted: after sync at op 2, /f must exist; recovered tree has no /f" },
};

static struct as_seq *parsed(const char *text)
{
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text("test", text, strlen(text), &seq, &err))
		fail_msg("%s", err.msg);
	return seq;
}

static void test_bugs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
		struct as_chooser *chance = as_chooser_seeded(1);
		struct as_seq *seq = parsed(bugs[i].workload);
		struct lab lab;

		lab_open(&lab, bugs[i].spec);
		lab.c = as_chooser_choice(chance);
		one_workload(&lab, seq, 0, seq->n);
		if (!strstr(as_buf_str(&lab.first), bugs[i].words))
			fail_msg("%s: %u of %u states: %s", bugs[i].spec, lab.illegal, lab.states,
				 as_buf_str(&lab.first));
		lab_close(&lab);
		/* And without it, all is well. */
		lab_open(&lab, "lab");
		lab.c = as_chooser_choice(chance);
		one_workload(&lab, seq, 0, seq->n);
		if (lab.illegal)
			fail_msg("%s", as_buf_str(&lab.first));
		lab_close(&lab);
		as_chooser_free(chance);
		as_seq_free(seq);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_bugs),
	};

	return cmocka_run_group_tests_name("legal lab", tests, NULL, NULL);
}
