/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generic_rich: disks with more on them than the paper's, for structures that the generic disk does
 * not have. Nothing is mounted:
 *   - ext2, ext3, ext4: mke2fs, then debugfs(8), then `e2fsck -D`, which gives large directories
 *     their index. The journal is written by debugfs, too: its blocks are what the disk holds there
 *     anyway, so that the tree is the same before and after they are replayed. Orphans are inodes
 *     without a name on the list of the superblock.
 *   - a library runs a workload, in a child. A disk that is left dirty is not unmounted, and an
 *     open file has lost its name.
 */
#include "damage/generic.h"

#include "damage/generic_priv.h"
#include "disk/image.h"
#include "os/out.h"
#include "os/temp.h"
#include "target/fstype.h"
#include "tool/tool.h"
#include "work/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXT_BYTES (UINT64_C(8) << 20) /* with room for a journal */
#define LIBRARY_BYTES (UINT64_C(2) << 20)
#define BLOCK 1024u
#define RUNS 400u /* of a file with holes: so many extents make a tree of three levels */
#define LEVELS 20u
#define LINKS 560u /* names so long that their index has two levels */
#define LINK_BLOCKS 146u
#define LONG_NAME 237
#define XATTR_BYTES 700u /* more than an inode can hold */
#define ORPHANS 2u

static const char *const kinds[AS_GENERIC_KINDS] = { "generic", "rich", "dirty" };

const char *as_generic_kind_name(enum as_generic_kind kind)
{
	return kinds[kind];
}

bool as_generic_kind_find(const char *name, enum as_generic_kind *kind)
{
	for (unsigned i = 0; i < AS_GENERIC_KINDS; i++)
		if (!strcmp(kinds[i], name)) {
			*kind = (enum as_generic_kind)i;
			return true;
		}
	return false;
}

/* ---- ext ------------------------------------------------------------------------------------- */

/* How it is made, by the name of its type. */
static const struct {
	const char *type, *mkfs;
	bool journal;
} ext_rows[] = {
	{ "ext2", "mke2fs -q -F -t ext2 -b 1024 -I 256 {disk}", false },
	{ "ext3", "mke2fs -q -F -t ext3 -b 1024 -I 256 {disk}", true },
	{ "ext4", "mke2fs -q -F -t ext4 -b 1024 -I 256 -O inline_data -E lazy_itable_init=0 {disk}",
	  true },
};

/* Runs a program on the disk, which is replaced by what it leaves. */
static int run_on(const char *command, const char *input, struct as_disk **disk,
		  struct as_buf *output, struct as_err *err)
{
	char **argv = as_fstype_argv(command, &(struct as_fstype_disks){ .disk = AS_TOOL_DISK });
	struct as_tool_job job = { .argv = argv, .input = input };
	struct as_tool_result got = { 0 };
	struct as_tool *tool = NULL;
	int rc = as_tool_start(argv[0], NULL, &tool, err);

	if (rc == AS_ELACK)
		rc = as_fail_in(err, "a rich disk (package e2fsprogs)");
	if (!rc)
		rc = as_tool_run(tool, &job, *disk, &got, err);
	if (!rc && (got.ended.how != AS_END_EXIT || got.ended.status > 1))
		rc = as_fail(err, AS_EIO, "%s failed: %.300s", command, as_buf_str(&got.output));
	if (!rc) {
		as_disk_free(*disk);
		*disk = as_disk_snapshot(got.disk);
	}
	if (!rc && output)
		as_buf_add(output, as_buf_str(&got.output), got.output.len);
	as_tool_result_free(&got);
	as_tool_free(tool);
	as_fstype_free_words(argv);
	return rc;
}

/* A file for debugfs to read. */
static int save(const struct as_temp *temp, const char *name, const void *data, size_t len,
		struct as_err *err)
{
	struct as_buf path = { 0 }, bytes = { 0 };
	int rc;

	as_buf_addf(&path, "%s/%s", as_temp_path(temp), name);
	as_buf_add(&bytes, data, len);
	rc = as_out_save(as_buf_str(&path), &bytes, err);
	as_buf_free(&path);
	as_buf_free(&bytes);
	return rc;
}

static int save_sources(const struct as_temp *temp, struct as_err *err)
{
	unsigned char *data = as_xcalloc(RUNS, 2 * BLOCK), xattr[XATTR_BYTES];
	int rc;

	for (size_t at = 0; at < (size_t)RUNS * 2 * BLOCK; at += 2 * BLOCK)
		as_pattern_fill(1, at, data + at, BLOCK);
	for (size_t i = 0; i < sizeof(xattr); i++)
		xattr[i] = (unsigned char)('a' + i % 26);
	rc = save(temp, "runs", data, (size_t)RUNS * 2 * BLOCK, err);
	if (!rc)
		rc = save(temp, "small", "small", 5, err);
	if (!rc)
		rc = save(temp, "xattr", xattr, sizeof(xattr), err);
	free(data);
	return rc;
}

static void add_rich(const struct as_temp *temp, struct as_buf *c)
{
	const char *from = as_temp_path(temp);
	struct as_buf deep = { 0 };

	as_buf_adds(&deep, "deep");
	for (unsigned i = 0; i < LEVELS; i++) {
		as_buf_addf(c, "mkdir %s\n", as_buf_str(&deep));
		as_buf_addf(&deep, "/n%u", i);
	}
	as_buf_addf(c, "write %s/runs %s\n", from, as_buf_str(&deep));
	as_buf_addf(c, "write %s/small small\nea_set small user.small abc\n", from);
	as_buf_addf(c, "write %s/runs attrs\nea_set -f %s/xattr attrs user.large\n", from, from);
	as_buf_addf(c, "mkdir d\nea_set -f %s/xattr d user.large\n", from);
	as_buf_addf(c, "mknod fifo p\nsymlink short /\nsymlink long %s\n", AS_GENERIC_LONG);
	as_buf_addf(c, "mkdir index\nwrite %s/small index/x\n", from);
	for (unsigned i = 0; i < LINK_BLOCKS; i++)
		as_buf_adds(c, "expand_dir index\n");
	as_buf_adds(c, "cd index\n");
	for (unsigned i = 0; i < LINKS; i++)
		as_buf_addf(c, "ln x %0*u\n", LONG_NAME + 3, i);
	as_buf_addf(c, "cd /\nsif index/x links_count %u\n", LINKS + 1);
	as_buf_free(&deep);
}

static int find_inodes(const char *output, uint64_t *inos, unsigned n, struct as_err *err)
{
	static const char word[] = "Allocated inode: ";

	for (unsigned i = 0; i < n; i++) {
		output = strstr(output, word);
		if (!output)
			return as_fail(err, AS_EIO, "debugfs did not say which inode it made");
		output += strlen(word);
		inos[i] = strtoull(output, NULL, 10);
	}
	return 0;
}

/* Inodes without a name, from the superblock on: each has the number of the next one in its time
 * of deletion. */
static int add_orphans(const struct as_temp *temp, struct as_disk **disk, struct as_err *err)
{
	struct as_buf c = { 0 }, output = { 0 };
	uint64_t inos[ORPHANS + 1] = { 0 };
	int rc;

	for (unsigned i = 0; i < ORPHANS; i++)
		as_buf_addf(&c, "write %s/%s orphan%u\n", as_temp_path(temp), i ? "small" : "runs",
			    i);
	rc = run_on("debugfs -w {disk}", as_buf_str(&c), disk, &output, err);
	if (!rc)
		rc = find_inodes(as_buf_str(&output), inos, ORPHANS, err);
	as_buf_clear(&c);
	for (unsigned i = 0; i < ORPHANS; i++)
		as_buf_addf(&c,
			    "sif <%llu> links_count 0\nsif <%llu> dtime %llu\nunlink orphan%u\n",
			    (unsigned long long)inos[i], (unsigned long long)inos[i],
			    (unsigned long long)inos[i + 1], i);
	as_buf_addf(&c, "ssv last_orphan %llu\n", (unsigned long long)inos[0]);
	if (!rc)
		rc = run_on("debugfs -w {disk}", as_buf_str(&c), disk, NULL, err);
	as_buf_free(&c);
	as_buf_free(&output);
	return rc;
}

/* The block of the root's inode, and the one after it, are written to the journal. */
static int add_journal(const struct as_temp *temp, struct as_disk **disk, struct as_err *err)
{
	struct as_buf c = { 0 }, output = { 0 };
	unsigned char blocks[2 * BLOCK];
	unsigned long long at = 0;
	const char *word;
	int rc = run_on("debugfs {disk}", "imap <2>\n", disk, &output, err);

	word = rc ? NULL : strstr(as_buf_str(&output), "located at block ");
	if (!rc && (!word || sscanf(word, "located at block %llu", &at) != 1 ||
		    as_bd_read(as_disk_bd(*disk), at * BLOCK, blocks, sizeof(blocks))))
		rc = as_fail(err, AS_EIO, "debugfs did not say where the root is");
	if (!rc)
		rc = save(temp, "blocks", blocks, sizeof(blocks), err);
	as_buf_addf(&c, "jo\njw -b %llu,%llu %s/blocks\njc\n", at, at + 1, as_temp_path(temp));
	if (!rc)
		rc = run_on("debugfs -w {disk}", as_buf_str(&c), disk, NULL, err);
	as_buf_free(&c);
	as_buf_free(&output);
	return rc;
}

static int by_ext(struct as_chunks *store, unsigned row, uint64_t size, enum as_generic_kind kind,
		  struct as_generic *out, struct as_err *err)
{
	struct as_temp *temp = NULL;
	struct as_buf c = { 0 };
	int rc = as_disk_new(store, size ? size : EXT_BYTES, &out->disk, err);

	if (!rc && size && size < EXT_BYTES)
		rc = as_fail(err, AS_EUSE, "--content %s: the disk must have 8 MiB at least",
			     kinds[kind]);
	if (!rc)
		rc = run_on(ext_rows[row].mkfs, NULL, &out->disk, NULL, err);
	if (!rc)
		out->fresh = as_disk_snapshot(out->disk);
	if (!rc)
		rc = as_temp_new(NULL, &temp, err);
	if (!rc)
		rc = save_sources(temp, err);
	if (!rc)
		add_rich(temp, &c);
	if (!rc)
		rc = run_on("debugfs -w {disk}", as_buf_str(&c), &out->disk, NULL, err);
	if (!rc)
		rc = run_on("e2fsck -f -y -D {disk}", NULL, &out->disk, NULL, err);
	if (!rc && kind == AS_GENERIC_DIRTY)
		rc = add_orphans(temp, &out->disk, err);
	if (!rc && kind == AS_GENERIC_DIRTY && ext_rows[row].journal)
		rc = add_journal(temp, &out->disk, err);
	as_temp_free(temp);
	as_buf_free(&c);
	return rc;
}

/* ---- A library ------------------------------------------------------------------------------- */

static void rich_work(bool dirty, struct as_buf *w)
{
	as_generic_workload(w);
	as_buf_addf(w, "deepen /d/d2/d3 %u\nenlarge /d/d2 64\n", LEVELS);
	as_buf_adds(w, "$0 = open /runs O_RDWR|O_CREAT 0644\n");
	for (unsigned i = 0; i < 40; i++)
		as_buf_addf(w, "pwrite $0 len=700 at=%u fill=%u\n", i * 9000, 1 + i);
	as_buf_adds(w, "close $0\nwrite_xattr /runs user.small len=3 fill=1\n"
		       "write_xattr /d user.large len=700 fill=2\nsync\n");
	if (!dirty)
		return;
	as_buf_adds(w, "$0 = open /orphan O_RDWR|O_CREAT 0644\nwrite $0 len=20000 fill=5\n"
		       "$1 = open /orphan2 O_RDWR|O_CREAT 0644\nunlink /orphan\n"
		       "unlink /orphan2\nfsync $0\n");
}

int as_generic_make_kind(struct as_chunks *store, const char *type, uint64_t size,
			 enum as_generic_kind kind, struct as_generic *out, struct as_err *err)
{
	struct as_buf work = { 0 };
	int rc;

	if (kind == AS_GENERIC_PLAIN)
		return as_generic_make(store, type, size, out, err);
	*out = (struct as_generic){ 0 };
	for (unsigned i = 0; i < sizeof(ext_rows) / sizeof(ext_rows[0]); i++)
		if (!strcmp(ext_rows[i].type, type)) {
			rc = by_ext(store, i, size, kind, out, err);
			if (rc)
				as_generic_free(out);
			return rc;
		}
	if (strncmp(type, "lab", 3))
		return as_fail(err, AS_EUSE,
			       "%s: --content %s: only disks of ext2, ext3, ext4 and lab are made",
			       type, kinds[kind]);
	rich_work(kind == AS_GENERIC_DIRTY, &work);
	rc = as_generic_by_library(store, type, size ? size : LIBRARY_BYTES, as_buf_str(&work),
				   kind == AS_GENERIC_DIRTY, out, err);
	as_buf_free(&work);
	if (rc)
		as_generic_free(out);
	return rc;
}
