/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_rig: see lab_rig.h. */
#include "tests/lib/lab_rig.h"

void t_text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->cap - t->len < 8192) {
		t->cap = t->cap * 2 + 16384;
		t->at = realloc(t->at, t->cap);
	}
	va_start(ap, fmt);
	n = vsnprintf(t->at + t->len, t->cap - t->len, fmt, ap);
	va_end(ap);
	t->len += (size_t)n;
}

int t_rig_mount(struct rig *r, bool readonly)
{
	struct as_mount_args args = {
		.host = &r->host.host, .bd = &r->disk.bd, .opts = r->opts, .readonly = readonly
	};

	r->fs = NULL;
	return FS->mount(&args, &r->fs);
}

int t_rig_unmount(struct rig *r)
{
	int rc = FS->unmount(r->fs);

	r->fs = NULL;
	return rc;
}

void t_rig_open(struct rig *r, uint64_t size, const char *opts)
{
	struct as_mount_args args = { .host = &r->host.host, .bd = &r->disk.bd, .opts = "" };

	memset(r, 0, sizeof(*r));
	t_mem_open(&r->disk, size);
	t_memhost_init(&r->host);
	r->opts = opts;
	assert_int_equal(FS->mkfs(&args), 0);
	assert_int_equal(t_rig_mount(r, false), 0);
}

void t_rig_close(struct rig *r)
{
	if (r->fs)
		assert_int_equal(t_rig_unmount(r), 0);
	assert_int_equal(r->host.live, 0);
	t_mem_close(&r->disk);
}

void t_rig_again(struct rig *r)
{
	assert_int_equal(t_rig_unmount(r), 0);
	assert_int_equal(r->host.live, 0);
	assert_int_equal(t_rig_mount(r, false), 0);
}

int t_rig_fsck(struct rig *r)
{
	struct as_mount_args args = {
		.host = &r->host.host, .bd = &r->disk.bd, .opts = "", .readonly = true
	};

	return FS->fsck(&args, AS_FSCK_FULL);
}

int t_touch(struct rig *r, const char *path)
{
	struct as_handle *h;
	int rc = FS->open(r->fs, path, O_CREAT | O_RDWR, 0644, &h);

	return rc ? rc : FS->close(r->fs, h);
}

int64_t t_put_at(struct rig *r, const char *path, unsigned flags, uint8_t fill, size_t len,
		 uint64_t off)
{
	struct as_handle *h;
	uint8_t *buf = malloc(len ? len : 1);
	int64_t n = FS->open(r->fs, path, flags | O_RDWR, 0644, &h);

	memset(buf, fill, len);
	if (!n) {
		int close_rc;

		n = FS->write(r->fs, h, buf, len, &off);
		close_rc = FS->close(r->fs, h);
		n = n < 0 || !close_rc ? n : close_rc;
	}
	free(buf);
	return n;
}

int64_t t_get_at(struct rig *r, const char *path, void *buf, size_t len, uint64_t off)
{
	struct as_handle *h;
	int64_t n = FS->open(r->fs, path, O_RDONLY, 0, &h);
	int close_rc;

	if (n)
		return n;
	n = FS->read(r->fs, h, buf, len, off);
	close_rc = FS->close(r->fs, h);
	return n < 0 || !close_rc ? n : close_rc;
}

int t_set_size(struct rig *r, const char *path, uint64_t size)
{
	struct as_stat st = { .size = size };

	return FS->setattr(r->fs, path, &st, AS_SET_SIZE);
}

struct as_stat t_stat_of(struct rig *r, const char *path)
{
	struct as_stat st = { 0 };

	assert_int_equal(FS->getattr(r->fs, path, &st), 0);
	return st;
}

static int names_fill(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct names *n = ctx;

	(void)ino;
	(void)type;
	if (n->count < 5000)
		n->name[n->count++] = strdup(name);
	return 0;
}

static int names_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void look_xattrs(struct look *l, const char *path)
{
	char list[1024], value[1024];
	int64_t n = FS->listxattr(l->r->fs, path, list, sizeof(list));

	if (n < 0)
		l->error = l->error ? l->error : (int)n;
	for (char *x = list; n > 0 && x < list + n; x += strlen(x) + 1) {
		int64_t len = FS->getxattr(l->r->fs, path, x, value, sizeof(value));

		t_text_add(l->out, " %s=%.*s", x, len < 0 ? 0 : (int)len, value);
	}
}

void t_look_at(struct look *l, const char *path)
{
	struct as_stat st;
	struct names *names = NULL;
	char text[1100];
	int64_t n = 0;
	int rc = FS->getattr(l->r->fs, path, &st);

	if (rc) {
		l->error = l->error ? l->error : rc;
		return;
	}
	t_text_add(l->out,
		   "%s %o nlink=%u uid=%u gid=%u rdev=%lu size=%lu blocks=%lu mtime=%ld ctime=%ld",
		   path, st.mode, st.nlink, st.uid, st.gid, st.rdev, st.size, st.blocks,
		   st.mtime_ns, st.ctime_ns);
	look_xattrs(l, path);
	if (S_ISLNK(st.mode)) {
		n = FS->readlink(l->r->fs, path, text, sizeof(text));
		t_text_add(l->out, " -> %.*s", n > 0 ? (int)n : 0, text);
	}
	t_text_add(l->out, "\n");
	if (S_ISREG(st.mode) && l->see) {
		uint8_t *data = malloc(st.size + 1);

		n = t_get_at(l->r, path, data, st.size + 1, 0);
		if (n == (int64_t)st.size)
			l->see(l->ctx, path, data, st.size);
		else
			n = n < 0 ? n : -ENODATA;
		free(data);
	}
	if (S_ISDIR(st.mode)) {
		names = calloc(1, sizeof(*names));
		n = FS->readdir(l->r->fs, path, names_fill, names);
		qsort(names->name, (size_t)names->count, sizeof(char *), names_order);
	}
	if (n < 0)
		l->error = l->error ? l->error : (int)n;
	for (int i = 0; names && i < names->count; i++) {
		char child[4096];

		snprintf(child, sizeof(child), "%s/%s", path[1] ? path : "", names->name[i]);
		free(names->name[i]);
		if (strlen(path) < 400 && ++l->count < 10000) /* a damaged tree may be a loop */
			t_look_at(l, child);
	}
	free(names);
}

void t_see_digest(void *ctx, const char *path, const uint8_t *data, size_t len)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ data[i]) * 1099511628211u;
	t_text_add(ctx, "%s contents %016lx\n", path, h);
}

char *t_picture(struct rig *r)
{
	struct text t = { 0 };
	struct look l = { .r = r, .out = &t, .see = t_see_digest, .ctx = &t };
	struct as_statfs sf;

	t_look_at(&l, "/");
	assert_int_equal(FS->statfs(r->fs, &sf), 0);
	t_text_add(&t, "free %lu blocks %lu files\n", sf.blocks_free, sf.files_free);
	if (l.error)
		t_text_add(&t, "error %d\n", l.error);
	return t.at;
}
