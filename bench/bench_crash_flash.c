/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_crash_flash: power cuts of flashfs (examples/flashfs) on a flash of 1 MiB with blocks of
 * 4 KiB, in CPU time.
 *	crash.flash		assay: all views, torn programs and erases, each state judged
 *	crash.flash.plain	what test suites of such libraries do by themselves: for each
 *				program and erase, the workload runs from the start up to there
 *				and not on, then the flash is mounted and all of it is read;
 *				nothing is judged, there is one process, and the flash is an array
 * .states says how many states each of them reaches with the same workloads.
 */
#include "bench/plugin.h"

#include "crash/crash.h"
#include "work/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FLASH_BYTES (1u << 20)
#define BLOCK_BYTES 4096u
#define ROUNDS 8u

enum act { MKDIR, WRITE, RENAME, UNLINK, SYNC };

/* %u is the number of the workload. WRITE opens, creates if need be, writes and closes. */
struct step {
	enum act act;
	const char *path, *to;
	unsigned at, len;
};

static const struct step steps[] = {
	{ MKDIR, "/d%u", NULL, 0, 0 },
	{ WRITE, "/d%u/first", NULL, 0, 1500 },
	{ WRITE, "/second%u", NULL, 0, 300 },
	{ WRITE, "/d%u/first", NULL, 100, 1200 },
	{ SYNC, NULL, NULL, 0, 0 },
	{ RENAME, "/d%u/first", "/second%u", 0, 0 },
	{ WRITE, "/d%u/third", NULL, 0, 900 },
	{ WRITE, "/second%u", NULL, 700, 700 },
	{ UNLINK, "/second%u", NULL, 0, 0 },
};

#define N_STEPS (sizeof(steps) / sizeof(steps[0]))
#define LEN_OF(step, round) ((step)->len + (round)*16)

static void add_path(struct as_buf *out, const char *path, unsigned round)
{
	const char *mark = strchr(path, '%');

	as_buf_addf(out, "%.*s%u%s", (int)(mark - path), path, round, mark + 2);
}

/* ---- By assay -------------------------------------------------------------------------------- */

static void write_workload(unsigned round, struct as_buf *out)
{
	static const char *const words[] = { "mkdir ", "$0 = open ", "rename ", "unlink ", "sync" };

	for (const struct step *s = steps; s < steps + N_STEPS; s++) {
		as_buf_addf(out, "%s", words[s->act]);
		if (s->path)
			add_path(out, s->path, round);
		as_buf_addf(out, "%s", s->to ? " " : "");
		if (s->to)
			add_path(out, s->to, round);
		if (s->act == WRITE)
			as_buf_addf(out,
				    " O_RDWR|O_CREAT 0644\npwrite $0 len=%u at=%u fill=%u\n"
				    "close $0",
				    LEN_OF(s, round), s->at, (unsigned)(s - steps) + 1);
		as_buf_addf(out, "%s\n", s->act == MKDIR ? " 0755" : "");
	}
}

static int crash_one(struct as_crasher *crasher, unsigned round, struct as_crash_counts *sum,
		     struct as_err *err)
{
	struct as_crash_counts counts;
	struct as_run_result result;
	struct as_buf text = { 0 };
	struct as_seq *seq = NULL;
	int rc;

	write_workload(round, &text);
	rc = as_parse_text("bench", as_buf_str(&text), text.len, &seq, err);
	if (!rc)
		rc = as_crash_workload(crasher, seq, "bench", &result, &counts, err);
	if (!rc && result.findings)
		rc = as_fail(err, AS_EIO, "a sound flashfs has findings");
	if (!rc)
		as_crash_counts_add(sum, &counts);
	as_seq_free(seq);
	as_buf_free(&text);
	return rc;
}

static int by_assay(struct as_crash_counts *sum, double *seconds, struct as_err *err)
{
	struct as_run_options run = { .size_bytes = FLASH_BYTES };
	struct as_crash_options options;
	struct as_target *target = NULL;
	struct as_crasher *crasher = NULL;
	struct as_buf spec = { 0 };
	double start = bench_all_s();
	int rc = as_crash_options_parse("again=0", &options, err);

	as_buf_addf(&spec, "plugin:");
	if (!rc && !bench_plugin_path("flashfs", &spec))
		rc = as_fail(err, AS_EIO, "crash.flash: flashfs is not there");
	as_buf_addf(&spec, ":flash.erase=%u", BLOCK_BYTES);
	if (!rc)
		rc = as_target_open(as_buf_str(&spec), &target, err);
	if (!rc)
		rc = as_crasher_new(target, &run, &options, NULL, &crasher, err);
	for (unsigned i = 0; i < ROUNDS && !rc; i++)
		rc = crash_one(crasher, i, sum, err);
	as_crasher_free(crasher);
	as_target_free(target);
	as_buf_free(&spec);
	*seconds = bench_all_s() - start;
	return rc;
}

/* ---- By running it again --------------------------------------------------------------------- */

struct plain {
	struct as_flash seam;
	unsigned char *data;
	uint64_t left, done; /* programs and erases until the power cut, and so far */
};

static int plain_read(struct as_flash *flash, uint64_t off, void *buf, size_t len)
{
	memcpy(buf, ((struct plain *)flash)->data + off, len);
	return 0;
}

static bool is_cut(struct plain *p)
{
	if (!p->left)
		return true;
	p->left--;
	p->done++;
	return false;
}

static int plain_program(struct as_flash *flash, uint64_t off, const void *buf, size_t len)
{
	struct plain *p = (struct plain *)flash;

	if (is_cut(p))
		return -EIO;
	memcpy(p->data + off, buf, len);
	return 0;
}

static int plain_erase(struct as_flash *flash, uint64_t off)
{
	struct plain *p = (struct plain *)flash;

	if (is_cut(p))
		return -EIO;
	memset(p->data + off, 0xff, BLOCK_BYTES);
	return 0;
}

static const struct as_flash_ops plain_ops = { .api = 1,
					       .name = "plain",
					       .read = plain_read,
					       .program = plain_program,
					       .erase = plain_erase };

static int plain_write(const struct as_target_ops *ops, struct as_fs *fs, const struct step *s,
		       const char *path, unsigned round)
{
	static unsigned char data[8192];
	struct as_handle *handle;
	uint64_t off = s->at;
	int rc = ops->open(fs, path, O_RDWR | O_CREAT, 0644, &handle), closed;

	if (rc)
		return rc;
	memset(data, (int)(s - steps) + 1, LEN_OF(s, round));
	rc = ops->write(fs, handle, data, LEN_OF(s, round), &off) < 0 ? -EIO : 0;
	closed = ops->close(fs, handle);
	return rc ? rc : closed;
}

static int plain_step(const struct as_target_ops *ops, struct as_fs *fs, const struct step *s,
		      unsigned round)
{
	char path[64], to[64];

	snprintf(path, sizeof(path), s->path ? s->path : "%u", round);
	snprintf(to, sizeof(to), s->to ? s->to : "%u", round);
	switch (s->act) {
	case MKDIR:
		return ops->mkdir(fs, path, 0755);
	case WRITE:
		return plain_write(ops, fs, s, path, round);
	case RENAME:
		return ops->rename(fs, path, to, 0);
	case UNLINK:
		return ops->unlink(fs, path);
	case SYNC:
		break;
	}
	return ops->sync(fs);
}

struct looking {
	const struct as_target_ops *ops;
	struct as_fs *fs;
	const char *dir;
};

static int look_at(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct looking *in = ctx, below;
	static unsigned char data[32768];
	struct as_handle *handle;
	char path[256];

	(void)ino;
	snprintf(path, sizeof(path), "%s/%s", in->dir, name);
	if (S_ISDIR(type)) {
		below = (struct looking){ in->ops, in->fs, path };
		return in->ops->readdir(in->fs, path, look_at, &below);
	}
	if (in->ops->open(in->fs, path, O_RDONLY, 0, &handle))
		return -EIO;
	if (in->ops->read(in->fs, handle, data, sizeof(data), 0) < 0)
		return -EIO;
	return in->ops->close(in->fs, handle);
}

/* One run with a power cut after `cut` programs and erases: 1 if there was one, 0 if the workload
 * ended before. */
static int cut_at(const struct as_target_ops *ops, struct plain *p, const unsigned char *fresh,
		  uint64_t cut, unsigned round)
{
	struct as_mount_args args = { .host = &bench_plugin_host, .opts = "", .flash = &p->seam };
	struct looking look = { ops, NULL, "" };
	struct as_fs *fs;
	bool was_cut;

	memcpy(p->data, fresh, FLASH_BYTES);
	p->left = cut;
	if (ops->mount(&args, &fs))
		return -EIO;
	for (const struct step *s = steps; s < steps + N_STEPS; s++)
		if (plain_step(ops, fs, s, round))
			break;
	was_cut = ops->unmount(fs) != 0 || !p->left;
	p->left = UINT64_MAX;
	if (ops->mount(&args, &look.fs))
		return -EIO;
	if (ops->readdir(look.fs, "/", look_at, &look) || ops->unmount(look.fs))
		return -EIO;
	return was_cut;
}

static int64_t by_hand(void)
{
	const struct as_target_ops *ops = bench_plugin_load("flashfs");
	unsigned char *data = as_xcalloc(2, FLASH_BYTES), *fresh = data + FLASH_BYTES;
	struct plain p = { .data = data, .left = UINT64_MAX };
	struct as_mount_args args = { .host = &bench_plugin_host, .opts = "", .flash = &p.seam };
	int64_t states = 0;
	int rc = ops ? 0 : -EIO;

	if (ops) {
		p.seam = (struct as_flash){ &plain_ops, *ops->flash };
		p.seam.geometry.size_bytes = FLASH_BYTES;
		p.seam.geometry.erase_bytes = BLOCK_BYTES;
		rc = ops->mkfs(&args);
	}
	memcpy(fresh, data, FLASH_BYTES);
	for (unsigned round = 0; round < ROUNDS && rc >= 0; round++) {
		rc = 1;
		for (uint64_t cut = 0; rc == 1; cut++) {
			rc = cut_at(ops, &p, fresh, cut, round);
			states += rc == 1;
		}
	}
	free(data);
	return rc < 0 ? rc : states;
}

void bench_crash_flash(as_bench_report report)
{
	struct as_crash_counts c = { 0 };
	struct as_err err = { 0 };
	double seconds, start;
	int64_t states;

	if (by_assay(&c, &seconds, &err)) {
		report(err.msg, 0, "failed");
		return;
	}
	report("crash.flash", (double)c.generated / seconds, "states/s");
	report("crash.flash.states", (double)c.generated, "states");
	report("crash.flash.distinct", (double)c.distinct, "states");
	report("crash.flash.seconds", seconds, "s");
	start = bench_all_s();
	states = by_hand();
	seconds = bench_all_s() - start;
	if (states < 0) {
		report("crash.flash.plain: a run went wrong", (double)states, "failed");
		return;
	}
	report("crash.flash.plain", (double)states / seconds, "states/s");
	report("crash.flash.plain.states", (double)states, "states");
	report("crash.flash.plain.seconds", seconds, "s");
}
