/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_workload: see lab_workload.h. */
#include "tests/lib/lab_workload.h"

static uint32_t load_rnd(struct load *w, uint32_t n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (uint32_t)(w->rng >> 20) % n;
}

static const char *a_dir(struct load *w)
{
	static const char *const dirs[] = { "", "/d0", "/d1", "/d0/s", "/d1/t" };

	return dirs[load_rnd(w, 5)];
}

static void a_path(struct load *w, char *path)
{
	static const char *const names[] = { "f0", "f1", "f2", "d0",
					     "d1", "s",	 "t",  "long-name-of-a-file" };

	snprintf(path, 64, "%s/%s", a_dir(w), names[load_rnd(w, 8)]);
}

static uint64_t an_offset(struct load *w)
{
	static const uint64_t offs[] = { 0, 1, 1000, 1024, 2048, 5000, 10240, 11000, 300000 };

	return offs[load_rnd(w, load_rnd(w, 6) ? 6 : 9)];
}

/* Opens a file that has its tag. */
static int open_tagged(struct load *w, const char *path, unsigned flags, struct as_handle **h,
		       uint8_t *tag)
{
	char value[4];
	int64_t n = FS->getxattr(w->r->fs, path, "user.tag", value, sizeof(value));

	if (n < 0)
		return (int)n;
	*tag = (uint8_t)value[0];
	return FS->open(w->r->fs, path, flags, 0, h);
}

static int do_file(struct load *w, unsigned what, const char *path)
{
	static const unsigned modes[] = { 0, FALLOC_FL_KEEP_SIZE,
					  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					  FALLOC_FL_ZERO_RANGE };
	static uint8_t data[8192];
	uint64_t off = an_offset(w), len = 1 + load_rnd(w, 5000);
	struct as_stat st = { .size = an_offset(w) };
	struct as_handle *h;
	uint8_t tag = 0;
	bool sync = load_rnd(w, 4) == 0; /* O_SYNC */
	int64_t rc = open_tagged(w, path, sync ? O_RDWR | O_SYNC : O_RDWR, &h, &tag);

	if (rc)
		return (int)rc;
	memset(data, tag, sizeof(data));
	if (what == 0)
		rc = FS->write(w->r->fs, h, data, len, &off);
	else if (what == 1)
		rc = FS->fsetattr(w->r->fs, h, &st, AS_SET_SIZE);
	else if (what == 2)
		rc = FS->fallocate(w->r->fs, h, modes[load_rnd(w, 4)], off, len);
	else
		rc = FS->fsync(w->r->fs, h, load_rnd(w, 2));
	w->synced = rc >= 0 && (what == 3 || (sync && what != 1));
	if (w->kept || what != 0 || load_rnd(w, 3)) {
		int close_rc = FS->close(w->r->fs, h);

		rc = rc < 0 ? rc : close_rc;
	} else {
		w->kept = h;
	}
	return rc < 0 ? (int)rc : 0;
}

static int do_kept(struct load *w, const char *path)
{
	struct as_handle *h = w->kept;

	if (!h)
		return FS->open(w->r->fs, "/", O_TMPFILE | O_RDWR, 0600, &w->kept);
	if (load_rnd(w, 3) == 0)
		return FS->link_handle(w->r->fs, h, path);
	w->kept = NULL;
	return FS->close(w->r->fs, h);
}

static int do_names(struct load *w, unsigned what, const char *a, const char *b)
{
	static const unsigned flags[] = { 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE,
					  RENAME_WHITEOUT };
	static const char text[] =
		"a text that is too long to be kept in the inode itself, so in a block";
	struct as_handle *h;
	int rc;

	switch (what) {
	case 0:
	case 1:
		return FS->mkdir(w->r->fs, a, 0755);
	case 2:
		return FS->rmdir(w->r->fs, a);
	case 3:
	case 4:
		return FS->unlink(w->r->fs, a);
	case 5:
	case 6:
	case 7:
		return FS->rename(w->r->fs, a, b, flags[load_rnd(w, 5)]);
	case 8:
		return FS->link(w->r->fs, a, b);
	case 9:
		return FS->symlink(w->r->fs, load_rnd(w, 2) ? text : "short", a);
	case 10:
		return FS->mknod(w->r->fs, a, load_rnd(w, 2) ? S_IFIFO | 0600 : S_IFCHR | 0600, 5);
	default:
		rc = FS->open(w->r->fs, a, O_CREAT | O_EXCL | O_RDWR, 0644, &h);
		if (rc)
			return rc;
		w->wants_tag = true;
		snprintf(w->tag_path, sizeof(w->tag_path), "%s", a);
		return FS->close(w->r->fs, h);
	}
}

static int do_attrs(struct load *w, unsigned what, const char *path)
{
	struct as_stat st = { .mode = load_rnd(w, 07777), .uid = load_rnd(w, 9), .mtime_ns = 77 };
	char value[120];

	memset(value, 'v', sizeof(value));
	if (what == 0)
		return FS->setxattr(w->r->fs, path, "trusted.x", value, load_rnd(w, 120), 0);
	if (what == 1)
		return FS->removexattr(w->r->fs, path, "trusted.x");
	return FS->setattr(w->r->fs, path, &st, AS_SET_UID | AS_SET_MTIME);
}

void t_load_step(struct load *w)
{
	char a[64], b[64], tag;
	uint32_t dice = load_rnd(w, 100);

	a_path(w, a);
	a_path(w, b);
	w->synced = false;
	if (w->wants_tag) {
		tag = (char)(w->next_tag = (uint8_t)(w->next_tag % 250 + 1));
		w->wants_tag = false;
		w->rc = FS->setxattr(w->r->fs, w->tag_path, "user.tag", &tag, 1, 0);
	} else if (dice < 45) {
		w->rc = do_names(w, load_rnd(w, 15), a, b);
	} else if (dice < 80) {
		w->rc = do_file(w, load_rnd(w, 10) ? load_rnd(w, 3) : 3, a);
	} else if (dice < 90) {
		w->rc = do_attrs(w, load_rnd(w, 3), a);
	} else if (dice < 95) {
		w->rc = do_kept(w, a);
	} else {
		w->rc = FS->sync(w->r->fs);
		w->synced = !w->rc;
	}
}

void t_load_end(struct load *w)
{
	if (w->kept)
		(void)FS->close(w->r->fs, w->kept);
	w->kept = NULL;
}
