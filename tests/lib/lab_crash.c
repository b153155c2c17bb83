/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_crash: see lab_crash.h. */
#include "tests/lib/lab_crash.h"

__attribute__((format(printf, 2, 3))) static void complain(struct crashlab *lab, const char *fmt,
							   ...)
{
	va_list ap;

	if (lab->verdict[0])
		return;
	va_start(ap, fmt);
	vsnprintf(lab->verdict, sizeof(lab->verdict), fmt, ap);
	va_end(ap);
}

uint32_t t_crash_rnd(struct crashlab *lab, uint32_t n)
{
	lab->rng ^= lab->rng << 13;
	lab->rng ^= lab->rng >> 7;
	lab->rng ^= lab->rng << 17;
	return (uint32_t)(lab->rng >> 20) % n;
}

static void judge_see(void *ctx, const char *path, const uint8_t *data, size_t len)
{
	struct judge *j = ctx;
	char tag[4] = "";

	t_see_digest(&j->contents, path, data, len);
	(void)FS->getxattr(j->r->fs, path, "user.tag", tag, sizeof(tag));
	for (size_t i = 0; i < len && !j->bad; i++) {
		if (data[i] && data[i] != (uint8_t)tag[0]) {
			j->bad = malloc(strlen(path) + 64);
			snprintf(j->bad, strlen(path) + 64, "%s: byte %zu is %02x, tag %02x", path,
				 i, data[i], tag[0]);
		}
	}
}

static int take_shot(struct rig *r, struct shot *shot, char **bad)
{
	struct text meta = { 0 };
	struct judge j = { .r = r };
	struct look l = { .r = r, .out = &meta, .see = judge_see, .ctx = &j };

	t_look_at(&l, "/");
	t_text_add(&j.contents, "end\n");
	shot->meta = meta.at;
	shot->contents = j.contents.at;
	if (bad)
		*bad = j.bad;
	else
		free(j.bad);
	return l.error;
}

void t_free_shot(struct shot *s)
{
	free(s->meta);
	free(s->contents);
}

void t_crash_step(struct crashlab *lab, bool sync)
{
	uint32_t n = lab->nshots++;

	lab->shots = realloc(lab->shots, lab->nshots * sizeof(*lab->shots));
	lab->is_sync = realloc(lab->is_sync, lab->nshots * sizeof(bool));
	lab->synced_at = realloc(lab->synced_at, lab->nshots * sizeof(size_t));
	assert_int_equal(take_shot(&lab->r, &lab->shots[n], NULL), 0);
	lab->is_sync[n] = sync;
	lab->synced_at[n] = lab->r.disk.nlog;
	lab->r.disk.mark = n + 1;
}

void t_crash_open(struct crashlab *lab, uint64_t size, const char *opts, uint64_t seed)
{
	memset(lab, 0, sizeof(*lab));
	t_rig_open(&lab->r, size, "");
	assert_int_equal(t_rig_unmount(&lab->r), 0);
	lab->r.opts = opts;
	lab->crash_opts = opts;
	lab->rng = seed * 0x9e3779b97f4a7c15u + 1;
	lab->trials = 12;
	lab->singles = 8;
	lab->recovery_odds = 6;
	t_mem_record(&lab->r.disk);
	assert_int_equal(t_rig_mount(&lab->r, false), 0);
	t_crash_step(lab, true); /* shot 0: the empty tree */
}

void t_crash_close(struct crashlab *lab)
{
	for (uint32_t i = 0; i < lab->nshots; i++)
		t_free_shot(&lab->shots[i]);
	free(lab->shots);
	free(lab->is_sync);
	free(lab->synced_at);
	t_rig_close(&lab->r);
}

/* The line of `path` in a list of contents is the same in all shots from..to. */
static bool untouched(struct crashlab *lab, uint32_t from, uint32_t to, const char *line,
		      size_t len)
{
	const char *mark = " contents ", *sep = memmem(line, len, mark, strlen(mark));
	const char *ref = NULL;
	size_t head = (size_t)(sep - line) + strlen(mark);

	for (uint32_t i = from; i <= to; i++) {
		const char *at = lab->shots[i].contents;

		while (at && (strncmp(at, line, head) ||
			      (at != lab->shots[i].contents && at[-1] != '\n'))) {
			at = strchr(at, '\n');
			at = at && at[1] ? at + 1 : NULL;
		}
		if (!at || (ref && strncmp(ref, at, head + 16)))
			return false;
		ref = at;
	}
	return strncmp(ref, line, head + 16) != 0; /* untouched, but not what it was */
}

static void judge_contents(struct crashlab *lab, uint32_t lo, uint32_t hi, const char *contents)
{
	while (*contents && strncmp(contents, "end", 3)) {
		size_t len = strcspn(contents, "\n");

		if (untouched(lab, lo, hi, contents, len))
			complain(lab, "untouched since the sync, yet lost: %.*s", (int)len,
				 contents);
		contents += len + 1;
	}
}

static char *first_difference(const char *got, const char *want)
{
	static char out[400];
	size_t i = 0;

	while (got[i] && got[i] == want[i])
		i++;
	while (i && got[i - 1] != '\n')
		i--;
	snprintf(out, sizeof(out), "got {%.180s} want {%.180s}", got + i, want + i);
	return out;
}

/* A mounted disk after a power cut: which shot is it? */
static void judge_tree(struct crashlab *lab, struct rig *r, uint32_t lo, uint32_t hi)
{
	struct shot shot = { 0 };
	char *bad = NULL;
	uint32_t i = hi;
	int rc = take_shot(r, &shot, &bad);

	if (rc)
		complain(lab, "error %d in the tree", rc);
	else if (bad)
		complain(lab, "%s", bad);
	while (i > lo && strcmp(shot.meta, lab->shots[i].meta))
		i--;
	if (strcmp(shot.meta, lab->shots[i].meta))
		complain(lab, "no state of calls %u..%u: %s", lo, hi,
			 first_difference(shot.meta, lab->shots[hi].meta));
	else
		judge_contents(lab, lo, hi, shot.contents);
	free(bad);
	t_free_shot(&shot);
}

/* Power cuts during the mount: a few subsets of what it wrote. */
static void judge_recovery(struct crashlab *lab, struct membd *m, uint32_t lo, uint32_t hi)
{
	size_t size = m->bd.size_bytes, start = 0;
	uint8_t *disk = malloc(size);

	for (size_t end = 0; end <= m->nlog; end++) {
		if (end < m->nlog && m->log[end].off != UINT64_MAX)
			continue;
		for (int trial = 0; trial < 4 && end > start; trial++) {
			memcpy(disk, m->base, size);
			for (size_t i = 0; i < end; i++) {
				if (i < start || t_crash_rnd(lab, 2))
					t_mem_apply(disk, &m->log[i]);
			}
			t_judge_disk(lab, disk, lo, hi, false);
		}
		start = end;
	}
	free(disk);
}

void t_judge_disk(struct crashlab *lab, uint8_t *disk, uint32_t lo, uint32_t hi, bool again)
{
	struct rig r = { .opts = lab->crash_opts };
	int rc;

	if (lab->verdict[0])
		return;
	lab->states++;
	t_mem_open(&r.disk, lab->r.disk.bd.size_bytes);
	t_memhost_init(&r.host);
	memcpy(r.disk.disk, disk, r.disk.bd.size_bytes);
	if (again)
		t_mem_record(&r.disk);
	rc = t_rig_mount(&r, false);
	if (rc) {
		complain(lab, "mount: %d", rc);
	} else {
		r.disk.recording = false;
		judge_tree(lab, &r, lo, hi);
		rc = t_rig_unmount(&r);
		if (rc)
			complain(lab, "unmount: %d", rc);
		rc = t_rig_fsck(&r);
		if (rc)
			complain(lab, "the checker says %d", rc);
		if (r.host.live && strcmp(lab->crash_opts, "bug=20"))
			complain(lab, "%ld allocations left", r.host.live);
	}
	if (again)
		judge_recovery(lab, &r.disk, lo, hi);
	t_mem_close(&r.disk);
}
