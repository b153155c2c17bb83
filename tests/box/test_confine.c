/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Confinement of the executor for system calls. Hostile workloads (hostile.def) run in a tree with
 * canaries around it, as root and, through a user namespace, as an ordinary user: nothing outside
 * is changed or made, no answer tells anything about it, no node is left that could be opened. A
 * second process renames what remove and its like are in: they do not follow. Bounds are kept
 * before anything is changed.
 */
#include "tests/lib/skip.h"

#include "os/spawn.h"
#include "tests/lib/tmpdir.h"
#include "vfs/bounds.h"
#include "vfs/sys_new.h"
#include "work/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECRET "the secret of the canary"
#define NOBODY 65534
#define RACES 150

/* ---- A tree with canaries around ------------------------------------------------------------ */

struct place {
	const char *out;
	char tree[80], canary[80], secret[80], file[96];
};

static void write_file(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(SECRET, f);
	fclose(f);
}

static void build(struct place *p, bool as_nobody)
{
	p->out = t_tmpdir_in("/tmp"); /* nobody must reach it */
	assert_non_null(p->out);
	snprintf(p->tree, sizeof(p->tree), "%s/tree", p->out);
	snprintf(p->canary, sizeof(p->canary), "%s/canary", p->out);
	snprintf(p->secret, sizeof(p->secret), "%s/secret", p->out);
	snprintf(p->file, sizeof(p->file), "%s/file", p->secret);
	assert_int_equal(mkdir(p->tree, 0755), 0);
	assert_int_equal(mkdir(p->secret, 0750), 0);
	write_file(p->canary);
	write_file(p->file);
	if (!as_nobody)
		return;
	/* His own: only the confinement stands before them. */
	assert_int_equal(chown(p->out, NOBODY, NOBODY), 0);
	assert_int_equal(chown(p->tree, NOBODY, NOBODY), 0);
	assert_int_equal(chown(p->secret, NOBODY, NOBODY), 0);
	assert_int_equal(chown(p->canary, NOBODY, NOBODY), 0);
	assert_int_equal(chown(p->file, NOBODY, NOBODY), 0);
}

/* All there is to know of what is outside, but its access times. */
static void snapshot(const struct place *p, struct as_buf *to)
{
	const char *const paths[] = { p->out, p->canary, p->secret, p->file };

	for (size_t i = 0; i < 4; i++) {
		struct as_buf text = { 0 };
		struct stat st;
		DIR *dir;

		assert_int_equal(stat(paths[i], &st), 0);
		as_buf_addf(to, "%s %o %u:%u %llu links %llu bytes %lld.%09ld\n", paths[i],
			    st.st_mode, st.st_uid, st.st_gid, (unsigned long long)st.st_nlink,
			    S_ISREG(st.st_mode) ? (unsigned long long)st.st_size : 0,
			    (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
		if (S_ISREG(st.st_mode)) {
			assert_int_equal(as_buf_read_file(&text, paths[i], 1000, NULL), 0);
			as_buf_adds(to, as_buf_str(&text));
			as_buf_free(&text);
			continue;
		}
		dir = opendir(paths[i]);
		assert_non_null(dir);
		for (struct dirent *e; (e = readdir(dir));)
			as_buf_addf(to, "%s ", e->d_name);
		closedir(dir);
	}
}

/* ---- Running in it -------------------------------------------------------------------------- */

struct child {
	const struct as_seq *seq;
	const char *tree;
	bool as_nobody;
	ino_t outside[4];
	struct as_err err;
	char leak[256];
};

static void listen(struct child *c, size_t i, const struct as_outcome *o)
{
	if (o->payload == AS_PAYLOAD_STAT)
		for (size_t k = 0; k < 4; k++)
			if (o->st.ino == c->outside[k])
				snprintf(c->leak, sizeof(c->leak), "op %zu met inode %llu", i + 1,
					 (unsigned long long)o->st.ino);
	if (o->payload == AS_PAYLOAD_BYTES && o->len >= strlen(SECRET) &&
	    memmem(o->data, o->len, SECRET, strlen(SECRET)))
		snprintf(c->leak, sizeof(c->leak), "op %zu read the secret", i + 1);
	for (size_t at = 0; o->payload == AS_PAYLOAD_NAMES && at < o->len;
	     at += strlen(o->data + at) + 1)
		if (!strcmp(o->data + at + 1, "canary") || !strcmp(o->data + at + 1, "secret"))
			snprintf(c->leak, sizeof(c->leak), "op %zu listed the canary", i + 1);
}

/* /proc/self is his own again only when he says so. */
static bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY) &&
	       !prctl(PR_SET_DUMPABLE, 1);
}

static int run_hostile(void *ctx)
{
	struct child *c = ctx;
	struct as_vfs *vfs;

	if (c->as_nobody && !become_nobody())
		return 2;
	if (as_vfs_sys_new(c->tree, &vfs, &c->err))
		return 3;
	for (size_t i = 0; i < c->seq->n; i++) {
		struct as_outcome o;

		as_vfs_exec(vfs, &c->seq->ops[i], &o);
		listen(c, i, &o);
	}
	as_vfs_free(vfs);
	return 0;
}

/* A node that can be opened would be a door. */
static int try_node(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	int fd;

	(void)type;
	(void)ftw;
	if (!S_ISCHR(st->st_mode) && !S_ISBLK(st->st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return 0;
	close(fd);
	fprintf(stderr, "%s can be opened\n", path);
	return 1;
}

static void hostile(const char *name, const char *workload, bool as_nobody)
{
	struct as_buf text = { 0 }, before = { 0 }, after = { 0 };
	struct child *c = as_shared_alloc(sizeof(*c));
	struct as_ended ended;
	struct as_seq *seq;
	struct as_err err;
	struct place p;
	struct stat st;
	const char *at;

	build(&p, as_nobody);
	for (; (at = strstr(workload, "@OUT@")); workload = at + 5)
		as_buf_addf(&text, "%.*s%s", (int)(at - workload), workload, p.out);
	as_buf_adds(&text, workload);
	if (as_parse_text(name, as_buf_str(&text), text.len, &seq, &err))
		fail_msg("%s", err.msg);
	c->seq = seq;
	c->tree = p.tree;
	c->as_nobody = as_nobody;
	c->outside[0] = stat(p.out, &st) ? 0 : st.st_ino;
	c->outside[1] = stat(p.canary, &st) ? 0 : st.st_ino;
	c->outside[2] = stat(p.secret, &st) ? 0 : st.st_ino;
	c->outside[3] = stat(p.file, &st) ? 0 : st.st_ino;
	snapshot(&p, &before);
	assert_int_equal(as_spawn_fork(run_hostile, c, 60000, NULL, &ended, &err), 0);
	if (ended.how != AS_END_EXIT || ended.status)
		fail_msg("%s: ended with %d: %s", name, ended.status, c->err.msg);
	snapshot(&p, &after);
	if (before.len != after.len || memcmp(before.data, after.data, before.len))
		fail_msg("%s: outside was\n%s\nand is\n%s", name, before.data, after.data);
	if (c->leak[0])
		fail_msg("%s: %s", name, c->leak);
	if (nftw(p.tree, try_node, 16, FTW_PHYS))
		fail_msg("%s: left a door", name);
	/* Whatever it left can be removed, and removing does not leave the tree either. */
	if (as_sys_remove_counted(AT_FDCWD, p.tree, &(uint64_t){ 0 }, &err))
		fail_msg("%s: %s", name, err.msg);
	assert_int_equal(mkdir(p.tree, 0755), 0);
	if (as_sys_remove_counted(AT_FDCWD, p.out, &(uint64_t){ 0 }, &err))
		fail_msg("%s: %s", name, err.msg);
	as_seq_free(seq);
	as_buf_free(&text);
	as_buf_free(&before);
	as_buf_free(&after);
	as_shared_free(c, sizeof(*c));
}

static const struct {
	const char *name, *workload;
} rows[] = {
#define HOSTILE(name, workload) { name, workload },
#include "hostile.def"
#undef HOSTILE
};

static void as_root(void **state)
{
	(void)state;
	if (geteuid())
		skip_because("needs root; the test through a user namespace does not");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		hostile(rows[i].name, rows[i].workload, false);
}

static int try_namespace(void *ctx)
{
	struct as_vfs *vfs;
	struct as_err err;

	if (!geteuid() && !become_nobody())
		return 1;
	return as_vfs_sys_new(ctx, &vfs, &err) ? 1 : 0;
}

static void as_ordinary_user(void **state)
{
	static char root[] = "/";
	struct as_ended ended;
	struct as_err err;

	(void)state;
	assert_int_equal(as_spawn_fork(try_namespace, root, 10000, NULL, &ended, &err), 0);
	if (ended.how != AS_END_EXIT || ended.status)
		skip_because("user namespaces are not allowed here");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		hostile(rows[i].name, rows[i].workload, !geteuid());
}

/* ---- Races ---------------------------------------------------------------------------------- */

/* Moves tree/t/d out of the tree, by the same name, and back; puts a link to the secret in the
 * place of tree/t/s. */
static void keep_moving(const struct place *p)
{
	char d[128], moved[128], s[128], link[128];

	snprintf(d, sizeof(d), "%s/t/d", p->tree);
	snprintf(moved, sizeof(moved), "%s/d", p->out);
	snprintf(s, sizeof(s), "%s/t/s", p->tree);
	snprintf(link, sizeof(link), "%s/link", p->out);
	for (;;) {
		renameat(AT_FDCWD, d, AT_FDCWD, moved);
		renameat2(AT_FDCWD, s, AT_FDCWD, link, RENAME_EXCHANGE);
		renameat(AT_FDCWD, moved, AT_FDCWD, d);
		renameat2(AT_FDCWD, s, AT_FDCWD, link, RENAME_EXCHANGE);
	}
}

#define TWINS 12

/* t holds a directory that is moved, one that is exchanged for a link, and names that stand
 * outside as well: whoever comes back to the wrong ".." removes those. */
static void build_race(const struct place *p)
{
	static const char *const dirs[] = { "t", "t/d", "t/d/e", "t/s" };
	char path[160];

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", p->tree, dirs[i]);
		mkdir(path, 0755);
	}
	for (int i = 0; i < TWINS; i++) {
		snprintf(path, sizeof(path), "%s/t/d/e/f%d", p->tree, i);
		close(open(path, O_CREAT | O_WRONLY, 0644));
		snprintf(path, sizeof(path), "%s/t/n%d", p->tree, i);
		close(open(path, O_CREAT | O_WRONLY, 0644));
	}
}

static int remove_in_chroot(void *ctx)
{
	const struct place *p = ctx;
	struct as_op op = as_op_make(AS_OP_REMOVE);
	struct as_outcome o;
	struct as_vfs *vfs;

	if (as_vfs_sys_new(p->tree, &vfs, NULL))
		return 1;
	op.path = "/t";
	as_vfs_exec(vfs, &op, &o);
	as_vfs_free(vfs);
	return 0;
}

static void check_race(const struct place *p)
{
	struct stat st;
	char path[160];

	for (int i = 0; i < TWINS; i++) {
		snprintf(path, sizeof(path), "%s/n%d", p->out, i);
		if (stat(path, &st))
			fail_msg("%s is gone", path);
	}
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(stat(p->secret, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
}

static void race(bool chrooted)
{
	char path[160];
	struct place p;
	pid_t mover;

	build(&p, false);
	for (int i = 0; i < TWINS; i++) {
		snprintf(path, sizeof(path), "%s/n%d", p.out, i);
		write_file(path);
	}
	snprintf(path, sizeof(path), "%s/link", p.out);
	assert_int_equal(symlink(p.secret, path), 0);
	mover = fork();
	assert_true(mover >= 0);
	if (!mover) {
		/* Also when the test fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		keep_moving(&p);
	}
	for (int i = 0; i < RACES; i++) {
		struct as_ended ended;

		build_race(&p);
		snprintf(path, sizeof(path), "%s/t", p.tree);
		if (!chrooted)
			(void)!as_sys_remove_counted(AT_FDCWD, path, &(uint64_t){ 0 }, NULL);
		else if (as_spawn_fork(remove_in_chroot, &p, 10000, NULL, &ended, NULL))
			fail_msg("no child");
		check_race(&p);
	}
	kill(mover, SIGKILL);
	waitpid(mover, NULL, 0);
	(void)!as_sys_remove_counted(AT_FDCWD, p.out, &(uint64_t){ 0 }, NULL);
}

static void renames_meanwhile(void **state)
{
	(void)state;
	race(false);
	if (!geteuid())
		race(true);
}

/* ---- Bounds --------------------------------------------------------------------------------- */

struct bound_row {
	const char *name, *workload; /* all but the last operation must succeed */
	uint64_t bytes, entries; /* allowed */
	bool holes_cost;
	int last; /* what the last one answers: 0, or an errno */
};

static const struct bound_row bound_rows[] = {
	{ "writes", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=10\nwrite $0 len=11\n", 20, 9,
	  false, AS_ERR_LIMIT },
	{ "just enough", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=10\nwrite $0 len=10\n", 20,
	  9, false, 0 },
	{ "pwrite", "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=21 at=5\n", 20, 9, false,
	  AS_ERR_LIMIT },
	{ "fallocate", "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 0 at=0 len=4096\n", 20, 9,
	  false, AS_ERR_LIMIT },
	{ "a hole costs nothing",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 KEEP_SIZE|PUNCH_HOLE at=0 len=4096\n", 20,
	  9, false, 0 },
	{ "growth costs nothing", "create /f 0644\ntruncate /f 4096\n", 20, 9, false, 0 },
	{ "growth costs", "create /f 0644\ntruncate /f 4096\n", 20, 9, true, AS_ERR_LIMIT },
	{ "growth by count", "create /f 0644\nenlarge /f 21\n", 20, 9, true, AS_ERR_LIMIT },
	{ "shrinking", "create /f 0644\ntruncate /f 20\ntruncate /f 4\n", 20, 9, true, 0 },
	{ "copies",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=10\n$1 = open /g O_RDWR|O_CREAT 0644\n"
	  "copy_file_range $0 $1 len=100000 at=0 to=0\n",
	  20, 9, false, 0 },
	{ "copies too many",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=11\n$1 = open /g O_RDWR|O_CREAT 0644\n"
	  "copy_file_range $0 $1 len=100000 at=0 to=0\n",
	  20, 9, false, AS_ERR_LIMIT },
	{ "entries", "mkdir /a 0755\ncreate /b 0644\nsymlink x /c\nmkdir /d 0755\n", 20, 3, false,
	  AS_ERR_LIMIT },
	{ "open of what is there", "create /b 0644\n$0 = open /b O_RDWR\n", 20, 1, false, 0 },
	{ "deepen", "deepen / 4\n", 20, 3, false, AS_ERR_LIMIT },
	{ "enlarge", "mkdir /a 0755\nenlarge /a 1000000\n", 20, 1000, false, AS_ERR_LIMIT },
	{ "enlarge of a file", "create /f 0644\nenlarge /f 1000000\n", 20, 3, false, 0 },
	{ "composites are counted", "deepen / 2\nenlarge / 1\nmkdir /a 0755\n", 20, 3, false,
	  AS_ERR_LIMIT },
};

struct bound_child {
	const struct bound_row *row;
	const char *tree;
	char why[256];
};

static void try_bounds(struct bound_child *c, struct as_vfs *vfs, const struct as_seq *seq)
{
	struct as_outcome o = { 0 };
	struct as_bounds bounds = { c->row->bytes, c->row->entries, c->row->holes_cost };

	as_vfs_bind(vfs, &bounds);
	for (size_t i = 0; i < seq->n; i++) {
		struct as_bounds left = bounds;
		int want = i + 1 < seq->n ? 0 : c->row->last;

		as_vfs_exec(vfs, &seq->ops[i], &o);
		if (o.err != want)
			snprintf(c->why, sizeof(c->why), "op %zu answered %d", i + 1, o.err);
		if (o.err == AS_ERR_LIMIT && (o.done || memcmp(&left, &bounds, sizeof(left))))
			snprintf(c->why, sizeof(c->why), "op %zu did something", i + 1);
	}
}

static int run_bounds(void *ctx)
{
	struct bound_child *c = ctx;
	struct as_vfs *vfs;
	struct as_seq *seq;

	if (as_parse_text("row", c->row->workload, strlen(c->row->workload), &seq, NULL) ||
	    as_vfs_sys_new(c->tree, &vfs, NULL))
		return 1;
	try_bounds(c, vfs, seq);
	as_vfs_free(vfs);
	as_seq_free(seq);
	return 0;
}

static void bounds(void **state)
{
	struct bound_child *c = as_shared_alloc(sizeof(*c));
	struct as_ended ended;
	struct place p;

	(void)state;
	for (size_t i = 0; i < sizeof(bound_rows) / sizeof(bound_rows[0]); i++) {
		build(&p, false);
		*c = (struct bound_child){ .row = &bound_rows[i], .tree = p.tree };
		assert_int_equal(as_spawn_fork(run_bounds, c, 60000, NULL, &ended, NULL), 0);
		if (ended.how != AS_END_EXIT || ended.status || c->why[0])
			fail_msg("%s: %s", bound_rows[i].name, c->why);
		assert_int_equal(as_sys_remove_counted(AT_FDCWD, p.out, &(uint64_t){ 0 }, NULL), 0);
	}
	as_shared_free(c, sizeof(*c));
}

/* No workload gets more than a part of what is free, whatever was asked for. */
static void spare(void **state)
{
	struct as_bounds b = { UINT64_MAX, UINT64_MAX, false };
	struct statvfs sv;

	(void)state;
	assert_int_equal(statvfs("/tmp", &sv), 0);
	as_bounds_spare(&b, "/tmp");
	assert_true(b.bytes <= (uint64_t)sv.f_bavail * sv.f_frsize / 2);
	assert_true(!sv.f_files || b.entries <= sv.f_ffree / 2);
	assert_false(b.holes_cost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_root),
		cmocka_unit_test(as_ordinary_user),
		cmocka_unit_test(renames_meanwhile),
		cmocka_unit_test(bounds),
		cmocka_unit_test(spare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
